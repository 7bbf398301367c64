/* fakes.c - libraries that take the place of others. Each is a section, which -DSECTION builds. */

/* ---- SCHEDSTAT: for ziaprobe ----
 *
 * A kernel that does not record how long a process waits for a CPU: $SCHEDSTAT is opened instead of
 * /proc/thread-self/schedstat. */
#ifdef SCHEDSTAT
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int open(const char *name, int flags, ...)
{
	va_list rest;
	int mode;

	va_start(rest, flags);
	mode = flags & O_CREAT ? va_arg(rest, int) : 0;
	va_end(rest);
	if (strcmp(name, "/proc/thread-self/schedstat") == 0)
		name = getenv("SCHEDSTAT");
	return (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
}
#endif

/* ---- COLD: for ziaprobe ----
 *
 * Rank $RANK reads 512 pages of the file "cold" before main. If the file is not in the page cache,
 * each page causes a major fault. */
#ifdef COLD
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

__attribute__((constructor)) static void read_pages(void)
{
	int file = open("cold", O_RDONLY), sum = 0;
	volatile char *page;

	if (strcmp(getenv("PMI_RANK"), getenv("RANK")) != 0)
		return;
	page = mmap(NULL, 512 * 4096, PROT_READ, MAP_PRIVATE, file, 0);
	madvise((void *)page, 512 * 4096, MADV_RANDOM);
	for (int i = 0; i < 512; i++)
		sum += page[i * 4096];
	if (sum != 0)
		abort();
}
#endif
