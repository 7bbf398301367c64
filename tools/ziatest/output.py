"""output - reads the output of a launch: the command line, the result, errors and warnings, and the
lines that the batch job adds. The report of -v is for people, and is not read."""
import collections
import re
from time import gmtime, strftime

from .rollcall import Roll, without_labels

# The end of the command line that ziatest prints: SEC USEC N and options. In a batch job, one of
# them names the job and the launch.
COMMAND = re.compile(r"ziaprobe'? (?P<sec>[0-9]{1,10}) (?P<usec>[0-9]{1,6}) [0-9]+ -")
NAME = re.compile(r'[^/]+/ranks-[0-9]+-[0-9]+\.csv')  # at the end of a path
RESULT = re.compile(r'Time test was completed in +([0-9][0-9.:]* (?:millisecs|min:sec))')
STATUS = re.compile('status ([0-9]{1,3})\n')
# The lines that are kept: nine of each sort
SORTS = {'reason': '^not launched: ', 'failure': 'zia(?:test|probe): error:',
         'warning': 'ziaprobe: warning:',
         'not ended': 'the step has not ended|Slurm did not say whether the step has ended',
         # These leave out the advice and the consequences in Open MPI's help texts.
         'cause': 'PMI support|OPAL ERROR: Unreachable|execve|loading shared libraries|'
                  'failed on node|Node failure on|not found(?!,)|No such file or directory|'
                  'Connection (?:closed|refused)|Text file busy|unrecogni[sz]ed|'
                  'unable to locate|^There are not enough|^ *(?:Framework|Component|Directory): ',
         'error': '(?<!ziatest: )(?<!ziaprobe: )(?<!programming )(?i:error)'
                  '(?! messages| has occurred)'}
READ = re.compile('|'.join([*SORTS.values(), "ziaprobe'? [0-9]", 'Time test', '^status ']))

class Output:
    """An output. STARTED is the start in the command line, NAME is JOB/ranks-NODES-RUN.csv, RESULT
    is as printed, and STATUS is what the batch job has added. Each is None if it is not there.
    Other programs may have printed a line anywhere, even after the status."""
    def __init__(self, lines=()):
        self.started = self.name = self.result = self.status = None
        self.is_mixed = False  # of several launches
        self.kept = collections.defaultdict(list)  # lines, by sort
        self.roll = Roll()
        for line in map(without_labels, lines):
            self.roll.add(line)
            if READ.search(line):
                self.read(line)

    def read(self, line):
        command, result, status = COMMAND.search(line), RESULT.search(line), STATUS.match(line)
        if command:
            seconds, us = int(command['sec']), int(command['usec'])
            started = f'{strftime("%FT%T", gmtime(seconds))}.{us:06}Z'
            self.is_mixed |= self.started not in (None, started)
            self.started = self.started or started
            self.name = self.name or find_name(line[command.end():])
        if result and not self.result:
            self.result = result[1]
        if status:
            self.status = int(status[1])
        text = line[:1000].strip()
        for sort, pattern in SORTS.items():
            kept = self.kept[sort]
            if len(kept) < 9 and re.search(pattern, line) and text not in kept:
                kept.append(text)

    def clues(self, nodes=()):
        """What explains a failure of a launch on NODES: the roll call, if ziatest or Slurm timed
        out, and up to three lines"""
        kept, roll_call = self.kept, []
        if self.roll.is_failure and not self.result:
            roll_call = self.roll.report(nodes)
        lines = dict.fromkeys(kept['cause'] + kept['failure'] + kept['error'])
        return roll_call + [line for line in lines if not (roll_call and Roll().add(line))][:3]

def find_name(text):
    """Returns the JOB/ranks-NODES-RUN.csv in the options of a command line, or None."""
    ends = ['/'.join(word.split('/')[-2:]) for word in text.split(' ') if '/ranks-' in word]
    return next((match[0] for match in map(NAME.match, reversed(ends)) if match), None)
