"""job_summary - what summarize prints and draws of a job"""
import math
import statistics

from .changes import phase_changes
from .draw import draw_bars
from .judge import SMALLEST
from .ranks import late_nodes, nodes_of
from .rows import PHASES, WORK, times
from .slow_nodes import nodes_picture, ranks_picture, slow_lines
from .text import duration, ms, plural, spread, table

COLUMNS = ['time'] + PHASES + WORK
EACH_BAR = 'each bar is a launch, from the command to the last reply'

def launch_table(title, launches):
    """Yields the lines of a table of LAUNCHES: (name, which, launch), where launch may be None."""
    yield ''
    yield from table([[title, 'launch'] + COLUMNS] + [
        [name, which, *(map(ms, times(launch.row, COLUMNS)) if launch else ['-'] * len(COLUMNS))]
        for name, which, launch in launches], left=[title, 'launch'])

def section(title, lists, most):
    """Yields a title and the first MOST entries of each list, or nothing if all are empty."""
    if any(lists):
        yield from ['', title]
    for entries in lists:
        yield from entries[:most]
        if len(entries) > most:
            yield f'... and {len(entries) - most} more'

def headline(job):
    if not job.figure:
        return 'no valid launch'
    run, nodes, time = job.figure.run, job.figure.nodes, job.figure.time
    others = sum(launch.nodes != nodes and not launch.reason for launch in job.before)
    which = 'the first launch' if run == 1 else f'launch {run}'
    which += f' of this size, after {plural(others, "other")}' if others else ''
    if run > 1:
        which += f'; {"launch 1 is" if run == 2 else f"launches 1 to {run - 1} are"} not valid'
    shape = f'{plural(nodes, "node")} x {job.ppn} = {plural(nodes * job.ppn, "rank")}'
    return f'{shape}: {ms(time)} ms, {which} ({shares(job.figure)})'

def shares(launch):
    """The three largest phases of the critical path and the others, as percentages of the time. If
    the clock phase is negative, the three may exceed 100 %."""
    phases = times(launch.row, PHASES)
    largest = sorted(((max(0, phase), name) for phase, name in zip(phases, PHASES)),
                     reverse=True)[:3]
    percent = [round(100 * phase / (launch.time or 1)) for phase, _ in largest]
    percent[2] -= sum(percent) == 101  # They are rounded.
    percent.append(100 - sum(percent))
    return ', '.join(f'{share} % {name}'
                     for share, (_, name) in zip(percent, [*largest, (0, 'other')]))

def fact_lines(job):
    """Yields the names and values of the facts that a procurement asks for."""
    nodes, system = job.figure.nodes if job.figure else '-', job.system_nodes or '-'
    share = f', {1000 * nodes // system / 10:.1f} %' if '-' not in (nodes, system) else ''
    yield 'compute nodes', f'{nodes} of {system}{share} (UK-NNSS requires 99 %, NERSC-10 99.5 %)'
    yield 'ranks per node', f'{job.ppn}; network interfaces per node: {job.interfaces or "-"}'
    yield 'nodes', f'{job.kinds[0].hardware}; Slurm {job.facts.get("slurm", "-")}'
    size = '-' if math.isnan(job.smallest) else f'{job.smallest:.0f}'
    file_system = job.facts.get('PROBE', '-').rpartition(' on ')[2]
    yield 'executable', f'{size} bytes (at least {SMALLEST} required), on {file_system}'
    state = 'changed' if job.changed else 'unchanged'
    yield 'build', f'commit {job.build.get("commit", "-")}, sources {state}'
    yield 'launches', f'{len(job.valid)} of {len(job.asked)} valid'
    if job.valid:
        offsets = [abs(launch.row.offset_ms) for launch in job.valid]
        within = '-' if math.isnan(sum(offsets)) else f'{max(offsets):.3f}'
        inside = 'not ' if job.outside else ''
        yield 'clocks', f'{inside}started on a node of the job; node clocks within {within} ms'

def nodes_of_job(job):
    """Returns the Nodes of the launches of the figure's size, and the time of the middle one. If
    there are several launches, a node counts only if it is in two."""
    launches = job.size.valid
    time = (job.size.middle or job.figure).time
    return nodes_of([launch.ranks for launch in launches], min(2, len(launches))), time

def growth(job):
    """How the time grows from the smallest size to the largest; '' if there is only one size, or if
    their later launches do not lie apart: chance could have made the difference"""
    sizes = [size for size in job.sizes if len(size.later) > 1]
    if len(sizes) < 2:
        return ''
    large, *_, small = sizes
    lower, higher = sorted((large.later, small.later), key=lambda later: later[0].time)
    if lower[-1].time >= higher[0].time:
        return ''
    return f'from {small.nodes} to {large.nodes} nodes, the middle launch takes ' \
        f'{large.middle.time / (small.middle.time or 1):.1f} times as long: ' \
        + phase_changes([small.middle.row], [large.middle.row])

def summary(job):
    count, points = len(job.problems), sum(map(len, job.to_review))
    yield f'Ziatest: job {job.id} on {job.cluster}, {job.date}, {job.mpi}'
    yield headline(job)
    if len(job.reruns) > 8:
        median = ms(statistics.median(job.reruns))
        yield f'Later launches: {len(job.reruns)}, the median {median} ms {spread(job.reruns)}'
    elif job.reruns:
        yield f'Later launches: {", ".join(map(ms, job.reruns))} ms'
    yield f'{plural(count or "No", "problem")}; {plural(points or "no", "point")} to review'
    yield ''
    for name, value in fact_lines(job):
        yield f'{name:17}{value}'
    yield from section('Problems', [job.problems], 20)
    yield from section('To review', job.to_review, 5)
    warnings = [f'{launch.name}: {line}' for launch in job.asked
                for line in launch.output.kept['warning']]
    yield from section('Warnings', [warnings], 20)
    launches = []
    for size in job.sizes:
        nodes, later = plural(size.nodes, 'node'), [launch.time for launch in size.later]
        middle = f'the middle of {len(later)} {spread(later)}' if later else 'later'
        launches += [(nodes, 'first', size.first), (nodes, middle, size.middle)]
    yield from launch_table('ms', launches)
    grown = growth(job)
    if grown:
        yield from ['', grown]
    if job.figure:
        nodes, time = nodes_of_job(job)
        yield ''
        yield from slow_lines(late_nodes(nodes, time), len(nodes),
                              [launch.ranks for launch in job.size.valid])

def pictures(job):
    """Yields the names and the lines of pictures."""
    if not job.figure:
        return
    about, bars = f'job {job.id} on {job.cluster}, {job.mpi}', []
    for size in job.sizes:
        shape, later = f'{plural(size.nodes, "node")} x {job.ppn}', len(size.later)
        middle = 'middle of ' * (later > 1) + plural(later, 'later launch')
        bars += [(f'{shape}, {which}', False, launch.row)
                 for which, launch in [('first launch', size.first), (middle, size.middle)]
                 if launch]
    title = growth(job) or headline(job)
    yield 'scaling.svg', draw_bars(title, f'{about}; {EACH_BAR}', PHASES, bars)
    about += f'; {plural(job.figure.nodes, "node")} x {job.ppn}'
    yield ranks_picture(f'{about}, launch {job.figure.run}, {duration(job.figure.time)}',
                        job.figure.ranks)
    nodes, time = nodes_of_job(job)
    yield nodes_picture(f'{about}, the median of {plural(len(job.size.valid), "launch")}',
                        late_nodes(nodes, time), nodes, time)
