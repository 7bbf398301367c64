#!/bin/sh
#SBATCH --job-name=ziatest
#SBATCH --nodes=2
#SBATCH --exclusive
#SBATCH --time=00:30:00
#SBATCH --output=ziatest-%j.out
#SBATCH --open-mode=append

# Ziatest as a Slurm batch job on the nodes of its allocation, and what there is to hand in
#
#	sbatch --nodes=256 run_ziatest.sh
#	RUNS=5 SWEEP="1 2 4 8 16 32 64 128 256" sbatch --nodes=256 run_ziatest.sh
#	./run_ziatest.sh --summarize ziatest-JOBID	check a directory, and make its summary
#							and pictures anew, without Slurm or MPI
#
# Leaves ziatest-JOBID/ in the directory of the submission, and ziatest-JOBID.tar.gz of it.
# Where a rule is broken the latter is ziatest-JOBID-FAIL.tar.gz; where a run failed or the job
# was ended there is none, and the directory has a file INCOMPLETE.
#
# Exit status: 0 all runs are valid and all rules kept, 1 not so, 2 a wrong setting or call.
#
# Edit the values below for your system, or set them in the environment.

RUNS=${RUNS:-3}		# launches of each size; the first is reported apart, as cold
SWEEP=${SWEEP:-}	# sizes, in nodes: "1 2 4 8"; empty: the whole allocation
NICS=${NICS:-}		# network interfaces of a node; empty: those found on the first, or 1
PPN=${PPN:-}		# processes per node; empty: one for each interface
STRIDE=${STRIDE:-}	# cores from one process to the next; empty: the node's, divided evenly
SRUN_OPTIONS=${SRUN_OPTIONS:-"--hint=nomultithread --distribution=block:block"}	# and what you need
TIMEOUT=${TIMEOUT:-600}	# seconds after which a run is ended
SHARE=${SHARE:-99}	# per cent of the compute nodes that the rules ask for
COMPUTE_NODES=${COMPUTE_NODES:-}	# of the system; empty: all nodes that Slurm knows

# The variables that environment.txt shows: these and no others, so that no secret gets there
VARIABLES='SLURM_CLUSTER_NAME SLURM_JOB_ID SLURM_JOB_NAME SLURM_JOB_PARTITION SLURM_JOB_NODELIST
SLURM_JOB_NUM_NODES SLURM_JOB_CPUS_PER_NODE SLURM_CPUS_ON_NODE SLURM_MPI_TYPE SLURM_DISTRIBUTION
SLURM_HINT SLURM_CPU_BIND SLURM_NETWORK SLURM_KILL_BAD_EXIT LOADEDMODULES LD_PRELOAD
OMPI_MCA_pml OMPI_MCA_btl OMPI_MCA_mtl OMPI_MCA_mpi_preconnect_mpi OMPI_MCA_async_mpi_init
OMPI_MCA_pmix_base_async_modex UCX_TLS UCX_NET_DEVICES FI_PROVIDER MPICH_OFI_STARTUP_CONNECT
MPICH_OFI_NIC_POLICY I_MPI_FABRICS I_MPI_PMI_LIBRARY PMI_MMAP_SYNC_WAIT_TIME OMP_NUM_THREADS'

die() {	# STATUS MESSAGE
	printf 'run_ziatest.sh: error: %s\n' "$2" >&2
	exit "$1"
}

number() {	# NAME VALUE
	case $2 in
	''|0*|*[!0-9]*) die 2 "$1 must be a number from 1 up, not '$2'" ;;
	esac
}

# The settings that the rules are computed from
check_settings() {
	for name in RUNS NICS PPN TIMEOUT COMPUTE_NODES NICS_FOUND NODES_FOUND; do
		eval "number $name \"\$$name\""
	done
	for nodes in $SWEEP; do
		number SWEEP "$nodes"
	done
	[ -z "$(echo "$SWEEP" | tr ' ' '\n' | sort | uniq -d)" ] || die 2 "SWEEP has a size twice: $SWEEP"
	case $SHARE in
	''|*[!0-9.]*|*.*.*|.*) die 2 "SHARE must be a percentage, as 99 or 99.5, not '$SHARE'" ;;
	esac
}

# The summary, from the files of a directory alone

setting() {	# NAME: its value in the job
	sed -n "s/^$1=//p" environment.txt
}

hashes() {	# FILE: its lines from sha256sum
	grep -E '^[0-9a-f]{64}  ' "$1"
}

# Missing, altered and additional files; the summary and the pictures are made anew
check_files() {
	[ ! -e INCOMPLETE ] || echo "the job did not end well: $(tail -n 1 INCOMPLETE)"
	find . ! -type f ! -type d | sed 's|^\./||; s/$/ is no regular file/'
	for file in $(files | grep -v svg) SHA256SUMS; do
		[ -f "$file" ] || echo "$file is missing"
	done
	find . -type f ! -name SHA256SUMS ! -name INCOMPLETE | sed 's|^\./||' | grep -vxF "$(files)" | sed 's/$/ does not belong here/'
	grep -v -e '  summary.txt$' -e '\.svg$' SHA256SUMS | sed 's/.\{66\}//' | sort >"$tmp/listed"
	files | grep -v -e '^summary.txt$' -e '\.svg$' | sort | cmp -s - "$tmp/listed" || echo 'SHA256SUMS does not list the files that belong here'
	grep -v -e '  summary.txt$' -e '\.svg$' SHA256SUMS | sha256sum --check --strict 2>&1 | grep -v -e ': OK$' -e 'NOT match$'
}

# The files that belong in the directory
files() {
	printf '%s\n' build.txt changes.diff environment.txt results.csv summary.txt ranks.svg \
		source/Makefile source/run_ziatest.sh source/ziaprobe.c source/ziatest.c
	for nodes in $SWEEP; do
		for run in $(seq "$RUNS"); do
			printf '%s\n' "ranks-$nodes-$run.csv" "output/$nodes-$run.err" \
				"output/$nodes-$run.out" "output/$nodes-$run.status"
		done
	done
	[ "$SWEEP" = "${SWEEP%% *}" ] || echo scaling.svg
}

# Why the programs cannot be taken for those of the commit; nothing if they can
modifications() {
	[ -f changes.diff ] || echo 'changes.diff is missing'
	sed -n 's/^not compared: //p
		/^+++ b.run_/!s/^+++ b.\(.*\)/\1 is modified/p' changes.diff
	{ (cd source && sha256sum ziatest.c ziaprobe.c Makefile) 2>/dev/null; hashes environment.txt; } | sort >"$tmp/as_run"
	[ "$(hashes build.txt | wc -l)" -eq 5 ] || echo 'build.txt has not the five checksums'
	hashes build.txt | sort | comm -3 - "$tmp/as_run" | sed 's/.*  //; s/$/ is not that of the build/'
}

# Compares every run's raw output, its row and its file of ranks. Prints tables of the runs and
# of the sizes; writes problems, the sizes' figures, and of the largest size the number of nodes,
# of processes per node and the median time, with the number of all valid runs.
check_runs() {
	for nodes in $SWEEP; do
		for run in $(seq "$RUNS"); do
			most=$(awk -F , 'NR > 1 && $8 + 0 > m { m = $8 + 0 } END { printf "%.6f", m }' \
				"ranks-$nodes-$run.csv")
			echo "RUN $nodes $run $(cat "output/$nodes-$run.status" || echo unknown) ${most:-no} "
			cat "output/$nodes-$run.err"
		done
	done 2>/dev/null | awk -v tmp="$tmp" -v sweep="$SWEEP" '
	function problem(text) {
		print "run " run " on " nodes " nodes: " text >>(tmp "/problems")
		bad = 1
	}
	# The run whose output has been read; its row is found by the time of day of its start.
	function check(	key, r, t, printed) {
		bad = 0
		key = sprintf("%02d:%02d:%02d.%06dZ", sec % 86400 / 3600, sec % 3600 / 60, sec % 60, usec)
		if (status != 0) problem("status " status)
		split(row[key], r, ",")
		delete row[key]
		t = r[5] + 0
		printed = t < 1000 ? sprintf("%8.2f millisecs", t) : sprintf("%3d:%02d min:sec", t / 60000, t / 1000 % 60)
		if (!r[1])
			problem("no row in results.csv")
		else if (time != "Time test was completed in " printed || slowest != "Slowest rank: " r[7] ||
		    details != sprintf("%.3f ms, %d nodes x %d = %d ranks", t, r[2], r[3], r[4]) || r[2] != nodes)
			problem("results.csv says " t " ms, rank " r[7] ", " r[2] " nodes, the output \"" time ", " slowest ", " details "\"")
		else if (listing != sprintf("launch %.3f init %.3f wireup %.3f repeat %.3f ", r[9], r[10], r[11], r[12]) ||
		    host != r[8] || corrected != sprintf("%.3f", r[6]))
			problem("results.csv and the listing in the output differ")
		else if (most + 0 != t)
			problem("results.csv says " t " ms, ranks-" nodes "-" run ".csv " most)
		else if (r[15] != 1 || error)
			problem("not valid " error)
		if (bad) return
		printf("%8d %6s %12.3f %12.3f %12.3f %12.3f  %s\n", nodes, run > 1 ? run : "cold", t, r[9], r[10], r[11], r[8])
		valid++
		if (nodes > largest) { largest = nodes; ppn = r[3] }
		if (run > 1 && !warm[nodes]++) n[nodes] = 0	# the cold run is kept apart
		n[nodes]++
		value[nodes, 1, n[nodes]] = t
		for (c = 2; c <= 4; c++) value[nodes, c, n[nodes]] = r[7 + c]
	}
	function median(c,	i, j, x) {	# of column c for this size, which s[] then has sorted
		for (i = 1; i <= n[nodes]; i++) {
			x = value[nodes, c, i] + 0
			for (j = i - 1; j > 0 && s[j] > x; j--) s[j + 1] = s[j]
			s[j + 1] = x
		}
		return (s[int(i / 2)] + s[int((i + 1) / 2)]) / 2
	}
	BEGIN { printf("%8s %6s %12s %12s %12s %12s  %s\n", "nodes", "run", "time (ms)", "launch", "init", "wireup", "slowest on") }
	FILENAME == "results.csv" { if (FNR > 1) row[substr($0, 12, 16)] = $0; next }
	$1 == "RUN" {
		if (nodes) check()
		nodes = $2 + 0; run = $3; status = $4; most = $5
		sec = usec = time = slowest = details = listing = host = corrected = error = ""
	}
	match($0, /ziaprobe.? [0-9]+ [0-9]+ [0-9]+ --verbose/) { split(substr($0, RSTART), f, " "); sec = f[2]; usec = f[3] }
	/^Time test was completed in / { time = $0 }
	/^Slowest rank: / { slowest = $0 }
	/^[0-9.]+ ms, [0-9]+ nodes x / { details = $0 }
	/^(launch|init|wireup|repeat) / { listing = listing $1 " " $4 " " }
	/^completed / { host = $7 }
	/^clock skew: / { corrected = $(NF - 1) }
	/^ziaprobe: error: / { error = $0 }
	/^ziaprobe: warning: / { print "run " run " on " nodes " nodes: " $0 >>(tmp "/warnings") }
	/^executable: / { if (!executable || $2 + 0 < executable) executable = $2 + 0 }
	END {
		if (nodes) check()
		for (key in row) if (row[key]) print "no output for the row " row[key] >>(tmp "/problems")
		print "\nWithout the cold runs where there are others; of the phases the medians:\n"
		printf("%8s %12s %12s %12s %12s %12s %12s\n", "nodes", "min (ms)", "median", "max", "launch", "init", "wireup")
		sizes = split(sweep, size, " ")
		for (k = 1; k <= sizes; k++) {
			nodes = size[k] + 0
			if (!n[nodes]) continue
			phases = sprintf(" %12.3f %12.3f %12.3f", median(2), median(3), median(4))
			middle = median(1)
			line = sprintf("%8d %12.3f %12.3f %12.3f", nodes, s[1], middle, s[n[nodes]]) phases
			print line
			print line >(tmp "/scaling")
			if (nodes == largest) figure = sprintf("%.3f ms on %d nodes x %d = %d ranks, %s", middle, nodes, ppn,
				nodes * ppn, warm[nodes] > 1 ? "the median of " warm[nodes] " runs after the cold one" : warm[nodes] ? "the run after the cold one" : "a cold run")
		}
		printf("%d %d %d %d %s\n", largest, ppn, valid, executable, figure) >(tmp "/facts")
	}' results.csv -
}

# scaling.svg, of the sizes, and ranks.svg, of the last run of the largest, NODES. Of more than
# 2000 ranks, the greatest of every few; of more than 20 nodes, some are named.
draw() {	# NODES
	ranks=ranks-$1-$RUNS.csv
	tail -n 1 "$ranks" | cat - "$ranks" | awk -F , -v hosts="$tmp/hosts" '
	NR == 1 { last = $1; step = int(last / 2000) + 1; every = int(($2 + 19) / 20); next }
	NR == 2 { next }
	$2 != node && ($2 - 1) % every == 0 { gsub(/[^A-Za-z0-9._-]/, "?", $3); printf("%s\"%s\" %s", node ? ", " : "", $3, $1 - .5) >hosts }
	{
		node = $2
		if ($1 % step == 0) max[4] = max[5] = max[8] = "NaN"
		for (c in max) if ($c != "" && (max[c] == "NaN" || $c + 0 > max[c])) max[c] = $c + 0
		if ($1 % step == step - 1 || $1 == last) print $1 - $1 % step, max[8], max[5], max[4]
	}' >"$tmp/ranks" && {
		style="set terminal svg size 900,540 font 'Helvetica,14' background 'white'
			set grid x2 y lc rgb '#dddddd'; set key outside right reverse Left
			set ylabel 'time (ms)'; set yrange [0:*]; set offsets 0, 0, graph 0.05, 0"
		cat <<-END
			$style
			set output 'ranks.svg'; set title 'Ziatest: the ranks of the last run on $1 nodes'; set xlabel 'rank'
			set xrange [-0.5:$(tail -n 1 "$tmp/ranks" | cut -d ' ' -f 1) + 0.5]
			set link x2; set xtics nomirror
			set x2tics ($(cat "$tmp/hosts")) rotate by 45 font ',10'
			plot '$tmp/ranks' using 1:2 with points pt 7 ps 0.5 lc rgb '#222222' title 'completed', \\
				'' using 1:3 with points pt 9 ps 0.5 lc rgb '#d55e00' title 'init', \\
				'' using 1:4 with points pt 5 ps 0.5 lc rgb '#0072b2' title 'launch'
		END
		[ "$(wc -l <"$tmp/scaling")" -lt 2 ] || cat <<-END
			reset
			$style
			set output 'scaling.svg'; set title 'Ziatest: time against nodes'; set xlabel 'nodes'; set logscale x 2
			set xtics ($(sort -rn "$tmp/scaling" | awk '!last || $1 * 1.25 < last { printf("%s%d", last ? ", " : "", $1); last = $1 }'))
			set xrange [$(awk 'NR == 1 { print $1 / 1.3 }' "$tmp/scaling"):$(awk 'END { print $1 * 1.3 }' "$tmp/scaling")]
			plot '$tmp/scaling' using 1:3:2:4 with yerrorbars pt 7 ps 0.6 lw 2 lc rgb '#222222' title 'time (min to max)', \\
				'' using 1:3 with lines lw 2 lc rgb '#222222' notitle, \\
				'' using 1:5 with linespoints pt 5 ps 0.5 lc rgb '#0072b2' title 'launch', \\
				'' using 1:6 with linespoints pt 9 ps 0.5 lc rgb '#d55e00' title 'init', \\
				'' using 1:7 with linespoints pt 13 ps 0.5 lc rgb '#009e73' title 'wireup'
		END
	} | gnuplot || return
	for picture in ./*.svg; do	# a full disk is no error to gnuplot
		grep -q '</svg>' "$picture" || return
	done
}

rule() {	# TEXT A B: kept if A >= B, both numbers
	awk -v a="$2" -v b="$3" 'BEGIN { exit !(a ~ /^[0-9.]+$/ && b ~ /^[0-9.]+$/ && a + 0 >= b + 0) }' &&
		echo "PASS  $1" || echo "FAIL  $1"
}

set_by_hand() {	# VALUE FOUND
	[ "$1" = "$2" ] || echo " (set by hand; found: $2)"
}

# Makes summary.txt and the pictures in the current directory. Fails if not all is well.
summarize() {
	check_runs >"$tmp/tables"
	read -r nodes ppn valid executable figure <"$tmp/facts" || die 1 'cannot read results.csv'
	modified=$(modifications | sort -u | paste -s -d , - | sed 's/,/, /g')
	runs=$(($(echo "$SWEEP" | wc -w) * RUNS))
	{
		echo "Ziatest: job $(setting SLURM_JOB_ID) on $(setting SLURM_CLUSTER_NAME), $(setting DATE)"
		echo "Time: ${figure:-none, no run is valid}"
		echo
		percent=$(awk -v n="$nodes" -v of="$COMPUTE_NODES" 'BEGIN { printf("%.3f", 100 * n / of) }')
		rule "compute nodes: $nodes of $COMPUTE_NODES, $percent %; the rule is $SHARE %$(set_by_hand "$COMPUTE_NODES" "$NODES_FOUND")" \
			$((100 * nodes)) "$(awk -v share="$SHARE" -v of="$COMPUTE_NODES" 'BEGIN { printf("%.6f", share * of) }')"
		rule "ranks per node: $ppn, with $NICS network interfaces$(set_by_hand "$NICS" "$NICS_FOUND")" "$ppn" "$NICS"
		rule "valid runs: $valid of $runs" "$valid" "$runs"
		rule "executable: $executable bytes; the rule is 104857600" "$executable" 104857600
		rule "source: ${modified:-unmodified}; $(sed -n '/^commit: /p' build.txt)" 0 ${#modified}
		[ ! -s "$tmp/problems" ] || { printf '\nProblems\n'; sort -u "$tmp/problems"; }
		[ ! -s "$tmp/warnings" ] || { printf '\nWarnings\n'; cat "$tmp/warnings"; }
		echo
		cat "$tmp/tables"
	} | tee "$tmp/summary"
	[ ! -e summary.txt ] || cmp -s summary.txt "$tmp/summary" ||
		echo 'run_ziatest.sh: error: summary.txt was not what the other files say; it is replaced' | tee -a "$tmp/problems" >&2
	rm -f summary.txt scaling.svg ranks.svg
	cp "$tmp/summary" summary.txt || die 1 "cannot write $PWD/summary.txt"
	if ! command -v gnuplot >/dev/null; then
		echo "No gnuplot here: 'run_ziatest.sh --summarize DIR' where there is one draws the pictures."
	elif [ "$valid" -gt 0 ] && ! draw "$nodes"; then
		echo 'run_ziatest.sh: error: the pictures could not be drawn' | tee -a "$tmp/problems" >&2
	fi
	[ ! -s "$tmp/problems" ] && ! grep -q '^FAIL' summary.txt
}

# The job

nics() {	# Slingshot's; InfiniBand's and the like; else 1
	for class in cxi infiniband; do
		set -- /sys/class/$class/*
		[ ! -e "$1" ] || { echo $#; return; }
	done
	echo 1
}

# The settings, the variables, and what the first node is
environment() {
	for name in RUNS SWEEP NICS NICS_FOUND PPN STRIDE SRUN_OPTIONS TIMEOUT SHARE COMPUTE_NODES NODES_FOUND $VARIABLES; do
		eval "[ -z \"\${$name+set}\" ] || printf '%s\n' \"$name=\$$name\""
	done
	date -u +DATE=%Y-%m-%dT%H:%M:%SZ
	printf '\nThe executables as run:\n'
	(cd "$dir" && sha256sum ziatest ziaprobe)
	printf '\nThe first node, %s:\n' "$(hostname)"
	uname -srm
	sed -n 's/^PRETTY_NAME=//p' /etc/os-release
	lscpu | grep -E '^(Model name|CPU\(s\)|Socket|Core|Thread|NUMA node\(s\))'
	grep MemTotal /proc/meminfo
	srun --version
	sed -n '/^MPI: /{p;q;}' output/*.err
	for nic in /sys/class/cxi/* /sys/class/infiniband/* /sys/class/net/*; do
		[ ! -e "$nic" ] || echo "${nic#/sys/class/} $(cat "$nic"/ports/1/rate "$nic"/speed 2>/dev/null)"
	done
}

# The differences of source/ from the commit that the build came from
changes() {
	commit=$(sed -n 's/^commit: \([0-9a-f]*\)$/\1/p' build.txt)
	if [ -z "$commit" ]; then
		echo 'not compared: built outside git'
	elif ! git -C "$dir" cat-file -e "$commit" 2>/dev/null; then
		echo "not compared: no git, or no access to the clone, on $(hostname)"
	else
		for file in ziatest.c ziaprobe.c Makefile run_ziatest.sh; do
			git -C "$dir" show "$commit:./$file" | diff -u --label "a/$file" --label "b/$file" - "source/$file"
		done
	fi
}

command -v sha256sum >/dev/null || die 1 'no sha256sum here; install coreutils'
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
for file in problems warnings scaling; do
	: >"$tmp/$file"
done

case ${1-} in
--summarize)
	[ $# -eq 2 ] || die 2 'usage: run_ziatest.sh --summarize DIR'
	{ [ -f "$2/environment.txt" ] && [ -f "$2/build.txt" ]; } ||
		die 1 "'$2' is no directory of a Ziatest job, unpacked: environment.txt or build.txt is missing"
	cd "$2" || exit 1
	for name in RUNS SWEEP NICS NICS_FOUND PPN SHARE TIMEOUT COMPUTE_NODES NODES_FOUND; do
		eval "$name=\$(setting $name)"
	done
	check_settings
	check_files >>"$tmp/problems"
	summarize
	exit ;;
?*)
	die 2 "no option is '$1'; usage: sbatch --nodes=N run_ziatest.sh, or run_ziatest.sh --summarize DIR" ;;
esac
[ -n "${SLURM_JOB_ID-}" ] || die 2 "not inside a Slurm job; submit it: sbatch --nodes=N $0"

# Slurm runs a copy of this script from its own directory; the programs are beside the
# original, which the job's record names, or where it was submitted.
script=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Command=//p')
for dir in "$(dirname "$script")" "$(dirname "$0")" "$SLURM_SUBMIT_DIR" ''; do
	[ ! -x "$dir/ziatest" ] || [ ! -x "$dir/ziaprobe" ] || [ ! -f "$dir/build.txt" ] || break
done
[ -n "$dir" ] || die 2 "no ziatest, ziaprobe and build.txt in '$(dirname "$script")' or '$SLURM_SUBMIT_DIR'; run make there"
dir=$(cd "$dir" && pwd)

NICS_FOUND=$(nics)
NODES_FOUND=$(sinfo --all --noheader --Node --format=%N | sort -u | wc -l)
NICS=${NICS:-$NICS_FOUND}
PPN=${PPN:-$NICS}
SWEEP=${SWEEP:-$SLURM_JOB_NUM_NODES}
COMPUTE_NODES=${COMPUTE_NODES:-$NODES_FOUND}
check_settings
for nodes in $SWEEP; do
	[ "$nodes" -le "$SLURM_JOB_NUM_NODES" ] || die 2 "SWEEP has $nodes nodes, the allocation $SLURM_JOB_NUM_NODES"
done
if [ -z "$STRIDE" ]; then
	threads=$(lscpu | sed -n 's/^Thread(s) per core: *//p')
	STRIDE=$((SLURM_CPUS_ON_NODE / ${threads:-1} / PPN))
	[ "$STRIDE" -ge 1 ] || STRIDE=1
fi
number STRIDE "$STRIDE"

result=$PWD/ziatest-$SLURM_JOB_ID
# A job that was requeued, or an earlier one of this number, has left results already.
while [ -e "$result.tar.gz" ] || [ -e "$result-FAIL.tar.gz" ] || ! why=$(mkdir "$result" 2>&1); do
	[ -e "$result" ] || [ -e "$result.tar.gz" ] || [ -e "$result-FAIL.tar.gz" ] || die 1 "cannot make the directory of the results: $why"
	result=$result-again
done
trap 'echo "ended by SIGTERM at $(date -u +%H:%M:%SZ)" >>"$result/INCOMPLETE"; exit 143' TERM
{ echo "begun, and not ended" >"$result/INCOMPLETE" && : >"$result/results.csv" && mkdir "$result/output" "$result/source" &&
	cp "$dir/build.txt" "$result" && cp "$0" "$result/source/run_ziatest.sh" &&
	cp "$dir/ziatest.c" "$dir/ziaprobe.c" "$dir/Makefile" "$result/source"; } || die 1 "cannot write in $result"

cd "$dir" || exit 1
failed=
for nodes in $SWEEP; do
	for run in $(seq "$RUNS"); do
		output=$result/output/$nodes-$run
		./ziatest -v -t "$TIMEOUT" --csv "$result/results.csv" --ranks "$result/ranks-$nodes-$run.csv" "$PPN" \
			"srun $SRUN_OPTIONS --nodes $nodes --ntasks $((nodes * PPN)) --cpus-per-task $STRIDE --ntasks-per-node " \
			>"$output.out" 2>"$output.err"
		status=$?
		echo $status >"$output.status" || die 1 "cannot write $output.status"
		if [ $status -eq 0 ]; then
			says=$(tail -n 1 "$result/results.csv" | awk -F , '{ printf("%.2f ms, slowest %s", $5, $8) }')
		else
			failed="run $run/$RUNS on $nodes nodes failed"
			says="FAILED, status $status: $({ grep error: "$output.err"; sed -n 2p "$output.err"; } | head -n 1)"
		fi
		echo "run $run/$RUNS on $nodes nodes: $says"
	done
done

cd "$result" || exit 1
{ environment >environment.txt && changes >changes.diff; } || [ -s environment.txt ] || die 1 "cannot write in $result"
[ -z "$failed" ] || echo "$failed" >>INCOMPLETE
summarize
status=$?
# shellcheck disable=SC2046 # names without spaces
sha256sum $(find . -type f ! -name SHA256SUMS ! -name INCOMPLETE | sed 's|^\./||' | sort) >"$tmp/sums"
cp "$tmp/sums" SHA256SUMS || die 1 "cannot write $result/SHA256SUMS"
[ -z "$failed" ] || exit 1
archive=$result$([ $status -eq 0 ] || echo -FAIL).tar.gz
{ tar -C .. --exclude INCOMPLETE -czf "$archive.part" "$(basename "$result")" && mv "$archive.part" "$archive" && rm INCOMPLETE; } ||
	{ rm -f "$archive.part"; die 1 "cannot write $archive"; }
echo "Hand in $archive"
exit $status
