/*
 * hostlist.c - the names of an outlier's nodes, as Slurm writes them: n[5-9,12],login1
 *
 * Slurm reads a bracket only at the end of a name. So the last numbers are folded, and no others.
 */
#include "analysis.h"

#include <ctype.h>

enum { NAME_SIZE = sizeof((struct record *)NULL)->host };
enum { LIST_WIDTH = 80 }; /* the most characters of a list, unless its first range has more */
enum { LIST_SIZE = LIST_WIDTH + 2 * NAME_SIZE, TEXT_SIZE = 3 * LIST_SIZE };

/* A node's name, without the domain that all nodes share. Its number consists of the digits at its
 * end, and may be empty. */
struct name {
	char text[NAME_SIZE];
	int prefix; /* the characters before the number */
};

/* A list of names. Those of the last group have the same prefix. */
struct list {
	char groups[LIST_SIZE]; /* the groups before it: login1,x3c[1-2], */
	char numbers[LIST_SIZE]; /* of the last group: 5-9,12 */
	size_t range; /* where the first number of the last range ends */
	struct name last;
	size_t domain; /* how many characters at the end of each name are left out */
};

/* Returns the length of the domain that is left out of names. It is the longest ending that begins
 * with a dot and is the same, ignoring case, in the names of all hosts of RUN. No digit follows its
 * first dot, so that addresses stay whole. tools/ziatest/names.py has the same rule. */
static size_t common_domain(const struct run *run)
{
	const char *first = run->records[0].host, *domain = strchrnul(first, '.');

	for (int rank = run->n; rank < run->size; rank += run->n) {
		const char *host = run->records[rank].host, *end = host + strlen(host);

		while (strlen(host) < strlen(domain) ||
		       strcasecmp(end - strlen(domain), domain) != 0)
			domain = strchrnul(domain + 1, '.');
	}
	while (*domain && isdigit((unsigned char)domain[1]))
		domain = strchrnul(domain + 1, '.');
	return strlen(domain);
}

/* Returns the name of HOST without its last DOMAIN characters. */
static struct name name_of(const char *host, size_t domain)
{
	struct name name;

	snprintf(name.text, sizeof name.text, "%.*s", (int)(strlen(host) - domain), host);
	name.prefix = (int)strlen(name.text);
	while (name.prefix > 0 && isdigit((unsigned char)name.text[name.prefix - 1]))
		name.prefix--;
	return name;
}

/* Returns whether NEXT follows NAME, as n10 follows n9, and n010 follows n009. */
static bool is_next(const struct name *name, const struct name *next)
{
	const char *number = name->text + name->prefix;
	char text[NAME_SIZE + 1];

	snprintf(text, sizeof text, "%.*s%0*llu", name->prefix, name->text, (int)strlen(number),
		 strtoull(number, NULL, 10) + 1);
	return *number && strcmp(text, next->text) == 0;
}

/* Returns whether both have a number, after the same prefix. */
static bool are_alike(const struct name *a, const struct name *b)
{
	return a->text[a->prefix] && b->text[b->prefix] && a->prefix == b->prefix &&
	       strncmp(a->text, b->text, (size_t)a->prefix) == 0;
}

/* Writes LIST to TEXT, of TEXT_SIZE bytes, and returns its length. */
static size_t format_list(const struct list *list, char *text)
{
	bool is_single = !strpbrk(list->numbers, ",-");

	return (size_t)sprintf(text, is_single ? "%s%.*s%s" : "%s%.*s[%s]", list->groups,
			       list->last.prefix, list->last.text, list->numbers);
}

/* Appends SEPARATOR and NUMBER to the first LENGTH characters of the numbers of LIST. */
static void append_number(struct list *list, size_t length, char separator, const char *number)
{
	snprintf(list->numbers + length, sizeof list->numbers - length, "%c%s", separator, number);
}

/* Adds HOST to LIST. If the list would become too long, leaves it as it is, and returns false. */
static bool add_name(struct list *list, const char *host)
{
	struct name name = name_of(host, list->domain);
	const char *number = name.text + name.prefix;
	char text[TEXT_SIZE];
	bool is_alike = are_alike(&list->last, &name);
	size_t length = format_list(list, text);
	size_t longer = length + strlen(is_alike ? number : name.text) + strlen(",[]");

	if (is_next(&list->last, &name)) {
		append_number(list, list->range, '-', number);
	} else if (length > 0 && longer > LIST_WIDTH) {
		return false;
	} else if (is_alike) {
		append_number(list, strlen(list->numbers), ',', number);
		list->range = strlen(list->numbers);
	} else {
		strcpy(stpcpy(list->groups, text), length > 0 ? "," : "");
		strcpy(list->numbers, number);
		list->range = strlen(number);
	}
	list->last = name;
	return true;
}

/* Prints the nodes that have ranks like OUTLIER, in the order of the job. */
void print_late_nodes(FILE *file, const struct run *run, const struct outlier *outlier)
{
	struct list list = {.domain = common_domain(run)};
	char text[TEXT_SIZE];
	int left = outlier->nodes;

	for (int block = 0; left > 0; block++) {
		if (count_late(run, outlier, block) == 0)
			continue;
		if (!add_name(&list, run->records[block * run->n].host))
			break;
		left--;
	}
	format_list(&list, text);
	fputs(text, file);
	if (left > 0)
		fprintf(file, " and %d more", left);
}
