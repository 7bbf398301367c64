/*
 * alone.c - whether each process is alone in its MPI_COMM_WORLD because MPI and the launcher do not
 * match
 *
 * On the clock: all of it, if MPI_COMM_WORLD has one process.
 */
#include "observe.h"

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

/* Called if MPI_COMM_WORLD has one process, and the launcher has described the world LAUNCHED.
 * Returns whether that is right. If not, prints an error: once per job; in every process if the
 * launcher gave a size but no rank; once per node if its variables are missing. Sets *PRINTS to
 * whether this process printed it. BOOT is the stamp at which this node booted. */
bool check_single(struct world launched, int64_t boot, bool *prints)
{
	int64_t start = this_rank.at[START];

	if (launched.size > 1) {
		*prints = launched.rank <= 0;
		if (*prints)
			print_error("the launcher started %d processes, but each is alone in its "
				    "MPI_COMM_WORLD: the launcher and the MPI library do not "
				    "match; use the mpirun of this MPI library, or another srun "
				    "--mpi=TYPE (see srun --mpi=list)\n",
				    launched.size);
		return false;
	}
	if (launched.size > 0 || start <= 0 || !is_environment_clean() ||
	    !was_created_by_daemon(start, boot))
		return true;
	/* No process knows of the others, so one per node prints. A claim lasts only as long as the
	 * process that holds it, so that process waits. */
	close_claim(); /* that of --where */
	*prints = claim("clean", 0, 0);
	if (*prints) {
		print_error("rank and size are not known to MPI: the launcher's variables did not "
			    "arrive (a container with --cleanenv, or env -i, removes them); let "
			    "them pass\n");
		sleep_second();
	}
	return false;
}
