#!/bin/sh
# The fences that ziaprobe puts before the library's: each calls the one that would have been called
# without it, however that was opened, with what its caller gave; and takes the clock once for each
# fence of all ranks
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

# A library: its PMIx_Fence calls its PMIx_Fence_nb, whose callback comes at once, where data is not
# NULL later, by release()
cat >library.c <<'END'
#include <stdatomic.h>
#include <stdlib.h>
static int calls;
static void (*kept)(int, void *);
static void *kept_data;
int PMI_Barrier(void) { return ++calls; }
int PMI2_KVS_Fence(void)
{
	static atomic_int inside;

	inside++;
	while (getenv("TWO") && inside < 2) /* waits for a second thread */
		;
	return ++calls;
}
int PMIx_Fence_nb(const void *p, size_t n, const void *i, size_t m, void (*done)(int, void *),
		  void *data)
{
	calls++;
	if (n == 7)
		return -7;
	kept = done;
	kept_data = data;
	return 0;
}
void release(void) { kept(5, kept_data); }
static void ignore(int status, void *data) { (void)status, (void)data; }
int PMIx_Fence(const void *p, size_t n, const void *i, size_t m)
{
	return PMIx_Fence_nb(p, n, i, m, ignore, NULL) ? -1 : ++calls;
}
END
cat >plugin.c <<'END'
int PMI_Barrier(void);
int call(void) { return PMI_Barrier(); }
END
# What calls PMI_Barrier twice, 'plugin FILE' in a plugin opened privately, 'thread' in another
# thread, or 'nothing' there, or 'two' threads' fences at once; prints what it returned, and when,
# by a clock that counts its readings, the fences were entered and left
cat >main.c <<'END'
#include "run.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
int PMI_Barrier(void);
int PMI2_KVS_Fence(void);
int64_t now(void) { static int64_t t; return ++t; }
static void *run(void *call) { return (void *)(intptr_t)(*(int (**)(void))call)(); }
void print_fences(int until)
{
	struct facts facts = {.fence_count = 0};

	read_fences(&facts, until);
	for (int i = 0; i < facts.fence_count; i++)
		if (facts.fences[i].left == INT64_MAX)
			printf(" %d-", (int)facts.fences[i].entered);
		else
			printf(" %d-%d", (int)facts.fences[i].entered, (int)facts.fences[i].left);
	printf("\n");
}
#ifndef PMIX
int main(int argc, char **argv)
{
	int (*call)(void) = PMI_Barrier, first, second = 0;
	pthread_t thread;
	void *result, *plugin;

	if (argc > 2 && strcmp(argv[1], "plugin") == 0) {
		plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
		*(void **)&call = dlsym(plugin, "call");
	}
	if (argc > 1 && strcmp(argv[1], "two") == 0) { /* threads in a fence at the same time */
		call = PMI2_KVS_Fence;
		setenv("TWO", "1", 1);
		pthread_create(&thread, NULL, run, &call);
		call();
		pthread_join(thread, &result);
		print_fences(1000);
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "thread") == 0) {
		pthread_create(&thread, NULL, run, &call);
		pthread_join(thread, &result);
		first = (int)(intptr_t)result;
	} else {
		first = call();
	}
	second = call();
	printf("%d %d:", first, second);
	print_fences(1000);
	return 0;
}
#endif
END
# The fences of PMIx: prints what they returned and called back, then the fences, and, between the
# non-blocking one and its callback, whether it is seen to be in one
cat >pmix.c <<'END'
#define PMIX
#include "main.c"
int PMIx_Fence(const void *, size_t, const void *, size_t);
int PMIx_Fence_nb(const void *, size_t, const void *, size_t, void (*)(int, void *), void *);
void release(void);
static void done(int status, void *data) { printf("done %d %s, ", status, (char *)data); }
int main(void)
{
	static struct {
		char nspace[256];
		uint32_t rank;
	} all = {"job", UINT32_MAX - 1}, one = {"job", 3};
	int64_t since = 0;
	int waiting;

	printf("%d ", PMIx_Fence(NULL, 0, NULL, 0)); /* 1 2, its other one not seen */
	printf("%d ", PMIx_Fence(&one, 1, NULL, 0)); /* of some ranks: not seen */
	printf("%d ", PMIx_Fence_nb(&all, 1, NULL, 0, done, "b")); /* 3 and, when called back, 4 */
	waiting = in_fence(&since);
	printf("in %d since %d, ", waiting, (int)since);
	release();
	waiting = in_fence(&since);
	printf("in %d since %d, ", waiting, (int)since);
	printf("%d ", PMIx_Fence_nb(NULL, 7, NULL, 0, done, "c")); /* fails: 5 6 */
	printf("%d ", PMIx_Fence_nb(NULL, 0, NULL, 0, done, "d")); /* 7, never called back */
	printf("%d:", PMI2_KVS_Fence()); /* 8 9 */
	print_fences(1000);
	for (int i = 0; i < 9; i++)
		PMI2_KVS_Fence();
	print_fences(1000);
	print_fences(5);
	return 0;
}
END
for sanitize in '' '-fsanitize=address,undefined'; do
	# shellcheck disable=SC2086 # options
	{
		cc -shared -fPIC -o liblibrary.so library.c &&
		cc -shared -fPIC -o plugin.so plugin.c -L. -llibrary -Wl,-rpath,"$tmp" &&
		cc -O2 -shared -fPIC -o tail.so plugin.c -L. -llibrary -Wl,-rpath,"$tmp" &&
		${MPICC:-mpicc} $sanitize -I"$top/probe" -DFENCE -rdynamic -o linked main.c \
			"$top/probe/fence.c" -Wl,--no-as-needed -L. -llibrary -Wl,-rpath,"$tmp" \
			-ldl -lpthread &&
		${MPICC:-mpicc} $sanitize -I"$top/probe" -DFENCE -rdynamic -o private main.c \
			"$top/probe/fence.c" -ldl -lpthread &&
		${MPICC:-mpicc} $sanitize -I"$top/probe" -DFENCE -rdynamic -o pmix pmix.c \
			"$top/probe/fence.c" -Wl,--no-as-needed -L. -llibrary -Wl,-rpath,"$tmp" \
			-ldl
	} || exit 1
	name=${sanitize:-plain}
	is "$name, a library of the program's" "$(./linked)" '1 2: 1-2 3-4'
	is "$name, in another thread" "$(./linked thread)" '1 2: 1-2 3-4'
	ok "$name, two threads at once: two fences" matches "$(./linked two)" '^( [0-9]-[0-9]){2}$'
	is "$name, a library of a private plugin's" "$(./private plugin ./plugin.so)" \
		'1 2: 1-2 3-4'
	is "$name, one that it tail-calls" "$(./private plugin ./tail.so)" '1 2: 1-2 3-4'
	is "$name, no library" "$(./private nothing)" '-1 -1: 1-2 3-4'
	is "$name, PMIx" "$(./pmix)" \
		"2 4 0 in 1 since 3, done 5 b, in 0 since 4, -7 0 8: 1-2 3-4 5-6 7- 8-9
 1-2 3-4 5-6 7- 8-9 10-11 12-13 14-15
 1-2 3-4"
	is "$name, told not to wait" "$(OMPI_MCA_async_mpi_init=1 ./linked)" '1 2:'
	is "$name, told to" "$(OMPI_MCA_async_mpi_init=false OMPI_MCA_pmix_base_async_modex=0 \
		./linked)" '1 2: 1-2 3-4'
done

# The build: exported, whatever is optimised away; left out where it cannot work.
cd "$top" || exit 1
exports() {	# WHAT OPTION...
	what=$1
	shift
	ok "$what: builds" "${MPICC:-mpicc}" -DPAD=1 -DFENCE -rdynamic -fvisibility=hidden "$@" \
		-o "$tmp/probe" ziaprobe.c probe/*.c -ldl
	is "$what: exports the fences alone" "$(exported "$tmp/probe")" "$fences"
}
exports 'the default' -O2
exports 'LTO, swept' -O3 -flto=auto -ffunction-sections -Wl,--gc-sections
run make -n ziaprobe -B LDFLAGS=-static
ok 'a static build leaves it out' [ -z "$(echo "$out" | grep FENCE)" ]
run make -n ziaprobe -B LDFLAGS=-static-libgcc
ok 'but not one with a static libgcc' [ -n "$(echo "$out" | grep FENCE)" ]
finish
