/*
 * options.c - the arguments of main: SEC, USEC, N and the options
 *
 * On the clock: all of it, and arming the alarms that the options ask for.
 */
#include "observe.h"

#include <limits.h>

static const char *timeout, *where; /* seconds after the start, or NULL */

/* Takes the options, which follow SEC, USEC and N, out of the arguments of main. Leaves the first
 * one that is unknown or has a wrong or missing value, and what follows it. Does not use getopt,
 * whose state belongs to the program if this is libziaprobe.so. */
static void take_options(int *argc, char **argv, struct run *run)
{
	int first = 4, next, words;

	for (next = first; next < *argc; next += words) {
		const char *option = argv[next], *value = argv[next + 1]; /* NULL at the end */

		words = 2;
		if (strcmp(option, "-v") == 0 || strcmp(option, "--verbose") == 0) {
			run->verbose++;
			words = 1;
		} else if (value && strcmp(option, "--csv") == 0) {
			run->csv = value;
		} else if (value && strcmp(option, "--ranks") == 0) {
			run->ranks = value;
		} else if (value && strcmp(option, "--ppn") == 0) {
			argv[3] = argv[next + 1];
		} else if (strcmp(option, "--start-only") == 0) {
			words = 1; /* libziaprobe.c reads it */
		} else if (to_number(value, INT_MAX) > 0 &&
			   (strcmp(option, "-t") == 0 || strcmp(option, "--timeout") == 0)) {
			timeout = value;
		} else if (to_ms(value) > 0 &&
			   (strcmp(option, "-w") == 0 || strcmp(option, "--where") == 0)) {
			where = value;
			run->where = true;
		} else {
			break;
		}
	}
	if (next == first)
		return;
	memmove(argv + first, argv + next, (size_t)(*argc - next + 1) * sizeof *argv);
	*argc -= next - first;
}

/* Returns the number of nodes with N ranks each, or NOBODY_TOLD if that is not possible. */
static int blocks(int n)
{
	return world.size > 0 && world.size % n == 0 ? world.size / n : NOBODY_TOLD;
}

/* Reads the arguments of main into RUN and this rank's record, and arms the alarms. If they are
 * wrong, does not set START, and arms none: ziaprobe.c reports the error. N is 0 if it is to be
 * found out. */
void read_arguments(int *argc, char **argv, struct run *run)
{
	int64_t sec, usec;

	take_options(argc, argv, run);
	if (*argc != 4)
		return;
	sec = to_number(argv[1], INT64_MAX / 1000000 / 2);
	usec = to_number(argv[2], 999999);
	run->n = (int)to_number(argv[3], INT_MAX);
	if (sec < 0 || usec < 0 || run->n < 0)
		return;
	this_rank.at[START] = sec * 1000000 + usec;
	if (timeout || where)
		note_nodes(run->n > 0 ? blocks(run->n) : launched_nodes());
	if (timeout)
		arm(TIMEOUT, timeout);
	if (where)
		arm(WHERE, where);
}
