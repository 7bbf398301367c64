#!/bin/sh
# The same tests with both programs built with the address and undefined-behaviour
# sanitizers, which also report leaks
. "$(dirname "$0")/lib.sh"
needs_cluster
export SANITIZE='-g -fsanitize=address,undefined -fno-sanitize-recover=all'
for test in launcher unit probe pattern phases; do
	run prove -v "tests/$test.t"
	is "$test.t" "$status" 0 || diag "$(printf '%s\n' "$out" | grep -A 9 '^not ok')" "$err" >&2
done
finish
