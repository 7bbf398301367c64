/*
 * timeout.c - the two moments at which a rank says what it is doing: when the timeout expires, and
 * then it exits; and for --where, and then it goes on
 *
 * At each of them, the kernel sends a signal. It is not SIGALRM, because the user's program may use
 * that.
 *
 * On the clock: arm(), if its option is given.
 */
#include "notes.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static struct {
	const char *name, *severity, *moment; /* for messages */
	const char *seconds; /* after the start, as the user gave them */
	int signal; /* 0 if it is not armed */
	int timer; /* its id, or -1 */
	/* What arm() has replaced, for disarm() */
	struct sigaction old_action;
	sigset_t old_mask;
} alarms[] = {
	[TIMEOUT] = {"the timeout", "error", "timeout of", .signal = 0},
	[WHERE] = {"the moment of --where", "note", "after", .signal = 0},
};

static int killer = -1; /* the timer that ends a rank which cannot handle the timeout's signal */
static atomic_int timed_out; /* the handler may run in another thread */

/* Sleeps for a second, whatever signals arrive. */
void sleep_second(void)
{
	struct timespec left = {1, 0};

	while (nanosleep(&left, &left) != 0)
		;
}

static void print_alarm(enum alarm alarm)
{
	print_state(alarms[alarm].severity, alarms[alarm].moment, alarms[alarm].seconds);
}

/* The handler of the timeout: prints what this rank is doing, waits, and exits with status 124.
 * Waiting gives the other ranks a second to print too, before the launcher sees a process fail and
 * ends the job. If stderr is a pipe that nobody reads, or if looking up the calls hangs, a second
 * signal ends the rank; if it blocks all signals, KILLER does. */
static void time_out(int signal)
{
	struct itimerspec again = {{0, 0}, {2, 0}};

	(void)signal;
	if (timed_out)
		_exit(124);
	timed_out = 1;
	syscall(SYS_timer_settime, alarms[TIMEOUT].timer, 0, &again, NULL);
	print_alarm(TIMEOUT);
	sleep_second();
	_exit(124);
}

/* The handler of --where: prints what this rank is doing, if others may be waiting for it. */
static void say_where(int signal)
{
	int before = errno;
	enum state state = find_state();

	(void)signal;
	if (state == IN_FENCE || state >= WAITS_FOR_OTHERS || timed_out)
		return;
	mine.interrupted = state == IN_MPI_INIT;
	print_alarm(WHERE);
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

/* Makes a timer for NAME that sends EVENT in US > 0 us, and stores its id in *TIMER before it can
 * expire. If that fails, prints a warning, stores -1, and returns false. Makes system calls
 * because, before glibc 2.34, the timer functions were in librt. */
static bool start_timer(int *timer, const char *name, struct sigevent event, int64_t us)
{
	struct itimerspec once = {{0, 0}, {us / 1000000, us % 1000000 * 1000}};

	if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, timer) == 0)
		return syscall(SYS_timer_settime, *timer, 0, &once, NULL) == 0;
	*timer = -1;
	print_warning("cannot set %s; raise ulimit -i on this node, or permit timer_create\n",
		      name);
	return false;
}

/* Arranges for the handler of ALARM to be called SECONDS after the start; that of --where in this
 * thread. If that moment has passed, a timeout comes at once, and --where never. */
void arm(enum alarm alarm, const char *seconds)
{
	/* SA_NODEFER: a second signal may interrupt time_out(). */
	struct sigaction action = {.sa_handler = time_out, .sa_flags = SA_RESTART | SA_NODEFER};
	/* valgrind uses SIGRTMAX. */
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX - 1};
	struct sigevent kill = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	int64_t left; /* us */
	sigset_t signals;

	if (alarm == WHERE) {
		load_stack();
		action.sa_handler = say_where;
		event.sigev_signo = find_free_signal();
		event.sigev_notify = SIGEV_THREAD_ID;
		event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	}
	left = mine.at[START] + to_ms(seconds) * 1000 - now();
	if (left <= 0 && alarm == WHERE)
		return;
	left = MAX(left, 1);
	alarms[alarm].seconds = seconds;
	alarms[alarm].signal = event.sigev_signo;
	signals = just(event.sigev_signo);
	sigaction(event.sigev_signo, &action, &alarms[alarm].old_action);
	/* The inherited mask may block it. */
	sigprocmask(SIG_UNBLOCK, &signals, &alarms[alarm].old_mask);
	/* The killer comes first: the handler may run as soon as the other timer starts. */
	if (alarm == WHERE || start_timer(&killer, alarms[alarm].name, kill, left + 2900000))
		start_timer(&alarms[alarm].timer, alarms[alarm].name, event, left);
}

/* Undoes what arm() has done, if it was called for ALARM. */
void disarm(enum alarm alarm)
{
	int signal = alarms[alarm].signal;
	sigset_t signals = just(signal);

	if (signal == 0)
		return;
	sigaction(signal, &(struct sigaction){.sa_handler = SIG_IGN}, NULL); /* if it is pending */
	syscall(SYS_timer_delete, alarms[alarm].timer);
	if (alarm == TIMEOUT)
		syscall(SYS_timer_delete, killer);
	stop_if_timed_out();
	sigaction(signal, &alarms[alarm].old_action, NULL);
	if (sigismember(&alarms[alarm].old_mask, signal))
		sigprocmask(SIG_BLOCK, &signals, NULL);
	alarms[alarm].signal = 0;
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
