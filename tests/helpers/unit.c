/* Tests functions of ziaprobe.c and observe/ that need no MPI. Prints TAP. */
#define WITHOUT_MAIN
#define now ziaprobe_now
#define to_number ziaprobe_to_number
#include "../../ziaprobe.c"
#undef now
#undef to_number
#include "../../observe/ancestry.c"
#include "../../observe/observer.c"
#include "../../observe/options.c"
#include "../../observe/readings.c"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const int64_t ms = 1000, s = 1000000;
static int count, failed;

/* Returns PASSED. */
static int ok(int passed, const char *name)
{
	failed += !passed;
	printf("%sok %d - %s\n", passed ? "" : "not ", ++count, name);
	return passed;
}

/* Checks that the result of the ranks whose STAMPS these are begins or ends as EXPECTED. */
static void is_result(const int64_t *stamps, int ranks, const char *expected)
{
	int before = dup(STDERR_FILENO), ends[2];
	char printed[200] = "";

	if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0)
		abort();
	start = 0;
	size = ranks;
	ok(print_result(stamps) && read(ends[0], printed, sizeof printed - 1) > 0 &&
		   strstr(printed, expected),
	   expected);
	dup2(before, STDERR_FILENO);
	close(before);
	close(ends[0]);
	close(ends[1]);
}

static void is_time(int64_t us, const char *expected)
{
	is_result(&us, 1, expected);
}

/* Checks that WORDS, the arguments of ziaprobe with a blank after each, are parsed as START_US, PPN
 * and SECONDS of timeout, or are rejected if PPN is -1. */
static void is_parsed(const char *words, int64_t start_us, int ppn, int seconds)
{
	static char copy[200];
	char *argv[10] = {"ziaprobe"};
	int argc = 1;

	for (char *word = strcpy(copy, words), *end; (end = strchr(word, ' ')); word = end + 1) {
		*end = '\0';
		argv[argc++] = word;
	}
	timeout = where = NULL;
	run = (struct run){.n = 0};
	take_options(&argc, argv, &run);
	if (argv[argc] || parse(argc, argv)) {
		ok(ppn == -1, words);
		return;
	}
	ok(start == start_us && n == ppn && (timeout ? atoi(timeout) : 0) == seconds, words);
	timeout = NULL; /* nothing is to be timed out here */
	read_arguments(&argc, argv, &run); /* arms --where, but that has passed */
	ok(this_rank.at[START] == start_us && run.n == ppn, "observe/ reads the same numbers");
}

/* Checks that an environment of nothing but TEXT, with a blank between the entries, gives SIZE and
 * RANK; -1 means that it does not give the value. */
static void is_variable(const char *text, int size, int rank)
{
	static char copy[200];
	struct world got;

	clearenv();
	for (char *entry = strtok(strcpy(copy, text), " "); entry; entry = strtok(NULL, " "))
		putenv(entry);
	got = launched_world();
	if (!ok(got.size == size && got.rank == rank, text))
		printf("# got size %d, rank %d\n", got.size, got.rank);
}

/* Checks that an environment of nothing but TEXT gives NODES nodes. */
static void is_nodes(const char *text, int nodes)
{
	static char copy[200];

	clearenv();
	for (char *entry = strtok(strcpy(copy, text), " "); entry; entry = strtok(NULL, " "))
		putenv(entry);
	launched_world();
	if (!ok(launched_nodes() == nodes, text))
		printf("# got %d\n", launched_nodes());
}

/* Like is_variable(), in a child of a process that bears the NAME of a daemon. The number of nodes
 * must be NODES, or what stands for it. */
static void is_launched_by(const char *name, const char *text, int size, int rank, int nodes)
{
	char own[16];
	int status;
	pid_t child;

	prctl(PR_GET_NAME, own);
	prctl(PR_SET_NAME, name);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		int before = failed;

		printf("# below %s\n", name);
		is_variable(text, size, rank);
		if (!ok(launched_nodes() == nodes, "its nodes"))
			printf("# got %d\n", launched_nodes());
		fflush(stdout);
		_exit(failed - before);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	prctl(PR_SET_NAME, own);
	count += 2;
	failed += WEXITSTATUS(status);
}

/* Returns how long this thread has been on a CPU, in us. */
static int64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * s + t.tv_nsec / 1000;
}

static void *note_exit(void *unused)
{
	note_work(INIT_RETURNED);
	return unused;
}

/* Spins for 20 ms in this thread, which is watched, and takes the last reading in another one. */
static void *spin(void *name)
{
	int64_t before = cpu_time(), begun, ended;
	pthread_t other;
	struct work work;

	watch_thread();
	note_work(MAIN_ENTERED);
	begun = ended = cpu_time();
	while (ended - begun < 20 * ms)
		ended = cpu_time();
	if (pthread_create(&other, NULL, note_exit, NULL) != 0)
		abort();
	pthread_join(other, NULL);
	work = work_between(this_rank.readings[MAIN_ENTERED - LIBRARIES_LOADED],
			    this_rank.readings[INIT_RETURNED - LIBRARIES_LOADED]);
	ok(work.cpu >= ended - begun - 1 && work.cpu <= cpu_time() - before + 1 &&
		   work.cpu_wait >= 0,
	   name);
	unwatch_thread();
	ok(read_work().cpu_wait == -1, "no descriptor is kept");
	return NULL;
}

static void test_work(void)
{
	struct rlimit files, none;
	pthread_t thread;

	getrlimit(RLIMIT_NOFILE, &files);
	none = (struct rlimit){0, files.rlim_max};
	setrlimit(RLIMIT_NOFILE, &none);
	ok(!watch_thread(), "no thread was watched before");
	errno = EPIPE;
	note_work(MAIN_ENTERED);
	ok(errno == EPIPE, "a reading leaves errno, although schedstat cannot be opened");
	setrlimit(RLIMIT_NOFILE, &files);
	ok(watch_thread(), "this thread was watched before");
	unwatch_thread();
	spin("this thread's time on a CPU, read by another thread");
	if (pthread_create(&thread, NULL, spin, "another thread's time on a CPU") != 0)
		abort();
	pthread_join(thread, NULL);
	ok(!watch_thread(), "another thread was watched before");
	unwatch_thread();
}

static void test_arguments(void)
{
	is_time(0, "Time test was completed in     0.00 millisecs\n");
	is_time(624570, "Time test was completed in   624.57 millisecs\n");
	is_time(s, "Time test was completed in   0:01 min:sec\n");
	is_time(2 * s - 1, "Time test was completed in   0:01 min:sec\n");
	is_time(65 * s, "Time test was completed in   1:05 min:sec\n");
	is_time(6000 * s, "Time test was completed in 100:00 min:sec\n");

	is_parsed("1771328648 32530 4 ", 1771328648 * s + 32530, 4, 0);
	is_parsed("1 999999 2147483647 ", 1 * s + 999999, INT_MAX, 0);
	is_parsed("1 2 3 --timeout 30 ", 1 * s + 2, 3, 30);
	is_parsed("1 2 3 -t 30 -v ", 1 * s + 2, 3, 30);
	is_parsed("1 2 3 --timeout ", 0, -1, 0);
	is_parsed("1 2 3 -t 1 ", 1 * s + 2, 3, 1);
	is_parsed("1 2 3 -t 0 ", 0, -1, 0);
	is_parsed("1 2 3 -t 2147483647 ", 1 * s + 2, 3, INT_MAX);
	is_parsed("1 2 3 -w 0.75 -t 30 ", 1 * s + 2, 3, 30);
	ok(where && strcmp(where, "0.75") == 0, "--where");
	is_parsed("1 2 3 -w 0.000 ", 0, -1, 0);
	ok(to_ms("12") == 12000 && to_ms("0.7") == 700 && to_ms("0012.34") == 12340 &&
		   to_ms("2147483647.1259") == INT_MAX * 1000LL + 125,
	   "seconds in ms");
	ok(to_ms(NULL) == -1 && to_ms("") == -1 && to_ms(".5") == -1 && to_ms("1.2.3") == -1 &&
		   to_ms("-1") == -1 && to_ms("1e3") == -1 && to_ms(" 1") == -1 &&
		   to_ms("99999999999999999999") == INT_MAX * 1000LL,
	   "what is no number of seconds");
	is_parsed("-v 1 2 3 ", 0, -1, 0);
	is_parsed("1 0 2147483648 ", 0, -1, 0);
	is_parsed("9223372036854 0 1 ", 0, -1, 0);
	is_parsed("99999999999999999999 0 1 ", 0, -1, 0);
	is_parsed("1 2 3 --verbose --csv --ranks --ranks b ", 1 * s + 2, 3, 0);
	ok(run.verbose && strcmp(run.csv, "--ranks") == 0 && strcmp(run.ranks, "b") == 0,
	   "all options");
	is_parsed("1 2 3 -v -x -v ", 0, -1, 0);
}

static void test_result(void)
{
	static const int64_t equal[] = {5, 8, 0, 0, 6, 8};

	is_result((int64_t[]){5, 7, 0, 0, 6, 8}, 6, "0.01 millisecs\nSlowest rank: 5\n");
	is_result(equal, 6, "0.01 millisecs\nSlowest rank: 1\n");
	this_rank.at[START] = 3;
	world.size = 6;
	describe_run(equal);
	ok(run.time == 5 && run.slowest == 1, "if several stamps are the latest, the lowest wins");
	this_rank.at[START] = 0;
}

static void test_launchers(void)
{
	is_variable("HOME=/ SLURM_PROCID=0", -1, -1);
	is_variable("SLURM_PROCID=0 PMIX_RANK=3", -1, 3);
	is_variable("PMIX_RANK=3 SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=5", 8, 5);
	is_variable("XPMI_SIZE=8 PMI_SIZE_=8 PMI_RANK=0 PMI_SIZE=2", 2, 0);
	/* The first variable in the list decides, in whatever order they are set. */
	is_variable("SLURM_STEP_NUM_TASKS=32 SLURM_PROCID=1 PMI_SIZE=1 PMI_RANK=0", 1, 0);
	is_variable("PMI_SIZE=1 PMI_RANK=0 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=2", 4, 2);
	is_variable("PMI_SIZE=x OMPI_COMM_WORLD_SIZE= SLURM_STEP_NUM_TASKS=3", 3, -1);
	is_variable("PMI_SIZE=4 PMI_RANK=3 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3", 4, 3);
	is_variable("PMI_SIZE=4 PMI_RANK=0 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3", 4, 0);
}

/* The number of nodes, or what stands for it, is that of the launcher. */
static void test_nodes(void)
{
	is_nodes("SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=3 SLURM_STEP_NUM_NODES=4 PMIX_RANK=3", 4);
	/* No daemon can be seen: the first launcher is used, even if they agree. */
	is_nodes("SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=3 SLURM_STEP_NUM_NODES=4 PMI_SIZE=8 "
		 "PMI_RANK=3 PMI_FD=5",
		 ON_THE_WIRE);
	is_nodes("SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 SLURM_STEP_NUM_NODES=4 "
		 "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0",
		 IN_PMIX);
	is_nodes("SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=3", NOT_TOLD);
	is_nodes("SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=3 SLURM_STEP_NUM_NODES=x", NOT_TOLD);
	is_nodes("FLUX_JOB_SIZE=6 FLUX_TASK_RANK=2 FLUX_JOB_NNODES=3", 3);
	is_nodes("PMI_SIZE=8 PMI_RANK=3 PMI_FD=5", ON_THE_WIRE);
	is_nodes("PMI_SIZE=8 PMI_RANK=3 PMI_PORT=n1:5", ON_THE_WIRE);
	is_nodes("PMI_SIZE=8 PMI_RANK=3", NOBODY_TOLD); /* PALS */
	is_nodes("OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_RANK=1", IN_PMIX);
	is_nodes("PMIX_RANK=1", NOBODY_TOLD);
	is_nodes("HOME=/", NOBODY_TOLD);
}

#define OMPI "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 "
#define PMI "PMI_SIZE=64 PMI_RANK=63 PMI_FD=5 "
#define FLUX "FLUX_JOB_SIZE=5 FLUX_TASK_RANK=4 FLUX_JOB_NNODES=2 "
#define SLURM "SLURM_STEP_NUM_TASKS=6 SLURM_PROCID=2 SLURM_STEP_NUM_NODES=3 "
static void test_leftovers(void)
{
	is_launched_by("slurmstepd", OMPI PMI FLUX SLURM, 6, 2, 3);
	is_launched_by("orted", OMPI PMI FLUX SLURM, 1, 0, IN_PMIX);
	is_launched_by("mpirun.openmpi", SLURM FLUX PMI OMPI, 1, 0, IN_PMIX);
	is_launched_by("hydra_pmi_proxy", OMPI PMI SLURM, 64, 63, ON_THE_WIRE);
	is_launched_by("flux-shell", PMI FLUX SLURM, 5, 4, 2);
	is_launched_by("prted", PMI SLURM "PMIX_RANK=3", -1, 3, IN_PMIX);
	/* a task of Slurm runs prted, whose rank differs, or is the same by chance */
	is_launched_by("prted", SLURM "PMIX_RANK=3 PMIX_NAMESPACE=n1-7", -1, 3, IN_PMIX);
	is_launched_by("prted", SLURM "PMIX_RANK=2 PMIX_NAMESPACE=n1-7", 6, 2, IN_PMIX);
	is_launched_by("slurmstepd", SLURM "PMIX_RANK=3 PMIX_NAMESPACE=slurm.1", 6, 2, 3);
	is_launched_by("sh", OMPI PMI SLURM, 1, 0, IN_PMIX);
	/* They disagree only on the rank, or agree. */
	is_launched_by("slurmstepd", "PMI_SIZE=6 PMI_RANK=0 PMI_FD=5 " SLURM, 6, 2, 3);
	is_launched_by("slurmstepd", "PMI_SIZE=6 PMI_RANK=2 PMI_FD=5 " SLURM, 6, 2, 3);
	is_launched_by("orted", "PMI_SIZE=6 PMI_RANK=2 " SLURM, 6, 2, IN_PMIX);
}

/* Returns from when on this process certainly existed, counted from main, which it entered 50 ticks
 * after it was created. ziatest has process id PID, and runs on this node if LOCAL is set. */
static int64_t existence(int pid, bool local)
{
	int64_t main_entered = read_process("/proc/self/stat", s).born + 50 * TICK;
	struct record record = {.on_launch_node = local, .at[MAIN_ENTERED] = main_entered};
	char text[16];

	snprintf(text, sizeof text, "%d", pid);
	setenv("OMPI_ZIATEST_PID", text, 1);
	read_creation(&record, s);
	return record.existed - main_entered;
}

static void test_creation(void)
{
	ok(existence(-1, false) == 0, "not launched by ziatest: since main");
	ok(existence(getpid(), true) == 0, "ziatest's own process: since main");
	ok(existence(getpid(), false) == -48 * TICK, "the same id on another node");
	ok(existence(getppid(), true) == -48 * TICK, "launched by ziatest: since its creation");
	ok(read_process("/proc/none", s).born == UNKNOWN, "a process that does not exist");
}

/* Returns whether a child of this process, which bears the NAME of a daemon, takes it for one that
 * waits for all other daemons. */
static bool waits(const char *name)
{
	char own[16];
	pid_t child;
	int status;

	prctl(PR_GET_NAME, own);
	prctl(PR_SET_NAME, name);
	child = fork();
	if (child == 0) {
		struct record record = {.at[MAIN_ENTERED] = INT64_MAX};

		read_creation(&record, s);
		_exit(record.by_mpirun);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	prctl(PR_SET_NAME, own);
	return WEXITSTATUS(status) == 1;
}

static void test_daemons(void)
{
	ok(waits("orted") && waits("mpirun.openmpi"), "Open MPI's daemons wait for each other");
	ok(!waits("slurmstepd") && !waits("hydra_pmi_proxy"), "Slurm's and MPICH's do not");
	setenv("I_MPI_HYDRA_UUID", "1", 1);
	ok(waits("hydra_pmi_proxy"), "Intel MPI's do");
	ok(!waits("slurmstepd"), "Slurm's do not in a job step that Intel MPI's have started");
}

/* How often the simulated clock has been read, and at which of these readings it is interrupted for
 * 500 us; 0 if the real clock is used. Each reading takes 1 us. */
static int clock_readings, interruption;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int us = ++clock_readings + (clock_readings > interruption ? 500 : 0);

	if (!interruption)
		return (int)syscall(SYS_clock_gettime, clock, t);
	*t = (struct timespec){.tv_sec = clock == CLOCK_REALTIME ? 100 : 0, .tv_nsec = us * 1000};
	return 0;
}

static void test_offset(void)
{
	for (int i = 1; i <= 9; i++) {
		struct estimate offset;

		clock_readings = 0;
		interruption = i;
		offset = read_offset(CLOCK_BOOTTIME);
		interruption = 0;
		ok(offset.value == 100 * s && offset.bound == 2,
		   "one of three comparisons of two clocks is interrupted");
	}
}

/* In place of observe/stack.c: a number that stands for the calls that a rank is in, and whether it
 * can be read before the first line is printed */
static uint64_t calls;
static bool are_calls_readable;

bool is_backtrace_loaded(void)
{
	return are_calls_readable;
}

void load_backtrace(void)
{
}

void note_entrance(void *address)
{
	(void)address;
}

void read_stack(struct stack *stack)
{
	stack->count = (int)calls;
}

uint64_t hash_stack(const struct stack *stack)
{
	return (uint64_t)stack->count;
}

void name_calls(const struct stack *stack, char *text, size_t size)
{
	snprintf(text, size, "%d", stack->count);
}

/* Returns how many lines a rank prints that is in the calls OF inside MPI_Init. */
static int count_lines(const char *severity, uint64_t of)
{
	const struct reading none = {0, 0, 0};
	int before = dup(STDERR_FILENO), lines = 0;
	FILE *file = tmpfile();

	if (!file || dup2(fileno(file), STDERR_FILENO) < 0)
		abort();
	calls = of;
	say((struct doing){IN_MPI_INIT, -1, ziaprobe_now(), &none}, severity, "after", "9");
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(file);
	for (int c; (c = fgetc(file)) != EOF;)
		lines += c == '\n';
	fclose(file);
	return lines;
}

/* The sockets of earlier claims stay open, so each call of say() is like another rank's. */
static void test_calls(void)
{
	this_rank.at[START] = ziaprobe_now();
	for (int i = 0; i < 2; i++) {
		const char *severity = i ? "note" : "error";

		are_calls_readable = i;
		ok(count_lines(severity, 1) == 2, "the first rank on a node prints two lines");
		ok(count_lines(severity, 1) == 0, "one in the same calls prints nothing");
		ok(count_lines(severity, 2) == 2, "one in other calls prints two lines");
	}
	this_rank.at[START] = 0;
}

int main(void)
{
	test_work();
	test_arguments();
	test_result();
	test_launchers();
	test_nodes();
	test_leftovers();
	test_creation();
	test_daemons();
	test_offset();
	test_calls();
	printf("1..%d\n", count);
	return failed != 0;
}
