#!/bin/sh
# The messages of ziaprobe: every rank's MPI calls, as a PMPI tracer sees them on a
# real cluster, against the table below
. "$(dirname "$0")/lib.sh"
needs_cluster

# What a process of a block does, in order, with the processes of the same local
# rank in other blocks; written by hand from the specification. In the
# specification's words the blocks are nodes, counted from 1.
#
# blocks  block  calls
table='
1         0      both 0, both 0
2         0      send 1, recv 1
2         1      recv 0, send 0
3         0      send 1, recv 1, recv 2, send 2
3         1      recv 0, send 0
3         2      send 0, recv 0
4         0      send 1, recv 1
4         1      recv 0, send 0
4         2      send 3, recv 3
4         3      recv 2, send 2
5         0      send 1, recv 1, recv 4, send 4
5         1      recv 0, send 0
5         2      send 3, recv 3
5         3      recv 2, send 2
5         4      send 0, recv 0'

expected() {	# BLOCKS N
	printf '%s\n' "$table" | awk -v blocks="$1" -v n="$2" '
	$1 == blocks {
		for (l = 0; l < n; l++) {
			printf "%d: ", $2 * n + l
			for (i = 3; i < NF; i += 2)
				printf "%s:%d:1 ", $i, $(i + 1) * n + l
			print "gather:0"
		}
	}' | sort -n
}

cat >"$tmp/all" <<'END'
traced() {	# N BLOCKS
	mkdir "$TRACE"
	for try in 1 2 3; do
		timeout 60 ../ziatest $1 "srun --nodes $2 --ntasks $((${1#-v } * $2)) --ntasks-per-node" >"$TRACE/log" 2>&1
		grep -qE "$died" "$TRACE/log" || break
	done
}
cd traced
for blocks in 1 2 3 4 5; do
	for n in 1 2 3; do
		export TRACE="$PWD/$blocks.$n"
		traced $n $blocks
	done
done
export TRACE="$PWD/repeat"
traced '-v 1' 3
export TRACE="$PWD/late" LATE=4
traced 1 5
END

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	quick_build "$mpi"
	mkdir "$tmp/$mpi/traced"
	"mpicc.$mpi" -shared -fPIC -o "$tmp/$mpi/traced/trace.so" tests/trace.c
	cat >"$tmp/$mpi/traced/ziaprobe" <<-'END'
		#!/bin/sh
		LD_PRELOAD=$PWD/trace.so:${LD_PRELOAD-} exec ../ziaprobe "$@"
	END
	chmod +x "$tmp/$mpi/traced/ziaprobe"
	SLURM_MPI_TYPE=$(pmi "$mpi")
	export SLURM_MPI_TYPE
	(cd "$tmp/$mpi" && cluster 5 sh "$tmp/all")
	for blocks in 1 2 3 4 5; do
		for n in 1 2 3; do
			dir=$tmp/$mpi/traced/$blocks.$n
			got=$(cd "$dir" && for rank in [0-9]*; do
				printf '%s: ' "$rank"
				sed -n '1s/\(gather:0\):.*/\1/p' "$rank"
			done | sort -n)
			is "$mpi, $blocks blocks of $n: bytes, peers and order" \
				"$got" "$(expected $blocks $n)" || diag "$(cat "$dir/log")"
		done
	done
	# The repeated exchange, twice in each of two rounds: the last of three blocks has its own.
	repeated() {	# RANK CALLS
		is "$mpi, the exchange repeated: rank $1" \
			"$(sed -n '1s/.*gather:0:[0-9]* \(Barrier[^I]*Barrier:0:0\( [sr][a-z]*:[0-9]:1\)*\).*/\1/p' "$tmp/$mpi/traced/repeat/$1")" \
			"$2" || diag "$(cat "$tmp/$mpi/traced/repeat/$1" "$tmp/$mpi/traced/repeat/log")"
	}
	repeated 0 'Barrier:0:0 send:1:1 recv:1:1 send:1:1 recv:1:1 Barrier:0:0 recv:2:1 send:2:1 recv:2:1 send:2:1'
	repeated 1 'Barrier:0:0 recv:0:1 send:0:1 recv:0:1 send:0:1 Barrier:0:0'
	repeated 2 'Barrier:0:0 Barrier:0:0 send:0:1 recv:0:1 send:0:1 recv:0:1'
	# Rank 4 starts its exchange 2 s late: what follows the gather waits for it.
	ok "$mpi: no other message before the last is in the gather" \
		awk 'FNR == 2 { n++; if ($1 > gathered) gathered = $1; if (!resumed || $2 && $2 < resumed) resumed = $2 }
		END { exit !(n == 5 && resumed > gathered) }' "$tmp/$mpi/traced/late"/[0-4] || diag "$(cat "$tmp/$mpi/traced/late"/*)"
done
finish
