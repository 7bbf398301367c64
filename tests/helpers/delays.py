"""Prints what a launch shows of a delay, for path.t: delays.py SECONDS, in the launch's directory

The first line is the largest row of the critical path. It includes the time only if this is shorter
than the delay must be. The second line has "PHASE RANK" for each cell of --ranks that exceeds its
median by more than half of the delay. On a busy machine, any rank may wait for a CPU, so the cell
of a rank that waited this long is printed only if it is expected. The third line is "waits" if a
rank computed for at least SECONDS, and waited for a CPU even longer."""
import csv
import re
import sys

PHASES = 'daemon spawn exec init fence exchange'.split()
seconds = float(sys.argv[1])


def read(name):
    with open(name) as file:
        return file.read()


def largest():
    unit, rows = 0, [(0, '')]
    for line in read('out').splitlines():
        row = re.match(r' *(\w+) +([0-9.]+) .*?([0-9]+ on .*)', line)
        if line.startswith('critical path'):
            unit = 1000 if line.split()[2] == 's' else 1    # ms in its unit
        elif not line or line.startswith('fences'):
            unit = 0
        elif row:
            rows.append((float(row.group(2)) * unit, '%s %s' % row.group(1, 3)))
    ms, row = max(rows)
    return row if ms >= 1000 * float(read('least')) else '%s, only %g ms' % (row, ms)


def longer(ranks, expected):
    for phase in PHASES:
        times = {int(rank['rank']): float(rank[phase + '_ms'])
                 for rank in ranks if rank[phase + '_ms']}
        usual = sorted(times.values())[(len(times) - 1) // 2] if times else 0
        for rank in sorted(times):
            cell = '%s %d' % (phase, rank)
            waits = phase in ('exec', 'init') and float(ranks[rank]['cpu_wait_ms'] or 0)
            if times[rank] > usual + seconds * 500 and (waits <= seconds * 500 or cell in expected):
                yield cell


with open('ranks') as table:
    all_ranks = list(csv.DictReader(table))
print(largest())
print(*longer(all_ranks, read('cells')))
print('waits' if any(float(rank['cpu_wait_ms'] or 0) > float(rank['cpu_ms'] or 0) >= seconds * 1000
                     for rank in all_ranks) else '')
