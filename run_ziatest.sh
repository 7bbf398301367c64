#!/bin/sh
#SBATCH --job-name=ziatest
#SBATCH --nodes=2
#SBATCH --exclusive
#SBATCH --time=00:55:00
#SBATCH --no-requeue
#SBATCH --no-kill
#SBATCH --output=ziatest-%j.out
##SBATCH --partition=NAME
##SBATCH --account=NAME

# Launches Ziatest on the nodes of a Slurm job, one launch after the other, and packs an archive to
# hand in. Submit it from the directory in which you ran make:
#
#	sbatch --nodes=1 run_ziatest.sh --check=256	# only show what it would do on 256 nodes
#	sbatch --nodes=256 run_ziatest.sh
#	sbatch --nodes=256 --time=02:00:00 run_ziatest.sh SWEEP="2 16 128 256" TIMEOUT=120
#
# For the administrator:
# - It writes ziatest-CLUSTER-JOBID/, ziatest-CLUSTER-JOBID.tar.gz (with -FAIL in the name if a
#   verdict is FAIL or, without a summary, if a launch failed or was not made) and the log, in
#   this directory.
# - It cancels only its own steps, which are named ziatest-JOBID-PID.
# - A launch takes at most TIMEOUT + 40 seconds. If its step has not ended by then, the job waits
#   for Slurm to take a crashed node from it, for at most 5/3 of SlurmdTimeout plus a minute.
# - squeue is called before and after each launch; while the step has not ended, every second for
#   10 seconds, then every 10.
# - The job survives the failure of any node but its first, and goes on without it.

# ---- Edit from here to the next line of dashes; NAME=VALUE arguments take precedence ----

# . /etc/profile.d/modules.sh	# if sh has no module command
# module load ...	# what ziaprobe was built with

RUNS=${RUNS:-4}	# launches of each size
SWEEP=${SWEEP:-}	# sizes in nodes, such as "2 4 8"; if empty, the whole job
NICS=${NICS:-}	# network interfaces of a node; if empty, those found on the first node
PPN=${PPN:-}	# processes per node; if empty, one for each network interface
CORES_PER_RANK=${CORES_PER_RANK:-}	# if empty, the smallest node's cores, divided evenly
TIMEOUT=${TIMEOUT:-480}	# seconds for a launch
SYSTEM_NODES=${SYSTEM_NODES:-}	# compute nodes of the whole system; if empty, all that sinfo shows
PLACEMENT=${PLACEMENT:-"--hint=nomultithread --distribution=block:block"}
SRUN_OPTIONS=${SRUN_OPTIONS:-}	# further options that srun needs, such as --mpi=pmix

# ---- Edit no further ----

export LC_ALL=C
# Inherited settings of srun that would change a launch or its output: recorded, then unset
inherited='SLURM_EXPORT_ENV SRUN_EXPORT_ENV SLURM_LABELIO SLURM_STDOUTMODE SLURM_STDERRMODE
	SLURM_UNBUFFEREDIO SLURM_DEBUG SRUN_DEBUG SLURM_WORKING_DIR SLURM_DISTRIBUTION SLURM_HINT
	SLURM_TRES_PER_TASK SLURM_CPUS_PER_TASK SLURM_NTASKS_PER_NODE SLURM_KILL_BAD_EXIT
	SLURM_NO_KILL SLURM_TASK_PROLOG SLURM_TASK_EPILOG SLURM_PROLOG SLURM_EPILOG SLURM_OVERCOMMIT
	SLURM_OVERLAP SLURM_EXACT SLURM_CPU_BIND SLURM_MEM_BIND'
# shellcheck disable=SC3045 # dash, bash and ksh have ulimit -c
ulimit -c 0	# no core dumps of a whole machine
exec </dev/null	# a key pressed in salloc must not stop a launch
step_name=ziatest-${SLURM_JOB_ID-}-$$

die() {	# MESSAGE
	printf 'run_ziatest.sh: error: %s\n' "$1" >&2
	exit 1
}

disk_full() {	# FILE
	die "cannot write $PWD/$1; if the disk is full, make room and submit the job again"
}

# The nodes of a launch are the first that the job still has. If a step leaves out some of the
# job's nodes before its own, Slurm's PMIx plugin can hang. Nodes that were lost do not count.
first_nodes() {	# SIZE
	echo "$nodes_left" | head -n "$1"
}

launcher() {	# SIZE: srun and its options
	srun="srun ${dead_steps:+--overlap }$PLACEMENT ${SRUN_OPTIONS:+$SRUN_OPTIONS }"
	srun="$srun--job-name=$step_name --nodes=$1 --ntasks=$(($1 * PPN))"
	if [ "$1" -lt "$job_nodes" ]; then
		names=$(first_nodes "$1" | paste -s -d , -)
		srun="$srun --nodelist='$(ask scontrol show hostlist "$names" || echo "$names")'"
	fi
	printf '%s\n' "$srun --cpus-per-task=$CORES_PER_RANK --ntasks-per-node"
}

# Launches on SIZE nodes for the time in $limit. Leaves the exit status in $status.
launch() {	# SIZE RUN
	output=$result/output/$1-$2.txt
	step_nodes=$(first_nodes "$1")
	start=$(now)
	# ziaprobe's own timeout cannot act if the launcher never starts a process.
	timeout --kill-after=10 $((limit + 30)) ./ziatest -v -t "$limit" \
		--csv "$result/results.csv" --ranks "$result/ranks-$1-$2.csv" "$PPN" \
		"$(launcher "$1")" >"$output" 2>&1
	status=$?
	lines='^Time|^Slow'	# to be quoted in the log
	if [ "$status" -ne 0 ]; then
		failed=1
		lines='error:'
	fi
	timed_out=
	if [ $(($(now) - start)) -ge "$limit" ] || grep -q 'timeout of' "$output"; then
		timed_out=' (timed out)'
	fi
	end_step
	if [ "$status" -ne 0 ] && [ -z "$stopped" ]; then
		wait_for_crash "$output"
	fi
	if [ -n "$(tail -c 1 "$output")" ]; then
		echo >>"$output"	# the last line lacks a newline
	fi
	remark=$({ grep -E "$lines" "$output" || tail -n 1 "$output"; } | head -n 2 | words)
	silent=$(echo "$step_nodes" | job/silent "$output")
	printf '%s\n' ${silent:+"$silent"} "status $status" >>"$output" || disk_full "$output"
	printf '%s\n' "launch $2 of $RUNS on $1 nodes: status $status$timed_out; $remark" \
		${silent:+"$silent"}
}

# Records why a launch is not made, in its output and in the log.
skip() {	# SIZE RUN REASON
	failed=1
	echo "not launched: $3" >"$result/output/$1-$2.txt" || disk_full "$result/output/$1-$2.txt"
	echo "launch $2 of $RUNS on $1 nodes: not launched: $3"
}

if [ ! -f job/prepare.sh ]; then
	die "cannot find Ziatest in $PWD; submit the job from the directory in which you ran make"
fi
job_end=
stopped=	# why there are no further launches
dead_steps=	# which further launches must overlap
. job/slurm.sh
. job/prepare.sh
if ! { mkdir "$result" "$result/output" &&
	echo 'This job did not finish; its log may show why.' >"$result/INCOMPLETE" &&
	cp build.txt changes.diff "$result" &&
	printf '%s\n\n%s\n' "$resolved" "$facts" >"$result/environment.txt"; }; then
	disk_full "$result"
fi

failed=0
for size in $SWEEP; do
	failures_in_a_row=0
	for run in $(seq "$RUNS"); do
		if [ -z "$stopped" ]; then
			check_job
			if ! find_limit; then
				stopped="only $left s of the job's time are left"
			fi
		fi
		if [ -n "$stopped" ]; then
			skip "$size" "$run" "$stopped"
		elif [ "$(echo "$nodes_left" | wc -l)" -lt "$size" ]; then
			skip "$size" "$run" "the job has lost $(lost_nodes "$all_nodes")"
		elif [ "$failures_in_a_row" -ge 2 ]; then
			skip "$size" "$run" 'two launches of this size failed in a row'
		else
			launch "$size" "$run"
			failures_in_a_row=$((status ? failures_in_a_row + 1 : 0))
		fi
	done
done
printf '\nThe programs, after the last launch:\n%s\n' "$(sha256sum ziatest ziaprobe)" \
	>>"$result/environment.txt" || disk_full "$result/environment.txt"

# Without a summary, the archive's name depends on the launches alone. A Python that is too old
# also exits with status 1, but leaves the summary empty.
timeout --kill-after=1 60 job/summarize --pictures "$result" "$result" >"$result/summary.txt"
status=$?
if [ "$status" -le 1 ] && [ -s "$result/summary.txt" ]; then
	failed=$status
	cat "$result/summary.txt"
else
	printf 'run_ziatest.sh: warning: there is no summary, because job/summarize failed; %s\n' \
		'it needs python3 (3.6 or later), and must finish within a minute' >&2
	rm -f "$result/summary.txt" "$result/scaling.svg" "$result/ranks.svg"
fi
check_job	# stops here if the job was cancelled, which leaves no archive
archive=$result.tar.gz
if [ "$failed" -ne 0 ]; then
	archive=$result-FAIL.tar.gz
fi
if ! { tar --exclude=INCOMPLETE -czf "$archive.part" "$result" &&
	mv "$archive.part" "$archive"; }; then
	rm -f "$archive.part"
	disk_full "$archive"
fi
rm "$result/INCOMPLETE"
if [ "$failed" -eq 0 ]; then
	echo "Hand in $PWD/$archive"
else
	echo "This job has failed; correct the cause and submit it again. See $PWD/$archive"
fi
exit "$failed"
