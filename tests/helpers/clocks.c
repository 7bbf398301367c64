/* Compares the clocks as ziaprobe does, with every rank as a block of its own. Prints for each
 * block how far its clock is ahead of that of block 0, and the bound, in us. */
#include "../../probe/clocks.c"

#include <inttypes.h>

int main(void)
{
	static struct record records[64];
	struct run run = {.records = records, .n = 1};
	struct estimate clock, clocks[64];
	int rank;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &run.size);
	clock = compare_clocks(rank, run.size, 1);
	MPI_Gather(&clock, sizeof clock, MPI_BYTE, clocks, sizeof clock, MPI_BYTE, 0,
		   MPI_COMM_WORLD);
	for (int block = 0; block < run.size; block++)
		records[block].clock = clocks[block];
	records[0].on_launch_node = true;
	resolve_clocks(&run);
	for (int block = 0; rank == 0 && block < run.size; block++)
		printf("%d %" PRId64 " %" PRId64 "\n", block, run.offsets[block].value,
		       run.offsets[block].bound);
	MPI_Finalize();
	return 0;
}
