/*
 * timeout.c - what a rank does when the timeout expires
 *
 * The SIGALRM handler prints what this rank is doing, then exits. On each node, only one rank per
 * state prints, so that a large job does not print millions of lines. Ranks that wait in a fence
 * print half a second after the others, so that the more useful lines come first.
 *
 * On the clock: arm_timeout(), if there is a timeout, and note_state().
 */
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

static int64_t job_start; /* a stamp */
static int64_t deadline; /* when the timer expires, by the monotonic clock */
static int limit; /* seconds after job_start */
static atomic_int timed_out; /* the handler may run in another thread */

/* What this rank is doing, which rank it is waiting for, and since when (a stamp). */
static volatile struct {
	enum state state;
	int rank;
	int64_t since;
} doing;

/* Notes what this rank is about to do, for the timeout. RANK is the one that it waits for, if STATE
 * has one. */
void note_state(enum state state, int rank, int64_t since)
{
	doing.rank = rank;
	doing.since = since;
	doing.state = state;
}

/* Returns whether this is the job's first process on this node to ask about STATE. The first one
 * binds an abstract Unix socket named after the start and STATE, so the others find that name in
 * use. If bind() fails for any other reason, the process counts as the first. */
static int first_on_node(enum state state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "ziaprobe.%lld.%d",
		 (long long)job_start, state);
	return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&name, sizeof name) == 0 ||
	       errno != EADDRINUSE;
}

/* Returns US in tenths of a second, rounded. */
static int64_t to_tenths(int64_t us)
{
	return (us + 50000) / 100000;
}

/* Writes BEFORE to TEXT, and then TENTHS of a second as seconds with one decimal. Returns the end
 * of the text. */
static char *write_seconds(char *text, const char *before, int64_t tenths)
{
	return text + sprintf(text, "%s%lld.%lld s", before, (long long)tenths / 10,
			      (long long)tenths % 10);
}

/* Writes into TEXT what this process has done since the reading at FROM, which was taken TENTHS of
 * a second ago. The parts add up to TENTHS. */
static void describe_work(char *text, enum mark from, int64_t tenths)
{
	struct work work = work_between(from, TIMED_OUT);
	int64_t cpu = MIN(to_tenths(work.cpu), tenths), cpu_wait;

	text = write_seconds(text, ": cpu ", cpu);
	if (work.cpu_wait == UNKNOWN)
		return;
	cpu_wait = MIN(to_tenths(work.cpu_wait), tenths - cpu);
	text = write_seconds(text, ", cpu_wait ", cpu_wait);
	write_seconds(text, ", blocked ", tenths - cpu - cpu_wait);
}

/* Ends a rank that is stuck in time_out() because stderr is a full pipe. */
static void give_up(int number)
{
	(void)number;
	_exit(124);
}

/* Prints what this rank is doing, waits, and exits with status 124. A rank that was stopped and
 * arrives a second late prints nothing, because the rank that printed for its node may have exited
 * already. Waiting gives the other ranks a second to print too, before the launcher sees a process
 * fail and ends the job. Although POSIX does not guarantee it, snprintf of numbers and
 * strings takes no locks and allocates no memory. */
static void time_out(int number)
{
	static const char *const texts[] = {
		[IN_MPI_INIT] = "spent %s in MPI_Init",
		[IN_FENCE] = "waited %s in a fence of MPI_Init",
		[FOR_REPLY] = "waited %s for the reply from rank %d",
		[FOR_MESSAGE] = "waited %s for the message from rank %d",
		[FOR_OTHERS] = "waited %s for other ranks, after its exchange",
		[WRITING] = "spent %s writing the result",
	};
	enum state state = doing.state;
	enum mark from = MAIN_ENTERED;
	int64_t since = doing.since, tenths;
	char rank[24] = "a rank", time[40], text[100], work[120] = "", line[400];
	struct utsname system;
	ssize_t written = 0;
	int64_t late = read_clock(CLOCK_MONOTONIC) - deadline;

	(void)number;
	signal(SIGALRM, give_up);
	alarm(2);
	timed_out = 1;
	note_work(TIMED_OUT);
	if (state == IN_MPI_INIT && in_fence(&since, &from))
		state = IN_FENCE;
	tenths = to_tenths(MAX(now() - since, 0)); /* the clock may have been set back */
	if (state == IN_MPI_INIT)
		describe_work(work, from, tenths);
	if (state == IN_FENCE)
		poll(NULL, 0, 500);
	uname(&system);
	make_printable(system.nodename);
	if (world.rank >= 0)
		snprintf(rank, sizeof rank, "rank %d", world.rank);
	write_seconds(time, "", tenths);
	snprintf(text, sizeof text, texts[state], time, doing.rank);
	snprintf(line, sizeof line, "ziaprobe: error: timeout of %d s: %s on %s has %s%s\n", limit,
		 rank, system.nodename, text, work);
	if (late < 1000000 && first_on_node(state))
		written = write(STDERR_FILENO, line, strlen(line));
	(void)written; /* if it cannot be written, others still need time to print */
	poll(NULL, 0, state == IN_FENCE ? 500 : 1000);
	_exit(124);
}

/* Arranges for time_out() to be called SECONDS > 0 after START, or at once if that moment has
 * passed. */
void arm_timeout(int64_t start, int seconds)
{
	/* SA_NODEFER: give_up() may interrupt time_out(). */
	struct sigaction action = {.sa_handler = time_out, .sa_flags = SA_RESTART | SA_NODEFER};
	int64_t left = start - now() + (int64_t)seconds * 1000000; /* us */
	struct itimerval timer = {{0, 0}, {0, 1}};
	sigset_t set;

	job_start = start;
	limit = seconds;
	if (left > 0)
		timer.it_value = (struct timeval){left / 1000000, left % 1000000};
	deadline = read_clock(CLOCK_MONOTONIC) + MAX(left, 0);
	sigaction(SIGALRM, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &set, NULL); /* the inherited mask may block it */
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Does not return if the timeout has expired: the handler may be running in a helper thread of the
 * MPI library, and neither a result nor another exit status may follow its message. */
void stop_if_timed_out(void)
{
	while (timed_out)
		poll(NULL, 0, 1000);
}
