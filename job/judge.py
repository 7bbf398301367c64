"""judge - the problems of a Ziatest job, and what to review in it"""
import difflib
import math
import os
import re

from read import JOB_FILE, checksums, plural

SMALLEST = 104857600  # bytes of the executable: the specification's 100 MB
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
    for kind in job.kinds:
        if kind.interfaces > job.ppn:
            count = f'{kind.interfaces} network interfaces'
            yield f'ranks per node: {job.ppn} for {count} on {kind.where}'
    if job.valid and not job.smallest >= SMALLEST:
        yield f'executable: {job.smallest:.0f} bytes, fewer than {SMALLEST}'
    yield from changed_files(job)
    yield from map(describe, job.before)

def changed_files(job):
    """Yields how the files differ from SHA256SUMS, and the programs from build.txt."""
    listed = checksums(job.text['SHA256SUMS'])
    if not listed:
        yield 'there is no SHA256SUMS: the job was killed, or files were lost'
        return
    for name in sorted({*listed, *job.sums} - {'SHA256SUMS'}):
        if name not in listed:
            yield f'{name} is not from this job'
        elif name not in job.sums and JOB_FILE.match(name):
            yield f'{name} is missing'
        elif job.sums.get(name, listed[name]) != listed[name]:
            yield f'{name} was changed after the job'
    built, after = checksums(job.text['build.txt']), checksums(job.text['environment.txt'])
    for program in 'ziatest', 'ziaprobe':
        if built.get(program, after.get(program)) != after.get(program, built.get(program)):
            yield f'{program} was rebuilt while the job ran or waited'

def describe(launch):
    """Describes a launch that is not valid, with up to three lines of its output that explain it"""
    text, kept = launch.last_line or 'no output', launch.kept
    if launch.was_made and launch.status is None:
        text = 'no status'
    elif launch.status == 0 and not kept['failure']:
        text += ', but its row of results.csv or its file of ranks is missing'
    clues = list(dict.fromkeys(kept['calls'] + kept['cause'] + kept['failure'] + kept['error']))
    return '\n    '.join([f'{launch.name}: {text}{silence(launch)}', *clues[:3]])

def silence(launch):
    """Names the nodes that did not report the timeout of a launch."""
    nodes = launch.node_names.split()
    silent = [node for node in nodes if node.split('.')[0] not in launch.reported]
    if launch.kept['result'] or len(silent) in (0, len(nodes)):
        return ''
    if len(silent) == len(nodes) - 1:
        name, = set(nodes) - set(silent)
        return f'; response from {name} only: the others are silent, or its clock is ahead'
    more = f' and {len(silent) - 20} more' if len(silent) > 20 else ''
    return f'; no response from: {" ".join(silent[:20])}{more}'

def to_review(job):
    """Yields, for each kind of point to review, a list of what may have changed the result."""
    def values(pattern, title):
        return [f'{title}: {name}={value}' for name, value in job.facts.items()
                if re.fullmatch(pattern, name) and value not in ('', '(null)')]

    yield [describe(launch) for launch in job.after if not launch.valid]
    rows = [(launch.name, launch.row) for launch in job.valid]
    yield [f'{name}: the clock of {row.offset_host} is off by {row.offset_ms:.3f} ms'
           for name, row in rows
           if abs(row.offset_ms) > max(1, row.time_ms / 100, row.offset_bound_ms)]
    outside = sum(math.isnan(row.corrected_ms) for _, row in rows)
    yield [f'launches not started on a node of the job: {outside}'] if outside else []
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
    if set(job.interfaces) - {job.ppn}:
        counts = ' or '.join(map(str, job.interfaces))
        yield [f'setting: PPN={job.ppn} (network interfaces: {counts})']
    yield values('SRUN_OPTIONS', 'setting')
    if not job.system_nodes:
        yield ['SYSTEM_NODES is not known: sinfo did not answer']
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

    ours = []
    for name in SCRIPTS:
        with open(name, encoding='ascii', errors='replace') as script:
            ours += script
    changes = list(difflib.unified_diff(list(code(ours)), list(code(job.script)), n=0))[2:]
    lacks = sum(line[0] == '-' for line in changes)
    yield ['batch script: ' + line[1:] for line in changes if line[0] == '+']
    lines = f'{plural(lacks, "line")} of run_ziatest.sh or job/launches'
    yield ['batch script: it lacks ' + lines] if lacks else []
