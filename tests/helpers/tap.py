"""tap - runs the unittest cases of a file, with TAP for prove

    tests/FILE.t [-v] [-x] [--run=PATTERN]      or: prove tests/FILE.t :: -v --run=PATTERN

-v prints what each command prints, -x also each line of job/ that is executed in this process, and
--run runs only the cases whose names match a regular expression. Each case runs in a directory of
its own. If it fails, the directory is kept, and its name is printed.
"""
import argparse
import difflib
import functools
import os
import re
import shutil
import sys
import tempfile
import trace
import unittest

top = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', '..')
options = argparse.Namespace(verbose=False, trace=False, run='')


def diag(text):
    print(re.sub('^', '# ', text.rstrip('\n'), flags=re.M))


def each(*rows):
    """Makes a method one case for each row, which has the name of the case and the arguments."""
    def mark(method):
        method.rows = rows
        return method
    return mark


class Case(unittest.TestCase):
    maxDiff = None

    def __init_subclass__(cls):
        for method in list(vars(cls).values()):
            for name, *row in getattr(method, 'rows', ()):
                name = 'test_%s: %s' % (method.__name__, name)
                assert name not in vars(cls), name
                setattr(cls, name, functools.partialmethod(method, *row))

    def matches(self, got, want):
        """Fails unless GOT is WANT, in which ... matches any text, and a blank one or more."""
        parts = [re.sub(r'(\\? )+', ' +', re.escape(part)) for part in want.split('...')]
        pattern = '.*?'.join(parts)
        if not re.match(pattern + r'\Z', got, re.S):
            self.fail('\n' + ''.join(difflib.unified_diff(
                want.splitlines(True), got.splitlines(True), 'expected', 'printed', n=99)))

    def call(self, function, *arguments):
        """Calls a function, traced if -x is given."""
        if not options.trace:
            return function(*arguments)
        tracer = trace.Trace(count=False, ignoredirs=[sys.prefix, sys.exec_prefix])
        return tracer.runfunc(function, *arguments)

    def show(self, what, text):
        if options.verbose:
            diag('%s:\n%s' % (what, text))


def main(module):
    parser = argparse.ArgumentParser(usage='[-v] [-x] [--run=PATTERN]')
    parser.add_argument('-v', dest='verbose', action='store_true')
    parser.add_argument('-x', dest='trace', action='store_true')
    parser.add_argument('--run', default='')
    parser.parse_args(namespace=options)
    options.verbose |= options.trace
    count = failed = 0
    for name, cls in vars(module).items():
        for method in vars(cls) if isinstance(cls, type) and issubclass(cls, Case) else []:
            title = '%s: %s' % (name, method[5:].replace('_', ' '))
            if method[:4] == 'test' and re.search(options.run, title):
                count += 1
                failed += not passes(cls(method), '%d - %s' % (count, title.replace('#', r'\#')))
    print('1..%d' % count)
    sys.exit(failed > 0)


def passes(test, title):
    """Runs a case, and prints its result."""
    directory, result = tempfile.mkdtemp(), unittest.TestResult()
    os.chdir(directory)
    test.run(result)
    os.chdir(top)
    failures = result.failures + result.errors
    print('%sok %s' % ('not ' * bool(failures), title), flush=True)
    for _, text in failures:
        diag(text)
    if failures:
        diag('the directory of this case: ' + directory)
    else:
        shutil.rmtree(directory)
    return not failures
