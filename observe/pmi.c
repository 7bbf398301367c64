/*
 * pmi.c - the functions that MPI libraries call to enter a fence
 *
 * libziaprobe.so defines and exports these functions, as does ziaprobe, unless it is linked
 * statically or was built by hand. Each enters a fence, calls the library's function of the same
 * name with the caller's arguments, ends the fence, and returns the result. PMIx_Fence_nb passes a
 * callback of ours, which ends the fence and then calls the caller's. The functions are
 * ABI-compatible with those of PMIx 2 to 5, PMI-2, PMI-1 and Cray's PMI, whose PMI_Allgather
 * exchanges addresses. Cray's has been tested only with a mock library.
 *
 * On the clock: what fence.c does for each fence, and the look-ups of library.c.
 */
#include "library.h"

#ifdef INTERPOSE
#include <dlfcn.h>

/* The function that our function NAME calls in turn, or NULL */
#define ORIGINAL(name) ((__typeof__(name) *)original(fence_functions, #name, CALLER))

EXPORTED int PMI_Barrier(void)
{
	int fence = begin_call("PMI", true);
	__typeof__(PMI_Barrier) *barrier = ORIGINAL(PMI_Barrier);

	return end_call(fence, barrier ? barrier() : -1);
}

EXPORTED int PMI_Allgather(void *in, void *out, int length)
{
	int fence = begin_call("PMI", true);
	__typeof__(PMI_Allgather) *allgather = ORIGINAL(PMI_Allgather);

	return end_call(fence, allgather ? allgather(in, out, length) : -1);
}

EXPORTED int PMI2_KVS_Fence(void)
{
	int fence = begin_call("PMI2", true);
	__typeof__(PMI2_KVS_Fence) *kvs_fence = ORIGINAL(PMI2_KVS_Fence);

	return end_call(fence, kvs_fence ? kvs_fence() : -1);
}

static function *pmix; /* a function of the PMIx library whose fence this rank has entered */

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

EXPORTED int PMIx_Fence(const void *procs, size_t count, const void *info, size_t infos)
{
	int fence = begin_call("PMIx", covers_all_ranks(procs, count));
	__typeof__(PMIx_Fence) *pmix_fence = ORIGINAL(PMIx_Fence);

	pmix = (function *)pmix_fence;
	return end_call(fence, pmix_fence ? pmix_fence(procs, count, info, infos) : -1);
}

/* The callbacks of the callers of non-blocking fences */
typedef void callback_fn(int status, void *data);
static struct callback {
	callback_fn *function;
	void *data;
} callbacks[FENCES];

/* Called instead of the caller's CALLBACK: ends its non-blocking fence, and then calls it. */
static void complete_fence(int status, void *callback)
{
	struct callback *caller = callback;

	end_fence((int)(caller - callbacks));
	caller->function(status, caller->data);
}

/* The non-blocking fence ends with its callback. If the call does not return PMIX_SUCCESS (0),
 * there will be no callback: either the fence is complete, or the call failed. */
enum { PMIX_OPERATION_SUCCEEDED = -157 };
EXPORTED int PMIx_Fence_nb(const void *procs, size_t count, const void *info, size_t infos,
			   callback_fn *done, void *data)
{
	int fence = begin_call("PMIx", done && covers_all_ranks(procs, count)), result = -1;
	__typeof__(PMIx_Fence_nb) *fence_nb = ORIGINAL(PMIx_Fence_nb);

	pmix = (function *)fence_nb;
	if (fence >= 0) {
		callbacks[fence] = (struct callback){done, data};
		done = complete_fence;
		data = callbacks + fence;
	}
	if (fence_nb)
		result = fence_nb(procs, count, info, infos, done, data);
	if (fence >= 0 && result != 0 && result != PMIX_OPERATION_SUCCEEDED)
		cancel_fence(fence);
	return end_call(result == PMIX_OPERATION_SUCCEEDED ? fence : -1, result);
}

/* Returns on how many nodes the ranks of this job run, according to that library. Returns
 * NOBODY_TOLD if no such library was seen, or if it cannot say so, and NOT_TOLD if the look-up
 * fails. (The key pmix.num.nodes counts the nodes of an allocation, with Open MPI 5.) */
int pmix_nodes(void)
{
	int (*resolve_nodes)(const char *nspace, char **list);
	const char *nspace = getenv("PMIX_NAMESPACE");
	char *list = NULL; /* "n1,n2" */
	int nodes = 1;
	Dl_info object;

	if (!nspace || !pmix || !dladdr(*(void **)&pmix, &object))
		return NOBODY_TOLD;
	*(void **)&resolve_nodes = find_in_file(object.dli_fname, "PMIx_Resolve_nodes");
	if (!resolve_nodes) /* a tracer's fence */
		resolve_nodes = (__typeof__(resolve_nodes))find_anywhere("PMIx_Resolve_nodes");
	if (!resolve_nodes)
		return NOBODY_TOLD;
	if (resolve_nodes(nspace, &list) != 0 || !list || !*list)
		return NOT_TOLD;
	for (const char *at = list; *at; at++)
		nodes += *at == ',';
	free(list);
	return nodes;
}

struct interposed fence_functions[] = {
	{.name = "PMIx_Fence", .own = (function *)PMIx_Fence},
	{.name = "PMIx_Fence_nb", .own = (function *)PMIx_Fence_nb},
	{.name = "PMI_Barrier", .own = (function *)PMI_Barrier},
	{.name = "PMI_Allgather", .own = (function *)PMI_Allgather},
	{.name = "PMI2_KVS_Fence", .own = (function *)PMI2_KVS_Fence},
	{.name = NULL},
};
#else
int pmix_nodes(void)
{
	return NOBODY_TOLD;
}
#endif
