"""job - the files of a batch job, in an archive or in its directory

The row of a launch in results.csv is its record, and its other files must match it. The output
must have the same name, start and result. The file of ranks must have the same start in each row,
and the same number of ranks; its largest completed_ms must be the time of the launch.
"""
import collections
import itertools
import math
import os
import pathlib
import re
import tarfile

from . import Unreadable
from .output import Output
from .ranks import Ranks
from .rows import File, Row, known, number
from .text import plural

LARGEST_JOB = 16 << 30  # bytes of all files, such as 70 launches of 10,000 nodes x 128
MOST_LAUNCHES = 6000  # of a job
GZIP, TAR = b'\x1f\x8b', slice(257, 262)  # how an archive begins, and where a tar has 'ustar'
JOB_FILE = re.compile(r'(?:.*/)?(?P<name>environment\.txt|build\.txt|changes\.diff|'
                      r'results\.csv|SHA256SUMS|(?P<kind>(?P<ranks>ranks-)|nodes-|output/)'
                      r'(?P<nodes>[1-9][0-9]{0,5})-(?P<run>[1-9][0-9]{0,5})'
                      r'\.(?(ranks)csv|txt))\Z', re.S)
Kind = collections.namedtuple('Kind', 'line where interfaces down hardware')  # of nodes
KIND = re.compile(r'([0-9]{1,6} nodes?|the first node): interfaces ([0-9]{1,6}),.*? '
                  r'down ([0-9]{1,6}), (.*?)( \([^()]*\))?\Z')

def is_archive(start):
    """Tells whether a file that begins with START may be an archive. A browser may have unpacked
    it, so that it is a plain tar."""
    return start.startswith(GZIP) or start[TAR] == b'ustar'

def in_archive(path):
    """Yields for each member its name, whether it is a regular file, the offset of its end, and a
    function that opens it."""
    with open(path, 'rb') as file:
        mode = 'r:gz' if file.read(2) == GZIP else 'r:'
    try:
        archive = tarfile.open(path, mode=mode)
    except tarfile.ReadError as error:
        raise Unreadable(f'not an archive of a job ({error}); if it was compressed twice, or if it '
                         'is a compressed log, decompress it with gunzip first')
    with archive:
        for member in archive:
            yield (member.name, member.isreg() and not member.issparse(),
                   member.offset_data + member.size, lambda: archive.extractfile(member))

def in_directory(path):
    """Yields the same for what is in a directory, at any depth, as in an archive of it."""
    if os.path.islink(os.path.join(path, 'output')):
        raise Unreadable('output is not a directory')
    end = 0
    for directory, *names in os.walk(path):
        for file in (pathlib.Path(directory, name) for name in sorted(itertools.chain(*names))):
            end += file.lstat().st_size
            yield (str(file.relative_to(path)), not file.is_symlink() and file.is_file(), end,
                   lambda: file.open('rb'))

def job_files(path):
    """Yields the files of a job. Read each before asking for the next."""
    os.stat(path)  # an error if there is none
    names = set()
    for name, is_file, end, open_ in (in_archive if os.path.isfile(path) else in_directory)(path):
        if end > LARGEST_JOB:
            raise Unreadable(f'more than {LARGEST_JOB >> 30} GiB, up to {name}')
        match = JOB_FILE.match(name)
        if match and (not is_file or match['name'] in names):
            raise Unreadable(f'{name} is {"a duplicate" if is_file else "not a regular file"}')
        if match:
            names.add(match['name'])
            with open_() as file:
                yield File(file, match['name'])

def facts(lines):
    """The values of NAME=VALUE, 'commit: COMMIT' and 'slurm VERSION'; if repeated, the first"""
    found = {}
    for match in filter(None, (re.match(r'(\w+)(?:-wlm)?(?:=|: | )(.*)', line) for line in lines)):
        found.setdefault(match[1], match[2])
    return found

def checksums(lines):
    """The SHA-256 of each file in the output of sha256sum"""
    return {line[66:]: line[:64] for line in lines if re.match('[0-9a-f]{64} [ *]', line)}

def printed(ms):
    """How ziaprobe prints a result"""
    if ms < 1000:
        return f'{ms:.2f} millisecs'
    return f'{ms // 60000:.0f}:{ms // 1000 % 60:02.0f} min:sec'

class Launch:
    """One launch: its output, its files of nodes and ranks, and its row. CONTRADICTION says why one
    of its files is not its own; it is '' if all are."""
    def __init__(self, nodes, run):
        self.nodes, self.run, self.key = nodes, run, f'{nodes}-{run}'
        self.name = f'launch {run} on {plural(nodes, "node")}'
        self.output, self.has_output, self.ranks, self.node_names = Output(), False, None, []
        self.row, self.contradiction, self.valid = None, '', False

    @property
    def status(self):
        return self.output.status

    @property
    def time(self):
        return self.row.time_ms if self.row else math.nan

    @property
    def reason(self):
        """Why the launch was not made, or ''"""
        return ''.join(self.output.kept['reason'][:1]) if self.has_output else 'no output'

    def judge(self, job):
        """Finds the row, and whether the launch is valid."""
        self.row = job.rows.get(self.output.started)
        has_failed = self.status != 0 or bool(self.output.kept['failure'])
        self.contradiction = self.find_another(job)
        if not self.contradiction:
            find = self.find_loss if has_failed else self.find_contradiction
            self.contradiction = find(job)
        self.valid = not (has_failed or self.contradiction)

    def find_another(self, job):
        """Finds out whether the output is that of another launch."""
        own, found = f'{job.result}/ranks-{self.key}.csv', self.output.name
        is_other = found and not found.endswith(own)
        return f'output/{self.key}.txt belongs to {found}, not to {own}' if is_other else ''

    def find_loss(self, job):
        """Finds out whether a failed launch has lost its output. Its other files may be missing or
        cut."""
        is_cut = self.status is None and job.has_ended and not self.output.kept['reason']
        return 'its output is missing or truncated' if is_cut else ''

    def find_contradiction(self, job):
        """Finds out whether the files of a launch that has succeeded belong together."""
        output, row, ranks, name = self.output, self.row, self.ranks, self.key
        if not (output.name and output.result):
            return f'output/{name}.txt lacks the command line or the result'
        if output.is_mixed:
            return f'output/{name}.txt has the command lines of several launches'
        if not row:
            return f'its row in results.csv is missing or damaged (start: {output.started})'
        if not ranks:
            return f'ranks-{name}.csv is missing'
        if ranks.wrong:
            return f'ranks-{name}.csv: {ranks.wrong}'
        for what, of_row, where, other in (
                ('nodes', row.nodes, 'the file names', str(self.nodes)),
                ('ranks per node', row.ppn, 'environment.txt', str(job.ppn)),
                ('result', printed(row.time_ms), f'output/{name}.txt', output.result),
                ('ranks', row.ranks or str(ranks.count), f'ranks-{name}.csv', str(ranks.count)),
                ('start', row.started, f'ranks-{name}.csv', ranks.started or row.started),
                ('time', f'{row.time_ms:.3f} ms', f'ranks-{name}.csv',
                 f'{ranks.completed:.3f} ms')):
            if of_row != other:
                return f'its files disagree about the {what}: {of_row} in results.csv, ' \
                    f'{other} in {where}'
        return ''

    def clues(self):
        return self.output.clues(self.node_names)

class Size:
    """The valid launches of one size: all, the first, the later ones by time, and the middle one of
    these"""
    def __init__(self, nodes, launches):
        self.nodes = nodes
        self.valid = [launch for launch in launches if launch.valid]
        self.first = launches[0] if launches[0].valid else None
        self.later = sorted(set(self.valid) - {self.first},
                            key=lambda launch: (launch.time, launch.run))
        self.middle = self.later[(len(self.later) - 1) // 2] if self.later else None

class Job:
    """All the files of a job, and what they say"""
    def __init__(self, path):
        self.name = str(path).replace('\n', '?')
        self.rows, self.repeated = {}, []  # of results.csv, by start; the starts of several rows
        self.columns = []  # of results.csv
        self.text = collections.defaultdict(list)  # the lines of the other files, by name
        self.sums = {}  # the SHA-256 of each file, by name
        self.launches = {}  # by nodes and run
        for file in job_files(path):
            self.read(file)
            self.sums[file.name] = file.sha256.hexdigest()
        self.find_facts(self.text['environment.txt'])
        self.judge_launches()

    def read(self, file):
        kind, *numbers = JOB_FILE.match(file.name).group('kind', 'nodes', 'run')
        if kind:
            key = tuple(map(int, numbers))
            launch = self.launches.setdefault(key, Launch(*key))
        if kind == 'output/':
            launch.output, launch.has_output = Output(file.lines()), True
        elif kind == 'nodes-':
            launch.node_names = ''.join(file.lines()).split()
        elif kind == 'ranks-':
            launch.ranks = Ranks(file)
        elif file.name == 'results.csv':
            for row in file.rows(Row):
                if row.started in self.rows:
                    self.repeated.append(row.started)
                self.rows[row.started] = row
            self.columns = file.columns
        else:
            self.text[file.name] = [line.rstrip() for line in file.lines()]

    def find_facts(self, environment):
        """Finds the facts in the lines of environment.txt, build.txt and changes.diff."""
        self.has_ended = bool(checksums(environment))  # They are added after the last launch.
        self.has_script = any(line.startswith('\t') for line in environment)
        self.facts, self.build = facts(environment), facts(self.text['build.txt'])
        self.id, self.cluster, self.date = [self.facts.get(name) or 'unknown' for name in (
            'SLURM_JOB_ID', 'SLURM_CLUSTER_NAME', 'DATE')]
        self.result = f'ziatest-{self.cluster}-{self.id}' if self.id != 'unknown' else ''
        self.system_nodes, self.ppn, self.runs = [
            number(self.facts.get(name)) for name in ('SYSTEM_NODES', 'PPN', 'RUNS')]
        first = f'the first node: interfaces {number(self.facts.get("INTERFACES")) or 0}, down 0, -'
        kinds = [*filter(None, map(KIND.match, environment))] or [KIND.match(first)]
        self.kinds = [Kind(match[0], match[1] + (match[5] or ''), int(match[2]), int(match[3]),
                           match[4]) for match in kinds]
        counts = sorted({kind.interfaces for kind in self.kinds} - {0})
        self.interfaces = ' or '.join(map(str, counts))  # of a node
        self.changed = [line.split(' b/')[-1].rstrip('"')
                        for line in self.text.get('changes.diff', ['it is missing'])
                        if re.match('diff |UNKNOWN$|it is missing$', line)]

    def judge_launches(self):
        """Judges the launches that were asked for, the largest size first, and finds the figure:
        the first valid one."""
        sizes = {number(size) for size in self.facts.get('SWEEP', '').split()}
        if not sizes or None in {self.runs, self.ppn, *sizes}:
            raise Unreadable('not a Ziatest job: no environment.txt with RUNS, SWEEP and PPN')
        if len(sizes) * self.runs > MOST_LAUNCHES:
            raise Unreadable(f'RUNS and SWEEP ask for more than {MOST_LAUNCHES} launches')
        by_size = [(nodes, [self.launches.get((nodes, run)) or Launch(nodes, run)
                            for run in range(1, self.runs + 1)])
                   for nodes in sorted(sizes, reverse=True)]
        self.asked = [launch for _, launches in by_size for launch in launches]
        for launch in self.asked:
            launch.judge(self)
        self.sizes = [Size(nodes, launches) for nodes, launches in by_size]
        self.valid = [launch for launch in self.asked if launch.valid]
        self.figure = self.valid[0] if self.valid else None
        self.mpi = self.figure and self.figure.row.mpi or '-'
        self.before = list(itertools.takewhile(lambda launch: not launch.valid, self.asked))
        self.size = next((size for size in self.sizes if size.valid), None)  # the figure's
        self.reruns = [launch.time for launch in self.size.valid[1:]] if self.size else []
        self.outside = sum(math.isnan(launch.row.corrected_ms) for launch in self.valid
                           if 'corrected_ms' in self.columns)
        self.smallest = min(known(launch.row.executable_bytes for launch in self.valid),
                            default=math.nan)
