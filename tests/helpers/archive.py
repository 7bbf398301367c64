"""archive - the files of a flawless job, with known figures, and ways to alter them

Launch R on N nodes takes 200 + 50 N + R ms, if no node is late. Rank 0 is the slowest; each rank
completes 0.5 ms before the preceding one.
"""
import datetime
import hashlib
import os
import re

top = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', '..')
SIZE = 104913536  # bytes of ziaprobe
ROW = ('started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,daemon_ms,spawn_ms,'
       'exec_ms,setup_ms,init_ms,fence_ms,exchange_ms,clock_ms,cpu_ms,cpu_wait_ms,blocked_ms,'
       'faults,outlier,outlier_rank,outlier_host,outlier_ms,outlier_kind,outlier_nodes,'
       'mpi_init_max_ms,offset_ms,offset_host,reference_host,offset_bound_ms,program,'
       'executable_bytes,mpi,daemon,fence_interface')  # of version 2.2
RANK = ('rank,node,host,daemon_ms,spawn_ms,exec_ms,setup_ms,init_ms,fence_ms,wait_ms,exchange_ms,'
        'mpi_init_ms,completed_ms,cpu_ms,cpu_wait_ms,blocked_ms,faults,clock_offset_ms')
REPORTED = ('daemon spawn exec setup init fence wait exchange mpi_init completed cpu cpu_wait '
            'blocked').split()  # the columns of a rank that -vv summarises, except faults


def stamp(seconds, form='%Y-%m-%dT%H:%M:%S.000042Z'):
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return moment.strftime(form)


def cells(*values):
    return ','.join('' if value is None else '%.3f' % value if isinstance(value, float)
                    else str(value) for value in values)


def text(lines):
    return ''.join(line + '\n' for line in lines)


class Files(dict):
    """The files of a job, by name: their text, or bytes"""
    def sub(self, name, pattern, to, count=0):
        """Replaces PATTERN, in which ^ and $ match at each line, in a file. It must occur."""
        self[name], found = re.subn(pattern, to, self[name], count, re.M)
        if not found:
            raise ValueError('%s does not contain %s' % (name, pattern))

    def cell(self, name, line, column, value):
        """Sets a cell of a CSV file. Line 1 is the header."""
        lines = self[name].split('\n')
        row = lines[line - 1].split(',')
        row[lines[0].split(',').index(column)] = value
        lines[line - 1] = ','.join(row)
        self[name] = '\n'.join(lines)

    def remove(self, pattern):
        for name in [name for name in self if re.match(pattern, name)]:
            del self[name]

    def lines(self, name, first, last=None):
        """Removes lines of a file, counted from 1."""
        lines = self[name].splitlines(True)
        del lines[first - 1:last or first]
        self[name] = ''.join(lines)

    def add(self, **facts):
        """Adds facts to those of the environment, in place of others."""
        for name, value in facts.items():
            self['environment.txt'] = re.sub('(?m)^%s=.*\n' % name, '', self['environment.txt'])
            self.sub('environment.txt', '^SRUN=', '%s=%s\nSRUN=' % (name, value), 1)

    def fails(self, launch, status, *lines):
        """Replaces the files of a launch, called NODES-RUN, with those of a failed one; the command
        line that ziatest printed stays."""
        name = 'output/%s.txt' % launch
        command = self[name].split('\n')[0]
        start = stamp(int(re.search(r'ziaprobe (\d+)', command)[1]))
        self.sub('results.csv', '^%s,.*\n' % start, '')
        del self['ranks-%s.csv' % launch]
        self[name] = text([command, *lines, 'status %d' % status])

    def not_launched(self, launch, reason):
        self.fails(launch, 0)
        self['output/%s.txt' % launch] = 'not launched: %s\n' % reason

    def stop(self):
        """As if the job had ended after its launches, without the checksums and the nodes"""
        self['environment.txt'] = re.sub('(?m)^([0-9a-f]{64} |[0-9]+ nodes: ).*\n', '',
                                         self['environment.txt'])

    def warm(self, name, *nodes):
        """Lets the ranks of these nodes read nothing from disk."""
        for node in nodes:
            self.sub(name, '^([0-9]+,%d,.*),3,([^,]*)$' % node, r'\1,0,\2')

    def swap(self, one, other):
        self[one], self[other] = self[other], self[one]

    def sums(self):
        """Makes SHA256SUMS anew, as the job does, so that no file looks changed."""
        self['SHA256SUMS'] = text('%s  %s' % (digest(content), name)
                                  for name, content in sorted(self.items())
                                  if name != 'SHA256SUMS')

    def write(self, directory):
        """Writes the files; returns the directory."""
        os.makedirs(os.path.join(directory, 'output'))
        for name, content in self.items():
            with open(os.path.join(directory, name), 'wb') as file:
                file.write(as_bytes(content))
        return directory


def as_bytes(content):
    return content if isinstance(content, bytes) else content.encode('latin-1')


def digest(content):
    return hashlib.sha256(as_bytes(content)).hexdigest()


def make(late='', start=1795253637, mpi='Open MPI v4.1.4', fences=2, host='n', **given):
    """Returns the Files of a job. GIVEN are names in environment.txt.

    LATE are nodes that are late, in any order and number: NODE:PHASE:MS is the number of a node,
    one of daemon, exec, init and exchange, and by how much that phase takes longer there;
    NODE:PHASE:MS:RUN is late in one launch of each size only. All other nodes wait for a late one.
    Late in exec and init is blocked. START is the first launch's, in seconds since 1970; FENCES is
    None if the MPI library hides them; HOST is the prefix of the node names.
    """
    sweep, ppn = given.get('SWEEP', '8 4'), given.get('PPN', '2')
    system = given.get('SYSTEM_NODES', sweep.split()[0])
    facts = dict(RUNS='3', SWEEP=sweep, PPN=ppn, TIMEOUT='60', SYSTEM_NODES=system,
                 SRUN_OPTIONS='', DATE=stamp(start - 3, '%Y-%m-%dT%H:%M:%SZ'), NODES_FOUND=system,
                 NODES_UNUSED='', INTERFACES=ppn, PROBE='/x/ziaprobe on ext4, /dev/vda',
                 SRUN='/usr/bin/srun', SLURM_CLUSTER_NAME='virtual', SLURM_JOB_ID='7',
                 OMPI_MCA_plm_slurm_args='--external-launcher', ReqNodeList='(null)',
                 ExcNodeList='', Features='(null)')
    facts.update(given)
    files, rows = Files(), [ROW]
    for nodes in map(int, sweep.split()):
        for run in range(1, int(facts['RUNS']) + 1):
            launch = Launch(nodes, int(ppn), run, late.split(), fences, host)
            rows.append(launch.row(stamp(start), mpi))
            name = '%d-%d' % (nodes, run)
            files['ranks-%s.csv' % name] = text([RANK, *launch.rows])
            files['nodes-%s.txt' % name] = text(host + str(node + 1) for node in range(nodes))
            files['output/%s.txt' % name] = text(launch.output(
                start, mpi, 'ziatest-%s-%s' % (facts['SLURM_CLUSTER_NAME'],
                                               facts['SLURM_JOB_ID'])))
            start += 10
    files['results.csv'] = text(rows)
    sums = ['%s  %s' % (digest(name), name) for name in ('ziatest', 'ziaprobe')]
    files['build.txt'] = text(['built: ' + facts['DATE'], 'commit: abc1234',
                               'command: cc -std=c11', 'size: 26800 ziatest',
                               'size: %d ziaprobe' % SIZE, *sums])
    files['changes.diff'] = ''
    copies = []
    for script in 'run_ziatest.sh', 'job/launches':
        with open(os.path.join(top, script)) as file:
            copies += ['\t' + line.rstrip('\n') for line in file]
    files['environment.txt'] = text([
        *['%s=%s' % fact for fact in facts.items()], 'slurm-wlm 22.05.8', '',
        'The batch script, and job/launches:', *copies, '', 'The nodes, after the last launch:',
        '%s nodes: interfaces %s, rate 200000 Mb/s, down 0, cores 64, threads 2, memory 251 GiB, '
        'AMD EPYC 7763, 5.14.21' % (system, ppn), '', 'The programs, after the last launch:',
        *sums])
    files.sums()
    return files


class Launch:
    """One launch; ROWS are those of its file of ranks"""
    def __init__(self, nodes, ppn, run, late, fences, host):
        self.nodes, self.ppn, self.name, self.host = nodes, ppn, '%d-%d' % (nodes, run), host
        self.fences = fences
        spawn, init, exchange = 25. * nodes, 100. + 20 * nodes + run, 40. + 5 * nodes
        fence = 30. if fences else None
        if not fence:
            init += 30
        before_fence = 10 + spawn + 20 + init + (fence or 0)
        lates = []  # by how much each phase takes longer on a node
        for block in range(nodes):
            lates.append(dict(daemon=0., exec=0., init=0., exchange=0.))
            for node, phase, time, *runs in (entry.split(':') for entry in late):
                if int(node) == block + 1 and (not runs or int(runs[0]) == run):
                    lates[block][phase] = float(time)
        own = [sum(times.values()) - times['exchange'] for times in lates]
        latest = own.index(max(own))

        def phases(block):
            """The phases of a node up to MPI_Init's return, without its wait, and its work"""
            times = lates[block]
            work = (80., 5., init - 65) if fence else (8., 5., 7.)
            blocked = times['exec'] + (times['init'] if fence else 0)
            return ((10 + times['daemon'], spawn, 20 + times['exec'], None, init + times['init'],
                     fence),
                    work[:2] + (work[2] + blocked,))

        self.rows, completed = [], []
        self.columns = {name: [] for name in REPORTED}
        for rank in range(nodes * ppn):
            block = rank // ppn
            first, work = phases(block)
            wait = own[latest] - own[block]
            last = (None, first[4] + (fence or 0) + wait, None)
            if block % 2 == 0:
                reply = exchange - .5 * rank + lates[block]['exchange']
                if block + 1 < nodes:
                    reply += lates[block + 1]['exchange']
                completed.append((before_fence + own[latest] + reply, reply, rank))
                last = (reply, last[1], completed[-1][0])
            offset = -.067 if block == 1 else 0.
            values = [*first, wait, *last, *work]
            self.rows.append(cells(rank, block + 1, '%s%d' % (host, block + 1), *values, 3, offset))
            for name, value in zip(REPORTED, values):
                self.columns[name] += [] if value is None else [value]
        self.time, self.reply, self.slowest = max(completed)
        self.path, self.work = phases(latest)
        excess = {phase: time for times in lates for phase, time in times.items() if time}
        self.outlier = [None] * 6
        if excess:
            phase = max(excess, key=lambda phase: excess[phase])
            block = self.slowest // ppn if phase == 'exchange' else latest
            self.outlier = [phase, block * ppn, '%s%d' % (host, block + 1), excess[phase],
                            'blocked' if phase in ('exec', 'init') else None, 1]

    def output(self, start, mpi, result):
        nodes, ppn, ranks = self.nodes, self.ppn, self.nodes * self.ppn
        yield ('srun --overlap --nodes=%d --ntasks=%d --ntasks-per-node %d ./ziaprobe %d 42 %d '
               '--verbose --timeout 60 --csv %s/results.csv --ranks %s/ranks-%s.csv'
               % (nodes, ranks, ppn, start, ppn, result, result, self.name))
        printed = '%8.2f millisecs' % self.time
        if self.time >= 1000:
            printed = '%3d:%02d min:sec' % divmod(self.time // 1000, 60)
        yield 'Time test was completed in ' + printed
        yield from ['Slowest rank: %d' % self.slowest, '']
        yield '%.3f ms, %d node%s x %d = %d rank%s' % (
            self.time, nodes, 's' * (nodes > 1), ppn, ranks, 's' * (ranks > 1))
        yield from ['outlier: none', '']
        yield '%-12s%11s %11s %11s  slowest rank' % ('ms', 'min', 'median', 'max')
        for name, values in self.columns.items():
            if values:
                values.sort()
                yield '%-12s%11.3f %11.3f %11.3f  0 on n1' % (
                    name, values[0], values[(len(values) - 1) // 2], values[-1])
        yield 'fences: ' + ('%d, PMIx' % self.fences if self.fences else 'none')
        yield 'executable: ziaprobe, %d bytes' % SIZE
        yield from ['MPI: %s, more' % mpi, 'status 0']

    def row(self, started, mpi):
        host, ranks = self.host, self.nodes * self.ppn
        clocks = (-.067, host + '2', host + '1', .01)
        if self.nodes == 1:
            clocks = (0., host + '1', host + '1', 0.)
        return cells(started, self.nodes, self.ppn, ranks, self.time, self.time, self.slowest,
                     '%s%d' % (host, self.slowest // self.ppn + 1), *self.path, self.reply, 0.,
                     *self.work, 3, *self.outlier, max(self.columns['mpi_init']), *clocks,
                     'ziaprobe', SIZE, mpi, 'slurmstepd', 'PMIx' if self.fences else None)
