"""judge - the problems of a Ziatest job, what to review in it, and its slow nodes"""
import collections
import os
import re
import statistics

from read import CLUES, PARTS, STEPS, TIMEOUT, plural, shape, times

SMALLEST = 104857600  # bytes of the executable: the specification's 100 MB
SCRIPT = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'run_ziatest.sh')
# The block of the script that users edit, and a line in it that only changes a setting
BLOCK = re.compile('^# ---- Edit .*?^# ---- Edit no further', re.M | re.S)
SETTING = re.compile(r'^\s*(RUNS|SWEEP|PPN|TIMEOUT|SYSTEM_NODES|SRUN_OPTIONS)='
                     r'''("[^"$`\\\n]*"|'[^'\n]*'|[\w./:=,+-]*)([ \t]+#.*)?$''', re.M)
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
    for where, count, _ in job.interfaces:
        if count > job.ppn:
            yield f'ranks per node: {job.ppn} for {plural(count, "network interface")} on {where}'
    if job.valid and job.smallest < SMALLEST:
        yield f'executable: {job.smallest} bytes, fewer than {SMALLEST}'
    yield from (f'contradiction: {text}' for check in (missing_files, mixed_starts, differences)
                for text in check(job))
    yield from map(describe, job.before)

def describe(launch):
    """Describes a launch that is not valid, with up to three lines of its output that explain it"""
    facts = [launch.last_line or 'no output']
    if launch.was_made and launch.status is None:
        facts = ['no status']
    clues = dict.fromkeys(line for clue in CLUES for line in launch.kept if re.search(clue, line))
    facts = '; '.join(facts + silence(launch))
    return '\n    '.join([f'{launch.name}: {facts}', *list(clues)[:3]])

def silence(launch):
    """Names the nodes that did not report the timeout of a launch, as a list of at most one text"""
    spoke = {host for line in launch.kept for host in TIMEOUT.findall(line)}
    nodes = launch.node_names.split()
    silent = [node for node in nodes if node.split('.')[0] not in spoke]
    if launch.printed or len(silent) in (0, len(nodes)):
        return []
    if len(silent) == len(nodes) - 1:
        name, = set(nodes) - set(silent)
        return [f'response from {name} only: the others are silent, or its clock is ahead']
    more = f' and {len(silent) - 20} more' if len(silent) > 20 else ''
    return [f'no response from: {" ".join(silent[:20])}{more}']

def missing_files(job):
    """Yields what is missing, truncated or left over."""
    plan = f'SWEEP is "{job.facts["SWEEP"]}" and RUNS is {job.facts["RUNS"]}'
    for launch in job.asked if job.is_finished else job.asked[:job.last]:
        if launch.last_line is None:
            yield f'{launch.name}: there is no output, but {plan}'
        elif launch.was_made and launch.status is None:
            yield f'{launch.name}: its output ends in "{launch.last_line}", not in "status S"'
    for launch in job.others:
        if launch.last_line is not None:
            yield f'{launch.name}: there is an output, but {plan}'
    for launch in [*job.asked, *job.others]:
        if launch.ranks and not launch.was_made:
            yield f'{launch.name}: it has a file of ranks, but the output is ' \
                f'"{launch.last_line or "missing"}"'
        for what, is_there in (('row of its start', launch.row), ('file of ranks', launch.ranks)):
            if launch.printed and launch.succeeded and not is_there:
                yield f'{launch.name}: "{launch.printed[0]}" in its output of ' \
                    f'{launch.started}, but there is no {what}'
    for program in ('ziatest', 'ziaprobe') if job.is_finished else ():
        after, built = (facts.get('sum ' + program, '-') for facts in (job.facts, job.build))
        if after != built or after == '-':
            yield f'{program}: SHA-256 {after} after the last launch, {built} in build.txt'

def mixed_starts(job):
    """Yields the starts that occur twice, and the rows that belong to no launch."""
    starts = {}
    for launch in [*job.asked, *job.others]:
        other = starts.setdefault(launch.started, launch)
        if launch.started and other != launch:
            yield f'{launch.name}: it started at {launch.started}, and so did {other.name}'
    # If the node that runs the script dies, the last output may not reach the disk.
    may_lack = not job.is_finished and not job.asked[job.last].started
    for start, count in collections.Counter(row['started'] for row in job.rows).items():
        if start in starts and count > 1:
            yield f'{starts[start].name}: results.csv has {count} rows for its start at {start}'
        elif start not in starts and not may_lack:
            yield f'results.csv: a launch started at {start}, but no output has that start'

def differences(job):
    """Yields how a launch's row, output and file of ranks, and the settings, disagree."""
    for launch in (launch for launch in job.asked if launch.row):
        row, first, ranks, steps = launch.row, job.rows[0], launch.ranks, times(launch.row, STEPS)
        size, expected = shape(row['nodes'], row['ppn'], row['ranks']), launch.nodes * job.ppn
        pairs = [
            (f'{row["program"]} on {size}', 'according to the settings',
             f'ziaprobe on {shape(launch.nodes, job.ppn, expected)}'),
            (f'{row["executable_bytes"]} bytes, {row["mpi"]}', 'in the first row',
             f'{first["executable_bytes"]} bytes, {first["mpi"]}'),
            (f'{launch.time:.3f} ms', 'is the sum of the steps',
             f'{sum(time or 0 for time in steps):.3f} ms')]
        if launch.succeeded:
            time = f'{launch.time:8.2f} millisecs' if launch.time < 1000 else \
                '%3d:%02d min:sec' % divmod(launch.time // 1000, 60)
            pairs.append((f'Time test was completed in {time}, {launch.time:.3f} ms, {size}',
                          'in its output', ', '.join(launch.printed)))
        if launch.succeeded and ranks:
            pairs.append((f'{expected} ranks, the last at {launch.time:.3f} ms',
                          'in its file of ranks',
                          f'{ranks.count} ranks, the last at {ranks.completed:.3f} ms'))
        for one, where, other in pairs:
            if one != other:
                yield f'{launch.name}: in its row, "{one}", but "{other}" {where}'
        for name, time in zip(STEPS[:-1], steps):
            if time is not None and time < 0:
                yield f'{launch.name}: in its row, {name}_ms is negative, {time:.3f}'

def to_review(job):
    """Yields, for each kind of point to review, a list of what may have changed the result."""
    def values(pattern, title):
        return [f'{title}: {name}={value}' for name, value in job.facts.items()
                if re.fullmatch(pattern, name) and value not in ('', '(null)')]

    yield [describe(launch) for launch in job.after if not launch.valid]
    yield [] if job.is_finished else ['the job did not finish']
    started = [launch for launch in job.asked if launch.started]
    before = [job.facts.get('DATE', '').rstrip('Z')] + [launch.started for launch in started]
    yield [f'the clock went back, or launches were mixed: {launch.name} started at '
           f'{launch.started}, after {start}'
           for launch, start in zip(started, before) if launch.started < start]
    clocks = [(launch, *times(launch.row, ['offset', 'offset_bound'])) for launch in job.valid]
    yield [f'{launch.name}: the clock of {launch.row["offset_host"]} is off by {offset:.3f} ms'
           for launch, offset, bound in clocks
           if abs(offset or 0) > max(bound or 0, 1, launch.time / 100)]
    outside = sum(not launch.row['corrected_ms'] for launch in job.valid)
    yield [f'launches not started on a node of the job: {outside}'] if outside else []
    warm = job.figure.ranks.warm if job.figure else 0
    yield [f'warm start: {warm} of {plural(len(job.figure.ranks.nodes), "node")} read no page of a '
           f'file in {job.figure.name if job.before else "the first launch"}'] if warm else []
    yield ['nodes of more than one kind: ' + kind.group() for kind in job.kinds[1:]]
    yield [f'network interfaces that are down: {down} on {where}'
           for where, _, down in job.interfaces if down]
    counts = sorted({count for _, count, _ in job.interfaces if count})
    yield [f'no network interface found on {where}' for where, count, _ in job.interfaces
           if not count]
    found = job.facts.get('NODES_FOUND') or 'none'
    yield [f'setting: SYSTEM_NODES={job.system_nodes} (found: {found})'] \
        if job.system_nodes and str(job.system_nodes) != found else []
    yield [f'setting: PPN={job.ppn} (network interfaces: {" or ".join(map(str, counts))})'] \
        if set(counts) - {job.ppn} else []
    yield values('SRUN_OPTIONS', 'setting')
    yield [] if job.system_nodes else ['SYSTEM_NODES is not known: sinfo did not answer']
    unused = job.facts.get('NODES_UNUSED')
    yield ['nodes outside the job: ' + unused] if unused else []
    yield values('ReqNodeList|ExcNodeList|Features|Reservation|Switches', 'option of the job')
    yield [f'{launch.name}: the step has not ended' for launch in job.asked
           if 'the step has not ended' in launch.kept]
    yield from changes_of_script(job)
    yield ['changes.diff: ' + {'UNKNOWN': 'built outside git'}.get(name, name)
           for name in job.changed]
    yield values(VARIABLES, 'variable')

def changes_of_script(job):
    """Yields two lists: the lines of the batch script that are not in the run_ziatest.sh next to
    summarize, and how many of that one's lines it lacks; comments and settings do not count."""
    def count_lines(text):
        text = BLOCK.sub(lambda block: SETTING.sub('', block.group()), text, 1)
        stripped = map(str.strip, text.split('\n'))
        return collections.Counter(line for line in stripped if line and line[0] != '#')

    with open(SCRIPT, encoding='ascii', errors='replace') as script:
        reference, copy = count_lines(script.read()), count_lines('\n'.join(job.script))
    lacks = sum((reference - copy).values())
    yield ['batch script: ' + line for line in (copy - reference).elements()]
    yield [f'batch script: it lacks {plural(lacks, "line")} of run_ziatest.sh'] if lacks else []

def slow_nodes(job):
    """Returns the names of the five slowest nodes, each with its excess over the median of all in
    each of PARTS, in ms, or None if fewer than two launches show it."""
    size = next((size for size in job.sizes if len(size.valid) > 1 and size.nodes > 2), None)
    if not size or size.nodes != job.figure.nodes:
        return []
    excess, pairs, found = collections.defaultdict(lambda: [[] for _ in PARTS]), {}, []
    for ranks in (launch.ranks for launch in size.valid):
        pairs.update((node.host, ranks.pair(number)) for number, node in ranks.nodes.items())
        for i in range(len(PARTS)):
            known = [node for node in ranks.nodes.values() if node.parts[i] is not None]
            median = statistics.median_low(node.parts[i] for node in known) if known else None
            for node in known:
                excess[node.host][i].append(node.parts[i] - median)
    tenth = size.middle.time / 10
    # daemon, spawn and exec are measured in ticks of 10 ms, so they must differ by two ticks.
    least = [max(20, tenth)] * 2 + [tenth] * 2
    for host, of_launches in excess.items():
        medians = [statistics.median_low(each) if len(each) > 1 else None for each in of_launches]
        time, part = max(((time, part) for time, enough, part in zip(medians, least, PARTS)
                          if time is not None and time >= enough), default=(None, None))
        if part:
            found.append((time, pairs[host] if part == 'exchange' else host, medians))
    return [node[1:] for node in sorted(found, key=lambda node: -node[0])[:5]]
