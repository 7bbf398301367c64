/*
 * process.c - when the process of a rank, and the one that created it, were created (off the clock)
 *
 * The kernel says so in /proc/PID/stat, in ticks (of 10 ms) since it booted.
 */
#include "run.h"

#include <unistd.h>

/* When the process whose file is PATH was created, on a node that booted at BOOT; its name goes to
 * NAME, of 16 bytes. NONE if that cannot be read. */
static int64_t creation(const char *path, int64_t boot, char *name)
{
	FILE *file = fopen(path, "r");
	char text[1024], *begin, *end, *field;

	if (!file)
		return NONE;
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	/* PID (NAME) and numbers, the time as 22nd. A name may hold blanks and parentheses. */
	begin = strchr(text, '(');
	field = end = strrchr(text, ')');
	for (int i = 2; field && i < 22; i++)
		field = strchr(field + 1, ' ');
	if (!begin || !field)
		return NONE;
	*end = '\0';
	snprintf(name, 16, "%s", begin + 1);
	for (char *c = name; *c; c++)
		if (*c < ' ' || *c > '~') /* it is printed */
			*c = '?';
	return boot + strtoll(field, NULL, 10) * (1000000000 / sysconf(_SC_CLK_TCK));
}

/* Fills in when this process and its parent were created. BOOT is when this node booted, by the
 * realtime clock as it was in main. */
void read_creation(struct facts *facts, int64_t boot)
{
	char path[40], name[16];

	facts->created = creation("/proc/self/stat", boot, name);
	snprintf(path, sizeof path, "/proc/%lld/stat", (long long)getppid());
	facts->parent_created = creation(path, boot, facts->parent);
}
