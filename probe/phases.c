/*
 * phases.c - where the time went: the columns of the reports, and what stands out
 */
#include "run.h"

#include <stdlib.h>

/* The column's value for RANK by the reference clock; NONE if it is not known, or of the exchange
 * on a responder. */
int64_t value(const struct run *run, enum column column, int rank)
{
	const struct stamps *mine = run->stamps + rank, *peers;
	int peer = run->partner[rank];
	int64_t ready = mine->initialised - ahead(run, rank), peer_ready;

	if (column == LAUNCH)
		return mine->entered - ahead(run, rank) - run->start;
	if (column == SETUP)
		return run->facts[rank].setup;
	if (column == INIT)
		return mine->initialised - mine->entered;
	if (column == READY)
		return ready - run->start;
	if (peer < 0)
		return NONE;
	if (column == REPEAT)
		return run->facts[rank].repeat;
	if (column == COMPLETED)
		return mine->replied - run->start;
	peers = run->stamps + peer;
	peer_ready = peers->initialised - ahead(run, peer);
	if (column == EXCHANGE && peer != rank && run->partner[peer] >= 0)
		peer_ready = peers->replied - ahead(run, peer); /* only then does it answer */
	return mine->replied - ahead(run, rank) - (ready > peer_ready ? ready : peer_ready);
}

/* The column over all ranks. */
struct summary summarise(const struct run *run, enum column column)
{
	struct summary summary = {NONE, NONE, NONE, NONE, 0};
	int64_t *values = memory(run->size, sizeof *values);
	int count = 0;

	for (int rank = 0; rank < run->size; rank++) {
		int64_t ns = value(run, column, rank);

		if (ns == NONE)
			continue;
		values[count++] = ns;
		if (ns > summary.max) {
			summary.max = ns;
			summary.slowest = rank;
		}
	}
	if (count > 0) {
		qsort(values, (size_t)count, sizeof *values, compare_ns);
		summary.min = values[0];
		summary.quarter = values[(count - 1) / 4];
		summary.median = values[(count - 1) / 2] / 2 + values[count / 2] / 2;
	}
	free(values);
	return summary;
}

/* The phase whose slowest rank is furthest above the fastest quarter: LAUNCH, SETUP, INIT or
 * WIREUP; *RANK is that rank, *EXCESS by how much. A rank that waits in MPI_Init for a late one
 * does not stand out for its init: it must also be late to leave. An exchange is compared with
 * the repeated one too, as there may be but one pair. */
enum column outstanding(const struct run *run, const struct summary *columns, int *rank,
			int64_t *excess)
{
	struct summary ready = summarise(run, READY), exchange = summarise(run, EXCHANGE);
	int64_t late = value(run, READY, columns[INIT].slowest) - ready.quarter; /* to leave it */
	int64_t repeat = columns[REPEAT].median;
	int64_t excesses[COLUMNS];
	enum column most = LAUNCH;

	for (enum column column = LAUNCH; column <= INIT; column++)
		excesses[column] = columns[column].max - columns[column].quarter;
	if (excesses[INIT] > late)
		excesses[INIT] = late;
	excesses[WIREUP] = exchange.max - (repeat < exchange.quarter ? repeat : exchange.quarter);
	for (enum column column = SETUP; column <= WIREUP; column++)
		if (excesses[column] > excesses[most])
			most = column;
	*rank = most == WIREUP ? exchange.slowest : columns[most].slowest;
	*excess = excesses[most];
	return most;
}
