/*
 * record.h - the input of explain/: a record of each rank, and the run; and the words for both
 *
 * The words:
 *
 *	stamp		a moment in us since 1970 (UTC), by the clock of the node that took it
 *	mark		a moment in the life of a rank, in us after the start, by the reference
 *			clock
 *	timeline	the marks of one rank, in order
 *	phase		the part of a timeline that ends at a mark, without the wait before it
 *	block		N consecutive ranks, which should be one node; numbered from 0
 *	reference clock	the launch node's clock if a rank runs there, otherwise the median of the
 *			blocks' clocks
 *	jump		a change that somebody made to a node's clock, at once or by slewing
 *
 * All times are whole microseconds.
 */
#ifndef RECORD_H
#define RECORD_H

#define _GNU_SOURCE

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h> /* MIN, MAX */
#include <unistd.h>

#define UNKNOWN INT64_MIN /* a time that is not known, or that a rank does not have */

enum { FENCES = 8 }; /* the most that count per rank; later ones are ignored */
enum { TICK = 10000 }; /* us; the unit of creation times in /proc/PID/stat: USER_HZ is 100 */

/* The marks of a rank in the order of its timeline. FENCE_ENTERED and FENCE_LEFT are those of fence
 * 0; each later fence adds two (fence_mark). */
enum mark {
	START,
	PARENT_CREATED, /* the daemon that created this process, or the wrapper around it */
	CREATED, /* this process, or that wrapper */
	LIBRARIES_LOADED, /* those that the user's program is linked with; not of ziaprobe */
	MAIN_ENTERED, /* main of ziaprobe, or the user's program's call of MPI_Init */
	FENCE_ENTERED,
	FENCE_LEFT,
	FENCES_END = FENCE_ENTERED + 2 * FENCES,
	INIT_RETURNED = FENCES_END,
	REPLY_RECEIVED, /* by an originator */
	MARKS,
};

/* Returns the mark of fence K, counted from 0, on SIDE: FENCE_ENTERED or FENCE_LEFT. */
static inline enum mark fence_mark(enum mark side, int k)
{
	return (enum mark)((int)side + 2 * k);
}

struct estimate {
	int64_t value, bound; /* the true value is at most BOUND away */
};

/* What a process has done: how long the thread that calls MPI_Init was on a CPU and waited for one,
 * in us, and the process's major page faults: pages that had to be read from a file. cpu_wait is -1
 * if the kernel does not record it. */
struct work {
	int64_t cpu, cpu_wait, faults;
};

/* The same since the process was created. Packed, because each rank sends many. Larger values
 * wrap around: these are masks. */
#define LONGEST_READING 0x7fffffffff /* us: six days */
#define MOST_READ_FAULTS 0x7fffff /* eight million */
struct reading {
	int64_t cpu : 40, cpu_wait : 40, faults : 24;
} __attribute__((packed));

/* Returns what a process did between two readings. Threads that are in fences at the same time may
 * have taken them in the opposite order, so negative differences become 0. Async-signal-safe. */
static inline struct work work_between(struct reading earlier, struct reading later)
{
	bool known = earlier.cpu_wait >= 0 && later.cpu_wait >= 0;

	return (struct work){MAX(later.cpu - earlier.cpu, 0),
			     known ? MAX(later.cpu_wait - earlier.cpu_wait, 0) : -1,
			     MAX(later.faults - earlier.faults, 0)};
}

enum { READINGS = INIT_RETURNED - LIBRARIES_LOADED + 1 };

/* What each rank has noted. */
struct record {
	int64_t at[MARKS]; /* stamps until draw_timelines(), then marks; UNKNOWN if the rank
			    * has none. START is the start that this rank was given. */
	int64_t existed; /* a stamp at which this process, or its new daemon, certainly existed */
	struct estimate jump; /* of the clock, from main until the clocks were compared */
	struct estimate clock; /* on a block's first rank: its offset from the parent block's */
	uint64_t cpus; /* a hash of the set of CPUs on which this rank may run */
	uint64_t node; /* a hash of the kernel's boot id or, without one, of the nodename */
	int cpu_count; /* of that set; 0 if it is not known */
	int partner; /* the rank that this originator sends its byte to; -1 on a responder */
	struct reading readings[READINGS]; /* from LIBRARIES_LOADED on */
	char host[65]; /* MPI's processor name, truncated to 64 characters */
	char parent[16]; /* the name of the launcher's daemon or, if none is seen, of the parent;
			  * truncated by the kernel */
	int parent_cpus; /* the number of CPUs on which that process may run; 0 if not known */
	bool daemons_wait; /* whether the parent first waited for all other daemons */
	bool daemon_is_new; /* whether the parent is a daemon of this launch alone */
	bool on_launch_node; /* whether ziatest ran on this node */
	bool interrupted; /* by --where, while it worked in MPI_Init */
	bool one_thread; /* whether MPI_Init was called by the thread that loaded the libraries */
};

/* A run. The first part is given; explain/ adds the second. */
struct run {
	int64_t start; /* a stamp */
	int size, n; /* ranks, processes per node; there are size / n blocks */
	int64_t time; /* the result */
	int slowest; /* the rank that determined it */
	struct record *records; /* one per rank */
	bool launch_node_named; /* whether ziatest's name of the launch node has arrived */
	int64_t launch_clock_error; /* the most by which that node's clock is off, or -1 */
	const char *program, *mpi; /* the executable's name, MPI's version */
	int64_t program_bytes;
	const char *fence_interface; /* "PMIx", "PMI2" or "PMI"; NULL if there are no fences */
	int verbose; /* 1 to print the report, 2 to add the table of all ranks */
	bool where; /* whether --where was given */
	const char *csv, *ranks; /* the files to write, or NULL */
	void *(*new_array)(int count, size_t size); /* zeroed; ends the job if memory is short */

	/* From resolve_clocks() */
	bool launch_clock_known;
	int64_t corrected; /* the time by the reference clock; UNKNOWN if that is the median */
	struct estimate *offsets; /* of each block's clock from the reference clock */
	int reference_clock; /* the block whose clock that is */
	int worst_clock; /* the block whose clock is furthest beyond what is tolerated, or comes
			  * closest to it; REFERENCE_CLOCK if there is only one block */
	/* From draw_timelines() */
	struct values *values; /* of each rank, in the columns of the reports */
	int fences; /* the number of fences that count */
	int latest[MARKS]; /* for each mark up to the last fence, the rank that reached it last, or
			    * -1; for PARENT_CREATED, of the ranks whose daemons wait */
};

#define print_error(...) dprintf(STDERR_FILENO, "ziaprobe: error: " __VA_ARGS__)
#define print_warning(...) dprintf(STDERR_FILENO, "ziaprobe: warning: " __VA_ARGS__)

/* explain.c */
bool check_run(struct run *run);
int explain_run(struct run *run);

#endif
