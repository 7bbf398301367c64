/*
 * analysis.h - what each file in explain/ provides to the others
 *
 * Read explain.c first: it calls the other files, which are the sections below. Then read those
 * from top to bottom: each uses only the ones above it. All run off the clock, on rank 0.
 */
#ifndef ANALYSIS_H
#define ANALYSIS_H

#include "record.h"

/* From this time on, in us, a result is reported in seconds. */
enum { IN_SECONDS = 10000000 };

/* ---- clocks.c: the offsets of the blocks' clocks, and the reference clock ---- */

void resolve_clocks(struct run *run);
struct estimate offset_of(const struct run *run, int rank);
int64_t clock_excess(const struct run *run, struct estimate off);
int64_t correction(const struct run *run, int rank);
const char *why_not_corrected(const struct run *run);
int compare_times(const void *a, const void *b);

/* ---- judge.c: whether the measurement is valid, and which warnings the result needs ---- */

bool judge_run(const struct run *run);
void print_warnings(const struct run *run);

/* ---- timeline.c: the marks of every rank, and the phases between them ---- */

/* The columns of the reports, in the order in which they are printed. DAEMON to EXEC, which are
 * measured in ticks, come first, and CPU to FAULTS, of which only the last is not a time, last. */
enum column {
	DAEMON, /* until the parent is created */
	SPAWN, /* until this process is created */
	EXEC, /* until main is entered */
	SETUP, /* a program's own work before MPI_Init */
	INIT, /* up to a fence, or the end of MPI_Init */
	FENCE, /* until a fence is left */
	WAIT, /* for other ranks, between its phases */
	EXCHANGE, /* until the reply is received */
	CLOCK, /* the slowest rank's clock offset */
	WHOLE_INIT, /* from main until MPI_Init returns */
	COMPLETED, /* from the start to the reply */
	CPU, /* on a CPU, in EXEC, SETUP and INIT */
	CPU_WAIT, /* ready to run, but waiting for a CPU */
	BLOCKED, /* neither of the two */
	FAULTS, /* pages that had to be read from a file */
	COLUMNS,
};

/* The values of a rank. */
struct values {
	int64_t in[COLUMNS]; /* UNKNOWN if it has none in that column */
};

/* A mark of a rank, as a point in time. */
struct point {
	int rank; /* -1 if there is no such point */
	enum mark mark;
	int64_t at; /* us after the start */
};

/* A phase of a rank. */
struct phase {
	enum column column;
	struct point begin, end; /* BEGIN may be on another rank, which this one waited for */
	int64_t us; /* its length; UNKNOWN if the rank has no such phase */
};

/* A summary of the values of all ranks that have one. */
struct summary {
	int64_t min, median, max; /* UNKNOWN if no rank has one */
	int slowest; /* the first rank that has max */
};

void draw_timelines(struct run *run);
struct point find_awaited(const struct run *run, int rank, enum mark mark);
struct phase find_phase(const struct run *run, int rank, enum mark mark);
int64_t phase_value(const struct run *run, const struct phase *phase, enum column column);
void add(int64_t *sum, int64_t value);
struct summary summarise(const struct run *run, const struct phase *like, enum column column);

/* ---- path.c: the critical path, and the phase that stands out on it ---- */

/* The most phases of a path: one for each mark except START, a second one that ends at
 * REPLY_RECEIVED, and CLOCK */
enum { PHASES = MARKS + 1 };

/* The critical path: phase[first] ... phase[PHASES - 1], in chronological order. Only the length of
 * CLOCK may be negative. */
struct path {
	int first;
	struct phase phase[PHASES];
};

/* The phase of the critical path that is furthest above its median. If the daemons were started one
 * after another, it may instead be the phase of a daemon that came later than its turn. */
struct outlier {
	const struct phase *phase; /* NULL if there is none */
	int64_t excess; /* us above the median or, for such a daemon, later than its turn */
	int others; /* how many other ranks have at least half of that excess in the same phase */
	int nodes; /* how many nodes these ranks and its own are on */
	enum column kind; /* what the process mostly did: CPU to BLOCKED; COLUMNS if unknown */
	int64_t step; /* the mean us between daemons that were started one after another, or 0 */
	int64_t *late_by; /* if STEP is not 0: for each node, how many us later than its turn its
			   * daemon came, or 0 if it was not late; otherwise, NULL */
};

void find_path(const struct run *run, struct path *path);
int count_late(const struct run *run, const struct outlier *outlier, int block);
struct outlier find_outlier(const struct run *run, const struct path *path);
int64_t sum_path(const struct run *run, const struct path *path, enum column column);

/* ---- hostlist.c: the names of an outlier's nodes, as Slurm writes them ---- */

void print_late_nodes(FILE *file, const struct run *run, const struct outlier *outlier);

/* ---- report.c: what -v prints, and the names that files.c uses as well ---- */

extern const char *const column_names[COLUMNS];
int print_report(const struct run *run, const struct path *path, const struct outlier *outlier);

/* ---- files.c: the files that --csv and --ranks write ---- */

bool are_files_ours(const struct run *run, const struct path *path, const struct outlier *outlier);
int append_row(const struct run *run, const struct path *path, const struct outlier *outlier);
int write_ranks(const struct run *run);

#endif
