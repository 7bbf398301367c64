/*
 * dlsym.c - our dlsym, which finds our functions
 *
 * A program or library that looks a function up with dlsym, by a handle, does not search ziaprobe
 * or libziaprobe.so first. So dlsym is intercepted, too, and such a look-up finds our function, if
 * that calls the very function that would have been found. A look-up that finds a second one, such
 * as another MPI's, or the one that a tracer behind ours will call, gets that: it is not ours to
 * replace. If no library has a function, a look-up does not find ours, either: a serial program
 * that asks whether MPI is there must not find it.
 *
 * Any other look-up is the C library's: the answer to RTLD_NEXT and RTLD_DEFAULT depends on the
 * caller, so the C library's dlsym must be reached by a tail call, even without optimisation.
 *
 * On the clock: what our dlsym adds to each call.
 */
#include "observe.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

/* Whether the compiler makes tail calls. ThreadSanitizer calls a function at the end of every other.
 * clang does so on demand from version 13 on. Other compilers may define __GNUC__, but ignore the
 * attribute. */
#if defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer)
#elif __has_attribute(musttail)
#define TAIL_CALLER
#define TAIL_RETURN __attribute__((musttail)) return
#elif defined __GNUC__ && !defined __clang__ && !defined __EDG__ && !defined __INTEL_COMPILER &&   \
	!defined __NVCOMPILER && !defined __PGI
#define TAIL_CALLER __attribute__((optimize("O2", "optimize-sibling-calls")))
#define TAIL_RETURN return
#endif

#if defined INTERPOSE && defined DLSYM_VERSION && defined TAIL_RETURN
#include <dlfcn.h>

/* Returns NULL. dlerror() then reports that NAME was not found. */
static void *find_nothing(const char *name)
{
	next_function(name);
	return NULL;
}

/* Returns what CALLER finds by HANDLE in the place of the function that OURS stands for: ours, if
 * that calls this very function. */
static void *choose_function(struct interposed *ours, void *handle, void *caller)
{
	void *found = library_dlsym()(handle, ours->name);

	if (!found)
		return NULL;
	if (!find_in_scope(ours, caller) && is_own(found))
		return find_nothing(ours->name);
	forget_closed(ours);
	if (!ours->found)
		ours->found = next_function(ours->name);
	if (!ours->found && !is_own(found))
		ours->found = to_function(found);
	dlerror(); /* because some of these look-ups may have failed */
	return ours->found == to_function(found) ? *(void **)&ours->own : found;
}

EXPORTED BARE TAIL_CALLER void *dlsym(void *handle, const char *name)
{
	struct interposed *ours = find_interposed(fence_functions, name);
	dlsym_fn *library = library_dlsym();

	if (!ours)
		ours = find_interposed(start_functions, name);
	if (ours && handle != RTLD_NEXT && handle != RTLD_DEFAULT)
		return choose_function(ours, handle, CALLER);
	if (ours && !find_in_scope(ours, CALLER))
		return find_nothing(name);
	TAIL_RETURN library(handle, name);
}
#endif
