/*
 * fuzz - runs ziatest, or parses the arguments of ziaprobe, with random and hostile argument vectors
 *
 *	cc -DPROGRAM='"../../ziatest.c"' fuzz.c; fuzz COUNT SEED
 *
 * PROGRAM is compiled in. An exec of ziatest only checks the command line. Every vector is run in a
 * process of its own, which must exit within 20 s with one of these statuses:
 *
 *	0	(ziatest) help or version
 *	2	the arguments are wrong, and the usage line is printed
 *	77	(ziatest) the command line is run as it was printed; (ziaprobe) the arguments are
 *		right
 *
 * Prints how many processes exited with each status. If a process ended in any other way, prints
 * its vector and exits with status 1.
 */
#define _GNU_SOURCE
#define main program_main
#include PROGRAM
#undef main

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char output[1 << 18]; /* what the last vector printed */
static int printed; /* an in-memory file that receives the output */

static void read_output(void)
{
	ssize_t length = pread(printed, output, sizeof output - 1, 0);

	assert(length >= 0);
	output[length] = '\0';
}

/* Replaces libc's function: always fails, so that ziatest turns to the shell. */
int execv(const char *path, char *const argv[])
{
	assert(*path);
	for (int i = 0; argv[i]; i++)
		assert(strlen(argv[i]) < sizeof output);
	errno = ENOENT;
	return -1;
}

/* Replaces libc's function: checks that the shell would run the printed command line. */
int execl(const char *path, const char *name, ...)
{
	const char *option, *command;
	va_list args;

	va_start(args, name);
	option = va_arg(args, const char *);
	command = va_arg(args, const char *);
	assert(!strcmp(path, "/bin/sh") && !strcmp(name, "sh") && !strcmp(option, "-c"));
	assert(!va_arg(args, char *));
	va_end(args);
	fflush(stderr);
	read_output();
	assert(strlen(output) == strlen(command) + 1);
	assert(!strncmp(output, command, strlen(command)));
	assert(strstr(command, "ziaprobe"));
	exit(77);
}

static int run_program(int argc, char **argv)
{
#ifdef MPI_VERSION
	const char *wrong = parse(argv);

	(void)argc;
	if (!wrong)
		return options.start >= 0 && options.n >= 1 && options.timeout >= 0 ? 77 : 1;
	printf("%s\n%s\n", wrong, usage);
	return 2;
#else
	return program_main(argc, argv);
#endif
}

static uint64_t state; /* of the random number generator, SplitMix64 */

/* Returns a random number from 0 to BELOW - 1. */
static unsigned below(unsigned below)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (unsigned)((z ^ z >> 31) % below);
}

/* clang-format off */
static const char *const words[] = {
	"1", "1", "1795223422", "2", "4", "007", "0", "-1", "+1", "", " ", " 4", "4 ",
	"1000000", "999999", "2147483647", "2147483648", "99999999999", "4611686019",
	"9223372036854775807", "18446744073709551616", "-", "--", "-t", "-t1", "--timeout",
	"--timeout=60", "--timeout=", "-h", "--help", "-x", "--unknown", "--help=x", "-v",
	"--verbose", "--csv", "--csv=/dev/null", "--ranks", "{}",
	"srun --ntasks 4 --ntasks-per-node ", "fake", "'", "\"", "\\", "%s%n%n%n%d",
	"$(exit 3)", "\"$(", ")", "`", ";", "&", "|", "srun -n 4 2>&1 | tee log", "\n", "\t",
	"\x80\xff",
};
/* clang-format on */

#ifdef MPI_VERSION
static const char *const proper[] = {"--timeout", "60", "1795223422", "-v", "7", "--ranks=a", "1"};
#else
static const char *const proper[] = {
	"-t", "60", "-v", "--csv", "runs.csv", "4", "srun --ntasks 4 --ntasks-per-node ", "fake"};
#endif

/* Returns a random word: one of the above, two of them joined, random bytes, or a very long one. */
static char *word(void)
{
	unsigned kind = below(20);
	unsigned count = sizeof words / sizeof *words;
	char *text = malloc(100001);

	if (kind < 16) {
		strcpy(text, words[below(count)]);
	} else if (kind < 18) {
		strcat(strcpy(text, words[below(count)]), words[below(count)]);
	} else {
		unsigned length = kind == 18 ? below(40) : below(50) ? 0 : 100000;

		for (unsigned i = 0; i < length; i++)
			text[i] = (char)(1 + below(255));
		text[length] = '\0';
		if (length > 100 && below(2))
			memcpy(text, "--", 2);
	}
	return realloc(text, strlen(text) + 1); /* Sanitizers notice reads beyond its end. */
}

/* Returns whether a process with wait status WAITED ended in an allowed way, given what it
 * printed. */
static int acceptable(int waited)
{
	if (!WIFEXITED(waited))
		return 0;
	read_output();
	switch (WEXITSTATUS(waited)) {
	case 0:
		return !strncmp(output, "usage: ", 7) || !strncmp(output, "ziatest ", 8);
	case 2:
		return strstr(output, "usage: ") != NULL;
	default:
		return WEXITSTATUS(waited) == 77;
	}
}

static pid_t child;

static void hangs(int signal)
{
	(void)signal;
	kill(child, SIGKILL);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 10000, ended[256] = {0};

	state = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
	printf("# seed %" PRIu64 "\n", state);
	fflush(stdout);
	signal(SIGALRM, hangs);
	printed = memfd_create("output", 0);
	for (int i = 0; i < count; i++) {
		char *vector[24] = {NULL};
		int words = 0, waited;

		if (below(100)) /* otherwise no argument, not even the name of the program */
			vector[words++] = strdup("fuzz");
		if (words && below(3)) { /* valid arguments, some of them replaced */
			for (size_t p = 0; p < sizeof proper / sizeof *proper; p++) {
				if (!below(12))
					vector[words++] = word();
				if (below(12))
					vector[words++] = below(12) ? strdup(proper[p]) : word();
			}
		} else if (words) { /* random arguments */
			for (unsigned more = below(9); more > 0; more--)
				vector[words++] = word();
		}
		if (ftruncate(printed, 0) != 0 || lseek(printed, 0, SEEK_SET) != 0)
			return 1;
		if ((child = fork()) == 0) {
			signal(SIGALRM, SIG_DFL);
			dup2(printed, STDOUT_FILENO);
			dup2(printed, STDERR_FILENO);
			exit(run_program(words, vector));
		}
		alarm(20);
		waitpid(child, &waited, 0);
		alarm(0);
		if (!acceptable(waited)) {
			printf("# vector %d, wait status %d, printed: %s\n#", i, waited, output);
			for (int w = 0; w < words; w++)
				printf(" [%s]", vector[w]);
			printf("\n");
			return 1;
		}
		ended[WEXITSTATUS(waited)]++;
		while (words > 0)
			free(vector[--words]);
	}
	for (int s = 0; s < 256; s++)
		if (ended[s])
			printf("# status %d: %d\n", s, ended[s]);
	return 0;
}
