/*
 * timeout.c - when time runs out: who waits for what
 *
 * A handler of SIGALRM, which only reads what this rank waits for. The useful line must not
 * drown: in MPI_Init one rank of each node speaks, in the exchange those that wait for a
 * message, after it rank 0 and the last rank.
 */
#define _GNU_SOURCE /* sigaction, setitimer */

#include "run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

static int64_t begun; /* the start */
static int limit; /* s after it */
static volatile int expired;

/* Whether no other process of this job and node has come here before, that is taken an
 * abstract Unix socket's name, made of the start, which lasts as long as the process. */
static int first_on_node(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "ziaprobe.%lld", (long long)begun);
	return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&name, sizeof name) == 0 ||
	       errno != EADDRINUSE;
}

static int speaks(void)
{
	switch (waiting.what) {
	case INITIALISED:
		return first_on_node();
	case REPLY:
	case MESSAGE:
		return 1;
	default:
		return world.rank == 0 || world.rank == world.size - 1;
	}
}

/* Says what this rank waits for, gives the others a second to do so too before the launcher sees
 * a process fail and ends the job, and exits with 124. POSIX does not promise it, but snprintf of
 * numbers and strings takes neither locks nor memory. */
static void time_out(int signal)
{
	static const char *const texts[] = {
		[INITIALISED] = "MPI_Init",
		[REPLY] = "the reply from rank ",
		[MESSAGE] = "the message from rank ",
		[REPORT] = "the report",
		[AFTERWARDS] = "the other ranks, after the result",
	};
	int64_t waited = now() - waiting.since; /* negative where a clock was set */
	char rank[24] = "a rank", from[16] = "", line[1024];
	struct utsname host;

	(void)signal;
	expired = 1;
	uname(&host);
	if (world.rank >= 0)
		snprintf(rank, sizeof rank, "rank %d", world.rank);
	if (waiting.what == REPLY || waiting.what == MESSAGE)
		snprintf(from, sizeof from, "%d", waiting.from);
	snprintf(line, sizeof line,
		 "ziaprobe: error: timeout of %d s: %s on %s has waited %lld s for %s%s\n", limit,
		 rank, host.nodename, waited < 0 ? 0 : (long long)(waited / 1000000000),
		 texts[waiting.what], from);
	if (speaks() && write(STDERR_FILENO, line, strlen(line)) < 0)
		_exit(124);
	poll(NULL, 0, 1000);
	_exit(124);
}

/* Has time_out called SECONDS > 0 after START, or at once if that is over. On the clock. */
void arm_timeout(int64_t start, int seconds)
{
	struct sigaction action = {.sa_handler = time_out, .sa_flags = SA_RESTART};
	int64_t left = (start - now()) / 1000 + (int64_t)seconds * 1000000; /* us */
	struct itimerval timer = {{0, 0}, {0, 1}};
	sigset_t alarm;

	begun = start;
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
