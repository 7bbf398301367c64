#!/bin/sh
# The pure functions, in tests/helpers/unit.c, built with the project's MPI compiler
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2086 # options
${MPICC:-mpicc} $sanitize -pthread -DPAD=4096 -o "$tmp/unit" tests/helpers/unit.c \
	probe/fence.c probe/files.c probe/path.c probe/report.c probe/run.c \
	probe/timeline.c probe/timeout.c || exit 1
"$tmp/unit" 2>/dev/null	# its messages are tested elsewhere
