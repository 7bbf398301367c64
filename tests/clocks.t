#!/bin/sh
# Clocks that disagree. The nodes of tests/cluster share one clock, to which libfaketime
# adds a known offset on some: the truth is known exactly.
. "$(dirname "$0")/lib.sh"
needs_cluster
set -- /usr/lib/*/faketime/libfaketime.so.1
[ -f "$1" ] || skip_all 'no libfaketime; tests/setup installs it'

# shifted "NODE=SECONDS..." COMMAND...: in a job, runs COMMAND with the clock of each NODE
# so many seconds ahead
cat >"$tmp/shifted" <<END
#!/bin/sh
for shift in \$1; do
	[ "\${shift%=*}" = "\$(hostname)" ] && export FAKETIME="\${shift#*=}" \\
		DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1 LD_PRELOAD=$1
done
shift
exec "\$@"
END
chmod +x "$tmp/shifted"

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	quick_build $mpi
	dir=$tmp/$mpi
	mpicc.$mpi -DPAD=4096 -o "$dir/clocks" tests/clocks.c
	SLURM_MPI_TYPE=$(pmi $mpi)
	export SLURM_MPI_TYPE
	cases "$dir" 6 <<'END'
all     srun -n 6 -N 6 ../shifted "n2=+0.25 n3=-0.25 n4=+0.005 n5=-0.005 n6=+3600" ./clocks
first   srun -n 6 -N 6 ../shifted "n1=-3600 n4=+0.25" ./clocks
none    srun -n 6 -N 6 ./clocks
two     srun -n 2 -N 2 ../shifted n2=+0.25 ./clocks
ahead   srun -n 4 -N 2 --ntasks-per-node 2 ../shifted n2=+0.25 ./ziaprobe $(date +'%s %6N') 2
behind  srun -n 3 -N 3 ../shifted n3=-0.25 ./ziaprobe $(date +'%s %6N') 1
little  srun -n 2 -N 2 ../shifted n2=-0.005 ./ziaprobe $(date -d 'now - 10 seconds' +'%s %6N') 1
hour    srun -n 5 -N 5 ../shifted n3=+3600 ./ziaprobe $(date +'%s %6N') 1
hour-   srun -n 2 -N 2 ../shifted n2=-3600 ./ziaprobe $(date +'%s %6N') 1
first+  srun -n 2 -N 2 ../shifted n1=+0.25 ./ziaprobe $(date -d 'now - 1 second' +'%s %6N') 1
first-  srun -n 2 -N 2 ../shifted n1=-3600 ./ziaprobe $(date +'%s %6N') 1
END
	within() {	# CASE OFFSETS: the offsets of all blocks, ms, within the reported bounds
		ok "$mpi, $1: the true offset of each clock lies within the bound" \
			awk -v truth="$2" 'BEGIN { n = split(truth, t) }
			/^[0-9]/ { off = $2 - t[$1 + 1] * 1e6; if (off < -$3 || off > $3) exit 1; found++ }
			END { if (found != n) exit 1 }' "$dir/$1.out" || diag "$(cat "$dir/$1.out")"
	}
	within all '0 250 -250 5 -5 3600000'
	within first '0 3600000 3600000 3600250 3600000 3600000'
	within none '0 0 0 0 0 0'
	within two '0 250'

	warned() {	# CASE WHAT HOST OFFSET DIRECTION RESULT: OFFSET in ms
		outcome "$dir" "$1" "$mpi, $2: a warning" \
			"$6\|ziaprobe: warning: the clock of $3 is [0-9.]* ms $5 n1's \(within [0-9.]* ms\); [^|]*the time is [0-9]*\.[0-9]{2} ms; [^|]*" 0
		ok "$mpi, $2: the true offset lies within the bound" \
			awk -v truth="$4" '/clock of/ { gsub(/[()]/, "")
				for (i = 1; i < NF; i++) {
					if ($i == "is" && !offset) offset = $(i + 1)
					if ($i == "within") bound = $(i + 1)
				} }
			END { off = offset - truth; exit !(offset && off*off <= (bound + .001)^2) }' "$dir/$1.out"
	}
	warned ahead '250 ms ahead' n2 250 'ahead of' "$result"
	warned behind '250 ms behind' n3 250 behind "$result"
	outcome "$dir" little "$mpi, 5 ms behind in 10 s: nothing to say" "$result" 0
	# n3 originates towards n4: its stamp is the result. Corrected, it is an ordinary one.
	warned hour 'an hour ahead' n3 3600000 'ahead of' \
		'Time test was completed in  60:[0-9]{2} min:sec\|Slowest rank: 2'
	ok "$mpi, an hour ahead: the corrected time is not an hour" \
		awk '/the time is/ { for (i = 1; i < NF; i++) if ($i == "time") exit $(i + 2) > 3e6 }' "$dir/hour.out"
	warned hour- 'an hour behind' n2 3600000 behind "$result"
	warned first+ "rank 0's clock ahead" n2 250 behind "$result"
	outcome "$dir" first- "$mpi, rank 0's clock an hour behind: no result" \
		'ziaprobe: error: rank 0 on n1 began 3[56][0-9]{2}\.[0-9]{6} s before the start; [^|]*' "$fails"
done
finish
