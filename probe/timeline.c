/*
 * timeline.c - the marks of every rank, and the steps between them
 *
 * A step ends in a mark. It begins at the later of two marks: the rank's own previous mark, and the
 * mark of another rank that it waited for. If it waited, the time between the two is its wait. So a
 * rank's steps and waits add up to its last mark exactly. Going back from each mark to the one at
 * which its step begins, on whichever rank that is, gives the critical path (path.c).
 *
 * Off the clock, on rank 0.
 */
#include "run.h"

const char *const column_names[COLUMNS] = {
	[DAEMON] = "daemon",       [SPAWN] = "spawn",         [EXEC] = "exec",     [INIT] = "init",
	[FENCE] = "fence",         [EXCHANGE] = "exchange",   [CLOCK] = "clock",   [WAIT] = "wait",
	[WHOLE_INIT] = "mpi_init", [COMPLETED] = "completed", [REPEAT] = "repeat", [CPU] = "cpu",
	[CPU_WAIT] = "cpu_wait",   [BLOCKED] = "blocked",     [FAULTS] = "faults",
};

static int64_t mark_of(const struct run *run, int rank, enum mark mark)
{
	return run->records[rank].mark[mark];
}

/* Turns the stamps of RANK into marks, and drops those of fences that do not count. If any are
 * dropped, the last init step begins earlier than this rank's last reading, so what the process did
 * in that step is dropped as well. What it did in exec is dropped if the process existed before the
 * start. */
static void draw_timeline(struct run *run, int rank)
{
	int64_t *mark = run->records[rank].mark;
	uint32_t *cpu = run->records[rank].cpu;
	int64_t start = run->start + clock_offset(run, rank); /* by RANK's clock */
	int dropped = FENCE_ENTERED + 2 * run->fences; /* the first mark that does not count */

	mark[START] = 0;
	if (mark[PARENT_CREATED] < start - 2 * TICK)
		mark[PARENT_CREATED] = UNKNOWN; /* it was not created for this run */
	if (mark[CREATED] != UNKNOWN && mark[CREATED] < start - 2 * TICK)
		cpu[work_index(MAIN_ENTERED)] = NOT_COUNTED;
	/* UNKNOWN is less than any stamp, so it stays. */
	mark[CREATED] = MIN(mark[CREATED], mark[MAIN_ENTERED]);
	mark[PARENT_CREATED] = MIN(mark[PARENT_CREATED], mark[CREATED]);
	if (dropped < FENCES_END && mark[dropped] != UNKNOWN)
		cpu[work_index(INIT_RETURNED)] = NOT_COUNTED;
	for (int m = dropped; m < FENCES_END; m++)
		mark[m] = UNKNOWN;
	for (int m = PARENT_CREATED, before = START; m < MARKS; m++)
		if (mark[m] != UNKNOWN) {
			mark[m] = MAX(mark[m] - start, mark[before]);
			before = m;
		}
}

/* Turns the stamps in the records into marks, and finds the latest marks. */
void draw_timelines(struct run *run)
{
	run->fences = FENCES;
	for (int rank = 0; rank < run->size; rank++)
		while (run->fences > 0 &&
		       mark_of(run, rank, FENCE_LEFT + 2 * (run->fences - 1)) == UNKNOWN)
			run->fences--;
	for (int m = 0; m < MARKS; m++)
		run->latest[m] = -1;
	for (int rank = 0; rank < run->size; rank++) {
		draw_timeline(run, rank);
		for (int m = PARENT_CREATED; m < FENCES_END; m++) {
			int64_t mark = mark_of(run, rank, m);

			if (mark == UNKNOWN ||
			    (m == PARENT_CREATED && !run->records[rank].by_mpirun))
				continue;
			if (run->latest[m] < 0 || mark > mark_of(run, run->latest[m], m))
				run->latest[m] = rank;
		}
	}
}

static int is_fence_left(enum mark mark)
{
	return mark >= FENCE_LEFT && mark < FENCES_END && (mark - FENCE_LEFT) % 2 == 0;
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
		awaited.mark = INIT_RETURNED;
		awaited.rank = run->responder[rank];
		if (awaited.rank != rank && run->responder[awaited.rank] >= 0)
			awaited.mark = REPLY_RECEIVED; /* block 0 answers the last block */
	}
	if (awaited.rank < 0)
		return awaited;
	awaited.at = mark_of(run, awaited.rank, awaited.mark);
	tolerance = run->records[rank].clock.bound + run->records[awaited.rank].clock.bound;
	if (mark == CREATED)
		tolerance = 2 * TICK;
	/* A mark that is certainly later was not waited for. For example, not every fence is a
	 * barrier: with SLURM_PMIX_FENCE=tree, Slurm may let a node continue early. */
	if (awaited.at > mark_of(run, rank, mark) + tolerance)
		awaited.rank = -1;
	return awaited;
}

/* Returns the point at which RANK's step that ends in MARK begins. MARK must come after START. */
struct point find_beginning(const struct run *run, int rank, enum mark mark)
{
	struct point awaited = find_awaited(run, rank, mark), own = {rank, mark, 0};

	do {
		own.mark--;
		own.at = mark_of(run, rank, own.mark);
	} while (own.at == UNKNOWN);
	if (awaited.rank < 0 || awaited.at <= own.at)
		return own;
	awaited.at = MIN(awaited.at, mark_of(run, rank, mark));
	return awaited;
}

/* Returns the column of the step that ends in MARK. */
enum column step_column(enum mark mark)
{
	switch (mark) {
	case PARENT_CREATED:
		return DAEMON;
	case CREATED:
		return SPAWN;
	case MAIN_ENTERED:
		return EXEC;
	case REPLY_RECEIVED:
		return EXCHANGE;
	default:
		return is_fence_left(mark) ? FENCE : INIT;
	}
}

/* Returns the length of RANK's step that ends in MARK, or UNKNOWN if RANK has no such mark. */
int64_t step_length(const struct run *run, int rank, enum mark mark)
{
	int64_t end = mark_of(run, rank, mark);

	return end == UNKNOWN ? UNKNOWN : end - find_beginning(run, rank, mark).at;
}

/* Returns whether steps that end in MARK have a value in COLUMN. Without fences, what a process did
 * in MPI_Init is not known. */
static int counts(const struct run *run, enum mark mark, enum column column)
{
	enum column step = step_column(mark);

	if (column < CPU || column > FAULTS)
		return column == step;
	return step == EXEC || (step == INIT && run->fences > 0);
}

/* Returns the value in COLUMN of the last LENGTH us of RANK's step that ends in MARK: LENGTH itself
 * or, for CPU to FAULTS, what the process did during that time (FAULTS are those of the whole
 * step). CPU, CPU_WAIT and BLOCKED add up to LENGTH. Returns UNKNOWN if there is no such value. */
int64_t step_value(const struct run *run, int rank, enum mark mark, int64_t length,
		   enum column column)
{
	const struct record *record = run->records + rank;
	int64_t cpu, cpu_wait;
	int i;

	if (!counts(run, mark, column) || length == UNKNOWN)
		return UNKNOWN;
	if (column < CPU)
		return length;
	i = work_index(mark);
	if (record->cpu[i] == NOT_COUNTED)
		return UNKNOWN;
	if (column == FAULTS)
		return record->faults[i];
	cpu = MIN(record->cpu[i], length);
	if (column == CPU)
		return cpu;
	if (record->cpu_wait[i] == NOT_COUNTED)
		return UNKNOWN;
	cpu_wait = MIN(record->cpu_wait[i], length - cpu);
	return column == CPU_WAIT ? cpu_wait : length - cpu - cpu_wait;
}

/* Returns the sum of RANK's steps in COLUMN or, if that is WAIT, of its waits. Returns UNKNOWN if
 * there is none, or if one of them is not known. */
static int64_t sum_steps(const struct run *run, int rank, enum column column)
{
	int64_t sum = UNKNOWN, before = 0;

	for (int mark = PARENT_CREATED; mark < MARKS; mark++) {
		int64_t end = mark_of(run, rank, mark), value;

		if (end == UNKNOWN || (column != WAIT && !counts(run, mark, column)))
			continue;
		if (column == WAIT)
			value = find_beginning(run, rank, mark).at - before;
		else
			value = step_value(run, rank, mark, step_length(run, rank, mark), column);
		if (value == UNKNOWN)
			return UNKNOWN;
		sum = MAX(sum, 0) + value;
		before = end;
	}
	return sum;
}

/* Returns the value of RANK in COLUMN, or UNKNOWN if it has none. */
int64_t column_value(const struct run *run, int rank, enum column column)
{
	switch (column) {
	case WHOLE_INIT:
		return mark_of(run, rank, INIT_RETURNED) - mark_of(run, rank, MAIN_ENTERED);
	case COMPLETED:
		return run->responder[rank] < 0 ? UNKNOWN : run->replied[rank] - run->start;
	case REPEAT:
		return run->records[rank].repeat;
	default:
		return sum_steps(run, rank, column);
	}
}

/* Returns the minimum, median and maximum of COLUMN over all ranks that have a value in it. The
 * values are those of the step that ends in MARK or, if MARK is ALL_STEPS, those of each rank as a
 * whole. */
struct summary summarise(const struct run *run, enum mark mark, enum column column)
{
	struct summary summary = {0, UNKNOWN, UNKNOWN, UNKNOWN, 0};
	int64_t *values = allocate(run->size, sizeof *values);

	for (int rank = 0; rank < run->size; rank++) {
		int64_t value;

		if (mark == ALL_STEPS)
			value = column_value(run, rank, column);
		else
			value = step_value(run, rank, mark, step_length(run, rank, mark), column);
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
