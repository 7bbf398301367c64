"""seen - what ranks are doing, from the lines of tools/look, and the text about it

Ranks in the same state share a line. The rarest comes first, because it is the one to look at.
"""
import collections
import contextlib
import functools
import ipaddress
import os
import re
import socket

from .facts import MOST_RANKS, integer, read_fields
from .names import by_name, fold_within, number_ranges
from .rollcall import MOST_CALLS, MOST_NAMES, first_part, is_most

MOST_LINES = 20  # about ranks
SEPARATOR = '\037'  # between calls
MPI_CALL = re.compile(r'P?(MPI_[A-Z]\w*)|p?(mpi_[a-z_]+?)_*(?:f08_?)?')
MOVES = 'polls', 'computes'
VERBS = {'blocked': ('is blocked', 'are blocked'), 'polls': ('polls', 'poll'),
         'computes': ('computes', 'compute'), 'stopped': ('is stopped', 'are stopped'),
         'kernel': ('is stuck in the kernel', 'are stuck in the kernel'),
         'dead': ('has ended', 'have ended')}
# System calls that may block forever, by their numbers on x86_64. The first argument of those in
# ON_FILE is a file.
CALLS = {7: 'poll', 23: 'select', 34: 'pause', 35: 'nanosleep', 61: 'wait4', 202: 'futex',
         230: 'clock_nanosleep', 232: 'epoll_wait', 247: 'waitid', 257: 'openat', 270: 'pselect6',
         271: 'ppoll', 281: 'epoll_pwait'}
ON_FILE = {0: 'read', 1: 'write', 16: 'ioctl', 17: 'pread64', 42: 'connect', 43: 'accept',
           44: 'sendto', 45: 'recvfrom', 46: 'sendmsg', 47: 'recvmsg', 72: 'fcntl', 73: 'flock',
           74: 'fsync', 288: 'accept4'}

class Kind:
    """Ranks on a node that are in the same state, from a line of tools/look"""
    def __init__(self, fields):
        self.node, self.does = fields.get('node', '?'), fields.get('does', '')
        self.name, self.mpi = fields.get('name', ''), fields.get('mpi', '')
        self.waited = integer(fields.get('waited')) or 0  # for a CPU, in ms per second
        self.ranks = [rank for rank in map(integer, fields['ranks'].split(',')) if rank is not None]
        number = integer(fields.get('call'))
        self.call = {**CALLS, **ON_FILE}.get(number, '')
        file = re.sub(r':\[.*', '', fields.get('file', ''))  # without a socket's number
        self.file = file if number in ON_FILE else ''
        # If the call or its file is not known, the function in the kernel says more.
        self.wchan = fields.get('wchan', '') if self.call in ('', 'openat') else ''
        self.calls = []
        for text in filter(None, fields.get('calls', '').split(SEPARATOR)):
            self.calls.append(text.rpartition('|')[::2])
        names = [MPI_CALL.fullmatch(name) for name, _ in self.calls]
        # The outermost MPI function, and its index in the calls
        self.place = max((i for i, match in enumerate(names) if match), default=-1)
        self.function = names[self.place][1] or names[self.place][2] if self.place >= 0 else ''

    def key(self):
        """Equal for ranks in the same state. The calls of a rank that polls or computes change from
        moment to moment, but its MPI function and the calls outside it do not."""
        moves = self.does in MOVES
        calls = self.calls[self.place if self.function else -2:] if moves else self.calls
        return (moves and bool(calls) or self.does, self.name if not calls else '', self.mpi,
                self.call, self.file, self.wchan, *(name or place for name, place in calls))

class Seen:
    """The answers of the nodes: the number of ranks on each, and what these are doing. Ranks are
    missing only from the nodes EXPECTED."""
    def __init__(self, lines, tag, expected):
        self.nodes, self.kinds, self.size, self.expected = set(), [], 0, expected
        self.daemons, self.unseen = collections.defaultdict(set), set()
        self.remarks = collections.defaultdict(list)  # the nodes to which a text applies
        for fields in (fields for line in lines for fields in read_fields(line, tag) if fields):
            found = dict(fields)
            if 'ranks' in found:
                self.kinds.append(Kind(found))
            else:
                self.add_node(found.get('node', '?'), found, fields)
        self.ranks = {rank for kind in self.kinds for rank in kind.ranks}
        # A node may have two answers, from a step and from mpirun itself.
        idle = expected & self.nodes - self.unseen - {kind.node for kind in self.kinds}
        for node in sorted(idle, key=by_name):
            daemons = ', '.join(sorted(self.daemons[node]))
            self.remarks[f'{daemons} is running, but no rank is' if daemons else
                         'neither a daemon of the launcher nor a rank is running'].append(node)

    def add_node(self, node, found, fields):
        """Reads a line about a node, which comes before or after the lines about its ranks"""
        def remark(text):
            self.remarks[text].append(node)
        if 'count' in found:
            self.nodes.add(node)
            self.size = max(self.size, integer(found.get('size'), MOST_RANKS) or 0)
            self.daemons[node] |= {value for name, value in fields if name == 'daemon'}
            self.unseen |= {node} if {'hidden', 'unread'} & {*found} else set()
        for name, value in fields:
            if name == 'stuck':
                remark('process {0} ({2}) is stuck in the kernel {1}'.format(*value.split(' ', 2)))
            elif name == 'unread':
                remark(f'processes of the launch that cannot be read: {value}')
            elif name == 'hidden':
                remark("/proc hides other users' processes, such as slurmstepd")
            elif name == 'unanswered':
                owner, address, port = value.split(':')
                host = name_address(address)
                is_known = first_part(host.partition(' ')[0]) in map(first_part, self.expected)
                if owner != '0' or os.geteuid() == 0 or is_known:
                    remark(f'no answer from {host}, port {int(port, 16)}')
            elif name == 'mended':
                remark(f'continued processes that eu-stack had left stopped: {value}')
            elif name == 'why':
                yama = found.get('yama', '0')
                limit = f' (kernel.yama.ptrace_scope is {yama})' if yama != '0' else ''
                remark(f'calls were not read: {value}{limit}')

    def lines(self):
        found = collections.defaultdict(list)
        for kind in self.kinds:
            found[kind.key()].append(kind)
        groups = sorted(found.values(), key=lambda kinds: sum(len(kind.ranks) for kind in kinds))
        init = [rank for kind in self.kinds for rank in kind.ranks
                if kind.function.lower().startswith('mpi_init')]
        for kinds in groups[:MOST_LINES]:
            yield self.describe(kinds, is_most(len(init), len(self.ranks)))
        if groups[MOST_LINES:]:
            yield f'{len(groups) - MOST_LINES} more states or calls'
        missing = sorted({*range(self.size)} - self.ranks) if self.ranks else []
        if missing:
            yield f'not found: rank{"s" * (len(missing) > 1)} {name_ranks(missing)} of {self.size}'
        for text, nodes in self.remarks.items():
            yield f'{fold_within(nodes, MOST_NAMES)}: {text}'

    def describe(self, kinds, are_in_init):
        """The line about ranks in the same state"""
        first, ranks = kinds[0], [rank for kind in kinds for rank in kind.ranks]
        is_many = len(ranks) > 1
        who = f'{len(ranks)} ranks ({name_ranks(ranks)})' if is_many else f'rank {ranks[0]}'
        who += f' on {fold_within(sorted({kind.node for kind in kinds}, key=by_name), MOST_NAMES)}'
        names = {kind.name for kind in kinds}
        if len(names) == 1 and {kind.name for kind in self.kinds} - names:
            who += f' ({first.name})'
        verb = VERBS.get(first.does, ('?', '?'))[is_many]
        has = 'have' if is_many else 'has'
        if first.function:
            if is_most(len(ranks), len(self.ranks)) and first.does in (*MOVES, 'blocked'):
                verb = 'wait'
            verb += f' in {first.function}'
        elif first.mpi == 'no':
            verb += f', and {has} not loaded MPI'
        elif first.calls and are_in_init:
            verb += f', and {has} not reached MPI_Init'
        waited = max(kind.waited for kind in kinds) / 10
        if first.does == 'computes' and waited > 50:
            verb += f' (waits for a CPU for up to {min(waited, 100):.0f} % of the time)'
        file = f' of {first.file}' * bool(first.file)
        where = f'in {first.call}{file}' if first.call else ''
        where += f' (kernel: {first.wchan})' * bool(first.wchan)
        if first.calls:
            where = show_calls([kind.calls for kind in kinds]) + \
                f' ({where})' * ('/' in file)
        return f'{who} {verb}' + f': {where.strip()}' * bool(where)

def name_ranks(ranks):
    text = number_ranges([*map(str, sorted(ranks))]).strip('[]')
    if len(text) > MOST_NAMES:
        text = text[:MOST_NAMES].rpartition(',')[0] + ',...'
    return text

@functools.lru_cache()
def name_address(text):
    """An address that the kernel prints in 32-bit words, each in the CPU's byte order; with the
    host's name, if it has one"""
    words = [bytes.fromhex(text[i:i + 8])[::-1] for i in range(0, len(text), 8)]
    address = ipaddress.ip_address(b''.join(words))
    address = str(getattr(address, 'ipv4_mapped', None) or address)
    with contextlib.suppress(OSError):
        return f'{socket.gethostbyaddr(address)[0]} ({address})'
    return address

def show_calls(stacks):
    """The outermost calls that all STACKS have in common, innermost first. A library is named where
    it changes."""
    count = 0
    for each in zip(*map(reversed, stacks)):
        if len({name for name, _ in each}) > 1:
            break
        count += 1
    shown, before = ['...'] * any(len(stack) > count for stack in stacks), ''
    for name, place in stacks[0][len(stacks[0]) - count:]:
        text = f'{name} [{place}]'.lstrip() if place and place != before else name
        before = place or before
        shown += [text] * bool(text)
    while len(' < '.join(shown)) > MOST_CALLS and len(shown) > 6:
        middle = len(shown) // 2
        shown[middle - 1:middle + 2] = ['...']
    return ' < '.join(shown)
