/*
 * clocks.c - the offsets of the blocks' clocks, and the reference clock
 *
 * In the tree of comparisons (observe/gather.c), the parent of block i is i & (i - 1).
 */
#include "analysis.h"

enum { TOLERATED_US = 1000, TOLERATED_PART = 100 }; /* 1 ms, 1/100 of the time */

/* For qsort: times in ascending order. */
int compare_times(const void *a, const void *b)
{
	const int64_t *p = a, *q = b;

	return (*p > *q) - (*p < *q);
}

/* Returns the block whose clock is the median. If the number of blocks is even, the median is the
 * lower of the two in the middle. */
static int find_median_block(const struct run *run, int blocks)
{
	int64_t *sorted = run->new_array(blocks, sizeof *sorted);
	int block = 0;

	for (int i = 0; i < blocks; i++)
		sorted[i] = run->offsets[i].value;
	qsort(sorted, (size_t)blocks, sizeof *sorted, compare_times);
	while (run->offsets[block].value != sorted[(blocks - 1) / 2])
		block++;
	free(sorted);
	return block;
}

/* Returns by how much OFF, the offset or the jump of a clock, exceeds what is tolerated, in us: the
 * largest of its bound, 1 ms and 1 % of the time. Returns 0 or less if it does not. */
int64_t clock_excess(const struct run *run, struct estimate off)
{
	return llabs(off.value) - MAX(MAX(off.bound, TOLERATED_US), run->time / TOLERATED_PART);
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

	return llabs(offset.value) > offset.bound ? offset.value : 0;
}

/* Finds the reference clock: that of the launch node or, if no rank ran there, the median. */
static void find_reference(struct run *run, int blocks)
{
	run->reference_clock = find_median_block(run, blocks);
	for (int i = 0; i < blocks && !run->launch_clock_known; i++)
		if (run->records[i * run->n].on_launch_node) {
			run->launch_clock_known = true;
			run->reference_clock = i;
		}
}

/* Finds the clock, other than the reference, with the largest excess. */
static void find_worst_clock(struct run *run, int blocks)
{
	run->worst_clock = run->reference_clock;
	for (int i = 0; i < blocks; i++)
		if (i != run->reference_clock &&
		    (run->worst_clock == run->reference_clock ||
		     clock_excess(run, run->offsets[i]) >
			     clock_excess(run, run->offsets[run->worst_clock])))
			run->worst_clock = i;
}

/* Finds the time by the reference clock, if that is the launch node's. */
static void correct_time(struct run *run)
{
	run->corrected = UNKNOWN;
	for (int rank = 0; rank < run->size && run->launch_clock_known; rank++) {
		int64_t replied = run->records[rank].at[REPLY_RECEIVED];

		if (replied != UNKNOWN)
			run->corrected =
				MAX(run->corrected, replied - correction(run, rank) - run->start);
	}
}

/* Finds the reference clock, the offset of each block's clock from it, the worst clock, and the
 * corrected time. */
void resolve_clocks(struct run *run)
{
	int blocks = run->size / run->n;
	struct estimate *offsets = run->offsets, reference;

	/* The records hold offsets from the parent block's clock; these are from block 0's. */
	offsets[0] = run->records[0].clock;
	for (int i = 1; i < blocks; i++) {
		struct estimate own = run->records[i * run->n].clock, parent = offsets[i & (i - 1)];

		offsets[i] = (struct estimate){own.value + parent.value, own.bound + parent.bound};
	}
	find_reference(run, blocks);
	reference = offsets[run->reference_clock];
	for (int i = 0; i < blocks; i++) {
		offsets[i].value -= reference.value;
		offsets[i].bound += reference.bound;
	}
	offsets[run->reference_clock].bound = 0;
	find_worst_clock(run, blocks);
	correct_time(run);
}

/* Returns why there is no corrected time, if there is none. */
const char *why_not_corrected(const struct run *run)
{
	return run->launch_node_named ? "no rank ran on the launch node"
				      : "the launch node is not known";
}
