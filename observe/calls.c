/*
 * calls.c - the MPI functions that ziaprobe.c calls, as a tool on MPI's profiling interface
 *
 * Each of them notes what this rank is doing, and calls the PMPI function of the same name, which
 * is MPI's. They learn the start, N and the options from main's arguments, which must not be NULL,
 * the partner from MPI_Send, MPI_Recv and MPI_Sendrecv, and the stamps from MPI_Gather.
 *
 * On the clock: note_libraries_loaded(), and all of MPI_Init, MPI_Send, MPI_Recv and MPI_Sendrecv.
 */
#include "observe.h"

#include <fcntl.h>

/* Calls from other objects must not come here, although mpi.h may declare these functions as
 * visible to them. In libziaprobe.so, MPI_Init has another name (preload/mpi.h). */
#define NAMES(...) #__VA_ARGS__
#define HIDE(...) __asm__(".hidden " NAMES(__VA_ARGS__))
HIDE(MPI_Init, MPI_Send, MPI_Recv, MPI_Sendrecv, MPI_Gather, MPI_Finalize);

struct world world = {-1, -1};
bool is_guest, holds_stderr;

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
	this_rank.at[LIBRARIES_LOADED] = now();
}

/* Notes that main has been entered, or that a program has begun to start MPI. */
void note_main_entered(void)
{
	boot = read_offset(CLOCK_BOOTTIME).value;
	raw = read_offset(CLOCK_MONOTONIC_RAW);
	this_rank.one_thread = watch_thread();
	note_work(MAIN_ENTERED);
	this_rank.at[MAIN_ENTERED] = now();
	world = launched_world();
	note_state(IN_MPI_INIT, -1, this_rank.at[MAIN_ENTERED]);
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
	if (!this_rank.at[MAIN_ENTERED]) /* libziaprobe.so may have seen MPI_Session_init */
		note_main_entered();
	read_arguments(argc, *argv, &run);
	launched = world;
	note_entrance(CALLER);
	result = PMPI_Init(argc, argv);
	this_rank.at[INIT_RETURNED] = now();
	note_work(INIT_RETURNED);
	leave_mpi_init();
	forget_wire();
	if (result != MPI_SUCCESS)
		return result;
	PMPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &world.size);
	return world.size > 1 || check_single(launched, boot) ? MPI_SUCCESS : MPI_ERR_OTHER;
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

/* Returns the first line of MPI's version, in a static buffer. */
const char *mpi_version(void)
{
	static char text[8192]; /* MPICH's maximum; Open MPI's is smaller */
	int length;

	PMPI_Get_library_version(text, &length);
	text[strcspn(text, "\n")] = '\0';
	make_printable(text);
	return text;
}

/* On rank 0: fills in RUN, given the STAMPS of the replies, which are 0 for responders. */
static void describe_run(const int64_t *stamps)
{
	int slowest = 0;

	for (int rank = 1; rank < world.size; rank++)
		if (stamps[rank] > stamps[slowest])
			slowest = rank;
	run.start = this_rank.at[START];
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
	this_rank.partner = *replied ? first_peer : -1;
	this_rank.at[REPLY_RECEIVED] = *replied ? *replied : UNKNOWN;
	identify_node(&this_rank);
	read_creation(&this_rank, boot);
	store_fences(&this_rank);
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
