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
	awk -F , '
	function seconds(ms) {
		return ms == 0 ? "0.000" : int(ms / 1000 + (ms < 0 ? -.5 : .5)) ""
	}
	FNR == 1 { next }
	FILENAME ~ /ranks$/ { printf "%s ", seconds($18) }
	FILENAME ~ /csv$/ { print $6 == "" ? "unknown" : seconds($6 - $5) }
	' "$dir/$1/ranks" "$dir/$1/csv"
}

# daemons CASE: prints the daemon step of each rank, and a comma after each
daemons() {
	awk -F , 'FNR > 1 { printf "%s,", $4 }' "$dir/$1/ranks"
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

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	quick_build $mpi
	mkdir "$dir/real"
	mv "$dir/ziaprobe" "$dir/real"
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
	cat >"$dir/ziaprobe" <<-END
		#!/bin/sh
		exec "$dir/shifted" "\$(cat shift)" "$dir/real/ziaprobe" "\$@"
	END
	printf '#!/bin/sh\nsleep 2\n' >"$dir/prolog"
	cat >"$dir/fork" <<-'END'
		#!/bin/sh
		# fork N COMMAND...: creates a process at once, which becomes COMMAND later. Its
		# clock is right.
		shift
		{ sleep 0.1; unset FAKETIME; : >shift; exec "$@"; } &
		wait $!
	END
	chmod +x "$dir/shifted" "$dir/ziaprobe" "$dir/prolog" "$dir/fork"

	expect all 0 'srun -N 6 -n 6 ../shifted \
		"n1=-3600 n2=+0.25 n3=-0.25 n4=+0.005 n5=-0.005" ../clocks'
	expect little 0 'echo n2=-0.005 >shift
		srun -N 4 -n 4 ../ziaprobe $(date -d "now - 10 seconds" +"%s %6N") 1' "$result"

	srun='srun -N 4 -n 4 --ntasks-per-node'
	two='srun -N 2 -n 2 --ntasks-per-node'
	four='-N 4 -n 4 --ntasks-per-node'
	bare="srun --export=HOME,TMPDIR,LD_PRELOAD,OMPI_ZIATEST_SYNC $four"
	case $mpi in
	openmpi) mpirun='mpirun.openmpi --host n1,n2,n3,n4 -npernode' ;;
	mpich) mpirun='mpiexec.hydra -hosts n1,n2,n3,n4 -n 4 -ppn' ;;
	esac
	# from NODE SHIFT LAUNCHER [ENVIRONMENT]: prints a command that runs ziatest on NODE with
	# the clocks shifted as in SHIFT. ENVIRONMENT decides what is known about NODE's clock.
	from() {
		ziatest="env -u ZIATEST_SYNC ${4-NTP=500} LD_PRELOAD=$dir/ntp.so:\$LD_PRELOAD \
			../shifted '$2' ../ziatest -v --csv csv --ranks ranks 1 '$3'"
		echo "echo $2 >shift"
		if [ "$1" = login ]; then
			echo "$ziatest"
		else
			echo "ssh $1 \"cd '\$PWD' && SLURM_MPI_TYPE=$SLURM_MPI_TYPE $ziatest\""
		fi
	}

	# blamed CASE SHIFT FROM LAUNCHER WHO OFFSETS: adds a case in which a warning must report
	# that the clock of WHO is 5 s off, and by which reference. OFFSETS, as printed by
	# offsets(), are relative to that reference, too: the launch node's clock if a rank runs
	# there and knows that it does, and otherwise the median.
	blamed=
	blamed() {
		case $6 in
		*unknown)
			then='there is no corrected time because [^|]* is unknown' ;;
		*)
			then='the corrected time is [0-9]+\.[0-9]{2} ms' ;;
		esac
		expect "$1" 0 "$(from "$3" "$2" "$4")" "?ziatest: .*" "$result" \
			"ziaprobe: warning: the clock of $5; $then; \
synchronise the clocks and run again"
		echo "$6" >"$dir/$1/offsets"
		blamed="$blamed $1"
	}
	off='is [0-9]+\.[0-9]{3} ms \(\+/- [0-9]+\.[0-9]{3} ms\)'
	one_off='1 of the other 3 clocks is off'
	all_off="3 of the other 3 clocks are off, so it is probably"
	behind="n1 $off behind that of n[2-4], the median; $one_off"
	behind_n2="n1 $off behind that of n2, the launch node; $one_off"
	from_n1="n[2-4] $off ahead of that of n1, the launch node; $all_off n1's"
	blamed first-login n1=-5 login "$srun" "$behind" '-5 0.000 0.000 0.000 unknown'
	blamed first-n2 n1=-5 n2 "$srun" "$behind_n2" '-5 0.000 0.000 0.000 0(\.000)?'
	blamed mpirun-login n1=-5 login "$mpirun" "$behind" '-5 0.000 0.000 0.000 unknown'
	blamed mpirun-n1 n1=-5 n1 "$mpirun" "$from_n1" '0.000 5 5 5 -5'
	blamed bare-n2 n1=-5 n2 "$bare" "$behind" '-5 0.000 0.000 0.000 unknown'
	if [ $mpi = openmpi ]; then	# the other cases do not depend on the MPI library
		blamed first-n1 n1=-5 n1 "$srun" "$from_n1" '0.000 5 5 5 -5'
		blamed third-n6 n3=+5 n6 "$srun" \
			"n3 $off ahead of that of n[124], the median; $one_off" \
			'0.000 0.000 5 0.000 unknown'
		blamed third-n3 n3=+5 n3 "$srun" \
			"n[124] $off behind that of n3, the launch node; $all_off n3's" \
			'-5 -5 0.000 -5 0(\.000)?'
		# The median of two clocks is the lower one. Which of the two is wrong is unknown.
		one_off='1 of the other 1 clocks is off'
		blamed two-login n1=+5 login "$two" \
			"n1 $off ahead of that of n2, the median; $one_off" '5 0.000 unknown'
		blamed two-n1 n1=+5 n1 "$two" \
			"n2 $off behind that of n1, the launch node; $one_off" '0.000 -5 0.000'
		blamed two-n2 n1=+5 n2 "$two" \
			"n1 $off ahead of that of n2, the launch node; $one_off" '5 0.000 -5'
		blamed two-behind n1=-5 n1 "$two" \
			"n2 $off ahead of that of n1, the launch node; $one_off" '0.000 5 0.000'
	fi
	# Clocks that agree: every measured offset is within the bounds, and counts as 0. What is
	# known about the launch node's clock is quoted if it was passed to rank 0.
	quoted=
	quoted() {	# CASE ENVIRONMENT FROM LAUNCHER LINE [WARNING]
		expect "$1" 0 "$(from "$3" '' "$4" "$2")" "$result" ${6+"$6"}
		echo "clock offset: -?[0-9.]+ ms \(\+/- [0-9.]+ ms\), n[1-4] against n[1-4], $5" \
			>"$dir/$1/line"
		quoted="$quoted $1"
	}
	# unsure HOW: prints the warning that the error of the launch node's clock is HOW
	unsure() {
		printf '%s' 'ziaprobe: warning: the clock of the launch node could not be ' \
			"compared with the nodes', and its error $1; the time may be wrong by " \
			'as much; run ziatest on a node of the job, or synchronise that clock'
	}
	warning=$(unsure 'is not known')
	direct='ziaprobe: warning: ziaprobe does not know whose clock gave the start \(it was'
	direct="$direct called directly, or the launcher passed on no variables, as srun \
--export=NONE does\); the time may be wrong by that clock's offset; start it with ziatest, and let \
the launcher pass on OMPI_ZIATEST_\*"
	if [ $mpi = openmpi ]; then
		known='the launch node; corrected time [0-9]+\.[0-9]{3} ms'
		unknown="the median; no corrected time: the launch node's clock is unknown"
		right="\(launch node's clock: synchronised to within"
		doubtful="\(launch node's clock: not known to be synchronised\)"
		quoted known NTP=500 n2 "$srun" "$known $right 500 us\)"
		quoted known-no NTP=16000000 n2 "$srun" "$known $doubtful"
		quoted second NTP=1000000 login "$srun" "$unknown $right 1000000 us\)"
		quoted much NTP=1100000 login "$srun" "$unknown $right 1100000 us\)" \
			"$(unsure 'may be up to 1\.1 s')"
		quoted just NTP=15999999 login "$srun" "$unknown $right 15999999 us\)" \
			"$(unsure 'may be up to 16\.0 s')"
		quoted no NTP=16000000 login "$srun" "$unknown $doubtful" "$warning"
		quoted fails NTP=-1 login "$srun" "$unknown $doubtful" "$warning"
		quoted fails-known NTP=-1 n3 "$srun" "$known $doubtful"
		quoted given ZIATEST_SYNC=250 login "$srun" "$unknown $right 250 us\)"
		quoted given-no ZIATEST_SYNC=no n2 "$srun" "$known $doubtful"
		quoted bare NTP=500 n2 "$bare" "$unknown"
		quoted barer NTP=500 n2 "srun --export=HOME,TMPDIR $four" "$unknown" "$direct"
	fi

	# The clock of the launch node alone is wrong. None of the nodes is compared with it.
	alone='env -u FAKETIME'
	no=ZIATEST_SYNC=no
	one='srun -N 1 -n 1 --ntasks-per-node'
	expect behind-mpirun 0 "$(from login login=-0.2 "$alone $mpirun")" "$result"
	expect behind-mpirun-no 0 "$(from login login=-0.2 "$alone $mpirun" $no)" \
		"$result" "$warning"
	if [ $mpi = openmpi ]; then
		expect behind 0 "$(from login login=-0.2 "$alone $srun")" "$result"
		expect behind-no 0 "$(from login login=-0.2 "$alone $srun" $no)" \
			"$result" "$warning"
		expect behind-one 0 "$(from login login=-0.2 "$alone $one")" "$result" "$one_node"
		expect behind-one-no 0 "$(from login login=-0.2 "$alone $one" $no)" \
			"$result" "$one_node" "$warning"
		expect direct 0 'unset OMPI_ZIATEST_SYNC
			echo n1=-5 >shift
			srun -N 4 -n 4 ../ziaprobe $(date +"%s %6N") 1' "$result" "$direct" \
			"ziaprobe: warning: the clock of $behind; there is no corrected .*"
	fi
	# A clock that is ahead is proved wrong by a process, or its slurmstepd, that is older than
	# the start, but not by one that is younger.
	existed='ziaprobe: error: rank [0-3] on n[1-4] \(or its slurmstepd\) already existed at'
	existed="$existed least [0-9]+\.[0-9]{6} s before the start; synchronise the clocks of \
n[1-4] and the launch node \(in a direct call, check SEC and USEC first\)"
	expect ahead-mpirun "$fails" "$(from login login=+60 "$alone $mpirun")" "$existed"
	expect ahead-little-fork 0 "$(from login login=+0.01 ../fork)" "$result" "$one_node"
	if [ $mpi = openmpi ]; then
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
		expect ahead-of-all "$fails" "$(from login 'n1=+6 login=+66' "$alone $srun")" \
			"$existed"
		# mpirun, which ziatest becomes, is never a daemon, however late it was created.
		expect own 0 "$(from n1 '' 'mpirun.openmpi --host n1 -npernode')" \
			"$result" "$one_node"
		expect own-n1 0 "$(from n1 '' "$mpirun")" "$result"
	fi
	# An error instead of a result: the clock of n1, which stamps the reply, is 5 s behind the
	# clock of n2, which stamps the start.
	expect early "$fails" "$(from n2 n1=-5 "$two")" \
		"ziaprobe: error: the time is negative \(-[0-9.]+ s\): by the clock of n1, rank 0 \
received its reply before the start; synchronise the clocks and run again"
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
	less_than ahead-mpirun 60
	if [ $mpi = openmpi ]; then
		less_than ahead 60
		less_than ahead-prolog 1.5
		less_than ahead-of-all 60
		is "$mpi, own: no daemon" "$(grep '^daemon  ' "$dir/own/out"; daemons own)" ,
		like "$mpi, own-n1: a daemon on the other nodes only" "$(daemons own-n1)" \
			',[0-9.]+,[0-9.]+,[0-9.]+,'
		is "$mpi, own-n1: mpirun is not a daemon" \
			"$(grep '^daemon .*, mpirun' "$dir/own-n1/out")" ''
	fi
	is "$mpi: no files after an error" "$(ls "$dir"/early/csv "$dir"/ahead-mpirun/csv \
		"$dir"/early/ranks "$dir"/ahead-mpirun/ranks 2>/dev/null)" ''
done
finish
