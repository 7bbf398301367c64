"""facts - the facts that job/collect prints about each node, and how the nodes differ"""
import collections
import re
import socket

from nodes import by_name, fold_within
from read import plural

MIB = 1024  # in KiB
MOST = 100  # characters of folded names
MPI = re.compile(r'libmpi(ch|_abi|_cray|_gnu_[0-9]+|_intel|_nvidia|_amd|_ibm)?\.so')
CONNECTION = re.compile(r'([0-9]+):([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})')
LABELS = dict(kernel='kernel', libc='C library', online='CPUs of the node', memory='memory',
              quota='CPU quota', memory_limit='memory limit', shm='/dev/shm',
              tmp='TMPDIR', tmp_space='TMPDIR file system', nofile='open files (ulimit -n)',
              nproc='processes (ulimit -u)', memlock='locked memory (ulimit -l)',
              stack='stack (ulimit -s)', own="the node's own name", interfaces='interfaces')
MUST_BE_SET = 'LD_LIBRARY_PATH', 'LD_PRELOAD'

class Node:
    """What the ranks on one node have printed"""
    def __init__(self, name):
        self.name, self.facts, self.ranks, self.masks = name, {}, [], []

    @property
    def is_whole(self):
        """Whether all its facts have arrived. If so, a variable that is not among them is unset."""
        return 'complete' in self.facts

    def libraries(self, which):
        """The libraries of the program, or of the probe: {name: 'PATH CHECKSUM'}; None if they
        were not listed"""
        if which + '_listed' not in self.facts:
            return None
        return {key[len(which) + 1:]: value for key, value in self.facts.items()
                if key.startswith(which + ':')}

def read_fields(line, tag):
    """The fields of a line of a collector as [(name, value)]; None if it is another line, or cut"""
    begin = line.find('@zia\t' + tag + '\t')
    fields = line[begin:].rstrip('\r\n').split('\t')
    if begin < 0 or fields[-1] != '@end':
        return None
    return [field.partition('=')[::2] for field in fields[2:-1]]

def node_name(fields):
    return fields.get('node') or fields.get('host', '?')

class Answers:
    """What the collectors of one launch have printed: the nodes by name, the expected number of
    ranks (0: unknown), the nodes of Slurm's step as Slurm writes them, and the other lines"""
    def __init__(self, lines, tag):
        self.nodes, self.other, self.size, self.step_nodes = {}, [], 0, ''
        for line in lines:
            fields = read_fields(line, tag)
            if fields is None:
                self.other.append(line.rstrip('\r\n'))
            else:
                self.add(dict(fields))
        self.nodes = {name: self.nodes[name] for name in sorted(self.nodes, key=by_name)}
        answered = {rank for node in self.nodes.values() for rank in node.ranks}
        self.count = sum(len(node.ranks) for node in self.nodes.values())
        self.missing = [rank for rank in map(str, range(self.size)) if rank not in answered]

    def add(self, found):
        name = node_name(found)
        node = self.nodes.setdefault(name, Node(name))
        if 'cpus' in found:
            node.ranks.append(found.get('rank', ''))
            node.masks.append(found['cpus'])
        if found.get('size', '').isdigit():
            self.size = max(self.size, int(found['size']))
        self.step_nodes = self.step_nodes or found.get('nodes', '')
        node.facts.update(found)

    @property
    def shape(self):
        return f'{plural(self.count, "rank")} on {plural(len(self.nodes), "node")}, ' \
            f'{fold_within(self.nodes, MOST)}'

    def why_uneven(self):
        """Why ziaprobe refuses this placement; '' if it does not. Other programs may accept it."""
        counts = {len(node.ranks) for node in self.nodes.values()}
        if len(counts) > 1:
            return 'the nodes have different numbers of ranks, from ' \
                f'{min(counts)} to {max(counts)}'
        for node in self.nodes.values():
            ranks = sorted(int(rank) for rank in node.ranks if rank.isdigit())
            if ranks and (ranks[-1] - ranks[0] != len(ranks) - 1 or ranks[0] % len(ranks)):
                return f'the ranks on {node.name} are not consecutive'
        return ''

def cpu_count(mask):
    """The number of CPUs in a list such as 0-3,8"""
    ranges = [part.partition('-') for part in mask.split(',') if part]
    return sum(int(high or low) - int(low) + 1 for low, _, high in ranges)

def shared_cpus(node):
    """How many CPUs the ranks of a node share, if all have the same affinity mask, which has fewer
    CPUs than there are ranks; otherwise 0. The report applies the same rule."""
    masks = set(node.masks)
    count = cpu_count(min(masks)) if len(masks) == 1 else 0
    return count if count < len(node.masks) else 0

def size(kib):
    return f'{kib / MIB / 1024:.3g} GiB' if kib >= 1024 * MIB else f'{kib / MIB:.3g} MiB'

def value_of(node, key):
    """A fact as it is printed; None if it is not known"""
    text = node.facts.get(key)
    if key == 'interfaces':
        names = {item.partition('=')[0] for item in node.facts.get('addresses', '').split()}
        return ' '.join(sorted(names)) or None
    if key in MUST_BE_SET or key.startswith('$'):
        return text or ('not set' if node.is_whole else None)
    if text is None:
        return None
    if key == 'own':
        return own_name(text, node)
    if key == 'memory':  # It differs a little between equal nodes.
        return f'{float(f"{int(text) / MIB / 1024:.1e}"):g} GiB'
    if key == 'quota':
        return f'{int(text) / 100:g}'
    if key in ('memory_limit', 'memlock', 'stack') and text.isdigit():
        return size(int(text) / 1024)
    if key in ('shm', 'tmp_space'):
        total, free, kind = (text + ' ?').split()[:3]
        left = f', {size(int(free))} free' if int(free) < int(total) / 10 else ''
        return f'{kind}, {size(int(total))}{left}' if key == 'shm' or left else kind
    if key == 'tmp' and 'tmp_state' in node.facts:
        return f'{text} ({node.facts["tmp_state"]})'
    return text

def own_name(address, node):
    own = {item.partition('=')[2] for item in node.facts.get('addresses', '').split()}
    if address.startswith('127.'):
        return f'resolves to {address}'
    return 'resolves to one of its addresses' if address in own or not own else \
        f'resolves to {address}, which is not one of its addresses'

def groups(nodes, value):
    """Returns [(value, names)], the most frequent value first, and the names of the nodes whose
    value is unknown."""
    found = collections.defaultdict(list)
    for node in nodes:
        found[value(node)].append(node.name)
    unknown = found.pop(None, [])
    return sorted(found.items(), key=lambda item: -len(item[1])), unknown

def describe(found, unknown):
    """Says which nodes have which of several values: 'n7: X; the other 255: Y'."""
    (most, names), *rest = found
    parts = [f'{fold_within(each, MOST)}: {value}' for value, each in rest[:3]]
    if rest[3:]:
        others = sum(len(each) for _, each in rest[3:])
        parts.append(f'{others} more: {plural(len(rest) - 3, "other value")}')
    if len(names) > sum(len(each) for _, each in rest):
        parts.append(f'the other {len(names)}: {most}')
    else:
        parts.insert(0, f'{fold_within(names, MOST)}: {most}')
    if unknown:
        parts.append(f'unknown on {fold_within(unknown, MOST)}')
    return '; '.join(parts)

def compare(nodes):
    """Returns the facts that differ between NODES, and those that do not, as [(label, text)]."""
    variables = sorted({key for node in nodes for key in node.facts if key.startswith('$')} |
                       {'$' + name for name in MUST_BE_SET})
    differ, same = [], []
    for key in [*LABELS, *variables]:
        found, unknown = groups(nodes, lambda node: value_of(node, key))
        label = LABELS.get(key, key.lstrip('$'))
        if len(found) > 1:
            differ.append((label, describe(found, unknown)))
        elif found and found[0][0] != 'not set':
            same.append((label, found[0][0]))
    for address, names in shared_addresses(nodes):
        same.append((f'address of {plural(len(names), "node")}', address))
    return differ, same

def shared_addresses(nodes):
    owners = collections.defaultdict(list)
    for node in nodes:
        for item in set(node.facts.get('addresses', '').split()):
            name, _, address = item.partition('=')
            owners[f'{address} ({name})'].append(node.name)
    return [(address, names) for address, names in sorted(owners.items()) if names[1:]]

def compare_libraries(nodes, which, name):
    """Returns what is wrong with a program and its libraries, as texts; the libraries that differ
    only in their path; and those that do not differ. The last two are [(label, text)]."""
    wrong, differ, same = [], [], []
    for state in 'missing', 'not executable':
        without = [node.name for node in nodes if node.facts.get(which) == state]
        if without:
            wrong.append(f'{name} is {state} on {fold_within(without, MOST)}')
    found, unknown = groups(nodes, lambda node: node.facts.get(which + '_lacks'))
    wrong += [f'{name} lacks {lacks} on {fold_within(names, MOST)}' for lacks, names in found]
    whole = [node for node in nodes if ' ' in node.facts.get(which, '') and
             node.facts[which] != 'not executable']
    programs = [(name, lambda node: node.facts[which])]
    libraries = sorted({each for node in whole for each in node.libraries(which) or ()})
    programs += [(each, lambda node, each=each: (node.libraries(which) or {}).get(each))
                 for each in libraries]
    for each, value in programs:
        found, unknown = groups(whole, lambda node: show_file(value(node)))
        builds = {text.rpartition(' ')[2] for text, _ in found if text.endswith(')')}
        if len(builds) > 1:
            wrong.append(f'the nodes have different builds of {each}: {describe(found, unknown)}')
        elif len(found) > 1:
            differ.append((each, describe(found, unknown)))
        elif found:
            same.append((each, found[0][0]))
    return wrong, differ, same

def show_file(value):
    """'PATH CHECKSUM' as it is printed. The checksum may be missing."""
    if value is None:
        return None
    path, _, checksum = value.rpartition(' ')
    return f'{path} (checksum {checksum})' if path and checksum else value.strip()

def read_address(text):
    """Reads an address as the kernel prints it: words of 32 bits, each in the CPU's byte order."""
    words = [bytes.fromhex(text[i:i + 8])[::-1] for i in range(0, len(text), 8)]
    address = b''.join(words)
    if len(address) == 16 and address[:12] == bytes(10) + b'\xff\xff':
        address = address[12:]
    return socket.inet_ntop(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)

def connections(lines, tag, nodes):
    """Yields lines about the unanswered connections in LINES, which collectors have printed. Those
    of root, such as Slurm's, are left out unless they lead to one of NODES."""
    names = {item.partition('=')[2]: node.name for node in nodes
             for item in node.facts.get('addresses', '').split()}
    found = collections.defaultdict(set)
    for line in lines:
        fields = read_fields(line, tag) or ()
        sender = node_name(dict(fields))
        for key, value in fields:
            match = CONNECTION.fullmatch(value) if key == 'unanswered' else None
            address = read_address(match[2]) if match else ''
            if match and (match[1] != '0' or address in names):
                to = f'{names[address]} ({address})' if address in names else address
                found[to, int(match[3], 16)].add(sender)
    ports_of = collections.defaultdict(list)
    for (to, port), senders in sorted(found.items()):
        ports_of[to, fold_within(senders, MOST)].append(port)
    for (to, senders), ports in ports_of.items():
        more = f' and {len(ports) - 5} more' if ports[5:] else ''
        yield f'{senders} to {to}, port{"s" if ports[1:] else ""} ' + \
            ', '.join(map(str, ports[:5])) + more
