/*
 * match.c - whether MPI_COMM_WORLD consists of the processes that the launcher has started. If MPI
 * and the launcher do not match, each process is alone in its own MPI_COMM_WORLD. If a process of
 * the launch has started another launch, MPI_COMM_WORLD may be that of the other launch.
 *
 * On the clock: matches_launcher(), and the other functions only if MPI_COMM_WORLD has one process.
 */
#include "observe.h"

/* Returns whether ENTRY, "VARIABLE=VALUE", sets the variable NAME. */
static bool is_entry_of(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* Returns whether ENTRY, "VARIABLE=VALUE", sets a variable that holds a rank or identifies a
 * launch. */
static bool is_from_launcher(const char *entry)
{
	bool found = is_entry_of(entry, "PMIX_RANK");

	for (int i = 0; i < LAUNCHERS; i++) {
		found |= is_entry_of(entry, launchers[i].rank);
		for (const char *const *name = launchers[i].launch; *name; name++)
			found |= is_entry_of(entry, *name);
	}
	return found;
}

/* Returns whether no such variable was set when this process was started. MPI_Init may have set
 * some since, so getenv() would not do. */
static bool is_environment_clean(void)
{
	FILE *file = fopen("/proc/self/environ", "re");
	bool is_clean = file != NULL;
	char *entry = NULL;
	size_t size = 0;

	while (is_clean && getdelim(&entry, &size, '\0', file) > 0)
		is_clean = !is_from_launcher(entry);
	free(entry);
	if (file)
		fclose(file);
	return is_clean;
}

/* Prints that MPI and the launcher do not match. Without a size, rank 0 cannot know whether there
 * are other ranks, so rank 1 prints. Returns whether this process has printed it. */
static bool report_mismatch(struct world launched)
{
	if (launched.rank > 0 && !(launched.size < 0 && launched.rank == 1))
		return false;
	print_error("the launcher started several processes, but each is alone in its "
		    "MPI_COMM_WORLD: the launcher and the MPI library do not match; use the mpirun "
		    "of this MPI library, or another srun --mpi=TYPE (see srun --mpi=list)\n");
	return true;
}

/* Prints that the launcher's variables are missing. No process knows of the others, so one per node
 * prints. A claim lasts only as long as the process that holds it, so that process waits. Returns
 * whether this process has printed it. */
static bool report_missing_variables(void)
{
	close_claim(); /* that of --where */
	if (!claim("clean", 0, 0))
		return false;
	print_error("rank and size are not known to MPI: the launcher's variables did not arrive "
		    "(a container with --cleanenv, or env -i, removes them); let them through\n");
	sleep_second();
	return true;
}

/* Does the work of matches_launcher() if MPI_COMM_WORLD has one process. */
static bool may_be_alone(struct world launched, int64_t boot, bool *prints)
{
	int64_t start = this_rank.at[START];

	if (launched.size > 1 || launched.rank > 0) {
		*prints = report_mismatch(launched);
		return false;
	}
	if (launched.size < 0 && start > 0 && is_environment_clean() &&
	    was_created_by_daemon(start, boot)) {
		*prints = report_missing_variables();
		return false;
	}
	return true;
}

/* Returns whether MPI_COMM_WORLD can be LAUNCHED, the world that the launcher has described. If
 * not, prints an error: once per job; in every process if the launcher gave a size but no rank;
 * once per node if its variables are missing. Sets *PRINTS to whether this process printed it. BOOT
 * is the stamp at which this node booted. */
bool matches_launcher(struct world launched, int64_t boot, bool *prints)
{
	int size;

	if (world.size == 1)
		return may_be_alone(launched, boot, prints);
	if (launched.size == world.size || is_told(world.size))
		return true;
	size = size_by_daemon();
	if (size < 0)
		return true;
	*prints = world.rank == 0;
	if (*prints)
		print_error("nothing was measured: the launcher started %d process%s, but "
			    "MPI_COMM_WORLD has %d ranks; put ziatest directly before the launcher "
			    "that starts these ranks\n",
			    size, size > 1 ? "es" : "", world.size);
	return false;
}
