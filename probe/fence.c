/*
 * fence.c - when this rank waits for the others inside MPI_Init
 *
 * Ranks wait for each other in fences of the process manager. When built by make, the executable
 * defines and exports the functions that MPI libraries call to enter a fence. Each function takes a
 * stamp, calls the library's function of the same name, and takes another stamp. Whatever happens
 * here, the library's function receives what the caller passed, and the caller receives its result.
 *
 * On the clock: two stamps per fence, each with a reading of what this process has done so far
 * (work.c); and one look-up per function, which takes 4 to 7 us.
 *
 * Fences cannot be seen if the MPI library has its start-up protocol built in, as MPICH does, or is
 * linked so that its calls cannot be intercepted. Builds by hand leave this code out. So do static
 * builds, because they have no other library to call.
 */
#include "run.h"

#include <stdatomic.h>

/* The stamps of the first fences; 0 if a fence has not been entered or left yet. Callbacks write
 * here from the library's thread. */
static struct {
	_Atomic int64_t entered, left;
} fences[FENCES];

/* The function that was found last and the library that contains it; NULL if none has been found
 * yet. */
static struct {
	const char *name, *file;
} library;

/* Returns the interface and the library whose fences are seen, for example "PMIx, libpmix.so.2", in
 * static storage; NULL if none have been seen. */
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

/* Returns whether this rank is in a fence now. Stores in *SINCE when it entered that fence or, if
 * it is in none, when it left the last one. If it has left a fence, stores in *LEFT the mark of
 * leaving the last one. Async-signal-safe. */
int in_fence(int64_t *since, enum mark *left)
{
	for (int i = 0; i < FENCES; i++) {
		int64_t entered = fences[i].entered, left_at = fences[i].left;

		if (!entered)
			continue;
		*since = left_at ? left_at : entered;
		if (!left_at)
			return 1;
		*left = FENCE_LEFT + 2 * i;
	}
	return 0;
}

/* Returns whether NAME, one of Open MPI's settings, is switched on in the environment. */
static int is_on(const char *name)
{
	const char *text = getenv(name);

	return text && *text && strcmp(text, "0") != 0 && strcmp(text, "false") != 0;
}

/* Fills in the fences' marks in RECORD, and what this process did in its own steps. RECORD must
 * already hold INIT_RETURNED. Counting stops at the first fence that was not left before MPI_Init
 * returned; its marks and those of later fences are UNKNOWN. No fence counts if Open MPI was told
 * not to wait in fences. */
void read_fences(struct record *record)
{
	enum mark mark = FENCE_ENTERED, from = MAIN_ENTERED;

	for (int m = FENCE_ENTERED; m < FENCES_END; m++)
		record->mark[m] = UNKNOWN;
	store_work(record, MAIN_ENTERED, START, MAIN_ENTERED);
	if (is_on("OMPI_MCA_pmix_base_async_modex") || is_on("OMPI_MCA_async_mpi_init"))
		return;
	for (int i = 0; i < FENCES; i++) {
		int64_t entered = fences[i].entered, left = fences[i].left;

		if (!entered)
			continue;
		if (!left || left > record->mark[INIT_RETURNED])
			break;
		record->mark[mark] = entered;
		record->mark[mark + 1] = left;
		store_work(record, mark, from, FENCE_ENTERED + 2 * i);
		from = FENCE_LEFT + 2 * i;
		mark += 2;
	}
	store_work(record, INIT_RETURNED, from, INIT_RETURNED);
}

#ifdef SEE_FENCES
#include <dlfcn.h>
#include <link.h>

static atomic_int entered_count; /* number of fences entered */

/* The callback that the caller of a non-blocking fence passed. */
static struct callback {
	void (*done)(int status, void *data);
	void *data;
} callbacks[FENCES];

/* How deeply this thread is nested in the functions below. A library's PMIx_Fence may call
 * PMIx_Fence_nb, and so reach ours. Only the outermost call counts as a fence. */
static _Thread_local int depth;

/* Begins a fence, which counts only if it is a fence OF_ALL ranks. Returns its index, or -1 if it
 * does not count. Every call must be matched by a call to leave_fence() or, for a non-blocking
 * fence, by depth--. */
static int enter_fence(int of_all)
{
	int i;

	if (depth++ > 0 || !of_all)
		return -1;
	i = atomic_fetch_add(&entered_count, 1);
	if (i >= FENCES)
		return -1;
	fences[i].entered = now();
	note_work(FENCE_ENTERED + 2 * i);
	return i;
}

static void stamp_left(int i)
{
	note_work(FENCE_LEFT + 2 * i);
	fences[i].left = now();
}

/* Ends fence I, where I is the value that enter_fence() returned. */
static void leave_fence(int i)
{
	depth--;
	if (i >= 0)
		stamp_left(i);
}

/* Ends a non-blocking fence. It is called instead of the caller's callback, which it then calls. */
static void complete_fence(int status, void *data)
{
	struct callback *callback = data;

	stamp_left((int)(callback - callbacks));
	callback->done(status, callback->data);
}

/* Returns whether PROCS, an array of COUNT pmix_proc_t, means all ranks. It does if it is empty or
 * contains only the rank PMIX_RANK_WILDCARD. */
static int covers_all_ranks(const void *procs, size_t count)
{
	const struct proc {
		char nspace[256];
		uint32_t rank;
	} *proc = procs;

	return !proc || count == 0 || (count == 1 && proc->rank == UINT32_MAX - 1);
}

/* Returns the function NAME from FILE, a loaded library, or from the libraries that it depends on;
 * NULL if there is none. */
static void *function_of(const char *file, const char *name)
{
	/* An empty name stands for this executable, whose own function NAME is defined below. */
	void *handle = *file ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : NULL;

	return handle ? dlsym(handle, name) : NULL;
}

/* Stores in *FUNCTION the function NAME that CALLER would have called if this file did not exist.
 * Normally RTLD_NEXT finds it. If not, its library was loaded with RTLD_LOCAL, along with a plugin.
 * Then CALLER's object is searched and, because a tail call hides the real caller, so are all other
 * loaded objects. *FUNCTION stays NULL if nothing is found. */
static void find_function(void **function, const char *name, void *caller)
{
	struct link_map *loaded = NULL;
	void *program;
	Dl_info object;

	if (*function) /* found by an earlier call */
		return;
	*function = dlsym(RTLD_NEXT, name);
	if (!*function && dladdr(caller, &object))
		*function = function_of(object.dli_fname, name);
	if (!*function && (program = dlopen(NULL, RTLD_LAZY)))
		dlinfo(program, RTLD_DI_LINKMAP, &loaded);
	for (; loaded && !*function; loaded = loaded->l_next)
		*function = function_of(loaded->l_name, name);
	if (*function && dladdr(*function, &object)) {
		library.name = name;
		library.file = object.dli_fname;
	}
}

/* The parameter types are ABI-compatible with those of PMIx 2 to 5, PMI-2, PMI-1 and Cray's PMI.
 * PMI_Allgather, through which Cray's MPI exchanges addresses, has been tried only with a
 * stand-in. */
#define EXPORTED __attribute__((visibility("default")))
#define FENCE_OF(name, parameters, arguments, of_all)                                              \
	EXPORTED int name parameters                                                               \
	{                                                                                          \
		static int(*function) parameters;                                                  \
		int fence = enter_fence(of_all), result = -1;                                      \
                                                                                                   \
		find_function((void **)&function, #name, __builtin_return_address(0));             \
		if (function)                                                                      \
			result = function arguments;                                               \
		leave_fence(fence);                                                                \
		return result;                                                                     \
	}
FENCE_OF(PMIx_Fence, (const void *procs, size_t count, const void *info, size_t infos),
	 (procs, count, info, infos), covers_all_ranks(procs, count))
FENCE_OF(PMI2_KVS_Fence, (void), (), 1)
FENCE_OF(PMI_Barrier, (void), (), 1)
FENCE_OF(PMI_Allgather, (void *in, void *out, int length), (in, out, length), 1)

/* The non-blocking fence ends in its callback. If the call returns anything other than PMIX_SUCCESS
 * (0), there will be no callback, so it was not a fence. */
typedef void callback_fn(int status, void *data);
EXPORTED int PMIx_Fence_nb(const void *procs, size_t count, const void *info, size_t infos,
			   callback_fn *done, void *data)
{
	static int (*function)(const void *, size_t, const void *, size_t, callback_fn *, void *);
	int fence = enter_fence(done && covers_all_ranks(procs, count)), result = -1;

	find_function((void **)&function, "PMIx_Fence_nb", __builtin_return_address(0));
	if (fence >= 0) {
		callbacks[fence] = (struct callback){done, data};
		done = complete_fence;
		data = &callbacks[fence];
	}
	if (function)
		result = function(procs, count, info, infos, done, data);
	depth--;
	if (fence >= 0 && result != 0)
		fences[fence].entered = 0;
	return result;
}
#endif
