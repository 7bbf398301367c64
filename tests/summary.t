#!/bin/sh
# offclock/summarize, on evidence made up here: the verdicts, what is doubtful, the nodes that
# stand out, several jobs, the pictures; with every awk there is, and hostile evidence
. "$(dirname "$0")/lib.sh"
for tool in gnuplot mawk gawk; do
	has $tool || skip_all "no $tool; tests/setup installs it"
done
cd "$tmp" || exit 1

# evidence DIR NODES [HOST PHASE MS]: what a good job of a sweep of $small and NODES leaves, three
# runs each, two ranks a node. In all runs HOST takes MS longer in PHASE: launch, setup (in MPI_Init
# before the others are awaited), init (after that), exchange; or with setup- where no setup is known.
small=1
evidence() {
	rm -rf "$1"
	mkdir -p "$1/output"
	awk -v dir="$1" -v sizes="$small $2" -v late="${3-}" -v phase="${4-}" -v more="${5-0}" '
	function noise() {
		seed = (seed * 1103 + 12345) % 65536
		return seed / 65536 * 10
	}
	BEGIN {
		known = phase !~ /-$/
		sub(/-$/, "", phase)
		csv = dir "/results.csv"
		print "started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,launch_max_ms," \
			(known ? "setup_max_ms," : "") "init_max_ms,wireup_max_ms,repeat_max_ms,skew_max_ms," \
			"skew_bound_ms,valid" >csv
		split(sizes, size, " ")
		for (i = 1; i <= 2; i++)
			for (run = 1; run <= 3; run++)
				one(size[i], run)
	}
	function one(nodes, run,    r, t, w, slow, out, file) {
		fence = 0
		for (r = 0; r < 2 * nodes; r++) {
			host = "n" int(r / 2) + 1
			launch[r] = 100 + noise() + (host == late && phase == "launch") * more
			setup[r] = 50 + noise() + (host == late && phase == "setup") * more
			after[r] = 60 + noise() + (host == late && phase == "init") * more
			if (launch[r] + setup[r] > fence)
				fence = launch[r] + setup[r]
		}
		file = dir "/ranks-" nodes "-" run ".csv"
		print "rank,node,host,launch_ms," (known ? "setup_ms," : "") \
			"init_ms,wireup_ms,repeat_ms,completed_ms,clock_offset_ms" >file
		t = 0
		for (r = 0; r < 2 * nodes; r++) {
			host = "n" int(r / 2) + 1
			ready = fence + after[r]
			line = r "," int(r / 2) + 1 "," host "," launch[r] (known ? "," setup[r] : "") "," ready - launch[r]
			if (int(r / 2) % 2) {
				print line ",,,,0.000000" >file
				continue
			}
			peer = (r + 2) % (2 * nodes)
			both = fence + after[peer] > ready ? fence + after[peer] : ready
			w = 5 + noise() + (host == late && phase == "exchange") * more
			if (both + w > t) {
				t = both + w
				slow = r
			}
			print line "," w ",1," both + w ",0.000000" >file
		}
		ms = sprintf("%.6f", t)
		started = 1795253600 + ++launches
		print strftimes(started) "," nodes ",2," 2 * nodes "," ms "," ms "," slow ",n" int(slow / 2) + 1 \
			",110.5" (known ? ",60.5" : "") ",70.5,15.5,1.5,0.1,0.01,1" >csv
		out = dir "/output/" nodes "-" run ".txt"
		print "srun -n 8 2 ./ziaprobe " started " 123456 2 --verbose" >out
		took = t < 1000 ? sprintf("%8.2f millisecs", t) : sprintf("%3d:%02d min:sec", 0, t / 1000)
		print "Time test was completed in " took >out
		print "Slowest rank: " slow "\n\nexecutable: 104898544 bytes" >out
		print "MPI: Open MPI v4.1.4, package: Debian\nstatus 0" >out
	}
	function strftimes(s) {
		return sprintf("2026-11-21T%02d:%02d:%02d.123456Z", s / 3600 % 24, s / 60 % 60, s % 60)
	}'
}

# submission DIR NODES...: evidence, with what else belongs to it
submission() {
	evidence "$@"
	sum=$(printf 'a%063d' 0)
	cat >"$1/environment.txt" <<-END
		RUNS=3
		SWEEP=$small $2
		NICS=2
		COMPUTE_NODES=$2

		DATE=2026-11-21T09:33:57Z
		SLURM_CLUSTER_NAME=isambard
		SLURM_JOB_ID=4711
		NICS_FOUND=2
		NODES_FOUND=$2
		NODES_ELSEWHERE=1 drained

		The batch script:
			RUNS=9
		$sum  ziatest
		$sum  ziaprobe
	END
	printf 'commit: 143b6d1\n%s  ziatest\n%s  ziaprobe\n' "$sum" "$sum" >"$1/build.txt"
	: >"$1/changes.diff"
}

# says WHAT STATUS PATTERN COMMAND: what summarize says of a good submission after COMMAND in it
says() {
	submission it 4
	(cd it && eval "$4")
	run timeout 20 "$top/offclock/summarize" it
	is "$1: the status" "$status" "$2"
	like "$1" "$err$out" ".*$3.*"
}

says 'a good job' 0 'Ziatest: job 4711 on isambard, 2026-11-21T09:33:57Z, Open MPI v4.1.4\|Time: 24[0-9.]* ms at the first launch; then 24[0-9.]* ms, the median of 2 \(24[0-9.]* to 24[0-9.]*\); 4 nodes x 2 = 8 ranks\|\|PASS     compute nodes: 4 of 4, 100.0 %; the rule is 99 %\|PASS     ranks per node: 2, with 2 network interfaces\|PASS     valid runs: 6 of 6\|PASS     executable: 104898544 bytes; the rule is 104857600\|PASS     source: as in commit 143b6d1\|\| +nodes +run .*\|\|Nodes that stand out[^|]*\|\|none' true
good=$out
for awk in mawk gawk original-awk 'busybox awk'; do
	if has "${awk%% *}"; then
		mkdir -p path
		printf '#!/bin/sh\nexec %s "$@"\n' "$awk" >path/awk
		chmod +x path/awk
		is "the same bytes with $awk" \
			"$(PATH="$tmp/path:$PATH" LC_ALL=de_DE.UTF-8 "$top/offclock/summarize" it)" "$good"
	fi
done
chmod -R a-w it
find it -type f -exec cksum {} + >before
"$top/offclock/summarize" --pictures pictures it | head -n 1 >first
is 'a reader that goes away, evidence that is read-only: nothing is written' \
	"$(find it -type f -exec cksum {} +)" "$(cat before)"
chmod -R u+w it

# Rules
says 'too few nodes' 1 'FAIL     compute nodes: 4 of 5, 80.0 %; the rule is 99 % \(set by hand; found: 4\); the others: 1 drained' \
	'sed -i s/^COMPUTE_NODES=.*/COMPUTE_NODES=5/ environment.txt'
says '98.99 % is not 99 %' 1 'FAIL     compute nodes: 4 of 4041, 0.0 %' 'sed -i s/^COMPUTE_NODES=.*/COMPUTE_NODES=4041/ environment.txt'
says 'too few ranks' 1 'FAIL     ranks per node: 2, with 4 network interfaces \(set by hand; found: 2\)' 'sed -i s/^NICS=.*/NICS=4/ environment.txt'
says 'no figures of the system' 0 'UNKNOWN  compute nodes: 4; [^|]*\|UNKNOWN  ranks per node: 2; ' \
	"sed -i '/^NICS/d; /^COMPUTE/d; /_FOUND/d' environment.txt"
says 'a small executable' 1 'FAIL     executable: 45680 bytes' 'sed -i s/104898544/45680/ output/1-2.txt'
says 'a patch' 0 'CHANGED  source: ziaprobe.c, offclock/run.h differ from commit 143b6d1, see changes.diff' \
	"printf 'diff --git a/%s b/%s\n' ziaprobe.c ziaprobe.c offclock/run.h offclock/run.h README.md README.md >changes.diff; sed -i s/143b6d1/143b6d1-dirty/ build.txt"
says 'outside git' 0 'UNKNOWN  source: built outside git' 'sed -i s/143b6d1/UNKNOWN/ build.txt'
says 'another program than was built' 0 'UNKNOWN  source: the programs as run are not those of build.txt' \
	'sed -i "s/^a.*  ziaprobe/b  ziaprobe/" environment.txt'

# Runs and their rows
says 'a failed launch' 1 'FAIL     valid runs: 5 of 6.*\|\|Problems\|run 2 on 4 nodes: status 1, srun: error: no' \
	'printf "srun\nsrun: error: no\nstatus 1\n" >output/4-2.txt; sed -i 6d results.csv'
says 'a failed first launch' 1 'Time: no valid first launch; then 24[0-9.]* ms, the median of 2' \
	'echo status 1 >>output/4-1.txt'
says 'a launch that left nothing' 1 'FAIL     valid runs: 5 of 6.*\|\|Problems\|1 run left no output\|results.csv has 1 row too many' 'rm output/4-3.txt'
says 'no launch at all' 1 'Time: none, no run is valid\|\|FAIL     valid runs: 0 of 6\|PASS     source: [^|]*\|\|Problems\|6 runs left no output' 'rm -r results.csv output'
says 'a row without an output' 1 'Problems\|results.csv has 1 row too many' 'sed -n "\$s/Z/1Z/p" results.csv | sed s/T../T23/ >x; cat x >>results.csv'
says 'a time altered in results.csv' 1 'Problems\|run 3 on 4 nodes: printed Time test [^|]* but its row is ' \
	'sed -i "\$s/,2,8,[0-9.]*,/,2,8,99.5,/" results.csv'
says 'a time altered in an output' 1 'Problems\|run 3 on 4 nodes: printed Time test was completed in +1.00 millisecs' \
	'sed -i "s/completed in .* m/completed in     1.00 m/" output/4-3.txt'
says 'a run not valid' 1 'Problems\|run 3 on 4 nodes: not valid, ziaprobe: error: x' \
	'sed -i "\$s/1\$/0/" results.csv; sed -i "2s/^/ziaprobe: error: x\n/" output/4-3.txt'
says 'an output cut off' 1 'Problems\|run 1 on 1 nodes: status unknown' 'sed -i \$d output/1-1.txt'
says 'a warning' 0 'Warnings\|run 1 on 1 nodes: ziaprobe: warning: w\|' 'echo ziaprobe: warning: w | cat - output/1-1.txt >x; mv x output/1-1.txt'

# Hostile
says 'many runs' 2 'summarize: error: environment.txt: RUNS is no number from 1 to 999999' 'sed -i s/^RUNS=3/RUNS=2000000/ environment.txt'
says 'a FIFO' 2 "summarize: error: 'it/results.csv' is no regular file" 'rm results.csv; mkfifo results.csv'
says 'FIFOs elsewhere' 1 'Problems' 'rm output/4-1.txt ranks-4-1.csv; mkfifo output/4-1.txt ranks-4-1.csv'
says 'escape codes' 0 'Ziatest: job 4711 on \?\[31m\?.*touch pwned' \
	"printf 'SLURM_CLUSTER_NAME=\\033[31m\\233\\\\\$(touch pwned)\n' | cat - environment.txt >x; mv x environment.txt"
says 'programs as settings' 2 'RUNS is no number' 'sed -i "s/^RUNS=.*/RUNS=\$(touch pwned)/" environment.txt'
says 'file names that are options, programs and variables' 0 'PASS     valid runs: 6 of 6' \
	'for name in -f "\$(touch pwned)" table=1 1-2-3 1-; do cp output/1-1.txt "output/$name.txt"; done; touch .DS_Store'
ok 'nothing was executed' [ -z "$(find . -name pwned)" ]
run "$top/offclock/summarize" it/output
like 'no directory of a job' "$err/$status" 'summarize: error: .* has no file environment.txt/2'

# The nodes that stand out
stands_out() {	# WHAT PATTERN EVIDENCE...
	what=$1
	pattern=$2
	shift 2
	submission "$@"
	like "stands out: $what" "$("$top/offclock/summarize" "$1" | sed '1,/^Nodes that/d; /^$/d; /^node /d')" "$pattern"
}
stands_out 'late in launch' 'n3 +[19][0-9.]+ +0.000 +0.000 +3' it 5 n3 launch 100
stands_out 'late before the fence' 'n3 +0.000 +[19][0-9.]+ +0.000 +3' it 5 n3 setup 100
stands_out 'late after the fence' 'n3 +0.000 +[19][0-9.]+ +0.000 +3' it 5 n3 init 100
stands_out 'late after the fence, no setup' 'n3 +0.000 +[19][0-9.]+ +0.000 +3' it 5 n3 init- 100
stands_out 'late in launch, no setup' 'n3 +[19][0-9.]+ +0.000 +0.000 +3' it 5 n3 launch- 100
stands_out 'early in launch, so longer in MPI_Init' none it 5 n3 launch- -90
stands_out 'late in the exchange' 'n3 +0.000 +0.000 +[19][0-9.]+ +3  or its partner n4' it 5 n3 exchange 100
stands_out 'late in the only exchange' 'n1 +[0-9.]+ +[0-9.]+ +1[0-9.]+ +3  or its partner n2' it 2 n1 exchange 100
stands_out 'less than a tenth of the time' none it 5 n3 launch 15

# Several jobs
submission a 4
submission b 8
echo status 1 >>b/output/8-3.txt
run "$top/offclock/summarize" a b
like 'several jobs' "$out/$status" 'system, job .*\|isambard 4711 +4 of 4 +2 +2 Open MPI v4.1.4 +[0-9.]+ +[0-9.]+ +[0-9.]+ to [0-9.]+ +0 +0 PASS +PASS\|isambard 4711 +8 of 8 +2 +2 Open MPI v4.1.4 +[0-9.]+ +[0-9.]+ +[0-9.]+ to [0-9.]+ +1 +0 PASS +FAIL/1'

# Sizes in order
small=2
submission it 12
like 'sizes in order' "$("$top/offclock/summarize" it | grep -c '^ *\(2\|12\) ')/$("$top/offclock/summarize" it | sed -n 2p)" \
	'8/.*; 12 nodes x 2 = 24 ranks'
small=1

# Pictures
submission it 2
printf 'SLURM_CLUSTER_NAME=%s\n' "'.system(\"touch pwned\").'\`touch pwned\`" | cat - it/environment.txt >x
mv x it/environment.txt
run "$top/offclock/summarize" --pictures pictures it
ok 'a title that is a program: drawn, not executed' [ -s pictures/ranks.svg -a ! -e pwned ]
for nodes in 2 64 4000; do
	submission it $nodes n17 launch 100
	run "$top/offclock/summarize" --pictures pictures it
	is "$nodes nodes: quiet" "$err" ''
	ok "$nodes nodes: ranks.svg" grep -q "Ziatest on isambard, job 4711, Open MPI v4.1.4, $nodes x 2: run " pictures/ranks.svg
	ok "$nodes nodes: not too large" [ "$(wc -c <pictures/ranks.svg)" -lt 300000 ]
	ok "$nodes nodes: scaling.svg" grep -q '>time, median<' pictures/scaling.svg
done
finish
