/*
 * ziatest - time an MPI job from its launch to its first messages, on Linux
 *
 *	ziatest [options] N ["launcher and its options" [program [argument...]]]
 *
 * ziatest takes a time stamp, prints a command line on stderr and becomes the launcher, which
 * starts N processes of ziaprobe per node. They receive the stamp, and rank 0 reports the time. If
 * a program is given, it is started instead, and libziaprobe.so, which is preloaded, measures it.
 *
 * On the clock, between the start stamp and the launcher's first instruction, ziatest formats the
 * command line, prints it and calls exec. It starts no child process, waits for nothing and does
 * not search PATH. The stamp is read from the realtime clock, because the end is read on other
 * nodes.
 *
 * ziatest runs what a shell would run if given the printed line. A launcher of plain words runs
 * without a shell and keeps ziatest's process id, so signals sent to ziatest reach it. If a name is
 * both a program and a builtin of the shell, the program is run. Everything else, and a launcher
 * that cannot be run, goes to /bin/sh.
 */
#define _GNU_SOURCE /* adjtimex, getopt_long */

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

static const char usage[] = "usage: ziatest [-hvV] [-t SECONDS] [--csv FILE] [--ranks FILE] N "
			    "[\"launcher and its options\" [program [argument...]]]\n";

static const char help[] =
	"\n"
	"Measure the time from this command until all processes of an MPI job have\n"
	"exchanged their first message.\n"
	"\n"
	"  N         number of processes per node, 1 or more\n"
	"  launcher  command that starts the job. N is appended to it, so it must end in\n"
	"            the option that sets the number of processes per node. If it contains\n"
	"            {}, N replaces each {} instead. If no option takes N, put N={} before\n"
	"            the command. Default: mpirun -npernode\n"
	"  program   measure this MPI program, unmodified, instead of ziaprobe\n"
	"\n"
	"  -v, --verbose          also print where the time went\n"
	"  --csv FILE             append the result to FILE as one row\n"
	"  --ranks FILE           write one row for each rank to FILE, replacing\n"
	"                         those that --ranks wrote there before\n"
	"  -t, --timeout SECONDS  end all ranks SECONDS after the start, and print what\n"
	"                         they were doing; a program is ended only if its\n"
	"                         MPI_Init has not returned\n"
	"  -h, --help             print this help and exit\n"
	"  -V, --version          print the version and exit\n"
	"\n"
	"Examples:\n"
	"  ziatest 4\n"
	"  ziatest 4 \"srun --ntasks 1024 --ntasks-per-node\"\n"
	"  ziatest 4 \"mpirun --map-by ppr:{}:node\"\n"
	"  ziatest -v 4 \"srun --ntasks 1024 --ntasks-per-node\" ./solver input.nml\n"
	"\n"
	"The job runs ./ziaprobe or, if there is none, the ziaprobe next to ziatest. A\n"
	"program is measured by libziaprobe.so, next to ziatest or in ../lib.\n"
	"Exit status: the launcher's own, usually 124 if the timeout expired; 1 if nothing\n"
	"could be launched, 2 for a usage error, 126 or 127 if the launcher cannot be run.\n";

/* Plain words contain no special characters. A shell only splits them at blanks. */
static const char blanks[] = " \t", special[] = "|&;<>()$`\"'\\*?[]{}#~\n";

/* Prints an error on stderr and exits with STATUS. If FORMAT ends in ':', the text for errno
 * follows; if STATUS is 2, so does the usage line. */
static _Noreturn void fail(int status, const char *format, ...)
{
	int error = errno;
	va_list args;

	fputs("ziatest: error: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	if (format[strlen(format) - 1] == ':')
		fprintf(stderr, " %s", strerror(error));
	fprintf(stderr, "\n%s", status == 2 ? usage : "");
	exit(status);
}

static void *allocated(void *memory)
{
	if (!memory)
		fail(1, "cannot build the command line:");
	return memory;
}

/* Returns TEXT, the value of NAME, without leading zeros. ziaprobe stores the number in an int. */
static char *number(const char *name, char *text)
{
	long long value = strtoll(text, NULL, 10);

	if (text[strspn(text, "0123456789")] || value < 1 || value > INT_MAX)
		fail(2, "%s must be a whole number from 1 to %d, not '%s'", name, INT_MAX, text);
	return text + strspn(text, "0");
}

/* Reads the options and N. Stores N, then the options that are passed on to ziaprobe, at WORDS.
 * Returns what follows N: the launcher, the program, and its arguments. */
static char **read_options(int argc, char **argv, char **words)
{
	static const struct option options[] = {
		{"verbose", no_argument, NULL, 'v'},
		{"csv", required_argument, NULL, 'c'},
		{"ranks", required_argument, NULL, 'r'},
		{"timeout", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	const char *argument = argv[1]; /* what getopt_long reads next */
	char **end = words + 1;
	int option, verbose = 0;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+vt:hV", options, NULL)) != -1) {
		switch (option) {
		case 'v':
			if (!verbose++)
				*end++ = "--verbose";
			break;
		case 'c':
		case 'r':
			if (!*optarg)
				fail(2, "empty file name for --csv or --ranks; name a file");
			*end++ = option == 'c' ? "--csv" : "--ranks";
			*end++ = optarg;
			break;
		case 't':
			*end++ = "--timeout";
			*end++ = number("--timeout", optarg);
			break;
		case 'h':
			printf("%s%s", usage, help);
			exit(0);
		case 'V':
			puts("ziatest 2.0");
			exit(0);
		default:
			fail(2, "unknown option or missing value: '%s'", argument);
		}
		argument = argv[optind];
	}
	if (!argv[optind])
		fail(2, "N, the number of processes per node, is missing");
	words[0] = number("N", argv[optind]);
	return argv + optind + 1;
}

/* Returns whether LAUNCHER contains a pipe: a | that is not quoted, not escaped by a backslash, and
 * not part of ||. A single quote quotes the text up to the next one; a double quote, up to the next
 * one that is not escaped. Nothing else is parsed, so >| and $(a | b) count as pipes. */
static int contains_pipe(const char *launcher)
{
	char quote = '\0'; /* the kind of quote that covers AT */

	for (const char *at = launcher; *at; at++) {
		if (*at == '\\' && at[1] && quote != '\'')
			at++;
		else if (*at == quote)
			quote = '\0';
		else if (!quote && strchr("'\"", *at))
			quote = *at;
		else if (!quote && strncmp(at, "||", 2) == 0)
			at++;
		else if (!quote && *at == '|')
			return 1;
	}
	return 0;
}

/* Returns whether the last word of LAUNCHER begins with '-'. */
static int ends_in_option(const char *launcher)
{
	char first = '\0', before = ' ';

	for (; *launcher; before = *launcher++)
		if (!strchr(blanks, *launcher) && strchr(blanks, before))
			first = *launcher;
	return first == '-';
}

/* Checks LAUNCHER and, unless it is NULL, PROGRAM. */
static void check_command(const char *launcher, const char *program)
{
	char first = launcher[strspn(launcher, " \t\n")];

	if (first == '\0' || first == '-' || first == '#')
		fail(2, "'%s', the argument after N, is not a launcher; put options before N",
		     launcher);
	if (contains_pipe(launcher))
		fail(2,
		     "the launcher contains a pipe: '%s'; quote the |, or pipe ziatest instead: "
		     "./ziatest N \"...\" 2>&1 | tee log, or yes | ./ziatest N \"...\"",
		     launcher);
	if (program && (*program == '\0' || *program == '-' || strchr(program, '=')))
		fail(2,
		     "'%s' is not a program: it must not be empty, begin with - or contain =; put "
		     "options before N, and quote the launcher with its options: '%s ...'",
		     program, launcher);
	if (program && !strpbrk(launcher, special) && !ends_in_option(launcher))
		fail(2,
		     "'%s' has no place for N; end it with the option that takes N, use {}, or "
		     "put N={} before it",
		     launcher);
}

/* Returns LAUNCHER with each {} replaced by N or, if there is none, followed by N. */
static char *insert_n(const char *launcher, const char *n)
{
	char *text = allocated(malloc((strlen(launcher) + 2) * (strlen(n) + 1))), *end = text;
	const char *rest = launcher;

	for (const char *mark; (mark = strstr(rest, "{}")); rest = mark + 2)
		end += sprintf(end, "%.*s%s", (int)(mark - rest), rest, n);
	end = stpcpy(end, rest);
	if (rest == launcher)
		sprintf(end, " %s", n);
	return text;
}

static int is_program(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

/* Returns the path of the program NAME, in static storage, or NULL if there is none. A NAME
 * without a slash is looked up in PATH, where an empty entry is the current directory. */
static char *find_program(const char *name)
{
	/* A path that is truncated here is too long for exec anyway. */
	static char path[PATH_MAX + 1];
	const char *dir = strchr(name, '/') ? "" : getenv("PATH");
	int end;

	for (; dir; dir = dir[end] ? dir + end + 1 : NULL) {
		end = (int)strcspn(dir, ":");
		snprintf(path, sizeof path, "%.*s%s%s", end, dir, end ? "/" : "", name);
		if (is_program(path))
			return path;
	}
	return NULL;
}

/* Returns the path of NAME next to this executable, in static storage, or "" if it is unknown. */
static char *next_to_ziatest(const char *name)
{
	static char path[PATH_MAX + sizeof "../lib/libziaprobe.so"];

	if (!realpath("/proc/self/exe", path))
		return "";
	strcpy(strrchr(path, '/') + 1, name);
	return path;
}

/* Returns the path of ./ziaprobe, as the specification has it, or of the one next to ziatest. */
static char *find_probe(void)
{
	char *path = next_to_ziatest("ziaprobe");

	if (is_program("./ziaprobe"))
		return "./ziaprobe";
	if (is_program(path))
		return path;
	fail(1, "cannot find an executable ziaprobe here or next to ziatest; build it with 'make'");
}

/* Returns an assignment to LD_PRELOAD: the path of libziaprobe.so, which is next to ziatest or in
 * ../lib from there, followed by the present value of LD_PRELOAD, if any. */
static char *preload_library(void)
{
	char *path = next_to_ziatest("libziaprobe.so"), *before = getenv("LD_PRELOAD"), *assignment;

	if (access(path, R_OK) != 0)
		path = next_to_ziatest("../lib/libziaprobe.so");
	if (access(path, R_OK) != 0)
		fail(1, "cannot find libziaprobe.so next to ziatest or in ../lib; build it with "
			"'make'");
	if (strpbrk(path, ": \t\n"))
		fail(1, "cannot preload '%s': its path has a blank or a colon; move Ziatest", path);
	if (asprintf(&assignment, "LD_PRELOAD=%s%s%s", path, before && *before ? ":" : "",
		     before ? before : "") < 0)
		fail(1, "cannot build the command line:");
	return assignment;
}

/* Returns the file name NAME, made absolute, because a program may change its directory. */
static char *absolute(char *name)
{
	char directory[PATH_MAX], *path = name;

	if (*name != '/' && !getcwd(directory, sizeof directory))
		fail(1, "the current directory is unknown; give '%s' as an absolute path", name);
	if (*name != '/' && asprintf(&path, "%s/%s", directory, name) < 0)
		fail(1, "cannot build the command line:");
	/* ZIAPROBE separates words by commas, and wrappers may split it at blanks. */
	if (strpbrk(path, ", \t\n"))
		fail(2, "with a program, file names must not contain blanks or commas: '%s'", path);
	return path;
}

/* Returns WORDS as one string for ZIAPROBE: a comma before each, and file names absolute. */
static char *join(char **words)
{
	char *text = allocated(calloc(1, 1));

	for (; *words; words++) {
		if (strcmp(*words, "--csv") == 0 || strcmp(*words, "--ranks") == 0)
			words[1] = absolute(words[1]);
		text = allocated(realloc(text, strlen(text) + sizeof "," + strlen(*words)));
		strcat(strcat(text, ","), *words);
	}
	return text;
}

/* Describes the launch node to ziaprobe. The names begin with OMPI_ because, over ssh, Open MPI's
 * mpirun passes on only such variables. OMPI_ZIATEST_NODE is the node's boot id or, without one,
 * its name. OMPI_ZIATEST_PID is the id of this process, which becomes the launcher.
 * OMPI_ZIATEST_SYNC is the clock's maximum error in us: ZIATEST_SYNC or, if unset, the kernel's,
 * unless that is 16 s, its limit. Not STA_UNSYNC: chrony without rtcsync never clears it. */
static void describe_launch_node(void)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	const char *sync = getenv("ZIATEST_SYNC");
	struct timex clock = {.modes = 0};
	char id[HOST_NAME_MAX + 1] = "", text[24];

	if (!file || !fgets(id, sizeof id, file))
		gethostname(id, sizeof id);
	if (file)
		fclose(file);
	id[strcspn(id, "\n")] = '\0';
	setenv("OMPI_ZIATEST_NODE", id, 1);
	snprintf(text, sizeof text, "%lld", (long long)getpid());
	setenv("OMPI_ZIATEST_PID", text, 1);
	unsetenv("OMPI_ZIATEST_SYNC");
	if (!sync && adjtimex(&clock) != -1 && clock.maxerror < 16000000) {
		snprintf(text, sizeof text, "%ld", clock.maxerror);
		sync = text;
	}
	if (sync)
		setenv("OMPI_ZIATEST_SYNC", sync, 1);
}

/* Writes a space and WORD to OUT, quoted for a shell if necessary. */
static void write_word(FILE *out, const char *word)
{
	int quoted = !*word || strpbrk(word, blanks) || strpbrk(word, special);

	fputs(quoted ? " '" : " ", out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\'", out);
		putc(*word, out);
	}
	if (quoted)
		putc('\'', out);
}

int main(int argc, char **argv)
{
	/* The arguments of ziaprobe after SEC and USEC: N, then at most two words per option */
	char **arguments = allocated(calloc(2 * (size_t)argc + 2, sizeof *arguments));
	char **operands = read_options(argc, argv, arguments);
	const char *launcher = operands[0] ? operands[0] : "mpirun -npernode";
	const char *program = operands[0] ? operands[1] : NULL;
	char sec[24], usec[24], *words = NULL, *variable = NULL;
	char *launch, *executable, *line, **command, **added, **end;
	struct timespec start;
	size_t size;
	FILE *out;

	check_command(launcher, program);
	launch = insert_n(launcher, arguments[0]);
	command = end = allocated(calloc(strlen(launch) + 2 * (size_t)argc + 5, sizeof *command));
	for (char *word = strtok(allocated(strdup(launch)), blanks); word;
	     word = strtok(NULL, blanks))
		*end++ = word;
	added = end;
	if (program) {
		words = join(arguments);
		variable = allocated(malloc(sizeof "ZIAPROBE=" + 2 * sizeof sec + strlen(words)));
		*end++ = "/usr/bin/env";
		*end++ = preload_library();
		*end++ = variable;
	} else {
		*end++ = find_probe();
		*end++ = sec;
		*end++ = usec;
	}
	for (char **word = program ? operands + 1 : arguments; *word; word++)
		*end++ = *word;

	executable = strpbrk(launch, special) ? NULL : find_program(command[0]);
	out = allocated(open_memstream(&line, &size));
	fputs(launch, out);
	describe_launch_node();
	/* Without this, srun lets all ranks wait for ever if one of them crashes. With it, srun
	 * would end all ranks of a program if one of them returned a status other than 0. */
	if (!program)
		setenv("SLURM_KILL_BAD_EXIT", "1", 0);

	/* Everything from here on is on the clock. */
	clock_gettime(CLOCK_REALTIME, &start);
	snprintf(sec, sizeof sec, "%lld", (long long)start.tv_sec);
	snprintf(usec, sizeof usec, "%ld", start.tv_nsec / 1000);
	if (program)
		sprintf(variable, "ZIAPROBE=%s,%s%s", sec, usec, words);
	for (; *added; added++)
		write_word(out, *added);
	if (fclose(out) != 0 || fprintf(stderr, "%s\n", line) < 0)
		fail(1, "cannot print the command line on stderr:");
	if (executable)
		execv(executable, command);
	/* The shell runs everything else, or explains why it cannot. */
	execl("/bin/sh", "sh", "-c", line, (char *)NULL);
	fail(126 + (errno == ENOENT), "cannot run /bin/sh:");
}
