#!/bin/sh
# The wrappers with which ziaprobe intercepts the fences of the process manager's library, and those
# on PMI's wire. Each wrapper passes its arguments to the function that would otherwise have been
# called, however the library was opened, and takes two stamps if the fence includes all ranks.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

# A library. Its PMIx_Fence calls its PMIx_Fence_nb, which remembers the last callback for
# release(), and returns 1 without a callback. Given 7 processes, it fails; given 9, it is complete
# at once. If command_wire is a descriptor, its PMI2_KVS_Fence writes a command there, and reads the
# answer.
cat >library.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int command_wire = -1;
static int calls;
static void (*kept)(int, void *);
static void *kept_data;
int PMI_Barrier(void) { return ++calls; }
int PMI_Allgather(void *in, void *out, int length)
{
	memcpy(out, in, length);
	return ++calls;
}
int PMI2_KVS_Fence(void)
{
	char answer[99];

	if (command_wire >= 0 && (write(command_wire, "cmd=kvs-fence;", 14) != 14 ||
				  read(command_wire, answer, sizeof answer) <= 0))
		abort();
	return ++calls;
}
int PMIx_Fence_nb(const void *p, size_t n, const void *i, size_t m, void (*done)(int, void *),
		  void *data)
{
	calls++;
	if (n == 7)
		return -7;
	if (n == 9)
		return -157; /* PMIX_OPERATION_SUCCEEDED */
	kept = done;
	kept_data = data;
	return !done;
}
void release(void) { kept(5, kept_data); }
static void ignore(int status, void *data) { (void)status, (void)data; }
int PMIx_Fence(const void *p, size_t n, const void *i, size_t m)
{
	return PMIx_Fence_nb(p, n, i, m, ignore, NULL) ? -1 : ++calls;
}
END
# A plugin. find_release() succeeds if RTLD_DEFAULT searches the plugin's own libraries, too.
cat >plugin.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
int PMI_Barrier(void);
int call(void) { return PMI_Barrier(); }
int find_release(void) { return dlsym(RTLD_DEFAULT, "release") != 0; }
END
# Another library, in which the function has another offset, and a wrapper, which looks the function
# up in the first library
echo '__attribute__((aligned(512))) int PMI_Barrier(void) { return 20; }' >other.c
cat >wrapper.c <<'END'
#include <dlfcn.h>
int PMI_Barrier(void)
{
	int (*next)(void);

	*(void **)&next = dlsym(dlopen("./liblibrary.so", RTLD_NOW | RTLD_LOCAL), "PMI_Barrier");
	return 10 + next();
}
END
# A preloaded library, whose getppid() calls the next one
cat >next.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
int getppid(void)
{
	static int calls;
	int (*next)(void);

	if (++calls > 2)
		abort(); /* it has found itself */
	*(void **)&next = dlsym(RTLD_NEXT, "getppid");
	return next();
}
END
# A program that calls PMI_Barrier twice and prints the results. With 'FILE FUNCTION', it calls a
# function that it looks up in a file opened privately; with 'FILE FUNCTION OTHER', it looks the
# second one up in OTHER; with 'closed' after these, it closes FILE before that; with 'global', it
# only makes OTHER global; with 'many', it calls PMI_Barrier ten times. For each fence, it then
# prints how much work was done since the previous one, when the fence was entered and, if the rank
# waited in it, when it was left. Finally, it prints how much work was done after the last of these.
# The clock advances by 1 each time it is read. With an empty FILE, it only prints whether look-ups
# that name no file find FUNCTION.
cat >main.c <<'END'
#include "observe.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int PMI_Barrier(void);
int PMI_Allgather(void *, void *, int);
int PMI2_KVS_Fence(void);
static int64_t t;
int64_t now(void) { return ++t; }
struct record this_rank;
/* In this test, the amount of work done so far is simply the time. */
struct reading read_work(void) { return (struct reading){.cpu = t}; }
static int work_at(const struct record *record, int mark)
{
	return (int)record->readings[mark - LIBRARIES_LOADED].cpu;
}
/* Prints the fences, if MPI_Init returns at RETURNED. */
void print_fences(int64_t returned)
{
	struct record record = {.at = {[INIT_RETURNED] = returned}};
	int before = 0;

	store_fences(&record);
	for (int k = 0; k < FENCES; k++) {
		int m = FENCE_ENTERED + 2 * k;

		if (record.at[m] == UNKNOWN)
			break;
		printf(" %d:%d", work_at(&record, m) - before, (int)record.at[m]);
		if (record.at[m + 1] != UNKNOWN)
			printf("-%d", (int)record.at[++m]);
		before = work_at(&record, m);
	}
	printf(" %d\n", (int)returned - before);
}
#ifndef PMIX
int main(int argc, char **argv)
{
	int (*call)(void) = PMI_Barrier, first, second;
	const char *mode = argc > 1 ? argv[1] : "", *how = argc > 4 ? argv[4] : "";
	void *file = NULL;

	if (strcmp(mode, "many") == 0) {
		for (int i = 0; i < 10; i++)
			call();
	} else if (argc > 1 && !*mode) {
		puts((dlsym(RTLD_DEFAULT, argv[2]) || !dlerror()) &&
				     (dlsym(dlopen(NULL, RTLD_NOW), argv[2]) || !dlerror())
			     ? "found"
			     : "none");
		return 0;
	} else {
		if (*mode)
			file = dlopen(mode, RTLD_NOW | RTLD_LOCAL);
		if (file)
			*(void **)&call = dlsym(file, argv[2]);
		if (dlerror())
			puts("dlerror is set");
		first = call();
		if (strcmp(how, "closed") == 0)
			dlclose(file);
		if (strcmp(how, "global") == 0)
			dlopen(argv[3], RTLD_NOW | RTLD_GLOBAL);
		else if (argc > 3)
			*(void **)&call = dlsym(dlopen(argv[3], RTLD_NOW | RTLD_LOCAL), argv[2]);
		second = call();
		printf("%d %d:", first, second);
	}
	print_fences(1000);
	return 0;
}
#endif
END
# The fences of PMIx: prints what they return, whether the rank then counts as being in a fence,
# since when, and the work at that mark; when they call back, and which of them are counted
cat >pmix.c <<'END'
#define PMIX
#include "main.c"
int PMIx_Fence(const void *, size_t, const void *, size_t);
int PMIx_Fence_nb(const void *, size_t, const void *, size_t, void (*)(int, void *), void *);
void release(void);
static void done(int status, void *data) { printf("done %d %s\n", status, (char *)data); }
static void print_result(int result)
{
	struct position position = find_position();

	printf("%d, in %d since %d, work %d\n", result, position.waits, (int)position.since,
	       (int)position.work->cpu);
}
int main(void)
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
	print_result(0);
	/* These do not count: of one rank, without a callback, and one that fails, entered at 5. */
	print_result(PMIx_Fence(&one, 1, NULL, 0));
	print_result(PMIx_Fence_nb(&one, 1, NULL, 0, done, "b"));
	print_result(PMIx_Fence_nb(NULL, 0, NULL, 0, NULL, "c"));
	print_result(PMIx_Fence_nb(NULL, 7, NULL, 0, done, "d"));
	print_result(PMI2_KVS_Fence()); /* 6 7 */
	print_fences(1000);
	print_result(PMIx_Fence_nb(NULL, 0, NULL, 0, done, "e")); /* 8, until release() 11 */
	print_result(PMI2_KVS_Fence()); /* 9 10 */
	print_fences(1000);
	release();
	print_result(0);
	print_fences(1000);
	print_fences(11);
	print_fences(10);
	print_fences(6);
	print_result(PMI_Allgather("gathered", copy, sizeof copy)); /* 12 13 */
	print_result(PMIx_Fence_nb(NULL, 9, NULL, 0, done, "f")); /* 14 15 */
	print_fences(1000);
	printf("%s, %s\n", copy, fence_interface());
	return 0;
}
END
# A PMI client, which talks to itself. Prints to stdout what each read and write returns, which must
# be the same without ziaprobe (-DALONE), and to stderr the fences that have been counted.
cat >wire.c <<'END'
#define PMIX
#include "main.c"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
extern int command_wire;
extern ssize_t early_results[3];
ssize_t read_heap(int file, size_t room);
static int wire[2]; /* the ends of the client and of the server */
#ifdef ALONE
const char *fence_interface(void) { return ""; }
void store_fences(struct record *record) { record->at[FENCE_ENTERED] = UNKNOWN; }
void leave_mpi_init(void) {}
int wire_nodes(void) { return 0; }
#endif
static void print_result(const char *what, ssize_t result)
{
	printf("%s: %zd, %s\n", what, result, result < 0 ? strerror(errno) : "no error");
}
static void print_count(const char *what)
{
	fflush(stdout);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	printf("%s, %s, nodes %d:", what, fence_interface(), wire_nodes());
	print_fences(1000);
	fflush(stdout);
	dup2(100, STDOUT_FILENO);
}
static void command(const char *text)
{
	print_result(text, write(wire[0], text, strlen(text)));
}
static void answer(void)
{
	char text[99];

	print_result("the server", write(wire[1], "cmd=answer", 10));
	print_result("the answer", read(wire[0], text, 6));
	print_result("the rest", read(wire[0], text, sizeof text));
}
/* The server's answer, TEXT, is read. */
static void answer_mapping(const char *text)
{
	char read_text[99];

	print_result("the server", write(wire[1], text, strlen(text)));
	print_result("the answer", read(wire[0], read_text, sizeof read_text));
}
static void handle(int signal) { command(signal == SIGUSR1 ? "cmd=get" : "cmd=barrier_in"); }
static void *fence_in_thread(void *unused)
{
	command("cmd=barrier_in");
	answer();
	return unused;
}
static void bad_calls(void)
{
	char *volatile bad = NULL, byte;
	int zeros = open("/dev/zero", O_RDONLY);

	print_result("another descriptor", read(zeros, &byte, 1));
	print_result("no answer yet", read(wire[0], &byte, 1));
	print_result("read from -1", read(-1, &byte, 1));
	print_result("write to -1", write(-1, "cmd=init", 8));
#ifndef __SANITIZE_ADDRESS__ /* which looks at the data first */
	print_result("write NULL to -1", write(-1, bad, 8));
	print_result("a bad pointer", write(wire[1], bad, 8));
#endif
}
int main(void)
{
	static char large[1 << 20] = "cmd=barrier_in";
	pthread_t thread;
	int other[2];

	for (int i = 0; i < 3; i++)
		print_result("before constructors", early_results[i]);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, handle);
	signal(SIGUSR2, handle);
	dup2(STDOUT_FILENO, 100);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, wire) != 0 || dup2(wire[0], 200) != 200)
		abort();
	wire[0] = 200;
	fcntl(wire[0], F_SETFL, O_NONBLOCK);
	bad_calls();
	command("cmd=barrier_in"); /* before it is known whose wire this is */
	command("cmd=init pmi_version=1");
	answer();
	print_result("another init", write(open("/dev/null", O_WRONLY), "cmd=init", 8));
	command("cmd=get_maxes");
	answer();
	print_count("none yet");
	command("cmd=get key=PMI_process_mapping");
	answer_mapping("value=(vector,(0,2,2),(2,1");
	print_count("half of the mapping");
	answer_mapping(",4))\n");
	command("cmd=barrier_in group=NODE");
	answer();
	command("cmd=barrier_in"); /* 1 2 */
	print_result("more of it", write(wire[0], "\n", 1));
	print_count("one that has not ended");
	answer();
	print_count("one");
	command("cmd=barrier_in group=WORLD"); /* 3 4 */
	bad_calls();
	answer();
	pthread_create(&thread, NULL, fence_in_thread, NULL); /* 5 6 */
	pthread_join(thread, NULL);
	print_count("three");
	command("    14cmd=kvs-fence;"); /* 7 8 */
	print_result("the server", write(wire[1], "cmd=answer", 10));
	print_result("the answer, on the heap", read_heap(wire[0], 99));
	command_wire = wire[0];
	print_result("the server", write(wire[1], "cmd=answer", 10));
	print_result("PMI2_KVS_Fence", PMI2_KVS_Fence()); /* 9 10 */
	print_count("five");
	print_result("a partial write", write(wire[0], large, sizeof large)); /* 11 12 */
	answer();
	raise(SIGUSR2); /* has no room, at 13 */
	print_result("all that was written", read(wire[1], large, sizeof large));
	command("cmd=barrier_in"); /* 14 15 */
	raise(SIGUSR1); /* Another command: the answer to the one above has come unseen. */
	print_count("seven");
	close(wire[1]);
	command("cmd=barrier_in"); /* 16 */
	print_result("the end", read(wire[0], large, 9));
	close(wire[0]);
	command("cmd=barrier_in"); /* 17 */
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, other) != 0)
		abort();
	dup2(other[0], wire[0]);
	wire[1] = other[1];
	command("cmd=barrier_in"); /* Another file has got the wire's number. */
	answer();
#ifndef __SANITIZE_ADDRESS__
	char *volatile bad = NULL;
	print_result("a bad pointer", write(wire[0], bad, 100));
#endif
	print_count("still seven");
	leave_mpi_init();
	command("cmd=barrier_in");
	command("cmd=init pmi_version=1"); /* Nothing is learnt again. */
	command("cmd=barrier_in");
	print_count("still seven");
	return 0;
}
END
# A library that reads and writes before the program's constructors have run. It is compiled with
# _FORTIFY_SOURCE, so that read_heap() calls __read_chk.
cat >early.c <<'END'
#include <stdlib.h>
#include <unistd.h>
ssize_t read_heap(int file, size_t room)
{
	char *text = malloc(room);
	ssize_t result = read(file, text, room - 1 + (getppid() < 0));

	free(text);
	return result;
}
ssize_t early_results[3];
__attribute__((constructor)) static void before_constructors(void)
{
	int ends[2];
	char text[9];

	if (pipe(ends) != 0)
		return;
	early_results[0] = write(ends[1], "cmd=get", 7);
	close(ends[1]);
	early_results[1] = read(ends[0], text, sizeof text);
	early_results[2] = read(-1, text, sizeof text);
}
END
cat >wire.expected <<'END'
none yet, (null), nodes 0: 1000
half of the mapping, (null), nodes -1: 1000
one that has not ended, PMI, nodes 3: 1000
one, PMI, nodes 3: 1:1-2 999
three, PMI, nodes 3: 1:1-2 2:3-4 2:5-6 995
five, PMI2, nodes 3: 1:1-2 2:3-4 2:5-6 2:7-8 2:9-10 991
seven, PMI, nodes 3: 1:1-2 2:3-4 2:5-6 2:7-8 2:9-10 2:11-12 3:14-15 986
still seven, PMI, nodes 3: 1:1-2 2:3-4 2:5-6 2:7-8 2:9-10 2:11-12 3:14-15 986
still seven, PMI, nodes 3: 1:1-2 2:3-4 2:5-6 2:7-8 2:9-10 2:11-12 3:14-15 986
END
cat >expected <<'END'
0, in 0 since 0, work 0
2, in 0 since 2, work 1
0, in 1 since 3, work 3
done 5 a
0, in 0 since 4, work 3
5, in 0 since 4, work 3
0, in 0 since 4, work 3
1, in 0 since 4, work 3
-7, in 0 since 4, work 3
9, in 0 since 7, work 6
 1:1-2 2:3-4 3:6-7 994
0, in 1 since 8, work 8
11, in 1 since 8, work 8
 1:1-2 2:3-4 3:6-7 994
done 5 e
0, in 0 since 11, work 10
 1:1-2 2:3-4 3:6-7 2:8-11 -1:9-10 991
 1:1-2 2:3-4 3:6-7 2:8-11 -1:9-10 2
 1:1-2 2:3-4 3:6-7 4
 1:1-2 2:3-4 3
12, in 0 since 13, work 12
-157, in 0 since 15, work 14
 1:1-2 2:3-4 3:6-7 2:8-11 -1:9-10 3:12-13 2:14-15 986
gathered, PMIx
END
# built NAME SOURCE ARGUMENT...: builds NAME from SOURCE and the files that define our functions
built() {
	name=$1 source=$2
	shift 2
	# shellcheck disable=SC2086 # options
	${MPICC:-mpicc} $sanitize -I"$top/observe" -DINTERPOSE -rdynamic -o "$name" "$source" \
		"$top/observe/fence.c" "$top/observe/library.c" "$top/observe/dlsym.c" \
		"$top/observe/wire.c" "$top/observe/pmi.c" \
		"$@" -ldl -lpthread || exit 1
}
with="-Wl,--no-as-needed -L. -Wl,-rpath,$tmp -llibrary"
twice='1 2: 1:1-2 2:3-4 997'	# two fences, from 1 to 2 and from 3 to 4
for library in library early other wrapper; do
	cc -O2 -D_FORTIFY_SOURCE=3 -shared -fPIC -o lib$library.so $library.c || exit 1
done
ok 'a library calls __read_chk' sh -c 'nm -D libearly.so | grep -q __read_chk'
# shellcheck disable=SC2086 # options
for sanitize in '' '-fsanitize=address,undefined'; do
	cc -shared -fPIC -o plugin.so plugin.c $with &&
	cc -O2 -shared -fPIC -o tail.so plugin.c $with &&
	cc -shared -fPIC -o foreign.so plugin.c -Wl,--no-as-needed -L. -Wl,-rpath,$tmp -lother ||
		exit 1
	built linked main.c $with
	built private main.c
	built wrapped main.c -Wl,--no-as-needed -L. -Wl,-rpath,$tmp -lwrapper
	built pmix pmix.c $with
	built wire wire.c $with -learly
	built libmain.so main.c -shared -fPIC -Wl,-Bsymbolic-functions
	cc $sanitize -rdynamic -o preloaded -x c /dev/null -L. \
		-Wl,--no-as-needed,-rpath,$tmp -lmain &&
	${MPICC:-mpicc} $sanitize -I"$top/observe" -DALONE -o bare wire.c $with -learly -lpthread ||
		exit 1
	name=${sanitize:-plain}
	is "$name, a library that is linked with the program" "$(./linked)" "$twice"
	is "$name, only the first eight fences count" "$(./linked many)" \
		' 1:1-2 2:3-4 2:5-6 2:7-8 2:9-10 2:11-12 2:13-14 2:15-16 985'
	is "$name, a library of a private plugin" "$(./private ./plugin.so call)" "$twice"
	is "$name, a library that a private plugin tail-calls" \
		"$(./private ./tail.so call)" "$twice"
	is "$name, no library" "$(./private)" '-1 -1: 1:1-2 2:3-4 997'
	# In libziaprobe.so, these functions must not find themselves.
	is "$name, preloaded, a library that a private plugin tail-calls" \
		"$(./preloaded ./tail.so call)" "$twice"
	for program in private preloaded; do
		is "$name, $program, a function that is looked up" \
			"$(./$program ./liblibrary.so PMI_Barrier)" "$twice"
	done
	is "$name, preloaded, no library" "$(./preloaded)" '-1 -1: 1:1-2 2:3-4 997'
	is "$name, two libraries, of which each caller runs its own" \
		"$(./private ./liblibrary.so PMI_Barrier ./libother.so)" '1 20: 1:1-2 999'
	# The second library is mapped where the first one was.
	is "$name, a library that replaces one that was closed" \
		"$(./private ./liblibrary.so PMI_Barrier ./libother.so closed)" \
		'1 20: 1:1-2 2:3-4 997'
	is "$name, a plugin stays bound to its own library when another becomes global" \
		"$(./private ./plugin.so call ./libother.so global)" "$twice"
	is "$name, a plugin is bound to the library of the program before its own" \
		"$(./linked ./foreign.so call)" "$twice"
	is "$name, a look-up leaves no error in a program that is started by its name" \
		"$(PATH=$tmp:$PATH && private ./liblibrary.so PMI_Barrier)" "$twice"
	is "$name, a wrapper that looks the next function up sees all calls" \
		"$(./wrapped)" '11 12: 1:1-2 2:3-4 997'
	is "$name, a function that no library has, and one that a library has" \
		"$(./private '' PMI_Barrier)/$(./linked '' PMI_Barrier)" none/found
	is "$name, PMIx" "$(./pmix)" "$(cat expected)"
	is "$name, PMI's wire: reads and writes do what they do without ziaprobe" \
		"$(./wire 2>wire.counted)" "$(./bare 2>bare.counted)"
	is "$name, PMI's wire: the fences" "$(cat wire.counted)" "$(cat wire.expected)"
done

# The answers to RTLD_NEXT and RTLD_DEFAULT depend on the caller.
cc -shared -fPIC -o next.so next.c -ldl || exit 1
for compiler in gcc clang; do
	if ! has $compiler; then
		continue	# .ci/run installs both
	fi
	for sanitize in -O0 '-O2 -flto' '-O1 -finstrument-functions' '-O0 --coverage'; do
		if [ "$compiler $sanitize" = 'clang -O0 --coverage' ]; then
			continue	# needs clang's run-time library
		fi
		export OMPI_CC=$compiler MPICH_CC=$compiler
		built private main.c
		is "$compiler $sanitize, RTLD_NEXT" \
			"$(LD_PRELOAD=./next.so ./private ./next.so getppid)" \
			"$$ $$: 1000"
		is "$compiler $sanitize, RTLD_DEFAULT" "$(./private ./plugin.so find_release)" \
			'1 1: 1000'
		is "$compiler $sanitize, a function that is looked up" \
			"$(./private ./liblibrary.so PMI_Barrier)" "$twice"
	done
done
unset OMPI_CC MPICH_CC

finish
