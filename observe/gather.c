/*
 * gather.c - the comparison of clocks, and the second gather
 *
 * To compare clocks, the first ranks of the blocks form a binomial tree. The children of block i
 * are i + 1, i + 2, i + 4 and so on, as long as the number added is less than the lowest set bit of
 * i (block 0 has no such limit), so the parent of block i is i & (i - 1).
 *
 * Off the clock for this rank and, after sleep_until_released(), for all ranks.
 */
#include "observe.h"

#include <mpi.h>
#include <poll.h>

/* Waits until REQUEST is complete. Checks once a millisecond and sleeps in between, because a rank
 * that polls all the time would delay others on the same cores. */
static void sleep_until_complete(MPI_Request *request)
{
	int complete = 0;

	while (PMPI_Test(request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && !complete)
		poll(NULL, 0, 1);
}

/* Returns once rank 0 has called this function too, which it does when it has all stamps. This is
 * a broadcast because a barrier would send messages to ranks that may still be on the clock. */
void sleep_until_released(void)
{
	MPI_Request request;
	char nothing = 0;

	PMPI_Ibcast(&nothing, 1, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
	sleep_until_complete(&request);
}

enum { ROUND_TRIPS = 10 }; /* per pair of clocks; the shortest is used */

/* Sends this clock to rank CHILD each time it asks. */
static void answer_child(int child)
{
	for (int i = 0; i < ROUND_TRIPS; i++) {
		int64_t ignored, here;

		PMPI_Recv(&ignored, 1, MPI_INT64_T, child, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		here = now();
		PMPI_Send(&here, 1, MPI_INT64_T, child, 0, MPI_COMM_WORLD);
	}
}

/* Asks rank PARENT for its clock. Returns the offset of this clock from it. */
static struct estimate ask_parent(int parent)
{
	/* Nothing is known yet. The division by 256 prevents overflow when bounds are added up
	 * along the tree and two such sums are added. */
	struct estimate best = {0, INT64_MAX / 256};

	for (int i = 0; i < ROUND_TRIPS; i++) {
		int64_t before = now(), there, trip;

		PMPI_Sendrecv(&before, 1, MPI_INT64_T, parent, 0, &there, 1, MPI_INT64_T, parent, 0,
			      MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		trip = now() - before;
		if (trip >= 0 && (trip + 1) / 2 + 1 < best.bound)
			best = (struct estimate){before + trip / 2 - there, (trip + 1) / 2 + 1};
	}
	return best;
}

/* On the first rank of BLOCK, one of BLOCKS blocks of N ranks: compares clocks. Returns the offset
 * of this clock from the parent block's, or 0 for block 0, which has no parent. */
static struct estimate compare_clocks(int block, int blocks, int n)
{
	int subtree = block ? block & -block : blocks;

	for (int64_t stride = 1; stride < subtree && block + stride < blocks; stride *= 2)
		answer_child((block + (int)stride) * n);
	if (block == 0)
		return (struct estimate){0, 0};
	return ask_parent((block & (block - 1)) * n);
}

/* Compares clocks, and brings the records of all ranks to rank 0, into RECORDS. N is the number of
 * processes per node, and RAW the offset from the raw monotonic clock when main was entered. */
void gather_records(struct record *records, int n, struct estimate raw)
{
	struct estimate later;
	MPI_Request request;

	if (world.rank % n == 0)
		this_rank.clock = compare_clocks(world.rank / n, world.size / n, n);
	/* MPI_Igather would connect every rank to rank 0, and MPI_Gather polls while it waits. So
	 * all ranks first wait for each other in a barrier, in which they sleep. */
	PMPI_Ibarrier(MPI_COMM_WORLD, &request);
	sleep_until_complete(&request);
	/* All clocks have been compared by now. Nothing can set or slew the raw clock. */
	later = read_offset(CLOCK_MONOTONIC_RAW);
	this_rank.jump = (struct estimate){later.value - raw.value, later.bound + raw.bound};
	PMPI_Gather(&this_rank, sizeof this_rank, MPI_BYTE, records, sizeof this_rank, MPI_BYTE, 0,
		    MPI_COMM_WORLD);
}
