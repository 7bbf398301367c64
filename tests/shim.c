/* Preloaded into ziaprobe: an injected fault. SHIM="WHERE CALL COMMAND": the rank or the node WHERE
 * (3, n2), when MPI_Init returns or its first other CALL begins (Send, Recv, Gather, Igather,
 * Finalize), or for a node in PMIx_Init (Setup), runs the shell's COMMAND, whose $PPID it is, and
 * waits for it. Where $MARKS is set, a process that comes to CALL, or to MPI_Init (Start), makes a
 * file CALL.$RANK there.
 * With $HELPER set, SIGALRM comes to a helper thread, as an MPI library's may be. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void mark(const char *call)
{
	char file[4096];

	if (!getenv("MARKS"))
		return;
	snprintf(file, sizeof file, "%s/%s.%s", getenv("MARKS"), call, getenv("RANK"));
	close(creat(file, 0644));
}

static void fault(const char *call)
{
	static int done;
	char where[64], when[9], host[64], number[16] = "";
	int rank, command;

	if (strcmp(call, "Setup") != 0) {
		PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
		snprintf(number, sizeof number, "%d", rank);
	}
	mark(call);
	gethostname(host, sizeof host);
	if (!getenv("SHIM"))
		return;
	if (sscanf(getenv("SHIM"), "%63s %8s %n", where, when, &command) != 2)
		abort();
	if (done || strcmp(when, call) != 0)
		return;
	if (strcmp(where, host) != 0 && strcmp(where, number) != 0)
		return;
	done = 1;
	unsetenv("LD_PRELOAD");
	if (system(getenv("SHIM") + command) == -1)
		abort();
}

int PMIx_Init(void *process, void *info, size_t count)
{
	int (*own)(void *, void *, size_t);
	void *library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);

	*(void **)&own = dlsym(library ? library : RTLD_NEXT, "PMIx_Init");
	fault("Setup");
	return own(process, info, count);
}

static void *helper(void *unused)
{
	for (;;)
		pause();
	return unused;
}

int MPI_Init(int *argc, char ***argv)
{
	pthread_t thread;
	sigset_t alarm;
	int result;

	mark("Start");
	if (getenv("HELPER")) {
		if (pthread_create(&thread, NULL, helper, NULL) != 0)
			abort();
		sigemptyset(&alarm);
		sigaddset(&alarm, SIGALRM);
		pthread_sigmask(SIG_BLOCK, &alarm, NULL); /* the library's threads inherit it */
	}
	result = PMPI_Init(argc, argv);
	fault("Init");
	return result;
}

#define FAULTY(name, parameters, arguments)                                                        \
	int MPI_##name parameters                                                                  \
	{                                                                                          \
		fault(#name);                                                                      \
		return PMPI_##name arguments;                                                      \
	}
FAULTY(Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c),
       (b, n, t, to, tag, c))
FAULTY(Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s),
       (b, n, t, from, tag, c, s))
FAULTY(Gather,
       (const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, int root, MPI_Comm c),
       (s, n, t, r, m, u, root, c))
FAULTY(Igather,
       (const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u, int root, MPI_Comm c,
	MPI_Request *q),
       (s, n, t, r, m, u, root, c, q))
FAULTY(Finalize, (void), ())
