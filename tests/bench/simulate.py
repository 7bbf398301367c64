#!/usr/bin/env python3
"""simulate - measures how often tools/compare and the watch of a log are right

    tests/bench/simulate.py                     all figures, in about half a minute
    tests/bench/simulate.py power looks watch   only some of them
    tests/bench/simulate.py row FILE            figures of real launches of one command in a row;
                                                FILE was written by --csv

The verdicts are those of tools/; only the times are simulated. 'Differ by 10 %' means a log-normal
distribution with this standard deviation. The seed is fixed: all versions of Python from 3.6 on
print the same figures.
"""
import math
import os
import random
import statistics
import sys
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'helpers'))
import tap  # noqa: E402
tool = tap.load('compare')
from ziatest.changes import judge  # noqa: E402
from ziatest.difference import needed  # noqa: E402
from ziatest.log import Logged  # noqa: E402
from ziatest.read import read  # noqa: E402
from ziatest.rows import PHASES  # noqa: E402

NOISE = 0.1  # of launches that are compared
FOUR_MONTHS = 120  # nights
chance = random.Random()


def launches(count, longer=0.0):
    """Returns COUNT launches, which take about 1 + LONGER seconds."""
    return [SimpleNamespace(time_ms=1000 * (1 + longer) * math.exp(chance.gauss(0, NOISE)))
            for _ in range(count)]


def compare(before, after, phase='time'):
    """Returns the difference and its limits, as fractions of the median of BEFORE."""
    sides = [tool.Side(name, '', [], None) for name in 'AB']
    for side, rows in zip(sides, (before, after)):
        side.rows = dict(enumerate(rows, 1))
    base = statistics.median(row.time_ms for row in before)
    return [ms / base for ms in tool.difference(*sides, phase)]


def of_100(outcomes):
    outcomes = list(outcomes)
    return '%.0f of 100' % (100 * sum(outcomes) / len(outcomes))


def finds(count, longer):
    return tool.excludes_0(compare(launches(count), launches(count, longer)))


def power():
    for count, longer in ((10, 0.15), (75, 0.05)):
        print('%d launches of each find a difference of %.0f %% in %s comparisons'
              % (count, 100 * longer, of_100(finds(count, longer) for _ in range(1000))))
    for longer in (0.1, 0.05):
        counts = []
        for _ in range(1000):
            _, low, high = compare(launches(10), launches(10))
            counts.append(min(tool.MOST, needed(10, (high - low) / 2, longer)))
        print('to find %.0f %%, 10 of each advise %.0f of each (the median), which find it in %s'
              % (100 * longer, statistics.median(counts),
                 of_100(finds(count, longer) for count in counts)))


def looks():
    equal = [(launches(60), launches(60)) for _ in range(1000)]
    for ends in ([10], [60], range(10, 61, 10)):
        found = [any(tool.excludes_0(compare(one[:end], other[:end])) for end in ends)
                 for one, other in equal]
        print('equal commands, compared after %s launches: a difference in %s comparisons'
              % (', '.join(map(str, ends)), of_100(found)))
    limits = [compare(launches(10), launches(10, 0.15))[1:] for _ in range(2000)]
    print('the interval contains a difference of 15 %% in %s comparisons of 10 launches'
          % of_100(low <= 0.15 <= high for low, high in limits))


def verdicts(nights, noise, nightly, alike=0, each=5, longer=0.0, begin=0):
    """Returns the verdict of each night on a log with EACH launches a night. NIGHTLY is how much
    nights differ, and ALIKE is the correlation between a night and the one before. From night BEGIN
    on, launches take longer by the fraction LONGER."""
    log, signs, level = [], [], 0.0
    blank = Logged(**dict.fromkeys(Logged._fields, 0))
    for night in range(1, nights + 1):
        level = alike * level + chance.gauss(0, nightly) * math.sqrt(1 - alike ** 2)
        usual = 1000 * (1 + longer * (night >= begin))
        for _ in range(each):
            log.append(blank._replace(time_ms=usual * math.exp(level + chance.gauss(0, noise)),
                                      night='%04d' % night))
        signs.append(judge(log)[0])
    return signs


def watch():
    for nightly in (0.01, 0.03, 0.06):
        for alike in (0, 0.8):
            alarms = [verdicts(FOUR_MONTHS, 0.02, nightly, alike).count(1) for _ in range(50)]
            print('nights differ by %.0f %%, correlation %.1f: %.1f false alarms in %d nights'
                  % (100 * nightly, alike, statistics.mean(alarms), FOUR_MONTHS))
    for longer, noise, nightly, each in (
            (0.25, 0.02, 0.03, 5), (0.25, 0.02, 0.06, 5), (0.06, 0.01, 0, 5), (0.06, 0.01, 0.01, 5),
            (0.06, 0.02, 0.02, 5), (0.25, 0.02, 0.02, 1)):
        nights = [verdicts(45, noise, nightly, 0, each, longer, 41)[40:] for _ in range(100)]
        first = [of_100(1 in signs[:within] for signs in nights) for within in (1, 2, 3)]
        print('%.0f %% longer; launches differ by %.0f %%, nights by %.0f %%; %d a night: reported '
              'on the first night in %s, within 2 nights in %s, within 3 in %s'
              % (100 * longer, 100 * noise, 100 * nightly, each, *first))


def row(path):
    made = [launch for launch in read(path).launches[1:] if launch.faults == 0]
    print('%d launches' % len(made))
    for count in (10, 50):
        found = [tool.excludes_0(compare(made[at:at + count], made[at + count:at + 2 * count]))
                 for at in range(len(made) - 2 * count + 1)]
        print('%d launches, compared with the next %d: a difference in %s comparisons'
              % (count, count, of_100(found)))
    tables = []
    for _ in range(1000):
        at = chance.randrange(len(made) - 19)
        turns = [chance.sample(made[turn:turn + 2], 2) for turn in range(at, at + 20, 2)]
        tables.append(any(tool.excludes_0(compare(*zip(*turns), phase=phase))
                          for phase in PHASES if phase != 'clock'))
    print('10 launches in turn with 10 others: the interval of at least one phase excludes 0 in '
          '%s tables' % of_100(tables))


if __name__ == '__main__':
    known = {'power': power, 'looks': looks, 'watch': watch}
    names = sys.argv[1:] or list(known)
    if names[0] == 'row' and len(names) == 2:
        chance.seed(7)
        row(names[1])
    elif set(names) <= set(known):
        for name in names:
            chance.seed(7)
            known[name]()
    else:
        sys.exit(__doc__)
