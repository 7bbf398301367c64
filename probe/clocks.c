/*
 * clocks.c - the offsets between the blocks' clocks, and the reference clock
 *
 * The first ranks of the blocks form a binomial tree. The children of block i are i + 1, i + 2,
 * i + 4 and so on, as long as the number added is less than the lowest set bit of i (block 0 has no
 * such limit), so the parent of block i is i & (i - 1). Comparing all blocks takes at most as many
 * rounds as their number has binary digits.
 *
 * Off the clock.
 */
#include "run.h"

enum { ROUND_TRIPS = 10 }; /* per pair of clocks; the shortest counts */

/* Receives a stamp from RANK. If FIRST is set, RANK may not have got this far yet, so this rank
 * sleeps while it waits and leaves its core to ranks that still have work to do. */
static int64_t receive(int rank, int first)
{
	MPI_Request request;
	int64_t stamp;

	note_state(FOR_CLOCK, rank, now());
	MPI_Irecv(&stamp, 1, MPI_INT64_T, rank, 0, MPI_COMM_WORLD, &request);
	if (first)
		sleep_until_complete(&request);
	else
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	return stamp;
}

/* Compares clocks for BLOCK, one of BLOCKS blocks of N ranks. Only the first rank of BLOCK calls
 * this. It sends its clock to the child blocks, then asks the parent block for that block's clock.
 * Returns the offset of this clock from the parent's, or 0 for block 0, which has no parent. */
struct clock compare_clocks(int block, int blocks, int n)
{
	/* Nothing is known yet. The division by 256 prevents overflow when bounds are added up
	 * along the tree and two such sums are added. */
	struct clock best = {0, block ? INT64_MAX / 256 : 0};
	int subtree = block ? block & -block : blocks;
	int parent = (block & (block - 1)) * n;

	for (int64_t step = 1; step < subtree && block + step < blocks; step *= 2)
		for (int i = 0; i < ROUND_TRIPS; i++) {
			int child = (block + (int)step) * n;
			int64_t here;

			receive(child, i == 0);
			here = now();
			MPI_Send(&here, 1, MPI_INT64_T, child, 0, MPI_COMM_WORLD);
		}
	for (int i = 0; block > 0 && i < ROUND_TRIPS; i++) {
		int64_t before = now(), there, trip;

		MPI_Send(&before, 1, MPI_INT64_T, parent, 0, MPI_COMM_WORLD);
		there = receive(parent, i == 0);
		trip = now() - before;
		if (trip >= 0 && (trip + 1) / 2 + 1 < best.bound)
			best = (struct clock){before + trip / 2 - there, (trip + 1) / 2 + 1};
	}
	return best;
}

/* Stores in SUMS the offset of each block's clock from block 0's. The records hold the offset from
 * the parent's clock. */
static void sum_clocks(const struct run *run, struct clock *sums)
{
	sums[0] = run->records[0].clock;
	for (int i = 1; i < run->size / run->n; i++) {
		sums[i] = run->records[i * run->n].clock;
		sums[i].offset += sums[i & (i - 1)].offset;
		sums[i].bound += sums[i & (i - 1)].bound;
	}
}

/* Returns the offset of clock A from clock B, given the offsets of both from a third clock. */
static struct clock difference(const struct clock *a, const struct clock *b)
{
	return (struct clock){a->offset - b->offset, a == b ? 0 : a->bound + b->bound};
}

/* Returns the block whose clock is the median of CLOCKS. If their number is even, the median is the
 * lower of the two in the middle. */
static int find_median_block(const struct clock *clocks, int blocks)
{
	int64_t *offsets = allocate(blocks, sizeof *offsets);
	int block = 0;

	for (int i = 0; i < blocks; i++)
		offsets[i] = clocks[i].offset;
	qsort(offsets, (size_t)blocks, sizeof *offsets, compare_times);
	while (clocks[block].offset != offsets[(blocks - 1) / 2])
		block++;
	free(offsets);
	return block;
}

/* On rank 0: finds the median clock and the reference clock, and stores in every rank's record the
 * offset of its clock from the reference clock. */
void resolve_clocks(struct run *run)
{
	int blocks = run->size / run->n, reference;
	struct clock *sums = allocate(blocks, sizeof *sums);

	sum_clocks(run, sums);
	run->median_block = run->worst_block = reference = find_median_block(sums, blocks);
	for (int rank = run->size - 1; rank >= 0; rank--)
		if (run->records[rank].on_launch_node) {
			run->launch_clock_known = 1;
			reference = rank / run->n; /* the lowest such rank comes last */
		}
	for (int i = 0; i < blocks; i++) {
		struct clock clock = difference(sums + i, sums + run->median_block);

		/* If several offsets are equally large, often 0, the one with the largest bound
		 * counts. */
		if (llabs(clock.offset) > llabs(run->worst.offset) ||
		    (llabs(clock.offset) == llabs(run->worst.offset) &&
		     clock.bound > run->worst.bound)) {
			run->worst = clock;
			run->worst_block = i;
		}
		if (llabs(clock.offset) > MAX(clock.bound, llabs(run->doubtful.offset))) {
			run->doubtful = clock;
			run->doubtful_block = i;
		}
	}
	for (int rank = 0; rank < run->size; rank++)
		run->records[rank].clock = difference(sums + rank / run->n, sums + reference);
	free(sums);
}

/* Returns the offset to subtract from RANK's stamps. An offset within its bound counts as 0,
 * because it may be noise. */
int64_t clock_offset(const struct run *run, int rank)
{
	const struct clock *clock = &run->records[rank].clock;

	return llabs(clock->offset) > clock->bound ? clock->offset : 0;
}

/* Returns the time as measured by the reference clock. */
int64_t corrected_time(const struct run *run)
{
	int64_t latest = INT64_MIN;

	for (int rank = 0; rank < run->size; rank++)
		if (run->responder[rank] >= 0)
			latest = MAX(latest, run->replied[rank] - clock_offset(run, rank));
	return latest - run->start;
}
