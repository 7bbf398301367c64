/*
 * timeout.c - when time runs out: who waits for what
 *
 * A handler of SIGALRM, which only reads what this rank waits for. The useful line must not
 * drown. In MPI_Init on each node one rank that is in its own part speaks, and half a second later
 * one that waits in a fence; where fences are not seen, one rank a node. In the exchange, and when
 * clocks are compared, those that wait for another rank speak; besides, rank 0 and the last rank.
 *
 * On the clock, with -t, is arming it. obey_timeout() runs off it, before a rank prints or leaves.
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

static int64_t job_start;
static int limit; /* s after it */
static atomic_int expired; /* the handler may run in another thread */

/* Whether this is the first process of the job on this node to come here with WHAT. The first binds
 * an abstract Unix socket, named after the start and WHAT; for the others the name is taken. Who
 * cannot tell speaks. */
static int first_on_node(enum wait what)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "ziaprobe.%lld.%d",
		 (long long)job_start, what);
	return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&name, sizeof name) == 0 ||
	       errno != EADDRINUSE;
}

static int speaks(enum wait what)
{
	if (what == INITIALISED || what == OWN_PART || what == OTHERS)
		return first_on_node(what);
	return what == REPLY || what == MESSAGE || what == CLOCK || world.rank == 0 ||
	       world.rank == world.size - 1;
}

/* Ends this rank where time_out cannot, as a full pipe on stderr holds it. */
static void leave(int signal)
{
	(void)signal;
	_exit(124);
}

/* Says what this rank waits for, gives the others a second to do so too before the launcher sees
 * a process fail and ends the job, and exits with 124. POSIX does not promise it, but snprintf of
 * numbers and strings takes neither locks nor memory. */
static void time_out(int number)
{
	static const char *const texts[] = {
		[INITIALISED] = "for MPI_Init",
		[OWN_PART] = "in its own part of MPI_Init",
		[OTHERS] = "for the others in MPI_Init",
		[REPLY] = "for the reply from rank %d",
		[MESSAGE] = "for the message from rank %d",
		[REPORT] = "for the report",
		[AFTERWARDS] = "for the other ranks, after the result",
		[CLOCK] = "for the clock of rank %d, after the result",
	};
	enum wait what = waiting.what;
	int64_t since = waiting.since, waited;
	char rank[24] = "a rank", text[80], line[1024];
	struct utsname host;

	(void)number;
	signal(SIGALRM, leave);
	alarm(2);
	expired = 1;
	if (what == INITIALISED && fences_show())
		what = in_fence(&since) ? OTHERS : OWN_PART;
	waited = (now() - since) / 1000000000; /* s, negative where a clock was set */
	if (what == OTHERS)
		poll(NULL, 0, 500);
	uname(&host);
	if (world.rank >= 0)
		snprintf(rank, sizeof rank, "rank %d", world.rank);
	snprintf(text, sizeof text, texts[what], waiting.from);
	snprintf(line, sizeof line,
		 "ziaprobe: error: timeout of %d s: %s on %s has waited %lld s %s\n", limit, rank,
		 host.nodename, waited < 0 ? 0 : (long long)waited, text);
	if (speaks(what) && write(STDERR_FILENO, line, strlen(line)) < 0)
		_exit(124);
	poll(NULL, 0, what == OTHERS ? 500 : 1000);
	_exit(124);
}

/* Has time_out called SECONDS > 0 after START, or at once if that is over. Until MPI knows it, this
 * rank is the one that the launcher says. On the clock. */
void arm_timeout(int64_t start, int seconds)
{
	/* SA_NODEFER: leave() may interrupt time_out(). */
	struct sigaction action = {.sa_handler = time_out, .sa_flags = SA_RESTART | SA_NODEFER};
	int64_t left = (start - now()) / 1000 + (int64_t)seconds * 1000000; /* us */
	struct itimerval timer = {{0, 0}, {0, 1}};
	sigset_t alarm;

	job_start = start;
	limit = seconds;
	world.rank = launched_rank();
	if (left > 0)
		timer.it_value = (struct timeval){left / 1000000, left % 1000000};
	sigaction(SIGALRM, &action, NULL);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL); /* the mask is inherited */
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Does not return once time has run out: the handler may be in a helper thread of the MPI
 * library, and neither a result nor another status may follow its line. */
void obey_timeout(void)
{
	while (expired)
		poll(NULL, 0, 1000);
}
