/*
 * ziaprobe - the timed half of ziatest: start, initialise MPI, exchange a byte, report
 *
 *	LAUNCHER ziaprobe SEC USEC N [-v] [--csv FILE] [--ranks FILE] [-t SECONDS]
 *
 * SEC and USEC are the start, as given by ziatest or by date +"%s %6N": seconds since 1970 (UTC),
 * and the microseconds within that second. N is the number of processes per node.
 *
 * The result is the time from the start until the last originator has received its reply. Ranks
 * i*N to i*N+N-1 form block i, which should be one node. The blocks pair up: 0 with 1, 2 with 3 and
 * so on (the specification counts nodes from 1, so there the odd ones come first). In a pair, the
 * two processes with the same local rank exchange a byte:
 *
 *	originator                   responder
 *	send one byte        --->    receive it
 *	receive it, stamp    <---    answer with one byte
 *
 * If the number of blocks is odd, the last block also originates: it sends to block 0, which
 * answers after its own exchange. If there is only one block, each process exchanges the byte with
 * itself. MPI_Gather then brings the stamps to rank 0.
 *
 * The launch is on the clock, and so are begin(), MPI_Init, and measure() down to the comment "Off
 * the clock from here on". The header of each file in observe/ and explain/ lists which of its functions run on
 * the clock. libziaprobe.so is built from the same sources, without main and the pad;
 * libziaprobe.c puts begin() and measure() around the MPI_Init of another program.
 *
 * Off the clock, rank 0 gathers what it needs to judge the measurement: whether each block has a
 * node of its own, whether the start precedes everything else, and whether any clock jumped. It
 * then prints either the result or an error. explain/run.h explains the words and lists the files.
 *
 * Exit status: 0 on success; 1 on rank 0 if the measurement is invalid, if output cannot be
 * written, or if MPI and the launcher do not match; 2 on every rank if the arguments or the number
 * of processes are wrong; 124 on every rank if the timeout expires.
 */
#include "explain/run.h"

#include <limits.h>
#include <poll.h>

static const char usage[] =
	"usage: LAUNCHER ziaprobe SEC USEC N [-v] [--csv FILE] [--ranks FILE] [-t SECONDS]";

static struct {
	int64_t start; /* a stamp */
	int timeout; /* seconds after the start, or 0 for none */
	int n; /* processes per node, 1 to INT_MAX */
	int verbose;
	const char *csv, *ranks; /* file names, or NULL */
} options;

/* Reads the arguments into options, on the clock. Returns NULL or, if they are wrong, an error
 * message. Does not use getopt, whose state belongs to the program if this is libziaprobe.so. */
static const char *parse(char **argv)
{
	static char wrong[200];
	int64_t sec, usec, n;
	int count = 0; /* of the arguments before the options */

	while (argv[1 + count] && *argv[1 + count] != '-')
		count++;
	if (count != 3)
		return "expected exactly three arguments before the options: SEC, USEC and N; "
		       "ziatest appends ziaprobe itself, so do not name it in the launcher";
	for (char **word = argv + 4; *word; word++) {
		const char *option = *word, *value = word[1]; /* NULL after the last word */

		if (strcmp(option, "-v") == 0 || strcmp(option, "--verbose") == 0) {
			options.verbose = 1;
		} else if (value && strcmp(option, "--csv") == 0) {
			options.csv = *++word;
		} else if (value && strcmp(option, "--ranks") == 0) {
			options.ranks = *++word;
		} else if (value &&
			   (strcmp(option, "-t") == 0 || strcmp(option, "--timeout") == 0)) {
			if ((n = to_number(*++word, INT_MAX)) < 1)
				return "--timeout must be a whole number of seconds, 1 or more";
			options.timeout = (int)n;
		} else {
			snprintf(wrong, sizeof wrong, "unknown option or missing value: '%s'",
				 option);
			return wrong;
		}
	}
	/* Only half the range is allowed, so that differences do not overflow. */
	if ((sec = to_number(argv[1], INT64_MAX / 1000000 / 2)) < 0)
		return "SEC, the start in seconds since 1970, must be a whole number";
	if ((usec = to_number(argv[2], 999999)) < 0)
		return "USEC, the microseconds of the start, must be a number from 0 to 999999";
	if ((n = to_number(argv[3], INT_MAX)) < 1)
		return "N, the number of processes per node, must be a whole number, 1 or more";
	options.start = sec * 1000000 + usec;
	options.n = (int)n;
	return NULL;
}

/* Returns the rank that sends its byte to RANK: the same local rank in the previous block, or in
 * the last block if RANK is in the first. Returns -1 if that is RANK itself or a responder. */
static int originator(int rank, int size, int n)
{
	int from = (int)(((int64_t)rank + size - n) % size);

	return from != rank && responder(from, size, n) >= 0 ? from : -1;
}

/* Plays the originator's part: RANK sends one byte to rank TO and receives one back. Returns the
 * stamp of the reply. */
static int64_t ask(int rank, int to)
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

/* Plays the responder's part. */
static void answer(int from)
{
	char byte;

	MPI_Recv(&byte, 1, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(&byte, 1, MPI_BYTE, from, 0, MPI_COMM_WORLD);
}

/* Plays this rank's part in the exchange, which begins at the stamp SINCE. Returns the stamp of the
 * reply, or UNKNOWN on a responder. */
static int64_t exchange(int rank, int size, int n, int64_t since)
{
	int to = responder(rank, size, n), from = originator(rank, size, n);
	int64_t replied = UNKNOWN;

	if (to >= 0) {
		note_state(FOR_REPLY, to, since);
		since = replied = ask(rank, to);
	}
	if (from >= 0) {
		note_state(FOR_MESSAGE, from, since);
		answer(from);
	}
	return replied;
}

/* Finds the latest reply. Like everything from here down to begin(), this is off the clock. The
 * rank that received it is the slowest rank, and the time is the stamp
 * of that reply minus the start. If several replies are equally late, the lowest rank wins. */
static void find_result(struct run *run)
{
	run->slowest = 0; /* rank 0 is always an originator */
	for (int rank = 0; rank < run->size; rank++)
		if (run->replied[rank] > run->replied[run->slowest])
			run->slowest = rank;
	run->time = run->replied[run->slowest] - run->start;
}

/* Writes the first line of the result into LINE. US is the time and must be >= 0. */
static void format_time(char *line, size_t size, int64_t us)
{
	long long s = us / 1000000;

	if (s < 1)
		snprintf(line, size, "Time test was completed in %8.2f millisecs",
			 (double)us / 1000);
	else
		snprintf(line, size, "Time test was completed in %3lld:%02lld min:sec", s / 60,
			 s % 60);
}

/* On rank 0: prints an error, or the result and the reports that were requested. Returns the exit
 * status. */
static int print_result(struct run *run)
{
	struct outlier outlier;
	struct path path;
	char line[80];
	int status = 0;

	resolve_clocks(run);
	if (!check_measurement(run))
		return 1;
	note_state(WRITING, 0, now());
	draw_timelines(run);
	find_path(run, &path);
	outlier = find_outlier(run, &path);
	format_time(line, sizeof line, run->time);
	stop_if_timed_out();
	if (fprintf(stderr, "%s\nSlowest rank: %d\n", line, run->slowest) < 0)
		return 1;
	print_warnings(run);
	if (options.verbose)
		print_report(run, &path, &outlier);
	if (options.csv)
		status |= append_row(run, &path, &outlier, options.csv);
	if (options.ranks)
		status |= write_ranks(run, options.ranks);
	return status;
}

static struct record mine; /* of this rank */

/* What else measure() needs from begin(). */
static struct {
	struct estimate boot; /* the stamp at which this node booted */
	struct estimate raw; /* the offset of the realtime clock from the raw monotonic clock */
	struct world launched; /* the world that the launcher has started */
	const char *wrong; /* the message from parse() */
} begun;

/* Does what comes before MPI_Init. All of it is on the clock. */
void begin(char **argv)
{
	begun.boot = read_offset(CLOCK_BOOTTIME);
	begun.raw = read_offset(CLOCK_MONOTONIC_RAW);
	note_work(MAIN_ENTERED);
	mine.at[MAIN_ENTERED] = now();
	begun.wrong = parse(argv);
	world = begun.launched = launched_world();
	note_state(IN_MPI_INIT, 0, mine.at[MAIN_ENTERED]);
	if (!begun.wrong && options.timeout)
		arm_timeout(options.start, options.timeout);
}

/* Reports, once per job, that each process is alone in its world although the launcher has started
 * more. Returns the exit status. */
static int report_mismatch(void)
{
	if (begun.launched.rank > 0) {
		poll(NULL, 0, 1000); /* gives rank 0 time to print the error */
		return 0;
	}
	print_error("the launcher started %d processes, but each is alone in its MPI_COMM_WORLD: "
		    "the launcher and the MPI library do not match; use the mpirun of this MPI "
		    "library, or another srun --mpi=TYPE (see srun --mpi=list)\n",
		    begun.launched.size);
	return 1;
}

/* Reports, on rank 0, what is wrong with the arguments or the number of processes. Returns the exit
 * status. */
static int report_misuse(void)
{
	note_state(FOR_OTHERS, 0, now());
	if (world.rank == 0 && begun.wrong)
		print_error("%s\n%s\n", begun.wrong, usage);
	else if (world.rank == 0)
		print_error("the number of processes, %d, is not a multiple of N = %d; start "
			    "exactly N = %d processes on every node\n",
			    world.size, options.n, options.n);
	return 2;
}

/* Does what comes after MPI_Init, and returns the exit status. */
int measure(void)
{
	/* On the clock. */
	int64_t *replied = &mine.at[REPLY_RECEIVED];
	struct run run;
	int status = 0;

	mine.at[INIT_RETURNED] = now();
	note_work(INIT_RETURNED);
	MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &world.size);
	if (world.size == 1 && begun.launched.size > 1)
		return report_mismatch();
	if (begun.wrong || world.size % options.n != 0)
		return report_misuse();
	*replied = exchange(world.rank, world.size, options.n, mine.at[INIT_RETURNED]);
	/* ---- Off the clock from here on ---- */

	note_state(FOR_OTHERS, 0, now());
	run = (struct run){.start = options.start, .size = world.size, .n = options.n};
	mine.at[START] = options.start;
	if (world.rank == 0)
		run.replied = allocate(run.size, sizeof *replied);
	MPI_Gather(replied, sizeof *replied, MPI_BYTE, run.replied, sizeof *replied, MPI_BYTE, 0,
		   MPI_COMM_WORLD);
	if (world.rank == 0) {
		find_result(&run);
		note_time(run.time);
	}
	sleep_until_released();
	gather_records(&run, &mine, begun.boot.value, begun.raw);
	if (world.rank == 0)
		status = print_result(&run);
	note_state(FOR_OTHERS, 0, now());
	free(run.replied);
	free(run.records);
	free(run.offsets);
	free(run.values);
	return status;
}

#ifndef PRELOAD
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
