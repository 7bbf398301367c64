#!/bin/sh
# The layers: ziaprobe.c alone is the benchmark, explain/ needs no MPI, and no file includes one of
# a layer above its own
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=4

included() {	# FILE...: prints which headers of the project they include
	sed -n 's/^#include "\(.*\)"/\1/p' "$@" | sort -u | paste -s -d ' ' -
}
is 'ziaprobe.c includes one header' "$(included ziaprobe.c)" observe/observe.h
is 'that header includes only what the library renames' "$(included observe/observe.h)" pmpi.h
is 'observe/ includes only the interface of explain/' "$(included observe/*)" \
	'../explain/record.h notes.h observe.h pmpi.h'
is 'explain/ includes only its own headers' "$(included explain/*)" 'analysis.h record.h'
mkdir "$tmp/explain"
ok 'explain/ compiles without MPI' sh -c "cd '$tmp/explain' && cc -c '$top'/explain/*.c"

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	quick_build $mpi
	mkdir -p "$dir/alone/observe" "$dir/plain"
	cp ziaprobe.c "$dir/alone"
	cp observe/observe.h "$dir/alone/observe"
	run sh -c "cd '$dir/alone' && mpicc.$mpi -Wall -Wextra -DPLAIN -DPAD=4096 ziaprobe.c \
		-o ../plain/ziaprobe"
	is "$mpi: ziaprobe.c and observe.h build alone" "$status$out$err" 0
	for size in 1 2 3 4; do
		srun="srun -N $size -n $((2 * size)) --ntasks-per-node"
		expect $size-srun 0 "cd ../plain && ../ziatest 2 '$srun'" "$result"
	done
	case $mpi in
	openmpi) launcher='mpirun.openmpi --host n1:2,n2:2,n3:2 -npernode' ;;
	mpich) launcher='mpiexec.hydra -hosts n1,n2,n3 -n 6 -ppn' ;;
	esac
	expect mpirun 0 "cd ../plain && ../ziatest 2 '$launcher'" "$result"
	expect option 2 "../plain/ziaprobe 1 2 1 -v" \
		'ziaprobe: error: this build, with -DPLAIN, has no options' \
		'usage: LAUNCHER ziaprobe SEC USEC N'
	expect misuse "$fails" "cd ../plain && ../ziatest 3 'srun -N 2 -n 4 --wait={}'" \
		'ziaprobe: error: the number of processes, 4, is not a multiple of N = 3; .*'
	run_cases 2
done
finish
