"""read - finds out what a file is, and reads it"""
import contextlib
import json
import os
import re

from . import Unreadable
from .job import Job, is_archive
from .judge import problems, to_review
from .log import Log
from .ranks import Ranks
from .rollcall import Roll
from .rows import File, Rank, Row, Turn, is_header, split

BUFFER = 1 << 20  # bytes; comments before the header of a file must fit

def read(path):
    """Returns the Job of an archive or a directory, the Ranks of a file of --ranks, the Log of one
    of --csv, or the Roll of an output; raises Unreadable, OSError, or an error of tarfile."""
    if os.path.isdir(path):
        return read_job(path)
    with open(path, 'rb', buffering=BUFFER) as opened:
        start, file = opened.peek(), File(opened, os.path.basename(path))
        if is_archive(start):
            return read_job(path)
        first = re.sub(rb'\A(#.*\n|\r?\n)+', b'', start).split(b'\n')[0].decode('utf-8', 'replace')
        names = split(first.rstrip('\r'))
        if is_header(names, Turn):
            raise Unreadable('written by compare; to print its result, run ziatest-compare FILE')
        if is_header(names, Row):
            return Log(file)
        if is_header(names, Rank):
            return read_ranks(file)
        return read_output(file, first)

def read_job(path):
    job = Job(path)
    job.problems, job.to_review = [*problems(job)], [*to_review(job)]
    return job

def read_ranks(file):
    ranks = Ranks(file)
    if ranks.wrong:
        raise Unreadable(f'{ranks.wrong}; launch again')
    return ranks

def read_output(file, first):
    """Returns the Roll of an output, whose first line is FIRST."""
    roll, is_whole = Roll(), True
    for line in file.lines():
        if line.startswith('{"log":'):  # as Docker stores it
            with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
                line = str(json.loads(line)['log'])
        is_whole = roll.add(line) or line.endswith('\n')
    if roll:
        roll.is_torn |= not is_whole  # The end of the file is missing, and perhaps more lines.
        return roll
    if roll.is_torn:
        raise Unreadable('the lines of -t are torn, and none of them names a node; read the output '
                         'yourself, or launch again without labels (srun -l, mpirun --tag-output)')
    if roll.has_result:
        raise Unreadable('nothing to report: the launch has a result, and no rank was late')
    if roll.has_begun:
        raise Unreadable('no rank reported what it was doing; launch with -t. If you did, no rank '
                         'reached MPI_Init: trace the launcher')
    begins = f'begins with "{first[:13]}"; if a browser, a spreadsheet or sort has changed it, ' \
        'use the original' if first else 'is empty'
    raise Unreadable('not an archive, a --csv or --ranks file, or the output of a launch with -t '
                     f'or --where: it {begins}')
