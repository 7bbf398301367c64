"""judge - whether the files of a Ziatest job agree, and what they prove"""
import collections
import hashlib
import os
import re
import statistics
import subprocess

from read import PARTS, Unreadable, number, plural, shape, times

VERDICTS = 'PASS UNVERIFIED MODIFIED FAIL'.split()  # the worst last
SMALLEST = 104857600  # bytes of the executable: the specification's 100 MB
SCRIPT = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'run_ziatest.sh')
SOURCE = r'(Makefile|[^/]+\.c|probe/[^/]+\.[ch])\Z'  # of the two programs
PLACEMENT = '--hint=nomultithread --distribution=block:block'  # the default
# Variables that may change a launch, except those that Slurm itself sets (in its env.c)
REVIEWED = r'(?!((OMPI|PRTE)_MCA_plm_slurm_args|HYDRA_LAUNCHER_EXTRA_ARGS|' \
    r'(I_MPI_)?HYDRA_BOOTSTRAP(_EXEC(_EXTRA_ARGS)?)?)\Z)' \
    r'(LD_PRELOAD|SLURM_BCAST|(OMPI|PRTE|PMIX|PMI|MPICH|MPIR|HYDRA|I_MPI|MV2|UCX|FI)_.*)'
WAITED = 'the step had to wait: another step of the job, or a node that was not up, held its nodes'
KINDS = ['on the CPU', 'waiting for a CPU', 'blocked']  # of WORK


def contradictions(job):
    """Yields the contradictions between files: the launch and both values."""
    asked, plan = set(job.asked), 'SWEEP is "%s", RUNS is %d' % (job.settings['SWEEP'], job.runs)
    # An incomplete job lacks the launches after its last one, whose output may be cut off.
    last = max((i for i, launch in enumerate(job.asked) if launch.last_line or launch.ranks),
               default=0)
    for launch in job.asked[:last] if job.incomplete else job.asked:
        if not launch.last_line:
            yield '%s: there is no output, but %s' % (launch.name, plan)
    starts, earliest, earliest_is = {}, job.date.rstrip('Z'), 'DATE'
    for launch in sorted(job.launches.values(), key=lambda launch: (-launch.nodes, launch.run)):
        if launch.last_line and launch not in asked:
            yield '%s: there is an output, but %s' % (launch.name, plan)
        if launch.ranks and not launch.was_made:
            yield '%s: there is a ranks file, but the output is %s' % (
                launch.name, '"%s"' % launch.not_launched if launch.last_line else 'missing')
        is_cut_off = launch.was_made and launch.status is None
        if is_cut_off and not (job.incomplete and launch in job.asked[last:]):
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
                        launch.name, launch.started, earliest_is, earliest)
                earliest, earliest_is = launch.started, 'the start of ' + launch.name
        if launch.succeeded:
            yield from disagreements(job, launch)
        if launch.damage:
            yield '%s: in its row, %s' % (launch.name, launch.damage)
        if launch.ranks and launch.ranks.damage:
            yield '%s: in its ranks file, %s' % (launch.name, launch.ranks.damage)
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
    if not job.build:
        yield 'build.txt is missing or empty'
    if job.build and not job.incomplete:
        for program in 'ziatest', 'ziaprobe':
            after = job.settings.get('sum ' + program, 'missing')
            built = job.build.get('sum ' + program, 'missing')
            if after != built or after == 'missing':
                yield '%s: SHA-256 %s after the last launch, %s in build.txt' % (
                    program, after, built)


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
    size = row['executable_bytes']
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
            ('the executable has %s bytes in its row, %s in build.txt', size,
             job.build.get('size ziaprobe') if job.build else size)):
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
        'compute nodes', '%s of %s%s (UK-NSS requires 99 %%, NERSC-10 99.5 %%)%s' % (
            nodes or '-', system or '-', share, remark)

    nics, remark = number(job.settings.get('NICS')), set_by_bidder('NICS', 'NICS_FOUND')
    yield verdict(job.ppn >= (nics or 0), remark or not nics), 'ranks per node', \
        '%d for %s%s' % (job.ppn, plural(nics or '-', 'network interface'), remark)

    size = job.size or job.sizes[0]
    yield verdict(len(size.valid) == job.runs), 'launches', \
        '%d of %d valid on %s; %d of %d in all' % (
            len(size.valid), job.runs, plural(size.nodes, 'node'), len(valid), len(job.asked))

    yield verdict(not job.contradictions), 'consistency', \
        '%d found, see Problems' % len(job.contradictions) if job.contradictions else \
        'no contradictions found'

    smallest = min((int(launch.row['executable_bytes']) for launch in valid), default=None)
    yield verdict(not valid or smallest >= SMALLEST, not valid), 'executable', \
        '%s bytes (at least %d required)' % ('-' if smallest is None else smallest, SMALLEST)

    clocks = [times(launch.row, ['offset', 'offset_bound', 'time']) for launch in valid]
    offsets = [offset for offset, _, _ in clocks]
    is_known = bool(valid) and None not in offsets
    is_near = is_known and all(abs(offset) <= max(bound or 0, 1, time / 100)
                               for offset, bound, time in clocks)
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
            words = done.stderr.decode('ascii', 'replace').split()
            raise Unreadable('--source: ' + ' '.join(words))
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
    names = collections.defaultdict(list)
    for verdict, name, _ in job.verdicts:
        names[verdict].append(name)
    job.failed = 'FAIL' in names
    job.verdict_kinds = ['%s: %s' % (verdict, ', '.join(names[verdict]))
                         for verdict in reversed(VERDICTS[1:]) if verdict in names] or ['PASS']
    job.to_review = list(to_review(job))


def warm_nodes(launch):
    """How many nodes of a launch read no page of a file: it was warm there. And of how many."""
    nodes = launch.ranks.nodes.values()
    return sum(node.faults == 0 for node in nodes), len(nodes)


def review_script(job):
    """Yields how the batch script differs from the one beside summarize, in more than comments."""
    def count_lines(text):
        stripped = (line.strip() for line in text)
        return collections.Counter(line for line in stripped if line and not line.startswith('#'))

    try:
        with open(SCRIPT, encoding='ascii', errors='replace') as script:
            reference = count_lines(script)
    except FileNotFoundError:
        yield 'batch script: not compared, because there is no run_ziatest.sh beside job/'
        return
    copy = count_lines(job.script)
    lacks = sum((reference - copy).values())
    if lacks:
        yield 'batch script: it lacks %s of run_ziatest.sh' % plural(lacks, 'line')
    for line in (copy - reference).elements():
        yield 'batch script: ' + line


def review_settings(job):
    """Yields the settings that differ from what was found, or from their default."""
    settings = collections.defaultdict(str, job.settings)
    cores = number(settings['CORES'])
    for name, kind, expected in (
            ('PPN', 'default', settings['NICS']),
            ('NICS', 'found', settings['NICS_FOUND']),
            ('SYSTEM_NODES', 'found', settings['NODES_FOUND']),
            ('CORES_PER_RANK', 'default',
             str(max(1, cores // job.ppn)) if cores else settings['CORES_PER_RANK']),
            ('PLACEMENT', 'default', PLACEMENT), ('SRUN_OPTIONS', 'default', '')):
        if settings[name] != expected:
            yield 'setting: %s=%s (%s: %s)' % (name, settings[name], kind, expected or 'none')


def to_review(job):
    """Yields lists of what is allowed, but may have changed the result; one for each kind."""
    def values(pattern, title='variable'):
        return ['%s: %s=%s' % (title, name, value) for name, value in job.settings.items()
                if re.fullmatch(pattern, name) and value not in ('', '(null)')]

    warm, nodes = warm_nodes(job.figure) if job.figure else (0, 0)
    yield ['warm start: %d of %s read no page of a file in %s' % (
        warm, plural(nodes, 'node'), 'the first launch' if not job.earlier else
        '%s, after %s' % (job.figure.name, plural(job.earlier, 'other')))] \
        if warm or job.earlier else []
    yield ['executable: ' + (job.settings.get('PROBE') or '-')]
    yield ['srun --overlap: ' + launch.name for launch in job.asked if launch.overlaps]
    unused = job.settings.get('NODES_UNUSED')
    yield ['nodes not used: ' + unused] if unused else []
    down = number(job.settings.get('NICS_DOWN'))
    yield ['network interfaces that are down: %d' % down] if down else []
    yield from ([setting] for setting in review_settings(job))  # six at most, so none is cut
    yield values('ReqNodeList|ExcNodeList|Features|Reservation|Switches', 'option of the job')
    yield values('SLURM_MPI_TYPE|SLURM_CPU_FREQ_REQ')
    yield list(review_script(job))
    yield ['changes.diff: ' + ('built outside git' if name == 'UNKNOWN' else name)
           for name in job.changed]
    yield ['unset before the launches: %s=%s' % (name, job.settings.get(name, ''))
           for name in job.settings.get('UNSET', '').split()]
    yield values(REVIEWED)


def failures(job):
    """Yields each failed launch, with the lines that explain it."""
    for launch in job.asked:
        if launch.last_line and (launch.waited or not launch.succeeded):
            status = 'cut off' if launch.status is None else 'status %d' % launch.status
            facts = [launch.not_launched or status] + [WAITED] * launch.waited + launch.no_response
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
    tenth = job.size.middle.time / 10
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
