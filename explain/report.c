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

/* Prints VALUE to FILE, right-aligned in at least WIDTH characters: FAULTS as a whole number, and
 * times, which are in us, in ms. Prints only blanks for an UNKNOWN value. */
void print_value(FILE *file, int width, enum column column, int64_t value)
{
	if (value == UNKNOWN)
		fprintf(file, "%*s", width, "");
	else if (column == FAULTS)
		fprintf(file, "%*lld", width, (long long)value);
	else
		fprintf(file, "%*.3f", width, (double)value / 1000);
}

/* Prints US in ms, as print_value() does. */
void print_ms(FILE *file, int width, int64_t us)
{
	print_value(file, width, COMPLETED, us);
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

/* If all ranks of RANK's block may run on the same CPUs only, and those are fewer than the ranks,
 * prints how many they share: a binding was forgotten or is wrong. */
static void print_shared_cpus(const struct run *run, int rank)
{
	const struct record *first = run->records + rank / run->n * run->n;

	for (int i = 1; i < run->n; i++)
		if (first[i].cpus != first->cpus)
			return;
	if (first->cpu_count > 0 && first->cpu_count < run->n)
		fprintf(out, " (%d ranks share %d CPU%s)", run->n, first->cpu_count,
			first->cpu_count > 1 ? "s" : "");
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
		fputc('\n', out);
		return;
	}
	fprintf(out, "outlier: %s of rank ", column_names[phase->column]);
	print_place(run, "", phase->end.rank);
	if (is_group)
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
	print_ms(out, 0, outlier->excess);
	fprintf(out, " ms above the median%s", kinds[outlier->kind]);
	if (outlier->kind == CPU_WAIT)
		print_shared_cpus(run, phase->end.rank);
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

static void print_path(const struct run *run, const struct path *path)
{
	static const int widths[COLUMNS] = {[CPU] = 7, [CPU_WAIT] = 8, [BLOCKED] = 7, [FAULTS] = 6};

	fputs("\ncritical path        ms      median", out);
	for (enum column column = CPU; column <= FAULTS; column++)
		fprintf(out, "  %*s", widths[column], column_names[column]);
	fputs("  rank\n", out);
	for (const struct phase *phase = path->phase + path->first; phase < path->phase + PHASES;
	     phase++) {
		struct point end = phase->end, awaited = find_awaited(run, end.rank, end.mark);

		fprintf(out, "%-13s", column_names[phase->column]);
		print_ms(out, 10, phase->us);
		print_ms(out, 12,
			 phase->column == CLOCK ? UNKNOWN
						: summarise(run, phase, phase->column).median);
		for (enum column column = CPU; column <= FAULTS; column++)
			print_value(out, 2 + widths[column], column,
				    phase_value(run, phase, column));
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
	fprintf(out, "\n%-12s%11s %11s %11s  slowest rank\n", "ms", "min", "median", "max");
	for (enum column column = 0; column < COLUMNS; column++) {
		struct summary summary = summarise(run, NULL, column);

		if (summary.max == UNKNOWN)
			continue;
		fprintf(out, "%-12s", column_names[column]);
		print_value(out, 11, column, summary.min);
		print_value(out, 12, column, summary.median);
		print_value(out, 12, column, summary.max);
		print_place(run, "  ", summary.slowest);
		print_partner(run, column, summary.slowest, ", with ");
		fputc('\n', out);
	}
}

static void print_clocks(const struct run *run)
{
	struct estimate worst = run->offsets[run->worst_clock];

	fputs("clock offset: ", out);
	print_ms(out, 0, worst.value);
	fputs(" ms (+/- ", out);
	print_ms(out, 0, worst.bound);
	fprintf(out, " ms), %s against %s, the ", run->records[run->worst_clock * run->n].host,
		run->records[run->reference_clock * run->n].host);
	if (run->launch_clock_known) {
		fputs("launch node; corrected time ", out);
		print_ms(out, 0, run->corrected);
		fputs(" ms", out);
	} else {
		fputs("median; no corrected time: the launch node's clock is unknown", out);
	}
	if (run->launch_node_named && run->launch_clock_error >= 0)
		fprintf(out, " (launch node's clock: synchronised to within %lld us)",
			(long long)run->launch_clock_error);
	else if (run->launch_node_named)
		fputs(" (launch node's clock: not known to be synchronised)", out);
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
		print_ms(out, 0, run->time);
		fprintf(out, " ms, %d node%s x %d = %d rank%s\n", nodes, nodes > 1 ? "s" : "",
			run->n, run->size, run->size > 1 ? "s" : "");
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
