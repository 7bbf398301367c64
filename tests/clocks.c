/* Compares the clocks as ziaprobe does, every rank the first of a block of its own, and prints
 * for each block its clock less block 0's, and the bound, in ns. */
#include "../probe/clocks.c"

#include <inttypes.h>

int main(void)
{
	struct clock clock, clocks[64];
	int rank, size;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	clock = compare_clocks(rank, size, 1);
	MPI_Gather(&clock, sizeof clock, MPI_BYTE, clocks, sizeof clock, MPI_BYTE, 0,
		   MPI_COMM_WORLD);
	sum_clocks(clocks, size);
	for (int block = 0; rank == 0 && block < size; block++)
		printf("%d %" PRId64 " %" PRId64 "\n", block, clocks[block].offset,
		       clocks[block].bound);
	MPI_Finalize();
	return 0;
}
