/* Preloaded into ziaprobe, or after libziaprobe.so: records, in order, the calls with which that
 * object reads clocks, its environment and files, sets the locale, arms the timeout, and uses MPI.
 * Calls from other objects, such as the MPI library or a sanitizer, are not recorded. The record
 * ends with the first MPI_Gather, or with MPI_Finalize. It is then written to the file
 * $SLURM_PROCID, one call a line, as NAME or NAME:DETAIL. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT = 1000 };
static char calls[LIMIT][100];
static atomic_int count; /* fences may be left in other threads */
static uintptr_t code, code_end; /* of ziaprobe or libziaprobe.so */
static const char *opened = "none"; /* the file that it opened last; pread is taken to read it */

static int find_code(struct dl_phdr_info *object, size_t size, void *data)
{
	const char *path = *object->dlpi_name ? object->dlpi_name : program_invocation_name;

	(void)size;
	(void)data;
	if (strcmp(basename(path), "ziaprobe") != 0 &&
	    strcmp(basename(path), "libziaprobe.so") != 0)
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
			code = object->dlpi_addr + segment->p_vaddr;
			code_end = code + segment->p_memsz;
		}
	}
	return 1;
}

__attribute__((constructor)) static void before_main(void)
{
	dl_iterate_phdr(find_code, NULL);
}

static void write_record(void)
{
	FILE *file = fopen(getenv("SLURM_PROCID"), "w");

	if (!file)
		abort();
	for (int i = 0; i < count && i < LIMIT; i++)
		fprintf(file, "%s\n", calls[i]);
	fclose(file);
	code_end = 0; /* nothing is recorded from now on */
}

static bool is_own(void *caller)
{
	return (uintptr_t)caller >= code && (uintptr_t)caller < code_end;
}

static void note(const char *name, const char *detail)
{
	int i = count++;

	if (i < LIMIT)
		snprintf(calls[i], sizeof calls[i], "%s%s%s", name, *detail ? ":" : "", detail);
	if (strstr(name, "MPI_Gather") || strstr(name, "MPI_Finalize"))
		write_record();
}

static const char *clock_name(clockid_t clock)
{
	static const char *const names[] = {
		[CLOCK_REALTIME] = "REALTIME",
		[CLOCK_MONOTONIC] = "MONOTONIC",
		[CLOCK_PROCESS_CPUTIME_ID] = "PROCESS_CPU",
		[CLOCK_THREAD_CPUTIME_ID] = "THREAD_CPU",
		[CLOCK_MONOTONIC_RAW] = "MONOTONIC_RAW",
		[CLOCK_BOOTTIME] = "BOOTTIME",
	};

	/* The id that pthread_getcpuclockid() gives for the main thread */
	if (clock == (clockid_t)(~(unsigned)getpid() << 3 | 6))
		return "MAIN_THREAD_CPU";
	return clock >= 0 && clock <= CLOCK_BOOTTIME && names[clock] ? names[clock] : "OTHER";
}

static const char *syscall_name(long number)
{
	if (number == SYS_gettid)
		return "gettid";
	if (number == SYS_timer_create)
		return "timer_create";
	if (number == SYS_timer_settime)
		return "timer_settime";
	return number == SYS_timer_delete ? "timer_delete" : "other";
}

/* Defines the function NAME. Its name in C differs, because the headers declare some of these
 * functions with other parameters or '...'. DETAIL is evaluated only if the call is recorded. */
#define CALL(type, name, parameters, arguments, detail)                                            \
	type wrapped_##name parameters __asm__(#name);                                             \
	type wrapped_##name parameters                                                             \
	{                                                                                          \
		static type(*next) parameters;                                                     \
		bool own = is_own(__builtin_return_address(0));                                    \
		type result;                                                                       \
                                                                                                   \
		if (!next)                                                                         \
			*(void **)&next = dlsym(RTLD_NEXT, #name);                                 \
		if (own)                                                                           \
			note(#name, detail);                                                       \
		result = next arguments;                                                           \
		if (own && strstr(#name, "MPI_Init"))                                              \
			note(#name, "returned");                                                   \
		return result;                                                                     \
	}
CALL(int, clock_gettime, (clockid_t clock, void *time), (clock, time), clock_name(clock))
CALL(int, getrusage, (int who, void *usage), (who, usage), "")
CALL(char *, getenv, (const char *name), (name), name)
CALL(int, open, (const char *path, int flags, int mode), (path, flags, mode),
     opened = basename(path))
CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode), basename(path))
CALL(ssize_t, pread, (int file, void *data, size_t size, off_t at), (file, data, size, at), opened)
CALL(int, fcntl, (int file, int command, long a), (file, command, a), "")
CALL(void *, newlocale, (int mask, const char *name, void *base), (mask, name, base), "")
CALL(void *, uselocale, (void *locale), (locale), "")
CALL(int, sigaction, (int signal, void *new, void *old), (signal, new, old), "")
CALL(int, sigprocmask, (int how, void *new, void *old), (how, new, old), "")
CALL(long, syscall, (long number, long a, long b, long c, long d, long e, long f),
     (number, a, b, c, d, e, f), syscall_name(number))

#define MPI_CALL(name, parameters, arguments)                                                      \
	CALL(int, MPI_##name, parameters, arguments, "")                                           \
	CALL(int, PMPI_##name, parameters, arguments, "")
MPI_CALL(Init, (int *argc, char ***argv), (argc, argv))
MPI_CALL(Comm_rank, (MPI_Comm c, int *rank), (c, rank))
MPI_CALL(Comm_size, (MPI_Comm c, int *size), (c, size))
MPI_CALL(Barrier, (MPI_Comm c), (c))
MPI_CALL(Send, (void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))
MPI_CALL(Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s),
	 (b, n, t, from, tag, c, s))
MPI_CALL(Sendrecv,
	 (void *sb, int sn, MPI_Datatype st, int to, int stag, void *rb, int rn, MPI_Datatype rt,
	  int from, int rtag, MPI_Comm c, MPI_Status *s),
	 (sb, sn, st, to, stag, rb, rn, rt, from, rtag, c, s))
MPI_CALL(Gather,
	 (void *sb, int sn, MPI_Datatype st, void *rb, int rn, MPI_Datatype rt, int to, MPI_Comm c),
	 (sb, sn, st, rb, rn, rt, to, c))
MPI_CALL(Finalize, (void), ())
