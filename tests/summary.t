#!/bin/sh
# job/summarize, on the submission in example-output/ and on copies of it that are altered: the
# verdicts, what is doubtful, hostile evidence, the nodes that stand out, several jobs, the pictures
. "$(dirname "$0")/lib.sh"
example=$top/example-output/submission
summarize=$top/job/summarize
cd "$tmp" || exit 1

for awk in mawk gawk original-awk 'busybox awk'; do
	if has "${awk%% *}"; then
		mkdir -p path
		printf '#!/bin/sh\nexec %s "$@"\n' "$awk" >path/awk
		chmod +x path/awk
		run env PATH="$tmp/path:$PATH" LC_ALL=de_DE.UTF-8 "$summarize" "$example"
		is "the example's summary, with $awk" "$out$err" "$(cat "$example/summary.txt")"
	fi
done

# says WHAT STATUS PATTERN COMMAND: what summarize says of the example after COMMAND in it
says() {
	rm -rf it
	cp -r "$example" it
	(cd it && eval "$4")
	run timeout 20 "$summarize" it
	is "$1: the status" "$status" "$2"
	like "$1" "$err$out" ".*$3.*"
}

# set_to NAME VALUE: of a setting
set_to() {
	sed -i "s|^$1=.*|$1=$2|" environment.txt
}

# Rules
number='[0-9]+\.[0-9]{3}'
says 'the headline' 0 "Time: $number ms at the first launch; then $number ms, the median of 2 \
\($number to $number\); 16 nodes x 2 = 32 ranks\|\|PASS     compute nodes: 16 of 16, 100.0 [^|]*\|\
PASS     ranks per node: 2, with 2 network interfaces \(set by hand; found: none\)\|\
PASS     valid runs: 12 of 12\|PASS     executable: 10[0-9]* bytes; the rule is 104857600\|\
PASS     source: as in commit [0-9a-f]*\|\| +nodes" true
says 'too few nodes' 1 \
	'FAIL     compute nodes: 16 of 17, 94.1 %; .* \(set by hand; [^|]*; the others: 1 drained' \
	'set_to COMPUTE_NODES 17; set_to NODES_ELSEWHERE "1 drained"'
says '98.99 % is not 99 %' 1 'FAIL     compute nodes: 16 of 16, 98.9 %' \
	'set_to COMPUTE_NODES 16.163'
says 'too few ranks' 1 'FAIL     ranks per node: 2, with 4 network interfaces' 'set_to NICS 4'
says 'no figures of the system' 0 \
	'UNKNOWN  compute nodes: 16; set COMPUTE_NODES [^|]*\|UNKNOWN  ranks per node: 2; no' \
	'set_to NICS ""; set_to COMPUTE_NODES ""'
says 'a small executable' 1 'FAIL     executable: 45680 bytes' \
	'sed -i "s/^executable: .*/executable: 45680 bytes/" output/2-2.txt'
says 'a patch' 0 \
	'CHANGED  source: ziaprobe.c, probe/run.h differ from commit [0-9a-f]*, see ch' \
	'for file in ziaprobe.c probe/run.h README.md; do
		echo "diff --git a/$file b/$file"
	done >changes.diff'
says 'a patch whose difference is lost' 0 'UNKNOWN  source: differs from commit [0-9a-f]*, ' \
	'sed -i "s/^commit: .*/&-dirty/" build.txt; rm changes.diff'
says 'a change to what is not compiled' 0 \
	'PASS     source: as in commit [0-9a-f]*, but for files that are not compiled, see ch' \
	'echo "diff --git a/job/inventory b/job/inventory" >changes.diff'
says 'a patch, seen on Windows' 0 'CHANGED  source: ziaprobe.c differs from commit [0-9a-f]*, see' \
	'echo "diff --git a/ziaprobe.c b/ziaprobe.c" >changes.diff
	sed -i "s/\$/\r/" *.txt *.csv *.diff output/*'
says 'built outside git' 0 'UNKNOWN  source: built outside git' \
	'sed -i "s/^commit: .*/commit: UNKNOWN/" build.txt'

# Runs and their rows
says 'a failed launch' 1 \
	'FAIL     valid runs: 11 .*\|\|Problems\|run 2 on 16 nodes: status 1; srun: error: no; ' \
	'printf "srun\nsrun: error: no\nstatus 1\n" >output/16-2.txt; sed -i 12d results.csv'
says 'a failed first launch' 1 \
	"Time: no valid first launch; then $number ms, .*\|Problems\|run 1 on 16 nodes" \
	'sed -i "s/^status 0/status 1/" output/16-1.txt'
says 'no later launch' 1 "Time: $number ms at the first launch; 16 nodes .*valid runs: 10 of 12.*\
results.csv: rows without a complete output: 2" 'rm output/16-[23].txt'
says 'an output without its end' 1 'Problems\|results.csv: rows without a complete output: 1' \
	'sed -i "\$d" output/2-1.txt'
says 'a time altered by less than a second' 1 'run 1 on 16 nodes: output and row disagree; ' \
	'awk -F , -v OFS=, "NR == 11 { \$5 += \$5 % 1000 < 500 ? 400 : -400 } 1" results.csv >x
	mv x results.csv'
says 'a row twice' 1 \
	'FAIL     valid runs: 12 of 12.*Problems\|results.csv: rows without a complete output: 1' \
	'sed -n "\$p" results.csv >>results.csv'
says 'a time altered in results.csv' 1 \
	'Problems\|run 3 on 16 nodes: output and row disagree; Time [^|]* row: [^|]*,32,99.5,' \
	'sed -i "\$s/,32,[0-9.]*,/,32,99.5,/" results.csv'
says 'a time altered in an output' 1 \
	'Problems\|run 3 on 16 nodes: output and row disagree; Time [^|]* 9:59' \
	'sed -i "s/completed in .*/completed in   9:59 min:sec/" output/16-3.txt'
says 'an output in the place of another' 1 \
	'FAIL     valid runs: 11 of 12.*Problems\|run 3 on 16 nodes: output and row .*none' \
	'cp output/16-2.txt output/16-3.txt'
says 'a first launch under another name' 1 \
	'FAIL     valid runs: 11 of 12.*Problems\|run 9 on 16 nodes: not in SWEEP and RUNS; ' \
	'mv output/16-1.txt output/16-9.txt'
says 'no runs' 1 'FAIL     valid runs: 0 of 0' 'rm -r output results.csv; set_to SWEEP ""'
says 'a run that is not valid' 1 'Problems\|run 3 on 16 nodes: .*ziaprobe: error: x; row: ' \
	'sed -i "\$s/1\$/0/" results.csv; sed -i "2s/^/ziaprobe: error: x\n/" output/16-3.txt'
says 'a warning' 0 'Warnings\|run 1 on 2 nodes: ziaprobe: warning: w\|' \
	'sed -i "2s/^/ziaprobe: warning: w\n/" output/2-1.txt'

# Hostile evidence
says 'many runs' 2 'summarize: error: it: environment.txt: RUNS is no number from 1 to 999999' \
	'set_to RUNS 2000000'
says 'a program as a setting' 2 'RUNS is no number' 'set_to RUNS "\$(touch $tmp/pwned)"'
says 'a FIFO' 2 'summarize: error: it: ./results.csv is no regular file' \
	'rm results.csv; mkfifo results.csv'
says 'a link' 2 'summarize: error: it: ./output/2-1.txt is no regular file' \
	'ln -sf /dev/zero output/2-1.txt'
says 'directories named as files' 1 'FAIL     valid runs: 0 of 12' \
	'rm output/2-1.txt results.csv; mkdir output/2-1.txt results.csv; touch results.csv/x'
says 'a long line' 1 'results.csv: rows without a complete output: 1' \
	'head -c 200000000 /dev/zero >>results.csv'
says 'escape codes and a program' 0 'Ziatest: job 1 on \?\[31m\?\$\(touch .*/pwned\)' \
	'set_to SLURM_CLUSTER_NAME "$(printf "\033[31m\233")\$(touch $tmp/pwned)"'
says 'file names that are options, programs and variables' 0 'PASS     valid runs: 12 of 12' \
	'for name in -f "\$(touch pwned)" table=1 1-2-3 1-; do
		cp output/2-1.txt "output/$name.txt"
	done
	touch .DS_Store -- -f table=1'
ok 'nothing was executed' [ -z "$(find . -name pwned)" ]
run "$summarize" it/output
like 'no directory of a job' "$err/$status" 'summarize: error: .* has no file environment.txt/2'
run "$summarize"
like 'no arguments' "$err/$status" 'summarize: error: usage: .*/2'
chmod -R a-w it
find it -type f -exec cksum {} + >before
"$summarize" --pictures pictures it | head -n 1 >first
is 'evidence that is read-only, a reader that goes away: nothing is written' \
	"$(find it -type f -exec cksum {} +)" "$(cat before)"
chmod -R u+w it

# stands_out WHAT PATTERN PROGRAM [COMMAND]: after COMMAND, the nodes that stand out where an awk
# program has altered the columns 4 to 9 of the ranks on 16 nodes: daemon, spawn, load, setup, init,
# wireup
stands_out() {
	export program="$3"
	says "$1" 0 "Nodes that stand out[^|]*\|\|(node [^|]*\|)?$2" "${4-}"'
	for file in ranks-16-*.csv; do
		awk -F , -v OFS=, "FNR > 1 { $program } 1" $file >x
		mv x $file
	done'
}
late='[89][0-9]{3}\.[0-9]+' little='[0-9]{1,3}\.[0-9]+'
alike='$4 = $5 = $6 = $7 = 100; if ($9 != "") $9 = 100'
stands_out 'nobody' none "$alike"
stands_out 'nodes that are later the further on they are' \
	"n16 [^|]*\|n15 [^|]*\|n14 [^|]*\|n13 .*" \
	'$4 = $5 = $6 = 0; $7 = 10000 * $2'
stands_out 'late daemon' "n3 +$late( +$little){3}" 'if ($3 == "n3") $4 += 9000'
stands_out 'late processes' "n3 +$late( +$little){3}" 'if ($3 == "n3") $5 += 9000; else $8 += 9000'
stands_out 'late load' "n3 +$little +$late( +$little){2}" 'if ($3 == "n3") $6 += 9000'
stands_out 'late in MPI_Init' "n3( +$little){2} +$late +$little" \
	'if ($3 == "n3") $7 += 9000; $8 += 9000'
stands_out 'late in launch, no setup' "n3 +$late( +$little){3}" \
	'$7 = ""; if ($3 == "n3") $5 += 9000; else $8 += 9000'
stands_out 'no daemon' "n3 +$late( +$little){3}" '$4 = ""; if ($3 == "n3") $5 += 9000'
stands_out 'late in the exchange' "n3( +$little){3} +$late  or its partner n4" \
	'if ($9 != "" && $3 == "n3") $9 += 9000'
late_once="$alike; if (\$3 == \"n3\" && FILENAME ~ /-2/) \$4 += 9000"
stands_out 'late in one run only' none "$late_once"
stands_out 'late in one of two runs only' none "$late_once" 'rm ranks-16-3.csv'
says 'no ranks' 0 'others \(ms, median of 0 [^|]*\|\|not known: .*' 'rm ranks-*'
stands_out 'the worst first' 'n16 [^|]*\|n15 [^|]*\|n14 [^|]*' 'if ($2 > 13) $4 += 9000 * $2'

# Several jobs
cp -r "$example" other
sed -i s/^SLURM_CLUSTER_NAME=.*/SLURM_CLUSTER_NAME=other/ other/environment.txt
echo status 1 >other/output/8-3.txt
run "$summarize" "$example" other
row="1 +16 of 16 +2 +2 Open MPI v4.1.4 +$number +$number +$number to $number"
like 'several jobs' "$out/$status" \
	"system, job .*\|virtual $row +0 +0 PASS +PASS\|other $row +1 +0 PASS +FAIL/1"

# Pictures
if has gnuplot; then
	rm -rf it
	cp -r "$example" it
	program="'.system(\"touch $tmp/pwned\").'\`touch $tmp/pwned\`"
	sed -i "s|^SLURM_CLUSTER_NAME=.*|SLURM_CLUSTER_NAME=$program|" it/environment.txt
	run "$summarize" --pictures pictures it
	is 'pictures: quiet, status 0' "$err$status" 0
	ok 'pictures: a title that is a program is not executed' [ ! -e pwned ]
	for picture in scaling ranks; do
		ok "$picture.svg: the title" grep -q ', job 1 .* Open MPI v4.1.4, 16 nodes x 2<' \
			"pictures/$picture.svg"
	done
	ok 'scaling.svg has a point for every run' \
		[ "$(grep -c "href='#gpPt6'" pictures/scaling.svg)" -ge 12 ]
	ok 'ranks.svg names the hosts' grep -q '>n16<' pictures/ranks.svg
else
	skip pictures 'gnuplot not found; tests/setup installs it'
fi
finish
