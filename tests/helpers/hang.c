/*
 * hang - an MPI program in which some ranks hang
 *
 *	hang HOW RANK [FILE]
 *
 * HOW is what RANK does: before MPI_Init, it sleeps (sleep), computes (spin), is stopped (stop),
 * reads FILE (read), or waits for a lock on FILE that another process holds (lock). After MPI_Init,
 * it and the next rank wait for messages from each other, while the others are in a barrier (recv).
 * With 'wait', it is rank 0 that reads FILE, after MPI_Init.
 */
#define _GNU_SOURCE
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

static void read_input(const char *path)
{
	char byte;

	if (read(open(path, O_RDONLY), &byte, 1) < 0)
		exit(9);
}

__attribute__((noinline)) static void load_input(const char *how, const char *path)
{
	if (strcmp(how, "sleep") == 0)
		sleep(1000);
	if (strcmp(how, "stop") == 0)
		raise(SIGSTOP);
	if (strcmp(how, "read") == 0)
		read_input(path);
	if (strcmp(how, "lock") == 0)
		fcntl(open(path, O_RDWR), F_SETLKW, &(struct flock){.l_type = F_WRLCK});
	while (strcmp(how, "spin") == 0)
		;
	__asm__ volatile(""); /* no tail call, so that this function is among the calls */
}

__attribute__((noinline)) static void exchange_halo(int partner)
{
	int byte;

	MPI_Recv(&byte, 1, MPI_INT, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	const char *how = argv[1], *path = argc > 3 ? argv[3] : "";
	int one = atoi(argv[2]), rank;

	if (own_rank() == one)
		load_input(how, path);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (strcmp(how, "recv") == 0 && (rank == one || rank == one + 1))
		exchange_halo(rank == one ? one + 1 : one);
	if (strcmp(how, "wait") == 0 && rank == 0)
		read_input(path);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return strcmp(how, "wait") == 0 ? 7 : 0;
}
