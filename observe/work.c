/*
 * work.c - how this process spent its time: on a CPU, waiting for one, or blocked
 *
 * On the clock: note_work(), which takes about 2 us, or 6 us the first time.
 */
#include "../explain/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wconversion" /* warns of every bit-field assignment */

struct work own_readings[TIMED_OUT - MAIN_ENTERED + 1];

static int schedstat = -2; /* not opened yet; it is kept open because opening it takes 4 us */

/* Returns how long the main thread has waited for a CPU, in us, or -1 if the kernel does not
 * record it. In that case, /proc/self/schedstat is missing or contains only zeros. */
static int64_t read_cpu_wait(void)
{
	char text[80] = "", *end = text;
	int64_t waited, times;

	if (schedstat == -2)
		schedstat = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	/* It holds three numbers: the time on a CPU as of the last tick, in ns; the time spent
	 * waiting for a CPU, in ns; and how many times the thread was scheduled on a CPU. */
	if (pread(schedstat, text, sizeof text - 1, 0) <= 0)
		return -1;
	strtoll(text, &end, 10);
	waited = strtoll(end, &end, 10);
	times = strtoll(end, &end, 10);
	return *end == '\n' && times > 0 ? waited / 1000 : -1;
}

/* Reads what this process has done so far, and keeps it as the reading at MARK. The timeout handler
 * passes TIMED_OUT. Async-signal-safe, errno included; can be called from any thread. */
void note_work(enum mark mark)
{
	/* The clock is the one that pthread_getcpuclockid() returns for the main thread. Its id is
	 * computed here because, before glibc 2.34, that function was in libpthread, not in libc.
	 * The main thread's id is the process id, and 6 selects the thread's CPU time as the
	 * scheduler accounts for it. */
	clockid_t cpu = (clockid_t)(~(unsigned)getpid() << 3 | 6);
	struct rusage usage;
	int before = errno;

	getrusage(RUSAGE_SELF, &usage);
	own_readings[mark - MAIN_ENTERED] =
		(struct work){read_clock(cpu), read_cpu_wait(), usage.ru_majflt};
	errno = before;
}

/* Stores the readings of this process in RECORD. Later ones will not include cpu_wait. */
void store_readings(struct record *record)
{
	memcpy(record->readings, own_readings, sizeof record->readings);
	close(schedstat);
	schedstat = -1; /* The user's program may get the same descriptor. */
}

/* Returns what a process did between the marks FROM and TO, given its READINGS from MAIN_ENTERED
 * on. Before main, all readings are 0. Threads that are in fences at the same time may have taken
 * two readings in the opposite order, so negative differences become 0. Async-signal-safe. */
struct work work_between(const struct work *readings, enum mark from, enum mark to)
{
	struct work earlier = {0, 0, 0}, later = readings[to - MAIN_ENTERED];
	bool known;

	if (from >= MAIN_ENTERED)
		earlier = readings[from - MAIN_ENTERED];
	known = earlier.cpu_wait >= 0 && later.cpu_wait >= 0;
	return (struct work){MAX(later.cpu - earlier.cpu, 0),
			     known ? MAX(later.cpu_wait - earlier.cpu_wait, 0) : -1,
			     MAX(later.faults - earlier.faults, 0)};
}
