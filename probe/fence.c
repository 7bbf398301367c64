/*
 * fence.c - when this rank waits for the others inside MPI_Init
 *
 * That wait is a call of the process manager's fence. As make builds it, the executable defines
 * and exports these functions, which take the clock before and after and call the library's own.
 * Whatever happens here, that one gets what its caller gave, and its answer is returned.
 *
 * On the clock are two readings for each fence, and the look-up of each function, 4 to 7 us.
 *
 * Nothing is seen where the library's start-up protocol is built in (MPICH's) or bound directly,
 * nor without FENCE, which a static build and one by hand leave out: there is no other library
 * to call then.
 */
#include "run.h"

#include <stdatomic.h>

static atomic_int entered_count; /* fences */

/* The first of them; 0: not yet. A callback writes in the library's thread. */
static struct {
	_Atomic int64_t entered, left;
} stays[FENCES];

/* What the fence that was found last is called, and the library that has it; NULL: none yet. */
static struct {
	const char *name, *file;
} library;

/* Whose fences are seen, as "PMIx, libpmix.so.2"; NULL if none are. Static storage. */
const char *fence_library(void)
{
	static char text[80];
	const char *slash = library.file ? strrchr(library.file, '/') : NULL;

	if (!library.file)
		return NULL;
	snprintf(text, sizeof text, "%.*s, %.60s", (int)strcspn(library.name, "_"), library.name,
		 slash ? slash + 1 : library.file);
	return text;
}

/* Whether fences show at all: whether no fence means that this rank has not come to one. */
int fences_show(void)
{
#if defined FENCE && defined OPEN_MPI
	return 1;
#else
	return entered_count > 0;
#endif
}

/* Whether this rank is in a fence now. If so, *SINCE becomes when it entered it, otherwise, if it
 * has been in one, when it left the last. Async-signal-safe. */
int in_fence(int64_t *since)
{
	for (int i = 0; i < FENCES; i++) {
		if (!stays[i].entered)
			continue;
		*since = stays[i].left ? stays[i].left : stays[i].entered;
		if (!stays[i].left)
			return 1;
	}
	return 0;
}

/* Whether the environment's NAME, a setting of Open MPI's, is on. */
static int on(const char *name)
{
	const char *text = getenv(name);

	return text && *text && strcmp(text, "0") != 0 && strcmp(text, "false") != 0;
}

/* Fills in the fences entered before UNTIL, when MPI_Init returned; none where Open MPI is told not
 * to wait in them. */
void read_fences(struct facts *facts, int64_t until)
{
	if (on("OMPI_MCA_pmix_base_async_modex") || on("OMPI_MCA_async_mpi_init"))
		return;
	for (int i = 0; i < FENCES; i++) {
		int64_t entered = stays[i].entered, left = stays[i].left;

		if (entered && entered < until)
			facts->fences[facts->fence_count++] =
				(struct fence){entered, left ? left : INT64_MAX};
	}
}

#ifdef FENCE
#include <dlfcn.h>
#include <link.h>

/* What the caller of a non-blocking fence wants to have called. */
static struct callback {
	void (*done)(int status, void *data);
	void *data;
} callbacks[FENCES];

/* Nesting in this thread. A library's PMIx_Fence may call its PMIx_Fence_nb, which is ours too:
 * only the outermost call is a fence. */
static _Thread_local int depth;

/* A fence begins, of all ranks if ALL. Returns its number, -1 if it is not kept. Each needs its
 * leave_fence(). */
static int enter_fence(int all)
{
	int i;

	if (depth++ > 0 || !all)
		return -1;
	i = atomic_fetch_add(&entered_count, 1);
	if (i >= FENCES)
		return -1;
	stays[i].entered = now();
	return i;
}

/* The call that enter_fence() returned I for has returned; with ENDED so has its fence. */
static void leave_fence(int i, int ended)
{
	depth--;
	if (i >= 0 && ended)
		stays[i].left = now();
}

/* A non-blocking fence has ended. */
static void end(int status, void *data)
{
	struct callback *callback = data;

	stays[callback - callbacks].left = now();
	callback->done(status, callback->data);
}

/* Whether PROCS, COUNT of PMIx's pmix_proc_t, are all ranks: none, or the one of rank
 * PMIX_RANK_WILDCARD. */
static int of_all(const void *procs, size_t count)
{
	const struct proc {
		char nspace[256];
		uint32_t rank;
	} *proc = procs;

	return !proc || count == 0 || (count == 1 && proc->rank == UINT32_MAX - 1);
}

/* The function NAME of the loaded library FILE or of those that it needs; NULL where they have
 * none. */
static void *function_of(const char *file, const char *name)
{
	void *handle = *file ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : NULL;

	return handle ? dlsym(handle, name) : NULL;
}

/* Points *OWN to the function NAME that CALLER would have called without this file: the next one.
 * Where there is none, the library came in with a plugin that was opened privately: CALLER's own,
 * or where CALLER is not its caller, as after a tail call, any that is loaded. NULL where there is
 * none at all. Found once, and kept. */
static void find(void *own, const char *name, void *caller)
{
	void **function = own, *program;
	struct link_map *loaded = NULL;
	Dl_info object;

	if (*function)
		return;
	*function = dlsym(RTLD_NEXT, name);
	if (!*function && dladdr(caller, &object))
		*function = function_of(object.dli_fname, name);
	program = dlopen(NULL, RTLD_LAZY);
	if (!*function && program)
		dlinfo(program, RTLD_DI_LINKMAP, &loaded);
	for (; loaded && !*function; loaded = loaded->l_next)
		*function = function_of(loaded->l_name, name);
	if (*function && dladdr(*function, &object)) {
		library.name = name;
		library.file = object.dli_fname;
	}
}

/* The types are those of PMIx 2 to 5, PMI-2 and PMI-1 as the machine passes them. */
#define EXPORTED __attribute__((visibility("default")))
#define FENCE_OF(name, parameters, arguments, all)                                                 \
	EXPORTED int name parameters                                                               \
	{                                                                                          \
		static int(*own) parameters;                                                       \
		int fence = enter_fence(all), result = -1;                                         \
                                                                                                   \
		find(&own, #name, __builtin_return_address(0));                                    \
		if (own)                                                                           \
			result = own arguments;                                                    \
		leave_fence(fence, 1);                                                             \
		return result;                                                                     \
	}
FENCE_OF(PMIx_Fence, (const void *procs, size_t count, const void *info, size_t infos),
	 (procs, count, info, infos), of_all(procs, count))
FENCE_OF(PMI2_KVS_Fence, (void), (), 1)
FENCE_OF(PMI_Barrier, (void), (), 1)

/* The non-blocking one ends in its callback. Any answer but PMIX_SUCCESS, 0, means that none
 * comes. */
typedef void callback_fn(int status, void *data);
EXPORTED int PMIx_Fence_nb(const void *procs, size_t count, const void *info, size_t infos,
			   callback_fn *done, void *data)
{
	static int (*own)(const void *, size_t, const void *, size_t, callback_fn *, void *);
	int fence = enter_fence(done && of_all(procs, count)), result = -1;

	find(&own, "PMIx_Fence_nb", __builtin_return_address(0));
	if (fence >= 0) {
		callbacks[fence] = (struct callback){done, data};
		done = end;
		data = &callbacks[fence];
	}
	if (own)
		result = own(procs, count, info, infos, done, data);
	leave_fence(fence, result != 0);
	return result;
}
#endif
