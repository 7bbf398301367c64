/*
 * claim.c - which process prints a message that many could print
 *
 * On the clock: with --where, and if the launcher's variables are missing.
 */
#include "observe.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

static int claimed = -1; /* the last socket of claim() */

/* Returns whether this is the job's first process on this node to claim a message of KIND about
 * STATE, with DETAIL, a number that tells such messages apart. It binds an abstract Unix socket
 * named after these and the start, if that is known, so the others find that name in use. If bind()
 * fails for any other reason, the process counts as the first. */
bool claim(const char *kind, int state, uint64_t detail)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "ziaprobe.%lld.%s.%d.%llx",
		 (long long)this_rank.at[START], kind, state, (unsigned long long)detail);
	claimed = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return bind(claimed, (struct sockaddr *)&name, sizeof name) == 0 || errno != EADDRINUSE;
}

/* Closes the socket of the last claim, so that it does not stay open in the user's program. */
void close_claim(void)
{
	if (claimed >= 0)
		close(claimed);
	claimed = -1;
}

/* Sleeps for a second, even if signals arrive. A process that is about to end calls this, because
 * its claim ends with it, and because the launcher may then end others before they have printed. */
void sleep_second(void)
{
	struct timespec left = {1, 0};

	while (nanosleep(&left, &left) != 0)
		;
}
