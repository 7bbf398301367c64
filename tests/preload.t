#!/bin/sh
# libziaprobe.so: the start of the user's own program is measured, and the program does not notice
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=3
error='ziaprobe: error:'

# add_cases: adds those that do not depend on the MPI library
add_cases() {
	"mpicc.$mpi" -shared -fPIC -DLAYER -o "$dir/layer.so" tests/helpers/fakes.c || exit 1
	# Scripts that start a program
	printf '%s\n' 'export LD_PRELOAD="$LD_PRELOAD:$AFTER"' 'exec "$@"' >"$dir/after.sh"
	printf '"$@"\n"$@"\nexit\n' >"$dir/two.sh"
	layered="AFTER=$dir/layer.so ../ziatest -t 90"

	expect pmpi 7 "$launch ../guest pmpi -r 7" "$result"
	expect two 7 "../ziatest 1 'env N={}' sh ../two.sh ../guest first -r 7" \
		"$result" "$one_node" "$result" "$one_node"

	# The library's entry in LD_PRELOAD is removed, wherever it is. What the cluster itself
	# preloads stays, except on a single node, where nothing hangs without it. A task prolog
	# may preload something, too.
	cp "$dir/layer.so" "$dir/other.so"
	expect preload-only 0 "unset LD_PRELOAD
		LEFT= ../ziatest 2 '$alone' ../guest first" "$result" "$one_node"
	expect preload-middle 0 "export LD_PRELOAD=$dir/other.so\${LD_PRELOAD:+:\$LD_PRELOAD}
		export AFTER=$dir/layer.so
		LEFT=\$LD_PRELOAD:\$AFTER $launch sh ../after.sh ../guest first" "$result"
	printf '#!/bin/sh\necho "export LD_PRELOAD=%s"\n' "$dir/other.so" >"$dir/prolog"
	chmod +x "$dir/prolog"
	expect preload-prolog 0 "unset LD_PRELOAD
		LEFT=$dir/other.so ../ziatest 2 'srun --task-prolog=$dir/prolog ${alone#srun }' \\
			../guest first" "$result" "$one_node"

	# Faults of MPI_Init
	expect fail 9 "FAULT=fail $layered 2 '$srun' sh ../after.sh ../guest first"
	timeout="$error timeout of 5 s: rank"
	spent='has spent [0-9]+ ms in MPI_Init: .*'
	expect hang 124 "FAULT=hang $layered -t 5 2 '$srun' sh ../after.sh ../guest first" \
		"$timeout 0 .*on n1 $spent" \
		"$error rank 0 .*on n1 is in .*sleep .*MPI_Init( \\[layer\.so\\])?( < .*)?" \
		"*$timeout [0-5] .*on n[123] has .* MPI_Init.*"

	# --where interrupts a slow MPI_Init, unless the program has only just begun by then. The
	# program may use the same signal, or block it, and sets an alarm: one that is pending and
	# blocked, one that expires meanwhile, or one that would expire much later.
	note="ziaprobe: note: after 2.5 s: rank"
	for options in '-a 0' '-a 1000' '-w -a 1'; do
		expect "where$(echo "$options" | tr -d ' ')" 7 \
			"FAULT=slow $layered -w 2.5 2 '$srun' sh ../after.sh \\
				../guest plain -r 7 $options -i" \
			"$result" '?ziaprobe: warning: --where interrupted .*' \
			"?$note 0 .*on n1 $spent" \
			'?ziaprobe: note: rank 0 .*on n1 is in .*nanosleep .*MPI_Init.*' \
			"*ziaprobe: note: .*"
	done

	# Errors are printed once, and the program continues.
	expect wrong-n 7 "../ziatest 4 'srun -N 3 -n 6 --wait={}' ../guest first -r 7" \
		"$error the number of processes, 6, is not a multiple of N = 4; .*"
	expect uneven 7 "../ziatest srun -N 2 -n 3 -- ../guest first -r 7" \
		"$error 3 processes run on 2 nodes; start the same number on every node, .*"
}

for mpi in mpich openmpi; do
	has_mpi $mpi || continue
	quick_build $mpi
	"mpicc.$mpi" -pthread -o "$dir/guest" tests/helpers/guest.c -lrt || exit 1

	srun='srun -N 3 -n 6 --ntasks-per-node'
	alone='srun -N 1 -n 2 --ntasks-per-node'
	launch="../ziatest -t 90 2 '$srun'"

	# Files with our names in the current directory are not used.
	expect first 7 "cp /bin/true ziaprobe; touch libziaprobe.so
		../ziatest -v --csv csv --ranks ranks 2 '$srun' ../guest first -r 7" "$result"
	expect words 0 '../ziatest -q srun -N 2 -n 4 --ntasks-per-node 2 -- ../guest first' \
		"$result"	# N is determined
	if has gfortran && has "mpif90.$mpi"; then
		printf 'include "mpif.h"\ncall MPI_Init(i)\ncall MPI_Finalize(i)\nend\n' \
			>"$dir/program.f90"
		"mpif90.$mpi" -o "$dir/program" "$dir/program.f90" || exit 1
		expect fortran 0 "$launch ../program" "$result"
	fi
	# The same library measures programs of another MPI library.
	case $mpi in
	openmpi) other=mpich ;;
	mpich) other=openmpi ;;
	esac
	if has_mpi "$other"; then
		"mpicc.$other" -pthread -o "$dir/stranger" tests/helpers/guest.c -lrt || exit 1
		expect other 7 "export SLURM_MPI_TYPE=$(pmi "$other")
			../ziatest 2 '$alone' ../stranger first -r 7" "$result" "$one_node"
	fi
	if [ $mpi = "$first_mpi" ]; then
		add_cases
	fi
	run_cases 3

	is "$mpi, the program in --csv" \
		"$(awk -F , "$columns"' { print $column["program"] }' "$dir/first/csv")" guest
done
finish
