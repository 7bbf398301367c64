/* Preloaded into ziaprobe: steps the realtime clock while it runs. STEP="WHERE CALL SECONDS" moves
 * the clock of the ranks or nodes WHERE (such as 3, n2, n[24] or *) forward by SECONDS, or back if
 * SECONDS is negative. CALL is the time before main (Exec), the start of PMIx_Init (Pmix) or
 * MPI_Init (Init), or the return of the first MPI_Send or MPI_Recv (Exchange). With STEP="WHERE
 * Slow SECONDS", no clock is stepped, but the second reading of the boot time takes SECONDS.
 *
 * The file readings.$RANK gets a line for each reading of the boot time: the realtime clock before
 * it, the time since boot, and the realtime clock after it, in us and without the step. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char where[64], when[9];
static double seconds;
static int64_t step; /* in us; 0 until the clock is stepped */
static int readings; /* of the boot time */
static _Thread_local int64_t before, boot_time; /* in us; boot_time is 0 unless just read */

static int is_here(void)
{
	char host[64];

	gethostname(host, sizeof host);
	return fnmatch(where, host, 0) == 0 || fnmatch(where, getenv("RANK"), 0) == 0;
}

static void step_in(const char *call)
{
	if (strcmp(when, call) == 0 && is_here())
		step = (int64_t)(seconds * 1e6 + (seconds < 0 ? -.5 : .5));
}

__attribute__((constructor)) static void before_main(void)
{
	if (sscanf(getenv("STEP"), "%63s %8s %lf", where, when, &seconds) != 3)
		abort();
	step_in("Exec");
}

static void note_reading(int64_t after)
{
	char name[80];
	FILE *file;

	snprintf(name, sizeof name, "readings.%s", getenv("RANK"));
	file = fopen(name, "a");
	if (!file)
		abort();
	fprintf(file, "%" PRId64 " %" PRId64 " %" PRId64 "\n", before, boot_time, after);
	fclose(file);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int result = (int)syscall(SYS_clock_gettime, clock, t);
	int64_t us = (int64_t)t->tv_sec * 1000000 + t->tv_nsec / 1000;

	if (clock == CLOCK_BOOTTIME) {
		boot_time = us;
		if (++readings == 2 && strcmp(when, "Slow") == 0 && is_here())
			usleep((useconds_t)(seconds * 1e6));
	} else if (clock == CLOCK_REALTIME) {
		if (boot_time)
			note_reading(us);
		boot_time = 0;
		before = us;
		us += step;
		t->tv_sec = us / 1000000;
		t->tv_nsec = us % 1000000 * 1000 + t->tv_nsec % 1000;
	}
	return result;
}

int PMIx_Init(void *process, void *info, size_t count)
{
	void *library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
	int (*own)(void *, void *, size_t);

	step_in("Pmix");
	*(void **)&own = dlsym(library ? library : RTLD_NEXT, "PMIx_Init");
	return own(process, info, count);
}

int MPI_Init(int *argc, char ***argv)
{
	step_in("Init");
	return PMPI_Init(argc, argv);
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
	int result = PMPI_Send(b, n, t, to, tag, c);

	step_in("Exchange");
	return result;
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
	int result = PMPI_Recv(b, n, t, from, tag, c, s);

	step_in("Exchange");
	return result;
}
