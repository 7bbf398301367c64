"""slurm - the steps, jobs and nodes of Slurm, as scontrol shows them"""
import collections
import contextlib
import os
import re

from . import Unreadable
from .names import expand

FIELD = re.compile(r'([^\s=]+)=(.*?)(?=\s+[^\s=]+=|\s*\Z)', re.S)
FIRST = re.compile('^(?=StepId=|JobId=|NodeName=)', re.M)  # A name may contain a line end.
# A state of a node in which it does not answer
DOWN = re.compile('DOWN|NOT_RESP|[*]|POWER(ED|ING)_|REBOOT')

# NAME is that of the program, or of --job-name. UID is that of the user. IDS are those of the steps
# that belong to the launch.
Step = collections.namedtuple('Step', 'id job name nodes uid ids')

class Missing(Exception):
    """There is nothing to look at, for this reason."""

def records(*words):
    """The output of `scontrol show WORDS`, as a dict for each line"""
    from .children import ask
    text = ask('scontrol', '--oneliner', 'show', *words)
    begins = [match.start() for match in FIRST.finditer(text)]
    return [dict(FIELD.findall(text[begin:end]))
            for begin, end in zip(begins, [*begins[1:], len(text)])]

def read_step(record):
    uid = re.search(r'([0-9]+)\)?$', record.get('UserId', ''))  # such as 1000 or name(1000)
    nodes = []
    with contextlib.suppress(Unreadable):
        nodes = expand(record.get('NodeList', ''))
    return Step(record['StepId'], record['StepId'].partition('.')[0], record.get('Name', ''),
                nodes, int(uid[1]) if uid else os.getuid(), [record['StepId']])

def number_of(record):
    return record['StepId'].partition('.')[2]

def local_number(record, key):
    """NUMBER, if the record has HOST:NUMBER, and HOST is this machine; otherwise, None"""
    host, _, number = record.get(key, '').rpartition(':')
    here = os.uname().nodename.partition('.')[0]
    return int(number) if host.partition('.')[0] == here and number.isdigit() else None

def step_of(pids):
    """The step that an srun among the processes PIDS on this machine has created, or None"""
    for record in records('steps'):  # While a step waits, it has no number.
        if number_of(record).isdigit() and local_number(record, 'SrunHost:Pid') in pids:
            return read_step(record)
    return None

def find_step(job, number, daemons):
    """A step of a job: NUMBER or, if that is '', the last one that has a number. If it has started
    DAEMONS for mpirun, the batch script belongs to it, because mpirun starts ranks on its own node
    itself."""
    found = {number_of(record): record for record in records('steps')
             if record['StepId'].partition('.')[0] == job}
    number = number or max(filter(str.isdigit, found), key=int, default='batch')
    if number in found:
        step = read_step(found[number])
        if step.name in daemons and 'batch' in found:
            batch = read_step(found['batch'])
            step = step._replace(nodes=[*dict.fromkeys(batch.nodes + step.nodes)],
                                 ids=[step.id, batch.id])
        return step
    for record in records('job', job):
        raise Missing(f'job {job} has no step {number}; it is {describe(record, "JobState")}')
    raise Missing(f'scontrol shows no job {job}, and no launcher of yours has this process ID')

def describe(record, key):
    reason = record.get('Reason', 'None').partition(' [')[0]
    return record.get(key, 'unknown') + f' (reason: {reason})' * (reason != 'None')

def obstacles(job, session):
    """What an srun without a step is waiting for: other steps of its JOB or, if JOB is '', a job
    that was requested in its SESSION, a number"""
    if job:
        return [f'step {record["StepId"]} ({record.get("Name")}) is on {record.get("NodeList")}'
                for record in records('steps')
                if record['StepId'].partition('.')[0] == job and number_of(record).isdigit()]
    return [f'job {record["JobId"]} is {describe(record, "JobState")}'
            for record in records('jobs') if record.get('JobState') == 'PENDING' and
            record.get('BatchFlag') == '0' and local_number(record, 'AllocNode:Sid') == session]

def unreachable(nodes):
    """{node: why} for those of NODES that do not answer, according to Slurm"""
    return {record['NodeName']: describe(record, 'State') for record in records(
        'nodes', ','.join(nodes)) if DOWN.search(record.get('State', ''))}
