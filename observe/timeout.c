/*
 * timeout.c - what a rank does when the timeout expires
 *
 * A signal handler prints what this rank is doing, then exits. On each node, only one rank per
 * state prints, so that a large job does not print millions of lines. The signal is not SIGALRM,
 * because the user's program may use that.
 *
 * On the clock: arm_timeout(), if there is a timeout, and note_state().
 */
#include "notes.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>

static int limit; /* seconds after the start; 0 if there is none */
static atomic_int timed_out; /* the handler may run in another thread */
static int timer = -1; /* the kernel's id of the timer; ids start at 0 */

#define SIGNAL (SIGRTMAX - 1) /* sent by the timer; valgrind uses SIGRTMAX */
static sigset_t signals; /* just SIGNAL */

/* What arm_timeout() has replaced, for disarm_timeout() */
static struct sigaction old_action;
static sigset_t old_mask;

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

/* Sleeps for a second, whatever signals arrive. */
void sleep_second(void)
{
	struct timespec left = {1, 0};

	while (nanosleep(&left, &left) != 0)
		;
}

/* Returns whether this is the job's first process on this node to claim STATE. The first one binds
 * an abstract Unix socket named after the start and STATE, so the others find that name in use. If
 * bind() fails for any other reason, the process counts as the first. */
static bool claim_on_node(enum state state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "ziaprobe.%lld.%d",
		 (long long)mine.at[START], state);
	return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&name, sizeof name) == 0 ||
	       errno != EADDRINUSE;
}

/* On rank 0: notes the time according to the stamps, in us, and that it is UNCHECKED from now
 * on. */
void note_time(int64_t us)
{
	snprintf(time_text, sizeof time_text, "; the time, not checked, was %.3f ms",
		 (double)us / 1000);
	doing.state = UNCHECKED;
}

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

/* Prints what this rank is doing, waits, and exits with status 124. Waiting gives the other ranks a
 * second to print too, before the launcher sees a process fail and ends the job. If stderr is a
 * pipe that nobody reads, a second signal ends the rank. Although POSIX does not guarantee it,
 * snprintf of numbers and strings takes no locks and allocates no memory. */
static void time_out(int number)
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
	enum state state = doing.state;
	struct position position = find_position();
	int64_t since = doing.since, ms;
	char rank[24] = "a rank", text[100], end[120] = "", line[400];
	struct itimerspec again = {{0, 0}, {2, 0}};
	struct utsname system;
	ssize_t written = 0;

	(void)number;
	if (timed_out)
		_exit(124);
	timed_out = 1;
	syscall(SYS_timer_settime, timer, 0, &again, NULL);
	if (state == IN_MPI_INIT && position.since)
		since = position.since;
	if (state == IN_MPI_INIT && position.waits)
		state = IN_FENCE;
	ms = MAX(now() - since, 0) / 1000; /* the clock may have been set back */
	if (state == IN_MPI_INIT)
		describe_work(end, sizeof end, position.mark, ms);
	if (state == UNCHECKED)
		snprintf(end, sizeof end, "%s", time_text);
	uname(&system);
	make_printable(system.nodename);
	if (world.rank >= 0)
		snprintf(rank, sizeof rank, "rank %d", world.rank);
	snprintf(text, sizeof text, texts[state], (long long)ms, doing.rank);
	snprintf(line, sizeof line, "ziaprobe: error: timeout of %d s: %s on %s has %s%s\n", limit,
		 rank, system.nodename, text, end);
	if (claim_on_node(state))
		written = write(STDERR_FILENO, line, strlen(line));
	(void)written; /* if it cannot be written, others still need time to print */
	sleep_second();
	_exit(124);
}

/* Arranges for time_out() to be called SECONDS > 0 after the start, or at once if that has passed.
 * Makes system calls because, before glibc 2.34, the timer functions were in librt. */
void arm_timeout(int seconds)
{
	/* SA_NODEFER: a second signal may interrupt time_out(). */
	struct sigaction action = {.sa_handler = time_out, .sa_flags = SA_RESTART | SA_NODEFER};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGNAL};
	int64_t left = mine.at[START] + (int64_t)seconds * 1000000 - now(); /* us */
	struct itimerspec once = {{0, 0}, {left / 1000000, left % 1000000 * 1000}};

	if (left <= 0)
		once.it_value = (struct timespec){0, 1}; /* at once */
	limit = seconds;
	sigemptyset(&signals);
	sigaddset(&signals, SIGNAL);
	sigaction(SIGNAL, &action, &old_action);
	sigprocmask(SIG_UNBLOCK, &signals, &old_mask); /* the inherited mask may block it */
	if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0)
		print_warning("cannot set the timeout; raise ulimit -i on this node\n");
	syscall(SYS_timer_settime, timer, 0, &once, NULL);
}

/* Undoes what arm_timeout() has done, if it was called. */
void disarm_timeout(void)
{
	if (!limit)
		return;
	sigaction(SIGNAL, &(struct sigaction){.sa_handler = SIG_IGN}, NULL); /* if it is pending */
	syscall(SYS_timer_delete, timer);
	stop_if_timed_out();
	sigaction(SIGNAL, &old_action, NULL);
	if (sigismember(&old_mask, SIGNAL))
		sigprocmask(SIG_BLOCK, &signals, NULL);
}

/* If the timeout has expired, waits for its handler, which may run in a helper thread of the MPI
 * library, to end the process: neither a result nor another exit status may follow its message. If
 * that thread hangs, exits after 2 s. */
void stop_if_timed_out(void)
{
	if (!timed_out)
		return;
	sleep_second();
	sleep_second();
	_exit(124);
}
