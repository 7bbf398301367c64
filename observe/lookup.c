/*
 * lookup.c - the function of a library that each of ours calls
 *
 * Our functions are called in the place of a library's because the dynamic linker searches
 * ziaprobe, or libziaprobe.so, first. A program or library that looks a function up with dlsym, by
 * a handle, searches elsewhere. So dlsym is intercepted, too, and such a look-up finds ours.
 *
 * Each of our functions calls one function of a library and no other: the one that comes next in
 * the order in which libraries were linked or, if there is none, the first that is found otherwise:
 * by a look-up's handle, or in the caller's or any other loaded library. A look-up that finds a
 * second one, such as another MPI's, or the one that a tracer behind ours will call, gets that: it
 * is not ours to replace. If no library has a function, a look-up does not find ours, either: a
 * serial program that asks whether MPI is there must not find it.
 *
 * Any other look-up is the C library's: the answer to RTLD_NEXT and RTLD_DEFAULT depends on the
 * caller, so the C library's dlsym must be reached by a tail call, even without optimisation.
 *
 * Why this is not an audit library (LD_AUDIT), whose la_symbind sees every binding: before glibc
 * 2.35, it does not see those of libraries built with -fno-plt, and sites still have 2.28. Also, it
 * is loaded into a namespace of its own, so it could not call the program's MPI library.
 *
 * On the clock: one look-up per function, which takes 4 to 7 us; a dladdr() in each later call of
 * it; and what dlsym adds to each call.
 */
#include "observe.h"

#ifdef INTERPOSE
#include <dlfcn.h>
#include <link.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

/* glibc's first version of dlsym on each machine. On others, such as POWER, which has no tail calls
 * through a pointer, dlsym is not intercepted. */
#if defined __GLIBC__ && defined __x86_64__
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined __GLIBC__ && defined __aarch64__
#define FIRST_VERSION "GLIBC_2.17"
#elif defined __GLIBC__ && defined __riscv && __riscv_xlen == 64
#define FIRST_VERSION "GLIBC_2.27"
#endif

/* ThreadSanitizer calls a function at the end of every other, so there are no tail calls. */
#if defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer)
#undef FIRST_VERSION
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

/* A build with AddressSanitizer calls dlsym before AddressSanitizer is ready to check memory. The
 * other attributes keep -finstrument-functions and --coverage from adding code after the call. */
#define BARE                                                                                       \
	__attribute__((no_sanitize_address, no_instrument_function, no_profile_instrument_function))

/* ---- The C library's dlsym ---- */

typedef void *dlsym_fn(void *handle, const char *name);

#ifdef FIRST_VERSION
static dlsym_fn *c_dlsym; /* the C library's, once it has been looked up */

/* Returns the C library's dlsym. Ours may never have been called: another object's may come first,
 * such as that of a tracer, or of ziaprobe before that of libziaprobe.so. */
BARE static dlsym_fn *library_dlsym(void)
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

/* ---- The function that each of ours calls ---- */

/* The beginning and the end of the object that contains this code: ziaprobe, or libziaprobe.so. The
 * linker defines both. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Returns whether ADDRESS lies in the object that contains this code. Async-signal-safe. */
bool is_own(const void *address)
{
	return (uintptr_t)address >= (uintptr_t)__ehdr_start &&
	       (uintptr_t)address < (uintptr_t)_end;
}

/* Converts what dlsym has found, because ISO C knows no such cast. */
static function *to_function(void *found)
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

/* Returns the first of all loaded objects; the others follow it. */
static struct link_map *loaded_objects(void)
{
	void *program = dlopen(NULL, RTLD_LAZY);
	struct link_map *first = NULL;

	if (program)
		dlinfo(program, RTLD_DI_LINKMAP, &first);
	return first;
}

/* Returns what CALLER would reach as NAME without us: what follows ours or, failing that, what its
 * object finds in libraries that were loaded for it alone (RTLD_LOCAL). NULL if neither. */
static void *find_in_scope(const char *name, void *caller)
{
	void *found = library_dlsym()(RTLD_NEXT, name);
	Dl_info object;

	if (!found && dladdr(caller, &object))
		found = find_in_file(object.dli_fname, name);
	return found;
}

/* Like find_in_scope(), but if that finds nothing, searches all loaded objects, because a tail call
 * hides the real caller. */
void *find_in_libraries(const char *name, void *caller)
{
	void *found = find_in_scope(name, caller);
	struct link_map *loaded = found ? NULL : loaded_objects();

	for (; loaded && !found; loaded = loaded->l_next)
		found = find_in_file(loaded->l_name, name);
	return found;
}

/* Forgets the function that OURS calls if its library has been closed. */
static void forget_closed(struct interposed *ours)
{
	Dl_info found;

	if (ours->library && (!dladdr(*(void **)&ours->library, &found) ||
			      found.dli_saddr != *(void **)&ours->library))
		ours->library = NULL;
}

/* Returns the function of a library that OURS, called by CALLER, calls in turn, or NULL. */
function *library_function(struct interposed *ours, void *caller)
{
	forget_closed(ours);
	if (!ours->library)
		ours->library = to_function(find_in_libraries(ours->name, caller));
	return ours->library;
}

/* ---- Which function a library itself calls by a name ---- */

/* Returns what the dynamic section of OBJECT has for TAG, or 0. */
static ElfW(Addr) dynamic_value(const struct link_map *object, int tag)
{
	for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == tag)
			return entry->d_un.d_ptr;
	return 0;
}

/* Returns the address that the dynamic section of OBJECT has for TAG. In the file, it is an offset
 * in the object. On most machines, glibc has replaced it with the address; elsewhere, it has
 * not. */
static const void *dynamic_address(const struct link_map *object, int tag)
{
	ElfW(Addr) value = dynamic_value(object, tag);

	return (const void *)(value < object->l_addr ? object->l_addr + value : value);
}

#define SYMBOL_INDEX(info) ((info) >> (sizeof(void *) == 8 ? 32 : 8)) /* ELF64_R_SYM, or 32 */

/* Returns where OBJECT holds the address of the function NAME, if that is in the table of
 * relocations that the tags TABLE and SIZE describe; otherwise NULL. */
static function *const *find_in_table(const struct link_map *object, const char *name, int table,
				      int size)
{
	const char *relocation = dynamic_address(object, table);
	const char *end = relocation + dynamic_value(object, size);
	const ElfW(Sym) *symbols = dynamic_address(object, DT_SYMTAB);
	const char *names = dynamic_address(object, DT_STRTAB);
	bool has_addends =
		dynamic_value(object, DT_RELA) || dynamic_value(object, DT_PLTREL) == DT_RELA;

	while (relocation < end) {
		const ElfW(Rel) *rel = (const ElfW(Rel) *)relocation; /* Rela begins like it. */
		const ElfW(Sym) *symbol = symbols + SYMBOL_INDEX(rel->r_info);

		if (strcmp(names + symbol->st_name, name) == 0)
			return (function *const *)(object->l_addr + rel->r_offset);
		relocation += has_addends ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
	}
	return NULL;
}

/* Returns where the object that contains ADDRESS holds the address of the function NAME, which it
 * calls and another object defines; NULL if it calls none. If the call has not been bound yet, the
 * address there lies in the object itself. */
function *const *find_reference(const void *address, const char *name)
{
	Dl_info wanted, other;
	function *const *found;

	if (!dladdr(address, &wanted))
		return NULL;
	for (struct link_map *object = loaded_objects(); object; object = object->l_next) {
		/* l_addr is not the address at which a program is loaded that is not PIE. */
		if (!dladdr(object->l_ld, &other) || other.dli_fbase != wanted.dli_fbase)
			continue;
		found = find_in_table(object, name, DT_JMPREL, DT_PLTRELSZ);
		if (!found)
			found = find_in_table(object, name, DT_RELA, DT_RELASZ);
		return found ? found : find_in_table(object, name, DT_REL, DT_RELSZ);
	}
	return NULL;
}

/* ---- Our dlsym ---- */

#ifdef FIRST_VERSION
/* fence.c defines the first; libziaprobe.c defines the second, and ziaprobe has none. */
extern struct interposed *const interposed_fences[] __attribute__((visibility("hidden")));
extern struct interposed *const interposed_starts[] __attribute__((weak, visibility("hidden")));

/* Like strcmp, which AddressSanitizer intercepts. */
BARE static bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Returns the one of FUNCTIONS that is called NAME, or NULL. FUNCTIONS may be NULL. */
BARE static struct interposed *find_interposed(struct interposed *const *functions,
					       const char *name)
{
	for (; functions && *functions; functions++)
		if (is_same((*functions)->name, name))
			return *functions;
	return NULL;
}

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
	if (is_own(found))
		return find_in_scope(ours->name, caller) ? found : find_nothing(ours->name);
	forget_closed(ours);
	if (!ours->library)
		ours->library = next_function(ours->name);
	if (!ours->library)
		ours->library = to_function(found);
	dlerror(); /* because next_function() may have failed */
	return ours->library == to_function(found) ? *(void **)&ours->own : found;
}

EXPORTED BARE TAIL_CALLER void *dlsym(void *handle, const char *name)
{
	struct interposed *ours = find_interposed(interposed_fences, name);
	dlsym_fn *library = library_dlsym();

	if (!ours)
		ours = find_interposed(interposed_starts, name);
	if (ours && handle != RTLD_NEXT && handle != RTLD_DEFAULT)
		return choose_function(ours, handle, CALLER);
	if (ours && !find_in_scope(name, CALLER))
		return find_nothing(name);
	TAIL_RETURN library(handle, name);
}
#endif
#endif
