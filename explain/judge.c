/*
 * judge.c - whether the measurement is valid, and which warnings the result needs
 *
 * Each check reports the first error that it finds.
 */
#include "analysis.h"

static const char *host_of(const struct run *run, int rank)
{
	return run->records[rank].host;
}

/* Looks for two blocks on one node. If SAME_HOST is set, their host names must also be the same:
 * different names are probably those of containers. Returns the first rank of the later block, the
 * lowest one if there are several, or -1, and stores that of the earlier block in *EARLIER. */
static int find_shared_node(const struct run *run, bool same_host, int *earlier)
{
	int blocks = run->size / run->n, later = -1;
	const struct record **table =
		run->new_array(blocks, 2 * sizeof *table); /* hashed by node */

	for (int i = 0; i < blocks && later < 0; i++) {
		const struct record *record = run->records + i * run->n;
		size_t slot = record->node % (2 * (size_t)blocks);

		while (table[slot] && (table[slot]->node != record->node ||
				       (same_host && strcmp(table[slot]->host, record->host) != 0)))
			slot = (slot + 1) % (2 * (size_t)blocks);
		if (table[slot]) {
			*earlier = (int)(table[slot] - run->records);
			later = i * run->n;
		}
		table[slot] = record;
	}
	free(table);
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

/* Prints that ranks EARLIER and LATER break RULE. Returns false. */
static bool refuse_placement(const struct run *run, int earlier, int later, const char *rule)
{
	print_error("wrong placement: ranks %d and %d must be on %s, but their hosts are %s and "
		    "%s; start exactly N = %d processes on every node, and fill one node before "
		    "the next, with srun --ntasks-per-node=%d --distribution=block or mpirun "
		    "--map-by ppr:%d:node\n",
		    earlier, later, rule, host_of(run, earlier), host_of(run, later), run->n,
		    run->n, run->n);
	return false;
}

static bool check_placement(const struct run *run)
{
	int later = find_stray(run), earlier;

	if (later >= 0)
		return refuse_placement(run, later / run->n * run->n, later, "the same node");
	later = find_shared_node(run, true, &earlier);
	if (later >= 0)
		return refuse_placement(run, earlier, later, "different nodes");
	return true;
}

/* A jump between two stamps makes their difference wrong. A jump before the clocks were compared
 * also makes the offset and the corrected time wrong, however small the offset's bound is. */
static bool check_jumps(const struct run *run)
{
	for (int rank = 0; rank < run->size; rank++) {
		struct estimate jump = run->records[rank].jump;

		if (clock_excess(run, jump) <= 0)
			continue;
		print_error("the clock of %s was set or slewed %s by %.3f ms while the job ran; "
			    "run again when nothing is changing it (NTP, PTP, an administrator)\n",
			    host_of(run, rank), jump.value > 0 ? "forward" : "back",
			    (double)llabs(jump.value) / 1000);
		return false;
	}
	return true;
}

static bool check_starts(const struct run *run)
{
	for (int rank = 0; rank < run->size; rank++)
		if (run->records[rank].at[START] != run->start) {
			print_error("ranks 0 and %d got different start times (SEC and USEC); "
				    "call date once, before the launcher, not once per rank\n",
				    rank);
			return false;
		}
	return true;
}

/* Fails only if a rank certainly existed before the start. If the launch node's clock is unknown,
 * it may be as far ahead as the clock of any block. */
static bool check_existence(const struct run *run)
{
	int64_t ahead = 0; /* how far the launch node's clock may be ahead of the reference */

	for (int i = 0; i < run->size / run->n && !run->launch_clock_known; i++)
		ahead = MAX(ahead, run->offsets[i].value + run->offsets[i].bound);
	for (int rank = 0; rank < run->size; rank++) {
		struct estimate offset = offset_of(run, rank);
		int64_t existed = run->records[rank].existed - offset.value + offset.bound + ahead;
		int64_t before = run->start - existed;

		if (before <= 0)
			continue;
		print_error("rank %d on %s (or its slurmstepd) already existed at least %.6f s "
			    "before the start; synchronise the clocks of %s and the launch node "
			    "(in a direct call, check SEC and USEC first)\n",
			    rank, host_of(run, rank), (double)before / 1e6, host_of(run, rank));
		return false;
	}
	return true;
}

/* Fails if the time, measured or corrected, is negative. */
static bool check_time(const struct run *run)
{
	int64_t time = run->time;

	if (run->launch_clock_known)
		time = MIN(time, run->corrected);
	if (time >= 0)
		return true;
	print_error("the time is negative (%.6f s): rank %d on %s received its reply before the "
		    "start; synchronise the clocks and run again\n",
		    (double)time / 1e6, run->slowest, host_of(run, run->slowest));
	return false;
}

/* Returns whether RUN is valid. If it is not, prints the first error that applies. */
bool judge_run(const struct run *run)
{
	return check_placement(run) && check_jumps(run) && check_starts(run) &&
	       check_existence(run) && check_time(run);
}

/* Warns of the worst clock. */
static void warn_about_clocks(const struct run *run)
{
	struct estimate worst = run->offsets[run->worst_clock];
	const char *reference = host_of(run, run->reference_clock * run->n);
	char corrected[80];
	int blocks = run->size / run->n, off = 0;

	if (clock_excess(run, worst) <= 0)
		return;
	for (int i = 0; i < blocks; i++)
		off += clock_excess(run, run->offsets[i]) > 0;
	if (!run->launch_clock_known)
		snprintf(corrected, sizeof corrected, "there is no corrected time, because %s",
			 why_not_corrected(run));
	else if (run->time < IN_SECONDS)
		snprintf(corrected, sizeof corrected, "the corrected time is %.2f ms",
			 (double)run->corrected / 1e3);
	else
		snprintf(corrected, sizeof corrected, "the corrected time is %.3f s",
			 (double)run->corrected / 1e6);
	print_warning("the clock of %s is %.3f ms (+/- %.3f ms) %s that of %s, the %s; %d of the "
		      "other %d clocks %s off; %s; synchronise the clocks and run again\n",
		      host_of(run, run->worst_clock * run->n), (double)llabs(worst.value) / 1000,
		      (double)worst.bound / 1000, worst.value > 0 ? "ahead of" : "behind",
		      reference, run->launch_clock_known ? "launch node" : "median", off,
		      blocks - 1, off == 1 ? "is" : "are", corrected);
}

/* Warns if the start stamp came from a clock that was not compared with the others, unless its
 * error is at most 1 s. */
static void warn_about_launch_clock(const struct run *run)
{
	int64_t error = run->launch_clock_error;
	char how_wrong[60] = "is not known";

	if (run->launch_clock_known || (error >= 0 && error <= 1000000))
		return;
	if (!run->launch_node_named) {
		print_warning(
			"ziaprobe cannot tell which clock gave the start (it was called "
			"directly, or the launcher passed on no variables, as srun "
			"--export=NONE does); the time may be wrong by that clock's offset; "
			"start it with ziatest, and let the launcher pass on OMPI_ZIATEST_*\n");
		return;
	}
	if (error >= 0)
		snprintf(how_wrong, sizeof how_wrong, "may be up to %.1f s", (double)error / 1e6);
	print_warning("the clock of the launch node could not be compared with the nodes', and its "
		      "error %s; the time may be wrong by as much; run ziatest on a node of the "
		      "job, or synchronise that clock\n",
		      how_wrong);
}

/* Warns if --where may have shortened the time: sleep() and poll(), for example, return early if a
 * signal arrives. */
static void warn_about_interruptions(const struct run *run)
{
	int count = 0;

	for (int rank = 0; rank < run->size; rank++)
		count += run->records[rank].interrupted;
	if (count > 0)
		print_warning("--where interrupted %d rank%s in MPI_Init; if %s slept or polled "
			      "there, that ended early, and the time is too short\n",
			      count, count > 1 ? "s" : "", count > 1 ? "they" : "it");
}

/* Prints the warnings about a valid result. */
void print_warnings(const struct run *run)
{
	int earlier = 0, later = find_shared_node(run, false, &earlier);

	if (run->size == run->n)
		print_warning("the job ran on only one node, so nothing crossed the interconnect; "
			      "if you meant to use more nodes, check the allocation, the hostfile "
			      "and the number of processes\n");
	if (later >= 0)
		print_warning("ranks %d and %d run on the same kernel under different host names, "
			      "%s and %s, so perhaps nothing crossed the interconnect; run one "
			      "container per node\n",
			      earlier, later, host_of(run, earlier), host_of(run, later));
	warn_about_launch_clock(run);
	warn_about_clocks(run);
	warn_about_interruptions(run);
}
