"""names - lists of names of nodes, as Slurm writes them"""
import collections
import re

from . import Unreadable

MOST_NODES = 100000  # of a launch
MOST_RANGES = 8  # in a folded name: more are not real, and would take long
NUMBER = re.compile('([0-9]{1,18})')  # in a name
# A word of a list of names, such as r[1-2]n[01-03,7]
RANGE = '[0-9]{1,18}(?:-[0-9]{1,18})?'
WORD = re.compile(rf'(?:[^][,\s]|\[{RANGE}(?:,{RANGE})*\])+')

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

def fold(hosts, for_slurm=False):
    """Folds names that differ only in numbers, as Slurm does, from the rightmost number to the
    leftmost: r[1-2]n[1-3]. Slurm itself rejects text after the last bracket: r[1-2]s."""
    shapes = collections.defaultdict(list)  # names that differ only in numbers
    for host in sorted(set(hosts), key=by_name):
        parts = NUMBER.split(host)
        shapes[tuple(parts[::2])].append(parts)
    folded = []
    for alike in shapes.values():
        whole = [*map(''.join, alike)]
        varies = [place for place, column in enumerate(zip(*alike)) if len(set(column)) > 1]
        for place in varies[:-MOST_RANGES - 1:-1]:
            groups = collections.defaultdict(list)
            for parts in alike:
                groups[tuple(parts[:place]), tuple(parts[place + 1:])].append(parts[place])
            alike = [[*before, number_ranges(numbers), *after]
                     for (before, after), numbers in groups.items()]
        words = [*map(''.join, alike)]
        is_rejected = for_slurm and any(']' in word[:-1] and word[-1] != ']' for word in words)
        folded += whole if is_rejected else words
    return ','.join(folded)

def common_domain(hosts):
    """Returns the domain that is left out of the names of HOSTS, in lower case. It is the longest
    ending that begins with a dot and is the same, ignoring case, in all names. No digit follows its
    first dot, so that addresses stay whole. explain/hostlist.c has the same rule."""
    shared = []
    for parts in zip(*(host.lower().split('.')[:0:-1] for host in hosts)):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    while shared and shared[-1][:1] in tuple('0123456789'):
        shared.pop()
    return ''.join(f'.{part}' for part in reversed(shared))

def without_domain(host, domain):
    return host[:-len(domain)] if domain and host.lower().endswith(domain) else host

def fold_for_slurm(hosts):
    return fold(hosts, for_slurm=True)

def fold_within(hosts, most, for_slurm=False):
    """Folds names, and cuts the list after about MOST characters, but not within the first name. A
    list that is cut ends in ,... or ,...]"""
    names = fold(hosts, for_slurm)
    end = max(names.rfind(',', 0, most), names.find(','))
    if len(names) <= most or end < 0:
        return names
    cut = names[:end] + ',...'
    return cut + ']' * (cut.count('[') - cut.count(']'))

def expand(text):
    """Returns the names in a list such as r[1-2]n[01-03],login."""
    words, names = WORD.findall(text), []
    if not words or ','.join(words) != text:
        raise Unreadable('not a list of nodes; write it like n[1-4,7]')
    for word in words:
        if word.count('[') > MOST_RANGES:
            raise Unreadable(f'more than {MOST_RANGES} pairs of brackets in a name')
        alike = ['']
        for i, part in enumerate(re.split(r'\[(.*?)\]', word)):  # Every other part was in brackets.
            numbers = numbers_in(part) if i % 2 else [part]
            if len(names) + len(alike) * len(numbers) > MOST_NODES:
                raise Unreadable(f'more than {MOST_NODES} nodes')
            alike = [name + number for name in alike for number in numbers]
        if not alike:
            raise Unreadable(f'{word} names no node: the range ends before it begins')
        names += alike
    return names

def numbers_in(ranges):
    """Returns the numbers in 01-03,7; if they are too many, not all of them."""
    numbers = []
    for each in ranges.split(','):
        if len(numbers) > MOST_NODES:
            break
        first, _, last = each.partition('-')
        last = min(int(last or first), int(first) + MOST_NODES)
        numbers += [str(number).zfill(len(first)) for number in range(int(first), last + 1)]
    return numbers
