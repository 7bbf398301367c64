/*
 * afterwards.c - after the result: what rank 0 asks of all, and how it judges the run
 *
 * It begins at the word of rank 0, which has all stamps then: before that, others may still be
 * on the clock.
 */
#include "run.h"

/* Rank 0's word, on all ranks: whether the result is PRINTED. */
int await_word(int printed)
{
	MPI_Request request;

	MPI_Ibcast(&printed, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
	await(&request);
	return printed;
}

/* Brings the FACTS of all ranks to rank 0, after filling in where this is and, in the first rank
 * of each block, its clock. */
void collect(struct run *run, struct facts *facts)
{
	MPI_Request request;

	identify(facts);
	if (world.rank % run->n == 0)
		facts->clock = compare_clocks(world.rank / run->n, run->size / run->n, run->n);
	if (world.rank == 0)
		run->facts = memory(run->size, sizeof *facts);
	MPI_Igather(facts, sizeof *facts, MPI_BYTE, run->facts, sizeof *facts, MPI_BYTE, 0,
		    MPI_COMM_WORLD, &request);
	await(&request);
	if (world.rank == 0)
		settle_clocks(run);
}

/* On rank 0, which has all facts: says what is wrong with the run, and writes what is asked for,
 * the two files unless NULL. STATUS is 1 if the result could not be printed. Returns the exit
 * status. */
int judge(const struct run *run, int status, int verbose, const char *csv, const char *ranks)
{
	struct summary columns[COLUMNS];

	status |= check_start(run);
	for (enum column column = LAUNCH; (verbose || csv) && column < COLUMNS; column++)
		columns[column] = summarise(run, column);
	if (status == 0) {
		if (verbose)
			print_details(run, columns);
		status = check_places(run);
	}
	check_clocks(run);
	if (csv && write_csv(run, columns, !status, csv) != 0)
		status = 1;
	if (ranks && write_ranks(run, ranks) != 0)
		status = 1;
	return status;
}
