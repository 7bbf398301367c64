/*
 * launcher.c - what the launcher tells this process in environment variables: rank and size
 *
 * On the clock: all of it.
 */
#include "observe.h"

#include <limits.h>

/* The launchers that give a rank and a size, and the daemons that start their ranks, each between
 * two blanks. If no daemon can be seen, the first launcher in this order wins. */
static const struct launcher {
	const char *size, *rank, *daemons;
} launchers[] = {
	{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", MPIRUN},
	/* Hydra, PALS, Slurm with PMI-1 or PMI-2 */
	{"PMI_SIZE", "PMI_RANK", " hydra_pmi_proxy "},
	{"FLUX_JOB_SIZE", "FLUX_TASK_RANK", " flux-shell "},
	{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", " slurmstepd "},
};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

struct world world = {-1, -1};

/* Returns the number in the variable NAME, or -1. */
static int variable(const char *name)
{
	return (int)to_number(getenv(name), INT_MAX);
}

/* Returns the rank and the size that LAUNCHER gives; each is -1 if it does not. */
static struct world world_of(const struct launcher *launcher)
{
	return (struct world){variable(launcher->rank), variable(launcher->size)};
}

/* Returns the launcher whose daemon started this process, or NULL if no daemon can be seen. */
static const struct launcher *find_launcher(void)
{
	const char *daemon = nearest_daemon();

	for (int i = 0; i < LAUNCHERS; i++)
		if (is_among(daemon, launchers[i].daemons))
			return launchers + i;
	return NULL;
}

/* Returns this process's rank and the number of processes, as its launcher gives them in
 * environment variables; each is -1 if it does not. Several launchers may have set theirs: mpirun
 * runs its daemons as tasks of Slurm, and a shell within a launch passes its own rank on. If they
 * disagree, the nearest daemon decides, which is looked up in /proc. Must be called before
 * MPI_Init, which may set some of these variables itself. */
struct world launched_world(void)
{
	struct world first = {-1, -1};
	int pmix_rank = variable("PMIX_RANK"); /* prterun gives nothing else */
	const struct launcher *launcher;
	bool disagree = false;

	for (int i = 0; i < LAUNCHERS; i++) {
		struct world given = world_of(launchers + i);

		if (given.size < 0)
			continue;
		if (first.size < 0)
			first = given;
		disagree |= given.size != first.size || given.rank != first.rank;
	}
	disagree |= first.size >= 0 && pmix_rank >= 0 && pmix_rank != first.rank;
	if (disagree && (launcher = find_launcher()))
		first = world_of(launcher);
	if (first.size < 0)
		first.rank = pmix_rank;
	return first;
}
