/*
 * alarm.c - when a rank reports its state: at the timeout, after which it exits, and at the moment
 * of --where, after which it continues
 *
 * At each of these moments, the kernel sends a signal to the thread that called MPI_Init: its calls
 * explain a hang, and its stack is large enough for MPI, while others may have 4 KiB. It is not
 * SIGALRM, because the user's program may use that. The timeout has more means, in case that thread
 * blocks all signals, waits in the kernel, or hangs while it prints:
 *
 *	SECONDS after the start		the signal goes to that thread, which prints, and exits
 *					a second later
 *	+ 1 s				it goes to the process; any thread does the same, unless
 *					that thread has begun
 *	+ 2 s				it goes to the process again, which exits at once if
 *					that thread had begun
 *	+ 2.9 s				the kernel kills the process
 *
 * On the clock: arm(), if its option is given; with --where, also its handler.
 */
#include "observe.h"

#include <asm/posix_types.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#ifndef SYS_timer_settime /* musl's name on 32-bit systems */
#define SYS_timer_settime SYS_timer_settime32
#endif
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { TO_THREAD, TO_PROCESS, KILL, TIMERS, NO_TIMER = -1 };

static struct {
	const char *name, *severity, *moment; /* for messages */
	const char *seconds; /* after the start, as the user gave them */
	int signal; /* 0 if it is not armed */
	int timer[TIMERS]; /* their ids, or NO_TIMER; --where has one */
	/* What arm() has replaced, for disarm() */
	struct sigaction old_action;
	sigset_t old_mask;
} alarms[] = {
	[TIMEOUT] = {.name = "the timeout", .severity = "error", .moment = "timeout of"},
	[WHERE] = {.name = "the moment of --where", .severity = "note", .moment = "after"},
};

static atomic_int timed_out; /* how many signals of the timeout were handled, by any thread */

static void say_at(enum alarm alarm, struct doing doing)
{
	say(doing, alarms[alarm].severity, alarms[alarm].moment, alarms[alarm].seconds);
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

/* Creates a timer that sends SIGNAL to THREAD or, if that is 0, to the process. Returns its id, or
 * NO_TIMER. Makes a system call because, before glibc 2.34, the timer functions were in librt. */
static int create_timer(int signal, pid_t thread)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal};
	int timer;

	if (thread != 0) {
		event.sigev_notify = SIGEV_THREAD_ID;
		event.sigev_notify_thread_id = thread;
	}
	return syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) == 0 ? timer : NO_TIMER;
}

/* Starts TIMER, which expires in US > 0 us, and then every INTERVAL seconds, if that is not 0.
 * Passes what the system call takes: on 32-bit systems, libc's struct itimerspec may differ. */
static void start_timer(int timer, int64_t us, int interval)
{
	const __kernel_long_t spec[] = {interval, 0, us / 1000000, us % 1000000 * 1000};

	syscall(SYS_timer_settime, timer, 0, spec, NULL);
}

/* The handler of the timeout: prints what this rank is doing, waits, and exits with status 124.
 * Waiting gives the other ranks a second to print too, before the launcher sees a process fail and
 * ends the job. If this hangs, as when stderr is a pipe that nobody reads, the third signal, which
 * any thread may handle, ends the process, or else the kernel does. */
static void time_out(int signal)
{
	(void)signal;
	switch (atomic_fetch_add(&timed_out, 1)) {
	case 0:
		say_at(TIMEOUT, find_doing());
		sleep_second();
		break;
	case 1:
		return;
	}
	_exit(124);
}

/* The handler of --where: prints what this rank is doing, if others may be waiting for it. */
static void say_where(int signal)
{
	int before = errno;
	struct doing doing = find_doing();

	(void)signal;
	if (doing.state == IN_FENCE || doing.state >= WAITS_FOR_OTHERS || timed_out)
		return;
	this_rank.interrupted = doing.state == IN_MPI_INIT;
	say_at(WHERE, doing);
	errno = before;
}

/* Deletes the timers of ALARM that exist. */
static void delete_timers(enum alarm alarm)
{
	for (int i = 0; i < TIMERS; i++) {
		if (alarms[alarm].timer[i] != NO_TIMER)
			syscall(SYS_timer_delete, alarms[alarm].timer[i]);
		alarms[alarm].timer[i] = NO_TIMER;
	}
}

/* Creates the timers of ALARM, which sends SIGNAL. If that fails, prints a warning, creates none,
 * and returns false. */
static bool create_timers(enum alarm alarm, int signal)
{
	int *timer = alarms[alarm].timer;
	bool failed;

	for (int i = 0; i < TIMERS; i++)
		timer[i] = NO_TIMER;
	timer[TO_THREAD] = create_timer(signal, (pid_t)syscall(SYS_gettid));
	failed = timer[TO_THREAD] == NO_TIMER;
	if (alarm == TIMEOUT) {
		timer[TO_PROCESS] = create_timer(signal, 0);
		timer[KILL] = create_timer(SIGKILL, 0);
		failed |= timer[TO_PROCESS] == NO_TIMER || timer[KILL] == NO_TIMER;
	}
	if (failed) {
		delete_timers(alarm);
		print_warning("cannot set %s; raise ulimit -i on this node, or permit "
			      "timer_create\n",
			      alarms[alarm].name);
	}
	return !failed;
}

/* Arranges for the handler of ALARM to be called SECONDS after the start. If that moment has
 * passed, a timeout comes at once, and --where never. */
void arm(enum alarm alarm, const char *seconds)
{
	/* SA_NODEFER: a later signal may interrupt time_out(). */
	struct sigaction action = {.sa_handler = time_out, .sa_flags = SA_RESTART | SA_NODEFER};
	int signal = SIGRTMAX - 1; /* valgrind uses SIGRTMAX. */
	const int *timer = alarms[alarm].timer;
	int64_t left; /* us */
	sigset_t signals;

	if (alarm == WHERE) {
		load_backtrace();
		action.sa_handler = say_where;
		signal = find_free_signal();
	}
	left = this_rank.at[START] + to_ms(seconds) * 1000 - now();
	if (left <= 0 && alarm == WHERE)
		return;
	left = MAX(left, 1);
	if (!create_timers(alarm, signal))
		return;
	alarms[alarm].seconds = seconds;
	alarms[alarm].signal = signal;
	signals = just(signal);
	sigaction(signal, &action, &alarms[alarm].old_action);
	/* The inherited mask may block it. */
	sigprocmask(SIG_UNBLOCK, &signals, &alarms[alarm].old_mask);
	if (alarm == TIMEOUT) {
		start_timer(timer[TO_PROCESS], left + 1000000, 1);
		start_timer(timer[KILL], left + 2900000, 0);
	}
	start_timer(timer[TO_THREAD], left, 0); /* last, because the signal may come at once */
}

/* Undoes what arm() has done, if it was called for ALARM. */
void disarm(enum alarm alarm)
{
	int signal = alarms[alarm].signal;
	sigset_t signals;

	if (signal == 0)
		return;
	signals = just(signal);
	sigaction(signal, &(struct sigaction){.sa_handler = SIG_IGN}, NULL); /* if it is pending */
	delete_timers(alarm);
	stop_if_timed_out();
	sigaction(signal, &alarms[alarm].old_action, NULL);
	if (sigismember(&alarms[alarm].old_mask, signal))
		sigprocmask(SIG_BLOCK, &signals, NULL);
	alarms[alarm].signal = 0;
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
