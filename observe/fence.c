/*
 * fence.c - when this rank waits for the others inside MPI_Init
 *
 * Ranks wait for each other in fences of the process manager. When built by make, the executable
 * defines and exports the functions that MPI libraries call to enter a fence. Each function takes a
 * stamp, calls the library's function of the same name with the caller's arguments, whatever they
 * are, and takes another stamp. Our callback calls the caller's. The caller gets the result.
 *
 * A non-blocking fence returns at once and ends with a callback. Until then, the MPI library may do
 * work of its own. Open MPI may find afterwards that it need not wait; to wait, it calls usleep in
 * a loop until the callback arrives, so usleep is intercepted, too. With any other MPI, and if Open
 * MPI calls another usleep, a rank is assumed to wait as soon as it has entered the fence.
 *
 * On the clock: two stamps per fence, each with a reading of what this process has done so far
 * (readings.c); the look-ups of lookup.c; for non-blocking fences, once, Open MPI's library and its
 * reference to usleep, which takes some 50 us; and for each usleep in such a fence, a look-up of
 * its caller, until the rank is known to wait.
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
	atomic_bool waited; /* whether this rank waits or has waited, rather than working */
	void (*done)(int status, void *data); /* the callback of the caller, if non-blocking */
	void *data; /* for that callback */
} fences[FENCES];

const char *fence_interface;

static atomic_int entered_count; /* the index of the next one; from FENCES on, none is recorded */

/* Called when MPI_Init has returned: later fences are not recorded. */
void leave_mpi_init(void)
{
	entered_count = FENCES;
}

/* The object that holds Open MPI's start-up, if this process uses Open MPI */
static struct {
	void *_Atomic base; /* where it is loaded; NULL if it has not been found */
	function *const *usleep; /* where it holds the address of the usleep that it calls */
	/* What it holds there until its first call; NULL if it was bound before. */
	function *unbound;
} open_mpi;

/* Returns whether Open MPI calls a usleep other than ours, which it does if it was loaded with
 * RTLD_DEEPBIND, or one that was not found. Then its naps cannot be seen. Async-signal-safe. */
static bool naps_elsewhere(void)
{
#ifdef INTERPOSE
	if (!open_mpi.base)
		return false;
	if (!open_mpi.usleep)
		return true;
	return *open_mpi.usleep != open_mpi.unbound && !is_own(*(void *const *)open_mpi.usleep);
#else
	return false;
#endif
}

/* Returns where this rank is in MPI_Init now. What it does in a non-blocking fence without waiting
 * is MPI_Init's own work, which is timed from the entry. Async-signal-safe. */
struct position find_position(void)
{
	struct position position = {0, &this_rank.readings[MAIN_ENTERED - LIBRARIES_LOADED], false};

	for (int i = 0; i < FENCES && fences[i].entered; i++) {
		struct fence *fence = fences + i;
		bool has_waited = fence->waited || (!fence->ended && naps_elsewhere());
		bool has_left = has_waited && fence->ended;

		if (fence->entered == FAILED)
			continue;
		position.since = has_left ? fence->ended : fence->entered;
		position.work = has_left ? &fence->work_ended : &fence->work_entered;
		position.waits = has_waited && !has_left;
	}
	return position;
}

/* Stores the stamps and readings of the fences in RECORD, which must already hold INIT_RETURNED. A
 * fence in which this rank did not wait has no stamp of leaving. Counting stops at the first fence
 * that had not ended by then; the stamps of that one and of later ones are UNKNOWN. */
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
		if (fence->waited)
			stamp[left] = fence->ended;
		record->readings[entered - LIBRARIES_LOADED] = fence->work_entered;
		record->readings[left - LIBRARIES_LOADED] = fence->work_ended;
		count++;
	}
}

#ifdef INTERPOSE
#include <dlfcn.h>

/* How many fence functions this thread is in: a library's PMIx_Fence may call PMIx_Fence_nb. Only
 * the outermost call is recorded as a fence. */
static _Thread_local int nesting;

/* The index of the fence that this thread entered last, or -1 if that is not recorded. */
static _Thread_local int current_fence = -1;

/* Begins a fence of INTERFACE. If WAITS is not set, this rank may begin to wait later. Returns its
 * index, or -1 if it does not count, because it is not OF_ALL ranks or is inside another. */
int enter_fence(const char *interface, bool of_all, bool waits)
{
	int64_t entered;
	int i;

	if (nesting > 0)
		return -1;
	i = of_all ? atomic_fetch_add(&entered_count, 1) : -1;
	current_fence = i < FENCES ? i : -1;
	if (current_fence < 0)
		return -1;
	fence_interface = interface;
	entered = now();
	fences[i].work_entered = read_work();
	fences[i].waited = waits;
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

/* Ends a non-blocking fence. It is called instead of the caller's callback, which it then calls. */
static void complete_fence(int status, void *data)
{
	struct fence *fence = data;

	if (naps_elsewhere())
		fence->waited = true;
	end_fence((int)(fence - fences));
	fence->done(status, fence->data);
}

enum { PMIX_RANK_WILDCARD = -2 };

/* Returns whether PROCS, an array of COUNT pmix_proc_t, means all ranks. It does if it is empty or
 * contains only the rank PMIX_RANK_WILDCARD. */
static bool covers_all_ranks(const void *procs, size_t count)
{
	const struct proc {
		char nspace[256];
		uint32_t rank;
	} *proc = procs;

	return !proc || count == 0 || (count == 1 && proc->rank == (uint32_t)PMIX_RANK_WILDCARD);
}

/* The blocking fences. The parameter types are ABI-compatible with those of PMIx 2 to 5, PMI-2,
 * PMI-1 and Cray's PMI, whose PMI_Allgather exchanges addresses. Cray's has been tried only with a
 * mock library. */
#define FENCE_OF(interface, name, parameters, arguments, of_all)                                   \
	static struct interposed interposed_##name;                                                \
	EXPORTED int name parameters                                                               \
	{                                                                                          \
		int fence = enter_fence(interface, of_all, true), result = -1;                     \
		int(*library) parameters =                                                         \
			(int(*) parameters)library_function(&interposed_##name, CALLER);           \
                                                                                                   \
		nesting++;                                                                         \
		if (library)                                                                       \
			result = library arguments;                                                \
		nesting--;                                                                         \
		end_fence(fence);                                                                  \
		return result;                                                                     \
	}                                                                                          \
	INTERPOSE_ON(name)
FENCE_OF("PMIx", PMIx_Fence, (const void *procs, size_t count, const void *info, size_t infos),
	 (procs, count, info, infos), covers_all_ranks(procs, count));
FENCE_OF("PMI2", PMI2_KVS_Fence, (void), (), true);
FENCE_OF("PMI", PMI_Barrier, (void), (), true);
FENCE_OF("PMI", PMI_Allgather, (void *in, void *out, int length), (in, out, length), true);

/* Returns the address at which the object that holds Open MPI's start-up is loaded, or NULL if this
 * process uses another MPI. It is looked up until it is found. If a plugin has loaded it privately,
 * as Python does, only CALLER's object knows it. */
static void *find_open_mpi(void *caller)
{
	Dl_info object, target;
	void *init;

	if (open_mpi.base)
		return open_mpi.base;
	init = dlsym(RTLD_DEFAULT, "ompi_mpi_init");
	if (!init && dladdr(caller, &object))
		init = find_in_file(object.dli_fname, "ompi_mpi_init");
	if (!init || !dladdr(init, &object))
		return NULL;
	open_mpi.usleep = find_reference(init, "usleep");
	if (open_mpi.usleep && dladdr(*(void *const *)open_mpi.usleep, &target) &&
	    target.dli_fbase == object.dli_fbase)
		open_mpi.unbound = *open_mpi.usleep;
	open_mpi.base = object.dli_fbase;
	return open_mpi.base;
}

static struct interposed interposed_PMIx_Fence_nb;

/* The non-blocking fence ends with its callback. If the call does not return PMIX_SUCCESS (0),
 * there will be no callback: either the fence is complete, or the call failed. */
enum { PMIX_OPERATION_SUCCEEDED = -157 };
EXPORTED int PMIx_Fence_nb(const void *procs, size_t count, const void *info, size_t infos,
			   void (*done)(int status, void *data), void *data)
{
	bool of_all = done && covers_all_ranks(procs, count);
	int fence = enter_fence("PMIx", of_all, !find_open_mpi(CALLER)), result = -1;
	__typeof__(PMIx_Fence_nb) *library =
		(__typeof__(library))library_function(&interposed_PMIx_Fence_nb, CALLER);

	if (fence >= 0) {
		fences[fence].done = done;
		fences[fence].data = data;
		done = complete_fence;
		data = &fences[fence];
	}
	nesting++;
	if (library)
		result = library(procs, count, info, infos, done, data);
	nesting--;
	if (result == PMIX_OPERATION_SUCCEEDED)
		end_fence(fence);
	else if (fence >= 0 && result != 0)
		cancel_fence(fence);
	return result;
}
INTERPOSE_ON(PMIx_Fence_nb);

struct interposed *const interposed_fences[] = {
	&interposed_PMIx_Fence,     &interposed_PMIx_Fence_nb, &interposed_PMI_Barrier,
	&interposed_PMI2_KVS_Fence, &interposed_PMI_Allgather, NULL};

/* Like the C library's usleep. If Open MPI calls it while the callback of a non-blocking fence is
 * outstanding, this rank waits in that fence. Calls from other libraries (libpsm2, libinfinipath,
 * libfabric) count as work. */
EXPORTED int usleep(useconds_t us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};
	int i = current_fence;
	Dl_info object;

	if (i >= 0 && !fences[i].waited && !fences[i].ended && dladdr(CALLER, &object) &&
	    object.dli_fbase == find_open_mpi(CALLER))
		fences[i].waited = true;
	return nanosleep(&time, NULL);
}
#endif
