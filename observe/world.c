/*
 * world.c - what the launcher tells this process in environment variables: rank, size and nodes
 *
 * On the clock: all of it.
 */
#include "observe.h"

#include <limits.h>

struct world world = {-1, -1};

/* What each launcher's variables held when launched_world() was called: MPI_Init may set some of
 * them itself. */
static struct world told[LAUNCHERS];

/* Returns the number in the variable NAME, or -1. */
static int variable(const char *name)
{
	return (int)to_number(getenv(name), INT_MAX);
}

/* Returns how many launchers have told this process a size. */
static int count_tellers(void)
{
	int count = 0;

	for (int i = 0; i < LAUNCHERS; i++)
		count += told[i].size >= 0;
	return count;
}

/* Returns the first launcher that has told this process a size, or NULL. */
static const struct launcher *first_teller(void)
{
	for (int i = 0; i < LAUNCHERS; i++)
		if (told[i].size >= 0)
			return launchers + i;
	return NULL;
}

/* Returns the launcher whose daemon is the nearest, or OTHERWISE if no daemon can be seen. */
static const struct launcher *nearest_or(const struct launcher *otherwise)
{
	const struct launcher *nearest = nearest_launcher();

	return nearest ? nearest : otherwise;
}

/* Returns this process's rank and the number of processes, as its launcher gives them in
 * environment variables. Each is -1 if the launcher does not give it. Several launchers may have
 * set theirs: mpirun runs its daemons as tasks of Slurm, and a shell within a launch passes its own
 * rank on. If they disagree, the nearest daemon, which is looked up in /proc, decides. Must be
 * called before MPI_Init. */
struct world launched_world(void)
{
	struct world launched = {-1, -1};
	int pmix_rank = variable("PMIX_RANK"); /* prterun gives nothing else */
	const struct launcher *first;
	bool disagree;

	for (int i = 0; i < LAUNCHERS; i++)
		told[i] = (struct world){variable(launchers[i].rank), variable(launchers[i].size)};
	first = first_teller();
	if (first)
		launched = told[first - launchers];
	disagree = first && pmix_rank >= 0 && pmix_rank != launched.rank;
	for (int i = 0; i < LAUNCHERS; i++)
		disagree |= told[i].size >= 0 &&
			    (told[i].size != launched.size || told[i].rank != launched.rank);
	if (disagree)
		launched = told[nearest_or(first) - launchers];
	if (launched.size < 0)
		launched.rank = pmix_rank;
	return launched;
}

/* Returns whether a launcher told this process, before MPI_Init, that there are SIZE ranks. */
bool is_told(int size)
{
	for (int i = 0; i < LAUNCHERS; i++)
		if (told[i].size == size)
			return true;
	return false;
}

/* Returns whether PMIx serves this process for a launcher other than Slurm, such as prterun. */
static bool has_other_pmix(void)
{
	const char *nspace = getenv("PMIX_NAMESPACE");

	return nspace && strncmp(nspace, "slurm.", strlen("slurm.")) != 0;
}

/* Returns the size given by the launcher whose daemon started this process. Returns -1 if no daemon
 * can be seen, or if PMIx serves this process for another launcher, whose daemon is not known. The
 * variables of any other launcher, such as Slurm's in an interactive step, are ignored, even if no
 * others are set. */
int size_by_daemon(void)
{
	const struct launcher *launcher = nearest_launcher();

	if (!launcher || (launcher == launchers + SLURM && has_other_pmix()))
		return -1;
	return told[launcher - launchers].size;
}

/* Returns the number of nodes on which the launcher's ranks run, if it sets a variable that holds
 * the number; otherwise, returns a value of enum nodes. Unless launched_world() has seen the
 * variables of exactly one launcher, and PMIx serves no other one, the nearest daemon decides, even
 * if the variables agree: those of a daemon may agree with those of some of its ranks by chance,
 * and all ranks must make the same choice. Of the launchers that give nothing but PMIX_RANK, only
 * prterun has been tried. */
int launched_nodes(void)
{
	const struct launcher *launcher = first_teller();
	int nodes = 0, tellers = count_tellers();

	if (tellers != 1 || has_other_pmix())
		launcher = nearest_or(launcher);
	if (!launcher || (tellers == 0 && launcher->nodes_otherwise != IN_PMIX))
		return NOBODY_TOLD;
	if (launcher->nodes)
		nodes = variable(launcher->nodes);
	return nodes > 0 ? nodes : launcher->nodes_otherwise;
}
