#!/bin/sh
# ziaprobe called directly, as ReFrame tests do: the result's format, wrong arguments
# said once, and that no number is printed as if it were the one specified
. "$(dirname "$0")/lib.sh"
needs_cluster

usage='usage: LAUNCHER ziaprobe SEC USEC N [^|]*'
error='ziaprobe: error:'

# places FIRST SECOND KIND HOST HOST N: the error of misplaced ranks, and its remedies
places() {
	echo "$result\|$error ranks $1 and $2 must be on $3 but are on $4 and $5; [^|]* N = $6 .*--distribution=block .*ppr:$6:node"
}

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	quick_build $mpi
	dir=$tmp/$mpi
	printf 'n1\nn2\n' >"$dir/hosts"
	for host in 'contained c$SLURM_PROCID' 'cloned clone'; do
		printf '#!/bin/sh\nexec unshare --uts sh -c "hostname %s; exec $*"\n' "${host#* }" \
			>"$dir/${host% *}"
		chmod +x "$dir/${host% *}"
	done
	SLURM_MPI_TYPE=$(pmi $mpi)
	export SLURM_MPI_TYPE
	cases "$dir" 2 <<'END'
now       srun -n 1 ./ziaprobe $(date +'%s %6N') 1
65s       srun -n 1 ./ziaprobe $(date -d '65 seconds ago' +'%s %6N') 1
2h        srun -n 1 ./ziaprobe $(date -d '2 hours ago' +'%s %6N') 1
wrong1    srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe
wrong2    srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe 1 2
wrong3    srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe 1 2 3 4
wrong4    srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe 1 2 0
wrong5    srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe 1 2 x
wrong6    srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe 1 x 1
wrong7    srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe x 2 1
wrong8    srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe 1 1000000 1
wrong9    srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe 1 2 99999999999
wrong10   srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe 1 2 2 --timeout 0
wrong11   srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe --timeout 5 1 2
wrong12   srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe 1 2 2 --unknown
world     srun -N 2 -n 5 ./ziaprobe 1 2 2
future    srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe $(date -d 'now + 1 hour' +'%s %6N') 2
soon      srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe $(date -d 'now + 50 seconds' +'%s %6N') 2
own       srun -N 2 -n 4 --ntasks-per-node 2 sh -c '[ $SLURM_PROCID = 0 ] || sleep .1; exec ./ziaprobe $(date +"%s %6N") 2'
timely    srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe $(date +'%s %6N') 2 --timeout 60
cyclic    ./ziatest 4 'srun --distribution=cyclic -N 2 -n 8 --ntasks-per-node'
plane2    ./ziatest 4 'srun --distribution=plane=2 -N 2 -n 8 --ntasks-per-node'
plane4    ./ziatest 4 'srun --distribution=plane=4 -N 2 -n 8 --ntasks-per-node'
plane4of2 srun --distribution=plane=4 -N 2 -n 8 --ntasks-per-node 4 ./ziaprobe $(date +'%s %6N') 2
plane2of2 srun --distribution=plane=2 -N 2 -n 8 --ntasks-per-node 4 ./ziaprobe $(date +'%s %6N') 2
block     srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe $(date +'%s %6N') 4
posix     POSIXLY_CORRECT=1 ./ziatest -t 60 2 'srun -N 2 -n 4 --ntasks-per-node'
late      srun --mpi=pmix -K -N 2 -n 4 --ntasks-per-node 2 sh -c '[ $SLURM_PROCID != 0 ] || sleep .5; exec ./ziaprobe 1 2 2'
packed    srun -N 2 -n 8 --ntasks-per-node 4 ./ziaprobe $(date +'%s %6N') 2
one       ./ziatest 2 'srun -N 1 -n 2 --ntasks-per-node'
stale     OMPI_COMM_WORLD_SIZE=64 srun -N 2 -n 4 --ntasks-per-node 2 ./ziaprobe $(date +'%s %6N') 2
conts     srun -N 2 -n 4 --ntasks-per-node 2 ./contained ./ziaprobe $(date +'%s %6N') 2
clones    srun -N 2 -n 2 --ntasks-per-node 1 ./cloned ./ziaprobe $(date +'%s %6N') 1
onekernel srun -N 1 -n 2 ./contained ./ziaprobe $(date +'%s %6N') 1
openmpi   ./ziatest 2 'mpirun.openmpi --oversubscribe -n 4 --host n1:2,n2:2 -npernode'
hydra     ./ziatest 2 'mpiexec.hydra -hosts n1,n2 -n 4 -ppn'
pmix      ./ziatest 2 'srun --mpi=pmix -N 2 -n 4 --ntasks-per-node'
pmi2      ./ziatest 2 'srun --mpi=pmi2 -N 2 -n 4 --ntasks-per-node'
none      ./ziatest 2 'srun --mpi=none -N 2 -n 4 --ntasks-per-node'
unsized   mpirun.openmpi --host n1:2,n2:2 env -u OMPI_COMM_WORLD_SIZE ./ziaprobe $(date +'%s %6N') 1
single    srun --mpi=pmix -n 2 sh -c '[ $SLURM_PROCID = 0 ] || exec mpirun.openmpi -n 1 ./ziaprobe $(date +"%s %6N") 1'
pty       SLURM_STEP_NUM_TASKS=32 SLURM_PROCID=0 mpiexec.hydra -hosts n1,n2 -n 2 ./ziaprobe $(date +'%s %6N') 1
nofile    OMPI_MCA_hostfile=hosts mpirun.openmpi --oversubscribe -n 4 ./ziaprobe $(date +'%s %6N') 2
END
	expect() {	# CASE WHAT PATTERN STATUS
		outcome "$dir" "$1" "$mpi, $2" "$3" "$4"
	}
	expect now 'one rank, just started' "$result\|$one_node" 0
	expect 65s 'started 65 s ago' "Time test was completed in   1:[0-5][0-9] min:sec\|Slowest rank: 0\|$one_node" 0
	expect 2h 'started 2 hours ago' "Time test was completed in 120:[0-5][0-9] min:sec\|Slowest rank: 0\|$one_node" 0
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		expect wrong$i "wrong arguments, $i: said once" "$error [^|]*\|$usage" 2
	done
	expect world '5 processes, N of 2: said once' "$error 5 processes [^|]*N = 2[^|]*" 2
	expect future 'to start in an hour: no result' \
		"$error rank 0 on n1 began 3[56][0-9][0-9]\.[0-9]{6} s before the start; [^|]*" "$fails"
	expect soon 'to start in some seconds: no result' \
		"$error rank 0 on n1 began [0-9]{1,2}\.[0-9]{6} s before the start; [^|]*" "$fails"
	expect timely 'a timeout that does not run out changes nothing' "$result" 0

	expect own 'every rank with a start of its own: no result' \
		"$error ranks 0 and [1-3] were told different starts; [^|]*" "$fails"
	expect posix 'POSIXLY_CORRECT changes nothing' "$result" 0
	expect block 'a block on two nodes, not one node' "$(places 0 2 'one node' n1 n2 4)" "$fails"

	expect cyclic 'ranks placed cyclically' "$(places 0 1 'one node' n1 n2 4)" "$fails"
	expect plane2 'planes of half a block' "$(places 0 2 'one node' n1 n2 4)" "$fails"
	expect plane4 'planes of a block are blocks' "$result" 0
	expect plane4of2 'planes of two blocks' "$(places 0 2 'different nodes' n1 n1 2)" "$fails"
	expect plane2of2 'planes of a block, two of them on a node' \
		"$(places 0 4 'different nodes' n1 n1 2)" "$fails"
	expect packed 'two blocks on a node' "$(places 0 2 'different nodes' n1 n1 2)" "$fails"
	expect one 'one node' "$result\|$one_node" 0

	expect stale "a variable that another launcher has left" "$result" 0
	expect conts 'a host name of its own for every rank' "$result" 0
	expect clones 'one host name for two nodes' "$result" 0
	expect onekernel 'two host names on one kernel' \
		"$result\|ziaprobe: warning: ranks 0 and 1 are on one kernel, as c0 and c1: [^|]*" 0

	# Each MPI's executable under the launchers of both.
	mismatch="$error the launcher started 4 processes but MPI sees 1: [^|]*"
	case $mpi in
	openmpi)
		expect openmpi "mpirun" "ziatest: [^|]*|$result" 0
		expect hydra "MPICH's mpiexec" "$mismatch" "$fails"
		expect pmix 'srun --mpi=pmix' "$result" 0
		expect pmi2 'srun --mpi=pmi2: Open MPI itself refuses' '' "$fails"
		expect none 'srun --mpi=none: Open MPI itself refuses' '' "$fails"
		expect single 'mpirun -n 1 within task 1 of a srun' "$result\|$one_node" 0
		expect nofile 'a hostfile that mpirun ignores' \
			"$(places 0 2 'different nodes' login login 2)" "$fails" ;;
	mpich)
		expect openmpi "Open MPI's mpirun" "$mismatch" "$fails"
		expect hydra mpiexec "$result" 0
		expect pmix 'srun --mpi=pmix' "$mismatch" "$fails"
		expect pmi2 'srun --mpi=pmi2' "$result" 0
		expect none 'srun --mpi=none' "$mismatch" "$fails"
		# Where no number of processes is known, rank 0 cannot know.
		expect unsized "Open MPI's mpirun, ranks alone known" \
			"($result\|$one_node\|)?${mismatch%4 proc*}several processes [^|]*(\|$result\|$one_node)?" "$fails"
		expect pty "mpiexec after srun --pty" "$result" 0
		expect late 'rank 0 later than the others' "$mismatch" "$fails" ;;
	esac
done
finish
