"""changes - what has changed in the launches of a log, or from some launches to others"""
import collections
import math
import statistics

from .log import nights
from .rows import LOG_PHASES, PHASES, known, times
from .text import ms, spread

# The LAST launches of a log are compared with those before them, if these are at least FEWEST
# launches, made on at least NIGHTS nights.
LAST, FEWEST, NIGHTS = 5, 20, 3
# A launch is beyond the earlier ones if at least SHARE of them took less time, or at least SHARE of
# them took more. There is a change if at least MOST of the last launches are beyond the earlier
# ones, and if the medians differ by at least MARGIN.
SHARE, MOST, MARGIN = 0.95, 3, 0.05
# The launches of one night are alike. Therefore, the median of the last night must also be more
# than SPREADS spreads away from the median of the earlier nights' medians, and there must be at
# least SOME earlier nights. A spread is the standard deviation of these medians, estimated as
# DEVIATION times their median absolute deviation, which a few odd nights hardly change. A night of
# more than LAST launches counts as several.
SPREADS, SOME, DEVIATION = 3, 5, 1.4826

def phase_changes(before, after, names=PHASES, sign=1, none='no phase has grown'):
    """Names the two phases whose medians have grown most from the rows BEFORE to those AFTER or, if
    SIGN is -1, shrunk; returns NONE if no phase has."""
    old, new = [[statistics.median(known(column) or [math.nan])
                 for column in zip(*(times(row, names) for row in rows))]
                for rows in (before, after)]
    changes = [(sign * (late - early), name) for early, late, name in zip(old, new, names)]
    largest = sorted(change for change in changes if change[0] >= 0.05)[:-3:-1]  # printed as 0.1
    return ', '.join(f'{name} {by * sign:+.1f} ms' if by < 10000 else
                     f'{name} {by * sign / 1000:+.1f} s' for by, name in largest) or none

def are_enough(before):
    """Tells whether later launches can be compared with those BEFORE."""
    return len(before) >= FEWEST and len({row.night for row in before}) >= NIGHTS

def change(launches):
    """Returns 1 if the last launches took longer than those before, -1 if they took less time, and
    0 otherwise; and how many of them are beyond the earlier ones."""
    last, before = launches[-LAST:], launches[:-LAST]
    if not are_enough(before):
        return 0, 0
    new, old = [[row.time_ms for row in part] for part in (last, before)]
    usual = statistics.median(old)
    difference = statistics.median(new) - usual
    sign = 1 if difference > 0 else -1
    beyond = sum(sum((time - other) * sign > 0 for other in old) >= SHARE * len(old)
                 for time in new)
    is_change = beyond >= MOST and abs(difference) >= MARGIN * usual
    return (sign if is_change else 0), beyond

def is_confirmed(launches, sign):
    """Tells whether the last night is beyond the spread of the earlier ones, or the same change was
    already seen the night before. SIGN is what change() has returned."""
    by_night = nights(launches)
    *earlier, last = [statistics.median(row.time_ms for row in night[max(0, end - LAST):end])
                      for night in by_night for end in range(len(night), 0, -LAST)[::-1]]
    usual = statistics.median(earlier)
    deviation = statistics.median(abs(time - usual) for time in earlier)
    if len(by_night) > SOME and sign * (last - usual) > SPREADS * DEVIATION * deviation:
        return True
    until_then = [row for row in launches if row.night != launches[-1].night]
    return change(until_then)[0] == sign

def typical(which, launches):
    """A line with the median and the range of launches"""
    all_times = [row.time_ms for row in launches]
    return f'{which:12}{ms(statistics.median(all_times))} ms {spread(all_times)}'

def judge(launches):
    """Judges the last launches of a kind. Returns 1 if they are slower than those before, -1 if
    they are faster, and 0 otherwise; and the verdict as a sentence."""
    last, before = launches[-LAST:], launches[:-LAST]
    if not are_enough(before):
        return 0, f'too few launches to compare: at least {FEWEST} are needed before the last ' \
            f'{LAST}, on three nights or more'
    sign, beyond = change(launches)
    if not sign or not is_confirmed(launches, sign):
        return 0, 'no change'
    which, took = ('slower', 'longer') if sign > 0 else ('faster', 'less time')
    return sign, f'{which}: {beyond} of the last {LAST} took {took} than 95 % of those before: ' \
        + phase_changes(before, last, LOG_PHASES, sign, 'no phase has changed')

def describe(launches, verdict):
    """Yields the lines about the launches of a kind. VERDICT is the sentence of judge()."""
    last, before = launches[-LAST:], launches[:-LAST]
    if not are_enough(before):
        yield from [typical(f'all {len(launches)}', launches), verdict]
        return
    yield from [typical(f'the last {LAST}', last), typical('before', before), verdict]
    host, count = collections.Counter(row.outlier_host for row in last).most_common(1)[0]
    usually = sum(row.outlier_host == host for row in before)
    if host != '' and count >= MOST and usually < len(before) / 10:
        yield f'{host} was the outlier of {count} of the last {LAST}, and of {usually} of the ' \
            f'{len(before)} before'
