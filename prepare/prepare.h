/* What ziatest does before the clock starts */
#ifndef PREPARE_H
#define PREPARE_H
#define _GNU_SOURCE /* adjtimex, getopt_long, strsep, vasprintf */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Replaces the one in ziatest.c, which accepts only N and a launch line. */
char **prepare(int argc, char **argv, char *sec, char *usec, char ***command);

extern const char usage[]; /* ends with a newline */

/* Prints an error on stderr, and the usage lines if STATUS is 2. Exits with STATUS. */
void fail(int status, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* Returns a new string, formatted as by printf. */
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An array of words that ends with a NULL, which COUNT does not include */
struct list {
	char **word;
	size_t count;
};
void push(struct list *list, char *word);

/* What the arguments of ziatest ask for. Each array ends with a NULL. */
struct request {
	char **arguments; /* of ziaprobe, from N on; N is 0 in the words form */
	char *line; /* the launch line, with N; NULL in the words form */
	char **launcher; /* and its arguments; NULL in the original's form */
	char *probe; /* the path of ziaprobe, or NULL */
	char **program; /* and its arguments, if PROBE is NULL; otherwise empty */
};

/* In options.c: reads and checks all arguments. */
struct request read_options(int argc, char **argv);

/* In words.c. Both check the words after the options, and store them in REQUEST. WORDS begins with
 * N in the original's form, and with the launcher or "--" in the words form, which takes the "--"
 * out of it. N is the number in WORDS. COMMAND is the whole command of ziatest, for an error. */
void read_line(char **words, const char *n, struct request *request);
void read_words(char **words, char **command, struct request *request);

/* Returns VALUE without leading zeros. NAME is for the error message. ziaprobe stores the number in
 * an int. */
char *number(const char *name, char *value);

/* Returns whether PATTERN, an extended regular expression, matches in STRING. */
int matches(const char *string, const char *pattern);

/* In find.c: Returns the path of the program NAME, or NULL. In PATH, an empty entry is this
 * directory. A NAME with a slash is looked up as it is: as in one empty entry. */
char *find_program(const char *name);

/* Returns the path of ./ziaprobe, as the specification requires, or of the one next to ziatest. */
char *find_probe(void);

/* Returns the path of ziastart, which is next to ziatest or in ../lib. Passes on the path of the
 * library in the environment, in case the launcher copies ziastart elsewhere. */
char *find_starter(void);

/* In text.c: Plain words contain no special characters. A shell only splits them at blanks. */
extern const char blanks[], special[];

/* Returns STRING with each OLD replaced by NEW. */
char *replace(const char *string, const char *old, const char *new);

/* Returns WORD, quoted for a shell if necessary. */
char *quoted(char *word);

/* Returns WORDS, which end with a NULL, as a shell needs them, each after a blank. */
char *join(char **words);

#endif
