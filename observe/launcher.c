/*
 * launcher.c - what the launcher tells this process in environment variables, and whether the MPI
 * library agrees
 *
 * On the clock: launched_world(); after the clock has lost its meaning: report_mismatch().
 */
#include "observe.h"

#include <limits.h>

/* Returns this process's rank and the number of processes, as its launcher gives them in
 * environment variables; each is -1 if it does not. The first launcher in this list that
 * gives a size wins: mpirun, for example, may run inside a step of Slurm, whose variables are then
 * set as well. Must be called before MPI_Init, which may set some of these variables itself. */
struct world launched_world(void)
{
	static const struct {
		const char *size, *rank;
	} launchers[] = {
		{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, /* Open MPI's mpirun */
		{"PMI_SIZE", "PMI_RANK"}, /* Hydra, PALS, Slurm with PMI-1 or PMI-2 */
		{"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
		{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
	};

	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
		int size = (int)to_number(getenv(launchers[i].size), INT_MAX);
		int rank = (int)to_number(getenv(launchers[i].rank), INT_MAX);

		if (size >= 0)
			return (struct world){rank, size};
	}
	return (struct world){(int)to_number(getenv("PMIX_RANK"), INT_MAX), -1}; /* prterun */
}

/* Prints, once per job, that MPI and the launcher do not match. LAUNCHED is the world that the
 * launcher has described. Then ends this process, unless it is a program's; all but the one that
 * prints wait first, because some launchers end the job as soon as one process has ended. */
void report_mismatch(struct world launched)
{
	if (launched.rank <= 0)
		print_error("the launcher started %d processes, but each is alone in its "
			    "MPI_COMM_WORLD: the launcher and the MPI library do not match; use "
			    "the mpirun of this MPI library, or another srun --mpi=TYPE (see srun "
			    "--mpi=list)\n",
			    launched.size);
	if (is_guest)
		return;
	if (launched.rank > 0)
		sleep_second();
	PMPI_Finalize();
	stop_if_timed_out();
	exit(launched.rank > 0 ? 0 : 1);
}
