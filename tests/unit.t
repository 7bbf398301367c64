#!/bin/sh
# The pure functions of ziaprobe.c and observe/, in tests/helpers/unit.c, built with the project's
# MPI compiler
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
# From an archive, the linker takes only those files that unit.c does not include.
# shellcheck disable=SC2086 # options
${MPICC:-mpicc} $sanitize -c "$top"/observe/*.c "$top"/explain/*.c && ar rc rest.a ./*.o &&
	${MPICC:-mpicc} $sanitize -pthread -o unit "$top/tests/helpers/unit.c" rest.a || exit 1
./unit 2>/dev/null	# the messages of observe/ are tested elsewhere
