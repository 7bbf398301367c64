"""read - what the files of a Ziatest job say. Times are in ms; NaN is an unknown one."""
import collections
import hashlib
import itertools
import math
import operator
import os
import pathlib
import re
import sys
import tarfile
from calendar import timegm
from time import gmtime, strftime

from agree import find_contradiction
from nodes import Rank, Ranks, Unreadable, known
from rollcall import Roll

LARGEST_JOB = 1 << 30  # bytes of all files
MOST_LAUNCHES = 6000  # of a job
GZIP, TAR = b'\x1f\x8b', slice(257, 262)  # how an archive begins, and where a tar has 'ustar'
LONGEST_LINE = 10000  # a longer one counts as several
JOB_FILE = re.compile(r'(?:.*/)?(?P<name>environment\.txt|build\.txt|changes\.diff|'
                      r'results\.csv|SHA256SUMS|(?P<kind>(?P<ranks>ranks-)|nodes-|output/)'
                      r'(?P<nodes>[1-9][0-9]{0,5})-(?P<run>[1-9][0-9]{0,5})'
                      r'\.(?(ranks)csv|txt))\Z', re.S)
Row = collections.namedtuple('Row', (
    'started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,daemon_ms,spawn_ms,'
    'exec_ms,setup_ms,init_ms,fence_ms,exchange_ms,clock_ms,cpu_ms,cpu_wait_ms,blocked_ms,faults,'
    'outlier,outlier_rank,outlier_host,outlier_ms,outlier_kind,outlier_nodes,mpi_init_max_ms,'
    'offset_ms,offset_host,reference_host,offset_bound_ms,program,executable_bytes,mpi,daemon,'
    'fence_interface'))
PHASES = 'daemon spawn exec init fence exchange clock'.split()  # of the critical path
WORK = 'cpu cpu_wait blocked'.split()  # in exec and init
LOG_PHASES = [*PHASES[:3], 'setup', *PHASES[3:]]
RANK_PHASES = 'daemon spawn exec setup init fence wait exchange'.split()
# The valid launches of one size: all, the first, the later ones by time, the middle one of these
Size = collections.namedtuple('Size', 'nodes valid first later middle')
Kind = collections.namedtuple('Kind', 'line where interfaces down hardware')  # of nodes
KIND = re.compile(r'([0-9]{1,6} nodes?|the first node): interfaces ([0-9]{1,6}),.*? '
                  r'down ([0-9]{1,6}), (.*?)( \([^()]*\))?\Z')
# Without these columns, a file is of no use. What a version lacks besides is unknown.
NEEDED = {Row: ('started', 'nodes', 'ppn', 'time_ms'),
          Rank: ('rank', 'node', 'host', 'completed_ms')}
STARTED = re.compile(r'[12][0-9]{3}-(0[1-9]|1[0-2])-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.'
                     r'[0-9]{6}Z\Z')
# What an output states: the end of the command line that ziatest prints, SEC USEC N and options;
# the result; and, of -v, the second line, the outlier, the clocks and the executable
STATED = re.compile(
    r"ziaprobe'? (?P<sec>[0-9]{1,10}) (?P<usec>[0-9]{1,6}) (?P<n>[0-9]+) -"
    r'(?:.* (?P<job>[^ /]+)/ranks-(?P<launch>[0-9]+-[0-9]+)\.csv)?|'
    r'Time test was completed in +(?:(?P<below_1_s>[0-9]+\.[0-9]+) millisecs|'
    r'(?P<min_sec>[0-9]{1,9}:[0-9]{1,9}) min:sec)|'
    r'Slowest rank: (?P<slowest>[0-9]+)|'
    r'(?<![0-9.])(?P<time>[0-9]+\.[0-9]+ m?s), (?P<nodes>[0-9]+) nodes? x (?P<ppn>[0-9]+) = '
    r'(?P<ranks>[0-9]+) rank|'
    r'^outlier: (?P<outlier>[a-z]+) of rank (?P<outlier_rank>[0-9]+) on '
    r'(?P<outlier_host>[^ ,\n]+)|^outlier: (?P<no_outlier>none|unknown)|'
    r'^clock offset: (?P<offset>-?[0-9]+\.[0-9]+ m?s) '
    r'(?:\(\+/- (?P<bound>[0-9]+\.[0-9]+ ms)\), (?P<offset_host>[^ ,\n]+))?'  # in s, rounded up
    r'(?:.*corrected time (?P<corrected>[0-9]+\.[0-9]+ m?s))?|'
    r'^MPI: +(?P<mpi>[^,\n]*[^, \n])|'
    r'^executable: .*, (?P<bytes>[0-9]+) bytes$')
# The tables of -vv: their heads, with their unit, and their rows: one number, or all three
PATH_HEAD = re.compile('critical path +(m?s) ')
TABLE_HEAD = re.compile('(m?s) +min +median +max ')
TIME = r' +(-?[0-9]+(?:\.[0-9]+)?)'
TABLE_ROW = re.compile(f'([a-z_]+){TIME}(?:{TIME}{TIME} )?')
MOST_ROWS = 1000  # of these tables
# The lines of an output that are kept: nine of each sort
SORTS = {'reason': '^not launched: ', 'result': 'Time test was completed in',
         'failure': 'zia(?:test|probe): error:', 'warning': 'ziaprobe: warning:',
         'not ended': 'the step has not ended|Slurm did not say whether the step has ended',
         'cause': 'PMI support|OPAL ERROR: Unreachable|execve|shared libraries|failed on node|'
                  'Node failure on|not found|No such file or directory',
         'error': '(?<!ziatest: )(?<!ziaprobe: )(?i:error)'}
KEPT = re.compile('|'.join(SORTS.values()))

class File:
    """An open file"""
    def __init__(self, file, name):
        self.file, self.name, self.sha256 = file, name, hashlib.sha256()

    def lines(self):
        """Yields its lines. Only the last line of a truncated file lacks a newline."""
        for line in iter(lambda: self.file.readline(LONGEST_LINE), b''):
            self.sha256.update(line)
            yield line.decode('ascii', 'replace')

    def rows(self, record):
        """Yields its rows as namedtuples, except damaged ones. NAME_ms, NAME_bytes and faults are
        numbers. Meanwhile, SELF.TEXT is the text of the row, and SELF.LINE the number of its line.
        SELF.DAMAGED collects the numbers of damaged lines. Another header, of any version, holds
        from there on. Empty lines and those that begin with # are left out."""
        lines, self.line = self.lines(), 1
        self.text = next(lines, '')
        while self.text[:1] in ('#', '\n'):
            self.text = next(lines, '')
            self.line += 1
        is_whole = self.text.endswith('\n')  # the preceding line, of which lines() may yield parts
        self.damaged = [] if is_whole else [self.line]
        if self.text.endswith('\r\n'):
            raise Unreadable(f'{self.name} has Windows line endings; convert it with dos2unix')
        first = self.text.split(',')[0]
        count, choose = self.find_columns(record) if is_whole else (0, None)
        numbers = [place for place, column in enumerate(record._fields)
                   if column.endswith(('_ms', '_bytes', 'faults'))]
        for line in lines:
            is_start, is_whole = is_whole, line.endswith('\n')
            self.line += is_start
            self.text, row = line.rstrip('\r\n'), None
            cells = self.text.split(',')
            if is_start and is_whole and len(cells) == count:
                cells.append('')
                try:
                    cells = [*choose(cells)]
                    for place in numbers:
                        cells[place] = float(cells[place] or 'nan')
                    row = record._make(cells)
                except ValueError:
                    pass
            if row and (record is Rank or is_launch(self.text, row)):
                yield row
            elif is_start and is_whole and (not self.text or self.text[0] == '#'):
                pass
            elif is_start and is_whole and cells[0] == first and self.lacks(record) == []:
                count, choose = self.find_columns(record)
            elif self.line not in self.damaged[-1:]:
                self.damaged.append(self.line)

    def lacks(self, record):
        """Returns the needed columns that a header lacks."""
        columns = self.text.rstrip('\r\n').split(',')
        return [name for name in NEEDED[record] if name not in columns]

    def find_columns(self, record):
        """Returns the number of columns of a header, and what chooses the cells of RECORD from
        those of a row, which are followed by an empty one."""
        columns = self.text.rstrip('\r\n').split(',')
        if 'turn' in columns:
            raise Unreadable(f'{self.name} has the column turn: it is a file of job/compare, which '
                             'alone can read it')
        if self.lacks(record):
            raise Unreadable(f'{self.name} lacks the column {self.lacks(record)[0]}; it may have '
                             'been edited: use the original')
        return len(columns), operator.itemgetter(*[
            columns.index(name) if name in columns else len(columns) for name in record._fields])

def is_launch(text, row):
    """Tells whether a row of --csv has what makes it one: it is printable, and has a start."""
    return STARTED.match(row.started) and number(row.nodes) and number(row.ppn) and \
        0 <= row.time_ms < math.inf and re.match(r'[ -~]*\Z', text)

def is_archive(start):
    """Tells whether a file that begins with START may be an archive. A browser may have unpacked
    it, so that it is a plain tar."""
    return start.startswith(GZIP) or start[TAR] == b'ustar'

def in_archive(path):
    """Yields each member's name, whether it is a regular file, its end, and what opens it."""
    with open(path, 'rb') as file:
        mode = 'r:gz' if file.read(2) == GZIP else 'r:'
    try:
        archive = tarfile.open(path, mode=mode)
    except tarfile.ReadError as error:
        raise Unreadable(f'not an archive of a job ({error}); if it was compressed twice, or is a '
                         'log that was compressed, use gunzip first')
    with archive:
        for member in archive:
            yield (member.name, member.isreg() and not member.issparse(),
                   member.offset_data + member.size, lambda: archive.extractfile(member))

def in_directory(path):
    """Yields the same for what is in a directory and in its subdirectory output."""
    if os.path.islink(os.path.join(path, 'output')):
        raise Unreadable('output is not a directory')
    end = 0
    for file in [*pathlib.Path(path).glob('*'), *pathlib.Path(path).glob('output/*')]:
        end += file.lstat().st_size
        yield (str(file.relative_to(path)), not file.is_symlink() and file.is_file(), end,
               lambda: file.open('rb'))

def job_files(path):
    """Yields the files of a job. Read each before asking for the next."""
    os.stat(path)  # an error if there is none
    names = set()
    for name, is_file, end, open_ in (in_archive if os.path.isfile(path) else in_directory)(path):
        if end > LARGEST_JOB:
            raise Unreadable(f'more than 1 GiB, up to {name}')
        match = JOB_FILE.match(name)
        if match and (not is_file or match['name'] in names):
            raise Unreadable(f'{name} is {"a duplicate" if is_file else "not a regular file"}')
        if match:
            names.add(match['name'])
            with open_() as file:
                yield File(file, match['name'])

def ms(time):
    return f'{round(time, 1) + 0.:.1f}' if math.isfinite(time) else '-'  # no -0.0

def spread(values):
    return f'({ms(min(values))} to {ms(max(values))})'

def times(row, names):
    return [getattr(row, name + '_ms') for name in names]

# In seconds: launches of one night are less than an hour apart, and begin within a day.
HOUR, DAY = 3600, 86400
# A launch in a log. LINE is the number of its line, NIGHT the start of its night's first launch.
Logged = collections.namedtuple('Logged', (*Row._fields, 'line', 'night'))

class Log:
    """A file of --csv: its launches, in the order of the file; the places at which their starts go
    back, each as the number of a line and two starts; and the numbers of the damaged lines"""
    def __init__(self, file):
        self.launches, self.backward = [], []
        seen, night, last = set(), '', '0001-01-01T00:00:00'
        for row in file.rows(Row):
            if file.text in seen:  # A restored backup may repeat rows.
                continue
            seen.add(file.text)
            gap = seconds_between(last, row.started)
            if not night or abs(gap) >= HOUR or seconds_between(night, row.started) >= DAY:
                night = row.started
            if gap < -HOUR:
                self.backward.append((file.line, last, row.started))
            self.launches.append(Logged._make((*row, file.line, night)))
            last = row.started
        self.damaged = file.damaged

def seconds_between(*starts):
    """Returns the seconds from one start to another; 0 if both are in the same hour of the clock,
    which saves time: a log may have many rows."""
    if starts[0][:13] == starts[1][:13]:
        return 0
    before, after = [timegm((int(start[:4]), int(start[5:7]), int(start[8:10]), int(start[11:13]),
                             int(start[14:16]), int(start[17:19]))) for start in starts]
    return after - before

def read_csv(path):
    """Returns the Ranks of a file of --ranks, the Log of one of --csv, or the Roll of an output;
    None if it may be an archive."""
    with open(path, 'rb') as opened:
        start, file = opened.peek(), File(opened, os.path.basename(path))
        if is_archive(start):
            return None
        start = re.sub(rb'\A(#.*\n|\n)+', b'', start)
        if start.startswith(b'started,'):
            return Log(file)
        if not start.startswith(b'rank,'):
            return read_output(file, start[:13].decode('ascii', 'replace').split('\n')[0])
        found = Ranks(file)
    if found.wrong:
        raise Unreadable(f'{found.wrong}; launch again')
    return found

def read_output(file, begins):
    """Returns the Roll of an output."""
    roll = Roll()
    for line in file.lines():
        roll.add(line)
    if roll:
        return roll
    if roll.has_begun:
        raise Unreadable('an output in which no rank says what it is doing; launch with -t or, if '
                         'you did, trace the launcher, because no rank has reached MPI_Init')
    raise Unreadable('neither an archive nor a file of --csv or --ranks, nor an output with lines '
                     'of -t or --where: it ' + (
                         f'begins with "{begins}"; a browser, a spreadsheet or sort may have '
                         'changed it: use the original' if begins else 'is empty'))

def facts(lines):
    """The values of NAME=VALUE, 'commit: COMMIT' and 'slurm VERSION'; if repeated, the first"""
    found = {}
    for match in filter(None, (re.match(r'(\w+)(?:-wlm)?(?:=|: | )(.*)', line) for line in lines)):
        found.setdefault(match[1], match[2])
    return found

def checksums(lines):
    """The SHA-256 of each file in the output of sha256sum"""
    return {line[66:]: line[:64] for line in lines if re.match('[0-9a-f]{64} [ *]', line)}

def number(text):
    """A setting from 1 to 999999; None for anything else"""
    return int(text) if re.match(r'[1-9][0-9]{0,5}\Z', text or '') else None

def plural(count, noun):
    ending = 'es' if noun.endswith('ch') else 's'
    return f'{count} {noun}' + ending * (str(count) != '1')

class Launch:
    """One launch: its output, its files of nodes and ranks; Job adds its row and what follows"""
    def __init__(self, nodes, run):
        self.nodes, self.run, self.name = nodes, run, f'launch {run} on {plural(nodes, "node")}'
        self.reason = 'no output'  # for which it was not made
        self.status = self.started = self.ranks = None
        self.kept = collections.defaultdict(list)  # lines of its output, by sort
        self.stated = {}  # what its output states
        self.table, self.tables = None, dict(path=[], ranks=[])
        self.node_names, self.roll = '', Roll()

    def read_output(self, lines):
        line = ''
        for line in lines:
            for match in STATED.finditer(line):
                for name, value in match.groupdict().items():
                    if value is not None:
                        self.stated.setdefault(name, value)
            self.read_table(line)
            if KEPT.search(line):
                self.keep(line)
        if 'sec' in self.stated:
            seconds, us = int(self.stated['sec']), int(self.stated['usec'])
            self.started = f'{strftime("%FT%T", gmtime(seconds))}.{us:06}Z'
        status = re.match('status ([0-9]{1,3})\n', line)
        self.status = int(status[1]) if status else None
        self.reason = (self.kept['reason'] or [''])[0]

    def read_table(self, line):
        """Reads a line of a table of -vv, if it is one, into SELF.TABLES, by the table's head."""
        head = PATH_HEAD.match(line) or TABLE_HEAD.match(line)
        row = TABLE_ROW.match(line) if self.table and not head else None
        if head:
            self.table = 'path' if head.re is PATH_HEAD else 'ranks', head[1]
        elif row and len(self.tables[self.table[0]]) < MOST_ROWS:
            table, unit = self.table
            values = [f'{value} {unit}' for value in row.groups()[1:] if value]
            self.tables[table].append((row[1], values))
        else:
            self.table = None

    def keep(self, line):
        self.roll.add(line)
        text = line[:1000].strip()
        for sort, pattern in SORTS.items():
            kept = self.kept[sort]
            if len(kept) < 9 and re.search(pattern, line) and text not in kept:
                kept.append(text)

    def clues(self):
        """What explains a failure: the roll call after a timeout, and up to three lines"""
        kept, roll_call = self.kept, []
        if self.roll.is_timeout and not kept['result']:
            roll_call = self.roll.report(self.node_names.split())
        lines = dict.fromkeys(kept['cause'] + kept['failure'] + kept['error'])
        return roll_call + [line for line in lines if not (roll_call and Roll().add(line))][:3]

class Job:
    """All the files of a job"""
    def __init__(self, path):
        self.name = path.replace('\n', '?')
        self.rows, self.repeated = {}, []  # of results.csv, by start; the starts of several rows
        self.text = collections.defaultdict(list)  # the lines of the other files, by name
        self.sums = {}  # the SHA-256 of each file, by name
        self.launches = {}  # by nodes and run
        for file in job_files(path):
            self.read(file)
            self.sums[file.name] = file.sha256.hexdigest()
        environment = self.text['environment.txt']
        self.has_ended = bool(checksums(environment))  # They are added after the last launch.
        self.facts, self.build = facts(environment), facts(self.text['build.txt'])
        self.script = [line[1:] for line in environment if line.startswith('\t')]
        self.id, self.cluster, self.date = [self.facts.get(name) or 'unknown' for name in (
            'SLURM_JOB_ID', 'SLURM_CLUSTER_NAME', 'DATE')]
        self.mpi = next((row.mpi for row in self.rows.values()), '-')
        self.result = f'ziatest-{self.cluster}-{self.id}' if self.id != 'unknown' else None
        self.built_bytes = next((line.split()[1] for line in self.text['build.txt']
                                 if re.match('size: [0-9]+ ziaprobe$', line)), None)
        self.system_nodes, self.ppn, self.runs = [
            number(self.facts.get(name)) for name in ('SYSTEM_NODES', 'PPN', 'RUNS')]
        first = f'the first node: interfaces {number(self.facts.get("INTERFACES")) or 0}, down 0, -'
        kinds = [*filter(None, map(KIND.match, [*environment, first]))]  # FIRST counts if alone.
        self.kinds = [Kind(match[0], match[1] + (match[5] or ''), int(match[2]), int(match[3]),
                           match[4]) for match in kinds[:-1] or kinds]
        counts = sorted({kind.interfaces for kind in self.kinds} - {0})
        self.interfaces = ' or '.join(map(str, counts))  # of a node
        self.changed = [line.split(' b/')[-1].rstrip('"')
                        for line in self.text.get('changes.diff', ['it is missing'])
                        if re.match('diff |UNKNOWN$|it is missing$', line)]
        sizes = {number(size) for size in self.facts.get('SWEEP', '').split()}
        if not sizes or None in {self.runs, self.ppn, *sizes}:
            raise Unreadable('not a Ziatest job: no environment.txt with RUNS, SWEEP and PPN')
        if len(sizes) * self.runs > MOST_LAUNCHES:
            raise Unreadable(f'RUNS and SWEEP ask for more than {MOST_LAUNCHES} launches')
        self.sizes, self.asked = [], []
        for nodes in sorted(sizes, reverse=True):
            launches = [self.launches.get((nodes, run)) or Launch(nodes, run)
                        for run in range(1, self.runs + 1)]
            self.asked += launches
            for launch in launches:
                launch.row = self.rows.get(launch.started)
                launch.time = launch.row.time_ms if launch.row else math.nan
                launch.phases = sum(known(times(launch.row, LOG_PHASES))) if launch.row else 0
                launch.contradiction = find_contradiction(self, launch)
                launch.valid = launch.status == 0 and not launch.kept['failure'] and \
                    not launch.contradiction
            valid = [launch for launch in launches if launch.valid]
            first = launches[0] if launches[0].valid else None
            later = sorted(set(valid) - {first}, key=lambda launch: (launch.time, launch.run))
            middle = later[(len(later) - 1) // 2] if later else None
            self.sizes.append(Size(nodes, valid, first, later, middle))
        self.valid = [launch for launch in self.asked if launch.valid]
        self.figure = self.valid[0] if self.valid else None  # sizes are in descending order
        self.before = list(itertools.takewhile(lambda launch: not launch.valid, self.asked))
        self.size = next((size for size in self.sizes if size.valid), None)  # the figure's
        self.reruns = [launch.time for launch in self.size.valid[1:]] if self.size else []
        self.outside = sum(math.isnan(launch.row.corrected_ms) for launch in self.valid)
        self.smallest = min((launch.row.executable_bytes for launch in self.valid), default=0)

    def read(self, file):
        kind, *numbers = JOB_FILE.match(file.name).group('kind', 'nodes', 'run')
        if kind:
            key = tuple(map(int, numbers))
            launch = self.launches.setdefault(key, Launch(*key))
        if kind == 'output/':
            launch.read_output(file.lines())
        elif kind == 'nodes-':
            launch.node_names = ''.join(file.lines())
        elif kind == 'ranks-':
            launch.ranks = Ranks(file)
        elif file.name == 'results.csv':
            for row in file.rows(Row):
                if row.started in self.rows:
                    self.repeated.append(row.started)
                self.rows[row.started] = row
        else:
            self.text[file.name] = [line.rstrip() for line in file.lines()]
