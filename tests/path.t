#!/bin/sh
# The critical path: a random rank or node is delayed once at each of several known places. The
# number of nodes, the clocks, and what the process does during the delay are drawn at random. The
# delay must be the largest phase of the path, must be the outlier, and must not appear in any other
# cell of --ranks. The outlier line shows what the process mostly did during the delay. A ziaprobe
# that sees no fences must blame nobody for what happens before MPI_Init returns. Only the delays in
# Slurm's daemons, and the clocks that differ from the launch node's, need a cluster with Slurm.
#
#	ROUNDS=50 prove -v tests/path.t	instead, 50 launches at random places with each MPI
#	PLACES='exec init'		only at these places
#	SEED=7				the choices of the run that printed this seed, if ROUNDS and
#					PLACES are the same
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

# of_rack PHASE: in PHASE of the four ranks of $node and of the node after it
of_rack() {
	next=$(((rank / 2 + 1) % blocks))
	slow="$node n$((next + 1))"
	list="$((rank / 2 + 1))-$((next + 1))"
	if [ $next -eq 0 ]; then	# the last node and the first
		list=1,$blocks
	fi
	row="$1 [0-7] on ($node|n$((next + 1)))"
	outlier="$1 of rank [0-7] on ($node|n$((next + 1))) and 3 more ranks, on 2 of 4 \
nodes \(n\[$list\]\)$(above "$1")"
	cells=$(printf "$1 %s\n" $first $((first + 1)) $((2 * next)) $((2 * next + 1)) | sort |
		paste -s -d ' ' -)
}

# of_exchange RANK: in the exchange that RANK originates
of_exchange() {
	partner=$((($1 + 2) % (2 * blocks)))
	row="exchange $(on "$1"), with $(on $partner)"
	outlier="exchange of rank $(on "$1") with $(on $partner)$(above exchange)"
	cells="exchange $1"
}

# delay PLACE NODES SECONDS [KIND]: adds a case with two ranks on each of NODES nodes, in which one
# rank or node is delayed at PLACE and the clock of a random node is SECONDS ahead. KIND is what the
# process does during a delay that the shim causes: sleep (the default), spin or crowd.
delay() {
	place=$1 blocks=$2 kind=${4:-sleep}
	action=$kind
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
	srun="srun --nodes $blocks --ntasks $((2 * blocks)) --ntasks-per-node"
	case $mpi,$place in
	*,daemon|*,hidden|*,spawn|*,clock) launcher=$srun ;;
	openmpi,*) launcher=$(mpirun_on "$blocks" 2) ;;
	mpich,*) launcher=$(hydra_on "$blocks" 2) ;;
	esac
	launch="$ziatest '$launcher'"
	prepare='' slow='' fault='' least=0 row='' outlier='' cells=''
	case $place in
	daemon|hidden)
		prepare="../stop_slurmd $node" ;;
	exec|init|later|background|leave|leave2|wrapped|rack)
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
	rack)
		of_rack exec
		launch="$ziatest '$launcher {} \"../a) (b c, cut here\"'" ;;
	hidden)	# slurmstepd, from ranks without CAP_SYS_PTRACE that are not in group 1
		of_node spawn
		prepare="$prepare
			mount -o remount,hidepid=2,gid=1 /proc || echo ziaprobe: no hidepid"
		launch="$ziatest '$srun {} setpriv --bounding-set -sys_ptrace'" ;;
	mpirun)
		of_node daemon ', (orted|prted)'
		slow=$node
		launch="$ziatest '$(mpirun_on "$blocks" 2 "$dir/agent")'" ;;
	mpiexec)
		of_node daemon ', hydra_pmi_proxy'
		slow=$node
		launch="$ziatest '$(hydra_on "$blocks" 2 "$dir/agent")'" ;;
	spawn)
		of_node spawn
		prepare="echo \"required $tmp/spank.so \$PWD\" >/run/cluster/plugstack.conf
			echo $seconds >spawn-$node" ;;
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
	leave2)	# then MPICH's ranks wait in shared memory for the others on their node
		of_rank fence ', last in: [0-7] on n[1-4]'
		if [ $mpi = mpich ]; then
			row="$row|init $(on $((rank ^ 1)))"
			outlier="$outlier|init of rank $(on $((rank ^ 1))), .*"
			cells="(init $((rank ^ 1)) )?$cells"
		fi
		fault="$rank Leave2" ;;
	send)	# the first message of an originator, or the answer
		of_exchange $((rank / 2 % 2 == 0 ? rank : rank - 2))
		fault="$rank Send" ;;
	answer)
		of_exchange $(((rank + 2 * blocks - 2) % (2 * blocks)))
		fault="$rank Answer" ;;
	unseen)	# one rank enters main late, and another one works in MPI_Init
		draw_number $((2 * blocks - 1))
		pick 0 1 "$seconds" $((seconds + 1))
		outlier='unknown, because no fences were seen|exchange of rank .*'
		prepare="ln -s ../unseen ziaprobe; export ENTERS_LATE=$picked-$rank"
		fault="$(((rank + drawn) % (2 * blocks))) Pmix" ;;
	unseen-send)
		of_exchange $((rank / 2 % 2 == 0 ? rank : rank - 2))
		prepare='ln -s ../unseen ziaprobe'
		fault="$rank Send" ;;
	clock)
		of_node clock
		outlier=none cells= ;;
	local)	# mpirun existed before the start
		row="init $rank on $(hostname)"
		outlier="init of rank $rank on $(hostname)$(above init)"
		cells="init $rank"
		launch="$ziatest 'mpirun.openmpi --oversubscribe -npernode'"
		fault="$rank Pmix" ;;
	esac
	case $place,$3 in
	clock,*) ahead=$node=900 ;;
	local,*|*,0) ahead= ;;
	*)
		draw_number "$blocks"
		ahead=n$drawn=$3 ;;
	esac

	round=$((round + 1))
	late=$round-$place-$blocks-$3${4:+-$4}
	set -- "$result" "?$one_node" "?$same_kernel"
	expect "$late" 0 "$prepare
		export AHEAD=$ahead LATE='$slow' SHIM='${fault:+$fault $action $seconds}'
		$launch" "$@" '?ziaprobe: warning: the clock of .*'
	echo "$row" >"$dir/$late/row"
	echo "$outlier" >"$dir/$late/outlier"
	echo "$cells" >"$dir/$late/cells"
	echo "$least" >"$dir/$late/least"
	lates="$lates $late"
	case $launcher,$action in
	srun*)
		names=${names% "$late"}
		with_slurm="$with_slurm $late" ;;
	*,spin)	# other cases would compete with it for the CPUs
		names=${names% "$late"}
		alone="$alone $late" ;;
	esac
}

# What processes do during a delay, one after the other
pick 'sleep spin crowd' 'spin crowd sleep' 'crowd sleep spin'
kinds=$picked

# draw_delay PLACE: adds a case with a delay at PLACE, for which everything else is drawn at random
draw_delay() {
	case $1 in
	local)
		picked=1 ;;
	rack)
		picked=4 ;;
	plain|exec|init|leave)
		pick 1 2 3 4 ;;
	*)
		pick 2 3 4 ;;
	esac
	blocks=$picked
	# The clock of a node may be ahead, by less or by more than the bounds.
	pick 0 0 0.0003 0.003 0.25
	shift_by=$picked
	case $1 in
	exec|init|later)
		delay "$1" "$blocks" "$shift_by" "${kinds%% *}"
		kinds="${kinds#* } ${kinds%% *}" ;;
	*)
		delay "$1" "$blocks" "$shift_by" ;;
	esac
}

# largest CASE: the path's largest row, without its times unless it is shorter than the delay
largest() {
	awk -v least="$(cat "$dir/$1/least")" '
	/^critical path/ {
		path = $3 == "s" ? 1000 : 1 # ms in its unit
		next
	}
	!NF || /^fences/ { path = 0 }
	path && $2 * path > ms {
		ms = $2 * path
		match($0, /[0-9]+ on /)
		row = $1 " " substr($0, RSTART)
	}
	END { print row (ms < 1000 * least ? ", only " ms " ms" : "") }' "$dir/$1/out"
}

# longer CASE: "PHASE RANK" for each cell that is above its median by more than half of the delay.
# On a busy machine, any rank may wait that long for a CPU; such a cell counts only if expected.
longer() {
	for phase in daemon spawn exec init fence exchange; do
		awk -F , -v phase=${phase}_ms '
		FNR == 1 {
			for (i = 1; i <= NF; i++)
				column[$i] = i
			next
		}
		$column[phase] != "" {
			waited = phase ~ /^(exec|init)_/ ? $column["cpu_wait_ms"] : 0
			print $column[phase], $1, waited
		}' "$dir/$1/ranks" | sort -n |
			awk -v phase=$phase -v half="$((seconds * 500))" \
				-v expected=" $(tr -d '()?' <"$dir/$1/cells") " '
			{
				ms[NR] = $1
				rank[NR] = $2
				waited[NR] = $3
			}
			END {
				for (i = 1; i <= NR; i++)
					if (ms[i] > ms[int((NR + 1) / 2)] + half &&
						(waited[i] <= half ||
						index(expected, " " phase " " rank[i] " ")))
						print phase, rank[i]
			}' | sort
	done | paste -s -d ' ' -
}

# outlier_of CASE: how the outlier must be reported. On a busy machine, a rank may wait for a CPU
# for longer than it computes.
outlier_of() {
	if awk -F , -v ms="$((seconds * 1000))" '
		FNR == 1 {
			for (i = 1; i <= NF; i++)
				column[$i] = i
			next
		}
		$column["cpu_ms"] >= ms && $column["cpu_wait_ms"] > $column["cpu_ms"] { busy = 1 }
		END { exit !busy }' "$dir/$1/ranks"; then
		sed 's/mostly on the CPU/mostly waiting for a CPU( [(].*[)])?/' "$dir/$1/outlier"
	else
		cat "$dir/$1/outlier"
	fi
}

judge() {
	if [ -n "$(cat "$dir/$1/row")" ]; then
		like "$mpi, $1: the largest phase" "$(largest "$1")" "$(cat "$dir/$1/row")"
		like "$mpi, $1: the cells of --ranks" "$(longer "$1")" "$(cat "$dir/$1/cells")"
	fi
	if [ -n "$(cat "$dir/$1/outlier")" ]; then
		like "$mpi, $1: the outlier" "$(sed -n 's/^outlier: //p' "$dir/$1/out")" \
			"$(outlier_of "$1")"
	fi
}

cat >"$tmp/spank.c" <<'END'
/* If the directory given as the argument has a file spawn-NODE for this node, slurmstepd sleeps for
 * the number of seconds in that file before it creates the processes of a step. */
#include <slurm/spank.h>
#include <stdio.h>
#include <unistd.h>
SPANK_PLUGIN(late, 1)
int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	char host[64], path[4096];
	unsigned seconds;
	FILE *file;

	gethostname(host, sizeof host);
	if (argc != 1 || spank_context() != S_CTX_REMOTE)
		return 0;
	snprintf(path, sizeof path, "%s/spawn-%s", argv[0], host);
	file = fopen(path, "r");
	if (file && fscanf(file, "%u", &seconds) == 1)
		sleep(seconds);
	return 0;
}
END
cc -shared -fPIC -o "$tmp/spank.so" "$tmp/spank.c" || exit 1

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	preload_build $mpi shim
	# The delay must be longer than everything else in a launch, however busy the machine is.
	case $mpi in
	openmpi) launcher=$(mpirun_on 4 2) ;;
	mpich) launcher=$(hydra_on 4 2) ;;
	esac
	cd "$dir/real" || exit 1
	for i in 1 2 3; do
		../ziatest -v --csv ../usual 2 "$launcher" >../out-$i 2>&1 &
	done
	wait
	cluster 4 ../ziatest --csv ../usual 2 'srun -N 4 -n 8 --ntasks-per-node' >../out 2>&1 ||
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
		exec $tmp/rsh "\$@"
	END
	# stop_slurmd NODE: stops the slurmd of NODE for $seconds s
	cat >"$dir/stop_slurmd" <<-END
		#!/bin/sh
		pid=\$(cat /run/cluster/slurmd-\$1.pid)
		kill -STOP \$pid
		(sleep $seconds; kill -CONT \$pid) &
	END
	# A build by hand sees no fences. The rank R enters main S s late if \$ENTERS_LATE is S-R.
	mkdir "$dir/by-hand"
	"mpicc.$mpi" -DPAD=4096 -o "$dir/by-hand/ziaprobe" ziaprobe.c observe/*.c explain/*.c ||
		exit 1
	cat >"$dir/unseen" <<-END
		#!/bin/sh
		case \${ENTERS_LATE-} in
		*-\${PMIX_RANK:-\$PMI_RANK}) sleep \${ENTERS_LATE%-*} ;;
		esac
		LD_PRELOAD="$dir/shim.so:\${LD_PRELOAD-}" exec "$dir/by-hand/ziaprobe" "\$@"
	END
	chmod +x "$dir"/*

	places='init fence'
	if [ "$mpi" = "$first_mpi" ] || [ -n "${ROUNDS-}${PLACES-}" ]; then
		# These do not depend on the MPI library.
		places="$places daemon wrapped rack hidden spawn exec send answer clock"
		places="$places unseen unseen-send"
	fi
	# MPICH 5 has only one fence, after which all ranks wait for each other's messages.
	if ! grep -q '^fences: 1,' "$dir/out-1"; then
		places="$places later leave leave2"
	fi
	case $mpi in
	openmpi)
		places="$places mpirun local entered background" ;;
	mpich)
		places="$places mpiexec" ;;
	esac
	if [ -n "${PLACES-}" ]; then
		# shellcheck disable=SC2086 # words
		places=$(printf '%s\n' $places | grep -xF "$(printf '%s\n' $PLACES)") || continue
	fi
	lates='' alone='' with_slurm='' round=0
	if [ -n "${ROUNDS-}" ]; then
		while [ "$round" -lt "$ROUNDS" ]; do
			# shellcheck disable=SC2086 # words
			pick $places
			draw_delay "$picked"
		done
	else
		if [ -z "${PLACES-}" ]; then
			places="plain $places"
		fi
		for place in $places; do
			draw_delay "$place"
		done
	fi
	run_cases 3
	names=$alone
	run_cases 1
	nodes=4
	for names in $with_slurm; do	# some change the cluster, so each has its own
		run_cases 1
	done
	nodes=0
	for late in $lates; do
		judge "$late"
	done
done
if [ "$count" -eq 0 ]; then
	echo "Bail out! there is no such place: $PLACES"
	exit 1
fi
finish
