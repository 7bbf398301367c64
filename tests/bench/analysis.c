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
	int n = 4, size = (argc > 1 ? atoi(argv[1]) : 0) / n * n, others;
	struct run run = {.start = 1000000000, .size = size, .n = n};
	double before = peak(), begun, analysed, resident;
	struct path path;
	unsigned seed = 1;
	int64_t excess;

	if (size == 0)
		return 2;
	run.stamps = allocate(size, sizeof *run.stamps);
	run.facts = allocate(size, sizeof *run.facts);
	for (int i = 0; i < size; i++) {
		int64_t noise = seed = seed * 1664525 + 1013904223; /* up to 4.3 s */
		int64_t more = seed = seed * 1664525 + 1013904223;
		uint64_t node = (uint64_t)(i / n + 1) * 0x9e3779b97f4a7c15; /* in no order */
		struct facts *facts = run.facts + i;

		run.stamps[i] = (struct stamps){run.start, 2000000000 + noise, 13000000000 + more,
						18000000000 + noise};
		*facts = (struct facts){.clock = {0, 1}, .kernel = node, .name = node};
		facts->created = run.stamps[i].entered - noise / 2;
		facts->parent_created = facts->created - noise / 4;
		facts->repeat = noise / 1000;
		for (facts->fence_count = 0; facts->fence_count < FENCES; facts->fence_count++)
			facts->fences[facts->fence_count] = (struct fence){
				6300000000 + 800000000LL * facts->fence_count + more / 16,
				6600000000 + 800000000LL * facts->fence_count + noise / 16};
		snprintf(facts->host, sizeof facts->host, "nid%07d", i / n);
		if (i % n == 0)
			run.facts[i].clock.offset = noise / 1000000;
	}
	begun = seconds();
	find_result(&run);
	settle_clocks(&run);
	if (!start_holds(&run) || check_places(&run) != 0)
		return 1;
	find_path(&run, &path);
	find_outlier(&run, &path, &excess, &others);
	for (enum phase phase = DAEMON; phase < PHASES; phase++)
		if (phase != FENCE_WAIT && phase != CLOCK_AHEAD)
			summarise(&run, &(struct step){.phase = phase});
	analysed = seconds();
	resident = peak();
	if (write_ranks(&run, "/dev/null"))
		return 1;
	printf("%.4f %.1f %.4f %.0f\n", analysed - begun, (resident - before) / size,
	       seconds() - analysed, peak() - resident);
	return 0;
}
