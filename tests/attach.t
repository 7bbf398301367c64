#!/usr/bin/env python3
"""tools/attach, on real launches that hang, on four nodes with two ranks each, with each launcher.
The rank and the node are chosen at random. helpers/hang.c is the program, and helpers/tap.py
explains how to run one case."""
import contextlib
import fcntl
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), 'helpers'))
import tap  # noqa: E402
from tap import each  # noqa: E402

TOP = os.path.realpath(tap.top)
sys.path.insert(0, os.path.join(TOP, 'tools'))
from ziatest import seen  # noqa: E402
from ziatest.names import number_ranges  # noqa: E402
ATTACH = os.path.join(TOP, 'tools/attach')
LAUNCHERS = {
    'srun, pmix': ('openmpi', 'srun -N 4 --ntasks-per-node 2'),
    'srun, pmi2': ('mpich', 'srun --mpi=pmi2 -N 4 --ntasks-per-node 2'),
    'mpirun': ('openmpi', 'mpirun.openmpi --hostfile hosts --map-by ppr:2:node'),
    'mpirun, salloc': ('openmpi', 'salloc --quiet -N 4 --exclusive mpirun.openmpi --map-by '
                       'ppr:2:node'),
    'hydra': ('mpich', 'mpiexec.hydra -hosts n1,n2,n3,n4 -n 8 -ppn 2'),
}
# The beginning of each script that runs on the cluster
SCRIPT = r'''
look() {    # PATTERN ARGUMENT...: looks until a line matches, and prints the last look
    pattern=$1
    shift
    for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        "$ATTACH" "$@" >seen 2>&1
        status=$?
        ! grep -qE -- "$pattern" seen || break
        sleep 1
    done
    echo "== attach $*: status $status"
    cat seen
}
'''


class Case(tap.Case):
    def setUp(self):
        self.rank = random.randrange(8)
        self.node = self.rank // 2 + 1
        self.others = '%s' % self.fold(rank for rank in range(8) if rank != self.rank)
        with open('hosts', 'w') as file:
            file.write('n1\nn2\nn3\nn4\n')

    @staticmethod
    def fold(ranks):
        return number_ranges([*map(str, ranks)]).strip('[]')

    @staticmethod
    def write(name, text):
        with open(name, 'w') as file:
            file.write('#!/bin/sh\n' + text)
        os.chmod(name, 0o755)

    def compile(self, mpi):
        if not shutil.which('mpicc.' + mpi):
            if os.environ.get('CI') == 'true':
                self.fail('no mpicc.' + mpi)
            self.skipTest('no mpicc.' + mpi)
        subprocess.check_call(['mpicc.' + mpi, '-o', 'hang', TOP + '/tests/helpers/hang.c'])

    def run_on_cluster(self, script, mpi='openmpi', **environment):
        """Runs a script on a cluster. Returns what each look printed."""
        with open('script', 'w') as file:
            file.write(SCRIPT + script)
        environment = dict(dict(os.environ, ATTACH=ATTACH), **environment)
        environment['SLURM_MPI_TYPE'] = 'pmix' if mpi == 'openmpi' else 'pmi2'
        run = subprocess.run([TOP + '/tests/cluster', '4', 'sh', './script'],
                             timeout=300 + 9 * int(os.environ.get('KILLS', 4)),
                             env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             universal_newlines=True)
        self.show('rank %d on n%d' % (self.rank, self.node), run.stdout)
        return re.split('^== attach .*: ', run.stdout, flags=re.M)[1:]

    def hang(self, launcher, how, *looks, file=''):
        """Launches hang, looks at it, and ends the launch. Each of LOOKS is a pattern and the
        arguments of attach."""
        mpi, line = LAUNCHERS[launcher]
        self.compile(mpi)
        return self.run_on_cluster('%s ./hang %s %d %s >launch 2>&1 </dev/null &\n%s\nkill $!\n' % (
            line, how, self.rank, file, '\n'.join(
                'look ' + ' '.join(map(shlex.quote, look)) for look in looks)), mpi)


class Launches(Case):
    @each(*((name, name) for name in LAUNCHERS))
    def a_rank_that_sleeps(self, launcher):
        who = 'rank %d on n%d is blocked' % (self.rank, self.node)
        others = r'7 ranks \(%s\) on n\[.*\] ' % self.others
        first, second = self.hang(launcher, 'sleep', [others + '(poll|are blocked)'],
                                  [others + 'wait in MPI_Init', '--calls'])
        self.assertIn('\n%s: in clock_nanosleep\n' % who, first)
        self.assertRegex(first, '\nnext: .*/attach --calls [0-9]+ ')
        self.assertRegex(second, r'\n%s, and has not reached MPI_Init: .* < sleep < load_input '
                                 r'\[hang\] < main\n' % who)
        self.assertRegex(second, others + 'wait in MPI_Init: ')
        self.assertNotIn('next: ', second)

    @each(('that computes', 'spin', ' computes'), ('that is stopped', 'stop', ' is stopped\n'),
          ('that reads a pipe', 'read', ' is blocked: in openat (kernel: wait_for_partner)\n'),
          ('that waits for a lock', 'lock', ' is blocked: in fcntl of {}\n'))
    def a_rank(self, how, does):
        path = os.path.abspath('file')
        os.mkfifo(path) if how == 'read' else open(path, 'w').close()
        with open(path, 'wb') if how != 'read' else contextlib.suppress() as file:
            if file:
                fcntl.lockf(file, fcntl.LOCK_EX)
            text, = self.hang(random.choice(['srun, pmix', 'mpirun']), how,
                              [r'7 ranks \(%s\) .* poll' % self.others], file=path)
        self.assertIn('\nrank %d on n%d' % (self.rank, self.node) + does.format(path), text)

    def test_a_batch_script(self):
        """On its own node, mpirun starts ranks itself. The script is no rank."""
        self.compile('openmpi')
        self.write('batch', 'mpirun.openmpi --map-by ppr:2:node ./hang sleep %d\n' % self.rank)
        texts = self.run_on_cluster('sbatch --quiet -N 4 --ntasks-per-node=2 -o /dev/null batch\n'
                                    'look "7 ranks .* poll" 1\n'
                                    'ssh n1 "cd $PWD; $ATTACH" >local\n'
                                    'echo "== attach : $(cat local)"\n')
        for text in texts:
            self.assertRegex(text, r'\nrank %d on n%d is blocked: in clock_nanosleep\n'
                                   r'7 ranks \(%s\) on n\[.*\] poll\n' % (
                                       self.rank, self.node, self.others))
            self.assertNotIn('not found', text)

    def test_a_name_with_a_line_end(self):
        """It looks like a process that is its own parent."""
        self.compile('openmpi')
        os.rename('hang', '\n1 (sh) S 1 ')
        text, = self.run_on_cluster('srun -N 4 --ntasks-per-node 2 "./\n1 (sh) S 1 " sleep %d &\n'
                                    'look "7 ranks .* poll"\n' % self.rank)
        self.assertRegex(text, r'\nrank %d on n%d is blocked: in clock_nanosleep\n' % (
            self.rank, self.node))

    def test_a_message_that_nobody_sends(self):
        self.rank = 2 * random.randrange(4)
        self.node = self.rank // 2 + 1
        first, second = self.hang(random.choice(['srun, pmix', 'mpirun']), 'recv',
                                  ['8 ranks .* compute'], ['6 ranks .* MPI_Barrier', '--calls'])
        self.assertRegex(first, r'\n8 ranks \(0-7\) on n\[1-4\] compute')
        self.assertRegex(second, r'\n2 ranks \(%d-%d\) on n%d compute in MPI_Recv.*: .* < '
                                 r'exchange_halo \[hang\] < main\n6 ranks .* wait in MPI_Barrier'
                         % (self.rank, self.rank + 1, self.node))


class Daemons(Case):
    """Every rank that has started hangs, so that the launch does."""
    def short_limit(self):
        """Copies the tools, with a shorter limit for a node that does not answer."""
        shutil.copytree(os.path.join(TOP, 'tools'), 'tools')
        os.symlink(os.path.join(TOP, 'ziastart'), 'ziastart')
        with open('tools/attach') as file:
            text = file.read()
        with open('tools/attach', 'w') as file:
            file.write(text.replace('LIMIT = 30 ', 'LIMIT = 6 '))
        return dict(ATTACH=os.path.abspath('tools/attach'))

    @each(('mpirun', 'mpirun'), ('hydra', 'hydra'))
    def a_remote_shell_that_does_not_answer(self, launcher):
        self.write('agent', 'case " $* " in *" n%d "*) exec sleep 1000; esac\nexec ssh "$@"\n' %
                   self.node)
        mpi, line = LAUNCHERS[launcher]
        self.compile(mpi)
        agent = os.path.abspath('agent')
        line = line.replace('hydra ', 'hydra -launcher-exec %s ' % agent)
        text, = self.run_on_cluster('%s ./hang sleep 9 &\n'
                                    'look "is running, but|ranks .* on"\n' % line, mpi,
                                    OMPI_MCA_plm_rsh_agent=agent,
                                    PRTE_MCA_plm_ssh_agent=agent, **self.short_limit())
        self.assertRegex(text, r'\nn%d did not respond to "%s" within 6 s\n' % (self.node, agent))
        self.assertRegex(text, r'\nnext: %s n%d\n' % (agent, self.node))
        self.assertRegex(text, '\nit runs [a-z]+.*, for [0-9]+ s\n')
        if mpi == 'openmpi':
            rest = [i for i in range(1, 5) if i != self.node]
            self.assertRegex(text, r'\nn\[%s\]: (orted|prted) is running, but no rank is\n' %
                             self.fold(rest))
        else:
            self.assertIn('\nnot found: ranks %d-%d of 8\n' % (
                2 * self.node - 2, 2 * self.node - 1), text)

    def test_a_node_that_cannot_reach_the_launcher(self):
        text, = self.run_on_cluster(
            'ssh n%d ip neigh replace 10.0.255.254 lladdr 02:00:00:00:00:01 dev eth0 nud '
            'permanent\n%s true &\nlook "no answer"\n' % (self.node, LAUNCHERS['mpirun'][1]))
        self.assertRegex(text, r'\nn%d: no answer from login \(10\.0\.255\.254\), port [0-9]+\n'
                         % self.node)

    def test_a_slurmd_that_is_stopped(self):
        self.compile('openmpi')
        text, later = self.run_on_cluster(
            'salloc --no-shell --no-kill -N 4 -n 8\n'
            'srun --jobid=1 --no-kill -N 4 -n 8 ./hang sleep %d &\nlook "7 ranks .* poll" >looked\n'
            'pkill -STOP -f "slurmd -D -N n%d"\nlook "did not respond"\n'
            'scontrol update nodename=n%d state=down reason="it fell"\n'
            'look "according to Slurm" 1\n' %
            (self.rank, self.node, self.node))
        who = r'rank %d on n%d' % (self.rank, self.node)
        self.assertRegex(text, r'\nn%d did not respond to "srun --overlap" within' % self.node)
        self.assertRegex(text, '\nnext: scontrol show node n%d\n' % self.node)
        self.assertNotIn(who, text)
        self.assertRegex(later, r'\nn%d is DOWN.* \(reason: it fell\), according to Slurm\n' %
                         self.node)

    def test_two_launches_of_one_user(self):
        """The ranks of one are not taken for those of another, though all are on the same nodes."""
        self.compile('openmpi')
        ranks = random.sample(range(8), 3)
        lines = ''.join('%s ./hang sleep %d >launch.%d 2>&1 </dev/null &\npid%d=$!\n' % (
            LAUNCHERS[launcher][1], rank, rank, i) for i, (launcher, rank) in enumerate(zip(
                random.sample(['mpirun', 'mpirun', 'srun, pmix'], 3), ranks)))
        *looks, several = self.run_on_cluster(lines + ''.join(
            'look "7 ranks .* poll" $pid%d\n' % i for i in range(3)) + 'look "name one"\n')
        for rank, one in zip(ranks, looks):
            self.assertRegex(one, r'\nrank %d on n%d is blocked: in clock_nanosleep\n'
                                  r'7 ranks \(%s\) .* poll\n' % (
                                      rank, rank // 2 + 1,
                                      self.fold(each for each in range(8) if each != rank)))
        self.assertRegex(several, 'status 2\n.*several launchers of yours .*; name one:\n'
                                  '(    .*attach [0-9]+    # .*\n){3}usage: ')

    def test_a_job_that_waits(self):
        text, = self.run_on_cluster('srun -N 4 --exclusive sleep 1000 &\n'
                                    'look "in step"  >looked\n'
                                    'setsid srun -N 4 --exclusive true &\nsleep 1\n'
                                    'look "PENDING" $(pgrep -n srun)\n')
        self.assertRegex(text, r'srun \(process .*\) waits, and scontrol shows no step of it: '
                               r'job 2 is PENDING \(reason: .*\)\n')


class Safe(Case):
    def stop(self, launcher, commands, **environment):
        """Launches hang, in which rank 0 reads a pipe. Runs commands, and then writes to the pipe.
        Checks that the launch then ends as usual. Returns what the commands printed."""
        mpi, line = LAUNCHERS[launcher]
        self.compile(mpi)
        os.mkfifo('pipe')
        self.run_on_cluster(
            '%s ./hang wait 9 "$PWD/pipe" >launch 2>&1 </dev/null &\nlaunch=$!\n'
            'look "rank 0 on n1 is blocked: in openat"\n%s\n'
            # Ranks that were stopped for a moment are running again.
            'for try in $(seq 100); do\n'
            'grep -lE "^State:.T" $(pgrep -x hang | sed "s|.*|/proc/&/status|") >stopped ||\n'
            'break\nsleep 0.1; done\n'
            'pgrep -lx "eu-stack|attach" >left\n'
            'echo >pipe; wait $launch; echo $? >status\n' % (line, commands), mpi, **environment)
        self.assertEqual([self.read(name) for name in ('stopped', 'status')], ['', '7\n'])
        return self.read('printed')

    @staticmethod
    def read(name):
        with open(name) as file:
            return file.read()

    @each(*((name, name) for name in LAUNCHERS if 'salloc' not in name))
    def a_launch_that_is_looked_at(self, launcher):
        count = int(os.environ.get('LOOKS', 2))
        printed = self.stop(launcher, 'for i in $(seq %d); do "$ATTACH" --calls; done '
                                      '>printed 2>&1' % count)
        self.assertEqual(len(re.findall('rank 0 on n1 is blocked: .* < main', printed)), count)

    def test_kills(self):
        """attach, the script, eu-stack or the way to a node is killed at a random moment."""
        launcher = random.choice([name for name in LAUNCHERS if 'salloc' not in name])
        victims = ['attach', 'srun', 'ssh', 'awk', 'eu-stack']
        self.stop(launcher, '\n'.join(
            '"$ATTACH" --calls=8 $launch >>printed 2>&1 & attach=$!\nsleep %.3f\n%s\n'
            'wait $attach' % (
                random.uniform(0.3, 2.5), 'kill -KILL $attach' if victim == 'attach' else
                'pkill -KILL -n -x %s' % victim if victim != 'srun' else
                'pkill -KILL -f "^srun --overlap"')
            for victim in random.choices(victims, k=int(os.environ.get('KILLS', 4)))))
        self.assertEqual(self.read('left'), '')

    def test_a_reader_that_is_killed_while_it_reads(self):
        """Its rank is continued, and this is reported."""
        os.mkdir('bin')
        self.write('bin/eu-stack', 'while [ $# -gt 1 ]; do shift; done\nkill -STOP $1\n'
                                   'until grep -q "^State:.T" /proc/$1/status; do :; done\n'
                                   'kill -KILL $$\n')
        printed = self.stop('srun, pmix', 'PATH=$PWD/bin:$PATH "$ATTACH" --calls >printed 2>&1')
        for node in range(1, 5):
            self.assertRegex(printed, r'\nn%d: continued processes that eu-stack had left '
                                      r'stopped: [0-9]+ [0-9]+\n' % node)

    def test_as_root(self):
        """attach becomes the user who owns the launch, and runs nothing from a rank's PATH."""
        os.chmod('.', 0o755)
        os.mkdir('bin', 0o755)
        for name in 'py-spy', 'eu-stack', 'awk', 'sh':
            self.write('bin/' + name, 'id >>%s\n' % os.path.abspath('ran'))
        open('ran', 'w').close()
        os.chmod('ran', 0o666)
        self.write('task', 'exec python3 -c "import time; time.sleep(1000)"\n')
        text, other = self.run_on_cluster(
            'setpriv --reuid=65534 --regid=65534 --clear-groups env PATH=$PWD/bin:$PATH '
            'srun -N 4 /bin/sh ./task &\nPATH=/usr/bin:/bin\nlook "4 ranks" --calls 1\n'
            'look "no launcher of yours"\n')
        self.assertRegex(text, r'\n4 ranks \(0-3\) on n\[1-4\] are blocked, and have not loaded')
        self.assertEqual(self.read('ran'), '')
        self.assertIn('no launcher of yours is running', other)


class Texts(Case):
    @each(('IPv4', '0500000A', '10.0.0.5'),
          ('IPv6', '000080FE000000000000000005000000', 'fe80::5'),
          ('IPv4 as IPv6', '0000000000000000FFFF00000500000A', '10.0.0.5'))
    def address(self, text, address):
        with mock.patch('socket.gethostbyaddr', side_effect=OSError):
            self.assertEqual(seen.name_address(text), address)


class Arguments(Case):
    @each(('an option', ['-x'], 'option -x not recognized'),
          ('a number', ['--calls=many'], "--calls takes a number of ranks, not 'many'"),
          ('a name', ['./solver'], "'./solver' is neither a Slurm job nor a process ID"),
          ('two', ['1', '2'], "'1 2' is neither a Slurm job nor a process ID"))
    def error(self, words, message):
        run = subprocess.run([ATTACH, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             universal_newlines=True)
        self.assertEqual((run.returncode, run.stdout, run.stderr.split('\n')[0]),
                         (2, '', 'attach: error: ' + message))

    def test_nothing_found(self):
        run = subprocess.run([ATTACH, '99999999'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             universal_newlines=True)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (
            1, '', 'attach: error: scontrol shows no job 99999999, and no launcher of yours has '
                   'this process ID\n'))

    def test_a_launcher_that_computes(self):
        """It has not started anything."""
        self.write('mpirun', 'while :; do :; done\n')
        with subprocess.Popen(['./mpirun']) as launcher:
            text = subprocess.check_output([ATTACH, str(launcher.pid)], universal_newlines=True)
            launcher.kill()
        self.assertRegex(text, r'^mpirun \(process %d, for [0-9]+ s\) computes, and has no child\n'
                         % launcher.pid)
        self.assertTrue(text.endswith('\nnext: eu-stack -p %d\n' % launcher.pid), text)


tap.main()
