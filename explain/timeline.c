/*
 * timeline.c - the marks of every rank, and the phases between them
 *
 * A phase ends at a mark. It begins at the later of two marks: the rank's own previous mark, and
 * the mark of another rank that it waited for. If it waited, the time between the two is its wait.
 * So a rank's phases and waits add up to its last mark exactly. Going back from each mark to the
 * one at which its phase begins, on whichever rank that is, gives the critical path (path.c).
 */
#include "analysis.h"

static bool is_fence_left(enum mark mark)
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

/* Draws the timeline of RANK: turns its stamps into marks, without fences that do not count. */
static void draw_timeline(struct run *run, int rank)
{
	struct record *record = run->records + rank;
	int64_t *at = record->at;
	int64_t start = run->start + correction(run, rank); /* by this rank's clock */
	enum mark loaded = at[LIBRARIES_LOADED] == UNKNOWN ? MAIN_ENTERED : LIBRARIES_LOADED;

	/* UNKNOWN is less than any stamp, so it stays. A parent that is older than the launch was
	 * not created for it. A new daemon only seems to be older, because clocks differ. */
	if (at[PARENT_CREATED] < start - 2 * TICK && !record->daemon_is_new)
		at[PARENT_CREATED] = UNKNOWN;
	at[CREATED] = MIN(at[CREATED], at[loaded]);
	at[PARENT_CREATED] = MIN(at[PARENT_CREATED], at[CREATED]);
	for (enum mark m = fence_mark(FENCE_ENTERED, run->fences); m < FENCES_END; m++)
		at[m] = UNKNOWN;
	at[START] = 0;
	for (int m = PARENT_CREATED, before = START; m < MARKS; m++)
		if (at[m] != UNKNOWN) {
			at[m] = MAX(at[m] - start, at[before]);
			before = m;
		}
}

/* Returns the point at which RANK reached MARK; if RANK is -1, there is none. */
static struct point point_of(const struct run *run, int rank, enum mark mark)
{
	return (struct point){rank, mark, rank < 0 ? UNKNOWN : run->records[rank].at[mark]};
}

/* Returns the point that RANK waited for before MARK. Its rank is -1 if there is none. */
struct point find_awaited(const struct run *run, int rank, enum mark mark)
{
	const struct record *record = run->records + rank;
	struct point awaited = {-1, mark, UNKNOWN};
	int64_t tolerance;

	if (mark == REPLY_RECEIVED) /* Block 0 answers the last block after its own reply. */
		awaited = point_of(run, record->partner,
				   record->partner < rank ? REPLY_RECEIVED : INIT_RETURNED);
	else if (mark == CREATED && record->daemons_wait) /* when all daemons have reported */
		awaited = point_of(run, run->latest[PARENT_CREATED], PARENT_CREATED);
	else if (is_fence_left(mark))
		awaited = point_of(run, run->latest[mark - 1], mark - 1);
	if (awaited.rank < 0)
		return awaited;
	tolerance = offset_of(run, rank).bound + offset_of(run, awaited.rank).bound;
	if (mark == CREATED)
		tolerance = 2 * TICK;
	/* A mark that is certainly later was not waited for. For example, not every fence is a
	 * barrier: with SLURM_PMIX_FENCE=tree, Slurm may let a node continue early. */
	if (awaited.at > record->at[mark] + tolerance)
		awaited.rank = -1;
	return awaited;
}

/* Returns RANK's own last mark before MARK, which must come after START. */
static struct point find_previous(const struct run *run, int rank, enum mark mark)
{
	do
		mark--;
	while (run->records[rank].at[mark] == UNKNOWN);
	return point_of(run, rank, mark);
}

/* Returns the column of the phase that ends at MARK, if the rank's previous mark is PREVIOUS. */
static enum column phase_column(enum mark previous, enum mark mark)
{
	switch (mark) {
	case PARENT_CREATED:
		return DAEMON;
	case CREATED:
		return SPAWN;
	case LIBRARIES_LOADED:
		return EXEC;
	case MAIN_ENTERED:
		return previous == LIBRARIES_LOADED ? SETUP : EXEC;
	case REPLY_RECEIVED:
		return EXCHANGE;
	default:
		return is_fence_left(mark) ? FENCE : INIT;
	}
}

/* Returns RANK's phase that ends at MARK, which must come after START. */
struct phase find_phase(const struct run *run, int rank, enum mark mark)
{
	struct point own = find_previous(run, rank, mark), end = point_of(run, rank, mark);
	struct point awaited;
	struct phase phase = {phase_column(own.mark, mark), own, end, UNKNOWN};

	if (end.at == UNKNOWN)
		return phase;
	awaited = find_awaited(run, rank, mark);
	if (awaited.rank >= 0 && awaited.at > own.at)
		phase.begin = awaited;
	phase.begin.at = MIN(phase.begin.at, end.at);
	phase.us = end.at - phase.begin.at;
	return phase;
}

/* Returns the value of PHASE in COLUMN: its length or, for CPU to FAULTS, what the process did;
 * UNKNOWN if there is none, such as in MPI_Init without fences. CPU, CPU_WAIT and BLOCKED add up to
 * the length, which may be less than the whole phase's: find_path() shortens overlapping phases. */
int64_t phase_value(const struct run *run, const struct phase *phase, enum column column)
{
	const struct record *record = run->records + phase->end.rank;
	struct reading earlier = {0, 0, 0}; /* when the process was created */
	struct work work;
	enum mark mark = phase->end.mark, previous;
	int64_t cpu, cpu_wait;

	if (column == phase->column)
		return phase->us;
	if (column < CPU || phase->us == UNKNOWN)
		return UNKNOWN;
	if (phase->column != EXEC && phase->column != SETUP &&
	    !(phase->column == INIT && run->fences > 0))
		return UNKNOWN;
	previous = find_previous(run, phase->end.rank, mark).mark;
	if (previous >= LIBRARIES_LOADED)
		earlier = record->readings[previous - LIBRARIES_LOADED];
	work = work_between(earlier, record->readings[mark - LIBRARIES_LOADED]);
	if (column == FAULTS)
		return work.faults;
	if (phase->column == SETUP && !record->one_thread)
		return UNKNOWN;
	cpu = MIN(work.cpu, phase->us);
	if (column == CPU)
		return cpu;
	if (work.cpu_wait < 0)
		return UNKNOWN;
	cpu_wait = MIN(work.cpu_wait, phase->us - cpu);
	return column == CPU_WAIT ? cpu_wait : phase->us - cpu - cpu_wait;
}

/* Adds VALUE to *SUM, unless it is UNKNOWN. */
void add(int64_t *sum, int64_t value)
{
	if (value != UNKNOWN)
		*sum = (*sum == UNKNOWN ? 0 : *sum) + value;
}

/* Fills in the values of RANK, except COMPLETED. Its wait is its timeline minus its phases. */
static void find_values(struct run *run, int rank)
{
	const int64_t *at = run->records[rank].at;
	int64_t *in = run->values[rank].in;

	in[WAIT] = find_previous(run, rank, MARKS).at;
	in[WHOLE_INIT] = at[INIT_RETURNED] - at[MAIN_ENTERED];
	for (enum mark end = PARENT_CREATED; end < MARKS; end++) {
		struct phase phase = find_phase(run, rank, end);

		if (phase.us == UNKNOWN)
			continue;
		in[WAIT] -= phase.us;
		for (enum column column = 0; column < COLUMNS; column++)
			add(in + column, phase_value(run, &phase, column));
	}
}

/* Finds, for each mark up to the last fence, the rank that reached it last. */
static void find_latest_marks(struct run *run)
{
	for (enum mark mark = START; mark < MARKS; mark++)
		run->latest[mark] = -1;
	for (int rank = 0; rank < run->size; rank++)
		for (enum mark mark = PARENT_CREATED; mark < FENCES_END; mark++) {
			int64_t at = run->records[rank].at[mark];
			int latest = run->latest[mark];

			if (at == UNKNOWN ||
			    (mark == PARENT_CREATED && !run->records[rank].daemons_wait))
				continue;
			if (latest < 0 || at > run->records[latest].at[mark])
				run->latest[mark] = rank;
		}
}

/* Draws the timelines of all ranks, finds the latest marks, and fills in the values. */
void draw_timelines(struct run *run)
{
	run->fences = count_fences(run);
	for (int rank = 0; rank < run->size; rank++) {
		int64_t *in = run->values[rank].in, replied = run->records[rank].at[REPLY_RECEIVED];

		for (enum column column = 0; column < COLUMNS; column++)
			in[column] = UNKNOWN;
		if (replied != UNKNOWN)
			in[COMPLETED] = replied - run->start; /* as measured */
		draw_timeline(run, rank);
	}
	find_latest_marks(run);
	for (int rank = 0; rank < run->size; rank++)
		find_values(run, rank);
}

/* Summarises COLUMN over all ranks that have a value in it: for the phase that ends at the same
 * mark as LIKE or, if LIKE is NULL, for each rank as a whole. */
struct summary summarise(const struct run *run, const struct phase *like, enum column column)
{
	struct summary summary = {UNKNOWN, UNKNOWN, UNKNOWN, 0};
	int64_t *values = run->new_array(run->size, sizeof *values);
	int count = 0;

	for (int rank = 0; rank < run->size; rank++) {
		int64_t value = run->values[rank].in[column];

		if (like) {
			struct phase phase = find_phase(run, rank, like->end.mark);

			value = phase_value(run, &phase, column);
		}
		if (value == UNKNOWN)
			continue;
		values[count++] = value;
		if (value > summary.max) {
			summary.max = value;
			summary.slowest = rank;
		}
	}
	if (count > 0) {
		qsort(values, (size_t)count, sizeof *values, compare_times);
		summary.min = values[0];
		summary.median = values[(count - 1) / 2];
	}
	free(values);
	return summary;
}
