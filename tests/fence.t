#!/bin/sh
# The wrappers with which ziaprobe intercepts the fences of the process manager's library, and those
# on PMI's wire. Each wrapper passes its arguments to the function that would otherwise have been
# called, however the library was opened, and takes two stamps if the fence includes all ranks.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

# shared NAME SECTION [OPTION...]: builds libNAME.so from a section of fakes.c
shared() {
	name=$1 section=$2
	shift 2
	cc -O2 -D_FORTIFY_SOURCE=3 -shared -fPIC -D"$section" -o "lib$name.so" \
		"$top/tests/helpers/fakes.c" -Wl,--no-as-needed "$@" -Wl,-rpath,"$tmp" || exit 1
}

# built NAME [OPTION...]: builds fences.c, and the files that define our functions, as NAME, with
# the compiler's $flags
built() {
	name=$1
	shift
	# shellcheck disable=SC2086 # options
	${MPICC:-mpicc} $flags -DINTERPOSE -rdynamic -o "$name" "$top/tests/helpers/fences.c" \
		"$top/observe/fence.c" "$top/observe/library.c" "$top/observe/dlsym.c" \
		"$top/observe/wire.c" "$top/observe/pmi.c" "$@" -ldl || exit 1
}

# sees NAME EXPECTED COMMAND...: passes if COMMAND prints EXPECTED
sees() {
	name="${flags:-plain}, $1" expected=$2
	shift 2
	is "$name" "$("$@")" "$expected"
}

twice='1 2: 1/1 2/1 3/3 4/3'	# two fences, from 1 to 2 and from 3 to 4
pmix='0, in 0 since 0, work 0
2, in 0 since 2, work 1
0, in 1 since 3, work 3
done 5 a
0, in 0 since 4, work 3
1, in 0 since 4, work 3
-7, in 0 since 4, work 3
7, in 0 since 7, work 6
0, in 1 since 8, work 8
9, in 1 since 8, work 8
 1/1 2/1 3/3 4/3 6/6 7/6
done 5 e
0, in 0 since 11, work 10
 1/1 2/1 3/3 4/3 6/6 7/6 8/8 11/10 9/9 10/9
 1/1 2/1 3/3 4/3 6/6 7/6
10, in 0 since 13, work 12
-157, in 0 since 15, work 14
gathered, PMIx: 1/1 2/1 3/3 4/3 6/6 7/6 8/8 11/10 9/9 10/9 12/12 13/12 14/14 15/14'
wire='none yet, (null), nodes 0:
half of the mapping, (null), nodes -1:
one that has not ended, PMI, nodes 3:
two, PMI, nodes 3: 1/1 2/1 3/3 4/3
four, PMI2, nodes 3: 1/1 2/1 3/3 4/3 5/5 6/5 7/7 8/7
five, PMI, nodes 3: 1/1 2/1 3/3 4/3 5/5 6/5 7/7 8/7 10/10 11/10
still five, PMI, nodes 3: 1/1 2/1 3/3 4/3 5/5 6/5 7/7 8/7 10/10 11/10
nodes 3: 1/1 2/1 3/3 4/3 5/5 6/5 7/7 8/7 10/10 11/10'

shared PMI PMI
shared other OTHER
shared tail PLUGIN -L. -lPMI	# call() jumps to PMI_Barrier
shared plugin PLUGIN -O0 -L. -lPMI
shared foreign PLUGIN -O0 -L. -lother
ok 'a library calls __read_chk' sh -c 'nm -D libPMI.so | grep -q __read_chk'
for flags in '' '-fsanitize=address,undefined'; do
	built linked -Wl,--no-as-needed,-rpath,"$tmp" -L. -lPMI
	built private
	built libfence.so -shared -fPIC -Wl,-Bsymbolic-functions
	# shellcheck disable=SC2086 # options
	cc $flags -rdynamic -o preloaded -x c /dev/null -L. \
		-Wl,--no-as-needed,-rpath,"$tmp" -lfence || exit 1
	sees 'a library that is linked with the program' "$twice" ./linked
	sees 'only the first eight fences are recorded' \
		' 1/1 2/1 3/3 4/3 5/5 6/5 7/7 8/7 9/9 10/9 11/11 12/11 13/13 14/13 15/15 16/15' \
		./linked many
	sees 'a library of a private plugin' "$twice" ./private ./libplugin.so call
	# In libziaprobe.so, as in 'preloaded' here, these functions must not find themselves.
	for program in private preloaded; do
		sees "$program, a library that a private plugin tail-calls" "$twice" \
			./$program ./libtail.so call
		sees "$program, no library" '-1 -1: 1/1 2/1 3/3 4/3' ./$program
		sees "$program, a function that is looked up" "$twice" \
			./$program ./libPMI.so PMI_Barrier
	done
	sees 'two libraries: each caller calls its own' '1 20: 1/1 2/1' \
		./private ./libPMI.so PMI_Barrier ./libother.so
	# The second library is mapped where the first one was.
	sees 'a library that replaces one that was closed' '1 20: 1/1 2/1 3/3 4/3' \
		./private ./libPMI.so PMI_Barrier ./libother.so closed
	sees 'a plugin stays bound to its own library when another becomes global' "$twice" \
		./private ./libplugin.so call ./libother.so global
	sees 'a plugin is bound to the library of the program before its own' "$twice" \
		./linked ./libforeign.so call
	sees 'a look-up leaves no error in a program that is started by its name' "$twice" \
		env PATH="$tmp:$PATH" private ./libPMI.so PMI_Barrier
	sees 'a function that no library has' ' none none' ./private find PMI_Barrier
	sees 'a function that a library has' ' found found' ./linked find PMI_Barrier
	sees PMIx "$pmix" ./linked pmix
	sees "PMI's wire" "$wire" ./linked wire
done

# The answers to RTLD_NEXT and RTLD_DEFAULT depend on the caller.
for compiler in gcc clang; do
	if ! has $compiler; then
		continue	# .ci/run installs both
	fi
	export OMPI_CC=$compiler MPICH_CC=$compiler
	for flags in -O0 '-O2 -flto' '-O1 -finstrument-functions' '-O0 --coverage'; do
		if [ "$compiler $flags" = 'clang -O0 --coverage' ]; then
			continue	# needs clang's run-time library
		fi
		built private
		sees "$compiler, RTLD_NEXT" "$$ $$:" \
			env LD_PRELOAD=./libplugin.so ./private ./libplugin.so getppid
		sees "$compiler, RTLD_DEFAULT" '1 1:' ./private ./libplugin.so find_release
		sees "$compiler, a function that is looked up" "$twice" \
			./private ./libPMI.so PMI_Barrier
	done
done
finish
