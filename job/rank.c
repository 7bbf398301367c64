/*
 * rank - prints the rank of this process and the number of ranks, as the launcher gives them
 *
 *	rank
 *
 * Prints "RANK SIZE"; each is -1 if it is not known. job/trace asks it which process to trace.
 */
#include "../observe/observe.h"

int main(void)
{
	struct world launched = launched_world();

	return printf("%d %d\n", launched.rank, launched.size) < 0;
}
