/*
 * library.c - finds the original of each of our functions: the library function that it replaces,
 * and then calls
 *
 * Some of our functions are called instead of a library's, because the dynamic linker searches
 * ziaprobe, or libziaprobe.so, first. original() finds the function that such a call would have
 * reached without us. It tries these in turn:
 *
 *	reached_by()	the next one in the search order or, if there was none at the first use,
 *			that of the libraries that were loaded for the caller alone (RTLD_LOCAL)
 *	still_known()	the one that a look-up by handle has found (dlsym.c)
 *	find_anywhere()	the first one in any loaded library
 *
 * Why this is not an audit library (LD_AUDIT): its la_symbind does not see the bindings of
 * libraries built with -fno-plt. Also, an audit library is loaded into a namespace of its own, so
 * it could not call the program's MPI library.
 *
 * On the clock: one or two look-ups in each call, 4 to 7 us in all.
 */
#include "library.h"

#ifdef INTERPOSE
#include <dlfcn.h>
#include <link.h>

/* ---- The C library's dlsym ---- */

#ifdef DLSYM_VERSION
/* Returns the C library's dlsym. Does not rely on ours (dlsym.c), which may never have been called:
 * another object's may come first, such as that of a tracer, or of ziaprobe before that of
 * libziaprobe.so. */
BARE dlsym_fn *libc_dlsym(void)
{
	static dlsym_fn *found;

	if (!found)
		*(void **)&found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!found)
		*(void **)&found = dlvsym(RTLD_NEXT, "dlsym", DLSYM_VERSION);
	return found;
}
#else
dlsym_fn *libc_dlsym(void)
{
	return dlsym;
}
#endif

/* ---- Looking a function up ---- */

/* The beginning and the end of the object that contains this code: ziaprobe, or libziaprobe.so. The
 * linker defines both. */
extern const char __ehdr_start[] HIDDEN, _end[] HIDDEN;

/* Returns whether ADDRESS lies in the object that contains this code. Async-signal-safe. */
bool is_own(const void *address)
{
	return (uintptr_t)address >= (uintptr_t)__ehdr_start &&
	       (uintptr_t)address < (uintptr_t)_end;
}

/* Converts what dlsym has found, because ISO C has no such cast. */
function *to_function(void *found)
{
	return *(function **)&found;
}

/* Returns the function NAME of the libraries that follow ours, or NULL. */
function *next_function(const char *name)
{
	return to_function(libc_dlsym()(RTLD_NEXT, name));
}

/* Returns the symbol NAME of FILE, a loaded library, or of the libraries that it depends on; NULL
 * if there is none, or if it is ours. */
void *find_in_file(const char *file, const char *name)
{
	void *handle = dlopen(*file ? file : NULL, RTLD_LAZY | RTLD_NOLOAD);
	void *found = handle ? libc_dlsym()(handle, name) : NULL;

	if (handle)
		dlclose(handle); /* others keep it open */
	return found && !is_own(found) ? found : NULL;
}

/* Appends the file name of OBJECT and a null byte to the stream FILES. Called while no object can
 * be closed. */
static int add_file(struct dl_phdr_info *object, size_t size, void *files)
{
	(void)size;
	fputs(object->dlpi_name, files);
	fputc('\0', files);
	return 0;
}

/* Returns the first function NAME of any loaded object, except ours; NULL if there is none. Copies
 * the file names first, because another thread may close an object meanwhile. */
function *find_anywhere(const char *name)
{
	void *found = libc_dlsym()(RTLD_NEXT, name);
	char *files = NULL;
	size_t size = 0;
	FILE *stream = found ? NULL : open_memstream(&files, &size);

	if (stream) {
		dl_iterate_phdr(add_file, stream);
		fclose(stream);
	}
	for (char *file = files; file && file < files + size && !found; file += strlen(file) + 1)
		found = find_in_file(file, name);
	free(files);
	return to_function(found);
}

/* ---- The original ---- */

/* Like strcmp, which AddressSanitizer intercepts. */
BARE static bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Returns the function NAME of TABLE, or NULL. TABLE may be NULL. */
BARE struct interposed *find_interposed(struct interposed *table, const char *name)
{
	for (; table && table->name; table++)
		if (is_same(table->name, name))
			return table;
	return NULL;
}

/* Returns the function that CALLER would reach without OURS, or NULL if there is none. An MPI
 * library may make itself global when it starts, but libraries loaded earlier stay bound to their
 * own functions. So if there was no global function at the first use, the caller's libraries come
 * first. */
function *reached_by(void *caller, struct interposed *ours)
{
	function *next = next_function(ours->name), *local = NULL;
	Dl_info object;

	if (ours->scope == NOT_USED)
		ours->scope = next ? GLOBAL : LOCAL;
	if ((ours->scope == LOCAL || !next) && dladdr(caller, &object))
		local = to_function(find_in_file(object.dli_fname, ours->name));
	return local ? local : next;
}

/* Returns the known original of OURS, or NULL. Forgets it if its library has been closed. */
function *still_known(struct interposed *ours)
{
	void *address = *(void **)&ours->known;
	Dl_info library;

	if (!address || !dladdr(address, &library) || library.dli_saddr != address)
		ours->known = NULL;
	return ours->known;
}

/* Returns the original of our function NAME, an entry of TABLE, for a call by CALLER; NULL if no
 * library has one. */
function *original(struct interposed *table, const char *name, void *caller)
{
	struct interposed *ours = find_interposed(table, name);
	function *found = reached_by(caller, ours);

	if (!found)
		found = still_known(ours);
	if (!found) /* A tail call may hide the real caller. */
		found = ours->known = find_anywhere(name);
	return found;
}
#endif
