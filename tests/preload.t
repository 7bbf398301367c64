#!/bin/sh
# libziaprobe.so: the start of the user's own program is measured, and the program does not notice
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=3
error='ziaprobe: error:'

# A user's program. Its first argument says when it starts MPI: 'first', before it parses its
# arguments; 'thread', the same, by MPI_Init_thread; 'middle', at the option -i. It checks what the
# library must not change, and prints a line for each promise that is broken. Rank 0 returns 7.
#
#	-w		handles the signal of --where, which a timer then sends every ms
#	-a MS		sets an alarm, in MS ms; at once and from 100 s on, it is blocked
#	-d DIRECTORY	changes to DIRECTORY
cat >"$tmp/program.c" <<'END'
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define CHECK(promise) ((promise) ? 0 : fprintf(stderr, "ziaprobe: broken: %s\n", #promise))

#ifdef OWN /* as a profiler that is linked statically */
int MPI_Init(int *argc, char ***argv)
{
	return PMPI_Init(argc, argv);
}
#endif

static int blocks_alarm(void)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, SIGALRM) + 2 * sigismember(&set, SIGRTMAX - 1) +
	       4 * sigismember(&set, SIGRTMAX - 2);
}

static double left(void)
{
	struct itimerval timer;

	getitimer(ITIMER_REAL, &timer);
	return (double)timer.it_value.tv_sec + (double)timer.it_value.tv_usec / 1e6;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static volatile sig_atomic_t ticks = -1; /* of the timer of -w; -1 if there is none */

static void tick(int signal)
{
	(void)signal;
	ticks++;
}

static void set_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX - 2};
	struct itimerspec every_ms = {{0, 1000000}, {0, 1000000}};
	timer_t timer;

	ticks = 0;
	sigaction(SIGRTMAX - 2, &(struct sigaction){.sa_handler = tick, .sa_flags = SA_RESTART},
		  NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &every_ms, NULL);
}

static int rank, size;

static void start_mpi(int with_threads)
{
	const char *left_over = getenv("LEFT"), *preload, *argument = optarg;
	int result, provided = -1, level, index = optind, blocked = blocks_alarm();
	struct sigaction before, after;
	double left_before = left();

	sigaction(SIGALRM, NULL, &before);
	if (with_threads)
		result = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
	else
		result = MPI_Init(NULL, NULL);
	if (result != MPI_SUCCESS)
		exit(result == MPI_ERR_OTHER ? 9 : 1);
	MPI_Query_thread(&level);
	CHECK(!with_threads || provided == level);
	sigaction(SIGALRM, NULL, &after);
	CHECK(before.sa_handler == after.sa_handler);
	CHECK(blocks_alarm() == blocked);
	CHECK(!blocked || system("! grep -h SigBlk /proc/$PPID/task/*/status |"
				 "grep -qv '[2367abef]...$'") == 0); /* all threads */
	sigaction(SIGRTMAX - 1, NULL, &after);
	CHECK(after.sa_handler == SIG_DFL);
	sigaction(SIGRTMAX - 2, NULL, &after);
	CHECK(after.sa_handler == (ticks >= 0 ? tick : SIG_DFL));
	sigaction(SIGRTMAX - 3, NULL, &after);
	CHECK(after.sa_handler == SIG_DFL);
	CHECK(ticks != 0);
	CHECK(left() <= left_before && (left_before < 200 || left() > 100));
	CHECK(optarg == argument && optind == index);
	CHECK(!getenv("ZIAPROBE"));
	preload = getenv("LD_PRELOAD");
	CHECK(!left_over || (*left_over ? preload && !strcmp(preload, left_over) : !preload));
	CHECK(system("! ls -l /proc/$PPID/fd | grep -q schedstat") == 0);
	CHECK(system("! ls -l /proc/$PPID/fd | sed -n 's/.*socket:.\\([0-9]*\\).*/ \\1 @zia/p' |"
		     "grep -qFf - /proc/net/unix") == 0);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* Sends this rank to all ranks, straight away, and receives whatever comes. */
static void exchange(void)
{
	MPI_Request *requests = malloc((size_t)size * sizeof *requests);
	int from = 0, sum = 0, more;
	MPI_Status status;

	for (int to = 0; to < size; to++)
		MPI_Isend(&rank, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[to]);
	for (int i = 0; i < size; i++) {
		MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		CHECK(from == status.MPI_SOURCE);
		sum += from;
	}
	CHECK(sum == size * (size - 1) / 2);
	for (int to = 0; to < size; to++)
		MPI_Wait(&requests[to], MPI_STATUS_IGNORE);
	MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &more, &status);
	CHECK(!more);
}

static volatile sig_atomic_t alarms;

static void count(int signal)
{
	(void)signal;
	alarms++;
}

static void mask_alarm(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigaddset(&set, SIGRTMAX - 1);
	sigaddset(&set, SIGRTMAX - 2);
	sigprocmask(how, &set, NULL);
}

static void set_alarm(int ms)
{
	struct itimerval timer = {.it_value = {ms / 1000, ms % 1000 * 1000}};

	if (ms == 0 || ms >= 100000)
		mask_alarm(SIG_BLOCK);
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = count, .sa_flags = SA_RESTART}, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	if (ms == 0)
		raise(SIGALRM);
}

int main(int argc, char **argv)
{
	int option, ms = -1;
	double begun = seconds();

	if (strcmp(argv[1], "middle"))
		start_mpi(!strcmp(argv[1], "thread"));
	while ((option = getopt(argc, argv, "wa:d:i:")) != -1) {
		if (option == 'w')
			set_timer();
		if (option == 'a')
			set_alarm(ms = atoi(optarg));
		if (option == 'd')
			CHECK(chdir(optarg) == 0);
		if (option == 'i')
			start_mpi(0);
		CHECK(option != '?');
	}
	CHECK(argc - optind == 2 && !strcmp(argv[argc - 1], "file"));
	exchange();
	mask_alarm(SIG_UNBLOCK);
	while (ms >= 0 && ms < 100000 && !alarms && seconds() < begun + 30)
		usleep(1000);
	CHECK(alarms == (ms >= 0 && ms < 100000));
	MPI_Finalize();
	return rank == 0 ? 7 : 0;
}
END

# A profiler, which counts what the program calls. $FAULT makes its MPI_Init 'fail', or 'hang' on
# rank 0, or be 'slow' there: it then takes three seconds, whatever signals arrive.
cat >"$tmp/profiler.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static int inits;
int MPI_Init(int *argc, char ***argv)
{
	const char *fault = getenv("FAULT");
	struct timespec left = {3, 0};

	if (fault && !strcmp(fault, "fail"))
		return MPI_ERR_OTHER;
	while (fault && !strcmp(fault, "hang") && !strcmp(getenv("SLURM_PROCID"), "0"))
		sleep(1);
	if (fault && !strcmp(fault, "slow") && !strcmp(getenv("SLURM_PROCID"), "0"))
		while (nanosleep(&left, &left) != 0)
			;
	inits++;
	return PMPI_Init(argc, argv);
}
int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
	static int called;

	if (called++)
		fprintf(stderr, "ziaprobe: broken: the program calls MPI_Comm_rank once\n");
	return PMPI_Comm_rank(comm, rank);
}
int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
	fprintf(stderr, "ziaprobe: broken: the program does not call MPI_Send\n");
	return PMPI_Send(b, n, t, to, tag, c);
}
int MPI_Finalize(void)
{
	if (inits != 1)
		fprintf(stderr, "ziaprobe: broken: %d calls of MPI_Init\n", inits);
	return PMPI_Finalize();
}
END

cat >"$tmp/fortran.f90" <<'END'
program fortran
  implicit none
  include 'mpif.h'
  integer :: error
  call MPI_Init(error)
  call MPI_Finalize(error)
end program
END

# add_cases: adds those that do not depend on the MPI library
add_cases() {
	"mpicc.$mpi" -DOWN -o "$dir/wrapped" "$tmp/program.c" || exit 1
	"mpicc.$mpi" -shared -fPIC -o "$dir/profiler.so" "$tmp/profiler.c" || exit 1
	cp "$dir/profiler.so" "$dir/other.so"
	# Scripts that start a program
	printf '%s\n' 'export LD_PRELOAD="$BEFORE:$LD_PRELOAD"' 'exec "$@"' >"$dir/before.sh"
	printf '%s\n' 'export LD_PRELOAD="$LD_PRELOAD:$AFTER"' 'exec "$@"' >"$dir/after.sh"
	printf '"$@"\n"$@"\nexit\n' >"$dir/two.sh"

	expect own 7 "$launch ../wrapped first file" "$result"
	# The programs in the current directory play no part.
	expect directory 7 "cp /bin/true ziaprobe; touch libziaprobe.so
		../ziatest $reports 2 '$srun' ../program middle -d / -i x file" "$result"
	expect two 7 "../ziatest 1 'env N={}' sh ../two.sh ../program first file" \
		"$result" "$one_node" "$result" "$one_node"

	# The environment: the library's entry is removed, wherever it is. What the cluster itself
	# preloads stays, except on a single node, where nothing hangs without it.
	expect preload-only 7 "unset LD_PRELOAD
		LEFT= ../ziatest 2 '$alone' ../program first file" "$result" "$one_node"
	expect preload-last 7 "unset LD_PRELOAD
		BEFORE=$dir/other.so LEFT=$dir/other.so ../ziatest 2 '$alone' \\
			sh ../before.sh ../program first file" "$result" "$one_node"
	expect preload-middle 7 "export LD_PRELOAD=$dir/other.so$preloaded AFTER=$dir/profiler.so
		LEFT=\$LD_PRELOAD:\$AFTER $launch sh ../after.sh ../program first file" "$result"
	# Libraries that the launcher or a task prolog preloads stay, too.
	printf '#!/bin/sh\necho "export LD_PRELOAD=%s"\n' "$dir/other.so" >"$dir/prolog"
	chmod +x "$dir/prolog"
	for option in "--export=ALL,LD_PRELOAD=$dir/other.so" "--task-prolog=$dir/prolog"; do
		expect "preload${option%%=*}" 7 "unset LD_PRELOAD
			LEFT=$dir/other.so ../ziatest 2 'srun $option ${alone#srun }' \\
				../program first file" "$result" "$one_node"
	done
	expect fail 9 "FAULT=fail AFTER=$dir/profiler.so \\
		$launch sh ../after.sh ../program first file"

	# Alarms of the program's own, if there is a timeout: one that has come and is blocked, one
	# that comes during MPI_Init or soon after it, and one that comes much later
	for ms in 0 100 1000000; do
		expect alarm-$ms 7 "$launch ../program middle -a $ms -i x file" "$result"
	done
	timeout="$error timeout of 5 s: rank"
	spent='has spent [0-9]+ ms in MPI_Init: .*'
	expect hang 124 "FAULT=hang AFTER=$dir/profiler.so \\
		../ziatest -t 5 2 '$srun' sh ../after.sh ../program first file" \
		"$timeout 0 .*on n1 $spent" \
		"$error rank 0 .*on n1 is in .*sleep .*MPI_Init( \\[profiler\.so\\])?( < .*)?" \
		"*$timeout [0-5] .*on n[123] has .* MPI_Init.*"

	# --where interrupts a slow MPI_Init, unless the program has only just begun by then. The
	# program may use the same signal, or block it.
	note="ziaprobe: note: after 2.5 s: rank"
	for options in '-w' '-a 1000000' '-w -a 100'; do
		expect "where$(echo "$options" | tr -d ' ')" 7 \
			"FAULT=slow AFTER=$dir/profiler.so ../ziatest -w 2.5 -t 90 2 '$srun' \\
				sh ../after.sh ../program middle $options -i x file" \
			"$result" '?ziaprobe: warning: --where interrupted .*' \
			"?$note 0 .*on n1 $spent" \
			'?ziaprobe: note: rank 0 .*on n1 is in .*nanosleep .*MPI_Init.*' \
			"*ziaprobe: note: .*"
	done

	# Errors are printed once, and the program runs on.
	expect arguments 7 "srun -N 2 -n 4 --ntasks-per-node 2 \\
		env LD_PRELOAD=$dir/libziaprobe.so$preloaded ZIAPROBE=1,2 ../program first file" \
		"$error expected exactly three arguments .*" 'usage: .*'
	expect wrong-n 7 "../ziatest 4 'srun -N 3 -n 6 --wait={}' ../program first file" \
		"$error the number of processes, 6, is not a multiple of N = 4; .*"
	expect uneven-multiple 7 "../ziatest srun -N 3 -n 6 -m plane=4 -- ../program first file" \
		"$error wrong placement: .*"
}

for mpi in mpich openmpi; do
	has_mpi $mpi || continue
	quick_build $mpi
	"mpicc.$mpi" -o "$dir/program" "$tmp/program.c" || exit 1

	srun='srun -N 3 -n 6 --ntasks-per-node'
	alone='srun -N 1 -n 2 --ntasks-per-node'
	launch="../ziatest -t 90 2 '$srun'"
	reports='-v --csv csv --ranks ranks'
	preloaded='${LD_PRELOAD:+:$LD_PRELOAD}'

	expect c 7 "../ziatest $reports 2 '$srun' ../program first file" "$result"
	expect thread 7 "../ziatest 2 '$srun' ../program thread file" "$result"
	if has gfortran && has "mpif90.$mpi"; then
		"mpif90.$mpi" -o "$dir/fortran.exe" "$tmp/fortran.f90" || exit 1
		expect fortran 0 "$launch ../fortran.exe" "$result"
	fi
	# N is found out.
	expect words 7 "../ziatest -q srun -N 2 -n 4 --ntasks-per-node 2 -- \\
		../program first file" "$result"
	expect uneven 7 "../ziatest srun -N 2 -n 3 -- ../program first file" \
		"$error 3 processes run on 2 nodes; start the same number on every node, .*"
	# The same library measures programs of another MPI library.
	case $mpi in
	openmpi) other=mpich ;;
	mpich) other=openmpi ;;
	esac
	if has_mpi "$other"; then
		"mpicc.$other" -o "$dir/stranger" "$tmp/program.c" || exit 1
		expect foreign 7 "export SLURM_MPI_TYPE=$(pmi "$other")
			../ziatest 2 '$alone' ../stranger first file" "$result" "$one_node"
	fi
	if [ $mpi = "$first_mpi" ]; then
		add_cases
	fi
	run_cases 3

	is "$mpi, the program in --csv" "$(awk -F , 'NR == 2 { print $(NF - 4) }' "$dir/c/csv")" \
		program
done
finish
