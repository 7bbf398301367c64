"""log - a log, the file of --csv of many launches, and its nights"""
import collections
import itertools
import operator
import sys
from calendar import timegm

from .rows import LOG_PHASES, Row

# In seconds: launches of one night are less than an hour apart, and begin within a day.
HOUR, DAY = 3600, 86400
# What is kept of a launch, because a log may have many: texts that repeat, and numbers
TEXTS = 'nodes', 'ppn', 'program', 'daemon', 'fence_interface', 'outlier_host'
NUMBERS = ('time_ms', 'faults', *(phase + '_ms' for phase in LOG_PHASES))
texts_of, numbers_of = operator.attrgetter(*TEXTS), operator.attrgetter(*NUMBERS)
# A launch in a log. LINE is the number of its line, NIGHT the start of its night's first launch.
Logged = collections.namedtuple('Logged', ('started', *TEXTS, *NUMBERS, 'line', 'night'))

class Log:
    """A file of --csv: its launches, in the order of the file; the places at which their starts go
    back, each as the number of a line and two starts; and the numbers of the damaged lines"""
    def __init__(self, file):
        self.launches, self.backward = [], []
        starts, night, last = set(), '', '0001-01-01T00:00:00'  # long ago
        for row in file.rows(Row):
            if row.started in starts:  # A restored backup may repeat rows.
                continue
            starts.add(row.started)
            gap = seconds_between(last, row.started)
            if abs(gap) >= HOUR or seconds_between(night, row.started) >= DAY:
                night = row.started
            if gap < -HOUR:
                self.backward.append((file.line, last, row.started))
            self.launches.append(Logged(row.started, *map(sys.intern, texts_of(row)),
                                        *numbers_of(row), file.line, night))
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

def nights(launches):
    """The launches of each night"""
    return [list(night) for _, night in itertools.groupby(launches, lambda row: row.night)]
