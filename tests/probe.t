#!/bin/sh
# ziaprobe called directly, as ReFrame tests do: the result's format, and wrong
# arguments said once
. "$(dirname "$0")/lib.sh"
needs_cluster

slowest='Slowest rank: 0'
usage='usage: LAUNCHER ziaprobe SEC USEC N'

# Every case in one cluster: a line each, the srun options, then ziaprobe's arguments.
# What srun itself remarks is left out.
cat >"$tmp/cases" <<'END'
now     -n 1 -- $(date +'%s %6N') 1
65s     -n 1 -- $(date -d '65 seconds ago' +'%s %6N') 1
2h      -n 1 -- $(date -d '2 hours ago' +'%s %6N') 1
future  -n 1 -- $(date -d 'now + 1 hour' +'%s %6N') 1
world   -N 2 -n 5 -- 1 2 2
wrong1  -N 2 -n 4 --
wrong2  -N 2 -n 4 -- 1 2
wrong3  -N 2 -n 4 -- 1 2 3 4
wrong4  -N 2 -n 4 -- 1 2 0
wrong5  -N 2 -n 4 -- 1 2 x
wrong6  -N 2 -n 4 -- 1 x 1
wrong7  -N 2 -n 4 -- x 2 1
wrong8  -N 2 -n 4 -- 1 1000000 1
wrong9  -N 2 -n 4 -- 1 2 99999999999
END
cat >"$tmp/all" <<'END'
cd "$1"
while read -r name line; do
	eval "srun --mpi=$2 ${line%%--*} ./ziaprobe ${line#*--}" </dev/null >$name.out 2>&1
	echo $? >$name.status
	sed -i '/^srun: error: n/d' $name.out
done <../cases
END

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	quick_build $mpi
	cluster 2 sh "$tmp/all" "$tmp/$mpi" "$(pmi $mpi)"
	result() {	# CASE NAME PATTERN STATUS
		like "$mpi, $2" "$(cat "$tmp/$mpi/$1.out")" "$3"
		is "$mpi, $2: status $4" "$(cat "$tmp/$mpi/$1.status")" "$4"
	}
	result now 'one rank, just started' \
		"Time test was completed in ([ 0-9]{5}\.[0-9]{2} millisecs|[ 0-9]{3}:[0-9]{2} min:sec)\|$slowest" 0
	result 65s 'started 65 s ago' "Time test was completed in   1:[0-5][0-9] min:sec\|$slowest" 0
	result 2h 'started 2 hours ago' "Time test was completed in 120:[0-5][0-9] min:sec\|$slowest" 0
	result future 'to start in an hour: no result' "ziaprobe: error: rank 0 .* before the start.*" 1
	result world '5 processes, N of 2: said once' "ziaprobe: error: 5 processes [^|]*N = 2[^|]*" 2
	for i in 1 2 3 4 5 6 7 8 9; do
		result wrong$i "wrong arguments, $i: said once" "ziaprobe: error: [^|]*\|$usage" 2
	done
done
finish
