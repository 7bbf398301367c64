/*
 * library.h - the part of library.c that only dlsym.c, pmi.c and libziaprobe.c use: their functions
 * replace those of libraries, and call the originals
 */
#ifndef LIBRARY_H
#define LIBRARY_H

#include "observe.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* A build with AddressSanitizer calls dlsym before AddressSanitizer is ready to check memory. The
 * other attributes keep -finstrument-functions and --coverage from adding code after the call. */
#define BARE                                                                                       \
	__attribute__((no_sanitize_address, no_instrument_function, no_profile_instrument_function))

/* The first version of dlsym in glibc on each architecture. On others, such as POWER, which cannot
 * make tail calls through a pointer, and with other C libraries, dlsym is not intercepted. */
#if defined __GLIBC__ && defined __x86_64__
#define DLSYM_VERSION "GLIBC_2.2.5"
#elif defined __GLIBC__ && defined __aarch64__
#define DLSYM_VERSION "GLIBC_2.17"
#elif defined __GLIBC__ && defined __riscv && __riscv_xlen == 64
#define DLSYM_VERSION "GLIBC_2.27"
#endif

typedef void *dlsym_fn(void *handle, const char *name);

/* One of our functions. It is called instead of a library's function, and calls that: its
 * original. */
struct interposed {
	const char *name;
	function *own;
	function *known; /* the original for callers that would reach none; NULL if none is known */
	/* Whether, at the first use, all callers reached an original (GLOBAL), or only those whose
	 * own libraries have one (LOCAL) */
	enum { NOT_USED, GLOBAL, LOCAL } scope;
};

/* The tables of these functions: one in pmi.c and, in libziaprobe.so only, one in libziaprobe.c.
 * Each ends with a NULL NAME. */
extern struct interposed fence_functions[] HIDDEN, start_functions[] HIDDEN __attribute__((weak));

struct interposed *find_interposed(struct interposed *table, const char *name);
function *original(struct interposed *table, const char *name, void *caller);
function *reached_by(void *caller, struct interposed *ours);
function *still_known(struct interposed *ours);
function *to_function(void *found);
dlsym_fn *libc_dlsym(void);

#endif
