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

/* Returns whether WORD, a name or a path, means the benchmark. */
static int is_probe(const char *word)
{
	const char *slash = strrchr(word, '/');

	return strcmp(slash ? slash + 1 : word, "ziaprobe") == 0;
}

/* Checks TEXT, the launch line or a word of the launcher, in front of a program. */
static void check_launcher(const char *text)
{
	if (matches(text, "(^|[ \t\n])--multi[a-z-]*([= \t\n]|$)"))
		fail(2, "--multi-prog would read ziastart as its list of programs; instead, start "
			"a script that chooses the program by rank");
}

/* Checks PROGRAM and its arguments, up to a ':' or the NULL at the end, and the programs after
 * it. */
static void check_program(char **program)
{
	/* Matches an assignment to LD_PRELOAD, and the options that remove it, but not a part of a
	 * longer name. A script, with a $, may extend it. */
	const char *preload = "(^|[^A-Za-z0-9_])(LD_PRELOAD=|(unset|-u) *LD_PRELOAD)|^LD_PRELOAD$";
	char **word = program;

	if (!*program)
		fail(2, "the program is missing; write it after -- or, for the benchmark itself, "
			"ziaprobe");
	if (strchr("-:", **program)) /* or empty */
		fail(2, "'%s' is not a program; after --, name the program, and then its options",
		     *program);
	if (matches(*program, "^[A-Za-z_][A-Za-z0-9_]*=") && !find_program(*program))
		fail(2, "'%s' is not a program; to set a variable, write 'env %s %s'", *program,
		     *program, program[1] ? program[1] : "...");
	for (; *word && strcmp(*word, ":") != 0; word++)
		if (matches(*word, preload) && !strchr(*word, '$'))
			fail(2,
			     "LD_PRELOAD in '%s' would replace libziaprobe.so; set it in the "
			     "options of the launcher, or before ziatest",
			     *word);
	if (!*word)
		return;
	for (; *word && strcmp(*word, "--") != 0; word++)
		check_launcher(*word);
	if (!*word)
		fail(2, "-- is missing after ':'; write -- before each program, as in '-- ./a : "
			"-n 4 -- ./b'; if the ':' is an argument, put the program into a script");
	if (word[1] && is_probe(word[1]))
		fail(2, "ziaprobe cannot be one of several programs; launch it alone");
	check_program(word + 1);
}

/* Reads PROGRAM and its arguments, which end with a NULL, into REQUEST. */
static void read_program(char **program, struct request *request)
{
	request->program = program;
	if (!*program || !is_probe(*program)) {
		check_program(program);
		return;
	}
	if (program[1])
		fail(2,
		     "%s takes no arguments here, such as '%s'; write the options of ziatest "
		     "before the launcher",
		     program[0], program[1]);
	request->probe = strchr(*program, '/') ? *program : find_probe();
	request->program = program + 1;
}

void read_line(char **words, const char *n, struct request *request)
{
	char *line = words[1] ? words[1] : "mpirun -npernode";

	if (!matches(line, "^[ \t\n]*[^- \t\n#]"))
		fail(2, "'%s', the argument after N, is not a launcher; put options before N",
		     line);
	request->line = strstr(line, "{}") ? replace(line, "{}", n) : text("%s %s", line, n);
	if (!words[1] || !words[2]) {
		request->probe = find_probe();
		request->program = words + (words[1] ? 2 : 1);
		return;
	}
	if (*words[2] == '\0' || *words[2] == '-')
		fail(2,
		     "'%s' is not a program; quote the launcher with its options: '%s ...', or "
		     "leave out N",
		     words[2], line);
	check_launcher(line);
	read_program(words + 2, request);
}

void read_words(char **words, char **command, struct request *request)
{
	char **end = words, **last = words;

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
			     words[0], words[0], lacks_n ? " N" : "", join(words + 1),
			     *end ? "" : " -- ziaprobe");
		if (strchr(words[0], '='))
			fail(2, "'%s' is not a launcher; to set a variable, write 'env %s %s'",
			     words[0], words[0], words + 1 < end ? words[1] : "...");
	}
	if (!*end) {
		if (last - words > 1 && is_probe(last[-1]))
			last[-1] = NULL;
		fail(2,
		     "-- is missing; to measure a program, write -- before it; to launch the "
		     "benchmark itself, write:\n\t%s -- ziaprobe",
		     join(command) + 1);
	}
	if (end[1] && strcmp(end[1], "--") == 0 && end > words) /* the launcher's own */
		end++;
	*end = NULL;
	request->launcher = words;
	read_program(end + 1, request);
	for (char **word = words; !request->probe && *word; word++)
		check_launcher(*word);
}
