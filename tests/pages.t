#!/bin/sh
# The pages, and the manual page: the options, columns, messages, settings and files that they name
# are those of the programs, their excerpts are those of the samples, and their links lead somewhere
. "$(dirname "$0")/lib.sh"

output=doc/output.md messages=doc/messages.md
pages="$(echo ./*.md doc/*.md job/*.md) example-output/README.md tests/README.md
	tests/bench/README.md"
slow=example-output/4-nodes-slow.txt

# section FILE HEADING: prints the section below HEADING
section() {
	awk -v heading="$2" '/^##* / { inside = index($0, heading) } inside' "$1"
}

# first_column: prints the names in the first column of the tables in standard input, one a line
first_column() {
	sed -n 's/^| *\([^|]*\)|.*/\1/p' | grep -oE '[A-Za-z_][A-Za-z0-9_./-]*' | sort
}

# names: prints the names in backquotes that precede the colon of each item of the lists in standard
# input, one a line
names() {
	awk '/^$|^- / { print "" } { printf "%s ", $0 }' |
		sed -n 's/^- \([^:]*`\): .*/\1/p' | grep -o '`[^`]*`' | tr -d '`'
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
	grep -oE '(^|[ /`(])ziatest( +-[-a-z]+( +[^-0-9"'\''`][^ `]*)?)+' |
	grep -oE -e ' --?[a-z]+' | tr -d ' ' | sort -u | without $(tr -d , <"$tmp/options"))" ''

# Columns
run ./ziaprobe "$(date +%s)" 0 1 --csv "$tmp/csv" --ranks "$tmp/ranks"
for file in csv ranks; do
	is "the columns of --$file" \
		"$(section $output "\`--$file\`" | names | sort | paste -s -d ' ' -)" \
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

# Messages: those on the page are what precedes the first colon of each item. These say all that the
# page could say:
cat >"$tmp/clear" <<'END'
N, the number of processes per node, is missing
N, the number of processes per node, must be a whole number
begins with another header
cannot build the command line
cannot preload
cannot print the command line
cannot print the report of --verbose
cannot run /bin/sh
choose a file that can be read and written
empty file name
got different start times
is not a multiple of N
must be a number of seconds above 0
must be a whole number from 1 to
out of memory
run on the same kernel under different host names
the current directory is unknown
unknown option or missing value
was set or slewed
END
perl -0777 -ne 's/(?<!\\)"\s*"//g;
	print $1 ? "message: $2\n" : "$2\n"
		while /(\bfail\(\d[^"]*|print_(?:error|warning)\(|return )?\s*"((?:[^"\\]|\\.)*)"/g
	' ./*.c prepare/*.c observe/*.c explain/*.c preload/*.c |
	sed '/timeout of/!s/^ziaprobe: error: /message: /' >"$tmp/strings"
sed '/^## Messages of other/,$d' $messages | names | sed 's/   */ /g' >"$tmp/known"
cat "$tmp/known" "$tmp/clear" >"$tmp/expected"
is 'every message on the page, and in this list, exists' "$(while read -r message; do
	grep -qFe "$message" "$tmp/strings" || echo "$message"
done <"$tmp/expected")" ''
is 'every error and warning is on the page, or needs no explanation' \
	"$(grep '^message: [^%].* .' "$tmp/strings" | grep -vFf "$tmp/expected")" ''

# Excerpts
is 'the excerpts are those of the sample' "$(for page in README.md $output; do
	sed -n 's/^    \(outlier: init.*\|[^$]*  [0-9]* on n[0-9].*\)/\1/p' "$page"
done | grep -vxFf $slow)" ''
is 'the plain launch is that of the sample' "$(sed -n '/^    \$ /{ n; :next
	s/^    //p; t again
	q; :again
	n; b next
	}' README.md)" "$(cat example-output/4-nodes.txt)"
like 'the picture: what became of 500 ms of sleep' "$(tr '\n' ' ' <README.md)" "$(awk '
	/^outlier: init/ && match($0, /[0-9.]* ms above/) {
		above = substr($0, RSTART, RLENGTH - 9)
		printf(".* therefore %d ms shorter .* became %d ms above .*",
			500 - int(above + 0.5), int(above + 0.5))
	}' $slow)"
sed -n '/^    trace of/,/^$/s/^    //p' doc/tracing.md >"$tmp/trace"
is 'the trace is that of the sample: four lines' \
	"$(wc -l <"$tmp/trace") $(grep -cxFf example-output/4-nodes-trace.txt "$tmp/trace")" '4 4'
is 'the growth of a launch is that of the example' "$(sed -n 's/^    \(from .*\)/\1/p' \
	doc/judge.md)" "$(grep '^from' example-output/submission/summary.txt)"

# Figures that age: those on the pages are in the benchmarks, with the machine and the date.
while read -r page figure; do
	ok "$page: $figure, as in the benchmarks" \
		sh -c 'for page; do tr -s "\n" " " <"$page" | grep -qF "$0" || exit 1; done' \
		"$figure" "$page" tests/bench/README.md
done <<-END
	README.md 1.000
	README.md e71eae5
	README.md 0.986
	README.md 1.022
	doc/administrators.md about 43 MiB
	doc/bids.md 598 ms
	doc/bids.md 533 ms
END
is 'the version of the pages' "ziatest $(sed -n 's/^## //p; T; q' doc/changes.md)" \
	"$(./ziatest --version)"

# The batch job
settings=$(sed -n 's|^\([A-Z_]*\)=.*#.*|\1|p' run_ziatest.sh | paste -s -d ' ' -)
is 'the settings of the job' "$(first_column <doc/bids.md | grep -x '[A-Z_]*' |
	paste -s -d ' ' -)" "$(echo "$settings" | tr ' ' '\n' | sort | paste -s -d ' ' -)"
# shellcheck disable=SC2086 # words
is 'every setting on the pages exists' "$(cat $pages | grep 'run_ziatest\.sh' |
	grep -oE '[ "][A-Z_]+=' | tr -d ' "=' | sort -u | without $settings)" ''
is 'the files of the archive' \
	"$(first_column <doc/evaluators.md | grep -E '\.(csv|diff|svg|txt)$|^SHA' |
		paste -s -d ' ' -)" \
	"$(cd example-output/submission && find . -type f | sed 's|^\./||
		s/[0-9]*-[0-9]*\.\(csv\|txt\)$/NODES-RUN.\1/' | sort -u | paste -s -d ' ' -)"

is 'the first screen for evaluators is that of the example' \
	"$(sed -n '/^    Ziatest: job/,/^    clocks /{ s/^    //; p; }' doc/evaluators.md)" \
	"$(sed '/^To review$/,$d' example-output/submission/summary.txt)"
is 'the slow node for administrators is that of the example' \
	"$(sed -n '/^    Slow nodes/,/^$/{ s/^    //; p; }' doc/administrators.md)" \
	"$(sed -n '/^Slow nodes/,$p' example-output/slow-node/summary.txt)"

is 'the mail for administrators is that of the example' \
	"$(sed -n '/^    log.csv: /,/^    n3 was/{ s/^    //; p; }' doc/administrators.md)" \
	"$(sed -n '/^log.csv: /,$p' example-output/log/watch.out)"
is 'the script for administrators is that of the example, but for its numbers' \
	"$(sed -n '/^    #!.bin.sh/,/^    exit/{ s/^    //; p; }' doc/administrators.md |
		sed 's/1024/8/; s/where 15/where 1.5/; s/csv 4/csv 2/; s/^    /\t/')" \
	"$(grep -v '^# ' example-output/log/watch.sh)"

# If this fails because run_ziatest.sh has changed, renew the example.
if has python3; then
	run job/summarize example-output/submission
	is "the example's summary is what summarize prints" "$err$out" \
		"$(cat example-output/submission/summary.txt)"
	run job/summarize example-output/log/log.csv
	is "the log's summary is what summarize prints" "$err$out/$status" \
		"$(sed -n '/^log.csv: /,$p' example-output/log/watch.out)/1"
	run job/summarize example-output/submission example-output/slow-node
	is 'the comparison is what summarize prints' "$err$(echo "$out" | head -n 9)" \
		"$(sed -n '/^    job  /,/^1[.]/{ s/^    //; /^1[.]/d; p; }' doc/evaluators.md)"
else
	skip "the example's summary" 'no python3; tests/setup installs it'
fi

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
		tests/bench/results.csv) ;;	# the reader makes it
		*) ok "$page: $file" test -e "$file" ;;
		esac
	done
done
finish
