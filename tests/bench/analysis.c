/* Rank 0's analysis and the file of ranks, for RANKS simulated ranks of 4 processes a node.
 * Prints the seconds and bytes a rank of the analysis, and the seconds and the largest
 * resident growth in bytes of writing the file.
 *
 *	analysis RANKS
 */
#define main ziaprobe_main
#include "../../ziaprobe.c"
#undef main

#include <stdlib.h>
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
	int n = 4, size = (argc > 1 ? atoi(argv[1]) : 0) / n * n, rank;
	struct run run = {.start = 1000000000, .size = size, .n = n};
	double before = peak(), begun, analysed, resident;
	struct summary columns[COLUMNS];
	unsigned seed = 1;

	if (size == 0)
		return 2;
	run.stamps = memory(size, sizeof *run.stamps);
	run.facts = memory(size, sizeof *run.facts);
	for (int i = 0; i < size; i++) {
		int64_t noise = seed = seed * 1664525 + 1013904223;
		int64_t more = seed = seed * 1664525 + 1013904223;
		uint64_t node = (uint64_t)(i / n + 1) * 0x9e3779b97f4a7c15; /* in no order */

		run.stamps[i] = (struct stamps){run.start, 2000000000 + noise, 8000000000 + more,
						13000000000 + noise};
		run.facts[i] = (struct facts){{0, 1}, noise / 10, noise / 1000, node, node, 0, ""};
		snprintf(run.facts[i].host, sizeof run.facts[i].host, "nid%07d", i / n);
		if (i % n == 0)
			run.facts[i].clock.offset = noise / 1000000;
	}
	begun = seconds();
	find_result(&run);
	settle_clocks(&run);
	if (doubtful(&run) >= 0 || check_places(&run) != 0)
		return 1;
	for (enum column column = LAUNCH; column < COLUMNS; column++)
		columns[column] = summarise(&run, column);
	outstanding(&run, columns, &rank, &columns[0].min);
	analysed = seconds();
	resident = peak();
	if (write_ranks(&run, "/dev/null"))
		return 1;
	printf("%.4f %.1f %.4f %.0f\n", analysed - begun, (resident - before) / size,
	       seconds() - analysed, peak() - resident);
	return 0;
}
