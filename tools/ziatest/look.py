"""look - what a running launch is doing, seen from outside, for tools/attach and tools/check

Looks first at the launcher, if it runs on this machine: its state, its children, and the Slurm step
that it or a descendant has created. On each node, tools/look then examines the processes of the
launch. It is started by srun --overlap or, if there is no step, through the launcher's own remote
shell. The script travels with the command, so no part of Ziatest needs to be on the nodes.
"""
import base64
import collections
import contextlib
import itertools
import os
import re
import shlex
import shutil
import signal
import tempfile
import time

from .children import ask, cut, find_file, signal_group, start
from .names import fold_for_slurm, fold_within
from .rollcall import MOST_NAMES
from .seen import Seen
from .slurm import Missing, obstacles, step_of, unreachable
from .text import plural

STARTER = find_file('../ziastart', '../../../lib/ziastart')  # lists the launchers
MOST_SHELLS = 64  # at a time
# Options and variables that name nodes, a file that lists nodes, and a remote shell
HOSTS = '-H', '-host', '--host', '-hosts', '--hosts'
FILES = ('-hostfile', '--hostfile', '-machinefile', '--machinefile', '-f', '--default-hostfile',
         'orte_default_hostfile', 'OMPI_MCA_orte_default_hostfile',
         'PRTE_MCA_prte_default_hostfile', 'HYDRA_HOST_FILE', 'PBS_NODEFILE')
AGENTS = ('plm_rsh_agent', 'plm_ssh_agent', '-launcher-exec', 'OMPI_MCA_plm_rsh_agent',
          'PRTE_MCA_plm_ssh_agent', 'HYDRA_LAUNCHER_EXEC')
HOST = re.compile(r'[A-Za-z0-9_][\w.-]*')
INTERPRETER = re.compile('python|perl|(ba|da|k|z)?sh$')
# Variables of an outer job or step, which would affect srun
OUTER = re.compile('(SLURM|SRUN)_(?!CONF$|CLUSTERS$)')

class Known:
    """The launchers that ziastart knows: the names of their COMMANDS; their DAEMONS, each with the
    variables that hold the rank and the number of ranks; and the VARIABLES that hold the rank
    within its node, the rank, and the number of ranks"""
    def __init__(self):
        lines = [line.split() for line in ask(STARTER, '--launchers').splitlines()]
        self.commands = {words[1] for words in lines if words[0] == 'command'}
        self.daemons = {words[1]: words[2:] for words in lines if words[0] == 'daemon'}
        self.variables = [words[1:] for words in lines if words[0] == 'rank']

    def command(self, process):
        """The name of the launcher, perhaps a script, that a process runs, or ''"""
        names = [*map(os.path.basename, process.words[:2])]
        if not INTERPRETER.match(names[0] if names else ''):
            names = names[:1]
        return next((name for name in (name.partition('.')[0] for name in names)
                     if name in self.commands), '')

# A process on this machine. SESSION is a number, and AGE is in seconds.
Process = collections.namedtuple('Process', 'pid parent session name state age words uid')

def read(path):
    with contextlib.suppress(OSError), open(path, 'rb') as file:
        return os.fsdecode(file.read())
    return ''

def processes():
    """The processes of this user by their IDs; if this is root, those of all users"""
    found, now, here = {}, float(read('/proc/uptime').split()[0]), os.readlink('/proc/self/ns/net')
    for pid in map(int, filter(str.isdigit, os.listdir('/proc'))):
        name, _, rest = read(f'/proc/{pid}/stat').partition('(')[2].rpartition(') ')
        fields = rest.split()
        with contextlib.suppress(OSError):
            uid = os.stat(f'/proc/{pid}').st_uid
            # Virtual nodes share one /proc, but each has its own network.
            if fields and os.geteuid() in (0, uid) and os.readlink(f'/proc/{pid}/ns/net') == here:
                # If the process is stuck in the kernel, reading could hang.
                words = [] if fields[0] == 'D' else read(f'/proc/{pid}/cmdline').split('\0')[:-1]
                age = now - int(fields[19]) / os.sysconf('SC_CLK_TCK')
                found[pid] = Process(pid, int(fields[1]), int(fields[3]), name, fields[0], age,
                                     words, uid)
    return found

def descendants(everything, pid):
    found, level = [], [pid]
    while level:
        below = [each for each in everything.values() if each.parent in level]
        level = [each.pid for each in below]
        found += below
    return found

def duration(seconds):
    return f'{seconds:.0f} s' if seconds < 120 else f'{seconds / 60:.0f} min' \
        if seconds < 7200 else f'{seconds / 3600:.0f} h'

def find_launchers(known):
    """The launchers of this user on this machine that no other launcher has started"""
    everything = processes()
    found = [each for each in everything.values() if each.uid == os.geteuid() and
             known.command(each) not in ('', 'salloc', 'sbatch')]  # The latter start shells.
    inner = {each.pid for launcher in found for each in descendants(everything, launcher.pid)}
    return [each for each in found if each.pid not in inner]

class Launcher:
    """A launcher on this machine, and what it has started"""
    def __init__(self, known, pid):
        everything = processes()
        if pid not in everything:
            raise Missing(f'process {pid} has ended')
        self.known, self.process, self.began = known, everything[pid], time.monotonic()
        self.name = known.command(self.process) or self.process.name
        self.descendants, self.before = descendants(everything, pid), self.work()
        # srun has a helper of the same name.
        self.children = [each for each in self.descendants
                         if each.parent == pid and each.name != self.process.name]
        self.step = step_of([pid, *(each.pid for each in self.descendants)])

    def work(self):
        """Its CPU time and its wait for a CPU, in seconds"""
        fields = read(f'/proc/{self.process.pid}/schedstat').split()
        return sum(map(int, fields[:2])) / 1e9

    def is_busy(self):
        """Whether it has computed or waited for a CPU for half of the time since the beginning"""
        return self.work() - self.before > (time.monotonic() - self.began) / 2

    def options(self):
        """The words in front of the program, whose options may have the same names. The program is
        the first word that can be run, but is not the value of an option."""
        words, cwd = self.process.words, f'/proc/{self.process.pid}/cwd'
        for i in range(2, len(words)):
            if words[i - 1] not in HOSTS + FILES + AGENTS and shutil.which(
                    os.path.join(cwd, words[i]) if '/' in words[i] else words[i]) and (
                        '/' in words[i] or words[i - 1][:1] != '-'):
                return words[:i]
        return words

    def given(self, names):
        """The values of options, given as NAME VALUE or NAME=VALUE, and of variables"""
        words = self.options()
        settings = words + read(f'/proc/{self.process.pid}/environ').split('\0')
        found = [value for name, value in zip(words, words[1:]) if name in names]
        found += [word.partition('=')[2] for word in settings if word.partition('=')[0] in names]
        return [*filter(None, found)]

    def hosts(self):
        """The nodes that its command line or its hostfile names; [] if it names none"""
        found = [part for value in self.given(HOSTS) for part in value.split(',')]
        words = self.options()
        for at in [at for at, word in enumerate(words) if word in ('-hosts', '--hosts')]:
            # Hydra has replaced the commas in its own arguments, so that each name is a word.
            found += itertools.takewhile(lambda name: name[:1] != '-', words[at + 2:])
        for path in self.given(FILES)[:1] * (not found):
            lines = read(os.path.join(f'/proc/{self.process.pid}/cwd', path)).splitlines()
            found = [words[0] for words in (line.split('#')[0].split() for line in lines) if words]
        found = (name.partition(':')[0] for name in found)
        return [*dict.fromkeys(name for name in found if HOST.fullmatch(name))]

    def agent(self):
        """The command that reaches a node. A child that names a node may be a rank."""
        return shlex.split([*self.given(AGENTS), 'ssh'][0].partition(':')[0])

    def ports(self):
        """The ports on which it listens. With Open MPI, PRRTE and hydra, one is in the command line
        of each of its daemons, which distinguishes them from those of another launch."""
        sockets, ports = set(), []
        for process in [self.process, *filter(self.known.command, self.descendants)]:
            with contextlib.suppress(OSError):
                directory = f'/proc/{process.pid}/fd'
                sockets.update(os.readlink(f'{directory}/{name}')
                               for name in os.listdir(directory))
        for fields in map(str.split, (read('/proc/net/tcp') + read('/proc/net/tcp6')).splitlines()):
            if fields[3] == '0A' and f'socket:[{fields[9]}]' in sockets:
                ports.append(int(fields[1].rpartition(':')[2], 16))
        return ports

    def lines(self, hosts):
        """Yields lines about what it is doing, and about its children."""
        does = 'is stopped' if self.process.state in 'Tt' else \
            'computes' if self.is_busy() else 'waits'
        if self.step:
            does += f', in step {self.step.id}'
        elif self.name == 'srun':
            job = [*self.given(['SLURM_JOB_ID']), ''][0]
            found = obstacles(job, self.process.session)
            does += ', and scontrol shows no step of it' + ': ' * bool(found) + ', '.join(found[:4])
        elif not self.children:
            does += ', and has no child'
        yield f'{self.name} (process {self.process.pid}, for {duration(self.process.age)}) {does}'
        groups = collections.defaultdict(list)
        for child in self.children:
            groups[child.name].append(child)
        for name, alike in groups.items():
            ages = [each.age for each in alike]
            since = ' to '.join(dict.fromkeys(map(duration, (min(ages), max(ages)))))
            names = {word for each in alike for word in each.words[1:]} & {*hosts}
            what = f'{name} {fold_within(names, MOST_NAMES)}' if names else \
                name if len(alike) == 1 else f'{len(alike)} processes {name}'
            yield f'it runs {what}, for {since}'

class Look:
    """A look at the processes of a LAUNCHER on this machine, or of a Slurm STEP. Reads the calls of
    up to CALLS ranks on each node. poll() must be called until it returns True, after at most
    SECONDS; then lines() yields the text. What srun has started is never ended from here, because
    that would kill eu-stack, and its rank would stay stopped."""
    def __init__(self, known, launcher, step, seconds, calls=0):
        self.tag, self.seconds, self.calls = f'{os.getpid()}.{time.time():.0f}', seconds, calls
        self.known, self.launcher, self.step = known, launcher, step
        self.waiting, self.running, self.outputs, self.down = [], {}, [], {}
        self.began, self.agent = time.monotonic(), ['srun', '--overlap']
        here = os.uname().nodename
        self.hosts = launcher.hosts() if launcher else []
        self.nodes = step.nodes if step else self.hosts or [here]
        # mpirun has no daemon on its own node, even if Slurm starts the others.
        own = {here, here.partition('.')[0], 'localhost', '127.0.0.1'} & {*self.nodes}
        if step:
            own = own or {here}
        if not launcher or launcher.name == 'srun':
            own = set()
        if step:
            self.down = unreachable(self.nodes)
            self.look_by_srun([node for node in self.nodes if node not in self.down])
        elif launcher.name != 'srun':
            self.agent = launcher.agent()
            self.look_by_agent([node for node in self.nodes if node not in own])
        for node in own:
            self.waiting.append((node, ['sh', '-c', script(), 'look',
                                        *self.arguments(node, launcher.process.pid)]))
        self.poll()

    def arguments(self, node='', pid=''):
        """The arguments of tools/look"""
        steps = self.step.ids if self.step else []
        ports = self.launcher.ports() if self.launcher and not pid else []
        daemons = [f'{name}:{rank}={size}' for name, (rank, size) in self.known.daemons.items()]
        return [self.tag, node, ' '.join(map('[{}]'.format, steps)),
                ' '.join(map(':{}'.format, ports)), str(pid), str(self.calls), ','.join(daemons)]

    def look_by_srun(self, nodes):
        count = len(nodes)
        self.waiting += [('srun', [
            'srun', '--overlap', '--mpi=none', '--jobid=' + self.step.job, f'--nodes={count}',
            f'--ntasks={count}', '--ntasks-per-node=1', '--nodelist=' + fold_for_slurm(nodes),
            '--immediate=20', '--no-kill', '--kill-on-bad-exit=0', '--job-name=attach', '--quiet',
            '--chdir=/', 'sh', '-c', script(), 'look', *self.arguments()])] * bool(nodes)

    def look_by_agent(self, nodes):
        """Passes the script as a single word that any shell understands, so it needs no input."""
        is_ssh = os.path.basename(self.agent[0]) == 'ssh'
        options = ['-oBatchMode=yes', '-oConnectTimeout=10'] * is_ssh
        command = f'echo {base64.b64encode(script().encode()).decode()} | base64 -d | sh -s -- '
        for node in nodes:
            self.waiting.append((node, [
                'timeout', '-k', '1', str(self.seconds), *self.agent, *options, node,
                command + ' '.join(map(shlex.quote, self.arguments(node)))]))

    def poll(self):
        """Starts as many commands as may run at a time. Returns whether all have finished."""
        env = {name: value for name, value in os.environ.items() if not OUTER.match(name)}
        self.running = {name: process for name, process in self.running.items()
                        if process.poll() is None}
        if time.monotonic() > self.began + self.seconds:
            for process in self.running.values():
                # srun gives up if it still waits for its step; otherwise, tools/look ignores this.
                signal_group(process.pid, signal.SIGUSR1)
            return True
        while self.waiting and len(self.running) < MOST_SHELLS:
            name, words = self.waiting.pop(0)
            output = tempfile.TemporaryFile()
            self.outputs.append((name, output))
            try:
                self.running[name] = start(words, output, env)
            except OSError as error:
                output.write(f'{words[0]}: {error.strerror}'.encode())
        return not self.running

    def lines(self):
        """Yields the lines of the text."""
        output = []
        for name, file in self.outputs:
            file.seek(0)
            output += [(name, line) for line in os.fsdecode(file.read()).split('\n')]
        self.seen = Seen([line for _, line in output], self.tag, {*self.nodes})
        unasked = {name for name, _ in self.waiting}
        answered = {*self.seen.nodes, *self.down, *unasked}
        self.silent = [node for node in self.nodes if node not in answered] if self.outputs else []
        if self.launcher:
            yield from self.launcher.lines(self.hosts)
        else:
            yield f'step {self.step.id} ({self.step.name}): ' \
                f'{plural(len(self.nodes), "node")}, {fold_within(self.nodes, MOST_NAMES)}'
        yield from (f'{node} is {why}, according to Slurm' for node, why in self.down.items())
        if self.silent:
            yield f'{fold_within(self.silent, MOST_NAMES)} did not respond to ' \
                f'"{" ".join(self.agent)}" within {time.monotonic() - self.began:.0f} s'
        if unasked:
            yield f'{fold_within(unasked, MOST_NAMES)}: there was no time to look'
        yield from self.seen.lines()
        yield from dict.fromkeys(
            f'{name}: {cut(line.strip())}' for name, line in output
            if '@zia' not in line and line.strip() and name in ('srun', *self.silent))

    def next_line(self, again):
        """Yields a line that says what to do next, if that is certain. AGAIN is the command that
        also reads the calls."""
        ask_node = ['scontrol', 'show', 'node'] if self.step else self.agent
        missing = [*self.down, *self.silent][:1]
        if missing:
            yield f'next: {" ".join(map(shlex.quote, [*ask_node, *missing]))}'
        elif self.launcher and self.launcher.is_busy() and not self.seen.kinds:
            yield f'next: eu-stack -p {self.launcher.process.pid}'
        elif self.seen.kinds and not self.calls:
            yield f"next: {again}    # also shows the ranks' calls; stops each for a moment"

def script():
    with open(find_file('look'), encoding='ascii') as file:
        return file.read()
