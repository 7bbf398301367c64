/*
 * report.c - what -v prints after the result: the outlier, what to do next, the critical path, with
 * -vv a table of all ranks, and details of the run
 */
#include "analysis.h"

#include <errno.h>

const char *const column_names[COLUMNS] = {
	[DAEMON] = "daemon",       [SPAWN] = "spawn",         [EXEC] = "exec",
	[SETUP] = "setup",         [INIT] = "init",           [FENCE] = "fence",
	[WAIT] = "wait",           [EXCHANGE] = "exchange",   [CLOCK] = "clock",
	[WHOLE_INIT] = "mpi_init", [COMPLETED] = "completed", [CPU] = "cpu",
	[CPU_WAIT] = "cpu_wait",   [BLOCKED] = "blocked",     [FAULTS] = "faults",
};

static FILE *out; /* the report, in memory until it is complete */

/* The unit of all times in the report, which have three decimals, and the last of these in us */
static const char *unit;
static int64_t last_digit;

static void choose_unit(const struct run *run)
{
	bool in_ms = run->time < IN_SECONDS;

	unit = in_ms ? "ms" : "s";
	last_digit = in_ms ? 1 : 1000;
}

/* Returns US rounded to the report's last digit. */
static int64_t rounded(int64_t us)
{
	return (us + (us < 0 ? -last_digit / 2 : last_digit / 2)) / last_digit * last_digit;
}

/* Prints US without its unit, right-aligned in at least WIDTH characters. */
static void print_number(int width, int64_t us)
{
	fprintf(out, "%*.3f", width, (double)(rounded(us) / last_digit) / 1000);
}

/* Prints US and its unit. */
static void print_time(int64_t us)
{
	print_number(0, us);
	fprintf(out, " %s", unit);
}

/* Prints US, the most by which a clock may be off, and its unit. Rounds up. */
static void print_bound(int64_t us)
{
	fprintf(out, "%.3f %s", (double)(us / last_digit + (us % last_digit > 0)) / 1000, unit);
}

/* Prints a cell of a table: two blanks, and VALUE, right-aligned in at least WIDTH characters. An
 * UNKNOWN value is blank, and FAULTS is a whole number. */
static void print_cell(int width, enum column column, int64_t value)
{
	fputs("  ", out);
	if (value == UNKNOWN)
		fprintf(out, "%*s", width, "");
	else if (column == FAULTS)
		fprintf(out, "%*lld", width, (long long)value);
	else
		print_number(width, value);
}

/* Prints BEFORE, and "RANK on HOST". */
static void print_place(const struct run *run, const char *before, int rank)
{
	fprintf(out, "%s%d on %s", before, rank, run->records[rank].host);
}

/* If COLUMN is an exchange with another rank, prints WITH and the partner of RANK. */
static void print_partner(const struct run *run, enum column column, int rank, const char *with)
{
	int partner = run->records[rank].partner;

	if (column == EXCHANGE && partner != rank)
		print_place(run, with, partner);
}

/* If all ranks of RANK's block may run only on the same CPUs, and there are fewer CPUs than ranks,
 * prints how many they share: a binding was forgotten, or is wrong. Also prints how many CPUs their
 * parent may use, because the launcher cannot bind the ranks to any others. */
static void print_shared_cpus(const struct run *run, int rank)
{
	const struct record *first = run->records + rank / run->n * run->n;
	int cpus = first->cpu_count;

	for (int i = 1; i < run->n; i++)
		if (first[i].cpus != first->cpus)
			return;
	if (cpus == 0 || cpus >= run->n)
		return;
	fprintf(out, " (%d ranks share %d CPU%s", run->n, cpus, cpus > 1 ? "s" : "");
	if (first->parent_cpus > cpus)
		fprintf(out, "; %s, their parent, may use %d", first->parent, first->parent_cpus);
	else if (first->parent_cpus > 0)
		fprintf(out, "; %s, their parent, may use no more", first->parent);
	fputc(')', out);
}

/* If the launcher started its daemons one after another, prints the mean time between them. */
static void print_step(const struct outlier *outlier)
{
	if (outlier->step == 0)
		return;
	fputs("; the launcher started its daemons one after another, ", out);
	print_time(outlier->step);
	fputs(" apart on average", out);
}

/* Prints the phase of the critical path that stands out, if there is one. */
static void print_outlier(const struct run *run, const struct outlier *outlier)
{
	static const char *const kinds[] = {
		[CPU] = ", mostly on the CPU",
		[CPU_WAIT] = ", mostly waiting for a CPU",
		[BLOCKED] = ", mostly blocked",
		[COLUMNS] = "",
	};
	const struct phase *phase = outlier->phase;
	bool is_group = outlier->nodes > 1;

	if (!phase) {
		fputs(run->fences > 0 ? "outlier: none"
				      : "outlier: unknown, because no fences were seen",
		      out);
		print_shared_cpus(run, run->slowest);
		print_step(outlier);
		fputc('\n', out);
		return;
	}
	fprintf(out, "outlier: %s of rank ", column_names[phase->column]);
	print_place(run, "", phase->end.rank);
	if (is_group) /* Otherwise, the partner comes last: "there" must mean the rank's node. */
		print_partner(run, phase->column, phase->end.rank, " with ");
	if (outlier->others > 0)
		fprintf(out, " and %d more rank%s%s", outlier->others,
			outlier->others > 1 ? "s" : "", is_group ? "" : " there");
	if (is_group) {
		fprintf(out, ", on %d of %d nodes (", outlier->nodes, run->size / run->n);
		print_late_nodes(out, run, outlier);
		fputc(')', out);
	} else {
		print_partner(run, phase->column, phase->end.rank, " with ");
	}
	fputs(", ", out);
	print_time(outlier->excess);
	if (phase->column == DAEMON && outlier->step > 0)
		fputs(" later than its turn", out);
	else
		fprintf(out, " above the median%s", kinds[outlier->kind]);
	if (outlier->kind == CPU_WAIT)
		print_shared_cpus(run, phase->end.rank);
	print_step(outlier);
	fputc('\n', out);
}

/* For a delay to be met again in another launch at the same moment, it must be long, in us, and
 * long in proportion to that moment, because launches differ. */
enum { LONG_DELAY = 500000, LONG_PART = 4 };

/* If it is certain what to do next, prints it: the calls of a rank that is late in MPI_Init can be
 * seen halfway between when most ranks have done what it does, and when it has. */
static void print_next(const struct run *run, const struct outlier *outlier)
{
	const struct phase *phase = outlier->phase;
	const struct record *record;
	bool is_program;
	int64_t moment;

	if (!phase || phase->column != INIT || run->where || outlier->excess < LONG_DELAY)
		return;
	moment = phase->end.at - outlier->excess / 2;
	if (outlier->excess < moment / LONG_PART)
		return;
	record = run->records + phase->end.rank;
	is_program = record->at[LIBRARIES_LOADED] != UNKNOWN; /* otherwise it is ziaprobe */
	fprintf(out, "next: add --where %.1f%s to see the calls that %s is in\n",
		(double)(moment + correction(run, phase->end.rank)) / 1e6,
		is_program ? " --start-only" : "", record->host);
}

/* Returns the width of COLUMN. Times are shorter than 10,000 ms, or in seconds. */
static int column_width(enum column column)
{
	return column == FAULTS ? 6 : 8;
}

static void print_path(const struct run *run, const struct path *path)
{
	int64_t before, until = 0;

	fprintf(out, "\n%-13s  %8s  %8s", "critical path", unit, "median");
	for (enum column column = CPU; column <= FAULTS; column++)
		fprintf(out, "  %*s", column_width(column), column_names[column]);
	fputs("  rank\n", out);
	for (const struct phase *phase = path->phase + path->first; phase < path->phase + PHASES;
	     phase++) {
		struct point end = phase->end, awaited = find_awaited(run, end.rank, end.mark);

		before = until;
		until += phase->us;
		fprintf(out, "%-13s", column_names[phase->column]);
		/* In this way, the printed numbers add up, too. */
		print_cell(8, phase->column, rounded(until) - rounded(before));
		print_cell(8, phase->column,
			   phase->column == CLOCK ? UNKNOWN
						  : summarise(run, phase, phase->column).median);
		for (enum column column = CPU; column <= FAULTS; column++)
			print_cell(column_width(column), column, phase_value(run, phase, column));
		print_place(run, "  ", end.rank);
		print_partner(run, phase->column, end.rank, ", with ");
		if (phase->column == DAEMON)
			fprintf(out, ", %s", run->records[end.rank].parent);
		if (phase->column == FENCE && awaited.rank < 0)
			fputs(", did not hold", out);
		else if (phase->column == FENCE)
			print_place(run, ", last in: ", awaited.rank);
		fputc('\n', out);
	}
}

static void print_table(const struct run *run)
{
	fprintf(out, "\n%-9s  %8s  %8s  %8s  slowest rank\n", unit, "min", "median", "max");
	for (enum column column = 0; column < COLUMNS; column++) {
		struct summary summary = summarise(run, NULL, column);

		if (summary.max == UNKNOWN)
			continue;
		fprintf(out, "%-9s", column_names[column]);
		print_cell(8, column, summary.min);
		print_cell(8, column, summary.median);
		print_cell(8, column, summary.max);
		print_place(run, "  ", summary.slowest);
		print_partner(run, column, summary.slowest, ", with ");
		fputc('\n', out);
	}
}

static void print_clocks(const struct run *run)
{
	struct estimate worst = run->offsets[run->worst_clock];

	fputs("clock offset: ", out);
	print_time(worst.value);
	fputs(" (+/- ", out);
	print_bound(worst.bound);
	fprintf(out, "), %s against %s, the ", run->records[run->worst_clock * run->n].host,
		run->records[run->reference_clock * run->n].host);
	if (run->launch_clock_known) {
		fputs("launch node; corrected time ", out);
		print_time(run->corrected);
	} else {
		fprintf(out, "median; no corrected time, because %s", why_not_corrected(run));
	}
	if (run->launch_node_named && run->launch_clock_error < 0) {
		fputs("; the launch node's clock is not known to be synchronised", out);
	} else if (run->launch_node_named) {
		fputs("; the launch node's clock is synchronised to within ", out);
		if (last_digit == 1) /* The kernel, too, counts in us. */
			fprintf(out, "%lld us", (long long)run->launch_clock_error);
		else
			print_bound(run->launch_clock_error);
	}
	fputc('\n', out);
}

/* Prints where the time went. Returns the exit status. */
int print_report(const struct run *run, const struct path *path, const struct outlier *outlier)
{
	int nodes = run->size / run->n;
	char *text = NULL;
	size_t size;
	bool printed = false;

	if ((out = open_memstream(&text, &size))) {
		fputc('\n', out);
		choose_unit(run);
		print_time(run->time);
		fprintf(out, ", %d node%s x %d = %d rank%s\n", nodes, nodes > 1 ? "s" : "", run->n,
			run->size, run->size > 1 ? "s" : "");
		print_outlier(run, outlier);
		print_next(run, outlier);
		print_path(run, path);
		if (run->verbose > 1)
			print_table(run);
		if (run->fences > 0)
			fprintf(out, "fences: %d, %s\n", run->fences, run->fence_interface);
		else
			fputs("fences: none\n", out);
		if (nodes > 1)
			print_clocks(run);
		fprintf(out, "executable: %s, %lld bytes\nMPI: %s\n", run->program,
			(long long)run->program_bytes, run->mpi);
		printed = fclose(out) == 0 && dprintf(STDERR_FILENO, "%s", text) >= 0;
	}
	if (!printed)
		print_error("cannot print the report: %s; redirect stderr to a file "
			    "that can be written\n",
			    strerror(errno));
	free(text);
	return !printed;
}
