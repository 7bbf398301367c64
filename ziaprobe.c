/*
 * ziaprobe - the timed half of ziatest: start, initialise MPI, exchange, report
 *
 *	LAUNCHER ziaprobe SEC USEC N
 *
 * SEC USEC is the start, in seconds and microseconds since 1970 (UTC), stamped
 * by ziatest or by date +"%s %6N"; N is the number of processes on every node.
 *
 * Measured: the time from the start until the last originator has its reply.
 * Ranks i*N ... i*N+N-1 are block i, meant to be one node. The blocks pair up,
 * 0 with 1, 2 with 3 and so on (the specification counts nodes from 1: odd with
 * even). In a pair, the two processes with the same local rank exchange a byte:
 *
 *	originator                   responder
 *	send one byte        --->    receive it
 *	receive it, stamp    <---    answer with one byte
 *
 * Of an odd number of blocks the last originates towards block 0, which answers
 * after its own exchange. A single block's processes each exchange the byte with
 * themselves. MPI_Gather then brings the stamps to rank 0, which reports.
 *
 * On the clock, from the start to the stamp: launch, reading the arguments,
 * MPI_Init, the exchange. No other message, no allocation, no look-up.
 *
 * The clock assumption: the realtime clocks of all nodes agree.
 *
 * Exit status: 0; 1 if the time cannot be right; 2 on every rank for bad
 * arguments or a world that does not divide into blocks of N.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The pad makes the executable's file 100 MiB larger. Its bytes come from the file
 * PAD, random so that they do not compress, and lie in a read-only segment: a
 * writable array would be charged to every process as memory. In assembler, since
 * C11 cannot include a file of bytes. */
#ifndef PAD
#error "PAD must name the file of the pad's bytes; build with 'make'"
#endif
__asm__(".pushsection .rodata.pad, \"a\", %progbits\n"
	".globl pad\n"
	"pad: .incbin \"" PAD "\"\n"
	".popsection\n");
extern const char pad[] __attribute__((visibility("hidden")));

static const char usage[] = "usage: LAUNCHER ziaprobe SEC USEC N";

struct arguments {
	int64_t start; /* ns since 1970, UTC */
	int n; /* processes per node, 1 ... INT_MAX */
};

/* Says on stderr what is wrong, in one piece. */
static void error(const char *format, ...)
{
	char message[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	fprintf(stderr, "ziaprobe: error: %s\n", message);
}

/* The realtime clock, in ns since 1970, UTC. */
static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The number that TEXT names in decimal digits alone, 0 ... MAX; -1 if it does not. */
static int64_t number(const char *text, int64_t max)
{
	intmax_t value;

	errno = 0;
	value = strtoimax(text, NULL, 10);
	if (!*text || text[strspn(text, "0123456789")] || errno || value > max)
		return -1;
	return value;
}

/* Reads the arguments into ARGS. Returns NULL, or which of them is wrong. */
static const char *parse(int argc, char **argv, struct arguments *args)
{
	int64_t sec, usec, n;

	if (argc != 4)
		return "three arguments are needed";
	if ((sec = number(argv[1], INT64_MAX / 1000000000 - 1)) < 0)
		return "SEC must be the seconds of the start, since 1970";
	if ((usec = number(argv[2], 999999)) < 0)
		return "USEC must be the microseconds of the start, 0 to 999999";
	if ((n = number(argv[3], INT_MAX)) < 1)
		return "N must be the number of processes per node, from 1 up";
	args->start = sec * 1000000000 + usec * 1000;
	args->n = (int)n;
	return NULL;
}

/* Whether RANK sends first: the blocks of even index, and a block that is alone. */
static int originates(int rank, int n)
{
	return rank / n % 2 == 0;
}

/* The rank that originator RANK, in a world of SIZE, exchanges its byte with: the
 * same local rank of the next block, block 0 following the last. */
static int responder(int rank, int size, int n)
{
	return (int)(((int64_t)rank + n) % size);
}

/* Receives one byte from ORIGINATOR and answers it with one. */
static void answer(int originator)
{
	char byte;

	MPI_Recv(&byte, 1, MPI_BYTE, originator, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(&byte, 1, MPI_BYTE, originator, 0, MPI_COMM_WORLD);
}

/* This rank's part of the exchange; SIZE is a multiple of N. All of it is on the
 * clock. Returns an originator's stamp, in ns since 1970; 0 for a responder. */
static int64_t exchange(int rank, int size, int n)
{
	int blocks = size / n;
	int peer = responder(rank, size, n);
	int64_t reply = 0;
	char byte = 0, echo;

	if (blocks == 1) {
		MPI_Sendrecv(&byte, 1, MPI_BYTE, rank, 0, &echo, 1, MPI_BYTE, rank, 0,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		reply = now();
	} else if (originates(rank, n)) {
		MPI_Send(&byte, 1, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
		MPI_Recv(&echo, 1, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		reply = now();
	} else {
		answer(rank - n);
	}
	if (rank < n && blocks % 2 == 1 && blocks > 1)
		answer(size - n + rank);
	return reply;
}

/* The rank with the latest of SIZE stamps, the lowest of several; only the
 * originators have one. */
static int slowest_rank(const int64_t *replies, int size, int n)
{
	int slowest = 0;

	for (int rank = 1; rank < size; rank++)
		if (originates(rank, n) && replies[rank] > replies[slowest])
			slowest = rank;
	return slowest;
}

/* Writes the result's first line for a time of NS >= 0 into LINE. */
static void format_time(char *line, size_t size, int64_t ns)
{
	unsigned long seconds = (unsigned long)(ns / 1000000000);

	if (seconds == 0)
		snprintf(line, size, "Time test was completed in %8.2f millisecs",
			 (double)ns / 1e6);
	else
		snprintf(line, size, "Time test was completed in %3lu:%02lu min:sec", seconds / 60,
			 seconds % 60);
}

/* Rank 0: prints the result. Returns the exit status. */
static int report(const int64_t *replies, int size, const struct arguments *args)
{
	int slowest = slowest_rank(replies, size, args->n);
	int64_t time = replies[slowest] - args->start;
	char line[80];

	if (time < 0) {
		error("rank %d has its reply %.6f s before the start; check SEC USEC and the clocks of the nodes",
		      slowest, (double)-time / 1e9);
		return 1;
	}
	format_time(line, sizeof line, time);
	fprintf(stderr, "%s\nSlowest rank: %d\n", line, slowest);
	return 0;
}

int main(int argc, char **argv)
{
	struct arguments args;
	const char *wrong = parse(argc, argv, &args);
	int rank, size, status = 0;
	int64_t reply, *replies = NULL;

	/* On the clock since the start. */
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (wrong || size % args.n != 0) {
		if (rank == 0 && wrong)
			error("%s\n%s", wrong, usage);
		else if (rank == 0)
			error("%d processes are not a multiple of N = %d per node; have the launcher start nodes times N",
			      size, args.n);
		MPI_Finalize();
		return 2;
	}
	reply = exchange(rank, size, args.n);

	/* Off the clock. */
	__asm__ volatile("" : : "r"(pad)); /* keeps the linker from dropping the pad */
	if (rank == 0 && !(replies = malloc((size_t)size * sizeof *replies))) {
		error("no memory for the stamps of %d ranks", size);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_Gather(&reply, 1, MPI_INT64_T, replies, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
	if (rank == 0)
		status = report(replies, size, &args);
	free(replies);
	MPI_Finalize();
	return status;
}
