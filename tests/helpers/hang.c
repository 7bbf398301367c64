/*
 * hang - an MPI program in which some ranks hang
 *
 *	hang FILE HOW...
 *
 * HOW is what rank 0 does, then rank 1, and so on. Before MPI_Init, a rank computes (spin), is
 * stopped (stop), reads a byte of FILE (read), or waits for a lock on FILE that another process
 * holds (lock). After MPI_Init, it waits for a message from its neighbour (recv). With any other
 * word, or none, it hangs only because others do. The status of the program is 7.
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int own_rank(void)
{
	const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};

	for (int i = 0; i < 3; i++)
		if (getenv(names[i]))
			return atoi(getenv(names[i]));
	return -1;
}

__attribute__((noinline)) static void load_input(const char *how, const char *path)
{
	char byte;

	if (strcmp(how, "stop") == 0)
		raise(SIGSTOP);
	if (strcmp(how, "read") == 0 && read(open(path, O_RDONLY), &byte, 1) < 0)
		exit(9);
	if (strcmp(how, "lock") == 0)
		fcntl(open(path, O_RDWR), F_SETLKW, &(struct flock){.l_type = F_WRLCK});
	while (strcmp(how, "spin") == 0)
		;
	__asm__ volatile(""); /* no tail call, so that this function is among the calls */
}

__attribute__((noinline)) static void exchange_halo(int partner)
{
	int number;

	MPI_Recv(&number, 1, MPI_INT, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	int rank = own_rank();
	const char *how = rank + 2 < argc ? argv[rank + 2] : "";

	load_input(how, argv[1]);
	MPI_Init(&argc, &argv);
	if (strcmp(how, "recv") == 0)
		exchange_halo(rank ^ 1);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 7;
}
