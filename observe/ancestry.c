/*
 * ancestry.c - which of the launcher's daemons created this process, and when
 *
 * On the clock: with libziaprobe.so, describe_task() and is_of_other_launch();
 * nearest_daemon(), if the launchers' variables disagree or do not match MPI_COMM_WORLD;
 * was_created_by_daemon(), if they are missing and MPI_COMM_WORLD has one process.
 */
#include "observe.h"

#include <limits.h>

struct process {
	int id; /* 0 if it is not known */
	int64_t born; /* a stamp, to half a tick; UNKNOWN if /proc does not show this process */
	int parent; /* its process id; 0 if it is not known */
	char name[16]; /* truncated by the kernel */
};

/* Returns what PATH, a process's stat file in /proc, shows. BOOT is the stamp at which this node
 * booted. */
static struct process read_process(const char *path, int64_t boot)
{
	struct process process = {.born = UNKNOWN};
	char text[1024], *begin, *field;
	FILE *file = fopen(path, "re");

	if (!file)
		return process;
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	/* The file holds PID (NAME), then other fields: number 4 is the parent, and number 22 the
	 * creation time, in ticks since boot. NAME may contain blanks and parentheses. */
	process.id = (int)strtol(text, NULL, 10);
	begin = strchr(text, '(');
	field = strrchr(text, ')');
	if (!begin || !field)
		return process;
	*field = '\0';
	snprintf(process.name, sizeof process.name, "%s", begin + 1);
	make_printable(process.name);
	for (int i = 3; i <= 22 && (field = strchr(field + 1, ' ')); i++) {
		if (i == 4)
			process.parent = (int)strtol(field, NULL, 10);
		if (i == 22)
			/* The kernel rounds down, so the middle of the tick is right on average. */
			process.born = boot + strtoll(field, NULL, 10) * TICK + TICK / 2;
	}
	return process;
}

/* Returns whether slurmstepd, Slurm's daemon, started the process ID: it sets SLURM_TASK_PID for
 * each task. */
static bool is_slurm_task(int id)
{
	return id > 0 && to_number(getenv("SLURM_TASK_PID"), INT_MAX) == id;
}

/* Returns the parent of PROCESS. If /proc hides the processes of other users (hidepid), only
 * the name is known, and only if the parent is slurmstepd. */
static struct process read_parent(struct process process, int64_t boot)
{
	struct process parent;
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/stat", process.parent);
	parent = read_process(path, boot);
	if (parent.id == 0 && is_slurm_task(process.id))
		strcpy(parent.name, "slurmstepd");
	return parent;
}

/* Writes the process id and the creation time of PROCESS into TEXT. Together, they identify the
 * process, even among those of other nodes, and exec does not change them. */
static void identify(struct process process, char *text, size_t size)
{
	snprintf(text, size, "process=%d,%lld;", process.id, (long long)process.born);
}

/* Returns what identifies this process and its launch, as "NAME=VALUE;NAME=VALUE;...", in a static
 * buffer. The names but the first are those of variables. */
const char *describe_task(void)
{
	static char text[1000];

	identify(read_process("/proc/self/stat", 0), text, sizeof text);
	for (const char *const *name = launch_identifiers; *name; name++)
		describe_variable(*name, text + strlen(text), sizeof text - strlen(text));
	return text;
}

/* Returns whether NAME, up to the first dot, is one of NAMES, which are between blanks. Debian, for
 * example, installs mpirun as mpirun.openmpi. */
bool is_among(const char *name, const char *names)
{
	char word[20];

	snprintf(word, sizeof word, " %.*s ", (int)MIN(strcspn(name, "."), 15), name);
	return strstr(names, word) != NULL;
}

/* Returns the name of the nearest daemon among the parent and the next eight ancestors, in a static
 * buffer; an empty string if there is none, or if they cannot be seen. */
const char *nearest_daemon(void)
{
	static struct process ancestor;

	ancestor = read_process("/proc/self/stat", 0);
	for (int i = 0; i <= 8 && ancestor.parent > 0; i++) {
		ancestor = read_parent(ancestor, 0);
		if (is_among(ancestor.name, DAEMONS))
			return ancestor.name;
	}
	return "";
}

/* Returns whether this process belongs to another launch, which a task of our launch has started.
 * TASK is what describe_task() returned in the task that our launcher started, or NULL. Another
 * launch has another identifier. That of MPICH's hydra has none, but exec does not create a
 * process: so a rank of our launch is TASK itself, or a descendant of it without a hydra_pmi_proxy
 * in between. Returns false if the ancestors cannot be seen, as in a container with a PID namespace
 * of its own. */
bool is_of_other_launch(const char *task)
{
	struct process process;
	char text[300];

	for (const char *const *name = launch_identifiers; task && *name; name++) {
		describe_variable(*name, text, sizeof text);
		if (!strstr(task, text))
			return true;
	}
	process = read_process("/proc/self/stat", 0);
	for (int i = 0; task && i <= 8 && process.id > 0; i++) {
		identify(process, text, sizeof text);
		if (strstr(task, text))
			return false;
		process = read_parent(process, 0);
		if (is_among(process.name, " hydra_pmi_proxy "))
			return true;
	}
	return false;
}

/* Returns whether PARENT, which created this process, first waited until all nodes had a daemon, as
 * mpirun and its daemons do. Intel MPI's hydra does so, too, but MPICH's does not. */
static bool waits_for_daemons(const struct process *parent)
{
	return is_among(parent->name, MPIRUN) ||
	       (is_among(parent->name, " hydra_pmi_proxy ") && getenv("I_MPI_HYDRA_UUID"));
}

/* Returns whether this process was started by the launcher itself, and not by a process that the
 * launcher started. */
bool is_child_of_daemon(void)
{
	struct process self = read_process("/proc/self/stat", 0), parent = read_parent(self, 0);

	return is_slurm_task(self.id) || is_among(parent.name, DAEMONS);
}

struct pair {
	struct process child, parent;
};

/* Returns the process that a daemon of the launcher created, and that daemon. The process may be a
 * wrapper, such as a script, around that of OWN. Looks for the daemon among the parent and the next
 * eight ancestors; what is older than SINCE, such as a batch script, was not created for the
 * launch. Returns OWN if there is no daemon, and UNKNOWN times of birth if an ancestor that was
 * created for the launch has a parent that cannot be seen, as in a container with a PID namespace
 * of its own. LAUNCHER is the launcher's process id on this node, or -1. */
static struct pair find_created(struct pair own, int64_t since, int launcher, int64_t boot)
{
	struct pair pair = own;

	for (int i = 0; i <= 8 && pair.child.born >= since; i++) {
		if (pair.child.parent == launcher || is_among(pair.parent.name, DAEMONS))
			return pair;
		if (pair.parent.born == UNKNOWN)
			return (struct pair){pair.parent, pair.parent}; /* both unknown */
		pair = (struct pair){pair.parent, read_parent(pair.parent, boot)};
	}
	return own;
}

/* Returns whether a daemon of a launcher has certainly created this process, or a wrapper around
 * it, since the stamp SINCE, rather than a shell that is older. BOOT is the stamp at which this
 * node booted. */
bool was_created_by_daemon(int64_t since, int64_t boot)
{
	struct process self = read_process("/proc/self/stat", boot);
	struct pair own = {self, read_parent(self, boot)};
	struct pair created = find_created(own, since, -1, boot);

	return created.child.born - TICK / 2 >= since && is_among(created.parent.name, DAEMONS);
}

/* Fills in when this process, or the wrapper around it, and its parent were created, the parent's
 * name, and a stamp at which this process certainly existed. BOOT is the stamp at which this node
 * booted. RECORD must already hold on_launch_node, START and MAIN_ENTERED. */
void read_creation(struct record *record, int64_t boot)
{
	int ziatest = (int)to_number(getenv("OMPI_ZIATEST_PID"), INT_MAX);
	int launcher = record->on_launch_node ? ziatest : -1;
	struct process self = read_process("/proc/self/stat", boot);
	struct pair own = {self, read_parent(self, boot)};
	struct pair created = find_created(own, record->at[START] - 2 * TICK, launcher, boot);
	int64_t oldest = own.child.born;

	/* Main is always entered after the start. If ziatest's launcher created this process or its
	 * slurmstepd, that happened after the start, too. */
	record->existed = record->at[MAIN_ENTERED];
	if (strcmp(own.parent.name, "slurmstepd") == 0)
		oldest = own.parent.born;
	if (ziatest >= 0 && getpid() != launcher && oldest != UNKNOWN)
		record->existed = MIN(record->existed, oldest + 3 * TICK / 2);
	record->at[CREATED] = created.child.born;
	record->at[PARENT_CREATED] = created.parent.born;
	strcpy(record->parent, created.parent.name);
	record->by_mpirun = waits_for_daemons(&created.parent);
	/* ziatest becomes the launcher, which may be the parent. It existed before the start. */
	if (created.child.parent == launcher)
		record->at[PARENT_CREATED] = UNKNOWN;
}
