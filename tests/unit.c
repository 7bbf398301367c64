/* The pure functions of ziaprobe; prints TAP. */
#define main ziaprobe_main
#include "../ziaprobe.c"
#undef main
#include "../probe/clocks.c"
#include "../probe/launcher.c"
#include "../probe/places.c"

static int count, failed;

static void ok(int passed, const char *name)
{
	failed += !passed;
	printf("%sok %d - %s\n", passed ? "" : "not ", ++count, name);
}

static void is_time(int64_t ns, const char *expected)
{
	char line[80];

	format_time(line, sizeof line, ns);
	ok(strcmp(line, expected) == 0, expected);
	if (strcmp(line, expected) != 0)
		printf("# got '%s'\n", line);
}

/* WORDS, ziaprobe's arguments with a blank after each, give the start in ns, N and the
 * timeout in s; N = -1: they are wrong. */
static void is_parsed(const char *words, int64_t start, int n, int timeout)
{
	char copy[200], *argv[10] = {"ziaprobe"};
	int argc = 1;

	for (char *word = strcpy(copy, words), *end; (end = strchr(word, ' ')); word = end + 1) {
		*end = '\0';
		argv[argc++] = word;
	}
	memset(&options, 0, sizeof options);
	optind = 0; /* glibc: start afresh */
	if (parse(argc, argv))
		ok(n == -1, words);
	else
		ok(options.start == start && options.n == n && options.timeout == timeout, words);
}

/* In a world of one, the launcher's NAME=VALUE are a mismatch, or not. */
static void is_mismatch(const char *variables, int expected)
{
	char copy[200];

	clearenv();
	for (char *v = strtok(strcpy(copy, variables), " "); v; v = strtok(NULL, " "))
		putenv(v);
	ok(mismatched() == expected, variables);
	clearenv();
}

/* Blocks of N ranks, each rank on a kernel and of a name, a letter each, '-' for unknown: torn()
 * or else shared(), by kernel for 'k' and by name for 'n', find the pair FIRST, SECOND. */
static void is_misplaced(const char *kernels, const char *hosts, int n, char what, int first,
			 int second)
{
	struct facts facts[20] = {{.repeat = 0}};
	struct run run = {.facts = facts, .size = (int)strlen(kernels), .n = n};
	int pair[2] = {-1, -1};
	char found = '-';

	for (int rank = 0; rank < run.size; rank++) {
		facts[rank].kernel = kernels[rank] == '-' ? 0 : (uint64_t)kernels[rank] << 56;
		facts[rank].name = hosts[rank] == '-' ? 0 : (uint64_t)hosts[rank] << 56;
	}
	if (torn(&run, pair))
		found = 't';
	else if (shared(&run, 1, pair))
		found = 'n';
	else if (shared(&run, 0, pair))
		found = 'k';
	ok(found == what && (what == '-' || (pair[0] == first && pair[1] == second)), kernels);
	if (found != what)
		printf("# on kernels %s, hosts %s: found %c\n", kernels, hosts, found);
}

static void is_summary(const struct summary *s, int64_t min, int64_t median, int64_t max,
		       int slowest)
{
	char name[100], got[100];

	snprintf(name, sizeof name, "min, median, max, slowest rank: %d %d %d %d", (int)min,
		 (int)median, (int)max, slowest);
	snprintf(got, sizeof got, "min, median, max, slowest rank: %d %d %d %d", (int)s->min,
		 (int)s->median, (int)s->max, s->slowest);
	ok(strcmp(got, name) == 0, name);
	if (strcmp(got, name) != 0)
		printf("# got %s\n", got);
}

int main(void)
{
	const int64_t ms = 1000000, s = 1000 * ms;

	is_time(0, "Time test was completed in     0.00 millisecs");
	is_time(200 * ms, "Time test was completed in   200.00 millisecs");
	is_time(624570 * (ms / 1000), "Time test was completed in   624.57 millisecs");
	is_time(999 * ms, "Time test was completed in   999.00 millisecs");
	is_time(1 * s, "Time test was completed in   0:01 min:sec");
	is_time(2 * s - 1, "Time test was completed in   0:01 min:sec");
	is_time(5 * s, "Time test was completed in   0:05 min:sec");
	is_time(60 * s - 1, "Time test was completed in   0:59 min:sec");
	is_time(65 * s, "Time test was completed in   1:05 min:sec");
	is_time(6000 * s, "Time test was completed in 100:00 min:sec");

	is_parsed("1771328648 32530 4 ", 1771328648 * s + 32530 * 1000, 4, 0);
	is_parsed("1771328648 032530 4 ", 1771328648 * s + 32530 * 1000, 4, 0);
	is_parsed("0 0 1 ", 0, 1, 0);
	is_parsed("1 999999 2147483647 ", 1 * s + 999999000, INT_MAX, 0);
	is_parsed("1 2 3 --timeout 30 ", 1 * s + 2000, 3, 30);
	is_parsed("--timeout=30 1 2 3 ", 1 * s + 2000, 3, 30);
	is_parsed("-t 2147483647 1 2 3 ", 1 * s + 2000, 3, INT_MAX);
	is_parsed("1 1000000 1 ", 0, -1, 0);
	is_parsed(" 0 1 ", 0, -1, 0);
	is_parsed("-1 0 1 ", 0, -1, 0);
	is_parsed("1 0 0 ", 0, -1, 0);
	is_parsed("1 0 2147483648 ", 0, -1, 0);
	is_parsed("1 0 1x ", 0, -1, 0);
	is_parsed("9223372036 0 1 ", 0, -1, 0);
	is_parsed("99999999999999999999 0 1 ", 0, -1, 0);
	is_parsed("1 0 ", 0, -1, 0);
	is_parsed("1 0 1 1 ", 0, -1, 0);
	is_parsed("1 0 1 -t 0 ", 0, -1, 0);
	is_parsed("1 0 1 -t 2147483648 ", 0, -1, 0);
	is_parsed("1 0 1 -t ", 0, -1, 0);
	is_parsed("1 0 1 -x ", 0, -1, 0);

	is_mismatch("SLURM_PROCID=0", 0);
	is_mismatch("PMI_SIZE=8 PMI_RANK=0", 1);
	is_mismatch("PMIX_RANK=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0", 1);
	is_mismatch("PMIX_RANK=1", 1);
	is_mismatch("PMI_ID=1", 1);
	is_mismatch("ALPS_APP_PE=1", 1);
	is_mismatch("PALS_RANKID=1", 1);
	is_mismatch("FLUX_JOB_SIZE=2 FLUX_TASK_RANK=0", 1);
	is_mismatch("PMIX_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0", 1);
	/* Left by another launcher. */
	is_mismatch("OMPI_COMM_WORLD_SIZE=1 PMIX_RANK=0 SLURM_STEP_NUM_TASKS=32 SLURM_PROCID=1", 0);
	is_mismatch("PMI_SIZE=1 SLURM_STEP_NUM_TASKS=32 SLURM_PROCID=1", 0);
	is_mismatch("PMIX_RANK=0 SLURM_STEP_NUM_TASKS=32 SLURM_PROCID=1", 0);
	is_mismatch("PMI_SIZE=x OMPI_COMM_WORLD_SIZE=", 0);

	ok(originates(0, 3) && originates(2, 3) && !originates(3, 3) && originates(6, 3),
	   "blocks 0 and 2 originate, block 1 does not");
	ok(responder(1, 12, 3) == 4 && responder(7, 12, 3) == 10, "the responder is one block on");
	ok(responder(7, 9, 3) == 1, "block 0 follows the last");
	ok(responder(2, 3, 3) == 2, "a single block answers itself");
	ok(responder(INT_MAX - 1, INT_MAX, INT_MAX) == INT_MAX - 1, "the largest N");

	ok(wrapped(1, 9, 3) == 7 && wrapped(2, 6, 2) == -1 && wrapped(0, 6, 2) == 4,
	   "of three blocks, block 0 answers the last");
	ok(wrapped(1, 12, 3) == -1 && wrapped(1, 3, 3) == -1, "of four or of one it does not");

	struct stamps stamps[6] = {{.replied = 5}, {.replied = 7}, {.replied = 9},
				   {.replied = 9}, {.replied = 6}, {.replied = 8}};
	static struct facts facts[6];
	struct run run = {.start = 3, .size = 6, .n = 2, .stamps = stamps, .facts = facts};
	find_result(&run);
	ok(run.slowest == 5 && run.time == 5, "the latest stamp");
	stamps[1].replied = 8;
	find_result(&run);
	ok(run.slowest == 1, "the lowest rank of several");
	run.size = 4;
	find_result(&run);
	ok(run.slowest == 1, "a responder is never the slowest");
	run.size = 6;
	find_result(&run);
	ok(run.partner[0] == 2 && run.partner[2] == -1 && run.partner[5] == 1, "the partners");

	/* Blocks 0, 1, 2; block 2 hangs below block 0, as block 1 does. */
	facts[2].clock = (struct clock){100, 3};
	facts[4].clock = (struct clock){2, 4};
	settle_clocks(&run);
	ok(!run.stamped && ahead(&run, 0) == -2 && ahead(&run, 3) == 98 && ahead(&run, 4) == 0,
	   "without the stamping clock the reference is the median");
	ok(run.skew.offset == 98 && run.skew.bound == 7 && run.skewed == 1,
	   "the furthest from the median; the bounds add up");
	ok(run.slack == 105, "what the furthest may be ahead of the reference");
	facts[2].stamper = facts[3].stamper = 1;
	run.skew = (struct clock){0, 0};
	run.slack = 0;
	settle_clocks(&run);
	ok(run.stamped && ahead(&run, 0) == -100 && run.clocks[2].bound == 7 &&
		   run.clocks[1].bound == 0,
	   "the clock that stamped the start is the reference");
	ok(run.skew.offset == 98 && run.skewed == 1, "the skew is from the median all the same");
	ok(corrected_time(&run) == 8 + 100 - 3, "the corrected time is by the stamping clock");
	run.size = 4;
	facts[2].stamper = 0;
	facts[2].clock = (struct clock){-100, 3};
	run.skew = (struct clock){0, 0};
	settle_clocks(&run);
	ok(run.skewed == 0 && run.skew.offset == 100, "of two, the lower one is the median");
	run.size = 6;

	for (int i = 0; i < 6; i++)
		stamps[i] = (struct stamps){.start = 10, .entered = 10 + i, .replied = 20};
	run.start = 10;
	run.clocks = NULL;
	ok(doubtful(&run) == -1, "no stamp is before the start");
	stamps[3].start = 11;
	ok(doubtful(&run) == 3, "rank 3 was told another start");
	stamps[3].start = 10;
	stamps[0].entered = 9;
	ok(doubtful(&run) == 0, "rank 0 entered main before the start");
	stamps[0].entered = 10;
	struct clock clocks[3] = {{0, 0}, {5, 2}, {5, 1}};
	run.clocks = clocks;
	run.slack = 0;
	ok(doubtful(&run) == 2, "so did rank 2 by the corrected clock");
	clocks[1].bound = 3;
	ok(doubtful(&run) == -1, "but not beyond what the clocks' bound allows");
	clocks[1].bound = 0;
	run.slack = 3;
	ok(doubtful(&run) == -1, "nor by every clock");
	run.clocks = NULL;
	stamps[4].replied = 9;
	stamps[2].replied = 0;
	ok(doubtful(&run) == 4, "an originator's reply is before the start");

	/* Blocks a, b, c of two ranks; b's clock is 100 ahead, c's 50 behind. c exchanges
	 * with a; b's rank 3 is late, and rank 1 waits for it. */
	struct stamps whole_stamps[6] = {{900, 1000, 2000, 2500}, {900, 1010, 2000, 3300},
					 {900, 1100, 2100, 0},    {900, 1120, 2900, 0},
					 {900, 950, 2150, 2600},  {900, 960, 1970, 3300}};
	struct clock known[3] = {{0, 0}, {100, 1}, {-50, 2}};
	struct run whole = {.start = 900, .size = 6, .n = 2, .stamps = whole_stamps};
	struct summary columns[COLUMNS];
	int64_t excess;
	int outstander;
	find_result(&whole);
	whole.clocks = known;
	whole.facts = facts;
	for (int i = 0; i < 6; i++)
		facts[i].repeat = (int64_t[]){7, 8, 0, 0, 9, 4}[i];
	for (enum column column = LAUNCH; column < COLUMNS; column++)
		columns[column] = summarise(&whole, column);
	is_summary(columns + LAUNCH, 100, 105, 120, 3);
	is_summary(columns + INIT, 990, 1005, 1780, 3);
	is_summary(columns + WIREUP, 450, 500, 1330, 5);
	is_summary(columns + REPEAT, 4, 7, 9, 4);
	is_summary(columns + COMPLETED, 1600, 2050, 2400, 1);
	for (int i = 0; i < 6; i++)
		facts[i].setup = NONE;
	columns[SETUP] = summarise(&whole, SETUP);
	ok(columns[SETUP].max == NONE, "no setup is known");
	ok(value(&whole, WIREUP, 1) == 500, "a partner's late MPI_Init is not the wireup's");
	ok(outstanding(&whole, columns, &outstander, &excess) == INIT && outstander == 3 &&
		   excess == 780,
	   "the init stands out");
	for (int i = 0; i < 6; i++)
		whole_stamps[i].initialised = 3000 + known[i / 2].offset;
	columns[INIT] = summarise(&whole, INIT);
	whole_stamps[0].entered = 1900;
	whole_stamps[0].replied = 3100;
	whole_stamps[4].replied = 3150 - 50;
	columns[LAUNCH] = summarise(&whole, LAUNCH);
	ok(outstanding(&whole, columns, &outstander, &excess) == LAUNCH && outstander == 0 &&
		   excess == 900,
	   "who waits for a late one does not stand out");
	/* Rank 1's exchange takes 900; rank 5 of the last block, whose partner it is, waits. */
	whole_stamps[1].replied = 3900;
	whole_stamps[5].replied = 3950 - 50;
	columns[WIREUP] = summarise(&whole, WIREUP);
	whole_stamps[0].entered = 1000;
	columns[LAUNCH] = summarise(&whole, LAUNCH);
	ok(columns[WIREUP].max == 950 && columns[WIREUP].slowest == 5,
	   "the wireup of the last of three blocks has block 0's in it");
	ok(outstanding(&whole, columns, &outstander, &excess) == WIREUP && outstander == 1 &&
		   excess == 893,
	   "but does not stand out for it");

	for (int i = 0; i < 6; i++)
		facts[i].setup = i == 2 ? 2000 : 100 + i;
	columns[SETUP] = summarise(&whole, SETUP);
	ok(outstanding(&whole, columns, &outstander, &excess) == SETUP && outstander == 2 &&
		   excess == 1899,
	   "the setup stands out");

	struct clock tree[8];
	for (int i = 0; i < 8; i++)
		tree[i] = (struct clock){i ? 1 << 4 * i : 0, i};
	sum_clocks(tree, 8);
	ok(tree[7].offset == 0x11010000 && tree[7].bound == 7 + 6 + 4,
	   "block 7's clock is the sum down the tree, 4, 6, 7, and so is the bound");
	ok(tree[5].offset == 0x110000 && tree[0].offset == 0, "so is block 5's, and 0 is 0's");

	is_misplaced("aaabbbccc", "aaabbbccc", 3, '-', 0, 0);
	is_misplaced("cba", "aaa", 1, '-', 0, 0);
	is_misplaced("aaaa", "abcd", 4, '-', 0, 0);
	is_misplaced("abab", "abab", 2, 't', 0, 1);
	is_misplaced("aabbcb", "aaaaaa", 2, 't', 4, 5);
	is_misplaced("aabbcccc", "aabbcccc", 2, 'n', 4, 6);
	is_misplaced("aabbaabb", "aabbaabb", 2, 'n', 0, 4);
	is_misplaced("abcb", "abcb", 1, 'n', 1, 3);
	is_misplaced("aaaaaaaa", "aaaaaaaa", 2, 'n', 0, 2);
	/* Containers, and kernels or names that are not known. */
	is_misplaced("aaaabbbb", "abcdefgh", 2, 'k', 0, 2);
	is_misplaced("aaaa", "cbaa", 2, 'k', 0, 2);
	is_misplaced("aaaa", "abac", 1, 'n', 0, 2);
	is_misplaced("--bb", "aabb", 2, '-', 0, 0);
	is_misplaced("--bb", "aaaa", 2, 'n', 0, 2);
	is_misplaced("a-bb", "aabb", 2, '-', 0, 0);
	is_misplaced("a-bb", "acbb", 2, 't', 0, 1);
	is_misplaced("a--b", "a--b", 1, '-', 0, 0);

	printf("1..%d\n", count);
	return failed != 0;
}
