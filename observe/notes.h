/*
 * notes.h - what each file in observe/ provides to the others, and to libziaprobe.c
 *
 * calls.c defines the MPI functions that ziaprobe.c calls, and uses the other files. They are
 * listed in a good order for reading. The header of each lists what it does on the clock.
 *
 * A stamp is the time of the realtime clock, in whole microseconds since 1970 (UTC). All other
 * times are in microseconds, too.
 */
#ifndef NOTES_H
#define NOTES_H

#define _GNU_SOURCE /* clock_gettime, memmem, sigaction, RTLD_NEXT */

#include "../explain/record.h"

#include <mpi.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))

/* ---- calls.c ---- */

/* This process's rank, and the number of ranks; -1 if not known. */
struct world {
	int rank, size;
};

/* Until MPI_Init returns, this is what the launcher has given. */
extern struct world world;

/* Set by libziaprobe.c. A guest must not end its host, the user's program. */
extern bool is_guest;

/* Whether stderr was closed, and is now held by a file that cannot be written. */
extern bool holds_stderr;

void note_libraries_loaded(void);
void note_main_entered(void);

/* ---- readings.c: the clocks, and how this process spent its time ---- */

extern struct record mine; /* of this rank */
int64_t now(void);
struct estimate read_offset(clockid_t clock);
bool watch_thread(void);
void unwatch_thread(void);
void note_work(enum mark mark);
struct work work_since(enum mark mark);

/* ---- process.c: this process's rank, node, creation and program ---- */

int64_t to_number(const char *text, int64_t max);
int64_t to_ms(const char *text);
uint64_t hash(const void *data, size_t size);
struct world launched_world(void);
void make_printable(char *text);
void identify_node(struct record *record);
void read_creation(struct record *record, int64_t boot);
bool is_started_by_launcher(void);
const char *program_name(void);
int64_t program_size(void);
const char *mpi_version(void);

/* ---- fence.c: when this rank waits for the others in MPI_Init ---- */

extern const char *fence_interface; /* of the latest fence: "PMIx", "PMI2" or "PMI" */

/* Where a rank is in MPI_Init. */
struct position {
	enum mark mark; /* the latest mark: MAIN_ENTERED, FENCE_ENTERED or FENCE_LEFT */
	int64_t since; /* the stamp of that mark; 0 if it is MAIN_ENTERED */
	bool waits; /* in the fence that it has entered, rather than working */
};
struct position find_position(void);
void leave_mpi_init(void);
void read_fences(struct record *record);
int enter_fence(const char *interface, bool of_all, bool waits);
void end_fence(int i);
void cancel_fence(int i);

/* ---- wire.c: the fences of a PMI client that is built into the MPI library ---- */

void forget_wire(void);

/* ---- lookup.c: the library's function for each of ours that stands in for it ---- */

/* One of our functions that dlsym finds in the place of a library's. It calls *FOUND. */
struct stand_in {
	const char *name; /* NULL after the last one */
	void (*ours)(void);
	void **found; /* where dlsym stores the library's */
};
#define STAND_IN(name)                                                                             \
	{                                                                                          \
#name, (void (*)(void))looked_up_##name, (void **)&found_##name                    \
	}
extern struct stand_in fence_stand_ins[];
void *next_function(const char *name);
void *function_of(const char *file, const char *name);
void find_function(void **function, const char *name, void *caller);

/* ---- stack.c: where this rank is, in words ---- */

/* Rank 0 is UNCHECKED from MPI_Gather's return until its checks are done. */
enum state {
	IN_MPI_INIT,
	IN_FENCE,
	IN_SEND,
	IN_RECV,
	IN_SENDRECV,
	WAITS_FOR_OTHERS,
	UNCHECKED,
	WRITING,
};

void note_state(enum state state, int rank, int64_t since);
void note_time(int64_t us);
void enter_stack(void *address);
void load_stack(void);
void close_claim(void);
enum state find_state(void);
void print_state(const char *severity, const char *moment, const char *seconds);

/* ---- timeout.c: when it says so: for --timeout and --where ---- */

enum alarm {
	TIMEOUT,
	WHERE,
};
void sleep_second(void);
void arm(enum alarm alarm, const char *seconds);
void disarm(enum alarm alarm);
void stop_if_timed_out(void);

/* ---- gather.c: the comparison of clocks, and the second gather ---- */

void sleep_until_released(void);
void gather_records(struct record *records, int n, struct estimate raw);

#endif
