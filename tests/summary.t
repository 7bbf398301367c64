#!/bin/sh
# job/summarize, on the submission in example-output/ and on copies of it that are altered: the
# verdicts, evidence that disagrees, honest evidence of all kinds, hostile files, slow nodes,
# several jobs, the pictures
. "$(dirname "$0")/lib.sh"
example=$top/example-output/submission
summarize=$top/job/summarize
has python3 || skip_all 'no python3; tests/setup installs it'
cd "$tmp" || exit 1

run python3 -c "
import ast, sys
sys.version_info < (3, 8) or ast.parse(open('$summarize').read(), feature_version=(3, 6))"
is 'summarize is a program for Python 3.6' "$err$status" 0
for locale in C POSIX C.UTF-8; do
	run env LC_ALL=$locale LANGUAGE=de "$summarize" "$example"
	is "the example's summary, in the locale $locale" "$out$err" "$(cat "$example/summary.txt")"
done

# Some run of the example, by chance: $n nodes, launch $r, its row's number in $row; the same SEED
# gives the same
seed=${SEED:-$(date +%s)}
diag "SEED=$seed"
draws=0
draw() {
	draws=$((draws + 1))
	drawn=$(echo "$seed $draws" | cksum | cut -d ' ' -f 1)
	case $((drawn % 4)) in
	0) n=2 ;;
	1) n=4 ;;
	2) n=8 ;;
	3) n=16 ;;
	esac
	r=$((drawn / 4 % 4 + 1))
	other=$((r % 4 + 1))
	row=$((3 - drawn % 4))
	row=$((row * 4 + r + 1))
	export n r other row
}

# says WHAT STATUS PATTERN COMMAND [OPTION...]: what summarize says of the example after COMMAND in
# it, in which {} is the draw's NODES-RUN
says() {
	rm -rf it
	cp -r "$example" it
	draw
	(cd it && eval "$(printf '%s\n' "$4" | sed "s/{}/$n-$r/g")")
	what=$1 expected=$2 pattern=$(echo "$3" | sed "s/{}/run $r on $n nodes/g")
	shift 4
	run timeout 60 "$summarize" "$@" it
	is "$what: the status" "$status" "$expected"
	like "$what" "$err$out" ".*$pattern.*"
}

# doubts WHAT PATTERN COMMAND: the evidence is a FAIL then, with a problem that matches PATTERN
doubts() {
	says "$1" 1 "FAIL     evidence: [0-9]+ problems?, below\|.*\|Problems\|(.*\|)?$2" "$3"
}

# honest WHAT STATUS VALID-RUNS COMMAND: there is no problem of the evidence
honest() {
	says "$1" "$2" "valid runs: $3[^|]*\|PASS     evidence: the files agree with each other" \
		"$4"
}

# set_to NAME VALUE: of a setting
set_to() {
	sed -i "s|^$1=.*|$1=$2|" environment.txt
}

# Rules
number='[0-9]+\.[0-9]{3}'
says 'the whole head' 0 "Ziatest: job 1 on virtual, [0-9T:-]*Z, Open MPI v4.1.4\|\
Time: $number ms, the first launch; then $number ms, the median of 3 \($number to $number\); \
16 nodes x 2 = 32 ranks\|Launched: srun --job-name=ziatest-1-[0-9]* [^|]* 2 ./ziaprobe\|\|\
PASS     compute nodes: 16 of 16, 100.0 %; the rule is 99 %\|\
STATED   ranks per node: 2, with 2 network interfaces \(set by hand; found: none\)\|\
PASS     valid runs: 16 of 16\|PASS     evidence: the files agree with each other\|\
PASS     executable: 10[0-9]* bytes; the rule is 104857600\|\
STATED   source: as in commit [0-9a-f]*, says build.txt; to check it, --source\|\
PASS     clocks: started on a node of the job; node clocks within $number ms\|\|nodes " true
says 'too few nodes' 1 \
	'FAIL     compute nodes: 16 of 17, 94.1 %; .* \(set by [^|]*\); the others: 1 drained' \
	'set_to COMPUTE_NODES 17; set_to NODES_ELSEWHERE "1 drained"'
says '98.9 % is not 99 %' 1 'FAIL     compute nodes: 16 of 163, 9.8 %' 'set_to COMPUTE_NODES 163'
says 'a number of nodes that Slurm does not confirm' 0 \
	'STATED   compute nodes: 16 of 16, 100.0 %; [^|]* \(set by hand; found: 20\)' \
	'set_to NODES_FOUND 20'
says 'too few ranks' 1 'FAIL     ranks per node: 2, with 4 network interfaces' 'set_to NICS 4'
says 'network interfaces that were found' 0 \
	'PASS     ranks per node: 2, with 2 network interfaces\|' \
	'set_to NICS_FOUND 2'
says 'no figures of the system' 0 \
	'UNKNOWN  compute nodes: 16; set COMPUTE_NODES [^|]*\|UNKNOWN  ranks per node: 2; no' \
	'set_to NICS ""; set_to COMPUTE_NODES ""'
says 'a small executable' 1 'PASS     evidence: [^|]*\|FAIL     executable: 45680 bytes' \
	'sed -i "s/^executable: .*/executable: 45680 bytes/" output/*
	sed -i "s/,104[0-9]*,/,45680,/" results.csv
	sed -i "s/^size: .* ziaprobe/size: 45680 ziaprobe/" build.txt'
says 'a patch' 0 \
	'CHANGED  source: differs from commit [^|]*, see changes.diff: ziaprobe.c, probe/run.h\|' \
	'for file in ziaprobe.c probe/run.h README.md; do
		echo "diff --git a/$file b/$file"
	done >changes.diff'
says 'a patch whose difference is lost' 0 'UNKNOWN  source: differs from commit [0-9a-f]*, ' \
	'sed -i "s/^commit: .*/&-dirty/" build.txt'
says 'a change to what is not compiled' 0 \
	'STATED   source: as in commit [0-9a-f]*, says build.txt' \
	'echo "diff --git a/job/inventory b/job/inventory" >changes.diff'
says 'built outside git' 0 'UNKNOWN  source: built outside git' \
	'sed -i "s/^commit: .*/commit: UNKNOWN/" build.txt; echo UNKNOWN >changes.diff'
clock="clocks: not started on a node of the job \(launch node's clock:"
no_corrected_time() {	# TEXT: in all outputs, with TEXT behind
	unknown="no corrected time: the launch node's clock is unknown"
	sed -i "s/; corrected.*/; $unknown$1/" output/*
}
empty() {	# NUMBER: that cell of each row
	awk -F , -v OFS=, -v cell="$1" 'NR > 1 { $cell = "" } 1' results.csv >x
	mv x results.csv
}
says 'a launch node outside the job, its clock synchronised' 0 \
	"PASS     $clock synchronised to within 412 us\); node clocks within $number ms\|" \
	"no_corrected_time \" (launch node's clock: synchronised to within 412 us)\"; empty 6"
says 'a launch node outside the job, its clock not synchronised' 0 \
	"UNKNOWN  $clock not synchronised\)\|" \
	"no_corrected_time \" (launch node's clock: not synchronised)\"; empty 6"
says 'a launch node outside the job, its clock unknown' 0 "UNKNOWN  $clock unknown\)\|" \
	'no_corrected_time ""; empty 6'
offset() {	# MS BOUND: the largest offset in the draw's run, of n2 against n1
	awk -F , -v OFS=, -v row="$row" -v ms="$1" -v bound="$2" '
		NR == row { $22 = ms; $23 = "n2"; $24 = "n1"; $25 = bound } 1' results.csv >x
	mv x results.csv
	sed -i "s/^clock offset: [^;]*/clock offset: $1 ms, n2 against n1, within $2 ms/" \
		"output/$n-$r.txt"
}
says 'clocks that are apart' 0 'UNKNOWN  clocks: 90.100 ms apart, n2 against n1, in {}\|' \
	'offset -90.100 0.010'
says 'clocks that may be apart' 0 'PASS     clocks: [^|]*; node clocks within 95.100 ms\|' \
	'offset -95.100 96.000'
says 'clocks that are apart by less than 1 % of the time' 0 \
	'PASS     clocks: [^|]*; node clocks within [0-9.]* ms\|' 'offset 1.500 0.010'

# The sources, held against a clone
mkdir clone
cp "$top"/Makefile "$top"/*.c clone
cp -r "$top/probe" clone
(cd clone && git init -q && git add . &&
	git -c user.name=test -c user.email=test@localhost commit -q -m test)
commit=$(git -C clone rev-parse --short HEAD)
built="cd ../clone; sha256sum Makefile *.c probe/* >../sums; cd ../it
	sed -i -e '/^[0-9a-f]*  .*\.[ch]$/d' -e '/  Makefile$/d' \
		-e 's/^commit:.*/commit: $commit/' build.txt
	cat ../sums >>build.txt"
says 'sources as in the clone' 0 "PASS     source: as in commit $commit\|" "$built" --source clone
says 'a commit that is typed in' 0 'UNKNOWN  source: commit v1.0-official is not in clone' \
	'sed -i "s/^commit:.*/commit: v1.0-official/" build.txt' --source clone
says 'a commit that is typed in, with no clone' 0 \
	'STATED   source: as in commit v1.0-official, says' \
	'sed -i "s/^commit:.*/commit: v1.0-official/" build.txt'
altered="$built; sed -i 's/.*  ziatest\.c/$(echo | sha256sum | cut -c 1-64)  ziatest.c/' build.txt"
says 'a change that is not shown' 1 \
	"FAIL     source: not as in commit $commit, nor shown in changes.diff: ziatest.c" \
	"$altered" --source clone
says 'a change that is shown' 0 \
	"CHANGED  source: differs from commit $commit, see changes.diff: ziatest.c" \
	"$altered
	echo 'diff --git a/ziatest.c b/ziatest.c' >changes.diff" --source clone
says 'a source that is missing' 1 'FAIL     source: .*: probe/run.h' \
	"$built; sed -i '/run\.h/d' build.txt" --source clone
says 'no clone' 2 'summarize: error: --source: it is no git clone' true --source it

# Ways of deceiving, and careless ways
shift_start() {	# SECONDS: of the draw's run, in all its files
	started=$(sed -n "s/.*ziaprobe \([0-9]*\) .*/\1/p" "output/$n-$r.txt")
	us=$(sed -n "s/.*ziaprobe [0-9]* \([0-9]*\) .*/\1/p" "output/$n-$r.txt")
	sed -i "s/ziaprobe $started /ziaprobe $((started + $1)) /" "output/$n-$r.txt"
	date=$(date -u -d @$((started + $1)) +%Y-%m-%dT%H:%M:%S)
	sed -i "$row s/^[^,]*/$date.$(printf %06d "$us")Z/" results.csv
}
cell() {	# NUMBER PROGRAM: a cell of the draw's row, altered
	awk -F , -v OFS=, -v row="$row" "NR == row { \$$1 = sprintf(\"%.3f\", $2) } 1" \
		results.csv >x
	mv x results.csv
}
doubts 'a time altered in its row' '{}: its output says "[^|]*", its row "' 'cell 5 "\$5 - 100"'
doubts 'a time altered in its output' \
	'{}: its output says "Time test [^|]* 9:59 min:sec", its row "' \
	'sed -i "s/completed in .*/completed in   9:59 min:sec/" output/{}.txt'
doubts 'a time altered in output and row' \
	'{}: ranks-[0-9-]*.csv: the latest is completed at [0-9.]* ms, by its row at ' '
	old=$(sed -n "s/ ms, [0-9]* nodes .*//p" output/{}.txt); cell 5 "\$5 - 100"
	new=$(awk -F , -v row="$row" "NR == row { printf(\"%.3f\", \$5) }" results.csv)
	sed -i "s/^$old ms/$new ms/; s/completed in .*/completed in $(awk -v t="$new" "BEGIN {
		if (t < 1000)
			printf(\"%8.2f millisecs\", t)
		else
			printf(\"%3d:%02d min:sec\", t / 60000, t / 1000)
	}")/" output/{}.txt'
doubts 'steps exchanged' '{}: the critical path in its output is [0-9. ]*, in its row ' \
	'cell 12 "\$12 + 5"; cell 11 "\$11 - 5"'
doubts 'a step altered' '{}: the steps in its row add up to [0-9.]* ms, its time is ' \
	'cell 12 "\$12 - 5"'
doubts 'a slowest rank altered' '{}: its output says "Slowest rank: 1", its row "Slowest rank: ' \
	'sed -i "s/^Slowest rank: .*/Slowest rank: 1/" output/{}.txt; cell 7 0'
doubts 'a clock altered' \
	'{}: its output says "clock offset: 99.000 ms, [^|]*", its row "0.000 ms, ' \
	'offset 99.000 0.010; cell 22 0'
doubts 'the sign of an offset altered' \
	'{}: its output says "clock offset: -1.500 [^|]*", its row "1.500 ms' \
	'offset -1.500 2.000; cell 22 1.5'
doubts 'a clock that is not the median' '{}: its output says "clock offset: [^|]* against n99, ' \
	'sed -i "s/^\(clock offset: .* against\) [^,]*/\1 n99/" output/{}.txt'
doubts 'a corrected time for a clock that is not known' \
	'{}: its output says "clock offset: [^|]*; no [^|]*", its row "[^|]*; corrected time ' \
	'no_corrected_time ""'
doubts 'a corrected time that is deleted' \
	'{}: its output says "clock offset: [^|]*; corrected time [^|]*; no corrected time: ' \
	'empty 6'
doubts 'the slowest rank elsewhere' \
	'{}: ranks-[0-9-]*.csv: the slowest rank at [^|]*, by its row ' \
	'awk -F , -v OFS=, -v row="$row" "NR == row { \$8 = \"n99\" } 1" results.csv >x
	mv x results.csv'
doubts 'another command' '{}: it was launched by "srun [^|]*", the settings say "--hint[^|]*"' \
	'sed -i "1s/ --nodes=[0-9]*/ --nodes=400/" output/{}.txt'
doubts 'other settings' \
	'run 1 on 16 nodes: it was launched by "srun [^|]*", the settings say "--x ' \
	'set_to PLACEMENT --x'
doubts 'all launches renumbered, the slow first one gone' \
	'run 1 on 16 nodes: its output is that of [^|]*ranks-16-2.csv, not of [^|]*ranks-16-1.csv' '
	for n in 2 4 8 16; do
		for r in 2 3 4; do
			mv output/$n-$r.txt output/$n-$((r - 1)).txt
			mv ranks-$n-$r.csv ranks-$n-$((r - 1)).csv
		done
	done
	sed -i "14d; 10d; 6d; 2d" results.csv
	set_to RUNS 3'
doubts 'the settings of another job' \
	'run 1 on 16 nodes: its output is that of [^|]*, not of ziatest-virtual-99/' \
	'set_to SLURM_JOB_ID 99'
doubts 'a run of another day' '{}: started [0-9T:.-]*Z, before ' 'shift_start -86400'
doubts 'a run of a later day' 'run [^|]*: started [0-9T:.-]*Z, before run [^|]*: ' '
	if [ "$n-$r" = 2-4 ]; then
		n=2 r=3 row=4
	fi
	shift_start 86400'
doubts 'the output of another job' '{}: its status is 0, but there is no row of its start' \
	'sed -i "s/ziaprobe [0-9]*/ziaprobe 1790000000/" output/{}.txt'
doubts 'an output twice' 'run [^|]*: its output is of the launch of run' \
	'cp output/{}.txt output/$n-$other.txt'
doubts 'two runs that are swapped' 'run [^|]*: started [0-9T:.-]*Z, before run' '
	for file in output/$n-%.txt ranks-$n-%.csv; do
		one=$(echo $file | sed "s/%/$r/") two=$(echo $file | sed "s/%/$other/")
		mv $one x; mv $two $one; mv x $two
	done'
doubts 'a slow run that is renamed away' 'output/[0-9]*-5.txt: of no run that SWEEP and RUNS have' \
	'mv output/{}.txt output/$n-5.txt; mv ranks-{}.csv ranks-$n-5.csv'
doubts 'a slow first launch that is deleted' 'run 1 on [0-9]* nodes: no output, but a later run ' \
	'rm output/$n-1.txt ranks-$n-1.csv'
doubts 'a run that is of no size' 'output/[0-9]*-5.txt: of no run that SWEEP and RUNS have' \
	'cp output/{}.txt output/$n-5.txt'
doubts 'an output that is deleted' 'results.csv: the row of [^|]*, has no output of its own' \
	'rm output/{}.txt'
doubts 'all outputs deleted' 'run 1 on 16 nodes: ranks-16-1.csv, but no output' 'rm -r output'
doubts 'a row that is deleted' '{}: its status is 0, but there is no row' \
	'sed -i ${row}d results.csv'
doubts 'all rows deleted' '{}: its status is 0, but there is no row' 'rm results.csv'
doubts 'a row twice' 'results.csv: the row of [^|]*, has no output of its own' \
	'sed -n ${row}p results.csv >>results.csv'
doubts 'all ranks deleted' '{}: its status is 0, but there is no ranks-' 'rm ranks-*.csv'
doubts 'ranks of another run' '{}: ranks-[0-9-]*.csv: the latest is completed at' \
	'cp ranks-$n-$other.csv ranks-{}.csv'
doubts 'a rank that is deleted' \
	'{}: ranks-[0-9-]*.csv: ranks in order: -?[0-9]+, by the settings ' \
	'sed -i 3d ranks-{}.csv'
doubts 'ranks cut short' '{}: ranks-[0-9-]*.csv: ranks in order: -?[0-9]+, by the settings ' \
	'head -c 400 ranks-{}.csv >x; mv x ranks-{}.csv'
doubts 'an output cut short' '{}: its output ends in "[^|]*", not in "status S"' \
	'head -c 300 output/{}.txt >x; mv x output/{}.txt'
doubts 'a run of another shape' '{}: its row says [0-9]* nodes x 1, the settings [0-9]* nodes x 2' \
	'cell 3 1; sed -i "${row}s/,1.000,/,1,/" results.csv
	sed -i "s/ nodes x 2 = / nodes x 1 = /" output/{}.txt'
doubts 'a setting that is not that of the runs' \
	'run 1 on 16 nodes: ranks-16-1.csv: ranks in order: -1, by the settings 16' 'set_to PPN 1'
doubts 'another MPI' 'run [^|]*: its MPI is "[^|]*", that of run 1 on 16 nodes ' \
	'sed -i "s/^MPI: .*/MPI: MPICH/" output/{}.txt'
doubts 'a program linked anew between runs' \
	'{}: its executable had 1000 bytes, by build.txt it has 10[0-9]* bytes' \
	'sed -i "s/^executable: .*/executable: 1000 bytes/" output/{}.txt'
doubts 'an executable altered in its row' \
	'{}: its output says "executable: 10[0-9]* bytes", its row "1000 bytes"' \
	'sed -i "${row}s/,[0-9]*,\([^,]*\)\$/,1000,\1/" results.csv'
doubts 'an MPI altered in its row' '{}: its output says "MPI: Open MPI [^|]*", its row "MPICH"' \
	'sed -i "${row}s/,[^,]*\$/,MPICH/" results.csv'
doubts 'a program linked anew after make' \
	'ziatest: SHA-256 [0-9a-f]{64} after the last launch, 0{64} in build.txt' \
	'sed -i "s/^.*  ziatest$/$(printf %064d 0)  ziatest/" build.txt'
doubts 'sums that are deleted' \
	'ziaprobe: SHA-256 missing after the last launch, [0-9a-f]{64} in build.txt' \
	'sed -i "/  ziaprobe$/d" environment.txt'
doubts 'build.txt deleted' 'build.txt is missing; make wrote it' 'rm build.txt'
doubts 'changes.diff deleted' 'changes.diff is missing; make wrote it' 'rm changes.diff'
doubts 'settings of a later date' \
	'run 1 on 16 nodes: started [^|]*, before DATE in environment.txt: ' \
	'set_to DATE 2099-01-01T00:00:00Z'
doubts 'no date' 'environment.txt has no DATE' 'sed -i /^DATE=/d environment.txt'
says 'an error in an output of status 0' 1 \
	'valid runs: 15 of 16\|PASS     evidence.*Problems\|{}: status 0; ziaprobe: error: x' \
	'sed -i "2s/^/ziaprobe: error: x\n/" output/{}.txt'

# Honest evidence
fail() {	# STATUS LINE: what the draw's run leaves, if it fails
	printf 'srun\n%s\nstatus %d\n' "$2" "$1" >"output/$n-$r.txt"
	rm "ranks-$n-$r.csv"
	sed -i "${row}d" results.csv
}
honest 'a failed launch' 1 '15 of 16' 'fail 1 "srun: error: no"'
like 'a failed launch is a problem' "$out" \
	".*\|Problems\|run $r on $n nodes: status 1; srun: error: no.*"
wrong='ziaprobe: error: wrong placement: ranks 0 and 2 must be on the same node'
honest 'a measurement that is wrong' 1 '15 of 16' "fail 1 '$wrong'"
like 'a measurement that is wrong is a problem' "$out" \
	".*\|Problems\|run $r on $n nodes: status 1; $wrong.*"
honest 'a measurement that is wrong, and a launcher of status 0' 1 '15 of 16' "fail 0 '$wrong'"
doubts 'no row, without an error' '{}: its status is 0, but there is no row' 'fail 0 "no MPI"'
honest 'a timeout' 1 '15 of 16' 'sed -i "/^Time/,\$d" output/{}.txt; echo status 124 >>output/{}.txt
	rm ranks-{}.csv; sed -i ${row}d results.csv'
honest 'a failure after the result' 1 '15 of 16' \
	'sed -i "s/^status 0/status 1/" output/{}.txt'
honest 'runs that were not begun' 1 '12 of 16' \
	'rm output/2-* ranks-2-*; sed -i 14,17d results.csv; set_to STOPPED "only 42 s left"'
like 'runs that were not begun: why' "$out" \
	'.*valid runs: 12 of 16; no more launches: only 42 s left\|.*'
honest 'no run that succeeds' 1 '0 of 16' \
	'for file in output/*; do echo status 1 >$file; done; rm results.csv ranks-*'
honest 'ended from outside' 1 '13 of 16; This job' 'echo "This job was ended." >INCOMPLETE
	rm output/2-[34]* ranks-2-[234]*; sed -i "\$d" output/2-2.txt; sed -i "15,\$d" results.csv
	sed -i "/  zia/d" environment.txt'
honest 'a last step that stays' 1 '16 of 16; no more launches: step 1.9 does not end' \
	'set_to STOPPED "step 1.9 does not end"'
honest 'text without a line end before the result' 0 '16 of 16' \
	'sed -i "s/^Time test/loaded foo Time test/" output/{}.txt'
honest 'CR LF' 0 '16 of 16' 'sed -i "s/\$/\r/" *.txt *.csv *.diff output/*'
honest 'one run of a size' 0 '4 of 4' 'set_to RUNS 1; rm output/*-[234].txt ranks-*-[234].csv
	sed -i "3,5d; 7,9d; 11,13d; 15,17d" results.csv'
like 'one run of a size: the first stands for the median' "$out" \
	".*\|Time: $number ms, the first launch; 16 .*\| +16 +$number +- +- +$number .*"
honest 'one size' 0 '4 of 4' \
	'set_to SWEEP 16; rm output/[248]-* ranks-[248]-*; sed -i "6,\$d" results.csv'
honest 'no daemon, no fence' 0 '16 of 16' 'awk -F , -v OFS=, "NR > 1 {
		\$10 = sprintf(\"%.3f\", \$9 + \$10); \$9 = \"\"
		\$12 = sprintf(\"%.3f\", \$12 + \$13); \$13 = \"\"
	} 1" results.csv >x; mv x results.csv
	sed -i "s/^daemon /spawn /; s/^fence /init /" output/*'

# Headlines
says 'a failed first launch' 1 "Time: no valid first launch; then $number ms, the median of 3 .*\
Problems\|run 1 on 16 nodes: status 1" 'sed -i "s/^status 0/status 1/" output/16-1.txt'
says 'no valid run of the largest size' 1 'Time: none, no run on 16 nodes is valid\|' \
	'sed -i "s/^status 0/status 1/" output/16-*.txt'
says 'a median of two is the lower' 1 "; then $number ms, the median of 2 " \
	'sed -i "s/^status 0/status 1/" output/16-2.txt'
is 'a median of two is the lower: which' \
	"$(echo "$out" | sed -n 's/.*then \([0-9.]*\) ms, the median of 2 (\([0-9.]*\) .*/\1/p')" \
	"$(echo "$out" | sed -n 's/.*then \([0-9.]*\) ms, the median of 2 (\([0-9.]*\) .*/\2/p')"
says 'a warning' 0 'Warnings\|{}: ziaprobe: warning: w\|' \
	'sed -i "2s/^/ziaprobe: warning: w\n/" output/{}.txt'

# Hostile evidence
says 'too many launches' 2 'summarize: error: it: no directory of a Ziatest job' \
	'set_to RUNS 200000'
says 'a program as a setting' 2 'no directory of a Ziatest job' 'set_to RUNS "\$(touch $tmp/pwned)"'
says 'a FIFO' 2 'summarize: error: it/results.csv is no regular file' \
	'rm results.csv; mkfifo results.csv'
says 'a link' 2 'summarize: error: it/output/2-1.txt: ' 'ln -sf /dev/zero output/2-1.txt'
says 'a link to a directory' 2 'summarize: error: it/output is a link' \
	'rm -r output; ln -s /tmp output'
says 'a directory named as a file' 2 'it/results.csv is no regular file' \
	'rm results.csv; mkdir results.csv'
doubts 'a long line' 'results.csv: the row of ' 'head -c 1000000000 /dev/zero >>results.csv'
says 'more than 1 GiB' 2 'it: more than 1 GiB of files' 'truncate -s 1100M ranks-2-1.csv'
doubts 'many outputs' '.*\|\.\.\. and 99980 more' \
	'(cd output && seq -f 5-%g.txt 100000 | xargs touch)'
says 'escape codes and a program' 1 'Ziatest: job 1 on \?\[31m\?\$\(touch .*/pwned\)' \
	'set_to SLURM_CLUSTER_NAME "$(printf "\033[31m\233")\$(touch $tmp/pwned)"'
says 'names that are options, programs and variables' 0 'PASS     evidence' \
	'touch .DS_Store output/.DS_Store -- -f table=1 "\$(touch pwned)"'
ok 'nothing was executed' [ -z "$(find . -name pwned)" ]
run "$summarize" it/output
like 'no directory of a job' "$err/$status" 'summarize: error: .*no directory of a Ziatest job.*/2'
run "$summarize" --source
like 'bad arguments' "$err/$status" 'usage: .*/2'
chmod -R a-w it
find it -type f -exec cksum {} + >before
"$summarize" --pictures pictures it | head -n 1 >first
is 'evidence that is read-only, a reader that goes away: nothing is written' \
	"$(find it -type f -exec cksum {} +)" "$(cat before)"
chmod -R u+w it

# slow WHAT PATTERN PROGRAM [COMMAND]: after COMMAND, the slow nodes if an awk program has altered
# columns 4 to 10 of the ranks on 16 nodes: daemon, spawn, exec, init, fence, wait, exchange
slow() {
	export program="$3"
	says "$1" "${5-0}" "Slow nodes[^|]*\|(node [^|]*\|)?$2" "${4-}"'
	for file in ranks-16-*.csv; do
		awk -F , -v OFS=, "FNR > 1 { $program } 1" $file >x
		mv x $file
	done'
}
late='[89][0-9]{3}\.[0-9]+' little='[0-9]{1,3}\.[0-9]+'
alike='$4 = $5 = $6 = $7 = 100; if ($10 != "") $10 = 100'
slow 'nobody' 'none$' "$alike"
slow 'nodes that are later the further on they are' \
	"n16 [^|]*\|n15 [^|]*\|n14 [^|]*\|n13 .*" \
	'$4 = $5 = $6 = 0; $7 = 10000 * $2'
slow 'late daemon' "n3 +$late( +$little){3}" 'if ($3 == "n3") $4 += 9000'
slow 'late processes' "n3 +$late( +$little){3}" 'if ($3 == "n3") $5 += 9000; else $9 += 9000'
slow 'late exec' "n3 +$little +$late( +$little){2}" 'if ($3 == "n3") $6 += 9000'
slow 'late in MPI_Init' "n3( +$little){2} +$late +$little" \
	'if ($3 == "n3") $7 += 9000; else $9 += 9000'
slow 'late in a fence, and waiting' 'none$' "$alike; if (\$3 == \"n3\") \$8 = \$9 = 9000"
slow 'no daemon' "n3 +$late( +$little){3}" '$4 = ""; if ($3 == "n3") $5 += 9000'
slow 'late in the exchange' "n3( +$little){3} +$late" \
	'if ($10 != "" && $3 == "n3") $10 += 9000'
late_once="$alike; if (\$3 == \"n3\" && FILENAME ~ /-2/) \$4 += 9000"
slow 'late in one run only' 'none$' "$late_once"
slow 'late in one of two runs only' 'none$' "$late_once" \
	'sed -i "s/^status 0/status 1/" output/16-[34].txt' 1
slow 'late in two of three runs' "n3 +$late .*" \
	"$alike; if (\$3 == \"n3\" && FILENAME !~ /-2/) \$4 += 9000" \
	'sed -i "s/^status 0/status 1/" output/16-4.txt' 1
slow 'the worst first' 'n16 [^|]*\|n15 [^|]*\|n14 [^|]*' 'if ($2 > 13) $4 += 9000 * $2'

# Several jobs
cp -r "$example" other
sed -i s/^SLURM_CLUSTER_NAME=.*/SLURM_CLUSTER_NAME=other/ other/environment.txt
sed -i s/ziatest-virtual-1/ziatest-other-1/g other/output/*
sed -i 's/^status 0/status 1/' other/output/8-3.txt other/output/16-4.txt
run "$summarize" "$example" other
row="16 of 16 +2 +2 +Open MPI v4.1.4 +$number +$number +$number to $number"
like 'several jobs' "$out/$status" "DIR +system .*\|[^|]*/submission +virtual +$row +0 \
+0 +STATED +STATED\|other +other +$row +2 +0 +STATED +FAIL\|\|median run, 16 x 2 .*time +daemon \
.*\|.*difference +-?$number.*/1"
ok 'several jobs: the differences are differences' sh -c 'printf "%s\n" "$1" | awk "
	/^median run/ { rows = NR }
	rows && NR == rows + 1 { split(\$0, a, \" +\") }
	rows && NR == rows + 2 { split(\$0, b, \" +\") }
	/^difference/ {
		n = split(\$0, d, \" +\")
		for (i = 2; i <= n; i++)
			if (b[i] - a[i] - d[i] > .0011 || d[i] - b[i] + a[i] > .0011)
				exit 1
		good = n == 9
	}
	END { exit !good }"' sh "$out"
run "$summarize" "$example" nowhere
like 'several jobs, one is missing' "$err/$out/$status" \
	'summarize: error: nowhere: .*/submission .*/2'

# Pictures
if has gnuplot; then
	rm -rf it
	cp -r "$example" it
	program="'.system(\"touch $tmp/pwned\").'\`touch $tmp/pwned\`"
	sed -i "s|^MPI: .*|MPI: $program|" it/output/*
	sed -i "2,\$s|[^,]*\$|$program|" it/results.csv
	run "$summarize" --pictures pictures it
	is 'pictures: quiet, status 0' "$err$status" 0
	ok 'pictures: a title that is a program is not executed' [ ! -e pwned ]
	for picture in scaling ranks; do
		like "$picture.svg: the title" "$(grep ', job 1' pictures/$picture.svg)" \
			'(.*job 1, .*system.*, 16 nodes x 2: .* ms<.*)+'
	done
	is 'scaling.svg has a point for every run, the first ones apart' \
		"$(grep -c "href='#gpPt2'" pictures/scaling.svg) $(grep -c "href='#gpPt6'" \
		pictures/scaling.svg)" '5 13'
	for words in '31 on n16' daemon spawn exec init fence wait exchange 'critical path'; do
		ok "ranks.svg has $words" grep -q ">$words<" pictures/ranks.svg
	done
	says 'a critical path with cpu, cpu_wait, blocked and faults' 0 'PASS     evidence' \
		'columns="    2.445     5.114    0.878       0  "
		sed -i "s/^\(exec.\{19\}\|init.\{19\}\).\{38\}/\1$columns/" output/16-*' \
		--pictures wide
	ok 'a critical path with cpu, cpu_wait, blocked and faults: it has them' \
		grep -q '^init .* 0.878       0  [0-9]* on ' it/output/16-1.txt
	is 'ranks.svg: the critical path goes from the start to the end of the last bar' \
		"$(tr '\n' ' ' <wide/ranks.svg |
			grep -oE 'M840[^M]*M120\.[^M]* L(829|830)\.[0-9]*,[^ M]* ' | wc -l)" 2
	says 'the bars are the columns' 0 Ziatest 'for file in ranks-16-*.csv; do
			awk -F , -v OFS=, "FNR == 3 {
				for (i = 4; i <= 10; i++)
					\$i = \"20000.000\"
			} 1" $file >x
			mv x $file
		done' --pictures columns
	ok 'the bars are the columns: all seven' grep -q '> *140000<' columns/ranks.svg
	says 'a picture of no valid run' 1 'no run on 16 nodes is valid' \
		'sed -i "s/^status 0/status 1/" output/*' --pictures nothing
	ok 'a picture of no valid run: there is none' [ ! -e nothing ]
else
	skip pictures 'gnuplot not found; tests/setup installs it'
fi
finish
