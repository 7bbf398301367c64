/*
 * node.c - where this process runs, and what it consists of: its executable and its MPI library
 *
 * Off the clock, except that libziaprobe.so may call program_name() and mpi_version() on it.
 */
#include "observe.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <sys/stat.h>

/* Fills in which node this is, on which of its CPUs this thread may run, and whether ziatest ran on
 * it. The kernel's boot id identifies a node even if containers on different nodes share a host
 * name, or containers on one node have different host names. */
void identify_node(struct record *record)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	const char *launch_node = getenv("OMPI_ZIATEST_NODE");
	char id[HOST_NAME_MAX + 1] = "", processor[MPI_MAX_PROCESSOR_NAME] = "";
	cpu_set_t cpus[8] = {0}; /* 8192 CPUs, the most that Linux supports */
	int length;

	if (!file || !fgets(id, sizeof id, file))
		gethostname(id, sizeof id);
	if (file)
		fclose(file);
	id[strcspn(id, "\n")] = '\0';
	record->node = hash(id, strlen(id));
	if (sched_getaffinity(0, sizeof cpus, cpus) == 0)
		record->cpu_count = CPU_COUNT_S(sizeof cpus, cpus);
	record->cpus = hash(cpus, sizeof cpus);
	record->on_launch_node = launch_node && strcmp(launch_node, id) == 0;
	PMPI_Get_processor_name(processor, &length);
	snprintf(record->host, sizeof record->host, "%.64s", processor);
	make_printable(record->host);
}

/* Returns the name of the executable, without the directory, in a static buffer. It is empty if
 * /proc cannot be read. */
const char *program_name(void)
{
	static char path[PATH_MAX] = "/";

	if (readlink("/proc/self/exe", path, sizeof path - 1) > 0)
		make_printable(path);
	return strrchr(path, '/') + 1;
}

/* Returns the size of the executable in bytes, or 0 if /proc cannot be read. */
int64_t program_size(void)
{
	struct stat file;

	return stat("/proc/self/exe", &file) == 0 ? file.st_size : 0;
}

/* Returns the first line of MPI's version, in a static buffer. */
const char *mpi_version(void)
{
	static char text[8192]; /* MPICH's maximum; Open MPI's is smaller */
	int length;

	PMPI_Get_library_version(text, &length);
	text[strcspn(text, "\n")] = '\0';
	make_printable(text);
	return text;
}
