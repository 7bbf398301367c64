/*
 * observe.h - what ziaprobe.c tells the layer that observes it, and what both use
 *
 * A stamp is the time of the realtime clock, in whole microseconds since 1970 (UTC). All other
 * times are in microseconds, too.
 */
#ifndef OBSERVE_H
#define OBSERVE_H

#define _GNU_SOURCE /* clock_gettime; for observe/, also memmem, sigaction, RTLD_NEXT */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef PRELOAD
#include "pmpi.h"
#endif

struct launch {
	int64_t start; /* a stamp */
	int n; /* processes per node */
	int rank, size; /* in MPI_COMM_WORLD; there are size / n blocks */
	int partner; /* the rank that this originator sends its byte to; -1 on a responder */
	int64_t replied; /* the stamp of the reply; 0 on a responder */
	int64_t time; /* on rank 0: the result */
	int slowest; /* on rank 0: the rank that received the latest reply */
};

/* What a rank is doing, for the message of the timeout. Rank 0 is UNCHECKED from the end of the
 * gather until its checks are done. */
enum state {
	IN_MPI_INIT,
	IN_FENCE,
	WAITS_FOR_REPLY,
	WAITS_FOR_MESSAGE,
	WAITS_FOR_OTHERS,
	UNCHECKED,
	WRITING
};

static inline int64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline int64_t now(void)
{
	return read_clock(CLOCK_REALTIME);
}

/* Returns the number in TEXT, or -1 if TEXT does not consist of decimal digits or the number is
 * greater than MAX. TEXT may be NULL. */
static inline int64_t to_number(const char *text, int64_t max)
{
	int64_t number;

	if (!text || !*text || text[strspn(text, "0123456789")])
		return -1;
	number = strtoll(text, NULL, 10); /* INT64_MAX if it is out of range */
	return number > max ? -1 : number;
}

#ifdef PLAIN
#define OPTIONS_USAGE ""
#define observe_main() (void)0
#define observe_options(words) (*(words) ? "this build, with -DPLAIN, has no options" : NULL)
#define observe_start(start) (void)0
#define observe_init() now()
#define observe_world(rank, size, status) true
#define observe_state(state, rank, since) (void)(since)
#define allocate(count, size) calloc((size_t)(count), size)
#define observe_check(launch) true
#define observe_explain() 0
#define stop_if_timed_out() (void)0
#else
#define OPTIONS_USAGE " [-v] [--csv FILE] [--ranks FILE] [-t SECONDS]"

/* On the clock, in this order */
void observe_main(void); /* takes the stamp of main */
const char *observe_options(char **words); /* returns NULL, or what is wrong with them */
void observe_start(int64_t start); /* sets the timeout; not called if the arguments are wrong */
int64_t observe_init(void); /* takes and returns the stamp of MPI_Init's return */

/* On the clock. If MPI and the launcher do not match, prints an error, once per job, stores the
 * exit status of this rank, and returns false. */
bool observe_world(int rank, int size, int *status);

/* Notes that this rank has been in STATE since the stamp SINCE, waiting for RANK, or for no rank if
 * RANK is -1. Also called on the clock. */
void observe_state(enum state state, int rank, int64_t since);

/* Returns COUNT > 0 elements of SIZE bytes, all 0. If memory is short, aborts with an error. */
void *allocate(int count, size_t size);

/* On all ranks, after MPI_Gather: compares the clocks and gathers the records. On rank 0, prints an
 * error and returns false if the result is wrong. */
bool observe_check(const struct launch *launch);

/* On rank 0, after the result: prints warnings and writes reports. Returns the exit status. */
int observe_explain(void);

/* Does not return if the timeout has expired. */
void stop_if_timed_out(void);
#endif
#endif
