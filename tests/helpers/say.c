/*
 * say - prints what ranks say for -t and --where, with observe/say.c
 *
 * Reads lines of tab-separated words: rank, size, processes per node, node, state (a number of enum
 * state), ms, partner, severity, moment, seconds, calls. A number of -1 is not known; the calls may
 * be empty. After each of these lines, prints what the rank says, and then an empty line.
 */
#include "../../observe/say.c"
#include "../../observe/text.c"

#include <stdlib.h>

struct world world;
static char node[65], calls[2000];

int uname(struct utsname *system)
{
	snprintf(system->nodename, sizeof system->nodename, "%s", node);
	return 0;
}

int64_t now(void)
{
	return 1795826339000000;
}

/* 3 ms on the CPU, and 17 ms of waiting for one */
struct reading read_work(void)
{
	return (struct reading){.cpu = 3000, .cpu_wait = 17000};
}

int wire_nodes(void)
{
	return NOBODY_TOLD;
}

bool claim(const char *kind, int state, uint64_t hash)
{
	(void)kind, (void)state, (void)hash;
	return true;
}

bool is_backtrace_loaded(void)
{
	return true;
}

void read_stack(struct stack *stack)
{
	stack->count = 0;
}

uint64_t hash_stack(const struct stack *stack)
{
	return (uint64_t)stack->count;
}

void name_calls(const struct stack *stack, char *text, size_t size)
{
	(void)stack;
	snprintf(text, size, "%s", calls);
}

int main(void)
{
	static const struct reading nothing;
	static char line[4000], *word[11];

	dup2(STDOUT_FILENO, STDERR_FILENO);
	while (fgets(line, sizeof line, stdin)) {
		char *rest = line;
		struct doing doing = {.work = &nothing};

		line[strcspn(line, "\n")] = '\0';
		for (int i = 0; i < 11; i++)
			word[i] = rest ? strsep(&rest, "\t") : "";
		world = (struct world){atoi(word[0]), atoi(word[1])};
		note_nodes(atoi(word[2]) > 0 ? atoi(word[1]) / atoi(word[2]) : NOBODY_TOLD);
		snprintf(node, sizeof node, "%s", word[3]);
		snprintf(calls, sizeof calls, "%s", word[10]);
		doing.state = (enum state)atoi(word[4]);
		doing.rank = atoi(word[6]);
		doing.since = now() - 1000 * (int64_t)atoi(word[5]);
		if (doing.state == UNCHECKED)
			note_time(462867);
		say(doing, word[7], word[8], word[9]);
		print("\n");
	}
	return 0;
}
