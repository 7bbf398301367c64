/* Enters fences in the ways in which MPI libraries do, and prints what ziaprobe has seen of them:
 *
 *	fences				calls PMI_Barrier twice
 *	fences many			calls it ten times
 *	fences FILE FUNCTION		opens FILE privately, and calls its FUNCTION twice
 *	fences FILE FUNCTION OTHER	calls the FUNCTION of OTHER the second time
 *	fences FILE FUNCTION OTHER closed	also closes FILE before that
 *	fences FILE FUNCTION OTHER global	only makes OTHER global before the second call
 *	fences find FUNCTION		prints whether look-ups that name no file find FUNCTION
 *	fences pmix			calls the fences of PMIx
 *	fences wire			is both a PMI client, which has a wire, and its server
 *
 * It prints when each fence was entered and left, both as STAMP/WORK: the work done so far is the
 * time, and the clock advances by 1 each time it is read. */
#include "../../observe/observe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

int PMI_Barrier(void);
int PMI_Allgather(void *in, void *out, int length);
int PMI2_KVS_Fence(void);
int PMIx_Fence(const void *procs, size_t count, const void *info, size_t infos);
int PMIx_Fence_nb(const void *procs, size_t count, const void *info, size_t infos,
		  void (*done)(int, void *), void *data);

/* These are in the fake library, with which not all programs are linked. */
#pragma weak release
#pragma weak read_heap
#pragma weak command_wire
void release(void);
ssize_t read_heap(int file, size_t room);
extern int command_wire;

struct record this_rank;
static int64_t t;

int64_t now(void)
{
	return ++t;
}

struct reading read_work(void)
{
	return (struct reading){.cpu = t};
}

/* Prints the fences, if MPI_Init returns at RETURNED. */
static void print_fences(int64_t returned)
{
	struct record record = {.at = {[INIT_RETURNED] = returned}};

	store_fences(&record);
	for (int m = FENCE_ENTERED; m < FENCES_END && record.at[m] != UNKNOWN; m++)
		printf(" %d/%d", (int)record.at[m], (int)record.readings[m - LIBRARIES_LOADED].cpu);
	puts("");
}

static void call_twice(const char *name, const char *function, const char *other, const char *how)
{
	int (*call)(void) = PMI_Barrier, first;
	void *file = name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (file)
		*(void **)&call = dlsym(file, function);
	if (dlerror())
		puts("dlerror is set");
	first = call();
	if (how && strcmp(how, "closed") == 0)
		dlclose(file);
	if (how && strcmp(how, "global") == 0)
		dlopen(other, RTLD_NOW | RTLD_GLOBAL);
	else if (other)
		*(void **)&call = dlsym(dlopen(other, RTLD_NOW | RTLD_LOCAL), function);
	printf("%d %d:", first, call());
}

static void find(void *handle, const char *function)
{
	bool found = dlsym(handle, function) != NULL, fails = dlerror() != NULL;

	printf(" %s", found == fails ? "wrong error" : found ? "found" : "none");
}

static void done(int status, void *data)
{
	printf("done %d %s\n", status, (char *)data);
}

/* Prints RESULT, and whether this rank is now in a fence, since when, and the work done by then. */
static void print_result(int result)
{
	struct position position = find_position();

	printf("%d, in %d since %d, work %d\n", result, position.waits, (int)position.since,
	       (int)position.work->cpu);
}

static void test_pmix(void)
{
	static struct {
		char nspace[256];
		uint32_t rank;
	} all = {"job", UINT32_MAX - 1}, one = {"job", 3};
	static char copy[9];

	print_result(0);
	print_result(PMIx_Fence(NULL, 0, NULL, 0)); /* 1 2; the one that it calls does not count */
	print_result(PMIx_Fence_nb(&all, 1, NULL, 0, done, "a")); /* 3, until release() 4 */
	release();
	/* These are not recorded: a fence of one rank, one without a callback, and one that is
	 * entered at 5 and fails. */
	print_result(PMIx_Fence_nb(&one, 1, NULL, 0, done, "b"));
	print_result(PMIx_Fence_nb(NULL, 0, NULL, 0, NULL, "c"));
	print_result(PMIx_Fence_nb(NULL, 7, NULL, 0, done, "d"));
	print_result(PMI2_KVS_Fence()); /* 6 7 */
	print_result(PMIx_Fence_nb(NULL, 0, NULL, 0, done, "e")); /* 8, until release() 11 */
	print_result(PMI2_KVS_Fence()); /* 9 10 */
	print_fences(1000);
	release();
	print_result(0);
	print_fences(11);
	print_fences(10);
	print_result(PMI_Allgather("gathered", copy, sizeof copy)); /* 12 13 */
	print_result(PMIx_Fence_nb(NULL, 9, NULL, 0, done, "f")); /* 14 15 */
	printf("%s, %s:", copy, fence_interface());
}

static int wire[2]; /* the ends of the client and of the server */

/* Prints RESULT, that of a read or write, if it is not EXPECTED, a length or -errno. */
static void check(const char *what, ssize_t result, ssize_t expected)
{
	if (result < 0)
		result = -errno;
	if (result != expected)
		printf("%s: got %zd, expected %zd\n", what, result, expected);
}

static void command(const char *text)
{
	check(text, write(wire[0], text, strlen(text)), (ssize_t)strlen(text));
}

static void send_answer(const char *text)
{
	check("the server", write(wire[1], text, strlen(text)), (ssize_t)strlen(text));
}

static void answer(const char *text)
{
	char data[99];

	send_answer(text);
	check(text, read(wire[0], data, 6), 6);
	check("the rest", read(wire[0], data, sizeof data), (ssize_t)strlen(text) - 6);
}

static void open_wire(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, wire) != 0 || dup2(wire[0], 200) != 200)
		abort();
	wire[0] = 200;
	fcntl(wire[0], F_SETFL, O_NONBLOCK);
}

/* Reads and writes outside a fence. AddressSanitizer would look at the data at a bad pointer. */
static void make_bad_calls(void)
{
	char byte;

	check("another descriptor", read(open("/dev/zero", O_RDONLY), &byte, 1), 1);
	check("no answer yet", read(wire[0], &byte, 1), -EAGAIN);
#ifndef __SANITIZE_ADDRESS__
	char *volatile bad = NULL;
	check("write NULL to -1", write(-1, bad, 8), -EBADF);
	check("a bad pointer", write(wire[1], bad, 8), -EFAULT);
#endif
}

/* The server reads all that was sent. */
static void receive(void)
{
	static char data[1 << 20];

	if (read(wire[1], data, sizeof data) <= 0)
		puts("nothing was sent");
}

static void print_count(const char *what)
{
	printf("%s, %s, nodes %d:", what, fence_interface(), wire_nodes());
	print_fences(1000);
}

static void test_wire(void)
{
	static char large[1 << 20] = "    14cmd=kvs-fence;";

	open_wire();
	make_bad_calls();
	command("cmd=barrier_in"); /* before it is known whose wire this is */
	command("cmd=init pmi_version=1");
	answer("cmd=answer");
	check("another init", write(open("/dev/null", O_WRONLY), "cmd=init", 8), 8);
	print_count("none yet");
	command("cmd=get key=PMI_process_mapping");
	command("\n"); /* the rest of the command */
	answer("value=(vector,(0,2,2),(2,1");
	print_count("half of the mapping");
	answer(",4))   \n");
	command("cmd=barrier_in group=NODE");
	answer("value=(vector,(0,9,2))");
	command("cmd=barrier_in"); /* 1 2 */
	check("more of it", write(wire[0], "\n", 1), 1);
	print_count("one that has not ended");
	answer("cmd=answer");
	command("cmd=barrier_in group=WORLD"); /* 3 4 */
	make_bad_calls();
	send_answer("cmd=answer");
	check("the answer, on the heap", read_heap(wire[0], 99), 10);
	print_count("two");
	command_wire = wire[0];
	send_answer("cmd=answer");
	check("PMI2_KVS_Fence", PMI2_KVS_Fence(), 1); /* 5 6 */
	if (write(wire[0], large, sizeof large) >= (ssize_t)sizeof large) /* 7 8 */
		puts("not a partial write");
	answer("cmd=answer");
	print_count("four");
	check("no room", write(wire[0], "cmd=barrier_in", 14), -EAGAIN); /* at 9 */
	receive();
	command("cmd=barrier_in"); /* 10 11 */
	command("cmd=barrier_in"); /* 12: the answer to the one above has come unseen. */
	print_count("five");
	receive();
	close(wire[1]);
	check("the end", read(wire[0], large, 9), 0);
	close(wire[0]);
	check("closed", write(wire[0], "cmd=barrier_in", 14), -EBADF);
	open_wire(); /* Another file gets the wire's number. */
	command("cmd=barrier_in");
	print_count("still five");
	leave_mpi_init();
	forget_wire();
	PMI_Barrier();
	command("cmd=init pmi_version=1"); /* Nothing is learnt again. */
	command("cmd=get key=PMI_process_mapping");
	answer("value=(vector,(0,9,2))");
	printf("nodes %d:", wire_nodes());
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "find") == 0) {
		find(RTLD_DEFAULT, argv[2]);
		find(dlopen(NULL, RTLD_NOW), argv[2]);
	} else if (strcmp(mode, "pmix") == 0) {
		test_pmix();
	} else if (strcmp(mode, "wire") == 0) {
		test_wire();
	} else if (strcmp(mode, "many") == 0) {
		for (int i = 0; i < 10; i++)
			PMI_Barrier();
	} else {
		call_twice(argv[1], argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL,
			   argc > 4 ? argv[4] : NULL);
	}
	print_fences(1000);
	return 0;
}
