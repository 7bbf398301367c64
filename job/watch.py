"""watch - what has changed in a log of launches, a file of --csv. Times are in ms."""
import collections
import math
import statistics

from read import STEPS, known, ms, plural, spread, times

LAST, FEWEST = 5, 20  # the launches that are compared, and how many must come before them
# A launch is beyond the others if this share of them took less time, or more. If three of five are,
# and the medians differ by MARGIN, that is no chance: it happens once in hundreds of nights.
SHARE, MOST, MARGIN = 0.95, 3, 0.05
LOG_STEPS = [*STEPS[:3], 'setup', *STEPS[3:]]

def day(row):
    return row.started[:19] + 'Z'

def kinds(rows):
    """Returns the title and the rows of each kind of launches, the one launched last first. A cold
    launch has read pages from disk, and is not compared with warm ones."""
    found = collections.defaultdict(list)
    for row in rows:
        warmth = 'cold' if row.faults > 0 else 'warm'
        found[f'{row.program}, {plural(row.nodes, "node")} x {row.ppn}, {warmth}'].append(row)
    return sorted(found.items(), key=lambda kind: kind[1][-1].started, reverse=True)

def step_changes(before, after, names, sign=1):
    """Names the two steps that have become longer by most, or if SIGN is -1, shorter."""
    changes = [((new - old) * sign, name) for old, new, name in zip(before, after, names)]
    largest = sorted(change for change in changes if change[0] >= 0.05)[:-3:-1]  # printed as 0.1
    return ', '.join(f'{name} {by * sign:+.1f} ms' for by, name in largest)

def middle_steps(rows):
    """Returns the median of each step, NaN if it is not known."""
    columns = zip(*(times(row, LOG_STEPS) for row in rows))
    return [statistics.median(known(column) or [math.nan]) for column in columns]

def describe(rows):
    """Returns lines on what the last launches of a kind have changed, and whether it is worse."""
    last, before = rows[-LAST:], rows[:-LAST]
    if len(before) < FEWEST:
        return [f'too few launches to compare: at least {FEWEST} before the last {LAST}'], False
    new, old = [[row.time_ms for row in part] for part in (last, before)]
    middle, usual = statistics.median(new), statistics.median(old)
    lines = [f'the last {LAST}  {ms(middle)} ms {spread(new)}',
             f'before      {ms(usual)} ms {spread(old)}', 'no change']
    sign = 1 if middle > usual else -1
    beyond = sum(sum((time - other) * sign > 0 for other in old) >= SHARE * len(old)
                 for time in new)
    has_changed = beyond >= MOST and abs(middle - usual) >= MARGIN * usual
    if has_changed:
        which, took = ('slower', 'longer') if sign > 0 else ('faster', 'less time')
        steps = step_changes(middle_steps(before), middle_steps(last), LOG_STEPS, sign)
        lines[-1] = f'{which}: {beyond} of the last {LAST} took {took} than 95 % of those before' \
            f': {steps or "no step has changed"}'
    counts = collections.Counter(row.outlier_host for row in before)
    is_worse = has_changed and sign > 0
    for host, count in collections.Counter(row.outlier_host for row in last).items():
        if host and count >= MOST and counts[host] < len(before) / 10:
            lines.append(f'{host} was the outlier of {count} of the last {LAST}, and of '
                         f'{counts[host]} of the {len(before)} before')
            is_worse = True
    return lines, is_worse

def history(name, rows):
    """Returns the lines on a log, its pictures, and whether it is an alarm: a kind that is among
    the last launches has changed for the worse."""
    lines, drawn, alarm = [f'{name}: {plural(len(rows), "launch")}'], [], False
    if rows:
        lines[0] += f', {day(rows[0])} to {day(rows[-1])}'
    for title, of_kind in kinds(rows):
        about, is_worse = describe(of_kind)
        alarm |= is_worse and of_kind[-1] in rows[-LAST:]
        lines += ['', f'{title}: {plural(len(of_kind), "launch")}, the last {day(of_kind[-1])}',
                  *about]
        if not drawn:
            shown = of_kind[-40:]
            bars = [(day(row), row in of_kind[-LAST:], times(row, LOG_STEPS)) for row in shown]
            drawn = [('history.svg', f'{name}: {title}, the last {plural(len(shown), "launch")}',
                      LOG_STEPS, bars)]
    return lines, drawn, alarm
