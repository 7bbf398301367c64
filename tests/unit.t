#!/bin/sh
# The pure functions of ziaprobe.c and observe/, in tests/helpers/unit.c, built with the project's
# MPI compiler
. "$(dirname "$0")/lib.sh"
# unit.c includes some of the files, and replaces the functions of stack.c with its own.
own=$(sed -n 's|^#include "../../\(observe/.*[.]c\)"|\1|p' tests/helpers/unit.c)
files=$(printf '%s\n' observe/*.c | grep -vxF -e "$own" -e observe/stack.c)
# shellcheck disable=SC2086 # words
${MPICC:-mpicc} $sanitize -pthread -o "$tmp/unit" tests/helpers/unit.c $files explain/*.c || exit 1
"$tmp/unit" 2>/dev/null	# its messages are tested elsewhere
