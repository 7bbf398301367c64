/*
 * ziatest - time an MPI job from its launch to its first messages, on Linux
 *
 *	ziatest N ["LAUNCH LINE"]
 *
 * ziatest takes a time stamp, prints the command line on stderr, and becomes the launcher. The
 * launcher starts N processes of ziaprobe per node. Each receives the stamp, and rank 0 reports the
 * time.
 *
 * On the clock, between the start stamp and the launcher's first instruction, ziatest formats the
 * command line, prints it and calls exec. It starts no child process, waits for nothing and does
 * not search PATH: everything else is done before the stamp. Only if a launch line needs a shell,
 * that searches PATH on the clock. The stamp is read from the realtime clock, because other nodes
 * read the end.
 *
 * 'cc ziatest.c' builds this file alone; a shell then runs every launch line. make links it with
 * prepare/, whose prepare() replaces the one here: it adds the options, the form without N and
 * quotes, and programs other than ziaprobe, and runs plain words without a shell.
 */
#define _GNU_SOURCE /* stpcpy */

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Returns the line to print, as pieces that end with a NULL. SEC and USEC are among them, for each
 * program of the launch, and are still empty. If the line needs no shell, sets *COMMAND to the path
 * of the launcher, followed by the words of the line and a NULL. If the arguments are wrong, prints
 * an error and exits with status 2. */
char **prepare(int argc, char **argv, char *sec, char *usec, char ***command);

__attribute__((weak)) char **prepare(int argc, char **argv, char *sec, char *usec, char ***command)
{
	char *line = argc > 2 ? argv[2] : "mpirun -npernode", *n = argv[1];
	char **pieces = calloc(strlen(line) + 10, sizeof *pieces), **end = pieces;

	(void)command;
	if (!pieces || argc < 2 || argc > 3 || n[strspn(n, "0123456789")] || atoi(n) < 1 ||
	    !line[strspn(line, " \t\n")]) {
		fputs("usage: ziatest N [\"LAUNCH LINE\"]\n"
		      "N is the number of processes per node, 1 or more. The launch line must\n"
		      "end with the option that takes N, or contain {}. This ziatest has no\n"
		      "options and starts only ziaprobe; the one that 'make' builds does more.\n",
		      stderr);
		exit(2);
	}
	for (char *at; (at = strstr(line, "{}")); line = at + 2) {
		*at = '\0';
		*end++ = line;
		*end++ = n;
	}
	*end++ = line;
	if (end == pieces + 1) {
		*end++ = " ";
		*end++ = n;
	}
	*end++ = " ./ziaprobe ";
	*end++ = sec;
	*end++ = " ";
	*end++ = usec;
	*end++ = " ";
	*end++ = n;
	return pieces;
}

/* Returns whether LINE ends with a pipe, whose last command would get N and the probe as arguments:
 * tee would overwrite the probe. Replaces each quotation, substitution and group in LINE, from the
 * inside out, with an x, because a | in one of them is not a pipe. */
static int ends_in_pipe(char *line)
{
	const char *group = "\\\\." /* an escaped character */
			    "|'[^']*'"
			    "|\"([^\"$`\\]|\\\\.|[$]+[^\"$`\\(])*[$]*\""
			    "|`[^`]*`"
			    "|[$]?[(][^()\"'`]*[)]"
			    "|[$][{][^{}\"'`]*[}]";
	/* A comment or a line end may follow the |; a redirection may contain a | or an &. */
	const char *last_pipe = "(^|[^|>])[|]&?([ \t\n]|#[^\n]*\n)*"
				"([^|;&)\n]|[<>]&|&>|>[|])*$";
	regex_t groups, pipe;
	regmatch_t found;
	int is_pipe;

	if (!strchr(line, '|') || regcomp(&groups, group, REG_EXTENDED) != 0 ||
	    regcomp(&pipe, last_pipe, REG_EXTENDED | REG_NOSUB) != 0)
		return 0;
	while (regexec(&groups, line, 1, &found, 0) == 0) {
		/* A line that a \ continues has no end there. */
		line[found.rm_so] = line[found.rm_so + 1] == '\n' ? ' ' : 'x';
		memmove(line + found.rm_so + 1, line + found.rm_eo, strlen(line + found.rm_eo) + 1);
	}
	is_pipe = regexec(&pipe, line, 0, NULL, 0) == 0;
	regfree(&groups); /* exec runs on the clock, and takes longer if it must free more */
	regfree(&pipe);
	return is_pipe;
}

/* Writes PIECES, which end with a NULL, into LINE, one after the other. */
static void join(char *line, char **pieces)
{
	*line = '\0';
	while (*pieces)
		line = stpcpy(line, *pieces++);
}

static void __attribute__((noreturn))
fail(int status, const char *what, const char *which, int error)
{
	fprintf(stderr, "ziatest: error: %s %s: %s\n", what, which, strerror(error));
	exit(status);
}

int main(int argc, char **argv)
{
	char sec[21] = "", usec[21] = "", *line, **command = NULL;
	char **pieces = prepare(argc, argv, sec, usec, &command);
	size_t size = 1;
	struct timespec start;
	int error = 0;

	for (char **piece = pieces; *piece; piece++)
		size += *piece == sec || *piece == usec ? sizeof sec : strlen(*piece);
	line = malloc(size);
	if (!line)
		fail(1, "cannot build", "the command line", errno);
	join(line, pieces);
	if (!command && ends_in_pipe(line)) { /* This changes LINE. */
		fputs("ziatest: error: the launch line ends with a pipe, whose last command would "
		      "get N and ziaprobe as arguments; put the pipe after ziatest, as in "
		      "'./ziatest N \"...\" 2>&1 | tee log', or into a script\n",
		      stderr);
		return 2;
	}

	/* Everything from here on is on the clock. */
	clock_gettime(CLOCK_REALTIME, &start);
	sprintf(sec, "%lld", (long long)start.tv_sec);
	sprintf(usec, "%ld", start.tv_nsec / 1000);
	join(line, pieces);
	if (fprintf(stderr, "%s\n", line) < 0)
		fail(1, "cannot print", "the command line on stderr", errno);
	if (command) {
		execv(command[0], command + 1);
		error = errno;
	}
	/* The shell runs every other line, or explains why it cannot. */
	execl("/bin/sh", "sh", "-c", line, (char *)NULL);
	if (!command)
		fail(126 + (errno == ENOENT), "cannot run", "/bin/sh", errno);
	fail(126, "cannot run", command[0], error);
}
