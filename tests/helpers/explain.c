/* Tests functions of explain/, which need no MPI. Prints TAP. Writes to the current directory. */
#include "../../explain/clocks.c"
#include "../../explain/judge.c"
#include "../../explain/names.c"

static void (*meanwhile)(void); /* is called once, after the next line has been read */

static char *read_line(char *line, int size, FILE *file)
{
	char *result = fgets(line, size, file);
	void (*call)(void) = meanwhile;

	meanwhile = NULL;
	if (call)
		call();
	return result;
}

#define fgets read_line
#include "../../explain/files.c"
#undef fgets

static int count, failed;

/* Returns PASSED. */
static int ok(int passed, const char *name)
{
	failed += !passed;
	printf("%sok %d - %s\n", passed ? "" : "not ", ++count, name);
	return passed;
}

static void *allocate(int elements, size_t size)
{
	void *block = calloc((size_t)elements, size);

	if (!block)
		abort();
	return block;
}

static void test_work(void)
{
	const struct reading none = {0, 0, 0}, some = {5, -1, 3}, more = {9, 9, 9};
	const struct reading day = {86400LL * 1000000, 86400LL * 1000000, 1 << 22};
	struct work work = work_between(none, some);

	ok(work.cpu == 5 && work.cpu_wait == -1 && work.faults == 3, "cpu_wait may be unknown");
	work = work_between(some, more);
	ok(work.cpu == 4 && work.cpu_wait == -1 && work.faults == 6, "at either end");
	work = work_between(more, none);
	ok(work.cpu == 0 && work.cpu_wait == 0 && work.faults == 0, "work is never negative");
	work = work_between(none, day);
	ok(work.cpu == day.cpu && work.cpu_wait == day.cpu && work.faults == 1 << 22,
	   "a day of work, and 16 GiB of page faults, can be stored");
}

/* Checks which placement rule blocks of N ranks break. NODES and HOSTS have a letter for the node
 * and for the host name of each rank. RULE is 's' if RANK is not on the node of its block;
 * otherwise 'e' if two blocks share a node under the same host name, or 'w' if they do so under
 * different ones. RANK is then the first rank of the later block. RULE is '-' if none is broken. */
static void is_placement(const char *nodes, const char *hosts, int n, char rule, int rank)
{
	struct record records[20] = {{.node = 0}};
	struct run placed = {.records = records, .size = (int)strlen(nodes), .n = n};
	int earlier = 0, later;
	char found = '-';

	placed.new_array = allocate;
	for (int i = 0; i < placed.size; i++) {
		records[i].node = (uint64_t)nodes[i] << 56;
		records[i].host[0] = hosts[i];
	}
	if ((later = find_stray(&placed)) >= 0)
		found = 's';
	else if ((later = find_shared_node(&placed, true, &earlier)) >= 0)
		found = 'e';
	else if ((later = find_shared_node(&placed, false, &earlier)) >= 0)
		found = 'w';
	if (!ok(found == rule && later == rank, nodes))
		printf("# on nodes %s, hosts %s: found %c, %d\n", nodes, hosts, found, later);
}

/* The run that is made up, its ranks, and the bounds of their clocks. */
enum { RANKS = 8 };
static struct run run, drawn; /* with stamps, and with marks */
static struct path path;
static const int64_t ms = 1000, s = 1000000, bound = 10;

/* Makes up a run in which every phase takes 10 ms: the parent is created 10 ms after the start, the
 * process at 20 ms, main is entered at 30 ms, two fences are entered at 40 and 60 ms and left at 50
 * and 70 ms, MPI_Init returns at 80 ms, and replies come at 90 ms. In each of its own phases, and
 * in each fence, a process spends 4 ms on a CPU and 3 ms waiting for one. It has 1, 2, 3 and 4
 * faults in its own phases. */
static void make_up(void)
{
	static const int faults[] = {1, 3, 3, 6, 6, 10}; /* so far, at each reading */
	static struct record records[RANKS];
	static struct estimate offsets[RANKS];
	static struct values values[RANKS];

	run = (struct run){.start = s, .size = RANKS, .n = 2, .new_array = allocate};
	run.records = records;
	run.offsets = offsets;
	run.values = values;
	for (int rank = 0; rank < RANKS; rank++) {
		struct record *record = records + rank;

		*record = (struct record){.parent = "prted", .existed = s + 30 * ms};
		offsets[rank] = (struct estimate){0, bound};
		for (int m = START, known = 0; m < MARKS; m++) {
			int i = known - CREATED - 1; /* of the readings from main on */

			record->at[m] = UNKNOWN;
			if (m == LIBRARIES_LOADED || (m >= FENCE_ENTERED + 4 && m < INIT_RETURNED))
				continue;
			record->at[m] = s + 10 * ms * known++;
			if (m < MAIN_ENTERED || m > INIT_RETURNED)
				continue;
			record->readings[m - LIBRARIES_LOADED] =
				(struct reading){4000 * (i + 1), 3000 * (i + 1), faults[i]};
		}
		if (rank / 2 % 2)
			record->at[REPLY_RECEIVED] = UNKNOWN;
	}
}

/* Adds LATE to the stamps of RANK from MARK up to, but not including, END. */
static void shift(int rank, int mark, int end, int64_t late)
{
	for (; mark < end; mark++)
		if (run.records[rank].at[mark] != UNKNOWN)
			run.records[rank].at[mark] += late;
}

/* Adds LATE to the stamps of all ranks from MARK on. */
static void delay_all(int mark, int64_t late)
{
	for (int rank = 0; rank < run.size; rank++)
		shift(rank, mark, MARKS, late);
}

/* Delays RANK by LATE, at MARK and at the marks up to the next fence, which all ranks then leave
 * late. */
static void delay(int rank, int mark, int64_t late)
{
	int next = FENCE_LEFT;

	while (next <= mark)
		next += 2;
	if (mark >= INIT_RETURNED)
		next = MARKS; /* no other rank waits for this mark */
	delay_all(next, late);
	shift(rank, mark, next, late);
}

/* Sets the stamps of all ranks at MARK to US after the start, or to UNKNOWN. */
static void set_all(int mark, int64_t us)
{
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].at[mark] = us == UNKNOWN ? UNKNOWN : s + us;
}

/* Removes the fences of RANK from fence K on. */
static void forget_fences(int rank, int k)
{
	for (int m = FENCE_ENTERED + 2 * k; m < INIT_RETURNED; m++)
		run.records[rank].at[m] = UNKNOWN;
}

/* Does what ziaprobe.c does: pairs the ranks, and finds the latest reply. */
static void exchange(void)
{
	const struct record *slowest;

	run.slowest = 0;
	for (int rank = 0; rank < run.size; rank++) {
		struct record *record = run.records + rank;

		record->partner = rank / run.n % 2 ? -1 : (rank + run.n) % run.size;
		if (record->at[REPLY_RECEIVED] > run.records[run.slowest].at[REPLY_RECEIVED])
			run.slowest = rank;
	}
	slowest = run.records + run.slowest;
	run.time = slowest->at[REPLY_RECEIVED] - run.start;
}

static void finish(void)
{
	static struct record records[RANKS];

	exchange();
	drawn = run;
	drawn.records = memcpy(records, run.records, sizeof records);
	draw_timelines(&drawn);
	find_path(&drawn, &path);
}

/* Returns what the cell of RANK in COLUMN is. */
static int64_t value(int rank, enum column column)
{
	finish();
	return drawn.values[rank].in[column];
}

/* Checks that the path of the run is TEXT, and makes up the next run. A phase is its letter, the
 * rank at whose mark it ends and, unless that is 10, its length in ms. The letters are D, S, E, I,
 * F (daemon, spawn, exec, init, fence), U (setup), X (exchange) and C (clock). After "; " follow
 * the outlier, its excess, the number of other ranks and, if they are on several nodes, their
 * number. */
static void is_path(const char *text, const char *name)
{
	static const char letters[] = {
		[DAEMON] = 'D', [SPAWN] = 'S', [EXEC] = 'E',     [SETUP] = 'U',
		[INIT] = 'I',   [FENCE] = 'F', [EXCHANGE] = 'X', [CLOCK] = 'C'};
	char got[1000] = "";
	struct outlier outlier;
	int length = 0;

	finish();
	for (int i = path.first; i < PHASES; i++) {
		length += sprintf(got + length, "%c%d", letters[path.phase[i].column],
				  path.phase[i].end.rank);
		if (path.phase[i].us != 10 * ms)
			length += sprintf(got + length, "=%g", (double)path.phase[i].us / 1000);
		got[length++] = ' ';
	}
	outlier = find_outlier(&drawn, &path);
	if (outlier.phase)
		length += sprintf(got + length - 1, "; %c%d %g %d", letters[outlier.phase->column],
				  outlier.phase->end.rank, (double)outlier.excess / 1000,
				  outlier.others);
	else
		sprintf(got + length - 1, "; -");
	if (outlier.nodes > 1)
		sprintf(got + length - 1, " %d", outlier.nodes);
	if (!ok(strcmp(got, text) == 0, name))
		printf("#  got: %s\n# like: %s\n", got, text);
	make_up();
}

/* Checks the summary of COLUMN over the phases that end at MARK or, if MARK is MARKS, over all. */
static void is_summary(enum mark mark, enum column column, int64_t min, int64_t median, int64_t max,
		       int slowest)
{
	struct phase like = {.end.mark = mark};
	struct summary got;

	finish();
	got = summarise(&drawn, mark == MARKS ? NULL : &like, column);
	if (!ok(got.min == min * ms && got.median == median * ms && got.max == max * ms &&
			got.slowest == slowest,
		"min, median, max and the slowest rank"))
		printf("# %d %d %d, rank %d\n", (int)got.min, (int)got.median, (int)got.max,
		       got.slowest);
}

/* Checks which clocks are the reference and the worst one, and the offset of the worst, of BLOCKS
 * blocks of two ranks. CLOCKS are those of blocks 1 and 2, compared with block 0's; LAUNCH is the
 * block on the launch node, or -1. The latest replies come at 7 in block 0, and at 8 in block 2. */
static struct run *is_worst(int blocks, int launch, const struct estimate *clocks, int reference,
			    int worst, struct estimate offset, const char *name)
{
	static const int64_t replied[6] = {5, 7, UNKNOWN, UNKNOWN, 6, 8};
	static struct record records[6];
	static struct estimate offsets[3];
	static struct run three;
	struct estimate got;

	three = (struct run){.start = 3, .size = 2 * blocks, .n = 2, .records = records};
	three.offsets = offsets;
	three.new_array = allocate;
	for (int rank = 0; rank < 2 * blocks; rank++) {
		records[rank] = (struct record){.on_launch_node = rank / 2 == launch};
		records[rank].at[REPLY_RECEIVED] = replied[rank];
		if (rank > 1)
			records[rank].clock = clocks[rank / 2 - 1];
	}
	resolve_clocks(&three);
	got = offset_of(&three, 2 * three.worst_clock + 1);
	ok(three.reference_clock == reference && three.worst_clock == worst &&
		   three.launch_clock_known == (launch >= 0) && got.value == offset.value &&
		   got.bound == offset.bound && offset_of(&three, 2 * reference).value == 0,
	   name);
	return &three;
}

#define CLOCKS(...) ((struct estimate[]){__VA_ARGS__})
#define OFFSET(value, bound) ((struct estimate){value, bound})

static void test_clocks(void)
{
	static struct record records[8];
	static struct estimate offsets[8];
	struct run eight = {.size = 8, .n = 1, .records = records, .new_array = allocate}, *three;

	is_worst(1, -1, NULL, 0, 0, OFFSET(0, 0), "a single clock is not off");
	is_worst(2, -1, CLOCKS({100, 3}), 0, 1, OFFSET(100, 3), "of two clocks, the lower one");
	is_worst(3, -1, CLOCKS({200, 3}, {-300, 150}), 0, 2, OFFSET(-300, 150),
		 "if no clock is off by 1 ms, the one that comes closest to it");
	is_worst(3, -1, CLOCKS({10 * ms, 20 * ms}, {-5 * ms, 1}), 0, 2, OFFSET(-5 * ms, 1),
		 "a clock that is certainly off is worse than one that may be further off");
	three = is_worst(3, 0, CLOCKS({900, 0}, {2000, 1500}), 0, 2, OFFSET(2000, 1500),
			 "a clock that is tolerated is better than one that is not");
	ok(clock_excess(three, offset_of(three, 4)) == 500 &&
		   clock_excess(three, offset_of(three, 2)) == -100,
	   "only the second of the two is warned of");
	is_worst(3, -1, CLOCKS({7, 9}, {5, 7}), 2, 0, OFFSET(-5, 7),
		 "the reference clock itself is never the worst one");
	is_worst(3, -1, CLOCKS({5, 1}, {-5, 1}), 0, 1, OFFSET(5, 1),
		 "of equals, the lowest block wins");
	three = is_worst(3, 1, CLOCKS({100, 3}, {2, 4}), 1, 0, OFFSET(-100, 3),
			 "the clock furthest from the launch node's");
	ok(three->corrected == 7 + 100 - 3, "the latest corrected stamp is used");
	three = is_worst(3, 1, CLOCKS({100, 100}, {2, 4}), 1, 0, OFFSET(-100, 100),
			 "a clock that may agree with the launch node's");
	ok(correction(three, 0) == 0 && three->corrected == 8 - 3,
	   "an offset within its bound counts as 0");

	three = is_worst(3, 0, CLOCKS({1500, 0}, {-1800, 1700}), 0, 1, OFFSET(1500, 0),
			 "the clock furthest beyond what is tolerated");
	three->time = 175 * ms;
	resolve_clocks(three);
	ok(three->worst_clock == 2 && clock_excess(three, offset_of(three, 4)) == 50,
	   "1 % of the time is tolerated");

	for (int i = 0; i < 8; i++)
		records[i] =
			(struct record){.clock = {i ? 1 << 4 * i : 0, i}, .on_launch_node = i == 0};
	eight.offsets = offsets;
	resolve_clocks(&eight);
	ok(eight.offsets[7].value == 0x11010000 && eight.offsets[7].bound == 7 + 6 + 4,
	   "block 7's offset and bound are the sums over blocks 4, 6 and 7 of the tree");
}

/* Returns the number of the first check that the run fails, counting from 1, or 0 if it passes all
 * of them; -1 if judge_run() does not agree. */
static int first_error(void)
{
	bool (*const checks[])(const struct run *) = {check_placement, check_jumps, check_starts,
						      check_existence, check_time};

	int i = 0;

	while (i < 5 && checks[i](&run))
		i++;
	if (judge_run(&run) != (i == 5))
		return -1;
	return i < 5 ? i + 1 : 0;
}

static void test_judge(void)
{
	struct record *record;

	is_placement("aaabbbccc", "aaabbbccc", 3, '-', -1);
	is_placement("cba", "aaa", 1, '-', -1);
	is_placement("abab", "abab", 2, 's', 1);
	is_placement("aabbcb", "aaaaaa", 2, 's', 5);
	is_placement("aabbcccc", "aabbcccc", 2, 'e', 6);
	is_placement("aabbaabb", "aabbaabb", 2, 'e', 4);
	is_placement("aaaa", "abcb", 1, 'e', 3);
	is_placement("aaaa", "abcd", 4, '-', -1);
	is_placement("aaaabbbb", "abcdefgh", 2, 'w', 2);
	is_placement("aaa", "cab", 1, 'w', 1);

	make_up();
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].node = (uint64_t)rank / 2;
	run.time = 90 * ms;
	run.launch_clock_known = true;
	record = run.records + 3;
	ok(first_error() == 0, "a valid measurement");
	record->node++;
	ok(first_error() == 1, "a rank on another node than its block");
	record->node--;
	record->jump = (struct estimate){-1000, 2001};
	ok(first_error() == 0, "a jump of 1 ms");
	record->jump.value = 2001;
	ok(first_error() == 0, "a jump that may be a reading error");
	record->jump.bound = 2000;
	ok(first_error() == 2, "a jump of more than 1 ms");
	record->jump.value = -2001;
	ok(first_error() == 2, "a jump back");
	record->jump = (struct estimate){2001, 0};
	run.time = 200 * ms;
	ok(first_error() == 2, "a jump of more than 1 % of the time");
	record->jump.value = 2000;
	ok(first_error() == 0, "a jump of 1 % of the time");
	record->at[START]++;
	ok(first_error() == 3, "a rank that was given another start");
	record->at[START]--;
	record->existed = s - bound;
	ok(first_error() == 0, "in existence before the start, within the bound of its clock");
	record->existed--;
	ok(first_error() == 4, "in existence before the start, beyond the bound of its clock");
	run.launch_clock_known = false;
	run.offsets[3].value = 1 - bound;
	ok(first_error() == 0,
	   "in existence before the start, but the launch node's clock is unknown");
	run.launch_clock_known = true;
	run.offsets[1].value = -1;
	ok(first_error() == 0, "in existence before the start, but not by the reference clock");
	record->existed = s + 30 * ms;

	record->jump.value = 0;
	run.time = -1;
	ok(first_error() == 5, "a negative time");
	run.time = 0;
	run.corrected = -1;
	ok(first_error() == 5, "a negative corrected time");
	run.launch_clock_known = false;
	ok(first_error() == 0, "without the launch node's clock, there is no corrected time");
}

/* One rank, mostly 5, is late at one place. */
static void test_late_rank(void)
{
	is_summary(MARKS, INIT, 30, 30, 30, 0);
	is_summary(MARKS, WAIT, 0, 0, 0, 0);
	is_summary(MARKS, DAEMON, 10, 10, 10, 0);
	for (int rank = 0; rank < RANKS; rank++)
		shift(rank, CREATED, MAIN_ENTERED, rank * ms);
	is_summary(MARKS, SPAWN, 10, 13, 17, 7);
	make_up();
	finish();
	ok(find_awaited(&drawn, 5, FENCE_LEFT).rank == 0, "of equals, the lowest rank was last in");
	is_path("D0 S0 E0 I0 F0 I0 F0 I0 X0; -", "nobody is late");
	delay(5, CREATED, s);
	is_summary(MARKS, SPAWN, 10, 10, 1010, 5);
	is_path("D5 S5=1010 E5 I5 F0 I0 F0 I0 X0; S5 1000 0", "late to be created");
	delay_all(FENCE_LEFT, s);
	is_path("D0 S0 E0 I0 F0=1010 I0 F0 I0 X0; -",
		"late inside a fence: all leave it late, and nobody is an outlier");
	delay(5, FENCE_LEFT, s);
	is_path("D5 S5 E5 I5 F5=1010 I5 F0 I0 X0; F5 1000 0", "late to leave a fence");
	delay(5, FENCE_ENTERED + 2, s);
	ok(value(0, WAIT) == s && value(5, WAIT) == 0, "the others wait for a late rank");
	is_path("D5 S5 E5 I5 F5 I5=1010 F0 I0 X0; I5 1000 0", "late between the fences");
	delay(5, CREATED, s);
	delay(4, FENCE_ENTERED + 2, 500 * ms);
	is_path("D5 S5=1010 E5 I5 F4 I4=510 F0 I0 X0; S5 1000 0", "of two, the one that is later");
	finish();
	ok(sum_path(&drawn, &path, CLOCK) == 0 && sum_path(&drawn, &path, FENCE) == 20 * ms &&
		   sum_path(&drawn, &path, SETUP) == UNKNOWN,
	   "sums over the path");
	forget_fences(6, 0);
	finish();
	ok(sum_path(&drawn, &path, FENCE) == UNKNOWN, "no fences, no sum");
	make_up();
	delay(5, CREATED, 2 * TICK - 1);
	is_path("D5 S5=29.999 E5 I5 F0 I0 F0 I0 X0; -", "by less than two ticks of the clock");
	delay(5, CREATED, 2 * TICK);
	is_path("D5 S5=30 E5 I5 F0 I0 F0 I0 X0; S5 20 0", "by two");
	delay(5, FENCE_ENTERED, 2 * TICK - 1);
	is_path("D5 S5 E5 I5=29.999 F0 I0 F0 I0 X0; I5 19.999 0", "which init does not need");
	delay(5, MAIN_ENTERED, 2 * TICK - 1);
	is_path("D5 S5 E5=29.999 I5 F0 I0 F0 I0 X0; -", "and exec does");
	delay(5, CREATED, s);
	delay(4, FENCE_ENTERED + 2, s);
	is_path("D5 S5=1010 E5 I5 F4 I4=1010 F0 I0 X0; S5 1000 0", "of two alike, the first");
}

/* Unknown marks, and marks that are distorted by the resolution of clock ticks */
static void test_creations(void)
{
	set_all(PARENT_CREATED, -2 * TICK - 1);
	is_path("S0=20 E0 I0 F0 I0 F0 I0 X0; -", "parents that existed before the start");
	set_all(PARENT_CREATED, -2 * TICK);
	is_path("D0=0 S0=20 E0 I0 F0 I0 F0 I0 X0; -",
		"parents created two ticks before the start do count");
	set_all(PARENT_CREATED, -2 * TICK - 1);
	for (int rank = 0; rank < RANKS; rank++)
		strcpy(run.records[rank].parent, "slurmstepd");
	is_path("D0=0 S0=20 E0 I0 F0 I0 F0 I0 X0; -", "every slurmstepd counts");
	set_all(CREATED, UNKNOWN);
	is_path("E0=30 I0 F0 I0 F0 I0 X0; -", "no creation is known");
	set_all(CREATED, 35 * ms);
	set_all(PARENT_CREATED, 33 * ms);
	is_path("D0=30 S0=0 E0=0 I0 F0 I0 F0 I0 X0; -", "a creation is never later than main");

	run.records[0].by_mpirun = 1;
	run.records[0].at[PARENT_CREATED] += 8 * ms;
	ok(value(1, WAIT) == 0, "only mpirun's processes wait for its daemons");
	make_up();

	/* mpirun launches when all its daemons have reported. */
	run.records[0].by_mpirun = 1;
	run.records[2].at[PARENT_CREATED] += 8 * ms;
	is_path("D0 S0 E0 I0 F0 I0 F0 I0 X0; -",
		"the daemons of other launchers are not waited for");
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].by_mpirun = 1;
	run.records[2].at[PARENT_CREATED] += 8 * ms;
	ok(value(0, WAIT) == 8 * ms, "the other ranks wait for that daemon");
	is_path("D2=18 S0=2 E0 I0 F0 I0 F0 I0 X0; -",
		"spawn begins with the last of mpirun's daemons");
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].by_mpirun = 1;
	delay(2, CREATED, 25 * ms);
	run.records[2].at[PARENT_CREATED] += 30 * ms;
	ok(value(0, WAIT) == (10 + 25) * ms,
	   "a daemon that came two ticks after a process was waited for");
	run.records[2].at[PARENT_CREATED] += 1 * ms;
	ok(value(0, WAIT) == 25 * ms, "one that came later was not");
	is_path("D2=41 S2=4 E2 I2 F0 I0 F0 I0 X0; D2 31 0", "and is the outlier");
}

/* Makes up the run of a program whose libraries are loaded at 25 ms. */
static void make_up_program(void)
{
	make_up();
	set_all(LIBRARIES_LOADED, 25 * ms);
	for (int rank = 0; rank < RANKS; rank++) {
		run.records[rank].readings[0] = (struct reading){3000, 1000, 0};
		run.records[rank].one_thread = true;
	}
}

static void test_programs(void)
{
	make_up_program();
	ok(value(0, EXEC) == 5 * ms && value(0, SETUP) == 5 * ms, "exec and setup");
	is_path("D0 S0 E0=5 U0=5 I0 F0 I0 F0 I0 X0; -", "the start of a program");
	make_up_program();
	delay(5, MAIN_ENTERED, s);
	is_path("D5 S5 E5=5 U5=1005 I5 F0 I0 F0 I0 X0; U5 1000 0", "late in setup");
	make_up_program();
	delay(5, LIBRARIES_LOADED, s);
	is_path("D5 S5 E5=1005 U5=5 I5 F0 I0 F0 I0 X0; E5 1000 0", "late in loading libraries");
	make_up_program();
	set_all(CREATED, 28 * ms);
	is_path("D0 S0=15 E0=0 U0=5 I0 F0 I0 F0 I0 X0; -",
		"a process is not created after its libraries are loaded");
	make_up_program();
	run.records[5].at[LIBRARIES_LOADED] = UNKNOWN;
	ok(value(5, EXEC) == 10 * ms && value(5, SETUP) == UNKNOWN && value(5, CPU) == 4 * 4000,
	   "without that mark, all is exec");
	make_up_program();
	ok(value(5, CPU) == 4 * 4000 && value(5, FAULTS) == 10, "what a rank did in its setup");
	run.records[5].one_thread = false;
	ok(value(5, CPU) == 3000 + 3 * 4000 && value(5, BLOCKED) == 1000 + 3 * 3000 &&
		   value(5, FAULTS) == 10,
	   "is unknown if another thread calls MPI_Init, except for the faults");
	make_up();
}

static void test_exchanges(void)
{
	run.records[7].at[INIT_RETURNED] += 5 * ms;
	is_path("D0 S0 E0 I0 F0 I0 F0 I0 X0; -", "a partner that nobody on the path waits for");
	run.records[7].at[INIT_RETURNED] += 5 * ms;
	run.records[5].at[REPLY_RECEIVED] += 20 * ms;
	is_path("D7 S7 E7 I7 F7 I7 F7 I7=15 X5=25; X5 15 0", "a partner that is ready later");
	run.size = 6;
	run.records[1].at[REPLY_RECEIVED] += 15 * ms;
	run.records[5].at[REPLY_RECEIVED] += 20 * ms;
	is_path("D1 S1 E1 I1 F1 I1 F1 I1 X1=25 X5=5; X1 20 0",
		"block 0 answers the last of three after its own exchange");
	run.size = 2;
	run.n = 1;
	run.records[1].at[REPLY_RECEIVED] = UNKNOWN;
	run.records[0].at[REPLY_RECEIVED] += s;
	is_path("D0 S0 E0 I0 F0 I0 F0 I0 X0=1010; -",
		"a single originator's exchange is not an outlier");
}

/* Fences that are not barriers, differ in number, or overlap */
static void test_fences(void)
{
	shift(3, FENCE_ENTERED + 2, INIT_RETURNED, 10 * ms + 2 * bound);
	run.records[3].at[FENCE_LEFT + 2] = run.records[3].at[FENCE_ENTERED + 2];
	ok(value(0, FENCE) == 10 * ms, "no phase is negative");
	is_path("D3 S3 E3 I3 F3 I3=20 F0=0 I0 X0; I3 10 0",
		"a fence left before the last rank entered it, within the bounds of both clocks");
	shift(3, FENCE_ENTERED + 2, INIT_RETURNED, 10 * ms + 2 * bound + 1);
	run.records[3].at[FENCE_LEFT + 2] = run.records[3].at[FENCE_ENTERED + 2];
	finish();
	ok(find_awaited(&drawn, 0, FENCE_LEFT + 2).rank < 0 &&
		   find_awaited(&drawn, 0, FENCE_LEFT).rank >= 0,
	   "one of the fences did not hold");
	is_path("D0 S0 E0 I0 F0 I0 F0 I0 X0; -", "beyond those bounds, the fence did not hold");
	forget_fences(6, 1);
	ok(value(3, FAULTS) == 10 && value(3, CPU) == 5 * 4000,
	   "what is done in a fence that does not count belongs to the phase around it");
	is_path("D0 S0 E0 I0 F0 I0=30 X0; -", "a fence that one rank does not have does not count");
	set_all(FENCE_ENTERED + 2, 45 * ms);
	is_path("D0 S0 E0 I0 F0 I0=0 F0=20 I0 X0; -", "fences that overlap");
}

/* Makes up a run without fences in which all ranks return from MPI_Init late by MAIN_LATE, and rank
 * SLOWEST by 100 ms more. Rank LATE enters main late by MAIN_LATE, so that the others may have
 * waited for it, or may not. */
static void hide_fences(int slowest, int late, int64_t main_late)
{
	forget_fences(6, 0);
	delay_all(INIT_RETURNED, main_late);
	shift(slowest, INIT_RETURNED, MARKS, 100 * ms);
	shift(late, MAIN_ENTERED, FENCE_ENTERED, main_late);
}

/* Without fences, nobody is blamed for what happened before MPI_Init returned. */
static void test_unseen_fences(void)
{
	hide_fences(0, 1, 4900 * ms);
	is_path("D0 S0 E0 I0=5050 X0; -",
		"without fences, the path does not go to a rank that entered main late");
	hide_fences(5, 5, 1800 * ms);
	is_path("D5 S5 E5=1810 I5=150 X5; -",
		"and a rank that entered main late is not blamed even if it is the slowest");
	hide_fences(7, 7, 1800 * ms);
	run.records[5].at[REPLY_RECEIVED] += 100 * ms;
	is_path("D7 S7 E7=1810 I7=150 X5; -", "nor if the slowest one waited for its answer");
	hide_fences(5, 0, 1800 * ms);
	ok(value(5, WAIT) == 0 && value(5, INIT) == value(5, WHOLE_INIT) && value(5, CPU) == 4000 &&
		   value(5, FAULTS) == 1,
	   "without fences, no rank waits in MPI_Init, and its work there is unknown");
	run.records[1].at[REPLY_RECEIVED] += s;
	is_path("D1 S1 E1 I1=1850 X1=1010; X1 1000 0", "an exchange can still stand out");
}

static void test_shifted_clocks(void)
{
	run.offsets[0].value = bound;
	is_path("D0 S0 E0 I0 F0 I0 F0 I0 X0; -", "a clock offset within its bound counts as 0");
	run.offsets[2].value = 300 * ms;
	shift(4, PARENT_CREATED, MARKS, 300 * ms);
	shift(5, PARENT_CREATED, MARKS, 300 * ms);
	finish();
	ok(drawn.records[4].at[REPLY_RECEIVED] == drawn.values[4].in[COMPLETED] - 300 * ms,
	   "a rank's marks are by the reference clock");
	is_path("D4 S4 E4 I4 F4 I4 F4 I4 X4 C4=300; -", "the slowest rank's clock is ahead");
	run.offsets[2].value = -5 * ms;
	shift(4, PARENT_CREATED, MARKS, -5 * ms);
	shift(5, PARENT_CREATED, MARKS, -5 * ms);
	shift(4, REPLY_RECEIVED, MARKS, 20 * ms);
	is_path("D4 S4 E4 I4 F4 I4 F4 I4 X4=30 C4=-5; X4 20 0", "its clock is behind");
	run.offsets[2].value = s;
	finish();
	ok(drawn.records[4].at[REPLY_RECEIVED] == 0 && drawn.records[4].at[MAIN_ENTERED] == 0,
	   "no mark lies before the start");
}

/* What a process did in its phases */
static void test_phase_works(void)
{
	static const struct {
		int mark;
		int64_t length, expected[4]; /* cpu to faults, in the last LENGTH us of the phase */
	} cases[] = {
		{PARENT_CREATED, 10000, {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN}},
		{CREATED, 10000, {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN}},
		{MAIN_ENTERED, 10000, {4000, 3000, 3000, 1}},
		{FENCE_LEFT, 10000, {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN}},
		{FENCE_ENTERED + 2, 10000, {4000, UNKNOWN, UNKNOWN, 3}},
		{INIT_RETURNED, 10000, {4000, 3000, 3000, 4}},
		{INIT_RETURNED, 5000, {4000, 1000, 0, 4}},
		{INIT_RETURNED, 3000, {3000, 0, 0, 4}},
		{REPLY_RECEIVED, 10000, {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN}},
	};

	make_up();
	finish();
	ok(drawn.values[0].in[CPU] == 4 * 4000 && drawn.values[0].in[BLOCKED] == 4 * 3000 &&
		   drawn.values[0].in[FAULTS] == 1 + 2 + 3 + 4,
	   "a rank's work is the sum of its four own phases");
	run.records[0].readings[FENCE_ENTERED + 2 - LIBRARIES_LOADED].cpu_wait = -1;
	finish();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct phase phase = find_phase(&drawn, 0, cases[i].mark);

		phase.us = cases[i].length;
		for (int k = 0; k < 4; k++)
			if (!ok(phase_value(&drawn, &phase, CPU + k) == cases[i].expected[k],
				"what a rank did in a phase"))
				printf("# case %zu, %s\n", i, column_names[CPU + k]);
	}
	run.records[1].readings[MAIN_ENTERED - LIBRARIES_LOADED].cpu_wait = 0;
	ok(value(1, BLOCKED) == (6 + 0 + 3 + 3) * ms, "a rank that did not wait for a CPU");
}

/* Makes up a run in which rank 4 is late at MARK by 300 ms. Of these, it spends CPU and CPU_WAIT ms
 * in that way; if CPU_WAIT is -1, that is unknown. All ranks are late by ALL ms, too. Checks that
 * the outlier is that phase, and its KIND. */
static void is_kind(int mark, int all, int cpu, int cpu_wait, enum column kind)
{
	struct outlier outlier;

	make_up();
	delay_all(mark, all * ms);
	delay(4, mark, 300 * ms);
	for (int i = mark - LIBRARIES_LOADED; i < READINGS; i++) {
		run.records[4].readings[i].cpu += cpu * ms;
		run.records[4].readings[i].cpu_wait += MAX(cpu_wait, 0) * ms;
	}
	if (cpu_wait < 0)
		run.records[4].readings[mark - LIBRARIES_LOADED].cpu_wait = -1;
	finish();
	outlier = find_outlier(&drawn, &path);
	if (!ok(outlier.phase && outlier.phase->end.mark == (enum mark)mark &&
			outlier.phase->end.rank == 4 && outlier.kind == kind,
		"the outlier's kind is the one that is furthest above its own median"))
		printf("# mark %d, got %d, expected %d\n", mark,
		       outlier.phase ? (int)outlier.kind : -1, kind);
}

static void test_outliers(void)
{
	static const int marks[] = {MAIN_ENTERED, FENCE_ENTERED, INIT_RETURNED};

	for (int i = 0; i < 3; i++) {
		is_kind(marks[i], 0, 0, 0, BLOCKED);
		is_kind(marks[i], 0, 160, 0, CPU);
		is_kind(marks[i], 0, 0, 160, CPU_WAIT);
		is_kind(marks[i], 0, 0, -1, COLUMNS);
		is_kind(marks[i], 200, 190, 0, CPU);
	}
	is_kind(REPLY_RECEIVED, 0, 0, 0, COLUMNS);

	/* The outlier's excess, and how many ranks share it */
	make_up();
	for (int late = 9; late <= 20; late += 11) {
		run.n = 4;
		for (int rank = 0; rank < RANKS; rank++)
			run.records[rank].at[REPLY_RECEIVED] = rank < 4 ? s + 90 * ms : UNKNOWN;
		delay_all(FENCE_LEFT + 2, late * ms);
		run.records[5].at[FENCE_ENTERED + 2] += late * ms / 2 - 1;
		run.records[6].at[FENCE_ENTERED + 2] += late * ms;
		run.records[7].at[FENCE_ENTERED + 2] += late * ms / 2;
		if (late == 9)
			is_path("D6 S6 E6 I6 F6 I6=19 F0 I0 X0; -",
				"an excess of less than a tenth of the time is not an outlier");
		else
			is_path("D6 S6 E6 I6 F6 I6=30 F0 I0 X0; I6 20 1",
				"one more rank of the block has at least half of the excess");
	}

	/* On how many nodes they are */
	for (int rank = 2; rank < 5; rank++)
		shift(rank, FENCE_ENTERED, FENCE_LEFT, rank == 4 ? 299 * ms : 300 * ms);
	delay_all(FENCE_LEFT, 300 * ms);
	is_path("D2 S2 E2 I2=310 F0 I0 F0 I0 X0; I2 300 2 2", "ranks of two blocks");
	shift(2, FENCE_ENTERED, FENCE_LEFT, 300 * ms);
	shift(6, FENCE_ENTERED, FENCE_LEFT, 149 * ms);
	delay_all(FENCE_LEFT, 300 * ms);
	is_path("D2 S2 E2 I2=310 F0 I0 F0 I0 X0; I2 300 0",
		"a rank of another block that has less than half of the excess");
	for (int rank = 1; rank < RANKS; rank += 2)
		shift(rank, FENCE_ENTERED, FENCE_LEFT, 300 * ms);
	delay_all(FENCE_LEFT, 300 * ms);
	is_path("D1 S1 E1 I1=310 F0 I0 F0 I0 X0; I1 300 3 4", "the last ranks of all blocks");
	run.records[0].at[REPLY_RECEIVED] += 300 * ms;
	run.records[4].at[REPLY_RECEIVED] += 301 * ms;
	is_path("D4 S4 E4 I4 F4 I4 F4 I4 X4=311; X4 301 1 2", "exchanges of two originators");
}

static FILE *open_rows(void)
{
	static const struct row row = {1, {{"header", ""}}};
	char header[HEADER_SIZE];

	return open_file("--csv", "rows", &row, true, header);
}

static void add_row(FILE *file)
{
	fputs("row\n", file);
	if (close_file(file, "rows") != 0)
		abort();
}

static void add_another_row(void)
{
	add_row(open_rows());
}

/* One run finds a new file. Another one adds a row before the first one writes the header, and a
 * third one after that. */
static void test_files(void)
{
	char text[100] = "";
	FILE *file;

	meanwhile = add_another_row;
	file = open_rows();
	add_another_row();
	add_row(file);
	file = fopen("rows", "r");
	ok(fread(text, 1, sizeof text - 1, file) > 0 &&
		   strcmp(text, "header\nrow\nrow\nrow\n") == 0,
	   "runs at the same time write one header, and all their rows");
	fclose(file);

	if (truncate("rows", (off_t)strlen("header\nro")) != 0)
		abort();
	add_another_row();
	file = fopen("rows", "r");
	ok(fread(text, 1, sizeof text, file) == 14 && memcmp(text, "header\nro\nrow\n", 14) == 0,
	   "a row that was cut off keeps its line");
	fclose(file);
}

/* Checks whether a file that begins with HEADER counts as one of --csv and of --ranks, if rows have
 * the cells a, b and so on up to s: 19, one more than those of --ranks in version 2.2. */
static void is_header(const char *header, bool of_csv, bool of_ranks)
{
	struct row row = {.count = 19};

	for (int i = 0; i < row.count; i++)
		sprintf(row.cell[i].name, "%c", 'a' + i);
	if (!ok(print_row(NULL, &row, header) == of_csv &&
			is_ranks_header(&row, header) == of_ranks,
		"whose header it is"))
		printf("# %s", header);
}

static void test_headers(void)
{
	is_header("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s\n", true, true);
	is_header("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r\n", true, true);
	is_header("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q\n", true, false);
	is_header("a,c,b,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r\n", true, false);
	is_header("b,a,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r\n", false, false);
	is_header("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t\n", false, false);
	is_header("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,\n", false, false);
	is_header("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r", false, false);
}

/* Prints the report of the whole run to the file NAME, and returns the exit status. */
static int print_to(const char *name)
{
	int before = dup(STDERR_FILENO), file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int status = -1;

	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].node = (uint64_t)(rank / run.n);
	run.program = run.mpi = run.fence_interface = "";
	run.verbose = true;
	exchange();
	dup2(file, STDERR_FILENO);
	if (check_run(&run))
		status = explain_run(&run);
	dup2(before, STDERR_FILENO);
	close(before);
	close(file);
	return status;
}

/* Prints the report of the run, and checks that its line that begins with START goes on with TEXT
 * or, if that is NULL, that there is none. Makes up the next run. */
static void is_line_of(const char *start, const char *text, const char *name)
{
	char line[400], got[400] = "";
	FILE *file;

	for (int rank = 0; rank < RANKS; rank++)
		sprintf(run.records[rank].host, "n%d", rank / run.n + 1);
	print_to("report");
	file = fopen("report", "r");
	while (fgets(line, sizeof line, file))
		if (strncmp(line, start, strlen(start)) == 0)
			sprintf(got, "%.*s", (int)strcspn(line, "\n"), line);
	fclose(file);
	if (!ok(text ? *got && strcmp(got + strlen(start), text) == 0 : !*got, name))
		printf("#  got: %s\n# like: %s%s\n", got, start, text ? text : " (none)");
	make_up();
}

static void is_line(const char *text, const char *name)
{
	is_line_of("outlier: ", text, name);
}

/* Checks that TEXT is the list of HOSTS, which are separated by blanks, and of which the last ones
 * may not fit: LEFT of them. */
static void is_list(const char *hosts, const char *text, int left)
{
	char copy[1000], got[TEXT_SIZE], *rest = strcpy(copy, hosts), *host;
	struct list list = {.range = 0};
	bool is_full = false;

	while ((host = strsep(&rest, " "))) {
		is_full = is_full || !add_name(&list, host);
		left -= is_full;
	}
	format_list(&list, got);
	if (!ok(strcmp(got, text) == 0 && left == 0, hosts))
		printf("#  got: %s, %d\n# like: %s\n", got, left, text);
}

static void test_names(void)
{
	const char *longest = "x123456789-123456789-123456789-123456789-123456789-123456789-123";

	is_list("n5", "n5", 0);
	is_list("n5 n6 n7 n9 n11 n12", "n[5-7,9,11-12]", 0);
	is_list("n9 n10 n99 n100", "n[9-10,99-100]", 0);
	is_list("n098 n099 n100", "n[098-100]", 0);
	is_list("n8 n09 n010", "n[8,09,010]", 0);
	is_list("n6 n5", "n[6,5]", 0); /* in the order of the job */
	is_list("n5 n5", "n[5,5]", 0); /* of two containers */
	is_list("login n1", "login,n1", 0);
	is_list("n1 m2 m3 n4", "n1,m[2-3],n4", 0);
	is_list("1 2 10", "[1-2,10]", 0);
	is_list("x3c0s1b0n0 x3c0s1b0n1 x3c0s2b0n0", "x3c0s1b0n[0-1],x3c0s2b0n0", 0);
	is_list("n5.hpc1.example.org n6.hpc1.example.org", "n[5-6]", 0);
	is_list("n5-ib n6-ib", "n5-ib,n6-ib", 0); /* Slurm cannot read n[5-6]-ib. */
	is_list(longest, longest, 0);
	is_list("nid-in-a-very-long-row-of-cabinets-001 nid-in-a-very-long-row-of-cabinets-002 "
		"gpu-in-a-very-long-row-of-cabinets-003 gpu-in-a-very-long-row-of-cabinets-004",
		"nid-in-a-very-long-row-of-cabinets-[001-002]", 2);
}

/* Makes up a run in which rank 4 is late by LATE ms in MPI_Init, BEFORE ms after the start. */
static void delay_init(int before, int late)
{
	delay_all(PARENT_CREATED, before * ms);
	delay(4, FENCE_ENTERED, late * ms);
}

static void test_next(void)
{
	const char *start = "next: ";

	delay_init(0, 600);
	run.records[4].at[LIBRARIES_LOADED] = run.records[4].at[MAIN_ENTERED];
	is_line_of(start, "add --where 0.3 --start-only to see the calls that n3 is in",
		   "a program");
	delay_init(0, 600);
	run.where = true;
	is_line_of(start, NULL, "nothing if --where was given");
	delay_init(0, 500);
	is_line_of(start, "add --where 0.3 to see the calls that n3 is in", "long enough");
	delay_init(0, 499);
	is_line_of(start, NULL, "nothing if the delay is short");
	delay_init(3460, 1000);
	is_line_of(start, "add --where 4.0 to see the calls that n3 is in",
		   "it was long in proportion to the launch");
	delay_init(3461, 1000);
	is_line_of(start, NULL, "and it was not");
	delay(4, MAIN_ENTERED, 600 * ms);
	is_line_of(start, NULL, "nothing for exec");
	delay_init(0, 600);
	run.records[4].clock = (struct estimate){200 * ms, 1};
	shift(4, PARENT_CREATED, MARKS, 200 * ms);
	shift(5, PARENT_CREATED, MARKS, 200 * ms);
	is_line_of(start, "add --where 0.5 to see the calls that n3 is in", "by its own clock");
}

static void test_lines(void)
{
	delay(4, FENCE_ENTERED, 300 * ms);
	is_line_of("init            310.000    10.000     4.000     3.000   303.000       2",
		   "  4 on n3", "the phase, its median, and what the process did");
	delay(4, FENCE_ENTERED, 12000 * ms);
	is_line("init of rank 4 on n3, 12.000 s above the median, mostly blocked", "in seconds");
	delay(4, FENCE_ENTERED, 300 * ms);
	shift(5, FENCE_ENTERED, FENCE_LEFT, 300 * ms);
	is_line("init of rank 4 on n3 and 1 more rank there, 300.000 ms above the median, mostly "
		"blocked",
		"two ranks of one node");
	delay(4, FENCE_ENTERED, 300 * ms);
	shift(5, FENCE_ENTERED, FENCE_LEFT, 300 * ms);
	shift(7, FENCE_ENTERED, FENCE_LEFT, 300 * ms);
	is_line("init of rank 4 on n3 and 2 more ranks, on 2 of 4 nodes (n[3-4]), 300.000 ms above "
		"the median, mostly blocked",
		"ranks of two nodes");
	run.records[0].at[REPLY_RECEIVED] += 300 * ms;
	is_line("exchange of rank 0 on n1 with 2 on n2, 300.000 ms above the median", "a pair");
	run.records[0].at[REPLY_RECEIVED] += 300 * ms;
	run.records[4].at[REPLY_RECEIVED] += 300 * ms;
	is_line("exchange of rank 0 on n1 with 2 on n2 and 1 more rank, on 2 of 4 nodes (n[1,3]), "
		"300.000 ms above the median",
		"pairs of several nodes");
	run.n = 4; /* two blocks */
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].at[REPLY_RECEIVED] = rank < 4 ? s + 90 * ms : UNKNOWN;
	run.records[1].at[REPLY_RECEIVED] += 300 * ms;
	run.records[2].at[REPLY_RECEIVED] += 300 * ms;
	is_line("exchange of rank 1 on n1 and 1 more rank there with 5 on n2, 300.000 ms above the "
		"median",
		"pairs of one node");
}

/* Makes up a run in which rank 4 spends 300 ms more as KIND, its block may run on COUNT CPUs, and
 * rank 5 on CPUS. Checks that the line of the outlier is that of rank 4, with END. */
static void is_shared(enum column kind, int count, uint64_t cpus, const char *end)
{
	char text[200] = "init of rank 4 on n3, 300.000 ms above the median, mostly ";

	delay(4, FENCE_ENTERED, 300 * ms);
	for (int i = FENCE_ENTERED - LIBRARIES_LOADED; i < READINGS; i++) {
		run.records[4].readings[i].cpu += kind == CPU ? 300 * ms : 0;
		run.records[4].readings[i].cpu_wait += kind == CPU_WAIT ? 300 * ms : 0;
	}
	run.records[4].cpu_count = run.records[5].cpu_count = count;
	run.records[5].cpus = cpus;
	is_line(strcat(text, end), "the ranks of a block share fewer CPUs");
}

static void test_shared_cpus(void)
{
	is_shared(CPU_WAIT, 1, 0, "waiting for a CPU (2 ranks share 1 CPU)");
	is_shared(CPU_WAIT, 2, 0, "waiting for a CPU");
	is_shared(CPU_WAIT, 0, 0, "waiting for a CPU"); /* not known */
	is_shared(CPU_WAIT, 1, 7, "waiting for a CPU"); /* one each */
	is_shared(CPU, 1, 0, "on the CPU");

	run.records[4].cpu_count = run.records[5].cpu_count = 1;
	is_line("none", "no outlier: only the CPUs of the slowest rank's block matter");
	run.records[0].cpu_count = run.records[1].cpu_count = 1;
	is_line("none (2 ranks share 1 CPU)", "no outlier: CPUs of that block");
	forget_fences(6, 0);
	run.records[0].cpu_count = run.records[1].cpu_count = 1;
	is_line("unknown, because no fences were seen (2 ranks share 1 CPU)", "no fences");
}

/* Checks the warning if the launch node's clock is not compared, and its error is ERROR; TEXT is
 * NULL if there is none. */
static void is_unsure(bool named, int64_t error, const char *text)
{
	run.launch_node_named = named;
	run.launch_clock_error = error;
	is_line_of("ziaprobe: warning: ", text, "the launch node's clock");
}

/* Checks the warning if the clocks of blocks 1 and 2 are ahead by ONE and TWO of block 0's, on the
 * launch node; block 3's is compared with block 2's. */
static void is_off(int64_t one, int64_t two, const char *text)
{
	run.records[0].on_launch_node = true;
	run.records[2].clock = (struct estimate){one, 1};
	run.records[4].clock = (struct estimate){two, 1};
	is_line_of("ziaprobe: warning: the clock of ", text, "clocks that are off");
}

static void test_warnings(void)
{
	is_unsure(true, 0, NULL);
	is_unsure(true, s, NULL);
	is_unsure(true, 1100 * ms,
		  "the clock of the launch node could not be compared with the nodes', and its "
		  "error may be up to 1.1 s; the time may be wrong by as much; run ziatest on a "
		  "node of the job, or synchronise that clock");
	is_unsure(true, -1,
		  "the clock of the launch node could not be compared with the nodes', and its "
		  "error is not known; the time may be wrong by as much; run ziatest on a node of "
		  "the job, or synchronise that clock");
	is_unsure(false, -1,
		  "ziaprobe cannot tell which clock gave the start (it was called directly, or the "
		  "launcher passed on no variables, as srun --export=NONE does); the time may be "
		  "wrong by that clock's offset; start it with ziatest, and let the launcher pass "
		  "on OMPI_ZIATEST_*");
	is_off(ms, -ms, NULL);
	is_off(2 * ms, 0,
	       "n2 is 2.000 ms (+/- 0.001 ms) ahead of that of n1, the launch node; 1 of the other "
	       "3 clocks is off; the corrected time is 90.00 ms; synchronise the clocks and run "
	       "again");
	is_off(2 * ms, -3 * ms,
	       "n3 is 3.000 ms (+/- 0.001 ms) behind that of n1, the launch node; 3 of the other 3 "
	       "clocks are off; the corrected time is 93.00 ms; synchronise the clocks and run "
	       "again");
}

/* Checks that the report has END if the ranks from FIRST on were interrupted. */
static void is_interrupted(int first, const char *end)
{
	char text[4000] = "";
	FILE *file;

	make_up();
	for (int rank = first; rank < RANKS; rank++)
		run.records[rank].interrupted = true;
	print_to("report");
	file = fopen("report", "r");
	ok(fread(text, 1, sizeof text - 1, file) > 0 &&
		   (end ? strstr(text, end) != NULL : !strstr(text, "--where")),
	   "the warning that --where interrupted ranks");
	fclose(file);
}

int main(void)
{
	test_work();
	test_clocks();
	test_judge();
	make_up();
	test_late_rank();
	test_creations();
	test_programs();
	test_exchanges();
	test_fences();
	test_unseen_fences();
	test_shifted_clocks();
	test_phase_works();
	test_outliers();
	test_files();
	test_headers();
	test_lines();
	test_shared_cpus();
	test_names();
	make_up();
	test_next();
	test_warnings();
	is_interrupted(RANKS, NULL);
	is_interrupted(RANKS - 1, "--where interrupted 1 rank in MPI_Init; if it slept");
	is_interrupted(RANKS - 2, "--where interrupted 2 ranks in MPI_Init; if they slept");
	make_up();
	ok(print_to("/dev/null") == 0, "a report that can be printed");
	make_up();
	ok(print_to("/dev/full") == 1, "a report that cannot be printed is an error");
	printf("1..%d\n", count);
	return failed != 0;
}
