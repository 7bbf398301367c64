#!/bin/sh
# The layers: ziaprobe.c alone is the benchmark, explain/ needs no MPI, and no file includes one of
# a layer above its own
. "$(dirname "$0")/lib.sh"
small_cluster

included() {	# FILE...: prints which headers of the project they include
	sed -n 's/^#include "\(.*\)"/\1/p' "$@" | sort -u | paste -s -d ' ' -
}
is 'prepare/ includes only its own header' "$(included prepare/*)" prepare.h
is 'ziatest.c and ziaprobe.c include no header of the project' "$(included ziatest.c ziaprobe.c)" ''
is 'observe/ includes only the interface of explain/' "$(included observe/*)" \
	'../explain/record.h library.h observe.h'
is 'preload/ includes only its own header and that of observe/' \
	"$(included preload/*.[ch] preload/starter/*)" \
	'../../observe/observe.h ../observe/library.h ../observe/observe.h mpi.h'
is 'explain/ includes only its own headers' "$(included explain/*)" 'analysis.h record.h'
mkdir "$tmp/explain"
ok 'explain/ compiles without MPI' sh -c "cd '$tmp/explain' && cc -c '$top'/explain/*.c"

listed() {
	sed -n 's|^/[*] ---- \([a-z]*\)[.]c:.*|\1|p' observe/observe.h
}
# calls_up: prints each call of a function whose file is listed above the caller's
calls_up() {
	for file in $(listed); do
		nm "$tmp/objects/$file.o" | awk -v file="$file" '{ print file, $NF, $(NF - 1) }'
	done | awk '
	!($1 in place) { place[$1] = ++places }
	$3 ~ /^[BCDRTVW]$/ { definer[$2] = $1 }
	$3 == "U" { caller[++calls] = $1; called[calls] = $2 }
	END {
		for (i = 1; i <= calls; i++)
			if (called[i] in definer && place[definer[called[i]]] < place[caller[i]])
				print caller[i] ".c calls " called[i] " of " definer[called[i]] ".c"
	}'
}
mkdir "$tmp/objects"
( cd "$tmp/objects" && ${MPICC:-mpicc} -DINTERPOSE -O0 -c "$top"/observe/*.c ) || exit 1
is 'observe.h lists the files in the order of their calls' "$(calls_up)" ''
is 'observe.h lists all files' "$(listed | sort | paste -s -d ' ' -)" \
	"$(cd "$tmp/objects" && printf '%s\n' *.o | sed 's/[.]o$//; /^mpi$/d' | paste -s -d ' ' -)"

# A function without an entry would find no function to call.
is 'all functions that enter a fence are in their table' \
	"$(nm "$tmp/objects/pmi.o" | sed -n 's/.* T \(PMI\)/\1/p' | sort)" \
	"$(sed -n 's/.*{.name = "\(PMI[^"]*\)".*/\1/p' observe/pmi.c | sort)"

mpi=mpich
if ! has_mpi $mpi; then
	finish
	exit
fi
quick_build $mpi
mkdir "$dir/alone" "$dir/plain"
cp ziaprobe.c "$dir/alone"
run sh -c "cd '$dir/alone' && mpicc.$mpi -Wall -Wextra -DPAD=4096 ziaprobe.c -o ../plain/ziaprobe"
is 'ziaprobe.c builds alone' "$status$out$err" 0
is 'nobody calls our MPI functions but ziaprobe.c' \
	"$(nm -D --defined-only "$dir/ziaprobe" "$dir/libziaprobe.so" |
		grep -oE 'P?MPI_[A-Za-z_]+' | sort -u | paste -s -d ' ' -)" \
	'MPI_Init MPI_Init_thread MPI_Session_init PMPI_Init PMPI_Init_thread'
for size in 1 2 3 4; do
	expect $size 0 "cd ../plain && ../ziatest 2 '$(hydra_on $size 2)'" "$result"
done
expect option 2 "../plain/ziaprobe 1 2 1 -v" "ziaprobe: error: unknown option, .*: '-v'; .*" \
	'usage: LAUNCHER ziaprobe SEC USEC N'
run_cases 3
finish
