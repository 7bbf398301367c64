/*
 * calls.c - the MPI functions that ziaprobe.c calls, as a tool on MPI's profiling interface
 *
 * Each of them notes what this rank is doing, and calls the PMPI function of the same name, which
 * is MPI's. They learn the start, N and the options from main's arguments, which must not be NULL,
 * the partner from MPI_Send, MPI_Recv and MPI_Sendrecv, and the stamps from MPI_Gather.
 *
 * On the clock: note_libraries_loaded(), and all of MPI_Init, MPI_Send, MPI_Recv and MPI_Sendrecv.
 */
#include "notes.h"

#include <fcntl.h>
#include <limits.h>

/* Calls from other objects must not come here, although mpi.h may declare these functions as
 * visible to them. In libziaprobe.so, MPI_Init has another name (preload/mpi.h). */
#define NAMES(...) #__VA_ARGS__
#define HIDE(...) __asm__(".hidden " NAMES(__VA_ARGS__))
HIDE(MPI_Init, MPI_Send, MPI_Recv, MPI_Sendrecv, MPI_Gather, MPI_Finalize);

struct world world = {-1, -1};
bool is_guest, holds_stderr;

static const char *timeout, *where; /* seconds after the start, or NULL */
static int64_t boot; /* the stamp at which this node booted */
static struct estimate raw; /* the offset of the realtime clock from the raw monotonic clock */
static int first_peer = -1; /* the first rank that this one sends to or receives from */

/* On all ranks, what the arguments say. On rank 0, MPI_Gather adds the rest; after that, there are
 * records if the result is right. */
static struct run run;

/* Notes that the libraries that the user's program is linked with are loaded. */
void note_libraries_loaded(void)
{
	watch_thread();
	note_work(LIBRARIES_LOADED);
	unwatch_thread(); /* because the program may close, reuse or inherit any descriptor */
	mine.at[LIBRARIES_LOADED] = now();
}

/* Notes that main has been entered, or that a program has begun to start MPI. */
void note_main_entered(void)
{
	boot = read_offset(CLOCK_BOOTTIME).value;
	raw = read_offset(CLOCK_MONOTONIC_RAW);
	mine.one_thread = watch_thread();
	note_work(MAIN_ENTERED);
	mine.at[MAIN_ENTERED] = now();
	world = launched_world();
	note_state(IN_MPI_INIT, -1, mine.at[MAIN_ENTERED]);
}

/* Takes the options, which follow SEC, USEC and N, out of the arguments of main. Leaves the first
 * one that is unknown or has a wrong or missing value, and what follows it. Does not use getopt,
 * whose state belongs to the program if this is libziaprobe.so. */
static void take_options(int *argc, char **argv)
{
	int first = 4, next, words;

	for (next = first; next < *argc; next += words) {
		const char *option = argv[next], *value = argv[next + 1]; /* NULL at the end */

		words = 2;
		if (strcmp(option, "-v") == 0 || strcmp(option, "--verbose") == 0) {
			run.verbose = true;
			words = 1;
		} else if (value && strcmp(option, "--csv") == 0) {
			run.csv = value;
		} else if (value && strcmp(option, "--ranks") == 0) {
			run.ranks = value;
		} else if (to_number(value, INT_MAX) > 0 &&
			   (strcmp(option, "-t") == 0 || strcmp(option, "--timeout") == 0)) {
			timeout = value;
		} else if (to_ms(value) > 0 &&
			   (strcmp(option, "-w") == 0 || strcmp(option, "--where") == 0)) {
			where = value;
		} else {
			break;
		}
	}
	if (next == first)
		return;
	memmove(argv + first, argv + next, (size_t)(*argc - next + 1) * sizeof *argv);
	*argc -= next - first;
}

/* Reads the arguments of main. If they are wrong, sets nothing: ziaprobe.c reports the error. */
static void read_arguments(int *argc, char **argv)
{
	int64_t sec, usec;

	take_options(argc, argv);
	if (*argc != 4)
		return;
	sec = to_number(argv[1], INT64_MAX / 1000000 / 2);
	usec = to_number(argv[2], 999999);
	run.n = (int)to_number(argv[3], INT_MAX);
	if (sec < 0 || usec < 0 || run.n < 1)
		return;
	mine.at[START] = sec * 1000000 + usec;
	if (timeout)
		arm(TIMEOUT, timeout);
	if (where)
		arm(WHERE, where);
}

/* Prints, once per job, that MPI and the launcher do not match. LAUNCHED is the world that the
 * launcher has described. Then ends this process, unless it is a program's; all but the one that
 * prints wait first, because some launchers end the job as soon as one process has ended. */
static void report_mismatch(struct world launched)
{
	if (launched.rank <= 0)
		print_error("the launcher started %d processes, but each is alone in its "
			    "MPI_COMM_WORLD: the launcher and the MPI library do not match; use "
			    "the mpirun of this MPI library, or another srun --mpi=TYPE (see srun "
			    "--mpi=list)\n",
			    launched.size);
	if (is_guest)
		return;
	if (launched.rank > 0)
		sleep_second();
	PMPI_Finalize();
	stop_if_timed_out();
	exit(launched.rank > 0 ? 0 : 1);
}

/* If stderr is closed, no other file may take its place. Writing to what this opens fails. */
static void hold_stderr(void)
{
	int file;

	if (fcntl(STDERR_FILENO, F_GETFD) >= 0)
		return;
	file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	holds_stderr = dup2(file, STDERR_FILENO) >= 0;
	if (file != STDERR_FILENO)
		close(file);
}

int MPI_Init(int *argc, char ***argv)
{
	struct world launched;
	int result;

	hold_stderr();
	if (!mine.at[MAIN_ENTERED]) /* libziaprobe.so may have seen MPI_Session_init */
		note_main_entered();
	read_arguments(argc, *argv);
	enter_stack(__builtin_return_address(0));
	result = PMPI_Init(argc, argv);
	mine.at[INIT_RETURNED] = now();
	note_work(INIT_RETURNED);
	leave_mpi_init();
	forget_wire();
	if (result != MPI_SUCCESS)
		return result;
	launched = world;
	PMPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &world.size);
	if (world.size == 1 && launched.size > 1) {
		report_mismatch(launched);
		return MPI_ERR_OTHER;
	}
	return MPI_SUCCESS;
}

/* Notes that this rank is in a call, STATE, in which it may wait for rank PEER. */
static void note_call(enum state state, int peer)
{
	if (first_peer < 0)
		first_peer = peer;
	note_state(state, peer, now());
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	note_call(IN_SEND, to);
	return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	     MPI_Status *status)
{
	note_call(IN_RECV, from);
	return PMPI_Recv(data, count, type, from, tag, comm, status);
}

int MPI_Sendrecv(const void *sent, int sent_count, MPI_Datatype sent_type, int to, int sent_tag,
		 void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
		 MPI_Status *status)
{
	note_call(IN_SENDRECV, from);
	return PMPI_Sendrecv(sent, sent_count, sent_type, to, sent_tag, data, count, type, from,
			     tag, comm, status);
}

/* Returns COUNT > 0 elements of SIZE bytes, all 0. If memory is short, aborts with an error. */
static void *allocate(int count, size_t size)
{
	void *block = calloc((size_t)count, size);

	if (!block) {
		print_error("out of memory: rank %d cannot allocate %d x %zu bytes; make more "
			    "memory available on its node\n",
			    world.rank, count, size);
		PMPI_Abort(MPI_COMM_WORLD, 1);
	}
	return block;
}

/* On rank 0: fills in RUN, given the STAMPS of the replies, which are 0 for responders. */
static void describe_run(const int64_t *stamps)
{
	int slowest = 0;

	for (int rank = 1; rank < world.size; rank++)
		if (stamps[rank] > stamps[slowest])
			slowest = rank;
	run.start = mine.at[START];
	run.size = world.size;
	run.time = stamps[slowest] - run.start;
	run.slowest = slowest;
	run.launch_node_named = getenv("OMPI_ZIATEST_NODE") != NULL;
	run.launch_clock_error = to_number(getenv("OMPI_ZIATEST_SYNC"), INT64_MAX);
	run.program = program_name();
	run.program_bytes = program_size();
	run.mpi = mpi_version();
	run.fence_interface = fence_interface;
	run.new_array = allocate;
	note_time(run.time);
}

/* On rank 0: returns whether the result is right. If not, prints an error. */
static bool check_result(void)
{
	bool valid = check_run(&run);

	note_state(valid ? WRITING : WAITS_FOR_OTHERS, -1, now());
	stop_if_timed_out();
	if (!valid) {
		free(run.records);
		run.records = NULL;
	}
	return valid;
}

/* Off the clock for this rank. After the gather, compares the clocks and gathers the records. If
 * the result is wrong, prints an error on rank 0, and returns an error there. */
int MPI_Gather(const void *sent, int sent_count, MPI_Datatype sent_type, void *data, int count,
	       MPI_Datatype type, int root, MPI_Comm comm)
{
	const int64_t *replied = sent;
	int result;

	note_state(WAITS_FOR_OTHERS, -1, now());
	disarm(WHERE);
	result = PMPI_Gather(sent, sent_count, sent_type, data, count, type, root, comm);
	if (result != MPI_SUCCESS)
		return result;
	if (world.rank == 0)
		describe_run(data);
	sleep_until_released();
	mine.partner = *replied ? first_peer : -1;
	mine.at[REPLY_RECEIVED] = *replied ? *replied : UNKNOWN;
	identify_node(&mine);
	read_creation(&mine, boot);
	read_fences(&mine);
	if (world.rank == 0)
		run.records = allocate(world.size, sizeof *run.records);
	gather_records(run.records, run.n, raw);
	return world.rank != 0 || check_result() ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* If the result was right, prints warnings and writes the reports, on rank 0. Returns an error if
 * that was not possible. */
int MPI_Finalize(void)
{
	int status = run.records ? explain_run(&run) : 0, result;

	free(run.records);
	note_state(WAITS_FOR_OTHERS, -1, now());
	result = PMPI_Finalize();
	stop_if_timed_out();
	return status == 0 ? result : MPI_ERR_OTHER;
}
