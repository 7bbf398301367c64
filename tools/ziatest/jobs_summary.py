"""jobs_summary - what summarize prints and draws of several jobs"""
import collections
import itertools
import os
import re
import statistics

from .changes import phase_changes
from .draw import draw_bars
from .job_summary import EACH_BAR, launch_table
from .rows import PHASES
from .text import duration, ms, plural, spread, table

def common_sizes(jobs):
    """Yields the nodes, ppn and launches of each size that two or more jobs have. Each launch is
    (name of the job, 'first' or 'middle', launch or None)."""
    shapes = collections.defaultdict(list)
    for job in jobs:
        for size in job.sizes:
            if size.valid:
                shapes[size.nodes, job.ppn].append((job.name, size))
    for (nodes, ppn), sizes in sorted(shapes.items(), reverse=True):
        if len(sizes) > 1:
            yield nodes, ppn, [(name, which, getattr(size, which))
                               for which in ('first', 'middle') for name, size in sizes]

def summary(jobs):
    rows = ['job,system,date,MPI,nodes,ppn,figure,warm,later,valid,problems,to review'.split(',')]
    for job in jobs:
        figure, later = job.figure, '-'
        if job.reruns:
            later = f'{ms(statistics.median(job.reruns))} {spread(job.reruns)}'
        rows.append([
            job.name, f'{job.cluster}-{job.id}', job.date, job.mpi,
            f'{figure.nodes if figure else "-"} of {job.system_nodes or "-"}', str(job.ppn),
            ms(figure.time) if figure else '-',
            f'{figure.ranks.warm} of {len(figure.ranks.hosts)}' if figure else '-', later,
            f'{len(job.valid)} of {len(job.asked)}',
            str(len(job.problems)), str(sum(map(len, job.to_review)))])
    yield from table(rows, left=rows[0])
    for one, other in itertools.combinations(jobs, 2):
        for start in sorted(one.rows.keys() & other.rows.keys())[:1]:
            yield f'{one.name} and {other.name} contain the same launch, started at {start}'
    common = [*common_sizes(jobs)]
    for nodes, ppn, launches in common:
        yield from launch_table(f'{plural(nodes, "node")} x {ppn}, ms', launches)
    if jobs[1:] and not common:
        yield 'no size in common; ask for the same SWEEP'

def short_names(jobs):
    """The names of jobs by their paths: the last part, unless that of another job is the same"""
    names = [re.sub(r'\.(tar|tar\.gz|tgz)\Z', '', os.path.basename(os.path.normpath(job.name)))
             for job in jobs]
    return {job.name: name if names.count(name) == 1 else job.name
            for job, name in zip(jobs, names)}

def pictures(jobs):
    """Yields the name and the lines of a picture, if the jobs have a size in common."""
    names, common, bars = short_names(jobs), [*common_sizes(jobs)], []
    for nodes, ppn, launches in common:
        for which, what in ('first', 'first launch'), ('middle', 'middle of the later launches'):
            alike = [(names[name], False, launch.row) for name, each, launch in launches
                     if each == which and launch]
            heading = f'{plural(nodes, "node")} x {ppn}, {what}'
            bars += [(heading, False, None), *alike] if alike else []
    if not common:
        return
    nodes, ppn, launches = common[0]
    firsts = sorted(((names[name], launch) for name, which, launch in launches
                     if which == 'first' and launch), key=lambda launch: launch[1].time)
    title = f'{plural(nodes, "node")} x {ppn}'
    if firsts[1:]:
        (fast, quick), *_, (slow, late) = firsts
        title += f', first launch: {fast} {duration(quick.time)}, {slow} ' \
            f'{duration(late.time)}: ' + phase_changes([quick.row], [late.row])
    yield 'comparison.svg', draw_bars(title, EACH_BAR, PHASES, bars)
