#!/usr/bin/env python3
"""tools/ziatest/rollcall.py, on lines that observe/say.c prints, whole and damaged, and
tools/summarize on such an output. (faults.t has the real hangs.) COUNT=... damages more outputs.
helpers/tap.py says how to run one case."""
import json
import os
import re
import subprocess
import sys
import time
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), 'helpers'))
import archive  # noqa: E402
import said  # noqa: E402
import tap  # noqa: E402
from said import what  # noqa: E402
from tap import dice, each  # noqa: E402

TOP = os.path.realpath(tap.top)
summarize = tap.load('summarize')
from ziatest import Unreadable  # noqa: E402
from ziatest.names import (common_domain, expand, fold, fold_for_slurm,  # noqa: E402
                           fold_within, without_domain)
from ziatest.rollcall import Roll  # noqa: E402

PPN = 2
COMMAND, RESULT, _ = archive.launch(PPN, options=['-t', '60'])[1].splitlines(True)
FENCE, INIT, OTHERS = what('IN_FENCE'), what('IN_MPI_INIT'), what('WAITS_FOR_OTHERS')
POLL = 'poll [libc.so.6] < getaddrinfo < [libucp.so.0] < MPI_Init'
SLEEP = 'clock_nanosleep [libc.so.6] < sleep < [libpsm2.so.2] < MPI_Init'
POLLS, SLEEPS = (INIT, POLL), (INIT, SLEEP)
WHERE = 'next: look up the calls among the known causes, or launch with -t to see which nodes wait'
# Lines of other programs
FOREIGN = ('\n', 'hello\n', '\x1b[0m 100% \xff\0\n', 'x' * 5000 + '\n', 'rank 2 on n2 has spent\n',
           'ziaprobe: warning: rank 3 on n2\n', 'ziaprobe: error: wrong placement: rank 1 on n1\n',
           'srun: error: n3: tasks 4-5: Terminated\n', '[n2:77] UCX  WARN object 0x55\n')


def row(node, doing, calls='', rank=None, size=8, ppn=PPN, name='n%d', **options):
    """Returns a rank of a node, for said.say(). If SIZE is -1, the rank does not know how many
    ranks there are, as before version 4.0."""
    rank = PPN * (node - 1) if rank is None else rank
    return said.row(rank, size, ppn if size > 0 else -1, name % node, doing, calls, **options)


def says(*words, **options):
    return said.say([row(*words, **options)])[0]


def output(count, odd=(), silent=(), usual=FENCE, **options):
    """Returns the output of a launch of COUNT nodes. ODD nodes do something else: {NODE: (DOING,
    CALLS)}. Of each other node, a random rank prints a line. The order of the lines is random."""
    options.setdefault('size', PPN * count)
    odd = {node: POLLS for node in odd} if isinstance(odd, (set, range)) else dict(odd)
    rows = [row(node, *odd[node], **options) if node in odd else
            row(node, usual, rank=PPN * node - 1 - dice().randrange(PPN), **options)
            for node in range(1, count + 1) if node not in silent]
    dice().shuffle(rows)
    return COMMAND + ''.join(said.say(rows))


def call(text, nodes=None, source=''):
    roll = Roll()
    for line in text.splitlines(True):
        roll.add(line)
    return '\n'.join(roll.report(nodes and expand(nodes), source))


def in_init(who, calls=POLL, time='58'):
    return '%s spent %s s in MPI_Init, in %s' % (who, time, calls)


class Case(tap.Case):
    def is_called(self, text, want, nodes=None, source=''):
        got = call(text, nodes, source)
        self.show('the roll call', got)
        self.assertEqual(got, want)


class Verdicts(Case):
    @each(*(('%d nodes, %d s' % case, *case) for case in ((8, 1), (8, 600), (4096, 10),
                                                          (4096, 600))))
    def one_node_is_odd(self, count, limit):
        node, nodes = dice().randint(1, count), 'n[1-%d]' % count
        waits = '%s nodes wait in a fence\n' % format(count - 1, ',')
        exclude = '--exclude=n%d' % node
        options = dict(usual=what('IN_FENCE', 800 * limit),
                       moment='error: timeout of %d s' % limit)
        text = output(count, {node: (what('IN_MPI_INIT', 900 * limit), POLL)}, **options)
        silent = output(count, silent={node}, **options)
        want = in_init('rank %d on n%d has' % (PPN * (node - 1), node), time={
            1: '0.9', 10: '9.0', 600: '540'}[limit]) + '\n' + waits + exclude
        self.is_called(text, want)
        self.is_called(text, want, nodes)
        self.is_called(silent, waits + 'nothing from n%d (in A_VARIABLE)\n' % node + exclude,
                       nodes, 'A_VARIABLE')
        self.is_called(silent, waits + 'nothing from 1 of %s nodes\nnext: to find the silent '
                       'nodes, name all nodes of the launch with --nodes' % format(count, ','))

    def test_a_group_and_a_silent_node(self):
        self.is_called(output(4096, range(7, 12), {13}), in_init('n[7-11] have') + '\n4,090 '
                       'nodes wait in a fence\nnothing from n13\n--exclude=n[7-11,13]',
                       'n[1-4096]')

    @each(('one of them is odd', output(4, {3}), in_init('rank 4 on n3 has') +
           '\n3 nodes wait in a fence\n--exclude=n3'),
          ('all of them wait', output(4), '4 nodes wait in a fence\nnext: look for a rank that was '
           'killed or stopped; otherwise, while it hangs, type ziatest-attach'),
          ('two of them are silent', output(5, silent={3, 5}), '3 nodes wait in a fence\n'
           'nothing from 2 of 5 nodes, among n[3,5-6]\nnext: to find the silent nodes, ...'),
          ('before 4.0', output(4, silent={3}, size=-1), '3 nodes wait in a fence\nnothing from '
           'n[3,5-6] (in A_VARIABLE, but perhaps not in this launch)\nnext: to find the ...'),
          # An uneven launch cannot be counted.
          ('numbers of ranks that differ', output(4, silent={3, 4}) + says(4, FENCE, ppn=1),
           '3 nodes wait in a fence\nnothing from n[3,5-6] (in A_VARIABLE, but perhaps not in this '
           'launch)\nnext: to find the silent ...'))
    def only_some_nodes_of_the_job(self, text, want):
        self.matches(call(text, 'n[1-6]', 'A_VARIABLE'), want)

    @each(
        ('most are silent', output(9, (), range(3, 10)), None, 'n[1-2] wait in a fence\n'
         'nothing from 7 of 9 nodes\nnext: trace the launcher, because half of the nodes or more '
         'are silent'),
        ('most are silent, by name', output(9, (), range(3, 10)), 'n[1-9]', 'n[1-2] wait in a '
         'fence\nnothing from n[3-9]\nnext: trace the launcher, because half of the nodes or more '
         'are silent'),
        ('a neighbour of the culprit waits', output(4, {3}) + says(3, FENCE, rank=5), None,
         in_init('rank 4 on n3 has') + '\n3 nodes wait in a fence\n--exclude=n3'),
        # On each node, a rank polls shared memory while another one is in a fence.
        ('ranks of every node poll', output(5) + ''.join(
            says(node, INIT, '[libmpich.so.12] < MPI_Init', rank=9) for node in range(1, 6)) +
         says(2, *SLEEPS, rank=5), None, in_init('rank 5 on n2 has', SLEEP) +
         '\n4 nodes wait in a fence\n--exclude=n2'),
        ('a rank without calls', output(4, {2: (INIT, '')}), None,
         'rank 2 on n2 has spent 58 s in MPI_Init\n3 nodes wait in a fence\n--exclude=n2'),
        ('a partner waits for the culprit', output(
            5, {2: POLLS, 3: (what('IN_RECV', partner=2), '')}, usual=OTHERS), None,
         in_init('rank 2 on n2 has') + '\nrank 4 on n3 waits in MPI_Recv, from rank 2 on n2\n'
         '3 nodes wait for other ranks, after the exchange\n--exclude=n2'),
        ('a node started too late', output(4, {4: (what('IN_MPI_INIT', 0), POLL)}), None,
         'rank 6 on n4 reached MPI_Init only when the launch was ended\n3 nodes wait in a fence\n'
         '--exclude=n4'),
        ('silent while the others work', output(4, {1, 2, 3}, {4}), 'n[1-4]',
         in_init('n[1-3] have') + '\nnothing from n4\n--exclude=n4'),
        ('times and calls that differ', output(9, {
            5: (what('IN_MPI_INIT', 9940), POLL), 6: SLEEPS,
            7: (what('IN_MPI_INIT', 41000), SLEEP)}), None, '%s\n%s\n6 nodes wait in a fence\n'
         '--exclude=n[5-7]' % (in_init('rank 8 on n5 has', time='9.9'),
                               in_init('n[6-7] have', SLEEP, '41 to 58'))),
        ('two nodes', output(2, {2}), 'n[1-2]', in_init('rank 2 on n2 has') + '\nrank ... on n1 '
         'waits in a fence\nnext: look at what the nodes that do not wait are doing; they are half '
         'of all nodes or more'),
        ('one of two is silent', output(2, (), {1}), 'n[1-2]', 'rank ... on n2 waits in a fence\n'
         'nothing from n1\nnext: trace the launcher, unless the clock of the node that printed is '
         'ahead'),
        ('two ranks of a node', output(1, {1}) + says(1, FENCE, rank=1), None, in_init(
            'rank 0 on n1 has') + '\nnext: look for something that the nodes share, because all do '
         'the same'),
        ('most', output(4, {1, 2, 3}), None, 'rank ... on n4 waits in a fence\n' + in_init(
            'n[1-3] have') + '\nnext: look at what the nodes that do not wait are doing; ...'),
        ('all work, in different calls', output(4, {1: POLLS, 2: POLLS, 3: SLEEPS, 4: POLLS}),
         'n[1-4]', '%s\n%s\nnext: look at the calls; no rank waits, so rare ones are not always '
         'the cause' % (in_init('rank 4 on n3 has', SLEEP), in_init('n[1-2,4] have'))),
        ('rank 0 has a time', output(4, {1: (what('UNCHECKED'), '')}, usual=OTHERS), 'n[1-4]',
         '4 nodes wait for other ranks, after the exchange\nnext: look for a rank that was ...'),
        ('an unknown partner', output(4, {3: (what('IN_SENDRECV', partner=9), '')}, usual=OTHERS),
         None, 'rank 4 on n3 waits in MPI_Sendrecv, with rank 9\n3 nodes wait for other ranks, '
         'after the exchange\nnext: launch without one of these partners; one of them is the '
         'cause, or the link between them'),
        ('rank 0 writes', output(4, {1: (what('WRITING'), '')}, usual=OTHERS), 'n[1-4]',
         'rank 0 on n1 has spent 58 s writing the result\n3 nodes wait for other ranks, after the '
         'exchange\nnext: find out why rank 0 cannot write the result to stderr or to its files'),
        ('the others have just begun to wait', output(4, {2}, usual=what('IN_FENCE', 5000)), None,
         in_init('rank 2 on n2 has') + '\n3 nodes wait in a fence\nnext: launch with a larger -t; '
         'the nodes have only just begun to wait, so the launch may be slow'),
        ('a result', output(4, silent={2, 3, 4}, usual=OTHERS) + RESULT, 'n[1-4]',
         'rank ... on n1 waits for other ranks, after the exchange\nnext: look at how the launch '
         'ends: it hung after printing its result'),
        ('a result before, with -q', RESULT + output(4).replace(COMMAND, ''), None,
         '4 nodes wait in a fence\nnext: look for a rank that was ...'),
        ('all wait for a message', ''.join(
            says(node, what('IN_RECV', partner=node % 4)) for node in range(1, 5)), 'n[1-4]',
         '4 nodes wait in MPI_Recv, for several ranks\nnext: look for a rank that was ...'),
        ('a rank that does not know its number', COMMAND + says(1, INIT, POLL, rank=-1, size=-1),
         None, in_init('a rank on n1 has') + '\nnext: look for something that ...'),
        # Silent nodes may wait in a fence, so they are not named.
        ('--where', ''.join(says(node, *SLEEPS, moment='note: after 5.25 s') for node in (2, 3)),
         'n[1-9]', in_init('n[2-3] have', SLEEP) + '\n' + WHERE),
        ('no line', COMMAND + ''.join(FOREIGN), None, ''))
    def are(self, text, nodes, want):
        self.matches(call(text, nodes), want)

    @each(*((state, state) for state in said.STATES))
    def every_state_is_known(self, state):
        self.assertNotIn('only part of a line', call(says(1, what(state, 58000, 3))))

    def test_more_than_fit(self):
        """A list of nodes that is cut off would exclude the wrong ones."""
        odd = dice().sample(range(1, 4097), 1500)
        last = call(output(4096, {*odd}), 'n[1-4096]').split('\n')[-1]
        self.assertEqual(last, 'next: look for what the 1,500 nodes that do not wait have in '
                         'common')

    def test_ten_lines_at_most(self):
        calls = ' < '.join(['call'] * 100)
        text = ''.join(said.say([
            row(node, INIT, 'f%d < %s' % (node % 200, calls), name='a' * 37 + '%d')
            for node in range(1, 4001)]))
        lines = call(text, 'a' * 37 + '[1-5000]').split('\n')
        self.assertLessEqual(len(lines), 10)
        self.assertLess(max(map(len, lines)), 500)
        self.assertRegex(lines[0], r' in MPI_Init, in f\d+ < (call < ){41,42}\.\.\.$')
        self.assertRegex(lines[6], r'^3,880 nodes \(a+\[.*,\.\.\.\]\): 194 other states or calls$')
        self.assertEqual(lines[7], 'nothing from %s[4001-5000]' % ('a' * 37))


class Names(Case):
    def test_nodes_of_slurm_that_differ_after_the_first_dot(self):
        """Those that the ranks print do not."""
        text = output(4, silent={4}, name='n%d.r1')
        self.is_called(text, '3 nodes wait in a fence\nnothing from n1.r2\n--exclude=n1.r2',
                       'n1.r1,n2.r1,n3.r1,n1.r2')

    @each(('refused by Slurm if they were folded', 'n%d-ib', None, 'n2-ib,n3-ib'),
          ('a domain that Slurm does not use', 'N%d.x.org', 'n%d', 'n[2-3]'),
          ('a domain that the ranks do not print', 'n%d', 'n%d.x.org', 'n2.x.org,n3.x.org'),
          ('another domain', 'n%d.x', 'n%d.other.y', 'n2.other.y,n3.other.y'),
          ('a difference after the first dot', 'n1.r%d', None, 'n1.r[2-3]'),
          ('the same difference in Slurm', 'n1.r%d.org', 'n1.r%d.org', 'n1.r2.org,n1.r3.org'),
          ('a number in the middle', 'worker.%d.team', None, 'worker.[2-3]'),
          ('underscores and capitals', 'GPU_%d.Hpc_a.Org', None, 'GPU_[2-3]'),
          ('a digit behind the dot', 'n%d.5g.org', None, 'n2.5g,n3.5g'),
          ('IPv4', '10.0.0.%d', None, '10.0.0.[2-3]'), ('IPv6', 'fe80::%d', None, 'fe80::[2-3]'))
    def of_nodes(self, name, listed, excluded):
        """NAME is what the ranks print, and LISTED is what Slurm prints. Node 3 is silent, if that
        can be known."""
        nodes = ','.join((listed or name) % node for node in range(1, 7))
        last = call(output(6, {2, 3}, name=name), listed and nodes).split('\n')[-1]
        self.assertEqual(last, '--exclude=' + excluded)
        lines = call(output(6, silent={3}, name=name), nodes).split('\n')
        silent = (listed or name) % 3
        self.assertEqual(lines[1:], ['nothing from ' + silent, '--exclude=' + silent])

    def test_of_a_node_with_and_without_a_domain(self):
        text = says(1, FENCE, size=4, name='n%d.r.x') + says(1, *POLLS, rank=2, size=4)
        self.assertRegex(call(text), r'rank 2 on n1 .*\nrank 0 on n1\.r\.x waits')

    def test_of_another_cluster(self):
        self.is_called(output(4, {2}), in_init('rank 2 on n2 has') + '\n3 nodes wait in a fence\n'
                       'n[1-4]: not in the list of nodes, so it is not known which nodes are '
                       'silent\n--exclude=n2', 'm[1-4]')

    @each(*((hosts, hosts, names) for hosts, names in (
        ('n5.hpc1.example.org', 'n5'), ('n1.org x.n1.org', 'n1,x.n1'),
        ('n1.x.org n1.y.org n2.x.org', 'n1.x,n1.y,n2.x'), ('n1.a n2', 'n1.a,n2'), ('n1', 'n1'),
        ('N1.HPC.Org n2.hpc.ORG', 'N1,n2'), ('n1.2.x.3.org n2.2.x.3.org', 'n1.2,n2.2'),
        ('10.0.0.5 10.1.0.5', '10.0.0.5,10.1.0.5'),
        ('::ffff:10.0.0.9 ::ffff:10.0.1.9', '::ffff:10.0.0.9,::ffff:10.0.1.9'))))
    def the_domain_of_all(self, hosts, names):
        """The report (tests/helpers/explain.c) shows the same names."""
        domain = common_domain(hosts.split())
        got = ','.join(without_domain(host, domain) for host in sorted(hosts.split()))
        self.assertEqual(got, names)

    @each(('zeros of several lengths', 'nid[7,009-010,099-100,1000-1001]',
           'nid7 nid009 nid010 nid099 nid100 nid1000 nid1001'),
          ('several shapes', 'a[1-2].x2.org,gpu7,login,r[1-2]n[1-2]',
           'a1.x2.org a2.x2.org gpu7 login r1n1 r1n2 r2n1 r2n2'),
          ('names that do not fold wholly', 'x1c3s[0-1]b0,x1c5s0b0,x1c5s1b[0-1]',
           'x1c3s0b0 x1c3s1b0 x1c5s0b0 x1c5s1b0 x1c5s1b1'))
    def are_folded_and_expanded(self, folded, names):
        self.assertEqual(fold(names.split()), folded)
        self.assertEqual(sorted(expand(folded)), sorted(names.split()))

    def test_what_slurm_accepts(self):
        names = ['a1b1', 'a2b1', 'r1n1', 'r1n2', 'r2n1', 'r2n2', 'x1s', 'x2s']
        self.assertEqual(fold_for_slurm(names), 'a1b1,a2b1,r[1-2]n[1-2],x1s,x2s')

    def test_fold_and_expand_are_inverse(self):
        for _ in range(300):
            names = {''.join(dice().choice('ab-.0129') for _ in range(dice().randint(1, 8)))
                     for _ in range(dice().randint(1, 30))}
            for function in fold, fold_for_slurm:
                self.assertEqual(sorted(expand(function(names))), sorted(names))
            for word in re.sub(r'\[.*?\]', '[]', fold_for_slurm(names)).split(','):
                self.assertTrue('[' not in word or word.endswith(']'), word)

    @each(('an open bracket', 'n[1-4', 'not a list of nodes; write it like n[1-4,7]'),
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

    @each(('nothing', 'n[1,3]', 6, 'n1 n3'), ('numbers', 'n[1,...]', 5, 'n1 n3'),
          ('names', 'a,...', 3, 'a b c'), ('no part of the only name', 'longer1', 3, 'longer1'),
          ('no part of a long name', 'longer1,...', 3, 'longer1 shorter'))
    def lists_that_are_too_long_lose(self, want, most, names):
        self.assertEqual(fold_within(names.split(), most), want)

    def test_names_with_thousands_of_numbers(self):
        names = ['%d' % i + '1a%da' % i * 500 for i in range(200)]
        began = time.process_time()
        folded = fold(names)
        self.assertLess(time.process_time() - began, 2)
        self.assertEqual(sorted(expand(folded)), sorted(names))


class Lines(Case):
    """Which lines are read"""
    WANT = in_init('rank 2 on n2 has') + '\n3 nodes wait in a fence\n--exclude=n2'

    @each(
        ('Windows line ends', lambda text: text.replace('\n', '\r\n')),
        ('--label', lambda text: text.replace('ziaprobe: ', '12: ziaprobe: ')),
        ('--tag-output', lambda text: label(text, '[1,7]<stderr>:')),
        ('--tag-output of Open MPI 5', lambda text: label(text, '[1,7]<stderr>: ')),
        ('lines that run together', lambda text: text.replace('MPI_Init\nzia', 'MPI_Initzia')),
        ('no command line', lambda text: text.replace(COMMAND, '')),
        ('with -q, a result before', lambda text: RESULT + text.replace(COMMAND, '')),
        ('another launch before', lambda text: output(4, {3}, {4}) + text),
        ('the words form', lambda text: output(4, {3}) + text.replace(COMMAND, subprocess.run(
            [TOP + '/ziatest', 'true', '--', 'true'], stderr=subprocess.PIPE).stderr.decode())),
        ('--where before and after', lambda text: ''.join([
            COMMAND, says(4, *SLEEPS, moment='note: after 5 s'), text.replace(COMMAND, ''),
            says(1, *SLEEPS, moment='note: after 5 s')])),
        ('half a line more', lambda text: text + says(3, FENCE, rank=5)[:60] + '\n'),
        ('twice', lambda text: text + text.replace(COMMAND, '')))
    def are_read(self, edit):
        self.is_called(edit(output(4, {2})), self.WANT, 'n[1-4]')

    def test_a_line_that_is_cut_off(self):
        """The node of this line is not called silent."""
        for has in 'has', 'has wai', 'has waited 58000 ms in a f':
            line = says(4, FENCE).partition('has')[0] + has + '\n'
            self.assertRegex(call(output(4, silent={4}) + line, 'n[1-4]'), '^rank 6 on n4 has '
                             'printed only part of a line\n3 nodes wait in a fence\n'
                             'next: look for a rank')
            text = output(5, silent={4, 5}) + says(4, FENCE, size=10).partition('has')[0] + has
            self.assertIn('\nnothing from n5 (but some lines are torn)\n', call(text, 'n[1-5]'))

    @each(('in the program', 'zia', 'probe: '), ('in the error', ': error: ti', 'meout'),
          ('in the time', ' of 60', ' s: '), ('before the node', ' on ', 'n4'))
    def a_torn_line_may_be_of_a_silent_node(self, before, after):
        line = says(4, FENCE)
        self.assertIn(before + after, line)
        self.is_called(output(4, silent={4}) + line.replace(before + after, before + '\n' + after),
                       '3 nodes wait in a fence\nnothing from n4 (but some lines are torn)\nnext: '
                       'look for the names of the silent nodes in the torn lines of the output',
                       'n[1-4]')

    def test_damaged_by_chance(self):
        """Lines of other programs change nothing. Whatever is torn, a node that has printed that it
        waits is never excluded. Whatever else happens to the text, the report is short."""
        verdicts = 0
        for _ in range(int(os.environ.get('COUNT') or 200)):
            count, source = dice().randint(3, 12), dice().choice(['', 'A_VARIABLE'])
            odd = {*dice().sample(range(1, count + 1), dice().randint(0, 2))}
            silent = {node for node in odd if dice().random() < 0.5}
            text, nodes = output(count, odd, silent), 'n[1-%d]' % count
            lines = text.splitlines(True)
            for _ in range(dice().randint(1, 9)):
                lines.insert(dice().randrange(len(lines)), dice().choice(FOREIGN))
            self.is_called(''.join(lines), call(text, nodes, source), nodes, source)
            torn = COMMAND + tap.tear(text[len(COMMAND):].splitlines(True))
            last = call(torn, nodes, source).split('\n')[-1]
            if last.startswith('--exclude='):
                verdicts += 1
                self.assertLessEqual({*expand(last[10:])}, {'n%d' % node for node in odd})
            report = call(scramble(text), nodes, source).split('\n')
            self.assertLessEqual(len(report), 10)
            self.assertLess(max(map(len, report)), 600)
        self.assertGreater(verdicts, 0)


def label(text, name):
    """Returns TEXT with labels at the beginnings of lines and within them."""
    return re.sub('^|ms|[0-9] of|wai|tim|<| on', name + r'\g<0>', text, flags=re.M)


def scramble(text):
    """Removes, duplicates and inserts parts of TEXT."""
    parts = ['rank 12 on ', '[', ']', '1-3', ',', '\n', ' has ', 'ziaprobe: ', '9' * 20, '\u0663',
             '\x1b', 'n[1-99999]', ' error: timeout of ', '0']
    for _ in range(dice().randint(1, 6)):
        start, length = dice().randrange(len(text)), dice().randint(1, 30)
        inserted = dice().choice(['', dice().choice(parts), 2 * text[start:start + length]])
        text = text[:start] + inserted + text[start + length:] + '\n'
    return text


class Summarize(Case):
    """tools/summarize OUTPUT"""
    def summarize(self, text, *arguments, **variables):
        """Returns the status, and what is printed on stderr and stdout."""
        tap.write('output', text)
        variables = {**{key: value for key, value in os.environ.items()
                        if key != 'SLURM_JOB_NODELIST'}, **variables}
        with mock.patch.dict(os.environ, variables, clear=True):
            return self.capture(
                lambda: summarize.main([*arguments, 'output'], sys.stdout.buffer))

    @each(('no list', [], '', ''),
          ('--nodes', ['--nodes', 'n[1-5]'], '', 'nothing from n5\n'),
          ('a variable', [], 'n[1-5]',
           'nothing from n5 (in SLURM_JOB_NODELIST, but perhaps not in this launch)\n'),
          ('both', ['--nodes', 'n[1-6]'], 'n[1-5]', 'nothing from n[5-6]\n'),
          ('a variable that is no list', [], 'a[', ''))
    def knows_the_nodes(self, arguments, variable, silent):
        status, err, out = self.summarize(output(4, size=-1), *arguments,
                                          SLURM_JOB_NODELIST=variable)
        self.assertRegex(out, '4 nodes wait in a fence\n%s(next: |--exclude=)' % re.escape(silent))
        self.assertEqual((status, err), (1, '' if variable != 'a[' else (
            'summarize: error: SLURM_JOB_NODELIST: not a list of nodes; write it like n[1-4,7]\n')))

    @each(('of this job', 'srun: launch/slurm: _step_signal: Terminating StepId=42.0\n', True),
          ('of another job', 'slurmstepd-n1: error: *** STEP 41.0 ON n1 CANCELLED ***\n', False))
    def a_log(self, line, is_own):
        _, _, out = self.summarize(output(4, silent={4}) + line, SLURM_JOB_NODELIST='n[1-3,7]',
                                   SLURM_JOB_ID='42')
        self.assertEqual('--exclude=n7' in out, is_own)

    def test_as_docker_stores_it(self):
        """The file was cut, and may have had the line of the silent node."""
        lines = (output(4, {2}, {4}) + says(4, FENCE)[:45]).splitlines(True)
        status, err, out = self.summarize(''.join(
            json.dumps({'log': line, 'stream': 'stderr'}) + '\n' for line in lines),
            '--nodes', 'n[1-4]')
        self.assertIn('\nn[1,3] wait in a fence\nnothing from n4 (but some lines are torn)\n', out)
        self.assertEqual((status, err), (1, ''))

    def test_where_is_not_a_failure(self):
        status, err, out = self.summarize(says(2, *SLEEPS, moment='note: after 5 s'))
        self.assertEqual((status, err, out), (0, '', '%s\n%s\n' % (
            in_init('rank 2 on n2 has', SLEEP), WHERE)))

    @each(
        ('an output without such lines', COMMAND, [], 'output: no rank reported what it was doing; '
         'launch with -t. If you did, no rank reached MPI_Init: trace the launcher\n'),
        ('lines that are torn', COMMAND + says(2, INIT).replace('rank', '\n'), [],
         'output: the lines of -t are torn, and none of them names a node; read the output '
         'yourself, or launch again without labels (srun -l, mpirun --tag-output)\n'),
        ('an output with a result', COMMAND + RESULT, [], 'output: nothing to report: the launch '
         'has a result, and no rank was late\n'),
        ('another text', 'hello\n', [], 'output: not an archive, a --csv or --ranks file, or the '
         'output of a launch with -t or --where: it begins with "hello"; ...'),
        ('a wrong list', output(4), ['--nodes', 'n[1-'], 'argument --nodes: not a list of nodes; '
         'write it like n[1-4,7]\n'),
        ('nodes of a log', archive.log([{}]), ['--nodes', 'n1'], '--nodes is valid only with the '
         'output of a launch with -t or --where\n'))
    def refuses(self, text, arguments, error):
        status, err, out = self.summarize(text, *arguments)
        self.matches(err, '... error: ' + error)
        self.assertEqual((status, out), (2, ''))


tap.main()
