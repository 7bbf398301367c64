/*
 * ziatest - time an MPI job from its launch to its first messages
 *
 *	ziatest [options] N ["launcher and its options"]
 *
 * Stamps the time, then becomes the launcher, which starts N processes of
 * ziaprobe on every node. ziaprobe is told the stamp and reports the time.
 *
 * What it keeps to:
 *   - Everything that can be checked is checked before the stamp. Between the
 *     stamp and the launcher's first instruction lie formatting the command
 *     line, printing it on stderr and the exec of /bin/sh: no child, no wait.
 *   - The stamp is the realtime clock: the start and the ends are read on
 *     different nodes, whose clocks are taken to agree.
 *   - The exit status is the launcher's own; 1 if there is nothing to launch, 2 for
 *     a usage error.
 *
 * Requires POSIX and, to find a ziaprobe installed beside it, Linux's /proc.
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
#include <time.h>
#include <unistd.h>

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
	"  -v, --verbose          print where the time went: a table of the phases\n"
	"  --csv FILE             append the run to FILE, a line, after a header if new\n"
	"  --ranks FILE           write the phases of every rank to FILE\n"
	"  -t, --timeout SECONDS  end the job if it is not over by then, and say which\n"
	"                         ranks wait for what\n"
	"  -h, --help             print this and exit\n"
	"  -V, --version          print the version and exit\n"
	"\n"
	"  ziatest 4\n"
	"  ziatest 4 \"srun --ntasks 1024 --ntasks-per-node \"\n"
	"  ziatest 4 \"mpirun --map-by ppr:{}:node\"\n"
	"\n"
	"Runs ./ziaprobe, or where there is none the ziaprobe beside ziatest.\n"
	"Exit status: the launcher's own; 1 if there is nothing to launch, 2 for a usage\n"
	"error.\n";

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

/* The probe's path: ./ziaprobe, so that the printed line is the specification's,
 * else the one in this executable's directory. Static storage. */
static const char *find_probe(void)
{
	static char path[PATH_MAX] = "./ziaprobe";
	struct stat st;
	ssize_t length;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
		return path;
	length = readlink("/proc/self/exe", path, sizeof path - sizeof "ziaprobe");
	if (length > 0) {
		path[length] = '\0';
		strcpy(strrchr(path, '/') + 1, "ziaprobe");
		if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
			return path;
	}
	fail(1, "no executable ziaprobe here or beside ziatest; build it with 'make'");
}

/* Writes WORD so that a shell reads it as one word, unquoted where that will do. */
static void put_word(FILE *out, const char *word)
{
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

/* Writes LAUNCHER with each {} replaced by N, or followed by N where it has none. */
static void put_launcher(FILE *out, const char *launcher, int n)
{
	const char *rest = launcher;
	const char *mark;

	while ((mark = strstr(rest, "{}"))) {
		fprintf(out, "%.*s%d", (int)(mark - rest), rest, n);
		rest = mark + 2;
	}
	fprintf(out, "%s ", rest);
	if (rest == launcher)
		fprintf(out, "%d ", n);
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
	const char *launcher = "mpirun -npernode";
	/* Static, since what they hold is kept until the exec, or the exit: no leak. */
	static char *command, *passed; /* passed: the options for the probe */
	static FILE *out;
	size_t length;
	struct timespec start;
	int n, option, timeout = 0;

	if (!(out = open_memstream(&passed, &length)))
		fail(1, "cannot build the command line:");
	opterr = 0;
	while ((option = getopt_long(argc, argv, "+vt:hV", options, NULL)) != -1) {
		switch (option) {
		case 'v':
			fputs(" --verbose", out);
			break;
		case 'c':
		case 'r':
			if (!*optarg)
				fail(2, "a file's name is empty");
			fputs(option == 'c' ? " --csv " : " --ranks ", out);
			put_word(out, optarg);
			break;
		case 't':
			timeout = number("--timeout", optarg);
			fprintf(out, " --timeout %d", timeout);
			break;
		case 'h':
			printf("%s%s", usage, help);
			return 0;
		case 'V':
			fputs(version, stdout);
			return 0;
		default:
			fail(2, "unknown option, or its value is missing: '%s'", argv[optind - 1]);
		}
	}
	if (argc - optind < 1)
		fail(2, "N, the number of processes per node, is missing");
	if (argc - optind > 2)
		fail(2, "too many arguments at '%s'; quote the launcher and its options as one",
		     argv[optind + 2]);
	n = number("N", argv[optind]);
	if (argc - optind == 2)
		launcher = argv[optind + 1];
	if (!launcher[strspn(launcher, " \t\n")])
		fail(2, "the launcher is empty");
	if (*launcher == '-')
		fail(2, "options go before N, not after it: '%s'", launcher);

	if (fclose(out) != 0 || !(out = open_memstream(&command, &length)))
		fail(1, "cannot build the command line:");
	put_launcher(out, launcher, n);
	put_word(out, find_probe());
	/* A rank that gives up makes srun end the others, stopped ones too. */
	if (timeout && setenv("SLURM_KILL_BAD_EXIT", "1", 0) != 0)
		fail(1, "cannot set SLURM_KILL_BAD_EXIT:");

	/* On the clock from here on. */
	clock_gettime(CLOCK_REALTIME, &start);
	fprintf(out, " %lld %ld %d%s", (long long)start.tv_sec, start.tv_nsec / 1000, n, passed);
	if (fclose(out) != 0)
		fail(1, "cannot build the command line:");
	if (fprintf(stderr, "%s\n", command) < 0)
		fail(1, "cannot print the command line, so no result would be seen either:");
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	fail(126 + (errno == ENOENT), "cannot run /bin/sh:");
}
