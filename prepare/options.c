/* Reads and checks the options and arguments of ziatest */
#include "prepare.h"

#include <getopt.h>
#include <limits.h>
#include <regex.h>

static const char help[] =
	"Measure the time from this command until all processes of an MPI job have\n"
	"initialised MPI and exchanged a message with another node.\n\n"
	"  N         number of processes per node, 1 or more\n"
	"  launcher  command that starts the job. It must end in the option that takes N,\n"
	"            contain {}, which N replaces, or begin with N={} if no option takes N.\n"
	"            Default: mpirun -npernode\n"
	"  program   measure this MPI program, unmodified, instead of ziaprobe\n\n"
	"  -v, --verbose          also print where the time went; if given twice (-vv), add\n"
	"                         a table of all ranks\n"
	"  --csv FILE             append the result to FILE as one row\n"
	"  --ranks FILE           write one row for each rank to FILE\n"
	"  -t, --timeout SECONDS  end all ranks SECONDS after the start, and print what\n"
	"                         they were doing; end a program only during MPI_Init\n"
	"  -w, --where SECONDS    SECONDS after the start, such as 0.7, print the calls that\n"
	"                         late ranks are in, and go on\n"
	"  -h, --help             print this help and exit\n"
	"  -V, --version          print the version and exit\n\n"
	"  ziatest 4 \"mpirun --map-by ppr:{}:node\"\n"
	"  ziatest -v 4 \"srun --ntasks 1024 --ntasks-per-node\" ./solver input.nml\n\n"
	"The job runs ./ziaprobe or, if there is none, the ziaprobe next to ziatest. A\n"
	"program is measured by libziaprobe.so, next to ziatest or in ../lib.\n"
	"Exit status: the launcher's own, usually 124 if the timeout expired; 1 if nothing\n"
	"could be launched, 2 for a usage error, 126 or 127 if the launcher cannot be run.\n";

/* Returns VALUE without leading zeros. NAME is for the error message. ziaprobe stores the number in
 * an int. */
static char *number(const char *name, char *value)
{
	long long parsed = strtoll(value, NULL, 10);

	if (value[strspn(value, "0123456789")] || parsed < 1 || parsed > INT_MAX)
		fail(2, "%s must be a whole number from 1 to %d, not '%s'", name, INT_MAX, value);
	return value + strspn(value, "0");
}

/* Returns whether PATTERN, an extended regular expression, matches in STRING. */
static int matches(const char *string, const char *pattern)
{
	regex_t regex;

	return regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) == 0 &&
	       regexec(&regex, string, 0, NULL, 0) == 0;
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

/* Checks the launcher and, unless it is NULL, the program in WORDS. env starts the program. */
static void check_command(char **words)
{
	/* Matches LD_PRELOAD as a word (-genv LD_PRELOAD FILE) or in an assignment, but not as a
	 * part of a longer name. */
	const char *preload = "(^|[ \t\n])LD_PRELOAD([ \t\n]|$)|(^|[^A-Za-z0-9_])LD_PRELOAD=";
	const char *launcher = words[0], *program = words[1];

	if (!matches(launcher, "^[ \t\n]*[^- \t\n#]"))
		fail(2, "'%s', the argument after N, is not a launcher; put options before N",
		     launcher);
	/* N and the probe would become arguments of the last command of the pipe. */
	if (is_pipe(launcher))
		fail(2,
		     "the launcher contains a |: '%s'; put a pipe in a script that is the "
		     "launcher, or after ziatest: ./ziatest N \"...\" 2>&1 | tee log",
		     launcher);
	if (!program)
		return;
	if (*program == '\0' || *program == '-')
		fail(2, "'%s' is not a program; quote the launcher with its options: '%s ...'",
		     program, launcher);
	if (strchr(program, '='))
		fail(2,
		     "'%s' is not a program; to set a variable, write 'env %s %s'; if it is a "
		     "path, use a link without '='",
		     program, program, words[2] ? words[2] : "...");
	if (matches(launcher, "(^|[ \t\n])--(bcast|multi[a-z-]*)([= \t\n]|$)"))
		fail(2, "--bcast would copy, and --multi-prog read, /usr/bin/env instead of the "
			"program; copy it with sbcast before ziatest, or start only one program");
	for (; *words; words++) /* A script, with a $, may extend LD_PRELOAD. */
		if (matches(*words, preload) && (*words == launcher || !strchr(*words, '$')))
			fail(2, "LD_PRELOAD in '%s' clashes with ziatest's; set it before ziatest",
			     *words);
}

/* Returns the file name NAME, made absolute, because a program may change its directory. */
static char *absolute(char *name)
{
	char *directory = getcwd(NULL, 0);

	if (*name != '/' && !directory)
		fail(1, "the current directory is unknown; give '%s' as an absolute path", name);
	if (*name != '/')
		name = text("%s/%s", directory, name);
	/* ZIAPROBE separates words by commas, and wrappers may split it at blanks. */
	if (strpbrk(name, ", \t\n"))
		fail(2, "with a program, file names must not contain blanks or commas: '%s'", name);
	return name;
}

char **read_options(int argc, char **argv, char **arguments)
{
	static const struct option options[] = {
		{"verbose", no_argument, NULL, 'v'},     {"csv", required_argument, NULL, 'c'},
		{"ranks", required_argument, NULL, 'r'}, {"timeout", required_argument, NULL, 't'},
		{"where", required_argument, NULL, 'w'}, {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},     {NULL, 0, NULL, 0},
	};
	static char *const names[] = {['v'] = "--verbose",
				      ['c'] = "--csv",
				      ['r'] = "--ranks",
				      ['t'] = "--timeout",
				      ['w'] = "--where"};
	const char *current = argv[1]; /* what getopt_long reads next */
	char **end = arguments + 1, **words;
	int option, verbose = 0;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+vt:w:hV", options, NULL)) != -1) {
		if (option == 'h')
			exit(printf("%s\n%s", usage, help) < 0 || fflush(stdout) != 0);
		if (option == 'V')
			exit(puts("ziatest 2.2") < 0 || fflush(stdout) != 0);
		if (option == '?')
			fail(2, "unknown option or missing value: '%s'", current);
		current = argv[optind];
		if (option == 'v') {
			if (verbose++ < 2)
				*end++ = names['v'];
			continue;
		}
		if (option == 't')
			optarg = number("--timeout", optarg);
		if (option == 'w' &&
		    (!matches(optarg, "^[0-9]{1,9}([.][0-9]{1,3})?$") || !matches(optarg, "[1-9]")))
			fail(2,
			     "--where must be a number of seconds above 0, such as 0.7, not '%s'",
			     optarg);
		if (!*optarg)
			fail(2, "empty file name for --csv or --ranks; name a file");
		*end++ = names[option];
		*end++ = optarg;
	}
	*end = NULL;
	if (!argv[optind])
		fail(2, "N, the number of processes per node, is missing");
	arguments[0] = number("N", argv[optind]);
	words = argv + optind + 1;
	if (words[0])
		check_command(words);
	for (char **word = arguments; words[0] && words[1] && *word; word++)
		if (*word == names['c'] || *word == names['r'])
			word[1] = absolute(word[1]);
	return words;
}
