"""draw - the pictures of summarize, as lines of SVG: bars of phases, and a cell for each node"""
import math
import re
from html import escape

from nodes import fold, known, least_lateness
from read import times

WIDTH = 1080  # pixels
# They differ in brightness by at least 12 %. Setup and clock differ in thickness.
COLOURS = dict(daemon='#1c1f45', spawn='#b9dcf2', exec='#2b6ea8', setup='#000000', init='#eba63c',
               fence='#7a1f5c', wait='#f8f8f8', exchange='#3fa37c', clock='#000000')
MEANINGS = dict(daemon='reaching the node', spawn='creating the process', init='in MPI_Init',
                exec='loading the program', setup='before MPI_Init', wait='for other ranks',
                fence='exchanging addresses', exchange='first message', clock='error of clocks')
THIN = 'wait', 'clock'  # so that a node's own time is what the eye compares

# The shades of nodes that are not slow and of slow ones, each with the multiple of the least
# lateness from which it is used
SHADES = ('#e4e4e4', -math.inf), ('#e59a2f', 1), ('#a8321f', 2), ('#2a0a2e', 4)
UNKNOWN = 'white'
MOST_CELLS, ROW = 8192, 64  # cells in the picture of all nodes, and in each of its rows
LABEL = 27  # characters before such a row

TEXT = '<text x="{:.1f}" y="{}" text-anchor="{}">{}</text>'.format
BOX = ('<rect x="{:.1f}" y="{}" width="{:.2f}" height="{}" fill="{}" '
       'stroke="#444" stroke-width="0.5"/>').format

def duration(time, longest=None):
    """A time in the unit that suits the longest one of a picture"""
    return f'{time:.0f} ms' if (longest or time) < 10000 else f'{time / 1000:.1f} s'

def frame(height, title, about):
    """Yields the first lines of a picture, with its title and what it is about. Both are cut to fit
    the picture."""
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" ' \
        'font-family="monospace" font-size="13"><rect width="100%" height="100%" fill="white"/>'
    title = escape(title[:1].upper() + title[1:116])
    yield f'<g font-size="15" font-weight="bold">{TEXT(10, 26, "start", title)}</g>'
    yield TEXT(10, 50, 'start', escape(about[:135]))

def bar(x, y, name, width):
    """A bar of a phase, with a height of 19 pixels, or a thin one"""
    thin = 8 if name in THIN else 0
    return BOX(x, y + thin, width, 19 - 2 * thin, COLOURS[name])

def draw_axis(left, top, bottom, longest, scale):
    """Yields grid lines at up to nine round times, with labels. SCALE is in pixels per ms."""
    tick = next((tick for tick in (digit * 10. ** power for power in range(-4, 13)
                                   for digit in (1, 2, 5)) if longest / tick <= 8), longest)
    size, unit = (1, 'ms') if longest < 10000 else (1000, 's')
    for i in range(int(longest / tick) + 1):
        x = left + i * tick * scale
        yield f'<path d="M{x:.1f} {top - 8}V{bottom}" stroke="#bbb"/>'
        yield TEXT(x, bottom + 16, 'middle', f'{i * tick / size:g} {unit}')

def draw_bars(title, about, names, bars):
    """Yields the lines of a picture. BARS are [(label, stands_out, row)]. NAMES are the phases to
    draw of each row; if the row is None, the label is a heading."""
    bars = [(re.sub('(.{22}).{4,}(.{23})', r'\1...\2', label),  # Names differ at the end.
             stands_out, row and [time if time < 1e15 else math.nan for time in times(row, names)])
            for label, stands_out, row in bars]  # A damaged file may have any number.
    drawn = [values for *_, values in bars if values]
    longest = max([sum(time for time in values if time > 0) for values in drawn] + [0.001])
    occur = [name for name, column in zip(names, zip(*drawn)) if any(time > 0 for time in column)]
    left = 26 + 8 * max(len(label) for label, *_ in bars)  # pixels; height is a bar's
    right, top, height = 1000, 84 + 22 * -(-len(occur) // 4), 26
    bottom = top + height * len(bars)
    scale = (right - left) / longest
    yield from frame(bottom + 48, title, about)
    for i, name in enumerate(occur):
        x, y = 10 + 265 * (i % 4), 64 + 22 * (i // 4)
        yield bar(x, y, name, 14) + TEXT(x + 22, y + 14, 'start', f'{name}: {MEANINGS[name]}')
    yield from draw_axis(left, top, bottom, longest, scale)
    yield TEXT((left + right) / 2, bottom + 38, 'middle', 'time since the launch command')
    for (label, stands_out, values), y in zip(bars, range(top, bottom, height)):
        if stands_out:
            yield f'<rect y="{y - 3}" width="100%" height="{height - 1}" fill="#ffeeb0"/>'
        x, anchor = (left - 8, 'end') if values else (10, 'start')
        weight = 'bold' if stands_out or not values else 'normal'
        yield f'<g font-weight="{weight}">{TEXT(x, y + 14, anchor, escape(label))}</g>'
        end = left
        for name, time in zip(names, values or []):
            if time > 0:
                yield bar(end, y, name, time * scale)
                end += time * scale
        if values:
            yield TEXT(end + 5, y + 14, 'start', duration(sum(known(values)), longest))
    yield '</svg>'

def row_label(hosts):
    """Names the first and the last of HOSTS, in at most LABEL characters."""
    short = [host if len(host) <= 20 else host.split('.')[0] for host in hosts]  # without a domain
    folded = fold(short)
    if len(folded) <= LABEL:
        return folded
    each = (LABEL - 3) // 2
    return ' - '.join(host if len(host) <= each else '..' + host[2 - each:]
                      for host in (short[0], short[-1]))

def draw_legend(limits, is_any_unknown):
    """Yields the shades of cells, each with its meaning. LIMITS has the least excess of each."""
    words = ['not slow', *[f'{slow}from {duration(limit, limits[-1])}'
                           for slow, limit in zip(('slow ', '', ''), limits[1:])]]
    legend = [(shade, word) for (shade, _), word, _ in zip(SHADES, words, limits)]
    legend += [(UNKNOWN, 'not known')] * is_any_unknown
    for x, (shade, word) in zip(range(10, WIDTH, 190), legend):
        yield BOX(x, 94, 14, 14, shade) + TEXT(x + 20, 106, 'start', word)

def draw_nodes(title, about, time, nodes):
    """Yields the lines of a picture that has a cell for each of NODES, in a launch that takes TIME.
    A slow node has a dark cell."""
    each = -(-len(nodes) // MOST_CELLS)  # nodes in a cell
    cells = [nodes[i:i + each] for i in range(0, len(nodes), each)]
    left, top, side = 200, 130, 13  # pixels; side is a cell's
    excesses = [max(known(node.most for node in cell), default=math.nan) for cell in cells]
    longest = max(known(excesses), default=0)
    limits = [least_lateness(time) * multiple for _, multiple in SHADES]
    are_judged = len(nodes) > 2  # Either of two may be the slow one.
    yield from frame(top + side * -(-len(cells) // ROW) + 20, title, about)
    what = 'a node' if each == 1 else f'the slowest of {each} neighbouring nodes'
    yield TEXT(10, 76, 'start', f'Each cell is {what}. Its colour shows how much longer than the '
               'median node it took, in its latest phase.')
    yield from draw_legend(limits if are_judged else [],
                           not are_judged or len(known(excesses)) < len(excesses))
    yield '<g stroke="#bbb" stroke-width="0.5">'
    for i, (cell, excess) in enumerate(zip(cells, excesses)):
        row, column = divmod(i, ROW)
        x, y = left + side * column, top + side * row
        shade = [UNKNOWN, *[shade for (shade, _), limit in zip(SHADES, limits)
                            if excess >= limit and are_judged]][-1]
        name = ' to '.join(dict.fromkeys(node.hosts[0][:64] for node in (cell[0], cell[-1])))
        took = 'not known' if math.isnan(excess) else duration(excess, longest)
        yield f'<rect x="{x}" y="{y}" width="{side - 1}" height="{side - 1}" fill="{shade}">' \
            f'<title>{escape(name)}: {took}</title></rect>'
    yield '</g><g font-size="11">'
    for i in range(0, len(cells), ROW):
        label = row_label([node.hosts[0] for node in nodes[i * each:(i + ROW) * each]])
        yield TEXT(left - 6, top + side * i // ROW + 11, 'end', escape(label))
    yield '</g></svg>'
