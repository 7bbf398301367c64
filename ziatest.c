/*
 * ziatest - time an MPI job from its launch to its first messages
 *
 *	ziatest [options] N ["launcher and its options"]
 *
 * Stamps the time, then becomes the launcher, which starts N processes of
 * ziaprobe on every node. ziaprobe is told the stamp and reports the time.
 *
 * What it keeps to:
 *   - Everything that can be checked is checked before the stamp. Between the stamp and the
 *     launcher's first instruction lie formatting the command line, printing it on stderr and the
 *     exec: no child, no wait, no shell, no search in PATH.
 *   - The launcher has the process id that ziatest had, and gets its signals. Only a launcher that
 *     is more than words (a list, an assignment, a builtin, anything with a $) or cannot be run
 *     goes to /bin/sh.
 *   - The stamp is the realtime clock: the start and the ends are read on different nodes, whose
 *     clocks are taken to agree.
 *   - The environment names the stamping node, in ZIATEST_NODE, and says whether its kernel vouches
 *     for its clock, in ZIATEST_SYNC.
 *   - The exit status is the launcher's own; 1 if there is nothing to launch, 2 for a usage error.
 *
 * Requires Linux.
 */
#define _GNU_SOURCE /* getopt_long */

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

static const char version[] = "ziatest 1.0\n";

static const char usage[] = "usage: ziatest [-hvV] [-t SECONDS] [--csv FILE] [--ranks FILE] N "
			    "[\"launcher and its options\"]\n";

static const char help[] =
	"\n"
	"Time the launch of an MPI job, from this command to the last first message.\n"
	"\n"
	"  N         processes per node, a whole number from 1 up\n"
	"  launcher  what starts the job; its last option is the one that takes the\n"
	"            processes per node: N is added after it. Or {} stands where N\n"
	"            belongs. Default: mpirun -npernode\n"
	"\n"
	"  -v, --verbose          print where the time went: the critical path, and\n"
	"                         min to max of all ranks\n"
	"  --csv FILE             append the run to FILE, a line, after a header if new\n"
	"  --ranks FILE           write the phases of every rank to FILE\n"
	"  -t, --timeout SECONDS  SECONDS after the start all ranks end, and some say\n"
	"                         who waits for what\n"
	"  -h, --help             print this and exit\n"
	"  -V, --version          print the version and exit\n"
	"\n"
	"  ziatest 4\n"
	"  ziatest 4 \"srun --ntasks 1024 --ntasks-per-node \"\n"
	"  ziatest 4 \"mpirun --map-by ppr:{}:node\"\n"
	"\n"
	"Runs ./ziaprobe, or where there is none the ziaprobe beside ziatest.\n"
	"Exit status: the launcher's own; 1 if there is nothing to launch, 2 for a usage\n"
	"error, 126 or 127 if the launcher cannot be run or is not found.\n";

/* Says on stderr what is wrong and exits with STATUS. A FORMAT that ends in ':'
 * is followed by errno's text, status 2 by the usage line. */
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

/* The number that TEXT, the value of NAME, gives in digits alone: 1 to INT_MAX, as a rank
 * is an int. */
static int number(const char *name, const char *text)
{
	long n;

	errno = 0;
	n = strtol(text, NULL, 10);
	if (text[strspn(text, "0123456789")] || errno || n < 1 || n > INT_MAX)
		fail(2, "%s must be a whole number from 1 to %d, not '%s'", name, INT_MAX, text);
	return (int)n;
}

static int runnable(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

/* The probe's path: ./ziaprobe, so that the printed line is the specification's,
 * else the one in this executable's directory. Static storage. */
static char *find_probe(void)
{
	static char path[PATH_MAX] = "./ziaprobe";
	ssize_t length;

	if (runnable(path))
		return path;
	length = readlink("/proc/self/exe", path, sizeof path - sizeof "ziaprobe");
	if (length > 0) {
		path[length] = '\0';
		strcpy(strrchr(path, '/') + 1, "ziaprobe");
		if (runnable(path))
			return path;
	}
	fail(1, "no executable ziaprobe here or beside ziatest; build it with 'make'");
}

/* Leaves in the environment which node stamps the start, so that a rank that runs on it knows:
 * the kernel's boot id, or where there is none the node's name. */
static void name_node(void)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	struct utsname host;
	char id[64] = "";

	if (file && fgets(id, sizeof id, file))
		id[strcspn(id, "\n")] = '\0';
	if (file)
		fclose(file);
	uname(&host);
	if (setenv("ZIATEST_NODE", *id ? id : host.nodename, 1) != 0)
		fail(1, "cannot set ZIATEST_NODE:");
}

/* Leaves in the environment what the kernel says of the clock that stamps the start: its maximum
 * error in us, or "no" from 16 s on, where it takes the clock for not synchronised (chrony without
 * rtcsync leaves STA_UNSYNC set on a good one); nothing where it does not say. */
static void vouch_for_clock(void)
{
	struct timex clock = {.modes = 0};
	char text[24];

	unsetenv("ZIATEST_SYNC");
	if (ntp_adjtime(&clock) == -1)
		return;
	snprintf(text, sizeof text, "%ld", clock.maxerror);
	if (setenv("ZIATEST_SYNC", clock.maxerror < 16000000 ? text : "no", 1) != 0)
		fail(1, "cannot set ZIATEST_SYNC:");
}

/* Writes TEXT with each {} replaced by N. Returns how many there were. */
static int put_launcher(FILE *out, const char *text, const char *n)
{
	const char *mark;
	int found = 0;

	while ((mark = strstr(text, "{}"))) {
		fprintf(out, "%.*s%s", (int)(mark - text), text, n);
		text = mark + 2;
		found++;
	}
	fputs(text, out);
	return found;
}

/* Writes a space and WORD so that a shell reads it as one word, unquoted where that will do. */
static void put_word(FILE *out, const char *word)
{
	putc(' ', out);
	if (*word && !word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					"0123456789_./+,:@%=-")]) {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word; word++)
		fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, out);
	putc('\'', out);
}

/* The path of the program NAME, itself a path or in a directory of PATH, of which an empty entry is
 * the current one; NULL where there is none. It is looked for before the stamp: each miss may be a
 * look-up on a shared file system. Static storage. */
static char *find_program(const char *name)
{
	static char path[PATH_MAX];
	const char *dir = strchr(name, '/') ? "" : getenv("PATH");
	int end, length;

	for (; dir; dir = dir[end] ? dir + end + 1 : NULL) {
		end = (int)strcspn(dir, ":");
		length = snprintf(path, sizeof path, "%.*s%s%s", end, dir, end ? "/" : "", name);
		if (length < (int)sizeof path && runnable(path))
			return path;
	}
	return NULL;
}

/* The argv for an exec of LAUNCHER, found as a shell finds its words, with WORDS, COUNT and a
 * NULL, after them; NULL where only a shell can run it. */
static char **find_words(const char *launcher, char **words, size_t count)
{
	wordexp_t found;
	char **command;

	if (strpbrk(launcher, "$#")) /* wordexp reads these otherwise than a shell */
		return NULL;
	if (wordexp(launcher, &found, WRDE_NOCMD) != 0 || found.we_wordc == 0)
		return NULL;
	command = calloc(found.we_wordc + count + 1, sizeof *command);
	if (!command)
		fail(1, "cannot build the command line:");
	memcpy(command, found.we_wordv, found.we_wordc * sizeof *command);
	memcpy(command + found.we_wordc, words, count * sizeof *command);
	return command;
}

int main(int argc, char **argv)
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
	/* Static: reachable at exit, so no leak to a leak checker. */
	static FILE *out;
	static char *line, **words, **command, *program;
	static char n[16], sec[24], usec[24], timeout[16];
	const char *launcher = "mpirun -npernode";
	size_t length, first = 0, count = 5;
	struct timespec start;
	int option, launcher_begins, verbose = 0, at = 1; /* the argument that is read */

	/* What follows the launcher: N, probe, SEC, USEC, N; then at most two words for each
	 * argument, and --verbose once (argv[0]'s two are its room). */
	words = calloc(count + 2 * (size_t)argc, sizeof *words);
	out = open_memstream(&line, &length);
	if (!words || !out)
		fail(1, "cannot build the command line:");

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+vt:hV", options, NULL)) != -1) {
		switch (option) {
		case 'v':
			if (!verbose)
				words[count++] = "--verbose";
			verbose = 1;
			break;
		case 'c':
		case 'r':
			if (!*optarg)
				fail(2, "a file's name is empty");
			words[count++] = option == 'c' ? "--csv" : "--ranks";
			words[count++] = optarg;
			break;
		case 't':
			snprintf(timeout, sizeof timeout, "%d", number("--timeout", optarg));
			words[count++] = "--timeout";
			words[count++] = timeout;
			break;
		case 'h':
			printf("%s%s", usage, help);
			return 0;
		case 'V':
			fputs(version, stdout);
			return 0;
		default:
			fail(2, "unknown option, or its value is missing: '%s'", argv[at]);
		}
		at = optind;
	}
	if (argc - optind < 1)
		fail(2, "N, the number of processes per node, is missing");
	if (argc - optind > 2)
		fail(2,
		     "too many arguments at '%s'; options go before N, and the launcher with its "
		     "options is one argument, in quotes",
		     argv[optind + 2]);
	snprintf(n, sizeof n, "%d", number("N", argv[optind]));
	if (argc - optind == 2)
		launcher = argv[optind + 1];
	launcher_begins = launcher[strspn(launcher, " \t\n")];
	if (!launcher_begins || launcher_begins == '#')
		fail(2, "the launcher is empty, or a comment: '%s'", launcher);
	if (launcher_begins == '-')
		fail(2, "options go before N, not after it: '%s'", launcher);

	words[0] = words[4] = n;
	words[1] = find_probe();
	words[2] = sec;
	words[3] = usec;
	if (put_launcher(out, launcher, n) > 0)
		first = 1; /* {} took N: words[0] is left out */
	if (fflush(out) != 0)
		fail(1, "cannot build the command line:");
	name_node();
	vouch_for_clock();
	/* A rank that gives up makes srun end the others, stopped ones too. */
	if (*timeout && setenv("SLURM_KILL_BAD_EXIT", "1", 0) != 0)
		fail(1, "cannot set SLURM_KILL_BAD_EXIT:");
	command = find_words(line, words + first, count - first);
	if (command)
		program = find_program(command[0]);

	/* On the clock from here on. */
	clock_gettime(CLOCK_REALTIME, &start);
	snprintf(sec, sizeof sec, "%lld", (long long)start.tv_sec);
	snprintf(usec, sizeof usec, "%ld", start.tv_nsec / 1000);
	for (size_t i = first; i < count; i++)
		put_word(out, words[i]);
	if (fclose(out) != 0)
		fail(1, "cannot build the command line:");
	if (fprintf(stderr, "%s\n", line) < 0)
		fail(1, "cannot print the command line, so no result would be seen either:");
	if (program)
		execv(program, command);
	/* Not to be run as it is: the shell does so, or says why not. */
	execl("/bin/sh", "sh", "-c", line, (char *)NULL);
	fail(126 + (errno == ENOENT), "cannot run /bin/sh:");
}
