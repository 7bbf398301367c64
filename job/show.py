"""show - the text and the pictures of a summary"""
import collections
import html
import itertools
import os
import re

from judge import failures, slow_nodes, warm_nodes
from read import PARTS, RANK_STEPS, STEPS, WORK, plural, shape, times

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
    return '-' if time is None else '%.1f' % (round(time, 1) + 0.)  # no -0.0


def table(rows, left=1):
    """Lines of a table; the first LEFT columns are aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield '  '.join(cell.ljust(width) if i < left else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip()


def cut(entries, most=SHOWN):
    """The first entries of a list, and how many more there are"""
    entries = list(entries)
    return entries[:most] + ['... and %d more' % (len(entries) - most)] * (len(entries) > most)


def section(title, entries):
    """A list under its title; nothing if it is empty"""
    entries = list(entries)
    if entries:
        yield from ['', title] + entries


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
    which = 'the first launch'
    if not job.size.first:
        which = 'launch %d, no valid first launch' % job.figure.run
    elif job.earlier:
        which = 'the first launch of this size, after %s' % plural(job.earlier, 'other')
    return '%s: %s ms, %s (%s, %d %% other)' % (
        shape(job.size.nodes, job.ppn, job.size.nodes * job.ppn), ms(job.figure.time), which, text,
        max(0, 100 - sum(shares)))


def later(size):
    """The range of the later launches of a size"""
    return '(%s to %s)' % (ms(size.later[0].time), ms(size.later[-1].time))


def summary(job):
    """The lines about one job"""
    yield 'Ziatest: job %s on %s, %s, %s%s' % (
        job.id, job.system, job.date, job.mpi, ', INCOMPLETE' if job.incomplete else '')
    yield headline(job)
    larger = [size for size in job.sizes if job.size and size.nodes > job.size.nodes]
    if larger:
        yield '; '.join('%d nodes: %d of %d launches valid' % (
            size.nodes, len(size.valid), job.runs) for size in larger)
    if job.size and job.size.later:
        yield 'Later launches: %s ms, the median of %d %s' % (
            ms(job.size.median), len(job.size.later), later(job.size))
    yield job.verdict_kinds[0]
    yield ''
    for verdict, name, text in job.verdicts:
        yield '%-12s%s: %s' % (verdict, name, text)
    yield from section('To review', (entry for kind in job.to_review for entry in cut(kind, 5)))
    yield from section('Problems', cut(itertools.chain(job.contradictions, failures(job))))
    yield from section('Warnings', cut(text for launch in job.asked for text in launch.warnings))
    yield ''
    rows = [['ms', 'launch', 'time'] + STEPS_AND_WORK]
    for size in job.sizes:
        nodes = plural(size.nodes, 'node')
        middle = 'the middle of %d %s' % (len(size.later), later(size)) if size.later else 'later'
        rows += [[nodes, 'first'] + figures(size.first),
                 [nodes, middle] + figures(size.middle)]
    yield from table(rows, left=2)
    yield ''
    slow = slow_nodes(job) if job.size else []
    yield 'Slow nodes, ms above the median of all nodes%s' % ('' if slow else ': none')
    if slow:
        yield from table([['node'] + PARTS + ['mostly']] + [
            [name] + [ms(part) for part in parts] + [kind] for name, parts, kind in slow])


def suspicions(jobs):
    """Yields what is suspicious about two jobs together."""
    for one, other in itertools.combinations(jobs, 2):
        shared = ({launch.started for launch in one.launches.values()} &
                  {launch.started for launch in other.launches.values()}) - {None}
        if shared:
            yield '%s and %s contain the same launch, which started at %s' % (
                one.name, other.name, min(shared))
        changed = [name[4:] for name in sorted(one.build.keys() | other.build.keys())
                   if re.match(r'sum (ziaprobe\.c|probe/)', name) and
                   one.build.get(name) != other.build.get(name)]
        program = one.build.get('sum ziaprobe')
        if changed and program and program == other.build.get('sum ziaprobe'):
            yield '%s and %s have the same ziaprobe, but their sources differ: %s' % (
                one.name, other.name, ', '.join(changed))


def side_by_side(nodes, ppn, jobs):
    """The lines that compare the launches of several jobs on NODES x PPN; jobs are names, sizes"""
    launches = [(name, text, launch) for text in ('first', 'middle') for name, size in jobs
                for launch in [getattr(size, text)]]
    hidden = {name for name, _, launch in launches if launch and not launch.row['fence_ms']}
    is_mixed = any(launch and launch.row['fence_ms'] for _, _, launch in launches) and hidden
    heading = ['%s x %d, ms' % (plural(nodes, 'node'), ppn), 'launch', 'time'] + STEPS_AND_WORK
    rows = [heading]
    for name, text, launch in launches:
        row = [name, text] + figures(launch)
        if is_mixed and name in hidden:
            for step in 'init', 'fence':
                row[heading.index(step)] = '-'
        rows.append(row)
    yield ''
    yield from table(rows, left=2)
    if is_mixed:
        yield 'init and fence are not compared, because some fences are not known; cpu, ' \
            'cpu_wait and blocked cover only exec for %s' % ', '.join(sorted(hidden))


def comparison(jobs):
    """The lines about several jobs"""
    rows = [['job', 'system', 'date', 'MPI', 'nodes', 'ppn', 'first', 'warm', 'later', 'valid',
             'verdict', 'to review']]
    shapes = collections.defaultdict(list)
    for job in jobs:
        size = job.size or job.sizes[0]
        rows.append([
            job.name, job.system, job.date, job.mpi,
            '%s of %s' % (job.size.nodes if job.size else '-',
                          job.settings.get('SYSTEM_NODES') or '-'), str(job.ppn),
            figures(size.first)[0],
            '%d of %d' % warm_nodes(size.first) if size.first else '-',
            ms(size.median) + (' ' + later(size) if size.later else ''),
            '%d of %d' % (sum(len(each.valid) for each in job.sizes), len(job.asked)),
            '; '.join(job.verdict_kinds + ['INCOMPLETE'] * job.incomplete),
            str(sum(map(len, job.to_review)) - 1)])  # the file system is always there
        for each in job.sizes:
            if each.valid:
                shapes[each.nodes, job.ppn].append((job.name, each))
    yield from table(rows, left=len(rows[0]))
    yield from suspicions(jobs)
    for (nodes, ppn), sizes in sorted(shapes.items(), reverse=True):
        if len(sizes) > 1:
            yield from side_by_side(nodes, ppn, sizes)


def drawing(title, names, bars):
    """Yields the lines of a picture; each of bars is a label and the times for names."""
    width, left, right, top, height = 1080, 370, 80, 84, 26  # pixels; a bar's height
    bottom = top + height * len(bars)
    totals = [sum(time or 0 for time in values) for _, values in bars]
    longest = max(totals + [0.001])
    scale = (width - left - right) / longest
    tick = next(tick for tick in (digit * 10. ** power for power in range(-4, 13)
                                  for digit in (1, 2, 5)) if longest / tick <= 8)

    def text(x, y, words, anchor='start', most=44):
        if len(words) > most:  # the names of nodes differ at their ends
            words = words[:most // 2 - 2] + '...' + words[1 - most // 2:]
        return '<text x="%.1f" y="%d" text-anchor="%s">%s</text>' % (
            x, y, anchor, html.escape(words, quote=False))

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
    sizes = [('%s x %d, %s' % (plural(size.nodes, 'node'), job.ppn, text), times(launch.row, STEPS))
             for size in job.sizes
             for launch, text in ((size.first, 'first launch'), (size.middle, 'middle launch'))
             if launch]
    row, ranks = job.figure.row, job.figure.ranks
    outlier = int(row['outlier_rank']) // job.ppn + 1 if row['outlier_rank'] else None

    def bar(number, prefix=''):
        node = ranks.nodes[number]
        pair = ' with ' + ranks.partner(number).host if node.steps[-1] is not None else ''
        return prefix + 'outlier: ' * (number == outlier) + node.host + pair, node.steps

    nodes = sorted(ranks.nodes, key=lambda number: -ranks.nodes[number].own)
    shown = [bar(number) for number in nodes[:10]]
    if nodes:
        shown += [bar(nodes[len(nodes) // 2], 'median: '), bar(nodes[-1], 'least: ')]
    os.makedirs(out, exist_ok=True)
    for name, picture in (
            ('scaling.svg', drawing(about + ': critical path of each size', STEPS, sizes)),
            ('ranks.svg', drawing('%s: most time of their own, %s x %d, %s ms' % (
                about, job.figure.name, job.ppn, ms(job.figure.time)), RANK_STEPS, shown))):
        path = os.path.join(out, name)
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, 'xb') as file:
            file.write(printable('\n'.join(picture) + '\n'))
