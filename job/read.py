"""read - the files of a Ziatest job, in its archive or its directory

Each file is read once, line by line. Of outputs and ranks files, only what the summary needs
is kept. Times are in ms, as in the files. None is an unknown value.
"""
import datetime
import gzip
import os
import re
import stat
import statistics
import tarfile
import types
import zlib

LARGEST_JOB = 1 << 30  # bytes of all files
MOST_FILES = 20000
MOST_LAUNCHES = 10000
MOST_LINES = 3000000  # of an output or a ranks file
MOST_ROWS = 100000  # of any other file
LONGEST_LINE = 100000  # the rest is dropped

JOB_FILE = re.compile(r'((?:.*/)?)(environment\.txt|build\.txt|changes\.diff|results\.csv|output|'
                      r'(output/|ranks-)([1-9]\d{0,5})-([1-9]\d{0,5})\.(?:txt|csv))\Z', re.A | re.S)
RESULTS = ('started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,daemon_ms,'
           'spawn_ms,exec_ms,init_ms,fence_ms,exchange_ms,clock_ms,cpu_ms,cpu_wait_ms,blocked_ms,'
           'faults,outlier,outlier_rank,outlier_host,outlier_ms,outlier_kind,mpi_init_max_ms,'
           'repeat_max_ms,offset_ms,offset_host,reference_host,offset_bound_ms,program,'
           'executable_bytes,mpi')
RANKS = ('rank,node,host,daemon_ms,spawn_ms,exec_ms,init_ms,fence_ms,wait_ms,exchange_ms,'
         'mpi_init_ms,completed_ms,repeat_ms,cpu_ms,cpu_wait_ms,blocked_ms,faults,clock_offset_ms')

TEXTS = 'started outlier outlier_kind program mpi'.split()
STEPS = 'daemon spawn exec init fence exchange clock'.split()  # of the critical path
RANK_STEPS = 'daemon spawn exec init fence wait exchange'.split()
OWN = 'daemon spawn exec init exchange'.split()  # not waiting for a late rank
PARTS = ['daemon + spawn', 'exec', 'init', 'exchange']  # by which nodes are compared
WORK = 'cpu cpu_wait blocked'.split()  # in exec and init

# The end of the command line that ziatest prints: SEC USEC N --verbose
START = re.compile("ziaprobe'? ([0-9]{1,10}) ([0-9]{1,6}) [0-9]+ -")
RESULT = re.compile('Time test was completed in +(?:[0-9.]+ millisecs|[0-9]+:[0-9]+ min:sec)|'
                    '[0-9.]+ ms, [0-9]+ nodes? x [0-9]+ = [0-9]+ ranks?')
ERROR = re.compile('zia(?:test|probe): error:')
NO_RESPONSE = re.compile('no response from: |response from .* only$')  # the line before the last
RETRYING = re.compile(r'retrying \((.*)\)')  # the creation of a step, and why
CLUES = [  # to the cause of a failure, the most specific first
    re.compile('PMI support|OPAL ERROR: Unreachable|execve|shared libraries|'
               'Task launch .*failed on node|Node failure on|not found'),
    re.compile('ziaprobe: error:'), re.compile('error', re.IGNORECASE)]


class Unreadable(Exception):
    """Why there is no summary"""


# Everything that Python's own modules may raise on hostile files
UNREADABLE = (Unreadable, OSError, EOFError, zlib.error, tarfile.TarError, ValueError,
              OverflowError, RecursionError, MemoryError)


class LimitedGzip(gzip.GzipFile):
    """A compressed file of which at most LARGEST_JOB bytes are read"""
    left = LARGEST_JOB

    def read(self, size=-1):
        data = super().read(size)
        self.left -= len(data)
        if self.left < 0:
            raise Unreadable('more than 1 GiB')
        return data


def in_archive(path):
    """Yields the name of each member, whether it is a directory, whether it is a regular file, its
    size, and a function that opens it, which must be called before the next member is asked for.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 'rb') as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Unreadable('not a regular file')
        with tarfile.open(fileobj=LimitedGzip(fileobj=file), mode='r|') as archive:
            for member in archive:
                yield (member.name, member.isdir(), member.isreg() and not member.issparse(),
                       member.size, lambda: archive.extractfile(member))


def in_directory(path):
    """Yields the same for each file in a directory and its subdirectory output."""
    names = os.listdir(path)
    if 'output' in names and os.path.isdir(os.path.join(path, 'output')):
        names += ['output/' + name for name in os.listdir(os.path.join(path, 'output'))]
    for name in names:
        file = os.path.join(path, name)
        status = os.lstat(file)
        yield (name, stat.S_ISDIR(status.st_mode), stat.S_ISREG(status.st_mode), status.st_size,
               lambda: open(file, 'rb'))


def job_files(path):
    """Yields the groups of JOB_FILE for each file of a job, without the directory, and the file,
    open for reading."""
    directory, names, left = None, set(), LARGEST_JOB
    members = in_directory(path) if os.path.isdir(path) else in_archive(path)
    for count, (name, is_directory, is_file, size, opened) in enumerate(members):
        if count == MOST_FILES:
            raise Unreadable('more than %d files' % MOST_FILES)
        match = JOB_FILE.match(name)
        if not match or match.group(2) == 'output' and is_directory:
            continue
        kind = match.group(3)
        if kind and name.endswith('.txt') != (kind == 'output/'):
            continue
        directory = match.group(1) if directory is None else directory
        if match.group(1) != directory or name.startswith('/') or '..' in name.split('/'):
            raise Unreadable('%s is not in the directory of the job' % name)
        left -= size
        if not is_file or name in names:
            raise Unreadable('%s is %s' % (name, 'a duplicate' if is_file else
                                           'not a regular file'))
        if left < 0:
            raise Unreadable('more than 1 GiB')
        names.add(name)
        with opened() as file:
            yield match.groups()[1:], file


def lines(file, most):
    """Yields the lines of a file. Only the last line of a truncated file lacks a newline."""
    for count, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b'')):
        if count == most:
            raise Unreadable('a file has more than %d lines' % most)
        end = line
        while end and not end.endswith(b'\n'):
            end = file.readline(LONGEST_LINE)
        yield line.decode('ascii', 'replace') + ('\n' if end and end is not line else '')


def rows(name, file_lines, header):
    """Yields the cells of each row of the file NAME by column; {} for a row that is damaged."""
    def pattern(column):
        if column.endswith('_ms'):
            return r'(-?[0-9]{1,12}\.[0-9]{3})' + ('' if column == 'time_ms' else '?')
        if column.endswith('host') or column in TEXTS:
            return '([^,]*)'
        return '([0-9]{1,15})' + ('?' if column in ('faults', 'outlier_rank') else '')

    columns = header.split(',')
    whole = re.compile(','.join(map(pattern, columns)) + '\n')
    for count, line in enumerate(file_lines):
        match = whole.match(line)
        if match and count == 0:
            yield {}  # the header is missing
        if match:
            yield dict(zip(columns, match.groups()))
        elif not (line.startswith(columns[0] + ',') and line.endswith('\n')):
            yield {}
        elif line != header + '\n':
            raise Unreadable('%s is of another version of Ziatest; use its job/summarize' % name)


def times(row, names):
    """The cells NAME_ms of a row as numbers"""
    cells = [row[name + '_ms'] for name in names]
    return [float(cell) if cell else None for cell in cells]


def facts(text):
    """The values of lines such as NAME=VALUE, 'size: BYTES FILE' and 'SHA-256  FILE', by NAME,
    'size FILE' and 'sum FILE'"""
    found = {}
    for line in text:
        line = re.sub('^([0-9a-f]{64}) [ *](.+)', r'sum \2=\1', line)
        line = re.sub('^size: ([0-9]+) (.+)', r'size \2=\1', line)
        name, is_fact, value = line.partition('=')
        if is_fact and not line.startswith('\t'):
            found.setdefault(name, value)
    return found


def damage(row, steps, total):
    """What is wrong with a row whose STEPS must add up to TOTAL, if that is known; '' if nothing"""
    for name, time in zip(steps + WORK, times(row, steps + WORK)):
        if time is not None and time < 0 and name != 'clock':
            return '%s_ms is %.3f, and must not be negative' % (name, time)
    found = '%.3f' % sum(time or 0 for time in times(row, steps))
    if total is None or float(found) == float('%.3f' % total):
        return ''
    return 'the steps add up to %s ms, not to %.3f' % (found, total)


def number(text):
    """A setting from 1 to 999999; None for anything else"""
    return int(text) if re.match(r'[1-9][0-9]{0,5}\Z', text or '') else None


def plural(count, noun):
    return '%s %s%s' % (count, noun, 's' * (str(count) != '1'))


def shape(nodes, ppn, ranks):
    """The size of a launch, as ziaprobe prints it"""
    return '%s x %s = %s' % (plural(nodes, 'node'), ppn, plural(ranks, 'rank'))


class Ranks:
    """A ranks file"""

    def __init__(self, name, file_lines):
        self.nodes = {}  # by number
        self.count, self.whole = 0, True  # ranks before the first line that is damaged, if any
        self.completed = None  # ms until the last rank completed
        self.damage = ''  # in the first row that has any
        for row in rows(name, file_lines, RANKS):
            if row.get('rank') != str(self.count):
                self.whole = False
                return
            self.count += 1
            self.add(row)

    def add(self, row):
        node = self.nodes.get(int(row['node']))
        if not node:
            node = self.nodes[int(row['node'])] = types.SimpleNamespace(
                host=row['host'],
                rank=0, own=-1, steps=[],  # of the rank with the most time of its own
                faults=None,  # of all its ranks
                # The largest of each of PARTS, the sum of each of WORK
                figures=[None] * len(PARTS + WORK))
        figures, steps = node.figures, times(row, RANK_STEPS)
        daemon, spawn, exec_, init, _, _, exchange = steps
        launched = None if spawn is None else (daemon or 0) + spawn
        for i, time in enumerate((launched, exec_, init, exchange)):
            if time is not None and (figures[i] is None or time > figures[i]):
                figures[i] = time
        for i, figure in enumerate(times(row, WORK), len(PARTS)):
            if figure is not None:
                figures[i] = (figures[i] or 0) + figure
        if row['faults']:
            node.faults = (node.faults or 0) + int(row['faults'])
        own = sum(time or 0 for name, time in zip(RANK_STEPS, steps) if name in OWN)
        if own > node.own:
            node.rank, node.own, node.steps = int(row['rank']), own, steps
        completed, offset = times(row, ['completed', 'clock_offset'])
        total = None
        if completed is not None:
            self.completed = max(self.completed or 0, completed)
            total = completed - (offset or 0)
        found = damage(row, RANK_STEPS, total)
        if found and not self.damage:
            self.damage = 'rank %s: %s' % (row['rank'], found)

    def partner(self, node_number):
        """The node with which that node exchanges, if that node originates"""
        return self.nodes.get(node_number + 1) or self.nodes[min(self.nodes)]


class Launch:
    """One launch: its output, its row of results.csv, its ranks file"""

    def __init__(self, nodes, run):
        self.nodes, self.run = nodes, run
        self.name = 'launch %d on %s' % (run, plural(nodes, 'node'))
        self.last_line = self.ranks = self.row = None  # last_line: of its output
        self.started = self.status = self.time = None
        self.was_made = self.has_error = self.succeeded = self.valid = False
        self.overlaps = self.waited = False
        self.damage = ''  # in its row
        self.not_launched, self.no_response = '', []  # the lines with these prefixes
        self.printed, self.warnings = [], []
        self.clues = [[] for _ in CLUES]  # at most three lines for each

    def read_output(self, file_lines):
        before = line = '\n'
        was_delayed, reasons = False, set()
        for next_line in file_lines:
            before, line = line, next_line
            start = START.search(line)
            if start and not self.started:
                second = datetime.datetime(1970, 1, 1) + datetime.timedelta(0, int(start.group(1)))
                self.started = '%s.%06dZ' % (second.isoformat(), int(start.group(2)))
                self.overlaps = line.startswith('srun --overlap')
                continue
            was_delayed = was_delayed or 'srun: Step created for' in line
            reasons.update(RETRYING.findall(line))
            self.printed += RESULT.findall(line)
            self.has_error = self.has_error or ERROR.search(line) is not None
            if 'ziaprobe: warning:' in line:
                self.warnings.append('%s: %s' % (self.name, line.strip()))
            clues = next((clues for clues, clue in zip(self.clues, CLUES) if clue.search(line)), [])
            if len(clues) < 3 and line.strip() not in clues:
                clues.append(line.strip())
        # If slurmctld was slow, that is part of the launch; waiting for nodes is not.
        self.waited = was_delayed and (not reasons or 'Requested nodes are busy' in reasons)
        self.last_line = line
        if re.match('not launched: .*\n', line):
            self.not_launched = line.strip()
        self.was_made = not self.not_launched
        status = re.match('status ([0-9]{1,3})\n', line)
        self.status = int(status.group(1)) if status else None
        self.no_response = [before.strip()] if NO_RESPONSE.match(before) else []

    def add_row(self, row):
        """Adds its row, or None, once everything else has been read."""
        self.row = row
        self.time = float(row['time_ms']) if row else None
        self.damage = damage(row, STEPS, self.time) if row else ''
        self.succeeded = self.status == 0 and not self.has_error
        self.valid = bool(self.succeeded and not self.waited and row and not self.damage and
                          self.ranks and not self.ranks.damage)


class Size:
    """The launches of one size that the job asks for"""

    def __init__(self, nodes, launches):
        self.nodes, self.launches = nodes, launches
        self.valid = [launch for launch in launches if launch.valid]
        self.first = launches[0] if launches[0].valid else None
        self.later = sorted((launch for launch in self.valid if launch.run > 1),
                            key=lambda launch: launch.time)
        # The middle one, of two the faster
        self.middle = self.later[(len(self.later) - 1) // 2] if self.later else None
        self.median = None
        if self.later:
            self.median = statistics.median(launch.time for launch in self.later)


class Job:
    """All the files of a job"""

    def __init__(self, path):
        self.name = path.replace('\n', '?')
        self.launches, self.rows, text = {}, [], {}
        for (name, kind, nodes, run), file in job_files(path):
            if kind == 'output/':
                self.launch(int(nodes), int(run)).read_output(lines(file, MOST_LINES))
            elif kind:
                self.launch(int(nodes), int(run)).ranks = Ranks(name, lines(file, MOST_LINES))
            elif name == 'results.csv':
                self.rows = list(rows(name, lines(file, MOST_ROWS), RESULTS))
            else:
                text[name] = [line.rstrip() for line in lines(file, MOST_ROWS)]
        environment = text.get('environment.txt', [])
        self.script = [line[1:] for line in environment if line.startswith('\t')]
        self.settings, self.build = facts(environment), facts(text.get('build.txt', []))
        self.changed = [line.split(' b/')[-1].rstrip('"') for line in text.get('changes.diff', [])
                        if re.match('diff |UNKNOWN$', line)]
        self.incomplete = not self.settings.keys() & {'sum ziatest', 'sum ziaprobe'}
        sizes = [number(size) for size in self.settings.get('SWEEP', '').split()]
        self.runs, self.ppn = number(self.settings.get('RUNS')), number(self.settings.get('PPN'))
        if not sizes or None in sizes + [self.runs, self.ppn]:
            raise Unreadable('not a Ziatest job: no environment.txt with RUNS, SWEEP and PPN')
        if len(sizes) * self.runs > MOST_LAUNCHES:
            raise Unreadable('RUNS and SWEEP ask for more than %d launches' % MOST_LAUNCHES)
        sizes = sorted(set(sizes), reverse=True)
        self.asked = [self.launch(nodes, run) for nodes in sizes for run in range(1, self.runs + 1)]
        by_start = {row['started']: row for row in self.rows if row}
        for launch in self.launches.values():
            launch.add_row(by_start.get(launch.started))
        self.sizes = [Size(nodes, self.asked[i * self.runs:(i + 1) * self.runs])
                      for i, nodes in enumerate(sizes)]
        # The size and the launch that give the figure, and how many launches came before it
        system = number(self.settings.get('SYSTEM_NODES'))
        whole = [size for size in self.sizes if system and 100 * size.nodes >= 99 * system and
                 len(size.valid) == self.runs]
        self.size = next((size for size in whole + self.sizes if size.valid), None)
        self.figure = self.size and self.size.valid[0]
        self.earlier = 0
        if self.figure:
            before = self.asked[:self.asked.index(self.figure)]
            self.earlier = sum(launch.was_made for launch in before)
        self.mpi = self.figure.row['mpi'] if self.figure else '-'
        self.system = self.settings.get('SLURM_CLUSTER_NAME') or '-'
        self.id = self.settings.get('SLURM_JOB_ID') or '-'
        self.date = self.settings.get('DATE') or '-'

    def launch(self, nodes, run):
        return self.launches.setdefault((nodes, run), Launch(nodes, run))
