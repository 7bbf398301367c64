/*
 * gather.c - what rank 0 needs to know about every rank
 *
 * Off the clock for this rank and, after sleep_until_released(), for all ranks.
 */
#include "../explain/run.h"

#include <poll.h>

/* Waits until REQUEST is complete. Checks once a millisecond and sleeps in between, because a rank
 * that polls all the time would delay others on the same cores. */
static void sleep_until_complete(MPI_Request *request)
{
	int complete = 0;

	while (MPI_Test(request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && !complete)
		poll(NULL, 0, 1);
}

/* Returns once rank 0 has called this function too, which it does when it has all stamps. This is
 * a broadcast because a barrier would send messages to ranks that may still be on the clock. */
void sleep_until_released(void)
{
	MPI_Request request;
	char nothing = 0;

	MPI_Ibcast(&nothing, 1, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
	sleep_until_complete(&request);
}

/* Completes MINE, the record of this rank, and brings the records of all ranks to rank 0. BOOT is
 * the stamp at which this node booted, and RAW the offset of the realtime clock from the raw
 * monotonic clock; both were read when main was entered. */
void gather_records(struct run *run, struct record *mine, int64_t boot, struct estimate raw)
{
	struct estimate later;
	MPI_Request request;

	identify_node(mine);
	read_creation(mine, boot);
	read_fences(mine);
	store_readings(mine);
	if (world.rank % run->n == 0)
		mine->clock = compare_clocks(world.rank / run->n, run->size / run->n, run->n);
	if (world.rank == 0)
		run->records = allocate(run->size, sizeof *mine);
	/* MPI_Igather would connect every rank to rank 0, and MPI_Gather polls while it waits. So
	 * all ranks first wait for each other in a barrier, in which they sleep. */
	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	sleep_until_complete(&request);
	/* All clocks have been compared by now. Nobody can set or slew the raw clock. */
	later = read_offset(CLOCK_MONOTONIC_RAW);
	mine->jump = (struct estimate){later.value - raw.value, later.bound + raw.bound};
	MPI_Gather(mine, sizeof *mine, MPI_BYTE, run->records, sizeof *mine, MPI_BYTE, 0,
		   MPI_COMM_WORLD);
}
