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
	int shell; /* whether a shell may run the line: the original's form */
};
struct launch prepare(int argc, char **argv);

extern const char usage[]; /* ends with a newline */

/* Prints an error on stderr, and the usage lines if STATUS is 2. Exits with STATUS. */
void fail(int status, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* Returns a new string, formatted as by printf. It is called on the clock, too. */
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What the arguments of ziatest ask for. Each array ends with a NULL. */
struct request {
	char **arguments; /* of ziaprobe, from N on; N is 0 in the words form */
	char *line; /* the launch line, without N; NULL in the words form */
	char **launcher; /* and its arguments; NULL in the original's form */
	char **program; /* and its arguments; empty for ziaprobe */
	char *probe; /* the path of ziaprobe that was given, or NULL */
};

/* In options.c: reads and checks all arguments. */
struct request read_options(int argc, char **argv);

/* In words.c. Both check the words after the options, and store them in REQUEST. WORDS begins with
 * N in the original's form, and with the launcher or "--" in the words form, which takes the "--"
 * out of it. COMMAND is the whole command of ziatest, for an error message. */
void read_line(char **words, struct request *request);
void read_words(char **words, char **command, struct request *request);

/* Returns VALUE without leading zeros. NAME is for the error message. ziaprobe stores the number in
 * an int. */
char *number(const char *name, char *value);

/* Returns whether PATTERN, an extended regular expression, matches in STRING. */
int matches(const char *string, const char *pattern);

/* In find.c: Returns the path of the program NAME, or NULL. In PATH, an empty entry is this
 * directory. A NAME with a slash is looked up as it is: as in one empty entry. */
char *find_program(const char *name);

/* Returns the path of NAME next to this executable, or "" if that is unknown. */
char *next_to_ziatest(const char *name);

/* Returns the path of ./ziaprobe, as the specification requires, or of the one next to ziatest. */
char *find_probe(void);

/* Returns whether WORD means the benchmark itself: ziaprobe, or a path to ziatest's own. */
int is_probe(const char *word);

/* In text.c: Plain words contain no special characters. A shell only splits them at blanks. */
extern const char blanks[], special[];

/* Returns STRING with each OLD replaced by NEW. */
char *replace(const char *string, const char *old, const char *new);

/* Returns WORD, quoted for a shell if necessary. */
const char *quoted(const char *word);

/* Returns the words from FIRST up to END as a shell needs them, each after a blank. */
char *join(char **first, char **end);

#endif
