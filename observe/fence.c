/*
 * fence.c - when this rank waits for the others inside MPI_Init
 *
 * Ranks wait for each other in fences of the process manager. When built by make, the executable
 * defines and exports the functions that MPI libraries call to enter a fence. Each function takes a
 * stamp, calls the library's function of the same name with the caller's arguments, whatever they
 * are, and takes another stamp. Our callback calls the caller's. The caller gets the result.
 *
 * Other MPI libraries, such as MPICH, have a PMI client built in. It writes commands to a
 * descriptor, PMI's wire, and reads the answers. So read and write are intercepted, too: a fence
 * begins when its command is written, and ends when the answer is read.
 *
 * A non-blocking fence returns at once and ends in a callback. Until then, the MPI library may do
 * work of its own. Open MPI may find afterwards that it need not wait; to wait, it calls usleep in
 * a loop until the callback arrives, so usleep is intercepted, too. With any other MPI, a rank is
 * assumed to wait as soon as it has entered the fence.
 *
 * On the clock: two stamps per fence, each with a reading of what this process has done so far
 * (readings.c); one look-up per function, which takes 4 to 7 us; one of Open MPI's library, for
 * non-blocking fences; and for each usleep in such a fence, a look-up of its caller, until the
 * rank is known to wait. Each read and write of another descriptor costs a comparison.
 *
 * Fences cannot be seen if the MPI library is linked so that its calls cannot be intercepted, or
 * looks the functions up with dlsym, as Intel MPI does in Slurm's libpmi.
 * Builds by hand leave this code out, and so do static builds, which have no other library to call.
 */
#include "notes.h"

#include <stdatomic.h>

/* The first fences. Callbacks write here from the library's thread. */
static struct fence {
	_Atomic int64_t entered, ended; /* stamps; 0 if not yet */
	atomic_bool waited; /* whether this rank waits or has waited, rather than working */
	void (*done)(int status, void *data); /* the callback of the caller, if non-blocking */
	void *data; /* for that callback */
} fences[FENCES];

const char *fence_interface;

static atomic_int entered_count; /* number of fences entered */

/* PMI's wire: the first descriptor to which "cmd=init" is written */
enum { NOT_YET = -1, FORGOTTEN = -2 };
static atomic_int wire = NOT_YET;

/* Called when MPI_Init has returned: no later fence counts, and no descriptor is PMI's wire any
 * more, because its number may soon be that of another file. */
void leave_mpi_init(void)
{
	entered_count = FENCES;
	wire = FORGOTTEN;
}

/* Returns where this rank is in MPI_Init now. What it does in a non-blocking fence without waiting
 * is MPI_Init's own work, which is timed from the entry. Async-signal-safe. */
struct position find_position(void)
{
	struct position position = {MAIN_ENTERED, 0, false};

	for (int i = 0; i < FENCES && fences[i].entered; i++) {
		bool waited = fences[i].waited;
		int64_t ended = waited ? fences[i].ended : 0;

		position.mark = fence_mark(ended ? FENCE_LEFT : FENCE_ENTERED, i);
		position.since = ended ? ended : fences[i].entered;
		position.waits = waited && !ended;
	}
	return position;
}

/* Fills in the stamps of fences in RECORD, which must already hold INIT_RETURNED. A fence in which
 * this rank did not wait has no stamp of leaving. Counting stops at the first fence that had not
 * ended by then; its stamps and those of later fences are UNKNOWN. */
void read_fences(struct record *record)
{
	int64_t *stamp = record->at;

	for (int m = FENCE_ENTERED; m < FENCES_END; m++)
		stamp[m] = UNKNOWN;
	for (int i = 0; i < FENCES; i++) {
		int64_t ended = fences[i].ended;

		if (!ended || ended > stamp[INIT_RETURNED])
			break;
		stamp[fence_mark(FENCE_ENTERED, i)] = fences[i].entered;
		if (fences[i].waited)
			stamp[fence_mark(FENCE_LEFT, i)] = ended;
	}
}

#ifdef SEE_FENCES
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* How many fence functions this thread is in: a library's PMIx_Fence may call PMIx_Fence_nb. Only
 * the outermost call counts as a fence. */
static _Thread_local int depth;

/* The index of the fence that this thread entered last, or -1 if that does not count. */
static _Thread_local int last_entered = -1;

/* Begins a fence of INTERFACE. If WAITS is not set, this rank may begin to wait later. Returns its
 * index, or -1 if it does not count, because it is not OF_ALL ranks or is inside another. */
static int enter_fence(const char *interface, bool of_all, bool waits)
{
	int64_t entered;
	int i;

	if (depth > 0)
		return -1;
	i = of_all ? atomic_fetch_add(&entered_count, 1) : -1;
	last_entered = i < FENCES ? i : -1;
	if (last_entered < 0)
		return -1;
	fence_interface = interface;
	entered = now();
	note_work(fence_mark(FENCE_ENTERED, i));
	fences[i].waited = waits;
	fences[i].entered = entered;
	return i;
}

/* Ends fence I. Does nothing if I is -1. */
static void end_fence(int i)
{
	if (i < 0)
		return;
	note_work(fence_mark(FENCE_LEFT, i));
	fences[i].ended = now();
}

/* Undoes the entry of fence I, whose call has failed. */
static void cancel_fence(int i)
{
	int count = i + 1;

	fences[i].entered = 0;
	atomic_compare_exchange_strong(&entered_count, &count, i); /* unless another began */
}

/* Ends a non-blocking fence. It is called instead of the caller's callback, which it then calls. */
static void complete_fence(int status, void *data)
{
	struct fence *fence = data;

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

/* Returns the function NAME from FILE, a loaded library, or from the libraries that it depends on;
 * NULL if there is none, or if it is our own. */
void *function_of(const char *file, const char *name)
{
	void *handle = dlopen(*file ? file : NULL, RTLD_LAZY | RTLD_NOLOAD);
	void *function = handle ? dlsym(handle, name) : NULL;
	Dl_info own, other;

	if (handle)
		dlclose(handle); /* others keep it open */
	if (!function || !dladdr(&fences, &own) || !dladdr(function, &other))
		return NULL;
	return own.dli_fbase == other.dli_fbase ? NULL : function;
}

/* Stores in *FUNCTION the function NAME that CALLER would have called if this file did not exist.
 * Normally RTLD_NEXT finds it. If not, its library was loaded with RTLD_LOCAL, along with a plugin.
 * Then CALLER's object is searched and, because a tail call hides the real caller, so are all other
 * loaded objects. *FUNCTION stays NULL if nothing is found. */
void find_function(void **function, const char *name, void *caller)
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
}

/* The parameter types are ABI-compatible with those of PMIx 2 to 5, PMI-2, PMI-1 and Cray's PMI,
 * whose PMI_Allgather exchanges addresses. Cray's has been tried only with a stand-in. */
#define FENCE_OF(interface, name, parameters, arguments, of_all)                                   \
	EXPORTED int name parameters                                                               \
	{                                                                                          \
		static int(*function) parameters;                                                  \
		int fence = enter_fence(interface, of_all, true), result = -1;                     \
                                                                                                   \
		find_function((void **)&function, #name, __builtin_return_address(0));             \
		depth++;                                                                           \
		if (function)                                                                      \
			result = function arguments;                                               \
		depth--;                                                                           \
		end_fence(fence);                                                                  \
		return result;                                                                     \
	}
FENCE_OF("PMIx", PMIx_Fence, (const void *procs, size_t count, const void *info, size_t infos),
	 (procs, count, info, infos), covers_all_ranks(procs, count))
FENCE_OF("PMI2", PMI2_KVS_Fence, (void), (), true)
FENCE_OF("PMI", PMI_Barrier, (void), (), true)
FENCE_OF("PMI", PMI_Allgather, (void *in, void *out, int length), (in, out, length), true)

/* Returns the address at which the library that holds Open MPI's start-up is loaded, or NULL if
 * this process uses another MPI. It is looked up until it is found. If a plugin has loaded it
 * privately, as Python does, only CALLER's object knows it. */
static void *open_mpi(void *caller)
{
	static _Atomic(void *) library;
	Dl_info object;
	void *init;

	if (library)
		return library;
	init = dlsym(RTLD_DEFAULT, "ompi_mpi_init");
	if (!init && dladdr(caller, &object))
		init = function_of(object.dli_fname, "ompi_mpi_init");
	if (init && dladdr(init, &object))
		library = object.dli_fbase;
	return library;
}

/* The non-blocking fence ends in its callback. If the call does not return PMIX_SUCCESS (0), there
 * will be no callback: either the fence is complete, or the call failed. */
enum { PMIX_OPERATION_SUCCEEDED = -157 };
typedef void callback_fn(int status, void *data);
EXPORTED int PMIx_Fence_nb(const void *procs, size_t count, const void *info, size_t infos,
			   callback_fn *done, void *data)
{
	static int (*function)(const void *, size_t, const void *, size_t, callback_fn *, void *);
	void *caller = __builtin_return_address(0);
	bool of_all = done && covers_all_ranks(procs, count);
	int fence = enter_fence("PMIx", of_all, !open_mpi(caller)), result = -1;

	find_function((void **)&function, "PMIx_Fence_nb", caller);
	if (fence >= 0) {
		fences[fence].done = done;
		fences[fence].data = data;
		done = complete_fence;
		data = &fences[fence];
	}
	depth++;
	if (function)
		result = function(procs, count, info, infos, done, data);
	depth--;
	if (result == PMIX_OPERATION_SUCCEEDED)
		end_fence(fence);
	else if (fence >= 0 && result != 0)
		cancel_fence(fence);
	return result;
}

/* Like the C library's usleep. If Open MPI calls it while the callback of a non-blocking fence is
 * outstanding, this rank waits in that fence. Calls from other libraries (libpsm2, libinfinipath,
 * libfabric) count as work. */
EXPORTED int usleep(useconds_t us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};
	void *caller = __builtin_return_address(0);
	int i = last_entered;
	Dl_info object;

	if (i >= 0 && !fences[i].waited && !fences[i].ended && dladdr(caller, &object) &&
	    object.dli_fbase == open_mpi(caller))
		fences[i].waited = true;
	return nanosleep(&time, NULL);
}

static ssize_t (*library_read)(int file, void *data, size_t size);
static ssize_t (*library_write)(int file, const void *data, size_t size);

/* Looks these up before main, so that no look-up happens in a signal handler. Until then, the raw
 * system calls take their place. */
__attribute__((constructor)) static void find_read_and_write(void)
{
	*(void **)&library_read = dlsym(RTLD_NEXT, "read");
	*(void **)&library_write = dlsym(RTLD_NEXT, "write");
}

static atomic_int wire_fence = -1; /* the fence whose answer has not been read yet */

static struct stat wire_file;

/* Returns whether FILE is PMI's wire, and not another file that has got its number since. */
static bool is_wire(int file)
{
	struct stat other;

	return file >= 0 && file == wire && fstat(file, &other) == 0 &&
	       other.st_dev == wire_file.st_dev && other.st_ino == wire_file.st_ino;
}

/* If the SIZE bytes at DATA are a command that begins a fence of all ranks, returns its interface;
 * otherwise returns NULL. */
static const char *fence_command(const void *data, size_t size)
{
	if (memmem(data, size, "cmd=kvs-fence", 13))
		return "PMI2";
	if (!memmem(data, size, "cmd=barrier_in", 14))
		return NULL;
	if (memmem(data, size, "group=", 6) && !memmem(data, size, "group=WORLD", 11))
		return NULL;
	return "PMI";
}

/* Like the C library's write, this is async-signal-safe. It leaves errno as that write set it. */
EXPORTED ssize_t write(int file, const void *data, size_t size)
{
	const char *interface = NULL;
	ssize_t result;
	int fence = -1;

	if (is_wire(file) && wire_fence < 0)
		interface = fence_command(data, size);
	if (interface)
		wire_fence = fence = enter_fence(interface, true, true);
	if (library_write)
		result = library_write(file, data, size);
	else
		result = syscall(SYS_write, file, data, size);
	if (fence >= 0 && result <= 0) {
		wire_fence = -1;
		cancel_fence(fence);
	}
	/* Only now is it certain that DATA can be read. */
	if (wire == NOT_YET && result >= 8 && memcmp(data, "cmd=init", 8) == 0 &&
	    fstat(file, &wire_file) == 0)
		wire = file;
	return result;
}

EXPORTED ssize_t read(int file, void *data, size_t size)
{
	ssize_t result;

	if (library_read)
		result = library_read(file, data, size);
	else
		result = syscall(SYS_read, file, data, size);
	if (file == wire && result > 0)
		end_fence(atomic_exchange(&wire_fence, -1));
	return result;
}
#endif
