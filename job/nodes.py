"""nodes - the nodes in a file of ranks, which of them are late, and lists of names of nodes"""
import array
import collections
import itertools
import math
import re
import statistics
import sys

MOST_NODES = 100000  # of a launch
Rank = collections.namedtuple('Rank', (
    'rank,node,host,daemon_ms,spawn_ms,exec_ms,setup_ms,init_ms,fence_ms,wait_ms,exchange_ms,'
    'mpi_init_ms,completed_ms,cpu_ms,cpu_wait_ms,blocked_ms,faults,clock_offset_ms'))
SUMMARISED = Rank._fields[3:-1]  # by the table of -vv
PHASES = slice(3, 11)  # of a rank: from daemon to exchange, with its wait
# A rank's own time, without waits
PARTS = 'daemon + spawn', 'exec', 'setup', 'init', 'exchange'
# A node is late in a part if it exceeds the median of all nodes by at least LATE of the time of the
# launch, and by at least TICKS ms: daemon, spawn and exec are measured in ticks of 10 ms.
LATE, TICKS = 0.1, 20
# HOSTS are a node's name and perhaps its partner's. PART has the largest excess, MOST. EXCESS is
# that of each part.
Node = collections.namedtuple('Node', 'hosts part excess most')
NUMBER = re.compile('([0-9]{1,18})')  # in a name
# A word of a list of names, such as r[1-2]n[01-03,7]
RANGE = '[0-9]{1,18}(?:-[0-9]{1,18})?'
WORD = re.compile(rf'(?:[^][,\s]|\[{RANGE}(?:,{RANGE})*\])+')

class Unreadable(Exception):
    """Why a file cannot be read"""

def known(values):
    return [value for value in values if value == value]  # NaN differs from itself

def median(values, fewest=1):
    """The lower median of the known values; NaN if there are fewer than FEWEST"""
    values = known(values)
    return statistics.median_low(values) if len(values) >= fewest else math.nan

class Ranks:
    """A file of ranks. Each list or array has an entry for each node. WRONG says what is wrong with
    the file: rows may be missing, or belong to another launch; '' if nothing is wrong."""
    def __init__(self, file):
        self.name, self.count, self.wrong = file.name, 0, ''
        self.completed = self.corrected = -math.inf  # when the last rank completed, in ms
        self.last = None  # this rank
        self.warm = 0  # nodes on which no rank read a page of a file
        self.hosts = []
        self.parts = {part: array.array('f') for part in PARTS}  # the largest of all ranks
        self.own = array.array('f')  # the largest sum of parts that a rank has
        self.slowest = []  # this rank
        self.values = [array.array('d') for _ in SUMMARISED]
        self.unequal = None  # the first rank whose phases, or kinds of time, do not add up
        for _, ranks in itertools.groupby(file.rows(Rank), lambda rank: rank.node):
            if len(self.hosts) == MOST_NODES:
                raise Unreadable(f'{file.name} has more than {MOST_NODES} nodes')
            self.add_node(list(ranks))
        if file.damaged:
            self.wrong = f'line {file.damaged[0]} is not a whole row'
        # The minimum, the median and the maximum of each column in which a value is known
        self.summary = {column: (min(values), median(values), max(values))
                        for column, values in zip(SUMMARISED, self.values) if values}
        self.name_nodes()
        self.late = late_nodes(nodes_of([self], fewest=1), self.completed)
        self.bars = self.choose_bars()
        del self.slowest, self.values  # A job may have millions of ranks.

    def add_node(self, ranks):
        self.check(ranks)
        parts = [(rank.spawn_ms + (0 if math.isnan(rank.daemon_ms) else rank.daemon_ms),
                  rank.exec_ms, rank.setup_ms, rank.init_ms, rank.exchange_ms) for rank in ranks]
        own = [sum(known(each)) for each in parts]
        self.hosts.append(sys.intern(ranks[0].host))
        self.own.append(max(own))
        self.slowest.append(ranks[own.index(max(own))])
        for part, of_ranks in zip(PARTS, zip(*parts)):
            self.parts[part].append(max(known(of_ranks), default=math.nan))
        self.warm += all(rank.faults == 0 for rank in ranks)
        self.count += len(ranks)
        for values, column in zip(self.values, [*zip(*ranks)][3:]):
            values.extend(known(column))

    def check(self, ranks):
        """Notes what is wrong with the ranks of the next node, and the last rank to complete."""
        number = str(len(self.hosts) + 1)
        for place, rank in enumerate(ranks, self.count):
            if rank.rank != str(place):
                self.wrong = self.wrong or f'rank {rank.rank[:9]} stands in the place of {place}'
            if rank.completed_ms > self.completed:
                self.completed, self.last = rank.completed_ms, rank
            reply = rank.completed_ms - rank.clock_offset_ms
            if reply > self.corrected:
                self.corrected = reply
            work = rank.cpu_ms + rank.cpu_wait_ms + rank.blocked_ms
            init = rank.init_ms if rank.fence_ms >= 0 else 0  # Without fences, it is not known.
            if self.unequal is None and (
                    abs(sum(known(rank[PHASES])) - reply) >= 0.001 or
                    abs(sum(known([rank.exec_ms, rank.setup_ms, init])) - work) >= 0.001):
                self.unequal = place
        if ranks[0].node != number or ranks[-1].host != ranks[0].host:
            self.wrong = self.wrong or f'node {number} is not whole'
        elif self.count % len(ranks) or self.count // len(ranks) != len(self.hosts):
            self.wrong = self.wrong or f'node {number} has {len(ranks)} ranks, unlike the others'

    def name_nodes(self):
        """Numbers nodes that have the same name, such as linux."""
        counts = collections.Counter(self.hosts)
        for i, host in enumerate(self.hosts):
            if counts[host] > 1:
                self.hosts[i] = f'{host} (node {i + 1})'
                self.slowest[i] = self.slowest[i]._replace(host=self.hosts[i])

    def maximum(self, column):
        return self.summary.get(column, [math.nan])[-1]

    def host_of(self, rank):
        """The host of a rank, which is text; None if there is no such rank"""
        if not rank.isdigit() or int(rank) >= self.count:
            return None
        return self.hosts[int(rank) * len(self.hosts) // self.count].partition(' (node ')[0]

    def choose_bars(self):
        """Returns [(mark, the slowest rank of a node)] for ten nodes, the median node and the
        fastest. The ten are the late ones first, and then those with the most time of their own."""
        late = {node.hosts[0] for node in self.late}
        order = sorted(range(len(self.own)), key=lambda place: -self.own[place])
        marks = {order[len(order) // 2]: 'median: ', order[-1]: 'fastest: '} if order[1:] else {}
        first = sorted(order, key=lambda place: self.hosts[place] not in late)[:10]
        return [(marks.get(place, ''), self.slowest[place])
                for place in dict.fromkeys([*first, *sorted(marks, key=order.index)])]

def least_lateness(time):
    """By how many ms a node is late in a launch that takes TIME"""
    return max(TICKS, LATE * time)

def nodes_of(launches, fewest):
    """Returns the Nodes of launches, sorted by name. A node's excess in a part is the median over
    the launches of how far it exceeds the median of all nodes; NaN if fewer than FEWEST launches
    have the part."""
    found = collections.defaultdict(dict)  # by host and part
    for part in PARTS:
        excess = collections.defaultdict(lambda: array.array('f'))  # by host, in each launch
        for ranks in launches:
            middle = median(ranks.parts[part])
            for host, of_node in zip(ranks.hosts, ranks.parts[part]):
                excess[host].append(of_node - middle)
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
    """Returns those Nodes that are late in a launch that takes TIME, the latest first. Of one or
    two nodes, none is late."""
    late = [node for node in nodes if node.most >= least_lateness(time)] if nodes[2:] else []
    return sorted(late, key=lambda node: -node.most)

def by_name(host):
    """Returns a key that sorts names, and the numbers in them by value."""
    return [int(part) if i % 2 else part for i, part in enumerate(NUMBER.split(host))], host

def number_ranges(numbers):
    """Folds ascending numbers, which may have leading zeros: 08, 09, 10, 12 become [08-10,12]."""
    ranges = []
    for number in numbers:
        if ranges and number == str(int(ranges[-1][-1]) + 1).zfill(len(ranges[-1][-1])):
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    folded = ','.join('-'.join(each) for each in ranges)
    return f'[{folded}]' if numbers[1:] else folded

def fold(hosts):
    """Folds names that differ only in numbers, as Slurm does, from the rightmost number to the
    leftmost: r[1-2]n[1-3]."""
    shapes = collections.defaultdict(list)  # names that differ only in numbers
    for host in sorted(set(hosts), key=by_name):
        parts = NUMBER.split(host)
        shapes[tuple(parts[::2])].append(parts)
    folded = []
    for alike in shapes.values():
        varies = [place for place, column in enumerate(zip(*alike)) if len(set(column)) > 1]
        for place in reversed(varies):
            groups = collections.defaultdict(list)
            for parts in alike:
                groups[tuple(parts[:place]), tuple(parts[place + 1:])].append(parts[place])
            alike = [[*before, number_ranges(numbers), *after]
                     for (before, after), numbers in groups.items()]
        folded += map(''.join, alike)
    return ','.join(folded)

def fold_within(hosts, most):
    """Folds names, and cuts the list at about MOST characters."""
    names = fold(hosts)
    if len(names) > most:
        names = names[:most].rpartition(',')[0] + ',...'
        names += ']' * (names.count('[') - names.count(']'))
    return names

def fold_for_slurm(hosts):
    """Folds names, except those that end after a bracket: Slurm does not accept r[1-2]s."""
    return ','.join(word if re.match(r'[^[]*\Z|.*\]\Z', word) else ','.join(expand(word))
                    for word in WORD.findall(fold(hosts)))

def expand(text):
    """Returns the names in a list such as r[1-2]n[01-03],login."""
    words, names = WORD.findall(text), []
    if not words or ','.join(words) != text:
        raise Unreadable('not a list of nodes, such as n[1-4,7]')
    for word in words:
        alike = ['']
        for i, part in enumerate(re.split(r'\[(.*?)\]', word)):  # Every other part was in brackets.
            numbers = numbers_in(part) if i % 2 else [part]
            if len(names) + len(alike) * len(numbers) > MOST_NODES:
                raise Unreadable(f'more than {MOST_NODES} nodes')
            alike = [name + number for name in alike for number in numbers]
        if not alike:
            raise Unreadable(f'{word} is empty: its last number is below the first')
        names += alike
    return names

def numbers_in(ranges):
    """Returns the numbers in 01-03,7."""
    numbers = []
    for each in ranges.split(','):
        first, _, last = each.partition('-')
        last = min(int(last or first), int(first) + MOST_NODES)
        numbers += [str(number).zfill(len(first)) for number in range(int(first), last + 1)]
    return numbers
