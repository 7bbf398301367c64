#!/bin/sh
# The functions of explain/, in tests/helpers/explain.c, built without MPI
. "$(dirname "$0")/lib.sh"
# --wrap: a test acts between reading and writing a file.
# shellcheck disable=SC2086 # options
${CC:-cc} $sanitize -Wl,--wrap=fgets,--wrap=fclose -o "$tmp/explain" \
	tests/helpers/explain.c explain/*.c || exit 1
cd "$tmp" || exit 1
./explain 2>/dev/null	# its messages are tested elsewhere
