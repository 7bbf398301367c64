/*
 * report.c - the reports beyond the result, on rank 0: -v, --csv and --ranks (off the clock)
 */
#include "run.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

static const char *const names[PHASES] = {
	[DAEMON] = "daemon",      [SPAWN] = "spawn",      [LOAD] = "load",
	[SETUP] = "setup",        [FENCE_WAIT] = "fence", [WIREUP] = "wireup",
	[CLOCK_AHEAD] = "clock",  [INIT] = "init",        [REPEAT] = "repeat",
	[COMPLETED] = "completed"};

/* The columns of the table and of --ranks. */
static const struct step columns[] = {{.phase = DAEMON}, {.phase = SPAWN},    {.phase = LOAD},
				      {.phase = SETUP},  {.phase = INIT},     {.phase = WIREUP},
				      {.phase = REPEAT}, {.phase = COMPLETED}};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* NS in ms for three decimals, never -0.000. */
static double ms(int64_t ns)
{
	return ns < 0 && ns > -500 ? 0 : (double)ns / 1e6;
}

/* Prints a step's rank and its node; of an exchange with its partner. */
static void print_rank(const struct run *run, enum phase phase, int rank)
{
	int peer = run->partner[rank];

	fprintf(stderr, "%d on %s", rank, run->facts[rank].host);
	if ((phase == WIREUP || phase == REPEAT) && peer != rank)
		fprintf(stderr, ", with %d on %s", peer, run->facts[peer].host);
}

/* Prints the critical path, and what stands out on it. */
static void print_path(const struct run *run, const struct path *path)
{
	const struct step *step;
	int64_t excess;
	int others;

	fprintf(stderr, "\n%-13s %10s  %s", "critical path", "ms", "rank");
	for (step = path->step + path->first; step < path->step + STEPS; step++) {
		fprintf(stderr, "\n%-13s %10.3f", names[step->phase], ms(step->us * 1000));
		if (step->phase == INIT)
			continue;
		fprintf(stderr, step->phase == FENCE_WAIT ? "  last in: " : "  ");
		print_rank(run, step->phase, step->rank);
		if (step->phase == DAEMON)
			fprintf(stderr, ", %s", run->facts[step->rank].parent);
	}
	fprintf(stderr, "\n\nstands out: ");
	step = find_outlier(run, path, &excess, &others);
	if (!step) {
		fprintf(stderr, "no rank\n");
		return;
	}
	fprintf(stderr, "%s of rank ", names[step->phase]);
	print_rank(run, step->phase, step->rank);
	if (others > 0)
		fprintf(stderr, ", and of %d more there", others);
	fprintf(stderr, ", %.3f ms more than elsewhere\n", ms(excess));
}

static void print_table(const struct run *run)
{
	fprintf(stderr, "\n%-12s %11s %11s %11s  %s\n", "ms", "min", "median", "max",
		"slowest rank");
	for (int i = 0; i < COLUMNS; i++) {
		struct summary c = summarise(run, &columns[i]);

		if (c.count == 0) {
			fprintf(stderr, "%s\n", names[columns[i].phase]);
			continue;
		}
		fprintf(stderr, "%-12s %11.3f %11.3f %11.3f  ", names[columns[i].phase], ms(c.min),
			ms(c.median), ms(c.max));
		print_rank(run, columns[i].phase, c.slowest);
		fputc('\n', stderr);
	}
}

/* The node whose clock is furthest off; of two both, with AND between, as none can be blamed. */
static void print_worst_host(FILE *file, const struct run *run, const char *and)
{
	if (run->size == 2 * run->n)
		fprintf(file, "%s%s%s", run->facts[0].host, and, run->facts[run->n].host);
	else
		fprintf(file, "%s", run->facts[run->worst_block * run->n].host);
}

/* What --verbose adds to the result. */
void print_details(const struct run *run, const struct path *path)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	const char *sync = getenv("ZIATEST_SYNC");
	struct stat file;
	int length;

	fprintf(stderr, "\n%.3f ms, %d nodes x %d = %d ranks\n", ms(path->us * 1000),
		run->size / run->n, run->n, run->size);
	print_path(run, path);
	print_table(run);
	if (run->facts[0].fence_count > 0 && fence_library())
		fprintf(stderr, "fences: %d, %s\n", run->facts[0].fence_count, fence_library());
	else
		fprintf(stderr, "fences: none seen\n");
	fprintf(stderr, "clock skew: %.3f ms %s ", ms(run->skew.offset),
		run->size == 2 * run->n ? "between" : "on");
	print_worst_host(stderr, run, " and ");
	fprintf(stderr, ", within %.3f ms; corrected time ", ms(run->skew.bound));
	if (run->start_clock_known)
		fprintf(stderr, "%.3f ms\n", ms(corrected_time(run)));
	else if (sync && strcmp(sync, "no") != 0)
		fprintf(stderr, "not known; the stamping kernel says: within %s us\n", sync);
	else
		fprintf(stderr, "not known; the stamping kernel says: %s\n",
			sync ? "not synchronised" : "nothing");
	if (stat("/proc/self/exe", &file) == 0)
		fprintf(stderr, "executable: %lld bytes\n", (long long)file.st_size);
	MPI_Get_library_version(version, &length);
	for (char *tab = version; (tab = strchr(tab, '\t'));)
		*tab = ' ';
	fprintf(stderr, "MPI: %.*s\n", (int)strcspn(version, "\n"), version);
}

/* Ends the writing of FILE, called NAME; FILE is NULL if that could not be opened. Returns the exit
 * status. */
static int close_file(FILE *file, const char *name)
{
	int failed = !file || ferror(file);

	if (file && fclose(file) != 0)
		failed = 1;
	if (failed)
		say("error", "cannot write %s: %s; name a file that rank 0's node can write", name,
		    strerror(errno));
	return failed;
}

/* Writes a cell of a time in ms, empty for NONE. */
static void put_ms(FILE *file, int64_t ns)
{
	fputc(',', file);
	if (ns != NONE)
		fprintf(file, "%.6f", (double)ns / 1e6);
}

/* Writes the cells of the critical path: what all steps of each phase took. A path without a clock
 * step has 0 there, other steps that it has not are empty. Where no fence is seen MPI_Init is its
 * setup. */
static void put_path(FILE *file, const struct path *path)
{
	for (enum phase phase = DAEMON; phase <= CLOCK_AHEAD; phase++) {
		int64_t sum = phase == CLOCK_AHEAD ? 0 : NONE;

		for (int i = path->first; i < STEPS; i++) {
			const struct step *step = path->step + i;

			if (step->phase == phase || (step->phase == INIT && phase == SETUP))
				sum = (sum == NONE ? 0 : sum) + step->us * 1000;
		}
		put_ms(file, sum);
	}
}

/* Appends the run's row to the file NAME, after a header if it is empty. Returns the exit
 * status. */
int write_csv(const struct run *run, const struct path *path, int valid, const char *name)
{
	time_t seconds = (time_t)(run->start / 1000000000);
	FILE *file = fopen(name, "a");
	struct stat before = {.st_size = 0};
	char started[32];

	if (!file)
		return close_file(file, name);
	fstat(fileno(file), &before);
	if (before.st_size == 0)
		fprintf(file,
			"started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,"
			"daemon_ms,spawn_ms,load_ms,setup_ms,fence_ms,wireup_ms,clock_ms,"
			"init_max_ms,repeat_max_ms,skew_max_ms,skew_host,skew_bound_ms,valid\n");
	strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
	fprintf(file, "%s.%06dZ,%d,%d,%d", started, (int)(run->start / 1000 % 1000000),
		run->size / run->n, run->n, run->size);
	put_ms(file, run->time);
	put_ms(file, run->start_clock_known ? corrected_time(run) : NONE);
	fprintf(file, ",%d,%s", run->slowest, run->facts[run->slowest].host);
	put_path(file, path);
	put_ms(file, summarise(run, &(struct step){.phase = INIT}).max);
	put_ms(file, summarise(run, &(struct step){.phase = REPEAT}).max);
	put_ms(file, llabs(run->skew.offset));
	fputc(',', file);
	print_worst_host(file, run, " ");
	put_ms(file, run->skew.bound);
	fprintf(file, ",%d\n", valid);
	return close_file(file, name);
}

/* Writes a row for every rank to the file NAME. Returns the exit status. */
int write_ranks(const struct run *run, const char *name)
{
	FILE *file = fopen(name, "w");

	if (!file)
		return close_file(file, name);
	fprintf(file, "rank,node,host");
	for (int i = 0; i < COLUMNS; i++)
		fprintf(file, ",%s_ms", names[columns[i].phase]);
	fprintf(file, ",clock_offset_ms\n");
	for (int rank = 0; rank < run->size; rank++) {
		fprintf(file, "%d,%d,%s", rank, rank / run->n + 1, run->facts[rank].host);
		for (int i = 0; i < COLUMNS; i++)
			put_ms(file, duration(run, &columns[i], rank));
		put_ms(file, ahead(run, rank));
		fputc('\n', file);
	}
	return close_file(file, name);
}
