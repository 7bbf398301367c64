/*
 * report.c - the reports beyond the result, on rank 0: -v, --csv and --ranks
 */
#define _POSIX_C_SOURCE 200809L

#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char *const column_names[] = {"launch", "setup",  "init",
					   "wireup", "repeat", "completed"};

static double ms(int64_t ns)
{
	return (double)ns / 1e6;
}

/* Prints RANK and its host, of an exchange with its partner. */
static void print_rank(const struct run *run, enum column column, int rank)
{
	int peer = run->partner[rank];

	fprintf(stderr, "%d on %s", rank, run->facts[rank].host);
	if ((column == WIREUP || column == REPEAT) && peer != rank)
		fprintf(stderr, ", with %d on %s", peer, run->facts[peer].host);
}

/* The table, and what stands out: a tenth of the time or more. */
static void print_phases(const struct run *run, const struct summary *columns)
{
	int64_t excess, time = run->stamped ? corrected_time(run) : run->time;
	int rank;
	enum column phase = outstanding(run, columns, &rank, &excess);

	fprintf(stderr, "%-10s %11s %11s %11s  %s\n", "ms", "min", "median", "max", "slowest rank");
	for (enum column column = LAUNCH; column < COLUMNS; column++) {
		const struct summary *c = columns + column;

		if (c->max == NONE) {
			fprintf(stderr, "%s\n", column_names[column]);
			continue;
		}
		fprintf(stderr, "%-10s %11.3f %11.3f %11.3f  ", column_names[column], ms(c->min),
			ms(c->median), ms(c->max));
		print_rank(run, column, c->slowest);
		fprintf(stderr, "\n");
	}
	if (excess < time / 10) {
		fprintf(stderr, "\nstands out: no rank\n");
		return;
	}
	fprintf(stderr, "\nstands out: %s of rank ", column_names[phase]);
	print_rank(run, phase, rank);
	fprintf(stderr, ", %.3f ms more than elsewhere\n", ms(excess));
}

/* What --verbose adds to the result. */
void print_details(const struct run *run, const struct summary *columns)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	struct stat file;
	int length;

	fprintf(stderr, "\n%.3f ms, %d nodes x %d = %d ranks\n\n", ms(run->time),
		run->size / run->n, run->n, run->size);
	print_phases(run, columns);
	fprintf(stderr, "clock skew: %.3f ms on %s, within %.3f ms; corrected time ",
		ms(run->skew.offset), run->facts[run->skewed * run->n].host, ms(run->skew.bound));
	if (run->stamped)
		fprintf(stderr, "%.3f ms\n", ms(corrected_time(run)));
	else
		fprintf(stderr, "not known, nor is the clock that stamped the start\n");
	if (stat("/proc/self/exe", &file) == 0)
		fprintf(stderr, "executable: %lld bytes\n", (long long)file.st_size);
	MPI_Get_library_version(version, &length);
	for (char *tab = version; (tab = strchr(tab, '\t'));)
		*tab = ' ';
	fprintf(stderr, "MPI: %.*s\n", (int)strcspn(version, "\n"), version);
}

/* Ends the writing of FILE at PATH; FILE is NULL if that could not be opened. Returns the exit
 * status. */
static int close_file(FILE *file, const char *path)
{
	int failed = !file || ferror(file);

	if (file && fclose(file) != 0)
		failed = 1;
	if (failed)
		say("error", "cannot write %s: %s; name a file that rank 0's node can write", path,
		    strerror(errno));
	return failed;
}

/* Writes a cell, empty for NONE. */
static void put_ms(FILE *file, int64_t ns)
{
	fputc(',', file);
	if (ns != NONE)
		fprintf(file, "%.6f", ms(ns));
}

/* Appends the run's row to the file at PATH, after a header if it is empty. Returns the exit
 * status. */
int write_csv(const struct run *run, const struct summary *columns, int valid, const char *path)
{
	time_t seconds = (time_t)(run->start / 1000000000);
	FILE *file = fopen(path, "a");
	char started[32];
	struct stat before;

	if (!file || fstat(fileno(file), &before) != 0)
		return close_file(file, path);
	if (before.st_size == 0)
		fprintf(file,
			"started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,"
			"launch_max_ms,setup_max_ms,init_max_ms,wireup_max_ms,repeat_max_ms,"
			"skew_max_ms,skew_bound_ms,valid\n");
	strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
	fprintf(file, "%s.%06dZ,%d,%d,%d,%.6f,", started, (int)(run->start / 1000 % 1000000),
		run->size / run->n, run->n, run->size, ms(run->time));
	if (run->stamped)
		fprintf(file, "%.6f", ms(corrected_time(run)));
	fprintf(file, ",%d,%s", run->slowest, run->facts[run->slowest].host);
	for (enum column column = LAUNCH; column < COMPLETED; column++)
		put_ms(file, columns[column].max);
	fprintf(file, ",%.6f,%.6f,%d\n", ms(llabs(run->skew.offset)), ms(run->skew.bound), valid);
	return close_file(file, path);
}

/* Writes a row for every rank to the file at PATH. Returns the exit status. */
int write_ranks(const struct run *run, const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return close_file(file, path);
	fprintf(file, "rank,node,host");
	for (enum column column = LAUNCH; column < COLUMNS; column++)
		fprintf(file, ",%s_ms", column_names[column]);
	fprintf(file, ",clock_offset_ms\n");
	for (int rank = 0; rank < run->size; rank++) {
		fprintf(file, "%d,%d,%s", rank, rank / run->n + 1, run->facts[rank].host);
		for (enum column column = LAUNCH; column < COLUMNS; column++)
			put_ms(file, value(run, column, rank));
		fprintf(file, ",%.6f\n", ms(ahead(run, rank)));
	}
	return close_file(file, path);
}
