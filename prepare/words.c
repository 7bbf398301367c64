/* The words after the options: a launcher and a program, or N and a launch line */
#include "prepare.h"

#include <limits.h>
#include <regex.h>

char *number(const char *name, char *value)
{
	long long parsed = strtoll(value, NULL, 10);

	if (value[strspn(value, "0123456789")] || parsed < 1 || parsed > INT_MAX)
		fail(2, "%s must be a whole number from 1 to %d, not '%s'", name, INT_MAX, value);
	return value + strspn(value, "0");
}

int matches(const char *string, const char *pattern)
{
	regex_t regex;
	int found;

	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return 0;
	found = regexec(&regex, string, 0, NULL, 0) == 0;
	regfree(&regex); /* exec runs on the clock, and takes longer if it must free more */
	return found;
}

/* Returns whether a shell would run COMMAND as a pipe. A | inside quotes, of which there are three
 * kinds, or inside parentheses or ${} is not a pipe; nor is the one in || or >|. */
static int is_pipe(const char *command)
{
	char closers[strlen(command) + 1]; /* of the quotes and parentheses that are open */
	size_t depth = 0;

	for (const char *c = command; *c; c++) {
		char closer = depth > 0 ? closers[depth - 1] : '\0';

		if (closer && *c == closer)
			depth--;
		else if (closer == '\'')
			continue;
		else if (c[0] == '\\' && c[1])
			c++;
		else if (*c == '`' || (closer != '"' && (*c == '"' || *c == '\'')))
			closers[depth++] = *c;
		else if (*c == '(' && (closer != '"' || c[-1] == '$'))
			closers[depth++] = ')';
		else if (*c == '{' && c > command && c[-1] == '$')
			closers[depth++] = '}';
		else if (depth == 0 && *c == '|' && c[1] != '|')
			return 1;
		else if ((*c == '|' || *c == '>') && c[1] == '|')
			c++;
	}
	return 0;
}

/* Checks PROGRAM, which env starts. LINE is the launch line; NULL in the words form. */
static void check_program(char **program, const char *line)
{
	int is_option = **program == '\0' || **program == '-';

	if (is_option && line)
		fail(2,
		     "'%s' is not a program; quote the launcher with its options: '%s ...', or "
		     "leave out N",
		     *program, line);
	if (is_option)
		fail(2, "'%s' is not a program; after --, name the program, and then its options",
		     *program);
	if (strchr(*program, '='))
		fail(2,
		     "'%s' is not a program; to set a variable, write 'env %s %s'; if it is a "
		     "path, use a link without '='",
		     *program, *program, program[1] ? program[1] : "...");
}

/* Checks TEXT, a launch line or a word of it or, if SCRIPT is set, a word of the program. env and
 * LD_PRELOAD stand between the two. */
static void check_beside_env(const char *text, int script)
{
	/* Matches LD_PRELOAD as a word (-genv LD_PRELOAD FILE) or in an assignment, but not as a
	 * part of a longer name. A script, with a $, may extend it. */
	const char *preload = "(^|[ \t\n])LD_PRELOAD([ \t\n]|$)|(^|[^A-Za-z0-9_])LD_PRELOAD=";

	if (!script && matches(text, "(^|[ \t\n])--(bcast|multi[a-z-]*)([= \t\n]|$)"))
		fail(2, "--bcast would copy, and --multi-prog read, /usr/bin/env instead of the "
			"program; copy it with sbcast before ziatest, or start only one program");
	if (matches(text, preload) && !(script && strchr(text, '$')))
		fail(2, "LD_PRELOAD in '%s' clashes with ziatest's; set it before ziatest", text);
}

void read_line(char **words, struct request *request)
{
	char *line = words[1] ? words[1] : "mpirun -npernode";

	request->arguments[0] = number("N", words[0]);
	request->line = line;
	request->program = words[1] ? words + 2 : words + 1;
	if (!matches(line, "^[ \t\n]*[^- \t\n#]"))
		fail(2, "'%s', the argument after N, is not a launcher; put options before N",
		     line);
	/* N and the probe would become arguments of the last command of the pipe. */
	if (is_pipe(line))
		fail(2,
		     "the launcher contains a |: '%s'; put a pipe in a script that is the "
		     "launcher, or after ziatest: ./ziatest N \"...\" 2>&1 | tee log",
		     line);
	if (!*request->program)
		return;
	check_program(request->program, line);
	check_beside_env(line, 0);
	for (char **word = request->program; *word; word++)
		check_beside_env(*word, 1);
}

void read_words(char **words, char **command, struct request *request)
{
	char **end = words, **last = words, **program;

	while (*end && strcmp(*end, "--") != 0)
		end++;
	while (*last)
		last++;
	if (end > words && !find_program(words[0])) {
		/* A launch line for the original's form may end in the option that takes N. */
		int lacks_n = end == words + 1 && matches(words[0], "[ \t\n]-[^ \t\n=]*$");

		if (strpbrk(words[0], " \t\n"))
			fail(2,
			     "'%s' is not a launcher; leave out the quotes, as in 'ziatest "
			     "%s%s%s%s', or write N, the number of processes per node, before it",
			     words[0], words[0], lacks_n ? " N" : "", join(words + 1, last),
			     *end ? "" : " -- ziaprobe");
		if (strchr(words[0], '='))
			fail(2, "'%s' is not a launcher; to set a variable, write 'env %s %s'",
			     words[0], words[0], words + 1 < end ? words[1] : "...");
	}
	if (!*end) {
		last -= last - words > 1 && is_probe(last[-1]);
		fail(2,
		     "-- is missing; to measure a program, write -- before it; to launch the "
		     "benchmark itself, write:\n\t%s -- ziaprobe",
		     join(command, last) + 1);
	}
	program = end + 1;
	if (*program && strcmp(*program, "--") == 0 && end > words) { /* the launcher's own */
		end++;
		program++;
	}
	*end = NULL;
	request->arguments[0] = "0";
	request->launcher = words;
	request->program = program;
	if (*program && is_probe(*program)) {
		if (program[1])
			fail(2,
			     "%s takes no arguments here, such as '%s'; write the options of "
			     "ziatest before the launcher",
			     program[0], program[1]);
		request->probe = strchr(*program, '/') ? *program : NULL;
		request->program = program + 1;
	}
	if (!*request->program)
		return;
	check_program(program, NULL);
	for (char **word = words; *word; word++)
		check_beside_env(*word, 0);
	for (char **word = program; *word; word++)
		check_beside_env(*word, 1);
}
