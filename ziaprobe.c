/*
 * ziaprobe - the timed half of ziatest: start, initialise MPI, exchange, report
 *
 *	LAUNCHER ziaprobe SEC USEC N [-v] [--csv FILE] [--ranks FILE] [-t SECONDS]
 *
 * SEC USEC is the start, in seconds and microseconds since 1970 (UTC), stamped by ziatest or by
 * date +"%s %6N"; N is the number of processes on every node.
 *
 * Measured: the time from the start until the last originator has its reply. Ranks i*N ... i*N+N-1
 * are block i, meant to be one node. The blocks pair up, 0 with 1, 2 with 3 and so on (the
 * specification counts nodes from 1: odd with even). In a pair, the two processes with the same
 * local rank exchange a byte:
 *
 *	originator                   responder
 *	send one byte        --->    receive it
 *	receive it, stamp    <---    answer with one byte
 *
 * Of an odd number of blocks the last originates towards block 0, which answers after its own
 * exchange. A single block's processes each exchange the byte with themselves. MPI_Gather then
 * brings the stamps to rank 0, which reports.
 *
 * On the clock, from the start to the stamp, are the launch, parse(), MPI_Init and exchange(): main
 * down to its mark. Of probe/ that is now(), uptime() and wait_for(), inside MPI_Init the look-up
 * of the fence and two clock readings for each (fence.c) and, with -t, arm_timeout().
 *
 * All else in probe/ is off this rank's clock, and but for mismatched(), the memory for the stamps
 * and the timeout's handler it runs when rank 0 has all stamps. Was the time measured the one
 * specified? Are the blocks on nodes of their own, is the start before everything else, do the
 * clocks agree? And where did every millisecond go, on which node (path.c)? The clock assumption is
 * that the realtime clocks of all nodes agree; what they differ by is measured.
 *
 * Exit status: 0; 1 on rank 0 if the measurement was not the specified one, or the result or a file
 * could not be written, and where MPI and launcher do not match; 2 on every rank for bad arguments
 * or a world that does not divide into blocks of N; 124 on every rank that still runs when the
 * timeout has run out.
 */
#include "probe/run.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>

/* The pad makes the executable's file PAD bytes larger, 100 MiB, in a read-only segment: a
 * writable array would be charged to every process as memory. make gives it random bytes, in
 * PAD_FILE, which do not compress; without a file it is zeros. In assembler, since a compiler
 * takes minutes for an array of that size. Global, so that it is found with LTO. */
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

static const char usage[] =
	"usage: LAUNCHER ziaprobe SEC USEC N [-v] [--csv FILE] [--ranks FILE] [-t SECONDS]";

static struct {
	int64_t start; /* ns since 1970, UTC */
	int timeout; /* s from the start, 0: none */
	int n; /* processes per node, 1 ... INT_MAX */
	int verbose;
	const char *csv, *ranks; /* files, NULL: none */
} options;

/* The arguments, read on the clock */

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

/* Reads the arguments into options. Returns NULL, or which of them is wrong. */
static const char *parse(int argc, char **argv)
{
	static const struct option names[] = {
		{"verbose", no_argument, NULL, 'v'},
		{"csv", required_argument, NULL, 'c'},
		{"ranks", required_argument, NULL, 'r'},
		{"timeout", required_argument, NULL, 't'},
		{NULL, 0, NULL, 0},
	};
	static char wrong[200];
	const char *numbers[3] = {NULL};
	int64_t sec, usec, n;
	int option, count = 0, at = 1; /* the argument that is read */

	opterr = 0; /* every rank would complain */
	/* '-': what is no option comes as the value of an option 1, wherever it stands. */
	while ((option = getopt_long(argc, argv, "-vt:", names, NULL)) != -1) {
		switch (option) {
		case 1:
			if (count < 3)
				numbers[count] = optarg;
			count++;
			break;
		case 'v':
			options.verbose = 1;
			break;
		case 'c':
			options.csv = optarg;
			break;
		case 'r':
			options.ranks = optarg;
			break;
		case 't':
			if ((n = number(optarg, INT_MAX)) < 1)
				return "--timeout must be a whole number of seconds from 1 up";
			options.timeout = (int)n;
			break;
		default:
			snprintf(wrong, sizeof wrong,
				 "unknown option, or its value is missing: '%s'", argv[at]);
			return wrong;
		}
		at = optind;
	}
	if (count != 3 || optind < argc) /* after a -- */
		return "SEC, USEC and N are needed, and nothing else";
	/* Half of what fits, so that no difference overflows. */
	if ((sec = number(numbers[0], INT64_MAX / 1000000000 / 2)) < 0)
		return "SEC must be the seconds of the start, since 1970";
	if ((usec = number(numbers[1], 999999)) < 0)
		return "USEC must be the microseconds of the start, 0 to 999999";
	if ((n = number(numbers[2], INT_MAX)) < 1)
		return "N must be the number of processes per node, from 1 up";
	options.start = sec * 1000000000 + usec * 1000;
	options.n = (int)n;
	return NULL;
}

/* The pairing rule */

/* The rank that RANK, in a world of SIZE, originates its exchange towards, the same local rank of
 * the next block, block 0 following the last. The blocks of even index originate; -1 for others. */
static int responder(int rank, int size, int n)
{
	return rank / n % 2 == 0 ? (int)(((int64_t)rank + n) % size) : -1;
}

/* The rank that originates towards RANK as block 0 answers the last of an odd number of
 * blocks; -1 if none does. */
static int second_originator(int rank, int size, int n)
{
	return rank < n && size > n && size / n % 2 == 1 ? size - n + rank : -1;
}

/* The exchange, on the clock */

/* The originator's part, as RANK: one byte to rank TO and one back. Returns the reply's stamp. */
static int64_t ask(int rank, int to)
{
	char byte = 0, echo;

	if (to == rank) { /* the only block */
		MPI_Sendrecv(&byte, 1, MPI_BYTE, to, 0, &echo, 1, MPI_BYTE, to, 0, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	} else {
		MPI_Send(&byte, 1, MPI_BYTE, to, 0, MPI_COMM_WORLD);
		MPI_Recv(&echo, 1, MPI_BYTE, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	return now();
}

/* The responder's part. */
static void answer(int originator)
{
	char byte;

	MPI_Recv(&byte, 1, MPI_BYTE, originator, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(&byte, 1, MPI_BYTE, originator, 0, MPI_COMM_WORLD);
}

/* This rank's part, waiting SINCE then. Returns the stamp of the reply, 0 on a responder. */
static int64_t exchange(int rank, int size, int n, int64_t since)
{
	int to = responder(rank, size, n), second = second_originator(rank, size, n);
	int64_t replied = 0;

	if (to >= 0) {
		wait_for(REPLY, to, since);
		since = replied = ask(rank, to);
	} else {
		wait_for(MESSAGE, rank - n, since);
		answer(rank - n);
	}
	if (second >= 0) {
		wait_for(MESSAGE, second, since);
		answer(second);
	}
	return replied;
}

/* The exchange once more, off the clock: once untimed, so that both partners are there, once
 * timed. The last of an odd number of blocks takes no part: block 0 is busy with its own partner.
 * Returns the round trip; NONE where there is none. */
static int64_t repeat(int rank, int size, int n)
{
	int to = responder(rank, size, n);
	int64_t begun, trip = NONE;

	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < 2; i++) {
		if (to < 0) {
			answer(rank - n);
		} else if (to >= rank) {
			begun = now();
			trip = ask(rank, to) - begun;
		}
	}
	return trip;
}

/* The result */

/* Fills in, from the stamps, the time, the slowest rank, which is the first of several, and the
 * partners. */
static void find_result(struct run *run)
{
	run->partner = allocate(run->size, sizeof *run->partner);
	run->slowest = 0; /* which always originates */
	for (int rank = 0; rank < run->size; rank++) {
		run->partner[rank] = responder(rank, run->size, run->n);
		if (run->partner[rank] >= 0 &&
		    run->stamps[rank].replied > run->stamps[run->slowest].replied)
			run->slowest = rank;
	}
	run->time = run->stamps[run->slowest].replied - run->start;
}

/* Writes the result's first line for a time of NS into LINE. */
static void format_time(char *line, size_t size, int64_t ns)
{
	long long seconds = ns / 1000000000;

	if (seconds < 1)
		snprintf(line, size, "Time test was completed in %8.2f millisecs",
			 (double)ns / 1e6);
	else
		snprintf(line, size, "Time test was completed in %3lld:%02lld min:sec",
			 seconds / 60, seconds % 60);
}

/* Prints the result. Returns the exit status. */
static int print_result(const struct run *run)
{
	char line[80];

	format_time(line, sizeof line, run->time);
	wait_for(AFTERWARDS, 0, waiting.since); /* a timeout from here on is after the result */
	obey_timeout();
	return fprintf(stderr, "%s\nSlowest rank: %d\n", line, run->slowest) < 0;
}

/* 0 if this world can be measured, else the exit status, said once a job: MPI and launcher do not
 * match, the arguments are WRONG (what parse() found), or N does not divide the world. */
static int refuse(const char *wrong, int divisible)
{
	if (world.size == 1 && mismatched())
		return 1;
	if (!wrong && divisible)
		return 0;
	if (world.rank == 0 && wrong)
		say("error", "%s\n%s", wrong, usage);
	else if (world.rank == 0)
		say("error",
		    "%d processes are no multiple of N = %d per node; have the launcher start "
		    "nodes times N",
		    world.size, options.n);
	return 2;
}

int main(int argc, char **argv)
{
	/* On the clock from here to the mark. */
	static struct run run;
	struct stamps mine = {.entered = now()};
	int64_t boot = mine.entered - uptime(); /* when this node booted, by the clock as it is */
	int64_t again = NONE;
	const char *wrong = parse(argc, argv);
	int printed = 0, divisible, status;

	wait_for(INITIALISED, 0, mine.entered);
	if (!wrong && options.timeout)
		arm_timeout(options.start, options.timeout);
	MPI_Init(NULL, NULL);
	mine.initialised = now();
	MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &world.size);
	divisible = !wrong && world.size % options.n == 0;
	if (divisible)
		mine.replied = exchange(world.rank, world.size, options.n, mine.initialised);
	/* ---- Off the clock from here on ---- */

	__asm__ volatile("" : : "r"(pad)); /* so that no linker drops it */
	wait_for(REPORT, 0, now());
	status = refuse(wrong, divisible);
	if (status != 0) {
		MPI_Finalize();
		obey_timeout();
		return status;
	}
	run.start = mine.start = options.start;
	run.size = world.size;
	run.n = options.n;
	if (world.rank == 0)
		run.stamps = allocate(run.size, sizeof mine);
	MPI_Gather(&mine, sizeof mine, MPI_BYTE, run.stamps, sizeof mine, MPI_BYTE, 0,
		   MPI_COMM_WORLD);
	if (world.rank == 0) {
		find_result(&run);
		printed = start_holds(&run);
		if (printed) /* else the clocks are asked first */
			status = print_result(&run);
	}

	/* What follows waits for rank 0's word: until then others may be on the clock. */
	await_release();
	wait_for(AFTERWARDS, 0, now());
	if (options.verbose || options.csv || options.ranks)
		again = repeat(world.rank, run.size, run.n);
	collect(&run, &mine, boot, again);
	if (world.rank == 0) {
		if (!printed && start_holds(&run))
			status = print_result(&run);
		status = judge(&run, status, options.verbose, options.csv, options.ranks);
	}
	MPI_Finalize();
	obey_timeout();
	return status;
}
