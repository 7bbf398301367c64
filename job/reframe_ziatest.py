"""A ReFrame check that runs Ziatest under Slurm, as a regression test of job launch.

    reframe -C SITE -c job/reframe_ziatest.py -r -S nodes=256 -S ppn=4 -S srun_options=--mpi=pmix

Run make first. The check passes if Ziatest exits with status 0. A printed result is not enough,
because an error may follow it. The figures come from the row that --csv wrote. To make the check
fail when launches become slower, copy it within job/, and set the reference for time_ms to the
median of several runs, with a generous tolerance. Works with ReFrame 4.

SITE is the settings file of your site. If you have none, this one is enough:

    site_configuration = {
        'systems': [{
            'name': 'mysystem',
            'hostnames': ['.*'],
            'partitions': [{
                'name': 'compute',
                'scheduler': 'slurm',  # 'squeue' if there is no accounting
                'launcher': 'srun',
                'access': ['--partition=compute'],
                'environs': ['builtin'],
            }],
        }],
    }
"""
import csv
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher

FIGURES = ('time_ms', 'daemon_ms', 'spawn_ms', 'exec_ms', 'init_ms', 'fence_ms', 'exchange_ms',
           'clock_ms', 'mpi_init_max_ms', 'offset_ms')


@rfm.simple_test
class ZiatestCheck(rfm.RunOnlyRegressionTest):
    nodes = variable(int, value=2)
    ppn = variable(int, value=1)            # processes per node
    srun_options = variable(str, value='')  # for example, --mpi=pmix

    descr = 'The time from the launch until all processes have exchanged a message'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    sourcesdir = None
    exclusive_access = True
    time_limit = '10m'  # -t cannot end a launcher that never starts a process
    # ziatest looks for ziaprobe in its own directory.
    executable = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'ziatest')
    postrun_cmds = ['echo "status $?"']

    @run_after('init')
    def set_launch(self):
        self.num_tasks = self.nodes * self.ppn
        self.num_tasks_per_node = self.ppn
        launcher = ' '.join(['srun', self.srun_options, f'--nodes={self.nodes}',
                             f'--ntasks={self.num_tasks}', '--ntasks-per-node'])
        self.executable_opts = [f'-t 300 --csv row.csv {self.ppn} "{launcher}"']

    @run_after('setup')
    def launch_directly(self):
        """Lets ziatest call srun. In a partition without Slurm, srun would make an allocation of
        its own, and the figure would include the time in the queue."""
        scheduler = self.current_partition.scheduler.registered_name
        self.skip_if(scheduler not in ('slurm', 'squeue'),
                     f'the scheduler of this partition is {scheduler}, not slurm or squeue')
        self.job.launcher = getlauncher('local')()

    @sanity_function
    def succeeds(self):
        return sn.assert_found(r'^status 0$', self.stdout,
                               msg='Ziatest failed; its error is in rfm_job.err')

    @run_before('performance')
    def read_row(self):
        with open(os.path.join(self.stagedir, 'row.csv')) as file:
            row = next(csv.DictReader(file))
        # An empty cell means 'not known', and is not a figure.
        self.perf_variables = {name: sn.make_performance_function(float, 'ms', row[name])
                               for name in FIGURES if row[name]}
