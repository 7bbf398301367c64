#!/usr/bin/env python3
"""tools/summarize, on the job that helpers/archive.py makes and on altered copies of it: the text,
problems, points to review, honest failures, files that were changed, slow nodes, hostile files,
several jobs, files of ranks, logs, and the pictures. helpers/tap.py says how to run one case."""
import datetime
import functools
import glob
import gzip
import os
import math
import re
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import types
import xml.etree.ElementTree
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), 'helpers'))
import tap  # noqa: E402
import archive  # noqa: E402
import said  # noqa: E402
from archive import Files, make, text  # noqa: E402
from tap import dice, each  # noqa: E402

PROGRAM = os.path.join(os.path.realpath(tap.top), 'tools/summarize')
summarize = tap.load('summarize')
from ziatest.changes import phase_changes  # noqa: E402
from ziatest.job import Launch, Size  # noqa: E402
from ziatest.job_summary import growth  # noqa: E402
from ziatest.read import read  # noqa: E402
from ziatest.rows import Rank, Row, Turn  # noqa: E402
SVG = '{http://www.w3.org/2000/svg}'
flawless = functools.lru_cache()(make)


class Case(tap.Case):
    def run_summarize(self, *arguments):
        """Runs summarize in this process; returns its status, and what it printed."""
        return self.capture(lambda: summarize.main([*map(str, arguments)], sys.stdout.buffer))

    def command(self, *arguments, shell='exec "$0" "$@"', **options):
        """Runs the program through SHELL; returns the same."""
        done = subprocess.run(['sh', '-c', shell, PROGRAM, *arguments], timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        printed = [stream.decode('ascii') for stream in (done.stderr, done.stdout)]
        self.show('%s: status %d' % (shell, done.returncode), ''.join(printed))
        return (done.returncode, *printed)

    def summary_of(self, files, *options):
        """Writes the files of a job, and returns what run_summarize returns."""
        return self.run_summarize(*options, files.write('it'))

    def says(self, status, want, edit=lambda files: None, *options, honest=False, **settings):
        """Checks what is printed about a job after EDIT, as if the job had written all files. Of an
        HONEST job, no file differs from SHA256SUMS."""
        files = Files(flawless(**settings))
        edit(files)
        files.sums()
        got, *printed = self.summary_of(files, *options)
        printed = ''.join(printed)
        self.matches(printed, '...%s...' % want)
        self.assertEqual(got, status, printed)
        if honest:
            self.assertNotRegex(printed, 'SHA256SUMS|changed after|is missing|is not from')
        return printed

    def changed(self, want, edit):
        """Checks the problems of a job after EDIT, which has left SHA256SUMS as it was."""
        files = Files(flawless())
        edit(files)
        status, err, out = self.summary_of(files)
        self.assertEqual((status, err), (1, ''))
        self.matches(out, '...\nProblems\n%s...' % want)

    def refused(self, error, *paths):
        """Checks that there is an error, and no summary."""
        status, err, out = self.run_summarize(*paths)
        self.matches(err, 'summarize: error: %s\n' % error)
        self.assertEqual((status, out), (2, ''))

    def texts(self, name):
        """The texts of a picture, which is parsed"""
        return [each.text for each in xml.etree.ElementTree.parse(name).iter(SVG + 'text')]

    def cells(self, name):
        """The cells of a picture of all nodes, each a title and a shade"""
        return ['%s %s' % (cell.find(SVG + 'title').text, cell.get('fill'))
                for cell in xml.etree.ElementTree.parse(name).iter(SVG + 'rect')
                if cell.find(SVG + 'title') is not None]


SUMMARY = '''\
Ziatest: job 7 on virtual, 2026-11-21T09:33:54Z, Open MPI v4.1.4
8 nodes x 2 = 16 ranks: 601.0 ms, the first launch (43 % init, 33 % spawn, 13 % exchange, 11 % \
other)
Later launches: 602.0, 603.0 ms
No problems; no points to review

compute nodes    8 of 8, 100.0 % (UK-NNSS requires 99 %, NERSC-10 99.5 %)
ranks per node   2; network interfaces per node: 2
nodes            cores 64, threads 2, memory 251 GiB, AMD EPYC 7763, 5.14.21; Slurm 22.05.8
executable       104913536 bytes (at least 100000000 required), on ext4, /dev/vda
build            commit abc1234, sources unchanged
launches         6 of 6 valid
clocks           started on a node of the job; node clocks within 0.067 ms

ms       launch                             time  daemon  spawn  exec   init  fence  exchange  \
clock   cpu  cpu_wait  blocked
8 nodes  first                             601.0    10.0  200.0  20.0  261.0   30.0      80.0    \
0.0  80.0       5.0    196.0
8 nodes  the middle of 2 (602.0 to 603.0)  602.0    10.0  200.0  20.0  262.0   30.0      80.0    \
0.0  80.0       5.0    197.0
4 nodes  first                             401.0    10.0  100.0  20.0  181.0   30.0      60.0    \
0.0  80.0       5.0    116.0
4 nodes  the middle of 2 (402.0 to 403.0)  402.0    10.0  100.0  20.0  182.0   30.0      60.0    \
0.0  80.0       5.0    117.0

from 4 to 8 nodes, the middle launch takes 1.5 times as long: spawn +100.0 ms, init +80.0 ms

Slow nodes: none
'''


class Program(Case):
    """The program itself, in a process of its own"""
    def setUp(self):
        flawless().write('job')

    def pack(self, name, *members):
        with tarfile.open(name, 'w:gz') as archive:
            for member in members:
                archive.add(member)

    def test_an_archive_by_a_link_in_another_language(self):
        self.pack('job.tgz', 'job')
        os.symlink(PROGRAM, 'link')
        environment = dict(os.environ, LC_ALL='C', LANGUAGE='de')
        self.assertEqual(self.command('job.tgz', shell='./link "$@"', env=environment),
                         (0, '', SUMMARY))
        self.assertEqual(glob.glob(os.path.join(os.path.dirname(PROGRAM), '**/*pyc*')), [],
                         'no compiled modules are left')

    def test_archives_of_other_names_and_from_within(self):
        self.pack('-odd name', 'job')
        os.chdir('job')
        self.pack('../within.tgz', '.')
        os.chdir('..')
        self.assertEqual(self.command('--', '-odd name'), (0, '', SUMMARY))
        self.assertEqual(self.run_summarize('within.tgz'), (0, '', SUMMARY))

    def test_an_archive_that_a_browser_has_unpacked(self):
        self.pack('job.tgz', 'job')
        with gzip.open('job.tgz') as file:
            write('job.tar.gz', file.read())
        self.assertEqual(self.run_summarize('job.tar.gz'), (0, '', SUMMARY))

    def test_too_little_memory(self):
        with mock.patch('ziatest.read.problems', side_effect=MemoryError()):
            self.refused('job: reading it takes too much memory', 'job')

    @each(('a full disk', '"$0" job >/dev/full', 2, 'the output: No space left on device', ''),
          ('a closed stdout', '"$0" job >&-', 2, 'the output: Bad file descriptor', ''),
          ('no such job', '"$0" nowhere', 2, 'nowhere: No such file or directory', ''),
          ('a closed stderr', '"$0" nowhere 2>&-', 2, '', ''),
          ('a full stderr', '"$0" nowhere 2>/dev/full', 2, '', ''),
          ('no stdin', '"$0" job <&- 2>&-', 0, '', SUMMARY))
    def runs_with(self, shell, status, error, out):
        self.assertEqual(self.command(shell=shell), (
            status, error and 'summarize: error: %s\n' % error, out))

    def test_ctrl_c(self):
        os.mkfifo('log')
        process = subprocess.Popen([PROGRAM, 'log'], stderr=subprocess.PIPE)
        with open('log', 'w'):  # waits for the program
            process.send_signal(signal.SIGINT)
            self.assertEqual((process.wait(60), process.stderr.read()), (-signal.SIGINT, b''))
        process.stderr.close()

    def test_a_picture_for_which_there_is_no_space(self):
        os.mkdir('large')
        write('large/scaling.svg', 'old')
        status, err, _ = self.command(shell='ulimit -f 1; "$0" --pictures large job | cat')
        self.matches(err, 'summarize: error: large/scaling.svg: File too large\n')
        self.assertEqual(os.listdir('large'), ['scaling.svg'])
        self.assertEqual(tap.read('large/scaling.svg'), 'old')

    def test_a_limit_on_memory_below_that_of_summarize(self):
        self.assertEqual(self.command(shell='ulimit -d 400000; "$0" job'), (0, '', SUMMARY))

    def test_usage(self):
        self.matches(self.run_summarize()[1], 'usage: ...')
        status, err, _ = self.run_summarize('--pictures', '', 'job')
        self.matches(err, 'usage: ...--pictures takes a directory\n')
        self.assertEqual(status, 2)


def stops(files):
    files.stop()
    files.add(INTERFACES='4')


def another_node(files):
    files.sub('environment.txt', '^8 nodes: .*',
              r'\g<0>\n1 node: interfaces 3, rate 1, down 0, cores 8 (n7)')


def bare(files):
    files['environment.txt'] = 'RUNS=3\nSWEEP=4 8 4\nPPN=2\n'
    del files['build.txt'], files['changes.diff']


def small(files, size='45680'):
    for name in files:
        files[name] = files[name].replace('104913536', size)


def append(name, added):
    return lambda files: files.update({name: files[name] + added})


def cut(name, count):
    return lambda files: files.update({name: files[name][:-count]})


def sub(name, pattern, to):
    return lambda files: files.sub(name, pattern, to)


def row(**cells):
    """Edits the row of launch 1 on 8 nodes."""
    return lambda files: [files.cell('results.csv', 2, *cell) for cell in cells.items()]


class Problems(Case):
    """Problems, and facts"""
    @each(
        ('too few nodes', 1, '\n1 problem; no points to review\n\ncompute nodes    8 of 9, 88.8 % '
         '...Problems\ncompute nodes: 8 of 9, fewer than 99 %\n\nms',
         lambda files: files.add(SYSTEM_NODES='9', NODES_FOUND='9')),
        ('too few ranks on one node', 1, 'network interfaces per node: 2 or 3\nnodes            '
         'cores 64, ...Problems\nranks per node: 2 for 3 network interfaces on 1 node (n7)\n',
         another_node),
        ('too few ranks on the first node of a job that stopped', 1, 'interfaces per node: 4\n'
         'nodes            -; Slurm 22.05.8...Problems\nranks per node: 2 for 4 network interfaces '
         'on the first node\n', stops),
        ('a small executable', 1, 'executable: 45680 bytes, fewer than 100000000\n', small),
        ('an executable of 100 MB, which is less than 100 MiB', 0, 'No problems; no points',
         lambda files: small(files, '100000000')),
        ('facts that are missing', 1, 'Ziatest: job unknown on unknown, unknown, Open MPI '
         'v4.1.4\n...\ncompute nodes    8 of - (...\nnodes            -; Slurm -\nexecutable       '
         '104913536 bytes (at least 100000000 required), on -\nbuild            commit -, sources '
         'changed\n...Problems\nbuild.txt is missing\nchanges.diff is missing\n'
         'environment.txt is truncated: the batch script is missing\n\n', bare),
        ('a program that was rebuilt', 1,
         'Problems\nziaprobe was rebuilt while the job ran or waited\n',
         sub('build.txt', '^.*  ziaprobe$', '0' * 64 + '  ziaprobe')),
        ('a clock that is off by less than its bound', 0, 'No problems; no points to review',
         row(offset_ms='-7.000', offset_bound_ms='7.000')),
        ('an unknown clock', 0, 'clocks           started on a node of the job; node clocks within '
         '- ms\n', lambda files: files.cell('results.csv', 4, 'offset_ms', '')))
    def reports(self, status, want, edit):
        self.says(status, want, edit)

    def test_later_launches_in_the_order_in_which_they_ran(self):
        self.says(0, 'Later launches: 1502.0, 603.0 ms', late='3:init:900:2')

    @each(('one', [1, 2, math.nan], [3.5, 2, 9], 'spawn +2.5 ms'),
          ('the two that have grown most', [1, 2, 3], [2, 4, 6], 'exec +3.0 ms, daemon +2.0 ms'),
          ('none', [1, 2, 3], [1.04, 1, math.nan], 'no phase has grown'))
    def names_the_phases_that_have_grown(self, before, after, want):
        rows = [types.SimpleNamespace(spawn_ms=spawn, daemon_ms=daemon, exec_ms=exec_)
                for spawn, daemon, exec_ in (before, after)]
        self.assertEqual(phase_changes(rows[:1], rows[1:], ['daemon', 'spawn', 'exec']),
                         want)

    def test_growth(self):
        self.says(0, 'from 4 to 8 nodes, the middle launch takes 2.7 times as long: exchange '
                  '+517.0 ms, spawn +100.0 ms\n', late='7:exchange:503')

    @each(('the larger size takes longer', [9, 400, 410], [9, 601, 620],
           'from 2 to 16 nodes, the middle launch takes 1.5 times as long: init +201.0 ms'),
          ('they overlap', [400, 400, 610], [700, 601, 620], ''),
          ('one touches the other', [1, 400, 601], [1, 601, 620], ''),
          ('the smaller size has one later launch', [400, 400], [600, 601, 620], ''))
    def growth_is_said_only_of_sizes_that_lie_apart(self, small, large, want):
        sizes = []
        for nodes, ms in (16, large), (4, [500, 500]), (2, small):
            launches = [Launch(nodes, run) for run in range(len(ms))]
            for launch, time in zip(launches, ms):
                launch.valid, launch.row = True, Row(**dict(
                    dict.fromkeys(Row._fields, math.nan), time_ms=time, init_ms=time))
            sizes.append(Size(nodes, launches))
        self.assertEqual(growth(types.SimpleNamespace(sizes=sizes)), want)

    def test_more_than_eight_later_launches(self):
        self.says(0, 'Later launches: 9, the median 606.0 ms (602.0 to 610.0)\n',
                  RUNS='10', SWEEP='8')

    def test_98_percent_of_the_nodes(self):
        self.says(1, 'Problems\ncompute nodes: 99 of 101, fewer than 99 %\n', PPN='1',
                  SWEEP='99', RUNS='1', SYSTEM_NODES='101')

    def test_mpich_hosts_with_a_question_mark_and_one_launch(self):
        self.says(0, 'MPICH 4.0.2\n8 nodes x 2 ...\nNo problems; ...\n8 nodes  first +601.0 10.0 '
                  '200.0 20.0 291.0 - 80.0...\n8 nodes  later - - - - - - - - - - -\n'.replace(
                      '+', '   '), mpi='MPICH 4.0.2', interface='', host='n?%d', RUNS='1',
                  honest=True)


def review_everything(files):
    files.not_launched('8-2', 'x')
    files.cell('results.csv', 6, 'offset_ms', '-6.030')
    files.cell('results.csv', 5, 'corrected_ms', '')
    files.warm('ranks-8-1.csv', 3, 5)
    files.sub('ranks-8-1.csv', '^2,2,(.*),3,', r'2,2,\1,0,')  # one of its two ranks
    files.sub('environment.txt', '^(8 nodes: interfaces) 2(.*)',
              r'\1 1\2\n1 node: interfaces 0, rate 1, down 3, cores 8 (n7)')
    files.add(NODES_FOUND='9', SRUN_OPTIONS='--bcast', NODES_UNUSED='3 idle, 1 down',
              ReqNodeList='n1', FI_TLS='x')
    files.sub('output/4-3.txt', '^status', 'the step has not ended\nstatus')
    files.sub('output/4-2.txt', '^status', 'Slurm did not say whether the step has ended\nstatus')
    files['changes.diff'] = 'diff --git a/ziatest.c b/ziatest.c\n'


def review_many(files):
    for run in 1, 2, 3:
        files.not_launched('4-%d' % run, 'x')
    files.add(ReqNodeList='n1', ExcNodeList='n4', Features='a', Reservation='', Switches='1')
    files.add(**{'UCX_%d' % i: 'x' for i in range(25)})


def set_variables(files):
    files['changes.diff'] = 'UNKNOWN\n'
    files.add(LD_PRELOAD='/x.so', PRTE_MCA_plm_slurm_args='y', OMPI_MCA_plm_slurm_args_x='y',
              HYDRA_BOOTSTRAP='slurm', HYDRA_LAUNCHER_EXTRA_ARGS='x', HYDRA_DEBUG='1', MV2_X='2',
              I_MPI_HYDRA_BOOTSTRAP='slurm', I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS='x',
              SLURM_MPI_TYPE='pmi2', SLURM_CONF='y', MYMPI_X='1')


class Review(Case):
    """The whole list of points to review"""
    @each(
        ('all kinds of points, in their order', '''\
launch 2 on 8 nodes: not launched: x
launch 3 on 4 nodes: the clock of n2 is off by -6.030 ms
launches not started on a node of the job: 1
warm start: 2 of 8 nodes read nothing from disk in the first launch
nodes of more than one kind: 1 node: interfaces 0, rate 1, down 3, cores 8 (n7)
network interfaces that are down: 3 on 1 node (n7)
no network interface found on 1 node (n7)
setting: SYSTEM_NODES=8 (found: 9)
setting: PPN=2 (network interfaces: 1)
setting: SRUN_OPTIONS=--bcast
nodes outside the job: 3 idle, 1 down
option of the job: ReqNodeList=n1
launch 2 on 4 nodes: Slurm did not say whether the step has ended
launch 3 on 4 nodes: the step has not ended
changes.diff: ziatest.c
variable: FI_TLS=x
''', review_everything),
        ('at most five of each kind, of which all count', '''\
launch 1 on 4 nodes: not launched: x
launch 2 on 4 nodes: not launched: x
launch 3 on 4 nodes: not launched: x
option of the job: ReqNodeList=n1
option of the job: ExcNodeList=n4
option of the job: Features=a
option of the job: Switches=1
variable: UCX_0=x
variable: UCX_1=x
variable: UCX_2=x
variable: UCX_3=x
variable: UCX_4=x
... and 20 more
''', review_many),
        ('an unknown number of nodes', 'SYSTEM_NODES is not known: sinfo did not answer\n',
         lambda files: files.add(SYSTEM_NODES='', NODES_FOUND='')),
        ("variables, without Slurm's own", '''\
changes.diff: built outside git
variable: LD_PRELOAD=/x.so
variable: OMPI_MCA_plm_slurm_args_x=y
variable: HYDRA_DEBUG=1
variable: MV2_X=2
variable: SLURM_MPI_TYPE=pmi2
''', set_variables))
    def lists(self, points, edit):
        printed = self.says(0, 'No problems; ', edit)
        listed = re.search('\nTo review\n(.*?\n)\n', printed, re.S)[1]
        self.matches(listed, points) if '...' in points else self.assertEqual(listed, points)
        if 'and 20 more' in points:
            self.matches(printed, '...\nNo problems; 32 points to review\n...')


def timeouts(*nodes):
    """Returns what these nodes print after a timeout."""
    return [said.says(2, 16, 2, node, said.what('IN_FENCE')).rstrip() for node in nodes]


def first_fails(files):
    files.fails('8-1', 1, 'Error 1', 'ziaprobe: error: a', 'ziaprobe: error: a',
                'ziaprobe: error: b', 'slurmstepd: error: execve(): no')


def large_fails(files):
    files.fails('8-1', 143)
    files.fails('8-2', 1)
    files.not_launched('8-3', 'two launches of this size failed in a row')


def all_large_fail(files):
    for run in 1, 2, 3:
        files.fails('8-%d' % run, 1)
        files['output/8-%d.txt' % run] = 'ziatest: error: x\nstatus 1\n'


def all_fail(files):
    for launch in '8-1', '8-2', '8-3', '4-1', '4-2', '4-3':
        files.fails(launch, 1)
    del files['results.csv']


def cancelled(files):
    for name in [name for name in files if re.match('output/4-[23]|ranks-4-', name)]:
        del files[name]
    files.lines('results.csv', 5, 7)
    files.lines('output/4-1.txt', 3, 99)
    files.stop()


def fails_and_cuts_its_row(files):
    files['results.csv'] = files['results.csv'][:-9]
    files.sub('output/4-3.txt', '^status 0', 'status 1')


def errors_after_a_result(files):
    files.sub('output/8-2.txt', '^status', 'foo ziatest: error: y\nstatus')
    files.sub('output/8-3.txt', '^status', 'ziaprobe: error: x\nstatus')


def silent(*nodes):
    """A timeout of launch 2, in which these nodes spoke; the nodes have a domain."""
    def edit(files):
        files.fails('8-2', 124, *timeouts(*nodes))
        files.sub('nodes-8-2.txt', '$(?<=.)', '.x.org')
    return edit


class Honest(Case):
    """Honest jobs: which launch the figure is, problems, points to review"""
    @each(
        ('the first launch failed', 1, '''
8 nodes x 2 = 16 ranks: 602.0 ms, launch 2; launch 1 is not valid (...
Later launches: 603.0 ms
1 problem; no points to review
...Problems
launch 1 on 8 nodes: status 1
    slurmstepd: error: execve(): no
    ziaprobe: error: a
    ziaprobe: error: b

ms ...
8 nodes  first - - - - - - - - - - -
8 nodes  the middle of 2 (602.0 to 603.0)  602.0''', first_fails),
        ('two launches failed', 1,
         ', launch 3; launches 1 to 2 are not valid (...\n2 problems; ',
         lambda files: [files.fails('8-1', 1), files.fails('8-2', 1)]),
        ('no launch of the larger size is valid', 1, '''
4 nodes x 2 = 8 ranks: 401.0 ms, the first launch of this size, after 2 others (...Problems
compute nodes: 4 of 8, fewer than 99 %
launch 1 on 8 nodes: status 143
launch 2 on 8 nodes: status 1
launch 3 on 8 nodes: not launched: two launches of this size failed in a row

''', large_fails),
        ('the larger size failed before ziatest printed anything', 1,
         ', the first launch of this size, after 3 others (', all_large_fail),
        ('no valid launch', 1, '''Z, -
no valid launch
7 problems; ...

compute nodes    - of 8 (...
executable       - bytes ...
launches         0 of 6 valid

Problems
no figure: no launch is valid
launch 1 on 8 nodes: status 1
''', all_fail),
        ('a job that was cancelled', 0, '''No problems; 3 points ...To review
launch 1 on 4 nodes: no status
launch 2 on 4 nodes: no output
launch 3 on 4 nodes: no output

''', cancelled),
        ('a node that died before the output was on the disk', 0, 'launch 3 on 4 nodes: no status',
         lambda files: [files.update({'output/4-3.txt': ''}), files.stop()]),
        ('a launch that failed and cut its row', 0, 'launch 3 on 4 nodes: status 1',
         fails_and_cuts_its_row),
        ('errors after a result', 0, '''To review
launch 2 on 8 nodes: status 0
    foo ziatest: error: y
launch 3 on 8 nodes: status 0
    ziaprobe: error: x
''', errors_after_a_result),
        ('a clock phase that is negative, and almost 0', 0,
         '8 nodes  first 601.0 10.0 200.0 20.0 261.0 30.0 80.0 0.0 ',
         row(exchange_ms='80.010', clock_ms='-0.010')),
        ('text before the result', 0, 'No problems; no points',
         sub('output/8-1.txt', '^Time', 'loaded foo Time')),
        ('warnings', 0,
         'no points ...Warnings\nlaunch 1 on 8 nodes: ziaprobe: warning: w\n\n',
         sub('output/8-1.txt', '^Time', 'ziaprobe: warning: w\nTime')),
        ('two nodes are silent', 0, '''To review
launch 2 on 8 nodes: status 124
    6 nodes wait in a fence
    nothing from n[3,7].x.org
    --exclude=n3.x.org,n7.x.org

ms ''', silent('n1', 'n2', 'n4', 'n5', 'n6', 'n8')),
        ('a hung rank, and other errors', 0, '''launch 2 on 8 nodes: status 124
    rank 5 on n3 has spent 58 s in MPI_Init
    6 nodes wait in a fence
    nothing from n1
    --exclude=n[1,3]
    srun: error: Node failure on n3
    ziaprobe: error: x

''', lambda files: files.fails(
             '8-2', 124, *timeouts('n2', *('n%d' % i for i in range(4, 9))),
             said.says(5, 16, 2, 'n3', said.what('IN_MPI_INIT')).rstrip(),
             'srun: error: Node failure on n3', 'ziaprobe: error: x')),
        ('nodes that are silent after a result', 0, 'launch 2 on 8 nodes: status 124\n',
         sub('output/8-2.txt', '^status 0', timeouts('n1')[0] + '\nstatus 124')))
    def reports(self, status, want, edit):
        self.says(status, want, edit, honest=True)

    def test_a_job_that_was_killed(self):
        def killed(files):
            cancelled(files)
            del files['SHA256SUMS']
        self.changed('SHA256SUMS is missing: the job was killed, or files were lost\n\n', killed)

    def test_exactly_99_percent_of_the_nodes(self):
        self.says(0, '99 nodes  first    5151.0', PPN='1', SWEEP='99 1', RUNS='1',
                  SYSTEM_NODES='100', honest=True)


HEADING = '; ms above the median of all nodes\nnode daemon + spawn exec init exchange\n'


class SlowNodes(Case):
    @each(
        ('a late daemon', '3:daemon:900', '1 of 16, n3%sn3 900.0 0.0 0.0 ...' % HEADING),
        ('late in MPI_Init', '4:init:900', '1 of 16, n4%sn4 0.0 0.0 900.0 -\n' % HEADING),
        ('late in the exchange', '4:exchange:900', '2 of 16, n[3-4]%sn3 with n4 0.0 0.0 0.0 9...'
         % HEADING),
        ('late by less than a tenth of the time', '3:init:90', 'none\n'),
        ('late in one launch of four', '3:init:900:2', 'none\n'),
        ('the worst five first', ' '.join('%d:daemon:%d00' % (node, node)
                                          for node in range(11, 17)),
         '6 of 16, n[11-16]%sn16 ...\nn15 ...\nn14 ...\nn13 ...\nn12 ...\n' % HEADING))
    def finds(self, late, want):
        printed = self.says(0, 'Slow nodes: ' + want, late=late, PPN='1', SWEEP='16 8', RUNS='4')
        self.assertNotIn('\nn11 ', printed)

    def test_a_long_list_of_names_is_cut(self):
        write('r.csv', archive.ranks(1, nodes=3000, ms=300, late='1-2998/3:init:900'))
        self.matches(self.run_summarize('r.csv')[2], '...\nSlow nodes: 1000 of 3000, n[%s,...]; ms '
                     'above the median of all nodes\n...' % ','.join(
                         str(3 * i + 1) for i in range(233)))


def write(name, content):
    with open(name, 'wb') as file:
        file.write(content if isinstance(content, bytes) else content.encode('latin-1'))
    return name


class Names(Case):
    def test_equal_names(self):
        printed = self.says(0,
            '''Slow nodes: 1 of 8, linux (node 4); ms above the median of all nodes
node            daemon + spawn  exec   init  exchange
linux (node 4)             0.0   0.0  900.0         -
''', lambda files: [files.sub('ranks-8-%d.csv' % run, ',n[0-9],', ',linux,')
                    for run in (1, 2, 3)],
                            '--pictures', 'pictures', late='4:init:900')
        self.assertIn('No problems', printed)
        self.assertEqual(len(self.cells('pictures/nodes.svg')), 8)
        self.assertEqual([text for text in self.texts('pictures/ranks.svg') if 'slow:' in text],
                         ['slow: linux (node 4)'])
        self.assertEqual(self.texts('pictures/nodes.svg')[-1], 'linux (node [1-8])')

    def test_names_that_slurm_would_refuse_if_they_were_folded(self):
        self.says(0, 'Slow nodes: 2 of 8, n2-ib,n3-ib; ms above the median of all nodes\n',
                  lambda files: [files.sub(name, ',(n[0-9]),', r',\1-ib,')
                                 for name in files if name.startswith('ranks-')],
                  late='2:init:900 3:init:900')

    def test_two_nodes_of_the_same_name_among_others(self):
        ranks = flawless(late='4:init:900')['ranks-8-1.csv'].replace(',n5,', ',n4,')
        self.matches(self.run_summarize(write('r.csv', ranks))[2],
                     '...\nSlow nodes: 1 of 8, n4 (node 4); ...')


class RanksFile(Case):
    """One file of ranks"""
    def ranks(self):
        return flawless(late='3:daemon:900 4:exchange:200', SWEEP='16', RUNS='1')['ranks-16-1.csv']

    def test_slow_nodes(self):
        self.matches(''.join(map(str, self.run_summarize(write('r.csv', self.ranks())))), '''\
0r.csv: 16 nodes, 32 ranks, the last at 2099.0 ms

Slow nodes: 1 of 16, n3%sn3 900.0 0.0 0.0 ...''' % HEADING)

    def test_a_program_of_its_own(self):
        name = write('a\nprogram.csv', archive.ranks(
            1, nodes=16, program='solver', late='3:daemon:900 5:setup:100'))
        status, err, out = self.run_summarize('--pictures', 'own', name)
        self.matches(out, 'a?program...\nnode daemon + spawn exec setup init exchange\nn3 900.0 '
                     '0.0 0.0 0.0 ...')
        self.assertEqual((status, err), (0, ''))
        texts = self.texts('own/ranks.svg')
        self.assertEqual(texts[:4] + texts[5:7], [
            'Slow: n3; daemon + spawn took 900 ms longer than on the median node',
            'a?program.csv: 16 nodes, 1900 ms; each bar is the slowest rank of a node',
            'daemon: reaching the node', 'spawn: creating the process', 'setup: before MPI_Init',
            'init: in MPI_Init'])
        self.assertEqual([text for text in texts if 'slow:' in text], ['slow: n3'])
        self.assertEqual(tap.read('own/ranks.svg').count('font-weight="bold"'), 2)
        self.assertEqual(self.cells('own/nodes.svg')[2], 'n3: 900 ms #2a0a2e')

    def test_late_by_more_than_a_tenth_but_by_a_tick_only(self):
        write('r.csv', archive.ranks(1, ms=100, late='2:exec:15'))
        self.matches(self.run_summarize('r.csv')[2], '...\nSlow nodes: none\n')

    @each(('a damaged row', lambda ranks: re.sub('(?m)^6,4,.*', '6,4', ranks),
           'few.csv: line 8 is damaged; launch again'),
          ('another host within a node', lambda ranks: ranks.replace('1,1,n1,', '1,1,b,'),
           'few.csv: the rows of node 1 are incomplete or out of order; launch again'),
          ('a cut header', lambda ranks: 'rank,node,',
           'few.csv: not an archive, a --csv or --ranks file, ...'))
    def refuses(self, edit, error):
        write('few.csv', edit(self.ranks()))
        self.refused(error, 'few.csv')

    @each(('no nodes', 0, 'unknown; at least three nodes are needed\n'),
          ('two nodes', 2, 'unknown; at least three nodes are needed\n'),
          ('three nodes', 3, '1 of 3, n3; ...'))
    def has_slow_nodes_among(self, nodes, slow):
        write('few.csv', text(self.ranks().split('\n')[:1 + 2 * nodes]))
        status, err, out = self.run_summarize('--pictures', 'few', 'few.csv')
        self.matches(out, 'few.csv: %d nodes, %d ranks, the last ...\n\nSlow nodes: %s'
                     % (nodes, 2 * nodes, slow))
        self.assertEqual((status, err), (0, ''))


def renumbered(files):
    """The slow first launch is deleted, and the others are renumbered."""
    for name in sorted(files):
        if re.match('(nodes-|ranks-|output/).*-[23][.]', name):
            files[name.replace('-2.', '-1.').replace('-3.', '-2.')] = files.pop(name)
    files.lines('results.csv', 5)
    files.lines('results.csv', 2)
    files.add(RUNS='2')


class Changed(Case):
    """Files that were changed after the job"""
    @each(*((name, name) for name in (
        'build.txt', 'changes.diff', 'environment.txt', 'nodes-4-1.txt', 'output/8-3.txt',
        'ranks-8-1.csv', 'results.csv')))
    def names(self, name):
        self.changed('...%s was changed after the job\n' % name, append(name, '# x\n'))

    @each(
        ('a first launch that is deleted', 'environment.txt was changed after the job\n'
         'nodes-4-3.txt is missing\n...\noutput/4-1.txt was changed ...\noutput/4-2.txt was changed'
         ' ...\noutput/4-3.txt is missing\n', renumbered),
        ("another job's output", 'output/8-4.txt is not from this job',
         lambda files: files.update({'output/8-4.txt': files['output/8-3.txt']})),
        ('an empty list', 'SHA256SUMS is missing: the job was killed, or files were lost',
         lambda files: files.update(SHA256SUMS='')),
        ('a list that is cut', 'results.csv is not from this job',
         lambda files: files.lines('SHA256SUMS', len(files['SHA256SUMS'].splitlines()))))
    def names_files(self, want, edit):
        self.changed('...' + want, edit)

    def test_what_a_bidder_adds(self):
        files = Files(flawless())
        files['SHA256SUMS'] += '0' * 64 + '  notes.txt\n'  # It was there when the job ended.
        for name in 'letter.pdf', 'summary.txt', 'scaling.svg', 'output/x.txt':
            files[name] = ''
        files.write('it')
        os.symlink('loop', 'it/loop')
        os.symlink('0' * 250, 'it/letter')
        self.matches(self.run_summarize('it')[2], '...\nNo problems; no points to review\n...')


WORDS = [word * (100000 // len(word)) for word in (
    'Task launch ', 'ziaprobe 1 ', 'timeout of 1 s: rank 1 on ', '1', ' 1.', ' (', 'a=')]


def long_lines(files):
    """Each would take minutes if its length counted twice."""
    files.sub('output/4-1.txt', '^Time', text(WORDS) + 'Time')
    for name in 'results.csv', 'ranks-4-3.csv':
        files[name] += text(WORDS)
    files.sub('output/4-3.txt', '^status 0', 'status 1')
    files['environment.txt'] += text('8 nodes: interfaces 2, down 1' + word for word in WORDS)


def rank(number, **cells):
    return lambda files: [files.cell('ranks-8-1.csv', 2 + number, *cell) for cell in cells.items()]


def unasked(files):
    for name in 'output/4-%d.txt', 'ranks-4-%d.csv', 'nodes-4-%d.txt':
        files[name % 4] = files[name % 3]


class Contradictions(Case):
    """Archives that are merely wrong; their checksums are made anew."""
    @each(*((want, want, edit) for want, edit in (
        ('nodes: 4 in results.csv, 8 in the file names\n', row(nodes='4')),
        ('ranks per node: 2 in results.csv, 4 in environment.txt\n',
         lambda files: files.add(PPN='4', INTERFACES='4')),
        ('result: 601.00 millisecs in results.csv, 0:01 min:sec in output/8-1.txt\n',
         sub('output/8-1.txt', '601.00 millisecs', '0:01 min:sec')),
        ('time: 601.004 ms in results.csv, 601.000 ms in ranks-8-1.csv\n', row(time_ms='601.004')),
        ('time: ..., 600.500 ms in ranks-8-1.csv\n', rank(0, completed_ms='300.000')),
        ('start: 2026-11-21T09:33:57.000042Z in results.csv, 2026-11-21T09:34:07.000042Z in '
         'ranks-8-1.csv\n', lambda files: files.swap('ranks-8-1.csv', 'ranks-8-2.csv')),
        ('ranks: 8 in results.csv, 16 in ranks-8-1.csv\n', row(ranks='8')),
        ('ranks: 16 in results.csv, 14 in ', lambda files: files.lines('ranks-8-1.csv', 16, 17)))))
    def disagree_about(self, want, edit):
        self.says(1, 'launch 1 on 8 nodes: status 0; its files disagree about the ' + want, edit)

    @each(*((want, want, edit) for want, edit in (
        ('launch 1 on 8 nodes: status 0; output/8-1.txt belongs to ziatest-virtual-7/ranks-8-2.csv,'
         ' not to ziatest-virtual-7/ranks-8-1.csv\n',
         lambda files: files.swap('output/8-1.txt', 'output/8-2.txt')),
        ('launch 1 on 8 nodes: status 0; output/8-1.txt belongs to ziatest-virtual-7/..., not to '
         'ziatest-virtual-8/...\n', lambda files: files.add(SLURM_JOB_ID='8')),
        ('ranks-4-1.csv: line 9 is damaged\n', cut('ranks-4-1.csv', 5)),
        ('ranks-8-1.csv: line 1 is damaged\n', sub('ranks-8-1.csv', '^rank', 'number')),
        ('ranks-8-1.csv: node 3 has more or fewer ranks than those before it\n',
         lambda files: files.lines('ranks-8-1.csv', 7)),
        ('ranks-8-1.csv: expected rank 6, found rank 5\n',
         sub('ranks-8-1.csv', '^5,.*\n', r'\g<0>\g<0>')),
        ('the rows of node 3 are incomplete or out of order\n', rank(5, host='n4')),
        ('the rows of node 2 are incomplete or out of order\n',
         sub('ranks-8-1.csv', '^([23]),2', r'\1,9')),
        ('ranks-4-2.csv is missing\n', lambda files: files.pop('ranks-4-2.csv')),
        ('its row in results.csv is missing or damaged (start: 2026-11-21T09:34:37.000042Z)\n',
         lambda files: files.lines('results.csv', 6)),
        ('output/8-1.txt lacks the command line or the result\n',
         sub('output/8-1.txt', '^srun .*\n', '')),
        ('8-2.txt lacks the command line or the result\n',
         sub('output/8-2.txt', '^Time.*\n', '')),
        ('results.csv has several rows with the start 2026-11-21T09:34:37.000042Z\n',
         sub('results.csv', '^.*T09:34:37.*\n', r'\g<0>\g<0>')),
        ('results.csv has a row with the start 2025-11-21T09:34:37.000042Z, which belongs to no '
         'launch\n', sub('results.csv', '^2026(.*T09:34:37.*\n)', r'\g<0>2025\1')),
        ('launch 4 on 4 nodes was not requested by RUNS and SWEEP\n', unasked),
        ('launch 2 on 4 nodes: no status; its output is missing or truncated\n',
         cut('output/4-2.txt', 30)),
        ('build.txt is missing\n', lambda files: files.pop('build.txt')),
        ('changes.diff is missing\n', lambda files: files.pop('changes.diff')),
        ('build.txt lacks the checksum of ziatest\nbuild.txt lacks the checksum of ziaprobe\n',
         lambda files: files.lines('build.txt', 4, 9)),
        ('launch 3 on 4 nodes: status 1; output/4-3.txt belongs to ziatest-virtual-7/ranks-4-2.csv,'
         '...', lambda files: [files.fails('4-3', 1), files.sub(
             'output/4-3.txt', '/ranks-4-3', '/ranks-4-2')]))))
    def are_problems(self, want, edit):
        self.says(1, 'Problems\n...' + want, edit)

    @each(('too little', '0:04', 1), ('too much', '0:06', 1), ('right', '0:05', 0))
    def are_seconds_of_the_result_that_are(self, printed, status):
        self.says(status, 'problem', sub('output/99-1.txt', '0:05 min:sec', printed + ' min:sec'),
                  PPN='1', SWEEP='99', RUNS='1')

    def test_are_not_if_the_smaller_size_came_first(self):
        self.says(0, 'No problems; no points to review', SWEEP='4 8', SYSTEM_NODES='8')


class Real(Case):
    """Flawless jobs whose files ziatest, ziaprobe.c and explain/ have written"""
    def has_no_problem(self, files, points='no points'):
        files.sums()
        shutil.rmtree('it', ignore_errors=True)
        status, err, out = self.summary_of(files)
        self.matches(out, '...\nNo problems; %s to review\n...' % points)
        self.assertEqual((status, err), (0, ''))
        return out

    @each(*(('%d nodes x %d, %d ms' % case, *case)
            for case in ((nodes, ppn, ms) for nodes, ppn in ((8, 2), (4096, 4))
                         for ms in (300, 10400, 600000))))
    def all_files_are_read_of(self, nodes, ppn, ms):
        """One node is late, and all ranks read pages from disk."""
        host = dice().choice(('n%d', 'nid%05d', 'gpu-partition-of-the-long-names-row%05d'))
        late = dice().randint(1, nodes)
        files = make(SWEEP=str(nodes), PPN=str(ppn), RUNS='2', ms=ms, host=host,
                     late='%d:init:%d' % (late, ms))
        for run in 1, 2:
            lines = files['output/%d-%d.txt' % (nodes, run)].splitlines(True)
            lines.insert(dice().randrange(len(lines)), '[n2:77] UCX  WARN object 0x55\n')
            files['output/%d-%d.txt' % (nodes, run)] = ''.join(lines)
        slow = 'Slow nodes: 1 of %d, %s; ' % (nodes, host % late)
        out = self.has_no_problem(files)
        self.assertIn('\n%d nodes x %d = %d ranks: ' % (nodes, ppn, nodes * ppn), out)
        self.assertIn(slow, out)
        status, err, out = self.run_summarize('it/ranks-%d-1.csv' % nodes)
        self.assertIn(slow, out)
        self.assertEqual((status, err), (0, ''))
        status, err, out = self.run_summarize('it/results.csv')
        self.matches(out, 'results.csv: 2 launches...cold: 2 launches, ...')
        self.assertEqual((status, err), (0, ''))

    def test_a_line_of_another_program_anywhere(self):
        files = make(SWEEP='4', RUNS='2', ms=10400)
        lines = files['output/4-1.txt'].splitlines(True)
        for place in range(len(lines) + 1):
            files['output/4-1.txt'] = ''.join([*lines[:place], '[n2:77] UCX  WARN object 0x55 was '
                                               'not returned to mpool\n', *lines[place:]])
            self.has_no_problem(files)

    def test_mistakes(self):
        """Mistakes that somebody makes with the files of two launches that chance chooses"""
        files = make(SWEEP='4', RUNS='4')
        for kind in ['swapped', 'copied', 'lost', 'cut', 'mixed', 'joined'] * 8:
            it, (one, other) = Files(files), dice().sample('1234', 2)
            names = dice().sample(('output/4-%s.txt', 'ranks-4-%s.csv'), dice().randint(1, 2))
            for name in names if kind != 'mixed' else ['ranks-4-%s.csv']:
                ours, theirs = files[name % one], files[name % other]
                rows, at = ours.splitlines(True), dice().randrange(2, len(ours.splitlines()))
                it[name % one] = {
                    'cut': ours[:dice().randrange(len(ours))], 'joined': ours + theirs,
                    'mixed': ''.join(rows[:at] + theirs.splitlines(True)[at:])}.get(kind, theirs)
                if kind == 'swapped':
                    it[name % other] = ours
                elif kind == 'lost':
                    del it[name % one]
            it.sums()
            shutil.rmtree('it', ignore_errors=True)
            out = self.summary_of(it)[2]
            self.assertRegex(out, r'\nProblems\n(.*\n)*launch %s on 4 nodes: ' % one, kind)

    def test_columns_of_other_versions(self):
        """One more, or one less, in the log and in the files of ranks"""
        files = make(SWEEP='4', RUNS='2')
        for name, record in ('results.csv', Row), ('ranks-4-1.csv', Rank):
            rows = [line.split(',') for line in files[name].splitlines()]
            self.assertEqual(rows[0], list(record._fields), 'every column is read')
            place = dice().randrange(len(rows[0]) + 1)
            self.has_no_problem(Files(files, **{name: text(
                ','.join([*row[:place], 'x' if row is not rows[0] else 'new_ms', *row[place:]])
                for row in rows)}))
            for place, column in enumerate(rows[0]):
                if column in record.NEEDED:
                    continue
                less = Files(files, **{name: text(','.join(row[:place] + row[place + 1:])
                                                  for row in rows)})
                self.has_no_problem(less, '1 point' if column in (
                    'started', 'executable_bytes') else 'no points')
                if name == 'results.csv':
                    os.rename('it/results.csv', 'log.csv')
                    self.assertEqual(self.run_summarize('log.csv')[:2], (0, ''))

    def test_ranks_of_an_older_version(self):
        files = make(SWEEP='4', RUNS='2')
        files.sub('ranks-4-2.csv', r',[^,\n]*$', '')
        self.assertIn('\nTo review\nfiles of ranks that lack the column started: 1\n',
                      self.has_no_problem(files, '1 point'))

    def test_random_launches(self):
        """COUNT launches, of which any mark may be missing; SEED=... repeats them"""
        count, valid = int(os.environ.get('COUNT', 300)), 0
        for number in range(count // 30):
            nodes, ppn, runs = dice().randint(1, 7), dice().randint(1, 4), 30
            make(SWEEP=str(nodes), PPN=str(ppn), RUNS=str(runs), seed=dice().randrange(1, 10**6),
                 ms=dice().choice((1, 50, 1000, 10000, 60000, 600000))).write(str(number))
            launches = read(str(number)).asked
            self.assertEqual({launch.contradiction for launch in launches}, {''})
            valid += sum(launch.valid for launch in launches)
        self.assertGreater(valid, count / 2, 'most are right')
        tap.diag('%d of %d launches are right' % (valid, count))


class Hostile(Case):
    """Hostile files"""
    @each(
        ('no job', 'it: not a Ziatest job: no environment.txt with RUNS, SWEEP and PPN',
         lambda files: files.pop('environment.txt')),
        ('too many launches', 'it: RUNS and SWEEP ask for more than 6000 launches',
         lambda files: files.add(RUNS='3001')),
        ('too many nodes', 'it: ranks-8-1.csv has more than 7 nodes', lambda files: None),
        ('a program as a setting', 'it: not a Ziatest job: ...',
         lambda files: files.add(RUNS='$(touch pwned)')))
    def refuses(self, error, edit):
        with mock.patch('ziatest.ranks.MOST_NODES', 7 if '7 nodes' in error else 8):
            files = Files(flawless())
            edit(files)
            files.sums()
            self.refused(error, files.write('it'))

    @each(
        ('a link', 'output/8-1.txt is not a regular file', 'ln -sf /dev/zero output/8-1.txt'),
        ('17 GiB', 'more than 16 GiB, up to ...', 'truncate -s 17G ranks-4-1.csv'))
    def refuses_a_directory(self, error, command):
        flawless().write('it')
        subprocess.check_call('cd it; ' + command, shell=True)
        self.refused('it: ' + error, 'it')

    @each(
        ('a link', 'it/results.csv is not a regular file', 'ln -sf /etc/passwd it/results.csv',
         'it'),
        ('a link whose path contains newlines', 'it/?PASS?/results.csv is not a regular file',
         'ln -sf /etc/passwd it/results.csv', "--transform='s,it/res,it/\\nPASS\\n/res,' it"),
        ('a file twice', 'it/results.csv is a duplicate', 'true',
         '--hard-dereference it it/results.csv'),
        ('more than may be read, which is not needed', 'more than 0 GiB, up to it/core',
         'truncate -s 1M it/core', 'it/core it'))
    def refuses_packed(self, error, command, members):
        flawless().write('it')
        subprocess.check_call("%s; tar -cf bad.tgz -I 'gzip -1' %s 2>tar.log || true"
                              % (command, members), shell=True)
        with mock.patch('ziatest.job.LARGEST_JOB', 1 << 20):
            self.refused('bad.tgz: ' + error, 'bad.tgz')

    def test_an_archive_that_is_cut(self):
        flawless().write('it')
        subprocess.check_call('tar -cz it | head -c 2000 >bad', shell=True)
        self.refused('bad: ...', 'bad')

    @each(
        ('lines of 100 kB', 0, 'No problems; 1 point to review',
         long_lines),
        ('a line of 200 MB', 0, 'No problems', append('results.csv', '\0' * 200000000)),
        ('a long reason for which a launch was not made', 0, 'launch 3 on 8 nodes: not launched: '
         'only 3 of the 8 nodes respond, not node1 node2 ',
         lambda files: files.not_launched('8-3', 'only 3 of the 8 nodes respond, not '
                                          + ' '.join('node%d' % i for i in range(1, 3001)))),
        ('escape codes and a program', 1, 'Ziatest: job 7 on ?[31m?$(touch pwned), ',
         lambda files: files.add(SLURM_CLUSTER_NAME='\x1b[31m\x9b$(touch pwned)')))
    def reads(self, status, want, edit):
        self.says(status, want, edit)
        self.assertFalse(os.path.exists('pwned'), 'nothing is executed')


HEADER = archive.log([{}]).rstrip('\n').split('\n')[0]


def rows(launches):
    """Returns the lines of a log of LAUNCHES, without its header."""
    return archive.log(launches).split('\n')[1:-1]


def log(*kinds, per_night=5, year=2026, offset=0, **settings):
    """Returns the lines of a log. A kind is COUNT, MS, PHASE and perhaps NODE: in COUNT launches,
    PHASE takes MS longer than usual. NODE is then the outlier, and the others wait for it."""
    launches, count = [], offset
    settings.setdefault('faults', 0)
    for number, ms, phase, *node in kinds:
        for _ in range(number):
            night, init = count // per_night, 100 + (count + 1) % 7
            start = datetime.datetime(year, 1 + night // 28, 1 + night % 28, 3)
            late = '%s:init:%d' % (node[0] if node else '1-4', init)
            launches.append(dict(
                settings, start=seconds(start) + count % per_night,
                late='%s %s:%s:%d' % (late, node[0] if node else '1-4', phase, ms)))
            count += 1
    return rows(launches)


def seconds(moment):
    return int((moment - datetime.datetime(1970, 1, 1)).total_seconds())


def every(minutes, count, factor, first=0):
    """Returns COUNT lines of a log of a launch every so many MINUTES, from number FIRST on. FACTOR
    of a number is by how much more time that launch takes."""
    return rows(dict(start=seconds(datetime.datetime(2026, 9, 1, 3)) + 60 * minutes * i, faults=0,
                     ms=970 * factor(i - first) * (1 + (i * 7 % 11 - 5) / 100))
                for i in range(first, first + count))


def slower():
    return log((55, 0, 'init'), (5, 100, 'init'))


WARM = '\nziaprobe, 4 nodes x 2, slurmstepd, PMIx, warm: ...\n'
MEDIANS = 'the last 5  ... ms (... to ...)\nbefore      503.0 ms (500.0 to 506.0)\n'
ANY = '...\nbefore ...\n'
TOO_FEW = ('all 2...      503.0 ms (500.0 to 506.0)\ntoo few launches to compare: at least 20 '
           'are needed before the last 5, on three nights or more\n')
# The earlier nights are 0, 40 or 80 ms slower, so their spread is 1.4826 x 40 ms.
UNLIKE = [(5, 0, 'init'), (5, 40, 'init'), (5, 80, 'init'), (5, 0, 'init'), (5, 40, 'init'),
          (5, 80, 'init'), (5, 40, 'init')]
NO_CHANGE = 'no change\n'
SLOWER = 'slower: 5 of the last 5 took longer than 95 % of those before: init +...\n'


class Log(Case):
    """A log, the file of --csv of many launches"""
    def logged(self, status, want, lines, header=HEADER):
        """Checks what a log says, after its first line. LINES may be its whole text."""
        write('log.csv', lines if isinstance(lines, str) else text([header, *lines]))
        got, err, out = self.run_summarize('log.csv')
        self.assertEqual(err, '')
        self.matches(out.split('\n', 1)[1], want)
        self.assertEqual(got, status, out)
        return out

    @each(
        ('no change', 0, MEDIANS + NO_CHANGE, log((60, 0, 'init'))),
        ('slower', 1, MEDIANS + '...: init +99.0 ms\n', slower()),
        ('a phase that was not known before', 1, MEDIANS + '...: init +99.0 ms\n',
         [row.replace(',60.000,0.000,', ',,0.000,') for row in slower()[:55]] + slower()[55:]),
        ('three of five', 1, MEDIANS + 'slower: 3 of the last 5 ...: exec +100.0 ms\n',
         log((57, 0, 'init'), (3, 100, 'exec'))),
        ('two of five', 0, MEDIANS + NO_CHANGE, log((58, 0, 'init'), (2, 100, 'exec'))),
        ('less than 5 %', 0, MEDIANS + NO_CHANGE, log((55, 0, 'init'), (5, 15, 'init'))),
        ('faster', 0, MEDIANS + 'faster: 5 of the last 5 took less time than 95 % of those before: '
         'init -101.0 ms\n', log((55, 0, 'init'), (5, -100, 'init'))),
        ('a night within the spread of the earlier ones', 0, ANY + NO_CHANGE,
         log(*UNLIKE, (5, 190, 'init'))),
        ('a night beyond it', 1, ANY + SLOWER, log(*UNLIKE, (5, 225, 'init'))),
        ('a second such night', 1, ANY + SLOWER, log(*UNLIKE, (5, 150, 'init'), (5, 170, 'init'))),
        ('fewer than five earlier nights', 0, ANY + NO_CHANGE,
         log((20, 0, 'init'), (5, 200, 'init'))),
        ('five earlier nights', 1, ANY + SLOWER, log((25, 0, 'init'), (5, 200, 'init'))),
        ('longer than 19 of 20', 1, ANY + SLOWER,
         log((19, 0, 'init'), (1, 900, 'init'), (5, 100, 'init'), per_night=4)),
        ('longer than 18 of 20', 0, ANY + NO_CHANGE,
         log((18, 0, 'init'), (2, 900, 'init'), (5, 100, 'init'), per_night=4)),
        ('too few', 0, TOO_FEW, log((24, 0, 'init'))),
        ('just enough', 0, MEDIANS + NO_CHANGE, log((25, 0, 'init'))),
        ('too few nights', 0, TOO_FEW, log((25, 0, 'init'), per_night=10)),
        ('an outlier', 0, MEDIANS + NO_CHANGE + 'n2 was the outlier of 3 of the last 5, and of 5 of'
         ' the 55 before\n', log((50, 0, 'init'), (5, 0, 'init', 2), (2, 0, 'init'),
                                 (3, 0, 'init', 2))),
        ('an old outlier', 0, MEDIANS + NO_CHANGE,
         log((49, 0, 'init'), (6, 0, 'init', 2), (2, 0, 'init'), (3, 0, 'init', 2))),
        ('two outliers of two of five', 0, MEDIANS + NO_CHANGE,
         log((56, 0, 'init'), (2, 0, 'init', 2), (2, 0, 'init', 3))),
        ('rows that are repeated', 1, MEDIANS + SLOWER, slower() + slower()[5:45]),
        ('a start that goes back by less than an hour', 0, MEDIANS + NO_CHANGE,
         [row.replace('T03:00:', 'T02:01:') if i == 28 else row
          for i, row in enumerate(log((60, 0, 'init')))]))
    def judges(self, status, want, lines):
        self.logged(status, WARM + want, lines)

    def test_another_program_that_was_launched_last(self):
        self.logged(0, 'line 62: ...\n\nsolver, 4 ...: 60 launches, ...\n' + ANY + NO_CHANGE + WARM
                    + MEDIANS + SLOWER,
                    slower() + log((60, 0, 'init'), year=2025, program='solver'))

    @each(
        ('a program', dict(program='solver'), 'solver, 4 nodes x 2, slurmstepd, PMIx, warm'),
        ('a daemon', dict(daemon='mpirun'), 'ziaprobe, 4 nodes x 2, mpirun, PMIx, warm'),
        ('an interface', dict(interface='PMI2'), 'ziaprobe, 4 nodes x 2, slurmstepd, PMI2, warm'),
        ('cold', dict(faults=7), 'ziaprobe, 4 nodes x 2, slurmstepd, PMIx, cold'))
    def has_a_kind_of_its_own(self, columns, title):
        other = log((2, 900, 'init'), **columns)
        self.logged(1, '\n%s: 2 launches, ...\nall 2       1401.5 ms (1401.0 to 1402.0)\ntoo few '
                    '...\n' % title + WARM + MEDIANS + SLOWER,
                    slower() + [row.replace('2026-01-01T03:00', '2026-01-12T03:01')
                                for row in other])

    def test_a_clock_that_was_ahead(self):
        self.logged(1, 'line 67: the start goes back from 2037-01-01T03:00:04Z to '
                    '2026-01-13T03:00:00Z\n' + WARM + MEDIANS + SLOWER,
                    log((60, 0, 'init')) + log((5, 0, 'init'), year=2037)
                    + log((5, 100, 'init'), offset=60))

    def test_rows_in_the_wrong_order(self):
        self.logged(0, 'line 7: the start goes back from 2026-01-12T03:00:00Z to '
                    '2026-01-11T03:00:04Z; also at lines 12, 17, ..., 57\n' + WARM + ANY
                    + NO_CHANGE, sorted(slower(), reverse=True))

    @each(
        ('a row that is cut off', 1, '61', 60, lambda row: row[:-5]),
        ('the first row of the last night', 1, '57', 56, lambda row: row.replace(',', ';', 1)),
        ('the last row but one of the night before', 0, '55', 54,
         lambda row: row.replace(',', ';', 1)),
        ('two rows in one line', 0, '30', 29, lambda row: row + row),
        ('bytes that are not printable', 0, '30', 29,
         lambda row: row.replace('slurmstepd', 'slurm\0\0epd')),
        *((number, 0, '30', 29, lambda row, number=number: row.replace(',20.000,', number, 1))
          for number in (',inf,', ',1e308,', ',nan,', ',2_0.0,', ', 20.0,', ',2\xd9\xa00.0,',
                         ',-,', ',%s.000,' % ('1' * 14))))
    def is_damaged(self, status, line, number, damage):
        rows = log((60, 0, 'init'))
        rows[number - 1] = damage(rows[number - 1])
        self.logged(status, '1 row is damaged and was left out: line %s\n%s%sno change\n'
                    % (line, WARM, ANY), rows)

    @each(('5 minutes', 5, 0), ('an hour', 60, 0))
    def judges_a_log_with_a_launch_every(self, minutes, status):
        rows = every(minutes, 7 * 1440 // minutes, lambda i: 1)
        self.logged(status, '\n...\nno change\n', rows)
        self.logged(1, '\n...\nslower: ...', rows + every(
            minutes, 10, lambda i: 1.3, first=len(rows)))

    def test_many_launches_take_little_memory(self):
        write('log', text([HEADER, *every(15, 50000, lambda i: 1)]))
        status, err, out = self.command('log', shell='ulimit -d 70000; exec "$0" "$@"')
        self.matches(out, 'log: 50000 launches, ...')
        self.assertEqual((status, err), (0, ''))

    def test_a_day_is_a_night(self):
        nights = {row.night for row in read(
            write('log.csv', text([HEADER, *every(30, 144, lambda i: 1)]))).launches}
        self.assertEqual([night[:13] for night in sorted(nights)],
                         ['2026-09-01T03', '2026-09-02T03', '2026-09-03T03'])

    def test_the_last_launches_are_beyond_95_percent(self):
        """One launch in ten took 620 ms. Of the last, three took 560 ms, which is more than 90 %"""
        ms = [[0, 0, 0, 0, 120][i % 5] if i % 10 < 5 else 0 for i in range(100)]
        rows = log(*((1, each, 'init') for each in [*ms, 60, 60, 60, 130, 130]))
        self.logged(0, WARM + 'the last 5  56... ms (...)\nbefore ...\n' + NO_CHANGE, rows)
        rows = log(*((1, each, 'init') for each in [*ms, 60, 60, 130, 130, 130]))
        self.logged(1, WARM + ANY + 'slower: 3 of ...', rows)

    @each(
        ('a log that was compressed', gzip.compress, 'log.csv: not an archive of a job (...); if it'
         ' was compressed twice, or if it is a compressed log, decompress it with gunzip first'),
        ('a zip', lambda log: b'PK\3\4' + log, 'log.csv: not an archive, a --csv or --ranks file, '
         'or the output of a launch with -t or --where: it begins with "PK..."; if a browser, a '
         'spreadsheet or sort has changed it, use the original'))
    def cannot_read(self, pack, error):
        write('log.csv', pack(text([HEADER, *slower()]).encode('ascii')))
        self.refused(error, 'log.csv')

    @each(('an empty line', ''), ('a comment', '# We have a new switch, 2026-01-05'))
    def leaves_out(self, line):
        rows = log((60, 0, 'init'))
        rows[28:28], rows[60:60] = [line], [line]
        self.logged(0, WARM + MEDIANS + NO_CHANGE, text([line, HEADER, *rows]) + line)

    def test_more_than_ten_damaged_rows(self):
        rows = log((60, 0, 'init'))
        for i in range(1, 35, 3):
            rows[i] = rows[i].replace(',', ';', 1)
        self.logged(0, '12 rows are damaged and were left out: lines 3, 6, 9, 12, 15, 18, 21, 24,'
                    ' 27, 30 and 2 more\n' + WARM + ANY + NO_CHANGE, rows)

    def test_a_second_header_and_windows_line_endings_from_some_row_on(self):
        rows = log((60, 0, 'init'))
        self.logged(0, WARM + MEDIANS + NO_CHANGE, text([HEADER, *rows[:28], HEADER, *rows[28:40]])
                    + text(rows[40:]).replace('\n', '\r\n'))

    def test_a_file_of_compare(self):
        write('log.csv', ','.join(Turn._fields) + '\n')
        self.refused('log.csv: written by compare; to print its result, ...', 'log.csv')
        self.logged(1, '1 row is damaged and was left out: line 62\n' + WARM + ANY + NO_CHANGE,
                    [*log((60, 0, 'init')), ','.join(Turn._fields)])

    @each(('at the end', lambda row: row + ',x'),
          ('in the middle', lambda row: row.replace(',', ',x,', 1)))
    def reads_a_log_with_a_new_column(self, add):
        header = add(HEADER).replace(',x', ',new_ms')
        self.logged(1, WARM + MEDIANS + '...: init +99.0 ms\n', map(add, slower()), header)
        self.logged(1, WARM + MEDIANS + '...: init +99.0 ms\n',
                    [*slower()[:40], header, *map(add, slower()[40:])])

    def test_columns_that_are_missing_are_unknown(self):
        places = [HEADER.split(',').index(name) for name in ('started', 'nodes', 'ppn', 'time_ms')]
        rows = [','.join(row.split(',')[place] for place in places) for row in [HEADER, *slower()]]
        self.logged(1, '\n4 nodes x 2, warm...' + MEDIANS + 'slower: ...: no '
                    'phase has changed\n', rows[1:], rows[0])

    def test_the_picture_has_a_bar_for_each_night(self):
        name = '&' * 240 + '.csv'
        write(name, text([HEADER, *log((170, 0, 'init'), (6, 100, 'init'), (44, 0, 'init'))]))
        self.run_summarize('--pictures', 'history', name)
        texts = self.texts('history/history.svg')
        self.assertEqual([texts[0], texts[1][:12]], ['No change', '&' * 12])
        nights = [text for text in texts if '2026-' in text]
        self.assertEqual(len(nights), 40)
        at = texts.index('2026-02-07, 5 launches')
        self.assertRegex(' '.join(texts[at:at + 4]),
                         'launches 60[0-9] ms 2026-02-08, 5 launches 50[0-9] ms')
        self.assertEqual(nights[-1], 'last night: 2026-02-16, 5 launches')

    def test_the_picture_says_what_has_become_slower_in_which_night(self):
        write('log.csv', text([HEADER, *log((50, 0, 'init'), (5, 15000, 'init'))]))
        self.run_summarize('--pictures', 'history', 'log.csv')
        texts = self.texts('history/history.svg')
        self.assertEqual(texts[0], 'Slower: 5 of the last 5 took longer than 95 % of those before: '
                         'init +15.0 s')
        self.matches(texts[1], 'log.csv: ziaprobe, 4 nodes x 2, ...; the middle launch of each '
                     'night')
        self.assertEqual(texts[-2:], ['last night: 2026-01-11, 5 launches', '15.5 s'])
        self.assertIn('0.5 s', texts)
        self.assertIn('10 s', texts)


class Several(Case):
    """Several jobs"""
    def test_two_jobs(self):
        flawless().write('job')
        other = make(SLURM_CLUSTER_NAME='hare', start=1795300000, mpi='MPICH 4.0.2', interface='',
                     SWEEP='4', SYSTEM_NODES='8', UCX_TLS='x')
        other.write('other')
        status, err, out = self.run_summarize('job', 'other')
        self.matches(out, '''\
job    system     date                  MPI             nodes   ppn  figure  warm    later \
                 valid   problems  to review
job    virtual-7  2026-11-21T09:33:54Z  Open MPI v4.1.4  8 of 8  2   601.0   0 of 8  602.5 (602.0 \
to 603.0)  6 of 6  0  0
other  hare-7     2026-11-21T22:26:37Z  MPICH 4.0.2      4 of 8  2   401.0   0 of 4  402.5 (402.0 \
to 403.0)  3 of 3  1  1

4 nodes x 2, ms  launch time ...
job    first   401.0  10.0  100.0  20.0  181.0  30.0  60.0 ...
other  first   401.0  10.0  100.0  20.0  211.0  -     60.0  0.0  8.0 ...
job    middle  402.0 ...
other  middle  402.0  10.0  100.0 ...
''')
        self.assertEqual((status, err), (1, ''))

    def test_a_figure_that_is_launch_3(self):
        flawless().write('job')
        other = Files(make(SLURM_JOB_ID='8', start=1795300000, SWEEP='4', SYSTEM_NODES='8'))
        other.fails('4-1', 1)
        other.fails('4-2', 1)
        other.warm('ranks-4-3.csv', 1, 2)
        other.sums()
        other.write('other')
        self.matches(self.run_summarize('job', 'other')[2], '''\
...
other ... 403.0  2 of 4  -  1 of 3  3  1

...
other  first   -  -  -  -  -  -  -  -  -  -  -
...
other  middle  403.0 ...''')

    def test_the_same_launches_twice_an_odd_name_and_a_missing_job(self):
        flawless().write('job')
        flawless().write('a\nb')
        status, err, out = self.run_summarize('job', 'a\nb', 'nowhere')
        self.matches(out, 'job ...\na?b  virtual-7 ...\njob and a?b contain the same launch, '
                     'started at 2026-11-21T09:33:57.000042Z\n...')
        self.assertEqual((status, err),
                         (2, 'summarize: error: nowhere: No such file or directory\n'))

    def test_no_size_in_common(self):
        flawless().write('job')
        make(SLURM_JOB_ID='8', start=1795300000, SWEEP='5').write('third')
        status, err, out = self.run_summarize('job', 'third')
        self.matches(out, '...\nno size in common; ask for the same SWEEP\n')
        self.assertEqual((status, err), (0, ''))

    def test_a_log_among_the_jobs(self):
        flawless().write('job')
        self.matches(self.run_summarize('job/results.csv', 'job')[1], 'summarize: error: '
                     'job/results.csv: not a job; summarize this file on its own. To ...\n')


class Pictures(Case):
    def draw(self, *arguments, edit=lambda files: None, **settings):
        """Draws the pictures of a job in the directory pictures."""
        files = Files(flawless(**settings))
        edit(files)
        files.sums()
        printed = self.summary_of(files, '--pictures', 'pictures')
        self.assertEqual(printed[1], '')
        return printed

    def test_scaling_and_ranks(self):
        self.draw(SLURM_CLUSTER_NAME='<a&b>', host='0' * 60 + '%d', PPN='1', SWEEP='16 8', RUNS='3')
        self.assertEqual(self.texts('pictures/scaling.svg'), [
            'From 8 to 16 nodes, the middle launch takes 1.7 times as long: spawn +200.0 ms, init '
            '+160.0 ms', 'job 7 on <a&b>, Open MPI v4.1.4; each bar is a launch, from the command '
            'to the last reply', 'daemon: reaching the node', 'spawn: creating the process',
            'exec: loading the program', 'init: in MPI_Init', 'fence: exchanging addresses',
            'exchange: first message', '0 ms', '200 ms', '400 ms', '600 ms', '800 ms', '1000 ms',
            'time since the launch command', '16 nodes x 1, first launch', '1001 ms',
            '16 nodes x 1, middle of 2 later launches', '1002 ms', '8 nodes x 1, first launch',
            '601 ms', '8 nodes x 1, middle of 2 later launches', '602 ms'])
        texts = self.texts('pictures/ranks.svg')
        self.assertEqual([*texts[:2], texts[6]], [
            'None of 16 nodes is slow', 'job 7 on <a&b>, Open MPI v4.1.4; 16 nodes x 1, launch 1, '
            '1001 ms; each bar is the slowest rank of a node', 'fence: exchanging addresses'])
        self.assertNotIn('wait: for other ranks', texts)
        bars = [text for text in texts if '0...0' in text]
        self.assertEqual(len(bars), 11)
        self.assertRegex(' '.join(bars), '^0{22}[.]{3}0{22}1 0{22}[.]{3}0{22}3 .* median: '
                         r'0*\.\.\.0*[0-9]+ .* fastest: 0*\.\.\.0*[0-9]+$')

    @each(('exchange of a responder', '14:exchange:900', 'slow: n13 with n14'),
          ('daemon of an originator', '13:daemon:900', 'slow: n13'),
          ('init of a responder', '14:init:900', 'slow: n14'))
    def has_a_first_bar_for(self, late, label):
        self.draw(PPN='1', SWEEP='26', RUNS='1', late=late)
        bars = [text for text in self.texts('pictures/ranks.svg')[1:]
                if re.search('(^|: )n[0-9]', text)]
        self.assertEqual([bars[0], len(bars)], [label, 12])
        self.assertEqual(sum('slow' in bar for bar in bars), 1)

    def test_a_late_rank_that_is_not_the_first_of_its_node(self):
        ranks = re.sub('(?m)^(3,2,n2,.*),261.000,', r'\1,961.000,', flawless()['ranks-8-1.csv'])
        self.run_summarize('--pictures', 'pictures', write('ranks.csv', ranks))
        bars = [text for text in self.texts('pictures/ranks.svg')[1:] if 'n2' in text]
        self.assertEqual(bars[0], 'slow: n2')

    def test_the_order_of_nodes_and_four_shades(self):
        self.draw(PPN='1', SWEEP='12', RUNS='4', late='7:init:340 8:exec:150 9:exec:400 9:init:900 '
                  '10:daemon:500 3:init:900:2')
        self.assertEqual(self.texts('pictures/nodes.svg'), [
            'Slow: 3 of 12 nodes, mostly in init: n[7,9-10]', 'job 7 on virtual, Open MPI v4.1.4; '
            '12 nodes x 1, the median of 4 launches', 'Each cell is a node. Its colour shows how '
            'much longer than the median node it took, in its slowest phase.', 'not slow',
            'slow from 210 ms', 'from 421 ms', 'from 841 ms', 'n[1-12]'])
        self.assertEqual(self.cells('pictures/nodes.svg'), [
            'n1: 3 ms #e4e4e4', 'n2: 0 ms #e4e4e4', 'n3: 2 ms #e4e4e4', 'n4: 0 ms #e4e4e4',
            'n5: 1 ms #e4e4e4', 'n6: 0 ms #e4e4e4', 'n7: 340 ms #e59a2f',
            'n8: 150 ms #e4e4e4', 'n9: 900 ms #2a0a2e', 'n10: 500 ms #a8321f',
            'n11: 0 ms #e4e4e4', 'n12: 0 ms #e4e4e4'])

    @each(('one launch', 'Slow: n3; init took 400 ms longer than on the median node',
           dict(SWEEP='3', late='3:init:400'),
           ['n1: 1 ms #e4e4e4', 'n2: 0 ms #e4e4e4', 'n3: 400 ms #2a0a2e']),
          ('two nodes, of which either may be slow',
           'With fewer than three nodes, none can be called slow',
           dict(SWEEP='2', late='2:init:400'), ['n1: 0 ms white', 'n2: 400 ms white']))
    def has_cells_of(self, title, settings, cells):
        self.draw(PPN='1', RUNS='1', **settings)
        texts = self.texts('pictures/nodes.svg')
        self.assertEqual(texts[0], title)
        self.assertEqual(['not slow' in texts, 'not known' in texts],
                         [len(cells) == 3, len(cells) == 2])
        self.assertEqual(self.cells('pictures/nodes.svg'), cells)

    def test_a_node_that_was_in_one_launch_of_three_only(self):
        self.draw(edit=lambda files: [files.sub('ranks-8-%d.csv' % run, ',n7,', ',n9,')
                                      for run in (1, 2)])
        self.assertIn('n7: not known white', self.cells('pictures/nodes.svg'))
        self.assertIn('not known', self.texts('pictures/nodes.svg'))

    def test_8193_nodes_of_which_the_second_of_a_cell_is_late(self):
        write('many.csv', archive.ranks(1, nodes=8193, ms=200, late='8192:init:800'))
        self.run_summarize('--pictures', 'many', 'many.csv')
        cells = self.cells('many/nodes.svg')
        self.assertEqual([cells[0], len(cells), cells[4095], cells[4096]], [
            'n1 to n2: 1 ms #e4e4e4', 4097, 'n8191 to n8192: 800 ms #2a0a2e',
            'n8193: 0 ms #e4e4e4'])
        texts = self.texts('many/nodes.svg')
        self.assertEqual(texts[:3], [
            'Slow: n8192; init took 800 ms longer than on the median node',
            'many.csv: 8193 nodes, 1000 ms', 'Each cell is the slowest of 2 neighbouring nodes. '
            'Its colour shows how much longer than the median node it took, in its slowest phase.'])
        self.assertEqual([texts[7], texts[8], texts[-2], texts[-1]],
                         ['n[1-128]', 'n[129-256]', 'n[8065-8192]', 'n8193'])
        shades = re.findall('y="94" .*fill="#(..)(..)(..)"', tap.read('many/nodes.svg'))
        grey = [30 * int(r, 16) + 59 * int(g, 16) + 11 * int(b, 16) for r, g, b in shades]
        self.assertEqual(grey, sorted(grey, reverse=True), 'each shade is darker, in grey, too')

    @each(('a long domain', 'gpu-node%d.hpc.university.org',
           ['gpu-node[1-64]', 'gpu-node[65-99]']),
          ('long names', 'gpu-partition-of-the-long-names-row%05d',
           ['..s-row00001 - ..s-row00064', '..s-row00065 - ..s-row00099']),
          ('addresses', '10.1.0.%d', ['10.1.0.[1-64]', '10.1.0.[65-99]']),
          ('names that do not fold', 'node%1$d7-of-7%1$d',
           ['node17-of-71 - ..647-of-764', '..657-of-765 - ..997-of-799']))
    def labels_rows(self, name, labels):
        write('row.csv', archive.ranks(1, nodes=99, host=name))
        self.run_summarize('--pictures', 'row', 'row.csv')
        self.assertEqual(self.texts('row/nodes.svg')[-2:], labels)

    def test_names_that_differ_only_before_a_long_domain(self):
        host = 'rack01-chassis02-node%d.' + 'cluster.' * 4 + 'org'
        late = dice().sample(range(1, 9), 2)
        write('far.csv', archive.ranks(1, nodes=9, ms=23000, host=host,
                                       late=' '.join(f'{node}:init:37000' for node in late)))
        self.run_summarize('--pictures', 'far', 'far.csv')
        for node in late:
            self.assertIn('slow: rack01-chassis02-node%d' % node, self.texts('far/ranks.svg'))
        self.assertNotIn('cluster', tap.read('far/ranks.svg'))

    def test_long_times_and_names(self):
        write('long.csv', archive.ranks(1, nodes=9, ms=230000, host='x' * 63 + '%d',
                                        late='2-8/2:init:370000'))
        self.run_summarize('--pictures', 'long', 'long.csv')
        texts = self.texts('long/ranks.svg')
        self.assertEqual(texts[0], 'Slow: 4 of 9 nodes, in init: %s[2,4,6,8]' % ('x' * 63))
        self.assertIn('slow: %s...%s8' % ('x' * 16, 'x' * 22), texts)
        self.assertEqual([text for text in texts if text.endswith(' s')][:3],
                         ['0 s', '100 s', '200 s'])
        self.assertIn('600.0 s', texts)
        self.assertEqual(self.texts('long/nodes.svg')[3:7], [
            'not slow', 'slow from 60.0 s', 'from 120.0 s', 'from 240.0 s'])
        write('less.csv', archive.ranks(1, nodes=9, ms=23000, late='2-8/2:init:37000'))
        self.run_summarize('--pictures', 'less', 'less.csv')
        self.assertEqual(self.texts('less/nodes.svg')[4:7],
                         ['slow from 6.0 s', 'from 12.0 s', 'from 24.0 s'])

    def test_a_comparison(self):
        flawless().write('a/job')
        make(late='4:init:900').write('b/job')
        self.run_summarize('--pictures', 'both', 'a/job', 'b/job')
        texts = self.texts('both/comparison.svg')
        self.assertRegex(texts[0], '^8 nodes x 2, first launch: a/job 601 ms, b/job 1501 ms: init '
                         '[+]900.0 ms')
        headings = [text for text in texts if 'nodes x' in text[:9]]
        self.assertEqual(headings[:3], [texts[0], '8 nodes x 2, first launch',
                                        '8 nodes x 2, middle of the later launches'])
        at = texts.index('8 nodes x 2, first launch')
        self.assertEqual(texts[at + 1:at + 5], ['a/job', '601 ms', 'b/job', '1501 ms'])

    def test_a_picture_replaces_a_link_but_not_the_file_behind_it(self):
        write('mine', 'mine\n')
        os.mkdir('pictures')
        os.symlink('../mine', 'pictures/ranks.svg')
        before = os.umask(0o027)
        self.draw()
        os.umask(before)
        self.assertEqual(stat.S_IMODE(os.lstat('pictures/ranks.svg').st_mode), 0o640)
        self.assertEqual(tap.read('mine'), 'mine\n')

    def test_pictures_that_cannot_be_written(self):
        write('mine', '')
        flawless().write('it')
        with self.assertRaises(NotADirectoryError):
            self.run_summarize('--pictures', 'mine/\xe9', 'it')
        status, err, _ = self.command('--pictures', 'mine/\xe9', 'it')
        self.matches(err, 'summarize: error: mine/?...: Not a directory\n')
        self.assertEqual(status, 2)

    def test_no_valid_launch(self):
        def fail(files):
            for name in files:
                if name.startswith('output/'):
                    files.sub(name, '^status 0', 'status 1')
        self.matches(self.draw(edit=fail)[2], '...\nno valid launch\n...')
        self.assertFalse(os.path.exists('pictures'))


tap.main()
