/*
 * notes.h - what each file in observe/ provides to the others
 *
 * The sections below are the files, in the best order for reading: first calls.c, which calls the
 * others, then each before those that call it. The header of each lists what it does on the clock.
 */
#ifndef NOTES_H
#define NOTES_H

#include "observe.h"

#include "../explain/record.h"

#include <mpi.h>

/* ---- calls.c: the functions of observe.h, and one that only libziaprobe.c calls ---- */

void observe_loaded(void);

/* The rank of this process, and the number of ranks. Until MPI_Init returns, these are the values
 * that the launcher gives, or -1 if it gives none. */
extern struct world {
	int rank, size;
} world;

/* ---- readings.c: the clocks, and how this process spent its time ---- */

extern struct record mine; /* of this rank */
struct estimate read_offset(clockid_t clock);
bool watch_thread(void);
void unwatch_thread(void);
struct reading read_work(void);
void note_work(enum mark mark);
struct work work_since(enum mark mark);

/* ---- fence.c: when this rank waits for the others in MPI_Init ---- */

#define EXPORTED __attribute__((visibility("default")))

extern const char *fence_interface; /* of the latest fence: "PMIx", "PMI2" or "PMI" */

/* Where a rank is in MPI_Init. */
struct position {
	enum mark mark; /* the latest mark: MAIN_ENTERED, FENCE_ENTERED or FENCE_LEFT */
	int64_t since; /* the stamp of that mark; 0 if it is MAIN_ENTERED */
	bool waits; /* in the fence that it has entered, rather than working */
};
struct position find_position(void);
void read_fences(struct record *record);
void *function_of(const char *file, const char *name);
void find_function(void **function, const char *name, void *caller);

/* ---- process.c: this process's rank, node, creation and program ---- */

struct world launched_world(void);
void make_printable(char *text);
void identify_node(struct record *record);
void read_creation(struct record *record, int64_t boot);
bool is_started_by_launcher(void);
const char *program_name(void);
int64_t program_size(void);
const char *mpi_version(void);

/* ---- timeout.c: what a rank does when the timeout expires ---- */

/* and, of observe.h, observe_state() and stop_if_timed_out() */
void arm_timeout(int64_t start, int seconds);
void disarm_timeout(void);
void note_time(int64_t us);

/* ---- gather.c: the comparison of clocks, and the second gather ---- */

void sleep_until_released(void);
void gather_records(struct record *records, int n, struct estimate raw);

#endif
