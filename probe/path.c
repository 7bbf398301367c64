/*
 * path.c - the critical path: the chain of waits that made the result so late (off the clock)
 *
 * It is followed backwards from the slowest rank's reply. The reply came when both partners were
 * ready. A rank left a fence when the last of all had entered it: the path goes on with that one,
 * and so comes to one rank's main, to its process's creation and to the start.
 *
 * Points on it are whole microseconds after the start, by the reference clock, and none is later
 * than the one before, so that the steps, their differences, add up to the time exactly.
 */
#include "run.h"

/* NS in us, rounded half up. */
static int64_t rounded(int64_t ns)
{
	ns += 500;
	return ns / 1000 - (ns % 1000 < 0);
}

/* A stamp of RANK as a point. An offset no larger than its bound counts as 0: it may be noise, and
 * must not move a point. */
static int64_t point(const struct run *run, int rank, int64_t stamp)
{
	const struct clock *clock = &run->facts[rank].clock;
	int64_t offset = llabs(clock->offset) > clock->bound ? clock->offset : 0;

	return rounded(stamp - offset - run->start);
}

/* Goes back to FROM by a step of RANK. */
static struct step *go_back(struct path *path, enum phase phase, int rank, int64_t from)
{
	struct step *step = &path->step[--path->first];

	from = MAX(0, MIN(from, path->at));
	*step = (struct step){.phase = phase, .rank = rank, .us = path->at - from};
	path->at = from;
	return step;
}

/* From RANK's reply to when the later one of it and its partner was ready. Returns that one. */
static int to_ready(const struct run *run, struct path *path, int rank)
{
	int peer = run->partner[rank];
	int64_t own = point(run, rank, ready(run, rank, rank));
	int64_t other = point(run, peer, ready(run, peer, rank));

	go_back(path, WIREUP, rank, MAX(own, other));
	return other > own ? peer : rank;
}

/* RANK's stay in the fence K, counted from 0, or, which ends like a fence, in MPI_Init. */
enum { MPI_INIT = -1 };
static struct fence stay(const struct run *run, int k, int rank)
{
	if (k != MPI_INIT)
		return run->facts[rank].fences[k];
	return (struct fence){run->stamps[rank].entered, run->stamps[rank].initialised};
}

/* The rank that entered K last, the first of several. */
static int last_in(const struct run *run, int k)
{
	int64_t latest = INT64_MIN;
	int last = 0;

	for (int rank = 0; rank < run->size; rank++) {
		int64_t in = point(run, rank, stay(run, k, rank).entered);

		if (in > latest) {
			latest = in;
			last = rank;
		}
	}
	return last;
}

/* Whether K held RANK until LAST had entered it, within the bounds of both clocks. Not every fence
 * does: Slurm's of SLURM_PMIX_FENCE=tree may let a node go on before the others have come. */
static int waited(const struct run *run, int k, int rank, int last)
{
	int64_t too_soon = stay(run, k, last).entered - ahead(run, last) -
			   (stay(run, k, rank).left - ahead(run, rank));

	return too_soon <= run->facts[rank].clock.bound + run->facts[last].clock.bound;
}

/* From the end of RANK's MPI_Init to main, on the rank that is returned. Where any rank has seen no
 * fence, MPI_Init is taken for one. */
static int to_main(const struct run *run, struct path *path, int rank)
{
	int64_t here = run->stamps[rank].initialised; /* by RANK's clock */
	int fences = FENCES; /* that all ranks have entered */
	int before = 0, last;
	struct step *setup;

	for (int i = 0; i < run->size; i++)
		if (run->facts[i].fence_count < fences)
			fences = run->facts[i].fence_count;
	if (fences == 0) {
		last = last_in(run, MPI_INIT);
		rank = waited(run, MPI_INIT, rank, last) ? last : rank;
		go_back(path, INIT, rank, point(run, rank, run->stamps[rank].entered));
		return rank;
	}
	for (int k = fences - 1; k >= 0; k--) {
		if (stay(run, k, rank).left > here) /* left later than the path is at */
			continue;
		last = last_in(run, k);
		if (!waited(run, k, rank, last))
			continue;
		setup = go_back(path, SETUP, rank, point(run, rank, stay(run, k, rank).left));
		setup->after = k + 1; /* after and before count from 1 */
		setup->before = before;
		here = stay(run, k, last).entered;
		go_back(path, FENCE_WAIT, last, point(run, last, here));
		before = k + 1;
		rank = last;
	}
	go_back(path, SETUP, rank, point(run, rank, run->stamps[rank].entered))->before = before;
	return rank;
}

/* Whether Open MPI's daemons or mpirun itself created RANK's process. */
static int from_mpirun(const struct run *run, int rank)
{
	char word[20];

	/* Debian's is called mpirun.openmpi. */
	snprintf(word, sizeof word, " %.*s ", (int)strcspn(run->facts[rank].parent, "."),
		 run->facts[rank].parent);
	return strstr(" orted prted mpirun mpiexec orterun prterun ", word) != NULL;
}

/* The rank whose daemon RANK's process had to wait for. mpirun launches when its last daemon has
 * reported: that one's, unless a process was created earlier. Other launchers' daemons do not wait
 * for each other: RANK's own. */
static int awaited(const struct run *run, int rank)
{
	int64_t last_daemon = find_beginning(run, rank).parent, first_process = INT64_MAX;
	int last = rank;

	if (!from_mpirun(run, rank))
		return rank;
	for (int i = 0; i < run->size; i++) {
		struct beginning other = find_beginning(run, i);

		if (other.created != NONE && other.created < first_process)
			first_process = other.created;
		if (other.parent > last_daemon && from_mpirun(run, i)) {
			last_daemon = other.parent;
			last = i;
		}
	}
	return first_process < last_daemon ? rank : last;
}

/* NS after the start, by RANK's clock, as a point; 0 for NONE. */
static int64_t point_after(const struct run *run, int rank, int64_t ns)
{
	return ns == NONE ? 0 : point(run, rank, run->start + ahead(run, rank) + ns);
}

/* From RANK's main to the start. */
static void to_start(const struct run *run, struct path *path, int rank)
{
	int last = awaited(run, rank);
	int64_t daemon = find_beginning(run, last).parent;
	int64_t created = find_beginning(run, rank).created;

	go_back(path, LOAD, rank, point_after(run, rank, created));
	if (created != NONE)
		go_back(path, SPAWN, rank, point_after(run, last, daemon));
	if (daemon != NONE)
		go_back(path, DAEMON, last, 0);
}

/* Finds the critical path of a RUN whose facts are known. O(fences times ranks). */
void find_path(const struct run *run, struct path *path)
{
	int64_t replied = point(run, run->slowest, run->stamps[run->slowest].replied);
	int rank = run->slowest, later;

	path->us = rounded(run->time);
	path->first = STEPS;
	path->at = MAX(replied, 0);
	if (path->at != path->us)
		path->step[--path->first] =
			(struct step){CLOCK_AHEAD, rank, path->us - path->at, 0, 0};
	later = to_ready(run, path, rank);
	if (later != rank && run->partner[later] >= 0) /* it had an exchange of its own first */
		later = to_ready(run, path, later);
	to_start(run, path, to_main(run, path, later));
}

/* Up to what the fastest quarter of all ranks took for STEP; of few exchanges, what they took when
 * repeated. NONE if not known. */
static int64_t usual(const struct run *run, const struct step *step)
{
	struct summary all = summarise(run, step);

	if (step->phase == WIREUP && all.count < 4)
		all = summarise(run, &(struct step){.phase = REPEAT});
	return all.quarter;
}

/* The step of the path that is furthest above the usual. *EXCESS is by how much, in ns: at least a
 * tenth of the time, and 20 ms where the kernel counts in ticks of 10; else there is none: NULL.
 * *OTHERS is how many more ranks of its block share half of it. */
const struct step *find_outlier(const struct run *run, const struct path *path, int64_t *excess,
				int *others)
{
	const struct step *most = NULL;
	int64_t half;

	*excess = *others = 0;
	for (const struct step *step = path->step + path->first; step < path->step + STEPS;
	     step++) {
		int64_t least =
			step->phase <= LOAD ? MAX(run->time / 10, 20000000) : run->time / 10;
		/* The rank itself may have taken less than the step: a setup of the path may span a
		 * fence that did not hold it. NONE, below any limit, is of no rank. */
		int64_t took = MIN(step->us * 1000, duration(run, step, step->rank)), quarter;

		if (step->phase == INIT || took < least)
			continue;
		quarter = usual(run, step);
		if (quarter != NONE && took - quarter >= least && took - quarter > *excess) {
			most = step;
			*excess = took - quarter;
		}
	}
	if (!most)
		return NULL;
	half = usual(run, most) + *excess / 2;
	for (int rank = most->rank / run->n * run->n; rank / run->n == most->rank / run->n; rank++)
		if (rank != most->rank && duration(run, most, rank) >= half)
			(*others)++;
	return most;
}
