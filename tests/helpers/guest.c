/* guest.c - a user's program for guest.t: guest WAY [NODE]
 *
 * On NODE, it first sleeps for two seconds. WAY is how it then starts MPI:
 *
 * - plain: in main
 * - spin: in main, but on NODE the first rank computes instead of sleeping
 * - fork, thread: in a child, in another thread
 * - comma: in a locale that has a decimal comma
 * - clear: in an environment that has only what MPI needs
 * - timer: with a timer of its own, where no other can be made
 * - closed, wide: after it has closed stdin and stderr, or has printed wide characters to stderr
 *
 * Built with -DSESSIONS, it starts a session; in the WAY "both", it then sleeps on NODE, and calls
 * MPI_Init, too.
 *
 * It prints a line for each promise that libziaprobe.so has broken. Built with -DEARLY, it starts
 * MPI in a constructor. Built with -DLIBRARY, this is a library that comes before MPI's. It
 * sleeps while it is loaded, if the node is $LATE, and computes for 300 ms in MPI_Init_thread. */
#include <fcntl.h>
#include <locale.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void compute(double seconds)
{
	double end = cpu_time() + seconds;

	while (cpu_time() < end)
		;
}

static int is_here(const char *node)
{
	char host[64];

	gethostname(host, sizeof host);
	return node && strcmp(node, host) == 0;
}

#ifdef LIBRARY
__attribute__((constructor)) static void load(void)
{
	if (is_here(getenv("LATE")))
		sleep(2);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	compute(0.3);
	return PMPI_Init_thread(argc, argv, required, provided);
}
#else
#define CHECK(promise) ((promise) ? 0 : printf("ziaprobe: broken: %s\n", #promise))

static const char *way = "early";

static int is_way(const char *name)
{
	return strcmp(way, name) == 0;
}

/* Returns how many descriptors are open on a file whose path ends in NAME. */
static int count_open(const char *name)
{
	char path[32], file[4096];
	int count = 0;

	for (int i = 0; i < 256; i++) {
		ssize_t length, start;

		snprintf(path, sizeof path, "/proc/self/fd/%d", i);
		length = readlink(path, file, sizeof file - 1);
		start = length - (ssize_t)strlen(name);
		if (start < 0)
			continue;
		file[length] = '\0';
		count += strcmp(file + start, name) == 0;
	}
	return count;
}

/* Returns the number of this process's timers; 0 if the kernel does not show them. */
static int count_timers(void)
{
	FILE *file = fopen("/proc/self/timers", "r");
	char line[200];
	int count = 0;

	if (!file)
		return 0;
	while (fgets(line, sizeof line, file))
		count += strncmp(line, "ID:", 3) == 0;
	fclose(file);
	return count;
}

/* Makes a timer, which never expires, and forbids others. */
static void make_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_NONE};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
	    setrlimit(RLIMIT_SIGPENDING, &(struct rlimit){0, 0}) != 0)
		abort();
}

static void *start_mpi(void *unused)
{
	int timers = count_timers(), nulls = count_open("/dev/null");
	int flags = fcntl(STDERR_FILENO, F_GETFD), provided;
	const char *number = is_way("comma") ? "1,5" : "1.5";
	char printed[8];

	CHECK(count_open("/schedstat") == 0);
	if (is_way("thread"))
		MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
	else
		MPI_Init(NULL, NULL);
	CHECK(count_timers() == timers);
	CHECK(count_open("/schedstat") == 0);
	CHECK(count_open("/dev/null") == nulls);
	CHECK(fcntl(STDERR_FILENO, F_GETFD) == flags);
	snprintf(printed, sizeof printed, "%.1f", 1.5);
	CHECK(strcmp(printed, number) == 0);
	return unused;
}

static void be_late(void)
{
	if (!is_way("spin")) {
		sleep(2);
	} else if (strcmp(getenv("SLURM_LOCALID"), "0") == 0) {
		setpriority(PRIO_PROCESS, 0, -20); /* has no effect unless run as root */
		compute(2);
		setpriority(PRIO_PROCESS, 0, 0);
	}
}

/* Returns in a child, whose status becomes that of this process. */
static void continue_in_child(void)
{
	int status;

	if (fork() == 0)
		return;
	if (wait(&status) < 0)
		abort();
	exit(WEXITSTATUS(status));
}

static void start_in_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, start_mpi, NULL) != 0)
		abort();
	pthread_join(thread, NULL);
}

#ifdef EARLY
__attribute__((constructor)) static void start_early(void)
{
	start_mpi(NULL);
}
#endif

extern char **environ;

/* Empties the environment, except for what MPI itself needs. */
static void clear_environment(void)
{
	static char *kept[1000];
	int count = 0;

	for (char **entry = environ; *entry && count < 999; entry++)
		if (strncmp(*entry, "PM", 2) == 0 || strncmp(*entry, "OMPI_", 5) == 0 ||
		    strncmp(*entry, "SLURM_", 6) == 0 || strncmp(*entry, "HOME=", 5) == 0)
			kept[count++] = *entry;
	environ = kept;
}

#ifdef SESSIONS
/* Checks that a write of a bad address fails on each descriptor, one of which was PMI's wire. */
static void write_nowhere(void)
{
	void *volatile nowhere = (void *)8;
	int ends[2];

	if (pipe(ends) != 0)
		abort();
	for (int file = 3; file < 30; file++)
		if (file != ends[0] && file != ends[1] && dup2(ends[1], file) == file)
			CHECK(write(file, nowhere, 100) < 0);
}

int main(int argc, char **argv)
{
	MPI_Session session;

	way = argv[1];
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	CHECK(count_open("/schedstat") == 0);
	if (is_way("both")) {
		if (argc > 2 && is_here(argv[2]))
			be_late();
		start_mpi(NULL);
		MPI_Finalize();
	}
	MPI_Session_finalize(&session);
	write_nowhere();
	return 0;
}
#else
int main(int argc, char **argv)
{
	int started;

	way = argv[1];
	if (argc > 2 && is_here(argv[2]))
		be_late();
	if (is_way("fork"))
		continue_in_child();
	if (is_way("clear"))
		clear_environment();
	if (is_way("timer"))
		make_timer();
	if (is_way("comma"))
		setlocale(LC_ALL, "de_DE.UTF-8");
	if (is_way("closed")) {
		close(STDIN_FILENO);
		close(STDERR_FILENO);
	}
	if (is_way("wide"))
		fwprintf(stderr, L"wide\n");
	MPI_Initialized(&started);
	if (is_way("thread"))
		start_in_thread();
	else if (!started)
		start_mpi(NULL);
	MPI_Finalize();
	return 0;
}
#endif
#endif
