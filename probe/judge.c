/*
 * judge.c - whether the measurement is valid, and which warnings the result needs
 *
 * Off the clock, on rank 0, before the result is printed. Each check reports the first error that
 * it finds. Once a check has failed, no other check runs.
 */
#include "run.h"

static const char *host_of(const struct run *run, int rank)
{
	return run->records[rank].host;
}

/* A block's first rank, and a hash of where it runs. */
struct block {
	uint64_t key;
	int rank;
};

/* For qsort: blocks by key, then by rank. */
static int compare_blocks(const void *a, const void *b)
{
	const struct block *p = a, *q = b;

	if (p->key != q->key)
		return p->key > q->key ? 1 : -1;
	return p->rank - q->rank;
}

/* Looks for two blocks on one node. If SAME_HOST is set, their host names must also be the same.
 * Returns the first rank of the later block, and stores the first rank of the earlier block in
 * *EARLIER. If there are several such pairs, the one whose later block is lowest counts. Returns -1
 * if there is none. */
static int find_shared_node(const struct run *run, int same_host, int *earlier)
{
	int count = run->size / run->n, later = -1;
	struct block *blocks = allocate(count, sizeof *blocks);

	for (int i = 0; i < count; i++) {
		const struct record *record = run->records + i * run->n;

		blocks[i].key = same_host ? hash(record->node, record->host) : record->node;
		blocks[i].rank = i * run->n;
	}
	qsort(blocks, (size_t)count, sizeof *blocks, compare_blocks);
	for (int i = 1; i < count; i++)
		if (blocks[i].key == blocks[i - 1].key && (later < 0 || blocks[i].rank < later)) {
			*earlier = blocks[i - 1].rank;
			later = blocks[i].rank;
		}
	free(blocks);
	return later;
}

/* Returns the lowest rank that is not on the same node as the first rank of its block, or -1. */
static int find_stray(const struct run *run)
{
	for (int rank = 0; rank < run->size; rank++)
		if (run->records[rank].node != run->records[rank / run->n * run->n].node)
			return rank;
	return -1;
}

/* Returns whether CLOCK is off by more than the largest of its bound, 1 ms and 1 % of the time. */
static int is_off(const struct run *run, struct clock clock)
{
	return llabs(clock.offset) > MAX(MAX(clock.bound, 1000), run->time / 100);
}

static int check_placement(const struct run *run)
{
	const char *rule = "the same node";
	int later = find_stray(run), earlier = later / run->n * run->n;

	if (later < 0) {
		rule = "different nodes";
		later = find_shared_node(run, 1, &earlier);
	}
	if (later < 0)
		return 1;
	report("error",
	       "wrong placement: ranks %d and %d must be on %s, but their hosts are %s and %s; "
	       "start N = %d processes per node, nodes times %d in total, and fill each node "
	       "before the next, with srun --distribution=block or mpirun --map-by ppr:%d:node",
	       earlier, later, rule, host_of(run, earlier), host_of(run, later), run->n, run->n,
	       run->n);
	return 0;
}

/* If a clock was stepped between two marks, their difference is wrong, even though the offsets that
 * are measured afterwards look perfect. */
static int check_steps(const struct run *run)
{
	for (int rank = 0; rank < run->size; rank++) {
		int64_t step = run->records[rank].step;

		if (!is_off(run, (struct clock){step, 0}))
			continue;
		report("error",
		       "the clock of %s was stepped %.3f ms %s while the job ran; run again "
		       "when nothing is stepping it (NTP, PTP, an administrator)",
		       host_of(run, rank), (double)llabs(step) / 1000,
		       step > 0 ? "forward" : "back");
		return 0;
	}
	return 1;
}

static int check_starts(const struct run *run)
{
	for (int rank = 0; rank < run->size; rank++)
		if (run->records[rank].mark[START] != run->start) {
			report("error",
			       "ranks 0 and %d got different start times (SEC and USEC); call "
			       "date once, before the launcher, not once per rank",
			       rank);
			return 0;
		}
	return 1;
}

/* Fails only if a rank certainly entered main before the start. If the launch node's clock is
 * unknown, it may be as far ahead as the clock of any block. */
static int check_mains(const struct run *run)
{
	/* how far the launch node's clock may be ahead of the reference clock */
	int64_t ahead = 0;

	for (int rank = 0; rank < run->size && !run->launch_clock_known; rank++) {
		struct clock clock = run->records[rank].clock;

		ahead = MAX(ahead, clock.offset + clock.bound);
	}
	for (int rank = 0; rank < run->size; rank++) {
		const struct record *record = run->records + rank;
		int64_t latest = record->mark[MAIN_ENTERED] - record->clock.offset +
				 record->clock.bound + ahead;

		if (latest >= run->start)
			continue;
		report("error",
		       "rank %d on %s was already running at least %.6f s before the start; "
		       "check SEC and USEC, and synchronise the clocks of %s and the launch "
		       "node",
		       rank, record->host, (double)(run->start - latest) / 1e6, record->host);
		return 0;
	}
	return 1;
}

static int check_time(const struct run *run)
{
	const char *host = host_of(run, run->slowest);

	if (run->time >= 0)
		return 1;
	report("error",
	       "the time is negative (%.6f s), because by its own clock, rank %d on %s received "
	       "its reply before the start; synchronise the clocks and run again",
	       (double)run->time / 1e6, run->slowest, host);
	return 0;
}

/* Returns whether the measurement is valid; if it is not, reports why. Must be called before
 * draw_timelines(), because it needs the stamps. */
int check_measurement(const struct run *run)
{
	return check_placement(run) && check_steps(run) && check_starts(run) && check_mains(run) &&
	       check_time(run);
}

static void warn_about_clocks(const struct run *run)
{
	struct clock clock = run->doubtful;
	char corrected[80] =
		"there is no corrected time because the launch node's clock is unknown";

	if (!is_off(run, clock))
		return;
	if (run->launch_clock_known)
		snprintf(corrected, sizeof corrected, "the corrected time is %.2f ms",
			 (double)corrected_time(run) / 1000);
	report("warning",
	       "the clock of %s is %.3f ms %s that of %s, the median of %d clocks (within %.3f "
	       "ms); %s; synchronise the clocks and run again",
	       host_of(run, run->doubtful_block * run->n), (double)llabs(clock.offset) / 1000,
	       clock.offset > 0 ? "ahead of" : "behind", host_of(run, run->median_block * run->n),
	       run->size / run->n, (double)clock.bound / 1000, corrected);
}

/* Prints the warnings about a valid result. */
void print_warnings(const struct run *run)
{
	int earlier, later = find_shared_node(run, 0, &earlier);

	if (run->size == run->n)
		report("warning",
		       "the job ran on only one node, so nothing crossed the interconnect; if "
		       "you meant to use more nodes, check the allocation, the hostfile and "
		       "the number of processes");
	if (later >= 0)
		report("warning",
		       "ranks %d and %d run on the same kernel under different host names, %s "
		       "and %s, so perhaps nothing crossed the interconnect; run one container "
		       "per node",
		       earlier, later, host_of(run, earlier), host_of(run, later));
	warn_about_clocks(run);
}
