#!/bin/sh
# If a clock is set or slewed while the job runs, the time is wrong. So there is an error, which
# names the host and the jump, and no result. Nodes, moments and amounts are drawn at random;
# SEED=... repeats a run.
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=3
error='ziaprobe: error:'

# jumped NAME WHERE MOMENT SECONDS HOST RANK [COMMAND]: a case with JUMP="WHERE MOMENT SECONDS" (see
# helpers/jump.c). The error must name HOST, on which RANK is the first rank that is affected.
jumped() {
	direction=forward
	case $4 in
	-*) direction=back ;;
	esac
	expect "$1" "$fails" "export JUMP='$2 $3 $4'; ${7-$srun}" \
		"$error the clock of $5 was set or slewed $direction by [0-9.]+ ms while the job \
ran; run again when nothing is changing it \(NTP, PTP, an administrator\)"
	jumps="$jumps $1/$6"
	refused="$refused $1"
}

# refused NAME LINE COMMAND: a case that must end in the error LINE
refused() {
	expect "$1" "$fails" "$3" "$2"
	refused="$refused $1"
}

# amount: leaves in $amount a random number of seconds, more than 1 and less than 10
amount() {
	draw_number 9
	amount=$drawn
	draw_number 999999
	amount=$amount.$(printf %06d "$drawn")
}

# draw_node: leaves a random node in $node, and its first rank in $rank
draw_node() {
	draw_number $nodes
	node=n$drawn
	rank=$((2 * drawn - 2))
}

# draw_moment: leaves in $moment a random one of $moments
draw_moment() {
	# shellcheck disable=SC2086 # one word for each
	set -- $moments
	draw_number $#
	shift $((drawn - 1))
	moment=$1
}

# true_jump NAME RANK: succeeds if the jump in the error is that of RANK's clock between one of its
# first three readings of the raw clock and one of its last three
true_jump() {
	awk '
	FILENAME ~ /readings/ {
		ahead[FNR] = $1 + int(($3 - $1) / 2) + $4 - $2
		count = FNR
	}
	/^ziaprobe: error: the clock of/ {
		for (i = 1; i < NF; i++)
			if ($(i + 1) == "ms")
				reported = $i * ($(i - 2) == "back" ? -1000 : 1000)
	}
	END {
		for (i = 1; i <= 3; i++)
			for (j = 4; j <= 6; j++) {
				off = reported - (ahead[j] - ahead[i])
				if (off * off < 9)
					found = 1
			}
		exit !(reported && count == 6 && found)
	}' "$dir/$1/readings.$2" "$dir/$1/out"
}

# add_cases: adds all cases in which the moment of the jump is drawn, or does not matter
add_cases() {
	# Of a rank that is not the first on its node; of two nodes, of which the first is named;
	# and of all, which then still agree with each other
	draw_moment
	draw_node
	amount
	jumped rank $((rank + 1)) "$moment" "$amount" "$node" $((rank + 1))
	draw_moment
	amount
	jumped two 'n[23]' "$moment" "$amount" n2 2
	draw_moment
	amount
	jumped all '*' "$moment" "$amount" n1 0
	# A clock that is slewed by 5 %, but not one that ntpd slews, by at most 500 ppm
	for sign in '' -; do
		draw_node
		jumped "slew$sign" "$node" Slew ${sign}.05 "$node" "$rank"
		draw_node
		expect "ntpd$sign" 0 "JUMP='$node Slew ${sign}.0005' $srun" "$result"
	done

	for sign in '' -; do
		# Jumps of at most 1 ms or 1 % of the time, here 100 s, do not matter.
		draw_moment
		draw_node
		expect "small$sign" 0 "JUMP='$node $moment ${sign}.0005' $srun" "$result"
		draw_moment
		draw_node
		expect "percent$sign" 0 \
			"export AGO='100 seconds ago' JUMP='$node $moment ${sign}.5'; $probe" \
			"$result"
		draw_moment
		draw_node
		amount
		jumped "percents$sign" "$node" "$moment" "$sign$amount" "$node" "$rank" \
			"export AGO='100 seconds ago'; $probe"
		# Nor does a jump after the clocks have been compared.
		draw_node
		expect "after$sign" 0 "JUMP='$node Records ${sign}5' $srun" "$result"
	done
	# Nor does a jump before main, which the comparison of the clocks reveals, or a reading that
	# takes a long time.
	draw_node
	expect before 0 "JUMP='$node Exec 5' $srun" \
		"$result" "ziaprobe: warning: the clock of $node is [0-9.]+ ms .* ahead of .*"
	draw_node
	expect before- 0 "JUMP='$node Exec -5' $srun" \
		"$result" "ziaprobe: warning: the clock of $node is [0-9.]+ ms .* behind .*"
	for reading in 1 2; do
		draw_node
		expect slow$reading 0 "JUMP='$node Slow$reading .2' $srun" "$result"
	done

	# If there are several errors, only the first is printed, in this order: placement, jump,
	# starts, main, time.
	own="srun $size 2 sh -c '[ \$SLURM_PROCID = 0 ] || sleep .1
		exec ../ziaprobe \$(date -d \"\$AGO\" +\"%s %6N\") 2 $options'"
	draw_moment
	draw_node
	refused placement-jump "$error wrong placement: ranks 0 and 1 must be .*" \
		"JUMP='$node $moment 5' ../ziatest $options 2 'srun --distribution=cyclic $size'"
	draw_moment
	draw_node
	jumped jump-starts "$node" "$moment" 5 "$node" "$rank" "export AGO=now; $own"
	draw_moment
	draw_node
	jumped jump-main "$node" "$moment" -5 "$node" "$rank" "export AGO='100 seconds'; $probe"
	jumped jump-time '*' Exchange -100 n1 0
	refused starts-main "$error ranks 0 and [1-5] got different start times .*" \
		"export JUMP='none Init 0' AGO='100 seconds'; $own"
	refused main-time "$error rank 0 on n1 \(or its slurmstepd\) already existed .*" \
		"export JUMP='none Init 0' AGO='100 seconds'; $probe"
}

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	quick_build $mpi
	"mpicc.$mpi" -shared -fPIC -o "$dir/jump.so" tests/helpers/jump.c -ldl
	mkdir "$dir/real"
	mv "$dir/ziaprobe" "$dir/real"
	cat >"$dir/ziaprobe" <<'END'
#!/bin/sh
# Runs ziaprobe with a clock that jumps as specified in $JUMP
dir=${0%/*}
export RANK="${PMIX_RANK:-$PMI_RANK}" LD_PRELOAD="$dir/jump.so:${LD_PRELOAD-}"
exec "$dir/real/ziaprobe" "$@"
END
	chmod +x "$dir/ziaprobe"
	options='-v --csv csv --ranks ranks'
	size='--nodes 3 --ntasks 6 --ntasks-per-node'
	srun="../ziatest $options 2 'srun $size'"
	probe="srun $size 2 ../ziaprobe \$(date -d \"\$AGO\" +'%s %6N') 2 $options"
	jumps='' refused=''
	moments='Init Exchange Gather Ibarrier'
	if [ $mpi = openmpi ]; then
		moments="Pmix $moments"
	fi

	# At every moment from main until the clocks have been compared, forward and back by turns
	draw_number 2
	turn=$drawn
	for moment in $moments; do
		turn=$((turn + 1)) sign=
		if [ $((turn % 2)) -eq 0 ]; then
			sign=-
		fi
		draw_node
		amount
		jumped "$moment$sign" "$node" "$moment" "$sign$amount" "$node" "$rank"
	done
	# The rest does not depend on the MPI library.
	if [ $mpi = openmpi ]; then
		add_cases
	fi
	run_cases 2

	for jump in $jumps; do
		name=${jump%/*} rank=${jump#*/}
		ok "$mpi, $name: the error reports the true jump" true_jump "$name" "$rank" ||
			diag "$(cat "$dir/$name/readings.$rank" "$dir/$name/out")"
	done
	for name in $refused; do
		is "$mpi, $name: neither a row nor a ranks file" \
			"$(cd "$dir/$name" && echo csv* ranks*)" 'csv* ranks*'
		is "$mpi, $name: no report" \
			"$(grep -E '^(critical path|outlier|ms  |fences|MPI)' "$dir/$name/out")" ''
	done
done
finish
