/*
 * fence.c - when this rank waits for the others inside MPI_Init
 *
 * Ranks wait for each other in fences of the process manager. A rank enters a fence by calling a
 * library function (pmi.c), or by sending a command on PMI's wire (wire.c).
 *
 * The call that enters a non-blocking fence returns at once; the fence ends with a callback. Until
 * then, the rank counts as waiting, even while it works. This work cannot delay the fence, and any
 * that is left when the callback comes counts as MPI_Init's own.
 *
 * On the clock: two stamps per fence, each with a reading of what this process has done so far
 * (readings.c).
 *
 * Fences cannot be seen if the MPI library is linked so that its calls cannot be intercepted.
 * Builds by hand leave this code out, and so do static builds, which have no other library to call.
 */
#include "observe.h"

#include <stdatomic.h>

/* In ENTERED: a write, or a non-blocking call, has failed, so this was no fence. */
enum { FAILED = -1 };

/* The first fences. Callbacks write here from the library's thread. */
static struct fence {
	_Atomic int64_t entered, ended; /* stamps; 0 if not yet */
	struct reading work_entered, work_ended;
} fences[FENCES];

static const char *_Atomic latest_interface;

static atomic_int entered_count; /* the index of the next one; from FENCES on, none is recorded */

/* Returns the interface of the latest fence, "PMIx", "PMI2" or "PMI"; NULL if there was none. */
const char *fence_interface(void)
{
	return latest_interface;
}

/* Called when MPI_Init has returned: later fences are not recorded. */
void leave_mpi_init(void)
{
	entered_count = FENCES;
}

/* Returns where this rank is in MPI_Init now: in the first fence that has not ended or, if there is
 * none, behind the one that ended last. Async-signal-safe. */
struct position find_position(void)
{
	struct position position = {0, &this_rank.readings[MAIN_ENTERED - LIBRARIES_LOADED], false};

	for (int i = 0; i < FENCES && fences[i].entered; i++) {
		struct fence *fence = fences + i;
		int64_t entered = fence->entered;
		int64_t ended = fence->ended; /* a callback may set it at any time */

		if (entered == FAILED)
			continue;
		if (!ended)
			return (struct position){entered, &fence->work_entered, true};
		if (ended >= position.since)
			position = (struct position){ended, &fence->work_ended, false};
	}
	return position;
}

/* Stores the stamps and readings of the fences in RECORD, which must already hold INIT_RETURNED.
 * Counting stops at the first fence that had not ended by then; the stamps of that one and of later
 * ones are UNKNOWN. */
void store_fences(struct record *record)
{
	int64_t *stamp = record->at;
	int count = 0;

	for (int m = FENCE_ENTERED; m < FENCES_END; m++)
		stamp[m] = UNKNOWN;
	for (struct fence *fence = fences; fence < fences + FENCES && fence->entered; fence++) {
		enum mark entered = fence_mark(FENCE_ENTERED, count);
		enum mark left = fence_mark(FENCE_LEFT, count);

		if (fence->entered == FAILED)
			continue;
		if (!fence->ended || fence->ended > stamp[INIT_RETURNED])
			break;
		stamp[entered] = fence->entered;
		stamp[left] = fence->ended;
		record->readings[entered - LIBRARIES_LOADED] = fence->work_entered;
		record->readings[left - LIBRARIES_LOADED] = fence->work_ended;
		count++;
	}
}

#ifdef INTERPOSE
/* How many fence functions this thread is in: a library's PMIx_Fence may call PMIx_Fence_nb. Only
 * the outermost call is recorded as a fence. */
static _Thread_local int nesting;

/* Begins a fence of INTERFACE. Returns its index, or -1 if it is not recorded: because it is not
 * OF_ALL ranks, is inside another, comes after MPI_Init, or exceeds FENCES. */
int enter_fence(const char *interface, bool of_all)
{
	int64_t entered;
	int i;

	if (nesting > 0)
		return -1;
	i = of_all ? atomic_fetch_add(&entered_count, 1) : -1;
	if (i < 0 || i >= FENCES)
		return -1;
	latest_interface = interface;
	entered = now();
	fences[i].work_entered = read_work();
	fences[i].entered = entered;
	return i;
}

/* Ends fence I. Does nothing if I is -1. */
void end_fence(int i)
{
	if (i < 0)
		return;
	fences[i].work_ended = read_work();
	fences[i].ended = now();
}

/* Undoes the entry of fence I, whose call has failed. */
void cancel_fence(int i)
{
	fences[i].entered = FAILED;
}

/* Begins a call of a function of pmi.c: a fence of INTERFACE, if it is OF_ALL ranks and not
 * inside another. Returns its index or -1, for end_call(). */
int begin_call(const char *interface, bool of_all)
{
	int fence = enter_fence(interface, of_all);

	nesting++;
	return fence;
}

/* Ends the call, and its FENCE. Returns RESULT. */
int end_call(int fence, int result)
{
	nesting--;
	end_fence(fence);
	return result;
}
#endif
