/*
 * explain.c - what rank 0 prints and writes about a valid run, after the result
 *
 * judge.c has already checked the run. analysis.h lists the files of explain/. They do not use MPI,
 * and run off the clock, on rank 0.
 */
#include "analysis.h"

/* Prints the warnings, and writes the reports that are asked for. Returns the exit status. */
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
