/*
 * fence.c - when this rank first waits for the others inside MPI_Init
 *
 * That wait is a call of the process manager's fence. As make builds it, the executable defines
 * and exports that function, which takes the clock, the first time, and calls the library's own. On
 * the clock are that reading and the first look-up, 4 to 7 us.
 *
 * Nothing is seen where the library's start-up protocol is built in (MPICH's) or bound directly,
 * nor without FENCE, which a static build and one by hand leave out: there is no other library
 * to call then.
 */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr */

#include "run.h"

volatile int64_t fence_entered; /* 0 until then */

#ifdef FENCE
#include <dlfcn.h>

/* Takes the clock, and points *OWN to the function NAME that CALLER would have called without
 * this file: the next one, or where a plugin was opened privately the one that it was linked
 * with. NULL where there is none. */
static void enter(void *own, const char *name, void *caller)
{
	void **function = own, *handle;
	Dl_info object;

	if (fence_entered == 0)
		fence_entered = now();
	if (!*function)
		*function = dlsym(RTLD_NEXT, name);
	if (*function || !dladdr(caller, &object))
		return;
	handle = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (handle)
		*function = dlsym(handle, name);
}

/* The types are those of PMIx 2 to 5, PMI-2 and PMI-1 as the machine passes them. */
#define FENCE_OF(name, parameters, arguments)                                                      \
	__attribute__((visibility("default"))) int name parameters;                                \
	int name parameters                                                                        \
	{                                                                                          \
		static int(*own) parameters;                                                       \
                                                                                                   \
		enter(&own, #name, __builtin_return_address(0));                                   \
		return own ? own arguments : -1;                                                   \
	}
FENCE_OF(PMIx_Fence, (const void *procs, size_t count, const void *info, size_t infos),
	 (procs, count, info, infos))
FENCE_OF(PMIx_Fence_nb,
	 (const void *procs, size_t count, const void *info, size_t infos,
	  void (*done)(int, void *), void *data),
	 (procs, count, info, infos, done, data))
FENCE_OF(PMI2_KVS_Fence, (void), ())
FENCE_OF(PMI_Barrier, (void), ())
#endif
