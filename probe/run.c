/*
 * run.c - the ground floor: the clock, messages, memory and waiting; it calls nobody
 */
#define _POSIX_C_SOURCE 200809L

#include "run.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct world world = {-1, 0};
volatile struct waiting waiting;

/* The realtime clock, in ns since 1970, UTC. Called on the clock: it takes the stamps. */
int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
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
void *memory(int count, size_t size)
{
	void *block = calloc((size_t)count, size);

	if (!block) {
		say("error", "rank %d: no memory for %d times %zu bytes", world.rank, count, size);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return block;
}

/* For qsort: int64_t in rising order. */
int compare_ns(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Waits for REQUEST, looking once a millisecond: where ranks share cores, who waits must not
 * delay those at work. */
void await(MPI_Request *request)
{
	int done = 0;

	while (MPI_Test(request, &done, MPI_STATUS_IGNORE), !done)
		poll(NULL, 0, 1);
}
