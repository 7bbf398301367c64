#!/bin/sh
# libziaprobe.so as a guest: programs that start MPI in unusual ways are measured, and keep what
# they have set. If nothing was measured, one line says so. Wrappers cause no false alarm.
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=3
error='ziaprobe: error:'
within='ziaprobe: warning: [a-z.]+ runs within the measured launch; .*'
guest=tests/helpers/guest.c
fakes=tests/helpers/fakes.c

# Programs and libraries that need no MPI to build
for name in STUB FOREIGN; do
	cc -shared -fPIC -D$name -o "$tmp/lib$name.so" $fakes -ldl || exit 1
done
cp "$tmp/libSTUB.so" "$tmp/plugin.so"
cc -DSERIAL -o "$tmp/serial" $guest -L"$tmp" -lSTUB -Wl,-rpath,"$tmp" &&
	cc -DSERIAL -o "$tmp/foreign" $guest -L"$tmp" -lFOREIGN -Wl,-rpath,"$tmp" || exit 1
# A program that is not linked with MPI: loader.py [STEPS LIBRARY [PLUGIN]]. Each letter of STEPS is
# a step: l loads LIBRARY; m calls its MPI_Init; s calls its start(), which calls MPI_Init; p calls
# run() of PLUGIN, which must reach the stub in PLUGIN.
cat >"$tmp/loader.py" <<'END'
import ctypes, sys
if len(sys.argv) == 1:
    sys.exit(hasattr(ctypes.CDLL(None), 'MPI_Init'))
for step in sys.argv[1]:
    if step == 'l':
        library = ctypes.CDLL(sys.argv[2])
    elif step == 'p':
        assert ctypes.CDLL(sys.argv[3]).run()
    else:
        assert library['MPI_Init' if step == 'm' else 'start'](None, None) == 0
library.MPI_Finalize()
END
loader="$(python3 -c 'import sys; print(sys.executable)') $tmp/loader.py"

# nothing PROGRAM: a pattern for the error that nothing was measured
nothing() {
	echo "$error nothing was measured: $1 exited with status 0, .* RTLD_DEEPBIND"
}

# add_cases: adds those that do not depend on the MPI library
add_cases() {
	number=0
	# A delay is reported where it belongs.
	expect library 0 "LATE=$node $launch ../linked plain" "$result"
	expect early 0 "EARLY=yes $launch ../linked plain" "$result"
	expect fork 0 "$launch ../guest fork -n $node" "$result"
	expect thread 0 "$launch ../linked thread -n $node" "$result"
	# A wrapper that sleeps, and starts the program in namespaces of its own, as containers do
	for space in pid mount; do
		printf '%s\n' 'if [ "$(hostname)" = "$LATE" ]; then sleep 2; fi' \
			"exec unshare --$space --fork --mount-proc \"\$@\"" >"$dir/$space"
		# One rank a node, because Open MPI crashes if two ranks share a process id.
		expect "in-$space" 0 "LATE=$node ../ziatest -v --ranks ranks 1 \\
			'srun -N 3 -n 3 --ntasks-per-node' sh ../$space ../guest plain" \
			"$result" '?ziaprobe: warning: ranks .* run on the same kernel .*'
	done

	# The program keeps what it has set.
	if localedef -i de_DE -f UTF-8 "$tmp/de_DE.UTF-8" 2>/dev/null; then
		expect comma 0 "LOCPATH=$tmp $launch ../guest plain -l" "$result"
	else
		skip "$mpi, comma" 'no source of the locale de_DE; tests/setup installs it'
	fi
	expect closed 0 "../ziatest --csv csv 2 '$srun' \\
		sh -c 'exec \"\$@\" <&- 2>&-' - ../guest plain"
	expect timer 0 "../ziatest -t 99 -w 98 2 '$srun' ../guest plain -wti" \
		"*ziaprobe: warning: cannot set the (timeout|moment of --where); .*" \
		"$result" "$one_node"
	printf '#!/bin/sh\nexec env -i PATH="$PATH" HOME="$HOME" "$@"\n' >"$dir/cleaner"
	cleaned="$error rank and size are not known to MPI: .*"
	expect clean 0 "../ziatest 2 'srun -N 3 -n 6 --ntasks-per-node={} sh ../cleaner' \
		../guest plain" "$cleaned" "$cleaned" "$cleaned"
	cp "$dir/guest" "$dir/flux"	# 'flux python' may be a rank
	expect named-flux 0 "../ziatest 2 '$srun' ../flux plain" "$result" "$one_node"
	# A launch within a launch is not measured: neither the first one of a script nor the
	# second, whatever starts the script.
	for task in env 'mpirun.openmpi --host n1:1 -n 1' 'mpiexec.hydra -hosts n1 -n 1'; do
		for launcher in 'srun -N 2 -n 4' "$far" "$near"; do
			number=$((number + 1))
			expect "within-$number" 0 "../ziatest $task -- sh ../twice $launcher \\
				../guest plain" "$within" "$within"
		done
	done

	# Nothing is measured.
	unknown="$error nothing was measured: Ziatest does not know the MPI library of foreign, \
\"Foreign 2\.30, 2026\"; measure a ziaprobe .*"
	expect foreign 0 "../ziatest 2 '$srun' $tmp/foreign 1" "$unknown"
	expect unranked 0 "../ziatest 1 'env -u SLURM_STEP_NUM_TASKS -u SLURM_PROCID N={}' \
		$tmp/foreign 1" "$unknown"
	expect stub-alone 0 "../ziatest 2 '$srun' $tmp/serial 1" \
		"$error nothing was measured: serial calls the MPI_Init of .*/libSTUB\.so, a .*"
	draw_number 99
	ended='exited with status'
	before='s after the start, before Ziatest saw a call to MPI_Init; read the .*'
	expect status $drawn "../ziatest 2 '$srun' perl -e 'exit $drawn'" \
		"$error nothing was measured: perl $ended $drawn, [0-9.]+ $before"
	expect status-256 0 "../ziatest 2 '$srun' perl -e 'exit 256'" "$(nothing perl)"
	expect without-rank 0 '../ziatest -- true' "$(nothing true)"
	expect not-found 0 "../ziatest 2 '$srun' $loader" "$(nothing 'python[0-9.]+')"
	# A fork that exits prints nothing. The process that the launcher started prints an error.
	expect ends-in-fork 0 "../ziatest 2 '$srun' perl -e 'fork || exit 3; wait'"
	expect ends-later 3 "../ziatest 2 '$srun' perl -e '%ENV = (); sleep 2; exit 3'" \
		"$error nothing was measured: perl $ended 3, [2-9][0-9]*[.][0-9] $before"
	only="../ziatest -q --start-only"
	words='srun -N 3 --ntasks-per-node 2 --'
	expect only 0 "$only $words ../guest plain -x -r 7" "$result"
	expect only-wrong 1 "$only --ppn 4 $words ../guest plain -x -r 7" \
		"$error the number of processes, 6, .*"
	expect only-foreign 1 "$only $words $tmp/foreign 1" "$error nothing was measured: .*"

	# A wrapper of a program that is measured, and of one that is not
	while read -r wrapper; do
		number=$((number + 1))
		expect "wrapper-$number" 0 "../ziatest 2 '$srun' $wrapper ../guest plain
			../ziatest 2 '$srun' $wrapper true" "$result" "$one_node" "?$(nothing true)"
	done <<'END'
timeout 60
perl -MPOSIX -e 'sigaction SIGCHLD, new POSIX::SigAction("IGNORE"); system @ARGV'
perl -MPOSIX -e 'sigaction SIGCHLD, new POSIX::SigAction(sub{},0,SA_NOCLDWAIT); system @ARGV'
perl -e '$p = fork || exec @ARGV; do { open F, "/proc/$p/stat" } until <F> =~ /\) Z/'
END
}

# late CASE PHASE NODE END: passes if, in CASE, PHASE took two seconds or more on NODE, and is the
# outlier, whose line ends with END. If the machine was so busy that the launch took five seconds or
# more, another phase may be the outlier, or none.
late() {
	is "$mpi, $1: the delay is in $2" "$(awk -F , -v node="$3" -v phase="$2_ms" "$columns"'
	$column["host"] == node && $column[phase] >= 1990 { is_late = 1 }
	END { print is_late ? "yes" : "no" }' "$dir/$1/ranks")" yes
	like "$mpi, $1: the outlier" "$(awk '
	/^[0-9.]+ s, / || (/^[0-9.]+ ms, / && $1 >= 5000) { print "busy" }
	sub(/^outlier: /, "")' "$dir/$1/out")" \
		"$2 of rank [0-5] on $3(| and 1 more rank there), [0-9.]+ m?s above the \
median$4|busy\\|.*"
}

# judge_cases: judges their results
judge_cases() {
	late library exec $node "$slept"
	for begin in pid:exec mount:daemon; do	# the creation is known only in the latter
		late "in-${begin%:*}" exec $node "$slept"
		is "$mpi, in-${begin%:*}: the path begins with ${begin#*:}" \
			"$(sed -n '/^critical path/{n; s/ .*//p}' "$dir/in-${begin%:*}/out")" \
			"${begin#*:}"
	done
	for case in fork thread; do
		late $case setup $node ''
		like "$mpi, $case: setup has only faults" \
			"$(sed -n '/^m*s /q; /^setup /p' "$dir/$case/out")" \
			'setup( +[0-9.]+){2} +[0-9]+ +[0-5] on n[123]'
	done
	# The thread's 300 ms are in cpu; cpu, cpu_wait and blocked add up to exec and init.
	is "$mpi, thread: init has what the thread did" "$(awk -F , '
		NR > 1 && ($14 < 300 || $15 != "" && ($14 + $15 + $16 - $6 - $8) ^ 2 > 1e-7)' \
		"$dir/thread/ranks")" ''
	is "$mpi, early: setup is unknown" "$(cut -d , -f 7 "$dir/early/ranks" | uniq)" setup_ms
	is "$mpi, closed: the file has a row" "$(wc -l <"$dir/closed/csv")" 2
}

for mpi in mpich openmpi; do
	has_mpi $mpi || continue
	quick_build $mpi
	"mpicc.$mpi" -shared -fPIC -DLAYER -o "$dir/layer.so" $fakes -ldl &&
		"mpicc.$mpi" -pthread -o "$dir/guest" $guest -lrt &&
		"mpicc.$mpi" -pthread -o "$dir/linked" $guest -lrt \
			-Wl,--no-as-needed "$dir/layer.so" || exit 1
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
		both='mpirun.openmpi --host n1:1,n2:1 -n'
		three='mpirun.openmpi --host n1:2,n2:2,n3:2 --map-by ppr:2:node'
		;;
	mpich)
		mpirun='mpiexec.hydra -hosts n1 -n 2 -ppn'
		near='mpiexec.hydra -launcher fork -n 2'
		program=$(command -v mpiexec.hydra) personality=''
		far='mpiexec.hydra -hosts n2,n3 -ppn 1 -n 2'
		both='mpiexec.hydra -hosts n1,n2 -ppn 1 -n'
		three='mpiexec.hydra -hosts n1,n2,n3 -n 6 -ppn 2'
		;;
	esac
	launch="../ziatest -v --csv csv --ranks ranks 2 'srun -N 3 -n 6 --ntasks-per-node'"
	draw_number 3
	node=n$drawn

	# Several programs in one launch
	cp "$dir/guest" "$dir/second"
	if [ -z "$personality" ]; then	# Open MPI 5.0.7 crashes if there is a ':'.
		expect several 0 "../ziatest -q $both 1 -- ../guest plain : \
			-n 1 -- ../second plain" "$result"
	fi
	# Launchers with unusual names: as a task, twice in a script, and with ranks of which only
	# some have the library
	cp "$program" "$dir/odd"
	cp "$(command -v hydra_pmi_proxy)" "$dir"	# hydra looks for it in its own directory
	printf '%s\n' '"$@" && "$@"' >"$dir/twice"
	other="$error nothing was measured: this process was started by a launcher within .*"
	odd="../odd $personality ${near#* }"
	expect odd-task 0 "../ziatest srun -N 1 -n 1 -- $odd ../guest plain" "?$within" "$other"
	expect odd-twice 0 "../ziatest -- sh ../twice $odd ../guest plain" "$other" "$other"
	if [ $mpi = mpich ]; then	# whose daemon has an unknown name, too
		renamed=$dir/renamed
		mkdir "$renamed"
		cp "$program" "$renamed/odd"
		cp "$dir/hydra_pmi_proxy" "$renamed/spawner"
		printf '#!/bin/sh\nexec %s/spawner "$@"\n' "$renamed" >"$renamed/hydra_pmi_proxy"
		chmod +x "$renamed/hydra_pmi_proxy"
		expect odd-daemon 0 "../ziatest -- sh ../twice ../renamed/odd ${near#* } \
			../guest plain" "$other" "$other"
	fi
	# A script may give the size of one launcher to another, on some ranks.
	draw_number 6
	printf '%s\n' "if [ \$SLURM_PROCID -lt $drawn ]; then" \
		'	export PMI_SIZE=$SLURM_NTASKS PMI_RANK=$SLURM_PROCID' \
		'	export OMPI_COMM_WORLD_SIZE=$SLURM_NTASKS' 'fi' 'exec "$@"' >"$dir/copies"
	expect copied-size 0 "../ziatest -q srun -N 3 -n 6 --ntasks-per-node 2 -- \
		sh ../copies ../guest plain" "$result"
	# A launcher that a rank other than 0 starts is named, too.
	draw_number 5
	printf '%s\n' "if [ \$SLURM_PROCID = $drawn ]; then" \
		"	${near%% *} --version >/dev/null" 'fi' 'exec "$@"' >"$dir/some"
	expect some-rank 0 "../ziatest -q srun -N 3 -n 6 --ntasks-per-node 2 -- \
		sh ../some ../guest plain" "$within" "$result"
	expect odd-some 0 "ssh n1 \"cd '$dir/odd-some' && ../ziatest -q -- \
		../odd $personality ${both#* } 2 ../guest plain\"" "$other"
	expect odd-launcher 0 "srun -N 1 -n 1 $odd \
		../ziaprobe \$(date +'%s %6N') 2" "$result" "$one_node"
	# A task that only asks a launcher for its version, and a process without a launcher, which
	# itself starts orted if it uses Open MPI
	printf '%s\n' "${near%% *} --version >/dev/null" 'exec "$@"' >"$dir/asker"
	expect asks 0 "../ziatest -q srun -N 1 -n 2 -- sh ../asker ../guest plain" \
		"$within" "?$within" "$result" "$one_node"
	expect single 0 '../ziatest -q -- ../guest plain' "$result" "$one_node"

	# The library is missing on one node, for whose ranks the others would wait.
	mkdir "$dir/full"
	cp "$dir/ziatest" "$dir/ziastart" "$dir/libziaprobe.so" "$dir/full"
	echo $node >"$dir/late"
	printf '%s\n' 'if [ "$(hostname)" = "$(cat ../late)" ]; then' \
		'	mount -t tmpfs none ../full && cp ../ziastart ../full || exit' \
		'fi' 'exec "$@"' >"$dir/hide"
	for launcher in "$three" 'srun -N 3 -n 6'; do
		expect "hidden-${launcher%% *}" '(127|1[34][0-9])' \
			"../full/ziatest $launcher unshare --mount sh ../hide -- ../guest plain" \
			"$error cannot read .*/full/libziaprobe\\.so: .* \\(on $node\\)"
	done

	# How each MPI library is found, and what it needs
	expect unset 0 "$launch ../guest plain -e -n $node" "$result"
	expect local 0 "LATE=$node $launch $loader ls $dir/layer.so" "$result"
	expect lookup 0 "../ziatest 2 '$mpirun' $loader lm $library" "$result" "$one_node"
	if nm -u "$dir/guest" | grep -q MPI_Session_init; then	# MPI 4
		expect both 0 "$launch ../guest both -n $node" "$result"
		expect session 0 "../ziatest 2 '$srun' ../guest session" \
			"$error nothing was measured: the program uses MPI Sessions; .*"
	fi
	# A tracer is preloaded before libziaprobe.so, or the program is linked with it.
	tracer="REAL_MPI=$library ../ziatest 2 '$srun'"
	expect tracer 0 "export LD_PRELOAD=$dir/layer.so:\${LD_PRELOAD-}
		$tracer ../guest plain" 'ziaprobe: traced' "$result" "$one_node"
	expect linked-tracer 0 "$tracer ../linked plain" 'ziaprobe: traced' "$result" "$one_node"
	# A directory with a name like that of the standard binary interface
	mkdir "$dir/libmpi_abi-5"
	ln -s "$library" "$dir/libmpi_abi-5/${library##*/}"
	expect abi-directory 0 "export LD_LIBRARY_PATH=$dir/libmpi_abi-5
		../ziatest 2 '$srun' ../guest plain" "$result" "$one_node"
	expect own-probe 0 "cp ../ziaprobe own && ../ziatest 2 '$srun' ./own \$(date +'%s %6N') 2" \
		"$result" "$one_node" "$result" "$one_node"
	# Programs that reach a stub of MPI, before or after an MPI, go on.
	with="$library $tmp/plugin.so"
	for steps in plm lmp; do
		expect "stub-$steps" 0 "../ziatest 2 '$srun' $loader $steps $with" \
			"$result" "$one_node"
	done
	expect stub-lpm 0 "../ziatest 2 '$srun' $loader lpm $with" \
		"$error nothing was measured: the first MPI_Init that python.* calls is a stub .*"
	if [ $mpi = "$first_mpi" ]; then
		add_cases
	fi
	run_cases 3

	# Linux may count a sleep as waiting for a CPU if the task moves to another one meanwhile.
	slept=', mostly (blocked|waiting for a CPU)( \(.*\))?'
	late unset setup $node "$slept"
	late 'local' setup $node "$slept"
	if [ -e "$dir/both" ]; then
		late both setup $node "$slept"
	fi
	if [ $mpi = "$first_mpi" ]; then
		judge_cases
	fi
done
finish
