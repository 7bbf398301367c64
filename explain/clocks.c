/*
 * clocks.c - the offsets between the blocks' clocks, and the reference clock
 *
 * The first ranks of the blocks form a binomial tree. The children of block i are i + 1, i + 2,
 * i + 4 and so on, as long as the number added is less than the lowest set bit of i (block 0 has no
 * such limit), so the parent of block i is i & (i - 1). Comparing all blocks takes at most as many
 * rounds as their number has binary digits.
 *
 * Off the clock for all ranks, so one that waits for its partner need not sleep.
 */
#include "run.h"

enum { ROUND_TRIPS = 10 }; /* per pair of clocks; the shortest is used */

/* Compares clocks for BLOCK, one of BLOCKS blocks of N ranks. Only the first rank of BLOCK calls
 * this. It sends its clock to the child blocks, then asks the parent block for that block's clock.
 * Returns the offset of this clock from the parent's, or 0 for block 0, which has no parent. */
struct estimate compare_clocks(int block, int blocks, int n)
{
	/* Nothing is known yet. The division by 256 prevents overflow when bounds are added up
	 * along the tree and two such sums are added. */
	struct estimate best = {0, block ? INT64_MAX / 256 : 0};
	int subtree = block ? block & -block : blocks;
	int parent = (block & (block - 1)) * n; /* the first rank of that block */

	for (int64_t stride = 1; stride < subtree && block + stride < blocks; stride *= 2)
		for (int i = 0; i < ROUND_TRIPS; i++) {
			int child = (block + (int)stride) * n;
			int64_t here;

			MPI_Recv(&here, 1, MPI_INT64_T, child, 0, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			here = now();
			MPI_Send(&here, 1, MPI_INT64_T, child, 0, MPI_COMM_WORLD);
		}
	for (int i = 0; block > 0 && i < ROUND_TRIPS; i++) {
		int64_t before = now(), there, trip;

		MPI_Sendrecv(&before, 1, MPI_INT64_T, parent, 0, &there, 1, MPI_INT64_T, parent, 0,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		trip = now() - before;
		if (trip >= 0 && (trip + 1) / 2 + 1 < best.bound)
			best = (struct estimate){before + trip / 2 - there, (trip + 1) / 2 + 1};
	}
	return best;
}

/* Returns the block whose clock is the median, given the OFFSETS of all clocks from one of them. If
 * their number is even, the median is the lower of the two in the middle. */
static int find_median_block(const struct estimate *offsets, int blocks)
{
	int64_t *sorted = allocate(blocks, sizeof *sorted);
	int block = 0;

	for (int i = 0; i < blocks; i++)
		sorted[i] = offsets[i].value;
	qsort(sorted, (size_t)blocks, sizeof *sorted, compare_times);
	while (offsets[block].value != sorted[(blocks - 1) / 2])
		block++;
	free(sorted);
	return block;
}

/* Returns by how much OFFSET exceeds its bound: 0 or less if the clock may be right. */
static int64_t excess(struct estimate offset)
{
	return llabs(offset.value) - offset.bound;
}

/* Returns the offset of RANK's clock from the reference clock, as measured. */
struct estimate offset_of(const struct run *run, int rank)
{
	return run->offsets[rank / run->n];
}

/* Returns the offset to subtract from RANK's stamps. An offset within its bound counts as 0,
 * because it may be noise. */
int64_t correction(const struct run *run, int rank)
{
	struct estimate offset = offset_of(run, rank);

	return excess(offset) > 0 ? offset.value : 0;
}

/* On rank 0: finds the reference clock, the offset of each block's clock from it, the worst clock
 * (the one, other than the reference, whose offset exceeds its bound by most), and the corrected
 * time. */
void resolve_clocks(struct run *run)
{
	int blocks = run->size / run->n;
	struct estimate *offsets = allocate(blocks, sizeof *offsets), reference;

	/* The records hold the offset of each clock from the parent block's; these are from block
	 * 0's. */
	offsets[0] = run->records[0].clock;
	for (int i = 1; i < blocks; i++) {
		struct estimate own = run->records[i * run->n].clock, parent = offsets[i & (i - 1)];

		offsets[i] = (struct estimate){own.value + parent.value, own.bound + parent.bound};
	}
	run->offsets = offsets;
	run->reference = find_median_block(offsets, blocks);
	for (int i = blocks - 1; i >= 0; i--)
		if (run->records[i * run->n].on_launch_node) {
			run->launch_clock_known = 1;
			run->reference = i; /* the lowest such block comes last */
		}
	reference = offsets[run->reference];
	for (int i = 0; i < blocks; i++) {
		offsets[i].value -= reference.value;
		offsets[i].bound += reference.bound;
	}
	offsets[run->reference].bound = 0;
	run->worst = run->reference;
	for (int i = 0; i < blocks; i++)
		if (i != run->reference && (run->worst == run->reference ||
					    excess(offsets[i]) > excess(offsets[run->worst])))
			run->worst = i;
	run->corrected = UNKNOWN;
	for (int rank = 0; rank < run->size && run->launch_clock_known; rank++)
		if (run->replied[rank] != UNKNOWN)
			run->corrected =
				MAX(run->corrected,
				    run->replied[rank] - correction(run, rank) - run->start);
}
