#!/usr/bin/env python3
"""tools/ziatest/rollcall.py, on lines that observe/say.c prints, and tools/summarize of such an
output. (The real hangs are those of faults.t.) helpers/tap.py says how to run one case."""
import itertools
import json
import os
import random
import re
import subprocess
import sys
import time
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), 'helpers'))
import said  # noqa: E402
import tap  # noqa: E402
from said import what  # noqa: E402
from tap import each  # noqa: E402

TOP = os.path.realpath(tap.top)
summarize = tap.load('summarize')
from ziatest import Unreadable  # noqa: E402
from ziatest.names import (common_domain, expand, fold, fold_for_slurm,  # noqa: E402
                           fold_within, without_domain)
from ziatest.rollcall import Roll  # noqa: E402

SEED = int(os.environ.get('SEED') or random.randrange(10**6))
PPN = 2
COMMAND = 'srun --ntasks 8 ./ziaprobe 1795826339 124275 2 --timeout 60\n'
FENCE, INIT, OTHERS = what('IN_FENCE'), what('IN_MPI_INIT'), what('WAITS_FOR_OTHERS')
POLL = 'poll [libc.so.6] < getaddrinfo < [libucp.so.0] < MPI_Init'
SLEEP = 'clock_nanosleep [libc.so.6] < sleep < [libpsm2.so.2] < MPI_Init'
SHARED = 'next: look for something that the nodes share, because all do the same'
KILLED = 'next: look for a rank that was killed or stopped; otherwise, while it hangs, type ' \
    'ziatest-attach'
PARTNERS = 'next: launch without one of these partners; one of them is the cause, or the link ' \
    'between them'
FIND = 'next: to find the silent nodes, name all nodes of the launch with --nodes'
WHERE = 'next: look up the calls among the known causes, or launch with -t to see which nodes wait'


def says(node, doing, calls='', rank=None, size=-1, ppn=PPN, name='n%d', **options):
    """What a rank of a node prints. Without SIZE, it does not know how many ranks there are, as
    before version 4.0."""
    rank = PPN * (node - 1) if rank is None else rank
    return said.says(rank, size, ppn if size > 0 else -1, name % node, doing, calls, **options)


def output(count, work=(), silent=(), doing=INIT, calls=POLL, usual=FENCE, **options):
    """The output of a launch of COUNT nodes, in which the nodes in WORK are in other CALLS."""
    options.setdefault('size', PPN * count)
    lines = [says(node, doing, calls, **options) if node in work else says(node, usual, **options)
             for node in range(1, count + 1) if node not in silent]
    random.Random(SEED).shuffle(lines)
    return COMMAND + ''.join(lines)


def call(text, nodes=None, source=''):
    roll = Roll()
    for line in text.splitlines(True):
        roll.add(line)
    return '\n'.join(roll.report(nodes and expand(nodes), source))


class Case(tap.Case):
    def is_called(self, text, want, nodes=None, source=''):
        got = call(text, nodes, source)
        self.show('the roll call, SEED=%d' % SEED, got)
        self.assertEqual(got, want, 'SEED=%d' % SEED)


def tear(lines, dice):
    """Joins LINES in a random order. Some are torn, as by Slurm or mpirun: the rest of a line comes
    after other lines, after a label, or is missing."""
    dice.shuffle(lines)
    pieces, later = [COMMAND], []
    for line in lines:
        at = dice.randrange(1, len(line)) if dice.random() < 0.3 else len(line)
        pieces.append(line[:at])
        if at < len(line):
            kind = dice.choice(('label', 'newline', 'later', 'missing'))
            pieces.append({'label': '[1,3]<stderr>:', 'later': ''}.get(kind, '\n'))
            if kind == 'later':
                later.append(line[at:])
            elif kind != 'missing':
                pieces.append(line[at:])
        if later and dice.random() < 0.5:
            pieces.append(later.pop())
    return ''.join(pieces + later)


def in_init(who, calls=POLL, time='58'):
    return '%s spent %s s in MPI_Init, in %s' % (who, time, calls)


class Odd(Case):
    """The odd nodes are the first ones, the last ones, or random ones."""
    @each(*[('%s of %d' % (which, count), which, count)
            for count in (3, 4, 32, 10000) for which in ('the first', 'the last', 'a random one')])
    def one_works(self, which, count):
        node = {'the first': 1, 'the last': count}.get(
            which, random.Random(SEED).randint(1, count))
        text = output(count, {node})
        want = '%s\n%s nodes wait in a fence\n--exclude=n%d' % (
            in_init('rank %d on n%d has' % (PPN * (node - 1), node)), format(count - 1, ','), node)
        self.is_called(text, want)
        self.is_called(text, want, 'n[1-%d]' % count)

    @each(*[('%s of %d' % (which, count), which, count)
            for count in (3, 32, 10000) for which in ('the first', 'the last', 'a random one')])
    def one_is_silent(self, which, count):
        node = {'the first': 1, 'the last': count}.get(
            which, random.Random(SEED).randint(1, count))
        text, waits = output(count, silent={node}), '%s nodes wait' % format(count - 1, ',')
        self.is_called(text, '%s in a fence\nnothing from n%d\n--exclude=n%d' % (
            waits, node, node), 'n[1-%d]' % count)
        self.is_called(text, '%s in a fence\nnothing from 1 of %s nodes\n%s' % (
            waits, format(count, ','), FIND))

    def test_the_name_of_the_list(self):
        self.is_called(output(4, silent={3}), '3 nodes wait in a fence\nnothing from n3 (in '
                       'SLURM_JOB_NODELIST)\n--exclude=n3', 'n[1-4]', 'SLURM_JOB_NODELIST')

    @each(('one of them is odd', output(4, {3}), in_init('rank 4 on n3 has') +
           '\n3 nodes wait in a fence\n--exclude=n3'),
          ('all of them wait', output(4), '4 nodes wait in a fence\n' + KILLED),
          ('one of them is silent', output(4, silent={3}), '3 nodes wait in a fence\n'
           'nothing from 1 of 4 nodes, among n[3,5-6]\n' + FIND),
          ('two of them are silent', output(5, silent={3, 5}), '3 nodes wait in a fence\n'
           'nothing from 2 of 5 nodes, among n[3,5-6]\n' + FIND))
    def only_some_nodes_of_the_job(self, text, want):
        self.is_called(text, want, 'n[1-6]', 'SLURM_JOB_NODELIST')

    def test_before_4_0_the_number_of_nodes_is_unknown(self):
        self.is_called(output(4, silent={3}, size=-1), '3 nodes wait in a fence\nnothing from '
                       'n[3,5-6] (in SLURM_JOB_NODELIST, but perhaps not in this launch)\n' + FIND,
                       'n[1-6]', 'SLURM_JOB_NODELIST')

    def test_any_rank_of_a_node_may_speak(self):
        """Which rank of a node speaks, and in which order the lines arrive, is chance."""
        for ranks in itertools.product((0, 1), (2, 3), (6, 7)):
            lines = [says(rank // PPN + 1, FENCE, rank=rank, size=8) for rank in ranks]
            for text in map(''.join, itertools.permutations(lines)):
                self.is_called(COMMAND + text, '3 nodes wait in a fence\nnothing from n3 (in '
                               'SLURM_JOB_NODELIST)\n--exclude=n3', 'n[1-4]', 'SLURM_JOB_NODELIST')
                self.is_called(COMMAND + text, '3 nodes wait in a fence\nnothing from 1 of 4 '
                               'nodes\n' + FIND)

    def test_most_are_silent_and_not_named(self):
        self.is_called(output(9, (), set(range(3, 10))), 'n[1-2] wait in a fence\nnothing from '
                       '7 of 9 nodes\nnext: trace the launcher, because half of the '
                       'nodes or more are silent')

    def test_numbers_of_ranks_that_differ(self):
        """The nodes of an uneven launch cannot be counted."""
        text = output(4, silent={3, 4}) + says(4, FENCE, size=8, ppn=1)
        self.is_called(text, '3 nodes wait in a fence\nnothing from n3 (in SLURM_JOB_NODELIST, but '
                       'perhaps not in this launch)\n' + FIND, 'n[1-4]', 'SLURM_JOB_NODELIST')

    def test_a_group_and_a_silent_node(self):
        self.is_called(output(4096, set(range(7, 12)), {13}), in_init('n[7-11] have') + '\n4,090 '
                       'nodes wait in a fence\nnothing from n13\n--exclude=n[7-11,13]',
                       'n[1-4096]')

    def test_a_neighbour_of_the_culprit_waits(self):
        self.is_called(output(4, {3}) + says(3, FENCE, rank=5), in_init('rank 4 on n3 has') +
                       '\n3 nodes wait in a fence\n--exclude=n3')

    @each(('and sleep', SLEEP, in_init('rank 5 on n2 has', SLEEP)),
          ('and have no calls', '', 'rank 5 on n2 has spent 58 s in MPI_Init'))
    def the_ranks_of_every_node_poll(self, calls, first):
        """On each node, a rank polls shared memory while another one is in a fence."""
        poll = '[libmpich.so.12] < MPI_Init'
        text = output(5) + ''.join(says(node, INIT, poll, rank=9) for node in range(1, 6))
        self.is_called(text + says(2, INIT, calls, rank=5),
                       first + '\n4 nodes wait in a fence\n--exclude=n2')

    def test_each_node_once_although_several_ranks_printed(self):
        text = output(4, {2}) + ''.join(says(node, FENCE, rank=9) for node in (1, 3, 4))
        self.is_called(text, in_init('rank 2 on n2 has') + '\n3 nodes wait in a fence\n'
                       '--exclude=n2')

    def test_a_partner_waits_for_the_culprit(self):
        text = output(5, {2}, usual=OTHERS).replace(
            says(3, OTHERS, size=10), says(3, what('IN_RECV', partner=2), size=10))
        self.is_called(text, in_init('rank 2 on n2 has') + '\nrank 4 on n3 waits in MPI_Recv, from '
                       'rank 2 on n2\n3 nodes wait for other ranks, after the exchange\n'
                       '--exclude=n2')

    def test_a_node_that_started_too_late(self):
        self.is_called(output(4, {4}, doing=what('IN_MPI_INIT', 0)), 'rank 6 on n4 reached '
                       'MPI_Init only when the launch was ended\n3 nodes wait in a fence\n'
                       '--exclude=n4')

    def test_silent_while_the_others_work(self):
        self.is_called(output(4, {1, 2, 3}, {4}), in_init('n[1-3] have') + '\nnothing from n4\n'
                       '--exclude=n4', 'n[1-4]')

    @each(*((state, state) for state in said.STATES))
    def every_state_is_known(self, state):
        text = says(1, what(state, 58000, 3), rank=2, size=8)
        self.show(state, call(text))
        self.assertNotIn('only part of a line', call(text))

    def test_times_and_calls_that_differ(self):
        text = output(9, {5}).replace('58000 ms in MPI_Init', '9940 ms in MPI_Init')
        text = text.replace(says(6, FENCE, size=18), says(6, INIT, SLEEP, size=18))
        text = text.replace(says(7, FENCE, size=18),
                            says(7, what('IN_MPI_INIT', 41000), SLEEP, size=18))
        self.is_called(text, '%s\n%s\n6 nodes wait in a fence\n--exclude=n[5-7]' % (
            in_init('rank 8 on n5 has', time='9.9'),
            in_init('n[6-7] have', SLEEP, '41 to 58')))

    def test_names_that_slurm_would_refuse_if_they_were_folded(self):
        self.is_called(output(5, {2, 3}, name='n%d-ib'), in_init('n[2-3]-ib have') + '\n3 nodes '
                       'wait in a fence\n--exclude=n2-ib,n3-ib')

    @each(('a domain', 'N%d.x.org'), ('capitals', 'N%d'))
    def names_of_slurm(self, name):
        text = output(4, {2}, {3}, name=name)
        self.is_called(text, in_init('rank 2 on n2 has') + '\nn[1,4] wait in a fence\n'
                       'nothing from n3\nnext: look at what the nodes that do not wait are doing; '
                       'they are half of all nodes or more', 'n[1-4]')

    def test_names_of_nodes_with_a_domain_that_the_ranks_do_not_print(self):
        text = output(4, silent={3})
        self.is_called(text, '3 nodes wait in a fence\nnothing from n3.x.org\n--exclude=n3.x.org',
                       ','.join('n%d.x.org' % node for node in range(1, 5)))

    @each(('parts of racks', 'n{0}.rack{1}.x.org', 'n{0}'),
          ('another domain', 'n{0}.rack{1}.x', 'n{0}.other.y'))
    def names_of_slurm_without(self, name, listed):
        """The names that the ranks print differ behind the first dot, too."""
        text = ''.join(says(node, what('IN_MPI_INIT') if node == 3 else FENCE, POLL * (node == 3),
                            rank=PPN * (node - 1), size=10,
                            name=name.format('%d', node // 3))
                       for node in range(1, 5))
        shown = listed.format('[3,5]') if listed == 'n{0}' else 'n3.other.y,n5.other.y'
        self.is_called(text, in_init('rank 4 on %s has' % listed.format(3)) + '\n3 nodes wait in a '
                       'fence\nnothing from %s\n--exclude=%s' % (listed.format(5), shown),
                       ','.join(listed.format(node) for node in range(1, 6)))

    def test_names_with_and_without_a_domain(self):
        text = says(1, FENCE, size=4, name='n%d.r.x') + says(1, INIT, POLL, rank=2, size=4)
        self.is_called(text, in_init('rank 2 on n1 has') + '\nrank 0 on n1.r.x waits in a fence\n'
                       'next: look at what the nodes that do not wait are doing; they are half of '
                       'all nodes or more')

    def test_names_that_differ_after_the_first_dot(self):
        text = output(5, {2}, name='n1.r%d')
        self.is_called(text, in_init('rank 2 on n1.r2 has') + '\n4 nodes wait in a fence\n'
                       '--exclude=n1.r2')

    @each(('a number in the middle', 'worker.%d.team', 'worker.%d'),
          ('racks', 'node01.rack%d.example.org', 'node01.rack%d'),
          ('a domain', 'node%d.example.org', 'node%d'),
          ('underscores and capitals', 'GPU_%d.Hpc_a.Org', 'GPU_%d'),
          ('a digit behind the dot', 'n%d.5g.org', 'n%d.5g'), ('IPv6', 'fe80::%d', 'fe80::%d'))
    def names_without_what_all_share(self, name, shown):
        odd = random.Random(SEED).randint(1, 5)
        text = output(5, {odd}, name=name)
        want = in_init('rank %d on %s has' % (PPN * (odd - 1), shown % odd)) + \
            '\n4 nodes wait in a fence\n--exclude='
        self.is_called(text, want + shown % odd)
        listed = ','.join(name % node for node in range(1, 6))  # as in Slurm
        self.is_called(text, want.replace(shown % odd, name % odd) + name % odd, listed)
        silent = output(5, silent={odd}, name=name)
        self.is_called(silent, '4 nodes wait in a fence\nnothing from {0}\n--exclude={0}'.format(
            name % odd), listed)

    @each(*((hosts, hosts, names) for hosts, names in (
        ('n5.hpc1.example.org', 'n5'), ('n1.org x.n1.org', 'n1,x.n1'),
        ('x.n1.org n1.org', 'n1,x.n1'),
        ('n1.x.org n1.y.org n2.x.org', 'n1.x,n1.y,n2.x'), ('n1.a n2', 'n1.a,n2'), ('n1', 'n1'),
        ('N1.HPC.Org n2.hpc.ORG', 'N1,n2'), ('n1.2.x.3.org n2.2.x.3.org', 'n1.2,n2.2'),
        ('10.0.0.5 10.1.0.5', '10.0.0.5,10.1.0.5'), ('10.0.0.5', '10.0.0.5'),
        ('::ffff:10.0.0.9 ::ffff:10.0.1.9', '::ffff:10.0.0.9,::ffff:10.0.1.9'))))
    def the_domain_of_all(self, hosts, names):
        """The report (tests/helpers/explain.c) shows the same names."""
        domain = common_domain(hosts.split())
        got = ','.join(without_domain(host, domain) for host in sorted(hosts.split()))
        self.assertEqual(got, names)

    def test_addresses(self):
        self.is_called(output(4, {2}, name='10.0.0.%d'), in_init('rank 2 on 10.0.0.2 has') +
                       '\n3 nodes wait in a fence\n--exclude=10.0.0.2')


class Nobody(Case):
    """Cases in which no node is excluded"""
    @each(
        ('two nodes', output(2, {2}), 'n[1-2]', '''%s
rank 0 on n1 waits in a fence
next: look at what the nodes that do not wait are doing; they are half of all nodes or more'''
         % in_init('rank 2 on n2 has')),
        ('one of two is silent', output(2, (), {1}), 'n[1-2]', '''rank 2 on n2 waits in a fence
nothing from n1
next: trace the launcher, unless the clock of the node that printed is ahead'''),
        ('a node', output(1, {1}), 'n1', in_init('rank 0 on n1 has') + '\n' + SHARED),
        ('ranks of a node', output(1, {1}) + says(1, FENCE, rank=1), None,
         in_init('rank 0 on n1 has') + '\n' + SHARED),
        ('half', output(4, {1, 2}), None, in_init('n[1-2] have') + '''
n[3-4] wait in a fence
next: look at what the nodes that do not wait are doing; they are half of all nodes or more'''),
        ('most', output(4, {1, 2, 3}), None, '''rank 6 on n4 waits in a fence
%s
next: look at what the nodes that do not wait are doing; they are half of all nodes or more'''
         % in_init('n[1-3] have')),
        ('most are silent', output(9, (), set(range(3, 10))), 'n[1-9]', '''n[1-2] wait in a fence
nothing from n[3-9]
next: trace the launcher, because half of the nodes or more are silent'''),
        ('all work', output(10000, set(range(10001))), 'n[1-10000]',
         in_init('n[1-10000] have') + '\n' + SHARED),
        ('all work, in different calls',
         output(4, {1, 2, 3, 4}).replace(
             says(3, INIT, POLL, size=8), says(3, INIT, SLEEP, size=8)), 'n[1-4]',
         '%s\n%s\nnext: look at the calls; no rank waits, so rare ones are not always the cause'
         % (in_init('rank 4 on n3 has', SLEEP), in_init('n[1-2,4] have'))),
        ('all wait', output(4), 'n[1-4]', '4 nodes wait in a fence\n' + KILLED),
        ('all wait, after the exchange', output(4, usual=OTHERS), 'n[1-4]',
         '4 nodes wait for other ranks, after the exchange\n' + KILLED),
        ('rank 0 has a time', output(4, {1}, doing=what('UNCHECKED'), calls='',
                                     usual=OTHERS), 'n[1-4]',
         '4 nodes wait for other ranks, after the exchange\n' + KILLED),
        ('a pair', output(6, {3}, doing=what('IN_RECV', partner=6), calls='',
                          usual=OTHERS), 'n[1-6]',
         'rank 4 on n3 waits in MPI_Recv, from rank 6 on n4\n'
         '5 nodes wait for other ranks, after the exchange\n' + PARTNERS),
        ('an unknown partner', output(4, {3}, doing=what('IN_SENDRECV', partner=7),
                                      calls='', usual=OTHERS), None,
         'rank 4 on n3 waits in MPI_Sendrecv, with rank 7\n3 nodes wait for other ranks, after the '
         'exchange\n' + PARTNERS),
        ('rank 0 writes', output(4, {1}, doing=what('WRITING'), calls='',
                                 usual=OTHERS), 'n[1-4]', '''\
rank 0 on n1 has spent 58 s writing the result
3 nodes wait for other ranks, after the exchange
next: find out why rank 0 cannot write the result to stderr or to its files'''),
        ('the others have just begun to wait', output(4, {2}, usual=what('IN_FENCE', 5000)),
         'n[1-4]', in_init('rank 2 on n2 has') + '\n3 nodes wait in a fence\nnext: launch with a '
         'larger -t; the nodes have only just begun to wait, so the launch may be slow'),
        ('a result', output(4, usual=OTHERS, silent={2, 3, 4}).replace(
            COMMAND, COMMAND + 'Time test was completed in   462.87 millisecs\n'), 'n[1-4]',
         'rank 0 on n1 waits for other ranks, after the exchange\n'
         'next: look at how the launch ends: it hung after printing its result'),
        ('other names', output(4, {2}), 'm[1-4]', in_init('rank 2 on n2 has') + '''
3 nodes wait in a fence
n[1-4]: not in the list of nodes, so it is not known which nodes are silent
--exclude=n2'''))
    def is_excluded(self, text, nodes, want):
        self.is_called(text, want, nodes)

    def test_more_than_fit(self):
        """A list of nodes that is cut off would exclude others."""
        odd = random.Random(SEED).sample(range(1, 10001), 3000)
        *_, last = call(output(10000, set(odd)), 'n[1-10000]').split('\n')
        self.assertEqual(last, 'next: look for what the 3,000 nodes that do not wait have in '
                         'common')

    def test_all_wait_in_the_exchange(self):
        text = ''.join(says(node, what('IN_RECV', partner=node % 10000))
                       for node in range(1, 10001))
        self.is_called(text, '10,000 nodes wait in MPI_Recv, for several ranks\n' + KILLED,
                       'n[1-10000]')


class Lines(Case):
    """Which lines are read"""
    WANT = in_init('rank 2 on n2 has') + '\n3 nodes wait in a fence\n--exclude=n2'

    @each(
        ('Windows line ends', lambda text: text.replace('\n', '\r\n')),
        ('--label', lambda text: text.replace('ziaprobe: ', '12: ziaprobe: ')),
        ('--tag-output', lambda text: text.replace('ziaprobe: ', '[1,7]<stderr>:ziaprobe: ')),
        ('--tag-output, in mid-line', lambda text: re.sub(
            '^|ms|[0-9] of|wai|tim|<| on', r'[1,7]<stderr>:\g<0>', text, flags=re.M)),
        ('--tag-output of Open MPI 5, in mid-line', lambda text: re.sub(
            '^|ms|[0-9] of|wai|tim|<| on', r'[1,7]<stderr>: \g<0>', text, flags=re.M)),
        ('other programs', lambda text: text.replace('ziaprobe: e', '\x1b[0mfoo 100%ziaprobe: e') +
         'srun: error: n3: tasks 4-5: Terminated\n'),
        ('lines that run together', lambda text: text.replace('MPI_Init\nzia', 'MPI_Initzia')),
        ('no command line', lambda text: text.replace(COMMAND, '')),
        ('with -q, a result before', lambda text: 'Time test was completed in   462.87 millisecs'
         '\n' + text.replace(COMMAND, '')),
        ('another launch before', lambda text: output(4, {3}, {4}) + text),
        ('the words form', lambda text: output(4, {3}) + text.replace(
            COMMAND, 'srun /opt/ziastart 1795826339 124275 0 --timeout 60 -- ./solver\n')),
        ('--where before', lambda text: COMMAND + says(4, INIT, SLEEP, moment='note: after 5 s') +
         text.replace(COMMAND, '')),
        ('--where after', lambda text: text + says(4, INIT, SLEEP, moment='note: after 5 s')),
        ('half a line more', lambda text: text + says(3, FENCE, rank=5)[:60] + '\n'),
        ('twice', lambda text: text + text.replace(COMMAND, '')),
        ('a last line that is cut off', lambda text: text + 'ziaprobe: error: timeout of 60 s: '
         'rank 1 on n'))
    def are_read(self, edit):
        self.is_called(edit(output(4, {2})), self.WANT, 'n[1-4]')

    def test_a_line_that_is_cut_off(self):
        """Its node is not silent."""
        for has in 'has', 'has wai', 'has waited 58000 ms in a f':
            text = output(4, silent={4}) + says(4, FENCE).partition('has')[0] + has + '\n'
            self.is_called(text, 'rank 6 on n4 has printed only part of a line\n3 nodes wait in '
                           'a fence\n' + KILLED, 'n[1-4]')

    @each(('in the program', 'zia', 'probe: '), ('in the error', ': error: ti', 'meout'),
          ('in the time', ' of 60', ' s: '), ('before the node', ' on ', 'n4'))
    def a_torn_line_may_be_of_a_silent_node(self, before, after):
        line = says(4, FENCE)
        self.assertIn(before + after, line)
        self.is_called(output(4, silent={4}) + line.replace(before + after, before + '\n' + after),
                       '3 nodes wait in a fence\nnothing from n4 (but some lines are torn)\nnext: '
                       'look for the names of the silent nodes in the torn lines of the output',
                       'n[1-4]')

    def test_torn_at_random(self):
        """Whatever is torn, a node that printed that it waits is not excluded."""
        dice, verdicts = random.Random(SEED), 0
        for _ in range(int(os.environ.get('COUNT') or 300)):
            count, ppn = dice.randint(3, 12), dice.randint(1, 4)
            odd = {*dice.sample(range(1, count + 1), dice.randint(0, 2))}
            silent = {node for node in odd if dice.random() < 0.5}
            lines = [says(node, INIT if node in odd else FENCE, POLL if node in odd else '',
                          rank=ppn * (node - 1) + dice.randrange(ppn), size=count * ppn, ppn=ppn)
                     for node in range(1, count + 1) if node not in silent]
            text = tear(lines, dice)
            for source in '', 'SLURM_JOB_NODELIST':
                last = call(text, 'n[1-%d]' % count, source).split('\n')[-1]
                if last.startswith('--exclude='):
                    verdicts += 1
                    excluded = {*expand(last.partition('=')[2])}
                    right = {'n%d' % node for node in odd}
                    self.assertLessEqual(excluded, right, 'SEED=%d\n%s' % (SEED, text))
        self.assertGreater(verdicts, 0)

    def test_a_rank_that_does_not_know_its_number(self):
        text = output(4, {2}, size=-1).replace(says(2, INIT, POLL), says(2, INIT, POLL, rank=-1))
        self.is_called(text, self.WANT.replace('rank 2', 'a rank'))

    def test_where(self):
        """Silent nodes may wait in a fence, so they are not named."""
        text = ''.join(says(node, INIT, SLEEP, moment='note: after 5.25 s') for node in (2, 3))
        self.is_called(text, in_init('n[2-3] have', SLEEP) + '\n' + WHERE, 'n[1-9]')

    def test_long_calls(self):
        first = call(output(4, {2}, calls=' < '.join(['call'] * 100))).split('\n')[0]
        self.assertRegex(first, r'^rank 2 on n2 has .* in MPI_Init, in (call < ){42}\.\.\.$')

    @each(('other text', 'Time test was completed in 462.87 millisecs\n'), ('nothing', ''),
          ('an error', 'ziaprobe: error: wrong placement: rank 1 on n1\n'))
    def are_none(self, text):
        self.is_called(text, '')

    def test_ten_lines_at_most(self):
        text = ''.join(says(node, INIT, 'f%d < %s' % (node % 400, SLEEP), name='a' * 37 + '%d')
                       for node in range(1, 9001))
        lines = call(text, 'a' * 37 + '[1-10000]').split('\n')
        self.assertLessEqual(len(lines), 10)
        self.assertLess(max(map(len, lines)), 500)
        self.assertRegex(lines[6], r'^8,86\d nodes \(a+\[.*,\.\.\.\]\): 394 other states or calls$')
        self.assertRegex(lines[7], r'^nothing from a+\[9001-10000\]$')


class Names(Case):
    @each(('a range', 'n[1-3,7]', 'n1 n2 n3 n7'), ('zeros', 'n[08-10]', 'n08 n09 n10'),
          ('by value', 'n[9-10,12]', 'n9 n10 n12'), ('one name', 'n1', 'n1'),
          ('zeros of several lengths', 'nid[7,009-010,099-100,1000-1001]',
           'nid7 nid009 nid010 nid099 nid100 nid1000 nid1001'),
          ('several shapes', 'a[1-2].x2.org,gpu7,login,r[1-2]n[1-2]',
           'a1.x2.org a2.x2.org gpu7 login r1n1 r1n2 r2n1 r2n2'),
          ('a long number', '0' * 40 + '1', '0' * 40 + '1'),
          ('names that do not fold wholly', 'x1c3s[0-1]b0,x1c5s0b0,x1c5s1b[0-1]',
           'x1c3s0b0 x1c3s1b0 x1c5s0b0 x1c5s1b0 x1c5s1b1'),
          ('text after a bracket', 'n[1-2]-ib', 'n1-ib n2-ib'))
    def are_folded_and_expanded(self, folded, names):
        self.assertEqual(fold(random.sample(names.split(), len(names.split()))), folded)
        self.assertEqual(sorted(expand(folded)), sorted(names.split()))

    @each(('none', '', 'not a list of nodes; write it like n[1-4,7]'),
          ('an open bracket', 'n[1-4', 'not a list of nodes; write it like n[1-4,7]'),
          ('letters', 'n[a-c]', 'not a list of nodes; write it like n[1-4,7]'),
          ('blanks', 'n1 n2', 'not a list of nodes; write it like n[1-4,7]'),
          ('backward', 'n1,n[4-1]', 'n[4-1] names no node: the range ends before it begins'),
          ('many', 'n[1-999999999999]', 'more than 100000 nodes'),
          ('many in two brackets', 'n[1-999][1-999]', 'more than 100000 nodes'),
          ('many in one', 'n[%s]' % ','.join(['1-99999'] * 100), 'more than 100000 nodes'),
          ('many brackets', 'n[1-9]' + '[1]' * 8, 'more than 8 pairs of brackets in a name'))
    def are_refused(self, names, error):
        began = time.process_time()
        with self.assertRaises(Unreadable) as caught:
            expand(names)
        self.assertLess(time.process_time() - began, 1)
        self.assertEqual(str(caught.exception), error)

    def test_what_slurm_accepts(self):
        names = ['a1b1', 'a2b1', 'r1n1', 'r1n2', 'r2n1', 'r2n2', 'x1s', 'x2s']
        self.assertEqual(fold_for_slurm(names), 'a1b1,a2b1,r[1-2]n[1-2],x1s,x2s')

    @each(('nothing', 'n[1,3]', 6), ('numbers', 'n[1,...]', 5),
          ('names', 'a,...', 3, 'a', 'b', 'c'),
          ('no part of a long name', 'longer1,...', 3, 'longer1', 'shorter'),
          ('no part of the only name', 'longer1', 3, 'longer1'))
    def lists_that_are_too_long_lose(self, want, most, *names):
        self.assertEqual(fold_within(names or ['n1', 'n3'], most), want)

    def test_names_with_thousands_of_numbers(self):
        names = ['%d' % i + '1a%da' % i * 500 for i in range(200)]
        began = time.process_time()
        folded = fold(names)
        self.assertLess(time.process_time() - began, 2)
        self.assertEqual(sorted(expand(folded)), sorted(names))


class Summarize(Case):
    """tools/summarize OUTPUT"""
    def summarize(self, text, *arguments, **variables):
        """Returns the status, and what is printed on stderr and stdout."""
        with open('output', 'w') as file:
            file.write(text)
        variables = {**{key: value for key, value in os.environ.items()
                        if key != 'SLURM_JOB_NODELIST'}, **variables}
        with mock.patch.dict(os.environ, variables, clear=True):
            return self.capture(
                lambda: summarize.main([*arguments, 'output'], sys.stdout.buffer))

    @each(('Docker', lambda line: json.dumps({'log': line, 'stream': 'stderr'}) + '\n', ''),
          ('cut short', lambda line: line, 'ziaprobe: error: timeout of 60 s: rank 5'))
    def an_output_that_was_stored(self, store, end):
        """summarize reads the lines as Docker stores them; or the file was cut, and may have had
        the lines of the silent nodes."""
        text = output(4, {2}, {4}) + end
        status, err, out = self.summarize(
            ''.join(map(store, text.splitlines(True))), '--nodes', 'n[1-4]')
        silent = 'nothing from n4 (but some lines are torn)\n' if end else 'nothing from n4\n'
        self.assertIn(silent, out)
        self.assertEqual((status, err, '\nn[1,3] wait in a fence\n' in out), (1, '', True))

    @each(
        ('no list', (), {}, ''),
        ('--nodes', ('--nodes', 'n[1-5]'), {}, 'nothing from n5\n'),
        ('a variable', (), {'SLURM_JOB_NODELIST': 'n[1-5]'},
         'nothing from n5 (in SLURM_JOB_NODELIST, but perhaps not in this launch)\n'),
        ('--nodes, in spite of a variable', ('--nodes', 'n[1-6]'),
         {'SLURM_JOB_NODELIST': 'n[1-5]'}, 'nothing from n[5-6]\n'))
    def knows_the_nodes(self, arguments, variables, silent):
        status, err, out = self.summarize(output(4, size=-1), *arguments, **variables)
        self.assertIn('4 nodes wait in a fence\n' + silent, out)
        self.assertEqual('nothing' in out, bool(silent))
        self.assertEqual((status, err), (1, ''))

    @each(('of this job', 'srun: launch/slurm: _step_signal: Terminating StepId=42.0\n', True),
          ('of another job', 'slurmstepd-n1: error: *** STEP 41.0 ON n1 CANCELLED ***\n', False))
    def a_log(self, line, is_own):
        variables = {'SLURM_JOB_NODELIST': 'n[1-3,7]', 'SLURM_JOB_ID': '42'}
        _, _, out = self.summarize(output(4, silent={4}) + line, **variables)
        self.assertEqual('--exclude=n7' in out, is_own)

    def test_where_is_no_failure(self):
        status, err, out = self.summarize(says(2, INIT, SLEEP, moment='note: after 5 s'))
        self.assertEqual((status, err, out), (0, '', '%s\n%s\n' % (
            in_init('rank 2 on n2 has', SLEEP), WHERE)))

    @each(
        ('an output without such lines', COMMAND, (), 'summarize: error: output: no rank reported '
         'what it was doing; launch with -t. If you did, no rank reached MPI_Init: trace the '
         'launcher\n'),
        ('lines that are torn', COMMAND + says(2, INIT).replace('rank', '\n'), (),
         'summarize: error: output: the lines of -t are torn, and none of them names a node; read '
         'the output yourself, or launch again without labels (srun -l, mpirun --tag-output)\n'),
        ('an output with a result', COMMAND + 'Time test was completed in   601.00 millisecs\n', (),
         'summarize: error: output: nothing to report: the launch has a result, and no rank was '
         'late\n'),
        ('another text', 'hello\n', (), 'summarize: error: output: not an archive, a --csv or '
         '--ranks file, or the output of a launch with -t or --where: it begins with "hello"; ...'),
        ('a wrong list', output(4), ('--nodes', 'n[1-'), '...: error: argument --nodes: '
         'not a list of nodes; write it like n[1-4,7]\n'))
    def refuses(self, text, arguments, error):
        status, err, out = self.summarize(text, *arguments)
        self.matches(err, error)
        self.assertEqual((status, out), (2, ''))

    def test_a_variable_that_is_no_list(self):
        with open('output', 'w') as file:
            file.write(output(4))
        done = subprocess.run([os.path.join(TOP, 'tools/summarize'), 'output'],
                              env=dict(os.environ, SLURM_JOB_NODELIST='a['),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout.decode(), done.stderr), (
            1, '4 nodes wait in a fence\n%s\n' % KILLED, b'summarize: error: SLURM_JOB_NODELIST: '
            b'not a list of nodes; write it like n[1-4,7]\n'))

    def test_nodes_of_something_else(self):
        job = os.path.join(TOP, 'example-output/submission')
        done = subprocess.run([os.path.join(TOP, 'tools/summarize'), '--nodes', 'n1', job],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.matches(done.stderr.decode(), '...summarize: error: --nodes is valid only with the '
                     'output of a launch with -t or --where\n')
        self.assertEqual((done.returncode, done.stdout), (2, b''))

    def test_an_output_among_jobs(self):
        job = os.path.join(TOP, 'example-output/submission')
        status, err, _ = self.summarize(output(4), job)
        self.matches(err, 'summarize: error: output: not a job; summarize this file on its ...')
        self.assertEqual(status, 2)


if __name__ == '__main__':
    tap.main(sys.modules['__main__'])
