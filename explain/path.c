/*
 * path.c - the critical path, and the step that stands out on it
 */
#include "analysis.h"

/* A step stands out only if it is longer than the median by at least 1/OUTLIER_PART of the time
 * and, if it is measured in ticks, by at least OUTLIER_TICKS. */
enum { OUTLIER_PART = 10, OUTLIER_TICKS = 2 * TICK };

/* Finds the critical path, backwards from the slowest rank's reply to the start. */
void find_path(const struct run *run, struct path *path)
{
	struct point here = {run->slowest, REPLY_RECEIVED, 0};
	struct step step;

	here.at = run->records[here.rank].at[here.mark];
	path->first = STEPS;
	if (here.at != run->time) /* its clock is not the reference, or the mark was raised */
		path->step[--path->first] =
			(struct step){.column = CLOCK, .end = here, .us = run->time - here.at};
	for (; here.mark != START; here = step.begin) {
		step = find_step(run, here.rank, here.mark);
		step.begin.at = MIN(step.begin.at, here.at); /* clocks may be off by their bounds */
		step.end = here;
		step.us = here.at - step.begin.at;
		path->step[--path->first] = step;
	}
}

/* Returns what the process mostly did in STEP: whichever of CPU, CPU_WAIT and BLOCKED is furthest
 * above its own median over all ranks. Returns COLUMNS if that is unknown. */
static enum column find_kind(const struct run *run, const struct step *step)
{
	enum column kind = COLUMNS;
	int64_t most = UNKNOWN;

	for (enum column column = CPU; column <= BLOCKED; column++) {
		int64_t value = step_value(run, step, column);

		if (value == UNKNOWN)
			return COLUMNS;
		value -= summarise(run, step, column).median;
		if (value > most) {
			most = value;
			kind = column;
		}
	}
	return kind;
}

/* Returns how many other ranks of STEP's block have a step that ends at the same mark and is at
 * least LEAST long. */
static int count_others(const struct run *run, const struct step *step, int64_t least)
{
	struct point end = step->end;
	int first = end.rank / run->n * run->n, count = 0;

	for (int rank = first; rank < first + run->n; rank++)
		if (rank != end.rank && find_step(run, rank, end.mark).us >= least)
			count++;
	return count;
}

/* Finds the step of PATH that is furthest above the median of the same step over all ranks. Without
 * fences, it is not known for whom the ranks waited in MPI_Init, so only an exchange can be one. */
struct outlier find_outlier(const struct run *run, const struct path *path)
{
	struct outlier outlier = {NULL, 0, 0, COLUMNS};
	const struct step *step;

	for (step = path->step + path->first; step < path->step + STEPS; step++) {
		int64_t least = run->time / OUTLIER_PART, excess;

		if (step->column <= EXEC)
			least = MAX(least, OUTLIER_TICKS);
		if (step->column == CLOCK || step->us < least)
			continue;
		if (run->fences == 0 && step->column != EXCHANGE)
			continue;
		excess = step->us - summarise(run, step, step->column).median;
		if (excess >= least && excess > outlier.excess) {
			outlier.step = step;
			outlier.excess = excess;
		}
	}
	if ((step = outlier.step)) {
		outlier.kind = find_kind(run, step);
		outlier.others = count_others(run, step, step->us - outlier.excess / 2);
	}
	return outlier;
}

/* Returns the sum of COLUMN over the steps of PATH, or UNKNOWN if none has a value in it. CLOCK,
 * and FENCE if any fences count, are then 0. */
int64_t sum_path(const struct run *run, const struct path *path, enum column column)
{
	int64_t sum = column == CLOCK || (column == FENCE && run->fences > 0) ? 0 : UNKNOWN;

	for (const struct step *step = path->step + path->first; step < path->step + STEPS; step++)
		add(&sum, step_value(run, step, column));
	return sum;
}
