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
# hand in. Submit it in the directory in which you ran make:
#
#	sbatch --nodes=256 run_ziatest.sh --check	# only show what it would do
#	sbatch --nodes=256 run_ziatest.sh
#	sbatch --nodes=256 --time=02:00:00 run_ziatest.sh SWEEP="2 16 128 256" TIMEOUT=120
#
# For the administrator:
# - It writes ziatest-CLUSTER-JOBID/, ziatest-CLUSTER-JOBID.tar.gz (with -FAIL in the name if a
#   verdict is FAIL or, without a summary, if a launch failed) and the log, in this directory.
# - It cancels only its own steps, which are named ziatest-JOBID-PID.
# - A launch takes at most TIMEOUT + 40 seconds. Its step then has a minute to end. If it does not
#   end, there are no more launches.
# - squeue is called before and after each launch, and once a second until the step has ended.
# - The job survives the failure of any node but its first, and goes on without it.

# ---- Edit from here to the next line of dashes; NAME=VALUE arguments take precedence ----

# . /etc/profile.d/modules.sh	# if sh has no module command
# module load ...	# what ziaprobe was built with

RUNS=${RUNS:-4}	# launches of each size
SWEEP=${SWEEP:-}	# sizes in nodes, such as "2 4 8"; if empty, the whole job
NICS=${NICS:-}	# network interfaces of a node; if empty, those found on the first node
PPN=${PPN:-}	# processes per node; if empty, one for each network interface
CORES_PER_RANK=${CORES_PER_RANK:-}	# if empty, the smallest node's cores, divided evenly
TIMEOUT=${TIMEOUT:-600}	# seconds for a launch
SYSTEM_NODES=${SYSTEM_NODES:-}	# compute nodes of the whole system; if empty, all that sinfo shows
PLACEMENT=${PLACEMENT:-"--hint=nomultithread --distribution=block:block"}
SRUN_OPTIONS=${SRUN_OPTIONS:-}	# further options that srun needs, such as --mpi=pmix

# ---- Edit no further ----

export LC_ALL=C
# Inherited settings of srun that would change a launch or its output: recorded, then unset
inherited='SLURM_EXPORT_ENV SRUN_EXPORT_ENV SLURM_LABELIO SLURM_STDOUTMODE SLURM_STDERRMODE
	SLURM_UNBUFFEREDIO SLURM_DEBUG SRUN_DEBUG SLURM_WORKING_DIR SLURM_DISTRIBUTION SLURM_HINT
	SLURM_TRES_PER_TASK SLURM_CPUS_PER_TASK SLURM_NTASKS_PER_NODE'
# shellcheck disable=SC3045 # dash, bash and ksh have it
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

ask() {	# COMMAND...: a question to Slurm, which may not answer
	timeout --kill-after=1 5 "$@" 2>/dev/null
}

# Asks squeue how much time and which nodes the job has left. Leaves the seconds in $left, which is
# empty if there is no limit or no answer, and the nodes in $nodes_left. Leaves in $limit the
# seconds that the next launch may take: TIMEOUT, or $left minus a reserve if that is less. The
# reserve is 300 seconds, or half of $left if that is less. Fails if $limit is less than both
# 30 seconds and TIMEOUT.
find_limits() {
	left=
	if answer=$(ask squeue --noheader --jobs="$SLURM_JOB_ID" --format='%A|%T|%L|%N'); then
		answer=$(echo "$answer" | grep "^$SLURM_JOB_ID|" | grep -v '|COMPLETING|')
		if [ -z "$answer" ]; then
			die 'the job was cancelled, or ended by Slurm; submit it again'
		fi
		left=$(echo "$answer" | awk -F '|' '$3 ~ /^[0-9:-]+$/ {
			n = split($3, part, /[-:]/)	# [DAYS-][HOURS:]MINUTES:SECONDS
			print ((part[n - 3] * 24 + part[n - 2]) * 60 + part[n - 1]) * 60 + part[n]
		}')
		if names=$(ask scontrol show hostnames "${answer##*|}"); then
			nodes_left=$names
		fi
	fi
	limit=$TIMEOUT
	if [ -n "$left" ]; then
		reserve=$((left < 600 ? left / 2 : 300))
		limit=$((left - reserve < TIMEOUT ? left - reserve : TIMEOUT))
	fi
	[ "$limit" -ge 30 ] || [ "$limit" -eq "$TIMEOUT" ]
}

launcher() {	# SIZE: srun and its options
	srun="srun --job-name=$step_name $PLACEMENT ${SRUN_OPTIONS:+$SRUN_OPTIONS }--nodes=$1"
	srun="$srun --ntasks=$(($1 * PPN))"
	if [ "$1" -lt "$SLURM_JOB_NUM_NODES" ]; then
		# On nodes other than the job's first ones, Slurm's PMIx plugin can hang.
		names=$(echo "$nodes_left" | head -n "$1" | paste -s -d , -)
		srun="$srun --nodelist='$(ask scontrol show hostlist "$names" || echo "$names")'"
	fi
	printf '%s\n' "$srun --cpus-per-task=$CORES_PER_RANK --ntasks-per-node "
}

# Cancels what is left of the launch's step, and waits up to a minute for it to end. Otherwise the
# next launch would queue behind it, on the clock. If the step may still be running, the reason is
# in $stopped.
cancel_step() {
	end=$(($(date +%s) + 47))	# the last squeue and scancel may take 13 seconds
	stopped='squeue is not responding, so a step may still be running'
	while [ "$(date +%s)" -lt "$end" ]; do
		if steps=$(ask squeue -h --steps --jobs="$SLURM_JOB_ID" --format='%i %j'); then
			steps=$(echo "$steps" | awk -v name="$step_name" '$2 == name { print $1 }')
			if [ -z "$steps" ]; then
				stopped=
				return
			fi
			stopped="step $(echo "$steps" | paste -s -d ' ' -) has not ended"
			# shellcheck disable=SC2086 # one argument a step
			ask scancel $steps
		fi
		sleep 1
	done
}

# Launches on SIZE nodes for the time in $limit. Leaves the exit status in $status.
launch() {	# SIZE RUN
	output=$result/output/$1-$2.txt
	# ziaprobe's own timeout cannot act if the launcher never starts a process.
	timeout --kill-after=10 $((limit + 30)) ./ziatest -v -t "$limit" \
		--csv "$result/results.csv" --ranks "$result/ranks-$1-$2.csv" "$PPN" \
		"$(launcher "$1")" >"$output" 2>&1
	status=$?
	if [ "$status" -ne 0 ]; then
		failed=1
	fi
	cancel_step
	if [ -n "$(tail -c 1 "$output")" ]; then
		echo >>"$output"	# the last line lacks a newline
	fi
	remark=$({ grep -E '^Time|^Slow|error:' "$output" || tail -n 1 "$output"; } |
		head -n 2 | paste -s -d ' ' -)
	silent=$(echo "$nodes_left" | head -n "$1" | job/silent "$output")
	printf '%s\n' ${silent:+"$silent"} "status $status" >>"$output" || disk_full "$output"
	printf '%s\n' "launch $2 of $RUNS on $1 nodes: status $status; $remark" ${silent:+"$silent"}
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
. job/prepare.sh
printf '%s\n\n%s\n' "$resolved" "$facts" >"$result/environment.txt" ||
	disk_full "$result/environment.txt"

failed=0
stopped=
for size in $SWEEP; do
	failures_in_a_row=0
	for run in $(seq "$RUNS"); do
		if [ -z "$stopped" ] && ! find_limits; then
			stopped="only $left s of the job's time are left"
		fi
		if [ -n "$stopped" ]; then
			skip "$size" "$run" "$stopped"
		elif [ "$(echo "$nodes_left" | wc -l)" -lt "$size" ]; then
			lost=$(echo "$all_nodes" | grep -vxF "$nodes_left" | paste -s -d ' ' -)
			skip "$size" "$run" "the job has lost $lost"
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
find_limits	# stops here if the job was cancelled or ended by Slurm
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
echo "Hand in $PWD/$archive"
exit "$failed"
