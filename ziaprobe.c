/*
 * ziaprobe - the timed half of ziatest: initialise MPI, exchange a byte, report the time
 *
 *	LAUNCHER ziaprobe SEC USEC N
 *
 * This file is the benchmark, in the order of its specification:
 *
 *	1. ziatest stamps the start, which all processes receive in their arguments: SEC and USEC,
 *	   as printed by date +"%s %6N".
 *	2. A launcher starts this program, a 100 MB executable, N times on each node.
 *	3. Each process calls MPI_Init.
 *	4. Each process of an odd-numbered node, an originator, sends one byte to the process with
 *	   the same local rank on the next node. The last of an odd number of nodes sends to node 1.
 *	5. The receiver, a responder, answers with one byte.
 *	6. Each originator stamps the reply. MPI_Gather brings the stamps to rank 0.
 *	7. The latest stamp minus the start is the result.
 *
 * Nodes are not looked up: ranks i*N to i*N+N-1 form block i, which should be one node. Blocks are
 * counted from 0 here, so the even ones originate. If there is only one block, each process
 * exchanges the byte with itself.
 *
 * The clock runs until the latest stamp that ask() takes. In benchmark(), the comment "Off the
 * clock from here on" marks the end of the timed part.
 *
 * 'mkdir plain; mpicc ziaprobe.c -o plain/ziaprobe' builds the benchmark alone, which neither
 * checks nor explains its result. make links it with observe/, a tool on MPI's profiling interface:
 * its MPI_Init takes options out of the arguments, its MPI_Gather fails on rank 0 if the result is
 * wrong, and its MPI_Finalize writes the reports. tests/order.t lists what it does on the clock. It
 * cannot notice what happened before main, such as a change of the clock.
 *
 * Exit status: 0 on success; 1 on rank 0 if the result is wrong, if output cannot be written, or if
 * MPI and the launcher do not match; 2 on every rank if the arguments or the number of processes
 * are wrong; 124 on every rank if the timeout (-t) expires.
 */
#define _GNU_SOURCE /* clock_gettime, dprintf */

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t start; /* us since 1970 (UTC) */
static int n; /* processes per node */
static int rank, size; /* in MPI_COMM_WORLD; there are size / n blocks */

/* Returns the number in TEXT, or -1 if that is not decimal digits or the number exceeds MAX. */
static int64_t to_number(const char *text, int64_t max)
{
	int64_t number = strtoll(text, NULL, 10); /* INT64_MAX if it is out of range */

	return !*text || text[strspn(text, "0123456789")] || number > max ? -1 : number;
}

/* Reads the arguments. Returns NULL or, if they are wrong, a message. */
static const char *parse(int argc, char **argv)
{
	static char message[400];
	int64_t sec, usec;
	int count = 0; /* of the arguments before the options */

	while (count + 1 < argc && *argv[count + 1] != '-')
		count++;
	if (count != 3)
		return "expected exactly three arguments before the options: SEC, USEC and N; "
		       "ziatest appends ziaprobe itself, so do not name it in the launcher";
	/* Only half the range is allowed, so that differences do not overflow. */
	if ((sec = to_number(argv[1], INT64_MAX / 1000000 / 2)) < 0)
		return "SEC, the start in seconds since 1970, must be a whole number";
	if ((usec = to_number(argv[2], 999999)) < 0)
		return "USEC, the microseconds of the start, must be a number from 0 to 999999";
	start = sec * 1000000 + usec;
	n = (int)to_number(argv[3], INT_MAX);
	if (n < 1)
		return "N, the number of processes per node, must be a whole number, 1 or more; "
		       "only the ziaprobe that 'make' builds finds N itself if it is 0";
	if (argc == 4)
		return NULL;
	snprintf(message, sizeof message,
		 "unknown option, or wrong or missing value: '%.99s'; the ziaprobe that 'make' "
		 "builds takes --verbose, --csv FILE, --ranks FILE, --ppn N, --timeout SECONDS and "
		 "--where SECONDS; the one that 'make plain' builds takes none",
		 argv[4]);
	return message;
}

/* Prints that the arguments are WRONG or, if that is NULL, the number of processes. */
static void print_misuse(const char *wrong)
{
	if (wrong)
		dprintf(STDERR_FILENO, "ziaprobe: error: %s\nusage: LAUNCHER ziaprobe SEC USEC N\n",
			wrong);
	else
		dprintf(STDERR_FILENO,
			"ziaprobe: error: the number of processes, %d, is not a multiple of N = "
			"%d; start exactly N = %d processes on every node\n",
			size, n, n);
}

/* Returns the realtime clock, in us since 1970 (UTC). */
static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Returns whether the block of ANY_RANK originates. */
static bool is_originator(int any_rank)
{
	return any_rank / n % 2 == 0;
}

/* The originator's part: sends a byte to rank TO and receives one. Returns the reply's stamp. */
static int64_t ask(int to)
{
	char byte = 0, reply;

	if (to == rank) { /* the only block */
		MPI_Sendrecv(&byte, 1, MPI_BYTE, to, 0, &reply, 1, MPI_BYTE, to, 0, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	} else {
		MPI_Send(&byte, 1, MPI_BYTE, to, 0, MPI_COMM_WORLD);
		MPI_Recv(&reply, 1, MPI_BYTE, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	return now();
}

/* The responder's part. */
static void answer(int from)
{
	char byte;

	MPI_Recv(&byte, 1, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(&byte, 1, MPI_BYTE, from, 0, MPI_COMM_WORLD);
}

/* Plays this rank's part in the exchange. If the last block originates, block 0 does both: it
 * answers after its own exchange. Returns the stamp of the reply, or 0 on a responder. */
static int64_t exchange(void)
{
	int next = (int)(((int64_t)rank + n) % size);
	int previous = (int)(((int64_t)rank + size - n) % size);
	int64_t replied = 0;

	if (is_originator(rank))
		replied = ask(next);
	if (is_originator(previous) && size > n)
		answer(previous);
	return replied;
}

/* Prints the result, given the stamps of all ranks, which are 0 for responders. The lowest rank
 * wins a tie. Uses dprintf because stderr may be wide-oriented. Returns whether it was written. */
static bool print_result(const int64_t *stamps)
{
	int slowest = 0;
	int64_t us;
	char time[40];

	for (int i = 1; i < size; i++)
		if (stamps[i] > stamps[slowest])
			slowest = i;
	us = stamps[slowest] - start;
	if (us < 1000000)
		snprintf(time, sizeof time, "%8.2f millisecs", (double)us / 1000);
	else
		snprintf(time, sizeof time, "%3d:%02d min:sec", (int)(us / 60000000),
			 (int)(us / 1000000 % 60));
	return dprintf(STDERR_FILENO, "Time test was completed in %s\nSlowest rank: %d\n", time,
		       slowest) >= 0;
}

/* The benchmark after MPI_Init. Returns the exit status. */
int benchmark(int argc, char **argv)
{
	int64_t replied, *stamps = NULL;
	const char *wrong;
	bool is_right;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	wrong = parse(argc, argv);
	if (wrong || size % n != 0) {
		if (rank == 0)
			print_misuse(wrong);
		return 2;
	}
	replied = exchange();
	/* ---- Off the clock from here on ---- */

	if (rank == 0 && !(stamps = calloc((size_t)size, sizeof *stamps))) {
		dprintf(STDERR_FILENO, "ziaprobe: error: rank 0 is out of memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	is_right = MPI_Gather(&replied, 1, MPI_INT64_T, stamps, 1, MPI_INT64_T, 0,
			      MPI_COMM_WORLD) == MPI_SUCCESS;
	if (is_right && rank == 0)
		is_right = print_result(stamps);
	free(stamps);
	return is_right ? 0 : 1;
}

#ifndef WITHOUT_MAIN /* libziaprobe.so calls benchmark() when the program has initialised MPI */
extern const char pad[] __attribute__((visibility("hidden"))); /* at the end of this file */

int main(int argc, char **argv)
{
	int status;

	if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
		return 1;
	status = benchmark(argc, argv);
	__asm__ volatile("" : : "r"(pad)); /* so that the linker keeps it */
	if (MPI_Finalize() != MPI_SUCCESS && status == 0)
		status = 1;
	return status;
}

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
#endif
