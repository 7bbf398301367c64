/*
 * launcher.c - what the launcher tells this process in environment variables, and whether the MPI
 * library agrees
 *
 * On the clock: launched_world(); and check_single(), if MPI_COMM_WORLD has one process.
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
	if (disagree && (launcher = find_launcher()))
		first = world_of(launcher);
	if (first.size < 0)
		first.rank = variable("PMIX_RANK"); /* prterun gives nothing else */
	return first;
}

/* Returns whether the environment with which this process was started has no variable that any
 * launcher sets for its ranks. MPI_Init may have set some since. */
static bool is_environment_clean(void)
{
	FILE *file = fopen("/proc/self/environ", "re");
	bool is_clean = file != NULL;
	char *entry = NULL;
	size_t size = 0;
	static const char *const prefixes[] = {
		"OMPI_COMM_WORLD_", "PMI_", "PMIX_RANK=", "PMIX_NAMESPACE=", "FLUX_", "SLURM_"};

	while (is_clean && getdelim(&entry, &size, '\0', file) > 0)
		for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
			if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
				is_clean = false;
	free(entry);
	if (file)
		fclose(file);
	return is_clean;
}

/* Ends ziaprobe with STATUS. */
static void leave(int status)
{
	PMPI_Finalize();
	stop_if_timed_out();
	exit(status);
}

/* Prints, once per job or, if ranks are unknown, in every process, that MPI and the launcher do not
 * match. LAUNCHED is the world that the launcher has described. The ranks that do not print wait,
 * because some launchers end the job as soon as one process has ended. */
static void report_mismatch(struct world launched)
{
	bool prints = launched.rank <= 0;

	if (prints)
		print_error("the launcher started %d processes, but each is alone in its "
			    "MPI_COMM_WORLD: the launcher and the MPI library do not match; use "
			    "the mpirun of this MPI library, or another srun --mpi=TYPE (see srun "
			    "--mpi=list)\n",
			    launched.size);
	if (is_guest)
		return;
	if (!prints)
		sleep_second();
	leave(prints ? 1 : 0);
}

/* Prints, once per node, that the launcher's variables are missing: no process knows of the others.
 * The claim lasts only as long as its holder, so the holder waits, and so do the others, unless
 * they are guests, as above. */
static void report_clean_environment(void)
{
	bool prints;

	close_claim(); /* that of --where */
	prints = claim("clean", 0, 0);
	if (prints)
		print_error("rank and size are not known to MPI: the launcher's variables did not "
			    "arrive (a container with --cleanenv, or env -i, removes them); let "
			    "them pass\n");
	if (prints || !is_guest)
		sleep_second();
	if (!is_guest)
		leave(prints ? 1 : 0);
}

/* Called if MPI_COMM_WORLD has one process, and the launcher has described the world LAUNCHED.
 * Returns whether one process is right. If not, reports it, and ends ziaprobe; a program goes on.
 * BOOT is the stamp at which this node booted. */
bool check_single(struct world launched, int64_t boot)
{
	int64_t start = this_rank.at[START];

	if (launched.size > 1)
		report_mismatch(launched);
	else if (launched.size < 0 && start > 0 && is_environment_clean() &&
		 was_created_by_daemon(start, boot))
		report_clean_environment();
	else
		return true;
	return false;
}
