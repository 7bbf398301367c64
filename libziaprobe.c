/*
 * libziaprobe - measures the start of another program
 *
 * ziatest preloads the library into the user's program, and passes ziaprobe's arguments in the
 * environment variable ZIAPROBE. The library defines the functions that start MPI. The first call
 * of any of them is measured as ziaprobe measures its own MPI_Init: it runs begin(), then the
 * function that the program would have called without the library, then measure(). Then the program
 * goes on as if the library were not there. Errors are printed, but have no other effect, except
 * that the job ends if memory is short, and ranks end if the timeout expires.
 *
 * On the clock: the constructor, looking up the functions (about 10 us), finding out which MPI
 * library the program uses, splitting the arguments, and the calls for stderr and the locale.
 */
#include "observe/notes.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#ifndef OPEN_MPI /* Open MPI's mpi.h defines it as 1 */
#define OPEN_MPI 0
#endif

/* In ziaprobe.c */
void begin(char **argv);
int measure(void);

static bool wanted; /* whether this process is to be measured */
static atomic_bool called; /* set by the first call, which is measured */

/* Notes that the libraries are loaded. Changes nothing the program could notice, not even errno. */
__attribute__((constructor)) static void begin_process(void)
{
	int before = errno;

	wanted = getenv("ZIAPROBE") != NULL;
	if (wanted)
		observe_loaded();
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

/* Prints an error if rank 0 ends and was not measured, unless it may be a wrapper whose child was
 * measured, or was started by such a wrapper. */
__attribute__((destructor)) static void end_process(void)
{
	if (!wanted || called || launched_world().rank != 0 || !is_started_by_launcher() ||
	    may_have_had_child())
		return;
	print_error("nothing was measured: %s has ended, and libziaprobe.so saw no call of "
		    "MPI_Init; the program must call it, and must not be linked statically with "
		    "its MPI library, or look MPI_Init up with dlsym\n",
		    program_name());
}

/* Returns whether the program's MPI is of the same kind, Open MPI or another, as the one that this
 * library was built with. If the kinds differ, so do their types, and no other MPI function may be
 * called. In that case, prints an error, once per job. Derivatives of Open MPI are recognised
 * by a symbol that the library, or one that it depends on, defines. */
static bool is_same_mpi(void)
{
	bool is_open_mpi = false;
	const char *version;
	Dl_info library;

	if (dladdr(dlsym(RTLD_DEFAULT, "PMPI_Get_library_version"), &library))
		is_open_mpi = function_of(library.dli_fname, "ompi_mpi_init") != NULL;
	if (is_open_mpi == OPEN_MPI)
		return true;
	version = mpi_version();
	if (launched_world().rank <= 0)
		print_error("libziaprobe.so was built with %s, but %s uses %.*s; build it with "
			    "that library (make MPICC=...)\n",
			    OPEN_MPI ? "Open MPI" : "MPICH", program_name(),
			    (int)strcspn(version, ","), version);
	return false;
}

/* Takes this library out of LD_PRELOAD, so that what the program starts is not measured. */
static void clean_environment(void)
{
	char *preload = getenv("LD_PRELOAD"), *own = NULL, *after;
	Dl_info library;

	unsetenv("ZIAPROBE");
	if (preload && dladdr(&called, &library))
		own = strstr(preload, library.dli_fname);
	if (!own)
		return;
	after = own + strlen(library.dli_fname);
	if (*after)
		after++; /* the separator */
	else if (own > preload)
		own--;
	memmove(own, after, strlen(after) + 1);
	if (!*preload)
		unsetenv("LD_PRELOAD");
}

static bool has_placeholder; /* for stderr, if the program has closed it */

/* Called first by each function that starts MPI. Returns whether this call is measured: only the
 * first one is, and only if ziatest launched this process. */
static bool begin_call(void)
{
	char *given = getenv("ZIAPROBE"), *rest;
	int count = 0;

	if (!given || atomic_exchange(&called, true))
		return false;
	if (!is_same_mpi()) {
		clean_environment();
		return false;
	}
	if (fcntl(STDERR_FILENO, F_GETFD) < 0) { /* No descriptor of MPI may take its place. */
		int file = open("/dev/null", O_WRONLY | O_CLOEXEC);

		has_placeholder = dup2(file, STDERR_FILENO) >= 0;
		if (file != STDERR_FILENO)
			close(file);
	}
	char *arguments[strlen(given) / 2 + 3]; /* the words of GIVEN, from index 1 on */

	for (char *word = strtok_r(given, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		arguments[++count] = word;
	arguments[count + 1] = NULL;
	begin(arguments);
	return true;
}

/* Ends that call, whose result is RESULT. The program's locale may have a decimal comma. */
static void end_call(int result)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(c);

	if (result == MPI_SUCCESS)
		measure();
	uselocale(before);
	freelocale(c);
	unwatch_thread();
	disarm_timeout();
	clean_environment();
	if (has_placeholder)
		close(STDERR_FILENO);
}

#define INIT(name, parameters, passed_on)                                                          \
	EXPORTED int name parameters                                                               \
	{                                                                                          \
		static int(*next) parameters;                                                      \
		bool measured = begin_call();                                                      \
		int result = MPI_ERR_OTHER;                                                        \
                                                                                                   \
		find_function((void **)&next, #name, __builtin_return_address(0));                 \
		if (next)                                                                          \
			result = next passed_on;                                                   \
		if (measured)                                                                      \
			end_call(result);                                                          \
		return result;                                                                     \
	}
INIT(MPI_Init, (int *argc, char ***argv), (argc, argv))
INIT(PMPI_Init, (int *argc, char ***argv), (argc, argv))
INIT(MPI_Init_thread, (int *argc, char ***argv, int required, int *provided),
     (argc, argv, required, provided))
INIT(PMPI_Init_thread, (int *argc, char ***argv, int required, int *provided),
     (argc, argv, required, provided))
