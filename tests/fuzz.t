#!/bin/sh
# 10,000 random and hostile argument vectors for each program, built with sanitizers:
# never a crash, never a hang, an error with the usage line or a proper run.
# SEED=... repeats a run.
. "$(dirname "$0")/lib.sh"

seed=${SEED:-$(date +%s)}
sanitize='-g -fsanitize=address,undefined -fno-sanitize-recover=all'
# shellcheck disable=SC2086 # options
{
	cc $sanitize -Wl,--wrap=fopen -DPROGRAM='"../ziatest.c"' \
		-o "$tmp/ziatest" tests/fuzz.c &&
	${MPICC:-mpicc} $sanitize -Wl,--wrap=fopen -DPAD=4096 -DPROGRAM='"../ziaprobe.c"' \
		-o "$tmp/ziaprobe" tests/fuzz.c offclock/*.c
} || exit 1
export ASAN_OPTIONS=detect_leaks=0	# in each of the processes that takes long
for program in ziatest ziaprobe; do
	"$tmp/$program" 10000 "$seed" >"$tmp/$program.out" 2>&1 </dev/null &
	eval "$program=\$!"
done
# shellcheck disable=SC2154 # set by eval
for program in ziatest ziaprobe; do
	eval "wait \$$program"
	is "$program, 10,000 vectors: status" $? 0
	cat "$tmp/$program.out"
done
finish
