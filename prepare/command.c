/* The command that ziatest becomes: what a shell would run if given the printed line
 *
 * Words, and a launch line of plain words, the first of which is a program, are executed without a
 * shell, and so with ziatest's process id, even if a builtin of the shell has the same name. Every
 * other launch line, and one that cannot be executed, goes to /bin/sh. */
#include "prepare.h"

#include <limits.h>
#include <sys/timex.h>

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
	if (file)
		fclose(file); /* otherwise exec closes it, on the clock */
	setenv("OMPI_ZIATEST_NODE", id, 1);
	setenv("OMPI_ZIATEST_PID", text("%d", (int)getpid()), 1);
	unsetenv("OMPI_ZIATEST_SYNC");
	setenv("OMPI_ZIATEST_STEP", getenv("SLURM_STEP_ID") ? getenv("SLURM_STEP_ID") : "", 1);
	unsetenv("ZIAPROBE"); /* set by another ziatest, if its program runs this one */
	if (!sync && adjtimex(&clock) != -1 && clock.maxerror < 16000000)
		sync = text("%ld", clock.maxerror);
	if (sync)
		setenv("OMPI_ZIATEST_SYNC", sync, 1);
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

/* Appends PATH, which is that of ziaprobe or ziastart, and the arguments that both take. */
static void push_start(struct list *list, char *path, char *sec, char *usec, char **arguments)
{
	push(list, path);
	push(list, sec);
	push(list, usec);
	while (*arguments)
		push(list, *arguments++);
}

/* Appends the words that follow the launcher to LIST. After each ':', options of the launcher
 * follow, and then another program behind a --, which is among the words; the first is not. */
static void push_tail(struct list *list, const struct request *request, char *sec, char *usec)
{
	char *path = request->probe ? request->probe : find_starter();
	int in_options = 0;

	push_start(list, path, sec, usec, request->arguments);
	if (!request->probe)
		push(list, "--");
	for (char **word = request->program; *word; word++) {
		if (in_options && strcmp(*word, "--") == 0) {
			push_start(list, path, sec, usec, request->arguments);
			in_options = 0;
		}
		in_options |= strcmp(*word, ":") == 0;
		push(list, *word);
	}
}

char **prepare(int argc, char **argv, char *sec, char *usec, char ***command)
{
	struct request request = read_options(argc, argv);
	struct list words = {NULL, 0}, pieces = {NULL, 0};
	char *path = NULL, *line = request.line, *rest;
	size_t tail;

	push(&words, NULL); /* the path */
	if (line) {
		push(&pieces, line);
		rest = text("%s", line);
		for (char *word; (word = strsep(&rest, blanks));)
			if (*word)
				push(&words, word);
	}
	tail = words.count;
	for (char **word = request.launcher; word && *word; word++)
		push(&words, *word);
	push_tail(&words, &request, sec, usec);
	for (char **word = words.word + tail; *word; word++) {
		if (pieces.count > 0)
			push(&pieces, " ");
		/* The stamp is empty as yet, and needs no quotes. */
		push(&pieces, *word == sec || *word == usec ? *word : quoted(*word));
	}
	if (!line || !strpbrk(line, special))
		path = find_program(words.word[1]);
	if (!path && !line)
		fail_without_launcher(words.word[1]);
	if (path) {
		words.word[0] = path;
		*command = words.word;
	}
	/* Lets srun end the other ranks if one crashes. A program may return any status. */
	if (request.probe)
		setenv("SLURM_KILL_BAD_EXIT", "1", 0);
	describe_launch_node();
	return pieces.word;
}
