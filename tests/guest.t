#!/bin/sh
# libziaprobe.so as a guest: programs that start MPI in unusual ways are measured, and keep what
# they have set. If nothing was measured, one line says so. Wrappers cause no false alarm.
#
#	ROUNDS=100 prove -v tests/guest.t	100 random wrappers with each MPI, instead of 25
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=3
error='ziaprobe: error:'
within='ziaprobe: warning: [a-z.]+ runs within the measured launch; .*'
python=/usr/bin/python3	# Debian's has Debian's mpi4py

# A program that does not know MPI, and must not find it. With LIBRARY, it looks MPI_Init up there,
# which is measured. With LIBRARY NAME, it calls NAME there, which is MPI_Init or calls it, and
# LIBRARY searches its own libraries first; on the node $LATE, it sleeps before.
cat >"$tmp/unseen.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int (*init)(int *, char ***), (*finalize)(void), flags = RTLD_NOW | RTLD_LOCAL;
	char host[64];
	void *library;

	if (argc < 2)
		return dlsym(RTLD_DEFAULT, "MPI_Init") ||
		       dlsym(dlopen(NULL, RTLD_NOW), "PMPI_Init_thread");
	gethostname(host, sizeof host);
	if (getenv("LATE") && strcmp(getenv("LATE"), host) == 0)
		sleep(2);
	library = dlopen(argv[1], argc > 2 ? flags | RTLD_DEEPBIND : flags);
	*(void **)&init = dlsym(library, argc > 2 ? argv[2] : "MPI_Init");
	*(void **)&finalize = dlsym(library, "MPI_Finalize");
	return init(&argc, &argv) || finalize();
}
END
cc -o "$tmp/unseen" "$tmp/unseen.c" -ldl || exit 1
cat >"$tmp/deep.c" <<'END'
#include <mpi.h>
int start(int *argc, char ***argv) { return MPI_Init(argc, argv); }
END

# An MPI library with handles of its own, such as HPE MPT's, and a program of it. A handle that it
# does not know ends the program.
cat >"$tmp/foreign.c" <<'END'
#ifdef PROGRAM
int MPI_Init(int *, char ***);
int main(int argc, char **argv) { return MPI_Init(&argc, &argv) || argc != 2; }
#else
#include <stdlib.h>
#include <string.h>
#define DEFINE(name, ...) int PMPI_##name __VA_ARGS__
#define REFUSE(...) DEFINE(__VA_ARGS__, (void) { abort(); })
int MPI_Init(int *argc, char ***argv) { return !argc || !argv; }
DEFINE(Get_library_version, (char *text, int *length))
{
	strcpy(text, "Foreign 2.30, 2026\nMPICH");
	*length = strlen(text);
	return 0;
}
REFUSE(Abort)
REFUSE(Comm_rank)
REFUSE(Comm_size)
REFUSE(Finalize)
REFUSE(Gather)
REFUSE(Get_processor_name)
REFUSE(Ibarrier)
REFUSE(Ibcast)
REFUSE(Initialized)
REFUSE(Recv)
REFUSE(Send)
REFUSE(Sendrecv)
REFUSE(Test)
#endif
END
cc -shared -fPIC -o "$tmp/libforeign.so" "$tmp/foreign.c" &&
	cc -DPROGRAM -o "$tmp/foreign" "$tmp/foreign.c" -L"$tmp" -lforeign \
		-Wl,-rpath,"$tmp" || exit 1

# A stub of MPI for serial builds, which claims that MPI has been started: in a library of its own,
# with a program (serial), and in a plugin, whose run() calls it. The host loads the plugin, and
# does what the letters of its second argument say: p: runs the plugin, which must reach its own
# stub; l: loads LIBRARY, an MPI; m: starts that.
cat >"$tmp/stub.c" <<'END'
static int calls;
int MPI_Init(int *argc, char ***argv) { return (void)argc, (void)argv, calls++; }
int PMPI_Initialized(int *flag) { return *flag = 1, 0; }
int run(void) { return MPI_Init(0, 0) == 0 && calls == 1; }
END
cat >"$tmp/host.c" <<'END'
#include <dlfcn.h>
int main(int argc, char **argv)
{
	int (*run)(void), (*init)(int *, char ***), (*finalize)(void);
	void *plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL), *library = 0;

	*(void **)&run = dlsym(plugin, "run");
	for (const char *step = argv[3]; *step; step++) {
		if (!library && *step != 'p')
			library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		*(void **)&init = dlsym(library, "MPI_Init");
		if ((*step == 'p' && !run()) || (*step == 'm' && init(&argc, &argv) != 0))
			return 9;
	}
	*(void **)&finalize = dlsym(library, "MPI_Finalize");
	return finalize();
}
END
echo 'int MPI_Init(int *, char ***);
int main(int argc, char **argv) { return MPI_Init(&argc, &argv); }' >"$tmp/serial.c"
cc -shared -fPIC -o "$tmp/libstub.so" "$tmp/stub.c" &&
	cp "$tmp/libstub.so" "$tmp/plugin.so" && cc -o "$tmp/host" "$tmp/host.c" -ldl &&
	cc -o "$tmp/serial" "$tmp/serial.c" -L"$tmp" -lstub -Wl,-rpath,"$tmp" || exit 1

# A program that goes on after MPI_Init. Its handler, which calls MPI, would abort the job.
cat >"$tmp/lasting.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static void handler(void) { MPI_Barrier(MPI_COMM_WORLD); }
int main(int argc, char **argv)
{
	atexit(handler);
	MPI_Init(&argc, &argv);
	fprintf(stderr, "ziaprobe: went on\n");
	return MPI_Finalize() || 5;
}
END

# A library whose dlsym calls the C library's
cat >"$tmp/dlsym.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
void *dlsym(void *handle, const char *name)
{
	void *(*next)(void *, const char *), *found;

	*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!next)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	found = next(handle, name);
	return found;
}
END
cc -shared -fPIC -o "$tmp/dlsym.so" "$tmp/dlsym.c" -ldl || exit 1

# A tracer, which looks the library's MPI_Init up in $REAL_MPI, and says so on rank 0
cat >"$tmp/tracer.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int MPI_Init(int *argc, char ***argv)
{
	const char *rank = getenv("SLURM_PROCID");
	int (*init)(int *, char ***);
	void *library = dlopen(getenv("REAL_MPI"), RTLD_LAZY | RTLD_GLOBAL | RTLD_DEEPBIND);

	*(void **)&init = dlsym(library, "MPI_Init");
	if (strcmp(rank, "0") == 0)
		fprintf(stderr, "ziaprobe: traced\n");
	return init(argc, argv);
}
END

# A module that takes long to import on the node $LATE
cat >"$tmp/slow.py" <<'END'
import os, socket, time
if socket.gethostname() == os.environ["LATE"]:
    time.sleep(2)
END

# Wrappers that ignore their child, and that leave it unwaited for
cat >"$tmp/ignore.py" <<'END'
import signal, subprocess, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
sys.exit(subprocess.call(sys.argv[1:], close_fds=False))
END
cat >"$tmp/leave.py" <<'END'
import os, sys
os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
END

# Wrappers of a program: 'exec' if they become that program and have no child, otherwise 'child'
while read -r kind tool rest; do
	if has "$tool"; then
		echo "$kind $tool $rest"
	fi
done >"$tmp/wrappers" <<'END'
exec env A=b
exec perl -e 'exec @ARGV'
child sh -c '"$@"; exit' -
child sh -c 'name=$(hostname); exec "$@"' -
child sh -c 'echo | "$@" | cat' -
child bash -c 'sleep 0.1 & "$@"' -
child bash -c '{ "$@"; } > >(cat); exit' -
child bash -c 'trap "" CHLD; "$@"; exit' -
child /usr/bin/python3 ../../ignore.py
child /usr/bin/python3 ../../leave.py
child perl -MPOSIX -e 'sigaction SIGCHLD, POSIX::SigAction->new(sub{},0,SA_NOCLDWAIT); system @ARGV'
child timeout 60
child strace -f -o /dev/null
END

# nothing PROGRAM: a pattern for the line that says so
nothing() {
	echo "$error nothing was measured: $1 exited, [0-9.]+ s after the start, before Ziatest .*"
}

# check_thread: prints the ranks of which the thread's 300 ms are missing from cpu, or of which cpu,
# cpu_wait and blocked do not add up to exec and init
check_thread() {
	awk -F , '
	NR > 1 && ($14 < 300 || $15 != "" && ($14 + $15 + $16 - $6 - $8) ^ 2 > 1e-7)' \
		"$dir/thread/ranks"
}

# add_cases: adds those that do not depend on the MPI library
add_cases() {
	number=0
	"mpicc.$mpi" -shared -fPIC -DLIBRARY -o "$dir/layer.so" $guest || exit 1
	"mpicc.$mpi" -pthread -o "$dir/linked" $guest -lrt \
		-Wl,--no-as-needed "$dir/layer.so" || exit 1
	"mpicc.$mpi" -pthread -DEARLY -o "$dir/starter" $guest -lrt || exit 1
	"mpicc.$mpi" -shared -fPIC -o "$dir/deep.so" "$tmp/deep.c" || exit 1

	# A delay is reported where it belongs.
	agree='library early'
	expect library 0 "LATE=$node $launch ../linked plain" "$result"
	expect early 0 "$launch ../starter plain" "$result"
	expect fork 0 "$launch ../guest fork $node" "$result"
	expect thread 0 "$launch ../linked thread $node" "$result"
	# A wrapper that sleeps, and starts the program in namespaces of its own, as containers do
	for space in pid mount; do
		printf '%s\n' '[ "$(hostname)" != "$LATE" ] || sleep 2' \
			"exec unshare --$space --fork --mount-proc \"\$@\"" >"$dir/$space"
		# One rank a node, because Open MPI crashes if two ranks share a process id.
		expect "in-$space" 0 "LATE=$node ../ziatest -v --ranks ranks 1 \\
			'srun -N 3 -n 3 --ntasks-per-node' sh ../$space ../guest plain" \
			"$result" '?ziaprobe: warning: ranks .* run on the same kernel .*'
	done

	# The program is in the working directory; it is on no node; or the launcher has copied
	# ziastart instead of it.
	expect here 0 "cp ../guest . && ../ziatest 2 '$srun' guest plain" "$result" "$one_node"
	expect missing 127 "../ziatest srun -N 3 -n 6 -- ./none" \
		"$error cannot find the program \./none: No such file or directory \(on n[1-3]\)" \
		"$error cannot find .* \(on n[1-3]\)" "$error cannot find .* \(on n[1-3]\)"
	expect copied 0 "../ziatest 2 'srun --bcast=$dir/copied/ziastart -N 1 -n 2 --wait={}' \
		../guest plain" 'ziaprobe: warning: the launcher has copied ziastart .*' "$result" \
		"$one_node"
	# The program keeps what it has set, and no descriptor is left open.
	if localedef -i de_DE -f UTF-8 "$tmp/de_DE.UTF-8" 2>/dev/null; then
		agree="$agree comma"
		expect comma 0 "LOCPATH=$tmp $launch ../guest comma" "$result"
	else
		skip "$mpi, comma" 'no source of the locale de_DE; tests/setup installs it'
	fi
	expect closed 0 "../ziatest --csv csv 2 '$srun' ../guest closed"
	expect wide 0 "../ziatest --csv csv 2 '$srun' ../guest wide" "$result" "$one_node"
	expect timed 0 "../ziatest -t 99 -w 98 2 '$srun' ../guest plain" "$result" "$one_node"
	expect timer 0 "../ziatest -t 99 -w 98 2 '$srun' ../guest timer" \
		"*ziaprobe: warning: cannot set the (timeout|moment of --where); .*" \
		"$result" "$one_node"
	printf '#!/bin/sh\nexec env -i PATH="$PATH" HOME="$HOME" "$@"\n' >"$dir/cleaner"
	cleaned="$error rank and size are not known to MPI: .*"
	expect clean 0 "../ziatest 2 'srun -N 3 -n 6 --ntasks-per-node={} sh ../cleaner' \
		../guest plain" "$cleaned" "$cleaned" "$cleaned"

	# A launch within a launch is not measured: neither the first one of a script nor the
	# second, whatever starts the script. Only some of the ranks may have the library.
	for task in env 'mpirun.openmpi --host n1:1 -n 1' 'mpiexec.hydra -hosts n1 -n 1'; do
		draw_number 4
		case $drawn in
		1) wrapper='' ;;
		2) wrapper='env A=b' ;;
		3) wrapper='sh -c "\"\$@\"; exit" -' ;;
		4) wrapper='timeout 60' ;;
		esac
		for launcher in 'srun -N 2 -n 4' "$far" "$near"; do
			number=$((number + 1))
			expect "within-$number" 0 "../ziatest $task -- $wrapper \\
				sh ../twice $launcher ../guest plain" "$within" "$within"
		done
	done

	# Nothing is measured.
	unknown="$error nothing was measured: Ziatest does not know the MPI library of foreign, \
\"Foreign 2\.30, 2026\"; measure a ziaprobe .*"
	expect foreign 0 "../ziatest 2 '$srun' $tmp/foreign 1" "$unknown"
	expect unranked 0 "../ziatest 1 'env -u SLURM_STEP_NUM_TASKS -u SLURM_PROCID N={}' \
		$tmp/foreign 1" "$unknown"
	expect stub-alone 0 "../ziatest 2 '$srun' $tmp/serial" \
		"$error nothing was measured: serial calls the MPI_Init of .*/libstub\.so, a .*"
	expect deep 0 "../ziatest 2 '$srun' $unseen $dir/deep.so start" "$(nothing unseen)"
	draw_number 99
	ended='exited with status'
	before='s after the start, before Ziatest saw a call to MPI_Init; read the .*'
	expect status $drawn "../ziatest 2 '$srun' perl -e 'exit $drawn'" \
		"$error nothing was measured: perl $ended $drawn, [0-9.]+ $before"
	expect status-256 0 "../ziatest 2 '$srun' perl -e 'exit 256'" "$(nothing perl)"
	# A fork that exits prints nothing. The process that the launcher started prints an error.
	expect ends-in-fork 0 "../ziatest 2 '$srun' perl -e 'fork || exit 3; wait'"
	expect ends-later 3 "../ziatest 2 '$srun' perl -e '%ENV = (); sleep 2; exit 3'" \
		"$error nothing was measured: perl $ended 3, [2-9][0-9]*[.][0-9] $before"
	expect only-wrong "$fails" "$only --ppn 4 $words ../lasting" \
		"$error the number of processes, 6, .*"
	expect only-foreign "$fails" "$only $words $tmp/foreign 1" "$error nothing was measured: .*"
	expect only-unseen 0 "$only $words $unseen" "$(nothing unseen)"

	# A wrapper of a program that is measured, and of one that is not
	while read -r kind wrapper; do
		number=$((number + 1)) line=$(nothing unseen)
		if [ "$kind" = child ]; then
			line="?$line"
		fi
		expect "wrapper-$number" 0 "../ziatest 2 '$srun' $wrapper ../guest plain
			../ziatest 2 '$srun' $wrapper $unseen" "$result" "$one_node" "$line"
	done <"$tmp/wrappers"
}

# judge_cases: judges their results
judge_cases() {
	late library exec $node "$slept"
	late in-pid exec $node "$slept"
	late in-mount exec $node "$slept"
	like "$mpi, in-pid: no creation is known, and the rest is whole" \
		"$(sed -n '/^critical path/,/^$/p' "$dir/in-pid/out" | sed -n '2s/ .*//p')" exec
	like "$mpi, in-mount: the creation is known" \
		"$(sed -n '/^critical path/,/^$/p' "$dir/in-mount/out" | sed -n '2s/ .*//p')" daemon
	for case in fork thread; do
		late $case setup $node ''
		like "$mpi, $case: setup has only faults" \
			"$(sed -n '/^m*s /q; /^setup /p' "$dir/$case/out")" \
			'setup( +[0-9.]+){2} +[0-9]+ +[0-5] on n[123]'
	done
	is "$mpi, thread: init has what the thread did" "$(check_thread)" ''
	for case in closed wide; do
		is "$mpi, $case: the file has a row" "$(wc -l <"$dir/$case/csv")" 2
	done
}

for mpi in mpich openmpi; do
	has_mpi $mpi || continue
	quick_build $mpi
	guest=tests/helpers/guest.c
	"mpicc.$mpi" -pthread -o "$dir/guest" $guest -lrt || exit 1
	"mpicc.$mpi" -pthread -DSESSIONS -o "$dir/starts" $guest -lrt 2>/dev/null ||
		rm -f "$dir/starts"	# before MPI 4
	"mpicc.$mpi" -shared -fPIC -o "$dir/tracer.so" "$tmp/tracer.c" -ldl || exit 1
	"mpicc.$mpi" -pthread -o "$dir/traced" $guest -lrt \
		-Wl,--no-as-needed "$dir/tracer.so" || exit 1
	"mpicc.$mpi" -o "$dir/lasting" "$tmp/lasting.c" || exit 1
	library=$(ldd "$dir/guest" | awk '$1 ~ /^libmpi/ { print $3 }')

	srun='srun -N 1 -n 2 --ntasks-per-node'
	case $mpi in
	openmpi)
		mpirun='mpirun.openmpi --host n1:2 -npernode'
		near='mpirun.openmpi --oversubscribe -n 2'
		program=$(command -v mpirun.openmpi) personality=''
		if has prterun; then	# what the mpirun of version 5 becomes
			program=$(command -v prterun) personality='--personality ompi'
		fi
		far='mpirun.openmpi --host n2:1,n3:1 -n 2'
		several='mpirun.openmpi --host n1:1,n2:1 -n 1'
		some='mpirun.openmpi --host n1:1,n2:1 -n 2'
		three='mpirun.openmpi --host n1:2,n2:2,n3:2 --map-by ppr:2:node'
		;;
	mpich)
		mpirun='mpiexec.hydra -hosts n1 -n 2 -ppn'
		near='mpiexec.hydra -launcher fork -n 2'
		program=$(command -v mpiexec.hydra) personality=''
		far='mpiexec.hydra -hosts n2,n3 -ppn 1 -n 2'
		several='mpiexec.hydra -hosts n1,n2 -ppn 1 -n 1'
		some='mpiexec.hydra -hosts n1,n2 -ppn 1 -n 2'
		three='mpiexec.hydra -hosts n1,n2,n3 -n 6 -ppn 2'
		;;
	esac
	launch="../ziatest -v --csv csv --ranks ranks 2 'srun -N 3 -n 6 --ntasks-per-node'"
	only='../ziatest -q --start-only'
	words='srun -N 3 --ntasks-per-node 2 --'
	unseen=$tmp/unseen
	draw_number 3
	node=n$drawn
	slow_imports=''

	# Several programs in one launch; a launcher after the --, with a known name and with an
	# unknown one
	cp "$dir/guest" "$dir/second"
	if [ -z "$personality" ]; then	# Version 5.0.7 of Open MPI crashes if there is a ':'.
		expect several 0 "../ziatest -q $several -- ../guest plain : \
			-n 1 -- ../second plain" "$result"
	fi
	expect nested 0 "../ziatest srun -N 1 -n 1 -- $near ../guest plain" "$within" "?$within"
	# Launchers of other names: of a task, in a script, twice, and with ranks of which only some
	# have the library
	cp "$program" "$dir/odd"
	cp "$(command -v hydra_pmi_proxy)" "$dir"	# hydra looks for it in its own directory
	printf '%s\n' '"$@" && "$@"' >"$dir/twice"
	other="$error nothing was measured: this process was started by a launcher within .*"
	odd="../odd $personality ${near#* }"
	expect odd-task 0 "../ziatest srun -N 1 -n 1 -- $odd ../guest plain" "?$within" "$other"
	expect odd-twice 0 "../ziatest -- sh ../twice $odd ../guest plain" "$other" "$other"
	expect odd-some 0 "ssh n1 \"cd '$dir/odd-some' && ../ziatest -q -- \
		../odd $personality ${some#* } ../guest plain\"" "$other"
	expect odd-launcher 0 "srun -N 1 -n 1 $odd \
		../ziaprobe \$(date +'%s %6N') 2" "$result" "$one_node"

	# A task that only asks a launcher, a process without a launcher, which starts orted itself
	# with Open MPI, and a wrapper with the name of a launcher
	printf '%s\n' "${near%% *} --version >/dev/null" 'exec "$@"' >"$dir/asker"
	expect asks 0 "../ziatest -q srun -N 1 -n 2 -- sh ../asker ../guest plain" \
		"$within" "?$within" "$result" "$one_node"
	expect single 0 '../ziatest -q -- ../guest plain' "$result" "$one_node"
	printf '%s\n' '#!/bin/sh' '"$@"' 'exit' >"$dir/mpiexec"
	chmod +x "$dir/mpiexec"
	expect named 0 "../ziatest 2 '$srun' ../mpiexec ../guest plain" "$result" "$one_node"
	cp "$dir/guest" "$dir/flux"	# as 'flux python' may be a rank
	expect named-flux 0 "../ziatest 2 '$srun' ../flux plain" "$result" "$one_node"

	# The library is missing on one node, for whose ranks the others would wait.
	mkdir "$dir/full"
	cp "$dir/ziatest" "$dir/ziastart" "$dir/libziaprobe.so" "$dir/full"
	echo $node >"$dir/late"
	printf '%s\n' 'if [ "$(hostname)" = "$(cat ../late)" ]; then' \
		'	mount -t tmpfs none ../full && cp ../ziastart ../full || exit' \
		'fi' 'exec "$@"' >"$dir/hide"
	for launcher in "$three" 'srun -N 3 -n 6'; do
		for parent in '' ' --fork --pid --mount-proc'; do
			expect "hidden-${launcher%% *}${parent:+-child}" '(127|1[34][0-9])' \
				"../full/ziatest $launcher unshare --mount$parent sh ../hide -- \
				../guest plain" \
				"$error cannot read .*/full/libziaprobe\\.so: .* \\(on $node\\)"
		done
	done

	# How each MPI library is found, and what it needs
	expect sleep 0 "$launch ../guest plain $node" "$result"
	expect clear 0 "$launch ../guest clear $node" "$result"
	if [ -e "$dir/starts" ]; then
		expect both 0 "$launch ../starts both $node" "$result"
		expect session 0 "../ziatest 2 '$srun' ../starts session" \
			"$error nothing was measured: starts uses MPI Sessions, .*"
	fi
	# A tracer is preloaded before libziaprobe.so, or the program is linked with it.
	tracer="REAL_MPI=$library ../ziatest 2 '$srun'"
	expect tracer 0 "export LD_PRELOAD=$dir/tracer.so:\${LD_PRELOAD-}
		$tracer ../guest plain" 'ziaprobe: traced' "$result" "$one_node"
	expect linked-tracer 0 "$tracer ../traced plain" 'ziaprobe: traced' "$result" "$one_node"
	# A directory with a name like that of the standard binary interface
	mkdir "$dir/libmpi_abi-5"
	ln -s "$library" "$dir/libmpi_abi-5/${library##*/}"
	expect abi-directory 0 "export LD_LIBRARY_PATH=$dir/libmpi_abi-5
		../ziatest 2 '$srun' ../guest plain" "$result" "$one_node"
	expect own-probe 0 "cp ../ziaprobe own && ../ziatest 2 '$srun' ./own \$(date +'%s %6N') 2" \
		"$result" "$one_node" "$result" "$one_node"
	expect lookup 0 "../ziatest 2 '$mpirun' $unseen $library" "$result" "$one_node"
	# Programs that reach a stub of MPI, before or after an MPI, go on.
	with="../ziatest 2 '$srun' $tmp/host $library $tmp/plugin.so"
	expect stub-before 0 "$with plm" "$result" "$one_node"
	expect stub-between 0 "$with lpm" \
		"$error nothing was measured: the first MPI_Init that host calls is a stub .*"
	expect stub-after 0 "$with lmp" "$result" "$one_node"
	# In a shell within another launch, whose variables would make all ranks 0, or 63. Each
	# launcher replaces its own.
	expect left-srun 0 "export OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0
		export PMI_SIZE=1 PMI_RANK=0 FLUX_JOB_SIZE=1 FLUX_TASK_RANK=0
		../ziatest 2 '$srun' $unseen" "$(nothing unseen)"
	expect left-mpirun 0 "export PMI_SIZE=64 PMI_RANK=63 FLUX_JOB_SIZE=64 FLUX_TASK_RANK=63
		../ziatest 2 '$mpirun' $unseen" "$(nothing unseen)"
	expect only 0 "$only $words ../lasting" "$result"

	if [ $mpi = openmpi ]; then
		# A library that was loaded before the others. (The fences of MPICH could not be
		# seen.)
		expect deepbind 0 "LATE=$node $launch $unseen $library MPI_Init" "$result"
		# The dlsym of a preloaded library, or of ziaprobe itself, is called in the place
		# of ours. (MPICH's build has AddressSanitizer, which calls dlsym before such a
		# library can answer.)
		expect other-dlsym 0 "export LD_PRELOAD=$tmp/dlsym.so:\${LD_PRELOAD-}
			../ziatest 2 '$srun' ../guest plain" "$result" "$one_node"
		if $python -c 'import mpi4py' 2>/dev/null; then
			slow_imports=python
			expect python 0 "PYTHONPATH=$tmp LATE=$node \\
				$launch $python -c 'import slow, mpi4py.MPI'" "$result"
		fi
	fi
	if [ $mpi = "$first_mpi" ]; then
		add_cases
	fi
	run_cases 3

	# Linux may count a sleep as waiting for a CPU if the task moves to another one meanwhile.
	slept=', mostly (blocked|waiting for a CPU)( \(.*\))?'
	for case in sleep clear $slow_imports; do
		late "$case" setup $node "$slept"
	done
	if [ -e "$dir/both" ]; then
		late both init $node ''	# what it did is not known
	fi
	# Open MPI 5 itself calls the fences, and so not ours.
	if [ $mpi = openmpi ] && ! grep -q '^fences: none' "$dir/deepbind/out"; then
		late deepbind setup $node "$slept"
	fi
	if [ $mpi = "$first_mpi" ]; then
		judge_cases
	fi
done
finish
