"""rollcall - what each node was doing when a launch hung, from the lines of -t or --where

    roll_call(lines, nodes)     returns the lines of the text about an output

NODES are the names of the launch's nodes, as in Slurm; None if they are not known. Lines of other
programs, labels in front of a line, and truncated lines do no harm. If the output is that of
several launches, the text is about the last one. Without lines of -t or --where, the text is empty.

Ranks that wait do so for those that have not arrived. If most nodes wait, the others are the odd
ones, and the last line excludes them from the next launch. Otherwise, the last line says what to do
next, and blames no node.
"""
import collections
import re
import statistics
import sys

from nodes import LATE, fold_for_slurm, fold_within

MOST_LINES = 6  # about states
MOST_RANKS = 1024  # of a node
# In characters. The innermost calls come first. A longer list of nodes to exclude is not printed.
MOST_CALLS, MOST_NAMES, MOST_EXCLUDED = 300, 60, 900

# The stamp in the command line that ziatest prints when a launch begins
START = re.compile("ziaprobe'? [0-9]{10} [0-9]{1,6} |ZIAPROBE=[0-9]{10},")
WHO = ' (rank [0-9]{1,9}|a rank) on ([^ \t\r\n]{1,255}) '
SAYS = re.compile('(error: timeout of|note: after) ([0-9]{1,9}(?:[.][0-9]{1,9})?) s:' + WHO + 'has'
                  '(?: (?:spent|waited) ([0-9]{1,15}) ms (in MPI_Init|in a fence|for other ranks|'
                  'writing the result|in MPI_(?:Send|Recv|Sendrecv), (?:to|from|with) '
                  'rank [0-9]{1,9}))?')
# Parts of a line that says this, of which the rest, with the node, may be somewhere else
TORN = re.compile('timeout of [0-9]|[0-9] s: (?:a )?rank|has (?:spent|waited) [0-9]')
CALLS = re.compile('(?:error|note):' + WHO + 'is in (.*)')
# A line of a rank. STATE is '' if the line is truncated; in an exchange, PARTNER is 'from rank 4'.
Saying = collections.namedtuple('Saying', 'node rank ms state partner calls')
WORKS, STARTS, WRITES = 'in MPI_Init', 'starts', 'writing the result'
AT_WORK, PAIRS = (WORKS, STARTS), ('in MPI_Send', 'in MPI_Recv', 'in MPI_Sendrecv')
WAITS = ('in a fence', 'for other ranks', *PAIRS)

def roll_call(lines, nodes=None, source=''):
    """Returns the lines of the text about an output. SOURCE names the origin of NODES if they may
    be more than the nodes of the launch; it is printed with those that are silent. They are
    excluded only if the ranks of the others leave room for them."""
    roll = Roll()
    for line in lines:
        roll.add(line)
    return roll.report(nodes, source)

def short(host):
    """A host's name without its domain, or an address as it is"""
    return re.sub(r'\.[^0-9].*', '', host)

def is_most(count, whole):
    """Tells whether COUNT of WHOLE nodes are a majority. A single node is not."""
    return count > 1 and 2 * count > whole

def seconds(ms):
    return f'{ms / 1000:.{0 if ms >= 10000 else 1}f}'

class Roll:
    """The lines of -t in an output or, if there are none, of --where"""
    def __init__(self, has_begun=False):
        self.has_begun = has_begun  # a launch, whose command line ziatest has printed
        self.is_timeout, self.seconds, self.sayings, self.latest = False, 0, [], {}
        self.has_result = self.is_torn = False

    def __bool__(self):
        return bool(self.sayings)

    def add(self, line):
        """Reads a line. Tells whether it is one in which a rank says what it is doing."""
        is_told = False
        if START.search(line):
            self.__init__(has_begun=True)
        self.has_result |= 'Time test was completed in' in line
        first, *parts = line.split('ziaprobe: ')  # Lines may run together.
        self.is_torn |= bool(TORN.search(first))
        for part in parts:
            says, calls = SAYS.match(part), CALLS.match(part)
            is_told = bool(is_told or says or calls)
            self.is_torn |= not says and bool(TORN.search(part))
            if says:
                self.add_saying(*says.groups())
            elif calls and calls.groups()[:2] in self.latest:
                place = self.latest.pop(calls.groups()[:2])
                text = sys.intern(calls[3].strip())
                self.sayings[place] = self.sayings[place]._replace(calls=text)
        return is_told

    def add_saying(self, moment, after, rank, host, ms, state):
        is_timeout = moment.startswith('error')
        if is_timeout and not self.is_timeout:
            self.sayings, self.latest = [], {}  # those of --where
        if is_timeout < self.is_timeout:
            return
        self.is_timeout, self.seconds = is_timeout, float(after)
        state, _, partner = (state or '').partition(', ')
        if state == WORKS and int(ms) == 0:
            state = STARTS
        self.latest[rank, host] = len(self.sayings)
        self.sayings.append(Saying(sys.intern(short(host)), rank, int(ms or 0), sys.intern(state),
                                   partner, ''))

    def report(self, nodes=None, source=''):
        return [*Report(self, nodes, source).lines()] if self else []

class Report:
    """The text about a Roll"""
    def __init__(self, roll, nodes, source):
        self.roll, self.source = roll, source
        known = {short(node).lower(): node for node in nodes or ()}
        self.heard = collections.defaultdict(list)  # the sayings of each node
        for saying in roll.sayings:
            self.heard[known.get(saying.node.lower(), saying.node)].append(saying)
        for node, sayings in self.heard.items():  # Truncated lines count if there are no others.
            self.heard[node] = [saying for saying in sayings if saying.state] or sayings
        self.node_of = {saying.rank: node for node, sayings in self.heard.items()
                        for saying in sayings}
        self.strangers = {*self.heard} - {*known.values()} if known else set()
        self.are_all_known = bool(known) and not self.strangers
        # With -q, nothing tells a result from that of an earlier launch, but MPI_Init precedes it.
        self.has_result = roll.has_result and not any(
            saying.state in (*AT_WORK, 'in a fence') for saying in roll.sayings)
        # With --where, ranks that wait in a fence print nothing, and after the result, most ranks.
        self.silent, self.unsure = [], []  # The latter may not belong to the launch.
        if self.are_all_known and roll.is_timeout and not self.has_result:
            self.silent = [node for node in known.values() if node not in self.heard]
        if self.silent and (roll.is_torn or source and len(self.silent) > self.gaps()):
            self.silent, self.unsure, self.are_all_known = [], self.silent, False
        self.count = len(known if self.are_all_known else self.heard)
        self.groups = self.group()

    def gaps(self):
        """How many nodes are missing between those that were heard, at least: every node has the
        same number of ranks, which follow one another."""
        nodes = [[int(saying.rank[5:]) for saying in sayings if saying.rank != 'a rank']
                 for sayings in self.heard.values()]
        most = max((rank for ranks in nodes for rank in ranks), default=0)
        for ppn in range(min(most // max(1, len(nodes) - 1), MOST_RANKS), 0, -1):
            places = [place for ranks in nodes for place in {rank // ppn for rank in ranks}]
            if len({*places}) == len(places) <= len(nodes):
                return max(places) + 1 - len(nodes)
        return 0

    def group(self):
        """Returns [((state, calls), {node: saying})], the rarest first. A node is in the rarest
        state of its ranks. However, a state that most nodes are in does not make one of them odd,
        and waiting does so least of all, because its ranks may wait for each other."""
        def key(saying):
            return saying.state, saying.calls if saying.state == WORKS else ''

        def rarity(saying):
            count, is_at_work = counts[key(saying)], saying.state in AT_WORK
            if is_most(count, len(self.heard)):
                return True, is_at_work
            return False, count, not is_at_work

        counts = collections.Counter(each for sayings in self.heard.values()
                                     for each in {*map(key, sayings)})
        groups = collections.defaultdict(dict)
        for node, sayings in self.heard.items():
            rarest = min(sayings, key=rarity)
            groups[key(rarest)][node] = rarest
        return sorted(groups.items(), key=lambda item: (
            len(item[1]), item[0][0] not in AT_WORK, item[0]))

    def sayings_of(self, *states):
        """The sayings of the nodes in STATES, by node"""
        return {node: saying for (state, _), sayings in self.groups if state in states
                for node, saying in sayings.items()}

    @staticmethod
    def name(nodes):
        """Names nodes. If the list is truncated, also says how many there are."""
        names = fold_within(nodes, MOST_NAMES)
        return f'{len(nodes):,} nodes ({names})' if '...' in names else names

    def describe(self, state, calls, sayings):
        """Returns the line about the nodes whose SAYINGS are alike."""
        who, first, has, waits = self.name(sayings), next(iter(sayings.values())), 'have', 'wait'
        if len(sayings) == 1:
            who, has, waits = f'{first.rank} on {who}', 'has', 'waits'
        elif state in WAITS and is_most(len(sayings), self.count):
            who = f'{len(sayings):,} nodes'
        if state in (WORKS, WRITES):
            ms = [saying.ms for saying in sayings.values()]
            spent = ' to '.join(dict.fromkeys([seconds(min(ms)), seconds(max(ms))]))
            if len(calls) > MOST_CALLS:
                calls = calls[:MOST_CALLS].rpartition(' < ')[0] + ' < ...'
            return f'{who} {has} spent {spent} s {state}' + (f', in {calls}' if calls else '')
        if state == STARTS:
            return f'{who} reached MPI_Init only when the launch was ended'
        if state == '':
            return f'{who} {has} printed only part of a line'
        if state not in PAIRS:
            after = ', after the exchange' if state == 'for other ranks' else ''
            return f'{who} {waits} {state}{after}'
        if len({saying.partner for saying in sayings.values()}) > 1:
            return f'{who} {waits} {state}, for several ranks'
        node = self.node_of.get(first.partner.partition(' ')[2])
        return f'{who} {waits} {state}, {first.partner}' + (f' on {node}' if node else '')

    def lines(self):
        """Yields the lines of the text."""
        for (state, calls), sayings in self.groups[:MOST_LINES]:
            yield self.describe(state, calls, sayings)
        rest = [node for _, sayings in self.groups[MOST_LINES:] for node in sayings]
        if rest:
            yield f'{self.name(rest)}: {len(self.groups) - MOST_LINES} other states or calls'
        if self.silent:
            source = f' (in {self.source})' if self.source else ''
            yield f'nothing from {self.name(self.silent)}{source}'
        if self.unsure:
            why = 'but some lines are torn' if self.roll.is_torn else \
                f'in {self.source}, but perhaps not in this launch'
            yield f'nothing from {self.name(self.unsure)} ({why})'
        if self.strangers:
            yield f'{self.name(self.strangers)}: not in {self.source or "the list of nodes"}, so ' \
                'it is not known which nodes are silent'
        yield self.last_line()

    def last_line(self):
        at_work, waiting = self.sayings_of(*AT_WORK), self.sayings_of(*WAITS)
        pairs = self.sayings_of(*PAIRS)
        odd = [*at_work, *self.silent] if waiting else self.silent
        if not self.roll.is_timeout:
            return 'next: look up the calls among the known causes, or launch with -t to see ' \
                'which nodes wait'
        if self.has_result:
            return 'next: look at how the launch ends: it hung after printing its result'
        if self.sayings_of(WRITES):
            return 'next: find out why rank 0 cannot write the result to stderr or to its files'
        if odd and is_most(len(waiting or at_work), self.count):
            return self.exclude(odd, waiting or at_work)
        if odd and len(self.heard) == 1:
            return 'next: trace the launcher, unless the clock of the node that printed is ahead'
        if odd and 2 * len(self.silent) >= self.count:
            return 'next: trace the launcher, because half of the nodes or more are silent'
        if odd:
            return 'next: look at what the nodes that do not wait are doing; they are half of ' \
                'all nodes or more'
        if pairs and not is_most(len(pairs), self.count):
            return 'next: launch without one of these partners; one of them is the cause, or the ' \
                'link between them'
        if waiting and self.are_all_known:
            return 'next: look for a rank that was killed or stopped; otherwise, while it ' \
                'hangs, for connections without an answer: ss -tnp state syn-sent'
        if waiting and self.unsure and self.roll.is_torn:
            return 'next: look for the names of the silent nodes in the torn lines of the output'
        if waiting:
            return 'next: find the node that is silent: name all nodes of the launch with --nodes'
        if len(self.groups) == 1:
            return 'next: look for something that the nodes share, because all do the same'
        return 'next: look at the calls; no rank waits, so rare ones are not always the cause'

    def exclude(self, odd, others):
        """Returns the last line if the nodes ODD keep the OTHERS waiting."""
        waited = statistics.median(saying.ms for saying in others.values())
        if waited < LATE * 1000 * self.roll.seconds:
            return 'next: launch with a larger -t; the nodes have only just begun to wait, so ' \
                'the launch may be slow'
        line = f'--exclude={fold_for_slurm(odd)}'
        if len(line) > MOST_EXCLUDED:
            return f'next: look for what the {len(odd):,} nodes that do not wait have in common'
        return line
