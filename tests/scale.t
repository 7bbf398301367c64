#!/usr/bin/env python3
"""The reports of launches of thousands of nodes and of minutes, made up by helpers/scale.c"""
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), 'helpers'))
import tap  # noqa: E402
import archive  # noqa: E402
from tap import dice, each  # noqa: E402

summarize = tap.load('summarize')
LONG = 'gpu-partition-of-the-long-names-row'
RACK = 'nid[00833-00896]'
MANY = LONG + '[00700,00707,00714,00721,00728,00735,00742] and 1322 more'
STAIRS = 'the launcher started its daemons one after another, ... s apart on average'


class Reports(tap.Case):
    def report(self, ppn=2, **settings):
        """Returns the lines that are printed about a launch: a dict whose keys are the words before
        the colon. Checks that all times have the same unit and three decimals. Writes the file of
        --ranks to 'ranks'."""
        tap.write('ranks', archive.ranks(ppn, **settings))
        status, printed = archive.launch(ppn, **settings)
        self.show('status %d' % status, printed)
        self.assertEqual(status, 0)
        lines = dict(line.partition(': ')[::2] for line in printed.splitlines() if ': ' in line)
        time, unit = re.search(r'\n([0-9.]+) (m?s), ', printed).groups()
        self.assertEqual(unit == 's', float(time) >= (10 if unit == 's' else 10000))
        self.assertRegex(printed, r'\ncritical path +%s .*\n(.*\n)+\n%s +min ' % (unit, unit))
        tables = printed[printed.index('\ncritical path'):printed.index('\nfences: ')]
        for number in re.findall(r'  -?([0-9]+\.[0-9]*)', tables):
            self.assertRegex(number, r'\.[0-9]{3}\Z')
        report = printed[printed.index(', %d nodes' % settings.get('nodes', 4)):]
        self.assertEqual({*re.findall(r'\.[0-9]+ (m?s)\b', report)}, {unit})
        return lines

    def slow_nodes(self):
        """Returns what summarize says about the slow nodes of that launch."""
        return self.capture(lambda: summarize.main(['ranks'], sys.stdout.buffer))[2]

    @each(('ms', 4, 2, 7200, 'n%d', '3', 'rank 4 on n3 and 1 more rank there'),
          ('s', 4, 2, 7800, 'n%d', '3', 'rank 4 on n3 and 1 more rank there'),
          ('a rack', 1024, 4, 112000, 'nid%05d', '833-896',
           'rank 3328 on nid00833 and 255 more ranks, on 64 of 1024 nodes (%s)' % RACK),
          ('long names', 10000, 8, 600000, LONG + '%05d', '700-9999/7',
           'rank 5592 on %s00700 and 10631 more ranks, on 1329 of 10000 nodes (%s)' % (LONG, MANY)))
    def name_late_nodes(self, nodes, ppn, ms, host, late, want):
        settings = dict(nodes=nodes, ms=ms, host=host, program='solver')
        lines = self.report(ppn, late='%s:init:%d' % (late, ms / 3), **settings)
        is_long = ms * 4 / 3 >= 10000
        self.matches(lines['outlier'], 'init of %s, %.3f %s above the median, mostly blocked' % (
            want, ms / (3000 if is_long else 3), 's' if is_long else 'ms'))
        where, there = re.fullmatch(r'add --where ([0-9.]+) --start-only to see the calls that '
                                    r'(.*) is in', lines['next']).groups()
        self.assertIn('on %s ' % there, lines['outlier'])
        # --where must look while that node is late: after others have entered the fence.
        header, *ranks = [line.split(',') for line in tap.read('ranks').splitlines()]
        columns = [header.index(name + '_ms') for name in ('daemon', 'spawn', 'exec', 'init')]
        entered = sorted(sum(float(rank[column]) for column in columns) for rank in ranks)
        self.assertLess(entered[0], 1000 * float(where))
        self.assertLess(1000 * float(where), entered[-1])
        self.assertEqual(len(ranks), nodes * ppn)

    def test_nothing_stands_out(self):
        lines = self.report(ms=700000)
        self.assertEqual((lines['outlier'], 'next' in lines), ('none', False))

    def stairs(self, phase='', ms=0, nodes=0, count=1):
        """Reports a launch whose daemons are started one after another, in an arbitrary order, in
        steps that differ by up to a quarter. On COUNT of the nodes, PHASE takes MS longer; if it is
        the daemon, the later daemons are late, too. Returns the lines, the late nodes and the
        number of nodes."""
        nodes = nodes or dice().choice([nodes for nodes in range(10, 43) if nodes % 7])
        step = dice().randint(12000, 30000) // nodes
        turns = [(7 * node + 3) % nodes for node in range(nodes)]
        # All others wait for the first daemon. The launch ends with the last one's process.
        late = [nodes - 1] if phase == 'spawn' else dice().sample(range(1, nodes), count)
        ahead = ['%d:daemon:%d' % (node, step * (turn + dice().random() / 4) + (
            ms * sum(turn >= first for first in late) if phase == 'daemon' else 0))
            for node, turn in enumerate(turns, 1)]
        late = sorted(turns.index(turn) + 1 for turn in late)
        if phase == 'spawn':
            ahead.append('%d:spawn:%d' % (late[0], ms))
        return self.report(nodes=nodes, ms=20000, late=' '.join(ahead)), late, nodes

    @each(('five nodes', 5), ('many nodes', 0), ('many other nodes', 0))
    def is_a_staircase(self, nodes):
        lines, _, _ = self.stairs(nodes=nodes)
        self.matches(lines['outlier'], 'none; ' + STAIRS)
        self.matches(self.slow_nodes(), '...\nSlow nodes: none\nThe launcher started its ...')

    def test_four_nodes_are_no_staircase(self):
        lines, _, _ = self.stairs(nodes=4)
        self.assertNotIn('one after another', lines['outlier'])

    @each(('a daemon', 'daemon', 'later than its turn'), ('a daemon of five', 'daemon',
          'later than its turn', 5), ('a process', 'spawn', 'above the median'))
    def is_late_on_a_staircase(self, phase, how, nodes=0):
        lines, [late], nodes = self.stairs(phase, 20000, nodes)
        self.matches(lines['outlier'], '%s of rank %d on n%d and 1 more rank there, ... s %s; %s'
                     % (phase, 2 * late - 2, late, how, STAIRS))
        self.matches(self.slow_nodes(), '...\nSlow nodes: 1 of %d, n%d; ...\nThe launcher started '
                     '...' % (nodes, late))

    def test_two_daemons_are_late_on_a_staircase(self):
        lines, (one, other), nodes = self.stairs('daemon', 20000, count=2)
        names = 'n[%d%s%d]' % (one, '-' if other == one + 1 else ',', other)
        self.matches(lines['outlier'], 'daemon of rank ... and 3 more ranks, on 2 of %d nodes (%s),'
                     ' ... later than its turn; %s' % (nodes, names, STAIRS))
        self.matches(self.slow_nodes(), '...\nSlow nodes: 2 of %d, %s; ...\nThe launcher started '
                     '...' % (nodes, names))

    @each(('s', 100000, 3000, '3000.000 ms ... behind ...; the corrected time is 100.000 s'),
          ('a day', 1000, 86400000, '86400000.000 ms ...; the corrected time is 1000.00 ms'))
    def name_a_clock_that_is_wrong_by(self, ms, behind, want):
        lines = self.report(ms=ms, behind=behind)
        self.matches(lines['ziaprobe'], 'warning: ...' + want + '...')


tap.main()
