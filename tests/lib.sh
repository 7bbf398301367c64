# shellcheck shell=sh
# TAP for POSIX sh. A test starts with
#
#	. "$(dirname "$0")/lib.sh"
#
# and ends with 'finish'. It then runs in the project's directory, which is also
# $top, and has a directory of its own, $tmp, removed at the end.

set -u
unset MAKEFLAGS MFLAGS MAKELEVEL	# of the make that runs the tests
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
tmp=$(mktemp -d) || exit 1
chmod 755 "$tmp"
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
count=0

# ok NAME COMMAND...: passes if COMMAND does
ok() {
	name=$1
	shift
	count=$((count + 1))
	if "$@"; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		return 1
	fi
}

# is NAME GOT EXPECTED: passes if the two are the same
is() {
	ok "$1" [ "$2" = "$3" ] || diag "     got: $2" "expected: $3"
}

# like NAME TEXT PATTERN: passes if TEXT as a whole, newlines as '|', matches
# the extended regular expression PATTERN
like() {
	text=$(printf '%s\n' "$2" | paste -s -d '|' -)
	ok "$1" matches "$text" "^($3)\$" || diag " got: $text" "like: $3"
}

matches() {
	printf '%s\n' "$1" | grep -Eqe "$2"
}

diag() {
	printf '%s\n' "$@" | sed 's/^/# /'
}

# skip NAME REASON: in CI a failure
skip() {
	count=$((count + 1))
	if [ -n "${CI-}" ]; then
		echo "not ok $count - $1"
		diag "skipped, which CI does not allow: $2"
	else
		echo "ok $count - $1 # SKIP $2"
	fi
}

# skip_all REASON: ends the test; in CI a failure
skip_all() {
	[ -z "${CI-}" ] || { echo "Bail out! skipped, which CI does not allow: $1"; exit 1; }
	echo "1..0 # SKIP $1"
	exit 0
}

# run COMMAND...: leaves its output in $out and $err and its exit status in $status
# shellcheck disable=SC2034 # for the tests
run() {
	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	out=$(cat "$tmp/out")
	err=$(cat "$tmp/err")
}

# poll SECONDS COMMAND...: until COMMAND passes; fails after SECONDS
poll() {
	end=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt "$end" ] || return 1
		sleep 0.02
	done
}

has() {
	command -v "$1" >/dev/null
}

# shellcheck disable=SC2034 # what the tests expect, as patterns
{
	stamp='[0-9]{10} [0-9]{1,6}'
	result='Time test was completed in ([ 0-9]{5}\.[0-9]{2} millisecs|[ 0-9]{3}:[0-9]{2} min:sec)\|Slowest rank: [0-9]+'
	one_node='ziaprobe: warning: one node only, [^|]*'
	fails='[1-9][0-9]*'
}

# cluster NODES COMMAND...: tests/cluster; what hangs is ended, with status 124
cluster() {
	timeout 120 "$top/tests/cluster" "$@"
}

# Open MPI 4.1 dies in MPI_Init once in some hundred launches over TCP: a rank that is ahead sends
# its first message, for which the other has no function yet. Such a launch is tried again.
died='Failing at address: .nil.|SEGV on unknown address 0x000000000000 .pc 0x000000000000'
export died

# cases DIR NODES: runs in DIR, on one cluster, every line of the input, NAME COMMAND, a
# shell's, for at most 60 s.
# Leaves in DIR what COMMAND printed in NAME.out, its status in NAME.status, and in
# NAME.left the processes of ziaprobe that are still there 20 s later. The next one begins
# when Slurm has cleared the nodes: until then n1 is not free, and another would be the first.
cases() {
	cat >"$tmp/cases"
	cat >"$tmp/each" <<-'END'
		while read -r name command; do
			for try in 1 2 3; do
				timeout 60 sh -c "$command" </dev/null >"$name.out" 2>&1
				echo $? >"$name.status"
				timeout 20 sh -c 'while squeue --noheader --states=COMPLETING | grep -q .; do sleep 0.05; done'
				grep -qE "$died" "$name.out" || break
			done
			timeout 20 sh -c 'while pgrep -x ziaprobe; do sleep 0.05; done' >"$name.left" &&
				: >"$name.left"
		done <"$1"
	END
	(cd "$1" && "$top/tests/cluster" "$2" sh "$tmp/each" "$tmp/cases")
}

# outcome DIR NAME WHAT PATTERN STATUS: of one of the cases, what the two programs said
# (launchers have remarks of their own; so has a sanitizer, if not about the programs'
# own lines), the launcher's status, a pattern, and that nothing is left running
outcome() {
	like "$3" "$(grep -E '^(ziatest|ziaprobe|usage|Time test|Slowest)|zia(test|probe)\.c:' "$1/$2.out")" "$4" ||
		diag "$(cat "$1/$2.out")"
	like "$3: status, nothing left running" "$(cat "$1/$2.status" "$1/$2.left")" "$5"
}

# needs_cluster: skips the whole test where tests/cluster cannot run
needs_cluster() {
	why=$(cluster 1 true 2>&1) || skip_all "$why"
}

# has_mpi MPI: whether there is a wrapper mpicc.MPI, Debian's name; skips if not
has_mpi() {
	has "mpicc.$1" || { skip "with $1" "mpicc.$1 not found; tests/setup installs it"; return 1; }
}

# pmi MPI: what srun's option --mpi calls the start-up protocol of MPI
pmi() {
	case $1 in
	openmpi) echo pmix ;;
	mpich) echo pmi2 ;;
	esac
}

# quick_build MPI: $tmp/MPI with a ziatest and a ziaprobe whose pad is a token; with
# sanitizers where $SANITIZE has the compiler's options for them. MPI libraries leak, so
# leaks are reported but do not change the status.
export ASAN_OPTIONS=verify_asan_link_order=0 LSAN_OPTIONS=exitcode=0
# shellcheck disable=SC2086 # options
quick_build() {
	mkdir -p "$tmp/$1" &&
	cc ${SANITIZE-} -o "$tmp/$1/ziatest" ziatest.c &&
	"mpicc.$1" ${SANITIZE-} -DPAD=4096 -o "$tmp/$1/ziaprobe" ziaprobe.c offclock/*.c \
		-DFENCE -rdynamic -ldl
}

finish() {
	echo "1..$count"
}
