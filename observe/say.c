/*
 * say.c - prints what this rank is doing, for --timeout and --where
 *
 * Although POSIX does not guarantee it, snprintf of numbers and strings takes no locks and
 * allocates no memory, so signal handlers may call it.
 *
 * On the clock: note_nodes(); with --where, also say().
 */
#include "observe.h"

#include <poll.h>
#include <sys/utsname.h>

/* The end of rank 0's line while it is UNCHECKED. */
static char time_text[60];

static int nodes; /* of the launch, or what else stands for their number (enum nodes) */

/* Notes that the launch has COUNT nodes, or what else stands for their number (enum nodes). */
void note_nodes(int count)
{
	nodes = count;
}

/* On rank 0: notes the time according to the stamps, in us, which is printed while rank 0 is
 * UNCHECKED. */
void note_time(int64_t us)
{
	snprintf(time_text, sizeof time_text, "; the time, not checked, was %.3f ms",
		 (double)us / 1000);
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

static void print(const char *line)
{
	ssize_t written = write(STDERR_FILENO, line, strlen(line));

	(void)written; /* if it cannot be written, others still need time to print */
}

/* Returns "rank 5 of 8 (2 per node) on n3", in a static buffer, without what is not known. tools/
 * computes from the two numbers how many nodes are silent. So both describe the whole launch: other
 * nodes may have more ranks than this one. PMIx is not asked, because it takes locks. */
static const char *name_this_rank(void)
{
	static char text[150];
	char who[16] = "a rank", of[15] = "", per_node[25] = "";
	int count = nodes == ON_THE_WIRE ? wire_nodes() : nodes;
	struct utsname system;

	uname(&system);
	make_printable(system.nodename);
	if (world.rank >= 0)
		snprintf(who, sizeof who, "rank %d", world.rank);
	if (world.size > 0)
		snprintf(of, sizeof of, " of %d", world.size);
	if (count > 0 && world.size > 0 && world.size % count == 0)
		snprintf(per_node, sizeof per_node, " (%d per node)", world.size / count);
	snprintf(text, sizeof text, "%s%s%s on %s", who, of, per_node, system.nodename);
	return text;
}

/* Writes into TEXT what this rank is DOING, and for how long. */
static void describe(char *text, size_t size, const struct doing *doing)
{
	static const char *const texts[] = {
#define STATE_TEXT(state, text) text,
		STATES(STATE_TEXT)};
	int64_t ms = MAX(now() - doing->since, 0) / 1000; /* the clock may have been set back */
	size_t length =
		(size_t)snprintf(text, size, texts[doing->state], (long long)ms, doing->rank);

	if (doing->state == IN_MPI_INIT)
		describe_work(text + length, size - length, doing->work, ms);
	if (doing->state == UNCHECKED)
		snprintf(text + length, size - length, "%s", time_text);
}

/* Prints what this rank is DOING, "ziaprobe: SEVERITY: MOMENT SECONDS s: rank 5 of 8 (2 per node)
 * on n3 has ..." and, if it works in MPI_Init, a second line with the calls that it is in. Each
 * line is one write of less than 1000 bytes, because Slurm tears longer ones apart. Only one rank
 * per node and state prints or, in MPI_Init, per node and calls: a rank that polls shared memory
 * must not hide the one that it waits for. Called by signal handlers, so anything that may wait for
 * a lock comes after the first line. */
void say(struct doing doing, const char *severity, const char *moment, const char *seconds)
{
	struct stack stack;
	bool prints = false;
	char what[220], calls[701], line[900];

	describe(what, sizeof what, &doing);
	snprintf(line, sizeof line, "ziaprobe: %s: %s %.20s s: %s has %s\n", severity, moment,
		 seconds, name_this_rank(), what);
	if (doing.state != IN_MPI_INIT) {
		if (claim(severity, doing.state, 0))
			print(line);
		return;
	}
	/* At the timeout, reading the stack may have to load a library, which may hang. So one rank
	 * per node prints first. The others wait 0.2 s, so that it claims its calls before they
	 * claim theirs. */
	if (!is_backtrace_loaded()) {
		prints = claim(severity, doing.state, 0);
		if (prints)
			print(line);
		else
			poll(NULL, 0, 200);
	}
	read_stack(&stack);
	if (claim(severity, doing.state, hash_stack(&stack)) && !prints) {
		print(line);
		prints = true;
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
