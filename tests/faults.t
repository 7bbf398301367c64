#!/bin/sh
# Faults injected into real clusters: when the timeout expires, one rank per node and state prints
# what it is waiting for, and the job ends; with --where, one that is late does so, and the job goes
# on. Whatever breaks, the status is not 0, there is no result unless it came before the fault, and
# no process is left.
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=3

late='ziaprobe: error: timeout of [0-9]+ s: rank'
of='of 6 \(2 per node\)'
s='[0-9]+ ms'
init="has spent $s in MPI_Init: cpu $s, cpu_wait $s, blocked $s"
fence="has waited $s in a fence of MPI_Init"
others="has waited $s for other ranks, after its exchange"
unchecked="$others; the time, not checked, was [0-9]+\.[0-9]{3} ms"
calls='ziaprobe: error: rank'	# the second line of a rank that works in MPI_Init
any="($late [0-5] $of on n[1-3] has (waited|spent) $s .*|$calls [0-5] $of on n[1-3] is in .* < .*)"
interrupted='ziaprobe: warning: --where interrupted (1 rank|2 ranks) in MPI_Init; if (it|they) .*'

# A library whose constructor does not return. When it runs, it creates the file Loading.$RANK.
cat >"$tmp/hangs.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void hang(void)
{
	char file[4096];

	snprintf(file, sizeof file, "%s/Loading.%s", getenv("MARKS"), getenv("RANK"));
	fclose(fopen(file, "w"));
	for (;;)
		pause();
}
END
cc -shared -fPIC -o "$tmp/hangs.so" "$tmp/hangs.c" || exit 1

# A program whose main thread waits on a stack of 4 KiB, while another one starts MPI, as in Go. It
# is linked so that the dynamic linker needs none of that stack.
cat >"$tmp/small.c" <<'END'
#include <mpi.h>
#include <pthread.h>
#include <poll.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
static volatile int done;
static void *start(void *unused)
{
	int provided;

	MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
	MPI_Finalize();
	done = 1;
	return unused;
}
static void wait_on_small_stack(void)
{
	while (!done)
		poll(NULL, 0, 1);
}
int main(void)
{
	static ucontext_t before, small;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	pthread_t thread;

	mprotect(area, page, PROT_NONE);
	pthread_create(&thread, NULL, start, NULL);
	getcontext(&small);
	small.uc_stack.ss_sp = area + page;
	small.uc_stack.ss_size = page;
	small.uc_link = &before;
	makecontext(&small, wait_on_small_stack, 0);
	swapcontext(&before, &small);
	return pthread_join(thread, NULL);
}
END
# A program that sets an alternate signal stack of 8 KiB, as Rust does, and starts MPI
cat >"$tmp/alternate.c" <<'END'
#include <mpi.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
int main(void)
{
	char *area = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	stack_t alternate = {.ss_sp = area + 4096, .ss_size = 2 * 4096};

	mprotect(area, 4096, PROT_NONE);
	sigaltstack(&alternate, NULL);
	return MPI_Init(NULL, NULL) || MPI_Finalize();
}
END

# add_cases: adds those that do not depend on the MPI library
add_cases() {
	for program in small alternate; do
		"mpicc.$mpi" -pthread -Wl,-z,now -o "$dir/$program" "$tmp/$program.c" || exit 1
	done
	echo '#include <mpi.h>
		int main(void) { return MPI_Init(0, 0) || MPI_Finalize(); }' >"$dir/program.c"
	"mpicc.$mpi" -o "$dir/program" "$dir/program.c" || exit 1

	# The link of a node goes down, and then the timeout expires. Whether the others have left
	# MPI_Init without n2 depends on the MPI library, which may also find no route and end the
	# job.
	expect_alone link "$fails" \
		'export UCX_TLS=tcp,self
		export SHIM="n2 Init ip link set eth0 down; touch down.\$RANK; sleep 60"
		../alarm down.2 down.3 &
		../ziatest -t 60 2 "$srun"
		status=$?
		! grep -q "Fatal error in .*MPI_" out || echo "ziaprobe: MPI gave up"
		exit $status' \
		"($any|ziaprobe: MPI gave up)" "*$any"

	expect where-program 0 \
		"export SHIM='$rank Pmix ../await_output \" is in .*shim.so\"'"'
		../ziatest --where 5.25 2 "$srun" \
			sh -c "LD_PRELOAD=\$LD_PRELOAD:../shim.so exec ../program"' \
		"$result" "$interrupted" \
		"*ziaprobe: note: .*rank [0-5] $of on $node .*" \
		"ziaprobe: note: after 5.25 s: rank $rank $of on $node $init" \
		"ziaprobe: note: rank $rank $of on $node is in .*wait4.* < \[shim\.so\] < $there" \
		"*ziaprobe: note: .*rank [0-5] $of on $node .*"
	# If both ranks of a node are in the same calls, one prints; otherwise, both do.
	expect where-node 0 \
		'SHIM="n2 Pmix ../await_output \" is in \"" ../ziatest -w 10 2 "$srun"' \
		"$result" "$interrupted" \
		"ziaprobe: note: after 10 s: rank [23] $of on n2 $init" \
		"ziaprobe: note: rank [23] $of on n2 is in .*wait4.* < \[shim\.so\] < $there"
	expect where-two 0 \
		'SHIM="2 Pmix ../await_output \" is in \"" SHIM_3="3 Pmix nap 12" \
			../ziatest -w 10 2 "$srun"' \
		"$result" "$interrupted" \
		"ziaprobe: note: after 10 s: rank 2 $of on n2 $init" \
		"ziaprobe: note: rank 2 $of on n2 is in .*wait4.* < \[shim\.so\] < $there" \
		"ziaprobe: note: after 10 s: rank 3 $of on n2 $init" \
		"ziaprobe: note: rank 3 $of on n2 is in .*nanosleep .* < \[shim\.so\] < $there"
	# Another thread of the rank hangs while it loads a library. The calls cannot be looked up,
	# but the rank says what it is doing; the timeout ends it.
	loading="export SHIM='$rank Pmix loading $tmp/hangs.so'"
	expect loading "$fails" "$loading"'
		../ziatest -t 99 2 "$srun" &'"
		../await Loading.$rank $rest"'
		pkill -63 -x ziaprobe
		wait $!' \
		"*$any" "$late $rank $of on $node $init" "*$any"
	expect loading-where "$fails" "$loading"'
		../ziatest -t 99 -w 99 2 "$srun" &'"
		../await Loading.$rank $rest"'
		pkill -62 -x ziaprobe
		../await_output "^ziaprobe: note: after"
		pkill -63 -x ziaprobe
		wait $!' \
		"*$any" "ziaprobe: note: after 99 s: rank $rank $of on $node $init" \
		"$late $rank $of on $node $init" "*$any"
	# The thread that called MPI_Init can handle the signal, although another one could not
	# stand it; or it blocks all signals, and another thread prints the first line.
	for program in small alternate; do
		expect on-$program 124 "export SHIM='$rank Pmix nap 90'"'
			../ziatest -t 15 2 "$srun" \
				sh -c "LD_PRELOAD=\$LD_PRELOAD:../shim.so exec ../'$program'"' \
			"*$any" "$late $rank $of on $node $init" \
			"$calls $rank $of on $node is in .*nanosleep .* < $hook < .*\
 < P?MPI_Init.*" \
			"*$any"
	done
	expect deaf "$fails" "SHIM='$rank Pmix deaf'"' ../ziatest -t 15 2 "$srun"' \
		"*$any" "$late $rank $of on $node $init" "*$any"
	# A partner in the exchange is named; those that wait for others after it say nothing. After
	# 15 s, even a busy machine has come so far.
	expect where-exchange 0 \
		'SHIM="1 Send ../await_output MPI_Recv" ../ziatest -w 15 2 "$srun"' \
		"$result" \
		"ziaprobe: note: after 15 s: rank 1 $of on n1 has waited $s in \
MPI_Send, to rank 3" \
		"ziaprobe: note: after 15 s: rank 3 $of on n2 has waited $s in \
MPI_Recv, from rank 1" \
		"ziaprobe: note: after 15 s: rank 5 $of on n3 has waited $s in MPI_.* rank 1"
	# A launch that is faster, and one that is already later when it calls MPI_Init
	expect where-fast 0 '../ziatest -w 99 2 "$srun"' "$result"
	expect where-over 0 '../ziatest --where 0.001 2 "$srun"' "$result"
	# An originator that is stuck in the exchange; each rank's mask blocks the signal
	expect originator "$fails" \
		'come="Gather.0 Gather.2 Gather.4 Recv.3 Send.5"
		export SHIM="1 Send kill -STOP \$PPID; ../alarm $come"
		MASK="env --block-signal=63" ../ziatest -t 99 2 "$srun"' \
		"$late 0 $of on n1 $others" \
		"?$late 1 .*" \
		"$late 2 $of on n2 $others" \
		"$late 3 $of on n2 has waited $s in MPI_Recv, from rank 1" \
		"$late 4 $of on n3 $others" \
		"$late 5 $of on n3 has waited $s in MPI_(Send, to|Recv, from) rank 1"
	# Block 0 has its own reply, and the last block's message is missing.
	expect second "$fails" \
		'come="Gather.1 Gather.2 Gather.3 Gather.5 Recv2.0"
		export SHIM="4 Send kill -STOP \$PPID; ../alarm $come"
		../ziatest -t 99 2 "$srun"' \
		"$late 0 $of on n1 has waited $s in MPI_Recv, from rank 4" \
		"$late 1 $of on n1 $others" \
		"$late [23] $of on n2 $others" \
		"?$late 4 .*" \
		"$late 5 $of on n3 $others"
	expect after "$fails" \
		'come="Ibarrier.0 Ibarrier.1 Ibarrier.2 Ibarrier.3 Ibarrier.5"
		export SHIM="4 Ibarrier kill -STOP \$PPID; ../alarm $come"
		../ziatest -t 99 2 "$srun"' \
		"$late 0 $of on n1 $unchecked" \
		"$late 1 $of on n1 $others" \
		"$late [23] $of on n2 $others" \
		"?$late 4 .*" \
		"$late 5 $of on n3 $others"
	# The handler runs in a helper thread, and before it ends the process, rank 0's main thread
	# continues: no result and no other status follows the timeout.
	expect gather "$fails" \
		'come="Gather.1 Gather.2 Gather.3 Gather.4 Gather.5"
		SHIM="0 Gather ../await $come; kill -63 \$PPID; ../await_output rank.0"
		export SHIM HELPER=1
		../ziatest -t 99 2 "$srun"' \
		"$late 0 $of on n1 $others"
	expect finalize "$fails" \
		'SHIM="0 Finalize kill -63 \$PPID; ../await_output rank.0" HELPER=1 \
			../ziatest -t 99 2 "$srun"' \
		"$result" "$late 0 $of on n1 $others"
	# A time that was refused is not printed.
	expect refused-time "$fails" \
		'export SHIM="0 Finalize kill -63 \$PPID; ../await_output rank.0" HELPER=1
		../ziatest -t 99 2 "srun --distribution=cyclic ${srun#srun }"' \
		'ziaprobe: error: wrong placement: .*' "$late 0 $of on n1 $others"
	# A FIFO that nobody reads
	expect writing "$fails" \
		'mkfifo fifo
		come="Finalize.1 Finalize.2 Finalize.3 Finalize.4 Finalize.5"
		(../await_output ^Slowest; exec ../alarm $come) &
		SHIM="none Init true" ../ziatest -t 99 --csv fifo 2 "$srun"' \
		"$result" \
		"$late 0 $of on n1 has spent $s writing the result" \
		"$late 1 $of on n1 $others" \
		"$late [23] $of on n2 $others" \
		"$late [45] $of on n3 $others"

	# A job that is rejected, and whose timeout expires before it has ended
	expect refused 124 \
		'export SHIM="0 Finalize kill -63 \$PPID; ../await_output rank.0" HELPER=1
		srun -N 3 -n 5 ../ziaprobe $(date +"%s %6N") 2 -t 60' \
		'ziaprobe: error: the number of processes, 5, .*' "$late 0 of 5 on n1 $others"
	# A full pipe on stderr does not prevent a rank from ending. The shell itself must not write
	# to the pipe.
	expect full-pipe 124 \
		'mkfifo pipe
		exec 3<>pipe
		dd if=/dev/zero bs=65536 count=1 >&3 2>/dev/null
		(exec timeout -s KILL 20 ../ziaprobe 1 2 1 -t 9 2>&3)'
	# The launcher ends the other ranks. MPICH's mpiexec once failed to, but the timeout ended
	# them.
	expect killed "$fails" 'SHIM="3 Recv kill -KILL \$PPID" ../ziatest -t 60 2 "$srun"' "*$any"
	# Without a timeout, a rank that dies ends the launch, too.
	draw_number 6
	expect dies '1(37|43)' "export SHIM='$((drawn - 1)) Exec kill -KILL \$PPID'
		timeout 45 ../ziatest 2 \"\$srun\""
	# If the user does not want that, the others wait until the test ends them. If srun had
	# ended them, the status would be that of SIGTERM, which has a higher number than SIGUSR2.
	draw_number 6
	expect kept 140 "export SHIM='$((drawn - 1)) Start kill -KILL \$PPID' SLURM_KILL_BAD_EXIT=0
		../ziatest 2 \"\$srun\" &
		../await Start.0 Start.1 Start.2 Start.3 Start.4 Start.5
		../await_output ': Killed'
		timeout 3 tail --pid=\$! -f /dev/null
		pkill -USR2 -x ziaprobe
		wait \$!"
	expect_alone srun-killed 137 'SHIM="0 Recv pkill -KILL -x srun" ../ziatest -t 60 2 "$srun"'
	# The result cannot be printed, but the files are written.
	expect full "$fails" '$srun 2 sh -c \
		"exec ../ziaprobe 1 2 2 -v --csv csv --ranks ranks 2>/dev/full"'
}

for mpi in mpich openmpi; do
	has_mpi $mpi || continue
	shim_build $mpi
	cat >"$dir/ziaprobe" <<'END'
#!/bin/sh
# Runs ziaprobe, under the command $MASK if set, with the fault $SHIM or, on rank 3, $SHIM_3 if set;
# rank $STOP is stopped before that
dir=${0%/*}
RANK=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}
if [ "${STOP-none}" = "$RANK" ]; then
	"$dir/${ALARM-alarm}" Start.0 Start.1 Start.2 Start.4 Start.5 &
	kill -STOP $$
fi
if [ "$RANK" = 3 ]; then
	SHIM=${SHIM_3-${SHIM-}}
fi
export RANK MARKS="$PWD" LD_PRELOAD="$dir/shim.so:${LD_PRELOAD-}"
exec ${MASK-} "$dir/real/ziaprobe" "$@"
END
	cat >"$dir/await" <<'END'
#!/bin/sh
# await CALL.RANK...: waits until each RANK has reached its CALL
for mark; do
	until [ -e "$mark" ]; do
		sleep 0.02
	done
done
END
	cat >"$dir/await_output" <<'END'
#!/bin/sh
# await_output PATTERN: waits until a line of the output matches
until grep -q "$1" out; do
	sleep 0.02
done
END
	cat >"$dir/alarm" <<'END'
#!/bin/sh
# alarm CALL.RANK...: when each RANK has reached its CALL, the timeout expires for all ranks
"${0%/*}/await" "$@"
pkill "-${SIGNAL-63}" -x ziaprobe	# by default, SIGRTMAX - 1, the timeout's
END
	cat >"$dir/alarm_and_kill" <<'END'
#!/bin/sh
# Like alarm, and kills the last rank that is left
trap '' TERM
"${0%/*}/alarm" "$@"
until [ "$(pgrep -c -x ziaprobe)" -le 1 ]; do
	sleep 0.05
done
pkill -KILL -x ziaprobe
END
	chmod +x "$dir/ziaprobe" "$dir"/a*
	srun='srun --nodes 3 --ntasks 6 --ntasks-per-node'
	case $mpi in
	openmpi)
		mpirun='mpirun.openmpi -x STOP -x ALARM -x SHIM --host n1:2,n2:2,n3:2 -npernode'
		waits=Entered hook=PMIx_Init ;;
	mpich)
		mpirun='mpiexec.hydra -hosts n1,n2,n3 -n 6 -ppn'
		waits=Fence hook=write ;;
	esac
	export srun waits	# for the shells of the cases

	# A rank that never reaches MPI_Init. One rank per node and state prints a line, so a node
	# on which one rank is in a fence and the other is not prints two lines. Open MPI's mpirun
	# continues a stopped process before it ends it. MPICH's mpiexec waits for it forever.
	entered="($init|$fence)"
	case $mpi in
	openmpi) alarm=alarm ;;
	mpich) alarm=alarm_and_kill ;;
	esac
	expect stopped "$fails" "ALARM=$alarm STOP=3 ../ziatest -t 99 2 \"$mpirun\"" \
		"$late [01] $of on n1 $entered" "*($late|$calls) [01] $of on n1 .*" \
		"$late 2 $of on n2 $entered" "*($late|$calls) [23] $of on n2 .*" \
		"$late [45] $of on n3 $entered" "*($late|$calls) [45] $of on n3 .*"
	# Here, a second signal comes while the handler of the first one waits. It changes nothing.
	expect late-init "$fails" \
		'come="$waits.0 $waits.1 $waits.2 $waits.4 $waits.5"
		export SHIM="3 Pmix ../alarm $come; ../await_output rank.3.on.n2.is.in; \
			pkill -63 -x ziaprobe; sleep 60"
		../ziatest -t 99 2 "$srun"' \
		"$late [01] $of on n1 $fence" \
		"$late 2 $of on n2 $fence" \
		"$late 3 $of on n2 $init" \
		"$calls 3 $of on n2 is in .*wait4.* < \[shim\.so\] < $hook < .* < MPI_Init( .*)?" \
		"$late [45] $of on n3 $fence"
	# The roll call of the saved output names the node that hangs, which is chosen by chance.
	draw_number 3
	stuck=n$drawn
	for launcher in srun mpirun; do
		expect roll-call-$launcher '[1-9][0-9]*' "mpirun='$mpirun'
			SHIM='$stuck Pmix nap 90' ../ziatest -t 15 2 \"\$$launcher\"" "*$any"
	done
	# With --where, the same fault in a random rank ends when the rank has said where it is. The
	# signal is sent when all others wait, or it is the timer's.
	draw_number 6
	rank=$((drawn - 1)) node=n$(((drawn + 1) / 2))
	rest=$(printf "$waits.%s " 0 1 2 3 4 5 | sed "s/$waits.$rank //")
	there="$hook < .* < MPI_Init( .*)?"
	expect where 0 \
		"come='$rest'"'
		export SIGNAL=62 SHIM="'$rank' Pmix ../alarm $come; ../await_output \" is in \""
		../ziatest -w 99 2 "$srun"' \
		"$result" "$interrupted" \
		"ziaprobe: note: after 99 s: rank $rank $of on $node $init" \
		"ziaprobe: note: rank $rank $of on $node is in .*wait4.* < \[shim\.so\] < $there"
	if [ $mpi = "$first_mpi" ]; then
		add_cases
	fi
	run_cases 4
	for launcher in srun mpirun; do
		like "$mpi, $launcher: the roll call" \
			"$(tools/summarize --nodes 'n[1-3]' "$dir/roll-call-$launcher/out")" \
			"rank [0-5] on $stuck has spent [0-9.]+ s in MPI_Init, in .*nanosleep.*\
 < $hook < .*\|2 nodes wait in a fence\|--exclude=$stuck"
	done
	is "$mpi: no call of ziaprobe's own is named" \
		"$(cat "$dir"/*/out | grep -E ' is in .*\[(lib)?ziaprobe')" ''
	is "$mpi: what ranks did in MPI_Init adds up" "$(cat "$dir"/*/out |
		sed -n 's/.* has spent \(.*\) ms in MPI_Init: cpu /\1 /p' |
		awk '{ print $1 - $2 - $5 - $8 }' | sort -u)" 0
	if [ $mpi = "$first_mpi" ]; then
		is "$mpi, full: the files are written" \
			"$(cd "$dir/full" && cat csv ranks | wc -l)" 9
	fi
done
finish
