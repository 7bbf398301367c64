/*
 * explain.c - what rank 0 makes of the records: an error, or warnings and reports
 *
 * The files, in the best order for reading: clocks.c, judge.c, timeline.c, path.c, report.c and
 * files.c (analysis.h). Off the clock, on rank 0, and without MPI.
 */
#include "analysis.h"

/* Finds the reference clock, and checks whether RUN is valid. If it is not, prints an error and
 * returns false. */
bool check_run(struct run *run)
{
	resolve_clocks(run);
	if (check_measurement(run))
		return true;
	free(run->offsets);
	return false;
}

/* Explains RUN, which must be valid: prints the warnings, and writes the reports that are asked for.
 * Returns the exit status. */
int explain_run(struct run *run)
{
	struct outlier outlier;
	struct path path;
	int status = 0;

	draw_timelines(run);
	find_path(run, &path);
	outlier = find_outlier(run, &path);
	print_warnings(run);
	if (run->verbose)
		print_report(run, &path, &outlier);
	if (run->csv)
		status |= append_row(run, &path, &outlier);
	if (run->ranks)
		status |= write_ranks(run);
	free(run->offsets);
	free(run->values);
	return status;
}
