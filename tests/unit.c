/* The pure functions of ziaprobe.c; prints TAP. */
#define main ziaprobe_main
#include "../ziaprobe.c"
#undef main

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

/* The launcher's NAME=VALUE say that it started SIZE processes and this one is RANK. */
static void is_launched(const char *variables, int size, int rank)
{
	char copy[200];

	clearenv();
	for (char *v = strtok(strcpy(copy, variables), " "); v; v = strtok(NULL, " "))
		putenv(v);
	launched.size = 0;
	launched.rank = -1;
	read_launcher();
	ok(launched.size == size && launched.rank == rank, variables);
	clearenv();
}

/* Ranks on NODES, a letter each, in blocks of N: the fault that misplaced() finds and the
 * first pair it names. */
static void is_misplaced(const char *nodes, int n, int wrong, int first, int second)
{
	struct record records[20];
	struct run run = {.records = records, .size = (int)strlen(nodes), .n = n};
	int pair[2] = {-1, -1};

	for (int rank = 0; rank < run.size; rank++)
		records[rank].node = (uint64_t)nodes[rank] << 56;
	ok(misplaced(&run, pair) == wrong && (!wrong || (pair[0] == first && pair[1] == second)),
	   nodes);
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

	is_launched("", 0, -1);
	is_launched("PMI_SIZE=8 PMI_RANK=3", 8, 3);
	is_launched("SLURM_STEP_NUM_TASKS=16 SLURM_PROCID=0", 16, 0);
	is_launched(
		"SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=2",
		4, 2);
	is_launched("PMI_SIZE=x OMPI_COMM_WORLD_SIZE=", 0, -1);

	ok(originates(0, 3) && originates(2, 3) && !originates(3, 3) && originates(6, 3),
	   "blocks 0 and 2 originate, block 1 does not");
	ok(responder(1, 12, 3) == 4 && responder(7, 12, 3) == 10, "the responder is one block on");
	ok(responder(7, 9, 3) == 1, "block 0 follows the last");
	ok(responder(2, 3, 3) == 2, "a single block answers itself");
	ok(responder(INT_MAX - 1, INT_MAX, INT_MAX) == INT_MAX - 1, "the largest N");

	ok(wrapped(1, 9, 3) == 7 && wrapped(2, 6, 2) == -1 && wrapped(0, 6, 2) == 4,
	   "of three blocks, block 0 answers the last");
	ok(wrapped(1, 12, 3) == -1 && wrapped(1, 3, 3) == -1, "of four or of one it does not");

	struct record records[6] = {{.replied = 5}, {.replied = 7}, {.replied = 9},
				    {.replied = 9}, {.replied = 6}, {.replied = 8}};
	struct clock clocks[3] = {{0, 0}, {100, 0}, {2, 0}};
	struct run run = {.start = 3, .size = 6, .n = 2, .records = records};
	ok(latest_reply(&run) == 5 && corrected_time(&run) == 5, "the latest stamp");
	run.clocks = clocks;
	ok(latest_reply(&run) == 1 && corrected_time(&run) == 4,
	   "the latest by the corrected clocks");
	run.clocks = NULL;
	records[1].replied = 8;
	ok(latest_reply(&run) == 1, "the lowest rank of several");
	run.size = 4;
	ok(latest_reply(&run) == 1, "a responder is never the slowest");
	run.size = 6;

	for (int i = 0; i < 6; i++)
		records[i] = (struct record){.entered = 10 + i, .replied = 20};
	run.start = 10;
	ok(too_early(&run) == -1, "no stamp is before the start");
	run.start = 11;
	ok(too_early(&run) == 0, "rank 0 entered main before the start");
	run.start = 10;
	run.clocks = clocks;
	ok(too_early(&run) == 2, "so it did by the corrected clock");
	records[4].entered = 11;
	clocks[1] = (struct clock){5, 3};
	clocks[2] = (struct clock){5, 4};
	ok(too_early(&run) == -1, "but not beyond what the clocks' bound allows");
	run.clocks = NULL;
	records[4].replied = 9;
	records[2].replied = 0;
	ok(too_early(&run) == 4, "an originator's reply is before the start");

	run.clocks = clocks;
	clocks[0] = (struct clock){0, 0};
	clocks[1] = (struct clock){-3 * ms, 3 * ms};
	clocks[2] = (struct clock){2 * ms, 2 * ms - 1};
	ok(furthest_clock(&run, 1) == 2, "a clock off by more than its bound");
	ok(furthest_clock(&run, 0) == 1, "the clock that is furthest off, behind");
	clocks[1].bound = 1;
	ok(furthest_clock(&run, 1) == 1, "the furthest of two");
	clocks[1] = clocks[2] = (struct clock){1 * ms, 1 * ms};
	ok(furthest_clock(&run, 1) == -1 && furthest_clock(&run, 0) == 1, "none beyond its bound");

	/* Blocks a, b, c of two ranks; b's clock is 100 ahead, c's 50 behind. c exchanges
	 * with a; b's rank 3 is late, and rank 1 waits for it. */
	struct record stamps[6] = {{1000, 2000, 2500, 'a', 900}, {1010, 2000, 3300, 'a', 900},
				   {1100, 2100, 0, 'b', 900},    {1120, 2900, 0, 'b', 900},
				   {950, 2150, 2600, 'c', 900},  {960, 1970, 3300, 'c', 900}};
	int64_t repeats[6] = {7, 8, 0, 0, 9, 4};
	struct clock known[3] = {{0, 0}, {100, 1}, {-50, 2}};
	char hosts[] = "first\0second\0n3";
	struct run whole = {900, 6, 2, stamps, 2400, 1, known, repeats, hosts};
	struct summary columns[COLUMNS];
	int64_t excess;
	for (enum column column = LAUNCH; column < COLUMNS; column++)
		columns[column] = summarise(&whole, column);
	is_summary(columns + LAUNCH, 100, 105, 120, 3);
	is_summary(columns + INIT, 990, 1005, 1780, 3);
	is_summary(columns + WIREUP, 450, 500, 1330, 5);
	is_summary(columns + REPEAT, 4, 7, 9, 4);
	is_summary(columns + COMPLETED, 1600, 2050, 2400, 1);
	ok(value(&whole, WIREUP, 1) == 500, "a partner's late MPI_Init is not the wireup's");
	int outstander;
	ok(outstanding(&whole, columns, &outstander, &excess) == INIT && outstander == 3 &&
		   excess == 780,
	   "the init stands out");
	for (int i = 0; i < 6; i++)
		stamps[i].initialised = 3000 + known[i / 2].offset;
	columns[INIT] = summarise(&whole, INIT);
	stamps[0].entered = 1900;
	stamps[0].replied = 3100;
	stamps[4].replied = 3150 - 50;
	columns[LAUNCH] = summarise(&whole, LAUNCH);
	ok(outstanding(&whole, columns, &outstander, &excess) == LAUNCH && outstander == 0 &&
		   excess == 900,
	   "who waits for a late one does not stand out");
	/* Rank 1's exchange takes 900; rank 5 of the last block, whose partner it is, waits. */
	stamps[1].replied = 3900;
	stamps[5].replied = 3950 - 50;
	columns[WIREUP] = summarise(&whole, WIREUP);
	stamps[0].entered = 1000;
	columns[LAUNCH] = summarise(&whole, LAUNCH);
	ok(columns[WIREUP].max == 950 && columns[WIREUP].slowest == 5,
	   "the wireup of the last of three blocks has block 0's in it");
	ok(outstanding(&whole, columns, &outstander, &excess) == WIREUP && outstander == 1 &&
		   excess == 893,
	   "but does not stand out for it");

	struct clock tree[8];
	for (int i = 0; i < 8; i++)
		tree[i] = (struct clock){i ? 1 << 4 * i : 0, i};
	sum_clocks(tree, 8);
	ok(tree[7].offset == 0x11010000 && tree[7].bound == 7 + 6 + 4,
	   "block 7's clock is the sum down the tree, 4, 6, 7, and so is the bound");
	ok(tree[5].offset == 0x110000 && tree[0].offset == 0, "so is block 5's, and 0 is 0's");

	is_misplaced("aaabbbccc", 3, 0, 0, 0);
	is_misplaced("cba", 1, 0, 0, 0);
	is_misplaced("aaaa", 4, 0, 0, 0);
	is_misplaced("abab", 2, 1, 0, 1);
	is_misplaced("aabbcb", 2, 1, 4, 5);
	is_misplaced("aabbcccc", 2, 2, 4, 6);
	is_misplaced("aabbaabb", 2, 2, 0, 4);
	is_misplaced("abcb", 1, 2, 1, 3);
	is_misplaced("aaaaaaaa", 2, 2, 0, 2);

	printf("1..%d\n", count);
	return failed != 0;
}
