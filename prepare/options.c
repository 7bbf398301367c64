/* Reads and checks the options of ziatest */
#include "prepare.h"

#include <getopt.h>

static const char help[] =
	"Measure the time from this command until all processes of an MPI job have\n"
	"initialised MPI and exchanged a message with another node. The result\n"
	"goes to stderr.\n\n"
	"  LAUNCHER  the program that starts the job, such as srun. Its arguments are\n"
	"            passed on as they are, without a shell. If it needs a -- of its own,\n"
	"            write -- twice. Without a launcher, one process is started.\n"
	"  PROGRAM   ziaprobe, which is the benchmark itself, or an MPI program, which is\n"
	"            measured unmodified and then runs on. If a : separates several\n"
	"            programs, write -- before each.\n\n"
	"The second form is that of the original ziatest. N is the number of processes\n"
	"per node. The launch line must end with the option that takes N, contain {},\n"
	"which N replaces, or begin with N={} if no option takes N. The default launch\n"
	"line is \"mpirun -npernode\". Without -v, only the result is printed.\n\n"
	"Options:\n"
	"  -v, --verbose          print where the time went, which is the default with\n"
	"                         --; -vv also prints the range of each phase over all\n"
	"                         ranks\n"
	"  -q, --quiet            print only the result\n"
	"  --csv FILE             append the result to FILE as one row\n"
	"  --ranks FILE           write one row for each rank to FILE, replacing its rows\n"
	"  --ppn N                the number of processes per node, if Ziatest asks for\n"
	"                         it\n"
	"  --start-only           end the program once its start has been measured, or if\n"
	"                         it cannot be; this has no effect on ziaprobe\n"
	"  -t, --timeout SECONDS  end all ranks SECONDS after the start, and print what\n"
	"                         they were doing; your own program is ended only\n"
	"                         while it is in MPI_Init\n"
	"  -w, --where SECONDS    SECONDS after the start, such as 0.7, print the calls\n"
	"                         that late ranks are in, and go on\n"
	"  -h, --help             print this help and exit\n"
	"  -V, --version          print the version and exit\n\n"
	"Options come before the launcher or N. A -q cancels each -v before it, and a\n"
	"later -v cancels -q.\n\n"
	"Examples:\n"
	"  ziatest srun -N 256 --ntasks-per-node 4 -- ziaprobe\n"
	"  ziatest mpirun --map-by ppr:4:node -- ./solver input.nml\n"
	"  ziatest sh -c 'exec mpirun -npernode 4 \"$@\"' sh -- ./solver input.nml\n"
	"  ziatest 4 \"srun -N 256 --ntasks-per-node\"\n"
	"  ziatest -v 4 \"mpirun --map-by ppr:{}:node\"\n\n"
	"Files:\n"
	"The job runs ./ziaprobe or, if there is none, the ziaprobe next to ziatest. Any\n"
	"other program is started by ziastart and measured by libziaprobe.so, which are\n"
	"next to ziatest or in ../lib.\n\n"
	"Exit status: the launcher's own, usually 124 if the timeout expired; 1 if\n"
	"nothing could be launched, 2 for a usage error, 126 or 127 if the launcher\n"
	"cannot be run, or if the program cannot be started on a node.\n";

static const struct option options[] = {
	{"verbose", no_argument, NULL, 'v'},
	{"quiet", no_argument, NULL, 'q'},
	{"csv", required_argument, NULL, 'c'},
	{"ranks", required_argument, NULL, 'r'},
	{"ppn", required_argument, NULL, 'p'},
	{"start-only", no_argument, NULL, 's'},
	{"timeout", required_argument, NULL, 't'},
	{"where", required_argument, NULL, 'w'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

/* The options that ziaprobe also takes, except --verbose */
static char *const names[] = {['c'] = "--csv",        ['r'] = "--ranks",   ['p'] = "--ppn",
			      ['s'] = "--start-only", ['t'] = "--timeout", ['w'] = "--where"};

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

/* Returns whether WORD, which may be NULL, is meant to be N: it is empty, consists of digits, or
 * begins like a number and is not the name of a program. */
static int is_n(const char *word)
{
	return word && (!word[strspn(word, "0123456789")] ||
			(strchr("+ 0123456789", *word) && !find_program(word)));
}

/* Appends OPTION and its VALUE, which may be NULL, to LIST. If VALUE is wrong, prints an error and
 * exits. */
static void push_option(struct list *list, int option, char *value)
{
	if (option == 't' || option == 'p')
		value = number(names[option], value);
	if (option == 'w' &&
	    (!matches(value, "^[0-9]{1,9}([.][0-9]{1,3})?$") || !matches(value, "[1-9]")))
		fail(2, "--where must be a number of seconds above 0, such as 0.7, not '%s'",
		     value);
	if (value && !*value)
		fail(2, "empty file name for --csv or --ranks; name a file");
	push(list, names[option]);
	if (value)
		push(list, value);
}

struct request read_options(int argc, char **argv)
{
	const char *current = argv[1]; /* what getopt_long reads next */
	struct list list = {NULL, 0};
	struct request request = {.line = NULL};
	char **words, *ppn = NULL;
	int option, next = 1, verbose = -1; /* how many -v; -1 if the form decides */

	opterr = 0;
	push(&list, "0"); /* N */
	while ((option = getopt_long(argc, argv, "+vqt:w:hV", options, NULL)) != -1) {
		if (option == 'h')
			exit(printf("%s\n%s", usage, help) < 0 || fflush(stdout) != 0);
		if (option == 'V')
			exit(puts("ziatest 4.0") < 0 || fflush(stdout) != 0);
		if (option == '?')
			fail(2, "unknown option or missing value: '%s'", current);
		current = argv[optind];
		next = optind;
		if (option == 'q' || option == 'v')
			verbose = option == 'q' ? 0 : verbose < 1 ? 1 : 2;
		else
			push_option(&list, option, optarg);
		if (option == 'p')
			ppn = optarg;
	}
	words = argv + optind;
	/* getopt_long has skipped a "--". Unless N follows, it ends an empty launcher. */
	if (optind > next && !is_n(words[0]))
		words--;
	if (!words[0])
		fail(2, "the launcher is missing; give one, as in 'ziatest srun -N 4 "
			"--ntasks-per-node 4 -- ziaprobe'");
	if (is_n(words[0])) {
		if (ppn)
			fail(2, "--ppn %s and N = %s are both given; leave out --ppn", ppn,
			     words[0]);
		list.word[0] = number("N", words[0]);
		read_line(words, list.word[0], &request);
	} else {
		if (verbose == -1)
			verbose = 1;
		read_words(words, argv, &request);
	}
	for (; verbose > 0; verbose--)
		push(&list, "--verbose");
	request.arguments = list.word;
	for (char **word = list.word; *request.program && *word; word++)
		if (*word == names['c'] || *word == names['r'])
			word[1] = absolute(word[1]);
	return request;
}
