#!/bin/sh
# The messages of ziaprobe: compares the MPI calls of every rank, as recorded by a PMPI tracer, with
# the table below
. "$(dirname "$0")/lib.sh"
small_cluster

# The calls that a process of a block makes, in order; its peers are the processes with the same
# local rank in other blocks. The table was written by hand from the specification, which calls
# blocks "nodes" and counts them from 1.
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

calls() {	# BLOCKS N: what every rank does according to the table, then its stamp
	printf '%s\n' "$table" | awk -v blocks="$1" -v n="$2" '
	$1 == blocks {
		for (l = 0; l < n; l++) {
			printf "%d: ", $2 * n + l
			for (i = 3; i < NF; i += 2)
				printf "%s:%d:1 ", $i, $(i + 1) * n + l
			print "gather:0:8"
		}
	}' | sort -n
}

traced() {	# NAME: what every rank of the case did
	cd "$dir/$1" || exit 1
	for rank in [0-9]*; do
		printf '%s: ' "$rank"
		sed -n '1s/\(gather:0:8\) .*/\1/p' "$rank"
	done | sort -n
}

collectives() {	# NAME: the collective calls of all ranks, once; N is the second gather's bytes
	sed -n '3s/[1-9][0-9]\{2,\}$/N/p' "$dir/$1"/[0-9]* | sort -u
}

mpi=mpich
if ! has_mpi $mpi; then
	finish
	exit
fi
export TRACE=.
preload_build $mpi trace

is "$mpi, only these MPI functions are used, which the tracer knows or which send nothing" \
	"$(nm -D --undefined-only "$dir/real/ziaprobe" | sed -n 's/.* U P*MPI_//p' |
		LC_ALL=C sort -u | paste -s -d ' ' -)" "Abort Comm_rank Comm_size \
Finalize Gather Get_library_version Get_processor_name Ibarrier Ibcast Init Recv Send \
Sendrecv Test"
sizes='1.2 2.2 3.3 4.2 5.2'	# BLOCKS.N
for size in $sizes; do
	blocks=${size%.*} n=${size#*.}
	expect "$size" 0 \
		"../ziatest $n '$(hydra_on "$blocks" "$n")'" \
		"$result" "?$one_node" "?$same_kernel"
done
# Rank 4 starts its exchange 2 s late.
expect late 0 "LATE=4 ../ziatest -v 1 '$(hydra_on 5 1)'" "$result" "$same_kernel"
run_cases 2

for size in $sizes; do
	is "$mpi, $size: bytes, peers and order" "$(traced "$size")" \
		"$(calls "${size%.*}" "${size#*.}")"
	is "$mpi, $size: the records come after a broadcast and a barrier" \
		"$(collectives "$size")" 'gather:8 Ibcast:1 Ibarrier:0 gather:N'
done
ok "$mpi, late: what follows the gather waits for the last message" awk '
FNR == 2 {
	n++
	if ($1 > gathered)
		gathered = $1
	if (!resumed || $2 && $2 < resumed)
		resumed = $2
}
END { exit !(n == 5 && resumed > gathered) }' "$dir/late"/[0-4]
finish
