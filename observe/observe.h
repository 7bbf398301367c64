/*
 * observe.h - what each file in observe/ provides to the others, and to libziaprobe.c
 *
 * Who calls whom, in ziaprobe and in a program with libziaprobe.so:
 *
 *	main()			ziaprobe.c	main()			the program's
 *	  MPI_Init()		mpi.c		  MPI_Init()		libziaprobe.c
 *	    begin_init()	observer.c	    begin_init()	observer.c
 *	    PMPI_Init()		the library's	    MPI_Init()		the library's
 *	    end_init()		observer.c	    end_init()		observer.c
 *	  benchmark()		ziaprobe.c	    benchmark()		ziaprobe.c
 *	    MPI_Send() ...	mpi.c		      MPI_Send() ...	mpi.c
 *	      note_message()	observer.c	        ... as in ziaprobe
 *	      PMPI_Send() ...	the library's	    write_reports()	observer.c
 *	    MPI_Gather()	mpi.c, as above	    end_observation()	observer.c
 *	  MPI_Finalize()	mpi.c, as above
 *
 * The files are listed in a good order for reading. The header of each lists what it does on the
 * clock.
 *
 * A stamp is the time of the realtime clock, in whole microseconds since 1970 (UTC). All other
 * times are in microseconds, too.
 */
#ifndef OBSERVE_H
#define OBSERVE_H

#define _GNU_SOURCE /* clock_gettime, memmem, sigaction, RTLD_NEXT */

#include "../explain/record.h"

#include <time.h>

#define EXPORTED __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0) /* an address in the function that called this one */

/* What a rank is doing. The states are in the order of a launch: in MPI_Init, in the exchange, and
 * after it. say_where() relies on this order. Rank 0 is UNCHECKED from MPI_Gather's return until
 * its checks are done. */
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

/* ---- observer.c: the events of a launch, in this order, as mpi.c and libziaprobe.c report
 * them ---- */

void note_libraries_loaded(void);
void note_main_entered(void);
void begin_init(int *argc, char **argv, void *address);
void end_init(void);
bool has_right_world(bool *prints);
bool learn_ppn(char **argv);
void note_message(enum state state, int peer);
void begin_gather(void);
bool end_gather(int64_t replied, const int64_t *stamps);
bool write_reports(void);
void end_observation(void);
const char *mpi_version(void);

/* ---- options.c: the arguments of main ---- */

void read_arguments(int *argc, char **argv, struct run *run);

/* ---- launcher.c: the launcher's variables ---- */

/* A process's rank, and the number of ranks; -1 if not known. */
struct world {
	int rank, size;
};
extern struct world world; /* until MPI_Init returns, these are the launcher's values */
struct world launched_world(void);
bool is_told(int size);
int size_by_daemon(void);
extern const char *const launch_identifiers[]; /* variables; the last is followed by a NULL */
void describe_variable(const char *name, char *text, size_t size);

/* What may stand for the number of nodes */
enum nodes {
	NOBODY_TOLD, /* the launcher tells no rank */
	NOT_TOLD = -1, /* it tells the ranks, but has not told this one */
	ON_THE_WIRE = -2, /* it tells the MPI library on PMI's wire */
	IN_PMIX = -3, /* the MPI library's PMIx knows it */
};
int launched_nodes(void);

/* ---- nodes.c: N, if it is not given ---- */

int find_ppn(int rank, int size);

/* ---- alone.c: whether MPI_COMM_WORLD is that of the launch ---- */

bool matches_launcher(struct world launched, int64_t boot, bool *prints);

/* ---- readings.c: the clocks, and how this process spent its time ---- */

extern struct record this_rank; /* what it has noted so far */
int64_t now(void);
struct estimate read_offset(clockid_t clock);
bool watch_thread(void);
void unwatch_thread(void);
struct reading read_work(void);
void note_work(enum mark mark);

/* ---- ancestry.c: the daemon that created this process, and when ---- */

/* mpirun and its daemons, and the processes known to start ranks, each between two blanks. A new
 * one also goes into the table of launcher.c and, if people type its name, into libziaprobe.c. */
#define MPIRUN " mpirun mpiexec orterun prterun orted prted "
#define DAEMONS MPIRUN "slurmstepd hydra_pmi_proxy flux-shell "

const char *describe_task(void);
bool is_of_other_launch(const char *task);
bool is_among(const char *name, const char *names);
const char *nearest_daemon(void);
bool is_child_of_daemon(void);
bool was_created_by_daemon(int64_t since, int64_t boot);
void read_creation(struct record *record, int64_t boot);

/* ---- node.c: the node, the CPUs and the executable of this process ---- */

void identify_node(struct record *record);
const char *program_name(void);
int64_t program_size(void);

/* ---- fence.c: when this rank waits for the others in MPI_Init ---- */

extern const char *fence_interface; /* of the latest fence: "PMIx", "PMI2" or "PMI" */

/* Where a rank is in MPI_Init. */
struct position {
	int64_t since; /* the stamp of its latest mark; 0 if that is MAIN_ENTERED */
	const struct reading *work; /* the reading at that mark */
	bool waits; /* in the fence that it has entered */
};
struct position find_position(void);
void leave_mpi_init(void);
void store_fences(struct record *record);
int enter_fence(const char *interface, bool of_all);
void end_fence(int i);
void cancel_fence(int i);
int begin_call(const char *interface, bool of_all);
int end_call(int fence, int result);

/* ---- pmi.c: the functions that MPI libraries call to enter a fence ---- */

int pmix_nodes(void);

/* ---- wire.c: the fences of a PMI client that is built into the MPI library ---- */

void forget_wire(void);
int wire_nodes(void);

/* ---- library.c: the library function that each of our functions calls ---- */

#define HIDDEN __attribute__((visibility("hidden")))

/* A build with AddressSanitizer calls dlsym before AddressSanitizer is ready to check memory. The
 * other attributes keep -finstrument-functions and --coverage from adding code after the call. */
#define BARE                                                                                       \
	__attribute__((no_sanitize_address, no_instrument_function, no_profile_instrument_function))

/* The first version of dlsym in glibc on each architecture. On others, such as POWER, which cannot
 * make tail calls through a pointer, and with other C libraries, dlsym is not intercepted. */
#if defined __GLIBC__ && defined __x86_64__
#define DLSYM_VERSION "GLIBC_2.2.5"
#elif defined __GLIBC__ && defined __aarch64__
#define DLSYM_VERSION "GLIBC_2.17"
#elif defined __GLIBC__ && defined __riscv && __riscv_xlen == 64
#define DLSYM_VERSION "GLIBC_2.27"
#endif

typedef void *dlsym_fn(void *handle, const char *name);
typedef void function(void); /* of any type */

/* A function that we define in the place of a library's, which it calls. */
struct interposed {
	const char *name;
	function *own;
	function *
		fallback; /* what it calls if its caller would reach none; NULL until it is found */
	enum {
		NOT_USED,
		GLOBAL,
		LOCAL
	} scope; /* whether there was a global function at the first use */
};

/* The tables of these functions: one in pmi.c and, in libziaprobe.so only, one in libziaprobe.c.
 * Each ends with a NULL NAME. */
extern struct interposed fence_functions[] HIDDEN, start_functions[] HIDDEN __attribute__((weak));

function *library_function(struct interposed *table, const char *name, void *caller);
function *next_function(const char *name);
void *find_in_file(const char *file, const char *name);
function *find_in_scope(struct interposed *ours, void *caller);
function *find_anywhere(const char *name);
struct interposed *find_interposed(struct interposed *table, const char *name);
function *fallback(struct interposed *ours, function *otherwise);
function *to_function(void *found);
bool is_own(const void *address);
dlsym_fn *library_dlsym(void);

/* ---- dlsym.c: our dlsym, which finds our functions; provides nothing ---- */

/* ---- state.c: what this rank is doing ---- */

struct doing {
	enum state state;
	int rank; /* the rank that it waits for, or -1 */
	int64_t since; /* a stamp */
	const struct reading *work; /* the reading at that stamp, in MPI_Init; otherwise NULL */
};
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

/* ---- claim.c: which process prints a message that many could print ---- */

bool claim(const char *kind, int state, uint64_t calls);
void close_claim(void);

/* ---- say.c: prints what this rank is doing ---- */

void note_nodes(int count);
void note_time(int64_t us);
void say(struct doing doing, const char *severity, const char *moment, const char *seconds);

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
