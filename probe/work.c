/*
 * work.c - what this process did between two marks: was it on a CPU, waiting for one, or blocked?
 *
 * On the clock: note_work(), which takes about 2 us, or 6 us the first time.
 */
#include "run.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

static struct work readings[TIMED_OUT + 1];

/* Returns how long the main thread has been on a CPU, in us. The clock is the one that
 * pthread_getcpuclockid() returns for the main thread. Its id is computed here because, before
 * glibc 2.34, that function was in libpthread, not in libc. The main thread's id is the process id,
 * and 6 selects the thread's CPU time as the scheduler accounts for it. */
static int64_t read_cpu(void)
{
	return read_clock((clockid_t)(~(unsigned)getpid() << 3 | 6));
}

/* Returns how long the main thread has waited for a CPU, in us, or UNKNOWN if the kernel does not
 * record it. In that case, /proc/self/schedstat is missing or contains only zeros. */
static int64_t read_cpu_wait(void)
{
	static int file = -2; /* not opened yet; it is kept open because opening it takes 4 us */
	char text[80] = "", *end = text;
	int64_t waited, times;

	if (file == -2)
		file = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	/* It holds three numbers: the time on a CPU as of the last tick, in ns; the time spent
	 * waiting for a CPU, in ns; and how many times the thread was scheduled on a CPU. */
	if (pread(file, text, sizeof text - 1, 0) <= 0)
		return UNKNOWN;
	strtoll(text, &end, 10);
	waited = strtoll(end, &end, 10);
	times = strtoll(end, &end, 10);
	return *end == '\n' && times > 0 ? waited / 1000 : UNKNOWN;
}

/* Reads what this process has done so far, and stores it as the reading at MARK. The timeout
 * handler passes TIMED_OUT. Async-signal-safe; can be called from any thread. */
void note_work(enum mark mark)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	readings[mark] = (struct work){read_cpu(), read_cpu_wait(), usage.ru_majflt};
}

/* Returns what this process did between the readings at FROM and TO. At START, all readings are 0.
 * Async-signal-safe. */
struct work work_between(enum mark from, enum mark to)
{
	const struct work *a = readings + from, *b = readings + to;
	int known = a->cpu_wait != UNKNOWN && b->cpu_wait != UNKNOWN;

	return (struct work){b->cpu - a->cpu, known ? b->cpu_wait - a->cpu_wait : UNKNOWN,
			     b->faults - a->faults};
}

static uint32_t to_cell(int64_t us)
{
	return us == UNKNOWN ? NOT_COUNTED : (uint32_t)MIN(MAX(us, 0), NOT_COUNTED - 1);
}

/* Stores in RECORD what this process did between the readings at FROM and TO, as the work of the
 * step that ends in MARK. */
void store_work(struct record *record, enum mark mark, enum mark from, enum mark to)
{
	struct work work = work_between(from, to);
	int i = work_index(mark);

	record->cpu[i] = to_cell(work.cpu);
	record->cpu_wait[i] = to_cell(work.cpu_wait);
	record->faults[i] = (uint16_t)MIN(MAX(work.faults, 0), UINT16_MAX);
}
