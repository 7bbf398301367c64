/* The command that ziatest becomes: what a shell would run if given the printed line
 *
 * A launcher of plain words, the first of which is a program, is executed without a shell, and so
 * with ziatest's process id, even if a builtin of the shell has the same name. Everything else, and
 * a launcher that cannot be executed, goes to /bin/sh. */
#include "prepare.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/timex.h>

/* Plain words contain no special characters. A shell only splits them at blanks. */
static const char blanks[] = " \t", special[] = "|&;<>()$`\"'\\*?[]{}#~\n";

/* Returns STRING with each OLD replaced by NEW. */
static char *replace(const char *string, const char *old, const char *new)
{
	char *result = text("%s", "");

	for (const char *at; (at = strstr(string, old)); string = at + strlen(old))
		result = text("%s%.*s%s", result, (int)(at - string), string, new);
	return text("%s%s", result, string);
}

/* Returns WORD, quoted for a shell if necessary. */
static const char *quoted(const char *word)
{
	if (*word && !strpbrk(word, blanks) && !strpbrk(word, special))
		return word;
	return text("'%s'", replace(word, "'", "'\\''"));
}

static int is_program(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

/* Returns the path of the program NAME, or NULL. In PATH, an empty entry is this directory. A NAME
 * with a slash is looked up as it is: as in one empty entry. */
static char *find_program(const char *name)
{
	const char *path = strchr(name, '/') ? "" : getenv("PATH");
	char *rest = path ? text("%s", path) : NULL, *found;

	for (char *dir; (dir = strsep(&rest, ":"));) {
		found = text("%s%s%s", dir, *dir ? "/" : "", name);
		if (is_program(found))
			return found;
	}
	return NULL;
}

/* Returns the path of NAME next to this executable, or "" if that is unknown. */
static char *next_to_ziatest(const char *name)
{
	char *path = realpath("/proc/self/exe", NULL);

	return path ? text("%.*s/%s", (int)(strrchr(path, '/') - path), path, name) : "";
}

/* Returns the path of ./ziaprobe, as the specification requires, or of the one next to ziatest. */
static char *find_probe(void)
{
	char *path = is_program("./ziaprobe") ? "./ziaprobe" : next_to_ziatest("ziaprobe");

	if (!is_program(path))
		fail(1, "cannot find an executable ziaprobe here or next to ziatest; build it with "
			"'make'");
	return path;
}

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

struct launch prepare(int argc, char **argv)
{
	char *arguments[2 * argc + 2]; /* of ziaprobe: N, and at most two words per option */
	char **program = read_options(argc, argv, arguments), **word, **end, *line, *rest;
	char *launcher = *program ? *program++ : "mpirun -npernode";
	struct launch launch = {.options = NULL};

	line = strstr(launcher, "{}") ? replace(launcher, "{}", arguments[0])
				      : text("%s %s", launcher, arguments[0]);
	/* A word of the launcher has at least one character. */
	launch.words = calloc(strlen(line) + 2 * (size_t)argc + 5, sizeof *launch.words);
	if (!launch.words)
		fail(1, "cannot build the command line: %s", strerror(errno));
	rest = text("%s", line);
	for (end = launch.words; (*end = strsep(&rest, blanks));)
		if (**end)
			end++;
	if (!strpbrk(line, special))
		launch.path = find_program(launch.words[0]);

	if (*program) {
		*end++ = "/usr/bin/env";
		*end++ = preload_library();
		launch.before = text("%s /usr/bin/env %s ZIAPROBE=", line, quoted(end[-1]));
		launch.options = text("%s", "");
		for (word = arguments; *word; word++)
			launch.options = text("%s,%s", launch.options, *word);
		launch.after = text("%s", quoted(launch.options));
		launch.stamp = end++;
	} else {
		*end++ = find_probe();
		launch.before = text("%s %s ", line, quoted(end[-1]));
		launch.after = text("%s", "");
		launch.stamp = end;
		end += 2;
		/* srun ends the others if a rank crashes. A program may return any status. */
		setenv("SLURM_KILL_BAD_EXIT", "1", 0);
	}
	for (word = *program ? program : arguments; *word; word++) {
		char *shorter = launch.after;

		launch.after = text("%s %s", shorter, quoted(*word));
		free(shorter); /* exec runs on the clock, and takes longer if it must free more */
		*end++ = *word;
	}
	describe_launch_node();
	return launch;
}
