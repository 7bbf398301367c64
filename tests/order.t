#!/bin/sh
# What runs on the clock, in order: the calls with which ziaprobe reads clocks, its environment and
# files, arms the timeout and uses MPI, between main and the timed MPI_Gather, as a preloaded
# library records them, compared with the table below
. "$(dirname "$0")/lib.sh"
small_cluster

# who        calls. A clock's name stands for clock_gettime, getenv:NAME and open:FILE for those
#            functions. N*(...) means N times in a row, +(...) once or more. 'work' is what this
#            process has done so far: getrusage MAIN_THREAD_CPU pread:schedstat
table='
# The library is loaded: is this process to be measured?
library      getenv:ZIAPROBE getenv:ZIASTART
# The libraries are loaded: the work of this thread so far, and the stamp
library      syscall:gettid open:schedstat work REALTIME
# The program calls MPI_Init: is it to be measured, and in which locale?
library      getenv:ZIAPROBE getenv:ZIASTART
# Does this process belong to the launch? Yes: the launcher itself has started it.
library      getenv:OMPI_COMM_WORLD_SIZE getenv:PMIX_NAMESPACE getenv:PMI_SIZE getenv:PALS_APID
library      getenv:FLUX_JOB_SIZE getenv:FLUX_JOB_ID getenv:JSM_NAMESPACE_SIZE
library      getenv:SLURM_STEP_NUM_TASKS getenv:SLURM_JOB_ID
library      getenv:SLURM_STEP_ID fopen:stat
library      uselocale
# MPI_Init: is stderr open?
all          fcntl
# When this node booted, and the raw clock, to find out later whether the clock jumped
all          3*(REALTIME BOOTTIME REALTIME) 3*(REALTIME MONOTONIC_RAW REALTIME)
# The work of this thread so far, for which a file is opened, and the stamp of main
all          syscall:gettid open:schedstat work REALTIME
# The size and the rank that launchers give
all          getenv:PMIX_RANK getenv:OMPI_COMM_WORLD_RANK getenv:OMPI_COMM_WORLD_SIZE
all          getenv:PMI_RANK getenv:PMI_SIZE
all          getenv:FLUX_TASK_RANK getenv:FLUX_JOB_SIZE
all          getenv:JSM_NAMESPACE_RANK getenv:JSM_NAMESPACE_SIZE
all          getenv:SLURM_PROCID getenv:SLURM_STEP_NUM_TASKS
# The timeout is armed: a timer for this thread, one for the process, and one that kills it.
timeout      REALTIME syscall:gettid 3*(syscall:timer_create) sigaction sigprocmask
timeout      3*(syscall:timer_settime)
# --where: a signal that is free, and its timer, for this thread
where        sigprocmask sigaction REALTIME syscall:gettid syscall:timer_create
where        sigaction sigprocmask syscall:timer_settime
# In the library call that starts MPI, each fence: the stamp and the work when it is entered, the
# work and the stamp when it is left
probe        PMPI_Init +(REALTIME work work REALTIME) PMPI_Init:returned
library      MPI_Init +(REALTIME work work REALTIME) MPI_Init:returned
# MPI_Init has returned. The locale of the program may have a decimal comma. A stub of MPI has not
# started MPI.
library      newlocale uselocale
all          REALTIME work
library      PMPI_Initialized
all          PMPI_Comm_rank PMPI_Comm_size
# N is not given: on how many nodes does this step run? MPICH has learnt it from the launcher.
found        getenv:PMIX_NAMESPACE
# The plain benchmark asks for both itself.
probe        MPI_Comm_rank MPI_Comm_size
library      PMPI_Comm_rank PMPI_Comm_size
# The exchange: an originator sends one byte, receives one, and takes the stamp of the reply. The
# clock is read before each call, so that the timeout can say how long it has taken.
originator   REALTIME PMPI_Send REALTIME PMPI_Recv REALTIME
responder    REALTIME PMPI_Recv REALTIME PMPI_Send
alone        REALTIME PMPI_Sendrecv REALTIME
# Off the clock from here on: the stamp from which this rank waits for others
all          REALTIME
where        sigaction syscall:timer_delete sigaction
measured     PMPI_Gather
wrong        PMPI_Finalize'

# sequence WHO...: the calls of WHO in the table
sequence() {
	printf '%s\n' "$table" | awk -v who=" all $* " '
	!/^#/ && index(who, " " $1 " ") {
		for (i = 2; i <= NF; i++)
			printf "%s ", $i
	}'
}

recorded() {	# CASE RANK: the calls that were recorded, in the words of the table
	paste -s -d ' ' "$dir/$1/$2" | sed -E 's/$/ /
		s/clock_gettime://g
		s/(REALTIME (BOOTTIME|MONOTONIC_RAW) REALTIME) \1 \1 /3*(\1) /g
		s/(syscall:timer_[cs][a-z]*) \1 \1 /3*(\1) /g
		s|getrusage MAIN_THREAD_CPU pread:schedstat|work|g
		s/(MPI_Init) (REALTIME work work REALTIME )+/\1 +(REALTIME work work REALTIME) /'
}

same() {	# CASE RANK WHO...
	name="$1, rank $2" got=$(recorded "$1" "$2")
	shift 2
	is "$name" "$got" "$(sequence "$@")"
}

mpi=mpich
has_mpi $mpi || skip_all "no $mpi"
quick_build $mpi
"mpicc.$mpi" -shared -fPIC -o "$dir/order.so" tests/helpers/order.c || exit 1
echo '#include <mpi.h>
	int main(void) { MPI_Init(0, 0); return MPI_Finalize(); }' >"$dir/program.c"
"mpicc.$mpi" -o "$dir/program" "$dir/program.c" || exit 1

preload="$dir/order.so\${LD_PRELOAD:+:\$LD_PRELOAD}"
probe="env LD_PRELOAD=$preload ../ziaprobe \$(date +'%s %6N')"
two="$(hydra_on 2 1) 1"
expect found 0 "$two $probe 0" "$result" "$same_kernel"
expect library 0 "$two ../ziastart \$(date +'%s %6N') 1 -- \\
	env LD_PRELOAD=$dir/libziaprobe.so:$preload ../program" "$result" "$same_kernel"
expect alarms 0 "$two $probe 0 --ppn 1 -t 60 -w 60.5" "$result" "$same_kernel"
expect wrong "$fails" "$two $probe x -t 60" 'ziaprobe: error: N, .*' 'usage: .*'
expect alone 0 "$(hydra_on 1 2) 2 $probe 2" "$result" "$one_node"
run_cases 2

same found 0 probe measured originator found
same found 1 probe measured responder found
same library 0 library measured originator
same library 1 library measured responder
same alarms 0 probe measured originator timeout where
same alarms 1 probe measured responder timeout where
for rank in 0 1; do
	same wrong $rank probe wrong
	same alone $rank probe measured alone
done
finish
