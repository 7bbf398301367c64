/* Measures how much time on the clock a rank spends on its readings in a launch with two fences.
 * Prints the medians of ROUNDS rounds, in us: for note_work(), for count_libraries(), and for both
 * together.
 *
 *	readings ROUNDS
 */
#include "../../probe/run.h"

#include <time.h>

static int64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static double median(int64_t *times, int count)
{
	qsort(times, (size_t)count, sizeof *times, compare_times);
	return (double)times[count / 2] / 1000;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0;
	int64_t *notes, *counts, *both, begun, noted, counted;

	MPI_Init(NULL, NULL);
	if (rounds < 1)
		return 2;
	notes = allocate(rounds, sizeof *notes);
	counts = allocate(rounds, sizeof *counts);
	both = allocate(rounds, sizeof *both);
	for (int i = 0; i < rounds; i++) {
		begun = nanoseconds();
		for (int m = MAIN_ENTERED; m < FENCE_ENTERED + 4; m++)
			note_work(m);
		note_work(INIT_RETURNED);
		noted = nanoseconds();
		count_libraries();
		count_libraries();
		counted = nanoseconds();
		notes[i] = noted - begun;
		counts[i] = counted - noted;
		both[i] = counted - begun;
	}
	printf("%.2f %.2f %.2f\n", median(notes, rounds), median(counts, rounds),
	       median(both, rounds));
	MPI_Finalize();
	return 0;
}
