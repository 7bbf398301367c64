#!/bin/sh
#SBATCH --job-name=ziatest
#SBATCH --nodes=2
#SBATCH --exclusive
#SBATCH --time=00:55:00
#SBATCH --no-requeue
#SBATCH --output=ziatest-%j.out
##SBATCH --partition=NAME
##SBATCH --account=NAME

# Ziatest on the nodes of a Slurm job, one launch after the other, and an archive to hand in.
# Submit it in the directory in which you ran make:
#
#	sbatch --nodes=256 run_ziatest.sh
#	SWEEP="2 4 8 16 32 64 128 256" TIMEOUT=120 sbatch --nodes=256 --time=02:00:00 run_ziatest.sh
#	CHECK=1 sbatch --nodes=256 run_ziatest.sh	# what it would do, without a launch
#
# For the administrator:
# - It writes ziatest-CLUSTER-JOBID/ and ziatest-CLUSTER-JOBID.tar.gz in this directory (with -FAIL
#   in the archive's name, and status 1, where a rule is broken or a run failed), and the log.
# - It cancels no steps but its own, which it knows by their name, ziatest-JOBID-PID.
# - A launch takes at most TIMEOUT and 100 seconds, less if the job's time is short. One that cannot
#   be ended is the last. Between launches squeue is asked once a second at most.
# - A job that is ended from outside, stops before its first launch or finds the disk full leaves
#   the directory with a file INCOMPLETE, and no archive.

# ---- Edit from here, or set in the environment ----

# module load ...	# what ziaprobe was built with

RUNS=${RUNS:-4}		# launches of each size
SWEEP=${SWEEP:-}	# sizes in nodes, as "2 4 8"; empty: the whole job
NICS=${NICS:-}		# network interfaces of a node; empty: those found on the first node
PPN=${PPN:-}		# processes per node; empty: one for each network interface
STRIDE=${STRIDE:-}	# cores of a process; empty: the smallest node's, divided evenly
TIMEOUT=${TIMEOUT:-600}	# seconds for a launch; --time must allow for 100 more each
COMPUTE_NODES=${COMPUTE_NODES:-}	# of the whole system; empty: all that sinfo shows
PLACEMENT=${PLACEMENT:-"--hint=nomultithread --distribution=block:block"}	# node after node
SRUN_OPTIONS=${SRUN_OPTIONS:-}	# what else srun needs on your system, as "--mpi=pmix"

# ---- to here ----

export LC_ALL=C RUNS SWEEP NICS PPN STRIDE TIMEOUT COMPUTE_NODES PLACEMENT SRUN_OPTIONS
# What would change the runs' output, or keep from the processes what the modules have set
unset SLURM_LABELIO SLURM_STDOUTMODE SLURM_STDERRMODE SLURM_UNBUFFEREDIO SLURM_DEBUG SRUN_DEBUG \
	SLURM_EXPORT_ENV SRUN_EXPORT_ENV SLURM_WORKING_DIR
# shellcheck disable=SC3045 # dash, bash and ksh have it
ulimit -c 0	# no core dumps of a whole machine
exec </dev/null	# a key pressed in salloc must not stop a launch
step_name=ziatest-${SLURM_JOB_ID-}-$$
export step_name

die() {	# MESSAGE
	printf 'run_ziatest.sh: error: %s\n' "$1" >&2
	exit 1
}

setting() {	# NAME: its value, by the inventory
	printf '%s\n' "$environment" | sed -n "s/^$1=//p" | head -n 1
}

# Leaves in $left the seconds that the job has left, nothing where there is no limit or squeue does
# not tell; in $limit those for a launch: TIMEOUT, or what is left less a minute. Fails where that
# is less than 30.
limit_launch() {
	left=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format='%A %L' 2>/dev/null |
		awk -v job="$SLURM_JOB_ID" '$1 == job && $2 ~ /^[0-9:-]+$/ {
			n = split($2, part, /[-:]/)	# [DAYS-][HOURS:]MINUTES:SECONDS
			print ((part[n - 3] * 24 + part[n - 2]) * 60 + part[n - 1]) * 60 + part[n]
			exit
		}')
	limit=$TIMEOUT
	if [ -n "$left" ] && [ $((left - 60)) -lt "$TIMEOUT" ]; then
		limit=$((left - 60))
		[ "$limit" -ge 30 ]
	fi
}

first_nodes() {	# NODES: the names of the job's first NODES nodes, one a line
	scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n "$1"
}

launcher() {	# NODES: srun and its options
	srun="srun --job-name=$step_name $PLACEMENT ${SRUN_OPTIONS:+$SRUN_OPTIONS }--nodes=$1"
	srun="$srun --ntasks=$(($1 * PPN))"
	if [ "$1" -lt "${SLURM_JOB_NUM_NODES:-1}" ]; then	# none in a heterogeneous job
		# On other nodes than the job's first ones Slurm's PMIx plugin can hang.
		first=$(first_nodes "$1" | paste -s -d , -)
		srun="$srun --nodelist='$(scontrol show hostlist "$first")'"
	fi
	echo "$srun --cpus-per-task=$STRIDE --ntasks-per-node "
}

# Cancels the steps that a launch has left: the next one would wait for them inside its own time.
# Those that are still there after a minute are in $stays.
end_steps() {
	stays='(unknown: squeue fails)'
	for _ in $(seq 60); do
		if steps=$(squeue --noheader --steps --jobs="$SLURM_JOB_ID" --format='%i %j'); then
			stays=$(echo "$steps" | awk -v name="$step_name" '$2 == name { print $1 }' |
				paste -s -d ' ' -)
			if [ -z "$stays" ]; then
				return
			fi
			# shellcheck disable=SC2086 # one argument a step
			scancel $stays 2>/dev/null	# it complains of one that has just ended
		fi
		sleep 1
	done
	stopped="step $stays does not end"
}

# Names the nodes of a launch, at most 100, that did not report the timeout in its output. Prints
# nothing if the launch has a time, or if no reported host name is that of one of its nodes.
silent_nodes() {	# NODES OUTPUT
	first_nodes "$1" | awk '
	NR == FNR {
		node[NR] = $1
		next
	}
	/Time test was completed/ { completed = 1 }
	match($0, /timeout of [0-9]+ s: (rank [0-9]+|a rank) on [^ .]+/) {
		count = split(substr($0, RSTART, RLENGTH), word, " ")
		reported[word[count]] = 1
	}
	END {
		for (i = 1; i in node; i++) {
			split(node[i], part, ".")
			if (part[1] in reported)
				known = 1
			else if (++silent <= 100)
				names = names " " node[i]
		}
		more = silent > 100 ? " and " (silent - 100) " more" : ""
		if (known && silent && !completed)
			print "no response from:" names more
	}' - "$2"
}

launch() {	# NODES RUN: with the seconds in $limit
	output=$result/output/$1-$2.txt
	# ziaprobe's timeout says what hangs; the one around it is for when no process ever starts.
	timeout --kill-after=10 $((limit + 30)) ./ziatest --verbose --timeout "$limit" \
		--csv "$result/results.csv" --ranks "$result/ranks-$1-$2.csv" "$PPN" \
		"$(launcher "$1")" >"$output" 2>&1
	status=$?
	end_steps
	if [ "$status" -ne 0 ] || [ -n "$stopped" ]; then
		failed=-FAIL
	fi
	if [ -n "$(tail -c 1 "$output")" ]; then
		echo >>"$output"	# somebody's last line has no end
	fi
	silent=$(silent_nodes "$1" "$output")
	printf '%s\n' ${silent:+"$silent"} "status $status" >>"$output" ||
		die "cannot write $PWD/$output: is the disk full?"
	echo "run $2/$RUNS on $1 nodes: status $status; $(grep -E '^Time|^Slow|error:' "$output" |
		head -n 2 | paste -s -d ' ' -)"
	if [ -n "$silent" ]; then
		echo "$silent"
	fi
}

if [ "${1-}" = --check ]; then
	CHECK=1
elif [ $# -gt 0 ]; then
	die "usage: run_ziatest.sh [--check], with settings in the environment"
fi
one_line() {	# TEXT: with single blanks
	printf '%s\n' "$1" | tr -s '[:space:]' ' ' | sed 's/^ //; s/ $//'
}
SWEEP=$(one_line "$SWEEP")
PLACEMENT=$(one_line "$PLACEMENT")
SRUN_OPTIONS=$(one_line "$SRUN_OPTIONS")
for number in $SWEEP "$RUNS" "$NICS" "$PPN" "$STRIDE" "$TIMEOUT" "$COMPUTE_NODES"; do
	case $number in
	*[!0-9]*|0*|???????*)
		die "'$number': RUNS SWEEP NICS PPN STRIDE TIMEOUT COMPUTE_NODES are 1 to 999999" ;;
	esac
done
if [ -z "${SLURM_JOB_ID-}" ]; then
	die 'not inside a Slurm job; use sbatch or salloc'
fi
if [ ! -x ziatest ] || [ ! -x ziaprobe ] || [ ! -f build.txt ] || [ ! -f changes.diff ]; then
	die "no build in $PWD: run make there, and submit there"
fi
result=ziatest-${SLURM_CLUSTER_NAME:-unknown}-$SLURM_JOB_ID
if [ -e "$result" ]; then
	die "$PWD/$result is there already; move it away"
fi
if [ ! -w . ]; then
	die "cannot write in $PWD"
fi
if [ -z "${CHECK-}" ]; then
	mkdir "$result" || die "cannot make $PWD/$result"
	echo 'This job did not come to its end; its log may say why.' >"$result/INCOMPLETE"
	mkdir "$result/output"
	cp build.txt changes.diff "$result"
fi
ok=yes
environment=$(job/inventory "$0") || ok=	# fills in the settings that are empty
printf '%s\n' "$environment" | sed '/^$/q'
PPN=$(setting PPN)
STRIDE=$(setting STRIDE)
SWEEP=$(setting SWEEP)
if ! limit_launch; then
	echo "run_ziatest.sh: error: $left s left, too few for a launch; use a longer --time" >&2
	ok=
fi
if [ -n "${CHECK-}" ]; then
	launches=0
	for nodes in $SWEEP; do
		echo "$RUNS times: ./ziatest ... $PPN \"$(launcher "$nodes")\""
		launches=$((launches + RUNS))
	done
	most=$((launches * (TIMEOUT + 100)))
	echo "$launches launches need at most $most s; left: ${left:-no limit}"
else
	printf '%s\n' "$environment" >"$result/environment.txt" ||
		die "cannot write $PWD/$result: is the disk full?"
fi
if [ -z "$ok" ]; then
	exit 1
elif [ -n "${CHECK-}" ]; then
	exit 0
fi

failed=
stopped=
for nodes in $SWEEP; do
	for run in $(seq "$RUNS"); do
		if [ -z "$stopped" ] && ! limit_launch; then
			stopped="only $left s of the job's time are left"
		fi
		if [ -z "$stopped" ]; then
			launch "$nodes" "$run"
		fi
	done
done

if [ -n "$stopped" ]; then
	echo "run_ziatest.sh: error: $stopped; no more launches"
	failed=-FAIL
fi
sums=$(sha256sum ziatest ziaprobe)
printf '\nSTOPPED=%s\nThe programs, after the last launch:\n%s\n' "$stopped" "$sums" \
	>>"$result/environment.txt" || die "cannot write $PWD/$result: is the disk full?"
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2>/dev/null; then
	job/summarize --ended --pictures "$result" "$result" >"$result/summary.txt" || failed=-FAIL
	cat "$result/summary.txt"
else
	echo 'run_ziatest.sh: no python3 (3.6 or later) here, so no summary'
fi
archive=$result$failed.tar.gz
if ! { tar --exclude=INCOMPLETE -czf "$archive.part" "$result" &&
	mv "$archive.part" "$archive"; }; then
	rm -f "$archive.part"
	die "cannot write $PWD/$archive: is the disk full?"
fi
rm "$result/INCOMPLETE"
echo "Hand in $PWD/$archive"
[ -z "$failed" ]	# the status
