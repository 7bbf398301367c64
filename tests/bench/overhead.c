/* Measures what ziaprobe costs a process. Prints the medians of ROUNDS rounds: how long a rank
 * spends on its readings in a launch with two fences and on the launcher's variables, and on the
 * constructor of libziaprobe.so, in us; and how much longer a read and a write of a descriptor
 * other than PMI's wire take, in ns. Within a launch, each part runs for the first time, so it
 * takes longer: the variables, for example, 1 to 6 us. */
#include "../../observe/observe.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CALLS = 1000 }; /* in a row */

typedef ssize_t transfer(int file, void *data, size_t size);

static int compare(const void *a, const void *b)
{
	const int64_t *p = a, *q = b;

	return (*p > *q) - (*p < *q);
}

static int64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t time_readings(void)
{
	int64_t begun = nanoseconds();

	for (int m = MAIN_ENTERED; m < FENCE_ENTERED + 4; m++)
		note_work(m);
	note_work(INIT_RETURNED);
	world = launched_world();
	return nanoseconds() - begun;
}

static int64_t time_constructor(void)
{
	int64_t begun = nanoseconds();

	note_libraries_loaded();
	return nanoseconds() - begun;
}

/* Returns how long CALLS calls of FUNCTION take. */
static int64_t time_calls(transfer *function, int file)
{
	int64_t begun = nanoseconds();
	char data[8] = "";

	for (int i = 0; i < CALLS; i++) {
		lseek(file, 0, SEEK_SET);
		if (function(file, data, sizeof data) != sizeof data)
			abort();
	}
	return nanoseconds() - begun;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"read", "write"};
	int rounds = argc > 1 ? atoi(argv[1]) : 0, file = memfd_create("", 0);
	int64_t *took;

	if (rounds < 1 || write(file, "12345678", 8) != 8)
		return 2;
	took = calloc((size_t)rounds, sizeof *took);
	if (!took)
		return 1;
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < rounds; i++)
			took[i] = k == 0 ? time_readings() : time_constructor();
		qsort(took, (size_t)rounds, sizeof *took, compare);
		printf("%.2f ", (double)took[rounds / 2] / 1000);
		watch_thread(); /* as in main */
	}
	for (int k = 0; k < 2; k++) {
		transfer *ours, *library;

		*(void **)&ours = dlsym(RTLD_DEFAULT, names[k]);
		*(void **)&library = dlsym(RTLD_NEXT, names[k]);
		for (int i = 0; i < rounds; i++)
			took[i] = time_calls(ours, file) - time_calls(library, file);
		qsort(took, (size_t)rounds, sizeof *took, compare);
		printf("%.2f ", (double)took[rounds / 2] / CALLS);
	}
	printf("\n");
	return 0;
}
