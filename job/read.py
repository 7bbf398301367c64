"""read - the files of a Ziatest job. Times are in ms; None is an unknown value."""
import collections
import glob
import gzip
import os
import re
import stat
import tarfile
import types
from datetime import datetime, timedelta

LARGEST_JOB = 1 << 30  # bytes of all files
MOST_FILES, MOST_LAUNCHES = 20000, 10000
MOST_LINES, MOST_ROWS = 3000000, 100000  # of an output or a file of ranks; of any other
LONGEST_LINE = 100000  # a longer one counts as several
JOB_FILE = re.compile(r'((?:.*/)?)(environment\.txt|build\.txt|changes\.diff|results\.csv|output|'
                      r'((ranks-)|output/|nodes-)([1-9]\d{0,5})-([1-9]\d{0,5})\.(?(4)csv|txt))\Z',
                      re.A | re.S)
RESULTS = ('started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,daemon_ms,'
           'spawn_ms,exec_ms,setup_ms,init_ms,fence_ms,exchange_ms,clock_ms,cpu_ms,cpu_wait_ms,'
           'blocked_ms,faults,outlier,outlier_rank,outlier_host,outlier_ms,outlier_kind,'
           'mpi_init_max_ms,offset_ms,offset_host,reference_host,offset_bound_ms,program,'
           'executable_bytes,mpi')
RANKS = ('rank,node,host,daemon_ms,spawn_ms,exec_ms,setup_ms,init_ms,fence_ms,wait_ms,exchange_ms,'
         'mpi_init_ms,completed_ms,cpu_ms,cpu_wait_ms,blocked_ms,faults,clock_offset_ms')
NUMBERS = 'nodes ppn ranks executable_bytes node'.split()
STEPS = 'daemon spawn exec init fence exchange clock'.split()  # of the critical path
RANK_STEPS = 'daemon spawn exec init fence wait exchange'.split()
PARTS = ['daemon + spawn', 'exec', 'init', 'exchange']  # a rank's own time, without waits
WORK = 'cpu cpu_wait blocked'.split()  # in exec and init

# Nodes of one kind: how many, their network interfaces, how many are down, hardware, some names
KIND = re.compile(r'(?P<nodes>[0-9]{1,6} nodes?): interfaces (?P<interfaces>[0-9]{1,6}),.*? '
                  r'down (?P<down>[0-9]{1,6}), (?P<hardware>.*?)(?P<names> \([^()]*\))?\Z')
# The end of the command line that ziatest prints: SEC USEC N --verbose
START = re.compile("ziaprobe'? ([0-9]{1,10}) ([0-9]{1,6}) [0-9]+ -")
RESULT = re.compile('Time test was completed in +(?:[0-9.]+ millisecs|[0-9]+:[0-9]+ min:sec)|'
                    '(?<![0-9.])[0-9.]+ ms, [0-9]+ nodes? x [0-9]+ = [0-9]+ ranks?')
ERROR = re.compile('zia(?:test|probe): error:')
TIMEOUT = re.compile(r'timeout of [0-9]+ s: (?:rank [0-9]+|a rank) on ([^\s.]+)')
# Clues to the cause of a failure, the most specific first
CLUES = ['PMI support|OPAL ERROR: Unreachable|execve|shared libraries|Task launch .*failed on node|'
         'Node failure on|not found', 'ziaprobe: error:', '(?i:error)']
KEPT = re.compile('timeout of|ziaprobe: warning:|the step has not ended|'
                  f'{RESULT.pattern}|{CLUES[0]}|{CLUES[2]}')

class LimitedGzip(gzip.GzipFile):
    """A compressed file of which at most LARGEST_JOB bytes are read"""
    left = LARGEST_JOB

    def read(self, size=-1):
        data = super().read(size)
        self.left -= len(data)
        if self.left < 0:
            raise ValueError('more than 1 GiB')
        return data

def in_archive(path):
    """Yields the name of each member, whether it is a directory, whether it is a regular file, its
    size, and a function that opens it; call that before asking for the next member."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 'rb') as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError('not a regular file')
        with tarfile.open(fileobj=LimitedGzip(fileobj=file), mode='r|') as archive:
            for member in archive:
                yield (member.name, member.isdir(), member.isreg() and not member.issparse(),
                       member.size, lambda: archive.extractfile(member))

def in_directory(path):
    """Yields the same for each file in a directory and its subdirectory output."""
    for pattern in '*', 'output/*':
        for file in glob.iglob(os.path.join(glob.escape(path), pattern)):
            mode, size = os.lstat(file).st_mode, os.lstat(file).st_size
            yield (os.path.relpath(file, path), stat.S_ISDIR(mode), stat.S_ISREG(mode), size,
                   lambda: open(file, 'rb'))

def job_files(path):
    """Yields, for each file of the job, the groups of JOB_FILE that identify it, and the file."""
    directory, names, left = None, set(), LARGEST_JOB
    members = in_directory(path) if os.path.isdir(path) else in_archive(path)
    for count, (name, is_directory, is_file, size, opened) in enumerate(members):
        if count == MOST_FILES:
            raise ValueError(f'more than {MOST_FILES} files')
        match = JOB_FILE.match(name)
        if not match or match.group(2) == 'output' and is_directory:
            continue
        directory = match.group(1) if directory is None else directory
        if match.group(1) != directory or name.startswith('/') or '..' in name.split('/'):
            raise ValueError(f'{name} is not in the directory of the job')
        if not is_file or name in names:
            raise ValueError(f'{name} is {"a duplicate" if is_file else "not a regular file"}')
        left -= size
        if left < 0:
            raise ValueError('more than 1 GiB')
        names.add(name)
        with opened() as file:
            yield match.group(2, 3, 5, 6), file

def lines(file, most):
    """Yields the lines of a file. Only the last line of a truncated file lacks a newline."""
    for count, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b'')):
        if count == most:
            raise ValueError(f'a file has more than {most} lines')
        yield line.decode('ascii', 'replace')

def rows(name, file_lines, header):
    """Yields the cells of each row of the file NAME by column, except rows that are damaged."""
    def pattern(column):
        if column.endswith('_ms'):
            return r'(-?[0-9]{1,12}\.[0-9]{3})' + '?' * (column != 'time_ms')
        return '([0-9]{1,15})' if column in NUMBERS else '([^,]*)'

    columns = header.split(',')
    whole = re.compile(','.join(map(pattern, columns)) + '\n')
    for count, line in enumerate(file_lines):
        match = whole.match(line)
        if match and count > 0:
            yield dict(zip(columns, match.groups()))
        elif count == 0 and line.endswith('\n') and line != header + '\n':
            raise ValueError(f'{name} is of another version of Ziatest; use its job/summarize')

def times(row, names):
    """The cells NAME_ms of a row as numbers; None for an empty one"""
    return [float(cell) if cell else None for cell in (row[name + '_ms'] for name in names)]

def facts(text):
    """The values of lines such as NAME=VALUE, 'commit: COMMIT', 'slurm VERSION' and 'SUM  FILE',
    by NAME, 'commit', 'slurm' and 'sum FILE'; if a name is repeated, its first value"""
    found = {}
    for line in text:
        match = re.match(r'(\w+)(?:-wlm)?(?:=|: | [ *]?)(.*)', line)
        if match:
            name, value = match.groups()
            if re.match('[0-9a-f]{64}$', name):
                name, value = 'sum ' + value, name
            found.setdefault(name, value)
    return found

def number(text):
    """A setting from 1 to 999999; None for anything else"""
    return int(text) if re.match(r'[1-9][0-9]{0,5}\Z', text or '') else None

def plural(count, noun):
    return f'{count} {noun}' + 's' * (str(count) != '1')

def shape(nodes, ppn, ranks):
    """The size of a launch, as ziaprobe prints it"""
    return f'{plural(nodes, "node")} x {ppn} = {plural(ranks, "rank")}'

class Ranks:
    """A file of ranks"""

    def __init__(self, name, file_lines):
        self.nodes = {}  # by number
        self.count, self.completed = 0, 0  # ranks, and ms until the last one completed
        for row in rows(name, file_lines, RANKS):
            self.add(row)
        self.warm = sum(node.is_warm for node in self.nodes.values())

    def add(self, row):
        self.count += 1
        node = self.nodes.setdefault(int(row['node']), types.SimpleNamespace(
            host=row['host'],
            own=float('-inf'), steps=[],  # ms, of the rank with the most time of its own
            is_warm=True,  # no rank read a page of a file
            parts=[None] * len(PARTS)))  # ms, the largest of each
        steps = times(row, RANK_STEPS)
        daemon, spawn, exec_, init, _, _, exchange = steps
        parts = [None if spawn is None else (daemon or 0) + spawn, exec_, init, exchange]
        for i, time in enumerate(parts):
            if time is not None:
                node.parts[i] = time if node.parts[i] is None else max(time, node.parts[i])
        own = sum(time or 0 for time in parts)
        if own > node.own:
            node.own, node.steps = own, steps
        node.is_warm = node.is_warm and row['faults'] == '0'
        self.completed = max(self.completed, float(row['completed_ms'] or 0))

    def pair(self, number):
        """The names of a node that originates, and of the node with which it exchanges"""
        partner = self.nodes.get(number + 1) or self.nodes[min(self.nodes)]
        return f'{self.nodes[number].host} with {partner.host}'

class Launch:
    """One launch: its output, its row of results.csv, its files of nodes and ranks"""
    last_line = status = started = row = ranks = None  # last_line: of its output
    was_made = succeeded = False
    printed, node_names = [], ''

    def __init__(self, nodes, run):
        self.nodes, self.run, self.name = nodes, run, f'launch {run} on {plural(nodes, "node")}'
        self.kept = {}  # the lines of its output that matter, each once

    def read_output(self, file_lines):
        line, count = '', 0
        for count, line in enumerate(file_lines, 1):
            start = START.search(line)
            if start and not self.started:
                moment = datetime(1970, 1, 1) + timedelta(0, *map(int, start.groups()))
                self.started = moment.isoformat(timespec='microseconds') + 'Z'
            elif KEPT.search(line):
                self.kept[line.strip()] = None
        self.last_line = line.strip()
        self.was_made = not (count == 1 and line.startswith('not launched: '))
        status = re.match('status ([0-9]{1,3})\n', line)
        self.status = int(status.group(1)) if status else None
        self.succeeded = self.status == 0 and not any(map(ERROR.search, self.kept))
        self.printed = RESULT.findall('\n'.join(self.kept))

class Job:
    """All the files of a job"""

    def __init__(self, path):
        self.name, self.rows, launches = path.replace('\n', '?'), [], {}
        text = collections.defaultdict(list)

        def get_launch(nodes, run):
            return launches.setdefault((nodes, run), Launch(nodes, run))
        for (name, kind, nodes, run), file in job_files(path):
            launch = get_launch(int(nodes), int(run)) if kind else None
            if kind == 'output/':
                launch.read_output(lines(file, MOST_LINES))
            elif kind == 'ranks-':
                launch.ranks = Ranks(name, lines(file, MOST_LINES))
            elif kind == 'nodes-':
                launch.node_names = ''.join(lines(file, MOST_ROWS))
            elif name == 'results.csv':
                self.rows = list(rows(name, lines(file, MOST_ROWS), RESULTS))
            else:
                text[name] = [line.rstrip() for line in lines(file, MOST_ROWS)]
        environment = text['environment.txt']
        self.facts, self.build = facts(environment), facts(text['build.txt'])
        self.script = [line[1:] for line in environment if line.startswith('\t')]
        self.identity = [self.facts.get(name) or 'unknown' for name in (
            'SLURM_JOB_ID', 'SLURM_CLUSTER_NAME', 'DATE')] + [
                self.rows[0]['mpi'] if self.rows else '-']
        self.kinds = sorted(filter(None, map(KIND.match, environment)),
                            key=lambda kind: -int(kind.group('nodes').split()[0]))
        # Which nodes, how many network interfaces each has, and how many of these are down
        self.interfaces = [(kind.group('nodes') + (kind.group('names') or ''),
                            int(kind.group('interfaces')), int(kind.group('down')))
                           for kind in self.kinds] or \
            [('the first node', number(self.facts.get('INTERFACES')) or 0, 0)]
        self.is_finished = 'sum ziaprobe' in self.facts  # the last line of all
        self.changed = [line.split(' b/')[-1].rstrip('"') for line in
                        text.get('changes.diff', ['it is missing'])
                        if re.match('diff |UNKNOWN$|it is missing$', line)]
        self.system_nodes, self.ppn, runs = (
            number(self.facts.get(name)) for name in ('SYSTEM_NODES', 'PPN', 'RUNS'))
        sizes = [number(size) for size in self.facts.get('SWEEP', '').split()]
        if not sizes or None in [runs, self.ppn] + sizes:
            raise ValueError('not a Ziatest job: no environment.txt with RUNS, SWEEP and PPN')
        sizes = sorted(set(sizes), reverse=True)
        if len(sizes) * runs > MOST_LAUNCHES:
            raise ValueError(f'RUNS and SWEEP ask for more than {MOST_LAUNCHES} launches')
        self.asked = [get_launch(nodes, run) for nodes in sizes for run in range(1, runs + 1)]
        self.others = sorted(set(launches.values()) - set(self.asked), key=lambda each: each.name)
        by_start = {row['started']: row for row in self.rows}
        for launch in launches.values():
            launch.row = by_start.get(launch.started)
            launch.time = float(launch.row['time_ms']) if launch.row else None
            launch.valid = bool(launch.succeeded and launch.row and launch.ranks)
        self.starts = by_start.keys() | {launch.started for launch in self.asked} - {None}
        self.sizes = []
        for launches in (self.asked[i:i + runs] for i in range(0, len(self.asked), runs)):
            valid = [launch for launch in launches if launch.valid]
            later = sorted((launch for launch in valid if launch.run > 1),
                           key=lambda launch: launch.time)
            self.sizes.append(types.SimpleNamespace(
                nodes=launches[0].nodes, valid=valid, later=later,
                first=next((launch for launch in valid if launch.run == 1), None),
                middle=later[(len(later) - 1) // 2] if later else None))  # of two, the faster
        there = [i for i, launch in enumerate(self.asked) if launch.last_line is not None]
        self.last = max(there, default=0)  # the last launch that has an output
        # The figure is the first valid launch of the largest size that has one.
        self.valid = [launch for launch in self.asked if launch.valid]
        self.figure = next(iter(self.valid), None)
        before = self.asked.index(self.figure) if self.figure else len(self.asked)
        self.before, self.after = self.asked[:before], self.asked[before + 1:]
        # The times of the other valid launches of the figure's size
        self.later = sorted(launch.time for launch in self.valid[1:]
                            if launch.nodes == self.figure.nodes)
        # The size of the smallest executable in bytes; None if no launch is valid
        self.smallest = min((int(launch.row['executable_bytes']) for launch in self.valid),
                            default=None)
