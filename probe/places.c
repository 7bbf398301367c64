/*
 * places.c - which node this is, and whether each block has a node of its own (off the clock)
 *
 * The kernel's boot id tells nodes apart, whatever containers call themselves. Where one of two
 * boot ids is unknown the processor names decide. An unknown name agrees with no other.
 */
#include "run.h"

#include <sys/timex.h>
#include <sys/utsname.h>

/* 64-bit FNV-1a; 0 for an empty TEXT. */
static uint64_t hash(const char *text)
{
	uint64_t hash = *text ? 0xcbf29ce484222325 : 0;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return hash;
}

/* Fills in which node this is, whether it is the one that ziatest was on, and whether its kernel
 * vouches for its clock. */
void identify(struct facts *facts)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	const char *start_node = getenv("ZIATEST_NODE");
	char boot[64] = "", processor[MPI_MAX_PROCESSOR_NAME] = "";
	struct timex clock = {.modes = 0};
	struct utsname host;
	int length;

	if (file && fgets(boot, sizeof boot, file))
		boot[strcspn(boot, "\n")] = '\0';
	if (file)
		fclose(file);
	uname(&host);
	MPI_Get_processor_name(processor, &length);
	facts->kernel = hash(boot);
	facts->name = hash(processor);
	facts->synchronised = ntp_adjtime(&clock) != -1 && clock.maxerror < 16000000; /* us */
	facts->on_start_node = start_node && strcmp(start_node, *boot ? boot : host.nodename) == 0;
	snprintf(facts->host, sizeof facts->host, "%.60s", processor);
}

/* For qsort: pointers into the facts, so that those of one kernel, or one name, come together. */
static int compare_kernels(const void *a, const void *b)
{
	const struct facts *const *p = a, *const *q = b;

	if ((*p)->kernel != (*q)->kernel)
		return (*p)->kernel > (*q)->kernel ? 1 : -1;
	return (*p > *q) - (*p < *q);
}

static int compare_names(const void *a, const void *b)
{
	const struct facts *const *p = a, *const *q = b;

	if ((*p)->name != (*q)->name)
		return (*p)->name > (*q)->name ? 1 : -1;
	return compare_kernels(a, b);
}

/* Whether A and B are on one kernel, or with BY_NAME of one name and not on two known kernels. A is
 * before B in the order: an unknown kernel comes first. */
static int together(const struct facts *a, const struct facts *b, int by_name)
{
	if (!by_name)
		return a->kernel && a->kernel == b->kernel;
	return a->name && a->name == b->name && (!a->kernel || a->kernel == b->kernel);
}

/* Looks for two blocks together. PAIR is then their first ranks, of several pairs those of the one
 * whose later block comes first. */
static int shared_node(const struct run *run, int by_name, int pair[2])
{
	int blocks = run->size / run->n;
	const struct facts **places = allocate(blocks, sizeof *places);

	for (int i = 0; i < blocks; i++)
		places[i] = run->facts + i * run->n;
	qsort(places, (size_t)blocks, sizeof *places, by_name ? compare_names : compare_kernels);
	pair[1] = run->size;
	for (int i = 1; i < blocks; i++) {
		int a = (int)(places[i - 1] - run->facts), b = (int)(places[i] - run->facts);

		if (together(places[i - 1], places[i], by_name) && a < pair[1] && b < pair[1]) {
			pair[0] = a < b ? a : b;
			pair[1] = a < b ? b : a;
		}
	}
	free(places);
	return pair[1] < run->size;
}

/* Looks for a block on several nodes. PAIR is then the first two of its ranks that are apart. */
static int split_block(const struct run *run, int pair[2])
{
	for (int rank = 0; rank < run->size; rank++) {
		const struct facts *a = run->facts + rank / run->n * run->n, *b = run->facts + rank;
		int one = a->name && a->name == b->name;

		if (a->kernel && b->kernel)
			one = a->kernel == b->kernel;
		pair[0] = rank / run->n * run->n;
		pair[1] = rank;
		if (!one && a != b)
			return 1;
	}
	return 0;
}

/* Says so if a block is not on a node of its own, or nothing may have crossed the interconnect.
 * Returns the exit status. */
int check_places(const struct run *run)
{
	int pair[2];
	int apart = split_block(run, pair);

	if (apart || shared_node(run, 1, pair)) {
		say("error",
		    "ranks %d and %d must be on %s but are on %s and %s; start nodes times N "
		    "ranks, N = %d on each node, node after node, with srun --distribution=block "
		    "or mpirun --map-by ppr:%d:node",
		    pair[0], pair[1], apart ? "one node" : "different nodes",
		    run->facts[pair[0]].host, run->facts[pair[1]].host, run->n, run->n);
		return 1;
	}
	if (run->size == run->n)
		say("warning",
		    "one node only, nothing crossed the interconnect; if there should be more, "
		    "check the allocation, the hostfile and the number of processes");
	else if (shared_node(run, 0, pair))
		say("warning",
		    "ranks %d and %d are on one kernel, as %s and %s: nothing may have crossed the "
		    "interconnect; give each node one container",
		    pair[0], pair[1], run->facts[pair[0]].host, run->facts[pair[1]].host);
	return 0;
}
