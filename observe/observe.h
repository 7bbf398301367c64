/*
 * observe.h - what each file in observe/ provides to the others, and to preload/
 *
 * Who calls whom, in ziaprobe and in a program with libziaprobe.so:
 *
 *	main()			ziaprobe.c	main()			the program's
 *	  MPI_Init()		mpi.c		  MPI_Init()		libziaprobe.c
 *	    begin_init()	observer.c	    begin_init()	observer.c
 *	    PMPI_Init()		the library's	    MPI_Init()		the library's
 *	    end_init()		observer.c	    end_init()		observer.c
 *	    has_right_world()	observer.c	    has_right_world()	observer.c
 *	    learn_ppn()		observer.c	    learn_ppn()		observer.c
 *	  benchmark()		ziaprobe.c	    benchmark()		ziaprobe.c
 *	    MPI_Send() ...	mpi.c		        ... as in ziaprobe
 *	      note_message()	observer.c	    write_reports()	observer.c
 *	      PMPI_Send() ...	the library's	    end_observation()	observer.c
 *	    MPI_Gather()	mpi.c
 *	      begin_gather()	observer.c
 *	      PMPI_Gather()	the library's
 *	      end_gather()	observer.c
 *	  MPI_Finalize()	mpi.c
 *	    write_reports()	observer.c
 *	    PMPI_Finalize()	the library's
 *
 * The files are listed in the order of their calls: each file calls only files below it. The header
 * of each file says what it does on the clock.
 *
 * A stamp is the time of the realtime clock, in whole microseconds since 1970 (UTC). All other
 * times are in microseconds, too, unless a name or a comment says otherwise.
 */
#ifndef OBSERVE_H
#define OBSERVE_H

#define _GNU_SOURCE /* clock_gettime, memmem, sigaction, RTLD_NEXT */

#include "../explain/record.h"

#include <time.h>

typedef void function(void); /* of any type */

#define EXPORTED __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0) /* an address in the function that called this one */

/* What a rank is doing, and the text that -t and --where print after "rank 5 on n3 has". In the
 * text, %lld is the time in ms, and %d is the other rank. The roll call (tools/ziatest/rollcall.py)
 * reads these texts. The states are in the order of a launch: in MPI_Init, in the exchange, and
 * after it. say_where() relies on this order. Rank 0 is UNCHECKED from MPI_Gather's return until
 * its checks are done. */
#define STATES(STATE)                                                                              \
	STATE(IN_MPI_INIT, "spent %lld ms in MPI_Init")                                            \
	STATE(IN_FENCE, "waited %lld ms in a fence of MPI_Init")                                   \
	STATE(IN_SEND, "waited %lld ms in MPI_Send, to rank %d")                                   \
	STATE(IN_RECV, "waited %lld ms in MPI_Recv, from rank %d")                                 \
	STATE(IN_SENDRECV, "waited %lld ms in MPI_Sendrecv, with rank %d")                         \
	STATE(WAITS_FOR_OTHERS, "waited %lld ms for other ranks, after its exchange")              \
	STATE(UNCHECKED, "waited %lld ms for other ranks, after its exchange")                     \
	STATE(WRITING, "spent %lld ms writing the result")
#define STATE_NAME(name, text) name,
enum state { STATES(STATE_NAME) };

/* ---- observer.c: the events of a launch, in this order, as mpi.c and libziaprobe.c report
 * them ---- */

void note_libraries_loaded(void);
void begin_init(int *argc, char **argv, void *address);
void end_init(void);
bool has_right_world(bool *prints);
bool learn_ppn(char **argv);
void note_message(enum state state, int peer);
void begin_gather(void);
bool end_gather(int64_t replied, const int64_t *stamps);
bool write_reports(void);
void end_observation(void);

/* ---- options.c: the arguments of main ---- */

/* When a rank reports what it is doing, in seconds after the start: what the user typed after -t
 * and --where, or NULL */
struct moments {
	const char *timeout, *where;
};
void read_arguments(int *argc, char **argv, struct run *run, struct moments *moments);

/* ---- ppn.c: N, if it is not given ---- */

int find_ppn(int rank, int size);

/* ---- match.c: whether MPI_COMM_WORLD is that of the launch ---- */

struct world;
bool matches_launcher(struct world launched, int64_t boot, bool *prints);

/* ---- gather.c: the comparison of clocks, and the second gather ---- */

void sleep_until_released(void);
void gather_records(struct record *records, int n, struct estimate raw);

/* ---- alarm.c: when a rank reports its state: for --timeout and --where ---- */

enum alarm {
	TIMEOUT,
	WHERE,
};
void arm(enum alarm alarm, const char *seconds);
void disarm(enum alarm alarm);
void stop_if_timed_out(void);

/* ---- say.c: prints what this rank is doing ---- */

struct doing {
	enum state state;
	int rank; /* the rank that it waits for, or -1 */
	int64_t since; /* a stamp */
	const struct reading *work; /* the reading at that stamp, in MPI_Init; otherwise NULL */
};
void note_nodes(int count);
void note_time(int64_t us);
void say(struct doing doing, const char *severity, const char *moment, const char *seconds);

/* ---- claim.c: which process prints a message that many could print ---- */

bool claim(const char *kind, int state, uint64_t detail);
void close_claim(void);
void sleep_second(void);

/* ---- state.c: what this rank is doing ---- */

void note_state(enum state state, int rank, int64_t since);
struct doing find_doing(void);

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

/* ---- world.c: the launcher's variables ---- */

/* A process's rank, and the number of ranks; -1 if not known. */
struct world {
	int rank, size;
};
extern struct world world; /* until MPI_Init returns, these are the launcher's values */
struct world launched_world(void);
bool is_told(int size);
int size_by_daemon(void);
int launched_nodes(void);

/* ---- ancestry.c: the daemon that created this process, and when ---- */

const char *describe_task(void);
bool is_task(const char *task);
bool is_of_other_launch(const char *task);
const struct launcher *nearest_launcher(void);
bool was_created_by_daemon(int64_t since, int64_t boot);
void read_creation(struct record *record, int64_t boot);

/* ---- launchers.c: the launchers that Ziatest knows ---- */

/* What launched_nodes() returns if no variable has the number of nodes */
enum nodes {
	NOBODY_TOLD, /* the launcher tells no rank */
	NOT_TOLD = -1, /* it tells the ranks, but has not told this one */
	ON_THE_WIRE = -2, /* it tells the MPI library on PMI's wire */
	IN_PMIX = -3, /* the MPI library's PMIx knows it */
};

/* A launcher: the commands that users type, the daemons that start ranks, and the variables that
 * the launcher sets. Each list of names ends with a NULL. */
struct launcher {
	const char *commands[8];
	const char *daemons[8]; /* as in /proc/PID/stat: at most 15 characters */
	bool daemons_wait; /* whether they wait for each other before they start any rank */
	const char *daemons_wait_if; /* a variable that is set if they wait, or NULL */
	bool daemons_are_new; /* whether each launch has its own, created after its start */
	const char *rank, *size; /* the variables that hold the rank and the number of ranks */
	const char *local_rank[4]; /* those that hold the rank within the node */
	const char *launch[4]; /* those that identify the launch */
	const char *nodes; /* the one that holds the number of nodes, or NULL */
	enum nodes nodes_otherwise; /* used if that variable is not set, or does not exist */
};

/* If no daemon can be seen, the first launcher in this order that has set its variables is used. */
enum { MPIRUN, HYDRA, FLUX, JSM, SLURM, LAUNCHERS };
extern const struct launcher launchers[LAUNCHERS];
const struct launcher *launcher_of_command(const char *name);
const struct launcher *launcher_of_daemon(const char *name);

/* ---- node.c: the node, the CPUs, the executable and the MPI library of this process ---- */

void identify_node(struct record *record);
const char *program_name(void);
int64_t program_size(void);
const char *mpi_version(void);

/* ---- dlsym.c: our dlsym, which finds our functions; provides nothing ---- */

/* ---- pmi.c: the functions that MPI libraries call to enter a fence ---- */

int pmix_nodes(void);

/* ---- wire.c: the fences of a PMI client that is built into the MPI library ---- */

void forget_wire(void);
int wire_nodes(void);

/* ---- library.c: the library function that each of our functions replaces (library.h) ---- */

bool is_own(const void *address);
function *next_function(const char *name);
void *find_in_file(const char *file, const char *name);
function *find_anywhere(const char *name);

/* ---- fence.c: when this rank waits for the others in MPI_Init ---- */

/* Where a rank is in MPI_Init. */
struct position {
	int64_t since; /* the stamp of its latest mark; 0 if that is MAIN_ENTERED */
	const struct reading *work; /* the reading at that mark */
	bool waits; /* in the fence that it has entered */
};
struct position find_position(void);
const char *fence_interface(void);
void leave_mpi_init(void);
void store_fences(struct record *record);
int enter_fence(const char *interface, bool of_all);
void end_fence(int i);
void cancel_fence(int i);
int begin_call(const char *interface, bool of_all);
int end_call(int fence, int result);

/* ---- readings.c: the clocks, and how this process spent its time ---- */

extern struct record this_rank; /* what it has noted so far */
int64_t now(void);
struct estimate read_offset(clockid_t clock);
bool watch_thread(void);
void unwatch_thread(void);
struct reading read_work(void);
void note_work(enum mark mark);

/* ---- text.c: numbers, printable text, hash ---- */

int64_t to_number(const char *text, int64_t max);
int64_t to_ms(const char *text);
void make_printable(char *text);
uint64_t hash(const void *data, size_t size);

#endif
