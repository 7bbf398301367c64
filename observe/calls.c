/*
 * calls.c - the functions of observe.h, in the order in which ziaprobe.c calls them, except two in
 * timeout.c; notes.h lists the other files
 *
 * On the clock: observe_loaded() to observe_world().
 */
#include "notes.h"

#include <limits.h>
#include <poll.h>

static struct {
	int timeout; /* seconds after the start, or 0 for none */
	bool verbose;
	const char *csv, *ranks; /* file names, or NULL */
} options;

struct world world = {-1, -1};

static int64_t boot; /* the stamp at which this node booted */
static struct estimate raw; /* the offset of the realtime clock from the raw monotonic clock */
static struct run gathered; /* on rank 0 */

/* Notes that the libraries that the user's program is linked with are loaded. On the clock. */
void observe_loaded(void)
{
	watch_thread();
	note_work(LIBRARIES_LOADED);
	unwatch_thread(); /* because the program may close, reuse or inherit any descriptor */
	mine.at[LIBRARIES_LOADED] = now();
}

void observe_main(void)
{
	boot = read_offset(CLOCK_BOOTTIME).value;
	raw = read_offset(CLOCK_MONOTONIC_RAW);
	mine.one_thread = watch_thread();
	note_work(MAIN_ENTERED);
	mine.at[MAIN_ENTERED] = now();
	world = launched_world();
	observe_state(IN_MPI_INIT, -1, mine.at[MAIN_ENTERED]);
}

/* Does not use getopt, whose state belongs to the program if this is libziaprobe.so. */
const char *observe_options(char **words)
{
	static char wrong[200];
	int64_t seconds;

	for (char **word = words; *word; word++) {
		const char *option = *word, *value = word[1]; /* NULL after the last word */

		if (strcmp(option, "-v") == 0 || strcmp(option, "--verbose") == 0) {
			options.verbose = true;
		} else if (value && strcmp(option, "--csv") == 0) {
			options.csv = *++word;
		} else if (value && strcmp(option, "--ranks") == 0) {
			options.ranks = *++word;
		} else if (value &&
			   (strcmp(option, "-t") == 0 || strcmp(option, "--timeout") == 0)) {
			if ((seconds = to_number(*++word, INT_MAX)) < 1)
				return "--timeout must be a whole number of seconds, 1 or more";
			options.timeout = (int)seconds;
		} else {
			snprintf(wrong, sizeof wrong, "unknown option or missing value: '%s'",
				 option);
			return wrong;
		}
	}
	return NULL;
}

void observe_start(int64_t start)
{
	mine.at[START] = start;
	if (options.timeout)
		arm_timeout(start, options.timeout);
}

int64_t observe_init(void)
{
	mine.at[INIT_RETURNED] = now();
	note_work(INIT_RETURNED);
	return mine.at[INIT_RETURNED];
}

bool observe_world(int rank, int size, int *status)
{
	struct world launched = world;

	world = (struct world){rank, size};
	if (size > 1 || launched.size <= 1)
		return true;
	if (launched.rank > 0) {
		poll(NULL, 0, 1000); /* gives rank 0 time to print the error */
		return false;
	}
	print_error("the launcher started %d processes, but each is alone in its MPI_COMM_WORLD: "
		    "the launcher and the MPI library do not match; use the mpirun of this MPI "
		    "library, or another srun --mpi=TYPE (see srun --mpi=list)\n",
		    launched.size);
	*status = 1;
	return false;
}

void *allocate(int count, size_t size)
{
	void *block = calloc((size_t)count, size);

	if (!block) {
		print_error("out of memory: rank %d cannot allocate %d x %zu bytes; make more "
			    "memory available on its node\n",
			    world.rank, count, size);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return block;
}

/* On rank 0: checks the run, whose RECORDS are freed if it is not valid. */
static bool check(const struct launch *launch, struct record *records)
{
	bool valid;

	gathered = (struct run){
		.start = launch->start,
		.size = launch->size,
		.n = launch->n,
		.time = launch->time,
		.slowest = launch->slowest,
		.records = records,
		.launch_node_named = getenv("OMPI_ZIATEST_NODE") != NULL,
		.launch_clock_error = to_number(getenv("OMPI_ZIATEST_SYNC"), INT64_MAX),
		.program = program_name(),
		.program_bytes = program_size(),
		.mpi = mpi_version(),
		.fence_interface = fence_interface,
		.verbose = options.verbose,
		.csv = options.csv,
		.ranks = options.ranks,
		.new_array = allocate,
	};
	valid = check_run(&gathered);
	observe_state(valid ? WRITING : WAITS_FOR_OTHERS, -1, now());
	stop_if_timed_out();
	if (!valid)
		free(records);
	return valid;
}

bool observe_check(const struct launch *launch)
{
	struct record *records = NULL;

	if (launch->rank == 0)
		note_time(launch->time);
	sleep_until_released();
	mine.partner = launch->partner;
	mine.at[REPLY_RECEIVED] = launch->replied ? launch->replied : UNKNOWN;
	identify_node(&mine);
	read_creation(&mine, boot);
	read_fences(&mine);
	if (launch->rank == 0)
		records = allocate(launch->size, sizeof *records);
	gather_records(records, launch->n, raw);
	return launch->rank != 0 || check(launch, records);
}

int observe_explain(void)
{
	int status = explain_run(&gathered);

	observe_state(WAITS_FOR_OTHERS, -1, now());
	free(gathered.records);
	return status;
}
