"""judge - the problems of a job, and what to review in it"""
import math
import re

from .job import JOB_FILE, checksums
from .text import plural

SMALLEST = 100000000  # bytes of the executable: the specification's 100 MB
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
    if job.smallest < SMALLEST:
        yield f'executable: {job.smallest:.0f} bytes, fewer than {SMALLEST}'
    yield from changed_files(job)
    yield from contradictions(job)
    yield from (describe(launch) for launch in job.asked
                if launch in job.before or launch.contradiction)

def contradictions(job):
    """Yields contradictions between the files that are about all launches and the others."""
    if not job.has_script:
        yield 'environment.txt is truncated: the batch script is missing'
    for nodes, run in sorted(job.launches.keys() - {(each.nodes, each.run) for each in job.asked}):
        yield f'launch {run} on {plural(nodes, "node")} was not requested by RUNS and SWEEP'
    for start in job.repeated:
        yield f'results.csv has several rows with the start {start}'
    # The output of a launch may be lost with a node; then its row seems to belong to no launch.
    if all(launch.output.started or launch.reason for launch in job.asked):
        for start in sorted(job.rows.keys() - {launch.output.started for launch in job.asked}):
            yield f'results.csv has a row with the start {start}, which belongs to no launch'

def changed_files(job):
    """Yields differences between the files and SHA256SUMS, and the programs and build.txt."""
    listed = checksums(job.text['SHA256SUMS'])
    if not listed:
        yield 'SHA256SUMS is missing: the job was killed, or files were lost'
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
    """Describes a launch that is not valid, with the lines of its output that explain why."""
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
    yield ['the size of the executable is not known'] if any(
        math.isnan(row.executable_bytes) for _, row in rows) else []
    older = sum(not launch.ranks.started for launch in job.valid)
    yield [f'files of ranks that lack the column started: {older}'] if older else []
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
    yield [f'{launch.name}: {line}' for launch in job.asked
           for line in launch.output.kept['not ended']]
    yield ['changes.diff: ' + name.replace('UNKNOWN', 'built outside git') for name in job.changed]
    yield values(VARIABLES, 'variable')
