# shellcheck shell=sh
# TAP for POSIX sh. A test starts with
#
#	. "$(dirname "$0")/lib.sh"
#
# and ends with 'finish'. It then runs in the top directory of the project, which is also in $top,
# and has a temporary directory, $tmp, which is removed at the end unless a test has failed.
#
#	tests/FILE.t [-v] [-x] [--run=PATTERN]      or: prove tests/FILE.t :: -v --run=PATTERN
#
# -v prints what each command prints, and -x also traces the commands of each case. With --run, only
# the cases whose names match an extended regular expression are run, and only tests with such names
# are printed. The other tests may complain on stderr that a case is missing, so stderr is a file.
#
# expect NAME STATUS COMMAND LINE...: adds a case for run_cases. The shell command COMMAND must exit
# with STATUS, the two programs must print the LINEs and no others, and no ziaprobe may be left
# running 80 s later: if the launcher dies, the timeout of a ziaprobe, -t 60, must end it. STATUS
# and the LINEs are extended regular expressions, in which .* does not match a newline. A LINE that
# begins with '?' is optional; a LINE that begins with '*' may occur any number of times. A case may
# run on a cluster on which others have run before.

set -u
unset MAKEFLAGS MFLAGS MAKELEVEL	# inherited from the make that runs the tests
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
# The options are exported because some files run themselves again in a cluster.
verbose=${TEST_VERBOSE-} xtrace=${TEST_TRACE-} run_only=${TEST_RUN-}
for option; do
	case $option in
	-v) verbose=yes ;;
	-x) verbose=yes xtrace=-x ;;
	--run=*) run_only=${option#--run=} ;;
	*)
		echo "usage: $0 [-v] [-x] [--run=PATTERN]" >&2
		exit 2
		;;
	esac
done
export TEST_VERBOSE="$verbose" TEST_TRACE="$xtrace" TEST_RUN="$run_only"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ziatest-$(basename "$0").XXXXXX") || exit 1
chmod 755 "$tmp"
trap end EXIT
trap 'exit 1' HUP INT TERM
if [ -n "$run_only" ]; then
	exec 2>"$tmp/stderr"
fi
count=0 not_ok=0

# If a test has failed, prints the seed, so that the run can be repeated, and where the files are.
# Otherwise, removes the files.
end() {
	if [ "$?-$not_ok" = 0-0 ]; then
		rm -rf "$tmp"
		return
	fi
	if [ -n "${seed-}" ]; then
		diag "to repeat this: SEED=$seed"
	fi
	diag "the files of this test: $tmp"
}

# is_chosen NAME: succeeds if --run chooses the test or the case
is_chosen() {
	[ -z "$run_only" ] || matches "$1" "$run_only"
}

pass() {	# NAME
	if is_chosen "$1"; then
		count=$((count + 1))
		echo "ok $count - $1"
	fi
}

fail() {	# NAME LINE...
	if ! is_chosen "$1"; then
		return
	fi
	count=$((count + 1))
	not_ok=$((not_ok + 1))
	echo "not ok $count - $1"
	shift
	diag "$@"
	return 1
}

# show WHAT TEXT: with -v, prints the output of a command
show() {
	if [ -n "$verbose" ]; then
		diag "$1:" "$2"
	fi
}

# difference GOT EXPECTED: prints both, with their differences
difference() {
	printf '%s\n' "$1" >"$tmp/.got"
	printf '%s\n' "$2" | diff -U 99 --label expected --label got - "$tmp/.got"
}

# mismatch TEXT PATTERN: prints the differences that like has found, line by line. A line of the
# pattern that matches a line of the text is replaced by that line.
mismatch() {
	printf '%s\n' "$1" | tr '|' '\n' >"$tmp/.lines"
	difference "$(cat "$tmp/.lines")" "$(printf '%s\n' "$2" | sed 's/(\\|/\\|(/g; s/\\|/\n/g' |
		while IFS= read -r part; do
			grep -m 1 -xEe "$part" "$tmp/.lines" 2>/dev/null || printf '%s\n' "$part"
		done)"
}

# ok NAME COMMAND...: passes if COMMAND succeeds. It runs in a subshell.
ok() {
	title=$1
	shift
	if printed=$("$@" 2>&1); then
		pass "$title"
	else
		fail "$title" " failed: $*" "printed: $printed"
	fi
}

# is NAME GOT EXPECTED: passes if the two are the same
is() {
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1" "$(difference "$2" "$3")"
	fi
}

# like NAME TEXT PATTERN: passes if the whole of TEXT, with its newlines replaced by '|', matches
# the extended regular expression PATTERN
like() {
	text=$(printf '%s\n' "$2" | paste -s -d '|' -)
	if matches "$text" "^($3)\$"; then
		pass "$1"
	else
		fail "$1" "$(mismatch "$text" "$3")"
	fi
}

matches() {
	printf '%s\n' "$1" | grep -Eqe "$2"
}

diag() {
	printf '%s\n' "$@" | sed 's/^/# /'
}

# skip NAME REASON: skips one test; in CI, this is a failure
skip() {
	if [ -n "${CI-}" ]; then
		fail "$1" "skipped, which CI does not allow: $2"
	else
		pass "$1 # SKIP $2"
	fi
}

# skip_all REASON: skips the whole file; in CI, this is a failure
skip_all() {
	if [ -n "${CI-}" ]; then
		echo "Bail out! skipped, which CI does not allow: $1"
		exit 1
	fi
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
	show "$*: status $status" "$err$out"
}

# poll SECONDS COMMAND...: repeats COMMAND until it succeeds; fails after SECONDS
poll() {
	end=$(($(date +%s) + $1))
	shift
	until "$@"; do
		if [ "$(date +%s)" -ge "$end" ]; then
			return 1
		fi
		sleep 0.2
	done
}

# draw_number COUNT: leaves in $drawn a random number from 1 to COUNT. The same SEED gives the same
# numbers; the one in use is printed if anything fails.
# shellcheck disable=SC2034 # for the tests
draw_number() {
	if [ -z "${seed-}" ]; then
		seed=${SEED:-$(date +%s)} draws=0
	fi
	draws=$((draws + 1))
	drawn=$(($(echo "$seed $draws" | cksum | cut -d ' ' -f 1) % $1 + 1))
}

has() {
	command -v "$1" >/dev/null
}

# shellcheck disable=SC2034 # what the tests use: patterns, and a part of a program
{
	stamp='[0-9]{10} [0-9]{1,6}'
	result='([ 0-9]{5}\.[0-9]{2} millisecs|[ 0-9]{3}:[0-9]{2} min:sec)'
	result="Time test was completed in $result\\|Slowest rank: [0-9]+"
	one_node='ziaprobe: warning: the job ran on only one node, [^|]*'
	same_kernel='ziaprobe: warning: ranks 0 and [0-9]+ run on the same kernel [^|]*'
	fails='[1-9][0-9]*'
	# For awk, which then skips the header of a file, and calls its columns $column["NAME"]
	columns='FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }'
}

# The option with which unshare lets an ordinary user change what only root may change
as_root=--map-root-user
if [ "$(id -u)" -eq 0 ]; then
	as_root=
fi

# cluster NODES COMMAND...: runs tests/cluster, and ends it with status 124 if it hangs
cluster() {
	timeout 150 "$top/tests/cluster" "$@"
}

# expect: see the top of this file
expect() {
	if ! is_chosen "${mpi-}, $1"; then
		return
	fi
	mkdir "$dir/$1" || exit 1
	names="${names-} $1"
	printf '%s\n' "$3" >"$dir/$1/command"
	expected="$dir/$1/expected"
	printf '%s' "$2" >"$expected"
	shift 3
	for line; do
		case $line in
		# ?LINE becomes (\|LINE)?
		[?*]*) printf '(\|%s)%.1s' "${line#?}" "$line" ;;
		*) printf '\|(%s)' "$line" ;;
		esac
	done | sed 's/\.\*/[^|]*/g' >>"$expected"
}

# small_cluster: sets $hydra to a launcher of two ranks on each of n1, n2 and n3. They
# are this machine, under other names, which the remote shell helpers/rsh gives to the daemons of a
# launcher. This needs no Slurm, and takes a tenth of the time of tests/cluster. If $nodes is 0,
# run_cases starts no other cluster. Ziatest warns of nodes that share a kernel: $same_kernel.
# shellcheck disable=SC2034 # for the tests
small_cluster() {
	nodes=0
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ZIATEST_SYNC=0
	hydra=$(hydra_on 3 2)
}

# hydra_on NODES PPN [RSH]: prints a launcher for another number of such nodes, perhaps with another
# remote shell
hydra_on() {
	echo "mpiexec.hydra -launcher ssh -launcher-exec ${3-$top/tests/helpers/rsh} \
-hosts $(seq -s , -f n%g "$1") -n $(($1 * $2)) -ppn"
}
# mpirun_on NODES PPN [RSH]: the same for nodes of tests/cluster. Open MPI 5 calls the parameter by
# its second name. (Its ranks on n1 and n2 find no network between them on the small cluster.)
mpirun_on() {
	echo "mpirun.openmpi ${3+--mca plm_rsh_agent $3 --mca plm_ssh_agent $3} \
--host $(seq -s , -f "n%g:$2" "$1") -npernode"
}

# run_cases COUNT: runs the cases, COUNT at a time, each in its own directory, $dir/NAME, and on a
# cluster of $nodes nodes. Leaves the output in $dir/NAME/out.
run_cases() {
	if [ -z "${names-}" ]; then
		return
	fi
	cat >"$tmp/in-cluster" <<-'END'
		# Runs those of the cases "$@" that no other cluster has begun
		all_idle() {
			if [ "$nodes" -gt 0 ]; then
				idle=$(sinfo --noheader --Node --states=idle | grep -c idle)
				[ "$idle" -eq "$nodes" ]
			fi
		}
		if [ "$nodes" -eq 0 ]; then
			# The names of MPI's files are made of process ids, which others have, too.
			mount -t tmpfs none /dev/shm
			export TMPDIR=/dev/shm
		fi
		for name; do
			case=$dir/$name
			mkdir "$case/begun" 2>/dev/null || continue
			cd "$case" || exit 1
			timeout 100 sh $xtrace ./command </dev/null >out 2>&1
			echo $? >status
			timeout 80 sh -c 'while pgrep -x ziaprobe >left; do sleep 0.05; done' ||
				cat left >>status
			cd /	# so that this shell is not killed below
			# What the case has left running, such as a fault, would keep a node busy.
			for process in /proc/[0-9]*; do
				if [ "$process/cwd" -ef "$case" ]; then
					kill -KILL "${process#/proc/}"
				fi
			done
			tries=0
			until all_idle || [ $((tries += 1)) -gt 150 ]; do
				sleep 0.2
			done
		done
	END
	export tmp nodes xtrace
	start="$top/tests/cluster $nodes"
	if [ "$nodes" -eq 0 ]; then
		start="unshare $as_root --pid --fork --kill-child --mount-proc"
	fi
	# shellcheck disable=SC2086 # words
	yes "$names" | head -n "$1" |
		xargs -P "$1" -L 1 $start sh "$tmp/in-cluster" >"$tmp/cluster" 2>&1
	for name in $names; do
		cd "$dir/$name" || exit 1
		show "$name: $(cat command)" "$(cat out)"
		# shellcheck disable=SC2154 # the test sets $mpi
		like "$mpi, $name" "$(cat status; said out)" "$(cat expected)" ||
			diag "$(cat out "$tmp/cluster")"
	done
	cd "$top" || exit 1
	names=
}

# said FILE: prints the messages of the two programs in FILE, and those of sanitizers about their
# sources, but not those of launchers and libraries. Messages of -t and -w come last, by rank.
said() {
	sources='(zia(test|probe)|(prepare|observe|explain|preload)/[a-z/]+)\.c:'
	moment='(timeout of|after) [0-9.]+ s: '
	grep -E "^(ziatest|ziaprobe|usage|Time test|Slowest)|$sources" "$1" |
		sed -E "s/^ziaprobe: (error|note): ($moment)?rank ([0-9]+) .*on n/\\4 &/; t
			s/^/-1 /" |
		sort -s -n | sed -E 's/^-?[0-9]+ //'
}

# needs_cluster: skips the whole file if tests/cluster cannot run. Leaves the types that its srun
# has for --mpi in $types, for has_mpi.
needs_cluster() {
	types=$(cluster 1 srun --mpi=list 2>&1) || skip_all "$types"
}

# has_mpi MPI: succeeds if there is a compiler wrapper mpicc.MPI, as on Debian, and, after
# needs_cluster, if the cluster's srun can start its programs; otherwise skips a test. What does not
# depend on the MPI library is tested only if $mpi is $first_mpi, the first one that succeeded.
has_mpi() {
	if ! has "mpicc.$1"; then
		skip "with $1" "mpicc.$1 not found; tests/setup installs it"
		return 1
	fi
	if [ -n "${types-}" ] && ! printf '%s\n' "$types" | grep -qw "$(pmi "$1")"; then
		skip "with $1" "this Slurm has no $(pmi "$1") plugin"
		return 1
	fi
	first_mpi=${first_mpi-$1}
}

# is_mpich_5: succeeds if MPICH is version 5 or later
is_mpich_5() {
	mpichversion | grep -q '^MPICH Version:[[:space:]]*[5-9]'
}

# pmi MPI: prints the type for srun --mpi=TYPE that fits MPI
pmi() {
	case $1 in
	openmpi) echo pmix ;;
	mpich) echo pmi2 ;;
	esac
}

# The nodes of a cluster share one clock, so a direct call need not warn about the launch node's.
export OMPI_ZIATEST_SYNC=0

sanitize='-g -fsanitize=address,undefined -fno-sanitize-recover=all'
# Searching for leaks takes longer than everything else that a rank does, so only reports.t does it.
# MPI libraries leak: leaks are reported but do not change the status.
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LSAN_OPTIONS=exitcode=0

# starter FILE [OPTION...]: builds ziastart as FILE
starter() {
	program=$1
	shift
	cc "$@" -o "$program" "$top/preload/starter/ziastart.c" "$top/observe/claim.c" \
		"$top/observe/world.c" "$top/observe/ancestry.c" "$top/observe/launchers.c" \
		"$top/observe/readings.c" "$top/observe/text.c"
}

# quick_build MPI: copies ziatest, ziastart, libziaprobe.so, and a ziaprobe with only 4 KiB of
# padding, to $dir, which is $tmp/MPI. With MPICH, they are built with the undefined-behaviour
# sanitizer; ziatest and ziaprobe also with the address sanitizer, which a preloaded library cannot
# have, and with which MPICH 5 takes half a minute to start. 'make check' names a directory BUILDS,
# in which all tests share one build. Also sets the MPI type for srun.
quick_build() {
	dir=$tmp/$1
	SLURM_MPI_TYPE=$(pmi "$1")
	export dir SLURM_MPI_TYPE
	options='' library_options=''
	if [ "$1" != openmpi ]; then
		options=$sanitize library_options='-g -fsanitize=undefined'
		if is_mpich_5; then
			options=$library_options
		fi
	fi
	built=${BUILDS:-$tmp/builds}/$1
	mkdir -p "$dir" "$built"
	# shellcheck disable=SC2086 # options
	{
		flock 9
		if ! [ -e "$built/ziaprobe" ]; then
			cc $options -o "$built/ziatest" ziatest.c prepare/*.c &&
				starter "$built/ziastart" $library_options &&
				cc $library_options -Ipreload -DWITHOUT_MAIN -DINTERPOSE \
					-fPIC -shared -fvisibility=hidden -Wl,-Bsymbolic-functions \
					-o "$built/libziaprobe.so" preload/*.c ziaprobe.c \
					observe/*.c explain/*.c -ldl &&
				"mpicc.$1" $options -DPAD=4096 -DINTERPOSE -rdynamic \
					-fvisibility=hidden -o "$built/ziaprobe" \
					ziaprobe.c observe/*.c explain/*.c -ldl
		fi
	} 9>"$built/lock"
	cp "$built/ziatest" "$built/ziastart" "$built/ziaprobe" "$built/libziaprobe.so" "$dir"
}

# preload_build MPI HELPER: like quick_build, and builds helpers/HELPER.c as $dir/HELPER.so.
# ziaprobe is in $dir/real, and a script that preloads HELPER.so into it takes its place.
preload_build() {
	quick_build "$1"
	"mpicc.$1" -shared -fPIC -o "$dir/$2.so" "tests/helpers/$2.c"
	mkdir "$dir/real"
	mv "$dir/ziaprobe" "$dir/real"
	cat >"$dir/ziaprobe" <<-END
		#!/bin/sh
		LD_PRELOAD="$dir/$2.so:\${LD_PRELOAD-}" exec "$dir/real/ziaprobe" "\$@"
	END
	chmod +x "$dir/ziaprobe"
}

finish() {
	if [ "$count" = 0 ]; then
		echo "1..0 # SKIP no test matches $run_only"
		exit
	fi
	echo "1..$count"
	[ "$not_ok" = 0 ]
}
