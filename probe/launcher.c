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
enum { SIZE, RANK, NAMES = sizeof names / sizeof *names };

/* The environment's NAME as a number, -1 if it is none. */
static int variable(const char *name)
{
	const char *text = getenv(name);

	if (!text || !*text || text[strspn(text, "0123456789")] || strlen(text) > 9)
		return -1;
	return atoi(text);
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

	return (pmix < 0 && pmi < 0) || srun == pmix || srun == pmi ? NAMES : NAMES - 1;
}

/* What the launcher says that a world of one contradicts: a size above 1, or where no size is known
 * a rank above 0; -1 where it says nothing of the kind. */
static struct claim {
	int size, rank;
} find_claim(void)
{
	for (int i = 0; i < trusted_names(); i++)
		if (variable(names[i][SIZE]) > 1)
			return (struct claim){variable(names[i][SIZE]), variable(names[i][RANK])};
	for (int i = 0; i < trusted_names(); i++)
		if (variable(names[i][RANK]) > 0)
			return (struct claim){-1, variable(names[i][RANK])};
	return (struct claim){-1, -1};
}

/* In a world of one: whether the launcher started more. One rank says so. */
int mismatched(void)
{
	struct claim claim = find_claim();
	int speaker = claim.size < 0; /* 1 where no size is known: rank 0 cannot know */
	char several[16] = "several";

	if (variable("OMPI_COMM_WORLD_SIZE") == 1 || variable("PMI_SIZE") == 1 ||
	    variable("FLUX_JOB_SIZE") == 1)
		return 0;
	if (claim.size < 0 && claim.rank < 0)
		return 0;
	if (claim.size > 0)
		snprintf(several, sizeof several, "%d", claim.size);
	if (claim.rank < 0) /* the size may be another launcher's */
		claim.rank = launched_rank();
	if (claim.rank <= speaker)
		say("error",
		    "the launcher started %s processes but MPI sees 1: launcher and executable "
		    "belong to different MPI libraries; use the mpirun of the MPI that built "
		    "ziaprobe, or another srun --mpi=TYPE",
		    several);
	else
		poll(NULL, 0, 1000); /* who leaves first may have the launcher end all */
	return 1;
}
