/* Preloaded into ziaprobe: injects a fault. SHIM="WHERE CALL COMMAND" makes rank WHERE (such as 3),
 * or each rank on node WHERE (such as n2, or the pattern n[24]), run the shell command COMMAND when
 * it reaches CALL, and wait for it. In COMMAND, $PPID is the rank's process id. CALL is
 *
 * - Exec: before main
 * - Start, Init: when PMPI_Init begins, and when it returns
 * - Pmix, Later: in PMIx_Init, and in PMIx_Get after the first fence
 * - Fence, Leave, Leave2: when the first fence begins, when it ends, and when the next one ends
 * - Entered, Nap: when PMIx_Fence_nb returns, and when the rank first naps after that
 * - Send, Recv, Recv2, Answer: the first MPI_Send, the first and the second MPI_Recv, and the first
 *   MPI_Send after an MPI_Recv
 * - Gather, Ibcast, Ibarrier, Finalize: the first call of that function; Records: the second gather
 *
 * MPICH has a PMI client built in, which writes commands to a descriptor and reads the answers.
 * Pmix is then its first command, Later is the first command after a fence that does not begin
 * another one, and a fence ends when its answer has been read. ziaprobe's read and write call those
 * of this file.
 *
 * Eight COMMANDs are not run by a shell, but by the thread that reached CALL. "nap SECONDS" sleeps.
 * "spin SECONDS" computes until it has used that much CPU time, at the highest priority that it is
 * allowed. "crowd SECONDS" mostly waits for a CPU, which it shares with child processes that
 * compute. "load FILE" loads a library, whose constructor is the fault; "loading FILE" lets another
 * thread load it, and waits until that thread ends the process. "deaf" starts another thread,
 * blocks all signals in this one, and waits. "jump SECONDS" sets the clock. "slew RATE" sleeps for
 * two seconds; from its beginning on, the clock gains RATE seconds per second.
 *
 * If $WORK is set, every rank works for that many seconds after it has entered the first
 * non-blocking fence. If $MARKS is set, a process that reaches any CALL creates the file CALL.$RANK
 * in that directory. If $HELPER is set, the timeout's signal is delivered to a helper thread, such
 * as MPI libraries have. */
#define _GNU_SOURCE

#include "clock.c"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void mark(const char *call)
{
	char file[4096];

	if (!getenv("MARKS"))
		return;
	snprintf(file, sizeof file, "%s/%s.%s", getenv("MARKS"), call, getenv("RANK"));
	close(creat(file, 0644));
}

static double read_clock(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		abort();
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Computes until CLOCK has advanced by SECONDS. */
static void compute(clockid_t clock, double seconds)
{
	double end = read_clock(clock) + seconds;

	while (read_clock(clock) < end)
		;
}

static void spin(double seconds)
{
	int priority = getpriority(PRIO_PROCESS, 0);

	setpriority(PRIO_PROCESS, 0, -20); /* has no effect unless run as root */
	compute(CLOCK_THREAD_CPUTIME_ID, seconds);
	setpriority(PRIO_PROCESS, 0, priority);
}

/* All crowds run on the same CPU, so that the others are free for the rest of the test. */
static void crowd(double seconds)
{
	pid_t child[9];
	cpu_set_t before, one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof before, &before) != 0)
		abort();
	while (!CPU_ISSET(cpu, &before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof one, &one) != 0)
		abort();
	for (int i = 0; i < 9; i++) {
		child[i] = fork();
		if (child[i] == -1)
			abort();
		if (child[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				;
		}
	}
	compute(CLOCK_MONOTONIC, seconds);
	for (int i = 0; i < 9; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	sched_setaffinity(0, sizeof before, &before);
}

static void *load(void *file)
{
	if (!dlopen(file, RTLD_NOW))
		abort();
	return file;
}

static void *wait_forever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void start_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, argument) != 0)
		abort();
}

static void carry_out(const char *command)
{
	char file[4096];
	double seconds;

	if (sscanf(command, "nap %lf", &seconds) == 1)
		usleep((useconds_t)(seconds * 1e6));
	else if (sscanf(command, "spin %lf", &seconds) == 1)
		spin(seconds);
	else if (sscanf(command, "crowd %lf", &seconds) == 1)
		crowd(seconds);
	else if (sscanf(command, "jump %lf", &seconds) == 1)
		ahead += seconds;
	else if (sscanf(command, "slew %lf", &slew_rate) == 1) {
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &slewed_since);
		sleep(2);
	} else if (sscanf(command, "loading %4095s", file) == 1) {
		start_thread(load, file);
		wait_forever(NULL);
	} else if (sscanf(command, "load %4095s", file) == 1) {
		load(file);
	} else if (strcmp(command, "deaf") == 0) {
		sigset_t all;

		start_thread(wait_forever, NULL);
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, NULL);
		wait_forever(NULL);
	} else if (system(command) == -1)
		abort();
}

static void fault_of(const char *call, const char *number)
{
	static int done;
	char where[64], when[9], host[64];
	char *shim = getenv("SHIM");
	int command;

	gethostname(host, sizeof host);
	if (!shim || !*shim)
		return;
	if (sscanf(shim, "%63s %8s %n", where, when, &command) != 2)
		abort();
	if (done || strcmp(when, call) != 0)
		return;
	if (fnmatch(where, host, 0) != 0 && fnmatch(where, number, 0) != 0)
		return;
	done = 1;
	unsetenv("LD_PRELOAD");
	carry_out(shim + command);
}

static void fault(const char *call)
{
	char number[16];
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(number, sizeof number, "%d", rank);
	mark(call);
	fault_of(call, number);
}

/* A fault before MPI has assigned a rank. */
static void early_fault(const char *call)
{
	const char *rank = getenv("PMIX_RANK");

	mark(call);
	if (!rank)
		rank = getenv("PMI_RANK");
	fault_of(call, rank ? rank : "");
}

__attribute__((constructor)) static void before_main(void)
{
	early_fault("Exec");
}

/* Injects the fault at CALL, if it is not NULL, and returns the PMIx library's function NAME. */
static void *before_pmix(const char *call, const char *name)
{
	void *library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);

	if (call)
		early_fault(call);
	return dlsym(library ? library : RTLD_NEXT, name);
}

static int fenced;

static void leave(void)
{
	static int left;

	early_fault(left++ ? "Leave2" : "Leave");
}

int PMIx_Init(void *process, void *info, size_t count)
{
	int (*own)(void *, void *, size_t);

	*(void **)&own = before_pmix("Pmix", "PMIx_Init");
	return own(process, info, count);
}

int PMIx_Get(const void *process, const char *key, const void *info, size_t count, void **value)
{
	int (*own)(const void *, const char *, const void *, size_t, void **);

	*(void **)&own = before_pmix(fenced ? "Later" : NULL, "PMIx_Get");
	return own(process, key, info, count, value);
}

int PMIx_Fence(const void *processes, size_t count, const void *info, size_t infos)
{
	int (*own)(const void *, size_t, const void *, size_t);
	int result;

	*(void **)&own = before_pmix("Fence", "PMIx_Fence");
	fenced = 1;
	result = own(processes, count, info, infos);
	leave();
	return result;
}

/* The callback of the caller of a non-blocking fence. */
struct callback {
	void (*done)(int, void *);
	void *data;
};

static void leave_nb(int status, void *data)
{
	struct callback callback = *(struct callback *)data;

	free(data);
	leave();
	callback.done(status, callback.data);
}

int PMIx_Fence_nb(const void *processes, size_t count, const void *info, size_t infos,
		  void (*done)(int, void *), void *data)
{
	static int entered;
	int (*own)(const void *, size_t, const void *, size_t, void (*)(int, void *), void *);
	struct callback *callback = malloc(sizeof *callback);
	const char *work = getenv("WORK");
	int result;

	*(void **)&own = before_pmix("Fence", "PMIx_Fence_nb");
	fenced = 1;
	if (!done || !callback)
		return own(processes, count, info, infos, done, data);
	*callback = (struct callback){done, data};
	result = own(processes, count, info, infos, leave_nb, callback);
	early_fault("Entered");
	if (work && !entered++)
		usleep((useconds_t)(atof(work) * 1e6));
	return result;
}

static int wire = -1; /* the descriptor to which MPICH writes PMI's commands */
static int wire_fence; /* whether the last command began a fence */

ssize_t write(int file, const void *data, size_t size)
{
	if (wire < 0 && size >= 8 && memcmp(data, "cmd=init", 8) == 0) {
		wire = file;
		early_fault("Pmix");
	} else if (file == wire) {
		wire_fence = memmem(data, size, "cmd=barrier_in", 14) != NULL;
		if (wire_fence)
			early_fault("Fence");
		else if (fenced)
			early_fault("Later");
		fenced |= wire_fence;
	}
	return syscall(SYS_write, file, data, size);
}

ssize_t read(int file, void *data, size_t size)
{
	ssize_t result = syscall(SYS_read, file, data, size);

	if (file == wire && wire_fence && result > 0) {
		wire_fence = 0;
		leave();
	}
	return result;
}

#ifndef NO_NAP
/* Open MPI waits for a non-blocking fence by calling usleep, and ziaprobe's usleep calls this. */
int nanosleep(const struct timespec *time, struct timespec *left)
{
	static int napped;

	if (fenced && !napped++)
		early_fault("Nap");
	errno = clock_nanosleep(CLOCK_REALTIME, 0, time, left);
	return errno ? -1 : 0;
}
#endif

static void *helper(void *unused)
{
	for (;;)
		pause();
	return unused;
}

/* Returns the MPI library's function NAME. */
static void *library_function(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

int PMPI_Init(int *argc, char ***argv)
{
	int (*own)(int *, char ***);
	pthread_t thread;
	sigset_t set;
	int result;

	if (getenv("HELPER")) {
		if (pthread_create(&thread, NULL, helper, NULL) != 0)
			abort();
		sigemptyset(&set);
		sigaddset(&set, SIGRTMAX - 1);
		pthread_sigmask(SIG_BLOCK, &set, NULL); /* the library's threads inherit it */
	}
	early_fault("Start");
	*(void **)&own = library_function("PMPI_Init");
	result = own(argc, argv);
	fault("Init");
	return result;
}

/* Defines the function NAME, which calls FAULT before MPI's. */
#define FAULTY(name, parameters, arguments, fault)                                                 \
	int PMPI_##name parameters                                                                 \
	{                                                                                          \
		int(*own) parameters;                                                              \
                                                                                                   \
		fault;                                                                             \
		*(void **)&own = library_function("PMPI_" #name);                                  \
		return own arguments;                                                              \
	}

static int received, gathered;

static void before_send(void)
{
	if (received)
		fault("Answer");
	fault("Send");
}

FAULTY(Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c),
       (b, n, t, to, tag, c), before_send())
FAULTY(Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s),
       (b, n, t, from, tag, c, s), fault(received++ ? "Recv2" : "Recv"))
FAULTY(Gather,
       (const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, int root, MPI_Comm c),
       (s, n, t, r, m, u, root, c), fault(gathered++ ? "Records" : "Gather"))
FAULTY(Ibarrier, (MPI_Comm c, MPI_Request *q), (c, q), fault("Ibarrier"))
FAULTY(Ibcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *q),
       (b, n, t, root, c, q), fault("Ibcast"))
FAULTY(Finalize, (void), (), fault("Finalize"))
