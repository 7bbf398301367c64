/* What ziatest does before the clock starts */
#ifndef PREPARE_H
#define PREPARE_H
#define _GNU_SOURCE /* adjtimex, getopt_long, strsep, vasprintf */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A launch that lacks only its start stamp, SEC and USEC */
struct launch {
	char *before, *after; /* the printed line, before and after the stamp */
	char *options; /* the rest of ZIAPROBE, from the comma on; NULL without a program */
	char **words; /* the line as words, for an exec without a shell */
	char **stamp; /* in words: SEC and USEC or, with a program, ZIAPROBE=... */
	char *path; /* the executable of the launcher; NULL if the line needs a shell */
};
struct launch prepare(int argc, char **argv);

extern const char usage[]; /* ends with a newline */

/* Prints an error on stderr, and the usage line if STATUS is 2. Exits with STATUS. */
void fail(int status, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* Returns a new string, formatted as by printf. It is called on the clock, too. */
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* In options.c, for prepare(): checks all arguments. Stores those of ziaprobe, from N on, and a
 * NULL in ARGUMENTS. Returns the words after N. */
char **read_options(int argc, char **argv, char **arguments);

#endif
