#!/usr/bin/env python3
"""tools/compare: the statistics, what it says, its launches, failures and signals, with a ziatest
that does what the case has planned, and whose rows explain/ writes; and a real delay on a small
cluster. helpers/tap.py says how to run one case."""
import contextlib
import csv
import errno
import functools
import glob
import io
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), 'helpers'))
import archive  # noqa: E402
import tap  # noqa: E402
from tap import dice, each  # noqa: E402

TOP = os.path.realpath(tap.top)
compare = tap.load('compare')
from ziatest.difference import estimate, needed  # noqa: E402
from ziatest.rows import File, Row  # noqa: E402

# This ziatest runs the next line of the plan, the first file after its options. In a plan, "row
# KEY=VALUE..." lets explain/ write the row of a launch.
ZIATEST = '''#!/bin/sh
printf '%%s ' "$@" >>argv
echo >>argv
while [ "${1#*.plan}" = "$1" ]; do
    if [ "$1" = --csv ]; then csv=$2; fi
    shift
done
row() {
    echo "start=1795253637 faults=0 $*" | %s/srun log "$csv"
}
echo x >>"$1.count"
eval "$(sed -n "$(wc -l <"$1.count")p" "$1")"
'''


def row(**settings):
    return 'row ' + archive.words(settings)


def turns(n, seed=7, late='', **settings):
    """Returns the plan of turn 0 and N launches, of 400 to 440 ms; the exchange differs."""
    chance = random.Random(seed)
    return [row(late='1:exchange:%.3f %s' % (chance.uniform(0, 40), late), **settings)
            for _ in range(n + 1)]


@functools.lru_cache()
def real_row():
    return next(File(io.BytesIO(archive.log([{}]).encode()), 'log').rows(Row))


def sides(launches):
    """Returns two sides. Each of LAUNCHES, from turn 1 on, has the cells of A and those of B; the
    other cells are those of a real row."""
    both = [compare.Side(name, name, [], None) for name in 'AB']
    for turn, cells in enumerate(launches, 1):
        for side, known in zip(both, cells):
            side.rows[turn] = real_row()._replace(**known)
    return both


class Case(tap.Case):
    def setUp(self):
        shutil.copytree(os.path.join(TOP, 'tools'), 'tools')
        tap.script('ziatest', ZIATEST % archive.build())

    def plan(self, **lines):
        """Writes the lines that the launches of each command run, from turn 0 on."""
        for name, commands in lines.items():
            tap.write(name + '.plan', archive.text(commands))
        return ['run %s.plan -- p' % name for name in lines]

    def compare(self, *arguments, csv_file='x.csv'):
        """Runs compare in this process. Returns its status, and what it printed."""
        with mock.patch.object(compare, 'ZIATEST', os.path.abspath('ziatest')):
            return self.capture(compare.main,
                                ['--csv', csv_file] * bool(csv_file) + [*arguments])

    def again(self):
        """Prints x.csv again. Returns the same as compare()."""
        return self.compare('x.csv', csv_file=None)

    def start(self, *arguments, shell='exec "$0" "$@"'):
        """Starts tools/compare as a program, with the Python of this process."""
        return subprocess.Popen(['sh', '-c', shell, sys.executable, 'tools/compare', '--csv',
                                 'x.csv', *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, universal_newlines=True)

    def end(self, *arguments, **options):
        """Runs tools/compare as a program. Returns its status, and what it printed."""
        run = self.start(*arguments, **options)
        out, err = run.communicate(timeout=60)
        return run.returncode, err, out

    def rows(self):
        with open('x.csv', newline='') as file:
            return list(csv.DictReader(file))

    def limits(self):
        """Returns the limits that ziatest was given, in seconds."""
        return [int(limit) for limit in re.findall('-t ([0-9]+)', tap.read('argv'))]


class Statistics(Case):
    # Critical values of Wilcoxon's signed-rank test, two-sided 5 %, from the usual tables
    @each(('5', 5, None), ('6', 6, 0), ('10', 10, 8), ('50', 50, 434))
    def critical_value(self, n, critical):
        values = [random.Random(i).random() for i in range(n)]
        means = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[:i + 1])
        found = estimate(values)
        self.assertEqual(found and found[1:],
                         None if n < 6 else (means[critical], means[-1 - critical]))

    @each(('the same precision', 10, 5, 5, 30), ('half', 10, 5, 2.5, 90),
          ('two digits', 100, 5, 5, 210 // 10 * 10 + 90), ('not fewer than six', 6, 1, 50, 6))
    def launches_needed(self, turns, half, wanted, count):
        self.assertEqual(needed(turns, half, wanted), count)

    @each(('differences', 'exec', ((58.4, 78.4), (58.4, 88.4), (58.4, 68.4), (58.4, 88.4),
                                   (68.4, 78.4), (68.4, 88.4), (88.4, 78.4))),
          ('ratios', 'time', ((150., 200.), (150., 400.), (150., 400.), (100., 300.), (150., 100.),
                              (100., 200.), (200., 300.))))
    def ties(self, phase, pairs):
        """The lower limit is 0, but only in exact arithmetic."""
        found = compare.difference(*sides([{phase + '_ms': value} for value in pair]
                                          for pair in pairs), phase)
        self.assertFalse(compare.excludes_0(found))


class Words(Case):
    def test_a_phase_that_takes_longer(self):
        commands = self.plan(A=turns(10), B=turns(10, late='1:exec:200'))
        status, err, out = self.compare(*commands)
        self.assertEqual((status, err), (0, ''))
        self.matches(out, '''\
A  run A.plan -- p
B  run B.plan -- p

A  10 launches ... ms (... to ...)
B  10 launches ... ms (... to ...)

ms            A      B   B - A  95 % confidence
daemon     10.0   10.0    +0.0  (+0.0 to +0.0)
spawn     100.0  100.0    +0.0  (+0.0 to +0.0)
exec       20.0  220.0  +200.0  (+200.0 to +200.0)
init      180.0  180.0    +0.0  (+0.0 to +0.0)
fence      30.0   30.0    +0.0  (+0.0 to +0.0)
exchange ... ... +0.0 (+0.0 to +0.0)
time ... ... +... (+... to +2...)

B takes 4... % more time than A (... to ... %), mostly exec

the first launch of each is not counted; all rows are in x.csv
''')

    def test_less_time_in_several_phases(self):
        times = [random.Random(i).uniform(400, 600) for i in range(7)]
        out = self.compare('-n', '6', *self.plan(
            A=[row(ms=ms) for ms in times],
            B=[row(ms=ms * (0.6 + i % 3 / 50)) for i, ms in enumerate(times)]))[2]
        self.assertIn('\nB takes 38 % less time than A (36 to 40 %), in init and spawn\n', out)

    def test_no_difference_except_in_a_phase(self):
        """B is late in another phase than A, so only the phases differ."""
        out = self.compare(*self.plan(
            A=turns(10, late='1:init:50'), B=turns(10, seed=3, late='1:exec:50')))[2]
        self.assertRegex(out, r'\nno difference found: B takes between \d\.\d % less and \d\.\d % '
                              r'more time than A; to find \d %, make about \d+ launches of each\n'
                              '    but exec takes 50.0 ms more and init takes 50.0 ms less\n')

    def test_a_phase_beside_others_has_a_stricter_limit(self):
        both = sides((dict(time_ms=500., exec_ms=100.),
                      dict(time_ms=500. + turn * (-1) ** turn,
                           exec_ms=100. + (-turn if turn == 6 else turn)))
                     for turn in range(1, 11))
        self.assertGreater(compare.difference(*both, 'exec')[1], 0)
        said = '\n'.join(compare.verdict(*both))
        self.assertIn('no difference found', said)
        self.assertNotIn('exec', said)

    @each(('half of 50 %', 10, -5.5, 50.5, '; to find 50 %, make about 7 launches of each'),
          ('half of 50 % less', 10, -50.5, 5.5, '; to find 50 %, make about 7 launches of each'),
          ('too many', 100, -9.9, 9.9,
           '; to find 5 %, more than 300 launches of each would be needed'))
    def advises(self, turns, low, high, advice):
        self.assertEqual(compare.advice(turns, low, high), advice)

    def test_two_sorts_of_launches(self):
        """The median of all pairwise means can contradict the medians."""
        both = sides((dict(time_ms=500 + turn % 3), dict(time_ms=490 if turn < 12 else 700))
                     for turn in range(20))
        self.assertIn('but the medians differ by -11.0 ms: check the rows; ',
                      '\n'.join(compare.verdict(*both)))

    def test_three_commands_unlike_nodes_and_cold_launches(self):
        """Other programs also print lines, and append some to the row."""
        foreign = 'echo one, two; %s; echo one, two >>"$csv"'
        out = self.compare('-n', '6', *self.plan(
            A=[row(nodes=8, ms=300 + i) for i in range(7)],
            B=[row(nodes=4096, ms=10001 + i, faults=300) for i in range(7)],
            C=[foreign % row(nodes=4096, ms=600000 + i) for i in range(7)]))[2]
        self.matches(out, '''...
A  6 launches  303.5 ms (301.0 to 306.0)
B  6 launches  10004.5 ms (10002.0 to 10007.0)
C  6 launches  600003.5 ms (600001.0 to 600006.0)
nodes: 8 in A, 4096 in B, 4096 in C
cold launches: 0 of A, 6 of B, 0 of C

ms A B C B - A 95 % confidence C - A 95 % confidence
...
B takes 3196 % more time than A (31... to 32... %), mostly spawn
C takes 197... % more time than A (19... to 19... %), in spawn and init

the first...''')
        self.assertEqual(self.again(), (0, '', out))

    def test_properties_that_are_unknown_or_numbers(self):
        both = sides([(dict(nodes='16', executable_bytes=float('nan')), {}), ({}, {})])
        self.assertEqual(list(compare.properties_that_differ(both))[:2], [
            'nodes: 4 or 16 in A, 4 in B',
            'executable_bytes: 104913536 or - in A, 104913536 in B'])

    def test_a_single_command(self):
        status, err, out = self.compare(*self.plan(A=turns(10)))
        self.assertEqual((status, err), (0, ''))
        self.matches(out, '''...
ms            A  range
daemon     10.0  (10.0 to 10.0)
...
to find a difference from another command, make about this many launches of each: 20 %: 6, \
10 %: ..., 5 %: ..., 2 %: ...
...''')

    def test_a_comparison_is_printed_again(self):
        plan = turns(10)
        plan[4] = 'exit 1'
        status, _, out = self.compare('--prepare', ': a', '--prepare', ': b',
                                      *self.plan(A=turns(10), B=plan))
        self.assertIn('B  run B.plan -- p\n   prepared by: : b\n\n', out)
        self.assertEqual(self.again(), (status, '', out))
        os.truncate('x.csv', os.path.getsize('x.csv') - 30)
        out = self.again()[2]
        self.assertIn('ended after 9 of 10 turns', out)
        self.assertIn('no difference found', out)

    def test_a_file_of_failures(self):
        self.compare(*self.plan(A=['exit 1']))
        self.assertEqual(self.again(), (1, '', 'no launch to compare\n'))

    def test_a_damaged_line(self):
        self.compare(*self.plan(A=turns(10)))
        lines = tap.read('x.csv').splitlines(True)
        for old, new in ((r',4\d\d\.\d+,', ',x,'), (r',4\d\d\.\d+,', ',0,'),
                         (',10.000,', ',inf,'), (r',\d+,10,0,', ',?,10,0,'), (',10,0,', ',?,0,'),
                         (',PMIx,', ','), (',PMIx,', ',PMIx,,'), (',run A', ',run \rA'),
                         (',run A', r',"run A\nno difference found\nrun A"')):
            place = dice().choice((dice().randrange(1, len(lines) - 1), len(lines) - 1))
            changed = lines[:]
            changed[-1] = dice().choice((lines[-1], lines[-1][:-30]))  # cut off by a full disk
            changed[place] = re.sub(old, new, lines[place], count=1)
            with open('x.csv', 'w', newline='') as file:
                file.writelines(changed)
            self.assertEqual(self.again(), (
                2, "compare: error: line %d of 'x.csv' is damaged; delete this line, or use the "
                'original file\n' % (place + 1), ''))

    @each(('turns', '%d,3000', '-'), ('turns after the last', '%d,300', '-'),
          ('commands', '1,10', '%d'))
    def too_many(self, turns_cells, command):
        """compare would read them for minutes."""
        self.compare('-n', '6', *self.plan(A=turns(6)))
        header, *_, last = tap.read('x.csv').splitlines()
        cells = re.sub(',6,6,0,run A.plan -- p,$', ',%s,0,%s,' % (turns_cells, command), last)
        tap.write('x.csv', archive.text(
            [header, *(cells.replace('%d', str(i)) for i in range(1, 3000))]))
        self.assertEqual(self.again(), (
            2, "compare: error: 'x.csv' has more than 4 commands or 300 turns; use the original "
            'file\n', ''))

    def test_the_columns_are_aligned_whatever_their_digits(self):
        both = sides([[dict(time_ms=1000., init_ms=91.7)] * 2] * 7)
        lines = list(compare.difference_table(both))
        self.assertEqual([line for line in lines if line[:4] in ('ms  ', 'init', 'time')], [
            'ms             A       B  B - A  95 % confidence',
            'init        91.7    91.7   +0.0  (+0.0 to +0.0)',
            'time      1000.0  1000.0   +0.0  (+0.0 to +0.0)'])


class Launches(Case):
    def test_what_ziatest_gets(self):
        self.plan(A=turns(6))
        self.compare('-n', '6', "--ppn 4 srun '-N 4' A.plan -- ./a 'b c'")
        argv = tap.read('argv').splitlines()
        options = '-q --start-only -t %d --csv DIR/row.csv --ppn 4 srun -N 4 A.plan -- ./a b c '
        here = re.escape(os.getcwd())
        self.assertEqual([re.sub(here + '/[.]ziatest-compare-[^/ ]+', 'DIR', line)
                          for line in argv], [options % 3600] + [options % 60] * 6)

    def test_options_that_are_joined_and_a_command_that_begins_with_one(self):
        commands = self.plan(A=turns(6))
        out = self.compare('-n6', '--ppn=4\n' + commands[0], '--prepare=: a  b', '-t33')[2]
        self.assertEqual(out[:47], 'A  --ppn=4 run A.plan -- p\n   prepared by: : a ')
        self.assertEqual(self.limits(), [33] * 7)

    def test_the_limit_is_ten_times_the_longest_launch(self):
        with mock.patch.object(compare, 'LEAST_LIMIT', 1):
            self.compare('-n', '6', *self.plan(A=['sleep 0.2; ' + row(ms=500), *turns(6)]))
        self.assertGreaterEqual(min(self.limits()), 3)

    def test_a_row_that_is_written_in_two_parts(self):
        real = os.write
        with mock.patch('os.write', lambda descriptor, line: real(descriptor, line[:9])):
            compare.Rows('y.csv').write('a whole row\n')
        self.assertEqual(tap.read('y.csv'), 'a whole row\n')

    def test_the_rows(self):
        self.compare('-n', '20', *self.plan(A=turns(20), B=turns(20)))
        rows = self.rows()
        self.assertEqual(list(rows[0]), [*Row._fields, 'turn', 'turns', 'status', 'command',
                                         'prepare'])
        self.assertEqual([row['turn'] for row in rows],
                         [str(turn) for turn in range(21) for _ in 'AB'])
        self.assertEqual([row['command'][4] for row in rows[:2]], ['A', 'B'])
        orders = {rows[i]['command'] for i in range(2, 42, 2)}
        self.assertEqual(len(orders), 2, 'each command begins some turns')

    def test_the_same_command_twice_and_prepare(self):
        commands = self.plan(A=[row(ms=500)] * 20) * 2
        out = self.compare('-n', '6', '--prepare', 'echo a >>argv', '--prepare', 'echo b >>argv',
                           *commands)[2]
        self.assertIn('\nB  run A.plan -- p (2)\n', out)
        lines = tap.read('argv').splitlines()
        self.assertEqual((lines[0], lines[2], sorted(lines[4::2])), (
            'a', 'b', ['a'] * 6 + ['b'] * 6))

    def test_prepare_fails(self):
        status, err, out = self.compare('--prepare', 'exit 3', *self.plan(A=[row()]))
        self.assertEqual((status, err, out), (
            2, 'compare: error: the command of --prepare failed with status 3: exit 3\n', ''))
        self.assertFalse(os.path.exists('x.csv'))  # It would have no row.

    def test_no_file_is_named(self):
        for _ in range(2):  # in the same second
            self.compare('-n', '6', *self.plan(A=turns(6)), csv_file=None)
            os.unlink('A.plan.count')
        self.assertEqual(len(glob.glob('compare-*Z.csv')), 2)

    @each(('nothing', ['-n', '6'], 'a command is missing, or the file of an earlier comparison'),
          ('not quoted', ['srun', '-N', '4', '--', './a'],
           "option -N not recognized; quote each command, as in 'srun -N 4 ... -- ziaprobe'"),
          ('no value', ['a -- b', '-n'], 'option -n requires argument'),
          *(('-n ' + n, ['-n', n, 'a -- b'], '-n must be a whole number from 6 to 300, not %r' % n)
            for n in ('x', '5', '301')),
          *(('-t ' + t, ['-t', t, 'a -- b'], '-t must be a whole number of seconds, from 1 to '
             '999999, not %r' % t) for t in ('0', '0.5')),
          *((command, [command], "'%s' is not a whole command; quote each..." % command)
            for command in ('srun', '2', '--ppn 2 srun', 'srun -N 4 ziaprobe')),
          ('options', ['-v srun -N 4 -- ziaprobe'], "'-v srun -N 4 -- ziaprobe': option -v not "
           'recognized; before the launcher, only --ppn N is allowed'),
          ('an open quote', ["srun 'a"], '\'srun \'a\': no closing quotation'),
          ('five commands', ['a -- b'] * 5, '5 commands; at most 4 can be compared'),
          ('prepare twice', ['--prepare', 'a', '--prepare', 'b', 'a -- b', 'a -- b', 'a -- b'],
           'give --prepare once, or once for each command'),
          ('a file and an option', ['ziatest'], "'ziatest' is a file; to print its comparison "
           'again, give no options'),
          ('a file and a command', ['ziatest', 'a -- b'],
           "'ziatest' is a file; only launches that take turns can be compared. To see whether "
           'launches have changed over several days, use ziatest-summarize'))
    def usage(self, arguments, error):
        status, err, out = self.compare(*arguments)
        self.matches(err, 'compare: error: %s\nusage: ziatest-compare [OPTION...] ...' % error)
        self.assertEqual((status, out, os.path.exists('x.csv')), (2, '', False))

    def test_help(self):
        status, err, out = self.compare('--help')
        self.assertEqual((status, err), (0, ''))
        self.matches(out, 'usage: ziatest-compare [OPTION...] ...if\ninterrupted.\n')

    def fails(self, error, *arguments, csv_file='x.csv'):
        status, err, out = self.compare(*arguments, csv_file=csv_file)
        self.matches(err, 'compare: error: %s\n' % error)
        self.assertEqual((status, out), (2, ''))

    def test_files_that_cannot_be_used(self):
        tap.write('log', archive.log([{}]))
        self.fails("'log' was not written by compare; only launches ...", 'log', csv_file=None)
        self.fails('log exists; a comparison needs a new file', 'a -- b', csv_file='log')
        self.fails('no/x.csv: No such file or directory', 'a -- b', csv_file='no/x.csv')
        self.fails('Input/output error', '/proc/self/mem', csv_file=None)

    def test_ziatest_cannot_be_started(self):
        error = BlockingIOError(errno.EAGAIN, 'Resource temporarily unavailable')
        with mock.patch.object(subprocess, 'Popen', side_effect=error):
            self.fails('Resource temporarily unavailable', 'a -- b')
        os.unlink('ziatest')
        self.fails('.../ziatest: No such file or directory', 'a -- b')

    @each(('a full disk', 'ulimit -f 2; exec "$0" "$@"', 'x.csv: File too large'),  # 1024 bytes
          ('a full stdout', 'exec "$0" "$@" >/dev/full', 'stdout: No space left on device'),
          ('a closed stdout', 'exec "$0" "$@" >&-', 'stdout: Bad file descriptor'),
          ('all streams are closed', 'exec "$0" "$@" <&- >&- 2>&-', ''))
    def streams(self, shell, error):
        status, err, _ = self.end('-n', '6', *self.plan(A=turns(6)), shell=shell)
        self.assertEqual((status, err), (2, error and 'compare: error: %s\n' % error))
        self.assertEqual(os.path.exists('x.csv'), 'full' in shell or 'ulimit' in shell)


class Failures(Case):
    @each(('a status', 'echo noise; echo srun: error: wrong; exit 3',
           'status 3\n    srun: error: wrong'),
          ('no row', 'true', 'it wrote no result; can all nodes write to .?'),
          ('a hang', 'echo here; sleep 1000', 'it did not end within 1 s\n    here'),
          ('a hang after a row', row() + '; sleep 1000',
           'it did not end within 1 s, although it wrote a result'))
    def turn_0(self, commands, why):
        with mock.patch.object(compare.children, 'GRACE', 0.2):
            status, err, out = self.compare('-t', '1', *self.plan(A=[commands]))
        self.assertEqual((status, err, out), (
            1, 'A failed in turn 0: %s\ncompare: error: A failed in its first launch\n' % why, ''))
        self.assertNotEqual(self.rows()[0]['status'], '')

    def test_sometimes(self):
        plan = turns(10)
        plan[3], plan[7] = 'echo a; echo b; echo c; echo d; exit 1', 'kill -9 $$'
        plan[9] = 'exit 1'
        status, err, out = self.compare(*self.plan(A=turns(10), B=plan))
        self.assertEqual(status, 1)
        self.assertEqual(err, 'B failed in turn 3: status 1\n    b\n    c\n    d\n'
                              'B failed in turn 7: status 137\n'
                              'B failed in turn 9: status 1\n')
        self.matches(out, '...\nB  7 launches, 3 failed ...\nno difference found: ...')
        self.assertEqual(sum(each['time_ms'] == '' for each in self.rows()), 3)

    def test_three_in_a_row(self):
        status, err, out = self.compare(*self.plan(A=turns(10), B=turns(5) + ['exit 1'] * 3))
        self.assertEqual(status, 1)
        self.assertRegex(err, r'compare: error: B failed 3 times in a row\n\Z')
        self.assertRegex(out, 'ended after [78] of 10 turns; the first launch')
        self.assertIn('too few launches to compare A and B: at least 6 turns without a failure '
                      'are needed\n', out)

    def test_only_the_end_of_a_long_output_is_read(self):
        """The memory of compare is limited, not that of what it starts."""
        self.plan(A=['ulimit -v unlimited; yes a lot of output | head -c 300000000; '
                     'echo srun: error: wrong; exit 3'])
        self.assertEqual(
            self.end('run A.plan -- p', shell='ulimit -S -v 400000; exec "$0" "$@"'), (
                1, 'A failed in turn 0: status 3\n    srun: error: wrong\n'
                'compare: error: A failed in its first launch\n', ''))

    def test_damaged_rows(self):
        edits = ('s/,/\\x00/3', 's/PMIx/\\xff\\xfe/; s/,500.000,/,x,/', 's/,500.000,/,0.000,/',
                 's/,500.000,/,-1.000,/', 's/,500.000,/,,/', 's/,500.000,.*/,5/')
        plan = [row(ms=500)] * 13
        for i, edit in enumerate(edits):
            plan[2 * i + 1] += '; sed -i "$ %s" "$csv"' % edit
        with mock.patch.dict(os.environ, LC_ALL='C'):
            status, err, out = self.end('-n', '12', *self.plan(A=plan))
        self.assertEqual((status, err), (1, ''.join(
            'A failed in turn %d: it wrote a damaged row\n' % turn for turn in range(1, 13, 2))))
        self.matches(out, '...\nA  6 launches, 6 failed ...')
        self.assertEqual(self.again(), (1, '', out))


class Signals(Case):
    def begun(self, **options):
        """Starts a comparison whose eighth launch hangs, and waits for this."""
        hangs = "trap 'echo >ended; exit 1' TERM; echo >hangs; while :; do sleep 0.05; done"
        commands = self.plan(A=[*turns(6), hangs], B=turns(9))
        running = self.start('-n', '9', *commands, **options)
        self.poll(lambda: os.path.exists('hangs'))
        return running

    @each(('Ctrl-C', signal.SIGINT, 130), ('TERM', signal.SIGTERM, 143),
          ('HUP', signal.SIGHUP, 129))
    def ends(self, number, status):
        running = self.begun()
        running.send_signal(number)
        running.send_signal(number)  # typed twice
        out, err = running.communicate(timeout=60)
        self.assertEqual((running.returncode, err), (status, ''))
        self.matches(out, '...\nno difference found: ...\nended after 6 of 9 turns; the first...')
        self.assertTrue(os.path.exists('ended'), 'the launcher could end its ranks')
        self.assertGreaterEqual(len(self.rows()), 14)
        self.assertEqual(glob.glob('.ziatest*'), [])

    def test_nohup(self):
        running = self.begun(shell="trap '' HUP; exec \"$0\" \"$@\"")
        running.send_signal(signal.SIGHUP)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
        self.assertEqual(running.returncode, 143)

    def test_during_prepare(self):
        run = self.start('--prepare', 'echo >hangs; sleep 1000', *self.plan(A=[row()]))
        self.poll(lambda: os.path.exists('hangs'))
        run.send_signal(signal.SIGINT)
        self.assertEqual((run.communicate(timeout=60), run.returncode), (('', ''), 130))

    def test_while_the_last_row_is_written(self):
        def write(file, text):
            real(file, text)
            if ',6,6,0,' in text:
                os.kill(os.getpid(), signal.SIGINT)
        real = compare.Rows.write
        with mock.patch.object(compare.Rows, 'write', write):
            status, err, out = self.compare('-n', '6', *self.plan(A=turns(6)))
        self.assertEqual((status, err, len(self.rows())), (130, '', 7))
        self.matches(out, '...\nA  6 launches ...')

    def test_during_the_summary(self):
        """Nobody reads the pipe, which is too small for a command of this length."""
        command = self.plan(A=turns(6))[0]
        run = self.start('-n', '6', command + 100000 * 'x')
        self.poll(lambda: os.path.exists('x.csv') and len(self.rows()) == 7)
        self.poll(lambda: run.send_signal(signal.SIGINT) or run.poll() is not None)
        self.assertEqual((run.communicate(timeout=60)[1], run.returncode), ('', -signal.SIGINT))

    def test_ctrl_c_at_a_terminal_and_the_line_of_progress(self):
        commands = self.plan(A=[*turns(6), 'echo >hangs; sleep 1000'], B=turns(10))
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(sys.executable, ['python', 'tools/compare', '--csv', 'x.csv', *commands])
        self.poll(lambda: os.path.exists('hangs'))
        os.write(terminal, b'\3')
        text = b''
        with contextlib.suppress(OSError):  # EIO at the end
            while True:
                text += os.read(terminal, 10000)
        self.assertEqual(os.WEXITSTATUS(os.waitpid(pid, 0)[1]), 130)
        self.assertRegex(text.decode(), r'\r\x1b\[Kturn 7 of 10: A, \d+ s; about \d+ s left')
        self.assertIn('no difference found', text.decode())


class Cluster(Case):
    def test_a_real_delay(self):
        """One of two nodes is late in exec, by twice the time of a whole launch."""
        launch = ' '.join(self.small_cluster(2)) + ' ./late.sh %f -- ./ziaprobe'
        tap.script('late.sh', '#!/bin/sh\nif [ "$(uname -n)" != n1 ]; then sleep $1; fi\n'
                   'shift\nexec "$@"\n')
        began = time.monotonic()
        subprocess.check_call([TOP + '/ziatest', '-q', *(launch % 0).split()])
        delay = 2 * (time.monotonic() - began)
        run = subprocess.run([TOP + '/tools/compare', '-n', '6', '--csv', 'x.csv', launch % 0,
                              launch % delay], timeout=600, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, universal_newlines=True,
                             env=dict(os.environ, ZIATEST_SYNC='0'))
        self.show('status %d' % run.returncode, run.stderr + run.stdout)
        self.assertEqual((run.returncode, run.stderr), (0, ''))
        self.assertRegex(run.stdout, r'\nexec .* \(\+[1-9][0-9.]* to \+[0-9.]+\)\n')
        self.assertRegex(run.stdout, r'\nB takes [0-9]+ % more time than A \(.*\), mostly exec\n')


tap.main()
