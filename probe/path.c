/*
 * path.c - the critical path: the chain of steps that made the result as late as it is
 *
 * Off the clock, on rank 0.
 */
#include "run.h"

/* Finds the critical path, backwards from the slowest rank's reply to the start. */
void find_path(const struct run *run, struct path *path)
{
	struct point end = {run->slowest, REPLY_RECEIVED, 0}, begin;

	end.at = run->records[end.rank].mark[end.mark];
	path->first = STEPS;
	if (end.at != run->time) /* its clock is not the reference, or the mark was raised */
		path->step[--path->first] = (struct step){CLOCK, end, run->time - end.at};
	for (; end.mark != START; end = begin) {
		begin = find_beginning(run, end.rank, end.mark);
		begin.at = MIN(begin.at, end.at); /* clocks may be off by their bounds */
		path->step[--path->first] =
			(struct step){step_column(end.mark), end, end.at - begin.at};
	}
}

/* Returns what RANK mostly did in its step that ends in MARK: whichever of CPU, CPU_WAIT and
 * BLOCKED is furthest above its own median over all ranks. Returns COLUMNS if that is unknown. */
static enum column find_kind(const struct run *run, int rank, enum mark mark)
{
	int64_t length = step_length(run, rank, mark), most = UNKNOWN;
	enum column kind = COLUMNS;

	for (enum column column = CPU; column <= BLOCKED; column++) {
		int64_t value = step_value(run, rank, mark, length, column);

		if (value == UNKNOWN)
			return COLUMNS;
		value -= summarise(run, mark, column).median;
		if (value > most) {
			most = value;
			kind = column;
		}
	}
	return kind;
}

/* Finds the step of PATH that is furthest above the median of the same step over all ranks. It must
 * exceed that median by at least a tenth of the time and, if it is measured in ticks, by at least
 * two ticks. */
struct outlier find_outlier(const struct run *run, const struct path *path)
{
	struct outlier outlier = {NULL, 0, 0, COLUMNS};
	int64_t median = 0;
	int rank, block;

	for (const struct step *step = path->step + path->first; step < path->step + STEPS;
	     step++) {
		struct point end = step->end;
		int64_t least = run->time / 10, us, baseline;

		if (step->column == CLOCK)
			continue;
		if (step->column <= EXEC)
			least = MAX(least, 2 * TICK);
		us = MIN(step->us, step_length(run, end.rank, end.mark));
		if (us < least)
			continue;
		baseline = summarise(run, end.mark, step->column).median;
		if (us - baseline >= least && us - baseline > outlier.excess) {
			outlier.step = step;
			outlier.excess = us - baseline;
			median = baseline;
		}
	}
	if (!outlier.step)
		return outlier;
	rank = outlier.step->end.rank;
	outlier.kind = find_kind(run, rank, outlier.step->end.mark);
	block = rank / run->n;
	for (int other = block * run->n; other < (block + 1) * run->n; other++) {
		int64_t us = step_length(run, other, outlier.step->end.mark);

		if (other != rank && us != UNKNOWN && 2 * (us - median) >= outlier.excess)
			outlier.others++;
	}
	return outlier;
}
