#!/bin/sh
#SBATCH --job-name=ziatest
#SBATCH --nodes=2
#SBATCH --exclusive
#SBATCH --time=00:40:00
#SBATCH --no-requeue
#SBATCH --output=ziatest-%j.out
##SBATCH --partition=NAME
##SBATCH --account=NAME

# Ziatest on the nodes of a Slurm job, one launch after the other, and an archive to hand in
#
#	sbatch --nodes=256 run_ziatest.sh
#	SWEEP="2 4 8 16 32 64 128 256" TIMEOUT=120 sbatch --nodes=256 --time=01:45:00 run_ziatest.sh
#
# Leaves ziatest-JOBID.tar.gz of ziatest-JOBID/ in the directory of the submission; with -FAIL in
# its name where a rule is broken or a run failed, and then status 1. A job that is ended from
# outside leaves no archive, but a file INCOMPLETE in the directory.

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

export LC_ALL=C
# What would change the runs' output, or keep from the processes what the modules have set
unset SLURM_LABELIO SLURM_STDOUTMODE SLURM_STDERRMODE SLURM_DEBUG SRUN_DEBUG SLURM_EXPORT_ENV

die() {	# MESSAGE
	printf 'run_ziatest.sh: error: %s\n' "$1" >&2
	exit 1
}

# Ends the steps that a launch has left: the next launch would wait for them inside its own time.
# Leaves in $stays those still there after a minute; this script's own step is not among them.
end_steps() {
	tries=60
	while [ $((tries -= 1)) -ge 0 ]; do
		stays=$(squeue --noheader --steps --jobs="$SLURM_JOB_ID" --format=%i |
			grep -vx -e '.*[a-z]' -e "$SLURM_JOB_ID.${SLURM_STEP_ID:-none}" | paste -s -d ' ' -)
		if [ -z "$stays" ]; then
			return
		fi
		# shellcheck disable=SC2086 # one argument a step
		scancel $stays
		sleep 1
	done
}

launch() {	# NODES RUN
	output=$result/output/$1-$2.txt
	# ziaprobe's timeout says what hangs; the one around it is for when no process ever starts.
	timeout --kill-after=10 $((TIMEOUT + 30)) ./ziatest --verbose --timeout "$TIMEOUT" \
		--csv "$result/results.csv" --ranks "$result/ranks-$1-$2.csv" "$PPN" "srun $PLACEMENT \
$SRUN_OPTIONS --nodes=$1 --ntasks=$(($1 * PPN)) --cpus-per-task=$STRIDE --ntasks-per-node " \
		>"$output" 2>&1
	status=$?
	end_steps
	if [ -n "$stays" ]; then
		status=1
		echo "run_ziatest.sh: error: step $stays does not end; nothing more is launched" |
			tee -a "$output"
	fi
	echo "status $status" >>"$output"
	echo "run $2/$RUNS on $1 nodes: status $status; $(sed -n 2,3p "$output" | paste -s -d ' ' -)"
}

case " $RUNS $SWEEP $NICS $PPN $STRIDE $TIMEOUT $COMPUTE_NODES" in
*[!0-9\ ]*|*' 0'*)
	die 'RUNS SWEEP NICS PPN STRIDE TIMEOUT COMPUTE_NODES: each must be a number from 1 up' ;;
esac
result=$PWD/ziatest-${SLURM_JOB_ID:?not inside a Slurm job; use sbatch or salloc}
script=$(readlink -f "$0")	# under sbatch a copy of Slurm's
command=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Command=//p')
for dir in "$(dirname "$command")" "$(dirname "$script")" "$SLURM_SUBMIT_DIR"; do
	if [ -f "$dir/build.txt" ]; then
		break
	fi
done
cd "$dir" || exit 1
cat build.txt changes.diff >/dev/null || die "not built: run make in $dir"
mkdir "$result" "$result/output" || die 'cannot make the directory of the results'
echo 'This job was ended from outside.' >"$result/INCOMPLETE"
cp build.txt changes.diff "$result"

export RUNS SWEEP NICS PPN STRIDE TIMEOUT COMPUTE_NODES PLACEMENT SRUN_OPTIONS
offclock/inventory "$script" >"$result/environment.txt"	# gives the empty ones their values
end_steps
sed '/^$/q' "$result/environment.txt"
SWEEP=$(sed -n 's/^SWEEP=//p' "$result/environment.txt")
PPN=$(sed -n 's/^PPN=//p' "$result/environment.txt")
STRIDE=$(sed -n 's/^STRIDE=//p' "$result/environment.txt")

for nodes in $SWEEP; do
	for run in $(seq "$RUNS"); do
		if [ -z "$stays" ]; then
			launch "$nodes" "$run"
		fi
	done
done

sha256sum ziatest ziaprobe >>"$result/environment.txt"	# not before: it would warm the first launch
offclock/summarize --pictures "$result" "$result" >"$result/summary.txt"
status=$?
cat "$result/summary.txt"
archive=$result.tar.gz
if [ $status -ne 0 ]; then
	archive=$result-FAIL.tar.gz
fi
tar -C "$result/.." --exclude=INCOMPLETE -czf "$archive" "${result##*/}" || die 'no archive'
rm "$result/INCOMPLETE"
echo "Hand in $archive"
exit $status
