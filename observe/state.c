/*
 * state.c - what this rank is doing, in words, and who prints it
 *
 * On the clock: note_state(); with --where, also what its handler calls, print_state().
 */
#include "observe.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>

/* What this rank is doing, which rank it is waiting for, and since when (a stamp). A signal handler
 * may read it at any time, so note_state() fills the other of the two. */
static struct doing {
	enum state state;
	int rank;
	int64_t since;
} states[2];
static struct doing *_Atomic doing = states;

/* The end of rank 0's line while it is UNCHECKED. */
static char time_text[60];

/* Notes that this rank has been in STATE since the stamp SINCE, waiting for RANK, or for no rank if
 * RANK is -1. */
void note_state(enum state state, int rank, int64_t since)
{
	struct doing *next = doing == states ? states + 1 : states;

	*next = (struct doing){state, rank, since};
	doing = next;
}

/* On rank 0: notes the time according to the stamps, in us, and that it is UNCHECKED from now
 * on. */
void note_time(int64_t us)
{
	snprintf(time_text, sizeof time_text, "; the time, not checked, was %.3f ms",
		 (double)us / 1000);
	doing->state = UNCHECKED;
}

/* Writes into TEXT what this process has done since the reading EARLIER, MS ago. The parts add up
 * to MS. */
static void describe_work(char *text, size_t size, const struct reading *earlier, int64_t ms)
{
	struct work work = work_between(*earlier, read_work());
	int64_t cpu = MIN(work.cpu / 1000, ms), cpu_wait = MIN(work.cpu_wait / 1000, ms - cpu);
	int length = snprintf(text, size, ": cpu %lld ms", (long long)cpu);

	if (work.cpu_wait >= 0)
		snprintf(text + length, size - (size_t)length,
			 ", cpu_wait %lld ms, blocked %lld ms", (long long)cpu_wait,
			 (long long)(ms - cpu - cpu_wait));
}

static int claimed = -1; /* the last socket of claim() */

/* Returns whether this is the job's first process on this node to claim a message of KIND about
 * STATE, in the calls with the hash CALLS. It binds an abstract Unix socket named after these and
 * the start, so the others find that name in use. If bind() fails for any other reason, the process
 * counts as the first. */
bool claim(const char *kind, int state, uint64_t calls)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "ziaprobe.%lld.%s.%d.%llx",
		 (long long)this_rank.at[START], kind, state, (unsigned long long)calls);
	claimed = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return bind(claimed, (struct sockaddr *)&name, sizeof name) == 0 || errno != EADDRINUSE;
}

/* Closes the socket of the last claim, so that the user's program does not get it. */
void close_claim(void)
{
	if (claimed >= 0)
		close(claimed);
	claimed = -1;
}

static void print(const char *line)
{
	ssize_t written = write(STDERR_FILENO, line, strlen(line));

	(void)written; /* if it cannot be written, others still need time to print */
}

/* Returns this rank's state. Async-signal-safe. */
enum state find_state(void)
{
	enum state state = doing->state;

	return state == IN_MPI_INIT && find_position().waits ? IN_FENCE : state;
}

/* Returns "rank 5 on n3", in a static buffer. */
static const char *name_this_rank(void)
{
	static char text[100];
	struct utsname system;

	uname(&system);
	make_printable(system.nodename);
	if (world.rank >= 0)
		snprintf(text, sizeof text, "rank %d on %s", world.rank, system.nodename);
	else
		snprintf(text, sizeof text, "a rank on %s", system.nodename);
	return text;
}

/* Writes into TEXT what this rank, which is in STATE, is doing, and for how long. */
static void describe_state(char *text, size_t size, enum state state)
{
	static const char *const texts[] = {
		[IN_MPI_INIT] = "spent %lld ms in MPI_Init",
		[IN_FENCE] = "waited %lld ms in a fence of MPI_Init",
		[IN_SEND] = "waited %lld ms in MPI_Send, to rank %d",
		[IN_RECV] = "waited %lld ms in MPI_Recv, from rank %d",
		[IN_SENDRECV] = "waited %lld ms in MPI_Sendrecv, with rank %d",
		[WAITS_FOR_OTHERS] = "waited %lld ms for other ranks, after its exchange",
		[UNCHECKED] = "waited %lld ms for other ranks, after its exchange",
		[WRITING] = "spent %lld ms writing the result",
	};
	struct position position = find_position();
	int64_t since = state <= IN_FENCE && position.since ? position.since : doing->since;
	int64_t ms = MAX(now() - since, 0) / 1000; /* the clock may have been set back */
	size_t length = (size_t)snprintf(text, size, texts[state], (long long)ms, doing->rank);

	if (state == IN_MPI_INIT)
		describe_work(text + length, size - length, position.work, ms);
	if (state == UNCHECKED)
		snprintf(text + length, size - length, "%s", time_text);
}

/* Prints that this rank is in STATE, "ziaprobe: SEVERITY: MOMENT SECONDS s: rank 5 on n3 has ..."
 * and, if it works in MPI_Init, a second line with the calls that it is in. Only one rank per node
 * and state prints or, in MPI_Init, per node and calls: a rank that polls shared memory must not
 * hide the one that it waits for. To be called by a signal handler: although POSIX does not
 * guarantee it, snprintf of numbers and strings takes no locks and allocates no memory. What may
 * wait for a lock comes after the first line. */
void print_state(enum state state, const char *severity, const char *moment, const char *seconds)
{
	struct stack stack = {.count = 0};
	bool prints;
	char what[220], calls[701], line[900];

	describe_state(what, sizeof what, state);
	snprintf(line, sizeof line, "ziaprobe: %s: %s %s s: %s has %s\n", severity, moment, seconds,
		 name_this_rank(), what);
	if (state == IN_MPI_INIT && is_backtrace_loaded())
		read_stack(&stack);
	prints = claim(severity, state, hash_stack(&stack));
	if (prints)
		print(line);
	if (state != IN_MPI_INIT)
		return;
	/* Reading the stack may hang if that loads a library. So one rank per node has printed
	 * before; after 0.2 s, so does one for each further set of calls. */
	if (!is_backtrace_loaded()) {
		if (!prints)
			poll(NULL, 0, 200); /* lets the one that prints claim its calls first */
		read_stack(&stack);
		if (claim(severity, state, hash_stack(&stack)) && !prints) {
			print(line);
			prints = true;
		}
	}
	if (!prints)
		return;
	name_calls(&stack, calls, sizeof calls);
	if (!*calls)
		return;
	snprintf(line, sizeof line, "ziaprobe: %s: %s is in %s\n", severity, name_this_rank(),
		 calls);
	print(line);
}
