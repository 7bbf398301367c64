/*
 * phases.c - where the time of every rank went: the columns of the reports (off the clock)
 */
#include "run.h"

/* MPI_Init's own work on RANK, from STEP's fence `after` to its fence `before`, less the time in
 * fences between them. NONE where no fence is seen. */
static int64_t own_work(const struct run *run, const struct step *step, int rank)
{
	const struct facts *facts = run->facts + rank;
	int64_t at = run->stamps[rank].entered, end = run->stamps[rank].initialised, work = 0;

	if (facts->fence_count == 0)
		return NONE;
	if (step->after > 0)
		at = facts->fences[step->after - 1].left;
	if (step->before > 0)
		end = facts->fences[step->before - 1].entered;
	for (int i = step->after; i < (step->before ? step->before - 1 : facts->fence_count); i++) {
		if (facts->fences[i].entered > at)
			work += facts->fences[i].entered - at;
		if (facts->fences[i].left > at)
			at = facts->fences[i].left;
	}
	return end > at ? work + end - at : work;
}

/* When RANK was ready, by its own clock, for the exchange that ASKER originates: the first block,
 * which answers the last of an odd number, has an exchange of its own first. */
int64_t ready(const struct run *run, int rank, int asker)
{
	if (rank != asker && run->partner[rank] >= 0)
		return run->stamps[rank].replied;
	return run->stamps[rank].initialised;
}

static int64_t latest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* What STEP, a phase or a part of setup, takes on RANK, by the reference clock; COMPLETED as
 * measured. NONE if that is not known, and of the exchange on a responder. */
int64_t duration(const struct run *run, const struct step *step, int rank)
{
	const struct stamps *mine = run->stamps + rank;
	const struct facts *facts = run->facts + rank;
	int64_t start = run->start + ahead(run, rank); /* by RANK's clock, as all here */
	int64_t created = facts->created, parent = facts->parent_created, other;
	int peer = run->partner[rank];

	/* The kernel counts in ticks: a process was not created before the start, nor after main,
	 * nor after its child. A parent from before the start was not created for this run. */
	if (created != NONE)
		created = latest(created, start);
	if (created > mine->entered)
		created = mine->entered;
	if (parent > created)
		parent = created;
	if (parent < start)
		parent = NONE;
	switch (step->phase) {
	case DAEMON:
		return parent == NONE ? NONE : parent - start;
	case SPAWN:
		return created == NONE ? NONE : created - latest(parent, start);
	case LOAD:
		return mine->entered - (created == NONE ? start : created);
	case SETUP:
		return own_work(run, step, rank);
	case INIT:
		return mine->initialised - mine->entered;
	case REPEAT:
		return facts->repeat;
	case COMPLETED:
		return peer < 0 ? NONE : mine->replied - run->start;
	case WIREUP:
		if (peer < 0)
			return NONE;
		other = ready(run, peer, rank) - ahead(run, peer) + ahead(run, rank);
		return mine->replied - latest(ready(run, rank, rank), other);
	default: /* of the path, not of a rank */
		return NONE;
	}
}

/* What STEP takes, over all ranks. */
struct summary summarise(const struct run *run, const struct step *step)
{
	struct summary summary = {0, NONE, NONE, NONE, NONE, 0};
	int64_t *values = allocate(run->size, sizeof *values);

	for (int rank = 0; rank < run->size; rank++) {
		int64_t ns = duration(run, step, rank);

		if (ns != NONE)
			values[summary.count++] = ns;
		if (ns > summary.max) {
			summary.max = ns;
			summary.slowest = rank;
		}
	}
	if (summary.count > 0) {
		int middle = (summary.count - 1) / 2, next = summary.count / 2;

		summary.min = select_ns(values, summary.count, 0);
		summary.quarter = select_ns(values, summary.count, (summary.count - 1) / 4);
		summary.median = select_ns(values, summary.count, middle);
		summary.median += (select_ns(values, summary.count, next) - summary.median) / 2;
	}
	free(values);
	return summary;
}
