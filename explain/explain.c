/*
 * explain.c - what observe/ calls on rank 0: check_run() before the result is printed, and
 * explain_run() after it
 *
 * The run's arrays are allocated and freed here. analysis.h lists the other files of explain/. None
 * of them uses MPI, and all run off the clock.
 */
#include "analysis.h"

/* Returns whether RUN is valid. If it is, explain_run() must follow; if not, prints an error. */
bool check_run(struct run *run)
{
	bool valid;

	run->offsets = run->new_array(run->size / run->n, sizeof *run->offsets);
	resolve_clocks(run);
	valid = judge_run(run);
	if (!valid)
		free(run->offsets);
	return valid;
}

/* Prints the warnings, and writes the reports that are asked for. Returns the exit status. */
int explain_run(struct run *run)
{
	struct outlier outlier;
	struct path path;
	int status = 0;

	run->values = run->new_array(run->size, sizeof *run->values);
	draw_timelines(run);
	find_path(run, &path);
	outlier = find_outlier(run, &path);
	print_warnings(run);
	if (run->verbose)
		status |= print_report(run, &path, &outlier);
	if (run->csv)
		status |= append_row(run, &path, &outlier);
	if (run->ranks)
		status |= write_ranks(run);
	free(run->offsets);
	free(run->values);
	return status;
}
