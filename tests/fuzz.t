#!/bin/sh
# Random and hostile argument vectors for each program, built with sanitizers: always an error with
# the usage line, or a command line or arguments that are right, never a crash or a hang. SEED=...
# repeats a run, COUNT=... makes it longer.
. "$(dirname "$0")/lib.sh"

seed=${SEED:-$(date +%s)}
count_each=${COUNT:-1000}
# shellcheck disable=SC2086 # options
cc $sanitize -DPROGRAM='"../../ziatest.c"' -o "$tmp/ziatest" tests/helpers/fuzz.c || exit 1
# shellcheck disable=SC2086 # options
${MPICC:-mpicc} $sanitize -DPAD=4096 -DPROGRAM='"../../ziaprobe.c"' \
	-o "$tmp/ziaprobe" tests/helpers/fuzz.c probe/*.c || exit 1
touch "$tmp/libziaprobe.so"
cd "$tmp" || exit 1
for program in ziatest ziaprobe; do
	run "./$program" "$count_each" "$seed"
	is "$program: status 0 after $count_each argument vectors" "$status" 0 || diag "$out"
done
finish
