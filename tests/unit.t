#!/bin/sh
# The pure functions of ziaprobe.c and observe/, in tests/helpers/unit.c, built with the project's
# MPI compiler
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2086 # options
${MPICC:-mpicc} $sanitize -pthread -o "$tmp/unit" tests/helpers/unit.c observe/al*.c \
	observe/[cdflmnp]*.c observe/say.c observe/state.c observe/text.c observe/wire.c \
	explain/*.c || exit 1
"$tmp/unit" 2>/dev/null	# its messages are tested elsewhere
