/*
 * world.c - what the launcher tells this process in environment variables: rank, size and nodes
 *
 * On the clock: all of it.
 */
#include "observe.h"

#include <limits.h>

struct world world = {-1, -1};

/* The launchers that gave a size when launched_world() was called: MPI_Init may set some of these
 * variables itself, so launched_nodes() cannot look again. */
static struct {
	int count;
	const struct launcher *first; /* NULL if there was none */
	int size[LAUNCHERS]; /* of each; -1 if it gave none */
} tellers;

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

/* Returns the launcher whose daemon is the nearest, or OTHERWISE if no daemon can be seen. */
static const struct launcher *nearest_or(const struct launcher *otherwise)
{
	const struct launcher *nearest = nearest_launcher();

	return nearest ? nearest : otherwise;
}

/* Returns this process's rank and the number of processes, as its launcher gives them in
 * environment variables; each is -1 if it does not. Several launchers may have set theirs: mpirun
 * runs its daemons as tasks of Slurm, and a shell within a launch passes its own rank on. If they
 * disagree, the nearest daemon decides, which is looked up in /proc. Must be called before
 * MPI_Init. */
struct world launched_world(void)
{
	struct world launched = {-1, -1};
	int pmix_rank = variable("PMIX_RANK"); /* prterun gives nothing else */
	bool disagree = false;

	tellers.count = 0;
	tellers.first = NULL;
	for (int i = 0; i < LAUNCHERS; i++) {
		struct world given = world_of(launchers + i);

		tellers.size[i] = given.size;
		if (given.size < 0)
			continue;
		if (tellers.count++ == 0) {
			tellers.first = launchers + i;
			launched = given;
		}
		disagree |= given.size != launched.size || given.rank != launched.rank;
	}
	disagree |= tellers.first && pmix_rank >= 0 && pmix_rank != launched.rank;
	if (disagree)
		launched = world_of(nearest_or(tellers.first));
	if (launched.size < 0)
		launched.rank = pmix_rank;
	return launched;
}

/* Returns whether a launcher told this process, before MPI_Init, that there are SIZE ranks. */
bool is_told(int size)
{
	for (int i = 0; i < LAUNCHERS; i++)
		if (tellers.size[i] == size)
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
	const struct launcher *launcher = nearest_launcher();

	if (!launcher || (launcher == launchers + SLURM && has_other_pmix()))
		return -1;
	return tellers.size[launcher - launchers];
}

/* Returns on how many nodes the launcher's ranks run: the number, if it sets a variable, or what
 * else stands for it (enum nodes). Unless launched_world() has seen the variables of exactly one
 * launcher, the nearest daemon decides, even if they agree: those of a daemon may agree with some
 * of its ranks by chance, and all ranks must choose alike. Of launchers that give nothing but
 * PMIX_RANK, only prterun was tried. */
int launched_nodes(void)
{
	const struct launcher *launcher = tellers.first;
	int nodes = 0;

	if (tellers.count != 1 || has_other_pmix())
		launcher = nearest_or(tellers.first);
	if (!launcher || (tellers.count == 0 && launcher->nodes_otherwise != IN_PMIX))
		return NOBODY_TOLD;
	if (launcher->nodes)
		nodes = variable(launcher->nodes);
	return nodes > 0 ? nodes : launcher->nodes_otherwise;
}
