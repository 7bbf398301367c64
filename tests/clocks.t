#!/bin/sh
# Clocks that disagree. The nodes of tests/cluster share one clock, to which libfaketime
# adds a known offset on some: the truth is known exactly.
. "$(dirname "$0")/lib.sh"
needs_cluster
needs_faketime
nodes=6

# within CASE OFFSETS: the offsets of all blocks, in s, are within the reported bounds
within() {
	ok "$mpi, $1: the true offset of each clock is within the bound" awk -v truth="$2" '
	BEGIN { n = split(truth, t) }
	/^[0-9]/ {
		off = $2 - t[$1 + 1] * 1e9
		if (off >= -$3 && off <= $3)
			good++
	}
	END { exit good != n }' "$dir/$1/out" || diag "$(cat "$dir/$1/out")"
}

# off CASE: the warning's offset differs from 5 s by no more than the bound in it
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

# corrected CASE SHIFT STAMPER: the corrected time is what the stamps of all ranks say by the
# true clock of the node STAMPER; empty without one
corrected() {
	ok "$mpi, $1: the corrected time" awk -F , -v shift="$2" -v stamper="$3" '
	BEGIN {
		split(shift, s, "=")
		truth[s[1]] = s[2] * 1000
		latest = "-"
	}
	FNR == 1 {
		for (i = 1; i <= NF; i++)
			column[$i] = i
		next
	}
	FILENAME ~ /csv$/ {
		got = $column["corrected_ms"]
		next
	}
	$column["completed_ms"] != "" {
		time = $column["completed_ms"] - truth[$column["host"]] + truth[stamper]
		if (latest == "-" || time > latest)
			latest = time
	}
	END {
		if (stamper == "")
			exit got != ""
		exit !(got != "" && got - latest < 1000 && latest - got < 1000)
	}' "$dir/$1/csv" "$dir/$1/ranks" || diag "$(cat "$dir/$1/csv" "$dir/$1/ranks")"
}

# blamed CASE SHIFT FROM LAUNCHER WHO: with the clocks shifted, ziatest on the node FROM, with its
# clock, has LAUNCHER start the probes; a warning says that the clock of WHO is 5 s off. The time by
# the stamping clock is known where probes run on FROM, one of the first nodes, and are told of it.
known='by the clock that stamped the start the time is -?[0-9.]+ ms'
unknown='there is no corrected time, .*'
blamed() {
	ziatest="../ziatest --csv csv --ranks ranks 1 '$4'"
	if [ "$3" != login ]; then
		ziatest="ssh $3 \"cd '$dir/$1' &&
			SLURM_MPI_TYPE=$SLURM_MPI_TYPE ../shifted $2 $ziatest\""
	fi
	stamper=$3 then=$known
	case $3/$4 in
	login/*|n6/*|*--export*)
		stamper='' then=$unknown ;;
	esac
	expect "$1" 0 "echo $2 >shift; $ziatest" "?ziatest: .*" "$result" \
		"ziaprobe: warning: the clocks? of $5 \(within [0-9.]* ms\); $then; synch.*"
	blamed="$blamed $1/$2/$stamper"
}

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	quick_build $mpi
	mpicc.$mpi -o "$dir/clocks" tests/helpers/clocks.c probe/run.c
	cat >"$dir/ntp.c" <<-'END'
		/* The kernel's word for the clock of node N is $NTP_N in us, or 500 */
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/timex.h>
		#include <unistd.h>
		int adjtimex(struct timex *clock)
		{
			char name[80] = "NTP_";

			gethostname(name + 4, sizeof name - 4);
			clock->maxerror = getenv(name) ? atol(getenv(name)) : 500;
			return 0;
		}
		int ntp_adjtime(struct timex *clock)
		{
			return adjtimex(clock);
		}
	END
	cc -shared -fPIC -o "$dir/ntp.so" "$dir/ntp.c"
	mkdir "$dir/real"
	mv "$dir/ziaprobe" "$dir/real"
	cat >"$dir/shifted" <<-END
		#!/bin/sh
		# shifted "NODE=SECONDS..." COMMAND...: runs COMMAND with the clock of each NODE so
		# many seconds ahead, and right elsewhere, whatever the caller's
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
	chmod +x "$dir/shifted" "$dir/ziaprobe"

	expect all 0 'srun -N 6 -n 6 ../shifted \
		"n1=-3600 n2=+0.25 n3=-0.25 n4=+0.005 n5=-0.005" ../clocks'
	expect little 0 'echo n2=-0.005 >shift
		srun -N 4 -n 4 ../ziaprobe $(date -d "now - 10 seconds" +"%s %6N") 1' "$result"

	srun='srun -N 4 -n 4 --ntasks-per-node'
	two='srun -N 2 -n 2 --ntasks-per-node'
	bare='srun --export=HOME,TMPDIR,LD_PRELOAD -N 4 -n 4 --ntasks-per-node'
	case $mpi in
	openmpi) mpirun='mpirun.openmpi --host n1,n2,n3,n4 -npernode' ;;
	mpich) mpirun='mpiexec.hydra -genvnone -hosts n1,n2,n3,n4 -n 4 -ppn' ;;
	esac
	behind="n1 is [0-9.]+ ms behind the median of all nodes'"
	ahead="n3 is [0-9.]+ ms ahead of the median of all nodes'"
	differ='n1 and n2 differ by [0-9.]+ ms'
	blamed=
	blamed first-login n1=-5 login "$srun" "$behind"
	blamed first-n2 n1=-5 n2 "$srun" "$behind"
	blamed mpirun-login n1=-5 login "$mpirun" "$behind"
	blamed mpirun-n1 n1=-5 n1 "$mpirun" "$behind"
	blamed bare-n2 n1=-5 n2 "$bare" "$behind"
	if [ $mpi = openmpi ]; then	# the rest does not depend on it
		blamed first-n1 n1=-5 n1 "$srun" "$behind"
		blamed third-n6 n3=+5 n6 "$srun" "$ahead"
		blamed third-n3 n3=+5 n3 "$srun" "$ahead"
		blamed two-login n1=+5 login "$two" "$differ"
		blamed two-n1 n1=+5 n1 "$two" "$differ"
		blamed two-n2 n1=+5 n2 "$two" "$differ"
	fi
	expect date 0 'echo n1=-5 >shift; srun -N 4 -n 4 ../ziaprobe $(date +"%s %6N") 1' \
		"$result" "ziaprobe: warning: the clock of $behind .*; $unknown; synch.*"
	# What the kernels say of their clocks: a warning where the stamping one alone is not
	# synchronised, and no rank's.
	if [ $mpi = openmpi ]; then
		sync="export LD_PRELOAD=$dir/ntp.so; : >shift; NTP_login=16000000"
		expect sync 0 "$sync ../ziatest -v 1 '$srun'" "$result" \
			'ziaprobe: warning: the clock that stamped the start is not sync.*'
		expect sync-node 0 "export NTP_n3=16000000; $sync ../ziatest 1 '$srun'" "$result"
		expect sync-login 0 "export NTP_n3=16000000; $sync NTP_login=15999999 \
			../ziatest -v 1 '$srun'" "$result"
		expect sync-known 0 "export NTP_n2=16000000; : >shift; ssh n2 \"cd \$PWD &&
			LD_PRELOAD=$dir/ntp.so NTP_n2=16000000 ../ziatest 1 '$srun'\"" "$result"
		expect sync-bare 0 "$sync ../ziatest -v 1 '$bare'" "$result"
	fi
	# n1 stamps the reply by a clock that is 5 s behind that of n2, which stamps the start.
	expect early "$fails" 'echo n1=-5 >shift
		ssh n2 "cd $PWD && SLURM_MPI_TYPE=$SLURM_MPI_TYPE ../ziatest 1 '"'$two'"'"' \
		"ziaprobe: error: the time would be -[0-9.]+ s, as rank 0 on n1 .*" \
		"ziaprobe: warning: the clocks of $differ .*; $known; .*"
	run_cases 2

	if [ $mpi = openmpi ]; then
		said='corrected time not known; the stamping kernel says:'
		for case in 'sync:not synchronised' 'sync-login:within 15999999 us' \
			sync-bare:nothing; do
			ok "$mpi, $case" grep -q "$said ${case#*:}\$" "$dir/${case%%:*}/out"
		done
	fi
	within all '0 3600.25 3599.75 3600.005 3599.995 3600'
	for case in $blamed; do
		IFS=/ read -r which shift stamper <<-END
			$case
		END
		off "$which"
		corrected "$which" "$shift" "$stamper"
	done
done
finish
