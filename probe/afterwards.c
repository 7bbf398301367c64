/*
 * afterwards.c - after the result: what rank 0 asks of all, and how it judges the run
 *
 * Off the clock. It begins at the word of rank 0, which has all stamps then: before that, others
 * may still be on the clock.
 */
#include "run.h"

/* Waits for rank 0's word, which it gives here. */
void await_release(void)
{
	MPI_Request request;
	char word = 0;

	MPI_Ibcast(&word, 1, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
	await(&request);
}

/* Brings to rank 0 what it wants to know of each rank: where and what this process is, its fences,
 * the REPEAT of its exchange and, of the first rank of each block, its clock. MINE are its stamps,
 * BOOT is when its node booted. */
void collect(struct run *run, const struct stamps *mine, int64_t boot, int64_t repeat)
{
	struct facts facts = {.repeat = repeat};
	MPI_Request request;

	identify(&facts);
	read_creation(&facts, boot);
	read_fences(&facts, mine->initialised);
	if (world.rank % run->n == 0)
		facts.clock = compare_clocks(world.rank / run->n, run->size / run->n, run->n);
	wait_for(AFTERWARDS, 0, now());
	if (world.rank == 0)
		run->facts = allocate(run->size, sizeof facts);
	/* Who waits here must not spin, so it waits asleep for a barrier first; MPI_Igather would
	 * connect all ranks to rank 0. */
	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	await(&request);
	MPI_Gather(&facts, sizeof facts, MPI_BYTE, run->facts, sizeof facts, MPI_BYTE, 0,
		   MPI_COMM_WORLD);
	if (world.rank == 0)
		settle_clocks(run);
}

/* On rank 0, which has all facts: says what is wrong with the run, and writes what is asked for,
 * the two files unless NULL; a run that has an error is explained no further. STATUS is 1 if the
 * result could not be printed. Returns the exit status. */
int judge(const struct run *run, int status, int verbose, const char *csv, const char *ranks)
{
	struct path path;

	status |= check_start(run);
	find_path(run, &path);
	if (status == 0) {
		if (verbose)
			print_details(run, &path);
		status = check_places(run);
	}
	check_clocks(run);
	if (csv && write_csv(run, &path, !status, csv) != 0)
		status = 1;
	if (ranks && write_ranks(run, ranks) != 0)
		status = 1;
	return status;
}
