"""rows - the rows of the CSV files that ziaprobe and compare write

Columns are found by their names. Columns that a newer version has added are skipped; the values of
columns that an older version lacks are unknown.
"""
import collections
import csv
import functools
import hashlib
import operator
import re

LONGEST_LINE = 10000  # bytes; a longer one counts as several parts of a line
LEAST_TIME = 0.001  # ms; a row has three decimals, and compare needs the logarithm
# The numbers in a row, joined; each is such as -999999999999.999 ms. float() would also take 1_0,
# blanks, inf and the digits of any script; inf would end in an error much later.
NUMBERS = re.compile(r'[-0-9.]{0,17}(,[-0-9.]{0,17})*\Z')
CONTROL = re.compile('[\0-\x1f\x7f]')
STARTED = re.compile(r'[12][0-9]{3}-(0[1-9]|1[0-2])-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.'
                     r'[0-9]{6}Z\Z')
PHASES = 'daemon spawn exec init fence exchange clock'.split()  # of the critical path
WORK = 'cpu cpu_wait blocked'.split()  # in exec and init
LOG_PHASES = [*PHASES[:3], 'setup', *PHASES[3:]]
RANK_PHASES = 'daemon spawn exec setup init fence wait exchange'.split()

# A record has a field for each column that is read. Those whose names end in _ms, _bytes or faults
# are numbers, or NaN; the others are texts, or ''. A file without the columns in NEEDED has no
# records of this class.

class Row(collections.namedtuple('Row', (
        'started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,daemon_ms,'
        'spawn_ms,exec_ms,setup_ms,init_ms,fence_ms,exchange_ms,clock_ms,cpu_ms,cpu_wait_ms,'
        'blocked_ms,faults,outlier,outlier_rank,outlier_host,outlier_ms,outlier_kind,outlier_nodes,'
        'mpi_init_max_ms,offset_ms,offset_host,reference_host,offset_bound_ms,program,'
        'executable_bytes,mpi,daemon,fence_interface'))):
    """A launch, in a file of --csv"""
    __slots__ = ()
    NEEDED = 'started', 'nodes', 'ppn', 'time_ms'

    def is_whole(self):
        return STARTED.match(self.started) and number(self.nodes) and number(self.ppn) and \
            self.time_ms >= 0

class Rank(collections.namedtuple('Rank', (
        'rank,node,host,daemon_ms,spawn_ms,exec_ms,setup_ms,init_ms,fence_ms,wait_ms,exchange_ms,'
        'mpi_init_ms,completed_ms,cpu_ms,cpu_wait_ms,blocked_ms,faults,clock_offset_ms,started'))):
    """A rank, in a file of --ranks"""
    __slots__ = ()
    NEEDED = 'rank', 'node', 'host', 'completed_ms'

    def is_whole(self):
        return True  # Ranks looks at all of them together.

class Turn(collections.namedtuple('Turn', [
        *Row._fields, 'turn', 'turns', 'status', 'command', 'prepare'])):
    """A launch, in a file of compare. Turn 0 does not count. TURNS is the number of turns that were
    to follow it. Most cells of a failed launch are empty."""
    __slots__ = ()
    NEEDED = Row.NEEDED + ('turn', 'turns', 'status', 'command')

    def is_whole(self):
        return (self.turn == '0' or number(self.turn)) and number(self.turns) and \
            not self.time_ms < LEAST_TIME

    @property
    def row(self):
        """The Row; None if the launch failed"""
        has_result = self.status == '0' and self.time_ms == self.time_ms
        return Row._make(self[:len(Row._fields)]) if has_result else None

def texts(record):
    """The cells of a RECORD, as in a file"""
    return [('' if cell != cell else f'{cell:.{3 if name.endswith("_ms") else 0}f}')
            if isinstance(cell, float) else cell for name, cell in zip(record._fields, record)]

class File:
    """An open file"""
    def __init__(self, file, name):
        self.file, self.name, self.sha256 = file, name, hashlib.sha256()

    def lines(self):
        """Yields its lines. Only the last line of a truncated file lacks a newline."""
        for line in iter(functools.partial(self.file.readline, LONGEST_LINE), b''):
            self.sha256.update(line)
            yield line.decode('utf-8', 'replace')

    def rows(self, record):
        """Yields its rows as namedtuples of the class RECORD, except damaged ones: SELF.DAMAGED
        collects the numbers of their lines. SELF.LINE is the number of the current line. At the
        end, SELF.COLUMNS are the names in the last header, and SELF.IS_CUT tells whether the last
        line lacks its newline. A header holds until the next one. Empty lines, and those that begin
        with #, are left out."""
        self.line, self.damaged, self.columns, self.is_cut, make = 0, [], [], False, None
        for part in self.lines():
            is_start, self.is_cut = not self.is_cut, not part.endswith('\n')
            self.line += is_start
            text = part.rstrip('\r\n')
            if is_start and (not text or text[0] == '#'):
                continue
            cells = split(text) if is_start and not self.is_cut else []
            row = make and make(cells)
            if row and row.is_whole():
                yield row
            elif is_header(cells, record):
                make, self.columns = maker(cells, record), cells
            elif self.line not in self.damaged[-1:]:
                self.damaged.append(self.line)

def split(line):
    """The cells of a line; [] if it is damaged. Only compare writes quoted cells."""
    if not line.isprintable() and CONTROL.search(line):
        return []
    if '"' not in line:
        return line.split(',')
    try:
        return next(csv.reader([line]))
    except csv.Error:
        return []

def is_header(cells, record):
    """Tells whether CELLS are the names of columns, with all that a RECORD needs. A Turn has those
    of a Row."""
    return record.NEEDED[0] in cells and {*record.NEEDED}.issubset(cells) and \
        (record is Turn or 'turn' not in cells)

def maker(names, record):
    """Returns a function that makes a RECORD of the cells of a row, whose columns have these NAMES.
    It returns None if there are more or fewer cells, or if a number is malformed or absurd."""
    # What a file lacks stands behind its last cell, where make() appends an empty one.
    places = [names.index(name) if name in names else len(names) for name in record._fields]
    numbers = [place for place, name in enumerate(record._fields)
               if name.endswith(('_ms', '_bytes', 'faults'))]
    choose, choose_numbers = operator.itemgetter(*places), operator.itemgetter(*numbers)

    def make(cells):
        if len(cells) != len(names):
            return None
        chosen = [*choose([*cells, ''])]
        if not NUMBERS.match(','.join(choose_numbers(chosen))):
            return None
        try:
            for place in numbers:
                chosen[place] = float(chosen[place] or 'nan')
        except ValueError:
            return None
        return record._make(chosen)
    return make

def number(text):
    """A number from 1 to 999999; None for anything else"""
    return int(text) if re.match(r'[1-9][0-9]{0,5}\Z', text or '') else None

def known(values):
    return [value for value in values if value == value]  # NaN differs from itself

def times(row, names):
    return [getattr(row, name + '_ms') for name in names]
