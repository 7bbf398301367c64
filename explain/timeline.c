/*
 * timeline.c - the marks of every rank, and the steps between them
 *
 * A step ends at a mark. It begins at the later of two marks: the rank's own previous mark, and the
 * mark of another rank that it waited for. If it waited, the time between the two is its wait. So a
 * rank's steps and waits add up to its last mark exactly. Going back from each mark to the one at
 * which its step begins, on whichever rank that is, gives the critical path (path.c).
 *
 * Off the clock, on rank 0.
 */
#include "run.h"

#define HEADING(constant, name, where) {name, where},
const struct heading headings[COLUMNS] = {COLUMN_LIST(HEADING)};

static int is_fence_left(enum mark mark)
{
	return mark >= FENCE_LEFT && mark < FENCES_END && (mark - FENCE_LEFT) % 2 == 0;
}

/* Returns the number of fences that count: those that every rank has entered. */
static int count_fences(const struct run *run)
{
	int fences = FENCES;

	for (int rank = 0; rank < run->size; rank++)
		while (fences > 0 &&
		       run->records[rank].at[fence_mark(FENCE_ENTERED, fences - 1)] == UNKNOWN)
			fences--;
	return fences;
}

/* Draws the timeline of RANK: turns its stamps into marks, but leaves out those of fences that do
 * not count. */
static void draw_timeline(struct run *run, int rank)
{
	struct record *record = run->records + rank;
	int64_t *mark = record->at;
	int64_t start = run->start + correction(run, rank); /* by this rank's clock */

	/* UNKNOWN is less than any stamp, so it stays. A parent that is older than the launch was
	 * not created for it; slurmstepd always was. */
	if (mark[PARENT_CREATED] < start - 2 * TICK && strcmp(record->parent, "slurmstepd") != 0)
		mark[PARENT_CREATED] = UNKNOWN;
	mark[CREATED] = MIN(mark[CREATED], mark[MAIN_ENTERED]);
	mark[PARENT_CREATED] = MIN(mark[PARENT_CREATED], mark[CREATED]);
	for (enum mark m = fence_mark(FENCE_ENTERED, run->fences); m < FENCES_END; m++)
		mark[m] = UNKNOWN;
	mark[START] = 0;
	for (int m = PARENT_CREATED, before = START; m < MARKS; m++)
		if (mark[m] != UNKNOWN) {
			mark[m] = MAX(mark[m] - start, mark[before]);
			before = m;
		}
}

/* Returns the point that RANK waited for before MARK. Its rank is -1 if there is none. */
struct point find_awaited(const struct run *run, int rank, enum mark mark)
{
	struct point awaited = {-1, START, 0};
	int64_t tolerance;

	if (mark == CREATED && run->records[rank].by_mpirun)
		awaited.mark = PARENT_CREATED; /* mpirun waits for all its daemons to report */
	else if (is_fence_left(mark))
		awaited.mark = mark - 1;
	else if (mark == INIT_RETURNED && run->fences == 0)
		awaited.mark = MAIN_ENTERED;
	awaited.rank = run->latest[awaited.mark]; /* -1 for START */
	if (mark == REPLY_RECEIVED) {
		awaited.rank = responder(rank, run->size, run->n);
		/* Block 0 answers the last block only after its own reply. */
		awaited.mark = awaited.rank < rank ? REPLY_RECEIVED : INIT_RETURNED;
	}
	if (awaited.rank < 0)
		return awaited;
	awaited.at = run->records[awaited.rank].at[awaited.mark];
	tolerance = offset_of(run, rank).bound + offset_of(run, awaited.rank).bound;
	if (mark == CREATED)
		tolerance = 2 * TICK;
	/* A mark that is certainly later was not waited for. For example, not every fence is a
	 * barrier: with SLURM_PMIX_FENCE=tree, Slurm may let a node continue early. */
	if (awaited.at > run->records[rank].at[mark] + tolerance)
		awaited.rank = -1;
	return awaited;
}

/* Returns RANK's own last mark before MARK, which must come after START. */
static struct point find_previous(const struct run *run, int rank, enum mark mark)
{
	do
		mark--;
	while (run->records[rank].at[mark] == UNKNOWN);
	return (struct point){rank, mark, run->records[rank].at[mark]};
}

/* Returns the column of the step that ends at MARK. */
static enum column step_column(enum mark mark)
{
	if (mark <= MAIN_ENTERED) /* DAEMON to EXEC, in the same order */
		return DAEMON + mark - PARENT_CREATED;
	if (mark == REPLY_RECEIVED)
		return EXCHANGE;
	return is_fence_left(mark) ? FENCE : INIT;
}

/* Returns RANK's step that ends at MARK, which must come after START. If RANK
 * does not have the mark, us is UNKNOWN, or 0 in a fence that counts, as it did not wait there. */
struct step find_step(const struct run *run, int rank, enum mark mark)
{
	struct point own = find_previous(run, rank, mark), awaited;
	struct point end = {rank, mark, run->records[rank].at[mark]};
	struct step step = {step_column(mark), own, end, own.mark, UNKNOWN};

	if (end.at == UNKNOWN) {
		if (step.column == FENCE && run->latest[mark - 1] >= 0)
			step.us = 0;
		return step;
	}
	awaited = find_awaited(run, rank, mark);
	if (awaited.rank >= 0 && awaited.at > own.at)
		step.begin = awaited;
	step.begin.at = MIN(step.begin.at, end.at);
	step.us = end.at - step.begin.at;
	return step;
}

/* Returns the value of STEP in COLUMN: its length or, for CPU to FAULTS, what the process did. The
 * length may be less than that of the whole step, because find_path() shortens steps that clock
 * errors make overlap. CPU, CPU_WAIT and BLOCKED add up to the length. Returns UNKNOWN if there is
 * no such value. Without fences, what a process did in MPI_Init is not known. */
int64_t step_value(const struct run *run, const struct step *step, enum column column)
{
	int64_t cpu, cpu_wait;
	struct work work;

	if (column == step->column)
		return step->us;
	if (column < CPU || step->us == UNKNOWN)
		return UNKNOWN;
	if (step->column != EXEC && !(step->column == INIT && run->fences > 0))
		return UNKNOWN;
	work = work_between(run->records[step->end.rank].readings, step->previous, step->end.mark);
	if (column == FAULTS)
		return work.faults;
	cpu = MIN(work.cpu, step->us);
	if (column == CPU)
		return cpu;
	if (work.cpu_wait < 0)
		return UNKNOWN;
	cpu_wait = MIN(work.cpu_wait, step->us - cpu);
	return column == CPU_WAIT ? cpu_wait : step->us - cpu - cpu_wait;
}

/* Adds VALUE to *SUM, unless it is UNKNOWN. */
void add(int64_t *sum, int64_t value)
{
	if (value != UNKNOWN)
		*sum = (*sum == UNKNOWN ? 0 : *sum) + value;
}

/* Fills in the values of RANK in all columns. Its wait is its timeline minus its steps. */
static void find_values(struct run *run, int rank)
{
	const struct record *record = run->records + rank;
	int64_t *values = run->values[rank];

	for (enum column column = 0; column < COLUMNS; column++)
		values[column] = UNKNOWN;
	values[WAIT] = find_previous(run, rank, MARKS).at;
	values[WHOLE_INIT] = record->at[INIT_RETURNED] - record->at[MAIN_ENTERED];
	if (run->replied[rank] != UNKNOWN)
		values[COMPLETED] = run->replied[rank] - run->start;
	for (enum mark mark = PARENT_CREATED; mark < MARKS; mark++) {
		struct step step = find_step(run, rank, mark);

		if (step.us == UNKNOWN)
			continue;
		values[WAIT] -= step.us;
		for (enum column column = 0; column < COLUMNS; column++)
			add(values + column, step_value(run, &step, column));
	}
}

/* Draws the timelines of all ranks, finds the latest marks, and fills in the values. */
void draw_timelines(struct run *run)
{
	run->values = allocate(run->size, sizeof *run->values);
	run->fences = count_fences(run);
	for (int m = 0; m < MARKS; m++)
		run->latest[m] = -1;
	for (int rank = 0; rank < run->size; rank++) {
		draw_timeline(run, rank);
		for (int m = PARENT_CREATED; m < FENCES_END; m++) {
			int64_t mark = run->records[rank].at[m];

			if (mark == UNKNOWN ||
			    (m == PARENT_CREATED && !run->records[rank].by_mpirun))
				continue;
			if (run->latest[m] < 0 || mark > run->records[run->latest[m]].at[m])
				run->latest[m] = rank;
		}
	}
	for (int rank = 0; rank < run->size; rank++)
		find_values(run, rank);
}

/* Returns the minimum, median and maximum of COLUMN over all ranks that have a value in it. The
 * values are those of the step that ends at MARK or, if MARK is ALL_STEPS, those of each rank as a
 * whole. */
struct summary summarise(const struct run *run, enum mark mark, enum column column)
{
	struct summary summary = {0, UNKNOWN, UNKNOWN, UNKNOWN, 0};
	int64_t *values = allocate(run->size, sizeof *values);

	for (int rank = 0; rank < run->size; rank++) {
		int64_t value = run->values[rank][column];

		if (mark != ALL_STEPS) {
			struct step step = find_step(run, rank, mark);

			value = step_value(run, &step, column);
		}
		if (value == UNKNOWN)
			continue;
		values[summary.count++] = value;
		if (value > summary.max) {
			summary.max = value;
			summary.slowest = rank;
		}
	}
	if (summary.count > 0) {
		qsort(values, (size_t)summary.count, sizeof *values, compare_times);
		summary.min = values[0];
		summary.median = values[(summary.count - 1) / 2];
	}
	free(values);
	return summary;
}

/* Returns VALUE as the reports print it, in a static buffer: FAULTS as a whole number, and times in
 * ms. Returns an empty string if VALUE is UNKNOWN. */
const char *format_value(enum column column, int64_t value)
{
	static char text[32];

	*text = '\0';
	if (value != UNKNOWN && column == FAULTS)
		snprintf(text, sizeof text, "%lld", (long long)value);
	else if (value != UNKNOWN)
		snprintf(text, sizeof text, "%.3f", (double)value / 1000);
	return text;
}
