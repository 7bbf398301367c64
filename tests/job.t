#!/bin/sh
# run_ziatest.sh as a job under a real Slurm: settings, what stops it, what it launches and leaves,
# and what it does about nodes that die, steps that do not end, and the end of its time
. "$(dirname "$0")/lib.sh"

# Outside the cluster: builds in a copy, then runs this file again in three clusters at the same
# time. In two of them a node is lost.
if [ -z "${JOB_TEST-}" ]; then
	needs_cluster
	for tool in mpicc.openmpi git python3; do
		has $tool || skip_all "no $tool; tests/setup installs it"
	done
	printf '%s\n' "$types" | grep -qw pmix || skip_all 'this Slurm has no pmix plugin'
	mkdir "$tmp/clone"
	cp -r Makefile ./*.c prepare observe explain preload run_ziatest.sh tools job "$tmp/clone"
	make -s -C "$tmp/clone" MPICC=mpicc.openmpi || exit 1
	cp -r "$tmp/clone" "$tmp/small"
	make -s -B -C "$tmp/small" MPICC=mpicc.openmpi PAD=4096 || exit 1
	cat >"$tmp/small/tools/summarize" <<-'END'
		#!/bin/sh
		eval "${SUMMARY-echo Ziatest: a stub of the summary}"
		exit "${VERDICT:-0}"
	END
	cat >"$tmp/submit" <<-'END'
		#!/bin/sh
		# submit ARGUMENT...: like sbatch --wait, which may notice the end of a job only
		# half a minute later, and would wait for a node that is lost
		id=$(sbatch --parsable "$@") || exit
		while
			sleep 0.5
			state=$(scontrol show job "$id") || state='JobState=RUNNING, or unknown'
			echo "$state" | grep -qE 'JobState=(PENDING|CONFIGURING|RUNNING)' ||
				pgrep -f "job0*$id/slurm_script" >/dev/null
		do
			:
		done
		exit "$(echo "$state" | sed -n 's/.* ExitCode=0:[1-9].*/1/p
			s/.* ExitCode=\([0-9]*\):.*/\1/p' | sort -n | tail -n 1)"
	END
	chmod +x "$tmp/submit"
	mpicc.openmpi -shared -fPIC -o "$tmp/shim.so" "$top/tests/helpers/shim.c"
	export JOB_TEST="$tmp"
	for box in dies killed; do
		BOX=$box timeout 500 "$top/tests/cluster" 4 sh "$top/tests/job.t" \
			>"$tmp/$box.box" 2>&1 &
	done
	BOX=main timeout 600 "$top/tests/cluster" 8 sh "$top/tests/job.t"
	status=$?
	wait
	exit $status
fi

cd "$JOB_TEST" || exit 1
four=--nodelist=n1,n2,n3,n4
injected="SRUN_OPTIONS=--export=ALL,LD_PRELOAD=$JOB_TEST/shim.so"

# job CASE VARIABLES OPTIONS ARGUMENT...: submits the script with sbatch's OPTIONS, in a copy of
# $clone named CASE, and waits for its end
clone=small
job() {
	cp -al "$clone" "$1"
	name=$1
	(
		cd "$1" || exit 1
		submit="env $2 $JOB_TEST/submit --output=log $3 run_ziatest.sh"
		shift 3
		eval "$submit \"\$@\"" >submitted 2>&1
		echo $? >status
	)
	look "$1"
}

# Sets $status to the status of the job, $log to what it printed, $left to the names of the archives
# that it left, and $ends to the last line of each output.
look() {	# CASE
	status=$(cat "$1/status")
	log=$(cat "$1/log")
	left=$(cd "$1" && find . -name '*.gz' -o -name '*.part' | sed 's/-[0-9]\+/-ID/' |
		paste -s -d ' ' -)
	ends=$(for output in "$1"/ziatest-*/output/*.txt; do
		echo "$(basename "$output" .txt) $(tail -n 1 "$output")"
	done 2>/dev/null)	# there may be none
}

# A random node is lost in the second launch (dies), or its slurmd before it (killed).
if [ "$BOX" != main ]; then
	sed -i "s/^SlurmdTimeout=.*/SlurmdTimeout=300/" "$SLURM_CONF"
	scontrol reconfigure
	cat >"$BOX.sh" <<-END
		if mkdir launched-$BOX 2>/dev/null; then
			exit
		fi
		ip link set eth0 down
		for process in /proc/[0-9]*; do
			pid=\${process#/proc/}
			if [ "\$pid" != \$\$ ] && [ "\$process/ns/uts" -ef /proc/\$\$/ns/uts ]; then
				kill -STOP "\$pid"
			fi
		done
		sleep 600
	END
	draw_number 3
	node=n$((drawn + 1))
	echo "$node" >"$BOX.node"
	if [ "$BOX" = killed ]; then
		pid=/run/cluster/slurmd-$node.pid
		export SHIM="0 Finalize mkdir launched-killed && kill \$(cat $pid)"
	else
		export SHIM="$node Pmix sh $PWD/$BOX.sh"
	fi
	clone=clone
	job "$BOX" '' "--nodes=4 --time=60" RUNS=4 PPN=1 TIMEOUT=10 SWEEP='4 3' SYSTEM_NODES=4 \
		"$injected"
	exit
fi

# Errors before anything is written. Slurm runs a copy named slurm_script, and has no job 77.
cp -r small here
touch newest
in_job='SLURM_JOB_ID=77 SLURMD_NODENAME=n1'
two_nodes="$in_job SLURM_JOB_NUM_NODES=2 SLURM_JOB_NODELIST=n[1-2] SLURM_JOB_CPUS_PER_NODE=16(x2)"
no_job='this is not a batch job with a single component; submit the script with sbatch'
exists='ziatest-unknown-77.tar.gz already exists; move it out of the way'
many='is too large; at most 1000 launches of each size, and 6000 in all'
refused() {	# ERROR VARIABLES ARGUMENT...
	error=$1 variables=$2
	shift 2
	# shellcheck disable=SC2016,SC2086 # another shell; words
	run timeout 20 env $variables sh -c 'cd here && ./run_ziatest.sh "$@"' sh "$@"
	like "refused: $error" "$out/$err/$status" "/run_ziatest.sh: error: $error/1"
	is "$error: nothing is written" "$(find here -newer newest -type f)" ''
}
for setting in TIMEOUT=08 SYSTEM_NODES=1000000 'SWEEP=2 3a' NICS=1 --nodes=4 'SWEEP= ' ''; do
	refused "'$setting' is not valid; .*" "$in_job" "$setting"
done
refused "'RUNS=1\|2' is not valid; .*" "$in_job" "$(printf 'RUNS=1\n2')"
refused "$no_job" '' PPN=1
refused "$no_job" SLURM_JOB_ID=77 PPN=1
refused "$no_job" "$in_job SLURM_STEP_ID=0" PPN=1
refused "$no_job" "$in_job SLURM_HET_SIZE=2" PPN=1
refused 'SWEEP asks for 3 nodes, but the job has 2; request more' "$two_nodes" SWEEP='2 3' PPN=1
refused "RUNS=1001 $many" "$two_nodes" RUNS=1001 PPN=1
refused "RUNS=900 $many" "$two_nodes SLURM_JOB_NUM_NODES=7" RUNS=900 PPN=1 SWEEP='1 2 3 4 5 6 7'
mkdir here/ziatest-unknown-77
refused "/.*/ziatest-unknown-77 or [^|]*$exists" "$in_job" PPN=1
rmdir here/ziatest-unknown-77
touch here/ziatest-unknown-77.tar.gz newest
refused "/.*/ziatest-unknown-77 or [^|]*$exists" "$in_job" PPN=1
rm here/changes.diff
refused 'there is no build in /.*/here; run make, and submit the job from there' "$in_job"

# A sweep with the real summary, submitted in a step, in an environment that would distort it. Each
# node has 16 cores, two of which are reserved, and sinfo shows the nodes only if asked for all.
sed -i 's/CPUs=16/& CoreSpecCount=2/; s/^KillWait=.*/KillWait=30/' "$SLURM_CONF"
scontrol reconfigure
scontrol update partitionname=all hidden=yes
clone=clone
job sweep "SLURM_STEP_ID=0 SLURM_LABELIO=1 SLURM_DISTRIBUTION=cyclic SLURM_THREADS_PER_CORE=2 \
	SLURM_NTASKS_PER_CORE=2 SLURM_OVERCOMMIT=1 SLURM_MPI_TYPE=pmix SLURM_TASK_PROLOG=/no/such \
	SRUN_EXPORT_ENV=NONE SINFO_PARTITION=none SINFO_SORT=-N SQUEUE_STATES=PENDING \
	SCANCEL_STATE=PENDING UCX_TLS=tcp PYTHONHOME=/nowhere PYTHONPATH=/nowhere \
	SLURM_TOKEN=secret-word FI_SECRET=secret-word FI_PASSWD=secret-word UCX_KEY=secret-word \
	OMPI_MCA_x_password=secret-word PMIX_CRED=secret-word SLURM_DB_PASS=secret-word \
	MPIR_api_key=secret-word UCX_AUTH=secret-word \
	LC_ALL=de_DE.UTF-8 RUNS=9 SRUN_OPTIONS=--mpi=none" \
	"--nodes=4 $four --exclude=n8 --export=ALL,SLURM_CLUSTERS=none" \
	SRUN_OPTIONS=--mpi=pmix RUNS=2 SWEEP='2 4 2' PPN=2 SYSTEM_NODES=4
clone=small
is 'a sweep: the files and the status' "$left $status" './ziatest-virtual-ID.tar.gz 0'
is 'a sweep: the files in the archive' "$(tar -tzf sweep/ziatest-*.tar.gz |
	sed 's/^ziatest-virtual-[0-9]*.//; /\/$\|^$/d' | sort | paste -s -d ' ' -)" \
	"SHA256SUMS build.txt changes.diff \
environment.txt$(printf ' nodes-%s.txt' 2-1 2-2 4-1 4-2) \
nodes.svg$(printf ' output/%s.txt' 2-1 2-2 4-1 4-2)$(printf ' ranks-%s.csv' 2-1 2-2 4-1 4-2) \
ranks.svg results.csv scaling.svg summary.txt"
launched='launch [0-9] of [0-9] on [0-9] nodes: status 0; Time test [^|]*'
like 'a sweep: the log' "$log" "($launched\|){4}Ziatest: job .*\|The archive is \
/.*/sweep/ziatest-virtual-[0-9]*.tar.gz, SHA-256 $(cat sweep/*.gz | sha256sum | cut -c -64)"
is 'a sweep: the summary in the log' "$(sed '/^launch /d; /^The archive/d' sweep/log)" \
	"$(cat sweep/ziatest-*/summary.txt)"
sums_are_complete() {	# CASE: all files, except the summary and the pictures, in their order
	is "$1: the checksums" "$(mkdir "$1/unpacked" && tar -C "$1/unpacked" -xzf "$1"/*.gz &&
		cd "$1"/unpacked/* && sha256sum --quiet -c SHA256SUMS && cut -c 67- SHA256SUMS)" \
		"$(cd "$1"/unpacked/* || echo no archive
			find . -type f | sed 's/^..//' | LC_ALL=C sort |
				grep -vx 'SHA256SUMS\|summary.txt\|.*[.]svg' || echo 'no files')"
}
sums_are_complete sweep
is 'a sweep: the outputs end in the status' "$ends" '2-1 status 0
2-2 status 0
4-1 status 0
4-2 status 0'
like 'a sweep: the command line' "$(head -n 1 sweep/ziatest-*/output/2-1.txt)" \
	"srun --hint=nomultithread --distribution=block:block --cpus-per-task=7 --mpi=pmix \
--overlap --job-name=ziatest-2-1 --nodelist=./ziatest-virtual-[0-9]*/nodes-2-1.txt --nodes=2 \
--ntasks=4 --ntasks-per-node 2 ./ziaprobe .* 2 --timeout 240 --csv .* --verbose --verbose"
is 'a sweep: the nodes' "$(tail -n 9 sweep/ziatest-*/nodes-[24]-1.txt | grep -x 'n.' |
	paste -s -d ' ' -)" 'n1 n2 n1 n2 n3 n4'
is 'a sweep: no secret is recorded' "$(grep -r secret-word sweep/ziatest-*/)" ''
like 'a sweep: the facts' "$(cat sweep/ziatest-*/environment.txt)" "RUNS=2\|SWEEP=4 2\|PPN=2\|\
TIMEOUT=240\|SYSTEM_NODES=4\|SRUN_OPTIONS=--mpi=pmix\|DATE=2[^|]*Z\|NODES_FOUND=8\|\
NODES_UNUSED=[0-9] [^|]*\|CORES=14\|INTERFACES=\|PROBE=/.*/sweep/ziaprobe on [^|,]*, [^|]*\|\
SRUN=/.*/srun\|slurm-wlm [0-9.]*\|(.*\|)?SLURM_DISTRIBUTION=cyclic\|.*\|SLURM_LABELIO=1\|.*\|\
UCX_TLS=tcp\|ZIATEST_SYNC=0\|ExcNodeList=n8\|Features=\(null\)\|ReqNodeList=n\[1-4]\|\|\
The batch script, and job/launches:\|	#!/bin/sh\|.*\|\|\
The nodes and the programs, after the last launch:\|\
4 nodes: interfaces 0, rate 0 Mb/s, down 0, cores [0-9]*, threads [0-9]*, memory [0-9.]* GiB, [^|]*\
\|[0-9a-f]{64}  ziatest\|[0-9a-f]{64}  ziaprobe"

# Failures
job no-interface '' --nodes=1
is 'no interface: an error, and nothing is written' "$log/$(cd no-interface && echo ziatest-*)" \
	'run_ziatest.sh: error: no network interface was found on the first node; set PPN/ziatest-*'
job twice VERDICT=3 --nodes=2 RUNS=4 PPN=1 SWEEP='2 1' SRUN_OPTIONS=--no-such-option
not_launched='not launched: two launches of this size failed in a row'
is 'two failures in a row: no more launches of that size' "$ends" "$(for size in 1 2; do
	printf "$size-%s\n" '1 status 255' '2 status 255' "3 $not_launched" "4 $not_launched"
done)"
is 'two failures in a row: the archive, and the status of the summary' "$left $status" \
	'./ziatest-virtual-ID.tar.gz 3'
mkdir python
printf '#!/bin/sh\nexit 1\n' >python/python3
chmod +x python/python3
# srun has no option --python, so this launch fails.
while IFS=, read -r option expected summary why; do
	job "summary-$option" "SUMMARY='$summary' PATH=$PWD/$option:$PATH" --nodes=1 RUNS=1 PPN=1 \
		SRUN_OPTIONS="--$option"
	is "no summary, $why: there is an archive, and the status is right" \
		"$left $status $(tar -tzf "summary-$option"/*.gz | grep -c summary)" \
		"./ziatest-virtual-ID.tar.gz $expected 0"
	like "no summary, $why: the log says why" "$log" ".*\|There is no summary: $why\|To make \
one, run tools/summarize ziatest-[^|]*\|The archive is [^|]*"
done <<'END'
quiet,0,kill -KILL $$,it was killed after [0-9]* s: it reached its limit of 60 s, or memory ran out
unbuffered,0,echo an error >&2; exit 2,tools/summarize failed; its error message is above
overlap,0,scancel --batch --signal=TERM $SLURM_JOB_ID; sleep 600,the job is ending
python,1,exit 127,this node has no Python 3.6 or later
END
mkdir full
printf '#!/bin/sh\ntouch "$2"\nexit 2\n' >full/tar
chmod +x full/tar
job disk "PATH=$PWD/full:$PATH" --nodes=1 RUNS=1 PPN=1
like 'a full disk: an error, and no archive' "$log/$left $status" \
	'.*\|run_ziatest.sh: error: cannot write /.*.tar.gz; what it would [^|]*.part 1'

# Two tasks of an array, of which one starts later, beside steps of the user's own, without which
# the launches would not end. squeue lists the steps of both for the last one, which has the id of
# the array.
odd='it'\''s "$HOME" `x`'
{
	poll 60 sh -c '[ "$(squeue --steps --noheader --format=%j | grep -c ^ziatest-2-1)" -eq 2 ]'
	for id in $(squeue --noheader --format=%A); do
		srun --jobid="$id" --overlap --nodes=1 --ntasks=1 --job-name=monitor sleep 600 &
	done
} >monitor 2>&1 &
SHIM='0 Init until squeue --jobs=$SLURM_JOB_ID --steps -h --format=%j | grep -qx monitor; do
		sleep 0.2
	done
	case $(hostname) in n1|n2) sleep 4 ;; esac' \
	job "$odd" '' '--nodes=2 --array=5,6' RUNS=2 PPN=1 TIMEOUT=60 "$injected"
is "two tasks of an array, beside a user's steps, in a directory with blanks, quotes and a $" \
	"$left $status
$(echo "$ends" | sort)" './ziatest-virtual-ID.tar.gz ./ziatest-virtual-ID.tar.gz 0
2-1 status 0
2-1 status 0
2-2 status 0
2-2 status 0'

# Jobs that are cancelled while they run one of these tools: cp before the launches, and tar while
# the archive is packed. The tool continues when the signal has reached a sleep that it started.
for tool in cp tar; do
	mkdir in-$tool
	cat >in-$tool/$tool <<-END
		#!/bin/sh
		if mkdir cancelled 2>/dev/null; then
			env --default-signal=TERM sleep 600 &
			scancel "\$SLURM_JOB_ID"
			wait \$!
		fi
		exec $(command -v $tool) "\$@"
	END
	chmod +x in-$tool/$tool
	job cancelled-in-$tool "PATH=$PWD/in-$tool:$PATH" --nodes=1 RUNS=1 PPN=1 &
done
# The time limit sends the signal to the script alone, here in a launch whose srun goes on.
mkdir stubborn
cat >stubborn/srun <<'END'
#!/bin/sh
case $* in
*ziaprobe*)
	trap '' TERM
	scancel --batch --signal=TERM "$SLURM_JOB_ID"
	exec sleep 654 ;;
esac
END
printf '#!/bin/sh\npgrep -f "sleep 654" >alive\nexec %s "$@"\n' "$(command -v tar)" >stubborn/tar
chmod +x stubborn/*
job cancelled-in-srun "PATH=$PWD/stubborn:$PATH" --nodes=1 RUNS=1 PPN=1 &

# The end of a job, whose signal comes one to two minutes after its start. In the background,
# because Slurm looks at the time only now and then.
SHIM='0 Init sleep 300' job ending '' '--nodes=1 --nodelist=n8 --time=4' RUNS=2 PPN=1 "$injected" &
# shellcheck disable=SC2016 # a shell reads it
SHIM='n7 Init if mkdir stopped; then kill -STOP $(ps -o ppid= -p $PPID); else
	pkill -CONT slurmstepd; fi' job stuck '' '--nodes=2 --nodelist=n6,n7' \
	RUNS=2 PPN=1 TIMEOUT=5 "$injected" &

# Stand-ins for Slurm, and for the clock, which only sleep and a slow answer advance
mkdir slurm
cat >slurm/srun <<'END'
#!/bin/sh
case $* in
--version) echo slurm 22.05.8 ;;
*--node)
	cat >/dev/null
	printf '%s\n' "$*" >last ;;
*)
	truncate -s 50M "$(echo ziatest-*/)large"
	printf '%s\n' "$*" >arguments ;;
esac
END
cat >slurm/scontrol <<'END'
#!/bin/sh
case $* in
*hostnames*) seq -f node-%06.0f-a "$SLURM_JOB_NUM_NODES" ;;
*'show node'*) echo ThreadsPerCore=4 ;;
esac
END
cat >slurm/squeue <<'END'
#!/bin/sh
if [ "$hangs" = fails ]; then
	exit 1
elif [ -n "$hangs" ] && [ -z "${SQUEUE_STATES-}" ]; then
	sed -n 's/.*--job-name=\([^ ]*\).*/\1 77.0/p' arguments
fi
END
cat >slurm/timeout <<'END'
#!/bin/sh
if [ "$1" = --foreground ]; then
	shift
fi
limit=$1
shift
case $limit-$1 in
--kill-after*)
	shift
	exec "$@" ;;
-s-*)
	echo "$2" >limit
	shift 2
	exec "$@" ;;
*-scancel)	# takes until the job has gone on
	exec /usr/bin/timeout 10 sh -c 'while [ "$(cat clock)" = "$0" ]; do
		/bin/sleep 0.1
	done
	echo "$1" >>cancelled' "$(cat clock)" "$2${SCANCEL_STATE-}" ;;
esac
delay=0
if echo "$*" | grep -qE "^($slow)"; then
	delay=20
fi
if [ "$delay" -ge "$limit" ]; then
	sleep "$limit"
	exit 124
fi
sleep "$delay"
exec "$@"
END
cat >slurm/date <<'END'
#!/bin/sh
if [ "$1" = +%s ]; then
	exec cat clock
fi
exec /bin/date "$@"
END
printf '#!/bin/sh\necho $(($(cat clock) + $1)) >clock\n' >slurm/sleep
printf '#!/bin/sh\nprintf "node-%%s\\n" "005000-a idle*" "000007-a down" "x down*" \
	"x down*"\n' >slurm/sinfo
printf '#!/bin/sh\necho "Thread(s) per core:  2"\n' >slurm/lscpu
printf '#!/bin/sh\n%s "$@"\nexit 1\n' "$(command -v tar)" >slurm/tar	# a file changed
chmod +x slurm/*

# simulate CASE NODES SLOW ARGUMENT...: runs the script with these. The answers to questions that
# match the pattern SLOW take 20 seconds; with hangs=yes, no step ends; with hangs=fails, squeue
# fails. Leaves in $passed how many seconds have passed, and in $cancelled the steps that were
# cancelled.
simulate() {
	cp -al small "$1"
	(
		cd "$1" || exit 1
		export PATH="$JOB_TEST/slurm:$PATH" SLURM_JOB_ID=77 SLURMD_NODENAME=node-000001-a
		export SLURM_JOB_NUM_NODES="$2" SLURM_JOB_NODELIST="node-[000001-$2]-a"
		export SLURM_JOB_CPUS_PER_NODE='128(x9999),32' slow="$3"
		export SQUEUE_STATES=PENDING SCANCEL_STATE=PENDING
		echo 0 >clock
		shift 3
		./run_ziatest.sh "$@" >log 2>&1
	)
	look "$1" 2>/dev/null	# there is no status
	passed=$(cat "$1/clock")
	if [ "$hangs" = yes ]; then
		poll 20 sh -c '[ "$(wc -l <"$0")" -ge 2 ]' "$1/cancelled"
	fi
	cancelled=$(paste -s -d ' ' "$1/cancelled" 2>/dev/null)
}
export hangs=''
simulate large 10000 none PPN=20 RUNS=1 SWEEP='9998 10000' SRUN_OPTIONS="--comment='a  b'"
is '10,000 nodes: a short command, with the cores of the smallest node' \
	"$(sed 's/ziaprobe .*/ziaprobe/' large/arguments)" \
	"--hint=nomultithread --distribution=block:block --cpus-per-task=1 --comment=a  b \
--overlap --job-name=ziatest-9998-1 --nodelist=./ziatest-unknown-77/nodes-9998-1.txt \
--nodes=9998 --ntasks=199960 --ntasks-per-node 20 ./ziaprobe"
is '10,000 nodes: the file of nodes' "$(cksum <large/ziatest-unknown-77/nodes-9998-1.txt)" \
	"$(seq -f node-%06.0f-a 10000 | grep -v '005000\|000007' | cksum)"
is '10,000 nodes: two that do not respond' "$ends$(grep '^SYS\|_UN' large/z*/env* | paste -s -)" \
	"10000-1 not launched: only 9998 of the 10000 nodes respond, not node-000007-a node-005000-a
9998-1 status 0SYSTEM_NODES=3	NODES_UNUSED=1 down"
is 'tar says that a file has changed: an archive' "$left" ./ziatest-unknown-ID.tar.gz
is 'the limit of a summary of 50 MiB' "$(cat large/limit)" 112
is 'the last step has the options of srun, too' "$(cat large/last)" "--comment=a  b --overlap \
--ntasks-per-node=1 --nodelist=ziatest-unknown-77/nodes --nodes=9998 job/environment --node"

# A step that does not end is waited for for a minute, and cancelled twice. Before the launch, a
# slow Slurm takes 20 s for the nodes' names, and four times 5 s; after the wait, 5 s.
hangs=yes
simulate hangs 4 none PPN=2 RUNS=1
is 'a step that does not end' "$passed s, cancelled: $cancelled" '58 s, cancelled: 77.0 77.0'
simulate hangs-slow 4 'scontrol|sinfo|squeue' PPN=2 RUNS=1
is 'a step that does not end, and Slurm answers after 20 s' "$passed s, cancelled: $cancelled" \
	'105 s, cancelled: 77.0 77.0'
like "scontrol's threads, and the smallest node" "$(cat hangs/arguments)" \
	'.* --cpus-per-task=4 .*'
like "scontrol does not answer: lscpu's threads" "$(cat hangs-slow/arguments)" \
	'.* --cpus-per-task=8 .*'
for case in hangs hangs-slow; do
	is "$case: the output says so" "$(tail -n 2 $case/ziatest-*/output/*)" \
		"$(printf 'the step has not ended\nstatus 0')"
done
hangs=''
simulate late 4 squeue PPN=2 RUNS=1
is 'squeue answers after 20 s: nothing is cancelled' \
	"$cancelled$(tail -n 1 late/ziatest-*/output/*) $(grep -c 'the step' late/z*/output/*)" \
	'status 0 0'
hangs=fails
simulate no-answer 4 none PPN=2 RUNS=1
is 'squeue fails: nothing is cancelled, and the output says so' \
	"$cancelled $(tail -n 2 no-answer/ziatest-*/output/*)" \
	"$(printf ' Slurm did not say whether the step has ended\nstatus 0')"

# The hardware of a node, and the kinds of nodes: slow and fast cards, two of them without a PCI
# function, one with two ports; one of a slow driver, which is down; an InfiniBand port that is down
# and whose IPoIB device is up; one that is up, and a virtual one
ssh n1 'mount -t tmpfs tmpfs /sys/class
	mkdir -p /sys/class/infiniband /sys/class/net /sys/class/drivers
	cd /sys/class
	while IFS=, read -r name function rate state driver; do
		mkdir -p $name/ports/1 pci0000:00/$function drivers/$driver
		ln -s /sys/class/pci0000:00/$function $name/device
		ln -sfn /sys/class/drivers/$driver $name/device/driver
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
		infiniband/mlx5_0,0000:01:00.0,25 Gb/sec (1X EDR),4: ACTIVE,mlx4
		net/eth0,0000:01:00.0,25000,up,mlx4
		net/hsn0,platform0,200000,up,cxi
		net/hsn1,platform1,200000,up,cxi
		net/hsn2,0000:03:00.0,200000,up,cxi
		net/hsn2b,0000:03:00.0,200000,up,cxi
		net/hsn3,0000:04:00.0,200000,down,cxi
		net/eth1,0000:05:00.0,-1,up,mlx4
		infiniband/mlx5_1,0000:06:00.0,400 Gb/sec (4X NDR),1: DOWN,mlx4
		net/ib1,0000:06:00.0,400000,up,mlx4
		infiniband/mlx5_2,0000:07:00.0,200 Gb/sec (4X HDR),4: ACTIVE,mlx5
		infiniband/mlx5_3,0000:08:00.0,200 Gb/sec (4X HDR),4: ACTIVE,mlx5
	END
	mkdir infiniband/mlx5_3/device/physfn'
# shellcheck disable=SC2029 # expands here
is 'the interfaces of a node' "$(ssh n1 "cd '$PWD/small'; job/environment --node
	SLURM_JOB_CPUS_PER_NODE=1 job/environment Makefile </dev/null" |
	grep -oE 'int.*down .|^INT.*' | paste -s -d ' ' -)" \
	'interfaces 4, rate 200000 Mb/s, down 1 INTERFACES=4'
ssh n1 umount /sys/class
is 'the kinds of nodes' "$({
	seq -f 'n%g interfaces 2, cores 64' 20
	seq -f 'n%g interfaces 1, cores 64' 21 31
	echo n32 interfaces 2, cores 32
} | sort -R | (cd small && job/environment --after) | grep '^[0-9]* node')" "\
20 nodes: interfaces 2, cores 64
11 nodes: interfaces 1, cores 64 (n21 n22 n23 n24 n25 n26 n27 n28 n29 n30)
1 node: interfaces 2, cores 32 (n32)"

# The jobs in the background, and those that lose a node
wait
look cancelled-in-cp
like 'cancelled before the first launch: a line, and no archive' \
	"$(grep -v '^slurmstepd\|^Terminated' cancelled-in-cp/log)/$left" \
	'run_ziatest.sh: error: the job was ended before its first launch; nothing was measured/'
while read -r tool incomplete launch; do
	look "cancelled-in-$tool"
	is "cancelled in $tool: an archive" "$left" ./ziatest-virtual-ID.tar.gz
	sums_are_complete "cancelled-in-$tool"
	like "cancelled in $tool: the launch" "$ends" "1-1 $launch"
	is "cancelled in $tool: what is not complete" \
		"$(grep -c 'output/1-1.txt is not complete' "cancelled-in-$tool/log")" "$incomplete"
done <<END
srun 1 .*
tar 0 status 0
END
is 'an srun that ignores SIGTERM is killed before the archive is packed' \
	"$(cat cancelled-in-srun/alive; pgrep -f 'sleep 654')" ''
look ending
like 'the time limit: the launch is ended, the others are not made' "$ends" \
	'1-1 [^|]*\|1-2 not launched: the job is ending'
like 'the time limit: an archive, without a summary' "$left|$log" './ziatest-virtual-ID.tar.gz\|.*'\
'launch 2 of 2 on 1 nodes: not launched: the job is ending\|ziatest-[^|]*/output/1-1.txt is not '\
'complete\|There is no summary: [^|]*\|To make one, run [^|]*\|The archive is [^|]*'
is 'the time limit: the output has no status, and does not mention the step' \
	"$(grep -cE '^status|the step has' ending/ziatest-*/output/1-1.txt)" 0
sums_are_complete ending
look stuck
# On a busy machine, Slurm may show the node, whose slurmstepd is stopped, as not responding, or the
# next launch may take longer than 5 s.
like 'a step does not end: the next launch is made' "$ends" \
	'2-1 status [1-9][0-9]*\|2-2 (status [0-9]*|not launched: only 1 of .* respond, not n7)'
like 'a step does not end: the output says so' "$(cat stuck/ziatest-*/output/2-1.txt)" \
	'.*\|the step has not ended\|status [1-9][0-9]*'
is 'a step does not end: an archive' "$left $status" './ziatest-virtual-ID.tar.gz 0'
for box in killed dies; do
	poll 400 test -e $box/status || diag "$(cat $box.box)"
	look $box
	node=$(cat $box.node)
	what="$node $box"
	like "$what: all launches on 3 nodes are valid" "$ends" "3-1 status 0\|3-2 status 0\|\
3-3 status 0\|3-4 status 0\|4-1 status 0\|4-2 status [1-9][0-9]*\|4-3 [^|]*\|4-4 not launched: \
(only 3 of the 4 nodes respond, not $node|two launches of this size failed in a row)"
	is "$what: those launches avoid it" "$(cat $box/ziatest-*/nodes-3-[1-4].txt | sort -u)" \
		"$(printf 'n%s\n' 1 2 3 4 | grep -v "$node")"
	like "$what: the summary names it" "$(cat $box/ziatest-*/summary.txt)" \
		".*\|launch 2 on 4 nodes: status [0-9]*\|.*\|    nothing from $node\|.*"
	is "$what: an archive" "$left $status" './ziatest-virtual-ID.tar.gz 0'
done
# Whatever happened to these jobs, their archives are right. (Others have a fake srun.)
contradictions='disagree|belongs to|has the start|lacks|missing|several rows'
is 'no archive contradicts itself' "$(for archive in */ziatest-virtual-*.tar.gz; do
	"$top/tools/summarize" "$archive" 2>&1 | sed -n '/^Problems/,/^$/p' |
		grep -E "$contradictions" | sed "s|^|$archive: |"
done)" ''
finish
