/*
 * ppn.c - finds out N, the number of processes per node, if it is not given
 *
 * If ranks disagreed on N, they would wait for each other for ever, even in the user's program. So
 * N is never the number of ranks on this node, which differs if the job is uneven, but the size
 * divided by a number of nodes that is the same on all ranks. The launcher alone determines where
 * that number comes from. A rank that gets only a part of the answer must end the job; a launcher
 * that answers no rank is an error that all ranks notice.
 *
 * On the clock, if N is not given: all of it. PMIx takes some 40 us to answer, the others take
 * less.
 */
#include "observe.h"

#include <mpi.h>

/* Returns N for the SIZE ranks of the job; 0 if no rank can know it, or if SIZE is not a multiple
 * of the number of nodes. In these two cases, prints an error if RANK is 0. Ends the job if other
 * ranks may know the number of nodes, and this one does not. */
int find_ppn(int rank, int size)
{
	int nodes = size == 1 ? 1 : launched_nodes();

	if (nodes == ON_THE_WIRE)
		nodes = wire_nodes();
	else if (nodes == IN_PMIX)
		nodes = pmix_nodes();
	if (nodes == NOT_TOLD) {
		print_error("rank %d cannot determine the number of nodes; give the number of "
			    "processes per node: ziatest --ppn N ...\n",
			    rank);
		PMPI_Abort(MPI_COMM_WORLD, 1);
	}
	if (nodes > 0 && size % nodes == 0)
		return size / nodes;
	if (rank == 0 && nodes > 0)
		print_error(
			"%d processes run on %d nodes; start the same number on every node, for "
			"example with srun --ntasks-per-node=4, mpirun --map-by ppr:4:node or "
			"mpiexec.hydra -ppn 4\n",
			size, nodes);
	else if (rank == 0)
		print_error("the launcher does not provide the number of nodes; give the number of "
			    "processes per node: ziatest --ppn N ...\n");
	return 0;
}
