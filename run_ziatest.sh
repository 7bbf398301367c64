#!/bin/sh
#SBATCH --job-name=ziatest --output=ziatest-%j.out
#SBATCH --nodes=2 --exclusive --time=00:55:00
#SBATCH --no-requeue --no-kill --signal=B:TERM@120
# shellcheck disable=SC1003,SC2046,SC2086,SC2153,SC3045

# Launches Ziatest on the nodes of a Slurm job, one launch after the other, and packs an archive to
# hand in. Submit it from the directory in which you ran make:
#
#	sbatch --nodes=256 --time=02:00:00 run_ziatest.sh SWEEP="2 16 128 256" TIMEOUT=120
#
# For the administrator: it starts RUNS steps for each size, then one that asks each node for its
# hardware. A launch takes at most TIMEOUT + 40 seconds, and its step a minute more to end. It
# writes ziatest-CLUSTER-JOBID/, ziatest-CLUSTER-JOBID.tar.gz and its log, cancels only its own
# steps, and ends two minutes before its time is over, or after scancel, with what it has.

# ---- Edit from here to the next line of dashes; NAME=VALUE arguments take precedence ----
# . /etc/profile.d/modules.sh	# if sh has no module command
# module load ...	# what ziaprobe was built with

RUNS=4	# launches of each size
SWEEP=	# sizes in nodes, such as "2 4 8"; if empty, the whole job
PPN=	# processes per node; if empty, one for each network interface of the first node
TIMEOUT=480	# seconds for a launch
SYSTEM_NODES=	# compute nodes of the whole system; if empty, all that sinfo shows
SRUN_OPTIONS=	# options that srun needs, such as --mpi=pmix; they override those below
# ---- Edit no further ----
export LC_ALL=C
ulimit -c 0	# no core dumps of a whole machine

die() {	# MESSAGE
	printf 'run_ziatest.sh: error: %s\n' "$1" >&2
	exit 1
}

# Writes to FILE the job's first SIZE nodes that respond: sinfo does not show them as down or with
# a *, and srun has not named them in an earlier launch. Leaves their number in $found.
find_nodes() {	# SIZE FILE
	{
		timeout -s KILL 5 sinfo --all --noheader --Node --format='%N %T' |
			grep -E ' down|[*]'
		grep -rohE 'failed on node [^ :]+' "$result/output" | awk '{ print $4, "failed" }'
		echo "$nodes"
	} | awk -v size="$1" 'NF == 2 { lost[$1] = 1 }
		NF == 1 && !($1 in lost) && n++ < size' >"$2"
	found=$(wc -l <"$2")
}

# Launches in the background, so that a signal can end the launcher. Leaves its status in $status.
# ziaprobe's own timeout cannot act if the launcher starts no process.
launch() {
	timeout --kill-after=10 $((TIMEOUT + 30)) ./ziatest -v -t "$TIMEOUT" \
		--csv "$result/results.csv" --ranks "$result/ranks-$size-$run.csv" "$PPN" \
		"srun --hint=nomultithread --distribution=block:block --cpus-per-task=$cores \
$SRUN_OPTIONS --overlap --job-name=$step --nodelist=./$list --nodes=$size \
--ntasks=$((size * PPN)) --ntasks-per-node" >"$output" 2>&1 &
	launcher=$!
	wait $launcher
	status=$?
	launcher=
	outcome="status $status; $(grep -E '^Time test|error:' "$output" | head -n 1)"
	sed -i '$a\' "$output" # adds a newline if there is none at the end
	for try in $(seq 30); do	# until the step has ended, for a minute
		id=$({ timeout -s KILL 5 squeue --noheader --steps --format='%j %i' \
			--jobs="$SLURM_JOB_ID" || echo "$step ?"; } | sed -n "s/^$step //p")
		case $ending$id,$try in
		,*|yes*) break ;;
		*,1|*,15) timeout -s KILL 5 scancel "$id" 2>/dev/null ;;
		*,30) echo 'the step has not ended' >>"$output" ;;
		esac
		sleep 2
	done
	echo "status $status" >>"$output"
}

number='[1-9][0-9]{0,5}'
valid="(RUNS|TIMEOUT)=$number|(PPN|SYSTEM_NODES)=($number)?|SWEEP=( *$number( +$number)*)? *"
for setting in "RUNS=$RUNS" "SWEEP=$SWEEP" "PPN=$PPN" "TIMEOUT=$TIMEOUT" \
	"SYSTEM_NODES=$SYSTEM_NODES" "$@"; do
	if printf '%s\n' "$setting" | grep -qvxE "$valid|SRUN_OPTIONS=.*"; then
		die "'$setting' is not valid; use a setting of the script, and numbers to 999999"
	fi
	eval "${setting%%=*}=\${setting#*=}"
done
result=ziatest-${SLURM_CLUSTER_NAME:-unknown}-${SLURM_JOB_ID-}
# A job that was submitted in a step inherits SLURM_STEP_ID; Slurm calls its script slurm_script.
if [ -z "${SLURM_JOB_ID-}" ] || [ -z "${SLURMD_NODENAME-}" ] || [ -n "${SLURM_HET_SIZE-}" ] ||
	{ [ -n "${SLURM_STEP_ID-}" ] && [ "${0##*/}" != slurm_script ]; }; then
	die 'this is not a batch job with a single component; submit the script with sbatch'
elif [ ! -x ziatest ] || [ ! -x ziaprobe ] || [ ! -f build.txt ] || [ ! -f changes.diff ]; then
	die "there is no build in $PWD; run make, and submit the job from there"
elif [ -e "$result" ] || [ -e "$result.tar.gz" ]; then
	die "$PWD/$result or $result.tar.gz already exists; move it out of the way"
fi

# Inherited variables could hide nodes or change a launch. srun gets its options as arguments.
unset $(env | grep -oE '^(SINFO|SQUEUE|SCANCEL)_\w+')
facts=$(job/environment "$0")
unset $(env | grep -oE '^(SLURM|SRUN)_\w+' |
	grep -vE '^SLURM_(JOB|CONF|CLUSTER|WORKING_CLUSTER|JWT|SACK|PMI|MPI)')
eval "$(echo "$facts" | grep -xE '(NODES_FOUND|INTERFACES|CORES)=[0-9]*')"
PPN=${PPN:-$INTERFACES}
SWEEP=$(printf '%s\n' ${SWEEP:-$SLURM_JOB_NUM_NODES} | sort -nru | paste -s -d ' ' -)
if [ -z "$PPN" ]; then
	die 'no network interface was found on the first node; set PPN'
elif [ "${SWEEP%% *}" -gt "$SLURM_JOB_NUM_NODES" ]; then
	die "SWEEP asks for ${SWEEP%% *} nodes, but the job has $SLURM_JOB_NUM_NODES"
fi
{ mkdir "$result" "$result/output" && cp build.txt changes.diff "$result"; } ||
	die "cannot write to $PWD"
printf '%s\n' "RUNS=$RUNS" "SWEEP=$SWEEP" "PPN=$PPN" "TIMEOUT=$TIMEOUT" \
	"SYSTEM_NODES=${SYSTEM_NODES:-$NODES_FOUND}" "SRUN_OPTIONS=$SRUN_OPTIONS" "$facts" \
	>"$result/environment.txt"
nodes=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
cores=$((CORES < PPN ? 1 : CORES / PPN))
ending='' launcher=''
trap 'ending=yes; test -z "$launcher" || { kill $launcher 2>/dev/null; wait $launcher; }' TERM
for size in $SWEEP; do
	failures=0
	for run in $(seq "$RUNS"); do
		step=ziatest-$size-$run output=$result/output/$size-$run.txt
		list=$result/nodes-$size-$run.txt
		find_nodes "$size" "$list"
		if [ -n "$ending" ]; then
			outcome='not launched: the job is ending'
		elif [ "$failures" -ge 2 ]; then
			outcome='not launched: two launches of this size failed in a row'
		elif [ "$found" -lt "$size" ]; then
			outcome="not launched: only $found of the $SLURM_JOB_NUM_NODES nodes \
respond, not $(echo "$nodes" | grep -vxFf "$list" | head -n 20 | paste -s -d ' ' -)"
		else
			launch
			failures=$((status ? failures + 1 : 0))
		fi
		test -e "$output" || echo "$outcome" >"$output"
		echo "launch $run of $RUNS on $size nodes: $outcome"
	done
done

if [ -z "$ending" ]; then
	find_nodes "$SLURM_JOB_NUM_NODES" "$result/nodes.txt"
	{
		printf '\nThe nodes and the programs, after the last launch:\n'
		timeout --kill-after=10 60 srun --overlap --nodelist="./$result/nodes.txt" \
			--nodes="$found" --ntasks-per-node=1 job/environment --node |
			job/environment --kinds
		sha256sum ziatest ziaprobe
	} >>"$result/environment.txt"
	rm "$result/nodes.txt"
	timeout --kill-after=10 60 job/summarize --pictures "$result" "$result" \
		>"$result/summary.txt"
	status=$?
	find "$result/summary.txt" -empty -delete
fi
{ tar -czf "$result.part" "$result" && mv "$result.part" "$result.tar.gz"; } ||
	die "cannot write $PWD/$result.tar.gz; what it would contain is in $result"
echo "The archive is $PWD/$result.tar.gz"
cat "$result/summary.txt" 2>/dev/null && exit "$status"
echo "For a summary, run job/summarize $result.tar.gz; it needs python3 (3.6 or later)"
test -z "$(grep -rLx 'status 0' "$result/output")"
