"""rows - the rows of the CSV files that ziaprobe and compare write

Columns are found by their names: a newer version adds columns, which are skipped, and what an older
version lacks is unknown.
"""
import collections
import csv
import hashlib
import math
import operator
import re

LONGEST_LINE = 10000  # bytes; a longer one counts as several parts of a line
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
            0 <= self.time_ms < math.inf

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
    to follow it. Of a failed launch, most cells are empty."""
    __slots__ = ()
    NEEDED = Row.NEEDED + ('turn', 'turns', 'status', 'command')

    def is_whole(self):
        return self.turn.isdigit() and self.turns.isdigit() and not self.time_ms < 0.001 and \
            not any(isinstance(cell, float) and abs(cell) > 1e12 for cell in self)

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
        for line in iter(lambda: self.file.readline(LONGEST_LINE), b''):
            self.sha256.update(line)
            yield line.decode('utf-8', 'replace')

    def rows(self, record):
        """Yields its rows as namedtuples of the class RECORD, except damaged ones: SELF.DAMAGED
        collects the numbers of their lines. SELF.LINE is the number of the current line. At the
        end, SELF.HAS_HEADER tells whether there was a header, and SELF.IS_CUT whether the last line
        lacks its newline. A header holds until the next one. Empty lines, and those that begin with
        #, are left out."""
        self.line, self.damaged, self.has_header, self.is_cut, make = 0, [], False, False, None
        for part in self.lines():
            is_start, self.is_cut = not self.is_cut, not part.endswith('\n')
            self.line += is_start
            text = part.rstrip('\r\n')
            is_line = is_start and not self.is_cut
            if is_line and (not text or text[0] == '#'):
                continue
            cells = split(text) if is_line else []
            if is_header(cells, record):
                make, self.has_header = maker(cells, record), True
                continue
            row = make and make(cells)
            if row and row.is_whole():
                yield row
            elif self.line not in self.damaged[-1:]:
                self.damaged.append(self.line)

def split(line):
    """The cells of a line; [] if it is not printable. Only compare writes quoted cells."""
    if '"' not in line:
        return line.split(',') if line.isprintable() else []
    try:
        return next(csv.reader([line]))
    except csv.Error:
        return []

def is_header(cells, record):
    """Tells whether CELLS are the names of columns, with all that a RECORD needs."""
    return record.NEEDED[0] in cells and {*record.NEEDED}.issubset(cells)

def maker(names, record):
    """Returns a function that makes a RECORD of the cells of a row, whose columns have these NAMES.
    It returns None if there are more or fewer cells, or a number is none."""
    places = [names.index(name) if name in names else len(names) for name in record._fields]
    choose = operator.itemgetter(*places)
    numbers = [place for place, name in enumerate(record._fields)
               if name.endswith(('_ms', '_bytes', 'faults'))]

    def make(cells):
        if len(cells) != len(names):
            return None
        chosen = [*choose([*cells, ''])]
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
