#!/bin/sh
# The pages, and the manual pages: the options, columns, settings and files that they name are those
# of the programs, their excerpts are those of the samples, and their links lead somewhere
. "$(dirname "$0")/lib.sh"

reference=doc/reference.md
pages="$(echo ./*.md doc/*.md) example-output/README.md tests/README.md tests/CONTRIBUTING.md
	tests/bench/README.md"

# section FILE HEADING: prints the section below HEADING, down to the next heading
section() {
	awk -v heading="$2" '/^##* / { inside = $0 == heading } inside' "$1"
}

# first_column: prints the names in the first column of the tables in standard input, one a line
first_column() {
	sed -n 's/^| *\([^|]*\)|.*/\1/p' | grep -oE '[A-Za-z_][A-Za-z0-9_./-]*' | sort
}

# without WORD...: prints the words of standard input, except WORDs, in a single line
without() {
	printf '%s\n' "$@" >"$tmp/without"
	grep -vxFf "$tmp/without" | paste -s -d ' ' -
}

# Options
./ziatest --help | sed -n 's/^  \(-[^ ].*\)/\1/p' |
	grep -oE '^(-[a-zA-Z], )?-[-a-z]+( [A-Z]+)?' >"$tmp/help"
# shellcheck disable=SC2016 # a prompt
is 'the sample help.txt' "$(cat example-output/help.txt)" \
	"$(echo '$ ziatest --help' && ./ziatest --help)"
if has help2man; then
	mkdir "$tmp/man"
	make -s man MAN="$tmp/man"
	is "the manual pages are those of 'make man'" \
		"$(cd "$tmp/man" && for page in *; do diff "$top/doc/$page" "$page" 2>&1; done)" ''
else
	skip 'the manual pages' 'no help2man; tests/setup installs it'
fi
if has mandoc; then
	is 'the manual pages: mandoc does not warn' "$(mandoc -Tlint -W warning doc/*.1 2>&1)" ''
else
	skip 'the manual pages: mandoc' 'no mandoc; tests/setup installs it'
fi
# shellcheck disable=SC2046,SC2086 # words
is "every option of ziatest on the pages exists" "$(cat $pages |
	grep -oE '(^|[ /`(])ziatest( +--?(csv|ranks|ppn|where|timeout|t|w) +[^ `]+| +-[-a-z]+)+' |
	grep -oE -e ' --?[a-z]+(-[a-z]+)*' | tr -d ' ' | sort -u |
	without -vv $(grep -oE -e '--?[a-zA-Z]+(-[a-z]+)*' "$tmp/help"))" ''

# An installed Ziatest must understand the commands on the pages. The launchers do nothing, and
# processes of other tests cannot be seen. Lines with names that the reader replaces, such as FILE,
# are left out.
make -s install DESTDIR="$tmp/root" PREFIX=/usr || exit 1
for command in "$tmp"/root/usr/bin/ziatest*; do
	name=$(basename "$command")
	ok "$name: has a manual page" test -f "$tmp/root/usr/share/man/man1/$name.1"
	like "$name: has a version" "$("$command" --version)" \
		"$name (\\(ziatest\\) )?$(./ziatest --version | cut -d ' ' -f 2)"
done
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
	# shellcheck disable=SC2086 # no word, or one
	(cd "$tmp/typed" && PATH=$tmp/root/usr/bin:$tmp/stubs:$PATH \
		unshare $as_root --pid --fork --mount-proc sh -c "$command") \
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
for file in launch/log.csv:csv log/log.csv:csv launch/ranks.csv:ranks slow/ranks.csv:ranks; do
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

# The commands with which an evaluator compares the batch script of an archive with that of its
# commit: in the sample, nothing differs; one changed line differs.
mkdir "$tmp/archive" "$tmp/log" "$tmp/job"
tar -xzf example-output/bids/submission.tar.gz -C "$tmp/job" --strip-components 1
commit=$(sed -n 's/^commit: //p' "$tmp/job/build.txt")
code doc/evaluators.md '## Check the sources' 2 | sed "s/COMMIT/$commit/g" >"$tmp/diff"
for edit in '' 's/TIMEOUT=[0-9]*\t#/TIMEOUT=9\t#/' 's/--hint=nomultithread //'; do
	sed "$edit" "$tmp/job/environment.txt" >"$tmp/archive/environment.txt"
	tar -czf "$tmp/archive/ziatest-CLUSTER-JOBID.tar.gz" -C "$tmp/archive" \
		--transform s,^,ziatest-CLUSTER-JOBID/, environment.txt
	run sh -c "GIT_DIR=$PWD/.git && export GIT_DIR && cd $tmp/archive && . $tmp/diff"
	is "the batch script of the sample, edited with '$edit'" "$status $(echo "$out" |
		grep -c '^[<>]') $err" "$(test -z "$edit" && echo '0 0 ' || echo '1 2 ')"
done

# Other tools that read a log by the names of its columns, which may stand anywhere. In the sample,
# $2 is nodes, $3 ppn, $5 time_ms, $20 faults and $32 program.
cd "$tmp/log" || exit 1
code "$top/doc/watch.md" '## With Prometheus, or in CI' 1 | sed "s|/var/.*/|./|" >prometheus
code "$top/doc/watch.md" '## With Prometheus, or in CI' 2 | grep -v '^ziatest ' >ci
code "$top/doc/watch.md" '## Since when?' 1 >otava
cp "$tmp/csv" start.csv
expected="$(awk -F , 'END { printf "- start: %.0f ms", $5 }' start.csv)
$(tail -n 1 "$top/example-output/log/log.csv" | awk -F , '{
	printf "ziatest_launch_seconds{program=\"%s\",nodes=\"%s\",ppn=\"%s\"} ", $32, $2, $3
	printf "%.6f\n7 phases, %.6f s\n", $5 / 1000, $5 / 1000 }')"
for edit in '' 's/^/x,/; 1s/x/new_ms/' 's/,[^,]*$//' '1i # a comment' '$a # a comment'; do
	sed "$edit" "$top/example-output/log/log.csv" >log.csv
	run env GITHUB_STEP_SUMMARY=step sh -c ': >step; . ./ci; . ./prometheus; cat step *.prom'
	is "the recipes of the page on watching, log edited with '$edit'" "$(echo "$out$err" | awk '
		!/_phase_/
		/_phase_/ { phases++; sum += $2 }
		END { printf "%d phases, %.6f s\n", phases, sum }')" "$expected"
	run sh -c '. ./otava; cat warm.csv'
	is "the launches for Otava, log edited with '$edit'" "$(echo "$out$err" |
		grep -oE 'started|[0-9]{4}(-[0-9]{2}){2}T[0-9:.]*')" "$(echo started
		awk -F '[Z,]' '$21 == 0 && !seen[substr($1, 1, 10)]++ { print $1 }' \
			"$top/example-output/log/log.csv")"	# the first warm one of each day
done
cd "$top" || exit 1

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

# Excerpts are filled in by a command, and each block with a prompt is one. All files of an archive
# were written while its job ran.
mkdir "$tmp/pages"
cp README.md doc/*.md "$tmp/pages"
is 'the samples are as they were made' "$(cd example-output &&
	find . -type f ! -name README.md ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum |
		diff SHA256SUMS -)" ''
run tests/demos/excerpts "$tmp/pages"/*
is 'the excerpts of the pages are found' "$status|$out$err" '0|'
for page in README.md doc/*.md; do
	is "$page: the excerpts are those of the samples" \
		"$(diff "$page" "$tmp/pages/${page##*/}")" ''
	is "$page: each block with a prompt is an excerpt" "$(awk '
		/^ *<!-- \$ / { excerpt = 1; next }
		!/^    / { excerpt = 0 }
		/^    \$ / && !excerpt' "$page")" ''
done
for archive in submission slow-node; do
	start=$(date +%s -d "$(tar -xOzf "example-output/bids/$archive.tar.gz" --wildcards \
		'*/environment.txt' | sed -n 's/^DATE=//p')")
	is "$archive.tar.gz: the dates of the files are those of the job" "$(
		tar --full-time -tvzf "example-output/bids/$archive.tar.gz" |
			while read -r _ _ _ day time name; do
				age=$(($(date +%s -d "$day $time") - start))
				if [ "$age" -lt 0 ] || [ "$age" -gt 600 ]; then
					echo "$name: $age s after the start of the job"
				fi
			done)" ''
done

# Measured figures age, so those on the pages must also be in the benchmarks, with the machine and
# the date. Times with the last digit 0 are injected delays.
tr -s '\n' ' ' <tests/bench/README.md >"$tmp/bench"
for page in administrators bids comparing watch; do
	is "doc/$page.md: the figures are those of the benchmarks" "$(tr -s '\n' ' ' <doc/$page.md |
		grep -oE '\b[01]\.[0-9]{3}\b|[0-9]+ of 100\b|[0-9.]+ MiB|\b[0-9]{2}[1-9] ms\b' |
		while read -r figure; do
			grep -qF "$figure" "$tmp/bench" || echo "$figure"
		done)" ''
done
# The page quotes the columns `difference of the launch` and `launch`, as in 91 of 350 ms (`srun`).
awk -F '|' '$2 ~ /^ `/ {
	name = $2; launch = $9; split($10, difference, " ")
	print -difference[1] " of" launch "ms (" substr(name, 2)
}' tests/bench/README.md >"$tmp/savings"
is 'doc/faster.md: what remedies saved is what the benchmarks show' "$(
	tr -s '\n ' ' ' <doc/faster.md | tr -d , |
		grep -oE '[0-9]+ of [0-9]+ ms|\(`[a-z_]+`' | awk '
		/ms$/ { saving = $0; next }
		saving { print saving " " $0 " "; saving = "" }' | grep -vxFf "$tmp/savings")" ''
is 'the version of the pages' "ziatest $(sed -n 's/^## \([^,]*\),.*/\1/p; T; q' doc/changes.md)" \
	"$(./ziatest --version)"

version=$(./ziatest --version | cut -d ' ' -f 2)
is 'the version of the packages' "$(cd doc/packages && echo *.eb &&
	grep -ohE "(ziatest-|[Vv]ersion *[:=(] *['\"]?)[0-9.]*[0-9]" ./* | grep -oE '[0-9.]+' |
	sort -u)" "$(printf '%s\n' "ziatest-$version.eb" "$version")"

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
	"$(cd "$tmp/job" && find . -type f | sed 's|^\./||
		s/[0-9]*-[0-9]*\.\(csv\|txt\)$/NODES-RUN.\1/' | sort -u | paste -s -d ' ' -)"

# Links lead to files that are installed, too.
docs=$tmp/root/usr/share/doc/ziatest
for page in $pages; do
	if [ "$page" != ./README.md ]; then
		like "$page: begins by naming its readers" "$(head -n 14 "$page" | tr '\n' ' ')" \
			'# .* This page is for .*'
	fi
	is "$page: the links lead somewhere" "$(grep -oE '\]\([^) ]+\)' "$page" | tr -d '])(' |
		grep -v ^http | sort -u | while IFS='#' read -r file heading; do
			file=$docs/${file:+$(dirname "$page")/}${file:-$page}
			if ! [ -e "$file" ]; then
				echo "$file"
			elif [ -n "$heading" ]; then
				sed -n 's/^##* //p' "$file" | tr '[:upper:] ' '[:lower:]-' |
					tr -cd '[:alnum:]_\n-' | grep -qxFe "$heading" ||
					echo "$file#$heading"
			fi
		done)" ''
	places='(doc|example-output|explain|job|observe|prepare|preload|tests|tools)'
	is "$page: the files exist" "$(grep -oE "(^|[ \`(])$places/[[:alnum:]_./-]*[a-z]" "$page" |
		tr -d ' `(' | grep -vxE 'tests/bench/(results|faster).csv' | while read -r file; do
			test -e "$file" || echo "$file"	# the reader creates the files left out
		done)" ''
done
finish
