#!/bin/sh
# Random and hostile arguments of ziatest, which is built with sanitizers. It prints a usage error,
# an error about the launcher, or the help, or executes the launcher; it never crashes or hangs.
# SEED=... repeats a run, and COUNT=... makes it longer. unit.t tests those of ziaprobe.
. "$(dirname "$0")/lib.sh"

seed=${SEED:-$(date +%s)}
# shellcheck disable=SC2086 # options
cc $sanitize -o "$tmp/ziatest" ziatest.c prepare/*.c &&
	cc -shared -fPIC -DLIBC -o "$tmp/libc.so" tests/helpers/fakes.c || exit 1
cd "$tmp" || exit 1
cp ziatest ziaprobe
cp ziatest ziastart
touch libziaprobe.so

# Each line is an argument vector, whose words are separated by the character 1.
awk -v seed="$seed" -v count="${COUNT:-150}" '
function below(n) {
	return int(rand() * n)
}
function random_word(text, length_left) {
	text = words[1 + below(n)]
	if (!below(8))
		text = text words[1 + below(n)]
	for (length_left = below(8) ? 0 : below(40); length_left > 0; length_left--)
		text = text sprintf("%c", 32 + below(224))
	return below(200) ? text : text sprintf("%100000s", "-")
}
BEGIN {
	srand(seed)
	n = split("1|4|007|0|-1|+1||4 |2147483648|99999999999999999999|-|--|-t|-t1|--timeout=60|" \
		"--timeout=|-h|-x|--help=x|-v|-q|--start-only|" \
		"--ppn|-- |ziaprobe|X=1|--csv|--ranks=a|{}|{}{}|srun -n 4 --ppn|fake|" \
		"'\''|\"|\\|%s%n%n|$(exit 3)|\"$(|)|`|;|&|a |~|*|#|\t|./solver", words, "|")
	words[++n] = "a | b"
	forms[0] = "-t|60|-v|--csv|runs.csv|4|srun -n 4 --ppn|./solver|a b"
	forms[1] = "-q|-t|60|--ppn|4|--csv|runs.csv|env|srun|-n|4|--|./solver|a b"
	while (count-- > 0) {
		m = split(forms[below(2)], proper, "|")
		line = ""
		for (i = 1; i <= m; i++) {
			if (!below(12))
				line = line random_word() "\001"
			if (below(12))
				line = line (below(12) ? proper[i] : random_word()) "\001"
		}
		print line
	}
}' >vectors
separator=$(printf '\001')
set -f
while IFS= read -r vector; do
	IFS=$separator
	# shellcheck disable=SC2086 # words
	set -- $vector
	unset IFS
	run env LD_PRELOAD="$tmp/libc.so" NO_EXEC=yes timeout 20 ./ziatest "$@"
	case $status,$out$err in
	0,usage:*|0,ziatest\ [0-9]*|2,*usage:*|2,*\ pipe*|77,*|12[67],*error:\ *launcher*) ;;
	*) printf 'bad: %s: %s\n' "$*" "$status $out$err" ;;
	esac
	echo "$status"
done <vectors >statuses
set +f
is 'no crash, no hang' "$(grep -a -A 9 '^bad' statuses)" ''
for status in 2 77; do
	ok "many vectors end with status $status" [ "$(grep -cx "$status" statuses)" -gt 10 ]
done
finish
