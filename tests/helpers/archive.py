"""archive.py - creates the directory of a flawless job, with known figures, for summary.t

    archive.py DIR [NAME=VALUE...]

NAME is any name in environment.txt, or one of these: START, the time of the first launch in seconds
since 1970; MPI, its version; FENCES, their number, or nothing if the MPI library hides them; HOST,
the prefix of the node names; LATE, nodes that are late, in any order and number: NODE:PHASE:MS is
the number of a node, one of daemon, exec, init and exchange, and by how much that phase takes
longer there; NODE:PHASE:MS:RUN is late in one launch of each size only. All other nodes wait for a
late one. Late in exec and init is blocked.

Launch R on N nodes takes 200 + 50 N + R ms, if no node is late. Rank 0 is the slowest; each rank
completes 0.5 ms before the preceding one.
"""
import datetime
import hashlib
import os
import sys

top = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', '..')
out = sys.argv[1]
given = dict(setting.split('=', 1) for setting in sys.argv[2:])
sweep, ppn = given.get('SWEEP', '8 4'), given.get('PPN', '2')
system = given.get('SYSTEM_NODES', sweep.split()[0])
facts = dict(DATE='', RUNS='3', SWEEP=sweep, PPN=ppn, TIMEOUT='60', SYSTEM_NODES=system,
             SRUN_OPTIONS='', NODES_FOUND=system, NODES_UNUSED='', INTERFACES=ppn,
             PROBE='/x/ziaprobe on ext4, /dev/vda', SRUN='/usr/bin/srun',
             SLURM_CLUSTER_NAME='virtual', SLURM_JOB_ID='7',
             OMPI_MCA_plm_slurm_args='--external-launcher', ReqNodeList='(null)', ExcNodeList='',
             Features='(null)')
other = dict(START='1795253637', MPI='Open MPI v4.1.4', FENCES='2', HOST='n', LATE='')
for part in facts, other:
    part.update({name: value for name, value in given.items() if name in part})
extra = {name: given[name] for name in given if name not in {**facts, **other}}
start, ppn = int(other['START']), int(ppn)
SIZE = 104913536


def stamp(seconds, form='%Y-%m-%dT%H:%M:%S.000042Z'):
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return moment.strftime(form)


def write(name, *lines):
    with open(os.path.join(out, name), 'w') as file:
        file.writelines(line + '\n' for line in lines)


def cells(*values):
    return ','.join('' if value is None else '%.3f' % value if isinstance(value, float)
                    else str(value) for value in values)


def late(block, run):
    """By how much each phase takes longer on a node"""
    times = dict(daemon=0., exec=0., init=0., exchange=0.)
    for node, phase, time, *runs in (entry.split(':') for entry in other['LATE'].split()):
        if int(node) == block + 1 and (not runs or int(runs[0]) == run):
            times[phase] = float(time)
    return times


def launch(nodes, run, start):
    """Writes the output and the ranks file of a launch; returns its row for results.csv."""
    spawn, init, exchange = 25. * nodes, 100. + 20 * nodes + run, 40. + 5 * nodes
    fence = 30. if other['FENCES'] else None
    if not fence:
        init += 30
    before_fence = 10 + spawn + 20 + init + (fence or 0)
    lates = [late(block, run) for block in range(nodes)]
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

    rows = ['rank,node,host,daemon_ms,spawn_ms,exec_ms,setup_ms,init_ms,fence_ms,wait_ms,'
            'exchange_ms,mpi_init_ms,completed_ms,cpu_ms,cpu_wait_ms,blocked_ms,faults,'
            'clock_offset_ms']
    completed = []
    for rank in range(nodes * ppn):
        block = rank // ppn
        (*first, fence), work = phases(block)
        wait = own[latest] - own[block]
        mpi_init = first[4] + (fence or 0) + wait
        last = (None, mpi_init, None)
        if block % 2 == 0:
            reply = exchange - .5 * rank + lates[block]['exchange']
            if block + 1 < nodes:
                reply += lates[block + 1]['exchange']
            completed.append((before_fence + own[latest] + reply, reply, rank))
            last = (reply, mpi_init, completed[-1][0])
        rows.append(cells(rank, block + 1, '%s%d' % (other['HOST'], block + 1), *first, fence,
                          wait, *last, *work, 3, 0.))
    time, reply, slowest = max(completed)
    path, work = phases(latest)
    excess = {phase: time for times in lates for phase, time in times.items() if time}
    outlier = [None] * 6
    if excess:
        phase = max(excess, key=lambda phase: excess[phase])
        block = slowest // ppn if phase == 'exchange' else latest
        outlier = [phase, block * ppn, '%s%d' % (other['HOST'], block + 1), excess[phase],
                   'blocked' if phase in ('exec', 'init') else None, 1]
    write('ranks-%d-%d.csv' % (nodes, run), *rows)
    write('nodes-%d-%d.txt' % (nodes, run), *['%s%d' % (other['HOST'], node + 1)
                                              for node in range(nodes)])
    printed = '%8.2f millisecs' % time
    if time >= 1000:
        printed = '%3d:%02d min:sec' % divmod(time // 1000, 60)
    write('output/%d-%d.txt' % (nodes, run),
          'srun --overlap --nodes=%d --ntasks=%d --ntasks-per-node %d ./ziaprobe %d 42 %d -v '
          '-t 60 --csv x/results.csv --ranks x/ranks-%d-%d.csv' % (
              nodes, nodes * ppn, ppn, start, ppn, nodes, run),
          'Time test was completed in ' + printed, 'Slowest rank: %d' % slowest, '',
          '%.3f ms, %d node%s x %d = %d rank%s' % (
              time, nodes, 's' * (nodes > 1), ppn, nodes * ppn, 's' * (nodes * ppn > 1)),
          'outlier: none', '',
          'fences: ' + (other['FENCES'] + ', PMIx' if fence else 'none'),
          'executable: ziaprobe, %d bytes' % SIZE, 'MPI: ' + other['MPI'] + ', more', 'status 0')
    clocks = (-.067, other['HOST'] + '2', other['HOST'] + '1', .01)
    if nodes == 1:
        clocks = (0., other['HOST'] + '1', other['HOST'] + '1', 0.)
    return cells(stamp(start), nodes, ppn, nodes * ppn, time, time, slowest,
                 '%s%d' % (other['HOST'], slowest // ppn + 1), *path, reply, 0., *work, 3,
                 *outlier, mpi_init, *clocks, 'ziaprobe', SIZE, other['MPI'],
                 'slurmstepd', 'PMIx' if fence else None)


os.makedirs(os.path.join(out, 'output'))
rows = ['started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,daemon_ms,spawn_ms,'
        'exec_ms,setup_ms,init_ms,fence_ms,exchange_ms,clock_ms,cpu_ms,cpu_wait_ms,blocked_ms,'
        'faults,outlier,outlier_rank,outlier_host,outlier_ms,outlier_kind,outlier_nodes,'
        'mpi_init_max_ms,offset_ms,offset_host,reference_host,offset_bound_ms,program,'
        'executable_bytes,mpi,daemon,fence_interface']
for nodes in map(int, facts['SWEEP'].split()):
    for run in range(1, int(facts['RUNS']) + 1):
        rows.append(launch(nodes, run, start + 10 * (len(rows) - 1)))
write('results.csv', *rows)
sums = ['%s  %s' % (hashlib.sha256(name.encode()).hexdigest(), name)
        for name in ('ziatest', 'ziaprobe')]
sources = ['Makefile', 'ziaprobe.c', 'ziatest.c'] + sorted(
    'observe/' + name for name in os.listdir(os.path.join(top, 'observe')))
write('build.txt', 'built: ' + stamp(start), 'commit: abc1234', 'command: cc -std=c11',
      'size: 26800 ziatest', 'size: %d ziaprobe' % SIZE, *sums, *[
          '%s  %s' % (hashlib.sha256(open(os.path.join(top, name), 'rb').read()).hexdigest(), name)
          for name in sources])
write('changes.diff')
facts['DATE'] = facts['DATE'] or stamp(start - 3, '%Y-%m-%dT%H:%M:%SZ')
with open(os.path.join(top, 'run_ziatest.sh')) as script, \
        open(os.path.join(top, 'job/launches')) as launches:
    copies = ['\t' + line.rstrip('\n') for line in [*script, *launches]]
    write('environment.txt', *['%s=%s' % fact for fact in {**facts, **extra}.items()],
          'slurm-wlm 22.05.8', '', 'The batch script, and job/launches:',
          *copies, '', 'The nodes, after the last launch:',
          '%s nodes: interfaces %s, rate 200000 Mb/s, down 0, cores 64, threads 2, memory 251 GiB, '
          'AMD EPYC 7763, 5.14.21' % (system, ppn), '',
          'The programs, after the last launch:', *sums)
names = [os.path.relpath(os.path.join(directory, name), out)
         for directory, _, files in os.walk(out) for name in files]
with open(os.path.join(out, 'SHA256SUMS'), 'w') as file:
    for name in sorted(names):
        with open(os.path.join(out, name), 'rb') as content:
            file.write('%s  %s\n' % (hashlib.sha256(content.read()).hexdigest(), name))
