/* Rank 0's analysis and the file of ranks, for RANKS simulated ranks of 4 processes a node.
 * Prints the seconds and bytes a rank of the analysis, and the seconds and the largest
 * resident growth in bytes of writing the file.
 *
 *	analysis RANKS
 */
#define main ziaprobe_main
#include "../../ziaprobe.c"
#undef main

#include <sys/resource.h>

static double seconds(void)
{
	return (double)now() / 1e9;
}

static double peak(void) /* bytes, the most that were resident so far */
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss * 1024;
}

int main(int argc, char **argv)
{
	int n = 4, size = (argc > 1 ? atoi(argv[1]) : 0) / n * n, pair[2];
	struct run run = {.start = 1000000000, .size = size, .n = n};
	double before = peak(), begun, analysed, resident;
	struct summary columns[COLUMNS];
	size_t length = 0;
	unsigned seed = 1;

	if (size == 0)
		return 2;
	run.records = memory(NULL, size, sizeof *run.records);
	run.repeats = memory(NULL, size, sizeof *run.repeats);
	run.clocks = memory(NULL, size / n, sizeof *run.clocks);
	run.hosts = memory(NULL, size / n, sizeof "nid0000000");
	for (int i = 0; i < size; i++) {
		int64_t noise = seed = seed * 1664525 + 1013904223;
		int64_t more = seed = seed * 1664525 + 1013904223;
		uint64_t node = (uint64_t)(i / n) * 0x9e3779b97f4a7c15; /* in no order */

		run.records[i] = (struct record){2000000000 + noise, 8000000000 + more,
						 13000000000 + noise, node, run.start};
		run.repeats[i] = noise / 1000;
		if (i % n == 0) {
			run.clocks[i / n] = (struct clock){noise / 1000000, 1};
			length += (size_t)sprintf(run.hosts + length, "nid%07d", i / n) + 1;
		}
	}
	begun = seconds();
	run.slowest = latest_reply(&run);
	run.time = run.records[run.slowest].replied - run.start;
	if (other_start(&run) >= 0 || too_early(&run) >= 0 || misplaced(&run, pair))
		return 1;
	for (enum column column = LAUNCH; column < COLUMNS; column++)
		columns[column] = summarise(&run, column);
	outstanding(&run, columns, pair, &columns[0].min);
	furthest_clock(&run, 0);
	analysed = seconds();
	resident = peak();
	if (write_ranks(&run, "/dev/null"))
		return 1;
	printf("%.4f %.1f %.4f %.0f\n", analysed - begun, (resident - before) / size,
	       seconds() - analysed, peak() - resident);
	return 0;
}
