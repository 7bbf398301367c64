#!/bin/sh
# Faults injected into real clusters: the timeout says who waits for what and ends the
# job; and whatever breaks, the status is not 0, there is no result but one that came before the
# fault, and nothing is left
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=3

late='ziaprobe: error: timeout of [0-9]+ s: rank'
waited='has waited [0-9]+ s for'
own='has waited [0-9]+ s in its own part of MPI_Init'
report="$waited the report"
after="$waited the other ranks, after the result"

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	shim_build $mpi
	cat >"$dir/ziaprobe" <<'END'
#!/bin/sh
# The probe, but rank $STOP stops before it starts, $SHIM happens in it, $MASK execs it
dir=${0%/*}
RANK=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}
if [ "$RANK" = "${STOP-}" ]; then
	"$dir/alarm" Start.0 Start.1 Start.2 Start.4 Start.5 &
	kill -STOP $$
fi
export RANK MARKS="$PWD" LD_PRELOAD="$dir/shim.so:${LD_PRELOAD-}"
exec ${MASK-} "$dir/real/ziaprobe" "$@"
END
	cat >"$dir/alarm" <<'END'
#!/bin/sh
# alarm CALL.RANK...: when each RANK has come to its CALL, time runs out for all
for mark; do
	until [ -e "$mark" ]; do
		sleep 0.02
	done
done
pkill -ALRM -x ziaprobe
END
	chmod +x "$dir/ziaprobe" "$dir/alarm"
	srun='srun --nodes 3 --ntasks 6 --ntasks-per-node'
	case $mpi in
	openmpi) mpirun='mpirun.openmpi -x STOP -x SHIM --host n1:2,n2:2,n3:2 -npernode' ;;
	mpich) mpirun='mpiexec.hydra -hosts n1,n2,n3 -n 6 -ppn' ;;
	esac
	export srun mpirun

	# The link of a node goes down. Whether the others come out of MPI_Init without n2 is the
	# MPI's affair, and so is to find no route, and end the job before the timeout.
	expect link "$fails" \
		'export UCX_TLS=tcp,self SHIM="n2 Init ip link set eth0 down"
		../ziatest -t 12 2 "$srun"
		status=$?
		! grep -q "Fatal error in .*MPI_" out || echo "ziaprobe: MPI gave up"
		exit $status' \
		"($late [01] on n1 $waited .*|ziaprobe: MPI gave up)" \
		"*$late [0-5] on n[1-3] $waited .*"

	# A rank that never gets to MPI_Init: one line a node, or two where one rank is at work in
	# it and one waits. mpirun lets a stopped process go on before it ends it.
	init=MPI_Init
	if [ $mpi != mpich ]; then
		init='(the others in MPI_Init|MPI_Init)'
	fi
	for launcher in srun mpirun; do
		expect stopped-$launcher "$fails" "STOP=3 ../ziatest -t 99 2 \"\$$launcher\"" \
			"$late [01] on n1 $waited $init|$late [01] on n1 $own" \
			"?$late 1 on n1 ($waited the others in MPI_Init|$own)" \
			"$late 2 on n2 $waited $init|$late 2 on n2 $own" \
			"?$late 3 .*" \
			"$late [45] on n3 $waited $init|$late [45] on n3 $own" \
			"?$late 5 on n3 ($waited the others in MPI_Init|$own)"
	done
	# A rank that is late in its own part of MPI_Init speaks, and before those that wait for it.
	if [ $mpi = openmpi ]; then
		expect own-part "$fails" \
			'come="Fence.0 Fence.1 Fence.2 Fence.4 Fence.5"
			export SHIM="3 Setup ../alarm $come; sleep 60"
			../ziatest -t 99 2 "$srun"' \
			"$late [01] on n1 $waited the others in MPI_Init" \
			"$late 2 on n2 $waited the others in MPI_Init" \
			"$late 3 on n2 $own" \
			"$late [45] on n3 $waited the others in MPI_Init"
	fi
	# A responder, and an originator, that is stuck in the exchange.
	expect responder "$fails" \
		'come="Gather.0 Gather.2 Gather.4 Send.1 Send.5"
		export SHIM="3 Recv kill -STOP \$PPID; ../alarm $come"
		../ziatest -t 99 2 "$srun"' \
		"$late 0 on n1 $report" \
		"$late 1 on n1 $waited the reply from rank 3" \
		"?$late 3 .*" \
		"$late 5 on n3 $waited the reply from rank 1"
	expect originator "$fails" \
		'come="Gather.0 Gather.2 Gather.4 Recv.3 Send.5"
		export SHIM="1 Send kill -STOP \$PPID; ../alarm $come"
		MASK="env --block-signal=ALRM" ../ziatest -t 99 2 "$srun"' \
		"$late 0 on n1 $report" \
		"?$late 1 .*" \
		"$late 3 on n2 $waited the message from rank 1" \
		"$late 5 on n3 $waited the reply from rank 1"
	# After the result rank 0 and the last rank speak.
	expect after "$fails" \
		'export SHIM="4 Ibarrier kill -STOP \$PPID; ../alarm Ibarrier.0 Ibarrier.5"
		../ziatest -t 99 2 "$srun"' \
		"$result" \
		"$late 0 on n1 $after" \
		"$late 5 on n3 $after"
	# Who waits for another's clock says for whose.
	expect clock "$fails" \
		'come="Irecv.0 Irecv.4 Ibarrier.5"
		export SHIM="2 Ibcast ../alarm $come; kill -STOP \$PPID"
		../ziatest -t 99 2 "$srun"' \
		"$result" \
		"$late 0 on n1 $waited the clock of rank 2, after the result" \
		"?$late 2 .*" \
		"$late 4 on n3 $waited the clock of rank 0, after the result" \
		"$late 5 on n3 $after"
	# The handler runs in a helper thread, and rank 0's main thread goes on before it
	# ends: no result follows the timeout, nor another status. Open MPI 5 may end another
	# rank with 14, as rank 0 is gone.
	expect report '(124|14)' \
		'come="Gather.1 Gather.2 Gather.3 Gather.4 Gather.5"
		SHIM="0 Gather ../alarm $come; until grep -q rank.0 out; do sleep 0.02; done"
		export SHIM HELPER=1
		../ziatest -t 99 2 "$srun"' \
		"$late 0 on n1 $report" \
		"$late 5 on n3 $report"
	expect finalize "$fails" \
		'SHIM="0 Finalize kill -ALRM \$PPID" HELPER=1 ../ziatest -t 99 2 "$srun"' \
		"$result" "$late 0 on n1 $after"

	# A world that is refused, where time runs out before it has left
	expect refused 124 \
		'export SHIM="0 Finalize kill -ALRM \$PPID" HELPER=1
		srun -N 3 -n 5 ../ziaprobe $(date +"%s %6N") 2 -t 60' \
		'ziaprobe: error: 5 processes .*' "$late 0 on n1 $report"
	# A full pipe on stderr keeps nobody from leaving.
	expect full-pipe 124 \
		'mkfifo pipe
		exec 3<>pipe
		dd if=/dev/zero bs=65536 count=1 >&3 2>/dev/null
		timeout -s KILL 20 ../ziaprobe 1 2 1 -t 9 2>&3'

	# The launcher ends the others; MPICH's mpiexec once did not, and the timeout did.
	expect killed "$fails" 'SHIM="3 Recv kill -KILL \$PPID" ../ziatest -t 60 2 "$srun"' \
		"*$late [0-5] on n[1-3] $waited .*"
	expect killed0 "$fails" 'SHIM="0 Send kill -KILL \$PPID" ../ziatest -t 60 2 "$srun"' \
		"*$late [0-5] on n[1-3] $waited .*"
	expect killed-mpirun "$fails" \
		'SHIM="3 Recv kill -KILL \$PPID" ../ziatest -t 60 2 "$mpirun"' \
		"*$late [0-5] on n[1-3] $waited .*"
	expect srun-killed 137 'SHIM="0 Recv pkill -KILL -x srun" ../ziatest -t 60 2 "$srun"'
	expect srun-ended "$fails" \
		'SHIM="0 Recv kill -STOP \$PPID; pkill -TERM -x srun" ../ziatest 2 "$srun"'
	expect slurmd "$fails" \
		'../ziatest -t 60 2 "kill -KILL \$(cat /run/cluster/slurmd-n1.pid); $srun"'
	expect missing "$fails" \
		'ssh n2 mount -t tmpfs tmpfs "$dir/real"; ../ziatest -t 60 2 "$srun"'
	# Nowhere to print the result: the row is not valid.
	expect full "$fails" \
		'$srun 2 sh -c "exec ../ziaprobe 1 2 2 --csv csv 2>/dev/full"
		status=$?
		sed "1d; s/.*,/ziaprobe: valid /" csv
		exit $status' \
		'ziaprobe: valid 0'
	run_cases 4
	if [ $mpi = openmpi ]; then
		like "$mpi, own-part: the useful line comes first" \
			"$(grep -m 1 '^ziaprobe' "$dir/own-part/out")" "$late 3 .*"
	fi
done
finish
