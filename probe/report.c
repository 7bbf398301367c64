/*
 * report.c - what -v prints after the result: the critical path, the outlier, a table of all ranks,
 * and details of the run
 *
 * Off the clock, on rank 0.
 */
#include "run.h"

/* Prints "RANK on HOST". */
static void print_rank(const struct run *run, int rank)
{
	fprintf(stderr, "%d on %s", rank, run->records[rank].host);
}

/* If COLUMN is an exchange with another rank, prints WITH and the partner of RANK. */
static void print_partner(const struct run *run, enum column column, int rank, const char *with)
{
	if ((column != EXCHANGE && column != REPEAT) || run->responder[rank] == rank)
		return;
	fputs(with, stderr);
	print_rank(run, run->responder[rank]);
}

static void print_path(const struct run *run, const struct path *path)
{
	static const int widths[] = {8, 9, 8, 7}; /* of cpu, cpu_wait, blocked and faults */

	fprintf(stderr, "\n%-13s%10s  %7s  %8s  %7s  %6s  rank\n", "critical path", "ms", "cpu",
		"cpu_wait", "blocked", "faults");
	for (const struct step *step = path->step + path->first; step < path->step + STEPS;
	     step++) {
		struct point end = step->end, awaited = find_awaited(run, end.rank, end.mark);

		fprintf(stderr, "%-13s%10.3f", column_names[step->column], (double)step->us / 1000);
		for (int i = 0; i < 4; i++)
			fprintf(stderr, " %*s", widths[i],
				format_value(CPU + i, step_value(run, end.rank, end.mark, step->us,
								 CPU + i)));
		fputs("  ", stderr);
		print_rank(run, end.rank);
		print_partner(run, step->column, end.rank, ", with ");
		if (step->column == DAEMON)
			fprintf(stderr, ", %s", run->records[end.rank].parent);
		if (step->column == FENCE) {
			fputs(awaited.rank < 0 ? ", did not hold" : ", last in: ", stderr);
			if (awaited.rank >= 0)
				print_rank(run, awaited.rank);
		}
		fputc('\n', stderr);
	}
}

static void print_outlier(const struct run *run, const struct path *path)
{
	static const char *const kinds[] = {
		[CPU] = ", mostly on the CPU",
		[CPU_WAIT] = ", mostly waiting for a CPU",
		[BLOCKED] = ", mostly blocked",
		[COLUMNS] = "",
	};
	struct outlier outlier = find_outlier(run, path);
	enum column column;
	int rank;

	fputs("\noutlier: ", stderr);
	if (!outlier.step) {
		fputs("none\n", stderr);
		return;
	}
	column = outlier.step->column;
	rank = outlier.step->end.rank;
	fprintf(stderr, "%s of rank ", column_names[column]);
	print_rank(run, rank);
	if (outlier.others > 0)
		fprintf(stderr, " and %d more rank%s there", outlier.others,
			outlier.others > 1 ? "s" : "");
	print_partner(run, column, rank, " with ");
	fprintf(stderr, ", %.3f ms above the median%s\n", (double)outlier.excess / 1000,
		kinds[outlier.kind]);
}

static void print_table(const struct run *run)
{
	static const enum column columns[] = {DAEMON, SPAWN,    EXEC,       INIT,      FENCE,
					      WAIT,   EXCHANGE, WHOLE_INIT, COMPLETED, REPEAT,
					      CPU,    CPU_WAIT, BLOCKED,    FAULTS,    COLUMNS};

	fprintf(stderr, "\n%-12s%11s %11s %11s  slowest rank\n", "ms", "min", "median", "max");
	for (const enum column *column = columns; *column != COLUMNS; column++) {
		struct summary summary = summarise(run, ALL_STEPS, *column);

		fputs(column_names[*column], stderr);
		if (summary.count > 0) {
			fprintf(stderr, "%*s", 23 - (int)strlen(column_names[*column]),
				format_value(*column, summary.min));
			fprintf(stderr, " %11s", format_value(*column, summary.median));
			fprintf(stderr, " %11s  ", format_value(*column, summary.max));
			print_rank(run, summary.slowest);
			print_partner(run, *column, summary.slowest, ", with ");
		}
		fputc('\n', stderr);
	}
}

static void print_clocks(const struct run *run)
{
	const char *sync = getenv("ZIATEST_SYNC");

	fprintf(stderr, "clock offset: %.3f ms, %s against %s, within %.3f ms; ",
		(double)run->worst.offset / 1000, run->records[run->worst_block * run->n].host,
		run->records[run->median_block * run->n].host, (double)run->worst.bound / 1000);
	if (run->launch_clock_known)
		fprintf(stderr, "corrected time %.3f ms", (double)corrected_time(run) / 1000);
	else
		fputs("no corrected time: the launch node's clock is unknown", stderr);
	if (sync && strcmp(sync, "no") == 0)
		fputs(" (launch node's clock: not synchronised)", stderr);
	else if (sync)
		fprintf(stderr, " (launch node's clock: synchronised to within %s us)", sync);
	fputc('\n', stderr);
}

/* Prints where the time went. */
void print_report(const struct run *run, const struct path *path)
{
	const char *library = fence_library();
	char version[MPI_MAX_LIBRARY_VERSION_STRING];

	fprintf(stderr, "\n%.3f ms, %d nodes x %d = %d ranks\n", (double)run->time / 1000,
		run->size / run->n, run->n, run->size);
	print_path(run, path);
	print_outlier(run, path);
	print_table(run);
	if (run->fences > 0)
		fprintf(stderr, "fences: %d, %s\n", run->fences, library ? library : "unknown");
	else
		fputs("fences: none\n", stderr);
	fprintf(stderr, "libraries: %d when main was entered, %d when MPI_Init had returned\n",
		run->libraries[0], run->libraries[1]);
	print_clocks(run);
	fprintf(stderr, "executable: %lld bytes\n", (long long)executable_size());
	read_mpi_version(version);
	fprintf(stderr, "MPI: %s\n", version);
}
