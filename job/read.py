"""read - what the files of a Ziatest job say. Times are in ms; NaN is an unknown one."""
import array
import collections
import hashlib
import itertools
import math
import os
import pathlib
import re
import statistics
import sys
import tarfile
from calendar import timegm
from time import gmtime, strftime

LARGEST_JOB = 1 << 30  # bytes of all files
MOST_LAUNCHES = 6000  # of a job
MOST_NODES = 100000  # of a launch
GZIP = b'\x1f\x8b'  # an archive begins with it
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
Rank = collections.namedtuple('Rank', (
    'rank,node,host,daemon_ms,spawn_ms,exec_ms,setup_ms,init_ms,fence_ms,wait_ms,exchange_ms,'
    'mpi_init_ms,completed_ms,cpu_ms,cpu_wait_ms,blocked_ms,faults,clock_offset_ms'))
LOG_PHASES = [*PHASES[:3], 'setup', *PHASES[3:]]
RANK_PHASES = 'daemon spawn exec setup init fence wait exchange'.split()
# A rank's own time, without waits, and by how many ms a slow node must at least be late: daemon,
# spawn and exec are measured in ticks of 10 ms.
PARTS = {'daemon + spawn': 20, 'exec': 20, 'setup': 20, 'init': 0, 'exchange': 0}
Slow = collections.namedtuple('Slow', 'hosts excess')  # a node, perhaps its partner; by part
NUMBER = re.compile('([0-9]{1,18})')  # in a name
# The valid launches of one size: all, the first, the later ones by time, the middle one of these
Size = collections.namedtuple('Size', 'nodes valid first later middle')
Kind = collections.namedtuple('Kind', 'line where interfaces down hardware')  # of nodes
KIND = re.compile(r'([0-9]{1,6} nodes?|the first node): interfaces ([0-9]{1,6}),.*? '
                  r'down ([0-9]{1,6}), (.*?)( \([^()]*\))?\Z')
# A row of --csv begins with the start, nodes and ppn, and is printable.
LAUNCH = re.compile(r'[12][0-9]{3}-(0[1-9]|1[0-2])-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.'
                    r'[0-9]{6}Z(,[1-9][0-9]{0,5}){2},[ -~]*\Z')
A_HEADER = re.compile('started,nodes,[a-z_,]*')  # of any version of --csv
# The end of the command line that ziatest prints: SEC USEC N --verbose
START = re.compile("ziaprobe'? ([0-9]{1,10}) ([0-9]{1,6}) [0-9]+ -")
TIMEOUT = re.compile(r'timeout of [0-9]+ s: (?:rank [0-9]+|a rank) on ([^\s.]+)')
# The lines of an output that are kept: nine of each sort
SORTS = {'reason': '^not launched: ', 'result': 'Time test was completed in',
         'failure': 'zia(?:test|probe): error:', 'warning': 'ziaprobe: warning:',
         'calls': 'ziaprobe: error: (?:rank [0-9]+|a rank) on [^ ]+ is in ',
         'not ended': 'the step has not ended|Slurm did not say whether the step has ended',
         'cause': 'PMI support|OPAL ERROR: Unreachable|execve|shared libraries|failed on node|'
                  'Node failure on|not found',
         'error': '(?i:error)|timeout of'}
ANOTHER_VERSION = 'is of another version of Ziatest; use its job/summarize'
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
        SELF.DAMAGED collects the numbers of damaged lines. A repeated header is not damage."""
        lines, columns = self.lines(), record._fields
        header, first = ','.join(columns), next(lines, '')
        is_whole = first.endswith('\n')  # the preceding line, of which lines() may yield parts
        self.line, self.damaged = 1, [] if is_whole else [1]
        if first.endswith('\r\n'):
            raise ValueError(f'{self.name} has Windows line endings; convert it with dos2unix')
        if is_whole and first[:-1] != header:
            raise ValueError(f'{self.name} {ANOTHER_VERSION}')
        numbers = [place for place, column in enumerate(columns)
                   if column.endswith(('_ms', '_bytes', 'faults'))]
        for line in lines:
            is_start, is_whole = is_whole, line.endswith('\n')
            self.line += is_start
            self.text, row = line.rstrip('\r\n'), None
            cells = self.text.split(',')
            if is_start and is_whole and len(cells) == len(columns):
                try:
                    for place in numbers:
                        cells[place] = float(cells[place] or 'nan')
                    row = record._make(cells)
                except ValueError:
                    pass
            if row and (record is Rank or LAUNCH.match(self.text) and 0 <= row.time_ms < math.inf):
                yield row
            elif A_HEADER.fullmatch(self.text) and not header.startswith(self.text):
                raise ValueError(f'line {self.line} is a header of another version of Ziatest; '
                                 'split the file there')
            elif self.text != header and self.line not in self.damaged[-1:]:
                self.damaged.append(self.line)

def in_archive(path):
    """Yields each member's name, whether it is a regular file, its end, and what opens it."""
    with tarfile.open(path, mode='r:gz') as archive:
        for member in archive:
            yield (member.name, member.isreg() and not member.issparse(),
                   member.offset_data + member.size, lambda: archive.extractfile(member))

def in_directory(path):
    """Yields the same for what is in a directory and in its subdirectory output."""
    if os.path.islink(os.path.join(path, 'output')):
        raise ValueError('output is not a directory')
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
            raise ValueError(f'more than 1 GiB, up to {name}')
        match = JOB_FILE.match(name)
        if match and (not is_file or match['name'] in names):
            raise ValueError(f'{name} is {"a duplicate" if is_file else "not a regular file"}')
        if match:
            names.add(match['name'])
            with open_() as file:
                yield File(file, match['name'])

def known(values):
    return [value for value in values if value == value]  # NaN differs from itself

def median(values, fewest=1):
    """The lower median of the known values; NaN if there are fewer than FEWEST"""
    values = known(values)
    return statistics.median_low(values) if len(values) >= fewest else math.nan

def ms(time):
    return f'{round(time, 1) + 0.:.1f}' if math.isfinite(time) else '-'  # no -0.0

def spread(values):
    return f'({ms(min(values))} to {ms(max(values))})'

def times(row, names):
    return [getattr(row, name + '_ms') for name in names]

class Ranks:
    """A file of ranks. Each list or array has an entry for each node."""
    def __init__(self, file):
        self.count, self.completed = 0, -math.inf  # ranks, and when the last one completed
        self.warm = 0  # nodes on which no rank read a page of a file
        self.hosts = []
        self.parts = {part: array.array('f') for part in PARTS}  # the largest of all ranks
        self.own = array.array('f')  # the largest sum of parts that a rank has
        self.slowest = []  # this rank
        for _, ranks in itertools.groupby(file.rows(Rank), lambda rank: rank.node):
            if len(self.hosts) == MOST_NODES:
                raise ValueError(f'{file.name} has more than {MOST_NODES} nodes')
            self.add_node(list(ranks))
        self.bars = self.choose_bars()
        del self.slowest  # A job may have millions of ranks.

    def add_node(self, ranks):
        parts = [(rank.spawn_ms + (0 if math.isnan(rank.daemon_ms) else rank.daemon_ms),
                  rank.exec_ms, rank.setup_ms, rank.init_ms, rank.exchange_ms) for rank in ranks]
        own = [sum(known(each)) for each in parts]
        self.hosts.append(sys.intern(ranks[0].host))
        self.own.append(max(own))
        self.slowest.append(ranks[own.index(max(own))])
        for part, of_ranks in zip(PARTS, zip(*parts)):
            self.parts[part].append(max(known(of_ranks), default=math.nan))
        self.warm += all(rank.faults == 0 for rank in ranks)
        self.completed = max([self.completed] + known(rank.completed_ms for rank in ranks))
        self.count += len(ranks)

    def label(self, host, is_exchange):
        """Names a node; in an exchange, with its partner."""
        if not is_exchange or host not in self.hosts:
            return host
        return f'{host} with {self.hosts[(self.hosts.index(host) + 1) % len(self.hosts)]}'

    def choose_bars(self):
        """Returns the slowest rank of each of the ten nodes with the most time of their own, the
        median and the least one; before it, what marks its node, and the node's label."""
        nodes = sorted(zip(self.own, self.slowest), key=lambda node: -node[0])
        marks = {len(nodes) // 2: 'median: ', len(nodes) - 1: 'least: '} if nodes[1:] else {}
        return [(marks.get(place, ''), self.label(rank.host, rank.exchange_ms >= 0), rank)
                for place, (_, rank) in enumerate(nodes) if place < 10 or place in marks]

HOUR = 3600  # seconds; launches of one night are less than that apart
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
            if abs(gap) >= HOUR:
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
    """Returns the Ranks of a file of --ranks, or the Log of one of --csv; None if it may be an
    archive."""
    with open(path, 'rb') as opened:
        start, file = opened.peek(), File(opened, os.path.basename(path))
        if start.startswith(GZIP):
            return None
        if start.startswith(b'started,nodes,'):
            return Log(file)
        if not start.startswith(b'rank,node,'):
            begins = start[:13].decode('ascii', 'replace').split('\n')[0]
            raise ValueError('neither an archive nor a file of --csv or --ranks: it ' +
                             (f'begins with "{begins}"' if start else 'is empty'))
        found = Ranks(file)
    if file.damaged:
        raise ValueError(f'line {file.damaged[0]} is not a whole row; launch again')
    return found

def by_name(host):
    """Returns a key that sorts names, and the numbers in them by value."""
    return [int(part) if i % 2 else part for i, part in enumerate(NUMBER.split(host))], host

def number_ranges(numbers):
    """Folds ascending numbers, which may have leading zeros: 08, 09, 10, 12 become [08-10,12]."""
    ranges = []
    for number in numbers:
        if ranges and number == str(int(ranges[-1][-1]) + 1).zfill(len(ranges[-1][-1])):
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    folded = ','.join('-'.join(each) for each in ranges)
    return f'[{folded}]' if numbers[1:] else folded

def fold(hosts, most=1):
    """Folds names that differ only in the rightmost number that varies, as Slurm does: n[1-3]. If
    MOST is above 1, goes on with the next such number, up to MOST numbers in all: r[1-2]n[1-3]."""
    shapes = collections.defaultdict(list)  # names that differ only in numbers
    for host in sorted(set(hosts), key=by_name):
        parts = NUMBER.split(host)
        shapes[tuple(parts[::2])].append(parts)
    folded = []
    for alike in shapes.values():
        varies = [place for place, column in enumerate(zip(*alike)) if len(set(column)) > 1]
        for place in varies[:-most - 1:-1]:
            groups = collections.defaultdict(list)
            for parts in alike:
                groups[tuple(parts[:place]), tuple(parts[place + 1:])].append(parts[place])
            alike = [[*before, number_ranges(numbers), *after]
                     for (before, after), numbers in groups.items()]
        folded += map(''.join, alike)
    return ','.join(folded)

def own_excess(launches, fewest):
    """Returns each host, sorted by name, and its excess: how far its own time exceeds the median
    node's, as the median over the launches; NaN if the host is in fewer than FEWEST of them. Only
    every second node has an exchange. These are compared with each other, and so are the rest."""
    found = collections.defaultdict(lambda: array.array('f'))
    for ranks in launches:
        originates = [time == time for time in ranks.parts['exchange']]
        middle = {which: median([own for own, each in zip(ranks.own, originates) if each is which])
                  for which in (True, False)}
        for host, own, which in zip(ranks.hosts, ranks.own, originates):
            found[host].append(own - middle[which])
    return [(host, median(found[host], fewest)) for host in sorted(found, key=by_name)]

def slow_nodes(launches, time, fewest):
    """Returns the slow nodes of launches that take TIME, the slowest first, and the number of all
    nodes. A node's excess in a part is how far it exceeds the median of all nodes, as the median
    over the launches; NaN if fewer than FEWEST have it. Of one or two nodes, none is slow."""
    medians = collections.defaultdict(dict)  # by host and part
    for part in PARTS:
        excess = collections.defaultdict(lambda: array.array('f'))  # by host, in each launch
        for ranks in launches:
            middle = median(ranks.parts[part])
            for host, of_node in zip(ranks.hosts, ranks.parts[part]):
                excess[host].append(of_node - middle)
        for host, of_launches in excess.items():
            medians[host][part] = median(of_launches, fewest)
    found = []
    for host, excess in medians.items() if len(launches[0].hosts) > 2 else []:
        late = [(by, part) for part, by in excess.items() if by >= max(PARTS[part], time / 10)]
        if late:
            found.append((*max(late), host, excess))
    found.sort(key=lambda node: -node[0])
    hosts = launches[0].hosts
    partners = dict(zip(hosts, hosts[1:] + hosts[:1]))
    return [Slow([host, partners[host]] if part == 'exchange' and host in partners else [host],
                 excess) for _, part, host, excess in found], len(medians)

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
        self.node_names, self.reported = '', set()  # the nodes that reported a timeout

    def read_output(self, lines):
        line = ''
        for line in lines:
            start = None if self.started else START.search(line)
            if start:
                self.started = f'{strftime("%FT%T", gmtime(int(start[1])))}.{int(start[2]):06}Z'
            elif KEPT.search(line):
                self.keep(line)
        status = re.match('status ([0-9]{1,3})\n', line)
        self.status = int(status[1]) if status else None
        self.reason = (self.kept['reason'] or [''])[0]

    def keep(self, line):
        self.reported.update(map(sys.intern, TIMEOUT.findall(line)))
        text = line[:1000].strip()
        for sort, pattern in SORTS.items():
            kept = self.kept[sort]
            if len(kept) < 9 and re.search(pattern, line) and text not in kept:
                kept.append(text)

class Job:
    """All the files of a job"""
    def __init__(self, path):
        self.name = path.replace('\n', '?')
        self.rows = {}  # of results.csv, by start
        self.text = collections.defaultdict(list)  # the lines of the other files, by name
        self.sums = {}  # the SHA-256 of each file, by name
        self.launches = {}  # by nodes and run
        for file in job_files(path):
            self.read(file)
            self.sums[file.name] = file.sha256.hexdigest()
        environment = self.text['environment.txt']
        self.facts, self.build = facts(environment), facts(self.text['build.txt'])
        self.script = [line[1:] for line in environment if line.startswith('\t')]
        self.id, self.cluster, self.date = [self.facts.get(name) or 'unknown' for name in (
            'SLURM_JOB_ID', 'SLURM_CLUSTER_NAME', 'DATE')]
        self.mpi = next((row.mpi for row in self.rows.values()), '-')
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
            raise ValueError('not a Ziatest job: no environment.txt with RUNS, SWEEP and PPN')
        if len(sizes) * self.runs > MOST_LAUNCHES:
            raise ValueError(f'RUNS and SWEEP ask for more than {MOST_LAUNCHES} launches')
        self.sizes, self.asked = [], []
        for nodes in sorted(sizes, reverse=True):
            launches = [self.launches.get((nodes, run)) or Launch(nodes, run)
                        for run in range(1, self.runs + 1)]
            self.asked += launches
            for launch in launches:
                launch.row = self.rows.get(launch.started)
                launch.time = launch.row.time_ms if launch.row else math.nan
                launch.valid = launch.status == 0 and not launch.kept['failure'] and \
                    launch.ranks is not None and launch.time >= 0
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
            self.rows = {row.started: row for row in file.rows(Row)}
        else:
            self.text[file.name] = [line.rstrip() for line in file.lines()]
