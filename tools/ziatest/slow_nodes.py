"""slow_nodes - the slow nodes of one or more launches, in words and in pictures"""
import collections

from .draw import draw_bars, draw_nodes
from .names import common_domain, fold_within, without_domain
from .ranks import PARTS, median
from .rows import RANK_PHASES, known
from .text import duration, ms, table

def hosts_of(nodes):
    return {host for node in nodes for host in node.hosts}

def slow_lines(slow, count, launches):
    """Yields a title that names the slow ones of the COUNT nodes of LAUNCHES, and a table of the
    slowest five."""
    steps = known(ranks.step for ranks in launches)
    if count < 3:
        yield 'Slow nodes: unknown; at least three nodes are needed'
    elif not slow:
        yield 'Slow nodes: none'
    else:
        hosts = hosts_of(slow)
        names = fold_within(hosts, 900, for_slurm=True)
        yield f'Slow nodes: {len(hosts)} of {count}, {names}; ms above the median of all nodes'
        parts = [part for part in PARTS
                 if part != 'setup' or known(node.excess[part] for node in slow)]
        yield from table([['node'] + parts] + [
            [' with '.join(node.hosts)] + [ms(node.excess[part]) for part in parts]
            for node in slow[:5]], left=['node'])
    if steps:
        where = f'in {len(steps)} of {len(launches)} launches, ' if launches[1:] else ''
        text = f'{where}the launcher started its daemons one after another, ' \
            f'{duration(median(steps))} apart on average'
        yield text[:1].upper() + text[1:]

def slow_title(slow, hosts):
    """The title of a picture of HOSTS"""
    count, domain = len(hosts), common_domain(hosts)
    if count < 3:
        return 'With fewer than three nodes, none can be called slow'
    if not slow:
        return f'None of {count} nodes is slow'
    if len(slow) == 1:
        names = ' with '.join(without_domain(host, domain) for host in slow[0].hosts)
        return f'Slow: {names}; {slow[0].part} took {duration(slow[0].most)} longer than on the ' \
            'median node'
    (part, of_nodes), *_ = collections.Counter(node.part for node in slow).most_common(1)
    mostly = 'mostly ' * (of_nodes < len(slow))
    names = {without_domain(host, domain) for host in hosts_of(slow)}
    return f'Slow: {len(names)} of {count} nodes, {mostly}in {part}: {fold_within(names, 80)}'

def ranks_picture(about, ranks):
    """Returns the name and the lines of a picture of the ranks of a launch."""
    domain = common_domain(ranks.hosts)
    late = {node.hosts[0]: ' with '.join(without_domain(host, domain) for host in node.hosts)
            for node in ranks.late}
    bars = [('slow: ' + late[rank.host] if rank.host in late
             else mark + without_domain(rank.host, domain),
             rank.host in late, rank) for mark, rank in ranks.bars]
    return 'ranks.svg', draw_bars(slow_title(ranks.late, ranks.hosts),
                                  f'{about}; each bar is the slowest rank of a node', RANK_PHASES,
                                  bars)

def nodes_picture(about, slow, nodes, time):
    """Returns the name and the lines of a picture of all NODES, of which some are SLOW, in a launch
    that takes TIME."""
    return 'nodes.svg', draw_nodes(slow_title(slow, [node.hosts[0] for node in nodes]), about,
                                   time, nodes)
