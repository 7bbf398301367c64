#!/bin/sh
# job/trace: what a rank or the launcher was blocked on is the first row, also if the launch fails.
# The other ranks are not traced, and the status is that of the command.
. "$(dirname "$0")/lib.sh"
if ! has strace; then
	skip_all 'no strace; tests/setup installs it'
fi
trace=$top/job/trace
begins='trace of rank [0-9]+ on [^ ,]+'
took='[0-9]+ calls took [0-9.]+ of [0-9.]+ ms'

# rows: the rows of the first table in standard input
rows() {
	sed -n '/^ *ms  *calls  call$/,$p' | sed '1d; /^[^ ]/,$d'
}

# has_row ROWS CALL CALLS MS: one of ROWS is of CALL, and has at least that many calls and ms
has_row() {
	printf '%s\n' "$1" | awk -v call="$2" -v calls="$3" -v ms="$4" '
		$1 >= ms && $2 >= calls && substr($0, 21) ~ "^(" call ")$" { found = 1 }
		END { exit !found }'
}

not() {
	! "$@"
}

# Without a launcher: which rank is traced, what counts as one row, and the status
cd "$tmp" || exit 1
unset OMPI_COMM_WORLD_RANK PMI_RANK FLUX_TASK_RANK SLURM_PROCID PMIX_RANK TRACE_OPTIONS
unset OMPI_COMM_WORLD_SIZE PMI_SIZE FLUX_JOB_SIZE SLURM_NTASKS SLURM_STEP_NUM_TASKS

export SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=2
run sh -c 'echo $$; exec "$@"' sh "$trace" 1 sh -c 'echo $$; exit 3'
like 'the other ranks become COMMAND' "$status|$out$err" '3\|([0-9]+)\|\2'
# A rank that does not exist, or a number that is too long: rank 0 says so.
for rank in 4 99999999999999999999; do
	run "$trace" $rank echo started
	is "rank $rank is missing: the others are silent" "$status|$out$err" '2|'
	SLURM_PROCID=0 run "$trace" $rank echo started
	is "rank $rank is missing" "$status|$out$err" \
		"2|job/trace: error: there is no rank $rank; this launch has ranks 0 to 3"
done
# The nearest daemon decides: here, a copy of the shell that bears its name.
cp "$(command -v sh)" slurmstepd
PMI_SIZE=9 PMI_RANK=8 run ./slurmstepd -c '"$@"; exit' sh sh -c '"$@"; exit' sh "$trace" 2 true
like 'the rank below slurmstepd' "$status|$err" '0\|trace of rank 2 .*'
unset SLURM_STEP_NUM_TASKS SLURM_PROCID
run "$trace" 2 true
like 'no rank' "$status|$err" '2\|job/trace: error: no launcher has given .*'
export PMIX_RANK=2
for arguments in '' 2 'two true'; do
	# shellcheck disable=SC2086 # words
	run "$trace" $arguments
	is "arguments '$arguments'" "$status|$err" \
		'2|job/trace: error: usage: trace RANK|launcher COMMAND...'
done
PMIX_RANK=1 run "$trace" launcher sh -c 'exit 3'
like 'the launcher, whatever the rank and the size' "$status|$err" "3\|\
trace of the launcher on [^ ,]+, as a whole: $took\|.*\|every call: ziaprobe-trace\.launcher"
PMIX_RANK=0 run "$trace" 99999999999999999999 echo started
is 'a number that is too long, and no size: no rank is traced' \
	"$status|$out|$(echo "$err" | grep '^trace of')" '0|started|'

echo 'the input' >input
"$trace" 2 sh -c 'cat; sleep 1.2; exit 3' <input >out 2>err
is "COMMAND's status and output" "$?|$(cat out)" '3|the input'
like 'a program other than ziaprobe' "$(cat err)" "$begins, as a whole: $took\|.*\|\
every call: ziaprobe-trace\.2"
ok 'its time' has_row "$(rows <err | head -n 1)" wait4 1 1000
run "$trace" 2 sh -c 'kill -ABRT $$'
is "COMMAND's death" "$status" 134
ln -s "$trace" link
run ./link 2 true
like 'called by a link' "$status|$err" "0\|$begins, as a whole: $took\|.*"
mkdir few
ln -s "$(command -v uname)" "$(command -v dirname)" "$(command -v readlink)" few
run env PATH="$tmp/few" /bin/sh "$trace" 2 /bin/echo ran
like 'no strace' "$status|$out$err" "127\|job/trace: error: strace not found on [^ ;]+; .*"
run "$trace" 2 ./nothing
like 'no COMMAND' "$status|$out$err" '1\|strace: .*nothing.*'

cat >calls.c <<'C'
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
static void go_on(int signal) { (void)signal; }
int main(void)
{
	char byte = 0;
	int pair[2], file = open("input", O_RDONLY), data = socketpair(AF_UNIX, 1, 0, pair);
	struct pollfd polled = {pair[0], POLLIN, 0};

	for (int i = 0; i < 100 && data == 0; i++) {
		close(open(i % 2 ? "here/a" : "here/the \"b\" = 3<x>", O_RDONLY | O_CREAT, 0600));
		close(openat(AT_FDCWD, "/proc/self/status", O_RDONLY));
		open("here/nothing", O_RDONLY);
		data += write(pair[1], ") = -1 ENOENT (\"/x\")", 20) != 20;
		poll(&polled, 1, 0);
		lseek(file, 0, SEEK_SET);
		data += read(file, &byte, 1) != 1;
	}
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = go_on}, NULL);
	ualarm(100000, 100000);
	open("fifo", O_RDONLY); /* until it is interrupted */
	return data;
}
C
cc -D_GNU_SOURCE -o calls calls.c
mkdir here
mkfifo fifo
# Stand-ins for a program, the MPI library, and libziaprobe.so, which takes readings in MPI_Init and
# for each fence on PMI's wire
cat >solver.c <<'C'
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int MPI_Init(void), enter_mpi(void), MPI_Finalize(void);
#ifdef PROBE
static int take_reading(void)
{
	static int file = -1;
	char text[80];

	if (file == -1)
		file = open("/proc/thread-self/schedstat", O_RDONLY);
	return pread(file, text, sizeof text, 0) <= 0;
}
ssize_t write(int file, const void *data, size_t size)
{
	return take_reading() + syscall(SYS_write, file, data, size);
}
int MPI_Init(void) { return take_reading() + enter_mpi() + take_reading(); }
#elif defined MPI
int enter_mpi(void) { return usleep(1000) + (int)write(1, "", 0); }
int MPI_Finalize(void) { return usleep(1000) + (int)write(1, "", 0); }
#else
int main(void) { return MPI_Init() + MPI_Finalize(); }
#endif
C
cc -D_DEFAULT_SOURCE -DPROBE -shared -fPIC -o libziaprobe.so solver.c
cc -D_DEFAULT_SOURCE -DMPI -shared -fPIC -o libmpi.so solver.c
cc -D_DEFAULT_SOURCE -o solver solver.c ./libziaprobe.so ./libmpi.so

# Recorded traces, with each awk
for awk in mawk gawk; do
	if ! has $awk; then
		continue
	fi
	while IFS= read -r row; do
		case $row in
		'== '*)
			name=${row#== }
			: >canned ;;
		'=> '*)
			is "$awk: $name" "$($awk -v title=T -v status=137 -v ended=100 \
				-f "$top/job/trace.awk" canned |
				sed '1,2d; s/  */ /g; s/^ //' | tr '\n' '|')" "${row#=> }" ;;
		*) printf '%s\n' "$row" >>canned ;;
		esac
	done <"$top/tests/helpers/straces"
done

TRACE_OPTIONS='-e trace=execve,openat,write,poll,lseek,read,exit_group' \
	run "$trace" 2 ./calls
for row in "openat .*/here" 'openat /proc/[a-z0-9]*/status' \
	'openat, not found' 'write socket' 'poll socket' "lseek $tmp/input" \
	"read $tmp/input"; do
	ok "$row" has_row "$(printf '%s\n' "$err" | rows)" "$row" 100 0 || diag "$err"
done
ok "the directory of a relative path" has_row "$(printf '%s\n' "$err" | rows)" \
	'execve [.]' 1 0
ok "a call that was interrupted" has_row "$(printf '%s\n' "$err" | rows)" \
	"openat $tmp" 1 0
is "it returned" "$status $(printf '%s\n' "$err" | grep -c 'did not return')" '0 0'

rm -f ziaprobe-trace.launcher
TRACE_OPTIONS='-e trace=openat' "$trace" launcher sh -c 'exec <fifo' 2>err &
ok "a call that does not return" poll 60 grep -q '"fifo"' ziaprobe-trace.launcher
pkill -CONT -P "$(pgrep -P $! -x strace)"
ok "it is interrupted" poll 60 grep -q -e '--- SIGCONT' ziaprobe-trace.launcher
kill "$!"
wait "$!"
is "its status" "$?" 143
is "one row, with its whole path" "$(rows <err | sed -n "s|.* 1  openat $tmp|1 |p")" \
	'1 /fifo, did not return' || diag "$(cat err)"
TRACE_OPTIONS='-k -e trace=clock_nanosleep,pread64,write' \
	run "$trace" 2 ./solver
like "a program with libziaprobe.so" \
	"$(printf '%s\n' "$err" | grep -m 1 '^trace of')" \
	"$begins, from main to the end of MPI_Init: $took"
is "its calls" "$(printf '%s\n' "$err" | rows |
	sed 's/^[ 0-9.]*//; s/[0-9]*.task.[0-9]*.sched//' | sort | paste -s -d '|')" "\
clock_nanosleep by libmpi.so(enter_mpi)|\
pread64 /proc/stat by libmpi.so(enter_mpi)|pread64 /proc/stat by solver(main)|\
write $tmp/out by libmpi.so(enter_mpi)"
cd "$top" || exit 1

unset PMIX_RANK
needs_cluster
nodes=2

# library NAME CODE: builds $tmp/NAME, which runs CODE in a function fault() when it is loaded
library() {
	cc -shared -fPIC -x c -o "$tmp/$1" - <<-C
		#include <fcntl.h>
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		__attribute__((constructor)) void fault(void)
		{
			char file[80];
			sigset_t all;

			sigfillset(&all);
			file[0] = 0;
			$2;
		}
	C
}
fifo='open(getenv("FIFO"), O_RDONLY)'
library nap.so 'usleep(3000000)'
library fifo.so "$fifo"
library hang.so 'sleep(99)'
library deaf.so "sigprocmask(SIG_BLOCK, &all, NULL); $fifo"
library search.so 'for (int i = 0; i < 4000; i++) {
	snprintf(file, sizeof file, "/no/directory/%d/libmpi.so", i);
	open(file, O_RDONLY);
}'

cat >"$tmp/expire" <<'END'
#!/bin/sh
# expire FILE: three seconds after FILE appears, the timeout expires for all ranks
until [ -e "$1" ]; do
	sleep 0.05
done
sleep 3
pkill -63 -x ziaprobe	# SIGRTMAX - 1
END
cat >"$tmp/patient" <<'END'
#!/bin/sh
# patient COMMAND...: runs COMMAND when Slurm gives processes a minute to end, not two seconds
sed -i s/KillWait=.*/KillWait=60/ "$SLURM_CONF"
scontrol reconfigure
until scontrol show config | grep -q 'KillWait *= 60 '; do
	sleep 0.05
done
exec "$@"
END
chmod +x "$tmp/expire" "$tmp/patient"

# traced NAME STATUS COMMAND LINE...: adds a case, as expect does, in which $rank is a random rank
traced() {
	draw_number 4
	case=$1 ends=$2 command=$3
	shift 3
	expect "$case" "$ends" "rank=$((drawn - 1)); $command" "$@"
	echo $((drawn - 1)) >"$dir/$case/rank"
}

# finds NAME PART ROW CALLS MS: of the case NAME, the first table is of $rank and of PART, and its
# first row is ROW, which has at least CALLS calls and MS ms
finds() {
	output=$dir/$1/out
	rank=$(cat "$dir/$1/rank")
	like "$mpi, $1: the title" "$(grep -m 1 '^trace of' "$output")" \
		"trace of rank $rank on n$((rank / 2 + 1)), $2: $took"
	ok "$mpi, $1: the first row" has_row "$(rows <"$output" | head -n 1)" "$3" "$4" "$5" ||
		diag "$(cat "$output")"
}

late='ziaprobe: error: timeout of 99 s: rank .*'
init='from main to the end of MPI_Init'
for mpi in mpich openmpi; do	# the first that is there
	has_mpi $mpi || continue
	shim_build $mpi
	cat >"$dir/ziaprobe" <<'END'
#!/bin/sh
# Runs ziaprobe with the fault $SHIM
RANK=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}
export RANK MARKS="$PWD" LD_PRELOAD="${0%/*}/shim.so:${LD_PRELOAD-}"
exec "${0%/*}/real/ziaprobe" "$@"
END
	chmod +x "$dir/ziaprobe"
	has bash && sh=bash || sh=	# above, it is /bin/sh
	export FIFO="$dir/pipe" trace="$sh $top/job/trace"
	export srun='srun --ntasks 4 --ntasks-per-node={}'
	mkfifo "$FIFO"

	# of NAME CALL LIBRARY: a case in which LIBRARY, loaded at CALL, is the fault of $rank
	of() {
		traced "$1" 0 "SHIM=\"\$rank $2 load \$tmp/$3\" \
			../ziatest 2 \"\$srun \$trace \$rank\"" "$result"
	}
	of nap Start nap.so
	of before Exec search.so
	of later Gather search.so
	traced launcher 0 'SHIM="$rank Start load $tmp/nap.so" \
		../ziatest 2 "$trace launcher $srun"' "$result"
	for fault in fifo hang deaf; do	# HELPER: the signal goes to another thread
		traced $fault "$fails" "../../expire Start.\$rank &
			export SHIM=\"\$rank Start load \$tmp/$fault.so\"
			if [ $fault = hang ]; then export HELPER=1; fi
			../../patient ../ziatest -t 99 2 \"\$srun \$trace \$rank\"" "$late" \
			"*($late|ziaprobe: error: rank [0-9]+ .*on n[0-9] is in .*)"
	done
	run_cases 4

	finds nap "$init" clock_nanosleep 1 3000
	like "$mpi, launcher: the title" "$(grep '^trace of' "$dir/launcher/out")" \
		"trace of the launcher on login, as a whole: $took"
	ok "$mpi, launcher: what it waited for" \
		has_row "$(rows <"$dir/launcher/out" | head -n 1)" futex 1 3000 ||
		diag "$(cat "$dir/launcher/out")"
	# The look-ups are one row of the table of their part, and of no other.
	lookups='^ *[0-9.]+ +[4-9][0-9]{3} +openat, not found$'
	like "$mpi, before: the second table" "$(grep '^trace of' "$dir/before/out")" \
		"$begins, $init: $took\|$begins, before main: $took"
	ok "$mpi, before: look-ups" has_row "$(sed '1,/, before main:/d' "$dir/before/out")" \
		'openat, not found' 4000 1
	is "$mpi, their rows" "$(cd "$dir" && grep -cE "$lookups" before/out later/out |
		paste -s -d ' ')" 'before/out:1 later/out:0'
	finds fifo 'from main to the timeout' "openat $FIFO, did not return" 1 1500
	ok "$mpi, fifo: what came after the timeout does not count" \
		not has_row "$(rows <"$dir/fifo/out")" poll 1 400
	finds hang 'from main to the timeout' 'clock_nanosleep, did not return' 1 1500
	ok "$mpi, hang: the signal went to another thread" \
		not grep -qe '--- SIGRT_31' "$dir/hang/ziaprobe-trace.$rank"
	finds deaf 'from main to its death by SIGKILL' "openat $FIFO, did not return" 1 5000
	break
done

# The README's example
if has_mpi openmpi; then
	quick_build openmpi
	ln -s "$top/job" "$top/tests" "$dir"
	cd "$dir" || exit 1
	run tests/demos/slow 5
	like 'make slow: the outlier' "$(printf '%s\n' "$err" | grep ^outlier)" \
		'outlier: init of rank [0-9]+ on n3 and 3 more ranks there, .*, mostly blocked'
	ok 'make slow: the first row of the trace' \
		has_row "$(printf '%s\n' "$err" | rows | head -n 1)" clock_nanosleep 1 5000
fi
finish
