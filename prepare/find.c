/* Where programs are: the launcher, ziaprobe and what lies next to ziatest */
#include "prepare.h"

#include <sys/stat.h>

static int is_program(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

char *find_program(const char *name)
{
	const char *path = strchr(name, '/') ? "" : getenv("PATH");
	char *rest = path ? text("%s", path) : NULL, *found;

	for (char *dir; (dir = strsep(&rest, ":"));) {
		found = text("%s%s%s", dir, *dir ? "/" : "", name);
		if (is_program(found))
			return found;
	}
	return NULL;
}

/* Returns the path of NAME, relative to the directory of this executable, without links and dots;
 * or NULL if it is not a program. */
static char *find_beside(const char *name)
{
	char *self = realpath("/proc/self/exe", NULL), *path = NULL;

	if (self)
		path = realpath(text("%.*s/%s", (int)(strrchr(self, '/') - self), self, name),
				NULL);
	return path && is_program(path) ? path : NULL;
}

char *find_probe(void)
{
	char *path = is_program("./ziaprobe") ? "./ziaprobe" : find_beside("ziaprobe");

	if (!path)
		fail(1, "cannot find an executable ziaprobe here or next to ziatest; build it with "
			"'make'");
	return path;
}

char *find_starter(void)
{
	char *path = find_beside("ziastart"), *library;

	if (!path)
		path = find_beside("../lib/ziastart");
	if (!path)
		fail(1, "cannot find ziastart, which starts your program, next to ziatest or in "
			"../lib; build it with 'make'");
	/* The paths in LD_PRELOAD, among them that of the library, cannot be quoted. */
	if (strpbrk(path, ": \t\n"))
		fail(1,
		     "cannot preload libziaprobe.so, which is next to '%s': the path contains a "
		     "blank or a colon; move Ziatest to another directory",
		     path);
	library = text("%.*s/libziaprobe.so", (int)(strrchr(path, '/') - path), path);
	if (access(library, R_OK) != 0)
		fail(1, "cannot read '%s': %s; build it with 'make'", library, strerror(errno));
	setenv("OMPI_ZIATEST_LIBRARY", library, 1);
	return path;
}
