/*
 * ancestry.c - which of the launcher's daemons created this process, and when
 *
 * On the clock:
 *
 *	describe_task()		in ziastart
 *	is_of_other_launch()	in libziaprobe.so
 *	nearest_launcher()	if the launchers' variables disagree or do not match
 *				MPI_COMM_WORLD; to find N, unless exactly one launcher has set any,
 *				and PMIx is not that of mpirun
 *	was_created_by_daemon()	if the variables are missing, and MPI_COMM_WORLD has one
 *				process
 */
#include "observe.h"

#include <limits.h>
#include <sched.h>

enum { ANCESTORS = 9 }; /* the most that are examined: wrappers, then the daemon */

struct process {
	int id; /* 0 if it is not known */
	int64_t born; /* us after this node booted, to half a tick; UNKNOWN if it cannot be seen */
	int parent; /* its process id; 0 if it is not known */
	char name[16]; /* truncated by the kernel */
};

/* Returns what PATH, a process's stat file in /proc, shows. */
static struct process read_process(const char *path)
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
			process.born = strtoll(field, NULL, 10) * TICK + TICK / 2;
	}
	return process;
}

static struct process this_process(void)
{
	return read_process("/proc/self/stat");
}

/* Returns the parent of PROCESS. If /proc hides the processes of other users (hidepid), only the
 * name can be known, and only if the parent is slurmstepd, because that sets SLURM_TASK_PID. */
static struct process read_parent(struct process process)
{
	struct process parent;
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/stat", process.parent);
	parent = read_process(path);
	if (parent.id == 0 && process.id > 0 &&
	    to_number(getenv("SLURM_TASK_PID"), INT_MAX) == process.id)
		strcpy(parent.name, "slurmstepd");
	return parent;
}

/* ---- The task: the process that the launcher started, as ziastart describes it ---- */

/* Writes the process id and the creation time of PROCESS into TEXT. Together, they identify the
 * process, even among those of other nodes, and exec does not change them. */
static void identify(struct process process, char *text, size_t size)
{
	snprintf(text, size, "process=%d,%lld;", process.id, (long long)process.born);
}

/* Writes the variable NAME into TEXT, as "KEY=VALUE;", or writes "" if it is not set. */
static void describe_variable(const char *name, const char *key, char *text, size_t size)
{
	const char *value = getenv(name);

	*text = '\0';
	if (value)
		snprintf(text, size, "%s=%s;", key, value);
}

/* Returns what identifies this process and its launch, as "KEY=VALUE;KEY=VALUE;...", in a static
 * buffer. All sizes have the same key, because a script may give one launcher's to another. */
const char *describe_task(void)
{
	static char text[1000];

	identify(this_process(), text, sizeof text);
	for (int i = 0; i < LAUNCHERS; i++) {
		describe_variable(launchers[i].size, "size", text + strlen(text),
				  sizeof text - strlen(text));
		for (const char *const *name = launchers[i].launch; *name; name++)
			describe_variable(*name, *name, text + strlen(text),
					  sizeof text - strlen(text));
	}
	return text;
}

/* Returns whether the variable NAME is set to a value that TASK, which describe_task() has
 * returned, does not have for KEY. */
static bool has_changed(const char *name, const char *key, const char *task)
{
	char text[300];

	describe_variable(name, key, text, sizeof text);
	return !strstr(task, text);
}

/* Returns whether PROCESS is the one that describe_task() has described as TASK. */
static bool is_same(struct process process, const char *task)
{
	char text[50];

	identify(process, text, sizeof text);
	return strstr(task, text) != NULL;
}

/* Returns whether this process is TASK, and not one that TASK has started. TASK may be NULL. */
bool is_task(const char *task)
{
	return task && is_same(this_process(), task);
}

/* Returns whether this process belongs to another launch, started by TASK or by a descendant of
 * TASK. TASK may be NULL. Each launch has an identifier of its own, except that launches of MPICH's
 * hydra have none. So a process also belongs to another launch if it has been told a different
 * size, or if there is a daemon of hydra between it and TASK. Returns false if the sizes are equal,
 * but the ancestors cannot be seen, as in a container with a PID namespace of its own. */
bool is_of_other_launch(const char *task)
{
	struct process process;

	if (!task)
		return false;
	for (int i = 0; i < LAUNCHERS; i++) {
		if (has_changed(launchers[i].size, "size", task))
			return true;
		for (const char *const *name = launchers[i].launch; *name; name++)
			if (has_changed(*name, *name, task))
				return true;
	}
	process = this_process();
	for (int i = 0; i < ANCESTORS && process.id > 0 && !is_same(process, task); i++) {
		process = read_parent(process);
		if (launcher_of_daemon(process.name) == launchers + HYDRA)
			return true;
	}
	return false;
}

/* ---- What the launcher created: this process, or a wrapper around it, such as a script ---- */

struct pair {
	struct process child, parent;
};

static struct pair this_pair(void)
{
	struct process self = this_process();

	return (struct pair){self, read_parent(self)};
}

/* Returns a daemon of a launcher, and the process that it created: this one or, failing that, the
 * nearest ancestor that a daemon created. OWN is this process and its parent. Processes older than
 * SINCE (us after this node booted), such as a batch script, are ignored, because they were not
 * created for the launch. Returns OWN if no daemon is found. Returns unknown processes if an
 * ancestor that was created for the launch has a parent that cannot be seen, as in a container with
 * a PID namespace of its own. LAUNCHER_ID is the launcher's process id on this node, or -1. */
static struct pair find_created(struct pair own, int64_t since, int launcher_id)
{
	struct pair pair = own, unknown = {{.born = UNKNOWN}, {.born = UNKNOWN}};

	for (int i = 0; i < ANCESTORS && pair.child.born >= since; i++) {
		if (pair.child.parent == launcher_id || launcher_of_daemon(pair.parent.name))
			return pair;
		if (pair.parent.born == UNKNOWN)
			return unknown;
		pair = (struct pair){pair.parent, read_parent(pair.parent)};
	}
	return own;
}

/* Returns the launcher whose daemon is the nearest among the ancestors; NULL if there is none, or
 * if they cannot be seen. */
const struct launcher *nearest_launcher(void)
{
	return launcher_of_daemon(find_created(this_pair(), UNKNOWN, -1).parent.name);
}

/* Returns whether it is certain that a daemon of a launcher has created this process, or a wrapper
 * around it, since the stamp SINCE. BOOT is the stamp at which this node booted. */
bool was_created_by_daemon(int64_t since, int64_t boot)
{
	struct pair created = find_created(this_pair(), since - boot, -1);

	return created.child.born >= since - boot + TICK / 2 &&
	       launcher_of_daemon(created.parent.name);
}

/* Returns whether daemons of LAUNCHER wait until all nodes have one before they start any rank. */
static bool do_daemons_wait(const struct launcher *launcher)
{
	return launcher->daemons_wait ||
	       (launcher->daemons_wait_if && getenv(launcher->daemons_wait_if));
}

/* Returns the number of CPUs to which PROCESS can bind its children, or 0 if it is not known, as
 * with slurmstepd, which may run on CPUs that the job does not have. */
static int count_cpus(const struct process *process)
{
	cpu_set_t cpus[8] = {0}; /* 8192 CPUs, the most that Linux supports */

	if (process->id == 0 || launcher_of_daemon(process->name) == launchers + SLURM ||
	    sched_getaffinity(process->id, sizeof cpus, cpus) != 0)
		return 0;
	return CPU_COUNT_S(sizeof cpus, cpus);
}

/* Returns the stamp BORN us after BOOT; UNKNOWN if BORN is. */
static int64_t stamp_of(int64_t born, int64_t boot)
{
	return born == UNKNOWN ? UNKNOWN : boot + born;
}

/* Fills in when this process, or the wrapper around it, was created, and when its parent was. Also
 * fills in the parent's name, the number of its CPUs, and a stamp at which this process certainly
 * existed. BOOT is the stamp at which this node booted. RECORD must already hold on_launch_node,
 * START and MAIN_ENTERED. */
void read_creation(struct record *record, int64_t boot)
{
	/* ziatest becomes the launcher, which keeps its process id. */
	int ziatest_id = (int)to_number(getenv("OMPI_ZIATEST_PID"), INT_MAX);
	int launcher_id = record->on_launch_node ? ziatest_id : -1;
	struct pair own = this_pair();
	/* Two ticks, because neither a creation nor the boot is known exactly */
	struct pair created = find_created(own, record->at[START] - 2 * TICK - boot, launcher_id);
	const struct launcher *parent = launcher_of_daemon(own.parent.name);
	const struct launcher *creator = launcher_of_daemon(created.parent.name);
	bool is_new = parent && parent->daemons_are_new && own.parent.born != UNKNOWN;
	int64_t oldest = is_new ? own.parent.born : own.child.born;

	/* Main is always entered after the start. If ziatest's launcher created this process or its
	 * new daemon, that happened after the start, too. */
	record->existed = record->at[MAIN_ENTERED];
	if (ziatest_id >= 0 && getpid() != launcher_id && oldest != UNKNOWN)
		/* to the end of its tick, and one more tick to be certain */
		record->existed = MIN(record->existed, boot + oldest + TICK / 2 + TICK);
	record->at[CREATED] = stamp_of(created.child.born, boot);
	record->at[PARENT_CREATED] = stamp_of(created.parent.born, boot);
	strcpy(record->parent, created.parent.name);
	record->parent_cpus = count_cpus(&created.parent);
	record->daemons_wait = creator && do_daemons_wait(creator);
	record->daemon_is_new = creator && creator->daemons_are_new;
	if (created.child.parent == launcher_id) /* The launcher existed before the start. */
		record->at[PARENT_CREATED] = UNKNOWN;
}
