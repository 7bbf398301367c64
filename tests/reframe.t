#!/usr/bin/env python3
"""tools/reframe_ziatest.py: the line that it writes into a job script, and the figures that it
reads, with a stand-in for ReFrame. helpers/tap.py says how to run one case."""
import importlib.util
import os
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), 'helpers'))
import archive  # noqa: E402
import tap  # noqa: E402
from tap import dice, each  # noqa: E402


def load(path):
    """Returns the class in a copy of tools/reframe_ziatest.py. Its decorators do nothing."""
    names = 'reframe', 'reframe.utility', 'reframe.utility.sanity', 'reframe.core.backends'
    modules = {name: ModuleType(name) for name in (*names, 'reframe.core')}
    for name in names[1:3]:  # Python 3.6 looks for them in their packages.
        setattr(modules[name.rpartition('.')[0]], name.rpartition('.')[2], modules[name])
    modules['reframe.utility.sanity'].make_performance_function = lambda *arguments: arguments
    modules['reframe'].RunOnlyRegressionTest = object
    modules['reframe'].simple_test = lambda cls: cls
    modules['reframe.core.backends'].getlauncher = None
    spec = importlib.util.spec_from_file_location('reframe_ziatest', path)
    module = importlib.util.module_from_spec(spec)
    module.variable = lambda kind, value: value
    module.run_after = module.run_before = lambda phase: lambda method: method
    module.sanity_function = lambda method: method
    with mock.patch.dict(sys.modules, modules):
        spec.loader.exec_module(module)
    return module.ZiatestCheck


class Line(tap.Case):
    @each(('by default', {}, ['row.csv', '1', 'srun  --nodes=2 --ntasks=2 --ntasks-per-node']),
          ('quotes and blanks', dict(log="/a b/it's.csv", ppn=4, srun_options='--comment="a b" -s'),
           ["/a b/it's.csv", '4',
            'srun --comment="a b" -s --nodes=2 --ntasks=8 --ntasks-per-node']))
    def of_the_job_script(self, variables, words):
        """ReFrame writes the executable and its options into a script as they are."""
        os.makedirs('a b/tools')
        for name in 'reframe_ziatest.py', 'ziatest':
            os.symlink(os.path.join(os.path.realpath(tap.top), 'tools', name), 'a b/tools/' + name)
        tap.script('a b/ziatest', '#!/bin/sh\nprintf "%s\\n" "$@"\n')
        check = load(os.path.abspath('a b/tools/reframe_ziatest.py'))()
        for name, value in variables.items():
            setattr(check, name, value)
        check.set_launch()
        tap.write('job.sh', ' '.join([check.executable, *check.executable_opts]))
        run = subprocess.run(['sh', 'job.sh'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             universal_newlines=True)
        self.assertEqual((run.stdout.splitlines(), run.stderr),
                         (['-t', '300', '--csv', *words], ''))


class Figures(tap.Case):
    @each(*(('%d nodes x %d, %d ms' % case, *case)
            for case in ((nodes, ppn, ms) for nodes, ppn in ((8, 2), (4096, 4))
                         for ms in (300, 10400, 600000))))
    def of_a_launch_of(self, nodes, ppn, ms):
        """The log has two launches. Another program has printed a line somewhere in the output of
        the one that is read."""
        for time in dice().sample((ms, 2 * ms), 2):
            _, printed = archive.launch(ppn, 1795253637 + time, ['-vv', '--csv', 'row.csv'],
                                        nodes=nodes, ms=time, late='3:init:1', faults=300)
            if time == ms:
                lines = printed.splitlines(True)
        check = load(os.path.join(os.path.realpath(tap.top), 'tools/reframe_ziatest.py'))()
        check.stagedir, check.stderr = '.', SimpleNamespace(evaluate=lambda: 'err')
        for place in range(len(lines) + 1):
            tap.write('err', ''.join([*lines[:place], '[n2:77] UCX  WARN object 0x55\n',
                                      *lines[place:]]))
            check.read_row()
            self.has_figures(check.perf_variables, ms + 1)

    def has_figures(self, figures, ms):
        unit, time = figures['time_ms'][1:]
        self.assertEqual((unit, round(time)), ('ms', ms))
        phases = [figures[name + '_ms'][2] for name in (
            'daemon', 'spawn', 'exec', 'init', 'fence', 'exchange')]
        self.assertAlmostEqual(sum(phases), time, 1)


tap.main()
