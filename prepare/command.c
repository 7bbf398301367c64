/* The command that ziatest becomes: what a shell would run if given the printed line
 *
 * Words, and a launch line of plain words, the first of which is a program, are executed without a
 * shell, and so with ziatest's process id, even if a builtin of the shell has the same name. Every
 * other launch line, and one that cannot be executed, goes to /bin/sh. */
#include "prepare.h"

#include <limits.h>
#include <sys/timex.h>

/* Returns an assignment to LD_PRELOAD: libziaprobe.so follows the present value, because the
 * library of AddressSanitizer must come first. */
static char *preload_library(void)
{
	char *path = next_to_ziatest("libziaprobe.so"), *present = getenv("LD_PRELOAD");

	if (access(path, R_OK) != 0)
		path = next_to_ziatest("../lib/libziaprobe.so");
	if (access(path, R_OK) != 0)
		fail(1, "cannot find libziaprobe.so next to ziatest or in ../lib; build it with "
			"'make'");
	if (strpbrk(path, ": \t\n"))
		fail(1, "cannot preload '%s': its path has a blank or a colon; move Ziatest", path);
	return text("LD_PRELOAD=%s%s%s", present ? present : "", present && *present ? ":" : "",
		    path);
}

/* Describes the launch node to ziaprobe. Over ssh, Open MPI's mpirun passes on only variables that
 * begin with OMPI_. SYNC is the maximum error of the clock in us: ZIATEST_SYNC or, if unset, the
 * kernel's, up to its limit, 16 s. STA_UNSYNC is not used, as chrony may never clear it. */
static void describe_launch_node(void)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	const char *sync = getenv("ZIATEST_SYNC");
	struct timex clock = {.modes = 0};
	char id[HOST_NAME_MAX + 1] = "";

	if (!file || fscanf(file, "%63s", id) != 1)
		gethostname(id, sizeof id);
	setenv("OMPI_ZIATEST_NODE", id, 1);
	setenv("OMPI_ZIATEST_PID", text("%d", (int)getpid()), 1);
	unsetenv("OMPI_ZIATEST_SYNC");
	if (!sync && adjtimex(&clock) != -1 && clock.maxerror < 16000000)
		sync = text("%ld", clock.maxerror);
	if (sync)
		setenv("OMPI_ZIATEST_SYNC", sync, 1);
}

/* Returns whether each task of srun would start mpirun, or a launcher like it. WORDS are those of
 * the launch line, and end with a NULL. */
static int tasks_are_launchers(char **words)
{
	static const char *const launchers = /* some as Debian calls them */
		" mpirun mpirun.openmpi mpirun.mpich mpiexec mpiexec.openmpi mpiexec.mpich "
		"mpiexec.hydra orterun prterun ";
	const char *before = "";
	int in_srun = 0;

	for (; *words; before = *words++) {
		const char *slash = strrchr(*words, '/'), *name = slash ? slash + 1 : *words;
		int value = strcmp(before, "-n") == 0 || strcmp(before, "--ntasks") == 0;

		if (in_srun && (strcmp(name, "-n1") == 0 || strcmp(name, "--ntasks=1") == 0 ||
				(value && strcmp(name, "1") == 0)))
			return 0;
		if (in_srun && strstr(launchers, text(" %s ", name)) && strcmp(before, "-J") != 0 &&
		    strcmp(before, "--job-name") != 0)
			return 1;
		in_srun |= strcmp(name, "srun") == 0;
	}
	return 0;
}

static void __attribute__((noreturn)) fail_without_launcher(const char *name)
{
	if (strchr(name, '/') && access(name, F_OK) == 0)
		fail(126, "the launcher '%s' is not an executable file", name);
	fail(127,
	     "cannot find the launcher '%s'; check its name, load its module or, if it is an "
	     "alias of your shell, write out what it stands for",
	     name);
}

struct launch prepare(int argc, char **argv)
{
	struct request request = read_options(argc, argv);
	struct launch launch = {.shell = request.line != NULL};
	const char *n = request.arguments[0];
	char **word, **end, **rest, *line = request.line, *copy;
	int nested;

	if (!line)
		line = "";
	else if (strstr(line, "{}"))
		line = replace(line, "{}", n);
	else
		line = text("%s %s", line, n);
	/* A word of the launch line has at least one character. */
	launch.words = calloc(strlen(line) + 3 * (size_t)argc + 11, sizeof *launch.words);
	if (!launch.words)
		fail(1, "cannot build the command line: %s", strerror(errno));
	copy = text("%s", line);
	for (end = launch.words; (*end = strsep(&copy, blanks));)
		if (**end)
			end++;
	rest = end; /* of the words, which LINE lacks */
	for (word = request.launcher; word && *word; word++)
		*end++ = *word;
	*end = *request.program;
	nested = !strpbrk(line, special) && tasks_are_launchers(launch.words);

	if (*request.program) {
		*end++ = "/usr/bin/env";
		*end++ = preload_library();
		launch.before = text("%s%s ZIAPROBE=", line, join(rest, end));
		launch.options = text("%s", "");
		for (word = request.arguments; *word; word++)
			launch.options = text("%s,%s", launch.options, *word);
		launch.stamp = end++;
	} else {
		*end++ = request.probe ? request.probe : find_probe();
		launch.before = text("%s%s ", line, join(rest, end));
		launch.stamp = end;
		end += 2;
		/* srun ends the others if a rank crashes. A program may return any status. */
		setenv("SLURM_KILL_BAD_EXIT", "1", 0);
	}
	launch.before += !*line; /* a blank */
	rest = end;
	for (word = *request.program ? request.program : request.arguments; *word; word++)
		*end++ = *word;
	launch.after = text("%s%s", launch.options ? quoted(launch.options) : "", join(rest, end));
	if (!strpbrk(line, special))
		launch.path = find_program(launch.words[0]);
	if (!launch.path && !launch.shell)
		fail_without_launcher(launch.words[0]);
	if (nested)
		fputs("ziatest: warning: each task of srun starts mpirun, and so a job of its own; "
		      "leave out srun, or let it start only one task\n",
		      stderr);
	describe_launch_node();
	return launch;
}
