/*
 * launchers.c - the launchers that Ziatest knows, and their only list in the code
 *
 * On the clock: looking up names, when other files ask for it.
 */
#include "observe.h"

/* mpirun is also listed as a daemon, because it creates the ranks on its own node itself. HYDRA
 * also stands for launchers that set the same variables: PALS, and Slurm with PMI-1 or PMI-2. PALS
 * and JSM were not tried, and their daemons are not known. */
/* clang-format off */
const struct launcher launchers[LAUNCHERS] = {
	[MPIRUN] = {
		.commands = {"mpirun", "mpiexec", "orterun", "prterun", "prun"},
		.daemons = {"mpirun", "mpiexec", "orterun", "prterun", "orted", "prted"},
		.daemons_wait = true,
		.rank = "OMPI_COMM_WORLD_RANK",
		.size = "OMPI_COMM_WORLD_SIZE",
		.local_rank = {"OMPI_COMM_WORLD_LOCAL_RANK"},
		.launch = {"PMIX_NAMESPACE"},
		.nodes_otherwise = IN_PMIX,
	},
	[HYDRA] = {
		.commands = {"mpiexec", "aprun"},
		.daemons = {"hydra_pmi_proxy"},
		.daemons_wait_if = "I_MPI_HYDRA_UUID", /* Intel MPI's wait; MPICH's do not. */
		.rank = "PMI_RANK",
		.size = "PMI_SIZE",
		.local_rank = {"MPI_LOCALRANKID", "PALS_LOCAL_RANKID"},
		.launch = {"PALS_APID"},
		.nodes_otherwise = ON_THE_WIRE,
	},
	[FLUX] = {
		.commands = {"flux"},
		.daemons = {"flux-shell"},
		.rank = "FLUX_TASK_RANK",
		.size = "FLUX_JOB_SIZE",
		.local_rank = {"FLUX_TASK_LOCAL_ID"},
		.launch = {"FLUX_JOB_ID"},
		.nodes = "FLUX_JOB_NNODES",
		.nodes_otherwise = NOT_TOLD,
	},
	[JSM] = {
		.commands = {"jsrun"},
		.rank = "JSM_NAMESPACE_RANK",
		.size = "JSM_NAMESPACE_SIZE",
		.local_rank = {"JSM_NAMESPACE_LOCAL_RANK"},
		.nodes_otherwise = NOBODY_TOLD,
	},
	[SLURM] = {
		.commands = {"srun", "salloc", "sbatch"},
		.daemons = {"slurmstepd"},
		.daemons_are_new = true,
		.rank = "SLURM_PROCID",
		.size = "SLURM_STEP_NUM_TASKS",
		.local_rank = {"SLURM_LOCALID"},
		.launch = {"SLURM_JOB_ID", "SLURM_STEP_ID"},
		.nodes = "SLURM_STEP_NUM_NODES",
		.nodes_otherwise = NOT_TOLD,
	},
};
/* clang-format on */

/* Returns whether NAME, up to its first dot, is in NAMES, which ends with a NULL. Debian, for
 * example, installs mpirun as mpirun.openmpi. */
static bool is_in(const char *name, const char *const *names)
{
	size_t length = strcspn(name, ".");

	for (; *names; names++)
		if (strlen(*names) == length && strncmp(name, *names, length) == 0)
			return true;
	return false;
}

/* Returns the first launcher that has the command NAME, or NULL. */
const struct launcher *launcher_of_command(const char *name)
{
	for (int i = 0; i < LAUNCHERS; i++)
		if (is_in(name, launchers[i].commands))
			return launchers + i;
	return NULL;
}

/* Returns the launcher that has the daemon NAME, or NULL. */
const struct launcher *launcher_of_daemon(const char *name)
{
	for (int i = 0; i < LAUNCHERS; i++)
		if (is_in(name, launchers[i].daemons))
			return launchers + i;
	return NULL;
}
