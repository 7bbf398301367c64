/*
 * stack.c - the calls inside MPI_Init that this rank is in
 *
 * backtrace() finds the return addresses, and dladdr() their libraries and dynamic symbols. A
 * static function has no such symbol, so only its library is named. No calls are named in a build
 * by hand, in a static one, which has no dynamic symbols, or without glibc's backtrace().
 *
 * In a signal handler, the first backtrace() and each dladdr() may wait for another thread, and for
 * ever if that hangs: the former loads a library, libgcc_s, and the latter takes the lock that the
 * dynamic linker holds while it loads a library. So the handler reports the state first. Later
 * calls of backtrace() wait for no such thread.
 *
 * On the clock: note_entrance(), which stores two values; with --where, all of it.
 */
#include "observe.h"

#include <pthread.h>

static pthread_t entrant; /* the thread that calls, or has called, MPI_Init */
static void *entrance; /* the address to which our MPI_Init will return */

/* Called by our MPI_Init, which will return to ADDRESS, before it calls MPI's. */
void note_entrance(void *address)
{
	entrant = pthread_self();
	entrance = address;
}

#if defined INTERPOSE && defined __GLIBC__
#include <dlfcn.h>
#include <execinfo.h>

static bool is_loaded; /* whether backtrace() has loaded what it needs */

/* Returns whether read_stack() will load nothing. */
bool is_backtrace_loaded(void)
{
	return is_loaded;
}

/* Calls backtrace() once, because its first call loads a library. */
void load_backtrace(void)
{
	void *address;

	backtrace(&address, 1);
	is_loaded = true;
}

/* Reads the calls inside MPI_Init that this thread is in, none if it has not called MPI_Init. Must
 * be called in a signal handler; the first address is the one at which the signal came. */
void read_stack(struct stack *stack)
{
	void *address[DEPTH];
	bool is_entrant = entrance && pthread_equal(entrant, pthread_self());
	int count = is_entrant ? backtrace(address, DEPTH) : 0, i = 0;

	/* Skips AddressSanitizer's frames, if there are any, then ours, and then the one to which
	 * the handler returns. */
	while (i < count && !is_own(address[i]))
		i++;
	while (i < count && is_own(address[i]))
		i++;
	stack->count = 0;
	for (i++; i < count && address[i] != entrance; i++)
		stack->address[stack->count++] = address[i];
}

/* Returns a number that is the same in all processes whose STACK has the same calls of the same
 * files: a hash of the return addresses within their pages, without the first address, which is
 * none. Files are loaded at random pages. */
uint64_t hash_stack(const struct stack *stack)
{
	uint16_t offsets[DEPTH];

	for (int i = 1; i < stack->count; i++)
		offsets[i] = (uintptr_t)stack->address[i] % 4096;
	return stack->count > 1 ? hash(offsets + 1, (size_t)(stack->count - 1) * sizeof *offsets)
				: 0;
}

/* Writes into TEXT the name of the call at ADDRESS and, in brackets, its library, unless that is
 * *FILE, the file of the call before. TEXT is empty if neither is known, or if the call is ours. */
static void name_call(char *text, size_t size, void *address, const char **file)
{
	const char *name, *slash;
	Dl_info call;

	*text = '\0';
	if (is_own(address) || !dladdr(address, &call))
		return;
	name = call.dli_sname ? call.dli_sname : "";
	if (*file && strcmp(*file, call.dli_fname) == 0) {
		snprintf(text, size, "%s", name);
		return;
	}
	*file = call.dli_fname;
	slash = strrchr(*file, '/');
	snprintf(text, size, "%.200s%s[%s]", name, *name ? " " : "", slash ? slash + 1 : *file);
}

/* Writes into TEXT the calls of STACK, the innermost first: "recv [libc.so.6] < PMIx_Get
 * [libpmix.so.2] < [libmpi.so.40] < MPI_Init". Replaces what does not fit into SIZE, 10 or more,
 * with "...". TEXT is empty if no call is known. */
void name_calls(const struct stack *stack, char *text, size_t size)
{
	static const char cut[] = " < ...";
	const char *file = NULL;
	char call[300], *end = text;

	*text = '\0';
	for (int i = 0; i < stack->count; i++) {
		/* A return address follows its call, which may be the end of a function. */
		name_call(call, sizeof call, (char *)stack->address[i] - (i > 0), &file);
		if (!*call)
			continue;
		if (strlen(text) + strlen(call) + strlen(" < ") + sizeof cut > size) {
			strcpy(end, cut);
			break;
		}
		end += sprintf(end, "%s%s", end > text ? " < " : "", call);
	}
	make_printable(text);
}

#else
bool is_backtrace_loaded(void)
{
	return true;
}

void load_backtrace(void)
{
}

void read_stack(struct stack *stack)
{
	stack->count = 0;
}

uint64_t hash_stack(const struct stack *stack)
{
	(void)stack;
	return 0;
}

void name_calls(const struct stack *stack, char *text, size_t size)
{
	(void)stack, (void)size;
	*text = '\0';
}
#endif
