/*
 * ziatest - time an MPI job from its launch to its first messages, on Linux
 *
 * ziatest takes a time stamp, prints the command line on stderr, and becomes the launcher. The
 * launcher starts N processes of ziaprobe per node. Each receives the stamp, and rank 0 reports the
 * time. If a program is given, the launcher starts that instead, and the preloaded libziaprobe.so
 * measures it.
 *
 * On the clock, between the start stamp and the launcher's first instruction, ziatest formats the
 * command line, prints it and calls exec. It starts no child process, waits for nothing and does
 * not search PATH: prepare() does everything else, before the stamp. Only a launch line that needs
 * a shell gets one. The stamp is read from the realtime clock, because other nodes read the end.
 */
#include "prepare/prepare.h"

#include <time.h>

int main(int argc, char **argv)
{
	struct launch launch = prepare(argc, argv);
	char *sec, *usec, *line;
	struct timespec start;

	/* Everything from here on is on the clock. */
	clock_gettime(CLOCK_REALTIME, &start);
	sec = text("%lld", (long long)start.tv_sec);
	usec = text("%ld", start.tv_nsec / 1000);
	line = text("%s%s%c%s%s", launch.before, sec, launch.options ? ',' : ' ', usec,
		    launch.after);
	if (launch.options) {
		launch.stamp[0] = text("ZIAPROBE=%s,%s%s", sec, usec, launch.options);
	} else {
		launch.stamp[0] = sec;
		launch.stamp[1] = usec;
	}
	if (fprintf(stderr, "%s\n", line) < 0)
		fail(1, "cannot print the command line on stderr: %s", strerror(errno));
	if (launch.path)
		execv(launch.path, launch.words);
	/* The shell runs every other launch line, or explains why it cannot. */
	if (launch.shell)
		execl("/bin/sh", "sh", "-c", line, (char *)NULL);
	fail(126 + (errno == ENOENT), "cannot run %s: %s", launch.shell ? "/bin/sh" : launch.path,
	     strerror(errno));
}
