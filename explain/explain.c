/*
 * explain.c - what observe/ calls on rank 0: check_run() before the result is printed, and
 * explain_run() after it
 *
 * The run's arrays are allocated by the one and freed by the other. analysis.h lists the other
 * files of explain/. None of them uses MPI, and all run off the clock.
 */
#include "analysis.h"

/* What check_run() finds out, for explain_run() to print and write. */
static struct path path;
static struct outlier outlier;

/* Returns whether RUN is valid and may be written to the requested files. If so, the caller must
 * call explain_run() next; if not, check_run() has printed an error. */
bool check_run(struct run *run)
{
	run->offsets = run->new_array(run->size / run->n, sizeof *run->offsets);
	run->values = run->new_array(run->size, sizeof *run->values);
	resolve_clocks(run);
	if (judge_run(run)) {
		draw_timelines(run);
		find_path(run, &path);
		outlier = find_outlier(run, &path);
		if (are_files_ours(run, &path, &outlier))
			return true;
	}
	free(run->offsets);
	free(run->values);
	free(outlier.late_by);
	return false;
}

/* Prints the warnings, and writes the reports that are asked for. Returns the exit status. */
int explain_run(struct run *run)
{
	int status = 0;

	print_warnings(run);
	if (run->verbose)
		status |= print_report(run, &path, &outlier);
	if (run->csv)
		status |= append_row(run, &path, &outlier);
	if (run->ranks)
		status |= write_ranks(run);
	free(run->offsets);
	free(run->values);
	free(outlier.late_by);
	return status;
}
