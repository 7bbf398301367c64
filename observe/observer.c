/*
 * observer.c - records the events of this rank's launch, in this order, and acts on them
 *
 * ziaprobe's MPI functions (mpi.c) and libziaprobe.c call these functions in the order that
 * observe.h shows. They learn the start, N and the options from the arguments, the partner from the
 * messages of the exchange, and the stamps from the gather.
 *
 * On the clock: everything up to and including note_message().
 */
#include "observe.h"

#include <fcntl.h>
#include <mpi.h>

static struct world launched; /* the world that the launcher has described */
static bool holds_stderr; /* whether stderr was closed, and hold_stderr() has opened it */
static int64_t boot; /* the stamp at which this node booted */
static struct estimate raw; /* the offset of the realtime clock from the raw monotonic clock */
static int first_peer = -1; /* the first rank that this one sends to or receives from */

/* On all ranks, the values from the arguments. On rank 0, end_gather() adds the rest; after that,
 * there are records if the result is right. */
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
static void note_main_entered(void)
{
	boot = read_offset(CLOCK_BOOTTIME).value;
	raw = read_offset(CLOCK_MONOTONIC_RAW);
	this_rank.one_thread = watch_thread();
	note_work(MAIN_ENTERED);
	this_rank.at[MAIN_ENTERED] = now();
	world = launched = launched_world();
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

/* Arms the alarms that the options ask for. If the arguments were wrong, START is not set, and no
 * alarm is armed. */
static void arm_alarms(struct moments moments)
{
	if (!this_rank.at[START] || (!moments.timeout && !moments.where))
		return;
	if (run.n == 0)
		note_nodes(launched_nodes());
	else if (world.size > 0 && world.size % run.n == 0)
		note_nodes(world.size / run.n);
	if (moments.timeout)
		arm(TIMEOUT, moments.timeout);
	if (moments.where)
		arm(WHERE, moments.where);
}

/* Called before the library's function that starts MPI, by our function, which will return to
 * ADDRESS. Reads the *ARGC arguments in ARGV, and removes the options. ARGV[*ARGC] must be NULL. */
void begin_init(int *argc, char **argv, void *address)
{
	struct moments moments = {NULL, NULL};

	hold_stderr();
	note_main_entered();
	read_arguments(argc, argv, &run, &moments);
	arm_alarms(moments);
	note_entrance(address);
}

/* Called when the library's function has returned. */
void end_init(void)
{
	this_rank.at[INIT_RETURNED] = now();
	note_work(INIT_RETURNED);
	leave_mpi_init();
	forget_wire();
}

/* Asks MPI for this rank and the number of ranks. Returns whether both can be those of this launch.
 * If not, an error has been printed, and *PRINTS is set to whether this process printed it. */
bool has_right_world(bool *prints)
{
	PMPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &world.size);
	return matches_launcher(launched, boot, prints);
}

/* If N, in the arguments ARGV of begin_init(), is 0, finds it out, and stores it there for
 * ziaprobe.c. Returns false, and prints an error, if it is not known. Returns true if the arguments
 * are wrong, which ziaprobe.c reports. */
bool learn_ppn(char **argv)
{
	static char text[12];

	if (!this_rank.at[START] || run.n > 0)
		return true;
	run.n = find_ppn(world.rank, world.size);
	note_nodes(run.n > 0 ? world.size / run.n : NOBODY_TOLD);
	snprintf(text, sizeof text, "%d", run.n);
	argv[3] = text;
	return run.n > 0;
}

/* Notes that this rank is in a call, STATE, in which it may wait for rank PEER. */
void note_message(enum state state, int peer)
{
	if (first_peer < 0)
		first_peer = peer;
	note_state(state, peer, now());
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
	run.start = this_rank.at[START];
	run.size = world.size;
	run.time = stamps[slowest] - run.start;
	run.slowest = slowest;
	run.launch_node_named = getenv("OMPI_ZIATEST_NODE") != NULL;
	run.launch_clock_error = to_number(getenv("OMPI_ZIATEST_SYNC"), INT64_MAX);
	run.program = program_name();
	run.program_bytes = program_size();
	run.mpi = mpi_version();
	run.fence_interface = fence_interface();
	run.new_array = allocate;
	note_time(run.time);
	note_state(UNCHECKED, -1, find_doing().since);
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

/* Called before the gather of the stamps. Off the clock for this rank. */
void begin_gather(void)
{
	note_state(WAITS_FOR_OTHERS, -1, now());
	disarm(WHERE);
}

/* Called after the gather of the stamps: this rank's is REPLIED, and rank 0 has all STAMPS.
 * Compares the clocks and gathers the records. Returns whether the result is right; if not,
 * rank 0 has printed an error. The other ranks cannot know, and return true. */
bool end_gather(int64_t replied, const int64_t *stamps)
{
	if (world.rank == 0)
		describe_run(stamps);
	sleep_until_released();
	this_rank.partner = replied ? first_peer : -1;
	this_rank.at[REPLY_RECEIVED] = replied ? replied : UNKNOWN;
	identify_node(&this_rank);
	read_creation(&this_rank, boot);
	store_fences(&this_rank);
	if (world.rank == 0)
		run.records = allocate(world.size, sizeof *run.records);
	gather_records(run.records, run.n, raw);
	return world.rank != 0 || check_result();
}

/* Called after the benchmark. If the result was right, prints warnings and writes the reports, on
 * rank 0. Returns false if that failed. */
bool write_reports(void)
{
	bool written = !run.records || explain_run(&run) == 0;

	free(run.records);
	note_state(WAITS_FOR_OTHERS, -1, now());
	return written;
}

/* Restores a process that goes on, a user's program, to its state before begin_init(). */
void end_observation(void)
{
	unwatch_thread();
	disarm(WHERE);
	disarm(TIMEOUT);
	close_claim();
	if (holds_stderr)
		close(STDERR_FILENO);
}
