/*
 * places.c - which node this is, and whether each block has a node of its own
 *
 * The kernel's boot id tells nodes apart, whatever containers call themselves. Where one of two
 * boot ids is unknown the processor names decide. An unknown one agrees with nothing.
 */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* 64-bit FNV-1a; 0 for an empty TEXT. */
static uint64_t hash(const char *text)
{
	uint64_t hash = *text ? 0xcbf29ce484222325 : 0;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return hash;
}

/* Fills in which node this is, and whether it is the one that ziatest was on. */
void identify(struct facts *facts)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	const char *stamper = getenv("ZIATEST_NODE");
	char boot[64] = "", processor[MPI_MAX_PROCESSOR_NAME] = "";
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
	facts->stamper = stamper && strcmp(stamper, *boot ? boot : host.nodename) == 0;
	snprintf(facts->host, sizeof facts->host, "%.63s", processor);
}

/* Of a block, what brings those on one node together when sorted. */
struct place {
	uint64_t key, other; /* the kernel and the name, or the name and the kernel */
	int first; /* the first rank */
};

static int compare_places(const void *a, const void *b)
{
	const struct place *p = a, *q = b;

	if (p->key != q->key)
		return p->key > q->key ? 1 : -1;
	if (p->other != q->other)
		return p->other > q->other ? 1 : -1;
	return p->first - q->first;
}

/* Looks for two blocks on one kernel, or with BY_NAME of one name and not on two known kernels.
 * PAIR is then the first ranks of the first two. */
static int shared(const struct run *run, int by_name, int pair[2])
{
	int blocks = run->size / run->n;
	struct place *places = memory(blocks, sizeof *places);

	for (int i = 0; i < blocks; i++) {
		const struct facts *facts = run->facts + i * run->n;

		if (by_name)
			places[i] = (struct place){facts->name, facts->kernel, i * run->n};
		else
			places[i] = (struct place){facts->kernel, facts->name, i * run->n};
	}
	qsort(places, (size_t)blocks, sizeof *places, compare_places);
	pair[1] = run->size;
	for (int i = 1; i < blocks; i++) {
		const struct place *a = places + i - 1, *b = places + i;

		if (a->key == 0 || a->key != b->key)
			continue;
		if (by_name && a->other != 0 && a->other != b->other) /* two known ones */
			continue;
		if (a->first < pair[1] && b->first < pair[1]) {
			pair[0] = a->first < b->first ? a->first : b->first;
			pair[1] = a->first < b->first ? b->first : a->first;
		}
	}
	free(places);
	return pair[1] < run->size;
}

/* Looks for a block on several nodes. PAIR is then the first two of its ranks that are apart. */
static int torn(const struct run *run, int pair[2])
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
	int apart = torn(run, pair);

	if (apart || shared(run, 1, pair)) {
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
	else if (shared(run, 0, pair))
		say("warning",
		    "ranks %d and %d are on one kernel, as %s and %s: nothing may have crossed the "
		    "interconnect; give each node one container",
		    pair[0], pair[1], run->facts[pair[0]].host, run->facts[pair[1]].host);
	return 0;
}
