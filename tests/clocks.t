#!/bin/sh
# Clocks that disagree. The nodes of tests/cluster share one clock. On some nodes, libfaketime adds
# a known offset to it, so the true offsets are known exactly.
. "$(dirname "$0")/lib.sh"
needs_cluster
needs_faketime
nodes=6

# within CASE OFFSETS: checks that OFFSETS, the true offsets of all blocks in s, are within the
# reported bounds
within() {
	ok "$mpi, $1: the true offset of each clock is within the bound" awk -v truth="$2" '
	BEGIN { n = split(truth, t) }
	/^[0-9]/ {
		off = $2 - t[$1 + 1] * 1e6
		if (off >= -$3 && off <= $3)
			good++
	}
	END { exit good != n }' "$dir/$1/out" || diag "$(cat "$dir/$1/out")"
}

# off CASE: checks that the offset in the warning differs from 5 s by no more than the bound in the
# warning
off() {
	ok "$mpi, $1: the true offset is within the bound" awk '
	/^ziaprobe: warning/ {
		gsub(/[()]/, "")
		for (i = 1; i < NF; i++) {
			if ($(i + 1) == "ms" && !offset)
				offset = $i
			if ($i == "within")
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
	awk -F , '
	function seconds(ms) {
		return ms == 0 ? "0.000" : int(ms / 1000 + (ms < 0 ? -.5 : .5)) ""
	}
	FNR == 1 { next }
	FILENAME ~ /ranks$/ { printf "%s ", seconds($18) }
	FILENAME ~ /csv$/ { print $6 == "" ? "unknown" : seconds($6 - $5) }
	' "$dir/$1/ranks" "$dir/$1/csv"
}

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	shim_build $mpi
	mpicc.$mpi -o "$dir/clocks" tests/helpers/clocks.c probe/run.c
	cat >"$dir/ntp.c" <<-'END'
		/* A kernel whose clock is right to within $NTP us; with -1, the call fails */
		#include <stdlib.h>
		#include <sys/timex.h>
		int adjtimex(struct timex *clock)
		{
			clock->maxerror = atol(getenv("NTP"));
			return clock->maxerror < 0 ? -1 : 0;
		}
		int ntp_adjtime(struct timex *clock)
		{
			return adjtimex(clock);
		}
	END
	cc -shared -fPIC -o "$dir/ntp.so" "$dir/ntp.c"
	cat >"$dir/shifted" <<-END
		#!/bin/sh
		# shifted "NODE=SECONDS..." COMMAND...: runs COMMAND. On each NODE, its clock is
		# SECONDS ahead; on all other nodes, it is right, even if the caller's clock is
		# shifted.
		unset FAKETIME
		export LD_PRELOAD=$faketime:\${LD_PRELOAD#$faketime:}
		export DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1
		export ASAN_OPTIONS=$ASAN_OPTIONS LSAN_OPTIONS=$LSAN_OPTIONS
		for shift in \$1; do
			if [ "\${shift%=*}" = "\$(hostname)" ]; then
				export FAKETIME="\${shift#*=}"
			fi
		done
		shift
		exec "\$@"
	END
	# On the node \$SET, the file 'set' contains the current offset of the clock, and can be
	# changed at any time.
	cat >"$dir/ziaprobe" <<-END
		#!/bin/sh
		if [ "\$(hostname)" != "\${SET-}" ]; then
			exec "$dir/shifted" "\$(cat shift)" "$dir/real/ziaprobe" "\$@"
		fi
		export LD_PRELOAD="$faketime:$dir/shim.so:\${LD_PRELOAD-}"
		export FAKETIME_TIMESTAMP_FILE="\$PWD/set" FAKETIME_NO_CACHE=1
		export DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1
		exec "$dir/real/ziaprobe" "\$@"
	END
	chmod +x "$dir/shifted" "$dir/ziaprobe"

	expect all 0 'srun -N 6 -n 6 ../shifted \
		"n1=-3600 n2=+0.25 n3=-0.25 n4=+0.005 n5=-0.005" ../clocks'
	expect little 0 'echo n2=-0.005 >shift
		srun -N 4 -n 4 ../ziaprobe $(date -d "now - 10 seconds" +"%s %6N") 1' "$result"

	srun='srun -N 4 -n 4 --ntasks-per-node'
	two='srun -N 2 -n 2 --ntasks-per-node'
	bare='srun --export=HOME,TMPDIR,LD_PRELOAD -N 4 -n 4 --ntasks-per-node'
	case $mpi in
	openmpi)
		mpirun='mpirun.openmpi --host n1,n2,n3,n4 -npernode' ;;
	mpich)
		mpirun='mpiexec.hydra -genvnone -hosts n1,n2,n3,n4 -n 4 -ppn' ;;
	esac
	# from NODE SHIFT LAUNCHER [NTP]: prints a command that runs ziatest on NODE with the clocks
	# shifted as in SHIFT
	from() {
		ziatest="NTP=${4-500} LD_PRELOAD=$dir/ntp.so:\$LD_PRELOAD ../shifted '$2' \
			../ziatest -v --csv csv --ranks ranks 1 '$3'"
		echo "echo $2 >shift"
		if [ "$1" = login ]; then
			echo "$ziatest"
		else
			echo "ssh $1 \"cd '\$PWD' && SLURM_MPI_TYPE=$SLURM_MPI_TYPE $ziatest\""
		fi
	}

	# blamed CASE SHIFT FROM LAUNCHER WHO OFFSETS: adds a case in which a warning must report
	# that the clock of WHO is 5 s off. OFFSETS, as printed by offsets(), are relative to the
	# launch node's clock if a rank runs there and knows that it does; otherwise, they are
	# relative to the median.
	blamed=
	blamed() {
		case $6 in
		*unknown)
			then='there is no corrected time because [^|]* is unknown' ;;
		*)
			then='the corrected time is [0-9]+\.[0-9]{2} ms' ;;
		esac
		expect "$1" 0 "$(from "$3" "$2" "$4")" "?ziatest: .*" "$result" \
			"ziaprobe: warning: the clock of $5 \(within [0-9.]+ ms\); $then; \
synchronise the clocks and run again"
		echo "$6" >"$dir/$1/offsets"
		blamed="$blamed $1"
	}
	behind='n1 is [0-9]+\.[0-9]{3} ms behind that of n[2-4], the median of 4 clocks'
	ahead='n3 is [0-9]+\.[0-9]{3} ms ahead of that of n[124], the median of 4 clocks'
	# The median of two clocks is the lower one.
	first='n1 is [0-9]+\.[0-9]{3} ms ahead of that of n2, the median of 2 clocks'
	second='n2 is [0-9]+\.[0-9]{3} ms ahead of that of n1, the median of 2 clocks'
	blamed first-login n1=-5 login "$srun" "$behind" '-5 0.000 0.000 0.000 unknown'
	blamed first-n2 n1=-5 n2 "$srun" "$behind" '-5 0.000 0.000 0.000 0(\.000)?'
	blamed mpirun-login n1=-5 login "$mpirun" "$behind" '-5 0.000 0.000 0.000 unknown'
	blamed mpirun-n1 n1=-5 n1 "$mpirun" "$behind" '0.000 5 5 5 -5'
	blamed bare-n2 n1=-5 n2 "$bare" "$behind" '-5 0.000 0.000 0.000 unknown'
	if [ $mpi = openmpi ]; then	# the other cases do not depend on the MPI library
		blamed first-n1 n1=-5 n1 "$srun" "$behind" '0.000 5 5 5 -5'
		blamed third-n6 n3=+5 n6 "$srun" "$ahead" '0.000 0.000 5 0.000 unknown'
		blamed third-n3 n3=+5 n3 "$srun" "$ahead" '-5 -5 0.000 -5 0(\.000)?'
		blamed two-login n1=+5 login "$two" "$first" '5 0.000 unknown'
		blamed two-n1 n1=+5 n1 "$two" "$first" '0.000 -5 0.000'
		blamed two-n2 n1=+5 n2 "$two" "$first" '5 0.000 -5'
		blamed two-behind n1=-5 n1 "$two" "$second" '0.000 5 0.000'
	fi
	expect date 0 'echo n1=-5 >shift; srun -N 4 -n 4 ../ziaprobe $(date +"%s %6N") 1' \
		"$result" "ziaprobe: warning: the clock of $behind .*; there is no corrected .*"
	# Clocks that agree: every measured offset is within the bounds, and counts as 0. The
	# synchronisation that the launch node's kernel reports is quoted if it was passed to rank
	# 0.
	quoted=
	quoted() {	# CASE NTP FROM LAUNCHER LINE
		expect "$1" 0 "$(from "$3" '' "$4" "$2")" "$result"
		echo "clock offset: -?[0-9.]+ ms, n[1-4] against n[1-4], within [0-9.]+ ms; $5" \
			>"$dir/$1/line"
		quoted="$quoted $1"
	}
	if [ $mpi = openmpi ]; then
		known='corrected time [0-9]+\.[0-9]{3} ms'
		unknown="no corrected time: the launch node's clock is unknown"
		clock="launch node's clock:"
		quoted known 500 n2 "$srun" "$known \($clock synchronised to within 500 us\)"
		quoted known-no 16000000 n2 "$srun" "$known \($clock not synchronised\)"
		quoted just 15999999 login "$srun" \
			"$unknown \($clock synchronised to within 15999999 us\)"
		quoted no 16000000 login "$srun" "$unknown \($clock not synchronised\)"
		quoted fails -1 login "$srun" "$unknown"
		quoted fails-known -1 n3 "$srun" "$known"
		quoted bare 500 n2 "$bare" "$unknown"
	fi
	# Errors instead of a result. The clock of n1, which stamps the reply, is 5 s behind the
	# clock of n2, which stamps the start.
	expect early "$fails" "$(from n2 n1=-5 "$two")" \
		"ziaprobe: error: the time is negative \\(-[0-9.]+ s\\), because .* rank 0 on n1 .*"
	# A clock that is set while the job runs
	for set in 'n3 +0 +5 forward' 'n1 +5 +0 back' 'n1 +0 -5 back'; do
		read -r node from to which <<-END
			$set
		END
		expect "set-$node$to" "$fails" "echo $from >set
			export SET=$node SHIM='$node Recv echo $to >set'
			$(from login '' "$srun")" \
			"ziaprobe: error: the clock of $node was stepped \
(4999|5000)\.[0-9]{3} ms $which while the job ran; .*"
	done
	run_cases 2

	within all '0 3600.25 3599.75 3600.005 3599.995 3600'
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
	for case in $blamed $quoted; do
		is "$mpi, $case: the figures agree" "$(awk -F , -f tests/helpers/figures.awk \
			"$dir/$case/out" "$dir/$case/ranks" "$dir/$case/csv" 2>&1)" ''
	done
	is "$mpi: no files after an error" "$(ls "$dir"/early/csv "$dir"/set-*/csv \
		"$dir"/early/ranks "$dir"/set-*/ranks 2>/dev/null)" ''
done
finish
