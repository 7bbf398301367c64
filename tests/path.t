#!/bin/sh
# The critical path: a delay injected at a known place, on a node that chance chooses, is its
# largest step, there, and stands out; and the steps add up to the time, in every run
. "$(dirname "$0")/lib.sh"
needs_cluster
needs_faketime
nodes=4
cpp -include slurm/spank.h /dev/null >/dev/null 2>&1 ||
	skip_all 'no slurm/spank.h; tests/setup installs it'

# draw COUNT: leaves in $drawn a number from 1 to COUNT, by chance; the same SEED gives the same
seed=${SEED:-$(date +%s)}
draws=0
diag "SEED=$seed"
draw() {
	draws=$((draws + 1))
	drawn=$(($(echo "$seed $draws" | cksum | cut -d ' ' -f 1) % $1 + 1))
}

# late NAME PLACE WHERE COMMAND [LINE]: a case whose delay is PLACE's, in the ranks or on the node
# WHERE: a pattern for what the largest step's row ends in. '-': no delay. COMMAND may also say
# LINE.
late() {
	expect "$1" 0 "$4" "$result" ${5+"$5"}
	lates="$lates $1"
	echo "$2" >"$dir/$1/place"
	echo "$3" >"$dir/$1/where"
}

# adds_up CASE: every figure of the path in what it printed, and in the row of --csv
adds_up() {
	awk -F , '
	function off(a, b) {
		return a - b > .0000005 || b - a > .0000005
	}
	FILENAME ~ /csv$/ && FNR == 2 {
		for (i = 9; i <= 15; i++)
			columns += $i
		rows = 1
		time = $5
	}
	FILENAME !~ /csv$/ {
		split($0, word, " ")
		if (/^[0-9.]+ ms, /)
			printed = word[1]
		if (/^critical path/)
			path = 1
		else if (path && !NF)
			path = 0
		else if (path) {
			steps += word[2]
			if (word[2] < 0 && word[1] != "clock")
				negative = 1
		}
	}
	END {
		exit !rows || off(steps, printed) || off(columns, steps) || negative ||
			time - steps > .000501 || steps - time > .000501
	}' "$dir/$1/csv" "$dir/$1/out"
}

# largest CASE: the row of its largest step, without the figure
largest() {
	sed -n '/^critical path/,/^$/p' "$dir/$1/out" | sed 1d | sort -k 2,2nr |
		awk 'NR == 1 { $2 = ""; print }' | sed 's/  */ /g; s/ $//'
}

cat >"$tmp/spank.c" <<'END'
/* On a node for which there is a file spawn-NODE in the directory that is its argument, slurmstepd
 * sleeps for the seconds in it before it creates the processes of a step. */
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
	shim_build $mpi
	# The delay is longer than all else in a launch, however busy the machine is.
	cd "$dir/real" || exit 1
	cluster 4 ../ziatest --csv ../usual 2 'srun -N 4 -n 8 --ntasks-per-node' >../out 2>&1 ||
		diag "$(cat ../out)"
	cd "$top" || exit 1
	seconds=$(awk -F , '{ ms = $5 } END { print 2 + int(ms / 250) }' "$dir/usual")
	cat >"$dir/ziaprobe" <<-END
		#!/bin/sh
		# The probe with SHIM's fault; on \$AHEAD's node with a clock that is ahead
		preload=$dir/shim.so
		if [ "\$(hostname)" = "\${AHEAD%=*}" ]; then
			preload=$faketime:$dir/shim.so
			export FAKETIME="+\${AHEAD#*=}" DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1
		fi
		export LD_PRELOAD="\$preload:\${LD_PRELOAD-}"
		exec "$dir/real/ziaprobe" "\$@"
	END
	# What starts the probe as a child, with a name that /proc/PID/stat does not make easy
	printf '#!/bin/sh\n"$@"\nexit\n' >"$dir/a) (b c"
	# As a task prolog: late on the node \$PROLOG
	cat >"$dir/task_prolog" <<-END
		#!/bin/sh
		if [ "\$(hostname)" = "\$PROLOG" ]; then
			sleep $seconds
		fi
	END
	# As ssh: it is late on the node \$AGENT
	cat >"$dir/agent" <<-END
		#!/bin/sh
		case " \$* " in
		*" \$AGENT "*) sleep $seconds ;;
		esac
		ssh "\$@"
		exit
	END
	# stop_slurmd NODE: it answers \$seconds later
	cat >"$dir/stop_slurmd" <<-END
		#!/bin/sh
		pid=\$(cat /run/cluster/slurmd-\$1.pid)
		kill -STOP \$pid
		(sleep $seconds; kill -CONT \$pid) &
	END
	chmod +x "$dir"/*
	probe='../ziatest -v --csv csv'
	srun="$probe 2 'srun --nodes 4 --ntasks 8 --ntasks-per-node'"
	three="$probe 2 'srun --nodes 3 --ntasks 6 --ntasks-per-node'"
	# Where MPI_Init does not wait for all, a message that comes early can crash Open MPI
	again="
		for try in 1 2 3 4 5 6 7 8; do
			$srun >try 2>&1 && break
		done
		cat try"
	lates=

	node() {	# leaves in $node a node, and in $ranks the pattern of its ranks
		draw "${1-4}"
		node=n$drawn
		ranks="[$((2 * drawn - 2))$((2 * drawn - 1))] on $node"
	}

	# Whether Open MPI comes up at all, where nobody is late: with Slurm 20.11 no partner is
	# ever found
	launches_by_tree() {
		SLURM_PMIX_FENCE=tree cluster 2 sh -c "for try in 1 2 3 4; do
			'$dir/ziatest' -t 30 1 'srun -N 2 -n 2 --ntasks-per-node' && exit
		done" >"$tmp/tree" 2>&1
		grep -q ^Slowest "$tmp/tree"
	}

	# shim CALL PHASE [RUN [LINE]]: a process of a node is late in CALL; the case is CALL-RUN
	shim() {
		node
		rank=$((2 * drawn - 2))
		draw 2
		rank=$((rank + drawn - 1))
		where="$rank on $node"
		if [ "$2" = fence ]; then
			where='last in: .*'
		fi
		late "$1${3:+-$3}" "$2" "$where" "
			SHIM='$rank $1 sleep $seconds' AHEAD=${AHEAD-} $srun" ${4+"$4"}
	}

	late plain - - "$srun"
	node
	late daemon daemon "$ranks, slurmstepd" "../stop_slurmd $node; $srun"
	node
	late spawn spawn "$ranks" "
		echo \"required $tmp/spank.so \$PWD\" >/run/cluster/plugstack.conf
		echo $seconds >spawn-$node
		$srun"
	node
	late prolog load "$ranks" "export PROLOG=$node
		$probe 2 'srun --task-prolog=$dir/task_prolog --nodes 4 --ntasks 8 \\
			--ntasks-per-node'"
	shim Load load
	if [ $mpi = openmpi ]; then
		shim Setup setup
		shim Later setup
		shim Fence fence
	fi
	# Clocks that are ahead by less and by more than the bound of their comparison
	if [ $mpi = openmpi ]; then
		for ahead in 0.0003 0.003 0.25; do
			node
			export AHEAD="$node=$ahead"
			shim Setup setup $ahead "?ziaprobe: warning: the clock of $node .*"
		done
		unset AHEAD
		# A fence that may be no barrier, so that all wait later: whose setup it was may not
		# show, but it is not another's
		node
		tree=$node
		if launches_by_tree; then
			late tree - - "
				export SLURM_PMIX_FENCE=tree SHIM='$node Setup sleep $seconds'
				$again"
		else
			skip "$mpi, tree" 'no launch by SLURM_PMIX_FENCE=tree: its fence loses data'
		fi
	fi
	# What else launches, and what cannot be read
	node 3
	late three daemon "$ranks, slurmstepd" "../stop_slurmd $node; $three"
	node
	late wrapped daemon "$ranks, a\) \(b c" "../stop_slurmd $node
		$probe 2 'srun --nodes 4 --ntasks 8 --ntasks-per-node {} \"../a) (b c\"'"
	node
	late hidden spawn "$ranks" "../stop_slurmd $node
		mount -o remount,hidepid=2 /proc
		chmod 777 .
		setpriv --reuid 65534 --regid 65534 --clear-groups $srun"
	case $mpi in
	openmpi)
		node
		late mpirun daemon "$ranks, (orted|prted)" "
			export AGENT=$node OMPI_MCA_plm_rsh_agent=$dir/agent
			export PRTE_MCA_plm_ssh_agent=$dir/agent
			$probe 2 'mpirun.openmpi --host n1:2,n2:2,n3:2,n4:2 -npernode'" \
			'?ziatest: .*'
		node
		late async init '' "
			export SHIM='$node Setup sleep $seconds' OMPI_MCA_async_mpi_init=1
			$again" ;;
	mpich)
		late mpiexec daemon "$ranks, hydra_pmi_proxy" "
			export AGENT=$node
			$probe 2 'mpiexec.hydra -launcher ssh -launcher-exec $dir/agent \
				-hosts n1,n2,n3,n4 -n 8 -ppn'" '?ziatest: .*'
		node
		late init init '' "
			export SHIM='$node Start sleep $seconds'
			$srun" ;;
	esac
	# The answer: of a node that responds
	draw 2
	rank=$((4 * drawn - 2))
	node=n$((2 * drawn))
	draw 2
	rank=$((rank + drawn - 1))
	late answer wireup "with $rank on $node" "SHIM='$rank Send sleep $seconds' $srun"
	run_cases 3

	if [ -d "$dir/tree" ]; then
		like "$mpi, tree: nobody else stands out" \
			"$(grep '^stands out' "$dir/tree/out")" \
			"stands out: (no rank|setup of rank . on $tree,.*)"
	fi
	for name in $lates; do
		place=$(cat "$dir/$name/place")
		where=$(cat "$dir/$name/where")
		ok "$mpi, $name: the steps add up" adds_up "$name" || diag "$(cat "$dir/$name/out")"
		if [ "$place" = - ]; then
			continue
		fi
		like "$mpi, $name: the largest step" "$(largest "$name")" "$place( .*)?$where"
		outlier="$place of rank (.*)?${where%,*}(,.*)?"
		case $place in
		fence|init) outlier='(no rank|(daemon|spawn|load|setup|wireup) of rank .*)' ;;
		esac
		like "$mpi, $name: stands out" "$(grep '^stands out' "$dir/$name/out")" \
			"stands out: $outlier"
	done
done
finish
