/* Compares the clocks as ziaprobe does, every rank the leader of a block of its own, and
 * prints for each block its clock less block 0's, and the bound, in ns. */
#define main ziaprobe_main
#include "../ziaprobe.c"
#undef main

int main(void)
{
	struct clock *clocks;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &world.size);
	clocks = compare_clocks(world.rank, world.size, 1);
	for (int block = 0; clocks && block < world.size; block++)
		printf("%d %" PRId64 " %" PRId64 "\n", block, clocks[block].offset,
		       clocks[block].bound);
	free(clocks);
	MPI_Finalize();
	return 0;
}
