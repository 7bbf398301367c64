/* Tests functions of ziaprobe that need no MPI. Prints TAP. */
#define main ziaprobe_main
#include "../../ziaprobe.c"
#undef main
#include "../../probe/clocks.c"
#include "../../probe/judge.c"
#include "../../probe/process.c"
#include "../../probe/work.c"

#include <pthread.h>
#include <sys/syscall.h>

static int count, failed;

/* Returns PASSED. */
static int ok(int passed, const char *name)
{
	failed += !passed;
	printf("%sok %d - %s\n", passed ? "" : "not ", ++count, name);
	return passed;
}

static void is_time(int64_t us, const char *expected)
{
	char line[80];

	format_time(line, sizeof line, us);
	if (!ok(strcmp(line, expected) == 0, expected))
		printf("# got '%s'\n", line);
}

/* Checks that WORDS, the arguments of ziaprobe with a blank after each, are parsed as START in us,
 * N and TIMEOUT in s, or are rejected if N is -1. */
static void is_parsed(const char *words, int64_t start, int n, int timeout)
{
	static char copy[200];
	char *argv[10] = {"ziaprobe"};
	int argc = 1;

	for (char *word = strcpy(copy, words), *end; (end = strchr(word, ' ')); word = end + 1) {
		*end = '\0';
		argv[argc++] = word;
	}
	memset(&options, 0, sizeof options);
	if (parse(argv))
		ok(n == -1, words);
	else
		ok(options.start == start && options.n == n && options.timeout == timeout, words);
}

/* Checks that an environment of nothing but TEXT, with a blank between the entries, gives SIZE and
 * RANK; -1 means that it does not give the value. */
static void is_launched(const char *text, int size, int rank)
{
	static char copy[200];
	struct world got;

	clearenv();
	for (char *entry = strtok(strcpy(copy, text), " "); entry; entry = strtok(NULL, " "))
		putenv(entry);
	got = launched_world();
	if (!ok(got.size == size && got.rank == rank, text))
		printf("# got size %d, rank %d\n", got.size, got.rank);
}

/* Checks which placement rule blocks of N ranks break. NODES and HOSTS have a letter for the node
 * and for the host name of each rank. RULE is 's' if RANK is not on the node of its block;
 * otherwise 'e' if two blocks share a node under the same host name, or 'w' if they do so under
 * different ones. RANK is then the first rank of the later block. RULE is '-' if none is broken. */
static void is_placement(const char *nodes, const char *hosts, int n, char rule, int rank)
{
	struct record records[20] = {{.repeat = 0}};
	struct run run = {.records = records, .size = (int)strlen(nodes), .n = n};
	int earlier = 0, later;
	char found = '-';

	for (int i = 0; i < run.size; i++) {
		records[i].node = (uint64_t)nodes[i] << 56;
		records[i].host[0] = hosts[i];
	}
	if ((later = find_stray(&run)) >= 0)
		found = 's';
	else if ((later = find_shared_node(&run, 1, &earlier)) >= 0)
		found = 'e';
	else if ((later = find_shared_node(&run, 0, &earlier)) >= 0)
		found = 'w';
	if (!ok(found == rule && later == rank, nodes))
		printf("# on nodes %s, hosts %s: found %c, %d\n", nodes, hosts, found, later);
}

/* The ranks of a made-up run, and the bounds of their clocks. */
enum { RANKS = 8 };
static const int64_t ms = 1000, s = 1000000, bound = 10;

/* Makes up a RUN in which every step takes 10 ms: the parent is created 10 ms after the start, the
 * process at 20 ms, main is entered at 30 ms, two fences are entered at 40 and 60 ms and left at 50
 * and 70 ms, MPI_Init returns at 80 ms, and replies come at 90 ms. In each of its own steps, and in
 * each fence, a process spends 4 ms on a CPU and 3 ms waiting for one. It has 1, 2, 3 and 4 faults
 * in its own steps. */
static void make_up(struct run *run)
{
	static const uint16_t faults[] = {1, 3, 3, 6, 6, 10}; /* so far, at each reading */
	static struct record records[RANKS];
	static struct estimate offsets[RANKS];
	static int64_t replied[RANKS];

	free(run->marks);
	*run = (struct run){.start = s, .size = RANKS, .n = 2};
	run->records = records;
	run->offsets = offsets;
	run->replied = replied;
	for (int rank = 0; rank < RANKS; rank++) {
		struct record *record = records + rank;

		*record = (struct record){.parent = "prted", .existed = s + 30 * ms};
		offsets[rank] = (struct estimate){0, bound};
		for (int m = START, known = 0; m < MARKS; m++) {
			int i = known - MAIN_ENTERED;

			record->stamp[m] = UNKNOWN;
			if (m >= FENCE_ENTERED + 4 && m < INIT_RETURNED)
				continue;
			record->stamp[m] = s + 10 * ms * known++;
			if (m < MAIN_ENTERED || m > INIT_RETURNED)
				continue;
			record->cpu[m - MAIN_ENTERED] = 4000 * (uint32_t)(i + 1);
			record->cpu_wait[m - MAIN_ENTERED] = 3000 * (uint32_t)(i + 1);
			record->faults[m - MAIN_ENTERED] = faults[i];
		}
		if (rank / 2 % 2)
			record->stamp[REPLY_RECEIVED] = UNKNOWN;
	}
}

/* Adds to what RANK of RUN did by MARK, a mark with a reading, and by all later ones. */
static void add_work(struct run *run, int rank, int mark, int64_t cpu, int64_t cpu_wait)
{
	for (int i = mark - MAIN_ENTERED; i < READINGS; i++) {
		run->records[rank].cpu[i] += (uint32_t)cpu;
		run->records[rank].cpu_wait[i] += (uint32_t)cpu_wait;
	}
}

/* Makes the time that RANK of RUN has waited for a CPU unknown at MARK. */
static void forget_wait(struct run *run, int rank, int mark)
{
	run->records[rank].cpu_wait[mark - MAIN_ENTERED] = UINT32_MAX;
}

/* Delays every STEP-th rank of RUN, from FIRST on, by LATE at MARK and at all later marks. */
static void delay(struct run *run, int first, int step, int mark, int64_t late)
{
	for (int rank = first; rank < run->size; rank += step)
		for (int m = mark; m < MARKS; m++)
			if (run->records[rank].stamp[m] != UNKNOWN)
				run->records[rank].stamp[m] += late;
}

/* Delays only RANK by LATE, at MARK and at the marks up to the next fence, which all ranks then
 * leave late. */
static void delay_one(struct run *run, int rank, int mark, int64_t late)
{
	int next = FENCE_LEFT;

	while (next <= mark)
		next += 2;
	if (mark >= INIT_RETURNED)
		next = MARKS; /* no other rank waits for this mark */
	delay(run, 0, 1, next, late);
	for (int m = mark; m < next; m++)
		if (run->records[rank].stamp[m] != UNKNOWN)
			run->records[rank].stamp[m] += late;
}

/* Lets RANK pass fence K, which is non-blocking, without waiting in it. */
static void pass(struct run *run, int rank, int k)
{
	run->records[rank].stamp[FENCE_LEFT + 2 * k] = UNKNOWN;
}

/* Removes all fences of RANK. */
static void forget_fences(struct run *run, int rank)
{
	for (int m = FENCE_ENTERED; m < INIT_RETURNED; m++)
		run->records[rank].stamp[m] = UNKNOWN;
}

static void finish(struct run *run, struct path *path)
{
	free(run->marks);
	for (int rank = 0; rank < run->size; rank++)
		run->replied[rank] = run->records[rank].stamp[REPLY_RECEIVED];
	find_result(run);
	draw_timelines(run);
	find_path(run, path);
}

/* Checks that the path of RUN is TEXT: each step, the rank at whose mark it ends, and its ms; then,
 * after "; ", the outlier, its excess and the number of other ranks. */
static void is_path(struct run *run, const char *text, const char *name)
{
	char got[1000] = "";
	struct outlier outlier;
	struct path path;
	int length = 0;

	finish(run, &path);
	for (int i = path.first; i < STEPS; i++)
		length += sprintf(got + length, "%s %d %g, ", headings[path.step[i].column].name,
				  path.step[i].end.rank, (double)path.step[i].us / 1000);
	outlier = find_outlier(run, &path);
	if (outlier.step)
		sprintf(got + length - 2, "; %s %d %g %d", headings[outlier.step->column].name,
			outlier.step->end.rank, (double)outlier.excess / 1000, outlier.others);
	else
		sprintf(got + length - 2, "; -");
	if (!ok(strcmp(got, text) == 0, name))
		printf("#  got: %s\n# like: %s\n", got, text);
}

/* Checks what RANK did in the last LENGTH us of its step that ends at MARK. */
static void is_works(struct run *run, int rank, int mark, int64_t length, int64_t cpu,
		     int64_t cpu_wait, int64_t blocked, int64_t faults)
{
	const int64_t expected[] = {cpu, cpu_wait, blocked, faults};
	struct path path;
	int good = 1;

	finish(run, &path);
	for (int i = 0; i < 4; i++)
		good &= step_value(run, rank, mark, length, CPU + i) == expected[i];
	if (!ok(good, "what a rank did in a step"))
		printf("# mark %d, %lld us\n", mark, (long long)length);
}

/* Checks that the outlier is rank 4's step that ends at MARK, and that its kind is KIND. */
static void is_kind(struct run *run, int mark, enum column kind)
{
	struct outlier outlier;
	struct path path;

	finish(run, &path);
	outlier = find_outlier(run, &path);
	if (!ok(outlier.step && outlier.step->end.mark == (enum mark)mark &&
			outlier.step->end.rank == 4 && outlier.kind == kind,
		"the outlier's kind"))
		printf("# mark %d, got %d, expected %d\n", mark,
		       outlier.step ? (int)outlier.kind : -1, kind);
}

static void is_summary(struct summary got, int64_t min, int64_t median, int64_t max, int slowest)
{
	if (!ok(got.min == min && got.median == median && got.max == max && got.slowest == slowest,
		"min, median, max and the slowest rank"))
		printf("# %d %d %d, rank %d\n", (int)got.min, (int)got.median, (int)got.max,
		       got.slowest);
}

/* Returns a random number from 0 to LESS - 1. */
static int64_t draw(int64_t less)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005 + 1442695040888963407;
	return (int64_t)(state >> 33) % less;
}

/* Makes up a random RUN. Its intervals are shorter than LARGEST us; 1 makes all of them 0. Clocks
 * may be off; fences may not hold, may overlap, may run in the background, or may differ in number;
 * marks may be unknown; work may be longer than its step, or not recorded. */
static void make_up_any(struct run *run, int64_t largest)
{
	make_up(run);
	run->n = 1 << draw(4);
	for (int rank = 0; rank < RANKS; rank++) {
		struct record *record = run->records + rank;
		int64_t *mark = record->stamp;
		int fences = draw(9) ? 1 + (int)draw(FENCES) : 0;

		run->offsets[rank] =
			(struct estimate){draw(3) ? 0 : draw(2 * largest) - largest, draw(largest)};
		record->by_mpirun = (char)draw(2);
		mark[PARENT_CREATED] = draw(4) ? s + draw(largest) - largest / 4 : UNKNOWN;
		mark[CREATED] = draw(9) ? s + draw(largest) : UNKNOWN;
		mark[MAIN_ENTERED] = s + draw(largest);
		mark[INIT_RETURNED] = mark[MAIN_ENTERED] + draw(largest);
		mark[REPLY_RECEIVED] = UNKNOWN;
		if (rank / run->n % 2 == 0)
			mark[REPLY_RECEIVED] = mark[INIT_RETURNED] + draw(largest);
		for (int i = 0; i < READINGS; i++) {
			record->cpu[i] = (uint32_t)draw(largest);
			record->cpu_wait[i] = draw(9) ? (uint32_t)draw(largest) : UINT32_MAX;
		}
		for (int k = 0; k < FENCES; k++) {
			int64_t entered = mark[MAIN_ENTERED] + draw(largest);

			mark[FENCE_ENTERED + 2 * k] = k < fences ? entered : UNKNOWN;
			mark[FENCE_LEFT + 2 * k] = UNKNOWN;
			if (k < fences && draw(3))
				mark[FENCE_LEFT + 2 * k] = entered + draw(largest);
		}
	}
}

/* Checks CPU, CPU_WAIT and BLOCKED of RANK's step that ends at MARK. Returns whether none of them
 * is negative and, if all three are known, whether they add up to the length of the step. */
static int works_add_up(const struct run *run, int rank, int mark)
{
	int64_t length = step_length(run, rank, mark), sum = 0;

	for (enum column column = CPU; column <= BLOCKED; column++) {
		int64_t us = step_value(run, rank, mark, length, column);

		if (us == UNKNOWN)
			return column == CPU || column == CPU_WAIT ||
			       step_value(run, rank, mark, length, CPU_WAIT) == UNKNOWN;
		if (us < 0)
			return 0;
		sum += us;
	}
	return sum == length;
}

/* Returns whether the steps and waits of every rank add up to its last mark and, unless marks may
 * have been RAISED, whether an originator's add up to its measured reply less the clock offset. */
static int rows_add_up(const struct run *run, int raised)
{
	for (int rank = 0; rank < run->size; rank++) {
		const int64_t *mark = run->marks[rank];
		int64_t sum = 0, completed;
		int last = responder(rank, run->size, run->n) < 0 ? INIT_RETURNED : REPLY_RECEIVED;

		for (enum column column = DAEMON; column <= EXCHANGE; column++) {
			int64_t us = column_value(run, rank, column);

			if (us != UNKNOWN && us < 0)
				return 0;
			sum += us == UNKNOWN ? 0 : us;
		}
		if (sum != mark[last])
			return 0;
		for (int m = MAIN_ENTERED; m <= INIT_RETURNED; m++)
			if (mark[m] != UNKNOWN && !works_add_up(run, rank, m))
				return 0;
		completed = column_value(run, rank, COMPLETED);
		if (completed != UNKNOWN && !raised && sum != completed - correction(run, rank))
			return 0;
	}
	return 1;
}

/* 40,000 random runs: every sum is exact, every path leads back to the start, and no step except
 * clock is negative. */
static void any_run_adds_up(void)
{
	struct run run = {.start = 0};
	int good = 1;

	for (int i = 0; i < 40000 && good; i++) {
		int64_t sum = 0;
		struct path path;

		make_up_any(&run, (int64_t[]){1, 10, 3000, s, 1000 * s}[i % 5]);
		finish(&run, &path);
		find_outlier(&run, &path);
		good = path.first >= 0 && rows_add_up(&run, 1);
		for (int k = path.first; k < STEPS; k++) {
			sum += path.step[k].us;
			good &= path.step[k].us >= 0 || path.step[k].column == CLOCK;
			good &= path.step[k].us != 0 || path.step[k].column != CLOCK;
		}
		good &= sum == run.time;
		if (!good)
			printf("# run %d: sum %lld, time %lld\n", i, (long long)sum,
			       (long long)run.time);
	}
	ok(good, "40,000 random runs: all rows and paths add up");
}

/* 20,000 realistic launches: every rank takes a few ms for each step and waits for the others in
 * each fence, and one rank is a second late in one step. That step of that rank must be the
 * outlier. If the rank is late inside a fence, all ranks leave the fence late, so there must be no
 * outlier. */
static void late_rank_is_named(void)
{
	struct run run = {.start = 0};
	int good = 1;

	for (int i = 0; i < 20000 && good; i++) {
		int late = (int)draw(RANKS), place, inside, fences = 1 + (int)draw(FENCES);
		int64_t latest[MARKS] = {0}, shift = draw(3) ? 0 : 300 * ms;
		int ahead = (int)draw(4);
		struct outlier outlier;
		struct path path;
		enum column column;

		make_up(&run);
		if (draw(2))
			run.n = 1; /* eight blocks; otherwise four of two ranks */
		if (draw(2))
			run.size = 6; /* with two ranks per block, an odd number of blocks */
		late %= run.size;
		do
			place = PARENT_CREATED + (int)draw(REPLY_RECEIVED);
		while ((place >= FENCE_ENTERED + 2 * fences && place < INIT_RETURNED) ||
		       (place >= INIT_RETURNED && late / run.n % 2));
		inside = place > MAIN_ENTERED && place < INIT_RETURNED &&
			 (place - FENCE_LEFT) % 2 == 0 && draw(2);
		for (int m = PARENT_CREATED; m < MARKS; m++)
			for (int rank = 0; rank < run.size; rank++) {
				int64_t *mark = run.records[rank].stamp, from = mark[m - 1];
				int to = rank / run.n % 2 ? -1 : (rank + run.n) % run.size;

				if (m >= FENCE_ENTERED + 2 * fences && m < INIT_RETURNED) {
					mark[m] = UNKNOWN;
					continue;
				}
				if (m == INIT_RETURNED)
					from = mark[FENCE_ENTERED + 2 * fences - 1];
				if (m > MAIN_ENTERED && m < INIT_RETURNED &&
				    (m - FENCE_LEFT) % 2 == 0)
					from = latest[m - 1];
				if (m == REPLY_RECEIVED && to < 0) {
					mark[m] = UNKNOWN;
					continue;
				}
				/* A lower rank already has its reply. */
				if (m == REPLY_RECEIVED && to < rank)
					from = MAX(from, run.records[to].stamp[m]);
				else if (m == REPLY_RECEIVED)
					from = MAX(from, run.records[to].stamp[m - 1]);
				mark[m] = from + 1 + draw(9 * ms);
				if (m == place && (inside || rank == late))
					mark[m] += s;
				latest[m] = MAX(latest[m], mark[m]);
			}
		for (int rank = ahead * run.n; rank < (ahead + 1) * run.n; rank++) {
			run.offsets[rank / run.n].value = shift;
			for (int m = PARENT_CREATED; m < MARKS; m++)
				if (run.records[rank].stamp[m] != UNKNOWN)
					run.records[rank].stamp[m] += shift;
		}
		finish(&run, &path);
		outlier = find_outlier(&run, &path);
		column = step_column(place);
		good = rows_add_up(&run, 0);
		if (inside)
			good &= !outlier.step;
		else
			good &= outlier.step && outlier.step->column == column &&
				outlier.step->end.rank == late && outlier.others == 0;
		if (!good)
			printf("# launch %d: rank %d late at mark %d, inside %d; found %s of %d\n",
			       i, late, place, inside,
			       outlier.step ? headings[outlier.step->column].name : "none",
			       outlier.step ? outlier.step->end.rank : -1);
	}
	ok(good, "20,000 launches with a late rank: that rank alone is named");
	free(run.marks);
}

/* Returns how long this thread has been on a CPU, in us. */
static int64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * s + t.tv_nsec / 1000;
}

static void *note_exit(void *unused)
{
	note_work(INIT_RETURNED);
	return unused;
}

static void test_work(void)
{
	int64_t before = cpu_time(), begun, ended;
	static struct record record;
	struct rlimit files, none;
	pthread_t thread;
	struct work work;

	getrlimit(RLIMIT_NOFILE, &files);
	none = (struct rlimit){0, files.rlim_max};
	setrlimit(RLIMIT_NOFILE, &none);
	errno = EPIPE;
	note_work(MAIN_ENTERED);
	ok(errno == EPIPE, "a reading leaves errno, although schedstat cannot be opened");
	setrlimit(RLIMIT_NOFILE, &files);
	note_work(MAIN_ENTERED);
	begun = ended = cpu_time();
	while (ended - begun < 20 * ms)
		ended = cpu_time();
	if (pthread_create(&thread, NULL, note_exit, NULL) != 0)
		abort();
	pthread_join(thread, NULL);
	work = work_between(MAIN_ENTERED, INIT_RETURNED);
	ok(work.cpu >= ended - begun - 1 && work.cpu <= cpu_time() - before + 1,
	   "the main thread's time on a CPU, read by another thread");
	readings[FENCE_ENTERED] = readings[FENCE_LEFT] = (struct work){5, 7, 3};
	readings[FENCE_ENTERED].cpu_wait = UNKNOWN;
	store_readings(&record);
	work = recorded_work(&record, START, FENCE_ENTERED);
	ok(work.cpu == 5 && work.cpu_wait == UNKNOWN && work.faults == 3,
	   "work is counted from 0 at the start, and may be unknown");
	work = recorded_work(&record, FENCE_ENTERED, FENCE_LEFT);
	ok(work.cpu == 0 && work.cpu_wait == UNKNOWN, "so is what is counted from there");
	readings[MAIN_ENTERED] = (struct work){9, 9, 9}; /* fences that overlap */
	store_readings(&record);
	work = recorded_work(&record, MAIN_ENTERED, FENCE_LEFT);
	ok(work.cpu == 0 && work.cpu_wait == 0 && work.faults == 0, "work is never negative");
	ok(to_cell(UNKNOWN) == UINT32_MAX && to_cell(7) == 7 && to_cell(5000 * s) == UINT32_MAX - 1,
	   "a reading that does not fit its cell is stored as the largest value that fits");
}

static void test_arguments(void)
{
	is_time(0, "Time test was completed in     0.00 millisecs");
	is_time(200 * ms, "Time test was completed in   200.00 millisecs");
	is_time(624570, "Time test was completed in   624.57 millisecs");
	is_time(999 * ms, "Time test was completed in   999.00 millisecs");
	is_time(1 * s, "Time test was completed in   0:01 min:sec");
	is_time(2 * s - 1, "Time test was completed in   0:01 min:sec");
	is_time(5 * s, "Time test was completed in   0:05 min:sec");
	is_time(60 * s - 1, "Time test was completed in   0:59 min:sec");
	is_time(65 * s, "Time test was completed in   1:05 min:sec");
	is_time(6000 * s, "Time test was completed in 100:00 min:sec");

	is_parsed("1771328648 32530 4 ", 1771328648 * s + 32530, 4, 0);
	is_parsed("1771328648 032530 4 ", 1771328648 * s + 32530, 4, 0);
	is_parsed("0 0 1 ", 0, 1, 0);
	is_parsed("1 999999 2147483647 ", 1 * s + 999999, INT_MAX, 0);
	is_parsed("1 2 3 --timeout 30 ", 1 * s + 2, 3, 30);
	is_parsed("--timeout=30 1 2 3 ", 1 * s + 2, 3, 30);
	is_parsed("-t 2147483647 1 2 3 ", 1 * s + 2, 3, INT_MAX);
	is_parsed("1 1000000 1 ", 0, -1, 0);
	is_parsed(" 0 1 ", 0, -1, 0);
	is_parsed("-1 0 1 ", 0, -1, 0);
	is_parsed("1 0 0 ", 0, -1, 0);
	is_parsed("1 0 2147483648 ", 0, -1, 0);
	is_parsed("1 0 1x ", 0, -1, 0);
	is_parsed("9223372036854 0 1 ", 0, -1, 0);
	is_parsed("99999999999999999999 0 1 ", 0, -1, 0);
	is_parsed("1 0 ", 0, -1, 0);
	is_parsed("1 0 1 1 ", 0, -1, 0);
	is_parsed("1 0 1 -t 0 ", 0, -1, 0);
	is_parsed("1 0 1 -t 2147483648 ", 0, -1, 0);
	is_parsed("1 0 1 -t ", 0, -1, 0);
	is_parsed("1 0 1 -x ", 0, -1, 0);
	is_parsed("1 0 1 -t30 ", 0, -1, 0);
	is_parsed("1 0 1 --csvs a ", 0, -1, 0);
	is_parsed("1 -v 2 --csv --ranks 3 --ranks=b ", 1 * s + 2, 3, 0);
	ok(options.verbose && strcmp(options.csv, "--ranks") == 0 &&
		   strcmp(options.ranks, "b") == 0,
	   "options among the numbers");
}

static void test_launchers(void)
{
	is_launched("HOME=/ SLURM_PROCID=0", -1, -1);
	is_launched("PMI_SIZE=8 PMI_RANK=3", 8, 3);
	is_launched("SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1", 2, 1);
	is_launched("FLUX_JOB_SIZE=2 FLUX_TASK_RANK=0", 2, 0);
	is_launched("OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0", 2, 0);
	is_launched("XPMI_SIZE=8 PMI_SIZE_=8 PMI_RANK=0 PMI_SIZE=2", 2, 0);
	/* The first variable in the list decides, in whatever order they are set. */
	is_launched("SLURM_STEP_NUM_TASKS=32 SLURM_PROCID=1 PMI_SIZE=1 PMI_RANK=0", 1, 0);
	is_launched("PMI_SIZE=1 PMI_RANK=0 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=2", 4, 2);
	is_launched("FLUX_JOB_SIZE=1 FLUX_TASK_RANK=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1", 1, 0);
	is_launched("PMI_SIZE=x OMPI_COMM_WORLD_SIZE= SLURM_STEP_NUM_TASKS=3", 3, -1);
}

/* Checks from when on this process certainly existed if ziatest has process id PID and runs on this
 * node if LOCAL is set; it entered main 50 ticks after it was created. */
static void is_existence(const char *pid, bool local, bool since_creation)
{
	struct record record = {.on_launch_node = local};
	int64_t main_entered = read_process("/proc/self/stat", s).created + 50 * TICK;

	setenv("OMPI_ZIATEST_PID", pid, 1);
	record.stamp[MAIN_ENTERED] = main_entered;
	read_creation(&record, s);
	ok(record.existed == main_entered - (since_creation ? 48 * TICK : 0),
	   "a stamp at which a process certainly existed");
}

static void test_creation(void)
{
	char self[16], parent[16];

	snprintf(self, sizeof self, "%d", getpid());
	snprintf(parent, sizeof parent, "%d", getppid());
	is_existence("", false, false); /* not launched by ziatest */
	is_existence(self, false, true); /* the same id on another node */
	is_existence(self, true, false);
	is_existence(parent, true, true);
	ok(read_process("/proc/none", s).created == UNKNOWN, "a process that does not exist");
}

/* How often the simulated clock has been read, and at which of these readings it is interrupted for
 * 500 us; 0 if the real clock is used. Each reading takes 1 us. */
static int clock_readings, interruption;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int us = ++clock_readings + (clock_readings > interruption ? 500 : 0);

	if (!interruption)
		return (int)syscall(SYS_clock_gettime, clock, t);
	*t = (struct timespec){.tv_sec = clock == CLOCK_REALTIME ? 100 : 0, .tv_nsec = us * 1000};
	return 0;
}

static void test_offset(void)
{
	for (int i = 1; i <= 9; i++) {
		struct estimate offset;

		clock_readings = 0;
		interruption = i;
		offset = read_offset(CLOCK_BOOTTIME);
		interruption = 0;
		ok(offset.value == 100 * s && offset.bound == 2,
		   "one of three comparisons of two clocks is interrupted");
	}
}

static void test_pairs(void)
{
	ok(responder(0, 12, 3) == 3 && responder(2, 12, 3) == 5 && responder(3, 12, 3) == -1 &&
		   responder(6, 12, 3) == 9,
	   "blocks 0 and 2 originate, block 1 does not");
	ok(responder(1, 12, 3) == 4 && responder(7, 12, 3) == 10,
	   "the responder is in the next block");
	ok(responder(7, 9, 3) == 1, "the last block sends to block 0");
	ok(responder(2, 3, 3) == 2, "a single block answers itself");
	ok(responder(INT_MAX - 1, INT_MAX, INT_MAX) == INT_MAX - 1, "the largest N");
	ok(second_originator(1, 9, 3) == 7 && second_originator(2, 6, 2) == -1 &&
		   second_originator(0, 6, 2) == 4,
	   "with three blocks, block 0 also answers the last");
	ok(second_originator(1, 12, 3) == -1 && second_originator(1, 3, 3) == -1,
	   "with four blocks or only one, it does not");
}

/* Makes up a RUN of three blocks of two ranks, whose clocks are CLOCKS. The replies come at
 * REPLIED; LAUNCH is the block on the launch node, or -1. Resolves the clocks. */
static void compare(struct run *run, const struct estimate *clocks, int64_t *replied, int launch)
{
	static struct record records[6];

	free(run->offsets);
	*run = (struct run){.start = 3, .size = 6, .n = 2, .records = records, .replied = replied};
	for (int i = 0; i < 6; i++)
		records[i] =
			(struct record){.clock = clocks[i / 2], .on_launch_node = i / 2 == launch};
	find_result(run);
	resolve_clocks(run);
}

static void test_clocks(void)
{
	struct record records[8] = {{.repeat = 0}};
	struct run run = {.size = 8, .n = 1, .records = records};
	int64_t replied[6] = {5, 7, UNKNOWN, UNKNOWN, 6, 8};
	/* Block 1 is 100 ahead of block 0, and block 2 is 2 ahead. */
	const struct estimate ahead[] = {{0, 0}, {100, 3}, {2, 4}};

	for (int i = 0; i < 8; i++)
		records[i].clock = (struct estimate){i ? 1 << 4 * i : 0, i};
	records[0].on_launch_node = true;
	resolve_clocks(&run);
	ok(run.offsets[7].value == 0x11010000 && run.offsets[7].bound == 7 + 6 + 4,
	   "block 7's offset and bound are the sums over blocks 4, 6 and 7 of the tree");
	ok(run.offsets[5].value == 0x110000 && run.offsets[0].value == 0,
	   "block 5's offset is such a sum, and block 0's is 0");

	compare(&run, ahead, replied, -1);
	ok(run.slowest == 5 && run.time == 5, "the latest stamp is the result");
	replied[1] = 8;
	find_result(&run);
	ok(run.slowest == 1, "if several stamps are the latest, the lowest rank wins");
	ok(!run.launch_clock_known && run.reference == 2 && run.worst == 1 &&
		   run.offsets[1].value == 98 && run.offsets[1].bound == 7,
	   "the clock furthest from the median, and the sum of both bounds");
	ok(offset_of(&run, 0).value == -2 && offset_of(&run, 3).value == 98 &&
		   run.records[3].clock.value == 100,
	   "the median is the reference, and what was gathered is unchanged");

	compare(&run, ahead, replied, 1);
	ok(run.launch_clock_known && offset_of(&run, 0).value == -100 &&
		   offset_of(&run, 5).bound == 7 && offset_of(&run, 3).bound == 0,
	   "the launch node's clock is the reference");
	ok(run.reference == 1 && run.worst == 0, "the worst clock is furthest from it");
	ok(corrected_time(&run) == 8 + 100 - 3, "the latest corrected stamp is used");
	run.offsets[0].bound = 100;
	ok(correction(&run, 0) == 0 && corrected_time(&run) == 8 + 98 - 3,
	   "an offset within its bound counts as 0");

	run.size = 4;
	run.records[2].clock = run.records[3].clock = (struct estimate){-100, 3};
	run.records[2].on_launch_node = 0;
	free(run.offsets);
	resolve_clocks(&run);
	ok(run.reference == 1 && run.worst == 0 && run.offsets[0].value == 100,
	   "of two clocks, the lower one is the median");

	/* Which clock is the worst: the one whose offset exceeds its bound by most */
	compare(&run, (struct estimate[]){{0, 0}, {0, 4}, {0, 3}}, replied, -1);
	ok(run.reference == 0 && run.worst == 2 && run.offsets[2].bound == 3,
	   "if all clocks agree, it is the one that comes closest to its bound");
	compare(&run, (struct estimate[]){{0, 0}, {100, 200}, {-50, 1}}, replied, -1);
	ok(run.reference == 0 && run.worst == 2 && run.offsets[2].value == -50,
	   "a clock that is certainly off is worse than one that is further off but may be right");
	compare(&run, (struct estimate[]){{0, 0}, {7, 9}, {5, 7}}, replied, -1);
	ok(run.reference == 2 && run.worst == 0 && run.offsets[0].value == -5,
	   "the reference clock itself is never the worst one");
	compare(&run, (struct estimate[]){{5, 0}, {10, 1}, {0, 1}}, replied, -1);
	ok(run.reference == 0 && run.worst == 1, "of equals, the lowest block wins");
	run.size = 2;
	free(run.offsets);
	resolve_clocks(&run);
	ok(run.worst == run.reference && run.offsets[0].value == 0 && run.offsets[0].bound == 0,
	   "a single clock is not off");
	free(run.offsets);
}

/* Returns the number of the first check that RUN fails, counting from 1, or 0 if it passes all of
 * them. */
static int first_error(const struct run *run)
{
	int (*const checks[])(const struct run *) = {check_placement, check_jumps, check_starts,
						     check_existence, check_time};

	for (int i = 0; i < 5; i++)
		if (!checks[i](run))
			return i + 1;
	return 0;
}

static void test_judge(void)
{
	struct run run = {.start = 0};
	struct record *record;

	is_placement("aaabbbccc", "aaabbbccc", 3, '-', -1);
	is_placement("cba", "cba", 1, '-', -1);
	is_placement("cba", "aaa", 1, '-', -1);
	is_placement("abab", "abab", 2, 's', 1);
	is_placement("aabbcb", "aaaaaa", 2, 's', 5);
	is_placement("aabbcccc", "aabbcccc", 2, 'e', 6);
	is_placement("aabbaabb", "aabbaabb", 2, 'e', 4);
	is_placement("abcb", "abcb", 1, 'e', 3);
	is_placement("aaaaaaaa", "aaaaaaaa", 2, 'e', 2);
	is_placement("aaaa", "abcb", 1, 'e', 3);
	is_placement("aaaa", "abcd", 4, '-', -1);
	is_placement("aaaabbbb", "abcdefgh", 2, 'w', 2);
	is_placement("aaa", "cab", 1, 'w', 1);

	make_up(&run);
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].node = (uint64_t)rank / 2;
	run.time = 90 * ms;
	for (int rank = 0; rank < RANKS; rank++)
		run.replied[rank] = run.records[rank].stamp[REPLY_RECEIVED];
	run.launch_clock_known = 1;
	record = run.records + 3;
	ok(first_error(&run) == 0, "a valid measurement");
	record->jump = -1000;
	ok(first_error(&run) == 0, "a jump of 1 ms");
	record->jump--;
	ok(first_error(&run) == 2, "a jump of more than 1 ms");
	record->jump = 2001;
	run.time = 200 * ms;
	ok(first_error(&run) == 2, "a jump of more than 1 % of the time");
	record->jump = 2000;
	ok(first_error(&run) == 0, "a jump of 1 % of the time");
	record->stamp[START]++;
	ok(first_error(&run) == 3, "a rank that was given another start");
	record->stamp[START]--;
	record->existed = s - bound;
	ok(first_error(&run) == 0, "in existence before the start, within the bound of its clock");
	record->existed--;
	ok(first_error(&run) == 4, "in existence before the start, beyond the bound of its clock");
	run.launch_clock_known = 0;
	run.offsets[3].value = 1 - bound;
	ok(first_error(&run) == 0,
	   "in existence before the start, but the launch node's clock is unknown");
	run.launch_clock_known = 1;
	run.offsets[1].value = -1;
	ok(first_error(&run) == 0, "in existence before the start, but not by the reference clock");
	record->existed = s + 30 * ms;

	record->jump = 0;
	run.time = -1;
	ok(first_error(&run) == 5, "a negative time");
	run.time = 0;
	run.replied[0] = s + 5;
	run.offsets[0] = (struct estimate){6, 0};
	run.replied[1] = run.replied[4] = run.replied[5] = 0;
	ok(first_error(&run) == 5, "a negative corrected time");
	run.launch_clock_known = 0;
	ok(first_error(&run) == 0, "without the launch node's clock, there is no corrected time");
}

static void test_paths(void)
{
	const char *even = "daemon 0 10, spawn 0 10, exec 0 10, init 0 10, fence 0 10, init 0 10, "
			   "fence 0 10, init 0 10, exchange 0 10; -";
	struct run run = {.start = 0};
	struct path path;

	make_up(&run);
	is_path(&run, even, "nobody is late");
	is_summary(summarise(&run, ALL_STEPS, INIT), 30 * ms, 30 * ms, 30 * ms, 0);
	is_summary(summarise(&run, ALL_STEPS, WAIT), 0, 0, 0, 0);

	/* A delay at one place at a time, mostly of rank 5, a responder. */
	make_up(&run);
	delay_one(&run, 5, FENCE_ENTERED + 2, s);
	is_path(&run,
		"daemon 5 10, spawn 5 10, exec 5 10, init 5 10, fence 5 10, init 5 1010, "
		"fence 0 10, init 0 10, exchange 0 10; init 5 1000 0",
		"late between the fences");
	ok(column_value(&run, 0, WAIT) == s && column_value(&run, 5, WAIT) == 0,
	   "the others wait for it");
	make_up(&run);
	delay(&run, 0, 1, FENCE_LEFT, s);
	is_path(&run,
		"daemon 0 10, spawn 0 10, exec 0 10, init 0 10, fence 0 1010, init 0 10, "
		"fence 0 10, init 0 10, exchange 0 10; -",
		"late inside a fence: all leave it late, and nobody is an outlier");
	make_up(&run);
	delay_one(&run, 5, FENCE_LEFT, s);
	is_path(&run,
		"daemon 5 10, spawn 5 10, exec 5 10, init 5 10, fence 5 1010, init 5 10, "
		"fence 0 10, init 0 10, exchange 0 10; fence 5 1000 0",
		"late to leave a fence");
	make_up(&run);
	delay_one(&run, 5, FENCE_ENTERED, s);
	is_path(&run,
		"daemon 5 10, spawn 5 10, exec 5 10, init 5 1010, fence 0 10, init 0 10, "
		"fence 0 10, init 0 10, exchange 0 10; init 5 1000 0",
		"late before the first fence");
	make_up(&run);
	delay_one(&run, 5, MAIN_ENTERED, s);
	is_path(&run,
		"daemon 5 10, spawn 5 10, exec 5 1010, init 5 10, fence 0 10, init 0 10, "
		"fence 0 10, init 0 10, exchange 0 10; exec 5 1000 0",
		"late to enter main");
	make_up(&run);
	delay_one(&run, 5, CREATED, s);
	is_path(&run,
		"daemon 5 10, spawn 5 1010, exec 5 10, init 5 10, fence 0 10, init 0 10, "
		"fence 0 10, init 0 10, exchange 0 10; spawn 5 1000 0",
		"late to be created");
	is_summary(summarise(&run, ALL_STEPS, SPAWN), 10 * ms, 10 * ms, 1010 * ms, 5);

	/* Unknown marks, and marks that are distorted by the resolution of clock ticks. */
	make_up(&run);
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].stamp[PARENT_CREATED] = s - 2 * TICK - 1;
	is_path(&run,
		"spawn 0 20, exec 0 10, init 0 10, fence 0 10, init 0 10, fence 0 10, init 0 10, "
		"exchange 0 10; -",
		"parents that existed before the start");
	ok(column_value(&run, 0, DAEMON) == UNKNOWN, "there is then no daemon step");
	make_up(&run);
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].stamp[PARENT_CREATED] = s - 2 * TICK;
	is_path(&run,
		"daemon 0 0, spawn 0 20, exec 0 10, init 0 10, fence 0 10, init 0 10, fence 0 10, "
		"init 0 10, exchange 0 10; -",
		"parents created two ticks before the start do count");
	make_up(&run);
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].stamp[CREATED] = UNKNOWN;
	is_path(&run,
		"exec 0 30, init 0 10, fence 0 10, init 0 10, fence 0 10, init 0 10, "
		"exchange 0 10; -",
		"no creation is known");
	make_up(&run);
	for (int rank = 0; rank < RANKS; rank++) {
		run.records[rank].stamp[CREATED] = s + 35 * ms;
		run.records[rank].stamp[PARENT_CREATED] = s + 33 * ms;
	}
	is_path(&run,
		"daemon 0 30, spawn 0 0, exec 0 0, init 0 10, fence 0 10, init 0 10, fence 0 10, "
		"init 0 10, exchange 0 10; -",
		"a creation is never later than main");

	/* mpirun launches when all its daemons have reported. */
	make_up(&run);
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].by_mpirun = 1;
	run.records[2].stamp[PARENT_CREATED] += 8 * ms;
	is_path(&run,
		"daemon 2 18, spawn 0 2, exec 0 10, init 0 10, fence 0 10, init 0 10, fence 0 10, "
		"init 0 10, exchange 0 10; -",
		"spawn begins with the last of mpirun's daemons");
	ok(column_value(&run, 0, WAIT) == 8 * ms, "the other ranks wait for that daemon");
	make_up(&run);
	run.records[0].by_mpirun = 1;
	run.records[2].stamp[PARENT_CREATED] += 8 * ms;
	is_path(&run, even, "the daemons of other launchers are not waited for");
	make_up(&run);
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].by_mpirun = 1;
	delay_one(&run, 2, CREATED, 25 * ms);
	run.records[2].stamp[PARENT_CREATED] += 31 * ms;
	is_path(&run,
		"daemon 2 41, spawn 2 4, exec 2 10, init 2 10, fence 0 10, init 0 10, fence 0 10, "
		"init 0 10, exchange 0 10; daemon 2 31 0",
		"a daemon that came more than two ticks after a process was not waited for");

	ok(column_value(&run, 0, WAIT) == 25 * ms, "rank 0 waits in the fence only");
	make_up(&run);
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].by_mpirun = 1;
	delay_one(&run, 2, CREATED, 25 * ms);
	run.records[2].stamp[PARENT_CREATED] += 30 * ms;
	finish(&run, &path);
	ok(column_value(&run, 0, WAIT) == (25 + 10) * ms,
	   "a daemon that came two ticks after a process was waited for");

	/* The exchange. With three blocks, block 0 answers the last after its own exchange. */
	make_up(&run);
	run.records[7].stamp[INIT_RETURNED] += 5 * ms;
	is_path(&run, even, "a partner that nobody on the path waits for");
	make_up(&run);
	run.records[7].stamp[INIT_RETURNED] += 5 * ms;
	run.records[5].stamp[REPLY_RECEIVED] += 20 * ms;
	is_path(&run,
		"daemon 7 10, spawn 7 10, exec 7 10, init 7 10, fence 7 10, init 7 10, "
		"fence 7 10, init 7 15, exchange 5 25; exchange 5 15 0",
		"a partner that is ready later");
	make_up(&run);
	run.size = 6;
	run.records[1].stamp[REPLY_RECEIVED] += 15 * ms;
	run.records[5].stamp[REPLY_RECEIVED] += 20 * ms;
	is_path(&run,
		"daemon 1 10, spawn 1 10, exec 1 10, init 1 10, fence 1 10, init 1 10, "
		"fence 1 10, init 1 10, exchange 1 25, exchange 5 5; exchange 1 20 0",
		"two exchanges in a row");
	make_up(&run);
	run.size = 2;
	run.n = 1;
	run.records[1].stamp[REPLY_RECEIVED] = UNKNOWN;
	run.records[0].stamp[REPLY_RECEIVED] += s;
	is_path(&run,
		"daemon 0 10, spawn 0 10, exec 0 10, init 0 10, fence 0 10, init 0 10, fence 0 10, "
		"init 0 10, exchange 0 1010; -",
		"a single originator's exchange is not an outlier");
	make_up(&run);
	run.n = RANKS;
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].stamp[REPLY_RECEIVED] = s + 90 * ms;
	is_path(&run, even, "a single block");

	/* Fences that are not barriers, differ in number or overlap; and no fences. */
	make_up(&run);
	run.records[3].stamp[FENCE_ENTERED + 2] = s + 70 * ms + 2 * bound;
	run.records[3].stamp[FENCE_LEFT + 2] = s + 70 * ms + 2 * bound;
	is_path(&run,
		"daemon 3 10, spawn 3 10, exec 3 10, init 3 10, fence 3 10, init 3 20, fence 0 0, "
		"init 0 10, exchange 0 10; init 3 10 0",
		"a fence left before the last rank entered it, within the bounds of both clocks");
	make_up(&run);
	run.records[3].stamp[FENCE_ENTERED + 2] = s + 70 * ms + 2 * bound + 1;
	run.records[3].stamp[FENCE_LEFT + 2] = s + 70 * ms + 2 * bound + 1;
	is_path(&run, even, "beyond those bounds, the fence did not hold");
	ok(find_awaited(&run, 0, FENCE_LEFT + 2).rank < 0 &&
		   find_awaited(&run, 0, FENCE_LEFT).rank >= 0,
	   "the other fence did hold");
	make_up(&run);
	run.records[6].stamp[FENCE_ENTERED + 2] = run.records[6].stamp[FENCE_LEFT + 2] = UNKNOWN;
	is_path(&run,
		"daemon 0 10, spawn 0 10, exec 0 10, init 0 10, fence 0 10, init 0 30, "
		"exchange 0 10; -",
		"a fence that one rank does not have does not count");
	make_up(&run);
	forget_fences(&run, 6);
	run.records[5].stamp[MAIN_ENTERED] += 10 * ms;
	is_path(&run, "daemon 5 10, spawn 5 10, exec 5 20, init 0 40, exchange 0 10; -",
		"without fences, all wait for the last rank to enter main");
	make_up(&run);
	forget_fences(&run, 6);
	delay(&run, 0, 1, INIT_RETURNED, s);
	is_path(&run, "daemon 0 10, spawn 0 10, exec 0 10, init 0 1050, exchange 0 10; -",
		"without fences, a delay inside MPI_Init is not that of any one rank");
	make_up(&run);
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].stamp[FENCE_ENTERED + 2] = s + 45 * ms;
	is_path(&run,
		"daemon 0 10, spawn 0 10, exec 0 10, init 0 10, fence 0 10, init 0 0, fence 0 20, "
		"init 0 10, exchange 0 10; -",
		"fences that overlap");

	/* Fences in the background. Only rank 5 does not wait in the first one, and then works for
	 * a second. */
	make_up(&run);
	pass(&run, 5, 0);
	delay_one(&run, 5, FENCE_ENTERED + 2, s);
	is_path(&run,
		"daemon 5 10, spawn 5 10, exec 5 10, init 5 10, init 5 1020, fence 0 10, "
		"init 0 10, exchange 0 10; init 5 1010 0",
		"work after the entry of a fence that the rank did not wait in");
	ok(column_value(&run, 5, FENCE) == 10 * ms && column_value(&run, 5, CPU) == 5 * 4000 &&
		   column_value(&run, 5, FAULTS) == 10,
	   "the rank has no step in that fence, and its work includes what it did there");
	ok(column_value(&run, 0, FENCE) == 20 * ms, "another rank has left the fence");
	make_up(&run);
	pass(&run, 5, 0);
	delay_one(&run, 2, FENCE_ENTERED, 600 * ms);
	delay_one(&run, 5, FENCE_ENTERED + 2, 1510 * ms);
	run.records[5].stamp[FENCE_ENTERED + 2] -= 600 * ms;
	delay(&run, 0, 1, FENCE_LEFT + 2, -600 * ms);
	is_path(&run,
		"daemon 5 10, spawn 5 10, exec 5 10, init 5 10, init 5 1530, fence 0 10, "
		"init 0 10, exchange 0 10; init 5 1520 0",
		"the same while another rank enters that fence late");
	make_up(&run);
	for (int rank = 0; rank < RANKS; rank++)
		pass(&run, rank, 0);
	delay(&run, 0, 1, FENCE_LEFT, 900 * ms);
	delay(&run, 0, 1, FENCE_LEFT + 2, 600 * ms);
	run.records[2].stamp[FENCE_ENTERED] += 600 * ms;
	run.records[2].stamp[FENCE_ENTERED + 2] += 600 * ms;
	is_path(&run,
		"daemon 2 10, spawn 2 10, exec 2 10, init 2 610, init 2 920, fence 0 10, "
		"init 0 10, exchange 0 10; init 2 600 0",
		"a rank that enters late a fence in which nobody waits");
	is_summary(summarise(&run, FENCE_LEFT, FENCE), 0, 0, 0, 0);
	is_summary(summarise(&run, FENCE_LEFT + 2, FENCE), 10 * ms, 10 * ms, 10 * ms, 0);
	make_up(&run);
	run.size = 2;
	run.n = 1;
	run.records[1].stamp[REPLY_RECEIVED] = UNKNOWN;
	pass(&run, 1, 0);
	delay(&run, 0, 1, FENCE_LEFT, s);
	run.records[1].stamp[FENCE_ENTERED + 2] -= s - 5 * ms;
	is_path(&run,
		"daemon 0 10, spawn 0 10, exec 0 10, init 0 10, fence 0 1010, init 0 10, "
		"fence 0 10, init 0 10, exchange 0 10; fence 0 1010 0",
		"a rank that did not wait counts as 0 in the median of the fence");

	/* Clocks. */
	make_up(&run);
	run.offsets[0].value = bound;
	is_path(&run, even, "a clock offset within its bound counts as 0");
	make_up(&run);
	for (int rank = 4; rank < 6; rank++) {
		run.offsets[2].value = 300 * ms;
		delay(&run, rank, RANKS, PARENT_CREATED, 300 * ms);
	}
	is_path(&run,
		"daemon 4 10, spawn 4 10, exec 4 10, init 4 10, fence 4 10, init 4 10, fence 4 10, "
		"init 4 10, exchange 4 10, clock 4 300; -",
		"the slowest rank's clock is ahead");
	ok(rows_add_up(&run, 0), "that rank's row adds up to its reply less the offset");
	make_up(&run);
	for (int rank = 4; rank < 6; rank++) {
		run.offsets[2].value = s;
		delay(&run, rank, RANKS, REPLY_RECEIVED, 300 * ms);
		run.records[rank].stamp[MAIN_ENTERED] = s + 70 * ms;
	}
	finish(&run, &path);
	ok(run.marks[4][REPLY_RECEIVED] == 0 && run.marks[4][MAIN_ENTERED] == 0,
	   "no mark lies before the start");

	/* What a process did in its steps. */
	make_up(&run);
	is_works(&run, 3, MAIN_ENTERED, 10 * ms, 4000, 3000, 3000, 1);
	make_up(&run);
	is_works(&run, 3, FENCE_ENTERED + 2, 10 * ms, 4000, 3000, 3000, 3);
	make_up(&run);
	is_works(&run, 3, INIT_RETURNED, 10 * ms, 4000, 3000, 3000, 4);
	make_up(&run);
	is_works(&run, 3, INIT_RETURNED, 5 * ms, 4000, 1000, 0, 4);
	make_up(&run);
	is_works(&run, 3, INIT_RETURNED, 3 * ms, 3000, 0, 0, 4);
	make_up(&run);
	forget_wait(&run, 3, INIT_RETURNED);
	is_works(&run, 3, INIT_RETURNED, 10 * ms, 4000, UNKNOWN, UNKNOWN, 4);
	make_up(&run);
	is_works(&run, 0, PARENT_CREATED, 10 * ms, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
	make_up(&run);
	is_works(&run, 0, CREATED, 10 * ms, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
	make_up(&run);
	is_works(&run, 0, FENCE_LEFT, 10 * ms, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
	make_up(&run);
	is_works(&run, 0, REPLY_RECEIVED, 10 * ms, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
	make_up(&run);
	finish(&run, &path);
	ok(column_value(&run, 3, CPU) == 4 * 4000 && column_value(&run, 3, BLOCKED) == 4 * 3000 &&
		   column_value(&run, 3, FAULTS) == 1 + 2 + 3 + 4,
	   "a rank's work is the sum of its four own steps");
	make_up(&run);
	forget_fences(&run, 6);
	finish(&run, &path);
	ok(column_value(&run, 3, CPU) == 4000 && column_value(&run, 6, FAULTS) == 1,
	   "without fences, a rank's work is that of exec alone");
	make_up(&run);
	run.records[6].stamp[FENCE_ENTERED + 2] = run.records[6].stamp[FENCE_LEFT + 2] = UNKNOWN;
	finish(&run, &path);
	ok(column_value(&run, 3, FAULTS) == 10 && column_value(&run, 6, CPU) == 5 * 4000,
	   "if a fence does not count, what is done in it belongs to the step around it");

	/* The outlier's kind is the one that is furthest above its own median, not the largest
	 * one. */
	for (int mark = MAIN_ENTERED; mark <= INIT_RETURNED; mark++) {
		if (mark != MAIN_ENTERED && mark != FENCE_ENTERED && mark != INIT_RETURNED)
			continue;
		make_up(&run);
		delay_one(&run, 4, mark, 300 * ms);
		is_kind(&run, mark, BLOCKED);
		make_up(&run);
		delay_one(&run, 4, mark, 300 * ms);
		add_work(&run, 4, mark, 160 * ms, 0);
		is_kind(&run, mark, CPU);
		make_up(&run);
		delay_one(&run, 4, mark, 300 * ms);
		add_work(&run, 4, mark, 0, 160 * ms);
		is_kind(&run, mark, CPU_WAIT);
		make_up(&run);
		delay_one(&run, 4, mark, 300 * ms);
		forget_wait(&run, 4, mark);
		is_kind(&run, mark, COLUMNS);
		make_up(&run);
		delay(&run, 0, 1, mark, 200 * ms);
		delay_one(&run, 4, mark, 300 * ms);
		add_work(&run, 4, mark, 190 * ms, 0);
		is_kind(&run, mark, CPU);
	}
	make_up(&run);
	delay_one(&run, 4, REPLY_RECEIVED, 300 * ms);
	is_kind(&run, REPLY_RECEIVED, COLUMNS);

	/* The outlier's excess, and how many ranks of its block share it. */
	make_up(&run);
	run.n = 4;
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].stamp[REPLY_RECEIVED] = rank < 4 ? s + 90 * ms : UNKNOWN;
	delay(&run, 0, 1, FENCE_LEFT + 2, 9 * ms);
	for (int rank = 5; rank < RANKS; rank++)
		run.records[rank].stamp[FENCE_ENTERED + 2] += (rank == 5 ? 4 : 9) * ms;
	is_path(&run,
		"daemon 6 10, spawn 6 10, exec 6 10, init 6 10, fence 6 10, init 6 19, fence 0 10, "
		"init 0 10, exchange 0 10; -",
		"an excess of less than a tenth of the time is not an outlier");
	make_up(&run);
	run.n = 4;
	for (int rank = 0; rank < RANKS; rank++)
		run.records[rank].stamp[REPLY_RECEIVED] = rank < 4 ? s + 90 * ms : UNKNOWN;
	delay(&run, 0, 1, FENCE_LEFT + 2, 20 * ms);
	for (int rank = 5; rank < RANKS; rank++)
		run.records[rank].stamp[FENCE_ENTERED + 2] += (rank == 5 ? 10 : 20) * ms;
	run.records[5].stamp[FENCE_ENTERED + 2] -= 1;
	is_path(&run,
		"daemon 6 10, spawn 6 10, exec 6 10, init 6 10, fence 6 10, init 6 30, fence 0 10, "
		"init 0 10, exchange 0 10; init 6 20 1",
		"one more rank of the block has at least half of the excess");
}

int main(void)
{
	test_work();
	test_arguments();
	test_launchers();
	test_creation();
	test_offset();
	test_pairs();
	test_clocks();
	test_judge();
	test_paths();
	any_run_adds_up();
	late_rank_is_named();
	printf("1..%d\n", count);
	return failed != 0;
}
