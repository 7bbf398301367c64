/*
 * launcher.c - what the launcher says of this process, in its environment
 *
 * Where the launcher started several processes but each is a world of its own, launcher and
 * executable belong to different MPI libraries. Only worlds of one are asked: the variables of
 * an outer job linger, and must not cost a larger world its number.
 *
 * Off the clock, but for launched_rank, a part of arming the timeout.
 */
#include "run.h"

#include <poll.h>

/* How many processes the launcher started, and which this is; srun's last. */
static const char *const names[][2] = {
	{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
	{"PMI_SIZE", "PMI_RANK"},
	{"", "PMIX_RANK"},
	{"", "PMI_ID"},
	{"", "ALPS_APP_PE"},
	{"", "PALS_RANKID"},
	{"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
	{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
};
enum { SIZE, RANK, NAMES = sizeof names / sizeof *names, SRUN = NAMES - 1 };

/* The environment's NAME as a number, -1 if it is none. */
static int variable(const char *name)
{
	const char *text = getenv(name);

	if (!text || !*text || text[strspn(text, "0123456789")] || strlen(text) > 9)
		return -1;
	return (int)strtol(text, NULL, 10);
}

/* This process's rank as the launcher says, -1 if it does not. */
int launched_rank(void)
{
	int rank = -1;

	for (int i = 0; i < NAMES && rank < 0; i++)
		rank = variable(names[i][RANK]);
	return rank;
}

/* How many of names count: not srun's, where they are an outer job's and disagree with PMI's. */
static int trusted_names(void)
{
	int pmix = variable("PMIX_RANK"), pmi = variable("PMI_RANK"),
	    srun = variable("SLURM_PROCID");

	return (pmix < 0 && pmi < 0) || (srun >= 0 && (srun == pmix || srun == pmi)) ? NAMES : SRUN;
}

/* In a world of one: whether the launcher started more, as a size above 1 says, or a rank above 0.
 * A size of 1 acquits, but for srun's, which may be an outer job's. One rank says so. */
int mismatched(void)
{
	int size = -1, rank = -1; /* as one launcher says; MPI itself may set another's */
	char several[16] = "several";

	for (int i = 0; i < trusted_names(); i++) {
		int started = variable(names[i][SIZE]), number = variable(names[i][RANK]);

		if (started == 1 && i != SRUN)
			return 0;
		if (size < 0 && (started > 1 || (rank < 0 && number > 0)))
			rank = number;
		if (size < 0 && started > 1)
			size = started;
	}
	if (size < 0 && rank < 0)
		return 0;
	if (size > 0)
		snprintf(several, sizeof several, "%d", size);
	if (rank < 0)
		rank = launched_rank();
	/* Rank 0 speaks; where no size is known it cannot know, and rank 1 does. */
	if (rank <= (size < 0))
		say("error",
		    "the launcher started %s processes but MPI sees 1: launcher and executable "
		    "belong to different MPI libraries; use the mpirun of the MPI that built "
		    "ziaprobe, or another srun --mpi=TYPE",
		    several);
	else
		poll(NULL, 0, 1000); /* who leaves first may have the launcher end all */
	return 1;
}
