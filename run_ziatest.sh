#!/bin/sh
#SBATCH --job-name=ziatest
#SBATCH --nodes=2
#SBATCH --exclusive
#SBATCH --time=00:40:00
#SBATCH --no-requeue
#SBATCH --output=ziatest-%j.out
##SBATCH --partition=NAME
##SBATCH --account=NAME

# Ziatest on the nodes of a Slurm job, one launch after the other, and an archive to hand in.
# Submit it in the directory in which you ran make:
#
#	sbatch --nodes=256 run_ziatest.sh
#	SWEEP="2 4 8 16 32 64 128 256" TIMEOUT=120 sbatch --nodes=256 --time=01:45:00 run_ziatest.sh
#
# Leaves ziatest-JOBID.tar.gz there, or ziatest-JOBID-FAIL.tar.gz and status 1 where a rule is
# broken or a run failed. If the job is ended from outside, ziatest-JOBID/ has a file INCOMPLETE.
# Other steps of the job are cancelled.

# ---- Edit from here, or set in the environment ----

# module load ...	# what ziaprobe was built with

RUNS=${RUNS:-3}		# launches of each size
SWEEP=${SWEEP:-}	# sizes in nodes, as "2 4 8"; empty: the whole job
NICS=${NICS:-}		# network interfaces of a node; empty: those found on the first node
PPN=${PPN:-}		# processes per node; empty: one for each network interface
STRIDE=${STRIDE:-}	# cores of a process; empty: the smallest node's, divided evenly
TIMEOUT=${TIMEOUT:-600}	# seconds for a launch; --time has to allow for 2 minutes more each
COMPUTE_NODES=${COMPUTE_NODES:-}	# of the whole system; empty: all that sinfo shows
PLACEMENT=${PLACEMENT:-"--hint=nomultithread --distribution=block:block"}	# node after node
SRUN_OPTIONS=${SRUN_OPTIONS:-}	# what else srun needs on your system, as "--mpi=pmix"

# ---- to here ----

export LC_ALL=C RUNS SWEEP NICS PPN STRIDE TIMEOUT COMPUTE_NODES PLACEMENT SRUN_OPTIONS
# What would change the runs' output, or keep from the processes what the modules have set
unset SLURM_LABELIO SLURM_STDOUTMODE SLURM_STDERRMODE SLURM_DEBUG SRUN_DEBUG SLURM_EXPORT_ENV \
	SRUN_EXPORT_ENV

die() {	# MESSAGE
	printf 'run_ziatest.sh: error: %s\n' "$1" >&2
	exit 1
}

# Cancels the steps that a launch has left: the next launch would wait for them inside its own time.
# This script's own step, as batch, stays. If others remain after a minute, they are in $stays.
end_steps() {
	for _ in $(seq 60); do
		stays=$(squeue -h --steps --jobs="$SLURM_JOB_ID" --format=%i | grep '[0-9]$' |
			grep -vx "$SLURM_JOB_ID.${SLURM_STEP_ID:-}" | paste -s -d ' ' -)
		if [ -z "$stays" ]; then
			return
		fi
		# shellcheck disable=SC2086 # one argument a step
		scancel $stays 2>/dev/null	# it complains of one that has just ended
		sleep 1
	done
	echo "run_ziatest.sh: error: step $stays does not end; no more launches" | tee -a "$output"
}

launch() {	# NODES RUN
	output=$result/output/$1-$2.txt
	srun="srun $PLACEMENT $SRUN_OPTIONS --nodes=$1 --ntasks=$(($1 * PPN))"
	if [ "$1" -lt "$SLURM_JOB_NUM_NODES" ]; then
		# On other nodes than the job's first ones Slurm's PMIx plugin can hang.
		first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n "$1" |
			paste -s -d , -)
		srun="$srun --nodelist='$(scontrol show hostlist "$first")'"
	fi
	# ziaprobe's timeout says what hangs; the one around it is for when no process ever starts.
	timeout --kill-after=10 $((TIMEOUT + 30)) ./ziatest --verbose --timeout "$TIMEOUT" \
		--csv "$result/results.csv" --ranks "$result/ranks-$1-$2.csv" "$PPN" \
		"$srun --cpus-per-task=$STRIDE --ntasks-per-node " >"$output" 2>&1
	status=$?
	end_steps
	if [ -n "$stays" ]; then
		status=1
	fi
	echo "status $status" >>"$output"
	echo "run $2/$RUNS on $1 nodes: status $status; $(grep -E '^Time|^Slow|error:' "$output" |
		head -n 2 | paste -s -d ' ' -)"
}

for number in $SWEEP "$RUNS" "$NICS" "$PPN" "$STRIDE" "$TIMEOUT" "$COMPUTE_NODES"; do
	case $number in
	*[!0-9]*|0*|???????*)
		die "'$number': RUNS SWEEP NICS PPN STRIDE TIMEOUT COMPUTE_NODES are 1 to 999999" ;;
	esac
done
result=ziatest-${SLURM_JOB_ID:?not inside a Slurm job; use sbatch or salloc}
ls build.txt changes.diff >/dev/null 2>&1 || die "no build in $PWD: submit where you ran make"
mkdir "$result" "$result/output" || die "cannot make $PWD/$result; move an older one away"
echo 'This job was ended from outside.' >"$result/INCOMPLETE"
cp build.txt changes.diff "$result"
output=$result/environment.txt
job/inventory "$0" >"$output"	# fills in the settings that are empty
end_steps
sed '/^$/q' "$result/environment.txt"
setting() {	# NAME
	sed -n "s/^$1=//p" "$result/environment.txt"
}
PPN=$(setting PPN)
STRIDE=$(setting STRIDE)
for nodes in $(setting SWEEP); do
	for run in $(seq "$RUNS"); do
		if [ -z "$stays" ]; then
			launch "$nodes" "$run"
		fi
	done
done

failed=
if ! job/summarize --pictures "$result" "$result" >"$result/summary.txt"; then
	failed=-FAIL
fi
cat "$result/summary.txt"
tar --exclude=INCOMPLETE -czf "$result$failed.tar.gz" "$result" || die 'cannot write the archive'
rm "$result/INCOMPLETE"
echo "Hand in $PWD/$result$failed.tar.gz"
[ -z "$failed" ]
