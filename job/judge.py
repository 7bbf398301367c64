"""judge - whether the files of a Ziatest job agree, and what they prove"""
import collections
import hashlib
import os
import re
import statistics
import subprocess

from read import PARTS, Unreadable, number, shape, times

VERDICTS = 'PASS UNVERIFIED MODIFIED FAIL'.split()  # the worst last
SMALLEST = 104857600  # bytes of the executable: the specification's 100 MB
SCRIPT = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'run_ziatest.sh')
SOURCE = r'(Makefile|[^/]+\.c|probe/[^/]+\.[ch])\Z'  # of the two programs
REVIEWED = r'(LD_PRELOAD|SLURM_BCAST|(OMPI|PMIX|PRTE|MPICH|MPIR|MPI|I_MPI|UCX|FI)_.*)\Z'
KINDS = ['on the CPU', 'waiting for a CPU', 'blocked']  # of WORK


def contradictions(job):
    """Yields the contradictions between files: the launch and both values."""
    asked, plan = set(job.asked), 'SWEEP is "%s", RUNS is %d' % (job.settings['SWEEP'], job.runs)
    last = max((i for i, launch in enumerate(job.asked) if launch.last_line or launch.ranks),
               default=0)
    for launch in job.asked[:last] if job.incomplete else job.asked:
        if not launch.last_line:
            yield '%s: there is no output, but %s' % (launch.name, plan)
    starts, earliest, of = {}, job.date.rstrip('Z'), 'DATE'
    for launch in sorted(job.launches.values(), key=lambda launch: (-launch.nodes, launch.run)):
        if launch.last_line and launch not in asked:
            yield '%s: there is an output, but %s' % (launch.name, plan)
        if launch.ranks and not launch.was_made:
            yield '%s: there is a ranks file, but the output is %s' % (
                launch.name, '"%s"' % launch.not_launched if launch.last_line else 'missing')
        cut = launch.was_made and launch.status is None
        if cut and not (job.incomplete and launch in job.asked[last:]):
            yield '%s: its output ends in "%s", not in "status S"' % (
                launch.name, launch.last_line.strip())
        if launch.started in starts:
            yield '%s: it started at %s, and so did %s' % (
                launch.name, launch.started, starts[launch.started].name)
        elif launch.started:
            starts[launch.started] = launch
            if launch in asked:
                if launch.started < earliest:
                    yield '%s: it started at %s, before %s, %s' % (
                        launch.name, launch.started, of, earliest)
                earliest, of = launch.started, 'the start of ' + launch.name
        if launch.succeeded:
            yield from disagreements(job, launch)
    seen = set()
    for row in job.rows:
        if not row:
            yield 'results.csv: a row is damaged'
        elif row['started'] not in starts:
            yield 'results.csv: no output matches the launch on %(nodes)s nodes that started at ' \
                '%(started)s' % row
        elif row['started'] in seen:
            yield '%s: results.csv has two rows for its start at %s' % (
                starts[row['started']].name, row['started'])
        seen.add(row.get('started'))
    for program in () if job.incomplete else ('ziatest', 'ziaprobe'):
        after, built = (sums.get('sum ' + program, 'missing') for sums in (job.settings, job.build))
        if after != built or after == 'missing':
            yield '%s: SHA-256 %s after the last launch, %s in build.txt' % (program, after, built)


def disagreements(job, launch):
    """Yields the contradictions between the files of a launch that succeeded."""
    row, ranks = launch.row, launch.ranks
    if not row:
        yield '%s: its status is 0, but results.csv has no row for its start at %s' % (
            launch.name, launch.started or '-')
    if not ranks:
        yield '%s: its status is 0, but there is no ranks file' % launch.name
    if not row or not ranks:
        return
    of_row = shape(row['nodes'], row['ppn'], row['ranks'])
    expected = launch.nodes * job.ppn
    time = '%8.2f millisecs' % launch.time
    if launch.time >= 1000:
        time = '%3d:%02d min:sec' % divmod(launch.time // 1000, 60)
    for text, one, other in (
            ('"%s" in its output, "%s" according to its row', ', '.join(launch.printed),
             'Time test was completed in %s, %s ms, %s' % (time, row['time_ms'], of_row)),
            ('%s in its row, %s according to the settings', of_row,
             shape(launch.nodes, job.ppn, expected)),
            ('%s in its ranks file, %s according to the settings',
             '%d ranks%s' % (ranks.count, '' if ranks.whole else ' before a damaged line'),
             '%d ranks' % expected),
            ('the last rank completed at %s ms in its ranks file, %s in its row',
             ranks.completed and '%.3f' % ranks.completed, row['time_ms']),
            ('the executable has %s bytes in its row, %s in build.txt', row['executable_bytes'],
             job.build.get('size ziaprobe'))):
        if one != other:
            yield '%s: %s' % (launch.name, text % (one or '-', other or '-'))


def verdicts(job):
    """Yields each verdict: one of VERDICTS, the name of the requirement, an explanation."""
    def verdict(is_met, is_doubtful=False):
        return 'FAIL' if not is_met else 'UNVERIFIED' if is_doubtful else 'PASS'

    def set_by_bidder(setting, detected):
        value = job.settings.get(detected) or 'none'
        return '' if value == (job.settings.get(setting) or 'none') else \
            ' (set by the bidder; %s detected)' % value

    valid = [launch for launch in job.asked if launch.valid]
    nodes, system = job.size.nodes if job.size else 0, number(job.settings.get('SYSTEM_NODES'))
    remark = set_by_bidder('SYSTEM_NODES', 'NODES_FOUND')
    share = ', %.1f %%' % (1000 * nodes // system / 10) if nodes and system else ''
    yield verdict(nodes and 100 * nodes >= 99 * (system or 0), remark or not system), \
        'compute nodes', '%s of %s%s (UK-NSS requires 99 %%)%s' % (
            nodes or '-', system or '-', share, remark)

    nics, remark = number(job.settings.get('NICS')), set_by_bidder('NICS', 'NICS_FOUND')
    yield verdict(job.ppn >= (nics or 0), remark or not nics), 'ranks per node', \
        '%d for %s network interface%s%s' % (job.ppn, nics or '-', 's' * (nics != 1), remark)

    size = job.size or job.sizes[0]
    yield verdict(len(size.valid) == job.runs), 'launches', \
        '%d of %d valid on %d nodes; %d of %d in all' % (
            len(size.valid), job.runs, size.nodes, len(valid), len(job.asked))

    yield verdict(not job.contradictions), 'consistency', \
        '%d found, see Problems' % len(job.contradictions) if job.contradictions else \
        'no contradictions found'

    smallest = min((int(launch.row['executable_bytes']) for launch in valid), default=None)
    yield verdict(not valid or smallest >= SMALLEST, not valid), 'executable', \
        '%s bytes (at least %d required)' % ('-' if smallest is None else smallest, SMALLEST)

    offsets = [times(launch.row, ['offset'])[0] for launch in valid]
    is_known = bool(valid) and None not in offsets
    is_near = is_known and all(abs(offset) <= max(1, launch.time / 100)
                               for offset, launch in zip(offsets, valid))
    is_inside = all(launch.row['corrected_ms'] for launch in valid)
    yield verdict(True, not is_near or not is_inside), 'clocks', \
        '%sstarted on a node of the job; node clocks within %s ms' % (
            '' if is_inside else 'not ', '%.3f' % max(map(abs, offsets)) if is_known else '-') \
        if valid else 'no valid launch'


def judge_source(job, clone):
    """The verdict on the sources from which the programs were built"""
    def git(*words):
        done = subprocess.run(('git', '-C', clone) + words, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise Unreadable('--source: ' + done.stderr.decode('ascii', 'replace').strip())
        return done.stdout

    commit = git('rev-parse', '--short', 'HEAD').decode().strip()
    names = git('ls-tree', '-r', '-z', '--name-only', '--full-tree', 'HEAD').decode('latin-1')
    committed = {'sum ' + name: hashlib.sha256(git('cat-file', 'blob', 'HEAD:' + name)).hexdigest()
                 for name in names.split('\0') if re.match(SOURCE, name)}
    built = {name: value for name, value in job.build.items() if re.match('sum ' + SOURCE, name)}
    changed = sorted(name[4:] for name in {**committed, **built}
                     if committed.get(name) != built.get(name))
    hidden = [name for name in changed if name not in job.changed]
    if not changed:
        return 'PASS', 'source', 'same as commit %s of %s' % (commit, clone)
    return 'MODIFIED', 'source', 'differs from commit %s: %s (%s)' % (
        commit, ', '.join(changed), 'not shown in changes.diff: ' + ', '.join(hidden) if hidden
        else 'shown in changes.diff')


def judge(job, clone):
    """Adds the contradictions and the verdicts to a job."""
    job.contradictions = list(contradictions(job))
    job.verdicts = list(verdicts(job)) + ([judge_source(job, clone)] if clone else [])
    worst = max((verdict for verdict, _, _ in job.verdicts), key=VERDICTS.index)
    names = [name for verdict, name, _ in job.verdicts if verdict == worst]
    job.failed = worst == 'FAIL'
    job.worst = worst if worst == 'PASS' else '%s: %s' % (worst, ', '.join(names))


def to_review(job):
    """Yields everything that is allowed, but may have changed the result."""
    try:
        with open(SCRIPT, encoding='ascii', errors='replace') as script:
            reference = {line.strip() for line in script}
        for line in job.script:
            if line.strip() not in reference and not re.match('#+SBATCH', line):
                yield 'batch script: ' + line.strip()
    except FileNotFoundError:
        yield 'batch script: not compared, because there is no run_ziatest.sh beside job/'
    for name in job.changed:
        yield 'changes.diff: ' + ('built outside git' if name == 'UNKNOWN' else name)
    for name, value in job.settings.items():
        if re.match(REVIEWED, name):
            yield 'variable: %s=%s' % (name, value)
    for name in job.settings.get('UNSET', '').split():
        yield 'unset before the launches: %s=%s' % (name, job.settings.get(name, ''))
    if job.settings.get('NODES_UNUSED'):
        yield 'nodes not used: ' + job.settings['NODES_UNUSED']
    if number(job.settings.get('NICS_DOWN')):
        yield 'network interfaces that are down: ' + job.settings['NICS_DOWN']
    nodes = job.asked[0].ranks.nodes.values() if job.asked[0].ranks else []
    warm = sum(node.faults == 0 for node in nodes)
    if warm:
        yield 'warm start: %d of %d nodes read no page of a file in the first launch' % (
            warm, len(nodes))


def failures(job):
    """Yields each failed launch, with the lines that explain it."""
    for launch in job.asked:
        if launch.last_line and not launch.succeeded:
            status = 'cut off' if launch.status is None else 'status %d' % launch.status
            facts = [launch.not_launched or status] + launch.no_response
            clues = [clue for clues in launch.clues for clue in clues][:3]
            yield '\n    '.join(['%s: %s' % (launch.name, '; '.join(facts))] + clues)


def slow_nodes(job):
    """The worst five nodes: how far each is above the median of all in each of PARTS, and what its
    ranks mostly did"""
    launches = job.size.valid
    if len(launches) < 2 or job.size.nodes < 3:
        return []
    excess = collections.defaultdict(lambda: [[] for _ in PARTS + KINDS])
    partners = {}
    for launch in launches:
        nodes = launch.ranks.nodes
        partners.update({node.host: launch.ranks.partner(key).host for key, node in nodes.items()})
        for i in range(len(PARTS + KINDS)):
            figures = {node.host: node.figures[i] for node in nodes.values()
                       if node.figures[i] is not None}
            median = statistics.median_low(figures.values()) if figures else None
            for host, figure in figures.items():
                excess[host][i].append(figure - median)
    tenth = job.size.median.time / 10
    # daemon, spawn and exec are measured in ticks of 10 ms, so they must differ by two of these.
    least = [max(20, tenth), max(20, tenth), tenth, tenth]
    has_fences = all(launch.row['fence_ms'] for launch in launches)
    found = []
    for host, of_launches in excess.items():
        medians = [statistics.median_low(each) if len(each) > 1 else None for each in of_launches]
        slow = [i for i in range(len(PARTS)) if medians[i] is not None and medians[i] >= least[i]]
        if not slow:
            continue
        worst = max(slow, key=lambda i: medians[i])
        work = [(time, kind) for time, kind in zip(medians[len(PARTS):], KINDS) if time is not None]
        is_own = has_fences and work and PARTS[worst] in ('exec', 'init')
        name = host + ' with ' + partners[host] if PARTS[worst] == 'exchange' else host
        found.append((medians[worst], name, medians[:len(PARTS)], max(work)[1] if is_own else '-'))
    return [node[1:] for node in sorted(found, key=lambda node: -node[0])[:5]]
