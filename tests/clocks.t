#!/bin/sh
# Clocks that disagree. The nodes of tests/cluster share one clock. On some nodes, helpers/clock.c
# adds a known offset to it, so the true offsets are known exactly.
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=6

# from NODE AHEAD LAUNCHER [SYNC]: prints a command that runs ziatest on NODE. The clocks are ahead
# as in AHEAD; NODE's is known to be right to within SYNC us.
from() {
	ziatest="AHEAD='$2' LD_PRELOAD=$dir/clock.so\${LD_PRELOAD:+:\$LD_PRELOAD} \\
		ZIATEST_SYNC=${4-500} ../ziatest -v --csv csv --ranks ranks 1 '$3'"
	echo "echo $2 >ahead"
	if [ "$1" = login ]; then
		echo "$ziatest"
	else
		echo "ssh $1 \"cd '\$PWD' && SLURM_MPI_TYPE=$SLURM_MPI_TYPE $ziatest\""
	fi
}

# blamed CASE AHEAD FROM LAUNCHER WHO OFFSETS: adds a case in which a warning must report that the
# clock of WHO is 5 s off, and by which reference. OFFSETS, as printed by offsets(), are relative to
# that reference, too: the launch node's clock if a rank runs there and knows that it does, and
# otherwise the median.
blamed() {
	then='the corrected time is [0-9]+\.[0-9]{2,3} m?s'
	case $6 in
	*unknown) then='there is no corrected time, because [^|;]*' ;;
	esac
	expect "$1" 0 "$(from "$3" "$2" "$4")" "$result" "?ziaprobe: warning: ziaprobe does .*" \
		"ziaprobe: warning: the clock of $5; $then; synchronise the clocks and run again"
	echo "$6" >"$dir/$1/offsets"
	blamed="$blamed $1"
}

# quoted CASE SYNC FROM LAUNCHER LINE [WARNING]: adds a case with clocks that agree, so that every
# offset is within its bound and counts as 0. LINE of -v quotes what is known about the launch
# node's clock.
quoted() {
	expect "$1" 0 "$(from "$3" '' "$4" "$2")" "$result" ${6+"$6"}
	echo "clock offset: -?[0-9.]+ m?s \(\+/- [0-9.]+ m?s\), n[1-4] against n[1-4], $5" \
		>"$dir/$1/line"
	quoted="$quoted $1"
}

# off CASE: checks that the offset in the warning differs from 5 s by no more than the bound in it
off() {
	ok "$mpi, $1: the true offset is within the bound" awk '
	/^ziaprobe: warning: the clock of n/ {
		gsub(/[()]/, "")
		for (i = 1; i < NF; i++) {
			if ($(i + 1) == "ms" && !offset)
				offset = $i
			if ($i == "+/-")
				bound = $(i + 1)
		}
	}
	END {
		off = offset - 5000
		exit !(offset && off * off <= (bound + .001) ^ 2)
	}' "$dir/$1/out" || diag "$(cat "$dir/$1/out")"
}

# offsets CASE: prints the offset that is subtracted from the stamps of each rank, then the
# corrected time minus the result, or "unknown". All are in whole seconds, except that an exact 0 is
# printed as 0.000.
offsets() {
	awk -F , "$columns"'
	function seconds(ms) {
		return ms == 0 ? "0.000" : int(ms / 1000 + (ms < 0 ? -.5 : .5)) ""
	}
	FILENAME ~ /ranks$/ { printf "%s ", seconds($column["clock_offset_ms"]) }
	FILENAME ~ /csv$/ {
		corrected = $column["corrected_ms"]
		print corrected == "" ? "unknown" : seconds(corrected - $column["time_ms"])
	}' "$dir/$1/ranks" "$dir/$1/csv"
}

# less_than CASE SECONDS: checks that the error states less than SECONDS before the start
less_than() {
	ok "$mpi, $1: less than $2 s before the start" awk -v most="$2" '
	/^ziaprobe: error: rank/ {
		for (i = 1; i < NF; i++)
			if ($i == "least")
				before = $(i + 1)
	}
	END { exit !(before > 0 && before < most) }' "$dir/$1/out" || diag "$(cat "$dir/$1/out")"
}

srun='srun -N 4 -n 4 --ntasks-per-node'
two='srun -N 2 -n 2 --ntasks-per-node'
bare="srun --export=HOME,TMPDIR,LD_PRELOAD,OMPI_ZIATEST_SYNC ${srun#srun }"
off='is [0-9]+\.[0-9]{3} ms \(\+/- [0-9]+\.[0-9]{3} ms\)'
one_off='1 of the other [13] clocks is off'
behind="n1 $off behind that of n[2-4], the median; $one_off"
direct="ziaprobe: warning: ziaprobe cannot tell which clock gave the start \(it was called \
directly, or the launcher passed on no variables, as srun --export=NONE does\); the time may be \
wrong by that clock's offset; start it with ziatest, and let the launcher pass on OMPI_ZIATEST_\*"
known='the launch node; corrected time [0-9]+\.[0-9]{3} m?s'
unknown='the median; no corrected time, because no rank ran on the launch node'
right="the launch node's clock is synchronised to within"
doubtful="the launch node's clock is not known to be synchronised"
existed='ziaprobe: error: rank [0-3] on n[1-4] \(or its slurmstepd\) already existed at least'
existed="$existed [0-9]+\.[0-9]{6} s before the start; synchronise the clocks of n[1-4] and the \
launch node \(in a direct call, check SEC and USEC first\)"
alone='env -u AHEAD'	# The clock of the launch node alone is wrong.

for mpi in mpich openmpi; do
	has_mpi $mpi || continue
	quick_build $mpi
	mkdir "$dir/real"
	mv "$dir/ziaprobe" "$dir/real"
	cc -shared -fPIC -o "$dir/clock.so" tests/helpers/clock.c
	cat >"$dir/ziaprobe" <<-END
		#!/bin/sh
		export AHEAD="\$(cat ahead)" LD_PRELOAD="$dir/clock.so:\${LD_PRELOAD-}"
		export ASAN_OPTIONS=$ASAN_OPTIONS
		exec "$dir/real/ziaprobe" "\$@"
	END
	printf '#!/bin/sh\nsleep 2\n' >"$dir/prolog"
	chmod +x "$dir/ziaprobe" "$dir/prolog"
	case $mpi in
	openmpi) mpirun='mpirun.openmpi --host n1,n2,n3,n4 -npernode' ;;
	mpich) mpirun='mpiexec.hydra -hosts n1,n2,n3,n4 -n 4 -ppn' ;;
	esac
	blamed='' quoted=''

	blamed mpirun-n1 n1=-5 n1 "$mpirun" "n[2-4] $off ahead of that of n1, the launch node; \
3 of the other 3 clocks are off" '0.000 5 5 5 -5'
	# A clock that is ahead is proved wrong by a process, or its slurmstepd, that is older than
	# the start, but not by one that is younger.
	expect ahead-mpirun "$fails" "$(from login login=+60 "$alone $mpirun")" "$existed"
	if [ $mpi = openmpi ]; then
		# mpirun, which ziatest becomes, is never a daemon, however late it was created.
		expect own-n1 0 "$(from n1 '' "$mpirun")" "$result"
	fi
	if [ $mpi = "$first_mpi" ]; then	# the others do not depend on the MPI library
		blamed first-n2 n1=-5 n2 "$srun" "n1 $off behind that of n2, the launch node; \
$one_off" '-5 0.000 0.000 0.000 0(\.000)?'
		blamed bare-n2 n1=-5 n2 "$bare" "$behind" '-5 0.000 0.000 0.000 unknown'
		# The offsets of six clocks add up along a tree.
		blamed six 'n1=-2 n2=-3 n4=+2 n5=+1 n6=+5' login \
			'srun -N 6 -n 6 --ntasks-per-node' "n6 $off ahead of that of n3, the \
median; 5 of the other 5 clocks are off" '-2 -3 0.000 2 1 5 unknown'
		expect direct 0 'unset OMPI_ZIATEST_SYNC
			echo n1=-5 >ahead
			srun -N 4 -n 4 ../ziaprobe $(date +"%s %6N") 1' "$result" "$direct" \
			"ziaprobe: warning: the clock of $behind; there is no corrected .*"

		quoted known 500 n2 "$srun" "$known; $right 500 us"
		quoted no no login "$srun" "$unknown; $doubtful" \
			'ziaprobe: warning: the clock of the launch node could not be .*'

		expect ahead "$fails" "$(from login login=+60 "$alone $srun")" "$existed"
		# The processes exist before the start, but enter only after it, as the prolog
		# sleeps for longer. On a loaded machine, they may be created too late: again then.
		expect ahead-prolog "$fails" "for try in 1 2 3 4 5; do
			$(from login login=+1.5 \
			"$alone srun --task-prolog=$dir/prolog ${srun#srun }") || exit
		done" "*$result" "$existed"
		expect ahead-little 0 "$(from login login=+0.01 "$alone $srun")" "$result"
		# It may be as far ahead as the clock of any node.
		expect ahead-like-n1 0 "$(from login 'n1=+6 login=+4' "$alone $srun")" "$result" \
			"ziaprobe: warning: the clock of n1 $off ahead of .*"
		# An error instead of a result: the clock of n1, which stamps the reply, is 5 s
		# behind the clock of n2, which stamps the start.
		expect early "$fails" "$(from n2 n1=-5 "$two")" \
			"ziaprobe: error: the time is negative \(-[0-9.]+ s\): rank 0 on n1 \
received its reply before the start; synchronise the clocks and run again"
	fi
	run_cases 3

	for case in $blamed; do
		off "$case"
		like "$mpi, $case: the offsets" "$(offsets "$case")" "$(cat "$dir/$case/offsets")"
	done
	for case in $quoted; do
		like "$mpi, $case: the clocks" "$(grep '^clock offset:' "$dir/$case/out")" \
			"$(cat "$dir/$case/line")"
		like "$mpi, $case: every offset counts as 0" "$(offsets "$case")" \
			'(0\.000 ){4}(0\.000|unknown)'
	done
	less_than ahead-mpirun 60
	if [ $mpi = openmpi ]; then
		like "$mpi, own-n1: a daemon on the other nodes only" \
			"$(cut -d , -f 4 "$dir/own-n1/ranks" | paste -s -d , -)" \
			'daemon_ms,,[0-9.]+,[0-9.]+,[0-9.]+'
	fi
	if [ $mpi = "$first_mpi" ]; then
		less_than ahead 60
		less_than ahead-prolog 1.5
		is "$mpi, early: no files after an error" "$(cd "$dir/early" && echo csv* ranks*)" \
			'csv* ranks*'
	fi
done
finish
