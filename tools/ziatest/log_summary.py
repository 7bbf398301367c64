"""log_summary - what summarize prints and draws of a log"""
import collections

from .changes import describe, judge
from .draw import draw_bars
from .log import nights
from .rows import LOG_PHASES
from .text import plural

NIGHTS = 40  # in the picture

class Kind(collections.namedtuple('Kind', 'program nodes ppn daemon fence_interface is_cold')):
    """The properties that launches must share to be comparable"""
    __slots__ = ()

    def __str__(self):
        words = [self.program, f'{plural(self.nodes, "node")} x {self.ppn}', self.daemon,
                 self.fence_interface, 'cold' if self.is_cold else 'warm']
        return ', '.join(filter(None, words))

class LogSummary:
    """The launches of a log by kind, the latest first, each with its verdict. There is an alarm if
    a kind of launch that was made on the last night has become slower, or if a row of that night is
    damaged."""
    def __init__(self, name, log):
        self.name, self.log, found = name, log, collections.defaultdict(list)
        for row in log.launches:
            is_cold = row.faults > 0  # The launch read pages from disk.
            found[Kind(row.program, row.nodes, row.ppn, row.daemon, row.fence_interface,
                       is_cold)].append(row)
        by_last = sorted(found.items(), key=lambda kind: kind[1][-1].line, reverse=True)
        self.kinds = [(kind, launches, *judge(launches)) for kind, launches in by_last]
        night = log.launches[-1].night if log.launches else ''  # the last one
        self.is_slower = any(sign > 0 and launches[-1].night == night
                             for _, launches, sign, _ in self.kinds)
        end_before = max((row.line for row in log.launches if row.night != night), default=0)
        self.is_damaged = any(line > end_before for line in log.damaged)
        self.is_alarm = self.is_slower or self.is_damaged

    def summary(self):
        launches = self.log.launches
        when = f', {day(launches[0])} to {day(launches[-1])}' if launches else ''
        verdict = 'slower; ' * self.is_slower + 'damaged rows; ' * self.is_damaged
        yield f'{self.name}: {verdict}{plural(len(launches), "launch")}{when}'
        yield from damage(self.log)
        for kind, alike, _, verdict in self.kinds:
            yield from ['', f'{kind}: {plural(len(alike), "launch")}, the last {day(alike[-1])}']
            yield from describe(alike, verdict)

    def pictures(self):
        """Yields the middle launch of each night, of the kind that was launched last."""
        for kind, alike, _, verdict in self.kinds[:1]:
            last = nights(alike)[-NIGHTS:]
            bars = [('last night: ' * (night is last[-1]) +
                     f'{night[0].night:.10}, {plural(len(night), "launch")}', night is last[-1],
                     sorted(night, key=lambda row: row.time_ms)[(len(night) - 1) // 2])
                    for night in last]
            about = f'{self.name}: {kind}; the middle launch of each night'
            yield 'history.svg', draw_bars(verdict, about, LOG_PHASES, bars)

def day(row):
    return f'{row.started:.19}Z'

def line_numbers(lines):
    """Names up to ten lines of a file."""
    more = f' and {len(lines) - 10} more' if lines[10:] else ''
    return f'line{"s" * (len(lines) > 1)} {", ".join(map(str, lines[:10]))}{more}'

def damage(log):
    """Yields a line about the damaged rows of a log, and one about starts that go back."""
    lines = line_numbers(log.damaged)
    if len(log.damaged) == 1:
        yield f'1 row is damaged and was left out: {lines}'
    elif log.damaged:
        yield f'{len(log.damaged)} rows are damaged and were left out: {lines}'
    if log.backward:
        (line, before, after), *others = log.backward
        also = f'; also at {line_numbers([line for line, *_ in others])}' if others else ''
        yield f'line {line}: the start goes back from {before:.19}Z to {after:.19}Z{also}'
