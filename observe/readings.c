/*
 * readings.c - the clocks, and how this process spent its time: on a CPU, waiting for one, or
 * blocked
 *
 * On the clock: all but unwatch_thread() in ziaprobe; read_work() takes about 2 us, or 6 us the
 * first time.
 */
#include "observe.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

struct record this_rank = {.at[LIBRARIES_LOADED] = UNKNOWN};

static pid_t thread; /* the one that is watched */
static int schedstat = -1; /* its file, which is kept open because opening it takes 4 us */

static int64_t read_clock(clockid_t clock)
{
	struct timespec t = {0, 0}; /* if a thread has ended, its clock cannot be read */

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t now(void)
{
	return read_clock(CLOCK_REALTIME);
}

/* Returns how far the realtime clock is ahead of CLOCK, in us. CLOCK is read between two readings
 * of the realtime clock, and the bound is the time between those two. The closest of three such
 * readings is used, because one may be interrupted. */
struct estimate read_offset(clockid_t clock)
{
	struct estimate closest = {0, INT64_MAX};

	for (int i = 0; i < 3; i++) {
		int64_t before = now(), other = read_clock(clock), took = now() - before;

		if (llabs(took) < closest.bound)
			closest = (struct estimate){before + took / 2 - other, llabs(took)};
	}
	return closest;
}

/* Makes later readings those of the calling thread. Returns whether they were so before. */
bool watch_thread(void)
{
	pid_t before = thread;

	thread = (pid_t)syscall(SYS_gettid);
	schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	return thread == before;
}

/* Closes the file that watch_thread() has opened. Later readings will not include cpu_wait. */
void unwatch_thread(void)
{
	int file = schedstat;

	schedstat = -1; /* first, because a callback in another thread may read it */
	close(file);
}

/* Returns how long the watched thread has waited for a CPU, in us, or -1 if the kernel does not
 * record it. In that case, /proc/thread-self/schedstat is missing or contains only zeros. */
static int64_t read_cpu_wait(void)
{
	char text[80] = "", *end = text;
	int64_t waited, times;

	/* It holds three numbers: the time on a CPU as of the last tick, in ns; the time spent
	 * waiting for a CPU, in ns; and how many times the thread was scheduled on a CPU. */
	if (pread(schedstat, text, sizeof text - 1, 0) <= 0)
		return -1;
	strtoll(text, &end, 10);
	waited = strtoll(end, &end, 10);
	times = strtoll(end, &end, 10);
	return *end == '\n' && times > 0 ? waited / 1000 : -1;
}

/* Returns what this process, and the watched thread, have done so far. Async-signal-safe, errno
 * included; can be called from any thread. */
struct reading read_work(void)
{
	/* The clock is the one that pthread_getcpuclockid() returns for the thread. Its id is
	 * computed here because, before glibc 2.34, that function was in libpthread, not in libc. 6
	 * selects a thread's CPU time as the scheduler accounts for it. */
	clockid_t cpu = (clockid_t)(~(unsigned)thread << 3 | 6);
	struct rusage usage;
	int64_t on_cpu, cpu_wait;
	int before = errno;

	getrusage(RUSAGE_SELF, &usage);
	on_cpu = read_clock(cpu);
	cpu_wait = read_cpu_wait();
	errno = before;
	return (struct reading){on_cpu & LONGEST_READING,
				cpu_wait < 0 ? -1 : cpu_wait & LONGEST_READING,
				usage.ru_majflt & MOST_READ_FAULTS};
}

/* Stores a reading of what this process has done so far as the one for MARK. */
void note_work(enum mark mark)
{
	this_rank.readings[mark - LIBRARIES_LOADED] = read_work();
}
