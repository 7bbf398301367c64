#!/usr/bin/env python3
"""tools/compare: the statistics, what it says, its launches, failures and signals, with a ziatest
that does what the case has planned; and a real delay on a real cluster. helpers/tap.py says how to
run one case."""
import contextlib
import csv
import errno
import glob
import operator
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from fractions import Fraction
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), 'helpers'))
import tap  # noqa: E402
from tap import each  # noqa: E402

TOP = os.path.realpath(tap.top)
compare = tap.load('compare')
from ziatest.difference import counts, estimate, needed  # noqa: E402

# What follows the options of this ziatest are files. It runs the next line of the first one; row
# TIME EXEC writes the row of a launch.
ZIATEST = '''#!/bin/sh
printf '%%s ' "$@" >>argv
echo >>argv
while [ "${1#*.plan}" = "$1" ]; do
    if [ "$1" = --csv ]; then csv=$2; fi
    shift
done
row() {
    printf '%s\\n%s\\n' >>"$csv" %s
}
echo x >>"$1.count"
eval "$(sed -n "$(wc -l <"$1.count")p" "$1")"
'''
CELLS = dict.fromkeys(compare.Row._fields, '')
CELLS.update(started='2026-11-27T12:00:00.000000Z', nodes='4', ppn='2', ranks='8', time_ms="'$1'",
             daemon_ms='10.000', spawn_ms='20.000', exec_ms="'$2'", init_ms='100.000',
             clock_ms='0.000', faults='0', program='ziaprobe', executable_bytes='104857600',
             mpi='Open MPI v4.1.4', daemon='slurmstepd', fence_interface='PMIx')


def row(time_ms, exec_ms=30):
    return 'row %.3f %.3f' % (time_ms, exec_ms)


def noise(n, seed=7):
    return [random.Random(seed + i).uniform(480, 520) for i in range(n + 1)]


def sides(turns):
    """Two sides. Each of TURNS, from turn 1 on, has the cells of A and those of B."""
    unknown = dict.fromkeys(compare.Row._fields, float('nan'))
    both = [compare.Side(name, name, [], None) for name in 'AB']
    for turn, cells in enumerate(turns, 1):
        for side, known in zip(both, cells):
            side.rows[turn] = compare.Row(**dict(unknown, **known))
    return both


class Case(tap.Case):
    def setUp(self):
        self.mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        shutil.copytree(os.path.join(TOP, 'tools'), 'tools')
        with open('ziatest', 'w') as file:
            file.write(ZIATEST % ('%s', '%s', "'%s' '%s'" % (
                ','.join(CELLS), ','.join(CELLS.values()))))
        os.chmod('ziatest', 0o755)

    def tearDown(self):
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)

    def plan(self, **lines):
        """Writes the lines that the launches of each command run, from turn 0 on."""
        for name, commands in lines.items():
            with open(name + '.plan', 'w') as file:
                file.writelines(line + '\n' for line in commands)
        return ['run %s.plan -- p' % name for name in lines]

    def compare(self, *arguments, csv_file='x.csv'):
        """Runs compare in this process. Returns its status, and what it printed."""
        with mock.patch.object(compare, 'ZIATEST', os.path.abspath('ziatest')):
            return self.capture(compare.main,
                                ['--csv', csv_file] * bool(csv_file) + [*arguments])

    def start(self, *arguments, shell='exec "$0" "$@"', stdout=subprocess.PIPE):
        """Starts tools/compare as a program, with the Python of this process."""
        return subprocess.Popen(['sh', '-c', shell, sys.executable, 'tools/compare', '--csv',
                                 'x.csv', *arguments], stdout=stdout, stderr=subprocess.PIPE,
                                universal_newlines=True)

    def rows(self, name='x.csv'):
        with open(name, newline='') as file:
            return list(csv.DictReader(file))

    def poll(self, condition):
        limit = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.02)


class Statistics(Case):
    # Critical values of Wilcoxon's signed-rank test, two-sided 5 %, from the usual tables
    @each(('6', 6, 0), ('10', 10, 8), ('50', 50, 434))
    def critical_value(self, n, critical):
        values = [random.Random(i).random() for i in range(n)]
        means = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[:i + 1])
        self.assertEqual(estimate(values)[1:], (means[critical], means[-1 - critical]))

    def test_too_few(self):
        self.assertIsNone(estimate([1, 2, 3, 4, 5]))
        self.assertIsNone(estimate([]))
        self.assertIsNone(estimate([1, 2, 3, 4, 5, 6], 0.99))

    def test_all_arrangements_are_counted(self):
        self.assertEqual(counts(3), [1, 1, 1, 2, 1, 1, 1])
        self.assertEqual(sum(counts(300)), 2 ** 300)

    def test_coverage(self):
        """95 % of intervals contain the truth, also if launches in a row are alike."""
        chance, covered = random.Random(7), 0
        for _ in range(1000):
            level, differences = 0, []
            for _ in range(10):
                pair = []
                for _ in range(2):
                    level = 0.9 * level + chance.gauss(0, 1)
                    pair.append(level)
                chance.shuffle(pair)
                differences.append(pair[1] - pair[0])
            _, low, high = estimate(differences)
            covered += low <= 0 <= high
        self.assertTrue(930 <= covered <= 970, covered)

    @each(('the same precision', 10, 5, 5, 30), ('half', 10, 5, 2.5, 90),
          ('two digits', 100, 5, 5, 210 // 10 * 10 + 90), ('not fewer than six', 6, 1, 50, 6))
    def launches_needed(self, turns, half, wanted, count):
        self.assertEqual(needed(turns, half, wanted), count)

    @each(('differences', 'exec', operator.sub, operator.add, 0, (58.4, 68.4, 78.4, 88.4, 98.4)),
          ('ratios', 'time', operator.truediv, operator.mul, 1, (100., 150., 200., 300., 400.)))
    def ties(self, phase, step, join, equal, ticks):
        """The verdicts on times in ticks of 10 ms are those of exact arithmetic."""
        chance, critical, count = random.Random(7), {9: 5, 10: 8, 12: 13}, 0
        for _ in range(2000):
            pairs = [(chance.choice(ticks[:-1]), chance.choice(ticks[1:]))
                     for _ in range(chance.choice([*critical]))]
            steps = [step(Fraction(str(b)), Fraction(str(a))) for a, b in pairs]
            means = sorted(join(one, other) for i, one in enumerate(steps)
                           for other in steps[:i + 1])
            place = critical[len(pairs)]
            found = compare.difference(*sides(
                [{phase + '_ms': value} for value in pair] for pair in pairs), phase)
            self.assertEqual([(limit > 0) - (limit < 0) for limit in found[1:]],
                             [(limit > equal) - (limit < equal)
                              for limit in (means[place], means[-1 - place])], pairs)
            count += equal in (means[place], means[-1 - place])
        self.assertGreater(count, 100)


class Words(Case):
    def test_a_phase_that_takes_longer(self):
        base = noise(10)
        commands = self.plan(A=[row(value) for value in base],
                             B=[row(value + 200, 230) for value in base])
        status, err, out = self.compare(*commands)
        self.assertEqual((status, err), (0, ''))
        self.matches(out, '''\
A  run A.plan -- p
B  run B.plan -- p

A  10 launches ... ms (... to ...)
B  10 launches ... ms (... to ...)

ms            A      B   B - A  95 % confidence
daemon     10.0   10.0    +0.0  (+0.0 to +0.0)
spawn      20.0   20.0    +0.0  (+0.0 to +0.0)
exec       30.0  230.0  +200.0  (+200.0 to +200.0)
init      100.0  100.0    +0.0  (+0.0 to +0.0)
time ... ... +2... (+...)

B takes ... % more time than A (... to ... %), mostly exec

the first launch of each is not counted; all rows are in x.csv
''')

    def test_less_time_in_several_phases(self):
        base = noise(8)
        out = self.compare('-n', '8', *self.plan(
            A=[row(value, 50) for value in base], B=[row(value - 200) for value in base]))[2]
        self.assertRegex(out, r'\nB takes 4\d % less time than A \([34]\d to 4\d %\), in exec\n')

    def test_the_ratio_is_exact(self):
        base = noise(6)
        out = self.compare('-n', '6', *self.plan(A=[row(value) for value in base],
                                                 B=[row(value * 0.6) for value in base]))[2]
        self.assertIn('\nB takes 40 % less time than A (40 to 40 %)\n', out)

    def test_no_difference(self):
        out = self.compare(*self.plan(A=map(row, noise(10)), B=map(row, noise(10, 100))))[2]
        self.assertRegex(out, r'\nno difference found: B takes between \d\.\d % less and \d\.\d % '
                              r'more time than A; to find \d %, make about \d+ launches of each\n')

    def test_no_difference_but_a_phase(self):
        out = self.compare(*self.plan(A=map(row, noise(10)),
                                      B=[row(value, 80) for value in noise(10, 100)]))[2]
        self.assertRegex(out, '\nno difference found: .*\n    but exec takes 50.0 ms more\n')

    def test_a_phase_beside_others_has_a_stricter_limit(self):
        cells = dict(daemon_ms=1., spawn_ms=1., init_ms=1., fence_ms=1.)
        both = sides((dict(cells, time_ms=500., exec_ms=100.),
                      dict(cells, time_ms=500. + turn * (-1) ** turn,
                           exec_ms=100. + (-turn if turn == 6 else turn)))
                     for turn in range(1, 11))
        self.assertGreater(compare.difference(*both, 'exec')[1], 0)
        said = '\n'.join(compare.verdict(*both))
        self.assertIn('no difference found', said)
        self.assertNotIn('exec', said)

    @each(('half of 50 %', 10, -5.5, 50.5, '; to find 50 %, make about 7 launches of each'),
          ('half of 50 % less', 10, -50.5, 5.5, '; to find 50 %, make about 7 launches of each'),
          ('what was found', 10, -5.5, 5.5, '; to find 5 %, make about 30 launches of each'),
          ('too many', 100, -9.9, 9.9,
           '; to find 5 %, more than 300 launches of each would be needed'))
    def advises(self, turns, low, high, advice):
        self.assertEqual(compare.advice(turns, low, high), advice)

    def test_two_sorts_of_launches(self):
        """The middle of all means can contradict the medians."""
        both = sides((dict(time_ms=500 + turn % 3), dict(time_ms=490 if turn < 12 else 700))
                     for turn in range(20))
        self.assertIn('but the medians differ by -11.0 ms: check the rows; ',
                      '\n'.join(compare.verdict(*both)))

    def test_three_commands_unlike_nodes_and_cold_launches(self):
        base = noise(8)
        commands = self.plan(A=map(row, base), B=map(row, base), C=map(row, base))
        with open('ziatest') as file:
            text = file.read()
        with open('ziatest', 'w') as file:
            file.write(text + 'case $1 in B*) sed -i "s/,4,2,8,/,1,2,2,/" "$csv";; '
                              'C*) sed -i "s/,0,,,,,,,,/,7,,,,,,,,/" "$csv"; esac\n')
        out = self.compare('-n', '8', *commands)[2]
        self.matches(out, '''...
nodes: 4 in A, 1 in B, 4 in C
cold launches: 0 of A, 0 of B, 8 of C

ms A B C B - A 95 % confidence C - A 95 % confidence
...
no difference found: B takes between 0.0 % less and 0.0 % more time than A
no difference found: C takes between 0.0 % less and 0.0 % more time than A
...''')

    def test_properties_that_are_unknown_or_numbers(self):
        both = sides([(dict(nodes='16'), dict(nodes='4', executable_bytes=8.)),
                      (dict(nodes='4'), dict(nodes='4'))])
        self.assertEqual(list(compare.properties_that_differ(both)), [
            'nodes: 4 or 16 in A, 4 in B', 'executable_bytes: - in A, 8 or - in B'])

    def test_a_single_command(self):
        status, err, out = self.compare(*self.plan(A=map(row, noise(10))))
        self.assertEqual((status, err), (0, ''))
        self.matches(out, '''\
A  run A.plan -- p

A  10 launches ... ms (... to ...)

ms            A  range
daemon     10.0  (10.0 to 10.0)
spawn      20.0  (20.0 to 20.0)
exec       30.0  (30.0 to 30.0)
init      100.0  (100.0 to 100.0)
time ... (... to ...)

to find a difference from another command, make about this many launches of each: 20 %: 6, \
10 %: ..., 5 %: ..., 2 %: ...

the first launch of each is not counted; all rows are in x.csv
''')

    def test_a_comparison_is_printed_again(self):
        plan = list(map(row, noise(10)))
        plan[4] = 'exit 1'
        status, _, out = self.compare('--prepare', ': a', '--prepare', ': b',
                                      *self.plan(A=map(row, noise(10)), B=plan))
        self.assertIn('B  run B.plan -- p\n   prepared by: : b\n\n', out)
        self.assertEqual(self.compare('x.csv', csv_file=None), (status, '', out))

    def test_a_file_that_is_cut_is_printed_again(self):
        self.compare(*self.plan(A=map(row, noise(10)), B=map(row, noise(10))))
        os.truncate('x.csv', os.path.getsize('x.csv') - 30)
        out = self.compare('x.csv', csv_file=None)[2]
        self.assertIn('ended after 9 of 10 turns', out)
        self.assertEqual(sorted(re.findall('([0-9]+) launches  ', out)), ['10', '9'])
        self.assertIn('no difference found', out)

    def test_a_file_of_failures(self):
        self.compare(*self.plan(A=['exit 1']))
        self.assertEqual(self.compare('x.csv', csv_file=None), (1, '', 'no launch to compare\n'))

    @each(('no time', r',\d+\.\d+,', ',x,'), ('time 0', r',\d+\.\d+,', ',0,'),
          ('an endless phase', ',10.000,', ',inf,'), ('no turn', ',1,10,0,', ',?,10,0,'),
          ('too few cells', ',PMIx,', ','),
          ('a command of two lines', ',run A', r',"run A\nno difference found\nrun A"'),
          ('a return in a command', ',run A', ',run \rA'), ('too many', ',PMIx,', ',PMIx,,'))
    def damaged(self, old, new):
        self.compare(*self.plan(A=map(row, noise(10))))
        with open('x.csv') as file:
            lines = file.read().splitlines(True)
        lines[2] = re.sub(old, new, lines[2], count=1)
        with open('x.csv', 'w') as file:
            file.writelines(lines)
        self.assertEqual(self.compare('x.csv', csv_file=None), (
            2, "compare: error: line 3 of 'x.csv' is damaged; delete this line, or use the "
            'original file\n', ''))

    @each(('turns', '%d,3000', '-'), ('turns after the last', '%d,300', '-'),
          ('commands', '1,10', '%d'))
    def too_many(self, turns, command):
        """compare would read them for minutes."""
        self.compare('-n', '6', *self.plan(A=map(row, noise(6))))
        with open('x.csv') as file:
            header, *_, last = file.read().splitlines()
        with open('x.csv', 'w') as file:
            print(header, file=file)
            for i in range(1, 3000):
                cells = re.sub(',6,6,0,run A.plan -- p,$', ',%s,0,%s,' % (turns, command), last)
                print(cells.replace('%d', str(i)), file=file)
        began = time.monotonic()
        self.assertEqual(self.compare('x.csv', csv_file=None), (
            2, "compare: error: 'x.csv' has more than 4 commands or 300 turns; use the original "
            'file\n', ''))
        self.assertLess(time.monotonic() - began, 10)

    def test_the_columns_are_aligned_whatever_their_digits(self):
        both = sides([[dict(time_ms=1000., init_ms=91.7)] * 2] * 7)
        self.assertEqual(list(compare.difference_table(both)), [
            'ms         A       B  B - A  95 % confidence',
            'init    91.7    91.7   +0.0  (+0.0 to +0.0)',
            'time  1000.0  1000.0   +0.0  (+0.0 to +0.0)'])


class Launches(Case):
    def test_what_ziatest_gets(self):
        self.plan(A=map(row, noise(6)))
        self.compare('-n', '6', "--ppn 4 srun '-N 4' A.plan -- ./a 'b c'")
        with open('argv') as file:
            argv = file.read().splitlines()
        options = '-q --start-only -t %d --csv DIR/row.csv --ppn 4 srun -N 4 A.plan -- ./a b c '
        here = re.escape(os.getcwd())
        self.assertEqual([re.sub(here + '/[.]ziatest-compare-[^/ ]+', 'DIR', line)
                          for line in argv], [options % 3600] + [options % 60] * 6)

    def test_a_command_that_begins_with_an_option(self):
        commands = self.plan(A=map(row, noise(6)))
        out = self.compare('-n', '6', '--ppn=4 ' + commands[0], '--prepare=: a  b')[2]
        self.assertEqual(out[:47], 'A  --ppn=4 run A.plan -- p\n   prepared by: : a ')

    def test_no_file_of_the_user_is_touched(self):
        names = ['x.csv.row', 'x.csv.out']
        for name in names:
            os.symlink('victim', name)
        with open('victim', 'w') as file:
            file.write('precious')
        before = {*os.listdir('.'), 'A.plan', 'A.plan.count', 'argv', 'x.csv'}
        self.compare('-n', '6', *self.plan(A=map(row, noise(6))))
        self.assertEqual({*os.listdir('.')}, before)
        with open('victim') as file:
            self.assertEqual(file.read(), 'precious')

    def test_the_limit_that_was_given(self):
        self.compare('-n', '6', '-t', '33', *self.plan(A=map(row, noise(6))))
        with open('argv') as file:
            self.assertEqual(set(re.findall('-t ([0-9]+)', file.read())), {'33'})

    def test_the_limit_is_ten_times_the_longest_launch(self):
        plan = ['sleep 0.2; ' + row(500), *map(row, noise(6))]
        with mock.patch.object(compare, 'LEAST_LIMIT', 1):
            self.compare('-n', '6', *self.plan(A=plan))
        with open('argv') as file:
            limits = [int(limit) for limit in re.findall('-t ([0-9]+)', file.read())]
        self.assertGreaterEqual(min(limits[1:]), 3)

    def test_a_row_that_is_written_in_two_parts(self):
        real, first = os.write, [True]

        def write(descriptor, line):
            part = line[:9] if first else line
            first.clear()
            return real(descriptor, part)
        with mock.patch('os.write', write):
            compare.Rows('y.csv').write('a whole row\n')
        with open('y.csv') as file:
            self.assertEqual(file.read(), 'a whole row\n')

    def test_the_rows(self):
        self.compare('-n', '20', *self.plan(A=map(row, noise(20)), B=map(row, noise(20))))
        rows = self.rows()
        self.assertEqual(list(rows[0]), [*compare.Row._fields, 'turn', 'turns', 'status',
                                         'command', 'prepare'])
        self.assertEqual([row['turn'] for row in rows],
                         [str(turn) for turn in range(21) for _ in 'AB'])
        self.assertEqual([row['command'][4] for row in rows[:2]], ['A', 'B'])
        orders = {rows[i]['command'] for i in range(2, 42, 2)}
        self.assertEqual(len(orders), 2, 'each command begins some turns')

    def test_the_same_command_twice(self):
        commands = self.plan(A=[row(500)] * 20) * 2
        out = self.compare('-n', '6', *commands)[2]
        self.assertIn('\nB  run A.plan -- p (2)\n', out)

    def test_prepare(self):
        commands = self.plan(A=map(row, noise(6)), B=map(row, noise(6)))
        self.compare('-n', '6', '--prepare', 'echo a >>argv', '--prepare', 'echo b >>argv',
                     *commands)
        with open('argv') as file:
            lines = [line.split(' run')[-1].strip() for line in file]
        self.assertEqual({(lines[i], lines[i + 1]) for i in range(0, 28, 2)},
                         {('a', 'A.plan -- p'), ('b', 'B.plan -- p')})

    def test_prepare_fails(self):
        status, err, out = self.compare('--prepare', 'exit 3', *self.plan(A=[row(500)]))
        self.assertEqual((status, err, out), (
            2, 'compare: error: the command of --prepare failed with status 3: exit 3\n', ''))
        self.assertFalse(os.path.exists('x.csv'))  # It would have no row.

    def test_no_file_is_named(self):
        for _ in range(2):  # in the same second
            self.compare('-n', '6', *self.plan(A=map(row, noise(6))), csv_file=None)
            os.unlink('A.plan.count')
        self.assertEqual(len(glob.glob('compare-*Z.csv')), 2)

    @each(('nothing', ['-n', '6'], 'a command is missing, or the file of an earlier comparison'),
          ('not quoted', ['srun', '-N', '4', '--', './a'],
           "option -N not recognized; quote each command, as in 'srun -N 4 ... -- ziaprobe'"),
          ('not quoted, a long option', ['srun', '--nodes=4', '--', './a'],
           "option --nodes not recognized; quote each command, as in 'srun -N 4 ... -- ziaprobe'"),
          ('no value', ['a -- b', '-n'], 'option -n requires argument'),
          ('no number', ['-n', 'x', 'a -- b'], "-n must be a whole number from 6 to 300, not 'x'"),
          ('a fraction', ['-t', '0.5', 'a -- b'], "-t must be a whole number of seconds, from 1 to "
           "999999, not '0.5'"),
          *((command, [command], "'%s' is not a whole command; quote each..." % command)
            for command in ('srun', '2', '--ppn 2 srun', 'srun -N 4 ziaprobe')),
          ('options', ['-v srun -N 4 -- ziaprobe'], "'-v srun -N 4 -- ziaprobe': option -v not "
           'recognized; before the launcher, only --ppn N is allowed'),
          ('an open quote', ["srun 'a"], '\'srun \'a\': no closing quotation'),
          ('too few', ['-n', '5', 'a -- b'], "-n must be a whole number from 6 to 300, not '5'"),
          ('too many', ['-n', '301', 'a -- b'],
           "-n must be a whole number from 6 to 300, not '301'"),
          ('no time', ['-t', '0', 'a -- b'], "-t must be a whole number of seconds, from 1 to "
           "999999, not '0'"),
          ('five commands', ['a -- b'] * 5, '5 commands; at most 4 can be compared'),
          ('prepare twice', ['--prepare', 'a', '--prepare', 'b', 'a -- b', 'a -- b', 'a -- b'],
           'give --prepare once, or once for each command'),
          ('a file and an option', ['ziatest'], "'ziatest' is a file; to print its comparison "
           'again, give no options'),
          ('a file and a command', ['ziatest', 'a -- b'],
           "'ziatest' is a file; only launches that take turns can be compared. To see whether "
           'launches have changed over several days, use summarize'))
    def usage(self, arguments, error):
        status, err, out = self.compare(*arguments)
        self.matches(err, 'compare: error: %s\nusage:\n    compare [-n LAUNCHES] ...' % error)
        self.assertEqual((status, out, os.path.exists('x.csv')), (2, '', False))

    def test_help(self):
        status, err, out = self.compare('--help')
        self.assertEqual((status, err), (0, ''))
        self.matches(out, '    compare [-n LAUNCHES] ...if compare was interrupted.\n')

    def test_options_and_values_that_are_joined(self):
        self.compare('-n6', *self.plan(A=map(row, noise(6))), '-t33')
        with open('argv') as file:
            self.assertEqual(re.findall('-t ([0-9]+)', file.read()), ['33'] * 7)

    def test_a_log(self):
        status, err, _ = self.compare('ziatest', csv_file=None)
        self.assertEqual(status, 2)
        self.assertRegex(err, "^compare: error: 'ziatest' was not written by compare; ")

    def test_the_file_exists(self):
        open('x.csv', 'w').close()
        status, err, _ = self.compare('a -- b')
        self.assertEqual((status, err), (
            2, 'compare: error: x.csv exists; a comparison needs a new file\n'))

    def test_no_directory(self):
        status, err, _ = self.compare('a -- b', csv_file='no/x.csv')
        self.assertEqual(status, 2)
        self.assertEqual(err, 'compare: error: no/x.csv: No such file or directory\n')

    def test_ziatest_is_not_there(self):
        os.unlink('ziatest')
        status, err, _ = self.compare('a -- b')
        self.assertEqual(status, 2)
        self.assertRegex(err, r"compare: error: [^ ]*/ziatest: No such file or directory\n\Z")

    def test_no_process_can_be_started(self):
        error = BlockingIOError(errno.EAGAIN, 'Resource temporarily unavailable')
        with mock.patch.object(subprocess, 'Popen', side_effect=error):
            status, err, _ = self.compare('a -- b')
        self.assertEqual((status, err), (
            2, 'compare: error: Resource temporarily unavailable\n'))

    def test_a_file_that_cannot_be_read(self):
        self.assertEqual(self.compare('/proc/self/mem', csv_file=None), (
            2, 'compare: error: Input/output error\n', ''))

    def test_a_full_disk(self):
        commands = self.plan(A=[row(500)] * 9, B=[row(500)] * 9)
        run = self.start(*commands, shell='ulimit -f 2; exec "$0" "$@"')  # 1024 bytes
        out, err = run.communicate(timeout=60)
        self.assertEqual((run.returncode, err), (2, 'compare: error: x.csv: File too large\n'))

    def test_stdout_is_full(self):
        run = self.start('-n', '6', *self.plan(A=map(row, noise(6))),
                         shell='exec "$0" "$@" >/dev/full')
        _, err = run.communicate(timeout=60)
        self.assertEqual((run.returncode, err),
                         (2, 'compare: error: stdout: No space left on device\n'))


    @each(('stdin', '<&-'), ('stderr', '2>&-'), ('both', '<&- 2>&-'))
    def closed(self, closes):
        commands = self.plan(A=map(row, noise(6)), B=map(row, noise(6)))
        run = self.start('-n', '6', '--prepare', 'echo noise >&2', *commands,
                         shell='exec "$0" "$@" ' + closes)
        out, err = run.communicate(timeout=60)
        self.assertEqual((run.returncode, err), (0, '' if '2' in closes else 'noise\n' * 14))
        self.matches(out, 'A  run A.plan -- p\n...all rows are in x.csv\n')
        self.assertEqual(self.compare('x.csv', csv_file=None), (0, '', out))

    @each(('stdout', '>&-', 'compare: error: stdout: Bad file descriptor\n'),
          ('stdout and stderr', '>&- 2>&-', ''), ('all', '<&- >&- 2>&-', ''))
    def closed_before_the_first_launch(self, closes, error):
        run = self.start(*self.plan(A=map(row, noise(6))), shell='exec "$0" "$@" ' + closes)
        _, err = run.communicate(timeout=60)
        self.assertEqual((run.returncode, err, os.path.exists('x.csv')), (2, error, False))


class Failures(Case):
    def test_in_turn_0(self):
        commands = self.plan(A=[row(500)], B=['echo noise; echo srun: error: wrong; exit 3'])
        status, err, out = self.compare(*commands)
        self.assertEqual((status, out), (1, ''))
        self.assertEqual(err, 'B failed in turn 0: status 3\n    srun: error: wrong\n'
                              'compare: error: B failed in its first launch\n')
        self.assertEqual([each['status'] for each in self.rows()], ['0', '3'])

    def test_sometimes(self):
        plan = list(map(row, noise(10)))
        plan[3], plan[7] = 'echo a; echo b; echo c; echo d; exit 1', 'kill -9 $$'
        plan[9] = 'exit 1'
        status, err, out = self.compare(*self.plan(A=map(row, noise(10)), B=plan))
        self.assertEqual(status, 1)
        self.assertEqual(err, 'B failed in turn 3: status 1\n    b\n    c\n    d\n'
                              'B failed in turn 7: status 137\n'
                              'B failed in turn 9: status 1\n')
        self.matches(out, '...\nB  7 launches, 3 failed ...\nno difference found: ...')
        self.assertEqual(sum(each['time_ms'] == '' for each in self.rows()), 3)

    def test_three_in_a_row(self):
        plan = [*map(row, noise(6)), 'exit 1', 'exit 1', 'exit 1']
        status, err, out = self.compare(*self.plan(A=map(row, noise(10)), B=plan))
        self.assertEqual(status, 1)
        self.assertRegex(err, r'compare: error: B failed 3 times in a row\n\Z')
        self.assertRegex(out, 'ended after [89] of 10 turns; the first launch')
        self.assertIn('no difference found', out)

    def test_too_few_are_left(self):
        plan = list(map(row, noise(6)))
        plan[2] = 'exit 1'
        out = self.compare('-n', '6', *self.plan(A=map(row, noise(6)), B=plan))[2]
        self.assertIn('too few launches to compare A and B: at least 6 turns without a '
                      'failure are needed\n', out)

    def test_no_row(self):
        status, err, _ = self.compare(*self.plan(A=['true']))
        self.assertEqual(status, 1)
        self.assertIn('A failed in turn 0: it wrote no result; can all nodes write to .?\n', err)

    def test_only_the_end_of_a_long_output_is_read(self):
        """The memory of compare is limited, not that of what it starts."""
        self.plan(A=['ulimit -v unlimited; yes a lot of output | head -c 300000000; '
                     'echo srun: error: wrong; exit 3'])
        run = self.start('run A.plan -- p', shell='ulimit -S -v 400000; exec "$0" "$@"')
        self.assertEqual(run.communicate(timeout=60), (
            '', 'A failed in turn 0: status 3\n    srun: error: wrong\n'
            'compare: error: A failed in its first launch\n'))

    @each(('NUL', 's/,/\\x00/3'), ('not UTF-8', 's/PMIx/\\xff\\xfe/; s/,500.000,/,x,/'),
          ('time 0', 's/,500.000,/,0.000,/'), ('a time below 0', 's/,500.000,/,-1.000,/'),
          ('no time', 's/,500.000,/,,/'), ('cut', 's/,500.000,.*/,5/'))
    def a_damaged_row(self, edit):
        plan = [row(500)] * 11
        plan[3] += '; sed -i "$ %s" "$csv"' % edit
        with mock.patch.dict(os.environ, LC_ALL='C'):
            run = self.start(*self.plan(A=plan, B=[row(500)] * 11))
        out, err = run.communicate(timeout=60)
        self.assertEqual((run.returncode, err), (
            1, 'A failed in turn 3: it wrote a damaged row\n'))
        self.matches(out, '...\nA  9 launches, 1 failed ...')
        self.assertEqual(self.compare('x.csv', csv_file=None), (1, '', out))

    def test_a_hang(self):
        with mock.patch.object(compare.children, 'GRACE', 0.2):
            status, err, _ = self.compare('-t', '1', *self.plan(A=['echo here; sleep 1000']))
        self.assertEqual((status, err), (
            1, 'A failed in turn 0: it did not end within 1 s\n    here\n'
               'compare: error: A failed in its first launch\n'))

    def test_a_hang_after_the_result(self):
        with mock.patch.object(compare.children, 'GRACE', 0.2):
            err = self.compare('-t', '1', *self.plan(A=[row(500) + '; sleep 1000']))[1]
        self.assertIn('it did not end within 1 s, although it wrote a result\n', err)

    def test_a_launcher_that_ignores_sigterm(self):
        with mock.patch.object(compare.children, 'GRACE', 0.5):
            err = self.compare('-t', '1', *self.plan(
                A=["trap '' TERM; echo $$ >pid; while :; do sleep 1; done"]))[1]
        self.assertIn('it did not end within', err)
        with open('pid') as file, self.assertRaises(ProcessLookupError):
            os.kill(int(file.read()), 0)


class Signals(Case):
    def begun(self, **options):
        """Starts a comparison whose eighth launch hangs, and waits for this."""
        hangs = "trap 'echo >ended; exit 1' TERM; echo >hangs; while :; do sleep 0.05; done"
        commands = self.plan(A=[*map(row, noise(7)), hangs], B=map(row, noise(9)))
        self.running = self.start('-n', '9', *commands, **options)
        self.poll(lambda: os.path.exists('hangs'))

    @each(('Ctrl-C', signal.SIGINT, 130), ('TERM', signal.SIGTERM, 143),
          ('HUP', signal.SIGHUP, 129))
    def ends(self, number, status):
        self.begun()
        self.running.send_signal(number)
        self.running.send_signal(number)  # typed twice
        out, err = self.running.communicate(timeout=60)
        self.assertEqual((self.running.returncode, err), (status, ''))
        self.matches(out, '...\nno difference found: ...\nended after 7 of 9 turns; the first...')
        self.assertTrue(os.path.exists('ended'), 'the launcher could end its ranks')
        self.assertGreaterEqual(len(self.rows()), 16)
        self.assertEqual(glob.glob('.ziatest*'), [])

    def test_nohup(self):
        self.begun(shell="trap '' HUP; exec \"$0\" \"$@\"")
        self.running.send_signal(signal.SIGHUP)
        self.running.send_signal(signal.SIGTERM)
        self.running.communicate(timeout=60)
        self.assertEqual(self.running.returncode, 143)

    def test_during_prepare(self):
        run = self.start('--prepare', 'echo >hangs; sleep 1000', *self.plan(A=[row(500)]))
        self.poll(lambda: os.path.exists('hangs'))
        run.send_signal(signal.SIGINT)
        self.assertEqual((run.communicate(timeout=60), run.returncode), (('', ''), 130))

    def interrupt(self, *_):
        os.kill(os.getpid(), signal.SIGINT)

    def test_before_the_first_launch(self):
        real = compare.csv.writer
        with mock.patch.object(compare.csv, 'writer', lambda *a, **b: self.interrupt() or
                               real(*a, **b)):
            # A launch that had ended before compare looks would count.
            status, err, out = self.compare(*self.plan(A=['sleep 1000']))
        self.assertEqual((status, err, out, os.path.exists('x.csv')), (130, '', '', False))

    def test_while_the_last_row_is_written(self):
        def write(file, text):
            real(file, text)
            if ',6,6,0,' in text:
                self.interrupt()
        real = compare.Rows.write
        with mock.patch.object(compare.Rows, 'write', write):
            status, err, out = self.compare('-n', '6', *self.plan(A=[row(500)] * 7))
        self.assertEqual((status, err, len(self.rows())), (130, '', 7))
        self.matches(out, '...\nA  6 launches ...')

    def test_during_the_summary(self):
        """Nobody reads it from the pipe, which is full."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, bytes(4096))
        os.set_blocking(writer, True)
        run = self.start('-n', '6', *self.plan(A=[row(500)] * 7), stdout=writer)
        self.poll(lambda: os.path.exists('x.csv') and len(self.rows()) == 7)
        try:
            self.poll(lambda: run.send_signal(signal.SIGINT) or run.poll() is not None)
        finally:
            os.close(reader)
            os.close(writer)
        self.assertEqual((run.communicate(timeout=60)[1], run.returncode), ('', -signal.SIGINT))

    def test_ctrl_c_at_a_terminal_and_the_line_of_progress(self):
        hangs = 'echo >hangs; sleep 1000'
        commands = self.plan(A=[*map(row, noise(7)), hangs], B=map(row, noise(10)))
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
        self.assertRegex(text.decode(), r'\r\x1b\[Kturn 8 of 10: A, \d+ s; about \d+ s left')
        self.assertIn('no difference found', text.decode())


LATE = '''#!/bin/sh
# late.sh TIMES PROGRAM...: on the second node, sleeps for TIMES times the longest launch so far of
# the command with TIMES 0
export LC_ALL=C
if [ "$SLURM_NODEID" = 1 ]; then
    sleep "$(grep 'late.sh 0 ' x.csv | cut -d , -f %d | sort -n |
        awk -v times="$1" 'END { print times * $1 / 1000 }')"
fi
shift
exec "$@"
'''


class Cluster(Case):
    def test_a_real_delay(self):
        """One of two nodes is late in exec. Its delay is four times the longest launch of A so far,
        so that no noise hides it."""
        if subprocess.call([os.path.join(TOP, 'tests/cluster'), '1', 'true'],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            if os.environ.get('CI') == 'true':
                self.fail('tests/cluster does not start')
            self.skipTest('tests/cluster does not start')
        with open('late.sh', 'w') as file:
            file.write(LATE % (compare.Row._fields.index('time_ms') + 1))
        os.chmod('late.sh', 0o755)
        launch = 'srun -N 2 --ntasks-per-node 1 ./late.sh %s -- ' + TOP + '/ziaprobe'
        run = subprocess.run([os.path.join(TOP, 'tests/cluster'), '2', TOP + '/tools/compare', '-n',
                              '6', '--csv', 'x.csv', launch % 0, launch % 4],
                             timeout=3000, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             universal_newlines=True)
        self.show('status %d' % run.returncode, run.stderr + run.stdout)
        self.assertEqual((run.returncode, run.stderr), (0, ''))
        self.assertRegex(run.stdout, r'\nexec .* \(\+[1-9][0-9.]* to \+[0-9.]+\)\n')
        self.assertRegex(run.stdout, r'\nB takes [0-9]+ % more time than A \(.*\), mostly exec\n')


tap.main(sys.modules[__name__])
