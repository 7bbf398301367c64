/*
 * launcher.c - what the launcher tells this process in environment variables: rank, size and nodes
 *
 * On the clock: all of it.
 */
#include "observe.h"

#include <limits.h>

/* The launchers that give a rank and a size, the daemons that start their ranks, each between two
 * blanks, and the variable with the number of nodes, if there is one. If no daemon can be seen, the
 * first launcher in this order wins. */
enum { OPEN_MPI, PMI, FLUX, SLURM, LAUNCHERS };
static const struct launcher {
	const char *size, *rank, *daemons, *nodes;
} launchers[] = {
	[OPEN_MPI] = {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", MPIRUN, NULL},
	/* Hydra, PALS, Slurm with PMI-1 or PMI-2 */
	[PMI] = {"PMI_SIZE", "PMI_RANK", " hydra_pmi_proxy ", NULL},
	[FLUX] = {"FLUX_JOB_SIZE", "FLUX_TASK_RANK", " flux-shell ", "FLUX_JOB_NNODES"},
	[SLURM] = {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", " slurmstepd ", "SLURM_STEP_NUM_NODES"},
};

/* The variables in which launchers identify a launch. MPICH's hydra has none. */
const char *const launch_identifiers[] = {"SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE",
					  "FLUX_JOB_ID",  "PALS_APID",     NULL};

/* How many launchers gave a size, according to launched_world(), and the first of them, or NULL */
static int launcher_count;
static const struct launcher *first_launcher;

struct world world = {-1, -1};

/* Writes "NAME=VALUE;" of the variable NAME into TEXT, or "" if it is not set. */
void describe_variable(const char *name, char *text, size_t size)
{
	const char *value = getenv(name);

	*text = '\0';
	if (value)
		snprintf(text, size, "%s=%s;", name, value);
}

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

	launcher_count = 0;
	first_launcher = NULL;
	for (int i = 0; i < LAUNCHERS; i++) {
		struct world given = world_of(launchers + i);

		if (given.size < 0)
			continue;
		if (launcher_count++ == 0) {
			first_launcher = launchers + i;
			launched = given;
		}
		disagree |= given.size != launched.size || given.rank != launched.rank;
	}
	disagree |= first_launcher && pmix_rank >= 0 && pmix_rank != launched.rank;
	if (disagree)
		launched = world_of(find_launcher(first_launcher));
	if (launched.size < 0)
		launched.rank = pmix_rank;
	return launched;
}

/* Returns whether a launcher has told this process that the launch has SIZE processes. */
bool is_told(int size)
{
	for (int i = 0; i < LAUNCHERS; i++)
		if (world_of(launchers + i).size == size)
			return true;
	return false;
}

/* Returns whether PMIx serves this process for a launcher other than Slurm, such as prterun. */
static bool has_other_pmix(void)
{
	const char *nspace = getenv("PMIX_NAMESPACE");

	return nspace && strncmp(nspace, "slurm.", strlen("slurm.")) != 0;
}

/* Returns the size that the launcher whose daemon started this process gives, or -1 if no daemon
 * can be seen, or if PMIx serves this process for another launcher, whose daemon is not known. The
 * variables of any other launcher, such as Slurm's in an interactive step, are ignored, even if
 * there are no others. */
int size_by_daemon(void)
{
	const struct launcher *launcher = find_launcher(NULL);

	if (!launcher || (launcher == launchers + SLURM && has_other_pmix()))
		return -1;
	return world_of(launcher).size;
}

/* Returns on how many nodes the launcher's ranks run: the number, if it sets a variable, or what
 * else stands for it (enum nodes). If launched_world() has seen the variables of several launchers,
 * the nearest daemon decides, even if they agree: those of a daemon may agree with some of its
 * ranks by chance, and all ranks must choose alike. */
int launched_nodes(void)
{
	const struct launcher *launcher = first_launcher;
	int nodes;

	if (launcher_count > 1 || (first_launcher && has_other_pmix()))
		launcher = find_launcher(first_launcher);
	if (!launcher) /* Of launchers that give nothing but PMIX_RANK, only prterun was tried. */
		return is_among(nearest_daemon(), MPIRUN) ? IN_PMIX : NOBODY_TOLD;
	if (launcher == launchers + OPEN_MPI)
		return IN_PMIX;
	if (launcher == launchers + PMI)
		return getenv("PMI_FD") || getenv("PMI_PORT") ? ON_THE_WIRE : NOBODY_TOLD;
	nodes = variable(launcher->nodes);
	return nodes > 0 ? nodes : NOT_TOLD;
}
