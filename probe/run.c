/*
 * run.c - the ground floor: the clock, error text, memory and waiting; it calls no other file
 *
 * On the clock are now(), uptime() and wait_for(). The rest is off it.
 */
#include "run.h"

#include <poll.h>
#include <stdarg.h>
#include <time.h>

struct world world = {-1, 0};
volatile struct waiting waiting;

static int64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The realtime clock, in ns since 1970, UTC. Called on the clock: it takes the stamps. */
int64_t now(void)
{
	return read_clock(CLOCK_REALTIME);
}

/* The ns since this node booted, suspended or not. Called on the clock once, where main begins. */
int64_t uptime(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

/* Says on stderr, in one piece, what is wrong; KIND is error or warning. */
void say(const char *kind, const char *format, ...)
{
	char message[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	fprintf(stderr, "ziaprobe: %s: %s\n", kind, message);
}

/* COUNT > 0 elements of SIZE bytes, all 0. Without them the job ends. */
void *allocate(int count, size_t size)
{
	void *block = calloc((size_t)count, size);

	if (!block) {
		say("error", "rank %d: no memory for %d times %zu bytes", world.rank, count, size);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return block;
}

/* The value that is at K, counted from 0, of COUNT sorted VALUES, which are put into another order:
 * Hoare's selection. For 10^6 ranks qsort takes some ten times as long. */
int64_t select_ns(int64_t *values, int count, int k)
{
	int low = 0, high = count - 1;

	while (low < high) {
		int64_t pivot = values[low + (high - low) / 2];
		int i = low, j = high;

		while (i <= j) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i <= j) {
				int64_t value = values[i];

				values[i++] = values[j];
				values[j--] = value;
			}
		}
		/* low ... j are up to the pivot, i ... high from it on; between them it is. */
		if (k <= j)
			high = j;
		else if (k >= i)
			low = i;
		else
			break;
	}
	return values[k];
}

/* Waits for REQUEST, looking once a millisecond: where ranks share cores, who waits must not
 * delay those at work. */
void await(MPI_Request *request)
{
	int done = 0;

	for (;;) {
		MPI_Test(request, &done, MPI_STATUS_IGNORE);
		if (done)
			return;
		poll(NULL, 0, 1);
	}
}

/* Notes for the timeout what this rank is about to wait for; returns at once. On the clock. */
void wait_for(enum wait what, int from, int64_t since)
{
	waiting.from = from;
	waiting.since = since;
	waiting.what = what;
}
