#!/bin/sh
# run_ziatest.sh as a job under a real Slurm: settings, checks, what stops the job, failures of
# launches and of nodes, and the files that it leaves. Most cases use a stub instead of
# job/summarize.
. "$(dirname "$0")/lib.sh"

# Outside the cluster: builds in a copy, then runs this file again in four clusters at the same
# time. In one of them daemons fail, in two a node crashes.
if [ -z "${JOB_TEST-}" ]; then
	needs_cluster
	for tool in mpicc.openmpi git python3; do
		has $tool || skip_all "no $tool; tests/setup installs it"
	done
	mkdir "$tmp/clone"
	cp -r Makefile ziatest.c ziaprobe.c run_ziatest.sh probe job "$tmp/clone"
	make -s -C "$tmp/clone" MPICC=mpicc.openmpi || exit 1
	cp -r "$tmp/clone" "$tmp/small"
	make -s -B -C "$tmp/small" MPICC=mpicc.openmpi PAD=4096 || exit 1
	cat >"$tmp/small/job/summarize" <<-'END'
		#!/bin/sh
		echo 'Ziatest: a stub of the summary'
		eval "${AT_SUMMARY-}"
		exit "${VERDICT:-0}"
	END
	cat >"$tmp/submit" <<-'END'
		#!/bin/sh
		# submit ARGUMENT...: like sbatch --wait, which may notice the end of a job only
		# half a minute later
		id=$(sbatch --parsable "$@") || exit
		while
			sleep 0.5
			state=$(scontrol show job "$id") || state='JobState=RUNNING, or unknown'
			echo "$state" | grep -qE 'JobState=(PENDING|CONFIGURING|RUNNING|COMPLETING)'
		do
			:
		done
		exit "$(echo "$state" | sed -n 's/.* ExitCode=0:[1-9].*/1/p
			s/.* ExitCode=\([0-9]*\):.*/\1/p' | sort -n | tail -n 1)"
	END
	chmod +x "$tmp/submit"
	mpicc.openmpi -shared -fPIC -o "$tmp/shim.so" "$top/tests/helpers/shim.c"
	JOB_TEST=$tmp BOX=daemons timeout 300 "$top/tests/cluster" 3 sh "$top/tests/job.t" \
		>"$tmp/daemons" 2>&1 &
	JOB_TEST=$tmp BOX=crash timeout 500 "$top/tests/cluster" 4 sh "$top/tests/job.t" \
		>"$tmp/crashing" 2>&1 &
	JOB_TEST=$tmp BOX=crash-between timeout 500 "$top/tests/cluster" 4 sh "$top/tests/job.t" \
		>"$tmp/crashing-between" 2>&1 &
	JOB_TEST=$tmp BOX=main timeout 600 "$top/tests/cluster" 8 sh "$top/tests/job.t"
	status=$?
	wait
	exit $status
fi

cd "$JOB_TEST" || exit 1
export TIMEOUT=60
salloc='salloc --quiet --no-kill --exclusive'
sbatch="$JOB_TEST/submit --output=log"
injected="SRUN_OPTIONS=--export=ALL,LD_PRELOAD=$JOB_TEST/shim.so"

# job CASE COMMAND ARGUMENT...: runs COMMAND, which may begin with variables, on the script with
# ARGUMENTs, in a copy of $clone named CASE
clone=small
job() {
	cp -al "$clone" "$1"
	launcher=$2
	(
		cd "$1" || exit 1
		shift 2
		eval "env $launcher ./run_ziatest.sh \"\$@\"" >>log 2>&1 </dev/null
		echo $? >status
	)
	look "$1"
}

# Sets $status to the status of the job, $log to what it printed, $left to the names of the files
# that it left, and $ends to the last line of each output.
look() {	# CASE
	status=$(cat "$1/status")
	log=$(cat "$1/log")
	left=$(cd "$1" && find . -name '*.gz' -o -name '*.part' -o -name INCOMPLETE |
		sed 's/-[0-9]\+/-ID/' | sort | paste -s -d ' ' -)
	ends=$(for output in "$1"/ziatest-*/output/*.txt; do
		echo "$(basename "$output" .txt) $(tail -n 1 "$output")"
	done 2>/dev/null)	# there may be none
}

# Two jobs that lose a daemon after their first launch; the main cluster checks them
if [ "$BOX" = daemons ]; then
	sed -i 's/^SlurmdTimeout=.*/SlurmdTimeout=20/; s/^MessageTimeout=.*/MessageTimeout=8/' \
		"$SLURM_CONF"
	scontrol reconfigure
	cat >stop <<-'END'
		if [ ! -e stopped ]; then
			touch stopped
			kill -STOP $(cat "/run/cluster/$1.pid")
		fi
	END
	SHIM="n3 Finalize sh $PWD/stop slurmd-n3" job slurmd "$salloc --nodes=3" \
		NICS=1 RUNS=3 TIMEOUT=15 SWEEP='3 2' "$injected"
	# The clients of slurmctld then wait longer for an answer.
	sed -i 's/^MessageTimeout=.*/MessageTimeout=100/; s/^SlurmdTimeout=.*/SlurmdTimeout=0/' \
		"$SLURM_CONF"
	scontrol reconfigure
	job patient "$sbatch --nodes=1" NICS=1 --check
	begin=$(date +%s)
	SHIM="0 Finalize sh $PWD/stop slurmctld" job slurmctld \
		'sbatch --quiet --output=log --nodes=2' NICS=1 RUNS=2 SWEEP='2 1' "$injected"
	poll 150 grep -q '^Hand in' slurmctld/log
	echo $(($(date +%s) - begin)) >slurmctld/seconds
	exit
fi

# A node crashes in the second launch, or before it, so that srun cannot start processes there.
# Slurm takes it from the job 35 to 70 s later.
case $BOX in crash*)
	sed -i 's/^SlurmdTimeout=.*/SlurmdTimeout=30/' "$SLURM_CONF"
	scontrol reconfigure
	cat >crash-in-launch.sh <<-'END'
		if mkdir crashed-1 2>/dev/null; then
			exit
		fi
		exec sh "${0%-in-launch.sh}.sh"
	END
	cat >crash.sh <<-'END'
		ip link set eth0 down
		for process in /proc/[0-9]*; do
			pid=${process#/proc/}
			if [ "$pid" != $$ ] && [ "$process/ns/uts" -ef /proc/$$/ns/uts ]; then
				kill -STOP "$pid"
			fi
		done
		sleep 600
	END
	draw_number 3
	node=n$((drawn + 1))
	echo "$node" >"$BOX-node"
	if [ "$BOX" = crash ]; then
		export SHIM="$node Pmix sh $PWD/crash-in-launch.sh"
	else
		{
			poll 200 grep -q '^launch 1 of' "$BOX/log"
			# shellcheck disable=SC2029 # the nodes share the files
			ssh "$node" sh "$PWD/crash.sh"
		} &
	fi
	job "$BOX" "$sbatch --nodes=4 --time=60" \
		NICS=1 RUNS=4 TIMEOUT=20 SWEEP='4 3' SYSTEM_NODES=3 "$injected"
	exit ;;
esac

four=--nodelist=n1,n2,n3,n4
good='./ziatest-virtual-ID.tar.gz 0'
failed='./ziatest-virtual-ID-FAIL.tar.gz 1'
launched='launch [0-9] of [0-9] on [0-9] nodes: status 0; Time test [^|]*'

# In the background: a slurmstepd is stopped, so its step does not end. With SlurmdTimeout=0, the
# job waits for a minute; later, Slurm might set the node down.
mkdir answers
cat >answers/scontrol <<'END'
#!/bin/sh
if [ "$2" = config ]; then
	echo 'SlurmdTimeout           = 0 sec'
else
	exec "$REAL" "$@"
fi
END
cat >answers/sinfo <<'END'
#!/bin/sh
# Does not answer the first question; n8 is in two partitions
if mkdir asked-sinfo 2>/dev/null; then
	exit 1
fi
case $* in
*--nodes=*) printf '%s\n' 'n7 mixed' 'n8 mixed*' 'n8 mixed*' ;;
*) PATH=${PATH#*:} exec sinfo "$@" ;;
esac
END
chmod +x answers/*
# shellcheck disable=SC2016 # a shell reads it
SHIM='n8 Init kill -STOP $(ps -o ppid= -p $PPID)' job stuck "PATH=$PWD/answers:$PATH \
	REAL=$(command -v scontrol) $salloc --nodes=2 --nodelist=n7,n8" \
	NICS=1 TIMEOUT=5 RUNS=2 "$injected --job-name=mine" &

# squeue, which answers only if there is a file "answering", and then gives the job 80 s
mkdir squeue
cat >squeue/squeue <<'END'
#!/bin/sh
# Steps are listed as they are
case $* in
*--steps*) exec "$REAL" "$@" ;;
esac
echo "$*" >>asked
[ -e answering ] || exit 1
echo "$SLURM_JOB_ID|RUNNING|1:20|$SLURM_JOB_NODELIST"
END
chmod +x squeue/squeue
stub="PATH=$PWD/squeue:$PATH REAL=$(command -v squeue)"
# In the background, on nodes that no other job needs: squeue does not answer at all, or not during
# the launches
job unanswered "$stub $salloc --nodes=1 --nodelist=n5" NICS=1 &
cat >answering <<'END'
# Lets squeue answer the third question
{
	until [ "$(wc -l <asked)" -ge 2 ]; do
		sleep 0.1
	done 2>/dev/null
	touch answering
} &
exec "$@"
END
SHIM='0 Finalize rm answering; sleep 25' job reckoned \
	"$stub $salloc --nodes=1 --nodelist=n6 sh $PWD/answering" \
	NICS=1 RUNS=2 TIMEOUT=600 "$injected" &

# Errors outside a job, or in a directory that cannot be used
stops_here() {	# WHAT ERROR ARGUMENT...: an error, and nothing is left
	what=$1 error=$2
	shift 2
	run sh -c 'cd here && exec $as_user ./run_ziatest.sh "$@"' sh "$@"
	like "$what: an error" "$out/$err/$status" "/run_ziatest.sh: error: $error/1"
	is "$what: nothing is left" "$(find here -newer newest -type f)" ''
}
cp -r small here
touch newest
export as_user=
stops_here 'outside a job' 'this is not a Slurm job; .*' NICS=1
stops_here 'a check outside a job' 'this is not a Slurm job; .*' --check
use='use a whole number from 1 to 999999'
stops_here 'not a number' "SWEEP='2 3a' is not valid; use whole numbers from 1 to 999999" \
	SWEEP='2 3a'
stops_here 'zero' "PPN='0' is not valid; $use" PPN=0
stops_here 'a number that is too large' "NICS='1000000' is not valid; $use" NICS=1000000
stops_here 'two numbers' "RUNS='1 2' is not valid; $use" "RUNS=1	2"
stops_here 'an empty number' "TIMEOUT='' is not valid; $use" TIMEOUT=
stops_here 'a pattern' "CORES_PER_RANK='\*' is not valid; $use" CORES_PER_RANK='*'
SYSTEM_NODES=2a stops_here 'a bad value in the environment' "SYSTEM_NODES='2a' is not valid; $use"
stops_here 'an unknown name' "unknown argument 'CHECK=1'; use --check, or .* CORES_PER_RANK .*" \
	CHECK=1
stops_here 'a name without a value' "unknown argument 'SRUN_OPTIONS'; .*" SRUN_OPTIONS
stops_here 'a bad number of nodes' "--check=0 is not valid; $use" --check=0
stops_here 'two numbers of nodes' "--check=2\|3 is not valid; $use" "$(printf -- '--check=2\n3')"
stops_here 'an unknown option' "unknown argument '--chek'; .*" NICS=1 --chek
export SLURM_JOB_ID=77
mkdir here/ziatest-unknown-77
stops_here 'the directory already exists' \
	'/.*/ziatest-unknown-77 already exists; move it out of the way'
rmdir here/ziatest-unknown-77
for archive in ziatest-unknown-77.tar.gz ziatest-unknown-77-FAIL.tar.gz; do
	touch "here/$archive" newest
	stops_here "the archive $archive already exists" \
		"/.*/$archive already exists; move it out of the way"
	rm "here/$archive"
done
as_user='setpriv --reuid=65534 --regid=65534 --clear-groups'
stops_here 'a directory that is not writable' \
	'cannot write to /.*/here; make the directory writable'
as_user=
strip here/ziaprobe
touch newest
stops_here 'a program that is not the one in build.txt' \
	'the size of ziaprobe does not match build.txt; run make again'
rm here/build.txt
stops_here 'no build' 'there is no build in /.*/here; run make there'
rm here/job/prepare.sh
stops_here 'another directory' \
	'cannot find Ziatest in /.*/here; submit the job from the directory .*'
unset SLURM_JOB_ID

# stops CASE COMMAND ERROR ARGUMENT...: the job stops before its first launch, with ERROR; --check
# reports the same error, and leaves nothing
cat >both <<'END'
#!/bin/sh
"$@" --check
echo "status $?; left: $(ls -d ziatest-* 2>/dev/null)"
exec "$@"
END
chmod +x both
stops() {
	name=$1 command=$2 error="(.*\|)?run_ziatest.sh: error: $3"
	shift 3
	job "$name" "$command $JOB_TEST/both" "$@"
	like "$name: the check and the job report the error" "$log" \
		"$error\|(srun: .*\|)?status 1; left: \|$error(\|srun: .*)?"
	is "$name: nothing is left" "$(cd "$name" && ls -d ziatest-* 2>/dev/null) $status" ' 1'
}
printf '#!/bin/sh\nsleep 5\nexec "$@"\n' >later
printf '#!/bin/sh\nexec srun --ntasks=1 "$@"\n' >in-step
mkdir refusing
cat >refusing/srun <<'END'
#!/bin/sh
# Logs the calls, and rejects the inventory
echo "srun $*" >>calls
[ -n "${ALLOWED-}" ] || exit 1
exec "$REAL_SRUN" "$@"
END
chmod +x later in-step refusing/srun
calls="PATH=$PWD/refusing:$PATH REAL_SRUN=$(command -v srun)"
stops above "$salloc --nodes=2" 'SWEEP asks for 3 nodes, but the job has 2; request more' \
	NICS=1 SWEEP='2 3'
stops no-interface "$salloc --nodes=1" 'no network interface was found [^|]*; set NICS or PPN'
stops crowded "$salloc --nodes=1" \
	'PPN is 17, but a node has fewer CPUs \(16\); use --exclusive or [^|]*' \
	PPN=17
stops short "$salloc --nodes=1 --time=1 $PWD/later" \
	"only [0-9]* s of the job's time are left, too little for a launch; use a longer --time" \
	NICS=1
stops refused "$salloc --nodes=1 env $calls" 'srun failed during the inventory; try [^|]*' NICS=1
job no-steps "PATH=$PWD/squeue:$PATH REAL=false $salloc --nodes=1 \
	sh -c 'touch answering; \"\$@\"' sh" NICS=1
like 'squeue does not list the steps: an error, and nothing is left' \
	"$log/$(ls -d no-steps/ziatest-* 2>/dev/null)/$status" "run_ziatest.sh: error: after the \
inventory, squeue is not responding, so a step may still be running; submit the job again//1"
job hetjob "$salloc --nodes=1 : --nodes=1" NICS=1
like 'a heterogeneous job: an error, and nothing is left' "$log/$left $status" \
	'run_ziatest.sh: error: this is a heterogeneous job; .*/ 1'
for place in "step,$salloc --nodes=1" "array-step,$sbatch --nodes=1 --array=1"; do
	job "${place%%,*}" "${place#*,} $PWD/in-step" NICS=1
	like "${place%%,*}: an error, and nothing is left" "$log/$left $status" \
		'(.*\|)?run_ziatest.sh: error: this is step 0 of a job; [^|]*(\|srun: .*)?/ 1'
done

# Checks that find nothing wrong
job check "SBATCH_EXPORT=NONE $sbatch --nodes=2 --time=60" --check NICS=1 TIMEOUT=90 \
	SWEEP="$(printf '\t1\n2 1\n')" PLACEMENT=' --distribution=block	--exact'
like 'a check: settings, launches, times' "$log" "RUNS=4\|SWEEP=2 1\|NICS=1\|PPN=1\|\
CORES_PER_RANK=16\|TIMEOUT=90\|SYSTEM_NODES=8\|PLACEMENT=--distribution=block --exact\|\
SRUN_OPTIONS=\|\|4 launches: ./ziatest -v -t 90 --csv ... --ranks ... 1 \"srun \
--distribution=block --exact --job-name=ziatest-[0-9-]* --nodes=2 --ntasks=2 --cpus-per-task=16 \
--ntasks-per-node\"\|4 launches: .* --nodes=1 --ntasks=1 --nodelist='n[0-9]' .*\|\
8 launches and the archive take up to 1940 s; time left: [0-9]+ s"
is 'a check: nothing is left' "$(cd check && ls -d ziatest-* 2>/dev/null) $status" ' 0'
job block "RUNS=9 TIMEOUT=77 PPN=8 ALLOWED=yes $calls $salloc --nodes=1 --time=10 \
	sh -c 'sed -i s/^RUNS=.*/RUNS=7/ run_ziatest.sh; \"\$@\"' sh" --check PPN=2 CORES_PER_RANK=9
like 'a check: the block, the environment, arguments; too many cores, too little time' \
	"$log/$status" "run_ziatest.sh: warning: PPN 2 x CORES_PER_RANK 9 is more than [^|]*\|\
RUNS=7\|.*\|PPN=2\|.*\|TIMEOUT=77\|.*take up to 1659 s; time left: [0-9]+ s\|\
run_ziatest.sh: warning: the launches may not fit [^|]*/0"
like 'a check starts nothing but the inventory' "$(grep -v version block/calls)" \
	'srun --job-name=ziatest-[^|]* --nodes=1 [^|]* --node'

job other "$stub $sbatch --nodes=1" --check=256 NICS=2 SWEEP='128 256' RUNS=2
like 'a check for 256 nodes' "$log/$status" "(.*\|)?2 launches: [^|]* --nodes=256 --ntasks=512 \
--cpus-per-task=8 [^|]*\|2 launches: [^|]* --nodes=128 --ntasks=256 --nodelist=... [^|]*\|\
4 launches and the archive take up to 1060 s/0"
is 'a check for 256 nodes: asks no time, leaves nothing' \
	"$(cd other && ls -d asked ziatest-* 2>/dev/null)" ''
job other-above "$salloc --nodes=2" --check=1 NICS=1 SWEEP=2
like 'a check for fewer nodes: a size is above' "$log" \
	'.*error: SWEEP asks for 2 nodes, but the job has 1; request more.*'
mkdir no-config
printf '#!/bin/sh\n[ "$2" != config ] || exit 1\nexec "$REAL" "$@"\n' >no-config/scontrol
chmod +x no-config/scontrol
job defaults "-u TIMEOUT PATH=$PWD/no-config:$PATH REAL=$(command -v scontrol) $sbatch" \
	--check NICS=1
like 'a check of the defaults, with the default SlurmdTimeout: it fits' "$log/$status" \
	'.*\|4 launches and the archive take up to 3180 s; time left: 3[0-9]* s/0'

# A sweep with the real summary, in an environment that would distort it
clone=clone
job sweep "SLURM_DISTRIBUTION=cyclic SLURM_LABELIO=1 SLURM_DEBUG= SLURM_MPI_TYPE=none \
	SLURM_TOKEN=secret-word UCX_AUTH_TOKEN=secret-word UCX_TLS=tcp LC_ALL=de_DE.UTF-8 \
	SQUEUE_STATES=PENDING SLURM_TASK_PROLOG=/no/such SLURM_OVERLAP=1 SLURM_CPU_BIND=quiet \
	HYDRA_TOPO_DEBUG=0 \
	SLURM_BCAST=$PWD/sweep/copy RUNS=9 $sbatch --nodes=4 $four --exclude=n8" \
	SRUN_OPTIONS=--mpi=pmix RUNS=2 SWEEP='2 4 2' PPN=2 NICS=2 SYSTEM_NODES=4
clone=small
facts=$(cat sweep/ziatest-*/environment.txt)
is 'a sweep: the files and the status' "$left $status" "$good"
like 'a sweep: line 4 of the summary' "$(sed -n 4p sweep/ziatest-*/summary.txt)" \
	'UNVERIFIED: compute nodes, ranks per node'
is 'a sweep: the files in the archive' "$(tar -tzf sweep/ziatest-*.tar.gz |
	sed 's/^ziatest-virtual-[0-9]*.//; /\/$\|^$/d' | sort | paste -s -d ' ' -)" \
	"build.txt changes.diff environment.txt$(printf ' output/%s.txt' 2-1 2-2 4-1 4-2)\
$(printf ' ranks-%s.csv' 2-1 2-2 4-1 4-2) ranks.svg results.csv scaling.svg summary.txt"
like 'a sweep: the log has the settings, the launches, the summary' "$log" \
	"RUNS=2\|SWEEP=4 2\|.*SRUN_OPTIONS=--mpi=pmix\|\|($launched\|){4}Ziatest: .*\|Hand in [^|]*"
is 'a sweep: the outputs end in the status' "$ends" '2-1 status 0
2-2 status 0
4-1 status 0
4-2 status 0'
like 'a sweep: the first nodes' "$(grep -ho -e '--nodelist=[^ ]*' sweep/ziatest-*/output/*)" \
	"--nodelist='n\[1-2]'\|--nodelist='n\[1-2]'"
is 'a sweep: no secret is recorded' "$(grep -r secret-word sweep/ziatest-*/)" ''
like 'a sweep: the facts' "$facts" "RUNS=2\|.*\|SRUN_OPTIONS=--mpi=pmix\|\|CORES=16\|DATE=2[^|]*Z\|\
(.*\|)?HYDRA_TOPO_DEBUG=0\|(.*\|)?SLURM_BCAST=/.*/copy\|.*\|SLURM_DISTRIBUTION=cyclic\|.*\|\
SLURM_LABELIO=1\|.*\|SLURM_TASK_PROLOG=/no/such\|.*\|UCX_TLS=tcp\|ZIATEST_SYNC=0\|\
UNSET=SLURM_LABELIO SLURM_DEBUG SLURM_DISTRIBUTION SLURM_TASK_PROLOG SLURM_OVERLAP \
SLURM_CPU_BIND\|ExcNodeList=n8\|Features=\(null\)\|ReqNodeList=n\[1-4]\|SRUN=/.*/srun\|\
slurm-wlm [0-9.]*\|NICS_FOUND=\|NICS_DOWN=\|.*\|\
PROBE=/.*/sweep/ziaprobe on [^|,]*, .*\|NODES_FOUND=8\|\
NODES_UNUSED=[0-9] [^|]*\|.*The batch script:\|	#!/bin/sh\|.*\|\|\
The programs, after the last launch:\|[0-9a-f]{64}  ziatest\|[0-9a-f]{64}  ziaprobe"

# Launches that fail: the name of the archive shows the verdict of the summary or, without a
# summary, whether launches failed.
job twice "VERDICT=0 $salloc --nodes=2" RUNS=4 NICS=1 SWEEP='2 1' SRUN_OPTIONS=--no-such-option
failures='1 status 255
X-2 status 255
X-3 not launched: two launches of this size failed in a row
X-4 not launched: two launches of this size failed in a row'
is 'two failures in a row: no more launches of that size' "$ends" \
	"1-$(echo "$failures" | sed 's/X/1/')
2-$(echo "$failures" | sed 's/X/2/')"
is 'a PASS in spite of failures' "$left $status" "$good"
like 'two failures in a row: the log' "$log" ".*\|launch 2 of 4 on 2 nodes: status 255; Try [^|]*\|\
launch 3 of 4 on 2 nodes: not launched: two launches of this size failed in a row\|.*"
job mpi "VERDICT=1 $salloc --nodes=2" RUNS=1 NICS=1 SRUN_OPTIONS=--mpi=none
is 'the wrong --mpi, a FAIL' "$left $status" "$failed"
like 'the wrong --mpi: the log' "$log" \
	'.*\|launch 1 of 1 on 2 nodes: status [1-9][0-9]*; [^|]*(error|ERROR)[^|]*\|.*'
mkdir python
cat >python/python3 <<'END'
#!/bin/sh
exit "$STATUS"
END
chmod +x python/python3
clone=clone
job python-old "STATUS=1 PATH=$PWD/python:$PATH $salloc --nodes=1" RUNS=1 NICS=1
is 'a python3 that is too old: the files and the status' "$left $status" "$good"
like 'a python3 that is too old: the log' "$log" \
	'.*\|run_ziatest.sh: warning: there is no summary, [^|]* needs python3 [^|]*\|Hand in .*'
is 'a python3 that is too old: no summary' "$(cd python-old && ls -d ziatest-*/s* 2>/dev/null)" ''
job no-python "STATUS=127 PATH=$PWD/python:$PATH $salloc --nodes=1" RUNS=1 NICS=1 \
	SRUN_OPTIONS=--no-such-option
is 'no python3, a launch that fails: the files and the status' "$left $status" "$failed"
clone=small

# Jobs that Slurm ends
# shellcheck disable=SC2016,SC2089,SC2090 # a shell reads it
ended='scancel "$SLURM_JOB_ID"; sleep 60'
SHIM="0 Init $ended" job cancel "$sbatch --nodes=1" NICS=1 "$injected"
is 'a job that is cancelled' "$left" ./ziatest-virtual-ID/INCOMPLETE
SHIM="0 Init $ended" job revoked "$salloc --nodes=1" NICS=1 RUNS=1 "$injected"
is 'an allocation that is cancelled' "$left" ./ziatest-virtual-ID/INCOMPLETE
like 'an allocation that is cancelled: the log' "$log" \
	'.*error: the job was cancelled, or ended by Slurm; submit it again(\|.*)?'
job killed "AT_SUMMARY='$ended' $sbatch --nodes=1" NICS=1 RUNS=1
is 'a job that is cancelled while it makes the summary' "$left" ./ziatest-virtual-ID/INCOMPLETE

# Other places, and other ways to start a job
odd='it'\''s "$HOME" `x`'
job "$odd" "$salloc --nodes=2" RUNS=1 NICS=1
is 'a directory with blanks, quotes and a $' "$left $status" "$good"
echo 'LaunchParameters=use_interactive_step' >>"$SLURM_CONF"
echo "InteractiveStepOptions=\"--interactive --preserve-env sh $PWD/by-salloc\"" >>"$SLURM_CONF"
cat >by-salloc <<'END'
echo "in step $SLURM_STEP_ID"
exec ./run_ziatest.sh NICS=1 RUNS=1
END
scontrol reconfigure
job interactive "sh -c '$salloc --nodes=2' sh"
is "salloc's interactive step: the files and the status" "$left $status" "$good"
like "salloc's interactive step: the log" "$log" "(.*\|)?in step 4294967290\|.*\|$launched\|.*"
cat >by-hand <<'END'
# Alongside two steps of the user, one of which occupies all CPUs of the job until the first launch
srun --overlap --ntasks=1 --nodes=1 --job-name=monitor sleep 600 &
monitor=$!
srun --exact --ntasks=2 --nodes=2 --cpus-per-task=16 --job-name=holder sleep 600 &
tries=0
until [ "$(squeue --steps --noheader --format=%j | grep -cxE 'monitor|holder')" -eq 2 ] ||
	[ $((tries += 1)) -gt 300 ]; do
	sleep 0.1
done
"$@" --check >/dev/null
echo "a check beside a step that has all CPUs: status $?"
scancel "$(squeue --steps --noheader --format='%i %j' | awk '$2 == "holder" { print $1 }')"
SLURM_JOB_CPUS_PER_NODE='16,6(x3)' "$@"
status=$?
squeue --steps --noheader --format=%j | grep -x monitor
kill $monitor	# not scancel: salloc can hang if its job is cancelled from inside
wait
exit $status
END
job beside "SLURM_STEP_ID=7 $salloc --nodes=2 sh $PWD/by-hand" RUNS=2 PPN=2 SRUN_OPTIONS=--overlap
is "beside the user's own steps: the files and the status" "$left $status" "$good"
like "beside the user's own steps, on nodes of 16 and 6 cores; a step survives" "$log" \
	".*a check beside a step that has all CPUs: status 0\|.*CORES_PER_RANK=3\|.*\|$launched\|\
$launched\|.*\|Hand in [^|]*\|monitor\|.*"
job array "SLURM_EXPORT_ENV=NONE $sbatch --nodes=2 --array=1-2" RUNS=3 NICS=1
is 'an array: the files and the status' "$left $status" "${good% *} $good"
is 'an array: all launches of both tasks' "$(cat array/ziatest-*/output/* | grep -cx 'status 0')" 6

# Time that runs short, a node that is lost
# shellcheck disable=SC2016 # a shell reads it
SHIM='0 Init scontrol update jobid=$SLURM_JOB_ID timelimit=1; sleep 4' job over \
	"$salloc --nodes=1 --time=60" NICS=1 RUNS=2 "$injected"
like 'the time runs short' "$ends" \
	"1-1 status 0\|1-2 not launched: only [0-9]* s of the job's time are left"
SHIM='0 Finalize scontrol update nodename=n4 state=down reason=test' job lost \
	"$sbatch --nodes=4 $four" NICS=1 RUNS=2 SWEEP='4 3' "$injected"
scontrol update nodename=n4 state=resume 2>/dev/null	# in case it has not resumed by itself
like 'a node is marked down: smaller sizes are launched on the others' "$ends" "3-1 status 0\|\
3-2 status 0\|4-1 status [0-9]*\|4-2 not launched: the job has lost n4"
like 'a node is marked down: the log' "$log" ".*\|launch 2 of 2 on 4 nodes: not launched: the job \
has lost n4\|$launched\|$launched\|.*"

# A full disk: before the first launch, during it, and after the last one
mkdir full
# shellcheck disable=SC2029 # expands here
ssh n1 "mount -t tmpfs -o size=2m tmpfs '$PWD/full' && cp -r '$PWD/small/.' '$PWD/full'"
fill="dd if=/dev/zero of=$PWD/full/rest bs=4k 2>/dev/null"
mkdir filling
cat >filling/srun <<END
#!/bin/sh
# Fills the disk after the inventory
"$(command -v srun)" "\$@" || exit
case \$* in
*--node) $fill ;;
esac
exit 0
END
chmod +x filling/srun
full_disk() {	# MOMENT FILE VARIABLE...: at that MOMENT, FILE cannot be written
	moment=$1 file=$2
	shift 2
	mkdir "full-$moment"
	env "$@" ./submit --nodes=1 --nodelist=n1 --chdir="$PWD/full" \
		--output="$PWD/full-$moment/log" small/run_ziatest.sh RUNS=2 NICS=1 "$injected"
	is "a full disk, $moment: the status" $? 1
	# shellcheck disable=SC2029 # expands here
	is "a full disk, $moment: the files" "$(ssh n1 "cd '$PWD/full' && ls -d *.gz *.part \
		ziatest-*/INCOMPLETE; rm -rf rest ziatest-*" 2>/dev/null | sed 's/[0-9]\+/ID/')" \
		ziatest-virtual-ID/INCOMPLETE
	log=$(cat "full-$moment/log")
	like "a full disk, $moment: the log" "$log" "(.*\|)?run_ziatest.sh: error: \
cannot write /.*/full/ziatest-virtual-[0-9]*$file; if the disk is full, make room [^|]*"
}
full_disk 'before the first launch' '' PATH="$PWD/filling:$PATH"
full_disk 'during a launch' /output/1-[12].txt SHIM="0 Init $fill"
full_disk 'after the last launch' '(-FAIL)?.tar.gz' AT_SUMMARY="$fill"

# Network interfaces. Five InfiniBand devices: one down, one virtual, one a bond
nics() {	# WHAT FOUND-AND-DOWN: what the inventory counts on n1
	# shellcheck disable=SC2029 # expands here
	is "$1" "$(ssh n1 "'$PWD/small/job/inventory' --node" | sed -n 's/^NICS_//p' |
		paste -s -d ' ' -)" "$2"
	ssh n1 umount /sys/class
}
ssh n1 'mount -t tmpfs tmpfs /sys/class
	mkdir /sys/class/infiniband
	cd /sys/class/infiniband
	for card in mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_bond_0; do
		mkdir -p $card/device $card/ports/1
		echo 4: ACTIVE >$card/ports/1/state
		echo 400 Gb/sec >$card/ports/1/rate
	done
	echo 1: DOWN >mlx5_2/ports/1/state
	mkdir mlx5_3/device/physfn'
nics 'InfiniBand: one is down, one virtual, one a bond' 'FOUND=2 DOWN=1'
# A slow RoCE card for storage; fast cards, one of them with two ports; a card of another driver,
# which is down; an InfiniBand port that is down and whose IPoIB device is up
ssh n1 'mount -t tmpfs tmpfs /sys/class
	mkdir -p /sys/class/infiniband /sys/class/net /sys/class/drivers/cxi /sys/class/drivers/mlx5
	functions=/sys/class/pci0000:00
	cd /sys/class
	while IFS=, read -r name function rate state driver; do
		mkdir -p $name/ports/1 $functions/0000:0$function:00.0
		ln -s $functions/0000:0$function:00.0 $name/device
		ln -sfn /sys/class/drivers/$driver $functions/0000:0$function:00.0/driver
		case $name in
		net*)
			rmdir $name/ports/1 $name/ports
			echo $rate >$name/speed
			echo $state >$name/operstate ;;
		*)
			echo $rate >$name/ports/1/rate
			echo $state >$name/ports/1/state ;;
		esac
	done <<-END
		infiniband/mlx5_0,0,25 Gb/sec (1X EDR),4: ACTIVE,mlx5
		net/eth0,0,25000,up,mlx5
		net/hsn0,1,200000,up,cxi
		net/hsn1,2,200000,up,cxi
		net/hsn2,3,200000,up,cxi
		net/hsn3,4,200000,up,cxi
		net/hsn3b,4,200000,up,cxi
		net/hsn4,5,200000,down,cxi
		net/eth1,6,-1,up,mlx5
		infiniband/mlx5_1,7,400 Gb/sec (4X NDR),1: DOWN,mlx5
		net/ib1,7,400000,up,mlx5
	END'
nics 'a slow RoCE card, four fast functions, one down, an IPoIB device' 'FOUND=4 DOWN=1'

# The nodes that job/silent names, for invented outputs
names() {	# NODES LINE...: runs job/silent on an output that consists of the LINEs
	of=$1
	shift
	printf '%s\n' "$@" >names
	seq -f "n%g$domain" "$of" | "$top/job/silent" names
}
domain=
on='ziaprobe: error: timeout of 5 s: rank 4 on'
spent='has spent 3997 ms in MPI_Init: cpu 104 ms, cpu_wait 2 ms, blocked 3891 ms'
starting='ziaprobe: error: timeout of 5 s: a rank on'
is 'no response: a rank without its number, a host name with dots, after other text' "$(names 5 \
	"$on n1 $spent" "$starting n3.example.org $spent" "warning$on n5 $spent")" \
	'no response from: n2 n4'
is 'no response: 100 nodes' "$(names 102 "$on n1 $spent" "$on n2 $spent")" \
	"no response from: $(seq -s ' ' -f n%g 3 102)"
is 'no response: 123 nodes' "$(names 125 "$on n1 $spent" "$on n2 $spent")" \
	"no response from: $(seq -s ' ' -f n%g 3 102) and 23 more"
is 'no response: a single node of several reports, with two ranks' \
	"$(names 4 "$on n3 $spent" "$on n3 $spent")" 'response from n3 only'
is 'no response: every node reports' "$(names 2 "$on n2 $spent" "$on n1 $spent")" ''
is 'no response: no name is a node of the launch' "$(names 2 "$on n3 $spent" "$on m1 $spent")" ''
is 'no response: no timeout' "$(names 2 'srun: error: n1: task 0: Exited with exit code 1')" ''
is 'no response: a launch with a time' "$(names 2 "$on n1 $spent" \
	'Time test was completed in   601.52 millisecs')" ''
domain=.example.org
is 'no response: node names with dots' "$(names 3 "$on n2 $spent" "$on n3 $spent")" \
	'no response from: n1.example.org'

# A node that never reaches main cannot report the timeout; one that hangs in MPI_Init does. When
# the sleep ends, the shell kills the process, which would otherwise go on to main.
hangs() {	# CASE CALL SWEEP: a random one of the job's first SWEEP nodes hangs in CALL
	draw_number "$3"
	SHIM="n$drawn $2 trap : TERM; sleep 30; kill -KILL \$PPID" \
		job "$1" "$salloc --nodes=4 $four" PPN=2 RUNS=1 TIMEOUT=15 SWEEP="$3" "$injected"
	line="launch 1 of 1 on $3 nodes: status [1-9][0-9]* \(timed out\); ziaprobe: error: [^|]*"
	output=$(tail -n 2 "$1"/ziatest-*/output/*)
}
hangs silent Exec 3
like 'one of 3 nodes does not respond: the log names it' "$log" \
	".*\|$line\|no response from: n$drawn\|Ziatest: .*"
like 'one of 3 nodes does not respond: its output names it' "$output" \
	"no response from: n$drawn\|status [1-9][0-9]*"
like 'one of 3 nodes does not respond: the summary names it' \
	"$("$top/job/summarize" silent/ziatest-*/)" \
	".*\|Problems\|.*no response from: n$drawn.*"
hangs heard Start 4
like 'every node reports the timeout: none is named' "$log" ".*\|$line\|Ziatest: .*"

# The jobs in the background
wait
look stuck
like 'sinfo answers only the second time: the nodes are counted' \
	"$(grep -h ^NODES_FOUND= stuck/ziatest-*/environment.txt)" NODES_FOUND=8
like 'a step does not end: no more launches' "$ends" \
	"2-1 status [1-9][0-9]*\|\
2-2 not launched: step [0-9.]* has not ended; down or not responding: n8"
is 'a step does not end: the files and the status' "$left $status" "$good"
look unanswered
like 'squeue never answers: an error, and nothing is left' "$log/$status" \
	'run_ziatest.sh: error: squeue has not responded for 60 s; [^|]*/1'
is 'squeue never answers: nothing is left' "$(ls -d unanswered/ziatest-* 2>/dev/null)" ''
look reckoned
like 'squeue does not answer after the first launch: the end of the job is remembered' "$ends" \
	"1-1 status 0\|1-2 not launched: only [0-5]?[0-9] s of the job's time are left"
is 'squeue does not answer: the files and the status' "$left $status" "$good"
daemons_ended() {
	[ -e slurmctld/seconds ]
}
poll 200 daemons_ended || diag "$(cat daemons)"
look slurmd
like 'a slurmd stops: after two failures, launches without its node' "$ends" \
	'2-1 status 0\|2-2 status 0\|2-3 status 0\|3-1 status 0\|3-2 status [1-9][0-9]*\|3-3 .*'
like 'a slurmd stops: the log names its node' "$log" '.*\|no response from: n3\|.*'
look slurmctld
like 'slurmctld stops: no more launches' "$ends" \
	"1-1 (.*)\|1-2 (.*)\|2-1 status 0\|2-2 not launched: squeue is not responding, so a step .*"
is 'slurmctld stops: the files and the status' "$left $status" "$good"
poll 400 test -e crash-between/status || diag "$(cat crashing-between)"
look crash-between
node=$(cat crash-between-node)
like "$node crashes before the second launch: all 4 launches on 3 nodes" "$ends" \
	"3-1 status 0\|3-2 status 0\|3-3 status 0\|3-4 status 0\|4-1 status 0\|\
4-2 status [1-9][0-9]*\|4-3 not launched: the job has lost $node\|4-4 .* the job has lost $node"
is "$node crashes before the second launch: the files and the status" "$left $status" "$good"
poll 400 test -e crash/status || diag "$(cat crashing)"
look crash
node=$(cat crash-node)
like "$node crashes in the second of 4 launches on 4 nodes: all 4 launches on 3 nodes" "$ends" \
	"3-1 status 0\|3-2 status 0\|3-3 status 0\|3-4 status 0\|4-1 status 0\|\
4-2 status [1-9][0-9]*\|4-3 not launched: the job has lost $node\|4-4 .* the job has lost $node"
is "$node crashes: the files and the status" "$left $status" "$good"
like "$node crashes: the launch names it" "$(cat crash/ziatest-*/output/4-2.txt)" \
	".*\|no response from: $node\|status [1-9][0-9]*"
dead="step [0-9.]* is still listed, but has lost $node; further launches have --overlap"
version=$(srun --version | grep -o '[0-9.]*$')
case $version in
2[0-2].*|23.02.*)
	like "$node crashes: the dead step is not waited for" "$log" \
		".*\|$dead\|launch 2 of 4 on 4 nodes: .*"
	is "$node crashes: the further launches overlap" \
		"$(grep -l '^srun --overlap --hint' crash/ziatest-*/output/3-* | wc -l)" 4 ;;
*)
	is "$node crashes: Slurm ends the step" "$(echo "$log" | grep -e --overlap)" '' ;;
esac
seconds=$(cat slurmctld/seconds)
ok "slurmctld stops: the job does not wait for clients, and ends after $seconds s" \
	[ "$seconds" -lt 200 ]
look patient
like 'a check with SlurmdTimeout=0: a step has 60 s to end' "$log" \
	'.*\|4 launches and the archive take up to 1000 s; time left: .*'
finish
