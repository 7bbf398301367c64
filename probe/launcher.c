/*
 * launcher.c - how many processes the launcher started, and which one this is
 *
 * Each launcher passes both in environment variables. The first launcher in this list whose
 * variable is set wins, because it may have been called from a shell that was started by a
 * launcher further down the list.
 *
 * On the clock: launched_rank(), as part of arming the timeout.
 */
#include "run.h"

#include <limits.h>

static const struct {
	const char *size, *rank;
} launchers[] = {
	{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, /* Open MPI's mpirun */
	{"PMI_SIZE", "PMI_RANK"}, /* Hydra, PALS, Slurm with PMI-1 or PMI-2 */
	{"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
	{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

/* Returns this process's rank according to its launcher, or -1. Must be called before MPI_Init. */
int launched_rank(void)
{
	int rank = -1;

	for (int i = 0; i < LAUNCHERS && rank < 0; i++)
		rank = (int)to_number(getenv(launchers[i].rank), INT_MAX);
	return rank;
}

/* If ENTRY sets the variable NAME, stores its value in *VALUE. */
static void read_variable(const char *entry, const char *name, int *value)
{
	size_t length = strlen(name);

	if (strncmp(entry, name, length) == 0 && entry[length] == '=')
		*value = (int)to_number(entry + length + 1, INT_MAX);
}

/* Returns the number of processes that the launcher started, and stores the rank of this one in
 * *RANK; either is -1 if the launcher does not set it. ENVIRONMENT is the file that holds the
 * environment as the launcher passed it, /proc/self/environ. getenv() would not do, because
 * MPI_Init may have set some of the variables since. */
int launched_size(const char *environment, int *rank)
{
	FILE *file = fopen(environment, "r");
	int sizes[LAUNCHERS], ranks[LAUNCHERS], i = 0;
	size_t room = 0;
	char *entry = NULL;

	for (int k = 0; k < LAUNCHERS; k++)
		sizes[k] = ranks[k] = -1;
	while (file && getdelim(&entry, &room, '\0', file) > 0)
		for (int k = 0; k < LAUNCHERS; k++) {
			read_variable(entry, launchers[k].size, &sizes[k]);
			read_variable(entry, launchers[k].rank, &ranks[k]);
		}
	free(entry);
	if (file)
		fclose(file);
	while (i < LAUNCHERS - 1 && sizes[i] < 0)
		i++;
	*rank = ranks[i]; /* Slurm's, if no launcher set a size */
	return sizes[i];
}
