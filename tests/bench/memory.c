/* Preloaded into an MPI program of one process: prints at MPI_Finalize what it has cost.
 *
 *	commit charge (KiB)  resident (KiB)  page faults  bytes read  bytes from disk
 *
 * Bytes read are those of read(); those from disk have what is paged in, and the kernel's
 * reading ahead. The commit charge is the size of the mappings that the kernel accounts ("ac").
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

int MPI_Finalize(void)
{
	FILE *maps = fopen("/proc/self/smaps", "r"), *io = fopen("/proc/self/io", "r");
	long size = 0, resident = 0, commit = 0, rss = 0;
	long long bytes = 0, disk = 0;
	struct rusage usage;
	char line[4096];

	getrusage(RUSAGE_SELF, &usage);
	while (io && fgets(line, sizeof line, io)) {
		sscanf(line, "rchar: %lld", &bytes);
		sscanf(line, "read_bytes: %lld", &disk);
	}
	while (maps && fgets(line, sizeof line, maps)) {
		sscanf(line, "Size: %ld", &size);
		if (sscanf(line, "Rss: %ld", &resident) == 1)
			rss += resident;
		if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " ac"))
			commit += size;
	}
	printf("%ld %ld %ld %lld %lld\n", commit, rss, usage.ru_minflt + usage.ru_majflt, bytes,
	       disk);
	fclose(maps);
	fclose(io);
	return PMPI_Finalize();
}
