/*
 * clocks.c - the offsets of the blocks' clocks, and the reference clock
 *
 * In the tree of comparisons (observe/gather.c), the parent of block i is i & (i - 1).
 */
#include "analysis.h"

/* For qsort: times in ascending order. */
int compare_times(const void *a, const void *b)
{
	const int64_t *p = a, *q = b;

	return (*p > *q) - (*p < *q);
}

/* Returns the block whose clock is the median, given the OFFSETS of all clocks from one of them. If
 * their number is even, the median is the lower of the two in the middle. */
static int find_median_block(const struct run *run, const struct estimate *offsets, int blocks)
{
	int64_t *sorted = run->new_array(blocks, sizeof *sorted);
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

/* Finds the reference clock, the offset of each block's clock from it, the worst clock (of the
 * others, the one whose offset exceeds its bound by most), and the corrected time. */
void resolve_clocks(struct run *run)
{
	int blocks = run->size / run->n;
	struct estimate *offsets = run->new_array(blocks, sizeof *offsets), reference;

	/* The records hold offsets from the parent block's clock; these are from block 0's. */
	offsets[0] = run->records[0].clock;
	for (int i = 1; i < blocks; i++) {
		struct estimate own = run->records[i * run->n].clock, parent = offsets[i & (i - 1)];

		offsets[i] = (struct estimate){own.value + parent.value, own.bound + parent.bound};
	}
	run->offsets = offsets;
	run->reference = find_median_block(run, offsets, blocks);
	for (int i = 0; i < blocks && !run->launch_clock_known; i++)
		if (run->records[i * run->n].on_launch_node) {
			run->launch_clock_known = true;
			run->reference = i;
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
	for (int rank = 0; rank < run->size && run->launch_clock_known; rank++) {
		int64_t replied = run->records[rank].at[REPLY_RECEIVED];

		if (replied != UNKNOWN)
			run->corrected =
				MAX(run->corrected, replied - correction(run, rank) - run->start);
	}
}
