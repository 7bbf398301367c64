/*
 * explain.c - what observe/ calls on rank 0: first whether the run is valid, then, after the result,
 * what is printed and written about it
 *
 * The run's arrays are allocated and freed here. analysis.h lists the other files of explain/, which
 * do the work. None of them uses MPI, and all run off the clock.
 */
#include "analysis.h"

static void free_arrays(struct run *run)
{
	free(run->offsets);
	free(run->values);
}

/* Returns whether RUN is valid. If it is not, prints an error; otherwise explain_run() must follow. */
bool check_run(struct run *run)
{
	bool valid;

	run->offsets = run->new_array(run->size / run->n, sizeof *run->offsets);
	run->values = run->new_array(run->size, sizeof *run->values);
	resolve_clocks(run);
	valid = judge_run(run);
	if (!valid)
		free_arrays(run);
	return valid;
}

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
	free_arrays(run);
	return status;
}
