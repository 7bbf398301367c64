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

/* Returns how many ranks of BLOCK have at least half of the excess of OUTLIER in the same phase. */
int count_late(const struct run *run, const struct outlier *outlier, int block)
{
	int64_t least = outlier->phase->us - outlier->excess / 2;
	int late = 0;

	for (int rank = block * run->n; rank < (block + 1) * run->n; rank++)
		late += find_phase(run, rank, outlier->phase->end.mark).us >= least;
	return late;
}

/* Finds the phase of PATH that is furthest above the median of the same phase over all ranks.
 * Without fences, it is not known for whom the ranks waited in MPI_Init, so only an exchange can be
 * one. */
struct outlier find_outlier(const struct run *run, const struct path *path)
{
	struct outlier outlier = {NULL, 0, 0, 0, COLUMNS};
	const struct phase *phase;

	for (phase = path->phase + path->first; phase < path->phase + PHASES; phase++) {
		int64_t least = run->time / OUTLIER_PART, excess;

		if (phase->column <= EXEC)
			least = MAX(least, OUTLIER_TICKS);
		if (phase->column == CLOCK || phase->us < least)
			continue;
		if (run->fences == 0 && phase->column != EXCHANGE)
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
			outlier.nodes += late > 0; /* What is slow is often a rack, not a node. */
		}
	}
	return outlier;
}

/* Returns the sum of COLUMN over the phases of PATH, or UNKNOWN if none has a value in it. CLOCK,
 * and FENCE if any fences count, are then 0. */
int64_t sum_path(const struct run *run, const struct path *path, enum column column)
{
	int64_t sum = column == CLOCK || (column == FENCE && run->fences > 0) ? 0 : UNKNOWN;

	for (const struct phase *phase = path->phase + path->first; phase < path->phase + PHASES;
	     phase++)
		add(&sum, phase_value(run, phase, column));
	return sum;
}
