/* Measures the time from the stamp to the launcher's first instruction, alternating between ziatest
 * and a program that takes a stamp, prints the command line and calls system().
 *
 *	starts COUNT ZIATEST LAUNCHER	prints COUNT lines: the us of ziatest and of system()
 *	starts system LAUNCHER		is that program
 *
 * Built with -static, it is also the launcher. Called as "LAUNCHER - 4 PROBE SEC USEC 4", it prints
 * the time since SEC and USEC.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Starts LAUNCHER, by ZIATEST or, if that is NULL, by SELF. Returns the time that it prints. */
static double start(const char *self, const char *ziatest, const char *launcher)
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
		if (ziatest)
			execl(ziatest, "ziatest", "4", launcher, (char *)NULL);
		else
			execl(self, self, "system", launcher, (char *)NULL);
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
			const char *first = i % 2 ? argv[2] : NULL;
			double one = start(argv[0], first, argv[3]);
			double other = start(argv[0], first ? NULL : argv[2], argv[3]);

			printf("%.1f %.1f\n", first ? one : other, first ? other : one);
		}
	} else if (argc == 3) {
		snprintf(line, sizeof line, "%s 4 ./ziaprobe %lld %ld 4", argv[2],
			 (long long)t.tv_sec, t.tv_nsec / 1000);
		fprintf(stderr, "%s\n", line);
		return system(line) != 0;
	}
	return argc != 7 && argc != 4;
}
