/* Measures rank 0's analysis for RANKS simulated ranks, 4 per node, with two fences. Prints the
 * seconds that the analysis with all reports takes, and its bytes per rank; then the seconds that
 * writing the --ranks file takes, and by how many bytes that raises the peak resident memory.
 *
 *	analysis RANKS
 */
#include "../../explain/analysis.h"

#include <sys/resource.h>
#include <time.h>

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Returns the peak resident memory so far, in bytes. */
static double peak(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss * 1024;
}

static void *allocate(int count, size_t size)
{
	void *block = calloc((size_t)count, size);

	if (!block)
		abort();
	return block;
}

/* Returns a pseudo-random number from 0 to LESS - 1. */
static int64_t draw(int64_t less)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223;
	return (int64_t)(state >> 4) % less;
}

int main(int argc, char **argv)
{
	int n = 4, size = (argc > 1 ? atoi(argv[1]) : 0) / n * n;
	double before = peak(), begun, analysed, resident;
	struct run run = {.start = 1000000, .size = size, .n = n, .new_array = allocate};
	struct outlier outlier;
	struct path path;

	if (size == 0)
		return 2;
	run.program = run.mpi = run.fence_interface = "";
	run.verbose = 2;
	run.csv = "/dev/null";
	run.records = allocate(size, sizeof *run.records);
	for (int rank = 0; rank < size; rank++) {
		struct record *record = run.records + rank;
		int64_t at = run.start, *stamp = record->at;

		for (int m = START; m < MARKS; m++) {
			stamp[m] = UNKNOWN;
			if (m >= FENCE_ENTERED + 4 && m < INIT_RETURNED)
				continue;
			if (m == REPLY_RECEIVED && rank / n % 2)
				continue;
			stamp[m] = at;
			at += 1 + draw(1000000);
		}
		record->partner = rank / n % 2 ? -1 : (rank + n) % size;
		if (stamp[REPLY_RECEIVED] > run.start + run.time) {
			run.time = stamp[REPLY_RECEIVED] - run.start;
			run.slowest = rank;
		}
		record->existed = stamp[MAIN_ENTERED];
		/* Nodes in no particular order */
		record->node = (uint64_t)(rank / n + 1) * 0x9e3779b97f4a7c15;
		record->clock = (struct estimate){rank / n ? draw(1000) : 0, 1};
		for (int i = 0; i <= INIT_RETURNED - MAIN_ENTERED; i++)
			record->readings[i].cpu = record->readings[i].cpu_wait =
				10000 * i + draw(10000);
		snprintf(record->host, sizeof record->host, "nid%07d", rank / n);
		snprintf(record->parent, sizeof record->parent, "slurmstepd");
	}
	if (!freopen("/dev/null", "w", stderr))
		return 1;
	begun = seconds();
	if (!check_run(&run))
		return 1;
	find_path(&run, &path);
	outlier = find_outlier(&run, &path);
	print_warnings(&run);
	print_report(&run, &path, &outlier);
	if (append_row(&run, &path, &outlier) != 0)
		return 1;
	analysed = seconds();
	resident = peak();
	run.ranks = "/dev/null";
	if (write_ranks(&run) != 0)
		return 1;
	printf("%.4f %.1f %.4f %.0f\n", analysed - begun, (resident - before) / size,
	       seconds() - analysed, peak() - resident);
	return 0;
}
