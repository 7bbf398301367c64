/*
 * path.c - the critical path, and the phase that stands out on it
 */
#include "analysis.h"

/* A phase stands out only if it is longer than the median by at least 1/OUTLIER_PART of the time
 * and, if it is measured in ticks, by at least OUTLIER_TICKS. */
enum { OUTLIER_PART = 10, OUTLIER_TICKS = 2 * TICK };

/* Finds the critical path, backwards from the slowest rank's reply to the start. */
void find_path(const struct run *run, struct path *path)
{
	struct point here = {run->slowest, REPLY_RECEIVED, 0};
	struct phase phase;

	here.at = run->records[here.rank].at[here.mark];
	path->first = PHASES;
	if (here.at != run->time) /* its clock is not the reference, or the mark was raised */
		path->phase[--path->first] =
			(struct phase){.column = CLOCK, .end = here, .us = run->time - here.at};
	for (; here.mark != START; here = phase.begin) {
		phase = find_phase(run, here.rank, here.mark);
		phase.begin.at =
			MIN(phase.begin.at, here.at); /* clocks may be off by their bounds */
		phase.end = here;
		phase.us = here.at - phase.begin.at;
		path->phase[--path->first] = phase;
	}
}

/* Returns what the process mostly did in PHASE: whichever of CPU, CPU_WAIT and BLOCKED is furthest
 * above its own median over all ranks. Returns COLUMNS if that is unknown. */
static enum column find_kind(const struct run *run, const struct phase *phase)
{
	enum column kind = COLUMNS;
	int64_t most = UNKNOWN;

	for (enum column column = CPU; column <= BLOCKED; column++) {
		int64_t value = phase_value(run, phase, column);

		if (value == UNKNOWN)
			return COLUMNS;
		value -= summarise(run, phase, column).median;
		if (value > most) {
			most = value;
			kind = column;
		}
	}
	return kind;
}

/* Returns how many ranks of BLOCK have at least half the excess of OUTLIER in the same phase. */
int count_late(const struct run *run, const struct outlier *outlier, int block)
{
	int64_t least = outlier->phase->us - outlier->excess / 2;
	int late = 0;

	if (outlier->phase->column == DAEMON && outlier->late_by)
		return outlier->late_by[block] >= outlier->excess / 2 ? run->n : 0;
	for (int rank = block * run->n; rank < (block + 1) * run->n; rank++)
		late += find_phase(run, rank, outlier->phase->end.mark).us >= least;
	return late;
}

/* A node's daemon */
struct daemon {
	int rank; /* the first rank that it created */
	int64_t created; /* us after the start */
	int64_t step; /* since the daemon before it was created; UNKNOWN for the first daemon */
};

/* For qsort: those that were created first come first. */
static int compare_created(const void *a, const void *b)
{
	const struct daemon *p = a, *q = b;
	int order = compare_times(&p->created, &q->created);

	return order ? order : p->rank - q->rank;
}

/* For qsort: those with the shortest steps come first. */
static int compare_steps(const void *a, const void *b)
{
	const struct daemon *p = a, *q = b;
	int order = compare_times(&p->step, &q->step);

	return order ? order : p->rank - q->rank;
}

/* Stores in DAEMONS the daemons whose creation times are known, in the order of their steps. The
 * one that was created first comes first, because it has no step. Returns the number of daemons. */
static int list_daemons(const struct run *run, struct daemon *daemons)
{
	int count = 0;

	for (int rank = 0; rank < run->size; rank += run->n) {
		int64_t created = run->records[rank].at[PARENT_CREATED];

		if (created != UNKNOWN)
			daemons[count++] = (struct daemon){rank, created, UNKNOWN};
	}
	qsort(daemons, (size_t)count, sizeof *daemons, compare_created);
	for (int i = 1; i < count; i++)
		daemons[i].step = daemons[i].created - daemons[i - 1].created;
	qsort(daemons, (size_t)count, sizeof *daemons, compare_steps);
	return count;
}

/* A staircase has at least STAIRCASE daemons, and a median step of at least LEAST_STEP: ticks can
 * make shorter ones. One daemon in LEAVERS_PART, and one more, may leave the steps. */
enum { STAIRCASE = 5, LEAST_STEP = 2 * TICK, LEAVERS_PART = 8 };

/* Returns the mean step of a staircase, in us, or 0 if the launcher did not start its daemons one
 * after another. DAEMONS are COUNT daemons, in the order of their steps. They are a staircase if
 * their steps are from half the median to twice the median, to a tick, and add up to at least LEAST
 * us. A few daemons may leave the steps: they come later, and their turn is then empty, so that
 * another step may be three times the median. As many steps in all may be shorter or so long.
 * *REGULAR is the number of daemons that do not leave the steps. One of them is the first, which
 * has no step. tools/ziatest/ranks.py has the same rule. */
static int64_t find_step(const struct daemon *daemons, int count, int64_t least, int *regular)
{
	int64_t median = daemons[count / 2].step, most = 2 * median + TICK, rise = 0;
	int leavers = 1 + count / LEAVERS_PART, odd = 0;

	*regular = count;
	if (daemons[count - 1].step > most)
		do
			--*regular;
		while (daemons[*regular - 1].step > most + median);
	for (int i = 1; i < *regular; i++) {
		odd += daemons[i].step > most || daemons[i].step < median / 2 - TICK;
		rise += daemons[i].step;
	}
	if (count - *regular > leavers || odd > leavers || median < LEAST_STEP || rise < least)
		return 0;
	return rise / (*regular - 1);
}

/* If daemons were started one after another, stores their step in OUTLIER: a node is not slow
 * merely because other nodes come first. The daemons that came at least LEAST us later than their
 * turn are late, and the latest of them is the outlier. */
static void find_staircase(const struct run *run, int64_t least, struct outlier *outlier)
{
	static struct phase phase; /* outlier->phase may point to it */
	int nodes = run->size / run->n, regular = 0;
	struct daemon *daemons = run->new_array(nodes, sizeof *daemons);
	int count = list_daemons(run, daemons);

	if (count >= STAIRCASE)
		outlier->step = find_step(daemons, count, least, &regular);
	if (outlier->step > 0) {
		outlier->late_by = run->new_array(nodes, sizeof *outlier->late_by);
		for (const struct daemon *daemon = daemons + regular; daemon < daemons + count;
		     daemon++) { /* the latest one last */
			int64_t late_by = daemon->step - outlier->step;

			if (late_by < least)
				continue;
			outlier->late_by[daemon->rank / run->n] = late_by;
			phase = find_phase(run, daemon->rank, PARENT_CREATED);
			outlier->phase = &phase;
			outlier->excess = late_by;
		}
	}
	free(daemons);
}

/* Finds the phase of PATH that is furthest above the median of the same phase over all ranks. If
 * daemons were started one after another, a daemon is judged only by its step, in find_staircase().
 * Without fences, it is not known which rank the others waited for in MPI_Init, so only an exchange
 * can be an outlier. */
struct outlier find_outlier(const struct run *run, const struct path *path)
{
	struct outlier outlier = {.kind = COLUMNS};
	const struct phase *phase;

	for (phase = path->phase + path->first; phase < path->phase + PHASES; phase++) {
		int64_t least = run->time / OUTLIER_PART, excess;

		if (phase->column <= EXEC)
			least = MAX(least, OUTLIER_TICKS);
		if (phase->column == CLOCK || phase->us < least)
			continue;
		if (run->fences == 0 && phase->column != EXCHANGE)
			continue;
		if (phase->column == DAEMON) /* the first phase, if there is one */
			find_staircase(run, least, &outlier);
		if (phase->column == DAEMON && outlier.step > 0)
			continue;
		excess = phase->us - summarise(run, phase, phase->column).median;
		if (excess >= least && excess > outlier.excess) {
			outlier.phase = phase;
			outlier.excess = excess;
		}
	}
	if (outlier.phase) {
		outlier.kind = find_kind(run, outlier.phase);
		outlier.others = -1;
		for (int block = 0; block < run->size / run->n; block++) {
			int late = count_late(run, &outlier, block);

			outlier.others += late;
			outlier.nodes += late > 0; /* Often a whole rack is slow. */
		}
	}
	return outlier;
}

/* Returns the sum of COLUMN over the phases of PATH, or UNKNOWN if none has a value in it (but 0
 * for CLOCK, and for FENCE if any fences count). */
int64_t sum_path(const struct run *run, const struct path *path, enum column column)
{
	int64_t sum = column == CLOCK || (column == FENCE && run->fences > 0) ? 0 : UNKNOWN;

	for (const struct phase *phase = path->phase + path->first; phase < path->phase + PHASES;
	     phase++)
		add(&sum, phase_value(run, phase, column));
	return sum;
}
