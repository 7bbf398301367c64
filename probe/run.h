/*
 * run.h - what is known of a run, and what each file of probe/ offers
 *
 * Each file's first lines say whether any of it runs on the clock, between start and reply. Times
 * are in ns. Stamps count from 1970, UTC, by the clock of the node that took them.
 */
#ifndef RUN_H
#define RUN_H

#define _GNU_SOURCE /* getopt_long, sigaction, CLOCK_BOOTTIME, RTLD_NEXT */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h> /* MIN, MAX */

#define NONE INT64_MIN /* a time that is not known, or that a rank has not */

/* What the timed part's MPI_Gather brings to rank 0 */
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

/* A stay in the process manager's fence, where a rank waits for the others in MPI_Init. */
struct fence {
	int64_t entered;
	int64_t left; /* INT64_MAX: not yet */
};
enum { FENCES = 8 }; /* of a rank; later ones are not kept */

/* What rank 0 wants to know besides; the second gather, off the clock, brings it. 10^6 ranks are
 * meant to fit into 320 MB. */
struct facts {
	struct clock clock; /* of a block's first rank, less its parent's in the tree; then, on rank
			     * 0, of each rank less the reference: the clock that stamped the start,
			     * or where that is not known the median */
	int64_t created; /* this process */
	int64_t parent_created; /* the process that created it; NONE if not known */
	struct fence fences[FENCES]; /* in the order in which it entered them */
	int64_t repeat; /* the round trip of the repeated exchange; NONE without one */
	uint64_t kernel, name; /* hashes of the boot id and the processor name; 0: unknown */
	char host[61]; /* the processor name, cut */
	unsigned char fence_count; /* fences entered before MPI_Init returned, up to FENCES */
	unsigned char on_start_node; /* whether ziatest stamped the start on this node */
	unsigned char synchronised; /* whether the kernel says so of its clock */
	char parent[16]; /* the name of the parent, as the kernel cuts it */
};

/* A run, as rank 0 knows it. */
struct run {
	int64_t start;
	int size, n; /* ranks, processes per node; size / n blocks */
	struct stamps *stamps; /* of the ranks */
	int *partner; /* of the ranks: whom each originates towards; -1: it only answers */
	int64_t time; /* the result */
	int slowest; /* its rank */
	/* From the second gather; NULL and 0 before it. */
	struct facts *facts; /* of the ranks */
	int start_clock_known; /* whether the clock that stamped the start is known */
	int64_t slack; /* if not, what the furthest clock may be ahead of the median; else 0 */
	struct clock skew; /* the clock furthest from the median, less the median */
	int worst_block; /* whose clock that is */
};

/* What time goes into. The rows of -v, and the columns of --csv and --ranks, are some of these. The
 * first three come in ticks; up to CLOCK_AHEAD, and INIT, they are steps of the path. The order
 * counts. */
enum phase {
	DAEMON, /* the start ... the parent created */
	SPAWN, /* ... this process created */
	LOAD, /* ... main entered */
	SETUP, /* MPI_Init's own work */
	FENCE_WAIT, /* in fences */
	WIREUP, /* both partners ready ... reply received */
	CLOCK_AHEAD, /* what the slowest rank's clock is ahead of the reference */
	INIT, /* main entered ... MPI_Init returned */
	REPEAT, /* the repeated exchange */
	COMPLETED, /* the start ... reply received, as measured */
	PHASES
};

/* A step of the critical path; or one to be summarised, without the rank and the length. */
struct step {
	enum phase phase;
	int rank; /* whose it is; of FENCE_WAIT the last one in */
	int64_t us; /* how long, in microseconds; only CLOCK_AHEAD may be negative */
	int after, before; /* of SETUP: the fences between which it lies, counted from 1; after 0 is
			    * after main, before 0 is before MPI_Init's end */
};
enum { STEPS = 2 * FENCES + 7 }; /* with one more setup than fences, two wireups, clock, 3 others */

/* How a rank began, in ns after the start by the reference clock; NONE if not known. */
struct beginning {
	int64_t parent, created, entered; /* its parent and process created, main entered */
};

/* The critical path: step[first] ... step[STEPS - 1], in the order of time. */
struct path {
	int first;
	int64_t us; /* the time */
	int64_t at; /* us after the start, how far back it has come */
	struct step step[STEPS];
};

/* What a step took over all ranks; NONE throughout if none has a value. */
struct summary {
	int count; /* of the ranks that have one */
	int64_t min, quarter, median, max; /* quarter: the lower quartile */
	int slowest; /* the first rank that has max */
};

/* This process. Until MPI_Init returns its rank is -1, or with a timeout what the launcher says. */
extern struct world {
	int rank, size;
} world;

/* What this rank waits for: set before each call that may wait, read when time runs out. Where
 * fences are seen the handler turns INITIALISED into OWN_PART or OTHERS. */
enum wait { INITIALISED, OWN_PART, OTHERS, REPLY, MESSAGE, REPORT, AFTERWARDS, CLOCK };
extern volatile struct waiting {
	enum wait what;
	int from; /* the rank, of REPLY, MESSAGE and CLOCK */
	int64_t since;
} waiting;

/* The files, and what each offers. Calls go down this list, never up. */

/* afterwards.c: after the result, what rank 0 asks of all, and how it judges the run */
void await_release(void);
void collect(struct run *run, const struct stamps *mine, int64_t boot, int64_t repeat);
int judge(const struct run *run, int status, int verbose, const char *csv, const char *ranks);

/* report.c: -v, --csv, --ranks */
void print_details(const struct run *run, const struct path *path);
int write_csv(const struct run *run, const struct path *path, int valid, const char *name);
int write_ranks(const struct run *run, const char *name);

/* path.c: the critical path, and what stands out on it */
void find_path(const struct run *run, struct path *path);
const struct step *find_outlier(const struct run *run, const struct path *path, int64_t *excess,
				int *others);

/* phases.c: where the time of every rank went */
struct beginning find_beginning(const struct run *run, int rank);
int64_t ready(const struct run *run, int rank, int asker);
int64_t duration(const struct run *run, const struct step *step, int rank);
struct summary summarise(const struct run *run, const struct step *step);

/* places.c: which node this is, and whether the blocks are where they belong */
void identify(struct facts *facts);
int check_places(const struct run *run);

/* process.c: when this process and its parent were created */
void read_creation(struct facts *facts, int64_t boot);

/* clocks.c: what the clocks differ by, and whose is right */
struct clock compare_clocks(int block, int blocks, int n);
void settle_clocks(struct run *run);
int64_t ahead(const struct run *run, int rank);
int64_t corrected_time(const struct run *run);
int start_holds(const struct run *run);
int check_start(const struct run *run);
void check_clocks(const struct run *run);

/* timeout.c: when time runs out, who waits for what */
void arm_timeout(int64_t start, int seconds);
void obey_timeout(void);

/* fence.c: when this rank waits for the others in MPI_Init */
const char *fence_library(void);
int fences_show(void);
int in_fence(int64_t *since);
void read_fences(struct facts *facts, int64_t until);

/* launcher.c: what the launcher says of this process */
int launched_rank(void);
int mismatched(void);

/* run.c: the ground floor */
int64_t now(void);
int64_t uptime(void);
void say(const char *kind, const char *format, ...);
void *allocate(int count, size_t size);
int64_t select_ns(int64_t *values, int count, int k);
void await(MPI_Request *request);
void wait_for(enum wait what, int from, int64_t since);

#endif
