/*
 * work.c - what this process did between two marks: was it on a CPU, waiting for one, or blocked?
 *
 * On the clock: note_work(), which takes some 2 us, and the first time 6.
 */
#include "run.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static struct work readings[MARKS + 1];

/* Returns how long the main thread has been on a CPU, in us, or UNKNOWN. The clock is the one that
 * pthread_getcpuclockid() names, which before glibc 2.34 was not in libc: the main thread's id is
 * the process id, and 6 stands for a thread's time as the scheduler counts it. */
static int64_t read_cpu(void)
{
	clockid_t clock = (clockid_t)(~(unsigned)getpid() << 3 | 6);
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		return UNKNOWN;
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Returns how long the main thread has waited for a CPU, in us, or UNKNOWN if the kernel does not
 * count this: the file is then missing, or all zeros. */
static int64_t read_cpu_wait(void)
{
	static int file = -2; /* not opened yet; it stays open because opening it takes 4 us */
	char text[80] = "", *wait;

	if (file == -2)
		file = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	/* It holds the time on a CPU, as of the last tick, and the time spent waiting for one, both
	 * in ns, and how many times the thread was put on a CPU. */
	if (pread(file, text, sizeof text - 1, 0) <= 0 || !text[strspn(text, " 0\n")])
		return UNKNOWN;
	strtoll(text, &wait, 10);
	return strtoll(wait, NULL, 10) / 1000;
}

/* Notes what this process has done so far, at MARK or, if that is MARKS, for the timeout.
 * Async-signal-safe, and may be called from any thread. */
void note_work(enum mark mark)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	readings[mark] = (struct work){read_cpu(), read_cpu_wait(), usage.ru_majflt};
}

static int64_t subtract(int64_t later, int64_t earlier)
{
	return later == UNKNOWN || earlier == UNKNOWN ? UNKNOWN : later - earlier;
}

/* Returns what this process did from the note at FROM to the note at TO. Nothing has been done at
 * START. Async-signal-safe. */
struct work work_between(enum mark from, enum mark to)
{
	const struct work *a = readings + from, *b = readings + to;

	return (struct work){subtract(b->cpu, a->cpu), subtract(b->cpu_wait, a->cpu_wait),
			     b->faults - a->faults};
}

static uint32_t to_cell(int64_t us)
{
	return us == UNKNOWN ? NOT_COUNTED : (uint32_t)MIN(MAX(us, 0), NOT_COUNTED - 1);
}

/* Stores in RECORD what this process did from the note at FROM to the note at TO, in its own step
 * that ends in MARK. */
void store_work(struct record *record, enum mark mark, enum mark from, enum mark to)
{
	struct work work = work_between(from, to);
	int i = work_index(mark);

	record->cpu[i] = to_cell(work.cpu);
	record->cpu_wait[i] = to_cell(work.cpu_wait);
	record->faults[i] = (uint16_t)MIN(work.faults, UINT16_MAX);
}
