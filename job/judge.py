"""judge - the problems of a Ziatest job, what to review in it, and what has changed in a log"""
import collections
import difflib
import fileinput
import itertools
import math
import os
import re
import statistics

from nodes import known
from read import (JOB_FILE, LOG_PHASES, PHASES, checksums, ms, plural, seconds_between, spread,
                  times)

# The LAST launches of a log are compared with those before them: at least FEWEST launches, made on
# at least NIGHTS nights.
LAST, FEWEST, NIGHTS = 5, 20, 3
# A launch is beyond the earlier ones if at least SHARE of them took less time, or at least SHARE of
# them took more. There is a change if at least MOST of the last launches are, and if the medians
# differ by at least MARGIN.
SHARE, MOST, MARGIN = 0.95, 3, 0.05
# The launches of one night are alike. Therefore, the median of the last night must also be more
# than SPREADS spreads away from that of the medians of the earlier nights, at least SOME. A spread
# is their standard deviation, estimated by DEVIATION times the median absolute deviation, which a
# few odd nights hardly change. A night of more than LAST launches counts as several.
SPREADS, SOME, DEVIATION = 3, 5, 1.4826
SMALLEST = 100000000  # bytes of the executable: the specification's 100 MB
# Seconds by which environment.txt may be later than the first launch, whose clock may be set back,
# and by which it may be earlier, whatever delays the launch
LATEST, EARLIEST = 60, 3600
SCRIPTS = [os.path.join(os.path.dirname(os.path.realpath(__file__)), name)
           for name in ('../run_ziatest.sh', 'launches')]
SETTING = re.compile(r'(RUNS|SWEEP|PPN|TIMEOUT|SYSTEM_NODES|SRUN_OPTIONS)='  # a setting alone
                     r"""("[^"$`\\]*"|'[^']*'|[\w./:=,+-]*)([ \t]+#.*)?\Z""")
# Variables that may change a launch, except those that Slurm itself sets (in its env.c)
VARIABLES = r'(?!((OMPI|PRTE)_MCA_plm_slurm_args|' \
    r'(I_MPI_)?HYDRA_(BOOTSTRAP|LAUNCHER)(_EXEC)?(_EXTRA_ARGS)?)\Z)' \
    r'(LD_PRELOAD|SLURM_MPI_TYPE|(OMPI|PRTE|PMIX|PMI|MPICH|MPIR|HYDRA|I_MPI|MV2|UCX|FI)_.*)'

def problems(job):
    """Yields the problems, which make the exit status 1, each with the lines that explain it."""
    if not job.figure:
        yield 'no figure: no launch is valid'
    elif job.system_nodes and 100 * job.figure.nodes < 99 * job.system_nodes:
        yield f'compute nodes: {job.figure.nodes} of {job.system_nodes}, fewer than 99 %'
    for kind in [kind for kind in job.kinds if kind.interfaces > job.ppn]:
        yield f'ranks per node: {job.ppn} for {kind.interfaces} network interfaces on {kind.where}'
    if job.valid and not job.smallest >= SMALLEST:
        yield f'executable: {job.smallest:.0f} bytes, fewer than {SMALLEST}'
    yield from changed_files(job)
    yield from contradictions(job)
    yield from (describe(launch) for launch in job.asked
                if launch in job.before or launch.contradiction)

def contradictions(job):
    """Yields how files that are not about a single launch contradict the others."""
    if not job.script:
        yield 'environment.txt is cut: it lacks the batch script'
    for nodes, run in sorted(job.launches.keys() - {(each.nodes, each.run) for each in job.asked}):
        yield f'launch {run} on {plural(nodes, "node")} is not one that RUNS and SWEEP ask for'
    for start in job.repeated:
        yield f'results.csv has several rows with the start {start}'
    for one, other in zip(job.asked, job.asked[1:]):
        if one.nodes == other.nodes and one.started and '' < (other.started or '') <= one.started:
            yield f'{other.name} did not start after {one.name}'
    # The output of a launch may be lost with a node; then its row seems to belong to no launch.
    if all(launch.started or launch.reason for launch in job.asked):
        for start in sorted(job.rows.keys() - {launch.started for launch in job.asked}):
            yield f'results.csv has a row of the start {start}, which belongs to no launch'
    first = min((launch.started for launch in job.asked if launch.started), default='')
    if first and re.match(r'2[0-9-]{9}T[0-9:]{8}Z\Z', job.date) and (
            seconds_between(first, job.date) > LATEST or
            job.asked[0].started == first and seconds_between(job.date, first) > EARLIEST):
        yield f'environment.txt is of {job.date}, but the first launch started at {first:.19}Z'

def changed_files(job):
    """Yields how the files differ from SHA256SUMS, and the programs from build.txt."""
    listed = checksums(job.text['SHA256SUMS'])
    if not listed:
        yield 'there is no SHA256SUMS: the job was killed, or files were lost'
        return
    for name in sorted({*listed, *job.sums, 'build.txt', 'changes.diff'} - {'SHA256SUMS'}):
        if name not in job.sums and JOB_FILE.match(name):
            yield f'{name} is missing'
        elif name not in listed:
            yield f'{name} is not from this job'
        elif job.sums.get(name, listed[name]) != listed[name]:
            yield f'{name} was changed after the job'
    built, after = checksums(job.text['build.txt']), checksums(job.text['environment.txt'])
    for program in 'ziatest', 'ziaprobe':
        if program not in built and 'build.txt' in job.sums:
            yield f'build.txt lacks the checksum of {program}'
        elif program in after and built.get(program, after[program]) != after[program]:
            yield f'{program} was rebuilt while the job ran or waited'

def describe(launch):
    """Describes a launch that is not valid, with what its output says about the reason."""
    status = 'no status' if launch.status is None else f'status {launch.status}'
    text = launch.reason or status
    if launch.contradiction:
        text += f'; {launch.contradiction}'
    return '\n    '.join([f'{launch.name}: {text}', *launch.clues()])

def to_review(job):
    """Yields, for each kind of point to review, a list of what may have changed the result."""
    def values(pattern, title):
        return [f'{title}: {name}={value}' for name, value in job.facts.items()
                if re.fullmatch(pattern, name) and value not in ('', '(null)')]

    yield [describe(launch) for launch in job.asked[len(job.before):]
           if not launch.valid and not launch.contradiction]
    rows = [(launch.name, launch.row) for launch in job.valid]
    yield [f'{name}: the clock of {row.offset_host} is off by {row.offset_ms:.3f} ms'
           for name, row in rows
           if abs(row.offset_ms) > max(1, row.time_ms / 100, row.offset_bound_ms)]
    yield [f'launches not started on a node of the job: {job.outside}'] if job.outside else []
    if job.figure and job.figure.ranks.warm:
        nodes = plural(len(job.figure.ranks.hosts), 'node')
        name = job.figure.name if job.before else 'the first launch'
        yield [f'warm start: {job.figure.ranks.warm} of {nodes} read nothing from disk in {name}']
    yield ['nodes of more than one kind: ' + kind.line for kind in job.kinds[1:]]
    yield [f'network interfaces that are down: {kind.down} on {kind.where}'
           for kind in job.kinds if kind.down]
    yield [f'no network interface found on {kind.where}'
           for kind in job.kinds if not kind.interfaces]
    found = job.facts.get('NODES_FOUND') or 'none'
    if job.system_nodes and str(job.system_nodes) != found:
        yield [f'setting: SYSTEM_NODES={job.system_nodes} (found: {found})']
    if job.interfaces not in ('', str(job.ppn)):
        yield [f'setting: PPN={job.ppn} (network interfaces: {job.interfaces})']
    yield values('SRUN_OPTIONS', 'setting')
    yield [] if job.system_nodes else ['SYSTEM_NODES is not known: sinfo did not answer']
    unused = job.facts.get('NODES_UNUSED')
    yield ['nodes outside the job: ' + unused] if unused else []
    yield values('ReqNodeList|ExcNodeList|Features|Reservation|Switches', 'option of the job')
    yield [f'{launch.name}: {line}' for launch in job.asked for line in launch.kept['not ended']]
    yield from changes_of_script(job)
    yield ['changes.diff: ' + name.replace('UNKNOWN', 'built outside git') for name in job.changed]
    yield values(VARIABLES, 'variable')

def changes_of_script(job):
    """Yields two lists: the lines of the batch script and of its job/launches that are not in those
    of summarize, and how many of these lines they lack."""
    def code(lines):
        """Yields the lines, except comments, and settings in the block that users edit."""
        marks = 0
        for line in map(str.strip, lines):
            marks += line.startswith('# ---- Edit ')  # The block is between the first two.
            if line and line[0] != '#' and not (marks == 1 and SETTING.match(line)):
                yield line

    with fileinput.input(SCRIPTS, openhook=fileinput.hook_encoded('ascii', 'replace')) as ours:
        changes = list(difflib.unified_diff(list(code(ours)), list(code(job.script)), n=0))[2:]
    lacks = sum(line[0] == '-' for line in changes)
    yield ['batch script: ' + line[1:] for line in changes if line[0] == '+']
    lines = f'{plural(lacks, "line")} of run_ziatest.sh or job/launches'
    yield ['batch script: it lacks ' + lines] if lacks else []

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

def nights(launches):
    """The launches of each night"""
    return [list(night) for _, night in itertools.groupby(launches, lambda row: row.night)]

def are_enough(before):
    """Tells whether later launches can be compared with those BEFORE."""
    return len(before) >= FEWEST and len({row.night for row in before}) >= NIGHTS

def change(launches):
    """Returns 1 if the last launches took longer than those before, -1 if they took less time, or
    0; and how many of them are beyond the others."""
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
    """Tells whether the last night is beyond the spread of the earlier ones, or whether the same
    change was already seen on the night before. SIGN is what change() returns."""
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

def last_changes(launches):
    """Returns lines about what changed in the last launches of a kind, which of them is the
    verdict, and whether they are slower than those before."""
    last, before = launches[-LAST:], launches[:-LAST]
    if not are_enough(before):
        verdict = f'too few launches to compare: at least {FEWEST} before the last {LAST}, on ' \
            'three nights or more'
        return [typical(f'all {len(launches)}', launches), verdict], verdict, False
    sign, beyond = change(launches)
    verdict = 'no change'
    if sign and is_confirmed(launches, sign):
        which, took = ('slower', 'longer') if sign > 0 else ('faster', 'less time')
        verdict = f'{which}: {beyond} of the last {LAST} took {took} than 95 % of those before: ' \
            + phase_changes(before, last, LOG_PHASES, sign, 'no phase has changed')
    lines = [typical(f'the last {LAST}', last), typical('before', before), verdict]
    host, count = collections.Counter(row.outlier_host for row in last).most_common(1)[0]
    usually = sum(row.outlier_host == host for row in before)
    if host != '' and count >= MOST and usually < len(before) / 10:
        lines.append(f'{host} was the outlier of {count} of the last {LAST}, and of {usually} of '
                     f'the {len(before)} before')
    return lines, verdict, verdict.startswith('slower')
