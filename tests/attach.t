#!/usr/bin/env python3
"""tools/attach, on real launches that hang. The cases about Slurm or nodes run on a cluster, with
each launcher; the others launch four ranks on n1, which is this machine. The rank that hangs is
chosen at random. helpers/hang.c is the program, and helpers/tap.py explains how to run one case.
"""
import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), 'helpers'))
import tap  # noqa: E402
from tap import dice, each  # noqa: E402

TOP = os.path.realpath(tap.top)
sys.path.insert(0, os.path.join(TOP, 'tools'))
from ziatest import seen  # noqa: E402
from ziatest.names import number_ranges  # noqa: E402
ATTACH = os.path.join(TOP, 'tools/attach')
ON_NODES = {
    'srun, pmix': 'srun -N 4 --ntasks-per-node 2',
    'mpirun': 'mpirun.openmpi --hostfile hosts --map-by ppr:2:node',
    'mpirun, salloc': 'salloc --quiet -N 4 --exclusive mpirun.openmpi --map-by ppr:2:node',
    'srun, pmi2': 'srun --mpi=pmi2 -N 4 --ntasks-per-node 2',
    'hydra': 'mpiexec.hydra -f hosts -n 8 -ppn 2',
}
# Open MPI 5 calls the parameter by its second name.
RSH = 'mpirun.openmpi --mca plm_rsh_agent ./rsh --mca plm_ssh_agent ./rsh '
MPIRUN = RSH + '--host n1:4 -npernode 4'
HYDRA = 'mpiexec.hydra -launcher ssh -launcher-exec ./rsh -hosts n1 -n 4'
# The beginning of each script
SCRIPT = r'''
look() {    # PATTERN ARGUMENT...: looks until a line matches, and prints the last look
    pattern=$1
    shift
    for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        "$ATTACH" "$@" >seen 2>&1
        status=$?
        if grep -qE -- "$pattern" seen; then
            break
        fi
        sleep 1
    done
    echo "== attach $*: status $status"
    cat seen
}
launch() {  # COMMAND...: starts it
    rm -f pipe
    mkfifo pipe
    "$@" >launch 2>&1 </dev/null &
    launcher=$!
}
finish() {  # lets the ranks that read the pipe continue
    echo >pipe
    wait $launcher
    echo "== attach : status $?"
}
'''


class Case(tap.Case):
    def setUp(self):
        tap.write('hosts', 'n1\nn2\nn3\nn4\n')
        os.symlink(TOP + '/tests/helpers/rsh', 'rsh')

    def choose(self, count=8):
        """Chooses a rank that hangs. It must be reported as blocked, and the others as waiting."""
        self.rank = dice().randrange(count)
        self.others = number_ranges([str(rank) for rank in range(count) if rank != self.rank])
        self.hows = '- ' * self.rank + 'read'
        self.blocked = r'\nrank %d on n%d is blocked' % (self.rank, self.rank // 2 + 1)
        self.wait = r'%d ranks \(%s\) on .* ' % (count - 1, self.others.strip('[]'))

    def compile(self, mpi):
        self.needs('mpicc.' + mpi)
        subprocess.check_call(['mpicc.' + mpi, '-o', 'hang', TOP + '/tests/helpers/hang.c'])

    def looks(self, script, *where, **environment):
        """Runs a script. Returns what each of its looks printed."""
        as_root = ['--map-root-user'] * (os.geteuid() != 0)
        tap.write('script', SCRIPT + script)
        run = subprocess.run(
            [*(where or ['unshare', *as_root, *'--pid --fork --kill-child --mount-proc'.split()]),
             'sh', './script'], timeout=600, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, 'ATTACH': ATTACH, 'OMPI_ALLOW_RUN_AS_ROOT': '1',
                 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1', **environment}, universal_newlines=True)
        self.show(script, run.stdout)
        return re.split('^== attach .*: ', run.stdout, flags=re.M)[1:]

    def looks_on_cluster(self, script, mpi='openmpi'):
        return self.looks(script, TOP + '/tests/cluster', '4',
                          SLURM_MPI_TYPE='pmix' if mpi == 'openmpi' else 'pmi2')


class Cluster(Case):
    """All cases share one cluster per MPI library, because starting one takes a long time."""
    @each(('openmpi', 'openmpi', ['srun, pmix', 'mpirun', 'mpirun, salloc']),
          ('mpich', 'mpich', ['srun, pmi2', 'hydra']))
    def every_launcher(self, mpi, launchers):
        """A launch that was looked at ends as usual."""
        self.choose()
        self.compile(mpi)
        looks = self.looks_on_cluster(''.join(
            'launch %s ./hang pipe %s\nlook %s\nlook %s --calls\nfinish\n' % (
                ON_NODES[each], self.hows, shlex.quote(self.wait + '(poll|are blocked)'),
                shlex.quote(self.wait + 'wait in MPI_Init')) for each in launchers), mpi)
        self.assertEqual(len(looks), 3 * len(launchers))
        for first, second, end in zip(looks[::3], looks[1::3], looks[2::3]):
            self.assertRegex(first, self.blocked + r': in openat \(kernel: wait_for_partner\)\n')
            self.assertRegex(first, '\nnext: .*/attach --calls [0-9]+ ')
            self.assertRegex(second, self.blocked + r', and has not reached MPI_Init: .* < '
                                                    r'load_input \[hang\] < main\n')
            self.assertRegex(second, self.wait + 'wait in MPI_Init: ')
            self.assertNotIn('next: ', second)
            self.assertEqual(end, 'status 7\n')

    def test_what_only_slurm_can_do(self):
        """attach looks at a batch script, which is not a rank, and whose mpirun starts the ranks of
        its own node itself; as root, at another user's launch; at a job that waits; and at a node
        that cannot reach the launcher. Then, its srun is killed, and a slurmd is stopped."""
        self.choose()
        self.compile('openmpi')
        tap.script('batch', '#!/bin/sh\n'
                   'mpirun.openmpi --map-by ppr:2:node ./hang pipe %s\n' % self.hows)
        tap.script('task', '#!/bin/sh\nexec python3 -c "import time; time.sleep(1000)"\n')
        os.chmod('.', 0o755)
        os.mkdir('bin', 0o755)
        for name in 'py-spy', 'eu-stack', 'awk', 'sh':
            tap.script('bin/' + name, '#!/bin/sh\nid >>%s\n' % os.path.abspath('ran'))
        tap.write('ran', '')
        os.chmod('ran', 0o666)
        node, silent = ('n%d' % (dice().randrange(4) + 1) for _ in range(2))
        batch, local, root, other, waits, far, killed, stopped, down = self.looks_on_cluster('''
mkfifo pipe
job=$(sbatch --parsable -N 4 --ntasks-per-node=2 -o /dev/null batch)
look "7 ranks .* poll" $job
ssh n1 "cd $PWD; $ATTACH" >local
echo "== attach : $(cat local)"
echo >pipe

setpriv --reuid=65534 --regid=65534 --clear-groups env PATH=$PWD/bin:$PATH \\
    srun -N 4 /bin/sh ./task &
(
    PATH=/usr/bin:/bin
    look "4 ranks" --calls $((job + 1))
    look "no launcher of yours"
)
setsid srun -N 4 --exclusive true &
look "PENDING" $!
scancel $((job + 1)) $((job + 2))

ssh %(node)s ip neigh replace 10.0.255.254 lladdr 02:00:00:00:00:01 dev eth0 nud permanent
launch %(mpirun)s true
look "no answer" $launcher
kill $launcher
ssh %(node)s ip neigh del 10.0.255.254 dev eth0

salloc --no-shell --no-kill -N 4 -n 8
launch srun --jobid=$((job + 3)) --no-kill -N 4 -n 8 ./hang pipe %(hows)s
look "7 ranks .* poll" >looked
"$ATTACH" --calls >looked 2>&1 &
until pkill -KILL -f "^srun --overlap"; do :; done
wait $!
look "7 ranks .* poll"
pkill -STOP -f "slurmd -D -N %(silent)s"
look "did not answer"
scontrol update nodename=%(silent)s state=down reason="it fell"
look "according to Slurm" $((job + 3))
''' % dict(node=node, silent=silent, hows=self.hows, mpirun=ON_NODES['mpirun']))
        for text in batch, local, killed:
            self.assertRegex(text, r'\nrank %d on n[1-4] is blocked: in openat .*\n%spoll\n' % (
                self.rank, self.wait))
            self.assertNotIn('not found', text)
        self.assertRegex(root, r'\n4 ranks \(0-3\) on n\[1-4\] are blocked, and have not loaded')
        self.assertEqual(tap.read('ran'), '')
        self.assertIn('no launcher of yours is running', other)
        self.assertRegex(waits, r'srun \(process .*\) waits, and scontrol shows no step of it: '
                                r'job [0-9]+ is PENDING \(reason: .*\)\n')
        self.assertRegex(far, r'\n%s: no answer from login \(10\.0\.255\.254\), port [0-9]+\n'
                         % node)
        self.assertRegex(stopped, r'\n%s did not answer to "srun --overlap" within' % silent)
        self.assertRegex(stopped, '\nnext: scontrol show node %s\n' % silent)
        self.assertNotRegex(stopped, r'ranks? [^(]* on %s (polls|is blocked)' % silent)
        self.assertRegex(down, r'\n%s is DOWN.* \(reason: it fell\), according to Slurm\n' % silent)


class OneNode(Case):
    def test_what_ranks_do(self):
        """In /proc, the name of the program looks like a process that is its own parent."""
        self.compile('openmpi')
        os.rename('hang', '\n1 (sh) S 1 ')
        path, ranks = os.path.abspath('file'), dice().sample(range(4), 4)
        does = dict(zip(ranks, (' computes', ' is stopped', ' is blocked: in fcntl of ' + path,
                                ' polls')))
        hows = dict(zip(ranks, ('spin', 'stop', 'lock', '-')))
        with open(path, 'w') as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            text, = self.looks('launch %s "./\n1 (sh) S 1 " "$PWD/file" %s\n'
                               'look "polls" $launcher\n' % (
                                   MPIRUN, ' '.join(how for _, how in sorted(hows.items()))))
        for rank, what in does.items():
            self.assertIn('\nrank %d on n1%s' % (rank, what), text)

    def test_messages_that_nobody_sends(self):
        self.compile('openmpi')
        first, second = self.looks(
            'launch %s ./hang - recv recv\nlook "4 ranks .* compute" $launcher\n'
            'look "MPI_Barrier" --calls $launcher\n' % MPIRUN)
        self.assertRegex(first, r'\n4 ranks \(0-3\) on n1 compute')
        self.assertRegex(second, r'\n2 ranks \(0-1\) on n1 compute in MPI_Recv.*: .* < '
                                 r'exchange_halo \[hang\] < main\n2 ranks .* MPI_Barrier')

    @each(('mpirun', 'openmpi', RSH + '--host n1:2,n2:2,n3:2 -npernode 2',
           r'n\[1,3\]: (orted|prted) is running, but no rank is\n'),
          ('hydra', 'mpich', 'mpiexec.hydra -launcher ssh -launcher-exec ./rsh -hosts '
           'n1,n2,n3,n4 -n 8 -ppn 2', 'not found: ranks 2-3 of 8\n'))
    def a_remote_shell_that_does_not_answer(self, mpi, line, rest):
        """Every rank that has started hangs, so that the launch hangs, too. The tools are copies
        with a shorter limit for a node that does not answer."""
        self.compile(mpi)
        shutil.copytree(os.path.join(TOP, 'tools'), 'tools')
        os.symlink(os.path.join(TOP, 'ziastart'), 'ziastart')
        text = tap.read('tools/attach').replace('LIMIT = 30 ', 'LIMIT = 6 ')
        tap.write('tools/attach', text)
        text, = self.looks('launch %s ./hang -\n'
                           'look "^n2 did not answer" $launcher\n' % line, LOST='n2',
                           ATTACH=os.path.abspath('tools/attach'))
        self.assertRegex(text, r'\nn2 did not answer to "\./rsh" within 6 s\n')
        self.assertRegex(text, r'\nnext: \./rsh n2\n')
        self.assertRegex(text, '\nit runs [a-z]+.*, for [0-9]+ (s|min)\n')
        self.assertRegex(text, '\n' + rest)

    def test_launches_of_one_user(self):
        """The ranks of one launch are not mistaken for those of another on the same node."""
        self.compile('openmpi')
        ranks = dice().sample(range(4), 3)
        *looks, several = self.looks('mkfifo pipe\n' + ''.join(
            '%s ./hang pipe %s read >launch.%d 2>&1 </dev/null &\npid%d=$!\n' % (
                MPIRUN, '- ' * rank, rank, rank) for rank in ranks) + ''.join(
                    'look "3 ranks .* poll" $pid%d\n' % rank for rank in ranks) +
            'look "name one"\n')
        for rank, one in zip(ranks, looks):
            others = number_ranges([str(each) for each in range(4) if each != rank]).strip('[]')
            self.assertRegex(one, r'\nrank %d on n1 is blocked: in openat .*\n'
                                  r'3 ranks \(%s\) .* poll\n' % (rank, others))
        self.assertRegex(several, 'status 2\n.*several launchers of yours .*; name one:\n'
                                  '(    .*attach [0-9]+    # .*\n){3}usage: ')

    def test_kills(self):
        """attach, or the timeout, awk or eu-stack that it runs, is killed at a random moment. The
        launch still ends as usual."""
        self.compile('mpich')
        kills = ['kill -KILL $!', *('pkill -KILL -n -x ' + name
                                    for name in ('timeout', 'awk', 'eu-stack'))]
        script = 'launch %s ./hang pipe read\nlook "rank 0 .* openat" $launcher\n' % HYDRA
        for _ in range(int(os.environ.get('KILLS', 4))):
            script += '"$ATTACH" --calls $launcher >printed 2>&1 &\nsleep %.3f\n%s\nwait $!\n' % (
                dice().uniform(0.3, 2), dice().choice(kills))
        _, end = self.looks(script + 'finish\n')
        self.assertEqual(end, 'status 7\n')

    def test_a_reader_that_is_killed_while_it_reads(self):
        """The rank that it stopped is continued, and this is reported."""
        self.compile('mpich')
        os.mkdir('bin')
        tap.script('bin/eu-stack', '#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\nkill -STOP $1\n'
                                   'until grep -q "^State:.T" /proc/$1/status; do :; done\n'
                                   'kill -KILL $$\n')
        text, end = self.looks('launch %s ./hang pipe read\nPATH=$PWD/bin:$PATH\n'
                               'look "continued" --calls $launcher\nfinish\n' % HYDRA)
        self.assertRegex(text, r'\nn1: continued processes that eu-stack had left stopped: '
                               r'[0-9]+ [0-9]+ [0-9]+ [0-9]+\n')
        self.assertEqual(end, 'status 7\n')

    def test_a_launcher_that_computes(self):
        """The launcher has not started anything."""
        tap.script('mpirun', '#!/bin/sh\nwhile :; do :; done\n')
        text, = self.looks('launch ./mpirun\nlook "computes" $launcher\n')
        self.assertRegex(text, r'\nmpirun \(process [0-9]+, for [0-9]+ s\) computes, and has no '
                               r'child\n(.*\n)*next: eu-stack -p [0-9]+\n$')


class Texts(Case):
    @each(('IPv4', '0500000A', '10.0.0.5'),
          ('IPv6', '000080FE000000000000000005000000', 'fe80::5'),
          ('IPv4 as IPv6', '0000000000000000FFFF00000500000A', '10.0.0.5'))
    def address(self, text, address):
        with mock.patch('socket.gethostbyaddr', side_effect=OSError):
            self.assertEqual(seen.name_address(text), address)

    @each(('an option', 2, '-x', 'option -x not recognized'),
          ('a number', 2, '--calls=many', "--calls takes a number of ranks, not 'many'"),
          ('a name', 2, './solver', "'./solver' is neither a Slurm job nor a process ID"),
          ('two', 2, '1 2', "'1 2' is neither a Slurm job nor a process ID"),
          ('nothing', 1, '99999999', 'scontrol shows no job 99999999, and no launcher of yours '
           'has this process ID'))
    def error(self, status, words, message):
        run = subprocess.run([ATTACH, *words.split()], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, universal_newlines=True)
        self.assertEqual((run.returncode, run.stdout, run.stderr.split('\n')[0]),
                         (status, '', 'attach: error: ' + message))


tap.main()
