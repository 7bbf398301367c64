/*
 * lookup.c - the library's function for each of ours that stands in for it
 *
 * Our functions are called in the place of a library's because the dynamic linker searches
 * ziaprobe, or libziaprobe.so, first. A program or library that looks a function up with dlsym, by
 * a handle, searches elsewhere. So dlsym is intercepted, too, and such a look-up finds ours. Any
 * other look-up is the C library's: the answer to RTLD_NEXT and RTLD_DEFAULT depends on the
 * caller, so the C library's dlsym must be reached by a tail call, even without optimisation.
 *
 * On the clock: one look-up per function, which takes 4 to 7 us, and what dlsym adds to each call.
 */
#include "notes.h"

#ifdef SEE_FENCES
#include <dlfcn.h>
#include <link.h>

/* glibc's first version of dlsym on each machine. On others, such as POWER, which has no tail calls
 * through a pointer, dlsym is not intercepted. */
#if defined __GLIBC__ && defined __x86_64__
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined __GLIBC__ && defined __aarch64__
#define FIRST_VERSION "GLIBC_2.17"
#elif defined __GLIBC__ && defined __riscv && __riscv_xlen == 64
#define FIRST_VERSION "GLIBC_2.27"
#endif

#if __has_attribute(musttail)
#define TAIL_CALLER
#define TAIL_RETURN __attribute__((musttail)) return
#elif defined __clang__
#undef FIRST_VERSION /* before clang 13, there is no such attribute */
#else
#define TAIL_CALLER __attribute__((optimize("O2", "optimize-sibling-calls")))
#define TAIL_RETURN return
#endif

/* A build with AddressSanitizer calls dlsym before AddressSanitizer is ready to check memory. */
#define UNSANITIZED __attribute__((no_sanitize_address))

typedef void *dlsym_fn(void *handle, const char *name);

#ifdef FIRST_VERSION
static dlsym_fn *c_dlsym; /* the C library's, once it has been looked up */

/* Returns the C library's dlsym. Ours may never have been called: another object's may come first,
 * such as that of a tracer, or of ziaprobe before that of libziaprobe.so. */
UNSANITIZED static dlsym_fn *library_dlsym(void)
{
	if (!c_dlsym)
		*(void **)&c_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!c_dlsym)
		*(void **)&c_dlsym = dlvsym(RTLD_NEXT, "dlsym", FIRST_VERSION);
	return c_dlsym;
}
#else
static dlsym_fn *library_dlsym(void)
{
	return dlsym;
}
#endif

/* Returns whether FUNCTION is our own. */
static bool is_own(void *function)
{
	Dl_info own, other;

	return dladdr(&fence_interface, &own) && dladdr(function, &other) &&
	       own.dli_fbase == other.dli_fbase;
}

#ifdef FIRST_VERSION
/* libziaprobe.c defines these; ziaprobe has none. */
extern struct stand_in mpi_stand_ins[] __attribute__((weak, visibility("hidden")));

/* If HANDLE has the function NAME, and one of STAND_INS stands in for it, returns that, which will
 * call the one that HANDLE has. Otherwise returns NULL. */
static void *find_stand_in(struct stand_in *stand_ins, void *handle, const char *name)
{
	for (struct stand_in *entry = stand_ins; entry && entry->name; entry++) {
		void *found;

		if (strcmp(entry->name, name) != 0)
			continue;
		found = library_dlsym()(handle, name);
		if (!found || is_own(found))
			return NULL;
		*entry->found = found;
		return *(void **)&entry->ours;
	}
	return NULL;
}

UNSANITIZED static void *look_up(void *handle, const char *name)
{
	void *ours;

	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT)
		return NULL;
	ours = find_stand_in(fence_stand_ins, handle, name);
	return ours ? ours : find_stand_in(mpi_stand_ins, handle, name);
}

EXPORTED UNSANITIZED TAIL_CALLER void *dlsym(void *handle, const char *name)
{
	void *ours = look_up(handle, name);
	dlsym_fn *function = library_dlsym();

	if (ours)
		return ours;
	TAIL_RETURN function(handle, name);
}
#endif

/* Returns the function NAME of the libraries that follow ours, or NULL. */
void *next_function(const char *name)
{
	return library_dlsym()(RTLD_NEXT, name);
}

/* Returns the function NAME from FILE, a loaded library, or from the libraries that it depends on;
 * NULL if there is none, or if it is our own. */
void *function_of(const char *file, const char *name)
{
	void *handle = dlopen(*file ? file : NULL, RTLD_LAZY | RTLD_NOLOAD);
	void *function = handle ? library_dlsym()(handle, name) : NULL;

	if (handle)
		dlclose(handle); /* others keep it open */
	return function && !is_own(function) ? function : NULL;
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
	*function = next_function(name);
	if (!*function && dladdr(caller, &object))
		*function = function_of(object.dli_fname, name);
	if (!*function && (program = dlopen(NULL, RTLD_LAZY)))
		dlinfo(program, RTLD_DI_LINKMAP, &loaded);
	for (; loaded && !*function; loaded = loaded->l_next)
		*function = function_of(loaded->l_name, name);
}
#endif
