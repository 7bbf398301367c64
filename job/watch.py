"""watch - what has changed in a log of launches, a file of --csv. Times are in ms."""
import collections
import statistics

from read import STEPS, known, plural, times

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
        warmth = 'cold' if int(row.faults or 0) else 'warm'
        found[f'{row.program}, {plural(row.nodes, "node")} x {row.ppn}, {warmth}'].append(row)
    return sorted(found.items(), key=lambda kind: kind[1][-1].started, reverse=True)

def step_changes(last, before):
    """Returns by how much the median of each step has changed, the largest change first."""
    def medians(rows):
        columns = zip(*(times(row, LOG_STEPS) for row in rows))
        return [statistics.median([*known(column)] or [0]) for column in columns]
    changes = zip(medians(last), medians(before), LOG_STEPS)
    return sorted(((new - old, step) for new, old, step in changes), reverse=True)

def find_change(last, before):
    """Returns 'slower' or 'faster', how many of the LAST launches are beyond those BEFORE, and the
    two steps that have changed most; or None if the launches have not changed."""
    new, old = [statistics.median(row.time_ms for row in rows) for rows in (last, before)]
    sign = 1 if new > old else -1
    beyond = sum(sum((row.time_ms - other.time_ms) * sign > 0 for other in before)
                 >= SHARE * len(before) for row in last)
    if beyond < MOST or abs(new - old) < MARGIN * old:
        return None
    changes = step_changes(last, before)[::sign][:2]
    return ('slower' if sign > 0 else 'faster', beyond,
            [(step, by) for by, step in changes if by * sign >= 0.05])  # printed as 0.1

def find_nodes(last, before):
    """Yields each node that has become the outlier: its name, of how many of the LAST launches, and
    of how many BEFORE."""
    new, old = [collections.Counter(row.outlier_host for row in rows) for rows in (last, before)]
    for host, count in new.items():
        if host and count >= MOST and old[host] < len(before) / 10:
            yield host, count, old[host]
