#!/bin/sh
# If a clock is set or slewed while the job runs, the time is wrong. So there is an error, which
# names the host and the jump, and no result. Nodes, moments and amounts are drawn at random;
# SEED=... repeats a run.
. "$(dirname "$0")/lib.sh"
small_cluster
error='ziaprobe: error:'

# refused NAME LINE COMMAND: a case that must end in the error LINE
refused() {
	expect "$1" "$fails" "$3" "$2"
	refused="$refused $1"
}

# jumped NAME WHERE MOMENT SECONDS HOST [COMMAND]: a case with the fault "jump SECONDS" of the ranks
# or nodes WHERE at MOMENT (see helpers/shim.c), for which the error must name HOST
jumped() {
	direction=forward
	case $4 in
	-*) direction=back ;;
	esac
	refused "$1" "$error the clock of $5 was set or slewed $direction by [0-9.]+ ms while the \
job ran; run again when nothing is changing it \(NTP, PTP, an administrator\)" \
		"export SHIM='$2 $3 jump $4'; ${6-$launch}"
	jumps="$jumps $1/$4"
}

# draw: leaves a random node in $node, one of $moments in $moment, and in $amount more than 1 and
# less than 10 s, forward or back
draw() {
	draw_number 3
	node=n$drawn
	# shellcheck disable=SC2086 # one word for each
	set -- $moments
	draw_number $#
	shift $((drawn - 1))
	moment=$1
	draw_number 9
	amount=$drawn
	draw_number 999999
	amount=$amount.$(printf %06d "$drawn")
	draw_number 2
	if [ "$drawn" -eq 2 ]; then
		amount=-$amount
	fi
}

# true_jump NAME SECONDS: succeeds if the jump in the error is SECONDS, within 5 %; how long the
# readings of the clocks took is not known
true_jump() {
	awk -v truth="$2" '
	/^ziaprobe: error: the clock of/ {
		for (i = 1; i < NF; i++)
			if ($(i + 1) == "ms")
				ratio = $i / 1000 / truth
	}
	END { exit !(ratio * ratio > .9 && ratio * ratio < 1.1) }' "$dir/$1/out"
}

mpi=mpich
if ! has_mpi $mpi; then
	finish
	exit
fi
preload_build $mpi shim
options='-v --csv csv --ranks ranks'
launch="../ziatest $options 2 '$hydra'"
jumps='' refused=''
moments='Start Send Ibarrier'	# from main until the clocks are compared
for each in $moments; do
	draw
	jumped "$each" "$node" "$each" "$amount" "$node"
done
# A rank that is not the first on its node sets the clock; the clocks of two nodes jump, and the
# first node is named; and all clocks jump, and then still agree with each other.
draw
jumped rank $((2 * ${node#n} - 1)) "$moment" "$amount" "$node"
draw
jumped two 'n[23]' "$moment" "$amount" n2
draw
jumped all '*' "$moment" "$amount" n1
# A clock that is slewed by 5 % is an error, but not one that ntpd slews, by at most 500 ppm.
draw
refused slew "$error the clock of $node was set or slewed [a-z]+ by [0-9]{3}[0-9.]+ ms .*" \
	"SHIM='$node Start slew ${amount%%[1-9]*}.05' $launch"
expect ntpd 0 "SHIM='$node Start slew ${amount%%[1-9]*}.0005' $launch" \
	"$result" "$same_kernel"
# A jump after the clocks have been compared does not matter. One before main is not
# noticed, but the comparison reveals it.
draw
expect after 0 "SHIM='$node Records jump $amount' $launch" "$result" "$same_kernel"
expect before 0 "SHIM='n2 Exec jump $amount' $launch" \
	"$result" "$same_kernel" "ziaprobe: warning: the clock of n2 is [0-9.]+ ms .*"

# If there are several errors, only the first is printed, in this order: jump, starts, main, time.
own="$hydra 2 sh -c 'if [ \$PMI_RANK != 0 ]; then sleep .1; fi
	exec ../ziaprobe \$(date -d \"\$AGO\" +\"%s %6N\") 2 $options'"
probe="$hydra 2 ../ziaprobe \$(date -d \"\$AGO\" +'%s %6N') 2 $options"
draw
jumped jump-starts "$node" "$moment" "$amount" "$node" "export AGO=now; $own"
jumped jump-time '*' Send -100 n1
refused starts-main "$error ranks 0 and [1-5] got different start times .*" \
	"export SHIM='none Init true' AGO='100 seconds'; $own"
refused main-time "$error rank 0 on n1 \(or its slurmstepd\) already existed .*" \
	"export SHIM='none Init true' AGO='100 seconds'; $probe"
run_cases 3

for jump in $jumps; do
	ok "$mpi, ${jump%/*}: the error reports the true jump" \
		true_jump "${jump%/*}" "${jump#*/}" || diag "$(cat "$dir/${jump%/*}/out")"
done
for name in $refused; do
	is "$mpi, $name: no row, no ranks file, no report" \
		"$(cd "$dir/$name" && echo csv* ranks* &&
			grep -E '^(critical path|outlier|m?s  |fences|MPI)' out)" \
		'csv* ranks*'
done
finish
