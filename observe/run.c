/*
 * run.c - clocks, numbers, the pattern of the exchange, messages and memory
 *
 * On the clock: now(), read_clock(), read_offset(), to_number() and responder().
 */
#include "../explain/run.h"

struct world world = {-1, -1};

/* Returns the time of CLOCK in us. */
int64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Returns a stamp: the time of the realtime clock, in us since 1970 (UTC). */
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

/* Returns the number in TEXT, or -1 if TEXT does not consist of decimal digits or the number is
 * greater than MAX. TEXT may be NULL. */
int64_t to_number(const char *text, int64_t max)
{
	int64_t number;

	if (!text || !*text || text[strspn(text, "0123456789")])
		return -1;
	number = strtoll(text, NULL, 10); /* INT64_MAX if it is out of range */
	return number > max ? -1 : number;
}

/* Returns the rank that RANK sends its byte to, in a world of SIZE ranks: the same local rank in
 * the next block, or in block 0 if RANK is in the last. Returns -1 if RANK is a responder, that is,
 * in an odd block. */
int responder(int rank, int size, int n)
{
	return rank / n % 2 == 0 ? (int)(((int64_t)rank + n) % size) : -1;
}

/* For qsort: times in ascending order. */
int compare_times(const void *a, const void *b)
{
	const int64_t *p = a, *q = b;

	return (*p > *q) - (*p < *q);
}

/* Returns the 64-bit FNV-1a hash of TEXT, continued from BEFORE, which is either the hash of the
 * preceding text or the FNV-1a offset basis. */
uint64_t hash(uint64_t before, const char *text)
{
	for (; *text; text++)
		before = (before ^ (unsigned char)*text) * 0x100000001b3;
	return before;
}

/* Replaces every character of TEXT that is not printable ASCII with '?'. Async-signal-safe. */
void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

/* Allocates COUNT > 0 elements of SIZE bytes, all 0. Aborts the job if there is not enough
 * memory. */
void *allocate(int count, size_t size)
{
	void *block = calloc((size_t)count, size);

	if (!block) {
		print_error("out of memory: rank %d cannot allocate %d x %zu bytes; make more "
			    "memory available on its node\n",
			    world.rank, count, size);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return block;
}
