/*
 * run.h - the words and the data of ziaprobe, and what each file in observe/ and explain/ provides
 *
 * The words:
 *
 *	stamp		a moment in us since 1970 (UTC), by the clock of the node that took it
 *	mark		a moment in the life of a rank, in us after the start, by the reference
 *			clock
 *	timeline	the marks of one rank, in order
 *	step		the part of a timeline that ends at a mark, without the wait before it
 *	path		the critical path: the steps, across ranks, that determined the result
 *	block		N consecutive ranks, which should be one node; blocks count from 0
 *	reference clock	the launch node's clock if a rank runs there, otherwise the median of the
 *			blocks' clocks
 *	jump		a change that somebody made to a node's clock, at once or by slewing
 *	estimate	a value with a bound: the true value is at most BOUND away from it
 *
 * The sections below, from run.c on, are the files, in the best order for reading; libziaprobe.c stands
 * beside main(). Each file calls only those above it.
 *
 * All times are whole microseconds.
 */
#ifndef RUN_H
#define RUN_H

#define _GNU_SOURCE /* memmem, sigaction, CLOCK_BOOTTIME, RTLD_NEXT */

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h> /* MIN, MAX */
#include <time.h>

/* A profiler in the user's program must neither count the messages of the measurement nor be called
 * for them while its own MPI_Init is still running. */
#ifdef PRELOAD
#define MPI_Abort PMPI_Abort
#define MPI_Comm_rank PMPI_Comm_rank
#define MPI_Comm_size PMPI_Comm_size
#define MPI_Gather PMPI_Gather
#define MPI_Get_library_version PMPI_Get_library_version
#define MPI_Get_processor_name PMPI_Get_processor_name
#define MPI_Ibarrier PMPI_Ibarrier
#define MPI_Ibcast PMPI_Ibcast
#define MPI_Recv PMPI_Recv
#define MPI_Send PMPI_Send
#define MPI_Sendrecv PMPI_Sendrecv
#define MPI_Test PMPI_Test
#endif

#define UNKNOWN INT64_MIN /* a time that is not known, or that a rank does not have */

enum { FENCES = 8 }; /* the most that count per rank; later ones are ignored */
enum { TICK = 10000 }; /* us; the unit of creation times in /proc/PID/stat: USER_HZ is 100 */

/* The marks of a rank in the order of its timeline. FENCE_ENTERED and FENCE_LEFT are those of fence
 * 0; each later fence adds two (fence_mark). */
enum mark {
	START,
	PARENT_CREATED, /* the daemon that created this process, or the wrapper around it */
	CREATED, /* this process, or that wrapper */
	MAIN_ENTERED,
	FENCE_ENTERED,
	FENCE_LEFT,
	FENCES_END = FENCE_ENTERED + 2 * FENCES,
	INIT_RETURNED = FENCES_END,
	REPLY_RECEIVED, /* by an originator */
	MARKS,
	TIMED_OUT = MARKS, /* for note_work(): when the timeout expires */
	ALL_STEPS = MARKS, /* for summarise(): the rank as a whole */
};

/* Returns the mark of fence K, counted from 0, on SIDE: FENCE_ENTERED or FENCE_LEFT. */
static inline enum mark fence_mark(enum mark side, int k)
{
	return (enum mark)((int)side + 2 * k);
}

struct estimate {
	int64_t value, bound;
};

/* What a process has done: how long its main thread was on a CPU and how long it waited for one,
 * both in us; and its number of major page faults, that is, pages that had to be read from a file.
 * cpu_wait is -1 if the kernel does not record it. Packed, because each rank sends many. */
struct work {
	int64_t cpu : 40, cpu_wait : 40, faults : 24; /* up to 6 days, and 8 million faults */
} __attribute__((packed));

/* The columns of the reports, in the order in which they are printed: constant, name, and where
 * they are printed: for each RANK (the table of -v, and --ranks), for the PATH (summed over it, in
 * --csv), or for BOTH. DAEMON to EXEC, which are measured in ticks, come first, and CPU to FAULTS,
 * of which only the last is not a time, come last. */
/* clang-format off */
#define COLUMN_LIST(column) \
	column(DAEMON,     "daemon",    BOTH) /* until the parent is created */ \
	column(SPAWN,      "spawn",     BOTH) /* until this process is created */ \
	column(EXEC,       "exec",      BOTH) /* until main is entered */ \
	column(SETUP,      "setup",     BOTH) /* not measured yet */ \
	column(INIT,       "init",      BOTH) /* up to a fence, or the end of MPI_Init */ \
	column(FENCE,      "fence",     BOTH) /* until a fence is left */ \
	column(WAIT,       "wait",      RANK) /* for other ranks, between its steps */ \
	column(EXCHANGE,   "exchange",  BOTH) /* until the reply is received */ \
	column(CLOCK,      "clock",     PATH) /* the slowest rank's clock offset */ \
	column(WHOLE_INIT, "mpi_init",  RANK) /* from main until MPI_Init returns */ \
	column(COMPLETED,  "completed", RANK) /* from the start to the reply */ \
	column(CPU,        "cpu",       BOTH) /* on a CPU, in EXEC and INIT */ \
	column(CPU_WAIT,   "cpu_wait",  BOTH) /* ready to run, but waiting for a CPU */ \
	column(BLOCKED,    "blocked",   BOTH) /* neither of the two */ \
	column(FAULTS,     "faults",    BOTH) /* pages that had to be read from a file */
/* clang-format on */

#define CONSTANT(constant, name, where) constant,
enum column { COLUMN_LIST(CONSTANT) COLUMNS };

struct heading {
	const char *name;
	enum where { RANK = 1, PATH, BOTH } where; /* a set of bits */
};

/* What the second gather brings to rank 0 about each rank. */
struct record {
	int64_t at[MARKS]; /* stamps until draw_timelines(), then marks; UNKNOWN if the rank
			    * has none. START is the start that this rank was given. A
			    * fence in which it did not wait has no FENCE_LEFT. */
	int64_t existed; /* a stamp at which this process or its slurmstepd certainly existed */
	struct estimate jump; /* of the clock, from main until the clocks were compared */
	struct estimate clock; /* on a block's first rank: its offset from the parent block's */
	uint64_t node; /* a hash of the kernel's boot id or, without one, of the nodename */
	struct work readings[INIT_RETURNED - MAIN_ENTERED + 1]; /* from MAIN_ENTERED on */
	char host[65]; /* MPI's processor name, truncated to 64 characters */
	char parent[16]; /* the name of that process, truncated by the kernel */
	bool by_mpirun; /* whether the parent is mpirun or one of its daemons */
	bool on_launch_node; /* whether ziatest ran on this node */
};

/* A run, as rank 0 knows it. */
struct run {
	int64_t start; /* a stamp */
	int size, n; /* ranks, processes per node; there are size / n blocks */
	int64_t *replied; /* the stamp of each rank's reply, or UNKNOWN for a responder */
	struct record *records; /* one per rank */
	/* From find_result() in ziaprobe.c */
	int64_t time; /* the result */
	int slowest; /* the rank that determined it */
	/* From resolve_clocks() */
	int launch_clock_known;
	int64_t corrected; /* the time by the reference clock; UNKNOWN if that is the median */
	struct estimate *offsets; /* of each block's clock from the reference clock */
	int reference; /* the block whose clock that is */
	int worst; /* the block whose clock is most clearly off; REFERENCE if it is the only one */
	/* From draw_timelines() */
	int64_t (*values)[COLUMNS]; /* of each rank; UNKNOWN if it has none in that column */
	int fences; /* the number of fences that count */
	int latest[MARKS]; /* for each mark that others wait for, the rank that reached it last, or
			    * -1; for PARENT_CREATED, of the ranks that mpirun started */
};

/* ---- run.c: clocks, numbers, the pattern of the exchange, messages and memory ---- */

/* The rank of this process, and the number of ranks. Until MPI_Init returns, these are the values
 * that the launcher gives, or -1 if it gives none. */
extern struct world {
	int rank, size;
} world;

int64_t now(void);
int64_t read_clock(clockid_t clock);
struct estimate read_offset(clockid_t clock);
int64_t to_number(const char *text, int64_t max);
int responder(int rank, int size, int n);
int compare_times(const void *a, const void *b);
uint64_t hash(uint64_t before, const char *text);
#define print_error(...) fprintf(stderr, "ziaprobe: error: " __VA_ARGS__)
#define print_warning(...) fprintf(stderr, "ziaprobe: warning: " __VA_ARGS__)
void make_printable(char *text);
void *allocate(int count, size_t size);

/* ---- work.c: how this process spent its time: on a CPU, waiting for one, or blocked ---- */

extern struct work own_readings[]; /* of this process, from MAIN_ENTERED on */
void note_work(enum mark mark);
void store_readings(struct record *record);
struct work work_between(const struct work *readings, enum mark from, enum mark to);

/* ---- fence.c: when this rank waits for the others in MPI_Init ---- */

#define EXPORTED __attribute__((visibility("default")))

extern const char *fence_interface; /* of the latest fence: "PMIx", "PMI2" or "PMI" */
int in_fence(int64_t *since, enum mark *from);
void read_fences(struct record *record);
void find_function(void **function, const char *name, void *caller);

/* ---- process.c: this process's rank, node, creation and program ---- */

struct world launched_world(void);
void identify_node(struct record *record);
void read_creation(struct record *record, int64_t boot);
const char *program_name(void);
int64_t program_size(void);
const char *mpi_version(void);

/* ---- timeout.c: what a rank does when the timeout expires ---- */

/* What a rank may be doing when the timeout expires. IN_FENCE is never noted, because the handler
 * detects it. Rank 0 is UNCHECKED from the end of the timed gather until its checks are done. */
enum state { IN_MPI_INIT, IN_FENCE, FOR_REPLY, FOR_MESSAGE, FOR_OTHERS, UNCHECKED, WRITING };

void arm_timeout(int64_t start, int seconds);
void disarm_timeout(void);
void note_state(enum state state, int rank, int64_t since);
void note_time(int64_t us);
void stop_if_timed_out(void);

/* ---- clocks.c: the offsets between the blocks' clocks, and the reference clock ---- */

struct estimate compare_clocks(int block, int blocks, int n);
void resolve_clocks(struct run *run);
struct estimate offset_of(const struct run *run, int rank);
int64_t correction(const struct run *run, int rank);

/* ---- gather.c: what rank 0 needs to know about every rank ---- */

void sleep_until_released(void);
void gather_records(struct run *run, struct record *mine, int64_t boot, struct estimate raw);

/* ---- judge.c: whether the measurement is valid, and which warnings the result needs ---- */

int check_measurement(const struct run *run);
void print_warnings(const struct run *run);

/* ---- timeline.c: the marks of every rank, and the steps between them ---- */

extern const struct heading headings[COLUMNS];

/* A mark of a rank, as a point in time. */
struct point {
	int rank; /* -1 if there is no such point */
	enum mark mark;
	int64_t at; /* us after the start */
};

/* A step of a rank. */
struct step {
	enum column column;
	struct point begin, end; /* BEGIN may be on another rank, which this one waited for */
	enum mark previous; /* the rank's own last mark before END */
	int64_t us; /* its length; UNKNOWN if the rank has no such step */
};

/* A summary of the values of all ranks that have one. */
struct summary {
	int count;
	int64_t min, median, max; /* UNKNOWN if the count is 0 */
	int slowest; /* the first rank that has max */
};

void draw_timelines(struct run *run);
struct point find_awaited(const struct run *run, int rank, enum mark mark);
struct step find_step(const struct run *run, int rank, enum mark mark);
int64_t step_value(const struct run *run, const struct step *step, enum column column);
void add(int64_t *sum, int64_t value);
struct summary summarise(const struct run *run, enum mark mark, enum column column);
const char *format_value(enum column column, int64_t value);

/* ---- path.c: the critical path, and the step that stands out on it ---- */

/* The most steps of a path: one for each mark except START, a second one that ends at
 * REPLY_RECEIVED, and CLOCK */
enum { STEPS = MARKS + 1 };

/* The critical path: step[first] ... step[STEPS - 1], in chronological order. Only the length of
 * CLOCK may be negative. */
struct path {
	int first;
	struct step step[STEPS];
};

/* The step of the critical path that is furthest above its median. */
struct outlier {
	const struct step *step; /* NULL if there is none */
	int64_t excess; /* how far it is above the median */
	int others; /* how many other ranks of its block have at least half of that excess */
	enum column kind; /* what the process mostly did: CPU to BLOCKED; COLUMNS if unknown */
};

void find_path(const struct run *run, struct path *path);
struct outlier find_outlier(const struct run *run, const struct path *path);
int64_t sum_path(const struct run *run, const struct path *path, enum column column);

/* ---- report.c: what -v prints ---- */

void print_report(const struct run *run, const struct path *path, const struct outlier *outlier);

/* ---- files.c: the files that --csv and --ranks write ---- */

int append_row(const struct run *run, const struct path *path, const struct outlier *outlier,
	       const char *name);
int write_ranks(const struct run *run, const char *name);

/* ---- ziaprobe.c; its only callers are main() and, in libziaprobe.so, libziaprobe.c ---- */

void begin(char **argv);
int measure(void);

#endif
