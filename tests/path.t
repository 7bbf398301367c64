#!/bin/sh
# The critical path: a random rank or node is delayed once at each of several known places. The
# number of nodes, the clocks, and what the process does during the delay are drawn at random. The
# delay must be the largest phase of the path, must be the outlier, and must not appear in any other
# cell of --ranks. The outlier line shows what the process mostly did during the delay. Only the
# delays in Slurm's daemons, and the clocks that differ from the launch node's, need a cluster with
# Slurm.
#
#	ROUNDS=50 prove -v tests/path.t	instead, 50 launches at random places with each MPI
#	SEED=7				the choices of the run that printed this seed, if ROUNDS is
#					the same
. "$(dirname "$0")/lib.sh"
needs_cluster
small_cluster
cpp -include slurm/spank.h /dev/null >/dev/null 2>&1 ||
	skip_all 'no slurm/spank.h; tests/setup installs it'

# pick WORD...: leaves one of them in $picked
pick() {
	draw_number $#
	shift $((drawn - 1))
	picked=$1
}

# on RANK: RANK and its node
on() {
	echo "$1 on n$(($1 / 2 + 1))"
}

# has_schedstat: succeeds if the kernel records how long a process waits for a CPU
has_schedstat() {
	grep -q '[1-9]' /proc/self/schedstat 2>/dev/null
}

# above PHASE: prints a pattern for the end of the outlier line if the outlier is in PHASE
above() {
	case $1,$kind in
	exec,sleep|init,sleep) set -- ', mostly blocked' ;;
	exec,spin|init,spin) set -- ', mostly on the CPU' ;;
	exec,crowd|init,crowd) set -- ', mostly waiting for a CPU( [(].*[)])?' ;;
	*) set -- '' ;;	# what it did is not known
	esac
	echo ", [0-9.]+ m?s above the median$1"
}

# How a delay must be reported. Patterns: $row is for the largest row of the path, without its
# times, $outlier for the outlier, and $cells for the cells of --ranks that are longer than those of
# other ranks.

# of_rank PHASE [REST]: in PHASE of $rank alone; the row ends in REST
of_rank() {
	row="$1 $(on $rank)${2-}"
	outlier="$1 of rank $(on $rank)$(above "$1")"
	cells="$1 $rank"
}

# of_node PHASE [REST]: in PHASE of both ranks of $node
of_node() {
	row="$1 [$first$((first + 1))] on $node${2-}"
	outlier="$1 of rank [$first$((first + 1))] on $node and 1 more rank there$(above "$1")"
	cells="$1 $first $1 $((first + 1))"
	if [ "$blocks" -eq 1 ]; then	# all ranks are late
		outlier=none cells=
	fi
}

# of_exchange RANK: in the exchange that RANK originates
of_exchange() {
	partner=$((($1 + 2) % (2 * blocks)))
	row="exchange $(on "$1"), with $(on $partner)"
	outlier="exchange of rank $(on "$1") with $(on $partner)$(above exchange)"
	cells="exchange $1"
}

# What processes do during a delay that the shim causes, one kind of delay after another
pick 'sleep spin crowd' 'spin crowd sleep' 'crowd sleep spin'
kinds=$picked

# delay PLACE: adds a case with two ranks per node, in which one rank or node is delayed at PLACE.
# Everything else is drawn at random.
delay() {
	place=$1
	case $place in
	local)
		picked=1 ;;
	exec|init|leave)
		pick 1 2 3 4 ;;
	*)
		pick 2 3 4 ;;
	esac
	blocks=$picked
	# The clock of a node may be ahead, by less or by more than the bounds.
	draw_number "$blocks"
	pick '' '' "n$drawn=0.0003" "n$drawn=0.003" "n$drawn=0.25"
	ahead=$picked
	action='sleep'
	case $place in
	exec|init|later)
		action=${kinds%% *}
		kinds="${kinds#* } $action" ;;
	esac
	kind=$action
	if ! has_schedstat; then
		kind=none
	fi
	draw_number $((2 * blocks))
	rank=$((drawn - 1))
	case $place in
	answer)	# an odd block answers; block 0 does, too, if the number of blocks is odd
		until [ $((rank / 2 % 2)) -eq 1 ] || [ "$((rank / 2)) $((blocks % 2))" = '0 1' ]; do
			rank=$(((rank + 1) % (2 * blocks)))
		done ;;
	later)	# with MPICH, only the first rank of a node writes a command between two fences
		if [ $mpi = mpich ]; then
			rank=$((rank / 2 * 2))
		fi ;;
	clock)	# only the clock of an originator affects the result
		rank=$((rank / 4 * 4)) ;;
	esac
	first=$((rank / 2 * 2))
	node=n$((rank / 2 + 1))

	ziatest='../ziatest -v --csv csv --ranks ranks 2'
	srun=$(srun_on "$blocks" 2)
	launcher=$($launcher_on "$blocks" 2)
	case $place in
	daemon|hidden|spawn|clock)
		launcher=$srun ;;
	esac
	launch="$ziatest '$launcher'"
	prepare='' slow='' fault='' least=0
	case $place in
	daemon|hidden)
		prepare="../stop_slurmd $node" ;;
	exec|init|later|background|leave|wrapped)
		least=$seconds ;;
	entered)	# less what the fence takes
		least=$((seconds - 1)) ;;
	esac
	case $place in
	daemon)
		of_node daemon ', slurmstepd' ;;
	wrapped)
		of_node exec
		slow=$node
		launch="$ziatest '$launcher {} \"../a) (b c, cut here\"'" ;;
	hidden)	# slurmstepd, from ranks without CAP_SYS_PTRACE that are not in group 1
		of_node spawn
		prepare="$prepare
			mount -o remount,hidepid=2,gid=1 /proc || echo ziaprobe: no hidepid"
		launch="$ziatest '$srun {} setpriv --bounding-set -sys_ptrace'" ;;
	agent)
		of_node daemon ', (orted|prted|hydra_pmi_proxy)'
		slow=$node
		launch="$ziatest '$($agent_on "$blocks" 2 "$dir/agent")'" ;;
	spawn)
		of_node spawn
		prepare="echo 'required $dir/spank.so $dir/sleep_on $node' \
			>/run/cluster/plugstack.conf" ;;
	exec)
		of_rank exec
		fault="$rank Exec" ;;
	init)
		of_rank init
		fault="$rank Pmix" ;;
	later)
		of_rank init
		fault="$rank Later" ;;
	entered)
		of_rank init
		fault="$rank Entered" ;;
	background)	# every rank works after it has entered, so that nobody waits in that fence
		of_rank init
		prepare="export WORK=$((seconds + 1))"
		fault="$rank Pmix" ;;
	fence)	# in the fence of all ranks; if the rank does not wait afterwards, in its MPI_Init
		of_rank init
		row="$row|fence .*"
		outlier="none|(daemon|spawn|exec|exchange) of rank .*|$outlier"
		cells="($cells)?"
		fault="$rank Fence" ;;
	leave)
		of_rank fence ', last in: [0-7] on n[1-4]'
		fault="$rank Leave" ;;
	send)	# the first message of an originator, or the answer
		of_exchange $((rank / 2 % 2 == 0 ? rank : rank - 2))
		fault="$rank Send" ;;
	answer)
		of_exchange $(((rank + 2 * blocks - 2) % (2 * blocks)))
		fault="$rank Answer" ;;
	clock)
		of_node clock
		ahead=$node=900 outlier=none cells= ;;
	local)	# mpirun existed before the start
		ahead=
		row="init $rank on login"
		outlier="init of rank $rank on login$(above init)"
		cells="init $rank"
		launch="$ziatest 'mpirun.openmpi --oversubscribe -npernode'"
		fault="$rank Pmix" ;;
	esac
	round=$((round + 1))
	late=$round-$place-$blocks-$action
	set -- "$result" "?$one_node" "?$same_kernel"
	expect "$late" 0 "$prepare
		export AHEAD=$ahead LATE='$slow' SHIM='${fault:+$fault $action $seconds}'
		$launch" "$@" '?ziaprobe: warning: the clock of .*'
	if ! [ -d "$dir/$late" ]; then	# not chosen by --run
		return
	fi
	echo "$row" >"$dir/$late/row"
	echo "$outlier" >"$dir/$late/outlier"
	echo "$cells" >"$dir/$late/cells"
	echo "$least" >"$dir/$late/least"
	lates="$lates $late"
	case $mpi,$place,$action in
	*,hidden,*|*,spawn,*)	# it changes its cluster
		names=${names% "$late"}
		own="$own $late" ;;
	mpich,daemon,*|mpich,clock,*)
		names=${names% "$late"}
		with_slurm="$with_slurm $late" ;;
	*,spin)	# other cases would compete with it for the CPUs
		names=${names% "$late"}
		alone="$alone $late" ;;
	esac
}

# srun_on NODES PPN: prints a launcher
srun_on() {
	echo "srun --nodes $1 --ntasks $(($1 * $2)) --ntasks-per-node"
}

# judge CASE: compares what the launch shows of the delay with what it must show
judge() {
	cd "$dir/$1" || return
	shown=$(python3 "$top/tests/helpers/delays.py" "$seconds")
	outlier=$(cat outlier)
	if [ "$(echo "$shown" | sed -n 3p)" = waits ]; then
		outlier=$(sed 's/mostly on the CPU/mostly waiting for a CPU( [(].*[)])?/' outlier)
	fi
	like "$mpi, $1: the largest phase" "$(echo "$shown" | sed -n 1p)" "$(cat row)"
	like "$mpi, $1: the cells of --ranks" "$(echo "$shown" | sed -n 2p)" "$(cat cells)"
	like "$mpi, $1: the outlier" "$(sed -n 's/^outlier: //p' out)" "$outlier"
	cd "$top" || exit 1
}

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	preload_build $mpi shim
	case $mpi in
	openmpi) launcher_on=srun_on agent_on=mpirun_on remote=ssh base=4 ;;
	mpich) launcher_on=hydra_on agent_on=hydra_on remote=$top/tests/helpers/rsh base=0 ;;
	esac
	cc -shared -fPIC -DSPANK -o "$dir/spank.so" tests/helpers/fakes.c || exit 1
	# The delay must be longer than everything else in a launch, however busy the machine is.
	cd "$dir/real" || exit 1
	if [ $mpi = mpich ]; then
		for i in 1 2 3; do
			../ziatest --csv ../usual 2 "$(hydra_on 4 2)" >../out-$i 2>&1 &
		done
		wait
	fi
	cluster 4 ../ziatest -v --csv ../usual 2 "$(srun_on 4 2)" >../out 2>&1 ||
		diag "$(cat ../out*)"
	cd "$top" || exit 1
	seconds=$(sort -t , -k 5n "$dir/usual" |
		awk -F , '{ ms = $5 } END { print 1 + int(ms / 350) }')
	# sleep_on 'NODE...': sleeps if this is one of them
	cat >"$dir/sleep_on" <<-END
		#!/bin/sh
		case " \$1 " in
		*" \$(hostname) "*) sleep $seconds ;;
		esac
	END
	# A wrapper, which starts ziaprobe as a child. Its name is hard to parse in /proc/PID/stat,
	# and is too long for it.
	printf '#!/bin/sh\n%s "$LATE"\n"$@"\nexit\n' "$dir/sleep_on" >"$dir/a) (b c, cut here"
	# In place of ssh: late on the node \$LATE
	cat >"$dir/agent" <<-END
		#!/bin/sh
		case " \$* " in
		*" \$LATE "*) sleep $seconds ;;
		esac
		exec $remote "\$@"
	END
	# stop_slurmd NODE: stops the slurmd of NODE for $seconds s
	cat >"$dir/stop_slurmd" <<-END
		#!/bin/sh
		pid=\$(cat /run/cluster/slurmd-\$1.pid)
		kill -STOP \$pid
		(sleep $seconds; kill -CONT \$pid) &
	END
	chmod +x "$dir"/*

	places='init fence agent'
	if [ "$mpi" = "$first_mpi" ] || [ -n "${ROUNDS-}" ]; then
		# These do not depend on the MPI library.
		places="$places daemon wrapped hidden spawn exec send answer clock"
	fi
	# MPICH 5 has only one fence, after which all ranks wait for each other's messages.
	if ! grep -q '^fences: 1,' "$dir/out"; then
		places="$places later leave"
	fi
	if [ $mpi = openmpi ]; then
		places="$places local entered background"
	fi
	names='' lates='' alone='' with_slurm='' own='' round=0 nodes=$base
	if [ -n "${ROUNDS-}" ]; then
		while [ "$round" -lt "$ROUNDS" ]; do
			# shellcheck disable=SC2086 # words
			pick $places
			delay "$picked"
		done
	else
		for place in $places; do
			delay "$place"
		done
	fi
	run_cases 3
	names=$alone
	run_cases 1
	names=$with_slurm nodes=4
	run_cases 3
	for names in $own; do
		run_cases 1
	done
	for late in $lates; do
		judge "$late"
	done
done
finish
