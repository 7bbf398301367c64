/*
 * run.h - what is known of a run, and what each file of probe/ offers
 *
 * Times are in ns. Stamps count from 1970, UTC, by the clock of the node that took them.
 */
#ifndef RUN_H
#define RUN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* What a rank stamps; the timed part's MPI_Gather brings it to rank 0. */
struct stamps {
	int64_t start; /* the start, as this rank was told it */
	int64_t entered; /* main entered */
	int64_t initialised; /* MPI_Init returned */
	int64_t replied; /* the reply received; 0 on a responder */
};

/* A clock less another: the truth is no further than bound from offset. */
struct clock {
	int64_t offset, bound;
};

/* What rank 0 wants to know besides; the second gather, off the clock, brings it. */
struct facts {
	struct clock clock; /* of a block's first rank, less its parent's in the tree */
	int64_t setup; /* main entered until the first fence in MPI_Init, NONE if not seen */
	int64_t repeat; /* the round trip of the repeated exchange; 0 on a responder */
	uint64_t kernel, name; /* hashes of the boot id and the processor name; 0: unknown */
	int64_t stamper; /* whether ziatest stamped the start on this node */
	char host[64]; /* the processor name, cut */
};

/* A run, as rank 0 knows it. */
struct run {
	int64_t start;
	int size, n; /* ranks, processes per node; size / n blocks */
	struct stamps *stamps; /* of the ranks */
	int *partner; /* of the ranks: an originator's responder, -1 on a responder */
	int64_t time; /* the result */
	int slowest; /* its rank */
	/* From the second gather; NULL and 0 before it. */
	struct facts *facts; /* of the ranks */
	struct clock *clocks; /* of the blocks, less the reference: the clock that stamped the
				 start, or where that is not known the median */
	int stamped; /* whether it is known */
	int64_t slack; /* what the furthest clock may be ahead of the reference; 0 if stamped */
	struct clock skew; /* the clock furthest from the median, less the median */
	int skewed; /* its block */
};

/* The columns of the reports, and two more, to judge them by: READY, MPI_Init returned - start, and
 * EXCHANGE, which is WIREUP less the wait for a partner that has an exchange of its own first. */
enum column { LAUNCH, SETUP, INIT, WIREUP, REPEAT, COMPLETED, COLUMNS, READY = COLUMNS, EXCHANGE };
#define NONE INT64_MIN /* the value of a rank that has none */

/* A column over all ranks; NONE throughout if none has a value. */
struct summary {
	int64_t min, quarter, median, max; /* a quarter of the ranks is up to quarter */
	int slowest; /* the first rank that has max */
};

/* This process: its rank, which is the launcher's, or -1, until MPI_Init has returned. */
extern struct world {
	int rank, size;
} world;

/* What this rank waits for: set before each call that may wait, read when time runs out. */
enum wait { INITIALISED, REPLY, MESSAGE, REPORT, AFTERWARDS };
extern volatile struct waiting {
	enum wait what;
	int from; /* the rank, of REPLY and MESSAGE */
	int64_t since;
} waiting;

/* The files, and what each offers. Calls go down this list, never up. */

/* afterwards.c: after the result, what rank 0 asks of all, and how it judges the run */
int await_word(int printed);
void collect(struct run *run, struct facts *facts);
int judge(const struct run *run, int status, int verbose, const char *csv, const char *ranks);

/* report.c: -v, --csv, --ranks */
void print_details(const struct run *run, const struct summary *columns);
int write_csv(const struct run *run, const struct summary *columns, int valid, const char *path);
int write_ranks(const struct run *run, const char *path);

/* phases.c: where the time went */
int64_t value(const struct run *run, enum column column, int rank);
struct summary summarise(const struct run *run, enum column column);
enum column outstanding(const struct run *run, const struct summary *columns, int *rank,
			int64_t *excess);

/* places.c: which node this is, and whether the blocks are where they belong */
void identify(struct facts *facts);
int check_places(const struct run *run);

/* clocks.c: what the clocks differ by, and whose is right */
struct clock compare_clocks(int block, int blocks, int n);
void settle_clocks(struct run *run);
int64_t ahead(const struct run *run, int rank);
int64_t corrected_time(const struct run *run);
int doubtful(const struct run *run);
int check_start(const struct run *run);
void check_clocks(const struct run *run);

/* timeout.c: when time runs out, who waits for what */
void arm_timeout(int64_t start, int seconds);
void obey_timeout(void);

/* fence.c: when this rank first waits for the others in MPI_Init */
extern volatile int64_t fence_entered;

/* launcher.c: what the launcher says of this process */
int launched_rank(void);
int mismatched(void);

/* run.c: the ground floor */
int64_t now(void);
void say(const char *kind, const char *format, ...);
void *memory(int count, size_t size);
int compare_ns(const void *a, const void *b);
void await(MPI_Request *request);

#endif
