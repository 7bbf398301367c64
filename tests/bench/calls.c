/* Measures how much longer a read or write takes because ziaprobe intercepts it, if the descriptor
 * is not PMI's wire. Prints the medians of ROUNDS rounds for read and for write, in ns per call. */
#include "../../probe/run.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CALLS = 1000 }; /* in a row */

typedef ssize_t transfer(int file, void *data, size_t size);

/* Returns how long CALLS calls of FUNCTION take, in ns. */
static int64_t time_calls(transfer *function, int file)
{
	struct timespec begun, ended;
	char data[8] = "";

	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (int i = 0; i < CALLS; i++) {
		lseek(file, 0, SEEK_SET);
		if (function(file, data, sizeof data) != sizeof data)
			abort();
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	return (ended.tv_sec - begun.tv_sec) * 1000000000 + ended.tv_nsec - begun.tv_nsec;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"read", "write"};
	int rounds = argc > 1 ? atoi(argv[1]) : 0, file = memfd_create("", 0);
	int64_t *added;

	if (rounds < 1 || write(file, "12345678", 8) != 8)
		return 2;
	added = allocate(rounds, sizeof *added);
	for (int k = 0; k < 2; k++) {
		transfer *ours, *library;

		*(void **)&ours = dlsym(RTLD_DEFAULT, names[k]);
		*(void **)&library = dlsym(RTLD_NEXT, names[k]);
		for (int i = 0; i < rounds; i++)
			added[i] = time_calls(ours, file) - time_calls(library, file);
		qsort(added, (size_t)rounds, sizeof *added, compare_times);
		printf("%.2f%c", (double)added[rounds / 2] / CALLS, k ? '\n' : ' ');
	}
	return 0;
}
