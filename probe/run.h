/*
 * run.h - the data of a run, and the functions that each file in probe/ provides
 *
 * All times are whole microseconds. A stamp counts from 1970 (UTC), by the clock of the node that
 * took it. A mark counts from the start, by the reference clock: the launch node's clock if a rank
 * runs there, otherwise the median of the blocks' clocks.
 *
 * The header of each file lists its functions that run on the clock, from start to reply.
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
#include <time.h>

#define UNKNOWN INT64_MIN /* a time that is not known, or that a rank does not have */

enum { FENCES = 8 }; /* the most that count per rank; later ones are ignored */
enum { TICK = 10000 }; /* the unit of creation times in /proc/PID/stat: USER_HZ is 100 */

/* The marks of a rank in the order of its timeline. Fence k, counted from 0, has the marks
 * FENCE_ENTERED + 2k and FENCE_LEFT + 2k. */
enum mark {
	START,
	PARENT_CREATED, /* the process that created this one */
	CREATED, /* this process */
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

/* A time or a difference, read from clocks. The true value is within BOUND of OFFSET. */
struct clock {
	int64_t offset, bound;
};

/* What a process has done: how long its main thread was on a CPU and how long it waited for one,
 * both in us; and its number of major page faults, that is, pages that had to be read from a file.
 * cpu_wait is UNKNOWN if the kernel does not record it. */
struct work {
	int64_t cpu, cpu_wait, faults;
};

/* A rank's own steps end when main is entered, when a fence is entered (only the first eight fences
 * count) and when MPI_Init returns. work_index() returns the index of such a step, given the mark
 * in which it ends. */
enum { WORKS = 1 + FENCES + 1 };
static inline int work_index(enum mark mark)
{
	return (mark - MAIN_ENTERED + 1) / 2;
}

#define NOT_COUNTED UINT32_MAX /* in a record's cpu or cpu_wait: not known */

/* The data about each rank that the second gather brings to rank 0. */
struct record {
	int64_t mark[MARKS]; /* stamps, until draw_timelines() turns them into marks;
			      * START is the start that this rank was given */
	int64_t repeat; /* the round trip of the repeated exchange */
	int64_t step; /* how far the node's clock was stepped while the job ran; 0 if that is
		       * within the error of the readings */
	struct clock clock; /* on a block's first rank, the offset from the parent block's clock;
			     * after resolve_clocks(), on every rank, from the reference clock */
	uint64_t node; /* a hash of the kernel's boot id or, without one, of the nodename */
	uint32_t cpu[WORKS], cpu_wait[WORKS]; /* in us, for each of the rank's own steps; at
					       * most 71 minutes; NOT_COUNTED if unknown */
	uint16_t faults[WORKS]; /* at most 65,535 each */
	char host[65]; /* MPI's processor name, truncated to 64 characters */
	char parent[16]; /* the name of the parent process, truncated by the kernel */
	char by_mpirun; /* whether the parent was mpirun or one of its daemons */
	char on_launch_node; /* whether ziatest ran on this node */
};

/* A run, as rank 0 knows it. */
struct run {
	int64_t start; /* a stamp */
	int size, n; /* ranks, processes per node; there are size / n blocks */
	int64_t *replied; /* the stamp of each rank's reply, or UNKNOWN for a responder */
	int *responder; /* the rank that each rank sends to, or -1 for a responder */
	int libraries[2]; /* how many were loaded when main was entered, and after MPI_Init */
	int64_t time; /* the result */
	int slowest; /* the rank that determined it */
	struct record *records; /* one per rank */
	/* From resolve_clocks() */
	int launch_clock_known;
	int median_block; /* whose clock is the median */
	int worst_block; /* whose clock is furthest from it */
	struct clock worst; /* its offset from the median */
	int doubtful_block; /* whose clock is the worst of those off by more than their bound */
	struct clock doubtful; /* its offset from the median; 0 if there is none */
	/* From draw_timelines() */
	int fences; /* the number of fences that count */
	int latest[MARKS]; /* for each mark that others wait for, the rank that reached it last,
			    * or -1; for PARENT_CREATED, only ranks whose parent belongs to
			    * mpirun count */
};

/* The columns of the reports. Their order matters: DAEMON to EXEC are measured in ticks, CPU to
 * FAULTS are adjacent, and DAEMON to FAULTS are the cells of the critical path in --csv. */
enum column {
	DAEMON, /* until the parent is created */
	SPAWN, /* until this process is created */
	EXEC, /* until main is entered */
	INIT, /* until a fence is entered, or MPI_Init returns */
	FENCE, /* until a fence is left */
	EXCHANGE, /* until the reply is received */
	CLOCK, /* on the critical path only: how far the slowest rank's clock is ahead */
	/* What the process did in EXEC and INIT */
	CPU, /* it was on a CPU */
	CPU_WAIT, /* it was ready to run, but waited for a CPU */
	BLOCKED, /* neither of the two */
	FAULTS, /* a count, not a time: pages that had to be read from a file */
	WAIT, /* for other ranks, between this rank's steps */
	WHOLE_INIT, /* from entering main until MPI_Init returns */
	COMPLETED, /* from the start until the reply is received, as measured */
	REPEAT, /* the repeated exchange */
	COLUMNS
};

/* A point on the critical path: a mark of a rank. */
struct point {
	int rank;
	enum mark mark;
	int64_t at; /* us after the start */
};

/* A step of the critical path. */
struct step {
	enum column column;
	struct point end; /* the mark that it ends in */
	int64_t us; /* its length; only that of CLOCK may be negative */
};

/* The most steps that a path can have. Each step leads back to an earlier mark, so at most one ends
 * in each mark, except that none ends in START and up to two end in REPLY_RECEIVED. CLOCK adds one
 * more, which has no mark of its own. */
enum { STEPS = MARKS - 1 + 1 + 1 };

/* The critical path: step[first] ... step[STEPS - 1], in chronological order. */
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

/* A summary of the values of all ranks that have one. */
struct summary {
	int count;
	int64_t min, median, max; /* UNKNOWN if the count is 0 */
	int slowest; /* the first rank that has max */
};

/* This process. Until MPI_Init returns, its rank is -1 or, with -t, the one that the launcher
 * assigned. */
extern struct world {
	int rank, size;
} world;

/* What a rank may be doing when the timeout expires. IN_FENCE is never noted, because the handler
 * detects it. */
enum state {
	IN_MPI_INIT,
	IN_FENCE,
	FOR_REPLY,
	FOR_MESSAGE,
	IN_GATHER,
	FOR_OTHERS,
	FOR_CLOCK,
	WRITING
};

/* The files of probe/ and what each provides. Calls go down this list, never up. */

/* gather.c: what rank 0 needs to know about every rank, once no rank is on the clock any more */
void sleep_until_released(void);
void gather_records(struct run *run, struct record *mine, int64_t boot);

/* judge.c: whether the measurement is valid, and which warnings the result needs */
int check_measurement(const struct run *run);
void print_warnings(const struct run *run);

/* report.c: what -v prints */
void print_report(const struct run *run, const struct path *path);

/* files.c: the files that --csv and --ranks write */
int append_row(const struct run *run, const struct path *path, const char *name);
int write_ranks(const struct run *run, const char *name);

/* path.c: the critical path, and its outlier */
void find_path(const struct run *run, struct path *path);
struct outlier find_outlier(const struct run *run, const struct path *path);

/* timeline.c: the marks of every rank, and the steps between them */
void draw_timelines(struct run *run);
struct point find_awaited(const struct run *run, int rank, enum mark mark);
struct point find_beginning(const struct run *run, int rank, enum mark mark);
enum column step_column(enum mark mark);
int64_t step_length(const struct run *run, int rank, enum mark mark);
int64_t step_value(const struct run *run, int rank, enum mark mark, int64_t length,
		   enum column column);
int64_t column_value(const struct run *run, int rank, enum column column);
struct summary summarise(const struct run *run, enum mark mark, enum column column);
const char *format_value(enum column column, int64_t value);
extern const char *const column_names[COLUMNS];

/* clocks.c: the offsets between the blocks' clocks, and the reference clock */
struct clock compare_clocks(int block, int blocks, int n);
void resolve_clocks(struct run *run);
int64_t clock_offset(const struct run *run, int rank);
int64_t corrected_time(const struct run *run);

/* process.c: which node this is, when this process was created, and what it runs */
void identify_node(struct record *record);
void read_creation(struct record *record, int64_t boot);
int64_t executable_size(void);
int count_libraries(void);
void read_mpi_version(char *text);

/* timeout.c: what a rank does when the timeout expires */
void arm_timeout(int64_t start, int seconds);
void note_state(enum state state, int rank, int64_t since);
void stop_if_timed_out(void);

/* fence.c: when this rank waits for the others in MPI_Init */
const char *fence_library(void);
int in_fence(int64_t *since, enum mark *left);
void read_fences(struct record *record);

/* work.c: what this process did between two marks */
void note_work(enum mark mark);
struct work work_between(enum mark from, enum mark to);
void store_work(struct record *record, enum mark mark, enum mark from, enum mark to);

/* launcher.c: how many processes the launcher started, and which one this is */
int launched_rank(void);
int launched_size(const char *environment, int *rank);

/* run.c: the basics: clocks, numbers, messages and memory */
int64_t now(void);
int64_t read_clock(clockid_t clock);
struct clock read_boot_time(void);
int64_t to_number(const char *text, int64_t max);
int compare_times(const void *a, const void *b);
uint64_t hash(uint64_t before, const char *text);
void report(const char *kind, const char *format, ...);
void make_printable(char *text);
void *allocate(int count, size_t size);
void sleep_until_complete(MPI_Request *request);

#endif
