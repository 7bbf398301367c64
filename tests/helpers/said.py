"""said - the lines of observe/say.c for -t and --where, which helpers/say.c prints"""
import atexit
import collections
import os
import re
import shlex
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
with open(os.path.join(HERE, '../../observe/observe.h')) as header:
    STATES = re.findall('^\tSTATE\\(([A-Z_]+), ', header.read(), re.M)
What = collections.namedtuple('What', 'state ms partner')
programs = []


def what(state, ms=58000, partner=-1):
    """Returns what a rank has been doing for MS. STATE is a name in observe.h."""
    return What(STATES.index(state), ms, partner)


def start():
    """Builds and starts the helper."""
    directory = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, directory)
    path = os.path.join(directory, 'say')
    subprocess.run([*shlex.split(os.environ.get('CC', 'cc')), '-o', path,
                    os.path.join(HERE, 'say.c')], check=True)
    programs.append(subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE))


def row(rank, size, ppn, node, doing, calls='', moment='error: timeout of 60 s'):
    """Returns the input of say() for a rank. RANK, SIZE and PPN are -1 if they are not known."""
    severity, _, after = moment.partition(': ')
    after, seconds = after.rsplit(' ', 2)[:2]
    words = rank, size, ppn, node, *doing, severity, after, seconds, calls
    return '\t'.join(map(str, words)) + '\n'


def say(rows):
    """Returns the lines of each rank."""
    if not programs:
        start()
    texts, stream = [], programs[0]
    for i in range(0, len(rows), 16):  # More might not fit into the pipes.
        stream.stdin.write(''.join(rows[i:i + 16]).encode())
        stream.stdin.flush()
        for _ in rows[i:i + 16]:
            texts.append(''.join(iter(lambda: stream.stdout.readline().decode(), '\n')))
    return texts


def says(*words, **options):
    """Returns the lines of a rank, which is described as in row()."""
    return say([row(*words, **options)])[0]
