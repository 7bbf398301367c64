/*
 * options.c - the arguments of main: SEC, USEC, N and the options
 *
 * On the clock: all of it.
 */
#include "observe.h"

#include <limits.h>

/* Takes the options, which follow SEC, USEC and N, out of the arguments of main. Leaves the first
 * one that is unknown or has a wrong or missing value, and what follows it. Does not use getopt,
 * whose state belongs to the program if this is libziaprobe.so. */
static void take_options(int *argc, char **argv, struct run *run, struct moments *moments)
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
			moments->timeout = value;
		} else if (to_ms(value) > 0 &&
			   (strcmp(option, "-w") == 0 || strcmp(option, "--where") == 0)) {
			moments->where = value;
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

/* Reads the arguments of main into RUN, MOMENTS and this rank's record. If they are wrong, does not
 * set START, and ziaprobe.c reports the error. N is 0 if Ziatest must find it out. */
void read_arguments(int *argc, char **argv, struct run *run, struct moments *moments)
{
	int64_t sec, usec;

	take_options(argc, argv, run, moments);
	if (*argc != 4)
		return;
	sec = to_number(argv[1], INT64_MAX / 1000000 / 2);
	usec = to_number(argv[2], 999999);
	run->n = (int)to_number(argv[3], INT_MAX);
	if (sec >= 0 && usec >= 0 && run->n >= 0)
		this_rank.at[START] = sec * 1000000 + usec;
}
