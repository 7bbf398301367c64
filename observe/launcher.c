/*
 * launcher.c - what the launcher tells this process in environment variables: rank and size
 *
 * On the clock: all of it.
 */
#include "observe.h"

#include <limits.h>

/* The launchers that give a rank and a size, the daemons that start their ranks, each between two
 * blanks, and the variable with the number of nodes, if there is one. If no daemon can be seen, the
 * first launcher in this order wins. */
static const struct launcher {
	const char *size, *rank, *daemons, *nodes;
} launchers[] = {
	{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", MPIRUN, NULL},
	/* Hydra, PALS, Slurm with PMI-1 or PMI-2 */
	{"PMI_SIZE", "PMI_RANK", " hydra_pmi_proxy ", NULL},
	{"FLUX_JOB_SIZE", "FLUX_TASK_RANK", " flux-shell ", "FLUX_JOB_NNODES"},
	{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", " slurmstepd ", "SLURM_STEP_NUM_NODES"},
};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

static const struct launcher *chosen; /* by launched_world(); NULL if none gives a size */

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

/* Returns the launcher whose daemon started this process, or OTHERWISE if no daemon can be seen. */
static const struct launcher *find_launcher(const struct launcher *otherwise)
{
	const char *daemon = nearest_daemon();

	for (int i = 0; i < LAUNCHERS; i++)
		if (is_among(daemon, launchers[i].daemons))
			return launchers + i;
	return otherwise;
}

/* Returns this process's rank and the number of processes, as its launcher gives them in
 * environment variables; each is -1 if it does not. Several launchers may have set theirs: mpirun
 * runs its daemons as tasks of Slurm, and a shell within a launch passes its own rank on. If they
 * disagree, the nearest daemon decides, which is looked up in /proc. Must be called before
 * MPI_Init, which may set some of these variables itself. */
struct world launched_world(void)
{
	struct world launched = {-1, -1};
	int pmix_rank = variable("PMIX_RANK"); /* prterun gives nothing else */
	bool disagree = false;

	chosen = NULL;
	for (int i = 0; i < LAUNCHERS; i++) {
		struct world given = world_of(launchers + i);

		if (given.size < 0)
			continue;
		if (!chosen)
			launched = given;
		if (given.size != launched.size || given.rank != launched.rank)
			disagree = true;
		else if (!chosen || launchers[i].nodes)
			chosen = launchers + i;
	}
	if (chosen && pmix_rank >= 0 && pmix_rank != launched.rank)
		disagree = true;
	if (disagree) {
		chosen = find_launcher(chosen);
		launched = world_of(chosen);
	}
	if (launched.size < 0) {
		launched.rank = pmix_rank;
		chosen = NULL;
	}
	return launched;
}

/* Returns on how many nodes the ranks of the launcher that launched_world() has chosen run: the
 * number, if the launcher sets a variable, or what else stands for it (enum nodes). Slurm with
 * PMI-2 sets the variables of two launchers, and that of the nodes. */
int launched_nodes(void)
{
	int nodes;

	if (chosen && chosen->nodes) {
		nodes = variable(chosen->nodes);
		return nodes > 0 ? nodes : NOT_TOLD;
	}
	if (chosen && strstr(chosen->daemons, "hydra"))
		return getenv("PMI_FD") || getenv("PMI_PORT") ? ON_THE_WIRE : NOBODY_TOLD;
	/* Of launchers that give nothing but PMIX_RANK, only prterun has been tried. */
	if (chosen || is_among(nearest_daemon(), MPIRUN))
		return IN_PMIX;
	return NOBODY_TOLD;
}
