/* Measures how much time on the clock a rank spends on its readings in a launch with two fences,
 * and on the launcher's variables. Prints the median of ROUNDS rounds, in us. Within a launch, each
 * part runs for the first time, so it takes longer: the variables, for example, 1 to 6 us. */
#include "../../probe/run.h"

#include <time.h>

static int64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0;
	int64_t *took;

	MPI_Init(NULL, NULL);
	if (rounds < 1)
		return 2;
	took = allocate(rounds, sizeof *took);
	for (int i = 0; i < rounds; i++) {
		int64_t begun = nanoseconds();

		for (int m = MAIN_ENTERED; m < FENCE_ENTERED + 4; m++)
			note_work(m);
		note_work(INIT_RETURNED);
		world = launched_world();
		took[i] = nanoseconds() - begun;
	}
	qsort(took, (size_t)rounds, sizeof *took, compare_times);
	printf("%.2f\n", (double)took[rounds / 2] / 1000);
	MPI_Finalize();
	return 0;
}
