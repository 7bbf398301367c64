/*
 * timeout.c - the two moments at which a rank says what it is doing: when the timeout expires, after
 * which it exits, and for --where, after which it goes on
 *
 * A signal handler prints this. The signals are not SIGALRM, because the user's program may use
 * that.
 *
 * On the clock: arm_timeout() and arm_where(), if their options are given.
 */
#include "notes.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* A signal that the kernel sends at a certain moment. */
struct alarm {
	const char *seconds; /* after the start, as the user gave them */
	int signal; /* 0 if it is not armed */
	int timer; /* the kernel's id */
	/* What arm() has replaced, for disarm() */
	struct sigaction old_action;
	sigset_t old_mask;
};
static struct alarm timeout, where;

static atomic_int timed_out; /* the handler may run in another thread */

/* Sleeps for a second, whatever signals arrive. */
void sleep_second(void)
{
	struct timespec left = {1, 0};

	while (nanosleep(&left, &left) != 0)
		;
}

/* The handler of the timeout: prints what this rank is doing, waits, and exits with status 124.
 * Waiting gives the other ranks a second to print too, before the launcher sees a process fail and
 * ends the job. If stderr is a pipe that nobody reads, or if looking up the calls hangs, a second
 * signal ends the rank. */
static void time_out(int signal)
{
	struct itimerspec again = {{0, 0}, {2, 0}};
	char moment[40];

	(void)signal;
	if (timed_out)
		_exit(124);
	timed_out = 1;
	syscall(SYS_timer_settime, timeout.timer, 0, &again, NULL);
	snprintf(moment, sizeof moment, "timeout of %s s", timeout.seconds);
	print_state("error", moment);
	sleep_second();
	_exit(124);
}

/* The handler of --where: prints what this rank is doing, if others may be waiting for it. */
static void print_where(int signal)
{
	enum state state = find_state();
	int before = errno;
	char moment[40];

	(void)signal;
	if (state == IN_FENCE || state >= WAITS_FOR_OTHERS || timed_out)
		return;
	mine.interrupted = state == IN_MPI_INIT;
	snprintf(moment, sizeof moment, "after %s s", where.seconds);
	print_state("note", moment);
	errno = before;
}

/* Returns the set that contains just SIGNAL. */
static sigset_t just(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	return set;
}

/* Arms ALARM, of OPTION: EVENT arrives LEFT us from now, 1 or more, and calls HANDLER. Makes system
 * calls because, before glibc 2.34, the timer functions were in librt. */
static void arm(struct alarm *alarm, const char *option, struct sigevent event, int64_t left,
		void (*handler)(int))
{
	/* SA_NODEFER: a second signal may interrupt time_out(). */
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_NODEFER};
	struct itimerspec once = {{0, 0}, {left / 1000000, left % 1000000 * 1000}};
	sigset_t signals = just(event.sigev_signo);

	alarm->signal = event.sigev_signo;
	alarm->timer = -1;
	sigaction(alarm->signal, &action, &alarm->old_action);
	sigprocmask(SIG_UNBLOCK, &signals, &alarm->old_mask); /* the inherited mask may block it */
	if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &alarm->timer) != 0)
		print_warning("cannot set a timer for %s: %s; raise ulimit -i on this node, or let "
			      "it call timer_create\n",
			      option, strerror(errno));
	syscall(SYS_timer_settime, alarm->timer, 0, &once, NULL);
}

/* Undoes what arm() has done, if it was called. */
static void disarm(struct alarm *alarm)
{
	sigset_t signals = just(alarm->signal);

	if (!alarm->signal)
		return;
	sigaction(alarm->signal, &(struct sigaction){.sa_handler = SIG_IGN}, NULL); /* if pending */
	syscall(SYS_timer_delete, alarm->timer);
	stop_if_timed_out();
	sigaction(alarm->signal, &alarm->old_action, NULL);
	if (sigismember(&alarm->old_mask, alarm->signal))
		sigprocmask(SIG_BLOCK, &signals, NULL);
	alarm->signal = 0;
}

/* Returns how long it is until SECONDS after the start, in us. It may have passed. */
static int64_t until(const char *seconds)
{
	return mine.at[START] + to_ms(seconds) * 1000 - now();
}

/* Arranges for time_out() to be called SECONDS after the start, or at once if that has passed. */
void arm_timeout(const char *seconds)
{
	/* valgrind uses SIGRTMAX. */
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX - 1};
	int64_t left = until(seconds);

	timeout.seconds = seconds;
	arm(&timeout, "--timeout", event, MAX(left, 1), time_out);
}

/* Returns a signal that the program neither handles nor blocks: SIGRTMAX - 2, if possible. */
static int find_free_signal(void)
{
	struct sigaction action;
	sigset_t blocked;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int signal = SIGRTMAX - 2; signal >= SIGRTMIN; signal--)
		if (!sigismember(&blocked, signal) && sigaction(signal, NULL, &action) == 0 &&
		    action.sa_handler == SIG_DFL)
			return signal;
	return SIGRTMAX - 2;
}

/* Arranges for print_where() to be called in this thread, SECONDS after the start, unless that has
 * passed. */
void arm_where(const char *seconds)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
				 .sigev_signo = find_free_signal()};
	int64_t left;

	load_stack();
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	where.seconds = seconds;
	left = until(seconds);
	if (left > 0)
		arm(&where, "--where", event, left, print_where);
}

void disarm_timeout(void)
{
	disarm(&timeout);
}

void disarm_where(void)
{
	disarm(&where);
	close_claim();
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
