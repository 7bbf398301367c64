#!/bin/sh
# The fence that ziaprobe puts before the library's: it calls the one that would have been called
# without it, however that was opened, and does nothing else
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

cat >library.c <<'END'
static int calls;
int PMI_Barrier(void) { return ++calls; }
END
cat >plugin.c <<'END'
int PMI_Barrier(void);
int call(void) { return PMI_Barrier(); }
END
# What calls the fence twice, 'plugin' in a plugin opened privately, 'thread' in another thread, or
# 'nothing' there; prints what it returned, and whether the first call took the clock and the
# second did not
cat >main.c <<'END'
#include "run.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
int PMI_Barrier(void);
int64_t now(void) { static int64_t t; return ++t; }
static void *run(void *call) { return (void *)(intptr_t)(*(int (**)(void))call)(); }
int main(int argc, char **argv)
{
	int (*call)(void) = PMI_Barrier, first, second = 0;
	pthread_t thread;
	void *result, *plugin;

	if (argc > 1 && strcmp(argv[1], "plugin") == 0) {
		plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
		*(void **)&call = dlsym(plugin, "call");
	}
	if (argc > 1 && strcmp(argv[1], "thread") == 0) {
		pthread_create(&thread, NULL, run, &call);
		pthread_join(thread, &result);
		first = (int)(intptr_t)result;
	} else {
		first = call();
	}
	second = call();
	printf("%d %d %d\n", first, second, (int)fence_entered);
	return 0;
}
END
for sanitize in '' '-fsanitize=address,undefined'; do
	# shellcheck disable=SC2086 # options
	{
		cc -shared -fPIC -o liblibrary.so library.c &&
		cc -shared -fPIC -o plugin.so plugin.c -L. -llibrary -Wl,-rpath,"$tmp" &&
		${MPICC:-mpicc} $sanitize -I"$top/probe" -DFENCE -rdynamic -o linked main.c \
			"$top/probe/fence.c" -Wl,--no-as-needed -L. -llibrary -Wl,-rpath,"$tmp" \
			-ldl -lpthread &&
		${MPICC:-mpicc} $sanitize -I"$top/probe" -DFENCE -rdynamic -o private main.c \
			"$top/probe/fence.c" -ldl -lpthread
	} || exit 1
	name=${sanitize:-plain}
	is "$name, a library of the program's" "$(./linked)" '1 2 1'
	is "$name, in another thread" "$(./linked thread)" '1 2 1'
	is "$name, a library of a private plugin's" "$(./private plugin)" '1 2 1'
	is "$name, no library" "$(./private nothing)" '-1 -1 1'
done

# The build: exported, whatever is optimised away; left out where it cannot work.
cd "$top" || exit 1
exported() {	# WHAT OPTION...
	what=$1
	shift
	ok "$what: builds" "${MPICC:-mpicc}" -DPAD=1 -DFENCE -rdynamic "$@" -o "$tmp/probe" \
		ziaprobe.c probe/*.c -ldl
	is "$what: exported" \
		"$(nm -D "$tmp/probe" | sed -n 's/.* T \(PM.*_.*\)/\1/p' | paste -s -d ' ' -)" \
		'PMI2_KVS_Fence PMI_Barrier PMIx_Fence PMIx_Fence_nb'
}
exported 'the default' -O2
exported 'LTO, swept, hidden' -O3 -flto=auto -ffunction-sections -fvisibility=hidden \
	-Wl,--gc-sections
run make -n ziaprobe -B LDFLAGS=-static
ok 'a static build leaves it out' [ -z "$(echo "$out" | grep FENCE)" ]
run make -n ziaprobe -B LDFLAGS=-static-libgcc
ok 'but not one with a static libgcc' [ -n "$(echo "$out" | grep FENCE)" ]
finish
