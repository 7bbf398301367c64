/* The pure functions of ziaprobe; prints TAP. */
#define main ziaprobe_main
#include "../../ziaprobe.c"
#undef main
#include "../../probe/clocks.c"
#include "../../probe/launcher.c"
#include "../../probe/path.c"
#include "../../probe/places.c"

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

/* Blocks of N ranks, each rank on a kernel and of a name, a letter each, '-' for unknown:
 * split_block(), 't', or else shared_node(), by kernel, 'k', or by name, 'n', find the pair FIRST,
 * SECOND. */
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
	if (split_block(&run, pair))
		found = 't';
	else if (shared_node(&run, 1, pair))
		found = 'n';
	else if (shared_node(&run, 0, pair))
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

/* The ranks that a made-up run has, two on each node, and its clocks' bounds. */
enum { RANKS = 8 };
static const int64_t ms = 1000000, s = 1000 * ms, bound = 10000;

/* Makes up a RUN in which nothing takes long: of all ranks the process that created it came 10 ms
 * after the start, the process at 20 ms, main at 30 ms, two fences are entered at 40 and 60 ms and
 * left at 50 and 70 ms, MPI_Init returns at 80 ms; replies come at 90 ms. */
static void make_up(struct run *run)
{
	static struct stamps stamps[RANKS];
	static struct facts facts[RANKS];

	free(run->partner);
	*run = (struct run){.start = s, .size = RANKS, .n = 2, .stamps = stamps, .facts = facts};
	for (int rank = 0; rank < RANKS; rank++) {
		stamps[rank] = (struct stamps){s, s + 30 * ms, s + 80 * ms,
					       rank / 2 % 2 ? 0 : s + 90 * ms};
		facts[rank] = (struct facts){
			.clock = {0, bound},
			.created = s + 20 * ms,
			.parent_created = s + 10 * ms,
			.fences = {{s + 40 * ms, s + 50 * ms}, {s + 60 * ms, s + 70 * ms}},
			.fence_count = 2,
			.repeat = rank / 2 % 2 ? NONE : ms,
			.parent = "slurmstepd",
		};
	}
}

/* The path of RUN is that of TEXT, each step with its rank and ms; and so is what stands out, after
 * "; " with the excess and the other ranks. */
static void is_path(struct run *run, const char *text, const char *name)
{
	static const char *const names[] = {"daemon", "spawn",  "load",  "setup",
					    "fence",  "wireup", "clock", "init"};
	char got[1000] = "";
	struct path path;
	const struct step *most;
	int64_t excess;
	int others, length = 0;

	free(run->partner);
	find_result(run);
	find_path(run, &path);
	for (int i = path.first; i < STEPS; i++)
		length += sprintf(got + length, "%s %d %g, ", names[path.step[i].phase],
				  path.step[i].rank, (double)path.step[i].us / 1000);
	most = find_outlier(run, &path, &excess, &others);
	if (most)
		sprintf(got + length - 2, "; %s %d %g %d", names[most->phase], most->rank,
			(double)excess / 1e6, others);
	else
		sprintf(got + length - 2, "; -");
	ok(strcmp(got, text) == 0, name);
	if (strcmp(got, text) != 0)
		printf("#  got: %s\n# like: %s\n", got, text);
}

/* A random number from 0 to LESS - 1. */
static int64_t draw(int64_t less)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005 + 1442695040888963407;
	return (int64_t)(state >> 33) % less;
}

/* A random run: times up to LARGEST ns long, where 1 makes all equal, and clocks that are off. */
static void make_up_any(struct run *run, int64_t largest)
{
	static const char *const parents[] = {"slurmstepd", "orted", "mpirun", "a b) (c"};

	make_up(run);
	run->n = 1 << draw(4);
	for (int rank = 0; rank < RANKS; rank++) {
		struct stamps *stamps = run->stamps + rank;
		struct facts *facts = run->facts + rank;

		if (rank % run->n == 0)
			facts->clock = (struct clock){draw(3) ? 0 : draw(2 * largest) - largest,
						      draw(largest)};
		else
			facts->clock = facts[-1].clock;
		facts->parent_created = draw(4) ? s + draw(largest) - largest / 4 : NONE;
		facts->created = draw(9) ? s + draw(largest) : NONE;
		if (facts->created == NONE)
			facts->parent_created = NONE;
		strcpy(facts->parent, parents[draw(4)]);
		stamps->entered = s + draw(largest);
		stamps->initialised = stamps->entered + draw(largest);
		stamps->replied = stamps->initialised + draw(largest);
		facts->fence_count = (unsigned char)(draw(9) ? 1 + draw(FENCES) : 0);
		for (int i = 0; i < facts->fence_count; i++) {
			facts->fences[i].entered = stamps->entered + draw(largest);
			facts->fences[i].left = facts->fences[i].entered + draw(largest);
			if (!draw(9))
				facts->fences[i].left = INT64_MAX;
		}
	}
}

/* select_ns() finds what stands at each place of random values, many of them equal, when sorted. */
static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void is_selected(void)
{
	int wrong = 0;

	for (int i = 0; i < 3000; i++) {
		int64_t values[50], sorted[50], less = (int64_t[]){1, 3, 20, s}[i % 4];
		int count = 1 + (int)draw(50), k = (int)draw(count);

		for (int j = 0; j < count; j++)
			values[j] = sorted[j] = draw(less);
		qsort(sorted, (size_t)count, sizeof *sorted, compare);
		wrong += select_ns(values, count, k) != sorted[k];
		qsort(values, (size_t)count, sizeof *values, compare);
		wrong += memcmp(values, sorted, sizeof *values * (size_t)count) != 0;
	}
	ok(!wrong, "the value at any place of sorted values");
}

/* Some thousands of random runs: each path comes to the start, no step but clock is negative, and
 * the steps add up to the time. */
static void is_path_of_any(void)
{
	struct run run = {.partner = NULL};
	int kept = 1;

	for (int i = 0; i < 20000; i++) {
		int64_t sum = 0, excess;
		struct path path;
		int others;

		make_up_any(&run, (int64_t[]){1, 10, 3000, s, 1000 * s}[i % 5]);
		find_result(&run);
		find_path(&run, &path);
		find_outlier(&run, &path, &excess, &others);
		kept &= path.first >= 0 && path.at == 0;
		for (int k = path.first; k < STEPS; k++) {
			sum += path.step[k].us;
			kept &= path.step[k].us >= 0 || path.step[k].phase == CLOCK_AHEAD;
			kept &= path.step[k].phase != CLOCK_AHEAD || path.step[k].us != 0;
		}
		kept &= sum == rounded(run.time);
		if (!kept) {
			printf("# run %d: sum %lld of %lld ns\n", i, (long long)sum,
			       (long long)run.time);
			break;
		}
	}
	ok(kept, "20,000 random runs: the path comes to the start, its steps add up");
	free(run.partner);
}

int main(void)
{
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
	is_mismatch("FLUX_JOB_SIZE=1 FLUX_TASK_RANK=0 SLURM_STEP_NUM_TASKS=32 SLURM_PROCID=1", 0);
	is_mismatch("PMIX_RANK=0 SLURM_STEP_NUM_TASKS=32 SLURM_PROCID=1", 0);
	is_mismatch("PMIX_RANK=0 SLURM_STEP_NUM_TASKS=32", 0);
	is_mismatch("PMI_SIZE=x OMPI_COMM_WORLD_SIZE=", 0);

	ok(responder(0, 12, 3) == 3 && responder(2, 12, 3) == 5 && responder(3, 12, 3) == -1 &&
		   responder(6, 12, 3) == 9,
	   "blocks 0 and 2 originate, block 1 does not");
	ok(responder(1, 12, 3) == 4 && responder(7, 12, 3) == 10, "the responder is one block on");
	ok(responder(7, 9, 3) == 1, "block 0 follows the last");
	ok(responder(2, 3, 3) == 2, "a single block answers itself");
	ok(responder(INT_MAX - 1, INT_MAX, INT_MAX) == INT_MAX - 1, "the largest N");

	ok(second_originator(1, 9, 3) == 7 && second_originator(2, 6, 2) == -1 &&
		   second_originator(0, 6, 2) == 4,
	   "of three blocks, block 0 answers the last");
	ok(second_originator(1, 12, 3) == -1 && second_originator(1, 3, 3) == -1,
	   "of four or of one it does not");

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
	ok(!run.start_clock_known && ahead(&run, 1) == -2 && ahead(&run, 3) == 98 &&
		   ahead(&run, 4) == 0,
	   "without the stamping clock the reference is the median");
	ok(run.skew.offset == 98 && run.skew.bound == 7 && run.worst_block == 1,
	   "the furthest from the median; the bounds add up");
	ok(run.slack == 105, "what the furthest may be ahead of the reference");
	facts[0].clock = (struct clock){0, 0};
	facts[2].clock = (struct clock){100, 3};
	facts[4].clock = (struct clock){2, 4};
	facts[2].on_start_node = facts[3].on_start_node = 1;
	run.skew = (struct clock){0, 0};
	run.slack = 0;
	settle_clocks(&run);
	ok(run.start_clock_known && ahead(&run, 0) == -100 && facts[5].clock.bound == 7 &&
		   facts[3].clock.bound == 0,
	   "the clock that stamped the start is the reference");
	ok(run.skew.offset == 98 && run.worst_block == 1,
	   "the skew is from the median all the same");
	ok(corrected_time(&run) == 8 + 100 - 3, "the corrected time is by the stamping clock");
	run.size = 4;
	facts[2].on_start_node = 0;
	facts[0].clock = (struct clock){0, 0};
	facts[2].clock = (struct clock){-100, 3};
	run.skew = (struct clock){0, 0};
	settle_clocks(&run);
	ok(run.worst_block == 0 && run.skew.offset == 100, "of two, the lower one is the median");
	run.size = 6;

	for (int i = 0; i < 6; i++)
		stamps[i] = (struct stamps){.start = 10, .entered = 10 + i, .replied = 20};
	run.start = 10;
	run.facts = NULL;
	ok(first_doubtful(&run) == -1, "no stamp is before the start");
	stamps[3].start = 11;
	ok(first_doubtful(&run) == 3, "rank 3 was told another start");
	stamps[3].start = 10;
	stamps[0].entered = 9;
	ok(first_doubtful(&run) == 0, "rank 0 entered main before the start");
	stamps[0].entered = 10;
	run.facts = facts;
	run.slack = 0;
	for (int i = 0; i < 6; i++)
		facts[i].clock = (struct clock[]){{0, 0}, {5, 2}, {5, 1}}[i / 2];
	ok(first_doubtful(&run) == 2, "so did rank 2 by the corrected clock");
	facts[2].clock.bound = facts[3].clock.bound = 3;
	ok(first_doubtful(&run) == -1, "but not beyond what the clocks' bound allows");
	facts[2].clock.bound = facts[3].clock.bound = 0;
	run.slack = 3;
	ok(first_doubtful(&run) == -1, "nor by every clock");
	run.facts = NULL;
	stamps[4].replied = 9;
	stamps[2].replied = 0;
	ok(first_doubtful(&run) == 4, "an originator's reply is before the start");

	struct run made = {.partner = NULL};
	make_up(&made);
	const char *usual = "daemon 0 10, spawn 0 10, load 0 10, setup 0 10, fence 0 10, "
			    "setup 0 10, fence 0 10, setup 0 10, wireup 0 10; -";
	is_path(&made, usual, "the path of a run in which nobody is late");

	ok(rounded(499) == 0 && rounded(500) == 1 && rounded(-500) == 0 && rounded(-501) == -1 &&
		   rounded(-1500) == -1,
	   "microseconds are rounded half up");

	/* Every place, in a rank that is not rank 0. */
	for (int i = 0; i < RANKS; i++) {
		made.stamps[i].replied += i / 2 % 2 ? 0 : s;
		made.stamps[i].initialised += s;
		made.facts[i].fences[1].left += s;
	}
	made.facts[5].fences[1].entered += s;
	is_path(&made,
		"daemon 0 10, spawn 0 10, load 0 10, setup 0 10, fence 0 10, "
		"setup 5 1010, fence 5 10, "
		"setup 0 10, wireup 0 10; setup 5 1000 0",
		"late between the fences");
	for (int i = 0; i < RANKS; i++) {
		made.facts[i].fences[0].left += s;
		made.facts[i].fences[1].entered += i == 5 ? 0 : s;
	}
	is_path(&made,
		"daemon 0 10, spawn 0 10, load 0 10, setup 0 10, fence 0 1010, "
		"setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; -",
		"late in the first fence: no rank is");
	made.facts[5].fences[0].entered += s;
	is_path(&made,
		"daemon 5 10, spawn 5 10, load 5 10, setup 5 1010, fence 5 10, "
		"setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; setup 5 1000 0",
		"late before the first fence");
	made.stamps[5].entered += s;
	is_path(&made,
		"daemon 5 10, spawn 5 10, load 5 1010, setup 5 10, fence 5 10, "
		"setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; load 5 1000 0",
		"late in load");
	made.facts[5].created += s;
	is_path(&made,
		"daemon 5 10, spawn 5 1010, load 5 10, setup 5 10, fence 5 10, "
		"setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; spawn 5 1000 0",
		"late in spawn");
	made.facts[5].parent_created += s;
	is_path(&made,
		"daemon 5 1010, spawn 5 10, load 5 10, setup 5 10, fence 5 10, "
		"setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; daemon 5 1000 0",
		"late in daemon");
	is_summary(&(struct summary){0, 10 * ms, 0, 10 * ms, 1010 * ms, 5}, 10 * ms, 10 * ms,
		   1010 * ms, 5);
	struct summary daemons = summarise(&made, &(struct step){.phase = DAEMON});
	is_summary(&daemons, 10 * ms, 10 * ms, 1010 * ms, 5);
	struct summary setups = summarise(&made, &(struct step){.phase = SETUP});
	is_summary(&setups, 30 * ms, 30 * ms, 30 * ms, 0);

	made.facts[1].parent_created -= 5 * ms;
	is_path(&made,
		"daemon 5 1010, spawn 5 10, load 5 10, setup 5 10, fence 5 10, "
		"setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; daemon 5 1000 0",
		"a single fast rank is not what is usual");

	/* Where nothing can be read, and where a parent was there before the start. */
	made.facts[5].parent_created = s - 1;
	is_path(&made,
		"spawn 5 1020, load 5 10, setup 5 10, fence 5 10, setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; spawn 5 1010 0",
		"a parent from before the start");
	made.facts[5].created = made.facts[5].parent_created = NONE;
	is_path(&made,
		"load 5 1030, setup 5 10, fence 5 10, setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; load 5 1020 0",
		"no creation is known");
	made.facts[5].created = s - 5;
	made.facts[5].parent_created = s + 3 * s;
	is_path(&made,
		"daemon 5 0, spawn 5 0, load 5 1030, setup 5 10, fence 5 10, "
		"setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; load 5 1020 0",
		"created before the start, a parent after its child");

	made.facts[5].created = made.stamps[5].entered + 5 * ms;
	is_path(&made,
		"daemon 5 1030, spawn 5 0, load 5 0, setup 5 10, fence 5 10, "
		"setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; daemon 5 1020 0",
		"created after main");
	ok(duration(&made, &(struct step){.phase = LOAD}, 5) == 0, "its load is 0");

	/* mpirun launches when its last daemon has come. */
	make_up(&made);
	for (int i = 0; i < RANKS; i++) {
		made.facts[i].created += 5 * ms;
		strcpy(made.facts[i].parent, i % 4 ? "orted" : "prted");
	}
	made.facts[2].parent_created += 14 * ms;
	is_path(&made,
		"daemon 2 24, spawn 0 1, load 0 5, setup 0 10, fence 0 10, setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; -",
		"spawn begins with the last of mpirun's daemons");
	strcpy(made.facts[2].parent, "slurmstepd");
	is_path(&made,
		"daemon 0 10, spawn 0 15, load 0 5, setup 0 10, fence 0 10, "
		"setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; -",
		"but not with another launcher's");
	strcpy(made.facts[2].parent, "mpirun");
	strcpy(made.facts[0].parent, "slurmstepd");
	is_path(&made,
		"daemon 0 10, spawn 0 15, load 0 5, setup 0 10, fence 0 10, "
		"setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; -",
		"nor for another launcher's process");
	strcpy(made.facts[0].parent, "mpirun");
	made.facts[7].created = s + 23 * ms;
	is_path(&made,
		"daemon 0 10, spawn 0 15, load 0 5, setup 0 10, fence 0 10, "
		"setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; -",
		"nor where a process was created before it");

	/* The exchange. Block 0, of three, answers the last after its own exchange. */
	make_up(&made);
	made.stamps[7].initialised += 5 * ms;
	is_path(&made, usual, "a partner that waits for nobody on the path");
	made.stamps[5].replied += 20 * ms;
	is_path(&made,
		"daemon 0 10, spawn 0 10, load 0 10, setup 0 10, fence 0 10, "
		"setup 0 10, fence 0 10, "
		"setup 7 15, wireup 5 25; wireup 5 15 0",
		"a partner that is ready later");
	made.size = 6;
	made.stamps[1].replied += 15 * ms;
	is_path(&made,
		"daemon 0 10, spawn 0 10, load 0 10, setup 0 10, fence 0 10, "
		"setup 0 10, fence 0 10, "
		"setup 1 10, wireup 1 25, wireup 5 5; wireup 1 25 0",
		"two exchanges in a row");
	made.stamps[5].initialised = s + 107 * ms;
	is_path(&made,
		"daemon 0 10, spawn 0 10, load 0 10, setup 0 10, fence 0 10, "
		"setup 0 10, fence 0 10, "
		"setup 5 37, wireup 5 3; setup 5 27 0",
		"the last block is ready later than block 0 has its reply");
	make_up(&made);
	made.size = 2;
	made.n = 1;
	for (int i = 0; i < 2; i++)
		made.stamps[i].replied = i ? 0 : s + 90 * ms;
	is_path(&made,
		"daemon 0 10, spawn 0 10, load 0 10, setup 0 10, fence 0 10, "
		"setup 0 10, fence 0 10, "
		"setup 0 10, wireup 0 10; wireup 0 9 0",
		"few exchanges are compared with their repetition");

	/* Fences: no barrier, within what the clocks can tell or not; left late; none. */
	make_up(&made);
	made.facts[3].fences[1].entered = s + 70 * ms + 2 * bound;
	is_path(&made,
		"daemon 0 10, spawn 0 10, load 0 10, setup 0 10, fence 0 10, "
		"setup 3 20, fence 3 0, "
		"setup 0 10, wireup 0 10; setup 3 10 0",
		"the last enters a fence after another has left it, within the bounds");
	made.facts[3].fences[1].entered += 1000;
	is_path(&made,
		"daemon 0 10, spawn 0 10, load 0 10, setup 0 10, fence 0 10, setup 0 30, "
		"wireup 0 10; -",
		"beyond them it is no barrier");
	make_up(&made);
	for (int i = 0; i < RANKS; i++)
		made.facts[i].fences[1].left = INT64_MAX;
	is_path(&made,
		"daemon 0 10, spawn 0 10, load 0 10, setup 0 10, fence 0 10, setup 0 30, "
		"wireup 0 10; -",
		"a fence that MPI_Init does not wait for");
	ok(duration(&made, &(struct step){.phase = SETUP}, 0) == 20 * ms, "it is no setup");
	made.facts[6].fence_count = 0;
	made.stamps[5].entered += 10 * ms;
	is_path(&made, "daemon 5 10, spawn 5 10, load 5 20, init 5 40, wireup 0 10; -",
		"a rank that has seen no fence: MPI_Init is one");
	made.stamps[5].entered = s + 81 * ms;
	is_path(&made, "daemon 0 10, spawn 0 10, load 0 10, init 0 50, wireup 0 10; -",
		"unless a rank has left it before the last enters it");
	ok(duration(&made, &(struct step){.phase = SETUP}, 6) == NONE, "then there is no setup");
	made.stamps[4].initialised += s;
	made.stamps[4].replied += s;
	made.stamps[5].entered = s + 31 * ms;
	is_path(&made, "daemon 5 10, spawn 5 10, load 5 11, init 5 1049, wireup 4 10; -",
		"an init does not stand out");
	made.stamps[4].entered = s + 31 * ms;
	is_path(&made, "daemon 4 10, spawn 4 10, load 4 11, init 4 1049, wireup 4 10; -",
		"nor of the rank that was late");
	make_up(&made);
	for (int i = 0; i < 3; i++)
		made.facts[4].fences[i + 1] = (struct fence){s + (60 + i) * ms, s + (72 - i) * ms};
	made.facts[4].fence_count = 4;
	is_path(&made, usual, "fences that not all have do not count");
	ok(duration(&made, &(struct step){.phase = SETUP}, 4) == 28 * ms,
	   "setup is MPI_Init less the union of the fences");

	/* Clocks. */
	make_up(&made);
	made.facts[0].clock.offset = made.facts[1].clock.offset = bound;
	is_path(&made, usual, "a clock's offset within its bound is none");
	for (int i = 4; i < 6; i++) {
		made.facts[i].clock.offset = 300 * ms;
		made.facts[i].created += 300 * ms;
		made.facts[i].parent_created += 300 * ms;
		made.stamps[i].entered += 300 * ms;
		made.stamps[i].initialised += 300 * ms;
		made.stamps[i].replied += 300 * ms;
		for (int k = 0; k < 2; k++) {
			made.facts[i].fences[k].entered += 300 * ms;
			made.facts[i].fences[k].left += 300 * ms;
		}
	}
	is_path(&made,
		"daemon 0 10, spawn 0 10, load 0 10, setup 0 10, fence 0 10, "
		"setup 0 10, fence 0 10, "
		"setup 4 10, wireup 4 10, clock 4 300; -",
		"the slowest rank's clock is ahead");
	made.stamps[6].initialised += 5 * ms;
	ok(duration(&made, &(struct step){.phase = WIREUP}, 4) == 5 * ms,
	   "its partner's clock is not");
	made.facts[4].clock.offset = made.facts[5].clock.offset = 1 * s;
	is_path(&made,
		"daemon 0 0, spawn 0 0, load 0 0, setup 0 0, fence 0 0, setup 0 0, fence 0 0, "
		"setup 6 0, wireup 4 0, clock 4 390; -",
		"its reply is before the start");

	/* A main before the start, within the clocks' bound. */
	make_up(&made);
	find_result(&made);
	made.stamps[5].entered = s - bound / 2;
	ok(duration(&made, &(struct step){.phase = DAEMON}, 5) == 0 &&
		   duration(&made, &(struct step){.phase = SPAWN}, 5) == 0 &&
		   duration(&made, &(struct step){.phase = LOAD}, 5) == 0,
	   "a main before the start takes the process's creation with it");
	made.facts[5].created = made.facts[5].parent_created = NONE;
	ok(duration(&made, &(struct step){.phase = LOAD}, 5) == 0, "also where that is not known");

	/* Of 4 originators' times the lower one in the middle. */
	for (int i = 0; i < 2; i++) {
		made.stamps[i].replied += (i + 1) * ms;
		made.stamps[i + 4].replied += (i + 5) * ms;
	}
	struct summary times = summarise(&made, &(struct step){.phase = COMPLETED});
	is_summary(&times, 91 * ms, 92 * ms, 96 * ms, 5);

	/* What -v prints of a skew that rounds to 0. */
	FILE *terminal = stderr;
	size_t length;
	char *text;
	struct path path;
	make_up(&made);
	find_result(&made);
	find_path(&made, &path);
	made.skew = (struct clock){-499, 0};
	stderr = open_memstream(&text, &length);
	print_details(&made, &path);
	fclose(stderr);
	stderr = terminal;
	ok(strstr(text, "clock skew: 0.000 ms") != NULL, "0 has no sign");
	free(text);

	/* More than one rank of the node. */
	make_up(&made);
	made.n = 4;
	for (int i = 0; i < RANKS; i++)
		made.stamps[i].replied = i < 4 ? s + 90 * ms : 0;
	for (int i = 5; i < RANKS; i++)
		made.facts[i].fences[1].entered += (i == 5 ? 4 : i) * ms;
	is_path(&made,
		"daemon 0 10, spawn 0 10, load 0 10, setup 0 10, fence 0 10, "
		"setup 7 17, fence 7 3, "
		"setup 0 10, wireup 0 10; -",
		"less than a tenth of the time does not stand out");
	for (int i = 5; i < RANKS; i++)
		made.facts[i].fences[1].entered += 3 * ms;
	is_path(&made,
		"daemon 0 10, spawn 0 10, load 0 10, setup 0 10, fence 0 10, "
		"setup 7 20, fence 7 0, "
		"setup 0 10, wireup 0 10; setup 7 10 2",
		"the node is late: two more have half of the excess");
	is_path_of_any();
	is_selected();
	free(made.partner);

	struct facts tree[8] = {{.repeat = 0}};
	struct run forest = {.facts = tree, .size = 8, .n = 1};
	struct clock sums[8];
	for (int i = 0; i < 8; i++)
		tree[i].clock = (struct clock){i ? 1 << 4 * i : 0, i};
	sum_clocks(&forest, sums);
	ok(sums[7].offset == 0x11010000 && sums[7].bound == 7 + 6 + 4,
	   "block 7's clock is the sum down the tree, 4, 6, 7, and so is the bound");
	ok(sums[5].offset == 0x110000 && sums[0].offset == 0, "so is block 5's, and 0 is 0's");

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
