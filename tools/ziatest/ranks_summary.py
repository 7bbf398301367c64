"""ranks_summary - what summarize prints and draws of a file of ranks"""
from .ranks import nodes_of
from .slow_nodes import nodes_picture, ranks_picture, slow_lines
from .text import duration, ms, plural

def summary(name, ranks):
    yield f'{name}: {plural(len(ranks.hosts), "node")}, {plural(ranks.count, "rank")}, the last ' \
        f'at {ms(ranks.completed)} ms'
    yield ''
    yield from slow_lines(ranks.late, len(ranks.hosts), [ranks])

def pictures(name, ranks):
    if ranks.hosts:
        about = f'{name}: {plural(len(ranks.hosts), "node")}, {duration(ranks.completed)}'
        yield ranks_picture(about, ranks)
        yield nodes_picture(about, ranks.late, nodes_of([ranks], fewest=1), ranks.completed)
