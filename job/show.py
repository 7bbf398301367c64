"""show - the text and the pictures of a summary"""
import collections
import itertools
import os
import re
import xml.sax.saxutils

from judge import failures, slow_nodes, to_review
from read import PARTS, RANK_STEPS, STEPS, WORK, shape, times

SHOWN = 20  # entries of a list
LONGEST_SHOWN = 1000
STEPS_AND_WORK = STEPS + WORK
# Their brightness differs by 12 % or more.
COLOURS = {'daemon': '#1c1f45', 'spawn': '#b9dcf2', 'exec': '#2b6ea8', 'init': '#eba63c',
           'fence': '#7a1f5c', 'wait': '#f8f8f8', 'exchange': '#3fa37c', 'clock': '#000000'}


def printable(text):
    """Printable ASCII, as bytes; long lines are cut."""
    return '\n'.join(re.sub('[^ -~]', '?', line[:LONGEST_SHOWN])
                     for line in text.split('\n')).encode('ascii')


def ms(time):
    return '-' if time is None else '%.1f' % time


def table(rows, left=1):
    """Lines of a table; the first LEFT columns are aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield '  '.join(cell.ljust(width) if i < left else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip()


def section(title, entries):
    """A list under its title, cut; nothing if it is empty"""
    entries = list(entries)
    if entries:
        yield from ['', title] + entries[:SHOWN]
    if len(entries) > SHOWN:
        yield '... and %d more' % (len(entries) - SHOWN)


def figures(launch):
    """The cells of a launch: time, the steps of its critical path, what the processes did"""
    if not launch:
        return ['-'] * (1 + len(STEPS_AND_WORK))
    return [ms(time) for time in times(launch.row, ['time'] + STEPS_AND_WORK)]


def headline(job):
    """Line 2: the figure"""
    if not job.figure:
        return 'no valid launch'
    steps = sorted(((time or 0, name) for time, name in zip(times(job.figure.row, STEPS), STEPS)),
                   key=lambda step: -step[0])[:3]
    shares = [round(100 * time / (job.figure.time or 1)) for time, _ in steps]
    shares[-1] = max(0, min(shares[-1], 100 - sum(shares[:-1])))  # they may be rounded up
    text = ', '.join('%d %% %s' % (share, name) for share, (_, name) in zip(shares, steps))
    larger = [str(size.nodes) for size in job.sizes if size.nodes > job.size.nodes]
    return '%s: %s ms, %s (%s, %d %% other)%s' % (
        shape(job.size.nodes, job.ppn, job.size.nodes * job.ppn), ms(job.figure.time),
        'the first launch' if job.size.first else
        'launch %d, no valid first launch' % job.figure.run, text, max(0, 100 - sum(shares)),
        '; no valid launch on %s nodes' % ', '.join(larger) if larger else '')


def later(size):
    """The median of the later launches of a size, and their range"""
    return 'the median of %d (%s to %s)' % (
        len(size.later), ms(size.later[0].time), ms(size.later[-1].time))


def summary(job):
    """The lines about one job"""
    yield 'Ziatest: job %s on %s, %s, %s%s' % (
        job.id, job.system, job.date, job.mpi, ', INCOMPLETE' if job.incomplete else '')
    yield headline(job)
    if job.size and job.size.later:
        yield 'Later launches: %s ms, %s' % (ms(job.size.median.time), later(job.size))
    yield job.worst
    yield ''
    for verdict, name, text in job.verdicts:
        yield '%-12s%s: %s' % (verdict, name, text)
    yield from section('To review', to_review(job))
    yield from section('Problems', itertools.chain(job.contradictions, failures(job)))
    yield from section('Warnings', (text for launch in job.asked for text in launch.warnings))
    yield ''
    rows = [['ms', 'launch', 'time'] + STEPS_AND_WORK]
    for size in job.sizes:
        nodes = '%d nodes' % size.nodes
        rows += [[nodes, 'first'] + figures(size.first),
                 [nodes, later(size) if size.later else 'later'] + figures(size.median)]
    yield from table(rows, left=2)
    yield ''
    slow = slow_nodes(job) if job.size else []
    yield 'Slow nodes, ms above the median of all nodes%s' % ('' if slow else ': none')
    if slow:
        yield from table([['node'] + PARTS + ['mostly']] + [
            [name] + [ms(part) for part in parts] + [kind] for name, parts, kind in slow])


def comparison(jobs):
    """The lines about several jobs"""
    rows = [['job', 'system', 'date', 'MPI', 'nodes', 'ppn', 'first', 'median', 'valid', 'verdict']]
    for job in jobs:
        size = job.size or job.sizes[0]
        nodes = '%s of %s' % (job.size.nodes if job.size else '-',
                              job.settings.get('SYSTEM_NODES') or '-')
        valid = '%d of %d' % (sum(len(size.valid) for size in job.sizes), len(job.asked))
        rows.append([job.name, job.system, job.date, job.mpi, nodes, str(job.ppn),
                     figures(size.first)[0], figures(size.median)[0], valid, job.worst])
    yield from table(rows, left=len(rows[0]))
    for one, other in itertools.combinations(jobs, 2):
        shared = ({launch.started for launch in one.launches.values()} &
                  {launch.started for launch in other.launches.values()}) - {None}
        if shared:
            yield '%s and %s contain the same launch, which started at %s' % (
                one.name, other.name, min(shared))
    shapes = collections.defaultdict(list)
    for job in jobs:
        for size in job.sizes:
            if size.valid:
                shapes[size.nodes, job.ppn].append((job.name, size.first))
    for (nodes, ppn), launches in sorted(shapes.items(), reverse=True):
        if len(launches) < 2:
            continue
        hidden = [name for name, first in launches if first and not first.row['fence_ms']]
        is_mixed = hidden and any(first and first.row['fence_ms'] for _, first in launches)
        rows = [['%d nodes x %d, ms' % (nodes, ppn), 'time'] + STEPS_AND_WORK]
        for name, first in launches:
            rows.append([name] + figures(first))
            if is_mixed and first and not first.row['fence_ms']:
                for step in 'init', 'fence':
                    rows[-1][rows[0].index(step)] = '-'
        yield ''
        yield from table(rows)
        if is_mixed:
            yield 'init and fence are not compared, because some fences are not known; cpu, ' \
                'cpu_wait and blocked cover only exec for %s' % ', '.join(hidden)


def drawing(title, names, bars):
    """Yields the lines of a picture; each of bars is a label and the times for names."""
    width, left, right, top, height = 1000, 290, 80, 84, 26  # pixels; a bar's height
    bottom = top + height * len(bars)
    totals = [sum(time or 0 for time in values) for _, values in bars]
    longest = max(totals + [0.001])
    scale = (width - left - right) / longest
    tick = next(tick for tick in (digit * 10. ** power for power in range(-4, 13)
                                  for digit in (1, 2, 5)) if longest / tick <= 8)

    def text(x, y, words, anchor='start', most=34):
        if len(words) > most:  # the names of nodes differ at their ends
            words = words[:most // 2 - 2] + '...' + words[1 - most // 2:]
        return '<text x="%.1f" y="%d" text-anchor="%s">%s</text>' % (
            x, y, anchor, xml.sax.saxutils.escape(words))

    def box(x, y, width, height, name):
        return '<rect x="%.1f" y="%d" width="%.2f" height="%d" fill="%s" stroke="#444" ' \
            'stroke-width="0.5"/>' % (x, y, width, height, COLOURS[name])

    yield '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" ' \
        'font-family="monospace" font-size="13">' % (width, bottom + 30)
    yield '<rect width="100%" height="100%" fill="white"/>'
    yield text(10, 24, title, most=120)
    for i, name in enumerate(names):
        yield box(10 + 100 * i, 42, 14, 14, name) + text(30 + 100 * i, 54, name)
    for i in range(int(longest / tick) + 1):
        x = left + i * tick * scale
        yield '<path d="M%.1f %dV%d" stroke="#bbb"/>' % (x, top - 8, bottom)
        yield text(x, bottom + 16, '%g' % (i * tick) + ' ms' * (i == 0), 'middle')
    for (label, values), total, y in zip(bars, totals, range(top, bottom, height)):
        yield text(left - 8, y + 14, label, 'end')
        end = left
        for name, time in zip(names, values):
            if time and time > 0:
                yield box(end, y, time * scale, height - 7, name)
                end += time * scale
        yield text(end + 5, y + 14, ms(total))
    yield '</svg>'


def draw(job, out):
    """Writes scaling.svg and ranks.svg to a directory, and replaces whatever has their names."""
    if not job.figure:
        return
    about = '%s, job %s, %s' % (job.system, job.id, job.mpi)
    sizes = [('%d nodes x %d, %s' % (size.nodes, job.ppn, text), times(launch.row, STEPS))
             for size in job.sizes
             for launch, text in ((size.first, 'first launch'), (size.median, 'median launch'))
             if launch]
    nodes = sorted(job.figure.ranks.nodes.values(), key=lambda node: node.done, reverse=True)
    shown = [(node.host, node.steps) for node in nodes[:10]] + [
        (text + ': ' + node.host, node.steps)
        for text, node in (('median', nodes[len(nodes) // 2]), ('fastest', nodes[-1]))] \
        if nodes else []
    os.makedirs(out, exist_ok=True)
    for name, picture in (
            ('scaling.svg', drawing(about + ': critical path of each size', STEPS, sizes)),
            ('ranks.svg', drawing('%s: slowest ranks of launch %d on %d nodes x %d, %s ms' % (
                about, job.figure.run, job.size.nodes, job.ppn, ms(job.figure.time)),
                RANK_STEPS, shown))):
        path = os.path.join(out, name)
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, 'xb') as file:
            file.write(printable('\n'.join(picture) + '\n'))
