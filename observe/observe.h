/*
 * observe.h - what each file in observe/ provides to the others, and to libziaprobe.c
 *
 * calls.c defines the MPI functions that ziaprobe.c calls, and uses the other files. The files are
 * listed in a good order for reading. The header of each lists what it does on the clock.
 *
 * A stamp is the time of the realtime clock, in whole microseconds since 1970 (UTC). All other
 * times are in microseconds, too.
 */
#ifndef OBSERVE_H
#define OBSERVE_H

#define _GNU_SOURCE /* clock_gettime, memmem, sigaction, RTLD_NEXT */

#include "../explain/record.h"

#include <mpi.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0) /* an address in the function that called this one */

/* ---- calls.c: the MPI functions ---- */

/* This process's rank, and the number of ranks; -1 if not known. */
struct world {
	int rank, size;
};

/* Until MPI_Init returns, these are the launcher's values. */
extern struct world world;

/* Set by libziaprobe.c. A guest must not end its host, the user's program. */
extern bool is_guest;

/* Whether stderr was closed, and is now held by a file that cannot be written. */
extern bool holds_stderr;

void note_libraries_loaded(void);
void note_main_entered(void);
const char *mpi_version(void);

/* ---- options.c: the arguments of main ---- */

void read_arguments(int *argc, char **argv, struct run *run);

/* ---- launcher.c: the launcher's variables, and whether MPI and the launcher match ---- */

/* mpirun and its daemons, and the processes known to start ranks, each between two blanks. A new
 * one also goes into the table of launcher.c, and into job/trace. */
#define MPIRUN " mpirun mpiexec orterun prterun orted prted "
#define DAEMONS MPIRUN "slurmstepd hydra_pmi_proxy flux-shell "

struct world launched_world(void);
bool check_single(struct world launched, int64_t boot);

/* ---- readings.c: the clocks, and how this process spent its time ---- */

extern struct record this_rank; /* what it has noted so far */
int64_t now(void);
struct estimate read_offset(clockid_t clock);
bool watch_thread(void);
void unwatch_thread(void);
struct reading read_work(void);
void note_work(enum mark mark);

/* ---- process.c: /proc: which node this is, when this process was created, what it runs ---- */

void identify_node(struct record *record);
void read_creation(struct record *record, int64_t boot);
bool is_among(const char *name, const char *names);
const char *nearest_daemon(void);
bool is_child_of_daemon(void);
bool was_created_by_daemon(int64_t since, int64_t boot);
const char *program_name(void);
int64_t program_size(void);

/* ---- fence.c: when this rank waits for the others in MPI_Init ---- */

extern const char *fence_interface; /* of the latest fence: "PMIx", "PMI2" or "PMI" */

/* Where a rank is in MPI_Init. */
struct position {
	int64_t since; /* the stamp of its latest mark; 0 if that is MAIN_ENTERED */
	const struct reading *work; /* the reading at that mark */
	bool waits; /* in the fence that it has entered, rather than working */
};
struct position find_position(void);
void leave_mpi_init(void);
void store_fences(struct record *record);
int enter_fence(const char *interface, bool of_all, bool waits);
void end_fence(int i);
void cancel_fence(int i);

/* ---- wire.c: the fences of a PMI client that is built into the MPI library ---- */

void forget_wire(void);

/* ---- lookup.c: the function of a library that each of ours calls ---- */

typedef void function(void); /* of any type */

/* A function that we define in the place of a library's, which it calls. */
struct interposed {
	const char *name;
	function *own;
	function *library; /* NULL until it is found */
};

/* Defines interposed_NAME. Its OWN is our function even if another library's comes first for all
 * others, because a static alias cannot be interposed. */
#define INTERPOSE_ON(name)                                                                         \
	static __typeof__(name) own_##name __attribute__((alias(#name)));                          \
	static struct interposed interposed_##name = {#name, (function *)own_##name, NULL}

function *library_function(struct interposed *function, void *caller);
function *next_function(const char *name);
void *find_in_file(const char *file, const char *name);
void *find_in_libraries(const char *name, void *caller);
function *const *find_reference(const void *address, const char *name);
bool is_own(const void *address);

/* ---- state.c: what this rank is doing, in words, and who prints it ---- */

/* In the order of a launch: in MPI_Init, in the exchange, and after it. describe_state() and
 * say_where() rely on this order. Rank 0 is UNCHECKED from MPI_Gather's return until its checks are
 * done. */
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
enum state find_state(void);
void print_state(enum state state, const char *severity, const char *moment, const char *seconds);
bool claim(const char *kind, int state, uint64_t calls);
void close_claim(void);

/* ---- stack.c: the calls that this rank is in ---- */

/* The address at which a signal came, then return addresses, the innermost first. */
enum { DEPTH = 200 };
struct stack {
	void *address[DEPTH];
	int count;
};

void note_entrance(void *address);
void load_backtrace(void);
bool is_backtrace_loaded(void);
void read_stack(struct stack *stack);
uint64_t hash_stack(const struct stack *stack);
void name_calls(const struct stack *stack, char *text, size_t size);

/* ---- alarm.c: when a rank reports its state: for --timeout and --where ---- */

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

/* ---- text.c: numbers, printable text, hash ---- */

int64_t to_number(const char *text, int64_t max);
int64_t to_ms(const char *text);
void make_printable(char *text);
uint64_t hash(const void *data, size_t size);

#endif
