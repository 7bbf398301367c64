#!/bin/sh
# Where the time went: delays and clock offsets injected into real runs appear in the
# right column, at the right rank and host, and nowhere else
. "$(dirname "$0")/lib.sh"
needs_cluster
needs_faketime
nodes=4

# outliers CASE: "COLUMN RANK HOST" for what is more than 2 s above its column's median
outliers() {
	for column in 4 5 6 7 8 9 10; do
		sort -t , -n -k $column,$column "$dir/$1/ranks" | awk -F , -v c=$column '
		$1 == "rank" {
			name = $c
			sub(/_ms/, "", name)
		}
		$1 != "rank" && $c != "" {
			ms[++n] = $c
			where[n] = $1 " " $3
		}
		END {
			for (i = 1; i <= n; i++)
				if (ms[i] > ms[int((n + 1) / 2)] + 2000)
					print name, where[i]
		}' | sort
	done | paste -s -d ' ' -
}

# adds_up CASE: of every originator, daemon, spawn, load, init, the wait for its partner's and
# wireup are the time completed, by rank 0's clock; setup is no more than init
adds_up() {
	awk -F , '
	NR > 1 {
		ready[$1] = $4 + $5 + $6 + $8
		wireup[$1] = $9
		completed[$1] = $11
		offset[$1] = $12
		if ($7 > $8 + .000001)
			exit 1
	}
	END {
		for (r = 0; r < 8; r++) {
			if (int(r / 2) % 2 == 1)
				continue
			peer = (r + 2) % 8
			wait = ready[peer] - ready[r]
			sum = ready[r] + (wait > 0 ? wait : 0) + wireup[r]
			off = completed[r] - offset[r] - sum
			if (off < -.00001 || off > .00001)
				exit 1
			n++
		}
		exit n != 4
	}' "$dir/$1/ranks"
}

# slowest CASE: the time and the slowest of the run's row are what the rows of the ranks say
slowest() {
	awk -F , '
	FNR == 1 { file++ }
	FNR > 1 && file == 1 && $11 + 0 > time {
		time = $11 + 0
		slowest = $1
		host = $3
	}
	END { exit !(time == $5 + 0 && slowest == $7 && host == $8) }' "$dir/$1/ranks" "$dir/$1/run"
}

# delayed CASE OUTLIERS STANDS-OUT: what a delay of 4 s has to show
delayed() {
	is "$mpi, $1: where 4 s went" "$(outliers "$1")" "$2"
	stands_out "$1" "$3"
}

stands_out() {
	like "$mpi, $1: what stands out" "$(grep '^stands out' "$dir/$1/out")" \
		"stands out: $2(, [0-9.]* ms more than elsewhere)?"
}

ranks_head=rank,node,host,daemon_ms,spawn_ms,load_ms,setup_ms,init_ms,wireup_ms,repeat_ms,\
completed_ms,clock_offset_ms
run_head=started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,daemon_ms,spawn_ms,\
load_ms,setup_ms,fence_ms,wireup_ms,clock_ms,init_max_ms,repeat_max_ms,skew_max_ms,skew_host,\
skew_bound_ms,valid
started='20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{6}Z'
ms='-?[0-9]+\.[0-9]{6}'
us='[- 0-9]{7}\.[0-9]{3}'
times=" +$us $us $us  [0-7] on n[1-4]"
step=' +[0-9]+\.[0-9]{3}  [0-7] on n[1-4]'
partner='with [2367] on n[24]'
cannot='ziaprobe: error: cannot write'

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	shim_build $mpi
	cat >"$dir/ziaprobe" <<-END
		#!/bin/sh
		# The probe with SHIM's fault; on n3 started \$LATE seconds later, with the clock
		# \$SHIFT seconds ahead
		if [ -n "\${SHIM-}" ]; then
			export LD_PRELOAD="$dir/shim.so:\${LD_PRELOAD-}"
		elif [ "\$(hostname)" = n3 ] && [ -n "\${SHIFT-}" ]; then
			export LD_PRELOAD="$faketime:\${LD_PRELOAD-}"
			export FAKETIME="\$SHIFT" DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1
		elif [ "\$(hostname)" = n3 ]; then
			sleep "\${LATE-0}"
		fi
		exec "$dir/real/ziaprobe" "\$@"
	END
	chmod +x "$dir/ziaprobe"
	srun='srun --nodes 4 --ntasks 8 --ntasks-per-node'
	case $mpi in
	openmpi) mpirun='mpirun.openmpi --host n1:2,n2:2,n3:2,n4:2 -npernode' ;;
	mpich) mpirun='mpiexec.hydra -hosts n1,n2,n3,n4 -n 8 -ppn' ;;
	esac
	files='../ziatest -v --csv run --ranks ranks 2'

	expect plain 0 "../ziatest --csv run 2 '$srun'; $files '$srun'" "$result" "$result"
	expect start 0 "LATE=4 $files '$srun'" "$result"
	expect init 0 "SHIM='n3 Init sleep 4' $files '$srun'" "$result"
	expect answer 0 "SHIM='3 Send sleep 4' $files '$srun'" "$result"
	expect shift 0 "SHIFT=+20 $files '$srun'" "$result" 'ziaprobe: warning: the clock of n3 .*'
	expect pair 0 "SHIM='1 Send sleep 4' ../ziatest -v 1 'srun -N 2 -n 2 --ntasks-per-node'" \
		"$result"
	expect two 0 "$files 'srun --nodes 2 --ntasks 4 --ntasks-per-node'" "$result"
	expect three 0 "$files 'srun --nodes 3 --ntasks 6 --ntasks-per-node'" "$result"
	expect quoted 0 "../ziatest --csv \"a \\\"b's\\\" \\\$x\" --ranks ' r' 2 '$srun'" "$result"
	expect quoted-mpirun 0 \
		"../ziatest --csv \"a \\\"b's\\\" \\\$x\" --ranks ' r' 2 '$mpirun'" \
		'?ziatest: .*' "$result"
	expect cyclic "$fails" "$files 'srun --distribution=cyclic ${srun#srun}'" \
		"$result" 'ziaprobe: error: ranks 0 and 1 must .*'
	expect early "$fails" "srun -n 8 --ntasks-per-node 2 ../ziaprobe \
		\$(date -d 'now + 1 hour' +'%s %6N') 2 -v --csv run" \
		'ziaprobe: error: rank 0 on n1 began at least [^|]*'
	expect nowhere "$fails" "../ziatest --csv no/where --ranks /dev/full 2 '$srun'" \
		"$result" "$cannot no/where: No such file or directory; .*" \
		"$cannot /dev/full: No space left on device; .*"
	setup='' setup_times='' fence='' seen='none seen' daemon=slurmstepd
	steps="init +[0-9]+\\.[0-9]{3}\\|"	# MPICH's fence cannot be seen
	if [ $mpi = openmpi ]; then
		setup=$ms setup_times=$times fence=$ms
		seen='[24], PMIx, libpmix.so.2'
		last=" +[0-9]+\\.[0-9]{3}  last in: [0-7] on n[1-4]"
		steps="(setup$step\\|fence$last\\|)+setup$step\\|"
		expect setup 0 "SHIM='n3 Setup sleep 4' $files '$srun'" "$result"
	fi
	run_cases 2

	# The files and the listing
	cd "$dir" || exit 1
	responder="[0-9],[24],n[24],$ms,$ms,$ms,$setup,$ms,,,,$ms"
	originator="[0-9],[13],n[13],$ms,$ms,$ms,$setup,$ms,$ms,$ms,$ms,$ms"
	like "$mpi: a row for every rank" "$(cat plain/ranks)" \
		"$ranks_head(\|$originator){2}(\|$responder){2}(\|$originator){2}(\|$responder){2}"
	is "$mpi: in the order of the ranks" "$(cut -d , -f 1-3 plain/ranks | paste -s -d ' ' -)" \
		'rank,node,host 0,1,n1 1,1,n1 2,2,n2 3,2,n2 4,3,n3 5,3,n3 6,4,n4 7,4,n4'
	is "$mpi: also where they are misplaced" \
		"$(cut -d , -f 1-3 cyclic/ranks | paste -s -d ' ' -)" \
		'rank,node,host 0,1,n1 1,1,n2 2,2,n3 3,2,n4 4,3,n1 5,3,n2 6,4,n3 7,4,n4'
	# No daemon where the start is later than all
	row="$started,4,2,8,$ms,,[0145],n[1-4],($ms)?(,$ms){3},$fence(,$ms){5},n[1-4],$ms"
	like "$mpi: a row for every run, after one header" "$(cat plain/run)" \
		"$run_head(\|$row,1){2}"
	for case in cyclic early; do
		like "$mpi, $case: a row that is not valid" "$(cat $case/run)" "$run_head\|$row,0"
	done
	stamp_us=$(sed -n '4,$s/.* \([0-9]*\) 2 --verbose.*/\1/p' plain/out)
	like "$mpi: started is the stamp" "$(sed -n 3p plain/run)" \
		".*T.*:.*:.*\.$(printf %06d "$stamp_us")Z,.*"
	is "$mpi: names with spaces and quotes" \
		"$(cat quoted/' r' quoted-mpirun/' r' | wc -l)
$(cat quoted*/"a \"b's\" \$x" | wc -l)" '18
4'
	like "$mpi, two: no clock of two is blamed" \
		"$(grep -o 'clock skew[^;]*; ' two/out; sed 1d two/run | cut -d , -f 18-20)" \
		"clock skew: -?[0-9.]* ms between n1 and n2, within [0-9.]* ms; \\|$ms,n1 n2,$ms"
	is "$mpi, three: the last block has no repeat" \
		"$(cut -d , -f 1,10 three/ranks | sed -n 's/,$//p' | paste -s -d ' ' -)" '2 3 4 5'
	like "$mpi: the listing" "$(sed -n '/^[0-9.]* ms, /,/^MPI:/p' plain/out)" \
		"[0-9.]* ms, 4 nodes x 2 = 8 ranks\|\
\|critical path         ms  rank\|daemon$step, $daemon\|spawn$step\|load$step\
\|${steps}wireup$step, \
$partner(\|clock +[-0-9.]+  [0-7] on n[1-4])?\|\
\|stands out: (no rank|(daemon|spawn|load|setup|wireup) of rank [0-7] on n[1-4](, $partner)?\
(, and of 1 more there)?, [0-9.]* ms more than elsewhere)\|\
\|ms                   min      median         max  slowest rank\|daemon$times\|spawn$times\
\|load$times\|setup$setup_times\|init$times\
\|wireup$times, $partner\|repeat$times, $partner\|completed$times\|\
fences: $seen\|clock skew: -?[0-9.]* ms on n[1-4], within [0-9.]* ms; \
corrected time not known; the stamping kernel says: (within [0-9]+ us|not synchronised)\|\
executable: [0-9]+ bytes\
\|MPI: (Open MPI v|MPICH Version: *)[0-9].*"
	cd "$top" || exit 1

	# The delays
	for case in start init answer shift; do
		ok "$mpi, $case: the phases add up" adds_up $case
		ok "$mpi, $case: the time is the ranks'" slowest $case
	done
	delayed start 'load 4 n3 load 5 n3' 'load of rank [45] on n3, and of 1 more there'
	if [ $mpi = openmpi ]; then
		delayed setup 'setup 4 n3 setup 5 n3' \
			'setup of rank [45] on n3, and of 1 more there'
		delayed init 'setup 4 n3 setup 5 n3 init 4 n3 init 5 n3' \
			'setup of rank [45] on n3, and of 1 more there'
	else
		delayed init 'init 4 n3 init 5 n3' 'no rank'
	fi
	delayed answer 'wireup 1 n1' 'wireup of rank 1 on n1, with 3 on n2'
	stands_out pair 'wireup of rank 0 on n1, with 1 on n2'
	is "$mpi, shift: n3's clock is 20 s ahead, no phase is longer" "$(outliers shift)" ''
	ok "$mpi, shift: the time has the 20 s" \
		awk -F , 'NR == 2 { exit !($5 > 20000) }' "$dir/shift/run"
done
finish
