/*
 * ziaprobe - the timed half of ziatest: start, initialise MPI, exchange, report
 *
 *	LAUNCHER ziaprobe SEC USEC N [--timeout SECONDS]
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
 * On the clock, from the start to the stamp: launch, reading the arguments and
 * the launcher's environment, MPI_Init, the exchange. No other message, no
 * allocation, no look-up.
 *
 * Off the clock, once the stamps are at rank 0 and the result is printed: was the
 * time measured the one specified? Are the blocks on nodes of their own, is the
 * start before everything else, do the clocks agree? The clock assumption is
 * that the realtime clocks of all nodes do; what they differ by is measured.
 *
 * Exit status: 0; 1 on rank 0 if the measurement was not the specified one; 2 on
 * every rank for bad arguments or a world that does not divide into blocks of N;
 * 124 on every waiting rank when the timeout has run out.
 */
#define _GNU_SOURCE /* getopt_long */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

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

static const char usage[] = "usage: LAUNCHER ziaprobe SEC USEC N [--timeout SECONDS]";

static struct {
	int64_t start; /* ns since 1970, UTC */
	int timeout; /* s from the start, 0: none */
	int n; /* processes per node, 1 ... INT_MAX */
} options;

/* The processes that the launcher started, as its environment says, and which of them
 * this one is; 0 and -1 where it does not say. */
static struct {
	int size, rank;
} launched = {0, -1};

static struct {
	int size, rank;
} world; /* MPI_COMM_WORLD */

/* What MPI_Gather brings to rank 0 from every rank. The stamps are ns since 1970, UTC, of
 * the clock of the rank's node. */
struct record {
	int64_t entered; /* main entered */
	int64_t initialised; /* MPI_Init returned */
	int64_t replied; /* the reply received; 0 on a responder */
	uint64_t node; /* the node's identity */
};

/* A clock less another in ns: the truth is no further than bound from offset. */
struct clock {
	int64_t offset, bound;
};

/* The realtime clock, in ns since 1970, UTC. */
static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Says on stderr, in one piece, what is wrong; KIND is error or warning. */
static void say(const char *kind, const char *format, ...)
{
	char message[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	fprintf(stderr, "ziaprobe: %s: %s\n", kind, message);
}

/* COUNT zeroed elements of SIZE bytes, COUNT > 0. Without them the job ends. */
static void *memory(int count, size_t size)
{
	void *block = calloc((size_t)count, size);

	if (!block) {
		say("error", "rank %d: no memory for %d times %zu bytes", world.rank, count, size);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return block;
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

/* Reads the arguments into options. Returns NULL, or which of them is wrong. */
static const char *parse(int argc, char **argv)
{
	static const struct option names[] = {
		{"timeout", required_argument, NULL, 't'},
		{NULL, 0, NULL, 0},
	};
	int64_t sec, usec, n;
	int option;

	opterr = 0; /* every rank would complain */
	while ((option = getopt_long(argc, argv, "t:", names, NULL)) != -1) {
		if (option != 't')
			return "unknown option, or its value is missing";
		if ((n = number(optarg, INT_MAX)) < 1)
			return "--timeout must be a whole number of seconds from 1 up";
		options.timeout = (int)n;
	}
	if (argc - optind != 3)
		return "SEC, USEC and N are needed, and nothing else";
	if ((sec = number(argv[optind], INT64_MAX / 1000000000 / 2)) < 0)
		return "SEC must be the seconds of the start, since 1970";
	if ((usec = number(argv[optind + 1], 999999)) < 0)
		return "USEC must be the microseconds of the start, 0 to 999999";
	if ((n = number(argv[optind + 2], INT_MAX)) < 1)
		return "N must be the number of processes per node, from 1 up";
	options.start = sec * 1000000000 + usec * 1000;
	options.n = (int)n;
	return NULL;
}

/* Reads into launched what launchers leave in the environment; the first to speak is
 * the innermost. */
static void read_launcher(void)
{
	static const char *const names[][2] = {
		{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, /* Open MPI's mpirun */
		{"PMI_SIZE", "PMI_RANK"}, /* MPICH's mpiexec and its kin, srun --mpi=pmi2 */
		{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}, /* srun */
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *size = getenv(names[i][0]);
		const char *rank = getenv(names[i][1]);

		if (size && number(size, INT_MAX) > 0) {
			launched.size = (int)number(size, INT_MAX);
			launched.rank = rank ? (int)number(rank, INT_MAX) : -1;
			return;
		}
	}
}

/* The exchange */

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

/* The rank that originates towards RANK as block 0 answers the last of an odd number of
 * blocks; -1 if none does. */
static int wrapped(int rank, int size, int n)
{
	return rank < n && size > n && size / n % 2 == 1 ? size - n + rank : -1;
}

/* Receives one byte from ORIGINATOR and answers it with one. */
static void answer(int originator)
{
	char byte;

	MPI_Recv(&byte, 1, MPI_BYTE, originator, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send(&byte, 1, MPI_BYTE, originator, 0, MPI_COMM_WORLD);
}

/* This rank's part of the exchange, on the clock; SIZE is a multiple of N. Sets *REPLIED
 * as soon as an originator has its reply. */
static void exchange(int rank, int size, int n, volatile int64_t *replied)
{
	int peer = responder(rank, size, n);
	char byte = 0, echo;

	if (peer == rank) { /* the only block */
		MPI_Sendrecv(&byte, 1, MPI_BYTE, rank, 0, &echo, 1, MPI_BYTE, rank, 0,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		*replied = now();
	} else if (originates(rank, n)) {
		MPI_Send(&byte, 1, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
		MPI_Recv(&echo, 1, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		*replied = now();
	} else {
		answer(rank - n);
	}
	if (wrapped(rank, size, n) >= 0)
		answer(wrapped(rank, size, n));
}

/* The timeout: a handler of SIGALRM, limited to what POSIX allows in one. It finds what
 * this rank waits for from the stamps, so that the exchange need not keep account. */

static volatile int64_t entered, initialised, replied, exchanged, reported; /* ns, 0 until then */

static char *put_text(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
	return to;
}

static char *put_number(char *to, int64_t value) /* negative, where a clock was set: 0 */
{
	char digits[20];
	int i = 0;

	value = value < 0 ? 0 : value;
	do
		digits[i++] = (char)('0' + value % 10);
	while (value /= 10);
	while (i > 0)
		*to++ = digits[--i];
	return to;
}

/* Whether no other process of this job and node has come here before, that is taken an
 * abstract Unix socket's name, made of the start, which lasts as long as the process. */
static int first_on_node(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	put_number(put_text(name.sun_path + 1, "ziaprobe."), options.start);
	return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&name, sizeof name) == 0 ||
	       errno != EADDRINUSE;
}

/* Says what this rank waits for, gives the others a second to do so too before the
 * launcher sees a process fail and ends the job, and exits with 124. */
static void time_out(int signal)
{
	int64_t since = reported      ? reported
			: exchanged   ? exchanged
			: initialised ? initialised
				      : entered;
	struct utsname host;
	char line[1024], *end = line;
	int rank = initialised ? world.rank : launched.rank;

	(void)signal;
	uname(&host);
	end = put_text(end, "ziaprobe: error: timeout of ");
	end = put_text(put_number(end, options.timeout), " s: ");
	end = rank < 0 ? put_text(end, "a rank") : put_number(put_text(end, "rank "), rank);
	end = put_text(put_text(put_text(end, " on "), host.nodename), " has waited ");
	end = put_text(put_number(end, (now() - since) / 1000000000), " s for ");
	if (!initialised)
		end = put_text(end, "MPI_Init");
	else if (reported)
		end = put_text(end, "MPI_Finalize");
	else if (exchanged)
		end = put_text(end, "the report");
	else if (originates(rank, options.n) && !replied)
		end = put_number(put_text(end, "the reply from rank "),
				 responder(rank, world.size, options.n));
	else
		end = put_number(put_text(end, "the message from rank "),
				 replied ? wrapped(rank, world.size, options.n) : rank - options.n);
	*end++ = '\n';
	if ((initialised || first_on_node()) &&
	    write(STDERR_FILENO, line, (size_t)(end - line)) < 0)
		_exit(124);
	poll(NULL, 0, 1000);
	_exit(124);
}

/* Has time_out called when the time is over, which it may already be. */
static void arm_timeout(void)
{
	struct sigaction action = {.sa_handler = time_out, .sa_flags = SA_RESTART};
	int64_t left =
		(options.start - entered) / 1000 + (int64_t)options.timeout * 1000000; /* us */
	struct itimerval timer = {{0, 0}, {0, 1}};

	if (left > 0) {
		timer.it_value.tv_sec = (time_t)(left / 1000000);
		timer.it_value.tv_usec = (suseconds_t)(left % 1000000 + 1);
	}
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* After the result: the clocks. The leaders, the first ranks of the blocks, form a binomial
 * tree in which block i hangs below block i & (i - 1). */

enum { CLOCK_ROUNDS = 10 }; /* round trips to compare two clocks; the shortest counts */

/* A child's part: its clock less that of PARENT, a rank. */
static struct clock compare_clock(int parent)
{
	struct clock best = {0, INT64_MAX};

	for (int i = 0; i < CLOCK_ROUNDS; i++) {
		int64_t before = now(), there, trip;

		MPI_Send(NULL, 0, MPI_BYTE, parent, 0, MPI_COMM_WORLD);
		MPI_Recv(&there, 1, MPI_INT64_T, parent, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		trip = now() - before;
		if (trip / 2 + 1 < best.bound) {
			best.offset = before + trip / 2 - there;
			best.bound = trip / 2 + 1;
		}
	}
	return best;
}

/* The parent's part, for CHILD, a rank. */
static void answer_clock(int child)
{
	for (int i = 0; i < CLOCK_ROUNDS; i++) {
		int64_t here;

		MPI_Recv(NULL, 0, MPI_BYTE, child, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		here = now();
		MPI_Send(&here, 1, MPI_INT64_T, child, 0, MPI_COMM_WORLD);
	}
}

/* Turns each of the clocks of BLOCKS blocks, less its parent's, into one less block 0's. */
static void sum_clocks(struct clock *clocks, int blocks)
{
	for (int i = 1; i < blocks; i++) {
		clocks[i].offset += clocks[i & (i - 1)].offset;
		clocks[i].bound += clocks[i & (i - 1)].bound;
	}
}

/* Compares the clocks of all blocks, in the leader of BLOCK; as many rounds as the number of
 * blocks has binary digits. Returns them, less rank 0's, on rank 0, and NULL elsewhere. */
static struct clock *compare_clocks(int block, int blocks, int n)
{
	int subtree = block ? block & -block : blocks; /* the blocks from this one on, in it */
	struct clock *clocks;

	if (subtree > blocks - block)
		subtree = blocks - block;
	clocks = memory(subtree, sizeof *clocks);
	for (int64_t step = 1; step < subtree; step *= 2) {
		int child = (int)step;
		int count = subtree - child < child ? subtree - child : child;

		answer_clock((block + child) * n);
		MPI_Recv(clocks + child, count * (int)sizeof *clocks, MPI_BYTE, (block + child) * n,
			 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	if (block == 0) {
		sum_clocks(clocks, blocks);
		return clocks;
	}
	clocks[0] = compare_clock((block & (block - 1)) * n);
	MPI_Send(clocks, subtree * (int)sizeof *clocks, MPI_BYTE, (block & (block - 1)) * n, 0,
		 MPI_COMM_WORLD);
	free(clocks);
	return NULL;
}

/* After the result: who is where. */

/* This node's identity: a hash (64-bit FNV-1a) of the processor's name and the kernel's boot
 * id, since containers may share the one and clones of a virtual machine the other. */
static uint64_t node_identity(const char *processor)
{
	char text[MPI_MAX_PROCESSOR_NAME + 64];
	uint64_t hash = 0xcbf29ce484222325;
	FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "r");
	char *end = text + sprintf(text, "%s\n", processor);

	if (boot && !fgets(end, 64, boot))
		*end = '\0';
	if (boot)
		fclose(boot);
	for (const char *c = text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	return hash;
}

/* The processor name of rank WANTED, for rank 0, in HOST: all other ranks must be in
 * tell_host(). WANTED < 0 lets them go. */
static void ask_host(int wanted, const char *own, char *host)
{
	MPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (wanted == 0)
		strcpy(host, own);
	else if (wanted > 0)
		MPI_Recv(host, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, wanted, 0, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
}

static void tell_host(const char *own)
{
	int wanted;

	do {
		MPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
		if (wanted == world.rank)
			MPI_Send(own, (int)strlen(own) + 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
	} while (wanted >= 0);
}

struct place {
	uint64_t node;
	int block;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *p = a, *q = b;

	return p->node != q->node ? (p->node > q->node) - (p->node < q->node)
				  : (p->block > q->block) - (p->block < q->block);
}

/* Looks for two ranks of one block on different nodes, or else for two blocks on one node.
 * Returns 1 or 2 and the first such pair of ranks, or 0 if there is none. */
static int misplaced(const struct record *records, int size, int n, int pair[2])
{
	int blocks = size / n;
	struct place *places;

	for (int rank = 0; rank < size; rank++) {
		pair[0] = rank / n * n;
		pair[1] = rank;
		if (records[pair[0]].node != records[pair[1]].node)
			return 1;
	}
	places = memory(blocks, sizeof *places);
	for (int block = 0; block < blocks; block++)
		places[block] = (struct place){records[block * n].node, block};
	qsort(places, (size_t)blocks, sizeof *places, compare_places);
	pair[1] = size;
	for (int i = 1; i < blocks; i++)
		if (places[i].node == places[i - 1].node && places[i].block * n < pair[1]) {
			pair[0] = places[i - 1].block * n;
			pair[1] = places[i].block * n;
		}
	free(places);
	return pair[1] < size ? 2 : 0;
}

/* The report, on rank 0 */

/* The rank of the latest reply, the lowest of several; CLOCKS of the blocks correct the
 * stamps, NULL leaves them as they are. */
static int slowest_rank(const struct record *records, const struct clock *clocks, int size, int n)
{
	int slowest = 0;
	int64_t latest = INT64_MIN;

	for (int rank = 0; rank < size; rank++) {
		int64_t reply = records[rank].replied - (clocks ? clocks[rank / n].offset : 0);

		if (originates(rank, n) && reply > latest) {
			latest = reply;
			slowest = rank;
		}
	}
	return slowest;
}

/* The first rank that has for certain a stamp from before START, -1 if none has. */
static int too_early(const struct record *records, const struct clock *clocks, int size, int n,
		     int64_t start)
{
	for (int rank = 0; rank < size; rank++) {
		struct clock clock = clocks ? clocks[rank / n] : (struct clock){0, 0};
		int64_t first = records[rank].entered;

		if (originates(rank, n) && records[rank].replied < first)
			first = records[rank].replied;
		if (first - clock.offset + clock.bound < start)
			return rank;
	}
	return -1;
}

/* The block whose clock is furthest off by more than its bound, 1 ms and 1 % of TIME; -1 if
 * none is. */
static int worst_clock(const struct clock *clocks, int blocks, int64_t time)
{
	int64_t most = time / 100 > 1000000 ? time / 100 : 1000000;
	int worst = -1;

	for (int block = 0; block < blocks; block++) {
		int64_t off = llabs(clocks[block].offset);

		if (off > clocks[block].bound && off > most) {
			most = off;
			worst = block;
		}
	}
	return worst;
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

/* Prints the result. Returns the exit status. */
static int print_result(int64_t time, int slowest)
{
	char line[80];

	format_time(line, sizeof line, time);
	return fprintf(stderr, "%s\nSlowest rank: %d\n", line, slowest) < 0;
}

/* A rank has a stamp from before the start. */
static void report_early(const struct record *records, const struct clock *clocks, int rank,
			 const char *own)
{
	char host[MPI_MAX_PROCESSOR_NAME];

	ask_host(rank, own, host);
	say("error",
	    "rank %d on %s began %.6f s before the start; check SEC USEC, and the clocks of %s and of the node that stamped the start",
	    rank, host,
	    (double)(options.start - records[rank].entered + clocks[rank / options.n].offset) / 1e9,
	    host);
}

/* Whether each block is on a node of its own. Returns the exit status. */
static int check_places(const struct record *records, const char *own)
{
	char first[MPI_MAX_PROCESSOR_NAME], second[MPI_MAX_PROCESSOR_NAME];
	int pair[2] = {0, 0};
	int wrong = misplaced(records, world.size, options.n, pair);

	if (!wrong)
		return 0;
	ask_host(pair[0], own, first);
	ask_host(pair[1], own, second);
	say("error",
	    "ranks %d and %d must be on %s but are on %s and %s; place N = %d ranks on each node, node after node, with srun --distribution=block or mpirun --map-by ppr:%d:node",
	    pair[0], pair[1], wrong == 1 ? "one node" : "different nodes", first, second, options.n,
	    options.n);
	return 1;
}

/* Warns where a clock is too far off for TIME ns, the result. */
static void check_clocks(const struct record *records, const struct clock *clocks, int64_t time,
			 const char *own)
{
	int last = slowest_rank(records, clocks, world.size, options.n);
	int worst = worst_clock(clocks, world.size / options.n, time);
	char host[MPI_MAX_PROCESSOR_NAME];

	if (worst < 0)
		return;
	ask_host(worst * options.n, own, host);
	say("warning",
	    "the clock of %s is %.3f ms %s %s's (within %.3f ms); corrected for the clocks the time is %.2f ms; synchronise the clocks and run again",
	    host, (double)llabs(clocks[worst].offset) / 1e6,
	    clocks[worst].offset > 0 ? "ahead of" : "behind", own,
	    (double)clocks[worst].bound / 1e6,
	    (double)(records[last].replied - clocks[last / options.n].offset - options.start) /
		    1e6);
}

/* Prints the result and then whether it is the one specified; no result if the start cannot
 * be right. The other ranks must be in tell_host(), the leaders in compare_clocks() before
 * that. Returns the exit status. */
static int report(const struct record *records, const char *own)
{
	int size = world.size, n = options.n;
	int slowest = slowest_rank(records, NULL, size, n);
	int64_t time = records[slowest].replied - options.start;
	int doubtful = too_early(records, NULL, size, n, options.start) >= 0;
	int status = doubtful ? 0 : print_result(time, slowest);
	struct clock *clocks = compare_clocks(0, size / n, n);
	int early = too_early(records, clocks, size, n, options.start);

	if (early >= 0) {
		report_early(records, clocks, early, own);
		status = 1;
	} else {
		if (doubtful)
			status = print_result(time, slowest);
		if (size == n)
			say("warning",
			    "one node only, nothing crossed the interconnect; if there should be more, check the allocation, the hostfile and the number of processes");
		status |= check_places(records, own);
		check_clocks(records, clocks, time, own);
	}
	ask_host(-1, own, NULL);
	free(clocks);
	return status;
}

/* Whether this world can be measured. If not, says why, once a job, and returns the exit
 * status, otherwise 0. WRONG is what parse() returned. */
static int refuse(const char *wrong)
{
	if (launched.size > world.size) {
		if (launched.rank <= 0)
			say("error",
			    "the launcher started %d processes but MPI sees %d: launcher and executable belong to different MPI libraries; use the mpirun of the MPI that built ziaprobe, or another srun --mpi=TYPE",
			    launched.size, world.size);
		return 1;
	}
	if (!wrong && world.size % options.n == 0)
		return 0;
	if (world.rank == 0 && wrong)
		say("error", "%s\n%s", wrong, usage);
	else if (world.rank == 0)
		say("error",
		    "%d processes are no multiple of N = %d per node; have the launcher start nodes times N",
		    world.size, options.n);
	return 2;
}

int main(int argc, char **argv)
{
	struct record mine, *records = NULL;
	char processor[MPI_MAX_PROCESSOR_NAME];
	const char *wrong;
	int64_t returned;
	int length, status;

	/* On the clock since the start. */
	entered = now();
	wrong = parse(argc, argv);
	read_launcher();
	if (!wrong && options.timeout)
		arm_timeout();
	MPI_Init(NULL, NULL);
	returned = now();
	MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &world.size);
	initialised = returned;
	if ((status = refuse(wrong))) {
		MPI_Finalize();
		return status;
	}
	exchange(world.rank, world.size, options.n, &replied);

	/* Off the clock. */
	exchanged = now();
	__asm__ volatile("" : : "r"(pad)); /* keeps the linker from dropping the pad */
	MPI_Get_processor_name(processor, &length);
	mine = (struct record){entered, initialised, replied, node_identity(processor)};
	if (world.rank == 0)
		records = memory(world.size, sizeof *records);
	MPI_Gather(&mine, sizeof mine, MPI_BYTE, records, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
	if (world.rank == 0) {
		status = report(records, processor);
		free(records);
	} else {
		if (world.rank % options.n == 0)
			compare_clocks(world.rank / options.n, world.size / options.n, options.n);
		tell_host(processor);
	}
	reported = now();
	MPI_Finalize();
	return status;
}
