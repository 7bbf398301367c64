/* barrier FILE: checks whether PMIx_Fence waits for both ranks; to be run by srun --mpi=pmix on two
 * nodes. Rank 1 enters the fence a second late, and creates FILE before that. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *rank = getenv("PMIX_RANK");
	void *library = dlopen("libpmix.so.2", RTLD_NOW);
	char self[1024]; /* a process identifier; larger than in any version of PMIx */
	int (*init)(void *, void *, size_t);
	int (*fence)(void *, size_t, void *, size_t);
	int (*finalize)(void *, size_t);
	int seen;

	if (argc != 2 || !rank || !library)
		return 2;
	*(void **)&init = dlsym(library, "PMIx_Init");
	*(void **)&fence = dlsym(library, "PMIx_Fence");
	*(void **)&finalize = dlsym(library, "PMIx_Finalize");
	if (init(self, NULL, 0) != 0)
		return 2;
	if (strcmp(rank, "1") == 0) {
		sleep(1);
		close(creat(argv[1], 0666));
	}
	if (fence(NULL, 0, NULL, 0) != 0)
		return 2;
	seen = access(argv[1], F_OK) == 0;
	finalize(NULL, 0);
	return !seen;
}
