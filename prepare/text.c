/* Text for all of ziatest: its errors, with the usage lines, formatted strings, and quoting */
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

void push(struct list *list, char *word)
{
	list->word = realloc(list->word, (list->count + 2) * sizeof *list->word);
	if (!list->word)
		fail(1, "cannot build the command line: %s", strerror(errno));
	list->word[list->count++] = word;
	list->word[list->count] = NULL;
}

const char blanks[] = " \t", special[] = "|&;<>()$`\"'\\*?[]{}#~\n";

char *replace(const char *string, const char *old, const char *new)
{
	char *result = text("%s", "");

	for (const char *at; (at = strstr(string, old)); string = at + strlen(old))
		result = text("%s%.*s%s", result, (int)(at - string), string, new);
	return text("%s%s", result, string);
}

char *quoted(char *word)
{
	if (*word && !strpbrk(word, blanks) && !strpbrk(word, special))
		return word;
	return text("'%s'", replace(word, "'", "'\\''"));
}

char *join(char **words)
{
	char *line = text("%s", "");

	for (; *words; words++)
		line = text("%s %s", line, quoted(*words));
	return line;
}
