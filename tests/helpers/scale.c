/*
 * scale.c - makes up a launch of any size, and reports it with the code of explain/
 *
 *	scale NODES N SECONDS PREFIX FIRST LAST STEP [BEHIND]
 *
 * The launch takes about SECONDS, and does nothing wrong, except that the processes of the nodes
 * FIRST, FIRST + STEP and so on up to LAST are late by a quarter of that time in MPI_Init. Nodes are
 * counted from 0. The name of node 12 is PREFIX00012. ziatest ran on node 0. The clock of node 2 is
 * BEHIND seconds behind that of node 0, and those of the others differ from it by less than 0.4 ms.
 * Prints the report of -vv, with warnings, to stderr, and writes the files "csv" and "ranks".
 */
#include "../../explain/record.h"

static void *allocate(int elements, size_t size)
{
	void *block = calloc((size_t)elements, size);

	if (!block)
		abort();
	return block;
}

/* Returns PERCENT of the time, which takes US, give or take a tenth of that. */
static int64_t part(int64_t us, int percent)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223;
	return us * percent / 100 * (900 + state / 65536 % 201) / 1000;
}

/* Stamps the marks of RECORD, whose clock is AHEAD. */
static void stamp(struct record *record, int64_t start, int64_t us, bool is_late, int64_t ahead)
{
	int64_t at = start, *stamps = record->at, cpu = 0, cpu_wait = 0;
	int64_t left = start + us * 95 / 100; /* all wait for the late ranks until then */

	for (int m = START; m < MARKS; m++)
		stamps[m] = UNKNOWN;
	stamps[PARENT_CREATED] = at += part(us, 3);
	stamps[CREATED] = at += part(us, 2);
	stamps[LIBRARIES_LOADED] = at += part(us, 35);
	stamps[MAIN_ENTERED] = at += part(us, 10);
	stamps[FENCE_ENTERED] = at + part(us, 13) + (is_late ? us / 4 : 0);
	stamps[FENCE_LEFT] = at = left;
	stamps[fence_mark(FENCE_ENTERED, 1)] = at + part(us, 1);
	stamps[fence_mark(FENCE_LEFT, 1)] = at += us * 2 / 100;
	stamps[INIT_RETURNED] = at += part(us, 1);
	if (record->partner >= 0)
		stamps[REPLY_RECEIVED] = at + part(us, 1);
	for (int m = PARENT_CREATED; m < MARKS; m++)
		if (stamps[m] != UNKNOWN)
			stamps[m] += ahead;
	stamps[START] = start;
	record->existed = stamps[MAIN_ENTERED];
	record->one_thread = true;
	for (int i = 0; i < READINGS; i++) {
		cpu += part(us, 5);
		cpu_wait += part(us, 1);
		record->readings[i] = (struct reading){cpu, cpu_wait, 200 * i};
	}
}

/* Returns how far the clock of NODE is ahead of that of node 0. */
static int64_t find_ahead(int node, int64_t behind)
{
	return node == 2 ? -behind : node * 7 % 400;
}

int main(int argc, char **argv)
{
	struct run run = {.start = 1000000000, .launch_node_named = true, .new_array = allocate};
	int64_t us, behind;
	int nodes, status;

	if (argc < 8)
		return 2;
	nodes = atoi(argv[1]);
	us = (int64_t)(atof(argv[3]) * 1e6);
	behind = (int64_t)((argc > 8 ? atof(argv[8]) : 0) * 1e6);
	run.n = atoi(argv[2]);
	run.size = nodes * run.n;
	run.launch_clock_error = 412;
	run.program = "solver";
	run.program_bytes = 104913536;
	run.mpi = "Open MPI v5.0.3, package: Open MPI";
	run.fence_interface = "PMIx";
	run.verbose = 2;
	run.csv = "csv";
	run.ranks = "ranks";
	run.records = allocate(run.size, sizeof *run.records);
	for (int rank = 0; rank < run.size; rank++) {
		struct record *record = run.records + rank;
		int node = rank / run.n, since = node - atoi(argv[5]);
		int64_t ahead = find_ahead(node, behind);
		bool is_late = since >= 0 && node <= atoi(argv[6]) && since % atoi(argv[7]) == 0;

		record->node = (uint64_t)node;
		record->cpus = (uint64_t)rank;
		record->cpu_count = 1;
		record->on_launch_node = node == 0;
		record->partner = node % 2 ? -1 : (rank + run.n) % run.size;
		record->clock.value = ahead - find_ahead(node & (node - 1), behind);
		record->clock.bound = 36;
		snprintf(record->host, sizeof record->host, "%s%05d", argv[4], node);
		strcpy(record->parent, "slurmstepd");
		stamp(record, run.start, us, is_late, ahead);
		if (record->at[REPLY_RECEIVED] > run.start + run.time) {
			run.time = record->at[REPLY_RECEIVED] - run.start;
			run.slowest = rank;
		}
	}
	status = check_run(&run) ? explain_run(&run) : 1;
	free(run.records);
	return status;
}
