"""text - how the tools print numbers, words and tables"""
import math
import os
import re
import sys

def hold_streams():
    """Opens /dev/null for each standard stream that is closed, so that no other file gets its
    number. Writing to stderr then does nothing; writing to stdout fails, as it must."""
    for number, flags in (0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # gets the lowest free number, which is this one
    sys.stdout = sys.stdout or open(1, 'w', closefd=False)
    sys.stderr = sys.stderr or open(2, 'w', closefd=False)

def printable(text):
    """TEXT with a blank for each tab, and a question mark for what is not printable ASCII"""
    return re.sub('[^ -~\n]', '?', text.expandtabs(1))

def ms(time):
    return f'{round(time, 1) + 0.:.1f}' if math.isfinite(time) else '-'  # no -0.0

def spread(values):
    return f'({ms(min(values))} to {ms(max(values))})'

def duration(time, longest=None):
    """A time in ms, in the unit that suits the longest one of a picture"""
    return f'{time:.0f} ms' if (longest or time) < 10000 else f'{time / 1000:.1f} s'

def plural(count, noun):
    ending = 'es' if noun.endswith('ch') else 's'
    return f'{count} {noun}' + ending * (str(count) != '1')

def table(rows, left):
    """Yields the lines of a table. The first of ROWS has the headings. The columns whose headings
    are in LEFT are aligned to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield '  '.join(cell.ljust(width) if heading in left else cell.rjust(width)
                        for heading, cell, width in zip(rows[0], row, widths)).rstrip()
