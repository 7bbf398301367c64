/*
 * dlsym.c - our dlsym, which finds our functions
 *
 * A look-up with dlsym by a handle, other than the program's own, does not search ziaprobe or
 * libziaprobe.so first. So dlsym is intercepted, too. Such a look-up returns our function if that
 * calls the very function that would have been found. If it would find a different one, such as
 * another MPI's, or the one that a tracer searched after us will call, it returns that one, which
 * is not ours to replace. If no library has the function, the look-up fails: a serial program that
 * checks whether MPI is there must not find ours.
 *
 * All other look-ups go to the C library, unless they would find a function of ours that has no
 * original. The answer to RTLD_NEXT and RTLD_DEFAULT depends on the caller, so its dlsym must be
 * reached by a tail call, even without optimisation.
 *
 * On the clock: what our dlsym adds to each call.
 */
#include "library.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

/* Whether the compiler makes tail calls. With ThreadSanitizer, it does not: every function ends by
 * calling one of ThreadSanitizer's. clang makes them on request (musttail) from version 13 on.
 * Other compilers that define __GNUC__ may ignore the attribute optimize. */
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

/* Returns the result of CALLER's look-up by HANDLE of the function that OURS replaces. If it finds
 *
 *	nothing				NULL
 *	ours				ours, if CALLER would reach an original; otherwise NULL.
 *					HANDLE is the program's, whose search begins with ours
 *	the original of ours		ours. If ours had none so far, what is found becomes it
 *	another function		that one
 */
static void *choose_function(struct interposed *ours, void *handle, void *caller)
{
	void *found = libc_dlsym()(handle, ours->name);
	function *reached;

	if (!found)
		return NULL;
	reached = reached_by(caller, ours);
	if (is_own(found))
		return reached ? found : find_nothing(ours->name);
	if (!reached)
		reached = still_known(ours);
	if (!reached)
		reached = ours->known = to_function(found);
	dlerror(); /* clears the error of a look-up above that failed */
	return reached == to_function(found) ? *(void **)&ours->own : found;
}

EXPORTED BARE TAIL_CALLER void *dlsym(void *handle, const char *name)
{
	struct interposed *ours = find_interposed(fence_functions, name);
	dlsym_fn *library = libc_dlsym();

	if (!ours)
		ours = find_interposed(start_functions, name);
	if (ours && handle != RTLD_NEXT && handle != RTLD_DEFAULT)
		return choose_function(ours, handle, CALLER);
	if (ours && !reached_by(CALLER, ours))
		return find_nothing(name);
	TAIL_RETURN library(handle, name);
}
#endif
