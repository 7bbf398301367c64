#!/bin/sh
# The pages, and the manual page: the options, columns, settings and files that they name
# are those of the programs, their excerpts are those of the samples, and their links lead somewhere
. "$(dirname "$0")/lib.sh"

reference=doc/reference.md
pages="$(echo ./*.md doc/*.md) example-output/README.md tests/README.md tests/CONTRIBUTING.md
	tests/bench/README.md"
slow=example-output/4-nodes-slow.txt

# section FILE HEADING: prints the section below HEADING, down to the next heading
section() {
	awk -v heading="$2" '/^##* / { inside = $0 == heading } inside' "$1"
}

# first_column: prints the names in the first column of the tables in standard input, one a line
first_column() {
	sed -n 's/^| *\([^|]*\)|.*/\1/p' | grep -oE '[A-Za-z_][A-Za-z0-9_./-]*' | sort
}

# excerpt FILE FIRST LAST: prints the indented lines of FILE from that which matches FIRST to the
# next one that matches LAST, without their indentation
excerpt() {
	sed -n "/^    $2/,/$3/{ h; s/^    //; p; g; /$3/q; }" "$1"
}

# without WORD...: prints the words of standard input, except WORDs, in a single line
without() {
	printf '%s\n' "$@" >"$tmp/without"
	grep -vxFf "$tmp/without" | paste -s -d ' ' -
}

# Options
./ziatest --help | sed -n 's/^  \(-[^ ].*\)/\1/p' |
	grep -oE '^(-[a-zA-Z], )?-[-a-z]+( [A-Z]+)?' >"$tmp/help"
is 'the options of the manual page' \
	"$(sed -n 's/ Ar \(.*\)/ \U\1/; s/ ,/,/; s/Fl Fl /--/; s/Fl /-/; s/^\.It -/-/p' \
		doc/ziatest.1)" "$(cat "$tmp/help")"
if has mandoc; then
	is 'the manual page: mandoc has no complaint' "$(mandoc -Tlint doc/ziatest.1 2>&1)" ''
else
	skip 'the manual page: mandoc' 'no mandoc; tests/setup installs it'
fi
sed 's/ [A-Z]*$//' "$tmp/help" >"$tmp/options"
while IFS=' ,' read -r option long; do
	case $option in
	-h|-V|--help|--version) continue ;;	# they explain themselves
	esac
	ok "$option is explained" grep -qwe "$option" ${long:+-e "$long"} README.md doc/*.md
done <"$tmp/options"
# shellcheck disable=SC2046,SC2086 # words
is "every option of ziatest on the pages exists" "$(cat $pages |
	grep -oE '(^|[ /`(])ziatest( +--?(csv|ranks|ppn|where|timeout|t|w) +[^ `]+| +-[-a-z]+)+' |
	grep -oE -e ' --?[a-z]+(-[a-z]+)*' | tr -d ' ' | sort -u |
	without -vv $(tr -d , <"$tmp/options"))" ''

is 'the options on the page of reference' "$(section $reference '## Options' |
	sed -n 's/^| `\(-.*\)` |.*/\1/p' | sed 's/`, `/, /; s/ SECONDS, / , /; s/ , /, /')" \
	"$(cat "$tmp/help")"

# Commands, as an installed Ziatest understands them. The launchers do nothing. Lines with names
# that the reader replaces, such as FILE, are left out.
make -s install DESTDIR="$tmp/root" PREFIX=/usr || exit 1
mkdir "$tmp/stubs" "$tmp/typed"
for stub in flux ibrun jsrun module mpiexec mpiexec.hydra mpirun squeue srun ../typed/solver; do
	echo '#!/bin/sh' >"$tmp/stubs/$stub"
	chmod +x "$tmp/stubs/$stub"
done
# shellcheck disable=SC2086 # words
sed ':next; /\\$/{ N; s/\\\n *//; b next }' $pages |
	sed -nE 's/^ {4,7}(\$ )?(ziatest(-[a-z]+)? )/\2/p' |
	grep -vE '\[|\b(FILE|JOBID|ONE)\b' | sort -u >"$tmp/commands"
while read -r command; do
	(cd "$tmp/typed" && PATH=$tmp/root/usr/bin:$tmp/stubs:$PATH sh -c "$command") \
		>"$tmp/out" 2>&1 </dev/null
	is "typed: $command" "$(grep -E 'usage: |[^,] not found' "$tmp/out")" ''
done <"$tmp/commands"

# Columns
run ./ziaprobe "$(date +%s)" 0 1 --csv "$tmp/csv" --ranks "$tmp/ranks"
for file in csv ranks; do
	is "the columns of --$file" \
		"$(section $reference "## The --$file file" | grep '^| `' | first_column |
			paste -s -d ' ' -)" \
		"$(head -n 1 "$tmp/$file" | tr , '\n' | sort | paste -s -d ' ' -)"
done
# shellcheck disable=SC2046,SC2086 # words
is 'every column on the pages exists' "$(cat $pages |
	grep -oE '`[a-z_]+_(ms|host|rank|kind|bytes)`' | tr -d '`' | sort -u |
	without $(head -q -n 1 "$tmp/csv" "$tmp/ranks" | tr , ' '))" ''
for file in 4-nodes.csv:csv submission/results.csv:csv 4-nodes-ranks.csv:ranks; do
	is "${file%:*}: its header" "$(head -n 1 "example-output/${file%:*}")" \
		"$(head -n 1 "$tmp/${file#*:}")"
done

# code PAGE SECTION NUMBER: prints that block of code in a section of a page
code() {
	section "$1" "$2" | awk -v number="$3" '
	/^    / && !inside { count++ }
	{ inside = /^    / || inside && !NF }
	inside && count == number { print substr($0, 5) }'
}

# The batch script of the sample is that of its commit; what has been edited shows.
mkdir "$tmp/archive" "$tmp/log"
commit=$(sed -n 's/^commit: //p' example-output/submission/build.txt)
code doc/evaluators.md '## Check the sources' 2 | sed "s/COMMIT/$commit/g" >"$tmp/diff"
for edit in '' 's/TIMEOUT=480/TIMEOUT=9/' 's/--hint=nomultithread //'; do
	sed "$edit" example-output/submission/environment.txt >"$tmp/archive/environment.txt"
	tar -czf "$tmp/archive/ziatest-CLUSTER-JOBID.tar.gz" -C "$tmp/archive" \
		--transform s,^,ziatest-CLUSTER-JOBID/, environment.txt
	run sh -c "GIT_DIR=$PWD/.git && export GIT_DIR && cd $tmp/archive && . $tmp/diff"
	is "the batch script of the sample, edited with '$edit'" "$status $(echo "$out" |
		grep -c '^[<>]') $err" "$(test -z "$edit" && echo '0 0 ' || echo '1 2 ')"
done

# Other tools that read a log by the names of its columns, which may stand anywhere
cd "$tmp/log" || exit 1
code "$top/doc/watch.md" '## With Prometheus, or in CI' 1 | sed "s|/var/.*/|./|" >prometheus
code "$top/doc/watch.md" '## With Prometheus, or in CI' 2 | grep -v '^ziatest ' >ci
for edit in '' 's/^/x,/; 1s/x/new_ms/' 's/,[^,]*$//' '1i # a comment' '$s/.\{150\}$//'; do
	sed "$edit" "$top/example-output/log/log.csv" >log.csv
	case $edit in *,*) echo '# another' >>log.csv ;; esac
	cp "$tmp/csv" start.csv
	python3 -B - "$top/tools" >expected <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		from ziatest.read import read
		from ziatest.rows import LOG_PHASES
		row = read('log.csv').launches[-1]
		of = 'program="%s",nodes="%s",ppn="%s"' % (row.program, row.nodes, row.ppn)
		print('ziatest_launch_seconds{%s} %.6f' % (of, row.time_ms / 1000))
		for phase in LOG_PHASES:
		    ms = getattr(row, phase + '_ms')
		    if ms == ms:
		        print('ziatest_phase_seconds{phase="%s",%s} %.6f' % (phase, of, ms / 1000))
		row = read('start.csv').launches[-1]
		print('%d - start: %.0f ms' % (row.time_ms >= 2000, row.time_ms))
	END
	run env GITHUB_STEP_SUMMARY=step sh -c ': >step; sh ./ci; echo "$? $(cat step)" >done
		sh ./prometheus && sort ziatest.prom && cat done'
	is "the recipes of the page on watching, log edited with '$edit'" "$out$err" \
		"$(sort expected | grep ziatest_; tail -n 1 expected)"
done
cd "$top" || exit 1

# Excerpts. A line '...' stands for lines that are left out.
for page in README.md doc/report.md; do
	is "$page: the lines of -v and -vv are those of the samples" "$(
		sed -n 's/^    \(\(outlier: init\|next: \).*\|[^$]*  [0-9]* on n[0-9].*\)/\1/p' \
			"$page" | grep -vxF -f $slow -f example-output/4-nodes-verbose.txt)" ''
done
# The script that traces rank 5: as a task of each launcher, of which several may set a variable
code doc/tracing.md '## Trace one rank' 1 >"$tmp/typed/one.sh"
printf '#!/bin/sh\necho "strace $*"\n' >"$tmp/stubs/strace"
chmod +x "$tmp/stubs/strace" "$tmp/typed/one.sh"
while read -r variables; do
	for rank in 5 6; do
		# shellcheck disable=SC2086 # words
		run env -u OMPI_COMM_WORLD_RANK -u PMI_RANK -u PMIX_RANK -u SLURM_PROCID \
			PATH="$tmp/stubs:$PATH" $variables=$rank "$tmp/typed/one.sh" echo 'a  b'
		is "rank $rank, with $variables" "$status|$out$err" \
			"$(test $rank = 5 && echo '0|strace -c -w -o trace.5 echo a  b' ||
				echo '0|a  b')"
	done
done <<-END
	SLURM_PROCID
	SLURM_PROCID=5 PMIX_RANK
	SLURM_PROCID=5 PMI_RANK
	SLURM_PROCID=5 PMIX_RANK=1 OMPI_COMM_WORLD_RANK
END
is 'the lines of a hang are those of the sample' \
	"$(sed -n 's/^    \(ziaprobe: error: .*\)/\1/p' doc/hangs.md | head -n 3 |
		grep -cxF -f example-output/hang/output.txt)" 3
is 'the looks at a launch that hangs are those of the sample' \
	"$(sed -n '/^    \$ ziatest-attach/,/^$/s/^    //p' doc/attach.md |
		grep -vxF -f example-output/attach.txt)" ''
is 'its roll call is that of the sample' \
	"$(excerpt doc/hangs.md 'rank 4 on n3' '^    --exclude')" \
	"$(cat example-output/hang/summary.txt)"
group=example-output/slow-group
is 'the outlier of a group of nodes is that of the sample' \
	"$(grep '^    outlier: ' doc/slow.md)" "    $(grep '^outlier: ' $group/output.txt)"
is 'the slow nodes are those of the sample' \
	"$(excerpt doc/slow.md 'ranks.csv: ' '^The title' | sed '$d')" \
	"$(cat $group/summary.txt)"
is 'the growth of a launch is that of the example' "$(sed -n 's/^    \(from .*\)/\1/p' \
	doc/launch.md)" "$(grep '^from' example-output/submission/summary.txt)"

# Figures that age: those on the pages are in the benchmarks, with the machine and the date, or are
# those of the simulation.
cat >"$tmp/figures" <<-END
	doc/administrators.md about 43 MiB
	doc/administrators.md 0.3 MiB
	doc/administrators.md 0.996
	doc/administrators.md 0.981
	doc/administrators.md 1.011
	doc/administrators.md 1.006
	doc/bids.md 598 ms
	doc/bids.md 533 ms
END
for page in doc/comparing.md doc/watch.md; do
	tr '\n' ' ' <"$page" | grep -oE '[0-9]+ of 100' | sed "s|^|$page |"
done >>"$tmp/figures"
while read -r page figure; do
	ok "$page: $figure, as in the benchmarks" \
		sh -c 'for page; do tr -s "\n" " " <"$page" | grep -qF "$0" || exit 1; done' \
		"$figure" "$page" tests/bench/README.md
done <"$tmp/figures"
is 'the version of the pages' "ziatest $(sed -n 's/^## \([^,]*\),.*/\1/p; T; q' doc/changes.md)" \
	"$(./ziatest --version)"

# The batch job
settings=$(sed -n 's|^\([A-Z_]*\)=.*#.*|\1|p' run_ziatest.sh | paste -s -d ' ' -)
is 'the settings of the job' "$(section doc/batch-job.md '## Settings' | first_column |
	grep -x '[A-Z_]*' | paste -s -d ' ' -)" \
	"$(echo "$settings" | tr ' ' '\n' | sort | paste -s -d ' ' -)"
# shellcheck disable=SC2086 # words
is 'every setting on the pages exists' "$(cat $pages | grep 'run_ziatest\.sh' |
	grep -oE '[ "][A-Z_]+=' | tr -d ' "=' | sort -u | without $settings)" ''
is 'the files of the archive' \
	"$(section doc/batch-job.md '## The archive' | grep '^| `' | first_column |
		paste -s -d ' ' -)" \
	"$(cd example-output/submission && find . -type f | sed 's|^\./||
		s/[0-9]*-[0-9]*\.\(csv\|txt\)$/NODES-RUN.\1/' | sort -u | paste -s -d ' ' -)"

is 'the first screen for evaluators is that of the example' \
	"$(sed -n '/^    Ziatest: job/,/^    clocks /{ s/^    //; p; }' doc/evaluators.md)" \
	"$(sed '/^To review$/,$d' example-output/submission/summary.txt)"

is 'the mail for administrators is that of the example' \
	"$(excerpt doc/watch.md 'log.csv: ' '^    n3 was')" \
	"$(sed -n '/^log.csv: /,/^n3/p' example-output/log/watch.out)"
is 'the comparison of launchers is that of the sample' \
	"$(excerpt doc/comparing.md 'A  srun' 'the first launch' | sed '$d')" \
	"$(sed '$d' example-output/compare.txt)"
is 'the script for administrators is that of the example, except for its numbers' \
	"$(excerpt doc/watch.md '#!.bin.sh' '^    exit' |
		sed 's/where 15/where 1.5/; s/node 4/node 2/
			:next; s/^\(\t*\)    /\1\t/; t next')" \
	"$(grep -v '^# ' example-output/log/watch.sh)"

# If this fails because run_ziatest.sh has changed, renew the example.
if has python3; then
	run tools/summarize example-output/submission
	is "the example's summary is what summarize prints" "$err$out" \
		"$(cat example-output/submission/summary.txt)"
	run tools/summarize example-output/log/log.csv
	is "the log's summary is what summarize prints" "$err$out/$status" \
		"$(sed -n '/^log.csv: /,/^n3/p' example-output/log/watch.out)/1"
	run tools/summarize --pictures "$tmp" example-output/submission \
		example-output/slow-node.tar.gz
	ok 'the picture of the comparison is what summarize draws' \
		cmp "$tmp/comparison.svg" example-output/comparison.svg
	is 'the comparison is what summarize prints' "$err$(echo "$out" | head -n 9)" \
		"$(sed -n '/^    job  /,/^The first/{ s/^    //; /^The first/d; p; }' \
			doc/evaluators.md)"
else
	skip "the example's summary" 'no python3; tests/setup installs it'
fi

for page in $pages; do
	case $page in
	./README.md) continue ;;
	esac
	like "$page: begins with whom it is for" "$(head -n 14 "$page" | tr '\n' ' ')" \
		'# .* This page is for .*'
done

# Links, which may be broken across lines, and files
for page in $pages; do
	for link in $(tr '\n' ' ' <"$page" | grep -oE '\]\([^) ]+\)' | tr -d '])(' | sort -u); do
		case $link in
		http*) continue ;;
		'#'*) file=$page ;;
		*) file=$(dirname "$page")/${link%%#*} ;;
		esac
		ok "$page: $link" test -e "$file"
		case $link in
		*'#'*)
			sed -n 's/^##* //p' "$file" | tr '[:upper:] ' '[:lower:]-' |
				tr -cd '[:alnum:]_\n-' >"$tmp/anchors"
			ok "$page: the heading of $link" \
				grep -qxFe "${link#*#}" "$tmp/anchors" ;;
		esac
	done
	places='doc|example-output|explain|job|observe|prepare|preload|tests'
	for file in $(grep -oE "(^|[ \`(])($places)/[[:alnum:]_./-]*[a-z]" "$page" |
		tr -d ' `(' | sort -u); do
		case $file in
		tests/bench/results.csv|tests/bench/faster.csv) ;;	# the reader makes them
		*) ok "$page: $file" test -e "$file" ;;
		esac
	done
done
finish
