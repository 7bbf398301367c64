/* Preloaded into ziaprobe: an injected fault. SHIM="WHERE CALL COMMAND": the rank or the
 * node WHERE (3, n2), when MPI_Init returns or its first MPI_Send or MPI_Recv begins (Init,
 * Send, Recv), runs the shell's COMMAND, whose $PPID it is, and waits for it. */
#define _GNU_SOURCE

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fault(const char *call)
{
	static int done;
	char where[64], when[8], host[64], number[16];
	int rank, command;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(number, sizeof number, "%d", rank);
	gethostname(host, sizeof host);
	if (sscanf(getenv("SHIM"), "%63s %7s %n", where, when, &command) != 2)
		abort();
	if (done || strcmp(when, call) != 0 ||
	    (strcmp(where, host) != 0 && strcmp(where, number) != 0))
		return;
	done = 1;
	unsetenv("LD_PRELOAD");
	if (system(getenv("SHIM") + command) == -1)
		abort();
}

int MPI_Init(int *argc, char ***argv)
{
	int result = PMPI_Init(argc, argv);

	fault("Init");
	return result;
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
	fault("Send");
	return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
	fault("Recv");
	return PMPI_Recv(b, n, t, from, tag, c, s);
}
