/*
 * phases.c - where the time of every rank went: the columns of the reports (off the clock)
 */
#include "run.h"

/* MPI_Init's own work on RANK, from STEP's fence `after` to its fence `before`, less the time in
 * fences between them. NONE where no fence is seen. Fences may overlap (non-blocking ones): COVERED
 * is the end of what they cover so far. */
static int64_t own_work(const struct run *run, const struct step *step, int rank)
{
	const struct facts *facts = run->facts + rank;
	int64_t covered = run->stamps[rank].entered, end = run->stamps[rank].initialised, work = 0;

	if (facts->fence_count == 0)
		return NONE;
	if (step->after > 0)
		covered = facts->fences[step->after - 1].left;
	if (step->before > 0)
		end = facts->fences[step->before - 1].entered;
	for (int i = step->after; i < (step->before ? step->before - 1 : facts->fence_count); i++) {
		if (facts->fences[i].entered > covered)
			work += facts->fences[i].entered - covered;
		if (facts->fences[i].left > covered)
			covered = facts->fences[i].left;
	}
	return end > covered ? work + end - covered : work;
}

/* When RANK was ready, by its own clock, for ASKER's message. A responder that has a partner of its
 * own gets its own reply first. */
int64_t ready(const struct run *run, int rank, int asker)
{
	if (rank != asker && run->partner[rank] >= 0)
		return run->stamps[rank].replied;
	return run->stamps[rank].initialised;
}

/* How RANK began. The kernel counts in ticks, and clocks have bounds: main was not entered before
 * the start, nor a process created before the start, after main or after its child. A parent from
 * before the start was not created for this run. */
struct beginning find_beginning(const struct run *run, int rank)
{
	const struct facts *facts = run->facts + rank;
	int64_t start = run->start + ahead(run, rank); /* by RANK's clock */
	struct beginning own = {NONE, NONE, MAX(run->stamps[rank].entered - start, 0)};

	if (facts->created == NONE)
		return own;
	own.created = MIN(MAX(facts->created - start, 0), own.entered);
	if (facts->parent_created >= start)
		own.parent = MIN(facts->parent_created - start, own.created);
	return own;
}

/* What STEP, a phase or a part of setup, takes on RANK, by the reference clock; COMPLETED as
 * measured. NONE if that is not known, and of the exchange on a responder. */
int64_t duration(const struct run *run, const struct step *step, int rank)
{
	const struct stamps *mine = run->stamps + rank;
	struct beginning own = find_beginning(run, rank);
	int64_t other;
	int peer = run->partner[rank];

	switch (step->phase) {
	case DAEMON:
		return own.parent;
	case SPAWN:
		return own.created == NONE ? NONE : own.created - MAX(own.parent, 0);
	case LOAD:
		return own.entered - MAX(own.created, 0);
	case SETUP:
		return own_work(run, step, rank);
	case INIT:
		return mine->initialised - mine->entered;
	case REPEAT:
		return run->facts[rank].repeat;
	case COMPLETED:
		return peer < 0 ? NONE : mine->replied - run->start;
	case WIREUP:
		if (peer < 0)
			return NONE;
		other = ready(run, peer, rank) - ahead(run, peer) + ahead(run, rank);
		return mine->replied - MAX(ready(run, rank, rank), other);
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
		summary.min = select_ns(values, summary.count, 0);
		summary.quarter = select_ns(values, summary.count, (summary.count - 1) / 4);
		summary.median = select_ns(values, summary.count, (summary.count - 1) / 2);
	}
	free(values);
	return summary;
}
