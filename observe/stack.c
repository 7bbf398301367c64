/*
 * stack.c - where this rank is, in words: its state and, in MPI_Init, the calls that it is in
 *
 * backtrace() finds the return addresses, and dladdr() their libraries and dynamic symbols. A
 * static function has no such symbol, so only its library is named. No calls are named in a build
 * by hand, in a static one, which has no dynamic symbols, or without glibc's backtrace().
 *
 * On the clock: note_state(); enter_stack(), which stores two values; and load_stack(), with
 * --where.
 */
#include "notes.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>

/* What this rank is doing, which rank it is waiting for, and since when (a stamp). */
static volatile struct {
	enum state state;
	int rank;
	int64_t since;
} doing;

/* The end of rank 0's line while it is UNCHECKED. */
static char time_text[60];

/* Notes that this rank has been in STATE since the stamp SINCE, waiting for RANK, or for no rank if
 * RANK is -1. */
void note_state(enum state state, int rank, int64_t since)
{
	doing.rank = rank;
	doing.since = since;
	doing.state = state;
}

/* On rank 0: notes the time according to the stamps, in us, and that it is UNCHECKED from now
 * on. */
void note_time(int64_t us)
{
	snprintf(time_text, sizeof time_text, "; the time, not checked, was %.3f ms",
		 (double)us / 1000);
	doing.state = UNCHECKED;
}

static _Thread_local bool is_entered; /* whether this thread has called MPI's MPI_Init */
static bool is_loaded; /* whether looking up the calls is async-signal-safe */
static void *entrance; /* the address to which our MPI_Init will return */

/* Called by our MPI_Init, which will return to ADDRESS, before it calls MPI's. */
void enter_stack(void *address)
{
	is_entered = true;
	entrance = address;
}

#if defined SEE_FENCES && defined __GLIBC__
#include <dlfcn.h>
#include <execinfo.h>

/* Calls backtrace() once, because its first call loads a library, libgcc_s. */
void load_stack(void)
{
	void *address;

	backtrace(&address, 1);
	is_loaded = true;
}

/* Returns whether ADDRESS lies in this executable or, if this is libziaprobe.so, in that. */
static bool is_ours(void *address)
{
	Dl_info own, other;

	return dladdr(&entrance, &own) && dladdr(address, &other) &&
	       own.dli_fbase == other.dli_fbase;
}

/* Writes into TEXT the name of the call at ADDRESS and, in brackets, its library, unless that is
 * *FILE, the file of the call before. TEXT is empty if neither is known, or if the call is ours. */
static void name_call(char *text, size_t size, void *address, const char **file)
{
	const char *name, *slash;
	Dl_info call;

	*text = '\0';
	if (is_ours(address) || !dladdr(address, &call))
		return;
	name = call.dli_sname ? call.dli_sname : "";
	if (*file && strcmp(*file, call.dli_fname) == 0) {
		snprintf(text, size, "%s", name);
		return;
	}
	*file = call.dli_fname;
	slash = strrchr(*file, '/');
	snprintf(text, size, "%.200s%s[%s]", name, *name ? " " : "", slash ? slash + 1 : *file);
}

/* Writes into TEXT the calls inside MPI_Init that this thread is in, the innermost first: "recv
 * [libc.so.6] < PMIx_Get [libpmix.so.2] < [libmpi.so.40] < MPI_Init". Replaces what does not fit
 * into SIZE, 10 or more, with "...". TEXT is empty if this thread has not called MPI_Init, or if no
 * call is known. Must be called by a signal handler. Async-signal-safe after load_stack();
 * otherwise, it may load libgcc_s. */
static void name_calls(char *text, size_t size)
{
	static const char cut[] = " < ...";
	const char *file = NULL;
	void *address[200];
	int count = is_entered ? backtrace(address, 200) : 0, first = 0;
	char call[300], *end = text;

	/* The frames of the signal come first: those of this file and of the handler, and the one
	 * to which the handler returns. AddressSanitizer's backtrace() even comes before them. */
	while (first < count && !is_ours(address[first]))
		first++;
	while (first < count && is_ours(address[first]))
		first++;
	first++;
	*text = '\0';
	for (int i = first; i < count && address[i] != entrance; i++) {
		/* A return address follows its call, which may be the end of a function. */
		name_call(call, sizeof call, (char *)address[i] - (i > first), &file);
		if (!*call)
			continue;
		if (strlen(text) + strlen(call) + strlen(" < ") + sizeof cut > size) {
			strcpy(end, cut);
			break;
		}
		end += sprintf(end, "%s%s", end > text ? " < " : "", call);
	}
	make_printable(text);
}

#else
void load_stack(void)
{
	is_loaded = true; /* There is nothing to load, and nothing to wait for. */
}

static void name_calls(char *text, size_t size)
{
	(void)size;
	*text = '\0';
}
#endif

/* Writes into TEXT what this process has done since MARK, MS ago. The parts add up to MS. */
static void describe_work(char *text, size_t size, enum mark mark, int64_t ms)
{
	struct work work = work_since(mark);
	int64_t cpu = MIN(work.cpu / 1000, ms), cpu_wait = MIN(work.cpu_wait / 1000, ms - cpu);
	int length = snprintf(text, size, ": cpu %lld ms", (long long)cpu);

	if (work.cpu_wait >= 0)
		snprintf(text + length, size - (size_t)length,
			 ", cpu_wait %lld ms, blocked %lld ms", (long long)cpu_wait,
			 (long long)(ms - cpu - cpu_wait));
}

static int claimed = -1; /* the last socket of claim() */

/* Returns whether this is the job's first process on this node to claim STATE and CALLS for a
 * message of SEVERITY. It binds an abstract Unix socket named after the start and a hash of these,
 * so the others find that name in use. If bind() fails for any other reason, the process counts as
 * the first. */
static bool claim(const char *severity, enum state state, const char *calls)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	char what[800];
	int length = snprintf(what, sizeof what, "%s %d %s", severity, state, calls);

	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "ziaprobe.%lld.%llx",
		 (long long)mine.at[START], (unsigned long long)hash(what, (size_t)length));
	claimed = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return bind(claimed, (struct sockaddr *)&name, sizeof name) == 0 || errno != EADDRINUSE;
}

/* Closes the socket of --where, so that the user's program does not get it. */
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
	return doing.state == IN_MPI_INIT && find_position().waits ? IN_FENCE : doing.state;
}

/* Prints "ziaprobe: SEVERITY: MOMENT SECONDS s: rank 5 on n3 has ..." and, if this rank works in
 * MPI_Init, a second line with the calls that it is in. Only one rank per node and state prints or,
 * in MPI_Init, per node and calls: a rank that polls shared memory must not hide the one that it
 * waits for. To be called by a signal handler: although POSIX does not guarantee it, snprintf of
 * numbers and strings takes no locks and allocates no memory. */
void print_state(const char *severity, const char *moment, const char *seconds)
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
	enum state state = find_state();
	bool has_printed, claims_calls;
	int64_t since = doing.since, ms;
	char rank[24] = "a rank", what[100], end[120] = "", calls[701] = "", line[900];
	struct utsname system;

	if (state <= IN_FENCE && position.since)
		since = position.since;
	ms = MAX(now() - since, 0) / 1000; /* the clock may have been set back */
	if (state == IN_MPI_INIT)
		describe_work(end, sizeof end, position.mark, ms);
	if (state == UNCHECKED)
		snprintf(end, sizeof end, "%s", time_text);
	uname(&system);
	make_printable(system.nodename);
	if (world.rank >= 0)
		snprintf(rank, sizeof rank, "rank %d", world.rank);
	snprintf(what, sizeof what, texts[state], (long long)ms, doing.rank);
	snprintf(line, sizeof line, "ziaprobe: %s: %s %s s: %s on %s has %s%s\n", severity, moment,
		 seconds, rank, system.nodename, what, end);
	if (state == IN_MPI_INIT && is_loaded)
		name_calls(calls, sizeof calls);
	has_printed = claim(severity, state, calls);
	if (has_printed)
		print(line);
	if (state == IN_MPI_INIT && !is_loaded) {
		/* The look-up may hang, so it comes after the first line. */
		if (!has_printed)
			poll(NULL, 0, 200); /* lets the first rank claim its calls first */
		name_calls(calls, sizeof calls);
		claims_calls = *calls && claim(severity, state, calls);
		if (claims_calls && !has_printed) {
			print(line);
			has_printed = true;
		}
	}
	if (!has_printed || !*calls)
		return;
	snprintf(line, sizeof line, "ziaprobe: %s: %s on %s is in %s\n", severity, rank,
		 system.nodename, calls);
	print(line);
}
