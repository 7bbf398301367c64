/*
 * text.c - numbers, printable text, and a hash of any data
 *
 * On the clock: all of it: for the arguments, the launcher's variables, and what --where prints.
 */
#include "observe.h"

#include <limits.h>

/* Returns the number in TEXT, or -1 if TEXT does not consist of decimal digits or the number is
 * greater than MAX. TEXT may be NULL. */
int64_t to_number(const char *text, int64_t max)
{
	int64_t number;

	if (!text || !*text || text[strspn(text, "0123456789")])
		return -1;
	number = strtoll(text, NULL, 10); /* INT64_MAX if it is out of range */
	return number > max ? -1 : number;
}

/* Returns TEXT, a number of seconds, in ms, or -1 if it is anything else. Ignores what follows the
 * third decimal. */
int64_t to_ms(const char *text)
{
	int64_t ms;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return -1;
	ms = MIN(strtoll(text, &end, 10), INT_MAX) * 1000;
	if (*end == '.')
		for (int unit = 100; *++end >= '0' && *end <= '9'; unit /= 10)
			ms += unit * (*end - '0');
	return *end ? -1 : ms;
}

/* Replaces each tab in TEXT with a blank, and each character that is not printable ASCII with '?'.
 * Async-signal-safe. */
void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = *text == '\t' ? ' ' : '?';
}

/* Returns the 64-bit FNV-1a hash of the SIZE bytes at DATA. */
uint64_t hash(const void *data, size_t size)
{
	uint64_t result = 0xcbf29ce484222325;

	for (const unsigned char *byte = data; byte < (const unsigned char *)data + size; byte++)
		result = (result ^ *byte) * 0x100000001b3;
	return result;
}
