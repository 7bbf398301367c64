#!/bin/sh
# Where the time went: delays and clock offsets injected into real runs appear in the
# right column, at the right rank and host, and nowhere else
. "$(dirname "$0")/lib.sh"
needs_cluster
set -- /usr/lib/*/faketime/libfaketime.so.1
[ -f "$1" ] || skip_all 'no libfaketime; tests/setup installs it'

cat >"$tmp/injured" <<END
#!/bin/sh
# The probe with SHIM's fault; on n3 started \$LATE seconds later, with the clock \$SHIFT
# seconds ahead
[ "\$(hostname)\${LATE-}" = n3 ] || { [ "\$(hostname)" = n3 ] && sleep "\$LATE"; }
if [ -n "\${SHIM-}" ]; then
	export LD_PRELOAD="\$PWD/shim.so:\${LD_PRELOAD-}"
elif [ "\$(hostname)" = n3 ] && [ -n "\${SHIFT-}" ]; then
	export FAKETIME="\$SHIFT" DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1 LD_PRELOAD=$1:\${LD_PRELOAD-}
fi
exec ../ziaprobe "\$@"
END
chmod +x "$tmp/injured"

# outliers FILE: of a file of ranks, "COLUMN RANK HOST" for what is more than 1 s above its
# column's median, if it is so by the injected 2 s, within a fifth; otherwise the amount too
outliers() {
	for column in 4 5 6 7 8; do
		sort -t , -n -k $column,$column "$1" | awk -F , -v c=$column '
		$1 == "rank" { name = $c; next }
		$c != "" { v[++n] = $c; rank[n] = $1; host[n] = $3 }
		END {
			for (i = 1; i <= n; i++) {
				above = v[i] - v[int((n + 1) / 2)]
				if (above > 1000) {
					sub(/_ms/, "", name)
					print name, rank[i], host[i] (above > 1600 && above < 2400 ? "" : " " above)
				}
			}
		}' | sort
	done
}

# adds_up FILE: of every originator, launch, init, the wait for its partner's and wireup are
# the time completed, by rank 0's clock
adds_up() {
	awk -F , 'NR > 1 { launch[$1] = $4; init[$1] = $6; wireup[$1] = $7; completed[$1] = $9; offset[$1] = $10 }
	END {
		for (r = 0; r < 8; r++) {
			peer = (r + 2) % 8
			if (int(r / 2) % 2 == 0) {
				wait = launch[peer] + init[peer] - launch[r] - init[r]
				sum = launch[r] + init[r] + (wait > 0 ? wait : 0) + wireup[r]
				off = completed[r] - offset[r] - sum
				if (off < -.00001 || off > .00001) exit 1
				n++
			}
		}
		exit n != 4
	}' "$1"
}

# time_is FILE ROW: the time and the slowest of the run's row are what its file of ranks says
time_is() {
	printf '%s\n' "$2" | awk -F , -v file="$1" '{
		while ((getline line <file) > 0) {
			split(line, f, ",")
			if (f[9] + 0 > time) { time = f[9] + 0; slowest = f[1]; host = f[3] }
		}
		exit !(time == $5 + 0 && slowest == $7 && host == $8)
	}'
}

ms='-?[0-9]+\.[0-9]{6}'
us='[- 0-9]{7}\.[0-9]{3}'

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	quick_build $mpi
	dir=$tmp/$mpi/run
	mkdir "$dir"
	mpicc.$mpi -shared -fPIC -o "$dir/shim.so" tests/shim.c
	cp "$tmp/injured" "$dir/ziaprobe"
	SLURM_MPI_TYPE=$(pmi $mpi)
	srun='srun --nodes 4 --ntasks 8 --ntasks-per-node'
	case $mpi in
	openmpi) mpirun='mpirun.openmpi --host n1:2,n2:2,n3:2,n4:2 -npernode' ;;
	mpich) mpirun='mpiexec.hydra -hosts n1,n2,n3,n4 -n 8 -ppn' ;;
	esac
	export SLURM_MPI_TYPE srun mpirun
	cases "$dir" 4 <<'END'
plain   ../ziatest -v --csv run.csv --ranks plain.csv 2 "$srun"
pair    SHIM='1 Send sleep 2' ../ziatest -v 1 "srun --nodes 2 --ntasks 2 --ntasks-per-node"
odd     SHIM='1 Send sleep 2' ../ziatest -v 1 "srun --nodes 3 --ntasks 3 --ntasks-per-node"
quoted  ../ziatest --csv "a \"b's\" \$x.csv" --ranks " r" 2 "$srun"
quotedm ../ziatest --csv "a \"b's\" \$x.csv" --ranks " r,m" 2 "$mpirun"
setup   SHIM='n3 Setup sleep 2' ../ziatest -v --csv run.csv --ranks setup.csv 2 "$srun"
init    SHIM='n3 Init sleep 2' ../ziatest -v --csv run.csv --ranks init.csv 2 "$srun"
start   LATE=2 ../ziatest -v --csv run.csv --ranks start.csv 2 "$srun"
answer  SHIM='3 Send sleep 2' ../ziatest -v --csv run.csv --ranks answer.csv 2 "$srun"
shift   SHIFT=+20 ../ziatest -v --csv run.csv --ranks shift.csv 2 "$srun"
cyclic  ../ziatest --csv run.csv --ranks cyclic.csv 2 "srun --distribution=cyclic ${srun#srun}"
early   srun -n 8 --ntasks-per-node 2 ../ziaprobe $(date -d 'now + 1 hour' +'%s %6N') 2 -v --csv run.csv
nowhere ../ziatest --csv no/where.csv --ranks /dev/full 2 "$srun"
END
	cd "$dir" || exit 1
	times=" +$us $us $us  [0-7] on n[1-4]"
	# What MPICH does before it waits for the others cannot be seen.
	case $mpi in
	openmpi) setup=$ms setup_times="$times" ;;
	mpich) setup='' setup_times='' ;;
	esac
	header='rank,node,host,launch_ms,setup_ms,init_ms,wireup_ms,repeat_ms,completed_ms,clock_offset_ms'
	responder="[0-9],[24],n[24],$ms,$setup,$ms,,,,$ms"
	originator="[0-9],[13],n[13],$ms,$setup,$ms,$ms,$ms,$ms,$ms"
	like "$mpi: a row for every rank" "$(cat plain.csv)" \
		"$header(\|$originator){2}(\|$responder){2}(\|$originator){2}(\|$responder){2}"
	is "$mpi: in the order of the ranks" "$(cut -d , -f 1-3 plain.csv | tr '\n' ' ')" \
		'rank,node,host 0,1,n1 1,1,n1 2,2,n2 3,2,n2 4,3,n3 5,3,n3 6,4,n4 7,4,n4 '

	head='started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,launch_max_ms,setup_max_ms,init_max_ms,wireup_max_ms,repeat_max_ms,skew_max_ms,skew_bound_ms,valid'
	row="20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{6}Z,4,2,8,$ms,,[0145],n[1-4],$ms,$setup(,$ms){5}"
	like "$mpi: a row for every run, after one header, and which is valid" "$(cat run.csv)" \
		"$head(\|$row,1){6}(\|$row,0){2}"
	row=2
	for case in plain setup init start answer shift; do
		ok "$mpi, $case: the phases add up" adds_up $case.csv
		ok "$mpi, $case: the time is the ranks'" \
			time_is $case.csv "$(sed -n ${row}p run.csv)"
		row=$((row + 1))
	done
	stamp_us=$(sed -n 's/.* \([0-9]*\) 2 --verbose.*/\1/p' plain.out)
	like "$mpi: started is the stamp" "$(sed -n 2p run.csv)" \
		".*T.*:.*:.*\.$(printf %06d "$stamp_us")Z,.*"

	is "$mpi: nothing stands out by itself" "$(outliers plain.csv)" ''
	case $mpi in
	openmpi) late='setup 4 n3 setup 5 n3' ;;
	mpich) late='' ;;	# which does not call it
	esac
	is "$mpi, n3 is 2 s late inside MPI_Init" "$(outliers setup.csv | paste -s -d ' ' -)" "$late"
	is "$mpi, MPI_Init of n3 takes 2 s more" "$(outliers init.csv | paste -s -d ' ' -)" 'init 4 n3 init 5 n3'
	is "$mpi, n3 starts 2 s late" "$(outliers start.csv | paste -s -d ' ' -)" 'launch 4 n3 launch 5 n3'
	is "$mpi, the first answer of rank 3 takes 2 s more" "$(outliers answer.csv)" 'wireup 1 n1'
	is "$mpi, n3's clock is 20 s ahead" "$(outliers shift.csv)" ''
	ok "$mpi, n3's clock: the time has the 20 s" awk -F , 'NR == 7 { exit !($5 > 20000) }' run.csv

	# The listing.
	like "$mpi: the listing" "$(sed '1,3d' plain.out)" \
		"\|[0-9.]* ms, 4 nodes x 2 = 8 ranks\|\|ms +min +median +max  slowest rank\|launch$times\|setup$setup_times\|init$times\|wireup$times, with [2367] on n[24]\|repeat$times, with [2367] on n[24]\|completed$times\|\|stands out: (no rank|(launch|setup|init|wireup) of rank [0-7] on n[1-4](, with [2367] on n[24])?, [0-9.]* ms more than elsewhere)\|clock skew: -?[0-9.]* ms on n[1-4], within [0-9.]* ms; corrected time not known, nor is the clock that stamped the start\|executable: [0-9]+ bytes\|MPI: (Open MPI v|MPICH Version: *)[0-9].*"
	stands_out() {	# CASE PATTERN
		like "$mpi, $1: what stands out" "$(grep '^stands out' "$1.out")" \
			"stands out: $2, [12][0-9]{3}\.[0-9]{3} ms more than elsewhere"
	}
	[ $mpi = mpich ] || stands_out setup 'setup of rank [45] on n3'
	stands_out init 'init of rank [45] on n3'
	stands_out start 'launch of rank [45] on n3'
	stands_out answer 'wireup of rank 1 on n1, with 3 on n2'
	stands_out pair 'wireup of rank 0 on n1, with 1 on n2'
	stands_out odd 'wireup of rank 0 on n1, with 1 on n2'
	cd "$top" || exit 1

	for case in quoted quotedm; do
		outcome "$dir" $case "$mpi, file names with spaces and quotes ($case)" \
			"(ziatest: [^|]*\|)?$result" 0
	done
	is "$mpi, a row for each of both launchers" "$(wc -l <"$dir/a \"b's\" \$x.csv")" 3
	is "$mpi, a file for each of both launchers" "$(cat "$dir/ r" "$dir/ r,m" | wc -l)" 18
	outcome "$dir" cyclic "$mpi, ranks misplaced" "$result\|ziaprobe: error: ranks 0 and 1 must [^|]*" "$fails"
	is "$mpi, ranks misplaced: all hosts are known" \
		"$(cut -d , -f 1-3 "$dir/cyclic.csv" | tr '\n' ' ')" \
		'rank,node,host 0,1,n1 1,1,n2 2,2,n3 3,2,n4 4,3,n1 5,3,n2 6,4,n3 7,4,n4 '
	outcome "$dir" early "$mpi, a start in the future: no listing" \
		'ziaprobe: error: rank 0 on n1 began [^|]*' "$fails"
	outcome "$dir" nowhere "$mpi, files that cannot be written" \
		"$result\|ziaprobe: error: cannot write no/where.csv: No such file or directory; [^|]*\|ziaprobe: error: cannot write /dev/full: No space left on device; [^|]*" "$fails"
done
finish
