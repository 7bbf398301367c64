/*
 * libziaprobe - measures the start of another program
 *
 * ziatest preloads the library into the user's program, and passes ziaprobe's arguments in the
 * environment variable ZIAPROBE. The library defines the functions that start MPI. The first call
 * of any of them is measured as ziaprobe measures its own MPI_Init: it runs begin(), then the
 * function that the program would have called without the library, then measure(). Then the program
 * goes on as if the library were not there. Errors are printed, but have no other effect.
 *
 * On the clock: looking up the functions (about 10 us), reading MPI's version, and splitting the
 * arguments.
 */
#include "observe/notes.h"

#include <dlfcn.h>
#include <stdatomic.h>

#ifndef OPEN_MPI /* Open MPI's mpi.h defines it as 1 */
#define OPEN_MPI 0
#endif

/* In ziaprobe.c */
void begin(char **argv);
int measure(void);

static atomic_flag called = ATOMIC_FLAG_INIT; /* set by the first call, which is measured */

/* Returns whether the program's MPI is of the same kind, Open MPI or another, as the one that this
 * library was built with. If the kinds differ, so do their types, and no other MPI function may be
 * called. In that case, prints an error, once per job. */
static bool is_same_mpi(void)
{
	const char *version = mpi_version();
	bool is_open_mpi = strncmp(version, "Open MPI", 8) == 0;

	if (is_open_mpi == OPEN_MPI)
		return true;
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

/* Called first by each function that starts MPI. Returns whether this call is measured: only the
 * first one is, and only if ziatest launched this process. */
static bool begin_call(void)
{
	char *given = getenv("ZIAPROBE"), *rest;
	int count = 0;

	if (!given || atomic_flag_test_and_set(&called))
		return false;
	if (!is_same_mpi()) {
		clean_environment();
		return false;
	}
	char *arguments[strlen(given) / 2 + 3]; /* GIVEN's words, which it keeps, from index 1 on */

	for (char *word = strtok_r(given, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		arguments[++count] = word;
	arguments[count + 1] = NULL;
	begin(arguments);
	return true;
}

/* Ends that call, whose result is RESULT. */
static void end_call(int result)
{
	if (result == MPI_SUCCESS)
		measure();
	disarm_timeout();
	clean_environment();
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
