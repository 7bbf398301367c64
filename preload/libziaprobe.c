/*
 * libziaprobe - measures the start of another program
 *
 * ziastart preloads the library into the user's program, and passes ziaprobe's arguments in the
 * environment variable ZIAPROBE, separated by commas. The library defines the functions that start
 * MPI. The first call to any of them is carried out; then the benchmark of ziaprobe.c runs with
 * these arguments. After that, the program goes on as if the library were not there. Errors are
 * printed, but have no other effect, except that the job ends if memory is short, or if a rank is
 * not told the number of nodes, and that ranks end if the timeout expires. With --start-only, the
 * program ends after its start.
 *
 * On the clock: the constructor, looking up the functions, is_of_other_launch(), splitting the
 * arguments, and the calls for the locale.
 */
#include "../observe/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

int benchmark(int argc, char **argv); /* of ziaprobe.c */

static char *arguments; /* the value of ZIAPROBE, or NULL if this process is not to be measured */
static atomic_bool called; /* set by the first call, which is measured */
static bool start_only; /* whether --start-only is among the arguments */
static const char *task; /* the value of ZIASTART, or NULL */
static const char *unmeasured; /* why a call that starts MPI was not measured, or NULL */

/* Copies ZIAPROBE and ZIASTART, because the program may empty its environment. */
static void read_environment(void)
{
	const char *value = getenv("ZIAPROBE"), *started = getenv("ZIASTART");

	if (!value || arguments)
		return;
	arguments = strdup(value);
	task = started ? strdup(started) : NULL;
	start_only = strstr(value, ",--start-only") != NULL;
}

/* Takes this library out of LD_PRELOAD, so that what the program starts is not measured. */
static void clean_environment(void)
{
	char *preload = getenv("LD_PRELOAD"), *kept, *end, *rest;
	Dl_info library;

	unsetenv("ZIAPROBE");
	unsetenv("ZIASTART");
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

/* Returns whether this process may have had a child. Any child that was waited for has added to the
 * count of page faults. If this process ignores SIGCHLD, children leave no trace. */
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

/* Returns the time since the start, in seconds. */
static double seconds_since_start(void)
{
	long long sec = 0, usec = 0;

	sscanf(arguments, "%lld,%lld", &sec, &usec);
	return (double)(now() - sec * 1000000 - usec) / 1e6;
}

/* Returns whether TASK is rank 0, or does not know its rank. */
static bool is_first_rank(void)
{
	return strstr(task, "rank=0;") || strstr(task, "rank=-1;");
}

/* Called when this process calls exit() with STATUS, or returns it from main. Prints an error if
 * this process is rank 0, was started by the launcher itself, and was not measured. Prints nothing
 * if it may be a wrapper whose child was measured. */
static void report_unmeasured(int status, void *unused)
{
	const char *advice = "read the program's own messages";

	(void)unused;
	if (called || !is_task(task) || !is_first_rank() || may_have_had_child())
		return;
	status &= 0377; /* as the launcher sees it */
	if (status == 0)
		advice = "the program must call MPI_Init, and must be linked dynamically with its "
			 "MPI library, or load it without RTLD_DEEPBIND";
	if (unmeasured)
		print_error("nothing was measured: %s\n", unmeasured);
	else
		print_error("nothing was measured: %s exited with status %d, %.1f s after the "
			    "start, before Ziatest saw a call to MPI_Init; %s\n",
			    program_name(), status, seconds_since_start(), advice);
}

/* Returns whether this process, called NAME, is a launcher, or a daemon of one, rather than a rank.
 * The command flux does not count, because 'flux python' may be a rank. is_of_other_launch()
 * recognises the ranks that a flux within the launch has started. */
static bool is_launcher(const char *name)
{
	const struct launcher *launcher = launcher_of_command(name);

	return (launcher && launcher != launchers + FLUX) || launcher_of_daemon(name);
}

/* Notes that the libraries are loaded. If this process is a launcher, prints a warning, once per
 * node while the launcher runs, and removes this library and our variables from the environment of
 * what it starts. There is no warning for orted, which MPI itself starts, or for sbatch, because
 * nobody waits for its job. Leaves errno unchanged. */
__attribute__((constructor)) static void begin_process(void)
{
	const char *name = program_invocation_short_name;
	int before = errno;

	read_environment();
	if (arguments && !called && is_launcher(name)) {
		if (launcher_of_command(name) && strcmp(name, "sbatch") != 0 &&
		    claim("launcher", 0, hash(arguments, strlen(arguments))))
			print_warning(
				"%s runs within the measured launch; the ranks that it starts "
				"are not measured; to measure them, put ziatest directly "
				"before it\n",
				name);
		clean_environment();
		arguments = NULL;
	} else if (arguments && !called) {
		note_libraries_loaded();
#ifdef __GLIBC__ /* Other C libraries, such as musl, have no on_exit(). */
		on_exit(report_unmeasured, NULL);
#endif
	}
	errno = before;
}

/* A call that starts MPI */
struct call {
	int *argc;
	char ***argv;
	bool with_threads; /* whether it has the next two arguments */
	int required, *provided;
	function *original; /* the function that the program would have reached without us */
};

typedef int start_fn(int *argc, char ***argv);
typedef int start_with_threads_fn(int *argc, char ***argv, int required, int *provided);

/* Returns the call's result. */
static int carry_out(const struct call *call)
{
	if (call->with_threads)
		return ((start_with_threads_fn *)call->original)(call->argc, call->argv,
								 call->required, call->provided);
	return ((start_fn *)call->original)(call->argc, call->argv);
}

/* Returns whether MPI has been started. A stub for serial builds returns success without starting
 * it, even if an MPI library is loaded. If MPI has not been started, prints an error: once per job
 * or, if ranks are not known, in every process. */
static bool is_mpi_started(void)
{
	int is_started = 0;

	PMPI_Initialized(&is_started);
	if (!is_started && world.rank <= 0)
		print_error("nothing was measured: the first MPI_Init that %s calls is a stub for "
			    "serial builds, which does not start MPI; build its library with MPI\n",
			    program_name());
	return is_started;
}

static int final_status;

static void end_at_once(int signal)
{
	(void)signal;
	_exit(final_status);
}

/* Ends the program with STATUS because only its start is wanted. The program's exit handlers do not
 * run, because one that calls MPI would abort the job. Takes at most a minute, because MPI_Finalize
 * may hang. */
static void end_program(int status)
{
	struct sigaction action = {.sa_handler = end_at_once};
	int is_started = 0;
	sigset_t alarms;

	final_status = status;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigaction(SIGALRM, &action, NULL);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(60);
	if (PMPI_Initialized)
		PMPI_Initialized(&is_started);
	if (is_started && PMPI_Finalize)
		PMPI_Finalize();
	_exit(status);
}

/* Carries out CALL, which will return to ADDRESS, and measures it. Returns its result, and leaves
 * the process as it was. */
static int measure(const struct call *call, void *address)
{
	locale_t before = uselocale((locale_t)0);
	char *words[strlen(arguments) / 2 + 3], *rest;
	int count = 0, result, status = 1;
	bool prints = true;

	words[count++] = "ziaprobe";
	for (char *word = strtok_r(arguments, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		words[count++] = word;
	words[count] = NULL;
	begin_init(&count, words, address);
	result = carry_out(call);
	/* The program's locale may have a decimal comma. */
	uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
	end_init();
	if (result == MPI_SUCCESS && is_mpi_started() && has_right_world(&prints) &&
	    learn_ppn(words)) {
		status = benchmark(count, words);
		if (!write_reports())
			status = 1;
	}
	uselocale(before); /* glibc's C locale is static, and need not be freed */
	end_observation();
	if (start_only && !prints) /* Let the process that prints finish first. */
		sleep_second();
	if (start_only)
		end_program(status == 0 ? 0 : 1);
	return result;
}

/* Carries out CALL without measuring it, and prints the REASON. Returns its result. */
static int leave_unmeasured(const struct call *call, const char *reason)
{
	int result;

	if (launched_world().rank <= 0 && /* several processes may be rank 0, or none */
	    claim("unmeasured", 0, hash(arguments, strlen(arguments))))
		print_error("nothing was measured: %s\n", reason);
	result = carry_out(call);
	close_claim();
	if (start_only)
		end_program(1);
	return result;
}

/* Carries out CALL, which CALLER has made to our function NAME, and returns its result. Measures it
 * if ziatest launched this process, and if it is the first call since an MPI library was loaded. */
static int start(const char *name, void *caller, struct call call)
{
	const char *reason;
	int result;

	call.original = original(start_functions, name, caller);
	if (!call.original)
		return MPI_ERR_OTHER;
	read_environment();
	if (!arguments || atomic_exchange(&called, true))
		return carry_out(&call);
	reason = find_mpi(call.original);
	if (!PMPI_Comm_rank) { /* No MPI library is loaded, but a later call may reach one. */
		unmeasured = reason;
		called = false;
		return carry_out(&call);
	}
	if (is_of_other_launch(task))
		reason = "this process was started by a launcher within the measured launch; put "
			 "ziatest directly before that launcher";
	result = reason ? leave_unmeasured(&call, reason) : measure(&call, caller);
	clean_environment();
	return result;
}

EXPORTED int MPI_Init(int *argc, char ***argv)
{
	return start("MPI_Init", CALLER, (struct call){.argc = argc, .argv = argv});
}

EXPORTED int PMPI_Init(int *argc, char ***argv)
{
	return start("PMPI_Init", CALLER, (struct call){.argc = argc, .argv = argv});
}

EXPORTED int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	return start("MPI_Init_thread", CALLER,
		     (struct call){argc, argv, true, required, provided, NULL});
}

EXPORTED int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	return start("PMPI_Init_thread", CALLER,
		     (struct call){argc, argv, true, required, provided, NULL});
}

/* The start of a session is not measured. The handles INFO and HANDLER are passed on unchanged. */
EXPORTED int MPI_Session_init(void *info, void *handler, void *session)
{
	__typeof__(MPI_Session_init) *library =
		(__typeof__(library))original(start_functions, "MPI_Session_init", CALLER);

	if (arguments && !called) {
		unmeasured = "the program uses MPI Sessions; measure ziaprobe instead";
		if (start_only && launched_world().rank <= 0)
			print_error("nothing was measured: %s\n", unmeasured);
		if (start_only)
			_exit(1);
	}
	return library ? library(info, handler, session) : MPI_ERR_OTHER;
}

struct interposed start_functions[] = {
	{.name = "MPI_Init", .own = (function *)MPI_Init},
	{.name = "PMPI_Init", .own = (function *)PMPI_Init},
	{.name = "MPI_Init_thread", .own = (function *)MPI_Init_thread},
	{.name = "PMPI_Init_thread", .own = (function *)PMPI_Init_thread},
	{.name = "MPI_Session_init", .own = (function *)MPI_Session_init},
	{.name = NULL},
};
