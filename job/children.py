"""children - runs a command for a limited time, and ends it with all that it has started"""
import os
import re
import signal
import subprocess
import sys
import time

from read import Launch

GRACE = 15  # seconds in which ranks must end after their limit, and a launcher after SIGTERM
EXPIRED = 124  # the status of a command that was ended, as timeout(1) has it

class Ended(Exception):
    """What is being done ends early: with this status, and perhaps with a message."""
    def __init__(self, status, message=''):
        super().__init__(message)
        self.status = status

def printable(text):
    return re.sub('[^ -~\n]', '?', text.expandtabs(1))

def tell(text):
    """Prints a line on stderr, in place of the line of progress."""
    clear = '\r\033[K' if sys.stderr.isatty() else ''
    print(clear + printable(text), file=sys.stderr, flush=True)

def find_file(*places):
    """Returns the first of PLACES, relative to this directory, at which there is a file, or None.
    One place is for a build, the other for what 'make install' installs."""
    here = os.path.dirname(os.path.realpath(__file__))
    paths = [os.path.normpath(os.path.join(here, place)) for place in places]
    return next((path for path in paths if os.path.exists(path)), None)

def watched_signals():
    """Blocks the signals that end a program, and that of a child's end, so that each is noticed
    only where it is waited for. Returns them. One that was ignored, as by nohup, stays ignored."""
    ending = {number for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
              if signal.getsignal(number) != signal.SIG_IGN}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, ending | {signal.SIGCHLD})
    return ending | {signal.SIGCHLD}

def signal_group(group, number):
    """Sends a signal to a process group. Returns whether there is one."""
    try:
        os.killpg(group, number)
        return True
    except ProcessLookupError:
        return False

def start(command, output, env=None):
    """Starts a command in a session of its own, with the signals that this process blocks."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                            start_new_session=True, env=env,
                            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, ()))

def end(process):
    """Ends a process with its group: launchers end their ranks on SIGTERM, but not on SIGKILL."""
    signal_group(process.pid, signal.SIGTERM)
    limit = time.monotonic() + GRACE
    while process.poll() is None or signal_group(process.pid, 0):
        if time.monotonic() > limit:
            signal_group(process.pid, signal.SIGKILL)
            process.wait()
            break
        time.sleep(0.05)

def run(command, output, seconds, signals, report, env=None):
    """Runs a command for SECONDS at most. Returns its status, EXPIRED if it had to be ended. On a
    signal, ends it, and raises Ended. Calls REPORT every second."""
    began = time.monotonic()
    process = start(command, output, env)
    while process.poll() is None:
        past = time.monotonic() - began
        report(past)
        if past >= seconds:
            end(process)
            return EXPIRED
        got = signal.sigtimedwait(signals, min(1, seconds - past))
        if got and got.si_signo != signal.SIGCHLD:
            end(process)
            raise Ended(128 + got.si_signo)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode

def explain(lines):
    """What explains a failure in an output: its clues, or else its last three lines"""
    found, lines = Launch(1, 1), [line for line in lines if re.search('[A-Za-z]', line)]
    for line in lines:
        found.keep(line)
    return [line if len(line) <= 160 else line[:157] + '...'
            for line in found.clues() or lines[-3:]]
