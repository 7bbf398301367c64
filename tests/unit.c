/* The pure functions of ziaprobe.c; prints TAP. */
#define main ziaprobe_main
#include "../ziaprobe.c"
#undef main

static int count, failed;

static void ok(int passed, const char *name)
{
	failed += !passed;
	printf("%sok %d - %s\n", passed ? "" : "not ", ++count, name);
}

static void is_time(int64_t ns, const char *expected)
{
	char line[80];

	format_time(line, sizeof line, ns);
	ok(strcmp(line, expected) == 0, expected);
	if (strcmp(line, expected) != 0)
		printf("# got '%s'\n", line);
}

static void is_start(const char *sec, const char *usec, const char *n, int64_t start, int wrong)
{
	char *argv[] = {"ziaprobe", (char *)sec, (char *)usec, (char *)n, NULL};
	struct arguments args = {-1, -1};
	char name[200];

	snprintf(name, sizeof name, "arguments '%s' '%s' '%s'", sec, usec, n);
	ok((parse(4, argv, &args) != NULL) == wrong && (wrong || args.start == start), name);
}

int main(void)
{
	const int64_t ms = 1000000, s = 1000 * ms;

	is_time(0, "Time test was completed in     0.00 millisecs");
	is_time(200 * ms, "Time test was completed in   200.00 millisecs");
	is_time(624570 * (ms / 1000), "Time test was completed in   624.57 millisecs");
	is_time(999 * ms, "Time test was completed in   999.00 millisecs");
	is_time(1 * s, "Time test was completed in   0:01 min:sec");
	is_time(2 * s - 1, "Time test was completed in   0:01 min:sec");
	is_time(5 * s, "Time test was completed in   0:05 min:sec");
	is_time(60 * s - 1, "Time test was completed in   0:59 min:sec");
	is_time(65 * s, "Time test was completed in   1:05 min:sec");
	is_time(6000 * s, "Time test was completed in 100:00 min:sec");

	is_start("1771328648", "32530", "4", 1771328648 * s + 32530 * 1000, 0);
	is_start("1771328648", "032530", "4", 1771328648 * s + 32530 * 1000, 0);
	is_start("0", "0", "1", 0, 0);
	is_start("1", "999999", "2147483647", 1 * s + 999999000, 0);
	is_start("1", "1000000", "1", 0, 1);
	is_start("", "0", "1", 0, 1);
	is_start("-1", "0", "1", 0, 1);
	is_start("1", "0", "0", 0, 1);
	is_start("1", "0", "2147483648", 0, 1);
	is_start("1", "0", "1x", 0, 1);
	is_start("9223372036", "0", "1", 0, 1);
	is_start("99999999999999999999", "0", "1", 0, 1);

	ok(originates(0, 3) && originates(2, 3) && !originates(3, 3) && originates(6, 3),
	   "blocks 0 and 2 originate, block 1 does not");
	ok(responder(1, 12, 3) == 4 && responder(7, 12, 3) == 10, "the responder is one block on");
	ok(responder(7, 9, 3) == 1, "block 0 follows the last");
	ok(responder(2, 3, 3) == 2, "a single block answers itself");
	ok(responder(INT_MAX - 1, INT_MAX, INT_MAX) == INT_MAX - 1, "the largest N");

	ok(slowest_rank((int64_t[]){5, 7, 9, 9, 6, 8}, 6, 2) == 5, "the latest stamp");
	ok(slowest_rank((int64_t[]){5, 8, 0, 0, 6, 8}, 6, 2) == 1, "the lowest rank of several");
	ok(slowest_rank((int64_t[]){5, 8, 9, 9}, 4, 2) == 1, "a responder is never the slowest");

	printf("1..%d\n", count);
	return failed != 0;
}
