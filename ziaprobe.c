/*
 * ziaprobe - the timed half of ziatest: start, initialise MPI, exchange, report
 *
 *	LAUNCHER ziaprobe SEC USEC N [-v] [--csv FILE] [--ranks FILE] [-t SECONDS]
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
 * Off the clock, once the stamps of all are at rank 0 and the result is printed:
 * was the time measured the one specified? Are the blocks on nodes of their own,
 * is the start before everything else, do the clocks agree? The clock assumption
 * is that the realtime clocks of all nodes do; what they differ by is measured,
 * but for that of the node which stamped the start.
 *
 * Exit status: 0; 1 on rank 0 if the measurement was not the specified one, and
 * on every rank if MPI and launcher do not match; 2 on every rank for bad
 * arguments or a world that does not divide into blocks of N; 124 on every
 * waiting rank when the timeout has run out.
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
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* The pad makes the executable's file PAD bytes larger, 100 MiB, in a read-only segment: a
 * writable array would be charged to every process as memory. In the object file it is a hole
 * between two marks (PAD_TYPE nobits; progbits: zeros, for linkers that do not fill holes),
 * where make writes random bytes into the executable, which do not compress. In assembler,
 * since C has no holes. */
#ifndef PAD
#define PAD 104857600
#endif
#ifndef PAD_TYPE
#define PAD_TYPE nobits
#endif
#define TEXT(number) #number
#define STRING(macro) TEXT(macro)
/* clang-format off */
__asm__(".pushsection .gnu.linkonce.r.pad1, \"a\", %progbits\n"
	"pad_begins: .ascii \"<pad of ziaprobe>\"\n"
	".section .gnu.linkonce.r.pad2, \"a\", %" STRING(PAD_TYPE) "\n"
	"pad: .zero " STRING(PAD) "\n"
	".section .gnu.linkonce.r.pad3, \"a\", %progbits\n"
	"pad_ends: .ascii \"</pad of ziaprobe>\"\n"
	".popsection\n");
/* clang-format on */
extern const char pad_begins[] __attribute__((visibility("hidden")));
extern const char pad[] __attribute__((visibility("hidden")));
extern const char pad_ends[] __attribute__((visibility("hidden")));

static const char usage[] =
	"usage: LAUNCHER ziaprobe SEC USEC N [-v] [--csv FILE] [--ranks FILE] [-t SECONDS]";

static struct {
	int64_t start; /* ns since 1970, UTC */
	int timeout; /* s from the start, 0: none */
	int n; /* processes per node, 1 ... INT_MAX */
	int verbose;
	const char *csv, *ranks; /* files, NULL: none */
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
	int64_t start; /* as this rank was told it */
};

/* A clock less another in ns: the truth is no further than bound from offset. */
struct clock {
	int64_t offset, bound;
};

/* What rank 0 knows of the run. */
struct run {
	int64_t start; /* ns since 1970, UTC */
	int size, n; /* ranks, processes per node */
	struct record *records; /* of the ranks */
	int64_t time; /* the result, ns */
	int slowest; /* its rank */
	/* What follows is learnt after the result, NULL until then. */
	struct clock *clocks; /* of the blocks, less block 0's */
	int64_t *repeats; /* of the ranks: the second round trip, ns; 0 on a responder */
	char *hosts; /* of the blocks: the first ranks' processor names, each with its NUL */
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

/* BLOCK, NULL or from here, resized to COUNT elements of SIZE bytes, COUNT > 0; their values are
 * undefined. Without them the job ends. */
static void *memory(void *block, int count, size_t size)
{
	block = reallocarray(block, (size_t)count, size);
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
		{"verbose", no_argument, NULL, 'v'},
		{"csv", required_argument, NULL, 'c'},
		{"ranks", required_argument, NULL, 'r'},
		{"timeout", required_argument, NULL, 't'},
		{NULL, 0, NULL, 0},
	};
	static char wrong[200];
	int64_t sec, usec, n;
	int option;

	opterr = 0; /* every rank would complain */
	unsetenv("POSIXLY_CORRECT"); /* options may follow N */
	while ((option = getopt_long(argc, argv, "vt:", names, NULL)) != -1) {
		switch (option) {
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
				 "unknown option, or its value is missing: '%s'", argv[optind - 1]);
			return wrong;
		}
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
	sigset_t alarm;

	if (left > 0) {
		timer.it_value.tv_sec = (time_t)(left / 1000000);
		timer.it_value.tv_usec = (suseconds_t)(left % 1000000 + 1);
	}
	sigaction(SIGALRM, &action, NULL);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL); /* the mask is inherited */
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* After the result: the clocks. The leaders, the first ranks of the blocks, form a binomial
 * tree in which block i hangs below block i & (i - 1). */

enum { CLOCK_ROUNDS = 10 }; /* round trips to compare two clocks; the shortest counts */

/* Waits for a message from RANK, looking once a millisecond: where ranks share cores, who waits
 * for its turn must not delay those that compare clocks. */
static void await(int rank)
{
	int here = 0;

	while (MPI_Iprobe(rank, 0, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE), !here)
		poll(NULL, 0, 1);
}

/* A child's part: its clock less that of PARENT, a rank. */
static struct clock compare_clock(int parent)
{
	struct clock best = {0, INT64_MAX / 64}; /* of which the tree sums up to 31 */

	for (int i = 0; i < CLOCK_ROUNDS; i++) {
		int64_t before = now(), there, trip;

		MPI_Send(NULL, 0, MPI_BYTE, parent, 0, MPI_COMM_WORLD);
		if (i == 0)
			await(parent);
		MPI_Recv(&there, 1, MPI_INT64_T, parent, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		trip = now() - before;
		if (trip >= 0 && trip / 2 + 1 < best.bound) {
			best.offset = before + trip / 2 - there;
			best.bound = trip / 2 + 1;
		}
	}
	return best;
}

/* The parent's part, for CHILD, a rank. */
static void answer_clock(int child)
{
	await(child);
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
	clocks = memory(NULL, subtree, sizeof *clocks);
	for (int64_t step = 1; step < subtree; step *= 2) {
		int child = (int)step;
		int count = subtree - child < child ? subtree - child : child;

		answer_clock((block + child) * n);
		MPI_Recv(clocks + child, count * (int)sizeof *clocks, MPI_BYTE, (block + child) * n,
			 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	if (block == 0) {
		clocks[0] = (struct clock){0, 0};
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

/* Rank 0's VALUE, on all ranks. They look for it once a millisecond, so that where they share
 * cores with ranks that are at work they do not delay them. */
static int told(int value)
{
	MPI_Request request;
	int done = 0;

	MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
	while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done)
		poll(NULL, 0, 1);
	return value;
}

/* The processor name of rank WANTED, for rank 0, in HOST: all other ranks must be in
 * tell_host(). WANTED < 0 lets them go. */
static void ask_host(int wanted, const char *own, char *host)
{
	told(wanted);
	if (wanted == 0)
		strcpy(host, own);
	else if (wanted > 0)
		MPI_Recv(host, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, wanted, 0, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
}

static void tell_host(const char *own)
{
	int wanted;

	while ((wanted = told(0)) >= 0)
		if (wanted == world.rank)
			MPI_Send(own, (int)strlen(own) + 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
}

/* The processor names of the leaders, along the tree of the clocks; in the leader of BLOCK.
 * Returns them on rank 0, in the order of the blocks, each with its NUL; NULL elsewhere. */
static char *gather_hosts(int block, int blocks, int n, const char *own)
{
	int length = (int)strlen(own) + 1;
	char *hosts = memory(NULL, length, 1);

	strcpy(hosts, own);
	for (int64_t step = 1; block + step < blocks && (!block || step < (block & -block));
	     step *= 2) {
		int child = (block + (int)step) * n, more;
		MPI_Status status;

		MPI_Probe(child, 0, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_CHAR, &more);
		hosts = memory(hosts, length + more, 1);
		MPI_Recv(hosts + length, more, MPI_CHAR, child, 0, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		length += more;
	}
	if (block == 0)
		return hosts;
	MPI_Send(hosts, length, MPI_CHAR, (block & (block - 1)) * n, 0, MPI_COMM_WORLD);
	free(hosts);
	return NULL;
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
static int misplaced(const struct run *run, int pair[2])
{
	int blocks = run->size / run->n;
	struct place *places;

	for (int rank = 0; rank < run->size; rank++) {
		pair[0] = rank / run->n * run->n;
		pair[1] = rank;
		if (run->records[pair[0]].node != run->records[pair[1]].node)
			return 1;
	}
	places = memory(NULL, blocks, sizeof *places);
	for (int block = 0; block < blocks; block++)
		places[block] = (struct place){run->records[block * run->n].node, block};
	qsort(places, (size_t)blocks, sizeof *places, compare_places);
	pair[1] = run->size;
	for (int i = 1; i < blocks; i++)
		if (places[i].node == places[i - 1].node && places[i].block * run->n < pair[1]) {
			pair[0] = places[i - 1].block * run->n;
			pair[1] = places[i].block * run->n;
		}
	free(places);
	return pair[1] < run->size ? 2 : 0;
}

/* After the result: where the time went, on rank 0 */

/* The clock of RANK's node less rank 0's; 0 while it is not known. */
static struct clock clock_of(const struct run *run, int rank)
{
	return run->clocks ? run->clocks[rank / run->n] : (struct clock){0, 0};
}

/* The rank of the latest reply, the lowest of several, by the clocks as far as known. */
static int latest_reply(const struct run *run)
{
	int slowest = 0;
	int64_t latest = INT64_MIN;

	for (int rank = 0; rank < run->size; rank++) {
		int64_t reply = run->records[rank].replied - clock_of(run, rank).offset;

		if (originates(rank, run->n) && reply > latest) {
			latest = reply;
			slowest = rank;
		}
	}
	return slowest;
}

/* The time by the clocks as far as known, ns. */
static int64_t corrected_time(const struct run *run)
{
	int rank = latest_reply(run);

	return run->records[rank].replied - clock_of(run, rank).offset - run->start;
}

/* The first rank that has for certain a stamp from before the start, -1 if none has. */
static int too_early(const struct run *run)
{
	for (int rank = 0; rank < run->size; rank++) {
		struct clock clock = clock_of(run, rank);
		int64_t first = run->records[rank].entered;

		if (originates(rank, run->n) && run->records[rank].replied < first)
			first = run->records[rank].replied;
		if (first - clock.offset + clock.bound < run->start)
			return rank;
	}
	return -1;
}

/* The first rank that was told another start than rank 0, -1 if none was. */
static int other_start(const struct run *run)
{
	for (int rank = 0; rank < run->size; rank++)
		if (run->records[rank].start != run->start)
			return rank;
	return -1;
}

/* The block whose clock is furthest off; if BEYOND, of those off by more than their bound,
 * and -1 if none is. */
static int furthest_clock(const struct run *run, int beyond)
{
	int64_t most = -1;
	int furthest = -1;

	for (int block = 0; block < run->size / run->n; block++) {
		int64_t off = llabs(run->clocks[block].offset);

		if (off > most && !(beyond && off <= run->clocks[block].bound)) {
			most = off;
			furthest = block;
		}
	}
	return furthest;
}

/* The columns of the reports, and two more to judge them by: READY, MPI_Init returned - start,
 * and EXCHANGE, which is WIREUP less the wait of the last of an odd number of blocks for block
 * 0's own exchange. */
enum column { LAUNCH, INIT, WIREUP, REPEAT, COMPLETED, COLUMNS, READY = COLUMNS, EXCHANGE };

static const char *const column_names[] = {"launch", "init", "wireup", "repeat", "completed"};

/* Whether COLUMN has a value for RANK. */
static int applies(const struct run *run, enum column column, int rank)
{
	return column == LAUNCH || column == INIT || column == READY || originates(rank, run->n);
}

/* COLUMN's value for RANK, to which it applies, in ns. */
static int64_t value(const struct run *run, enum column column, int rank)
{
	const struct record *record = run->records + rank;
	int64_t offset = clock_of(run, rank).offset, ready, peer_ready, peer_offset;
	int peer;

	switch (column) {
	case LAUNCH:
		return record->entered - offset - run->start;
	case INIT:
		return record->initialised - record->entered;
	case WIREUP:
	case EXCHANGE:
		peer = responder(rank, run->size, run->n);
		peer_offset = clock_of(run, peer).offset;
		ready = record->initialised - offset;
		peer_ready = run->records[peer].initialised - peer_offset;
		if (column == EXCHANGE && peer < rank)
			peer_ready = run->records[peer].replied - peer_offset;
		return record->replied - offset - (peer_ready > ready ? peer_ready : ready);
	case REPEAT:
		return run->repeats[rank];
	case COMPLETED:
		return record->replied - run->start;
	default:
		return record->initialised - offset - run->start;
	}
}

struct summary {
	int64_t min, quarter, median, max; /* ns; a quarter of the values is up to quarter */
	int slowest; /* the first rank that has max */
};

/* The value that would be at index K of VALUES, COUNT of them, were they sorted; reorders them
 * (C. A. R. Hoare's FIND: linear but for contrived orders, where a sort of 10^6 takes longer
 * than all else). */
static int64_t nth(int64_t *values, int count, int k)
{
	int left = 0, right = count - 1;

	while (left < right) {
		int64_t pivot = values[k];
		int i = left, j = right;

		while (i <= j) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i <= j) {
				int64_t swapped = values[i];

				values[i++] = values[j];
				values[j--] = swapped;
			}
		}
		if (j < k)
			left = i;
		if (i > k)
			right = j;
	}
	return values[k];
}

static struct summary summarise(const struct run *run, enum column column)
{
	struct summary summary = {.max = INT64_MIN};
	int64_t *values = memory(NULL, run->size, sizeof *values);
	int count = 0;

	for (int rank = 0; rank < run->size; rank++)
		if (applies(run, column, rank)) {
			values[count] = value(run, column, rank);
			if (values[count] > summary.max) {
				summary.max = values[count];
				summary.slowest = rank;
			}
			count++;
		}
	summary.min = nth(values, count, 0);
	summary.quarter = nth(values, count, (count - 1) / 4);
	summary.median =
		nth(values, count, (count - 1) / 2) / 2 + nth(values, count, count / 2) / 2;
	free(values);
	return summary;
}

/* The phase whose slowest rank is furthest above what a quarter of the ranks needs at most:
 * LAUNCH, INIT or WIREUP; *RANK is that rank, *EXCESS by how much, ns. A rank that waits in
 * MPI_Init for one that came late does not stand out for it: it must also be late to leave it.
 * The first exchange is also compared with the second, as there may be no other. */
static enum column outstanding(const struct run *run, const struct summary *columns, int *rank,
			       int64_t *excess)
{
	enum column phase = INIT;
	struct summary ready = summarise(run, READY), exchange = summarise(run, EXCHANGE);
	int64_t init = columns[INIT].max - columns[INIT].quarter;
	int64_t late = value(run, READY, columns[INIT].slowest) - ready.quarter;
	int64_t launch = columns[LAUNCH].max - columns[LAUNCH].quarter;
	int64_t repeat = columns[REPEAT].median;
	int64_t wireup = exchange.max - (repeat < exchange.quarter ? repeat : exchange.quarter);

	*excess = late < init ? late : init;
	if (launch >= *excess) {
		*excess = launch;
		phase = LAUNCH;
	}
	*rank = columns[phase].slowest;
	if (wireup > *excess) {
		*excess = wireup;
		*rank = exchange.slowest;
		phase = WIREUP;
	}
	return phase;
}

/* The report, on rank 0 */

static double ms(int64_t ns)
{
	return (double)ns / 1e6;
}

/* Writes the result's first line for a time of NS >= 0 into LINE. */
static void format_time(char *line, size_t size, int64_t ns)
{
	unsigned long seconds = (unsigned long)(ns / 1000000000);

	if (seconds == 0)
		snprintf(line, size, "Time test was completed in %8.2f millisecs", ms(ns));
	else
		snprintf(line, size, "Time test was completed in %3lu:%02lu min:sec", seconds / 60,
			 seconds % 60);
}

/* Prints the result. Returns the exit status. */
static int print_result(const struct run *run)
{
	char line[80];

	format_time(line, sizeof line, run->time);
	return fprintf(stderr, "%s\nSlowest rank: %d\n", line, run->slowest) < 0;
}

/* Prints RANK and its host; in an exchange also its partner. */
static void print_rank(const struct run *run, enum column column, int rank, const char *own)
{
	char host[MPI_MAX_PROCESSOR_NAME];
	int peer = responder(rank, run->size, run->n);

	ask_host(rank, own, host);
	fprintf(stderr, "%d on %s", rank, host);
	if ((column == WIREUP || column == REPEAT) && peer != rank) {
		ask_host(peer, own, host);
		fprintf(stderr, ", with %d on %s", peer, host);
	}
}

/* What --verbose adds. Less than a tenth of the time does not stand out. */
static void print_details(const struct run *run, const struct summary *columns, const char *own)
{
	char host[MPI_MAX_PROCESSOR_NAME], version[MPI_MAX_LIBRARY_VERSION_STRING];
	int furthest = furthest_clock(run, 0), length, rank;
	int64_t excess;
	enum column phase = outstanding(run, columns, &rank, &excess);
	struct stat file;

	fprintf(stderr, "\n%.3f ms, %d nodes x %d = %d ranks\n\n", ms(run->time),
		run->size / run->n, run->n, run->size);
	fprintf(stderr, "%-10s %11s %11s %11s  %s\n", "ms", "min", "median", "max", "slowest rank");
	for (enum column column = LAUNCH; column < COLUMNS; column++) {
		const struct summary *c = columns + column;

		fprintf(stderr, "%-10s %11.3f %11.3f %11.3f  ", column_names[column], ms(c->min),
			ms(c->median), ms(c->max));
		print_rank(run, column, c->slowest, own);
		fprintf(stderr, "\n");
	}
	if (excess > run->time / 10) {
		fprintf(stderr, "\nstands out: %s of rank ", column_names[phase]);
		print_rank(run, phase, rank, own);
		fprintf(stderr, ", %.3f ms more than elsewhere\n", ms(excess));
	} else {
		fprintf(stderr, "\nstands out: no rank\n");
	}
	ask_host(furthest * run->n, own, host);
	fprintf(stderr, "clock skew: %.3f ms on %s, within %.3f ms; corrected time %.3f ms\n",
		ms(run->clocks[furthest].offset), host, ms(run->clocks[furthest].bound),
		ms(corrected_time(run)));
	if (stat("/proc/self/exe", &file) == 0)
		fprintf(stderr, "executable: %lld bytes\n", (long long)file.st_size);
	MPI_Get_library_version(version, &length);
	for (char *tab = version; (tab = strchr(tab, '\t'));)
		*tab = ' ';
	fprintf(stderr, "MPI: %.*s\n", (int)strcspn(version, "\n"), version);
}

/* Ends the writing of FILE at PATH; FILE is NULL if that could not be opened. Returns the exit
 * status. */
static int close_file(FILE *file, const char *path)
{
	int failed = !file || ferror(file);

	if (file && fclose(file) != 0)
		failed = 1;
	if (failed)
		say("error", "cannot write %s: %s; name a file that rank 0's node can write", path,
		    strerror(errno));
	return failed;
}

/* Appends the run's row to the file at PATH, after a header if it is empty. Returns the exit
 * status. */
static int write_csv(const struct run *run, const struct summary *columns, int valid,
		     const char *path, const char *own)
{
	char host[MPI_MAX_PROCESSOR_NAME], started[32];
	time_t seconds = (time_t)(run->start / 1000000000);
	int furthest = furthest_clock(run, 0);
	struct stat before;
	FILE *file;

	ask_host(run->slowest, own, host);
	file = fopen(path, "a");
	if (file && fstat(fileno(file), &before) == 0 && before.st_size == 0)
		fprintf(file,
			"started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,"
			"launch_max_ms,init_max_ms,wireup_max_ms,repeat_max_ms,"
			"skew_max_ms,skew_bound_ms,valid\n");
	strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
	if (file)
		fprintf(file,
			"%s.%06dZ,%d,%d,%d,%.6f,%.6f,%d,%s,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%d\n",
			started, (int)(run->start / 1000 % 1000000), run->size / run->n, run->n,
			run->size, ms(run->time), ms(corrected_time(run)), run->slowest, host,
			ms(columns[LAUNCH].max), ms(columns[INIT].max), ms(columns[WIREUP].max),
			ms(columns[REPEAT].max), ms(llabs(run->clocks[furthest].offset)),
			ms(run->clocks[furthest].bound), valid);
	return close_file(file, path);
}

/* Writes a row for every rank to the file at PATH. A rank that is not on the node of its
 * block's first has no host and no clock offset there. Returns the exit status. */
static int write_ranks(const struct run *run, const char *path)
{
	const char *host = run->hosts;
	FILE *file = fopen(path, "w");

	if (file)
		fprintf(file, "rank,node,host,launch_ms,init_ms,wireup_ms,repeat_ms,completed_ms,"
			      "clock_offset_ms\n");
	for (int rank = 0; file && rank < run->size; rank++) {
		int first = rank / run->n * run->n;
		int known = run->records[rank].node == run->records[first].node;

		if (rank == first && rank > 0)
			host += strlen(host) + 1;
		fprintf(file, "%d,%d,%s", rank, rank / run->n + 1, known ? host : "");
		for (enum column column = LAUNCH; column < COLUMNS; column++)
			if (applies(run, column, rank))
				fprintf(file, ",%.6f", ms(value(run, column, rank)));
			else
				fprintf(file, ",");
		if (known)
			fprintf(file, ",%.6f\n", ms(clock_of(run, rank).offset));
		else
			fprintf(file, ",\n");
	}
	return close_file(file, path);
}

/* A rank has a stamp from before the start. */
static void report_early(const struct run *run, int rank, const char *own)
{
	char host[MPI_MAX_PROCESSOR_NAME];

	ask_host(rank, own, host);
	say("error",
	    "rank %d on %s began %.6f s before the start; check SEC USEC, and the clocks of %s and of the node that stamped the start",
	    rank, host, (double)-value(run, LAUNCH, rank) / 1e9, host);
}

/* Whether each block is on a node of its own. Returns the exit status. */
static int check_places(const struct run *run, const char *own)
{
	char first[MPI_MAX_PROCESSOR_NAME], second[MPI_MAX_PROCESSOR_NAME];
	int pair[2] = {0, 0};
	int wrong = misplaced(run, pair);

	if (!wrong)
		return 0;
	ask_host(pair[0], own, first);
	ask_host(pair[1], own, second);
	say("error",
	    "ranks %d and %d must be on %s but are on %s and %s; start nodes times N ranks, N = %d on each node, node after node, with srun --distribution=block or mpirun --map-by ppr:%d:node",
	    pair[0], pair[1], wrong == 1 ? "one node" : "different nodes", first, second, run->n,
	    run->n);
	return 1;
}

/* Warns where a clock is off by more than its bound, 1 ms and 1 % of the time. */
static void check_clocks(const struct run *run, const char *own)
{
	int worst = furthest_clock(run, 1);
	struct clock clock;
	char host[MPI_MAX_PROCESSOR_NAME];

	if (worst < 0)
		return;
	clock = run->clocks[worst];
	if (llabs(clock.offset) <= 1000000 || llabs(clock.offset) <= run->time / 100)
		return;
	ask_host(worst * run->n, own, host);
	say("warning",
	    "the clock of %s is %.3f ms %s %s's (within %.3f ms); corrected to %s's clock the time is %.2f ms; synchronise the clocks and run again",
	    host, ms(llabs(clock.offset)), clock.offset > 0 ? "ahead of" : "behind", own,
	    ms(clock.bound), own, ms(corrected_time(run)));
}

/* Whether a report beyond the result is wanted. */
static int detailed(void)
{
	return options.verbose || options.csv || options.ranks;
}

/* After the result, on all ranks: what rank 0 wants to know besides the stamps. It begins when
 * rank 0 does, which has all stamps then: before that, others may still be on the clock. */
static void collect(struct run *run, const char *own)
{
	int block = world.rank / run->n, blocks = run->size / run->n;

	told(0);

	if (detailed()) {
		volatile int64_t again = 0;
		int64_t begun, repeat;

		if (world.rank == 0)
			run->repeats = memory(NULL, run->size, sizeof *run->repeats);
		MPI_Barrier(MPI_COMM_WORLD);
		begun = now();
		exchange(world.rank, run->size, run->n, &again);
		repeat = again ? again - begun : 0;
		MPI_Gather(&repeat, 1, MPI_INT64_T, run->repeats, 1, MPI_INT64_T, 0,
			   MPI_COMM_WORLD);
	}
	if (world.rank % run->n != 0)
		return;
	run->clocks = compare_clocks(block, blocks, run->n);
	if (options.ranks)
		run->hosts = gather_hosts(block, blocks, run->n, own);
}

/* Prints the result and then whether it is the one specified, and writes what the options ask
 * for; no result if the start cannot be right. The other ranks must be in collect() and then
 * tell_host(). Returns the exit status. */
static int report(struct run *run, const char *own)
{
	struct summary columns[COLUMNS];
	int other = other_start(run), doubtful = too_early(run) >= 0, status = 0, early;

	run->slowest = latest_reply(run);
	run->time = run->records[run->slowest].replied - run->start;
	if (other < 0 && !doubtful)
		status = print_result(run);
	collect(run, own);
	early = too_early(run);
	for (enum column column = LAUNCH; detailed() && column < COLUMNS; column++)
		columns[column] = summarise(run, column);
	if (other >= 0) {
		say("error",
		    "ranks 0 and %d were told different starts; expand SEC and USEC once, before the launcher starts the ranks",
		    other);
		status = 1;
	} else if (early >= 0) {
		report_early(run, early, own);
		status = 1;
	} else {
		if (doubtful)
			status = print_result(run);
		if (options.verbose)
			print_details(run, columns, own);
		if (check_places(run, own) != 0)
			status = 1;
		else if (run->size == run->n)
			say("warning",
			    "one node only, nothing crossed the interconnect; if there should be more, check the allocation, the hostfile and the number of processes");
		check_clocks(run, own);
	}
	if (options.csv)
		status |= write_csv(run, columns, !status, options.csv, own);
	if (options.ranks)
		status |= write_ranks(run, options.ranks);
	ask_host(-1, own, NULL);
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
		else
			poll(NULL, 0, 1000); /* who leaves first may have the launcher end all */
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
	struct run run = {.records = NULL};
	struct record mine;
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
	/* Keeps the linker from dropping the pad. */
	__asm__ volatile("" : : "r"(pad_begins), "r"(pad), "r"(pad_ends));
	MPI_Get_processor_name(processor, &length);
	mine = (struct record){entered, initialised, replied, node_identity(processor),
			       options.start};
	run.start = options.start;
	run.size = world.size;
	run.n = options.n;
	if (world.rank == 0)
		run.records = memory(NULL, world.size, sizeof mine);
	MPI_Gather(&mine, sizeof mine, MPI_BYTE, run.records, sizeof mine, MPI_BYTE, 0,
		   MPI_COMM_WORLD);
	if (world.rank == 0) {
		status = report(&run, processor);
	} else {
		collect(&run, processor);
		tell_host(processor);
	}
	free(run.records);
	free(run.clocks);
	free(run.repeats);
	free(run.hosts);
	reported = now();
	MPI_Finalize();
	return status;
}
