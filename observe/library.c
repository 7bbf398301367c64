/*
 * library.c - the function of a library that each of ours calls
 *
 * Some functions of ours are called in the place of a library's, because the dynamic linker
 * searches ziaprobe, or libziaprobe.so, first. Each calls what its caller would have reached without
 * us: the function that comes next in the order in which libraries were linked or, if there is none,
 * the one of the libraries that were loaded for its caller alone (RTLD_LOCAL). If there is none
 * either, it calls the one that was found by a look-up's handle (dlsym.c), or in any other loaded
 * library.
 *
 * Why this is not an audit library (LD_AUDIT), whose la_symbind sees every binding: it does not see
 * those of libraries built with -fno-plt. Also, it is loaded into a namespace of its own, so it
 * could not call the program's MPI library.
 *
 * On the clock: one or two look-ups in each call, which take 4 to 7 us.
 */
#include "observe.h"

#ifdef INTERPOSE
#include <dlfcn.h>
#include <link.h>

/* ---- The C library's dlsym ---- */

#ifdef DLSYM_VERSION
/* Returns the C library's dlsym. Ours (dlsym.c) may never have been called: another object's may
 * come first, such as that of a tracer, or of ziaprobe before that of libziaprobe.so. */
BARE dlsym_fn *library_dlsym(void)
{
	static dlsym_fn *found;

	if (!found)
		*(void **)&found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!found)
		*(void **)&found = dlvsym(RTLD_NEXT, "dlsym", DLSYM_VERSION);
	return found;
}
#else
dlsym_fn *library_dlsym(void)
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

/* Converts what dlsym has found, because ISO C knows no such cast. */
function *to_function(void *found)
{
	return *(function **)&found;
}

/* Returns the function NAME of the libraries that follow ours, or NULL. */
function *next_function(const char *name)
{
	return to_function(library_dlsym()(RTLD_NEXT, name));
}

/* Returns what is called NAME in FILE, a loaded library, or in the libraries that it depends on;
 * NULL if there is nothing, or if it is our own. */
void *find_in_file(const char *file, const char *name)
{
	void *handle = dlopen(*file ? file : NULL, RTLD_LAZY | RTLD_NOLOAD);
	void *found = handle ? library_dlsym()(handle, name) : NULL;

	if (handle)
		dlclose(handle); /* others keep it open */
	return found && !is_own(found) ? found : NULL;
}

/* Appends the file of OBJECT and a 0 to the stream FILES. Called while no object can be closed. */
static int add_file(struct dl_phdr_info *object, size_t size, void *files)
{
	(void)size;
	fputs(object->dlpi_name, files);
	fputc('\0', files);
	return 0;
}

/* Returns the first function NAME of any loaded object, but not ours; NULL if there is none. Another
 * thread may close some of the objects meanwhile. */
function *find_anywhere(const char *name)
{
	void *found = library_dlsym()(RTLD_NEXT, name);
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

/* ---- The function that one of ours calls ---- */

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

/* Returns what CALLER would reach in the place of OURS without us, or NULL. An MPI library may make
 * itself global when it starts; a library that has been loaded before is bound to its own function,
 * so the caller's libraries come first if there was no global function at the first use. */
function *find_in_scope(struct interposed *ours, void *caller)
{
	function *next = next_function(ours->name), *local = NULL;
	Dl_info object;

	if (ours->scope == NOT_USED)
		ours->scope = next ? GLOBAL : LOCAL;
	if ((ours->scope == LOCAL || !next) && dladdr(caller, &object))
		local = to_function(find_in_file(object.dli_fname, ours->name));
	return local ? local : next;
}

/* Forgets the function that a look-up has found for OURS if its library has been closed. */
void forget_closed(struct interposed *ours)
{
	Dl_info found;

	if (ours->found &&
	    (!dladdr(*(void **)&ours->found, &found) || found.dli_saddr != *(void **)&ours->found))
		ours->found = NULL;
}

/* Returns the function of a library that our function NAME, which stands in TABLE and which CALLER
 * has called, calls in turn; NULL if no library has one. */
function *library_function(struct interposed *table, const char *name, void *caller)
{
	struct interposed *ours = find_interposed(table, name);
	function *reached = find_in_scope(ours, caller);

	if (reached)
		return reached;
	forget_closed(ours);
	if (!ours->found)
		ours->found = find_anywhere(name); /* as if a tail call hid the real caller */
	return ours->found;
}
#endif
