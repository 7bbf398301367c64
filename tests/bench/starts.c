/* Measures the time from the stamp to the launcher's first instruction, alternating between ziatest
 * and a program that takes a stamp and prints the command line as ziatest does. That program starts
 * the launcher with system() or, as the lower bound, with a bare exec of /bin/sh -c.
 *
 *	starts COUNT ZIATEST LAUNCHER	prints COUNT lines: the us of ziatest, system and exec
 *	starts system|exec LAUNCHER	is that program
 *
 * Built with -static, it is also the launcher. Called as "LAUNCHER - 4 PROBE SEC USEC 4", it prints
 * the time since SEC and USEC.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum way { ZIATEST, SYSTEM, EXEC, WAYS };

/* Starts LAUNCHER in the given WAY. Returns the time that it prints. */
static double start(enum way way, const char *self, const char *ziatest, const char *launcher)
{
	int ends[2], status;
	char answer[64] = "";
	pid_t child;

	if (pipe(ends) != 0 || (child = fork()) < 0)
		exit(1);
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		if (way == ZIATEST)
			execl(ziatest, "ziatest", "4", launcher, (char *)NULL);
		else
			execl(self, self, way == SYSTEM ? "system" : "exec", launcher,
			      (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	waitpid(child, &status, 0);
	if (status != 0 || read(ends[0], answer, sizeof answer - 1) <= 0)
		exit(1);
	close(ends[0]);
	return atof(answer);
}

int main(int argc, char **argv)
{
	char line[4096];
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (argc == 7) { /* the launcher */
		printf("%.1f\n", ((double)t.tv_sec - atof(argv[4])) * 1e6 +
					 (double)t.tv_nsec / 1e3 - atof(argv[5]));
	} else if (argc == 4) {
		for (int i = 0; i < atoi(argv[1]); i++) {
			double us[WAYS];

			for (int j = 0; j < WAYS; j++) {
				enum way way = (enum way)((i % 2 ? i + j : i + WAYS - j) % WAYS);

				us[way] = start(way, argv[0], argv[2], argv[3]);
			}
			printf("%.1f %.1f %.1f\n", us[ZIATEST], us[SYSTEM], us[EXEC]);
		}
	} else if (argc == 3) {
		snprintf(line, sizeof line, "%s 4 ./ziaprobe %lld %ld 4", argv[2],
			 (long long)t.tv_sec, t.tv_nsec / 1000);
		fprintf(stderr, "%s\n", line);
		if (strcmp(argv[1], "system") == 0)
			return system(line) != 0;
		execl("/bin/sh", "sh", "-c", line, (char *)NULL);
	}
	return argc != 7 && argc != 4;
}
