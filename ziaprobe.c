/*
 * ziaprobe - the timed half of ziatest: initialise MPI, exchange a byte, report the time
 *
 *	LAUNCHER ziaprobe SEC USEC N [-v] [--csv FILE] [--ranks FILE] [-t SECONDS]
 *
 * This file is the benchmark, in the order of its specification:
 *
 *	1. ziatest stamps the start, which all processes receive in their arguments: SEC and USEC,
 *	   as printed by date +"%s %6N".
 *	2. A launcher starts this program, a 100 MB executable, N times on each node.
 *	3. Each process calls MPI_Init.
 *	4. Each process of an odd-numbered node, an originator, sends one byte to the process with
 *	   the same local rank on the next node. The last of an odd number of nodes sends to the
 *	   first.
 *	5. The receiver, a responder, answers with one byte.
 *	6. Each originator stamps the reply. MPI_Gather brings the stamps to rank 0.
 *	7. The latest stamp minus the start is the result.
 *
 * Nodes are not looked up: ranks i*N to i*N+N-1 form block i, which should be one node. Blocks are
 * counted from 0 here, so the even ones originate. If there is only one block, each process
 * exchanges the byte with itself.
 *
 * On the clock are the launch, begin(), MPI_Init, and measure() down to the comment "Off the clock
 * from here on". The calls of observe.h run there, too: they read clocks, what this process has
 * done so far, and the launcher's variables, and set the timeout. In MPI_Init, observe/fence.c
 * stamps when this rank waits for others. tests/order.t lists all of it in order.
 *
 * 'mkdir plain; mpicc -DPLAIN ziaprobe.c -o plain/ziaprobe' builds this file without those calls:
 * the benchmark alone, which neither checks nor explains its result. The layers that do can be read
 * one by one. In observe/, each rank makes a record of itself: begin with observe/calls.c. In
 * explain/, rank 0 checks and explains these records: begin with explain/explain.c. libziaprobe.c
 * measures other programs with begin() and measure(). The check cannot find what was not recorded,
 * such as a clock that was set before main.
 *
 * Exit status: 0 on success; 1 on rank 0 if the measurement is invalid, if output cannot be
 * written, or if MPI and the launcher do not match; 2 on every rank if the arguments or the number
 * of processes are wrong; 124 on every rank if the timeout expires.
 */
#include "observe/observe.h"

#include <limits.h>
#include <mpi.h>
#include <unistd.h>

static const char usage[] = "usage: LAUNCHER ziaprobe SEC USEC N" OPTIONS_USAGE;
static struct launch launch;
static const char *wrong; /* what is wrong with the arguments, or NULL */

/* Reads the arguments into launch. Returns NULL or, if they are wrong, an error message. */
static const char *parse(char **argv)
{
	int64_t sec, usec, n;
	int count = 0; /* of the arguments before the options */
	const char *error;

	while (argv[1 + count] && *argv[1 + count] != '-')
		count++;
	if (count != 3)
		return "expected exactly three arguments before the options: SEC, USEC and N; "
		       "ziatest appends ziaprobe itself, so do not name it in the launcher";
	if ((error = observe_options(argv + 4)))
		return error;
	/* Only half the range is allowed, so that differences do not overflow. */
	if ((sec = to_number(argv[1], INT64_MAX / 1000000 / 2)) < 0)
		return "SEC, the start in seconds since 1970, must be a whole number";
	if ((usec = to_number(argv[2], 999999)) < 0)
		return "USEC, the microseconds of the start, must be a number from 0 to 999999";
	if ((n = to_number(argv[3], INT_MAX)) < 1)
		return "N, the number of processes per node, must be a whole number, 1 or more";
	launch.start = sec * 1000000 + usec;
	launch.n = (int)n;
	return NULL;
}

/* Runs before MPI_Init, on the clock. */
void begin(char **argv)
{
	observe_main();
	wrong = parse(argv);
	if (!wrong)
		observe_start(launch.start);
}

/* Prints, on rank 0, that the arguments or the number of processes are wrong. Returns the exit
 * status. */
static int report_misuse(void)
{
	observe_state(WAITS_FOR_OTHERS, -1, now());
	if (launch.rank == 0 && wrong)
		dprintf(STDERR_FILENO, "ziaprobe: error: %s\n%s\n", wrong, usage);
	else if (launch.rank == 0)
		dprintf(STDERR_FILENO,
			"ziaprobe: error: the number of processes, %d, is not a multiple of N = "
			"%d; start exactly N = %d processes on every node\n",
			launch.size, launch.n, launch.n);
	return 2;
}

/* Returns whether RANK originates an exchange. */
static bool is_originator(int rank)
{
	return rank / launch.n % 2 == 0;
}

/* The originator's part: sends one byte to rank TO, receives one, and stamps the reply. */
static void ask(int to)
{
	char byte = 0, reply;

	if (to == launch.rank) { /* the only block */
		MPI_Sendrecv(&byte, 1, MPI_BYTE, to, 0, &reply, 1, MPI_BYTE, to, 0, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	} else {
		MPI_Send(&byte, 1, MPI_BYTE, to, 0, MPI_COMM_WORLD);
		MPI_Recv(&reply, 1, MPI_BYTE, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	launch.replied = now();
}

/* The responder's part. */
static void answer(int from)
{
	char byte;

	MPI_Recv(&byte, 1, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(&byte, 1, MPI_BYTE, from, 0, MPI_COMM_WORLD);
}

/* Plays this rank's part in the exchange, which begins at the stamp SINCE. If the last block
 * originates, block 0 does both: it answers after its own exchange. */
static void exchange(int64_t since)
{
	int rank = launch.rank, size = launch.size;
	int next = (int)(((int64_t)rank + launch.n) % size);
	int previous = (int)(((int64_t)rank + size - launch.n) % size);

	launch.partner = is_originator(rank) ? next : -1;
	if (launch.partner >= 0) {
		observe_state(WAITS_FOR_REPLY, next, since);
		ask(next);
		since = launch.replied;
	}
	if (is_originator(previous) && size > launch.n) {
		observe_state(WAITS_FOR_MESSAGE, previous, since);
		answer(previous);
	}
}

/* Returns the lowest of the ranks with the latest of STAMPS, which are 0 for responders. */
static int find_latest(const int64_t *stamps, int size)
{
	int latest = 0;

	for (int rank = 1; rank < size; rank++)
		if (stamps[rank] > stamps[latest])
			latest = rank;
	return latest;
}

/* Brings the stamps to rank 0, which finds the result. */
static void gather(void)
{
	int64_t *stamps = NULL;

	if (launch.rank == 0)
		stamps = allocate(launch.size, sizeof *stamps);
	MPI_Gather(&launch.replied, 1, MPI_INT64_T, stamps, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
	if (launch.rank == 0) {
		launch.slowest = find_latest(stamps, launch.size);
		launch.time = stamps[launch.slowest] - launch.start;
	}
	free(stamps);
}

/* Prints the result, even if stderr is wide-oriented. Returns whether it could be written. */
static bool print_result(void)
{
	long long s = launch.time / 1000000;
	char time[40];

	if (s < 1)
		snprintf(time, sizeof time, "%8.2f millisecs", (double)launch.time / 1000);
	else
		snprintf(time, sizeof time, "%3lld:%02lld min:sec", s / 60, s % 60);
	return dprintf(STDERR_FILENO, "Time test was completed in %s\nSlowest rank: %d\n", time,
		       launch.slowest) >= 0;
}

/* Runs after MPI_Init. Returns the exit status. */
int measure(void)
{
	/* On the clock. */
	int64_t initialised = observe_init();
	int status = 0;

	MPI_Comm_rank(MPI_COMM_WORLD, &launch.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &launch.size);
	if (!observe_world(launch.rank, launch.size, &status))
		return status; /* MPI and the launcher do not match */
	if (wrong || launch.size % launch.n != 0)
		return report_misuse();
	exchange(initialised);
	/* ---- Off the clock from here on ---- */

	observe_state(WAITS_FOR_OTHERS, -1, now());
	gather();
	if (!observe_check(&launch)) /* on rank 0 */
		return 1;
	if (launch.rank == 0)
		return print_result() ? observe_explain() : 1;
	return 0;
}

#ifndef PRELOAD /* libziaprobe.c has the library's entry points instead */
/* The pad makes the executable 100 MiB larger. It is read-only because writable memory would be
 * charged to every process. make fills it with random bytes from PAD_FILE, which do not compress.
 * It is written in assembly because compilers take minutes to compile such an array, and it is
 * global so that LTO finds it. */
#ifndef PAD
#define PAD 104857600
#endif
#define TEXT(macro) #macro
#define STRING(macro) TEXT(macro)
#ifdef PAD_FILE
#define PAD_BYTES ".incbin \"" STRING(PAD_FILE) "\""
#else
#define PAD_BYTES ".zero " STRING(PAD)
#endif
__asm__(".pushsection .rodata.pad, \"a\", %progbits\n"
	".globl pad\n"
	".hidden pad\n"
	"pad: " PAD_BYTES "\n"
	".popsection\n");
extern const char pad[] __attribute__((visibility("hidden")));

int main(int argc, char **argv)
{
	int status;

	(void)argc;
	begin(argv);
	MPI_Init(NULL, NULL);
	status = measure();
	__asm__ volatile("" : : "r"(pad)); /* so that the linker keeps it */
	MPI_Finalize();
	stop_if_timed_out();
	return status;
}
#endif
