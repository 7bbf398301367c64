/* From the stamp to the launcher's first instruction, in alternation: ziatest, whose launcher
 * is this program again, system() of the same command line, and for the floor the bare exec of
 * /bin/sh -c.
 *
 *	starts COUNT ZIATEST	prints "ziatest system exec" in us, COUNT lines
 *
 * As launcher, "starts - 4 PROBE SEC USEC 4", it prints the time since SEC USEC.
 */
#define _GNU_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) /* us since 1970 */
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

enum way { ZIATEST, SYSTEM, EXEC };

/* Starts LAUNCHER in one of the ways; returns what it prints. */
static double start(enum way way, const char *ziatest, const char *launcher)
{
	int ends[2], saved = dup(STDOUT_FILENO);
	char answer[64] = "", command[4096];
	struct timespec t;
	pid_t child = -1;

	if (pipe(ends) != 0)
		exit(1);
	dup2(ends[1], STDOUT_FILENO);
	close(ends[1]);
	if (way == SYSTEM || (child = fork()) == 0) {
		if (way == ZIATEST) {
			execl(ziatest, "ziatest", "4", launcher, (char *)NULL);
			_exit(127);
		}
		clock_gettime(CLOCK_REALTIME, &t);
		snprintf(command, sizeof command, "%s 4 ./ziaprobe %lld %ld 4", launcher,
			 (long long)t.tv_sec, t.tv_nsec / 1000);
		fprintf(stderr, "%s\n", command);
		if (way == EXEC) {
			execl("/bin/sh", "sh", "-c", command, (char *)NULL);
			_exit(127);
		}
		if (system(command) != 0)
			exit(1);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	if (read(ends[0], answer, sizeof answer - 1) <= 0)
		exit(1);
	close(ends[0]);
	return atof(answer);
}

int main(int argc, char **argv)
{
	double entered = now();
	char launcher[4000];

	if (argc == 7) {
		printf("%.1f\n", entered - atof(argv[4]) * 1e6 - atof(argv[5]));
		return 0;
	}
	snprintf(launcher, sizeof launcher, "%s -", argv[0]);
	for (int i = atoi(argv[1]); i > 0; i--) {
		for (enum way way = ZIATEST; way <= EXEC; way++)
			printf("%.1f ", start(way, argv[2], launcher));
		printf("\n");
		fflush(stdout);
	}
	return 0;
}
