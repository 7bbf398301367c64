#!/bin/sh
#SBATCH --job-name=ziatest --output=ziatest-%j.out --nodes=2 --exclusive --time=00:55:00
#SBATCH --no-requeue --no-kill --signal=B:TERM@120
# shellcheck disable=SC2046,SC2086,SC2153,SC3045

# Launches Ziatest on the nodes of a Slurm job, one launch after the other, and packs an archive to
# hand in. Submit it from the directory in which you ran make:
#	sbatch --nodes=256 --time=02:00:00 run_ziatest.sh SWEEP="2 16 128 256" TIMEOUT=120
#
# For the administrator: the job starts RUNS steps for each size, then one that asks each node for
# its hardware. A launch takes at most TIMEOUT + 40 seconds. Then the job calls squeue every 2 s, at
# most 30 times, until the step has ended, and cancels that step. It writes ziatest-CLUSTER-JOBID/,
# an archive of it (.part until complete), and its log. Two to three minutes before the time limit,
# or after scancel, it packs what there is, and exits.

# ---- Edit from here to the next line of dashes; NAME=VALUE arguments take precedence ----
# . /etc/profile.d/modules.sh	# if sh has no module command
# module load ...	# what ziaprobe was built with

RUNS=4	# launches of each size
SWEEP=	# sizes in nodes, in quotes: "2 4 8"; if empty, the whole job
PPN=	# processes per node; if empty, one for each network interface of the first node
TIMEOUT=480	# seconds for a launch
SYSTEM_NODES=	# compute nodes of the whole system; if empty, all that sinfo shows
SRUN_OPTIONS=	# further options of srun, such as --mpi=pmix; launch() shows their place
# ---- Edit no further ----
export LC_ALL=C
ulimit -c 0	# otherwise all ranks would dump core if an MPI library crashes

die() {	# MESSAGE
	printf 'run_ziatest.sh: error: %s\n' "$1" >&2
	exit 1
}

# Writes the job's first SIZE nodes that respond to FILE: those that sinfo does not show as down or
# with a *, and that srun has not named in an earlier launch. Sets $found to their number.
find_nodes() {	# SIZE FILE
	{
		timeout 5 sinfo --all -h -N --format='%N %T' | grep -E ' down| drained|[*]'
		grep -arohE '(launch .*failed on node|Node failure on) [^ :]+' "$result/output"
		echo "$nodes"
	} | awk -v size="$1" 'NF == 2 { lost[$1] } NF > 2 { lost[$NF] }
		NF == 1 && !($1 in lost) && n++ < size { print }' >"$2"
	found=$(wc -l <"$2")
}

# Sets $status to the launcher's. A launch runs in the background, so that a signal can end it.
launch() {
	timeout --kill-after=10 $((TIMEOUT + 30)) ./ziatest -v -t "$TIMEOUT" \
		--csv "$result/results.csv" --ranks "$result/ranks-$size-$run.csv" "$PPN" \
		"srun --hint=nomultithread --distribution=block:block --cpus-per-task=$cores \
${SRUN_OPTIONS:+$SRUN_OPTIONS }--overlap --job-name=$step \
--nodelist=./$list --nodes=$size --ntasks=$((size * PPN)) --ntasks-per-node" >"$output" 2>&1 &
	launcher=$!
	test -z "$ending" || kill $launcher	# the signal came before launcher was set
	wait $launcher
	status=$? launcher=''
	outcome="status $status; $(grep -aE 'Time test|error:' "$output" | head -n 1)"
	test -z "$(tail -c 1 "$output")" || echo >>"$output"	# the last line lacks a newline
	for try in $(seq 30); do	# until the step has ended, at most a minute
		id=$({ timeout 5 squeue --noheader --steps --format='%j %i' \
			--jobs="$SLURM_JOB_ID" || echo "$step ?"; } |
			sed -nE "s/^$step ($own|[?]$)/\1/p")
		if [ -z "$id" ] || [ -n "$ending" ]; then
			break
		fi
		case $try in
		1|15) timeout 5 scancel "$id" 2>/dev/null ;;
		30) echo 'the step has not ended' >>"$output" ;;
		esac
		sleep 2
	done
	echo "status $status" >>"$output"
}

number='[1-9][0-9]{0,5}'
valid="(RUNS|TIMEOUT)=$number|(PPN|SYSTEM_NODES)=($number)?|SWEEP=( *$number( +$number)* *)?"
for setting in "RUNS=$RUNS" "SWEEP=$SWEEP" "PPN=$PPN" "TIMEOUT=$TIMEOUT" \
	"SYSTEM_NODES=$SYSTEM_NODES" "$@"; do
	if printf %s "$setting" | tr '\n' '\t' | grep -qvxE "$valid|SRUN_OPTIONS=[[:print:]]*"; then
		die "'$setting' is not valid; options of sbatch come first; numbers are 1 to 999999"
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
facts=$(job/environment "$0") || die 'job/environment failed; the error is above'
own="($SLURM_JOB_ID|${SLURM_ARRAY_JOB_ID-}_${SLURM_ARRAY_TASK_ID-})[.]"	# not an array's other tasks
unset $(env | grep -oE '^(SLURM|SRUN)_\w+' |
	grep -vE '^SRUN_OPTIONS$|^SLURM_(JOB|CONF|CLUSTER|WORKING_CLUSTER|JWT|SACK|PMI|MPI)')
eval "$(printf '%s\n' "$facts" | grep -xE '(NODES_FOUND|INTERFACES|CORES)=[0-9]*')"
PPN=${PPN:-$INTERFACES}
SWEEP=$(printf '%s\n' ${SWEEP:-$SLURM_JOB_NUM_NODES} | sort -nru | paste -s -d ' ' -)
if [ -z "$PPN" ]; then
	die 'no network interface was found on the first node; set PPN'
elif [ "${SWEEP%% *}" -gt "$SLURM_JOB_NUM_NODES" ]; then
	die "SWEEP asks for ${SWEEP%% *} nodes, but the job has $SLURM_JOB_NUM_NODES; request more"
fi
{ mkdir "$result" "$result/output" && cp build.txt changes.diff "$result"; } ||
	die "cannot write $PWD/$result; if the disk is full, make room"
printf '%s\n' "RUNS=$RUNS" "SWEEP=$SWEEP" "PPN=$PPN" "TIMEOUT=$TIMEOUT" \
	"SYSTEM_NODES=${SYSTEM_NODES:-$NODES_FOUND}" "SRUN_OPTIONS=$SRUN_OPTIONS" "$facts" \
	>"$result/environment.txt"
nodes=$(timeout 5 scontrol show hostnames "$SLURM_JOB_NODELIST") || die 'scontrol failed'
cores=$((CORES < PPN ? 1 : CORES / PPN))
ending='' launcher=''
trap 'ending=yes; test -z "$launcher" || { kill $launcher 2>/dev/null; wait $launcher; }' TERM
for size in $SWEEP; do
	failures=0
	for run in $(seq "$RUNS"); do
		step=ziatest-$size-$run output=$result/output/$size-$run.txt
		list=$result/nodes-$size-$run.txt
		if [ -n "$ending" ]; then
			outcome='not launched: the job is ending'
		elif [ "$failures" -ge 2 ]; then
			outcome='not launched: two launches of this size failed in a row'
		elif find_nodes "$size" "$list"; [ "$found" -lt "$size" ]; then
			outcome="not launched: only $found of the $SLURM_JOB_NUM_NODES nodes \
respond, not $(echo "$nodes" | grep -vxFf "$list" | head -n 20 | paste -s -d ' ' -)"
		else
			launch
			failures=$((status ? failures + 1 : 0))
		fi
		test -e "$output" || echo "$outcome" >"$output"	# there was no launch
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
fi
test -n "$ending" || timeout --kill-after=10 60 job/summarize --pictures "$result" "$result" \
	>"$result/summary.txt"
status=$?
test -s "$result/summary.txt" || rm -f "$result/summary.txt"
tar -czf "$result.part" "$result"
{ test $? -le 1 && mv "$result.part" "$result.tar.gz"; } ||	# 1: a file changed
	die "cannot write $PWD/$result.tar.gz; what it would contain is in $result"
echo "The archive is $PWD/$result.tar.gz"
cat "$result/summary.txt" 2>/dev/null && exit "$status"
echo "For a summary, run job/summarize $result.tar.gz; it needs python3 (3.6 or later)"
test -z "$(grep -rLx 'status 0' "$result/output")"
