/* Preloaded into ziaprobe: records the MPI calls of rank R in the file $TRACE/R, in three lines:
 * - all calls in order, except non-blocking collectives, as what:peer:bytes
 * - the times, in ns, when the first gather and the next of these calls began, and the number of
 *   non-blocking collectives
 * - all collectives in order, as what:bytes
 *
 * Rank $LATE sleeps for 2 s before its first call. */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char line[4096], collective[512];
static int64_t gathered, resumed;
static int nonblocking;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void note(const char *what, int peer, int count, MPI_Datatype type)
{
	size_t used = strlen(line);
	const char *late = getenv("LATE");
	int size, rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!used && late && atoi(late) == rank)
		sleep(2);
	if (strcmp(what, "gather") == 0 && !gathered)
		gathered = now();
	else if (gathered && !resumed)
		resumed = now();
	PMPI_Type_size(type, &size);
	snprintf(line + used, sizeof line - used, "%s:%d:%d ", what, peer, count * size);
}

static void note_collective(const char *what, int count, MPI_Datatype type)
{
	size_t used = strlen(collective);
	int size;

	PMPI_Type_size(type, &size);
	snprintf(collective + used, sizeof collective - used, "%s%s:%d", used ? " " : "", what,
		 count * size);
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
	note("send", to, n, t);
	return PMPI_Send(b, n, t, to, tag, c);
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
	MPI_Status own;
	int got, result = PMPI_Recv(b, n, t, from, tag, c, &own);

	PMPI_Get_count(&own, t, &got);
	note("recv", own.MPI_SOURCE, got, t);
	if (s != MPI_STATUS_IGNORE)
		*s = own;
	return result;
}

int MPI_Sendrecv(const void *sb, int sn, MPI_Datatype st, int to, int stag, void *rb, int rn,
		 MPI_Datatype rt, int from, int rtag, MPI_Comm c, MPI_Status *s)
{
	note("both", to, sn, st);
	note("both", from, rn, rt);
	return PMPI_Sendrecv(sb, sn, st, to, stag, rb, rn, rt, from, rtag, c, s);
}

int MPI_Gather(const void *sb, int sn, MPI_Datatype st, void *rb, int rn, MPI_Datatype rt, int root,
	       MPI_Comm c)
{
	note("gather", root, sn, st);
	note_collective("gather", sn, st);
	return PMPI_Gather(sb, sn, st, rb, rn, rt, root, c);
}

int MPI_Ibcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *r)
{
	nonblocking++;
	note_collective("Ibcast", n, t);
	return PMPI_Ibcast(b, n, t, root, c, r);
}

int MPI_Ibarrier(MPI_Comm c, MPI_Request *r)
{
	nonblocking++;
	note_collective("Ibarrier", 0, MPI_BYTE);
	return PMPI_Ibarrier(c, r);
}

int MPI_Barrier(MPI_Comm c)
{
	note("Barrier", 0, 0, MPI_BYTE);
	note_collective("Barrier", 0, MPI_BYTE);
	return PMPI_Barrier(c);
}

int MPI_Finalize(void)
{
	char path[4096];
	FILE *file;
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(path, sizeof path, "%s/%d", getenv("TRACE"), rank);
	if ((file = fopen(path, "w"))) {
		fprintf(file, "%s\n%" PRId64 " %" PRId64 " %d\n%s\n", line, gathered, resumed,
			nonblocking, collective);
		fclose(file);
	}
	return PMPI_Finalize();
}
