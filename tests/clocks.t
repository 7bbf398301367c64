#!/bin/sh
# Clocks that disagree. The nodes of tests/cluster share one clock, to which libfaketime
# adds a known offset on some: the truth is known exactly.
. "$(dirname "$0")/lib.sh"
needs_cluster
set -- /usr/lib/*/faketime/libfaketime.so.1
[ -f "$1" ] || skip_all 'no libfaketime; tests/setup installs it'

cat >"$tmp/shifted" <<END
#!/bin/sh
# shifted "NODE=SECONDS..." COMMAND...: runs COMMAND with the clock of each NODE so many
# seconds ahead, and right elsewhere, whatever the caller's
unset FAKETIME
export LD_PRELOAD=$1:\${LD_PRELOAD#$1:} DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1
for shift in \$1; do
	[ "\${shift%=*}" = "\$(hostname)" ] && export FAKETIME="\${shift#*=}"
done
shift
exec "\$@"
END
cat >"$tmp/start" <<'END'
#!/bin/sh
# start NAME SHIFT FROM HOW: in the directory SHIFT, ziatest on the node FROM, with its clock
cd "$2" || exit
case $4 in
srun) launcher='srun -N 4 -n 4 --ntasks-per-node' ;;
two) launcher='srun -N 2 -n 2 --ntasks-per-node' ;;
bare) launcher='srun --export=TMPDIR,LD_PRELOAD -N 4 -n 4 --ntasks-per-node' ;;
ssh) launcher=$ssh_launcher ;;
date)
	# shellcheck disable=SC2046 # two words
	exec srun -N 4 -n 4 ./ziaprobe $(date +'%s %6N') 1 --csv "../$1.csv" ;;
esac
ziatest="../ziatest --csv ../$1.csv --ranks ../$1.ranks 1 '$launcher'"
[ "$3" = login ] || ziatest="ssh $3 \"cd '$PWD' && SLURM_MPI_TYPE=$SLURM_MPI_TYPE \
	../../shifted $2 $ziatest\""
eval "$ziatest"
END
cat >"$tmp/probe" <<'END'
#!/bin/sh
exec ../../shifted "$(basename "$PWD")" ../ziaprobe "$@"
END
chmod +x "$tmp/shifted" "$tmp/start" "$tmp/probe"

# within CASE OFFSETS: the offsets of all blocks, in ms, within the reported bounds
within() {
	ok "$mpi, $1: the true offset of each clock lies within the bound" \
		awk -v truth="$2" 'BEGIN { n = split(truth, t) }
		/^[0-9]/ { off = $2 - t[$1 + 1] * 1e6; if (off < -$3 || off > $3) exit 1; found++ }
		END { if (found != n) exit 1 }' "$dir/$1.out" || diag "$(cat "$dir/$1.out")"
}

# warned CASE WHO THEN: a warning that WHO is off by 5 s, and then
warned() {
	outcome "$dir" "$1" "$mpi, $1" \
		"(ziatest: [^|]*\|)?$result\|ziaprobe: warning: the clocks? of $2 \(within [0-9.]* ms\); $3; synch[^|]*" 0
	ok "$mpi, $1: the true offset lies within the bound" \
		awk '/^ziaprobe: warning/ { gsub(/[()]/, "")
			for (i = 1; i < NF; i++) {
				if ($(i + 1) == "ms" && !offset) offset = $i
				if ($i == "within") bound = $(i + 1)
			} }
		END { off = offset - 5000; exit !(offset && off*off <= (bound + .001)^2) }' "$dir/$1.out"
}
known='by the clock that stamped the start the time is -?[0-9.]+ ms'
unknown='there is no corrected time, [^|]*'

# corrected CASE SHIFT STAMPER: the corrected time is what the stamps of all ranks say by the
# true clock of STAMPER; empty without
corrected() {
	ok "$mpi, $1: the corrected time" awk -F , -v shift="$2" -v stamper="${3-}" '
	BEGIN { split(shift, s, "="); truth[s[1]] = s[2] * 1000; latest = "-" }
	FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	FILENAME ~ /csv$/ { got = $column["corrected_ms"]; next }
	$column["completed_ms"] != "" {
		time = $column["completed_ms"] - truth[$column["host"]] + truth[stamper]
		if (latest == "-" || time > latest) latest = time
	}
	END {
		if (stamper == "") exit got != ""
		exit !(got != "" && got - latest < 1000 && latest - got < 1000)
	}' "$dir/$1.csv" "$dir/$1.ranks" || diag "$(cat "$dir/$1.csv" "$dir/$1.ranks")"
}

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	quick_build $mpi
	dir=$tmp/$mpi
	mpicc.$mpi -o "$dir/clocks" tests/clocks.c offclock/run.c
	for shift in n1=-5 n1=+5 n2=-0.005 n3=+5; do
		mkdir "$dir/$shift"
		cp "$tmp/probe" "$dir/$shift/ziaprobe"
	done
	case $mpi in
	openmpi) ssh_launcher='mpirun.openmpi --host n1,n2,n3,n4 -npernode' ;;
	mpich) ssh_launcher='mpiexec.hydra -genvnone -hosts n1,n2,n3,n4 -n 4 -ppn' ;;
	esac
	SLURM_MPI_TYPE=$(pmi $mpi)
	export SLURM_MPI_TYPE ssh_launcher
	{
		cat <<'END'
all     srun -n 6 -N 6 ../shifted "n2=+0.25 n3=-0.25 n4=+0.005 n5=-0.005 n6=+3600" ./clocks
first   srun -n 6 -N 6 ../shifted "n1=-3600 n4=+0.25" ./clocks
none    srun -n 6 -N 6 ./clocks
little  cd n2=-0.005; srun -n 4 -N 4 ./ziaprobe $(date -d 'now - 10 seconds' +'%s %6N') 1
END
		for from in login n6 n1 n2 n3; do
			echo "first.$from ../start first.$from n1=-5 $from srun"
			echo "third.$from ../start third.$from n3=+5 $from srun"
		done
		for from in login n1 n2; do
			echo "two.$from ../start two.$from n1=+5 $from two"
			echo "ssh.$from ../start ssh.$from n1=-5 $from ssh"
		done
		echo "bare ../start bare n1=-5 n2 bare"
		echo "date ../start date n1=-5 login date"
		echo "early ../start early n1=-5 n2 two"
	} | cases "$dir" 6

	within all '0 250 -250 5 -5 3600000'
	within first '0 3600000 3600000 3600250 3600000 3600000'
	within none '0 0 0 0 0 0'
	outcome "$dir" little "$mpi, 5 ms behind in 10 s: nothing to say" "$result" 0

	median="the median of all nodes'"
	for from in login n6 n1 n2 n3; do
		case $from in
		login|n6) then=$unknown stamper= ;;
		*) then=$known stamper=$from ;;
		esac
		warned first.$from "n1 is [0-9.]+ ms behind $median" "$then"
		corrected first.$from n1=-5 $stamper
		warned third.$from "n3 is [0-9.]+ ms ahead of $median" "$then"
		corrected third.$from n3=+5 $stamper
		case $from in n6|n3) continue ;; esac
		warned two.$from 'n1 and n2 differ by [0-9.]+ ms' "$then"
		corrected two.$from n1=+5 $stamper
		warned ssh.$from "n1 is [0-9.]+ ms behind $median" "$then"
		corrected ssh.$from n1=-5 $stamper
	done
	for case in bare date; do
		warned $case "n1 is [0-9.]+ ms behind $median" "$unknown"
	done
	corrected bare n1=-5
	outcome "$dir" early "$mpi, a time that would be negative: no result" \
		"ziaprobe: error: the time would be -[0-9.]+ s, as rank 0 on n1 [^|]*\|ziaprobe: warning: the clocks of n1 and n2 differ by [^|]*; $known; [^|]*" "$fails"
done
finish
