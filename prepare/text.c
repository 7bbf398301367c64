/* Text for all of ziatest: its errors, with the usage lines, and formatted strings */
#include "prepare.h"

#include <stdarg.h>

const char usage[] = "usage: ziatest [OPTION...] LAUNCHER [ARGUMENT...] -- PROGRAM [ARGUMENT...]\n"
		     "       ziatest [OPTION...] N [\"LAUNCH LINE\" [PROGRAM [ARGUMENT...]]]\n";

void fail(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("ziatest: error: ", stderr);
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n%s", status == 2 ? usage : "");
	va_end(args);
	exit(status);
}

char *text(const char *format, ...)
{
	char *result;
	va_list args;

	va_start(args, format);
	if (vasprintf(&result, format, args) < 0)
		fail(1, "cannot build the command line: %s", strerror(errno));
	va_end(args);
	return result;
}
