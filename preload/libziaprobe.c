/*
 * libziaprobe - measures the start of another program
 *
 * ziatest preloads the library into the user's program, and passes ziaprobe's arguments in the
 * environment variable ZIAPROBE, separated by commas. The library defines the functions that start
 * MPI. In the first call of any of them, it runs ziaprobe's main() with these arguments. When
 * main() calls MPI_Init, the program's own call is carried out. Then the program goes on as if the
 * library were not there. Errors are printed, but have no other effect, except that the job ends
 * if memory is short, and ranks end if the timeout expires.
 *
 * On the clock: the constructor, looking up the functions, splitting the arguments, and the calls
 * for the locale.
 */
#include "../observe/observe.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

int ziaprobe_main(int argc, char **argv); /* main() of ziaprobe.c */

static char *arguments; /* the value of ZIAPROBE, or NULL if this process is not to be measured */
static atomic_bool called; /* set by the first call, which is measured */
static bool uses_sessions;

/* Copies the arguments, because the program may empty its environment. */
static void read_environment(void)
{
	const char *value = getenv("ZIAPROBE");

	if (value && !arguments)
		arguments = strdup(value);
}

/* Notes that the libraries are loaded. Leaves errno as it was. */
__attribute__((constructor)) static void begin_process(void)
{
	int before = errno;

	read_environment();
	if (arguments && !called)
		note_libraries_loaded();
	errno = before;
}

/* Returns whether this process may have had a child. A child that was waited for has page
 * faults. If this process ignores SIGCHLD, children leave no trace. */
static bool may_have_had_child(void)
{
	struct sigaction action;
	struct rusage children;
	siginfo_t child;

	sigaction(SIGCHLD, NULL, &action);
	getrusage(RUSAGE_CHILDREN, &children);
	return action.sa_handler == SIG_IGN || (action.sa_flags & SA_NOCLDWAIT) ||
	       children.ru_minflt > 0 || waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Prints an error if rank 0 ends and was not measured. Prints nothing if this process may be a
 * wrapper whose child was measured, or was started by such a wrapper. */
__attribute__((destructor)) static void end_process(void)
{
	if (!arguments || called || launched_world().rank != 0 || !is_child_of_daemon() ||
	    may_have_had_child())
		return;
	if (uses_sessions)
		print_error("nothing was measured: %s has ended, which uses MPI Sessions; only a "
			    "start by MPI_Init can be measured\n",
			    program_name());
	else
		print_error("nothing was measured: %s has ended, and libziaprobe.so saw no call to "
			    "MPI_Init; the program must call it, and must not be linked statically "
			    "with its MPI library, or be bound to it with RTLD_DEEPBIND\n",
			    program_name());
}

/* Takes this library out of LD_PRELOAD, so that what the program starts is not measured. */
static void clean_environment(void)
{
	char *preload = getenv("LD_PRELOAD"), *kept, *end, *rest;
	Dl_info library;

	unsetenv("ZIAPROBE");
	if (!preload || !dladdr(&called, &library))
		return;
	preload = strdup(preload);
	kept = end = preload ? calloc(1, strlen(preload) + 1) : NULL;
	if (!kept) {
		free(preload);
		return; /* Memory is short: what the program starts may print an error. */
	}
	for (char *word = strtok_r(preload, ": ", &rest); word; word = strtok_r(NULL, ": ", &rest))
		if (strcmp(word, library.dli_fname) != 0)
			end += sprintf(end, "%s%s", end > kept ? ":" : "", word);
	if (*kept)
		setenv("LD_PRELOAD", kept, 1);
	else
		unsetenv("LD_PRELOAD");
	free(preload);
	free(kept);
}

/* A call that starts MPI */
static struct call {
	int *argc;
	char ***argv;
	bool with_threads; /* whether it has the next two arguments */
	int required, *provided;
	function *library; /* the function that the program would have called without ours */
	int result;
} measured_call;

typedef int start_fn(int *argc, char ***argv);
typedef int start_with_threads_fn(int *argc, char ***argv, int required, int *provided);

/* Returns the call's result. */
static int carry_out(const struct call *call)
{
	if (call->with_threads)
		return ((start_with_threads_fn *)call->library)(call->argc, call->argv,
								call->required, call->provided);
	return ((start_fn *)call->library)(call->argc, call->argv);
}

/* Called by MPI_Init in ziaprobe's main(), whose arguments are not the program's. Then sets the C
 * locale, because the program's may have a decimal comma. */
int start_program(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	measured_call.result = carry_out(&measured_call);
	uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
	return measured_call.result;
}

/* Runs ziaprobe's main(). */
static void run_ziaprobe(void)
{
	char *words[strlen(arguments) / 2 + 3], *rest;
	int count = 0;

	words[count++] = "ziaprobe";
	for (char *word = strtok_r(arguments, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		words[count++] = word;
	words[count] = NULL;
	ziaprobe_main(count, words);
}

/* Measures MEASURED_CALL, and leaves the process as it was. */
static void measure(void)
{
	locale_t before = uselocale((locale_t)0);

	is_guest = true;
	run_ziaprobe();
	uselocale(before); /* glibc's C locale is static, and need not be freed */
	unwatch_thread();
	disarm(WHERE);
	disarm(TIMEOUT);
	close_claim();
	if (holds_stderr)
		close(STDERR_FILENO);
}

/* Carries out CALL of OUR function by CALLER. Returns its result. Measures it if it is the first
 * one, and if ziatest launched this process. */
static int start(struct interposed *our, void *caller, struct call call)
{
	struct world launched;
	const char *reason;

	call.library = library_function(our, caller);
	if (!call.library)
		return MPI_ERR_OTHER;
	read_environment();
	if (!arguments || atomic_exchange(&called, true))
		return carry_out(&call);
	measured_call = call;
	reason = find_mpi(call.library);
	if (!reason) {
		measure();
	} else {
		launched = launched_world();
		if (launched.rank < 0 ? claim("unknown", 0, hash(arguments, strlen(arguments)))
				      : launched.rank == 0)
			print_error("nothing was measured: %s\n", reason);
		measured_call.result = carry_out(&call);
		close_claim();
	}
	clean_environment();
	return measured_call.result;
}

#undef MPI_Init
#undef PMPI_Init

#define START(name)                                                                                \
	static struct interposed interposed_##name;                                                \
	EXPORTED int name(int *argc, char ***argv)                                                 \
	{                                                                                          \
		struct call call = {argc, argv, false, 0, NULL, NULL, 0};                          \
                                                                                                   \
		return start(&interposed_##name, CALLER, call);                                    \
	}                                                                                          \
	INTERPOSE_ON(name)
#define START_WITH_THREADS(name)                                                                   \
	static struct interposed interposed_##name;                                                \
	EXPORTED int name(int *argc, char ***argv, int required, int *provided)                    \
	{                                                                                          \
		struct call call = {argc, argv, true, required, provided, NULL, 0};                \
                                                                                                   \
		return start(&interposed_##name, CALLER, call);                                    \
	}                                                                                          \
	INTERPOSE_ON(name)
START(MPI_Init);
START(PMPI_Init);
START_WITH_THREADS(MPI_Init_thread);
START_WITH_THREADS(PMPI_Init_thread);

static struct interposed interposed_MPI_Session_init;

/* A program that starts a session first, and calls MPI_Init later, enters MPI here. Its cpu_wait is
 * not known from then on. The handles INFO and HANDLER are passed on as they came. */
EXPORTED int MPI_Session_init(void *info, void *handler, void *session)
{
	__typeof__(MPI_Session_init) *library =
		(__typeof__(library))library_function(&interposed_MPI_Session_init, CALLER);
	bool is_first = arguments && !called && !uses_sessions;

	uses_sessions = true;
	if (is_first) {
		note_main_entered();
		unwatch_thread(); /* because MPI_Init may never be called */
	}
	return library ? library(info, handler, session) : MPI_ERR_OTHER;
}
INTERPOSE_ON(MPI_Session_init);

struct interposed *const interposed_starts[] = {
	&interposed_MPI_Init,         &interposed_PMPI_Init,        &interposed_MPI_Init_thread,
	&interposed_PMPI_Init_thread, &interposed_MPI_Session_init, NULL};
