#!/bin/sh
# The reports at any scale: launches of thousands of nodes and of minutes, made up by
# tests/helpers/scale.c. The code that reports them is that of ziaprobe.c and explain/.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2086 # options
${MPICC:-mpicc} $sanitize -O1 -o "$tmp/scale" tests/helpers/scale.c explain/*.c || exit 1
export ASAN_OPTIONS=detect_leaks=0	# the search takes longer than the report

# Prints whatever is wrong with a report and its files. All times of a report must have one unit,
# which its heads name, and three decimals. Between two cells are two blanks or more. The phases of
# the path add up to the result, and --where meets the delay, which is a quarter of the time and
# begins after about 13 % of it in MPI_Init.
cat >"$tmp/check.awk" <<'AWK'
function digits(text) {
	sub(/\./, "", text)
	return text + 0
}
function expect(what, got, expected) {
	if (got "" != expected "")
		print what ": " got ", not " expected
}
BEGIN {
	cell = "  +-?[0-9]+[.][0-9][0-9][0-9]"
	place = "  [0-9]+ on [^ ,]+(, (slurmstepd|with [0-9]+ on [^ ,]+|" \
		"last in: [0-9]+ on [^ ,]+|did not hold))?$"
}
FNR == 1 {
	file++
}
file == 1 && /^[0-9.]+ m?s, / {
	time = digits($1)
	unit = substr($2, 1, length($2) - 1)
}
file == 1 && unit && / [0-9.]+ (m|u)?s([ ,)]|$)/ {
	text = $0
	gsub(/ [0-9]+ us$/, "", text)	# of the kernel, in a report in ms
	while (match(text, / [0-9.]+ (m|u)?s([ ,)]|$)/)) {
		split(substr(text, RSTART, RLENGTH), word, /[ ,)]/)
		expect("the unit of " word[2], word[3], unit)
		if (word[2] !~ /^[0-9]+[.][0-9][0-9][0-9]$/)
			print "not three decimals: " word[2]
		text = substr(text, RSTART + RLENGTH)
	}
}
file == 1 && /^(critical path|m?s) / {
	part = $1
	expect("the head of " part, part == "critical" ? $3 : $1, unit)
	next
}
file == 1 && (!NF || /^fences/) {
	part = ""
}
file == 1 && part == "critical" {
	phases++
	sum += digits($2)
	if ($0 !~ "^[a-z]+" cell "(" cell ")?( +|(" cell ")+  +[0-9]+| +[0-9]+)" place)
		print "not a row of the path: " $0
}
file == 1 && part && part != "critical" {
	rows++
	if ($0 !~ "^[a-z_]+" cell cell cell place && $0 !~ /^faults(  +[0-9]+)+ on [^ ]+$/)
		print "not a row of the table: " $0
}
file == 1 && /^next: / {
	where = $4
	host = $(NF - 2)
}
file > 1 && FNR == 1 {
	split("", column)
	for (i = 1; i <= NF; i++)
		column[$i] = i
	next
}
file == 2 {
	us = digits($column["time_ms"])
	for (name in column)
		if (name ~ /^(daemon|spawn|exec|setup|init|fence|exchange|clock)_ms$/)
			row += digits($column[name])
}
file == 3 {
	ranks++
	for (name in column)
		if (name ~ /_ms$/ && $column[name] !~ /^(-?[0-9]+[.][0-9][0-9][0-9])?$/)
			print "rank " $1 ", " name ": " $column[name]
	if ($3 == host) {
		main = digits($column["daemon_ms"]) + digits($column["spawn_ms"]) + \
			digits($column["exec_ms"]) + digits($column["setup_ms"])
		if (where * 1000000 > main + .15 * us && where * 1000000 < main + .36 * us)
			met++
	}
}
END {
	expect("the unit", unit, us < 10000000 ? "ms" : "s")
	expect("the result", time, unit == "ms" ? us : int(us / 1000 + .5))
	expect("the path", sum, time)
	expect("the row of --csv", row, us)
	if (phases < 9 || rows < 13)
		print phases " phases and " rows " rows"
	if (host && !met)
		print "--where " where " misses the delay"
}
AWK

# launch NAME NODES N SECONDS PREFIX FIRST LAST STEP OUTLIER NEXT [BEHIND]: makes up a launch, and
# checks its reports, the line of the outlier, and whether there is a line "next"
launch() {
	name=$1 outlier=$9
	shift
	mkdir "$tmp/$name"
	(cd "$tmp/$name" && "$top/ziatest" -vv --csv csv --ranks ranks "$2" \
		"../scale $1 $3 $4 $5 $6 $7 ${10-0} 0" 2>out)
	is "$name: the status" $? 0
	is "$name: the reports" "$(cd "$tmp/$name" && awk -f ../check.awk out FS=, csv ranks)" ''
	if [ "$1" -eq 4 ]; then	# it takes too long for thousands of ranks
		is "$name: the figures agree" "$(cd "$tmp/$name" &&
			awk -F , -f "$top/tests/helpers/figures.awk" out ranks csv 2>&1)" ''
	fi
	is "$name: the ranks" "$(wc -l <"$tmp/$name/ranks")" $(($1 * $2 + 1))
	like "$name: the outlier" "$(sed -n 's/^outlier: //p' "$tmp/$name/out")" "$outlier"
	like "$name: what to do next" "$(sed -n 's/^next: //p' "$tmp/$name/out")" "$9"
}

excess='[0-9]+[.][0-9]{3} s above the median, mostly blocked'
calls='add --where [0-9]+[.][0-9] --start-only to see the calls that'
long=gpu-partition-of-the-long-names-row	# names of 40 characters

launch ms 4 2 9.8 n 2 2 1 "init of rank [45] on n00002 and 1 more rank there, \
[0-9]{4}[.][0-9]{3} ms above the median, mostly blocked" "$calls n00002 is in"
launch s 4 2 10.3 n 2 2 1 "init of rank [45] on n00002 and 1 more rank there, $excess" \
	"$calls n00002 is in"
launch alike 4 2 700 n 9 9 1 none ''
launch rack 1024 4 112 nid 832 895 1 "init of rank [0-9]+ on nid00[0-9]{3} and 255 more ranks, \
on 64 of 1024 nodes \(nid\[00832-00895\]\), $excess" "$calls nid008[0-9]{2} is in"
launch long 10000 8 600 $long 700 9999 7 "init of rank [0-9]+ on ${long}[0-9]{5} and 10631 more \
ranks, on 1329 of 10000 nodes \($long\[00700,00707,00714,00721,00728,00735,00742\] and 1322 \
more\), $excess" "$calls ${long}[0-9]{5} is in"
# The daemons are started one after another, STEP ms apart. In the second launch of each round, one
# comes later than its turn. ziatest-summarize has the same rule as the report.
stairs="the launcher started its daemons one after another, [0-9]+[.][0-9]{3} s apart on average"
for round in 1 2 3; do
	draw_number 33
	nodes=$((9 + drawn))
	nodes=$((nodes % 7 ? nodes : nodes + 1))
	draw_number 900
	step=$((600 + drawn))
	export STAIRS="$step 0 0"
	launch stairs-$round $nodes 2 20 n 99 99 1 "none; $stairs" ''
	like "stairs-$round: the slow nodes" \
		"$(tools/summarize "$tmp/stairs-$round/ranks" | sed '1,2d' | paste -s -d ' ' -)" \
		'Slow nodes: none The launcher started its daemons one after another, .*'
	# The late daemon is not the first one, because all others wait for that.
	draw_number $((nodes - 1))
	late=$drawn
	while [ $(((late * 7 + 3) % nodes)) -eq 0 ]; do
		late=$((late - 1))
	done
	host=$(printf 'n%05d' $late)
	export STAIRS="$step $late 20000"
	launch late-$round $nodes 2 20 n 99 99 1 "daemon of rank [0-9]+ on $host and 1 more rank \
there, [0-9]+[.][0-9]{3} s later than its turn; $stairs" ''
	like "late-$round: the slow nodes" \
		"$(tools/summarize "$tmp/late-$round/ranks" | sed '1,2d' | paste -s -d ' ' -)" \
		"Slow nodes: 1 of $nodes, $host; .* The launcher started its daemons one after .*"
done
# The processes of the node whose turn comes last are created late.
late=0
while [ $(((late * 7 + 3) % nodes)) -ne $((nodes - 1)) ]; do
	late=$((late + 1))
done
host=$(printf 'n%05d' $late)
export STAIRS="$step $late 0 20000"
launch spawn "$nodes" 2 20 n 99 99 1 "spawn of rank [0-9]+ on $host and 1 more rank there, \
[0-9]+[.][0-9]{3} s above the median; $stairs" ''
like 'spawn: the slow nodes' \
	"$(tools/summarize "$tmp/spawn/ranks" | sed '1,2d' | paste -s -d ' ' -)" \
	"Slow nodes: 1 of $nodes, $host; .* The launcher started its daemons one after .*"
unset STAIRS
# A clock that is 3 s behind
launch behind 4 2 100 n 9 9 1 none '' 3
like 'behind: the clock' "$(grep '^ziaprobe: warning' "$tmp/behind/out")" \
	'.* is 3000[.][0-9]{3} ms .* behind .*; the corrected time is [0-9]+[.][0-9]{3} s; .*'
# A result in ms, and another rank's reply that is a day away by its clock
launch day 4 2 1 $long 9 9 1 none '' 86400
like 'a day: the clock' "$(grep '^ziaprobe: warning' "$tmp/day/out")" \
	'.* is 86400000[.][0-9]{3} ms .*'
finish
