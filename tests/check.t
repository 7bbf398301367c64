#!/usr/bin/env python3
"""job/check: the collector, differences between nodes, the text, launches that fail, and signals,
with a launcher and a ziatest that do what the case plans; and real faults on a real cluster.
helpers/tap.py says how to run one case."""
import contextlib
import functools
import importlib.machinery
import importlib.util
import io
import os
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
import tap  # noqa: E402
from tap import each  # noqa: E402

TOP = os.path.realpath(tap.top)
loader = importlib.machinery.SourceFileLoader('check', os.path.join(TOP, 'job/check'))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader('check', loader))
loader.exec_module(check)
import facts  # noqa: E402

# Runs its arguments twice on each of n1 to n4, as srun does. Its output is edited by $SED.
LAUNCHER = '''#!/bin/sh
for node in 1 2 3 4; do
    for place in 0 1; do
        SLURMD_NODENAME=n$node SLURM_LOCALID=$place SLURM_PROCID=$((2 * node - 2 + place)) \\
            SLURM_STEP_NUM_TASKS=8 SLURM_STEP_NODELIST=n[1-4] "$@"
    done
done | sed "$SED"
'''
RESULT = '''Time test was completed in   511.63 millisecs
Slowest rank: 3

511.630 ms, 4 nodes x 2 = 8 ranks
outlier: none
MPI:        Open MPI v4.1.4
'''
COLLECT = os.path.join(TOP, 'job/collect')


def write(name, text, mode=0o755):
    with open(name, 'w') as file:
        file.write(text)
    os.chmod(name, mode)


class Case(tap.Case):
    def setUp(self):
        self.mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self.nodes, self.environment = [], dict(SED='')
        write('launcher', LAUNCHER)
        write('ziaprobe', 'the benchmark')
        write('solver', 'the program')
        self.plan(RESULT)

    def tearDown(self):
        signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)

    def plan(self, output, commands='exit 0'):
        """Writes a ziatest that prints OUTPUT, and then runs COMMANDS."""
        write('output', output)
        write('ziatest', '#!/bin/sh\n[ "$1" != --version ] || exec echo ziatest 3.0\n'
                         'echo "$@" >argv\ncat output >&2\n' + commands + '\n')

    def check(self, *arguments, **environment):
        """Runs check in this process. Returns its status, what it printed, and its first line."""
        out, err = io.StringIO(), io.StringIO()
        environment = dict(self.environment, **environment)
        own = [key for key in os.environ if key.startswith('SLURM')]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
                mock.patch.multiple(check, ZIATEST=os.path.abspath('ziatest'),
                                    PROBE=None), \
                mock.patch.dict(os.environ, environment):
            for key in own:
                del os.environ[key]
            try:
                status = self.call(check.main, [*arguments])
            except SystemExit as end:
                status = end.code
        self.show('status %s' % status, err.getvalue() + out.getvalue())
        return status, err.getvalue() + out.getvalue(), out.getvalue().partition('\n')[0]

    def poll(self, condition):
        limit = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.02)


def collect(*arguments, shell='sh', **environment):
    """Runs the collector. Returns its lines, each as a list of fields."""
    environment = dict({'PATH': os.environ['PATH']}, **environment)
    out = subprocess.run([*shell.split(), COLLECT, *arguments], env=environment, timeout=60,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout
    return [line.split('\t') for line in out.decode().splitlines()]


def found(lines):
    return dict(field.partition('=')[::2] for line in lines for field in line[2:-1])


class Collector(Case):
    @each(*((shell, shell) for shell in ('dash', 'bash', 'bash --posix', 'busybox sh')))
    def every_shell(self, shell):
        if not shutil.which(shell.split()[0]):
            self.skipTest('no ' + shell)
        program = shutil.which('cat')
        lines = collect('T', program, 'nowhere/ziaprobe', 'x', shell=shell, FI_PROVIDER='tcp')
        self.assertEqual({(line[0], line[1], line[-1]) for line in lines}, {('@zia', 'T', '@end')})
        known = found(lines)
        self.assertRegex(known['program'], re.escape(program) + ' [0-9]+$')
        self.assertRegex(known['program:libc.so.6'], '^/.* [0-9]+$')
        self.assertEqual((known['probe'], known['$FI_PROVIDER']), ('missing', 'tcp'))
        self.assertEqual(known['host'], os.uname().nodename)
        for key in 'cpus', 'kernel', 'memory', 'nofile', 'shm', 'tmp', 'complete':
            self.assertIn(key, known)

    @each(('Open MPI', '5', dict(OMPI_COMM_WORLD_LOCAL_RANK='1', OMPI_COMM_WORLD_RANK='5',
                                 OMPI_COMM_WORLD_SIZE='8', SLURM_LOCALID='0', SLURM_PROCID='2')),
          ('hydra', '3', dict(MPI_LOCALRANKID='1', PMI_RANK='3', PMI_SIZE='8')),
          ('Slurm', '7', dict(SLURM_LOCALID='1', SLURM_PROCID='7', SLURM_STEP_NUM_TASKS='8')))
    def a_rank_that_is_not_the_first_of_its_node(self, rank, variables):
        lines = collect('T', 'cat', 'cat', 'x', **variables)
        known = found(lines)
        self.assertEqual((len(lines), known['rank'], known['size']), (1, rank, '8'))
        self.assertNotIn('kernel', known)

    def test_without_variables_every_process_prints_all(self):
        self.assertIn('complete', found(collect('T', 'cat', 'cat', 'x')))

    def test_no_line_is_torn_and_no_rank_prints_too_much(self):
        variables = {'UCX_%d' % i: 'x' * (900 if i % 3 else 20) for i in range(30)}
        lines = collect('T' * 20, 'cat', 'cat', 'x', **variables)
        lengths = [len('\t'.join(line)) + 1 for line in lines]
        self.assertLess(max(lengths), 1000)
        self.assertLess(sum(lengths), 4096)

    def test_what_of_the_environment_is_printed(self):
        private = dict(UCX_TOKEN='hidden', FI_SECRET_X='hidden', OMPI_MCA_x_KEY='hidden',
                       I_MPI_PASSWORD='hidden', USER='hidden', AWS_X='hidden', A='hidden',
                       OMPI_MCA_orte_node_regex='hidden', SLURM_JOB_ACCOUNT='hidden',
                       OMPI_MCA_x_password='hidden', FI_X_auth_key='hidden', MORE='a\nb=hidden')
        known = found(collect('T', 'cat', 'cat', 'x', UCX_TLS='tcp', LD_PRELOAD='', **private))
        self.assertNotIn('hidden', ' '.join(known.values()))
        self.assertEqual(known['$UCX_TLS'], 'tcp')

    def test_special_characters(self):
        known = found(collect('T', 'cat', 'cat', 'x', UCX_X='a\tb\nc * $HOME \'"'))
        self.assertEqual(known['$UCX_X'], 'a b')  # env prints the rest as another line.
        os.mkdir('a b')
        write('a b/c*', '#!/bin/sh\n')
        self.assertRegex(found(collect('T', './a b/c*', 'cat', 'x'))['program'], r'^./a b/c\* ')

    def test_a_program_that_cannot_be_started(self):
        write('text', '', 0o644)
        os.mkdir('folder')
        states = [found(collect('T', name, 'cat', 'x'))['program']
                  for name in ('nowhere', './nowhere', './text', './folder')]
        self.assertEqual(states, ['missing', 'missing', 'not executable', 'not executable'])

    def test_a_program_in_this_directory(self):
        """Some launchers find it without ./"""
        write('here', '#!/bin/sh\n')
        self.assertRegex(found(collect('T', 'here', 'cat', 'x'))['program'], '^here ')

    def test_a_missing_library_and_version(self):
        os.mkdir('bin')
        write('bin/ldd', '#!/bin/sh\nprintf "\\tliba.so.1 => not found\\n\\tlibmpi.so.40 => '
                         '/lib/x (0x1)\\n./p: /lib/libc.so.6: version \\`GLIBC_2.99\' not found"')
        path = os.path.abspath('bin') + ':' + os.environ['PATH']
        known = found(collect('T', 'cat', 'cat', 'x', PATH=path))
        self.assertEqual(known['program_lacks'], "liba.so.1 `GLIBC_2.99'")
        self.assertEqual(known['program:libmpi.so.40'].strip(), '/lib/x')

    def test_an_image_without_tools(self):
        """Facts are missing, not wrong."""
        lines = collect('T', '/bin/cat', '/bin/cat', 'x', shell=shutil.which('sh'), PATH='nowhere')
        known = found(lines)
        self.assertRegex(known['program'], '^/bin/cat')
        for key in 'program_listed', 'program_lacks', 'shm', 'own', 'libc':
            self.assertNotIn(key, known)
        node = facts.Answers(['\t'.join(line) for line in lines], 'T').nodes[known['host']]
        self.assertEqual(facts.compare_libraries([node], 'program', 'cat')[0], [])

    @each(('does not exist', 'nowhere', 'does not exist'),
          ('cannot be written', '/proc', 'no file can be created: '))
    def tmpdir(self, directory, state):
        known = found(collect('T', 'cat', 'cat', 'x', TMPDIR=directory))
        self.assertEqual((known['tmp'], known['tmp_state'][:len(state)]), (directory, state))

    def test_nothing_is_left(self):
        os.mkdir('tmp')
        known = found(collect('T', 'cat', 'cat', 'x', TMPDIR=os.path.abspath('tmp')))
        self.assertNotIn('tmp_state', known)
        self.assertEqual(os.listdir('tmp'), [])


def line(node, place=0, size=8, tag='T', **more):
    """A line of a collector on node NODE, of two ranks each"""
    fields = dict(host='n%d' % node, rank=2 * node - 2 + place, size=size, cpus='0-7')
    if not place:
        fields.update(kernel='6.1', online='0-7', complete='yes', program='./a 11',
                      program_listed='yes', **{'program:libmpi.so.40': '/lib/libmpi.so.40 22'})
    fields.update(more)
    return '\t'.join(['@zia', tag, *('%s=%s' % (key.replace('__', ':'), value)
                                     for key, value in fields.items() if value is not None),
                      '@end'])


def nodes_of(*lines):
    return [*facts.Answers(lines, 'T').nodes.values()]


class Facts(Case):
    def test_answers(self):
        answers = facts.Answers([line(2), '1: ' + line(1) + '\r\n', 'srun: hello', line(2, 1),
                                 line(3, tag='U'), line(3)[:-1], line(1, 1)], 'T')
        self.assertEqual((list(answers.nodes), answers.count, answers.size), (['n1', 'n2'], 4, 8))
        self.assertEqual(answers.missing, ['4', '5', '6', '7'])
        self.assertEqual(len(answers.other), 3)

    @each(('even', '', [line(1), line(1, 1), line(2, 1), line(2)]),
          ('a node has fewer', 'different numbers of ranks, from 1 to 2',
           [line(1), line(1, 1), line(2)]),
          ('cyclic', 'the ranks on n1 are not consecutive',
           [line(1), line(1, 1, rank=2), line(2, rank=1), line(2, 1)]),
          ('no ranks are known', '', [line(1, rank=''), line(2, rank='')]))
    def uneven(self, why, lines):
        answer = facts.Answers(lines, 'T').why_uneven()
        self.assertIn(why, answer)
        self.assertEqual(bool(why), bool(answer))

    def test_one_of_many_and_a_tie(self):
        def of(lines):
            return facts.compare(nodes_of(*lines))
        differ, same = of([line(i, nofile=99 if i == 3 else 1024) for i in range(1, 9)])
        self.assertEqual(differ, [('open files (ulimit -n)', 'n3: 99; the other 7: 1024')])
        self.assertIn(('kernel', '6.1'), same)
        differ, _ = of([line(1, nofile=99), line(2, nofile=1024)])
        self.assertEqual(differ, [('open files (ulimit -n)', 'n1: 99; n2: 1024')])

    def test_what_is_not_known_does_not_differ(self):
        differ, _ = facts.compare(nodes_of(line(1, nofile=9), line(2), line(3, nofile=9)))
        self.assertEqual(differ, [])
        differ, _ = facts.compare(nodes_of(line(1, nofile=9), line(2), line(3, nofile=8),
                                           line(4, nofile=9)))
        self.assertEqual(differ[0][1], 'n3: 8; the other 2: 9; unknown on n2')

    def test_a_variable_that_is_not_set_on_one_node(self):
        differ, _ = facts.compare(nodes_of(line(1, **{'$UCX_TLS': 'tcp'}),
                                           line(2, **{'$UCX_TLS': 'tcp'}), line(3),
                                           line(4, complete=None)))
        self.assertEqual(differ, [('UCX_TLS', 'n3: not set; the other 2: tcp; unknown on n4')])

    def test_equal_nodes_do_not_differ(self):
        self.assertEqual(facts.compare(nodes_of(
            line(1, memory=24684084, shm='12342040 12342040 tmpfs', own='10.0.0.2',
                 addresses='eth0=10.0.0.2'),
            line(2, memory=24684999, shm='12342040 11342040 tmpfs', own='10.0.0.3',
                 addresses='eth0=10.0.0.3')))[0], [])

    @each(('a full /dev/shm', 'shm', dict(shm='12342040 1000 tmpfs'),
           'tmpfs, 11.8 GiB, 0.977 MiB free'),
          ('a name of the loopback', 'own', dict(own='127.0.1.1', addresses='eth0=10.0.0.2'),
           'resolves to 127.0.1.1'),
          ("another node's address", 'own', dict(own='10.0.0.9', addresses='eth0=10.0.0.2'),
           'resolves to 10.0.0.9, which is not one of its addresses'),
          ('TMPDIR', 'tmp', dict(tmp='/x', tmp_state='does not exist'), '/x (does not exist)'),
          ('a quota', 'quota', dict(quota='150'), '1.5'))
    def value(self, key, fields, text):
        self.assertEqual(facts.value_of(nodes_of(line(1, **fields))[0], key), text)

    def test_an_address_that_all_have(self):
        _, same = facts.compare(nodes_of(*[line(i, addresses='eth0=10.0.0.%d docker0=172.17.0.1' %
                                                i) for i in (1, 2)]))
        self.assertIn(('address of 2 nodes', '172.17.0.1 (docker0)'), same)

    @each(('missing', dict(program='missing', program_listed=None), './a is missing on n2'),
          ('not executable', dict(program='not executable', program_listed=None),
           './a is not executable on n2'),
          ('lacks a library', dict(program_lacks='libx.so'), './a lacks libx.so on n2'),
          ('another build', dict(program='./a 12'), 'the nodes have different builds of ./a: n2: '
           './a (checksum 12); the other 2: ./a (checksum 11)'),
          ('another library', dict(program__libmpi_so=None,
                                   **{'program:libmpi.so.40': '/x/libmpi.so.40 23'}),
           'the nodes have different builds of libmpi.so.40: n2: /x/libmpi.so.40 (checksum 23); '
           'the other 2: /lib/libmpi.so.40 (checksum 22)'))
    def wrong(self, fields, text):
        nodes = nodes_of(line(1), line(2, **fields), line(3))
        self.assertEqual(facts.compare_libraries(nodes, 'program', './a')[0], [text])

    @each(('the same build elsewhere', {'program:libmpi.so.40': '/x/libmpi.so.40 22'}),
          ('no checksum', {'program:libmpi.so.40': '/lib/libmpi.so.40 '}),
          ('no ldd', {'program_listed': None, 'program:libmpi.so.40': None}),
          ('nothing', {}))
    def not_wrong(self, fields):
        nodes = nodes_of(line(1), line(2, **fields), line(3))
        self.assertEqual(facts.compare_libraries(nodes, 'program', './a')[0], [])

    @each(('as the report says', 1, ['0', '0']), ('enough', 0, ['0-1', '0-1']),
          ('bound to different CPUs', 0, ['0', '1']), ('a list', 3, ['0-1,5'] * 4))
    def shared(self, count, masks):
        lines = [line(1, i % 2, rank=i, cpus=mask) for i, mask in enumerate(masks)]
        self.assertEqual(facts.shared_cpus(nodes_of(*lines)[0]), count)

    @each(('IPv4', '0500000A', '10.0.0.5'),
          ('IPv6', 'B80D0120000000000000000001000000', '2001:db8::1'),
          ('IPv4 as IPv6', '0000000000000000FFFF00000500000A', '10.0.0.5'))
    def address(self, text, address):
        self.assertEqual(facts.read_address(text), address)

    def test_connections(self):
        nodes = nodes_of(line(3, addresses='eth0=10.0.0.4'), line(4, addresses='eth0=10.0.0.5'))
        lines = ['@zia\tT\thost=n%d\tunanswered=1000:0500000A:0400\tunanswered=1000:0500000A:0401\t'
                 'unanswered=0:0900000A:0050\tunanswered=1000:0900000A:0051\t@end' % i
                 for i in (1, 2)]
        lines += ['@zia\tT\thost=n3\tunanswered=0:0500000A:0400\t@end', '@zia\tT\thost=n9\tunan']
        self.assertEqual([*facts.connections(lines, 'T', nodes)], [
            'n[1-2] to 10.0.0.9, port 81',  # but not those of root
            'n[1-3] to n4 (10.0.0.5), port 1024', 'n[1-2] to n4 (10.0.0.5), port 1025'])

    def test_the_largest_launch(self):
        lines = [line(i, place, size=20000, nofile=99 if i == 4711 else 1024,
                      addresses='eth0=10.1.%d.%d' % divmod(i, 256))
                 for i in range(1, 10001) for place in (0, 1)]
        random.Random(7).shuffle(lines)
        write('lines', '\n'.join(lines))
        write('launcher', '#!/bin/sh\nsed "s/@zia\tT/@zia\t$2/" lines\n')
        self.plan(''.join(
            'ziaprobe: error: timeout of 60 s: rank %d on n%d has waited 57000 ms in a fence of '
            'MPI_Init\n' % (2 * i, i) for i in range(1, 10001) if i != 13), 'exit 124')
        status, out, first = self.check('./launcher', '--', 'ziaprobe')
        self.assertEqual((status, first),
                         (1, '# Launch check: wrong: ziaprobe did not end within 60 s'))
        self.assertIn('open files (ulimit -n): n4711: 99; the other 9999: 1024', out)
        self.assertIn('--exclude=n13', out)
        self.assertLess(len(out.splitlines()), 60)
        self.assertLess(max(map(len, out.splitlines())), 400)


class Arguments(Case):
    @each(('no arguments', [], 'check -- ziaprobe'),
          ('no --', ['-t', '9', 'srun', '-N', '4', './a b'],
           "-- is missing; write it before the program or, to check the launch of the benchmark "
           "itself, write:\n    check -t 9 srun -N 4 './a b' -- ziaprobe\n"),
          ('ziaprobe without --', ['srun', '-N', '4', 'ziaprobe'],
           '    check srun -N 4 -- ziaprobe\n'),
          ('no program', ['srun', '--'], 'the program is missing'),
          ('an option as the program', ['srun', '--', '-N'], 'the program is missing'),
          ('arguments of ziaprobe', ['srun', '--', 'ziaprobe', '-v'], "such as '-v'"),
          ('a limit', ['-t', '0', 'srun', '--', './a'], '-t must be a whole number'),
          ('an unknown option', ['-x', 'srun', '--', './a'], 'option -x not recognized'))
    def usage(self, arguments, message):
        status, out, _ = self.check(*arguments)
        self.assertEqual(status, 2)
        self.assertIn(message, out)
        self.assertIn('\nusage: check ', out)

    @each(('options', ['-t', '9', 'a', '-t', '8', '--', 'b', '-t', '7'],
           (9, False, ['a', '-t', '8'], ['b', '-t', '7'])),
          ('start only', ['--start-only', 'a', '--', 'b'], (60, True, ['a'], ['b'])),
          ('no launcher', ['--', './a', '--', 'b'], (60, False, [], ['./a', '--', 'b'])),
          ('no launcher, with options', ['-t', '9', '--', './a'], (9, False, [], ['./a'])),
          ("the launcher's own --", ['a', '--', '--', 'b'], (60, False, ['a', '--'], ['b'])),
          ('ziaprobe', ['--start-only', 'a', '--', 'ziaprobe'], (60, False, ['a'], ['ziaprobe'])),
          ('a path to ziaprobe', ['--start-only', 'a', '--', './ziaprobe'],
           (60, False, ['a'], ['./ziaprobe'])))
    def words(self, arguments, expected):
        self.assertEqual(check.read_arguments(arguments)[:4], expected)

    def test_help(self):
        status, out, _ = self.check('--help')
        self.assertEqual(status, 0)
        self.assertIn('check [-t SECONDS] [--start-only] LAUNCHER', out)


class Texts(Case):
    def test_nothing_wrong(self):
        status, out, _ = self.check('./launcher', '--', 'ziaprobe')
        self.assertEqual(status, 0)
        self.matches(out, '''\
# Launch check: nothing wrong

    ./launcher -- ziaprobe

1. The launcher starts 8 ranks on 4 nodes, n[1-4], in ... s.
2. ziaprobe initialises MPI, and exchanges a message: 511.630 ms, 4 nodes x 2 = 8 ranks; \
outlier: none.
...
## The same on all nodes

- MPI, according to its library: Open MPI v4.1.4
- ziaprobe: ...
- kernel: ...

ziatest 3.0, 20... UTC
''')
        with open('argv') as file:
            self.assertEqual(file.read(), '-v -t 60 ./launcher -- ziaprobe\n')

    def test_the_number_of_ranks_is_given_only_if_necessary(self):
        self.plan('', 'case "$*" in *--ppn*) cat result;; *) echo "ziaprobe: error: the launcher '
                      'does not provide the number of nodes; give N"; exit 1;; esac')
        write('result', RESULT)
        status, _, first = self.check('./launcher', '--', 'ziaprobe')
        self.assertEqual((status, first), (0, '# Launch check: nothing wrong'))
        with open('argv') as file:
            self.assertEqual(file.read(), '-v -t 60 --ppn 2 ./launcher -- ziaprobe\n')

    def test_labels_in_front_of_lines(self):
        self.plan(re.sub('^', '[1,0]<stderr>:', RESULT, flags=re.M))
        status, out, first = self.check('./launcher', '--', 'ziaprobe', SED='s/^/0: /')
        self.assertEqual((status, first), (0, '# Launch check: nothing wrong'))
        self.assertIn('= 8 ranks; outlier: none.', out)

    def test_no_ziaprobe_was_built(self):
        os.unlink('ziaprobe')
        status, out, first = self.check('./launcher', '--', './solver')
        self.assertEqual((status, first), (3, '# Launch check: MPI was not tried'))
        self.assertIn('ziaprobe was not built; add --start-only', out)

    @each(('no result', '', 'exit 0', 'ziaprobe exited with status 0, but there is no result'),
          ('an error', 'ziaprobe: error: wrong placement\n', 'exit 1',
           'ziaprobe exited with status 1'),
          ('a result and an error', RESULT, 'exit 1',
           'ziaprobe exited with status 1, although there is a result'),
          ('fewer ranks than answered', RESULT.replace('= 8', '= 4'), 'exit 0',
           'ziaprobe exited with status 0, although there is a result'),
          ('killed', '', 'kill -9 $$', 'ziaprobe exited with status 137'))
    def mpi_fails(self, output, commands, short):
        self.plan(output, commands)
        status, out, first = self.check('./launcher', '--', 'ziaprobe')
        self.assertEqual((status, first), (1, '# Launch check: wrong: ' + short))
        self.assertNotIn('nothing wrong', out)
        self.assertIn('\n2. **%s' % short, out)
        self.assertIn('wrong placement' if 'placement' in output else '', out)

    @each(('nothing', '/./d', 'exit 0', 'no rank answered, and the launcher exited with status 0'),
          ('a rank is missing', '/rank=5/d', 'exit 0',
           'nothing from rank 5, and the launcher exited with status 0'),
          ('a node is missing', '/node=n3/d', 'exit 0',
           'nothing from ranks 4-5, on n3, and the launcher exited with status 0'),
          ('half of the nodes are missing', '/node=n[34]/d', 'exit 0',
           'nothing from ranks 4-7, on n[3-4], and the launcher exited with status 0'),
          ('a status', '', 'exit 7', 'all 8 ranks answered, but the launcher exited with status 7'),
          ('the status of a timeout', '', 'exit 124',
           'all 8 ranks answered, but the launcher exited with status 124'))
    def start_fails(self, sed, commands, short):
        write('launcher', LAUNCHER + 'echo srun: error: why >&2\n' + commands)
        status, out, first = self.check('./launcher', '--', 'ziaprobe', SED=sed)
        self.assertEqual((status, first), (1, '# Launch check: wrong: ' + short))
        self.assertIn('\n1. **%s' % short[0].upper() + short[1:], out)
        self.assertIn('srun: error: why', out)
        self.assertIn('\n2. MPI was not tried', out)
        self.assertEqual('--exclude=n3' in out, 'on n3' in short)
        self.assertNotIn('--exclude=n[', out)
        self.assertFalse(os.path.exists('argv'))

    def test_a_launch_line_in_quotes(self):
        status, out, _ = self.check('./launcher -N 4', '--', './solver')
        self.assertEqual(status, 1)
        self.assertIn('without quotes around all of them', out)

    def test_the_launcher_is_missing(self):
        status, out, first = self.check('sruN', '--', './solver')
        self.assertEqual((status, first),
                         (1, "# Launch check: wrong: the launcher 'sruN' was not found"))
        self.assertIn('load its module', out)

    def test_a_slow_step_is_not_called_a_hang(self):
        write('lines', ''.join(line(i, place) + '\n' for i in (1, 2, 3, 4) for place in (0, 1)))
        write('launcher', '#!/bin/sh\nsed "s/@zia\tT/@zia\t$2/" lines; echo before >&2\n'
                          'trap "echo after; exit 1" TERM; while :; do sleep 0.05; done')
        status, out, first = self.check('-t', '5', './launcher', '--', './solver')
        self.assertEqual((status, first), (1, '# Launch check: wrong: all 8 ranks answered, but '
                                              'the launcher did not end within 5 s'))
        self.assertNotIn('hung', out)
        self.assertIn('before', out)
        self.assertNotIn('after', out)  # which would mislead

    def test_a_step_that_ziatest_has_ended(self):
        said = 'ziaprobe: error: timeout of 90 s: rank %d on n%d has %s MPI_Init\n'
        self.plan(said % (4, 3, 'spent 89000 ms in') + ''.join(
            said % (2 * i - 2, i, 'waited 80000 ms in a fence of') for i in (1, 2, 4)), 'exit 143')
        status, out, first = self.check('-t', '90', './launcher', '--', './ziaprobe',
                                        SED='s/host=[^\t]*//')
        self.assertEqual((status, first),
                         (1, '# Launch check: wrong: ziaprobe did not end within 90 s'))
        self.assertIn('--exclude=n3', out)
        self.assertNotIn('has waited', out)  # The roll call is about these lines.

    @each(('ldd shows no MPI', './solver', '', 'ldd does not show the MPI library of ./solver'),
          ('another MPI', './solver',
           r's/\(program\)=\([^\t]*\)/&\t\1_listed=yes\t\1:libmpi.so.12=\/x 7/;'
           r's/\(probe\)=\([^\t]*\)/&\t\1_listed=yes\t\1:libmpi.so.40=\/y 8/',
           './solver uses libmpi.so.12 (7), and ziaprobe libmpi.so.40 (8)'))
    def not_tried(self, program, sed, why):
        status, out, first = self.check('./launcher', '--', program, SED=sed)
        self.assertEqual((status, first), (3, '# Launch check: MPI was not tried'))
        self.assertIn('2. **MPI was not tried**: %s; add --start-only' % why, out)
        self.assertFalse(os.path.exists('argv'))

    @each(('missing', './nowhere', './nowhere is missing on n[1-4]'),
          ('not executable', './output', './output is not executable on n[1-4]'))
    def no_program(self, program, wrong):
        os.chmod('output', 0o644)
        status, out, first = self.check('./launcher', '--', program)
        self.assertEqual(status, 1)
        self.assertEqual(first, '# Launch check: wrong: %s; MPI was not tried' % wrong)
        self.assertIn('tried**: %s cannot be started on any node.\n' % program, out)

    def test_the_same_mpi_is_tried(self):
        status, _, first = self.check('./launcher', '--', './solver', SED=(
            r's/\(program\|probe\)=\([^\t]*\)/&\t\1_listed=yes\t\1:libmpi.so.40=\/x 7/g'))
        self.assertEqual((status, first), (0, '# Launch check: nothing wrong'))

    def test_start_only(self):
        status, out, _ = self.check('-t', '90', '--start-only', './launcher', '--', './solver',
                                    '-x')
        self.assertEqual(status, 0)
        self.assertIn('2. ./solver initialises MPI, and exchanges a message: ', out)
        with open('argv') as file:
            self.assertEqual(file.read(), '-v -t 90 --start-only ./launcher -- ./solver -x\n')

    @each(('not measured', 'ziaprobe: error: nothing was measured: solver uses MPI Sessions',
           'exit 0'),
          ('refused', "ziatest: error: LD_PRELOAD in './launcher' clashes with ziatest's",
           'exit 2'))
    def a_program_that_is(self, said, commands):
        self.plan(said + '\n', commands)
        status, out, first = self.check('--start-only', './launcher', '--', './solver')
        self.assertEqual((status, first), (3, '# Launch check: MPI was not tried'))
        self.assertIn('2. **MPI was not tried**: %s.\n' % said.partition('error: ')[2], out)

    def test_uneven_nodes(self):
        status, out, first = self.check('./launcher', '--', 'ziaprobe',
                                        SED='/rank=7/d; s/size=8/size=7/')
        self.assertEqual((status, first), (3, '# Launch check: MPI was not tried'))
        self.assertIn('different numbers of ranks, from 1 to 2', out)

    def test_several_faults(self):
        os.unlink('solver')
        self.plan('', 'exit 1')
        status, _, first = self.check('--start-only', './launcher', '--', './solver', SED=(
            r'/n2/s/cpus=[^\t]*/cpus=0/; s/online=[^\t]*/online=0-7/'))
        self.assertEqual((status, first), (
            1, '# Launch check: wrong: ./solver exited with status 1; ./solver is missing on '
               'n[1-4]; 2 ranks share 1 CPU on n2'))

    def test_shared_cpus_of_small_nodes_are_not_wrong(self):
        status, out, first = self.check('./launcher', '--', 'ziaprobe', SED=(
            r's/cpus=[^\t]*/cpus=0/; s/online=[^\t]*/online=0/'))
        self.assertEqual((status, first), (0, '# Launch check: nothing wrong'))
        self.assertIn('- 2 ranks share 1 CPU on n[1-4]', out)

    @each(('a directory', 'home', 'home'), ('a link', 'link', 'home'),
          ('with a slash', 'home/', 'home'), ('with an accent', 'h\u00f6me', 'h\u00f6me'))
    def the_home_directory_is_not_shown(self, name, directory):
        os.mkdir(directory)
        os.symlink('home', 'link')
        shutil.copy('/bin/true', directory + '/solver')
        path = os.path.abspath(directory)
        _, out, _ = self.check('./launcher', '--', path + '/solver', HOME=os.path.abspath(name) +
                               '/' * name.endswith('/'), TMPDIR=path)
        self.assertIn('/solver: ~/solver (checksum', out)
        self.assertIn('- TMPDIR: ~\n', out)
        self.assertNotIn(directory + '/solver', out)

    @each(('in an option', ['--password=hidden', '--export=A=1,MY_TOKEN=hidden,B=2'],
           '--password=... --export=A=1,MY_TOKEN=...,B=2'),
          ('in the next word', ['--api-key', 'hidden', '-x'], '--api-key ... -x'),
          ('with quotes', ['--secret', 'hid den', "PASSWD=it's hidden"],
           '--secret ... PASSWD=...'),
          ('no secret', ['--tokens', '--keyboard=us', 'secret', '--key=3,4'],
           '--tokens --keyboard=us secret --key=...'))
    def secrets_in_the_command(self, words, shown):
        write('solver', 'the program')
        self.plan('', 'echo "usage: --token=hidden, --api-key hidden"; exit 1')
        _, out, _ = self.check('--start-only', './launcher', '--', './solver', *words)
        self.assertNotIn('hidden', out)
        self.assertNotIn('hid den', out)
        self.assertIn('usage: --token=..., --api-key ...\n', out)
        self.assertIn('\n    ./launcher -- ./solver %s\n' % shown, out)

    def test_long_outputs_are_folded(self):
        self.plan(''.join('line %d of the library\n' % i for i in range(999)) +
                  ''.join('a' * i + '\n' for i in range(1, 99)), 'exit 1')
        _, out, _ = self.check('./launcher', '--', 'ziaprobe')
        self.assertIn('line 0 of the library   (and 998 similar lines)', out)
        self.assertLess(len(out.splitlines()), 60)

    @each(('in step 1', 'launcher', 'all 8 ranks answered, but the launcher was interrupted after'),
          ('in step 2', 'ziatest', 'ziaprobe was interrupted after'))
    def ctrl_c(self, which, short):
        hangs = "trap 'echo >ended; exit 1' TERM; echo >hangs; while :; do sleep 0.05; done"
        if which == 'launcher':
            write('launcher', LAUNCHER + hangs)
        else:
            self.plan('', hangs)
        shutil.copytree(os.path.join(TOP, 'job'), 'job')
        run = subprocess.Popen(['job/check', './launcher', '--', 'ziaprobe'],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=dict(os.environ, SED=''), universal_newlines=True)
        self.poll(lambda: os.path.exists('hangs'))
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
        self.assertEqual((run.returncode, err), (130, ''))
        self.assertIn('# Launch check: interrupted: ' + short, out)
        self.assertIn('## The same on all nodes', out)
        self.assertTrue(os.path.exists('ended'), 'the launcher could end its ranks')

    def test_ctrl_c_before_the_first_step(self):
        shutil.copytree(os.path.join(TOP, 'job'), 'job')
        write('job/collect', '#!/bin/sh\necho >hangs\nexec sleep 1\n')
        run = subprocess.Popen(['job/check', './launcher', '--', 'ziaprobe'],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=dict(os.environ, SED=''), universal_newlines=True)
        self.poll(lambda: os.path.exists('hangs'))
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
        self.assertEqual((run.returncode, err), (130, ''))
        self.assertIn('# Launch check: interrupted: no rank answered', out)

    @each(('a full disk', '>/dev/full', 'No space left on device'),
          ('closed', '>&-', 'Bad file descriptor'))
    def stdout(self, where, why):
        shutil.copytree(os.path.join(TOP, 'job'), 'job')
        run = subprocess.run('job/check ./launcher -- ziaprobe ' + where, shell=True, timeout=60,
                             stderr=subprocess.PIPE, universal_newlines=True,
                             env=dict(os.environ, SED=''))
        self.assertEqual((run.returncode, run.stderr), (2, 'check: error: stdout: %s\n' % why))

    def test_a_closed_stderr(self):
        shutil.copytree(os.path.join(TOP, 'job'), 'job')
        run = subprocess.run(['sh', '-c', '"$0" job/check ./launcher -- ziaprobe <&- 2>&-',
                              sys.executable], stdout=subprocess.PIPE, timeout=60,
                             universal_newlines=True, env=dict(os.environ, SED=''))
        self.assertEqual(run.returncode, 0, run.stdout)


@functools.lru_cache()
def has_cluster():
    return shutil.which('mpicc.openmpi') and subprocess.call(
        [TOP + '/tests/cluster', '1', 'true'], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL) == 0


class Cluster(Case):
    """Real launches, each on four nodes. Something is wrong on NODE, which is chosen at random."""
    def setUp(self):
        super().setUp()
        if not has_cluster():
            if os.environ.get('CI') == 'true':
                self.fail('tests/cluster does not start, or there is no Open MPI')
            self.skipTest('tests/cluster does not start, or there is no Open MPI')
        os.unlink('ziaprobe')  # so that the one of the build is used
        self.compile('openmpi')
        self.node = random.randint(1, 4)

    def compile(self, mpi):
        subprocess.check_call(['mpicc.' + mpi, '-o', 'solver', TOP + '/tests/helpers/init.c'])

    def on_cluster(self, *words, status=0, before=(), type='pmix'):
        """Runs check on a cluster. Returns what it printed, and its first line."""
        run = subprocess.run([TOP + '/tests/cluster', '4', *before, TOP + '/job/check', *words],
                             timeout=300, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             universal_newlines=True, env=dict(os.environ, SLURM_MPI_TYPE=type))
        self.show('status %d, fault on n%d' % (run.returncode, self.node), run.stdout)
        self.assertEqual(run.returncode, status, run.stdout)
        return run.stdout, run.stdout.partition('\n')[0]

    def srun(self, *words, **options):
        return self.on_cluster(*words[:-1], 'srun', '-N', '4', '--ntasks-per-node', '2',
                               './wrapper', '--', words[-1], **options)

    def wrap(self, commands):
        """Writes a wrapper of what srun starts, with COMMANDS on one node only."""
        write('wrapper', '#!/bin/sh\nif [ "$SLURMD_NODENAME" = n%d ]; then\n%s\nfi\nexec "$@"\n' %
              (self.node, commands))

    def hosts(self, slots=''):
        write('hosts', ''.join('n%d%s\n' % (i, slots) for i in range(1, 5)))

    @each(('srun', ['srun', '-N', '4', '--ntasks-per-node', '2', '--', './solver'], ()),
          ('srun, the program itself', ['--start-only', 'srun', '-N', '4', '--ntasks-per-node', '2',
                                        '--', './solver'], ()),
          ('mpirun in an allocation', ['mpirun', '--map-by', 'ppr:2:node', '--', './solver'],
           ['salloc', '--quiet', '--exclusive', '--nodes=4']),
          ('mpirun over ssh', ['mpirun', '--hostfile', 'hosts', '--map-by', 'ppr:2:node', '--',
                               './solver'], ()))
    def fine(self, words, before):
        self.hosts(' slots=2')
        out, first = self.on_cluster(*words, before=before)
        self.assertEqual(first, '# Launch check: nothing wrong', out)
        self.assertIn('8 ranks on 4 nodes, n[1-4], in', out)
        self.assertIn('4 nodes x 2 = 8 ranks', out)
        self.assertNotIn('Differs', out)

    def test_fine_hydra_over_ssh(self):
        if not shutil.which('mpicc.mpich'):
            self.skipTest('no MPICH')
        self.compile('mpich')
        self.hosts()
        words = ['mpiexec.hydra', '-f', 'hosts', '-n', '8', '-ppn', '2', '--', './solver']
        self.assertEqual(self.on_cluster(*words, status=3, type='pmi2')[1],
                         '# Launch check: MPI was not tried')
        self.assertEqual(self.on_cluster('--start-only', *words, type='pmi2')[1],
                         '# Launch check: nothing wrong')

    def test_a_missing_program(self):
        self.wrap('cd /')
        self.assertEqual(self.srun('./solver', status=1)[1],
                         '# Launch check: wrong: ./solver is missing on n%d' % self.node)

    def test_another_library(self):
        os.mkdir('lib')
        path = re.search('libmpi.so.40 => ([^ ]*)', subprocess.check_output(
            ['ldd', 'solver'], universal_newlines=True))[1]
        shutil.copy(path, 'lib/libmpi.so.40')
        with open('lib/libmpi.so.40', 'ab') as file:
            file.write(b'x')
        self.wrap('export LD_LIBRARY_PATH="$PWD/lib"')
        out, first = self.srun('./solver', status=1)
        self.assertEqual(first, '# Launch check: wrong: the nodes have different builds of '
                                'libmpi.so.40')
        self.assertIn('builds of libmpi.so.40: n%d: ' % self.node, out)
        self.assertIn('- LD_LIBRARY_PATH: n%d: ' % self.node, out)

    def test_the_wrong_mpi_type(self):
        out, first = self.on_cluster('srun', '--mpi=none', '-N', '4', '--', './solver', status=1)
        self.assertIn('# Launch check: wrong: ziaprobe exited with status ', first)
        # Which messages of which rank precede its end depends on chance and on the version.
        self.assertRegex(out, 'PMI support|OPAL ERROR|each is alone in its MPI_COMM_WORLD')

    def test_ranks_on_one_cpu(self):
        if not shutil.which('taskset') or os.cpu_count() < 2:
            self.skipTest('no taskset, or only one CPU')
        self.wrap('exec taskset -c 0 "$@"')
        self.assertEqual(self.srun('./solver', status=1)[1],
                         '# Launch check: wrong: 2 ranks share 1 CPU on n%d' % self.node)

    def test_a_rank_that_is_stuck_in_mpi_init(self):
        write('stuck.c', '#include <unistd.h>\n'
                         'int PMIx_Init(void *a, void *b, int c) { for (;;) sleep(9); }\n')
        subprocess.check_call(['cc', '-shared', '-fPIC', '-o', 'stuck.so', 'stuck.c'])
        self.wrap('case $1 in *ziaprobe) export LD_PRELOAD="$PWD/stuck.so";; esac')
        out, first = self.srun('-t', '20', './solver', status=1)
        self.assertEqual(first, '# Launch check: wrong: ziaprobe did not end within 20 s')
        self.assertRegex(out, r'on n%d has spent \d+ s in MPI_Init, .*PMIx_Init' % self.node)
        self.assertIn('\n       --exclude=n%d\n' % self.node, out)

    def test_a_rank_that_is_stopped(self):
        self.wrap('case $1 in *ziaprobe) [ $SLURM_LOCALID = 0 ] || kill -STOP $$;; esac')
        out, first = self.srun('-t', '20', './solver', status=1)
        self.assertEqual(first, '# Launch check: wrong: ziaprobe did not end within 20 s')
        self.assertIn('\n       next: look for a rank that was killed or stopped\n', out)
        self.assertIn('reached 4 of 4 nodes, and found no unanswered', out)
        self.assertIn('n%d: task %d: ' % (self.node, 2 * self.node - 1), out)

    def test_two_nodes_that_cannot_reach_each_other(self):
        one, other = random.sample(range(1, 5), 2)
        lost = 'ip neigh replace 10.0.0.%d lladdr 02:00:00:00:00:01 dev eth0 nud permanent'
        write('apart', '#!/bin/sh\nssh n%d %s\nssh n%d %s\nexec "$@"\n' % (
            one, lost % (other + 1), other, lost % (one + 1)))
        out, first = self.on_cluster('-t', '20', 'srun', '-N', '4', '--', './solver', status=1,
                                     before=['./apart'])
        self.assertIn('did not end within 20 s', first)
        self.assertRegex(out, r'were not answered:\n\n +(n%d to n%d|n%d to n%d) ' % (
            one, other, other, one))

    def test_a_node_whose_slurmd_is_gone(self):
        write('kill', '#!/bin/sh\nfor p in /proc/[0-9]*; do\n'
                      '[ "$(tr "\\0" " " 2>/dev/null <$p/cmdline)" != "slurmd -D -N n%d " ] ||\n'
                      'kill -KILL ${p#/proc/}; done\nexec "$@"\n' % self.node)
        out, first = self.on_cluster('srun', '-N', '4', '--', './solver', status=1,
                                     before=['./kill'])
        self.assertRegex(first, 'wrong: nothing from rank %d, on n%d' % (self.node - 1, self.node))
        self.assertIn('--exclude=n%d\n' % self.node, out)

    def test_a_step_that_occupies_the_nodes(self):
        write('busy', '#!/bin/sh\nsrun --exclusive --ntasks-per-node 16 sleep 1000 2>log &\n'
                      'until squeue --steps --noheader | grep -q sleep; do sleep 0.1; done\n'
                      'exec "$@"\n')
        out, first = self.on_cluster('-t', '12', 'srun', '-N', '4', '--ntasks-per-node', '4', '--',
                                     './solver', status=1,
                                     before=['salloc', '--quiet', '--nodes=4', '--exclusive',
                                             './busy'])
        self.assertIn('no rank answered, and the launcher did not end within 12 s', first)
        self.assertRegex(out, r'step \d+\.\d+ \(sleep\) is on n\[1-4\]')


tap.main(sys.modules[__name__])
