#!/bin/sh
# Faults injected into real clusters: when the timeout expires, one rank per node and state prints
# what it is waiting for, and the job ends; with --where, one that is late does so, and the job goes
# on. Whatever breaks, the status is not 0, there is no result unless it came before the fault, and
# no process is left.
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=3
export MARKS=yes	# for helpers/shim.c

late='ziaprobe: error: timeout of [0-9]+ s: rank'
of='of 6 \(2 per node\)'
s='[0-9]+ ms'
init="has spent $s in MPI_Init: cpu $s, cpu_wait $s, blocked $s"
fence="has waited $s in a fence of MPI_Init"
others="has waited $s for other ranks, after its exchange"
unchecked="$others; the time, not checked, was [0-9]+\.[0-9]{3} ms"
calls='ziaprobe: error: rank'	# the second line of a rank that works in MPI_Init
any="($late [0-5] $of on n[1-3] has (waited|spent) $s .*|$calls [0-5] $of on n[1-3] is in .* < .*)"
interrupted='ziaprobe: warning: --where interrupted ([0-9] ranks|1 rank) in MPI_Init; if .*'

# A library whose constructor does not return before the command $HANG ends
cat >"$tmp/hang.c" <<'END'
#include <stdlib.h>
__attribute__((constructor)) static void hang(void)
{
	system(getenv("HANG"));
}
END
cc -shared -fPIC -o "$tmp/hang.so" "$tmp/hang.c" || exit 1

# A program that starts MPI in another thread, as Go does, with an alternate signal stack that is as
# small as Rust's: 8 KiB
cat >"$tmp/program.c" <<'END'
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
static void *start(void *unused)
{
	static char area[3 * 4096] __attribute__((aligned(4096)));
	stack_t alternate = {.ss_sp = area + 4096, .ss_size = 2 * 4096};

	mprotect(area, 4096, PROT_NONE);
	sigaltstack(&alternate, NULL);
	MPI_Init(NULL, NULL);
	MPI_Finalize();
	return unused;
}
int main(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, start, NULL) || pthread_join(thread, NULL);
}
END

# rest CALL RANK: prints the files that all ranks but RANK create when they reach CALL
rest() {
	printf "$1.%s " 0 1 2 3 4 5 | sed "s/$1.$2 //"
}

# add_cases: adds those that do not depend on the MPI library
add_cases() {
	"mpicc.$mpi" -pthread -o "$dir/program" "$tmp/program.c" || exit 1
	draw_number 6
	rank=$((drawn - 1)) node=n$(((drawn + 1) / 2))
	fenced=$(rest "$waits" $rank)
	time_out='pkill -63 -x ziaprobe'	# SIGRTMAX - 1

	# The signal must go to the thread that called MPI_Init, and must use its own stack.
	expect where-program 0 \
		"export SHIM='$rank Pmix ../until grep -q is.in.*shim.so out'"'
		../ziatest --where 15.5 2 "$srun" \
			sh -c "LD_PRELOAD=\$LD_PRELOAD:../shim.so exec ../program"' \
		"$result" "$interrupted" \
		"*ziaprobe: note: .*rank [0-5] $of on $node .*" \
		"ziaprobe: note: after 15.5 s: rank $rank $of on $node $init" \
		"ziaprobe: note: rank $rank $of on $node is in .*wait4.* < \[shim\.so\] < $there" \
		"*ziaprobe: note: .*rank [0-5] $of on $node .*"
	# Another thread of the rank hangs while it loads a library. The calls cannot be looked up,
	# but the rank says what it is doing; the timeout ends it.
	expect loading "$fails" \
		"export SHIM='$rank Pmix load $tmp/hang.so'
		export HANG='../until ls $fenced; $time_out; sleep 60'"'
		../ziatest -t 99 2 "$srun"' \
		"*$any" "$late $rank $of on $node $init" "*$any"
	expect loading-where "$fails" \
		"export SHIM='$rank Pmix load $tmp/hang.so'
		export HANG='../until ls $fenced; pkill -62 -x ziaprobe
			../until grep -q note:.after out; $time_out; sleep 60'"'
		../ziatest -t 99 -w 99 2 "$srun"' \
		"*$any" "ziaprobe: note: after 99 s: rank $rank $of on $node $init" \
		"$late $rank $of on $node $init" "*$any"
	# The thread that called MPI_Init blocks all signals, so another one prints the first line.
	expect deaf "$fails" "SHIM='$rank Pmix deaf nap 90'"' ../ziatest -t 15 2 "$srun"' \
		"*$any" "$late $rank $of on $node $init" "*$any"
	# A partner in the exchange is named; those that wait for others after it say nothing. After
	# 15 s, even a busy machine has got that far.
	expect where-exchange 0 \
		'SHIM="1 Send ../until grep -q MPI_Recv out" ../ziatest -w 15 2 "$srun"' \
		"$result" \
		"ziaprobe: note: after 15 s: rank 1 $of on n1 has waited $s in \
MPI_Send, to rank 3" \
		"ziaprobe: note: after 15 s: rank 3 $of on n2 has waited $s in \
MPI_Recv, from rank 1" \
		"ziaprobe: note: after 15 s: rank 5 $of on n3 has waited $s in MPI_.* rank 1"
	# The moment of --where has passed before the launch reaches MPI_Init.
	expect where-over 0 '../ziatest --where 0.001 2 "$srun"' "$result"
	# Each rank's mask blocks the signal.
	expect after "$fails" \
		"export SHIM='4 Ibarrier kill -STOP \$PPID; ../until ls $(rest Ibarrier 4)
			$time_out'"'
		../ziatest -t 99 2 "$srun {} env --block-signal=63"' \
		"$late 0 $of on n1 $unchecked" \
		"$late 1 $of on n1 $others" \
		"$late [23] $of on n2 $others" \
		"?$late 4 .*" \
		"$late 5 $of on n3 $others"
	# The handler runs in a helper thread, and before it ends the process, rank 0's main thread
	# continues: no result and no other status follows the timeout.
	helper='kill -63 $PPID; ../until grep -q rank.0 out'
	expect gather "$fails" \
		"export SHIM='0 Gather deaf ../until ls $(rest Gather 0); $helper'"'
		../ziatest -t 99 2 "$srun"' \
		"$late 0 $of on n1 $others"
	expect finalize "$fails" \
		"SHIM='0 End deaf $helper' ../ziatest -t 99 2 \"\$srun\"" \
		"$result" "$late 0 $of on n1 $others"
	# A FIFO that nobody reads
	expect writing "$fails" \
		"mkfifo fifo
		(../until grep ^Slowest out; ../until ls $(rest Finalize 0); $time_out) &"'
		../ziatest -t 99 --csv fifo 2 "$srun"' \
		"$result" \
		"$late 0 $of on n1 has spent $s writing the result" \
		"$late 1 $of on n1 $others" \
		"$late [23] $of on n2 $others" \
		"$late [45] $of on n3 $others"
	# A full pipe on stderr does not prevent a rank from ending. The shell itself must not write
	# to the pipe.
	expect full-pipe 124 \
		'mkfifo pipe
		exec 3<>pipe
		dd if=/dev/zero bs=65536 count=1 >&3 2>/dev/null
		(exec timeout -s KILL 20 ../ziaprobe 1 2 1 -t 9 2>&3)'
	# The kernel ends a rank that can handle no signal.
	expect stopped 137 'SHIM="* Start kill -STOP \$PPID" ../ziaprobe $(date +"%s %6N") 1 -t 5'
	# Without a timeout, a rank that dies ends the launch, too.
	expect dies '1(37|43)' "export SHIM='$rank Exec kill -KILL \$PPID'"'
		timeout 45 ../ziatest 2 "$srun"'
	expect srun-killed 137 'SHIM="0 Send pkill -KILL -x srun" ../ziatest -t 60 2 "$srun"'
	# The result cannot be printed, but the files are written.
	expect full 0 '$srun 2 sh -c "exec ../ziaprobe 1 2 2 --csv csv --ranks ranks 2>/dev/full"
		[ "$? $(cat csv ranks | wc -l)" = "1 9" ]'
}

for mpi in mpich openmpi; do
	has_mpi $mpi || continue
	preload_build $mpi shim
	cat >"$dir/until" <<-'END'
		#!/bin/sh
		# until COMMAND...: repeats COMMAND until it succeeds
		until "$@" >/dev/null 2>&1; do
			sleep 0.02
		done
	END
	chmod +x "$dir/until"
	srun='srun --nodes 3 --ntasks 6 --ntasks-per-node'
	case $mpi in
	openmpi)
		mpirun='mpirun.openmpi -x MARKS -x SHIM --host n1:2,n2:2,n3:2 -npernode'
		waits=Entered hook=PMIx_Init ;;
	mpich)
		mpirun='mpiexec.hydra -hosts n1,n2,n3 -n 6 -ppn'
		waits=Fence hook=write ;;
	esac
	export srun	# for the shells of the cases
	there="$hook < .* < MPI_Init( \[[^ ]*)?( < PMPI_Init \[shim\.so\])?"

	# A node hangs in MPI_Init; later, the roll call of the saved output names it.
	draw_number 3
	stuck=n$drawn
	set --
	for node in n1 n2 n3; do
		if [ $node = $stuck ]; then
			set -- "$@" "$late [0-5] $of on $node $init" "$calls [0-5] $of on $node \
is in .*nanosleep.* < \[shim\.so\] < $there"
		else
			set -- "$@" "$late [0-5] $of on $node $fence"
		fi
	done
	for launcher in "$srun" "$mpirun"; do
		expect "hang-${launcher%% *}" "$fails" \
			"SHIM='$stuck Pmix nap 90' ../ziatest -t 15 2 '$launcher'" "$@"
	done
	# If both ranks of a node are in the same calls, as on n3, one prints; otherwise, both do.
	# They continue once they have printed where they are.
	expect where 0 \
		'SHIM="n[23] Pmix ../until grep -q is.in out" SHIM_3="3 Pmix nap 90" \
			../ziatest -w 15 2 "$srun"' \
		"$result" "$interrupted" \
		"ziaprobe: note: after 15 s: rank 2 $of on n2 $init" \
		"ziaprobe: note: rank 2 $of on n2 is in .*wait4.* < \[shim\.so\] < $there" \
		"ziaprobe: note: after 15 s: rank 3 $of on n2 $init" \
		"ziaprobe: note: rank 3 $of on n2 is in .*nanosleep .* < \[shim\.so\] < $there" \
		"ziaprobe: note: after 15 s: rank [45] $of on n3 $init" \
		"ziaprobe: note: rank [45] $of on n3 is in .*wait4.* < \[shim\.so\] < $there"
	if [ $mpi = "$first_mpi" ]; then
		add_cases
	fi
	run_cases 4
	for launcher in "$srun" "$mpirun"; do
		name=hang-${launcher%% *}
		like "$mpi, $name: the roll call" \
			"$(tools/summarize --nodes 'n[1-3]' "$dir/$name/out")" \
			"rank [0-5] on $stuck has spent [0-9.]+ m?s in MPI_Init, in .*nanosleep.*\
 < $hook < .*\|2 nodes wait in a fence\|--exclude=$stuck"
	done
	is "$mpi: no call of ziaprobe itself is named" \
		"$(cat "$dir"/*/out | grep -E ' is in .*\[(lib)?ziaprobe')" ''
	is "$mpi: what ranks did in MPI_Init adds up" "$(cat "$dir"/*/out |
		sed -n 's/.* has spent \(.*\) ms in MPI_Init: cpu /\1 /p' |
		awk '{ print $1 - $2 - $5 - $8 }' | sort -u)" 0
done
finish
