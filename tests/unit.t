#!/bin/sh
# The pure functions of ziaprobe.c and observe/, in tests/helpers/unit.c, built with the project's
# MPI compiler
. "$(dirname "$0")/lib.sh"
# unit.c includes some files itself, and has functions of its own instead of those of stack.c.
files=$(printf '%s\n' observe/*.c | grep -v -E '/(ancestry|gather|observer|options|readings|stack)[.]c$')
# shellcheck disable=SC2086 # words
${MPICC:-mpicc} $sanitize -pthread -o "$tmp/unit" tests/helpers/unit.c $files explain/*.c || exit 1
"$tmp/unit" 2>/dev/null	# its messages are tested elsewhere
