/* A minimal program that measures what ziaprobe does: MPI_Init, the exchange and the gather. It
 * has no pad, stamps only the replies and checks nothing. Prints the time in ms.
 *
 *	LAUNCHER bare SEC USEC N
 */
#define _POSIX_C_SOURCE 200809L

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	double start = argc > 3 ? atof(argv[1]) * 1e3 + atof(argv[2]) / 1e3 : 0;
	int n = argc > 3 ? atoi(argv[3]) : 1, rank, size, peer;
	double end = 0, *ends;
	struct timespec t;
	char byte = 0;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size); /* must be an even number of blocks of n */
	peer = rank / n % 2 ? rank - n : rank + n;
	if (peer > rank) {
		MPI_Send(&byte, 1, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
		MPI_Recv(&byte, 1, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		clock_gettime(CLOCK_REALTIME, &t);
		end = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
	} else {
		MPI_Recv(&byte, 1, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(&byte, 1, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
	}
	ends = malloc((size_t)size * sizeof *ends);
	MPI_Gather(&end, 1, MPI_DOUBLE, ends, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int i = 0; rank == 0 && i < size; i++)
		end = ends[i] > end ? ends[i] : end;
	if (rank == 0)
		printf("%.6f\n", end - start);
	free(ends);
	MPI_Finalize();
	return 0;
}
