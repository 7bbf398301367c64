"""ranks - the nodes in a file of ranks, and which of them are late"""
import array
import collections
import itertools
import math
import operator
import statistics
import sys

from . import Unreadable
from .names import MOST_NODES, by_name
from .rows import Rank, known

# A rank's own time, without waits
PARTS = 'daemon + spawn', 'exec', 'setup', 'init', 'exchange'
# A node is late in a part if it exceeds the median of all nodes by at least LATE of the time of the
# launch, and by at least TICKS ms: daemon, spawn and exec are measured in ticks of 10 ms.
LATE, TICKS, TICK = 0.1, 20, 10
STAIRCASE = 5  # daemons, at least
LEAVERS_PART = 8  # one daemon in this many, and one more, may have a longer step
# HOSTS are a node's name and perhaps its partner's. PART has the largest excess, MOST. EXCESS is
# that of each part.
Node = collections.namedtuple('Node', 'hosts part excess most')

def median(values, fewest=1):
    """The lower median of the known values; NaN if there are fewer than FEWEST"""
    values = known(values)
    return statistics.median_low(values) if len(values) >= fewest else math.nan

class Ranks:
    """A file of ranks. Each list or array has an entry for each node. WRONG says what is wrong with
    the file: rows may be missing, or belong to another launch; '' if nothing is wrong."""
    def __init__(self, file):
        self.name, self.count, self.wrong = file.name, 0, ''
        self.started, self.completed = '', -math.inf  # when the last rank completed, in ms
        self.warm = 0  # nodes on which no rank read a page of a file
        self.hosts = []
        self.parts = {part: array.array('f') for part in PARTS}  # the largest of all ranks
        self.daemons = array.array('d')  # when that of each node's first rank was created, in ms
        self.own = array.array('f')  # the largest sum of parts that a rank has
        self.slowest = []  # this rank
        for _, ranks in itertools.groupby(file.rows(Rank), operator.attrgetter('node')):
            if len(self.hosts) == MOST_NODES:
                raise Unreadable(f'{file.name} has more than {MOST_NODES} nodes')
            self.add_node(list(ranks))
        if file.damaged:
            self.wrong = f'line {file.damaged[0]} is damaged'
        self.name_nodes()
        self.step, self.off_step = find_staircase(self.daemons, least_lateness(self.completed))
        self.late = late_nodes(nodes_of([self], fewest=1), self.completed)
        self.bars = self.choose_bars()
        del self.slowest  # A job may have millions of ranks.

    def add_node(self, ranks):
        """Adds the next node. This is done by columns, because a job may have millions of ranks."""
        columns = Rank._make(zip(*ranks))
        self.check(columns)
        parts = [[spawn + (daemon if daemon == daemon else 0)
                  for daemon, spawn in zip(columns.daemon_ms, columns.spawn_ms)],
                 columns.exec_ms, columns.setup_ms, columns.init_ms, columns.exchange_ms]
        own = [*map(sum, zip(*([time if time == time else 0 for time in part] for part in parts)))]
        self.hosts.append(sys.intern(columns.host[0]))
        self.daemons.append(columns.daemon_ms[0])
        self.own.append(max(own))
        self.slowest.append(ranks[own.index(max(own))])
        for part, of_ranks in zip(PARTS, parts):
            self.parts[part].append(max(known(of_ranks), default=math.nan))
        self.warm += not any(columns.faults)  # NaN is true.
        self.count += len(ranks)

    def check(self, columns):
        """Notes what is wrong with the ranks of the next node."""
        if not self.count:
            self.started = columns.started[0]
        number, count = str(len(self.hosts) + 1), len(columns.rank)
        for place, rank, started in zip(itertools.count(self.count), columns.rank, columns.started):
            if rank != str(place):
                self.wrong = self.wrong or f'expected rank {place}, found rank {rank[:9]}'
            elif started != self.started:
                self.wrong = self.wrong or f'rank {place} has the start ' \
                    f'{started[:27] or "-"}, not {self.started[:27] or "-"}'
        self.completed = max([self.completed, *known(columns.completed_ms)])
        if columns.node[0] != number or len(set(columns.host)) > 1:
            self.wrong = self.wrong or f'the rows of node {number} are incomplete or out of order'
        elif self.count != count * len(self.hosts):
            self.wrong = self.wrong or f'node {number} has more or fewer ranks than those before it'

    def name_nodes(self):
        """Numbers nodes that have the same name, such as linux."""
        counts = collections.Counter(self.hosts)
        for i, host in enumerate(self.hosts):
            if counts[host] > 1:
                self.hosts[i] = f'{host} (node {i + 1})'
                self.slowest[i] = self.slowest[i]._replace(host=self.hosts[i])

    def choose_bars(self):
        """Returns [(mark, the slowest rank of a node)] for ten nodes, the median node and the
        fastest. The ten are the late ones first, and then those with the most time of their own."""
        late = {node.hosts[0] for node in self.late}
        order = sorted(range(len(self.own)), key=lambda place: -self.own[place])
        marks = {order[len(order) // 2]: 'median: ', order[-1]: 'fastest: '} if order[1:] else {}
        first = sorted(order, key=lambda place: self.hosts[place] not in late)[:10]
        return [(marks.get(place, ''), self.slowest[place])
                for place in dict.fromkeys([*first, *sorted(marks, key=order.index)])]

def find_staircase(daemons, least):
    """Returns (mean step, {place: ms}) if the launcher started its DAEMONS one after another. They
    are a staircase if there are at least STAIRCASE of them, if their steps are from half the median
    to twice the median, to a tick, if the median is two ticks or more, and if the steps add up to
    LEAST ms or more. One of LEAVERS_PART daemons, and one more, may leave the steps: they come
    later, and their turn is then empty, so that another step may be three times the median. As many
    steps in all may be shorter or so long. The dict has the places of the daemons that leave the
    steps, and how much later than their turn they came. Otherwise, returns (NaN, {}).
    explain/path.c has the same rule."""
    order = sorted((round(1000 * created), place)  # in us, without errors of rounding
                   for place, created in enumerate(daemons) if created == created)
    steps = sorted((after - before, place) for (before, _), (after, place) in zip(order, order[1:]))
    if len(order) < STAIRCASE:
        return math.nan, {}
    middle, most_leavers = steps[(len(steps) - 1) // 2][0], 1 + len(order) // LEAVERS_PART
    most, tick = 2 * middle + 1000 * TICK, 1000 * TICK
    leavers = []
    if steps[-1][0] > most:
        leavers = [steps.pop()]
        while steps[-1][0] > most + middle:
            leavers.append(steps.pop())
    rise = sum(step for step, _ in steps)
    odd = sum(step > most or step < middle // 2 - tick for step, _ in steps)
    if len(leavers) > most_leavers or odd > most_leavers or middle < 2 * tick or \
            rise < 1000 * least:
        return math.nan, {}
    usual = rise / len(steps)
    return usual / 1000, {place: (step - usual) / 1000 for step, place in leavers}

def least_lateness(time):
    """The smallest excess, in ms, that makes a node late in a launch that takes TIME"""
    return max(TICKS, LATE * time)

def nodes_of(launches, fewest):
    """Returns the Nodes of launches, sorted by name. A node's excess in a part is the median over
    the launches of how far it exceeds the median of all nodes; NaN if fewer than FEWEST launches
    have the part. If the daemons of a launch were started one after another, a node may exceed the
    median only because it comes late in their order. So its excess in that part is how much later
    than its turn its daemon came."""
    found = collections.defaultdict(dict)  # by host and part
    for part in PARTS:
        excess = collections.defaultdict(lambda: array.array('f'))  # by host, in each launch
        for ranks in launches:
            times, late = ranks.parts[part], {}
            if part == PARTS[0] and ranks.step == ranks.step:
                late = ranks.off_step
                times = [time - (daemon if daemon == daemon else 0)
                         for time, daemon in zip(times, ranks.daemons)]
            middle = median(times)
            for place, (host, of_node) in enumerate(zip(ranks.hosts, times)):
                excess[host].append(of_node - middle + late.get(place, 0))
        for host, of_launches in excess.items():
            found[host][part] = median(of_launches, fewest)
    hosts, nodes = launches[0].hosts, []
    partners = dict(zip(hosts, hosts[1:] + hosts[:1]))
    for host in sorted(found, key=by_name):
        excess = found[host]
        most, part = max(((by, part) for part, by in excess.items() if by == by),
                         default=(math.nan, ''))
        both = part == 'exchange' and host in partners
        nodes.append(Node([host, partners[host]] if both else [host], part, excess, most))
    return nodes

def late_nodes(nodes, time):
    """Returns the Nodes that are late in a launch that takes TIME, those with the largest excess
    first. If there are only one or two nodes, none counts as late."""
    late = [node for node in nodes if node.most >= least_lateness(time)] if nodes[2:] else []
    return sorted(late, key=lambda node: -node.most)
