# A package of Ziatest for Spack 1.0 or later (not tried)
#
# Copy this file to packages/ziatest/package.py of a Spack repository, and write the archive of
# 'make dist' into the directory in which you run: spack install --no-checksum ziatest
import os

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Ziatest(MakefilePackage):
    """Ziatest measures the time from the launch of an MPI job until all processes have initialised
    MPI and exchanged a message with another node."""

    homepage = "https://github.com/aturner-epcc/uknss-benchmark-ziatest"  # of the original
    url = f"file://{os.getcwd()}/ziatest-4.0.tar.gz"

    license("BSD-3-Clause")

    version("4.0")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("mpi")
    depends_on("python@3.6:", type="run")

    def build(self, spec, prefix):
        make(f"MPICC={spec['mpi'].mpicc}")

    def install(self, spec, prefix):
        make("install", f"PREFIX={prefix}")
