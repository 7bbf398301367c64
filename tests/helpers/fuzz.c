/*
 * fuzz - runs one of the two programs with random and hostile argument vectors
 *
 *	cc -DPROGRAM='"../../ziatest.c"' fuzz.c; fuzz COUNT SEED
 *
 * PROGRAM is compiled in: ziatest with an exec that only checks the command line, or ziaprobe with
 * a single rank and no MPI library. Every vector is run in a process of its own, which must exit
 * within 20 s with one of these statuses:
 *
 *	0	help, version or result
 *	1	the start lies in the future, and there is no result; or there is a result, but a
 *		file cannot be written
 *	2	the arguments are wrong, and the usage line is printed; or N is greater than 1, the
 *		number of processes
 *	77	(ziatest) the command line is run as it was printed
 *	124	(ziaprobe) the timeout has expired
 *
 * Prints how many processes exited with each status. If a process ended in any other way, prints
 * its vector and exits with status 1.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

/* Replaces libc's fopen (linked with --wrap): opens /dev/null for every file except no/where. */
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
	return __real_fopen(strcmp(path, "no/where") ? "/dev/null" : path, mode);
}

#define main program_main
#include PROGRAM
#undef main

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
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

/* Replaces libc's function, so that a rank whose timeout has expired does not wait for others. */
int poll(struct pollfd *fds, nfds_t count, int ms)
{
	(void)fds, (void)count, (void)ms;
	return 0;
}

#ifdef MPI_VERSION /* an MPI world of a single rank, which sends messages to itself */
int MPI_Init(int *argc, char ***argv)
{
	return argc || argv;
}
int MPI_Finalize(void)
{
	return 0;
}
int MPI_Abort(MPI_Comm c, int status)
{
	(void)c;
	exit(status);
}
int MPI_Comm_rank(MPI_Comm c, int *rank)
{
	(void)c;
	*rank = 0;
	return 0;
}
int MPI_Comm_size(MPI_Comm c, int *size)
{
	(void)c;
	*size = 1;
	return 0;
}
int MPI_Get_processor_name(char *name, int *length)
{
	*length = sprintf(name, "n1");
	return 0;
}
int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
	(void)b, (void)n, (void)t, (void)to, (void)tag, (void)c;
	abort(); /* there is no other rank */
}
int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
	(void)b, (void)n, (void)t, (void)from, (void)tag, (void)c, (void)s;
	abort();
}
int MPI_Sendrecv(const void *sb, int sn, MPI_Datatype st, int to, int stag, void *rb, int rn,
		 MPI_Datatype rt, int from, int rtag, MPI_Comm c, MPI_Status *s)
{
	(void)st, (void)stag, (void)rt, (void)rtag, (void)c, (void)s;
	assert(sn == 1 && rn == 1 && to == 0 && from == 0);
	memcpy(rb, sb, 1);
	return 0;
}
int MPI_Ibcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *r)
{
	(void)b, (void)n, (void)t, (void)c, (void)r;
	return root;
}
int MPI_Test(MPI_Request *r, int *done, MPI_Status *s)
{
	(void)r, (void)s;
	*done = 1;
	return 0;
}
int MPI_Barrier(MPI_Comm c)
{
	(void)c;
	return 0;
}
int MPI_Get_library_version(char *version, int *length)
{
	*length = sprintf(version, "MPI\tof one rank\n");
	return 0;
}
int MPI_Gather(const void *sb, int sn, MPI_Datatype st, void *rb, int rn, MPI_Datatype rt, int root,
	       MPI_Comm c)
{
	(void)rt, (void)c;
	assert(sn == rn && root == 0 && st == MPI_BYTE);
	memcpy(rb, sb, (size_t)sn);
	return 0;
}
int MPI_Ibarrier(MPI_Comm c, MPI_Request *r)
{
	(void)c, (void)r;
	return 0;
}
#endif

static uint64_t state; /* of the random number generator, SplitMix64 */

/* Returns a random number from 0 to BELOW - 1. */
static unsigned below(unsigned below)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (unsigned)((z ^ z >> 31) % below);
}

static const char *const words[] = {
	"1",
	"1",
	"1",
	"1",
	"2",
	"4",
	"007",
	"0",
	"-1",
	"+1",
	"3.5",
	"",
	" ",
	" 4",
	"4 ",
	"0x10",
	"1e3",
	"1000000",
	"999999",
	"2147483647",
	"2147483648",
	"99999999999",
	"9223372036",
	"4611686018",
	"4611686019",
	"9223372036854775807",
	"18446744073709551616",
	"1795223422",
	"1795223422",
	"99999999990",
	"-",
	"--",
	"---",
	"-t",
	"-t1",
	"-t0",
	"--timeout",
	"--timeout=60",
	"--timeout=",
	"--time",
	"-h",
	"--help",
	"--hel",
	"-V",
	"--version",
	"-hV",
	"-x",
	"--unknown",
	"--help=x",
	"-v",
	"--verbose",
	"--csv",
	"--csv=/dev/null",
	"--ranks",
	"--csv=no/where",
	"--ranks=no/where",
	"{}",
	"{",
	"}",
	"{}{}{}",
	"srun --ntasks 4 --ntasks-per-node ",
	"mpirun --map-by ppr:{}:node",
	"fake",
	"'",
	"\"",
	"\\",
	"%s%n%n%n%d",
	"$(exit 3)",
	"\"$(",
	")",
	"`",
	";",
	"&",
	"|",
	"||",
	">|",
	"srun -n 4 2>&1 | tee log",
	"\n",
	"\t",
	"\x80\xff",
	"../../../..",
	"/dev/null",
};

#ifdef MPI_VERSION
static const char *const proper[] = {"--timeout", "99999999",          "1795223422", "-v",
				     "7",         "--ranks=/dev/null", "1"};
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
	const char *result = "Time test was completed in ";

	if (!WIFEXITED(waited))
		return 0;
	read_output();
	switch (WEXITSTATUS(waited)) {
	case 0:
		return !strncmp(output, "usage: ", 7) || !strncmp(output, "ziatest ", 8) ||
		       (!strncmp(output, result, strlen(result)) && !strstr(output, "error: "));
	case 1: /* a result, and an error about a file; or only an error */
		if (strstr(output, result))
			return strstr(output, "error: cannot ") != NULL;
		return strstr(output, " before the start") != NULL;
	case 2:
		return !strstr(output, result) &&
		       (strstr(output, "usage: ") || strstr(output, " is not a multiple of "));
	case 77:
		return 1;
	case 124:
		return strstr(output, "error: timeout of ") != NULL;
	default:
		return 0;
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
			exit(program_main(words, vector));
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
