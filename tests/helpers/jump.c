/* Preloaded into ziaprobe: sets or slews the realtime clock while it runs. JUMP="WHERE MOMENT
 * SECONDS" moves the clock of the ranks or nodes WHERE (such as 3, n2, n[24] or *) forward by
 * SECONDS, or back if SECONDS is negative. MOMENT is before main (Exec), the start of PMIx_Init
 * (Pmix) or MPI_Init (Init), the return of the first MPI_Send or MPI_Recv (Exchange) or of the
 * first MPI_Gather (Gather), or the start of MPI_Ibarrier (Ibarrier) or of the second MPI_Gather
 * (Records).
 *
 * With JUMP="WHERE Slew RATE", the clock gains RATE seconds per second from before main on, and
 * MPI_Init takes at least two seconds. As in a kernel, the boot time is slewed, too, but the raw
 * monotonic clock is not. With JUMP="WHERE Slow1 SECONDS", no clock jumps, but each of the first
 * three readings of the raw clock takes SECONDS; with Slow2, each of the last three.
 *
 * The file readings.$RANK gets a line for each time that ziaprobe reads the raw clock, but not for
 * those of the MPI library: the realtime clock before it, the raw clock, and the realtime clock
 * after it, all as they really are, then the average change of the two realtime readings. All are
 * in us. */
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
static int64_t jump; /* in us; 0 until the clock jumps */
static int64_t slewed_since; /* by the raw clock, in us; 0 if it is not slewed */
/* This thread's last reading of the realtime clock, how it was changed, and the reading of the raw
 * clock that came after it, or 0; in us */
static _Thread_local int64_t before, before_change, raw;

static int64_t true_time(clockid_t clock)
{
	struct timespec t;

	syscall(SYS_clock_gettime, clock, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Returns how far the realtime clock is ahead of the true one. */
static int64_t change(void)
{
	if (!slewed_since)
		return jump;
	return (int64_t)(seconds * (double)(true_time(CLOCK_MONOTONIC_RAW) - slewed_since));
}

static int is_now(const char *moment)
{
	char host[64];

	gethostname(host, sizeof host);
	return strcmp(when, moment) == 0 &&
	       (fnmatch(where, host, 0) == 0 || fnmatch(where, getenv("RANK"), 0) == 0);
}

static void jump_at(const char *moment)
{
	if (is_now(moment))
		jump = (int64_t)(seconds * 1e6 + (seconds < 0 ? -.5 : .5));
}

__attribute__((constructor)) static void before_main(void)
{
	if (sscanf(getenv("JUMP"), "%63s %8s %lf", where, when, &seconds) != 3)
		abort();
	jump_at("Exec");
	if (is_now("Slew"))
		slewed_since = true_time(CLOCK_MONOTONIC_RAW);
}

static void note_reading(int64_t after, int64_t after_change)
{
	char name[80];
	FILE *file;

	snprintf(name, sizeof name, "readings.%s", getenv("RANK"));
	file = fopen(name, "a");
	if (!file)
		abort();
	fprintf(file, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", before, raw, after,
		(before_change + after_change) / 2);
	fclose(file);
}

static void read_raw(int64_t us)
{
	static int readings;

	raw = us;
	readings++;
	if ((readings <= 3 && is_now("Slow1")) || (readings > 3 && is_now("Slow2")))
		usleep((useconds_t)(seconds * 1e6));
}

static int is_in_ziaprobe(void *caller)
{
	Dl_info object;

	return dladdr(caller, &object) && strstr(object.dli_fname, "ziaprobe");
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int result = (int)syscall(SYS_clock_gettime, clock, t);
	int64_t us = (int64_t)t->tv_sec * 1000000 + t->tv_nsec / 1000, ahead = 0;

	if (clock == CLOCK_MONOTONIC_RAW) {
		if (is_in_ziaprobe(__builtin_return_address(0)))
			read_raw(us);
	} else if (clock == CLOCK_REALTIME) {
		ahead = change();
		if (raw)
			note_reading(us, ahead);
		raw = 0;
		before = us;
		before_change = ahead;
	} else if (clock == CLOCK_BOOTTIME && slewed_since) {
		ahead = change();
	}
	us += ahead;
	t->tv_sec = us / 1000000;
	t->tv_nsec = us % 1000000 * 1000 + t->tv_nsec % 1000;
	return result;
}

int PMIx_Init(void *process, void *info, size_t count)
{
	void *library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
	int (*own)(void *, void *, size_t);

	jump_at("Pmix");
	*(void **)&own = dlsym(library ? library : RTLD_NEXT, "PMIx_Init");
	return own(process, info, count);
}

int MPI_Init(int *argc, char ***argv)
{
	jump_at("Init");
	if (slewed_since)
		sleep(2);
	return PMPI_Init(argc, argv);
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
	int result = PMPI_Send(b, n, t, to, tag, c);

	jump_at("Exchange");
	return result;
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
	int result = PMPI_Recv(b, n, t, from, tag, c, s);

	jump_at("Exchange");
	return result;
}

int MPI_Gather(const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, int root,
	       MPI_Comm c)
{
	static int gathered;
	int result;

	if (gathered++)
		jump_at("Records");
	result = PMPI_Gather(s, n, t, r, m, u, root, c);
	jump_at("Gather");
	return result;
}

int MPI_Ibarrier(MPI_Comm c, MPI_Request *r)
{
	jump_at("Ibarrier");
	return PMPI_Ibarrier(c, r);
}
