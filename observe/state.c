/*
 * state.c - what this rank is doing
 *
 * On the clock: note_state(); with --where, also find_doing().
 */
#include "observe.h"

#include <stdatomic.h>

/* The states of this rank so far; a benchmark has fewer than ten. Each is written only once, before
 * COUNT includes it, so a signal handler in any thread may read the last one. */
static struct doing states[20];
static atomic_int count;

/* Notes that this rank has been in STATE since the stamp SINCE, waiting for RANK, or for no rank if
 * RANK is -1. */
void note_state(enum state state, int rank, int64_t since)
{
	int next = MIN(count, (int)(sizeof states / sizeof *states) - 1);

	states[next] = (struct doing){state, rank, since, NULL};
	count = next + 1;
}

/* Returns what this rank is doing. Async-signal-safe. */
struct doing find_doing(void)
{
	struct doing doing = states[MAX(count, 1) - 1];
	struct position position;

	if (doing.state != IN_MPI_INIT)
		return doing;
	position = find_position();
	doing.work = position.work;
	if (position.waits)
		doing.state = IN_FENCE;
	if (position.since)
		doing.since = position.since;
	return doing;
}
