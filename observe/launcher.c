/*
 * launcher.c - what the launcher tells this process in environment variables, and whether the MPI
 * library agrees
 *
 * On the clock: launched_world() and is_environment_clean(). Everything else is called only if the
 * run is wrong.
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
		struct world world = world_of(launchers + i);

		if (world.size < 0)
			continue;
		if (first.size < 0)
			first = world;
		disagree |= world.size != first.size || world.rank != first.rank;
	}
	if (disagree && (launcher = find_launcher()))
		first = world_of(launcher);
	if (first.size < 0)
		first.rank = variable("PMIX_RANK"); /* prterun gives nothing else */
	return first;
}

extern char **environ;

/* Returns whether the environment has no variable that any launcher sets for its ranks. */
bool is_environment_clean(void)
{
	static const char *const prefixes[] = {
		"OMPI_COMM_WORLD_", "PMI_", "PMIX_RANK=", "PMIX_NAMESPACE=", "FLUX_", "SLURM_"};

	for (char **entry = environ; entry && *entry; entry++)
		for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
			if (strncmp(*entry, prefixes[i], strlen(prefixes[i])) == 0)
				return false;
	return true;
}

/* Ends ziaprobe, with status 1 if this process PRINTS the error, and otherwise with 0. If WAITS is
 * set, waits a second before, because some launchers end the job as soon as one process has
 * ended. Returns in a program, which goes on. */
static void leave(bool prints, bool waits)
{
	if (waits)
		sleep_second();
	if (is_guest)
		return;
	PMPI_Finalize();
	stop_if_timed_out();
	exit(prints ? 1 : 0);
}

/* Called if MPI_COMM_WORLD has one process, although the launcher has given LAUNCHED, a larger
 * world. Prints, once per job, that MPI and the launcher do not match. */
void report_mismatch(struct world launched)
{
	bool prints = launched.rank <= 0;

	if (prints)
		print_error("the launcher started %d processes, but each is alone in its "
			    "MPI_COMM_WORLD: the launcher and the MPI library do not match; use "
			    "the mpirun of this MPI library, or another srun --mpi=TYPE (see srun "
			    "--mpi=list)\n",
			    launched.size);
	leave(prints, !prints && !is_guest);
}

/* Called if MPI_COMM_WORLD has one process, a launcher's daemon has started it, and the launcher's
 * variables are missing. Prints that, once per node, because no process knows of the others. They
 * see that one has printed as long as it exists, so it waits. */
void report_clean_environment(void)
{
	bool prints = claim("clean", 0, 0);

	if (prints)
		print_error("rank and size are not known to MPI: the launcher's variables did not "
			    "arrive (a container with --cleanenv, or env -i, removes them); let "
			    "them pass\n");
	leave(prints, prints || !is_guest);
	close_claim();
}
