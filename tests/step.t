#!/bin/sh
# A clock that is set while the job runs makes the time wrong, so there is an error, which names the
# host and the amount, and no result. Nodes and amounts are drawn at random; SEED=... repeats a run.
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=4
error='ziaprobe: error:'

# stepped NAME WHERE HOST RANK SECONDS [COMMAND]: a case in which the clock is set by SECONDS for
# WHERE (see helpers/step.c), at one of $moments in turn. The error must name HOST, on which RANK is
# the first rank that is affected.
stepped() {
	moment=${moments%% *}
	moments="${moments#* } $moment"
	direction=forward
	case $5 in
	-*) direction=back ;;
	esac
	was_set="was stepped [0-9.]+ ms $direction while the job ran"
	expect "$1" "$fails" "export STEP='$2 $moment $5'; ${6-$srun}" \
		"$error the clock of $3 $was_set; run again .*"
	steps="$steps $1/$4/$5"
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

# true_step NAME RANK SECONDS: succeeds if the step in the error is SECONDS plus the difference that
# RANK's two readings of the boot time had without the step
true_step() {
	awk -v step="$3" '
	FILENAME ~ /readings/ {
		boot = $1 + int(($3 - $1) / 2) - $2
		if (FNR == 1)
			first = boot
	}
	/^ziaprobe: error: the clock of/ {
		for (i = 1; i < NF; i++)
			if ($(i + 1) == "ms")
				reported = $i * ($(i + 2) == "back" ? -1000 : 1000)
	}
	END {
		off = reported - step * 1e6 - (boot - first)
		exit !(reported && FNR && off * off < 4)
	}' "$dir/$1/readings.$2" "$dir/$1/out"
}

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	quick_build $mpi
	"mpicc.$mpi" -shared -fPIC -o "$dir/step.so" tests/helpers/step.c -ldl
	mkdir "$dir/real"
	mv "$dir/ziaprobe" "$dir/real"
	cat >"$dir/ziaprobe" <<'END'
#!/bin/sh
# Runs ziaprobe with a clock that is set as specified in $STEP
dir=${0%/*}
export RANK="${PMIX_RANK:-$PMI_RANK}" LD_PRELOAD="$dir/step.so:${LD_PRELOAD-}"
exec "$dir/real/ziaprobe" "$@"
END
	chmod +x "$dir/ziaprobe"
	options='-v --csv csv --ranks ranks'
	four='--nodes 4 --ntasks 8 --ntasks-per-node'
	srun="../ziatest $options 2 'srun $four'"
	probe="srun $four 2 ../ziaprobe \$(date -d \"\$AGO\" +'%s %6N') 2 $options"
	steps='' refused=''
	moments='Exchange Init'
	if [ $mpi = openmpi ]; then
		moments='Exchange Pmix Init'
	fi

	# Rank 0's node, another originator's, and a responder's, in both directions
	draw_number 2
	responder=n$((2 * drawn))
	for node in n1 n3 $responder; do
		rank=$((2 * ${node#n} - 2))
		amount
		stepped "$node-forward" "$node" "$node" $rank "$amount"
		amount
		stepped "$node-back" "$node" "$node" $rank "-$amount"
	done
	# A rank that is not the first on its node; two nodes, of which the first is named; and all,
	# which then still agree with each other
	amount
	draw_number 4
	stepped rank $((2 * drawn - 1)) "n$drawn" $((2 * drawn - 1)) "$amount"
	amount
	stepped two 'n[24]' n2 2 "$amount"
	amount
	stepped all '*' n1 0 "$amount"

	# Steps of at most 1 ms or 1 % of the time, here 100 s, do not matter.
	for sign in '' -; do
		draw_number 4
		expect "small$sign" 0 "STEP='n$drawn Init ${sign}.0005' $srun" "$result"
		draw_number 4
		expect "percent$sign" 0 \
			"export AGO='100 seconds ago' STEP='n$drawn Init ${sign}.5'; $probe" \
			"$result"
		amount
		draw_number 4
		stepped "percents$sign" "n$drawn" "n$drawn" $((2 * drawn - 2)) "$sign$amount" \
			"export AGO='100 seconds ago'; $probe"
	done
	# Nor does a step before main matter, which the comparison of the clocks reveals, or a
	# reading that takes a long time.
	draw_number 4
	expect before 0 "STEP='n$drawn Exec 5' $srun" \
		"$result" "ziaprobe: warning: the clock of n$drawn is [0-9.]+ ms ahead of .*"
	draw_number 4
	expect slow 0 "STEP='n$drawn Slow .2' $srun" "$result"

	# If there are several errors, only the first is printed, in this order: placement, step,
	# starts, main, time.
	own="srun $four 2 sh -c '[ \$SLURM_PROCID = 0 ] || sleep .1
		exec ../ziaprobe \$(date -d \"\$AGO\" +\"%s %6N\") 2 $options'"
	draw_number 4
	refused placement-step "$error wrong placement: ranks 0 and 1 must be .*" \
		"STEP='n$drawn Init 5' ../ziatest $options 2 'srun --distribution=cyclic $four'"
	draw_number 4
	stepped step-starts "n$drawn" "n$drawn" $((2 * drawn - 2)) 5 "export AGO=now; $own"
	draw_number 4
	stepped step-main "n$drawn" "n$drawn" $((2 * drawn - 2)) -5 \
		"export AGO='100 seconds'; $probe"
	stepped step-time '*' n1 0 -100
	refused starts-main "$error ranks 0 and [1-7] got different start times .*" \
		"export STEP='none Init 0' AGO='100 seconds'; $own"
	run_cases 2

	for step in $steps; do
		IFS=/ read -r name rank seconds <<-END
			$step
		END
		ok "$mpi, $name: the error reports the true step" \
			true_step "$name" "$rank" "$seconds" ||
			diag "$seconds s" "$(cat "$dir/$name/readings.$rank" "$dir/$name/out")"
	done
	for name in $refused; do
		is "$mpi, $name: neither a row nor a ranks file" \
			"$(cd "$dir/$name" && echo csv* ranks*)" 'csv* ranks*'
		is "$mpi, $name: no report" \
			"$(grep -E '^(critical path|outlier|ms  |fences|MPI)' "$dir/$name/out")" ''
	done
done
finish
