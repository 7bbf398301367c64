/* fakes.c - libraries that replace others. Each has a section, which -DSECTION builds. */

/* ---- LIBC: for ziatest ----
 *
 * The realtime clock always reads 7 s and 42 us. If ziatest searches PATH after it has taken the
 * stamp, it is aborted. An exec of /bin/sh prints a line on stderr, or fails with the errno in
 * $NO_SHELL. If $NO_EXEC is set, any exec ends with status 77. If $HIDE is set, no file can be
 * opened. $MAXERROR is the maximum error of the clock in us; if it is empty, adjtimex fails. */
#ifdef LIBC
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

static int is_stamped;

int clock_gettime(clockid_t id, struct timespec *t)
{
	is_stamped = id == CLOCK_REALTIME;
	t->tv_sec = is_stamped ? 7 : 0;
	t->tv_nsec = 42999;
	return 0;
}

int execvp(const char *file, char *const argv[])
{
	if (is_stamped)
		abort();
	return execvpe(file, argv, environ);
}

int execv(const char *path, char *const argv[])
{
	if (getenv("NO_EXEC"))
		_exit(77);
	return execve(path, argv, environ);
}

int execl(const char *path, const char *name, ...)
{
	char *words[4] = {(char *)name};
	va_list args;

	if (getenv("NO_EXEC"))
		_exit(77);
	if (getenv("NO_SHELL")) {
		errno = atoi(getenv("NO_SHELL"));
		return -1;
	}
	fputs("by /bin/sh\n", stderr);
	unsetenv("LD_PRELOAD");
	va_start(args, name);
	words[1] = va_arg(args, char *);
	words[2] = va_arg(args, char *);
	va_end(args);
	return execve(path, words, environ);
}

FILE *fopen(const char *path, const char *mode)
{
	return getenv("HIDE") ? NULL : fdopen(open(path, O_RDONLY), mode);
}

int adjtimex(struct timex *clock)
{
	const char *maxerror = getenv("MAXERROR");

	clock->maxerror = maxerror ? atol(maxerror) : 500;
	return maxerror && !*maxerror ? -1 : TIME_ERROR;
}
#endif

/* ---- LAYER: a profiler between a program and MPI ----
 *
 * While it is loaded, it sleeps for two seconds on the node $LATE, and starts MPI if $EARLY is set.
 * $FAULT makes its MPI_Init 'fail', or 'hang' on rank 0, or be 'slow' there: it then takes three
 * seconds, whatever signals arrive. If $REAL_MPI is set, it is a tracer, which looks MPI_Init up in
 * that library, and says so on rank 0. Its MPI_Init_thread computes for 300 ms. */
#ifdef LAYER
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int MPI_Init(int *argc, char ***argv)
{
	const char *fault = getenv("FAULT") ? getenv("FAULT") : "";
	int is_first = getenv("SLURM_PROCID") && strcmp(getenv("SLURM_PROCID"), "0") == 0;
	int (*init)(int *, char ***) = PMPI_Init;
	struct timespec left = {3, 0};

	if (strcmp(fault, "fail") == 0)
		return MPI_ERR_OTHER;
	while (strcmp(fault, "hang") == 0 && is_first)
		sleep(1);
	while (strcmp(fault, "slow") == 0 && is_first && nanosleep(&left, &left) != 0)
		;
	if (getenv("REAL_MPI")) {
		void *library = dlopen(getenv("REAL_MPI"), RTLD_LAZY | RTLD_GLOBAL | RTLD_DEEPBIND);

		*(void **)&init = dlsym(library, "MPI_Init");
	}
	if (getenv("REAL_MPI") && is_first)
		fprintf(stderr, "ziaprobe: traced\n");
	return init(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	struct timespec t = {0, 0};

	while (t.tv_sec == 0 && t.tv_nsec < 300000000)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
	static int calls;

	if (calls++)
		fprintf(stderr, "ziaprobe: broken: the program calls MPI_Comm_rank once\n");
	return PMPI_Comm_rank(comm, rank);
}

int start(int *argc, char ***argv)
{
	return MPI_Init(argc, argv);
}

__attribute__((constructor)) static void load(void)
{
	char host[64];

	gethostname(host, sizeof host);
	if (getenv("LATE") && strcmp(getenv("LATE"), host) == 0)
		sleep(2);
	if (getenv("EARLY"))
		MPI_Init(NULL, NULL);
}
#endif

/* ---- STUB: a stub of MPI for serial builds, which claims that MPI has been started ----
 *
 * In a plugin, its run() must reach this stub, whatever else is loaded. */
#ifdef STUB
static int calls;

int MPI_Init(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return calls++;
}

int PMPI_Initialized(int *flag)
{
	*flag = 1;
	return 0;
}

int run(void)
{
	return MPI_Init(0, 0) == 0 && calls == 1;
}
#endif

/* ---- FOREIGN: an MPI library with handles of its own, such as HPE MPT's ---- */
#ifdef FOREIGN
#include <string.h>

#define PMPI_Get_library_version not_this
#define PMPI_Initialized nor_this
#include "../../preload/mpi.h"
#define DEFINE_AS_DATA(name, parameters) int(*PMPI_##name) parameters;
MPI_FUNCTIONS(DEFINE_AS_DATA) /* so that a call crashes */
#undef PMPI_Get_library_version
#undef PMPI_Initialized

int MPI_Init(int *argc, char ***argv)
{
	return !argc || !argv;
}

int PMPI_Initialized(int *is_started)
{
	*is_started = 0; /* or PMPI_Finalize would be called */
	return 0;
}

int PMPI_Get_library_version(char *text, int *length)
{
	strcpy(text, "Foreign 2.30, 2026\nMPICH");
	*length = (int)strlen(text);
	return 0;
}
#endif

/* ---- PMI, PLUGIN, OTHER: for fence.t ----
 *
 * PMI is the library of a process manager. Its PMIx_Fence calls its PMIx_Fence_nb, which keeps the
 * last callback for release(), and returns 1 without a callback. Given 7 processes, it fails; given
 * 9, it completes at once. If command_wire is a descriptor, PMI2_KVS_Fence writes a command there,
 * and reads the answer. The library also reads and writes before the program's constructors run.
 * With _FORTIFY_SOURCE, read_heap() calls __read_chk. */
#ifdef PMI
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int command_wire = -1;
static int calls;
static void (*kept)(int, void *);
static void *kept_data;

__attribute__((constructor)) static void use_pipe(void)
{
	int ends[2];
	char text[9];

	if (pipe(ends) != 0 || write(ends[1], "cmd=get", 7) != 7 ||
	    read(ends[0], text, sizeof text) != 7)
		abort();
}

ssize_t read_heap(int file, size_t room)
{
	char *text = malloc(room);
	ssize_t result = read(file, text, room - 1 + (getppid() < 0));

	free(text);
	return result;
}

int PMI_Barrier(void)
{
	return ++calls;
}

int PMI_Allgather(void *in, void *out, int length)
{
	memcpy(out, in, (size_t)length);
	return ++calls;
}

int PMI2_KVS_Fence(void)
{
	char answer[99];

	if (command_wire >= 0 && (write(command_wire, "cmd=kvs-fence;", 14) != 14 ||
				  read(command_wire, answer, sizeof answer) <= 0))
		abort();
	return ++calls;
}

int PMIx_Fence_nb(const void *procs, size_t count, const void *info, size_t infos,
		  void (*done)(int, void *), void *data)
{
	(void)procs, (void)info, (void)infos;
	calls++;
	if (count == 7)
		return -7;
	if (count == 9)
		return -157; /* PMIX_OPERATION_SUCCEEDED */
	kept = done;
	kept_data = data;
	return !done;
}

void release(void)
{
	kept(5, kept_data);
}

static void ignore(int status, void *data)
{
	(void)status, (void)data;
}

int PMIx_Fence(const void *procs, size_t count, const void *info, size_t infos)
{
	return PMIx_Fence_nb(procs, count, info, infos, ignore, NULL) ? -1 : ++calls;
}
#endif

/* A plugin, which is linked with such a library. find_release() succeeds if RTLD_DEFAULT also
 * searches that library. If the plugin is preloaded, its getppid() calls the next one. */
#ifdef PLUGIN
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

int PMI_Barrier(void);

int call(void)
{
	return PMI_Barrier();
}

int find_release(void)
{
	return dlsym(RTLD_DEFAULT, "release") != 0;
}

int getppid(void)
{
	static int calls;
	int (*next)(void);

	if (++calls > 2)
		abort(); /* it has found itself */
	*(void **)&next = dlsym(RTLD_NEXT, "getppid");
	return next();
}
#endif

/* Another library, in which the function has another offset */
#ifdef OTHER
__attribute__((aligned(512))) int PMI_Barrier(void)
{
	return 20;
}
#endif

/* ---- SCHEDSTAT: for ziaprobe ----
 *
 * A kernel that does not record how long a process waits for a CPU: $SCHEDSTAT is opened instead of
 * /proc/thread-self/schedstat. */
#ifdef SCHEDSTAT
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int open(const char *name, int flags, ...)
{
	va_list rest;
	int mode;

	va_start(rest, flags);
	mode = flags & O_CREAT ? va_arg(rest, int) : 0;
	va_end(rest);
	if (strcmp(name, "/proc/thread-self/schedstat") == 0)
		name = getenv("SCHEDSTAT");
	return (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
}
#endif

/* ---- COLD: for ziaprobe ----
 *
 * Rank $RANK reads 512 pages of the file "cold" before main. If the file is not in the page cache,
 * each page causes a major fault. */
#ifdef COLD
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

__attribute__((constructor)) static void read_pages(void)
{
	int file = open("cold", O_RDONLY), sum = 0;
	volatile char *page;

	if (strcmp(getenv("PMI_RANK"), getenv("RANK")) != 0)
		return;
	page = mmap(NULL, 512 * 4096, PROT_READ, MAP_PRIVATE, file, 0);
	madvise((void *)page, 512 * 4096, MADV_RANDOM);
	for (int i = 0; i < 512; i++)
		sum += page[i * 4096];
	if (sum != 0)
		abort();
}
#endif

/* ---- SPANK: a plugin of Slurm, for path.t ----
 *
 * slurmstepd runs a command, with one argument, before it creates the processes of a step. */
#ifdef SPANK
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>

SPANK_PLUGIN(late, 1)
int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	char command[4096];

	(void)spank;
	if (argc != 2 || spank_context() != S_CTX_REMOTE)
		return 0;
	snprintf(command, sizeof command, "%s %s", argv[0], argv[1]);
	return system(command);
}
#endif
