#!/bin/sh
# Faults injected into real clusters: the timeout says who waits for what and ends the
# job; and whatever breaks, there is no result, a status that is not 0 and nothing left
. "$(dirname "$0")/lib.sh"
needs_cluster

line='ziaprobe: error: timeout of [0-9]+ s: rank'
waited='has waited [0-9]+ s for'

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	quick_build $mpi
	dir=$tmp/$mpi
	mpicc.$mpi -shared -fPIC -o "$dir/shim.so" tests/shim.c
	mkdir "$dir/faulty"
	cat >"$dir/faulty/ziaprobe" <<'END'
#!/bin/sh
# The probe, but rank $STOP stops before it starts, $SHIM happens in it, $MASK execs it
[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}" != "${STOP-}" ] || kill -STOP $$
[ -z "${SHIM-}" ] || export LD_PRELOAD="$PWD/../shim.so:${LD_PRELOAD-}"
exec ${MASK-} ../ziaprobe "$@"
END
	chmod +x "$dir/faulty/ziaprobe"
	SLURM_MPI_TYPE=$(pmi $mpi)
	srun='srun --nodes 3 --ntasks 6 --ntasks-per-node'
	case $mpi in
	openmpi) mpirun='mpirun.openmpi -x STOP -x SHIM --host n1:2,n2:2,n3:2 -npernode' ;;
	mpich) mpirun='mpiexec.hydra -hosts n1,n2,n3 -n 6 -ppn' ;;
	esac
	export dir srun mpirun SLURM_MPI_TYPE
	cases "$dir/faulty" 3 <<'END'
init    STOP=3 ../ziatest -t 6 2 "$srun"
init-m  STOP=3 SHIM= ../ziatest -t 6 2 "$mpirun"
stuck   SHIM='3 Recv kill -STOP $PPID' ../ziatest -t 8 2 "$srun"
stuck-m SHIM='3 Recv kill -STOP $PPID' STOP= ../ziatest -t 8 2 "$mpirun"
wrap    SHIM='1 Send kill -STOP $PPID' ../ziatest -t 8 2 "$srun"
masked  SHIM='3 Recv kill -STOP $PPID' MASK='env --block-signal=ALRM' ../ziatest -t 8 2 "$srun"
after   SHIM='4 Igather kill -STOP $PPID' ../ziatest -t 8 2 "$srun"
report  SHIM='0 Gather sleep 2' HELPER=1 ../ziatest -t 2 2 "$srun"
helper  SHIM='0 Finalize sleep 4' HELPER=1 ../ziatest -t 4 2 "$srun"
killed  SHIM='3 Recv kill -KILL $PPID' ../ziatest -t 30 2 "$srun"
killed0 SHIM='0 Send kill -KILL $PPID' ../ziatest -t 30 2 "$srun"
killedm SHIM='3 Recv kill -KILL $PPID' STOP= ../ziatest -t 30 2 "$mpirun"
srun    SHIM='0 Recv pkill -KILL -x srun' ../ziatest -t 30 2 "$srun"
term    SHIM='0 Recv pkill -TERM -x srun; sleep 30' ../ziatest 2 "$srun"
full    ../ziatest 2 "$srun" >/dev/full 2>&1
missing ssh n2 mount -t tmpfs tmpfs $dir; ../ziatest -t 30 2 "$srun"; status=$?; ssh n2 umount -l $dir; exit $status
noexec  ssh n2 mount --bind $dir $dir; ssh n2 mount -o remount,bind,noexec $dir; ../ziatest -t 30 2 "$srun"; status=$?; ssh n2 umount -l $dir; exit $status
healed  ../ziatest -t 30 2 "$srun"
END
	cases "$dir/faulty" 3 <<'END'
link    export UCX_TLS=tcp,self; SHIM='n2 Init ip link set eth0 down' ../ziatest -t 8 2 "$srun"
END
	cases "$dir/faulty" 3 <<'END'
slurmd  ../ziatest -t 30 2 "kill -KILL \$(cat /run/cluster/slurmd-n1.pid); $srun"
END
	expect() {	# CASE WHAT PATTERN STATUS
		# The ranks speak in any order; the word after 'rank' is the eighth.
		sort -s -k 8,8n -o "$dir/faulty/$1.out" "$dir/faulty/$1.out"
		outcome "$dir/faulty" "$1" "$mpi, $2" "$3" "$4"
	}
	expect init 'a rank stopped before MPI_Init: one line a node' \
		"$line [01] on n1 $waited MPI_Init\|$line 2 on n2 $waited MPI_Init\|$line [45] on n3 $waited MPI_Init" "$fails"
	# mpirun lets a stopped process go on before it ends it.
	expect init-m 'the same under mpirun' \
		"$line [01] on n1 $waited MPI_Init\|$line 2 on n2 $waited MPI_Init\|($line 3 [^|]*\|)?$line [45] on n3 $waited MPI_Init" "$fails"
	for case in stuck stuck-m masked; do
		expect $case "a responder stuck ($case)" \
			"$line 0 on n1 $waited the report\|$line 1 on n1 $waited the reply from rank 3\|($line 3 .*\|)?$line 5 on n3 $waited the reply from rank 1" "$fails"
	done
	expect wrap 'an originator stuck' \
		"$line 0 on n1 $waited the report\|($line 1 .*\|)?$line 3 on n2 $waited the message from rank 1\|$line 5 on n3 $waited the reply from rank 1" "$fails"
	after="$waited the other ranks, after the result"
	expect after 'a rank stuck after the result: rank 0 and the last say so' \
		"$result\|$line 0 on n1 $after\|$line 5 on n3 $after" "$fails"
	# The handler runs in a helper thread; rank 0's main thread goes on 1 s before it ends.
	expect report 'no result follows the timeout' \
		"$line 0 on n1 $waited the report\|$line 5 on n3 $waited the report" 124
	expect helper 'nor another status' "$result(\|$line [05] on n[13] $after){1,2}" 124
	expect killed 'a responder killed in the exchange' '' "$fails"
	expect killed0 'rank 0 killed in the exchange' '' "$fails"
	expect killedm 'a responder killed in the exchange, under mpirun' '' "$fails"
	expect srun 'the launcher killed' '' 137
	expect term 'the launcher terminated' '' "$fails"
	expect full 'nowhere to print to' '' 1
	expect missing 'ziaprobe missing on one node' '' "$fails"
	expect noexec 'ziaprobe not executable on one node' '' "$fails"
	expect healed 'all faults mended' "$result" 0
	# Whether the others come out of MPI_Init without n2 is the MPI's affair.
	expect link 'the link of a node down' \
		"$line [01] on n1 $waited [^|]*(\|$line [0-5] on n[1-3] $waited [^|]*)*" "$fails"
	expect slurmd 'a slurmd killed during the launch' '' "$fails"
done
finish
