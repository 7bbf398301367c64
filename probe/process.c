/*
 * process.c - what the launcher says about this process, which node this is, when the process was
 * created, and what it runs
 *
 * On the clock: launched_world().
 */
#include "run.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Returns this process's rank and the number of processes, as its launcher gives them in environment
 * variables; both are -1 if it gives no number. The first launcher in this list whose variable is
 * set wins, because it may have been called from a shell that was started by a launcher further
 * down the list. Must be called before MPI_Init, which may set some of these variables itself. */
struct world launched_world(void)
{
	static const struct {
		const char *size, *rank;
	} launchers[] = {
		{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, /* Open MPI's mpirun */
		{"PMI_SIZE", "PMI_RANK"}, /* Hydra, PALS, Slurm with PMI-1 or PMI-2 */
		{"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
		{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
	};

	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
		int size = (int)to_number(getenv(launchers[i].size), INT_MAX);

		if (size >= 0)
			return (struct world){
				.rank = (int)to_number(getenv(launchers[i].rank), INT_MAX),
				.size = size,
			};
	}
	return (struct world){-1, -1};
}

/* Fills in which node this is, and whether ziatest ran on it. The kernel's boot id identifies a
 * node even if containers on different nodes share a host name, or containers on one node have
 * different host names. */
void identify_node(struct record *record)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	const char *launch_node = getenv("OMPI_ZIATEST_NODE");
	char id[64] = "", processor[MPI_MAX_PROCESSOR_NAME] = "";
	struct utsname system;
	int length;

	if (file && fgets(id, sizeof id, file))
		id[strcspn(id, "\n")] = '\0';
	if (file)
		fclose(file);
	uname(&system);
	if (!*id)
		snprintf(id, sizeof id, "%.63s", system.nodename);
	record->node = hash(0xcbf29ce484222325, id); /* the FNV-1a offset basis */
	record->on_launch_node = launch_node && strcmp(launch_node, id) == 0;
	MPI_Get_processor_name(processor, &length);
	snprintf(record->host, sizeof record->host, "%.64s", processor);
	make_printable(record->host);
}

/* Returns the stamp at which a process was created, or UNKNOWN if PATH, its /proc/PID/stat, cannot
 * be read. BOOT is the stamp at which this node booted. Stores the name of the process in NAME,
 * which has room for 16 bytes. */
static int64_t creation_time(const char *path, int64_t boot, char *name)
{
	FILE *file = fopen(path, "r");
	char text[1024], *begin, *end, *field;

	if (!file)
		return UNKNOWN;
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	/* The file holds PID (NAME), then other fields. Field 22 is the creation time, in ticks
	 * since boot. NAME may contain blanks and parentheses. */
	begin = strchr(text, '(');
	field = end = strrchr(text, ')');
	for (int i = 2; field && i < 22; i++)
		field = strchr(field + 1, ' ');
	if (!begin || !field)
		return UNKNOWN;
	*end = '\0';
	snprintf(name, 16, "%s", begin + 1);
	make_printable(name);
	return boot + strtoll(field, NULL, 10) * TICK;
}

/* Returns whether PROCESS is the name of mpirun or of one of its daemons. */
static int is_mpirun(const char *process)
{
	char word[20];

	/* Debian installs it as mpirun.openmpi. */
	snprintf(word, sizeof word, " %.*s ", (int)strcspn(process, "."), process);
	return strstr(" mpirun mpiexec orterun prterun orted prted ", word) != NULL;
}

/* Fills in when this process and its parent were created, and the name of the parent. BOOT is the
 * stamp at which this node booted, according to its own clock when main was entered. RECORD must
 * already show whether ziatest ran on this node. */
void read_creation(struct record *record, int64_t boot)
{
	int64_t ziatest = to_number(getenv("OMPI_ZIATEST_PID"), INT_MAX);
	int64_t local = record->on_launch_node ? ziatest : -1;
	char path[40], name[16];

	snprintf(path, sizeof path, "/proc/%lld/stat", (long long)getppid());
	record->stamp[CREATED] = creation_time("/proc/self/stat", boot, name);
	record->stamp[PARENT_CREATED] = creation_time(path, boot, record->parent);
	record->by_mpirun = is_mpirun(record->parent);
	record->for_launch = ziatest >= 0 && getpid() != local;
	/* ziatest becomes the launcher, which may be the parent. It existed before the start. */
	if (getppid() == local)
		record->stamp[PARENT_CREATED] = UNKNOWN;
}

/* Returns the size of the executable in bytes, or 0 if it is not known. */
int64_t executable_size(void)
{
	struct stat file;

	return stat("/proc/self/exe", &file) == 0 ? file.st_size : 0;
}

/* Stores the first line of MPI's version in TEXT, a buffer of MPI_MAX_LIBRARY_VERSION_STRING
 * bytes. */
void read_mpi_version(char *text)
{
	int length;

	MPI_Get_library_version(text, &length);
	text[strcspn(text, "\n")] = '\0';
	for (char *tab = text; (tab = strchr(tab, '\t'));)
		*tab = ' ';
	make_printable(text);
}
