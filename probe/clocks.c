/*
 * clocks.c - what the clocks of the nodes differ by, and whose is right (off the clock)
 *
 * The first ranks of the blocks form a binomial tree: below block i hang i + 1, i + 2, i + 4 ... as
 * long as what is added is less than i's lowest bit, so that i's parent is i & (i - 1). All are
 * compared in as many rounds as the number of blocks has binary digits.
 *
 * A time is right by the clock that stamped the start, where that is one of these. Which clock
 * is wrong is judged against the median, whoever is rank 0 and wherever the start was stamped.
 */
#include "run.h"

enum { CLOCK_ROUNDS = 10 }; /* round trips to compare two clocks; the shortest counts */

/* Receives what RANK sends. For the FIRST it waits without taking a core from those at work. */
static int64_t receive(int rank, int first)
{
	MPI_Request request;
	int64_t there;

	wait_for(CLOCK, rank, now());
	MPI_Irecv(&there, 1, MPI_INT64_T, rank, 0, MPI_COMM_WORLD, &request);
	if (first)
		await(&request);
	else
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	return there;
}

/* Takes part as the first rank of BLOCK, one of BLOCKS of N ranks: answers the blocks below with
 * its clock, then asks for that of its parent. Returns its own less the parent's, no difference
 * for block 0, which has none. */
struct clock compare_clocks(int block, int blocks, int n)
{
	/* None yet; / 256: its sum along the tree, twice in a difference, fits. */
	struct clock best = {0, block ? INT64_MAX / 256 : 0};
	int subtree = block ? block & -block : blocks;
	int parent = (block & (block - 1)) * n;

	for (int64_t step = 1; step < subtree && block + step < blocks; step *= 2)
		for (int i = 0; i < CLOCK_ROUNDS; i++) {
			int child = (block + (int)step) * n;
			int64_t here;

			receive(child, i == 0);
			here = now();
			MPI_Send(&here, 1, MPI_INT64_T, child, 0, MPI_COMM_WORLD);
		}
	for (int i = 0; block > 0 && i < CLOCK_ROUNDS; i++) {
		int64_t before = now(), there, trip;

		MPI_Send(&before, 1, MPI_INT64_T, parent, 0, MPI_COMM_WORLD);
		there = receive(parent, i == 0);
		trip = now() - before;
		if (trip >= 0 && trip / 2 + 1 < best.bound)
			best = (struct clock){before + trip / 2 - there, trip / 2 + 1};
	}
	return best;
}

/* Each block's clock less block 0's goes to SUMS; in the facts it is less its parent's. */
static void sum_clocks(const struct run *run, struct clock *sums)
{
	sums[0] = run->facts[0].clock;
	for (int i = 1; i < run->size / run->n; i++) {
		sums[i] = run->facts[i * run->n].clock;
		sums[i].offset += sums[i & (i - 1)].offset;
		sums[i].bound += sums[i & (i - 1)].bound;
	}
}

/* Clock A less clock B, of which both are less the same third; 0 of the same. */
static struct clock difference(const struct clock *a, const struct clock *b)
{
	return (struct clock){a->offset - b->offset, a == b ? 0 : a->bound + b->bound};
}

/* The block whose one of CLOCKS is the median, of an even number the lower one in the middle. */
static int median_clock(const struct clock *clocks, int blocks)
{
	int64_t *offsets = allocate(blocks, sizeof *offsets), median;
	int block = 0;

	for (int i = 0; i < blocks; i++)
		offsets[i] = clocks[i].offset;
	median = select_ns(offsets, blocks, (blocks - 1) / 2);
	while (clocks[block].offset != median)
		block++;
	free(offsets);
	return block;
}

/* On rank 0, from the facts: fills in the skew, and turns the clocks into those of all ranks, less
 * the reference. */
void settle_clocks(struct run *run)
{
	int blocks = run->size / run->n, median, reference;
	struct clock *sums = allocate(blocks, sizeof *sums);

	sum_clocks(run, sums);
	median = reference = run->worst_block = median_clock(sums, blocks);
	for (int i = blocks - 1; i >= 0; i--)
		if (run->facts[i * run->n].on_start_node) {
			run->start_clock_known = 1;
			reference = i;
		}
	for (int i = 0; i < blocks; i++) {
		struct clock skew = difference(sums + i, sums + median);

		if (!run->start_clock_known && skew.offset + skew.bound > run->slack)
			run->slack = skew.offset + skew.bound;
		if (llabs(skew.offset) > llabs(run->skew.offset)) {
			run->skew = skew;
			run->worst_block = i;
		}
	}
	for (int rank = 0; rank < run->size; rank++)
		run->facts[rank].clock = difference(sums + rank / run->n, sums + reference);
	free(sums);
}

/* What the stamps of RANK are ahead of the reference; 0 while the clocks are not known. */
int64_t ahead(const struct run *run, int rank)
{
	return run->facts ? run->facts[rank].clock.offset : 0;
}

/* The time by the reference. */
int64_t corrected_time(const struct run *run)
{
	int64_t latest = INT64_MIN;

	for (int rank = 0; rank < run->size; rank++) {
		int64_t replied = run->stamps[rank].replied - ahead(run, rank);

		if (run->partner[rank] >= 0 && replied > latest)
			latest = replied;
	}
	return latest - run->start;
}

/* By how much RANK has for certain a stamp from before the start, as far as the clocks are known:
 * by the clock that stamped the start, or where that is not known by every one; <= 0 if not. */
static int64_t too_early(const struct run *run, int rank)
{
	int64_t first = run->stamps[rank].entered;

	if (run->partner[rank] >= 0 && run->stamps[rank].replied < first)
		first = run->stamps[rank].replied;
	if (run->facts)
		first += run->facts[rank].clock.bound + run->slack;
	return run->start - (first - ahead(run, rank));
}

/* The first rank by which the start cannot be right: it was told another than rank 0, or began
 * before it; else the slowest, if the time as measured is negative. -1 if there is none. */
static int first_doubtful(const struct run *run)
{
	for (int rank = 0; rank < run->size; rank++)
		if (run->stamps[rank].start != run->start || too_early(run, rank) > 0)
			return rank;
	return run->time < 0 ? run->slowest : -1;
}

/* Whether the start can be right, as far as the clocks are known. */
int start_holds(const struct run *run)
{
	return first_doubtful(run) < 0;
}

/* Says so if the start cannot be right. Returns the exit status. */
int check_start(const struct run *run)
{
	int rank = first_doubtful(run);

	if (rank < 0)
		return 0;
	if (run->stamps[rank].start != run->start)
		say("error",
		    "ranks 0 and %d were told different starts; expand SEC and USEC once, before "
		    "the launcher starts the ranks",
		    rank);
	else if (too_early(run, rank) > 0)
		say("error",
		    "rank %d on %s began at least %.6f s before the start; check SEC USEC, and the "
		    "clocks of %s and of the node that stamped the start",
		    rank, run->facts[rank].host, (double)too_early(run, rank) / 1e9,
		    run->facts[rank].host);
	else
		say("error",
		    "the time would be %.6f s, as rank %d on %s had its reply before the start by "
		    "its own clock; synchronise the clocks and run again",
		    (double)run->time / 1e9, rank, run->facts[rank].host);
	return 1;
}

/* Whether the clock that stamped the start, which is no rank's, is not synchronised while those of
 * all blocks are, as their kernels say. On a machine without NTP nothing is amiss. */
static int unsynchronised(const struct run *run)
{
	const char *sync = getenv("ZIATEST_SYNC");
	int others = 1;

	for (int rank = 0; rank < run->size; rank += run->n)
		others &= run->facts[rank].synchronised;
	return !run->start_clock_known && sync && strcmp(sync, "no") == 0 && others;
}

/* Warns where the stamping clock may be off, and where a clock is off by more than its bound, 1 ms
 * and 1 % of the time. Of two blocks neither can be blamed. */
void check_clocks(const struct run *run)
{
	int64_t off = llabs(run->skew.offset);
	double skew = (double)off / 1e6, bound = (double)run->skew.bound / 1e6;
	char corrected[100] =
		"there is no corrected time, as the clock that stamped the start is not known";
	const char *advice = "synchronise the clocks and run again";

	if (unsynchronised(run))
		say("warning",
		    "the clock that stamped the start is not synchronised, its kernel says, while "
		    "those of all nodes are: the time may be off by as much as that clock is; "
		    "synchronise it, or start ziatest on a node of the job");
	if (off <= run->skew.bound || off <= 1000000 || off <= run->time / 100)
		return;
	if (run->start_clock_known)
		snprintf(corrected, sizeof corrected,
			 "by the clock that stamped the start the time is %.2f ms",
			 (double)corrected_time(run) / 1e6);
	if (run->size == 2 * run->n)
		say("warning", "the clocks of %s and %s differ by %.3f ms (within %.3f ms); %s; %s",
		    run->facts[0].host, run->facts[run->n].host, skew, bound, corrected, advice);
	else
		say("warning",
		    "the clock of %s is %.3f ms %s the median of all nodes' (within %.3f ms); %s; "
		    "%s",
		    run->facts[run->worst_block * run->n].host, skew,
		    run->skew.offset > 0 ? "ahead of" : "behind", bound, corrected, advice);
}
