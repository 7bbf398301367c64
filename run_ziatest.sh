#!/bin/sh
#SBATCH --job-name=ziatest --output=ziatest-%j.out --nodes=2 --exclusive --time=00:55:00
#SBATCH --no-requeue --no-kill --signal=B:TERM@120
# shellcheck disable=SC2046,SC2086,SC2094,SC2153,SC3045

# Launches Ziatest on the nodes of a Slurm job, one launch after the other, and packs an archive to
# hand in. Submit it from the directory in which you ran make:
#	sbatch --nodes=256 --time=02:00:00 run_ziatest.sh SWEEP="2 16 128 256" TIMEOUT=120
# For the administrator: the job starts RUNS steps for each size, then one that asks each node for
# its hardware. A launch takes at most TIMEOUT + 110 s, of which the last 60 go into waiting for its
# step: with squeue every 2 s, and at most two scancel. The job writes ziatest-CLUSTER-JOBID/, an
# archive of it (.part until complete), and its log. Two to three minutes before the time limit, or
# after scancel, it packs what there is, and exits.

# ---- Edit from here to the next line of dashes; NAME=VALUE arguments take precedence ----
# . /etc/profile.d/modules.sh	# if sh has no module command
# module load ...	# what ziaprobe was built with
RUNS=4	# launches of each size, at most 1000; at most 6000 in all
SWEEP=	# sizes in nodes, in quotes: "2 4 8"; if empty, the whole job
PPN=	# processes per node; if empty, one for each network interface of the first node
TIMEOUT=480	# seconds for a launch
SYSTEM_NODES=	# compute nodes of the whole system; if empty, all that sinfo shows
SRUN_OPTIONS=	# further options of srun, such as --mpi=pmix; launch() shows their place
# ---- Edit no further ----
export LC_ALL=C
ulimit -c 0	# otherwise all ranks would dump core if an MPI library crashes
ending=${ziatest_ending-} child=''
trap 'trap "" TERM; exec env ziatest_ending=yes "$0" "$@"' TERM	# restart with $ending, only to pack

die() {	# MESSAGE
	printf 'run_ziatest.sh: error: %s\n' "$1" >&2
	exit 1
}

# Writes to FILE the job's first SIZE nodes that respond: those that sinfo does not show as down,
# drained or with a *, and that no error of an earlier srun names. Sets $found to their number.
find_nodes() {	# SIZE FILE
	{
		timeout 5 sinfo --all -h -N --format='%N %T' | grep -E ' down| drained|[*]'
		grep -arohE '(launch .*failed on node|Node failure on) [^ :]+' "$result/output"
		echo "$nodes"
	} | awk -v size="$1" 'NF == 2 { lost[$1] } NF > 2 { lost[$NF] }
		NF == 1 && !($1 in lost) && n++ < size { print }' >"$2"
	found=$(wc -l <"$2")
}

# Runs COMMAND, unless the job is ending, and sets $status. In the background: signals act at once.
await() {	# COMMAND...
	{ test -z "$ending" && exec "$@"; } &
	child=$!
	test -z "$ending" || kill $child	# the signal came before child was set
	wait $child
	status=$? child=''
}

# Waits until the launch's step has ended, at most a minute. If squeue shows it, cancels it twice.
await_step() {
	begun=$(date +%s) passed=0 cancel_at=0 remark='Slurm did not say whether the step has ended'
	while [ -z "$ending" ] && [ "$passed" -lt 56 ]; do	# 60, with two sleeps not counted
		await timeout $((passed < 26 ? 30 : 56 - passed)) squeue --noheader --steps \
			--format='%j %i' --jobs="$SLURM_JOB_ID" >"$result/steps" 2>/dev/null
		passed=$(($(date +%s) - begun))
		id=$(sed -nE "s/^$step ($this_job)/\1/p" "$result/steps")
		if [ "$status" -eq 0 ] && [ -z "$id" ]; then
			return
		elif [ "$status" -eq 0 ] && [ "$passed" -ge "$cancel_at" ]; then
			remark='the step has not ended'
			cancel_at=$((cancel_at + 30))
			timeout 5 scancel "$id" 2>/dev/null &	# it may be slow, too
		fi
		sleep 2
	done
	test -n "$ending" || echo "$remark" >>"$output"
}

launch() {
	await timeout --kill-after=10 $((TIMEOUT + 30)) ./ziatest -v -t "$TIMEOUT" \
		--csv "$result/results.csv" --ranks "$result/ranks-$size-$run.csv" "$PPN" \
		"srun --hint=nomultithread --distribution=block:block --cpus-per-task=$cores \
${SRUN_OPTIONS:+$SRUN_OPTIONS }--overlap --job-name=$step \
--nodelist=./$list --nodes=$size --ntasks=$((size * PPN)) --ntasks-per-node" >"$output" 2>&1
	launch_status=$status
	outcome="status $launch_status; $(grep -aE 'Time test|error:' "$output" | head -n 1)"
	test -z "$(tail -c 1 "$output")" || echo >>"$output"	# the last line lacks a newline
	await_step
	echo "status $launch_status" >>"$output"
}
number='[1-9][0-9]{0,5}'
valid="(RUNS|TIMEOUT)=$number|(PPN|SYSTEM_NODES)=($number)?|SWEEP=( *$number( +$number)* *)?"
for setting in "RUNS=$RUNS" "SWEEP=$SWEEP" "PPN=$PPN" "TIMEOUT=$TIMEOUT" \
	"SYSTEM_NODES=$SYSTEM_NODES" "$@"; do
	if ! printf %s "$setting" | tr '\n' '\t' | grep -qxE "$valid|SRUN_OPTIONS=[ -~]*"; then
		die "'$setting' is not valid; sbatch options go first; numbers must be 1 to 999999"
	fi
	eval "${setting%%=*}=\${setting#*=}"
done
result=ziatest-${SLURM_CLUSTER_NAME:-unknown}-${SLURM_JOB_ID-}
# A job that is submitted in a step inherits SLURM_STEP_ID; its script is called slurm_script.
if [ -z "${SLURM_JOB_ID-}" ] || [ -z "${SLURMD_NODENAME-}" ] || [ -n "${SLURM_HET_SIZE-}" ] ||
	{ [ -n "${SLURM_STEP_ID-}" ] && [ "${0##*/}" != slurm_script ]; }; then
	die 'this is not a batch job with a single component; submit the script with sbatch'
elif [ ! -x ziatest ] || [ ! -x ziaprobe ] || [ ! -f build.txt ] || [ ! -f changes.diff ]; then
	die "there is no build in $PWD; run make, and submit the job from there"
elif [ -e "$result" ] || [ -e "$result.tar.gz" ]; then
	die "$PWD/$result or $result.tar.gz already exists; move it out of the way"
fi
unset $(env | grep -oE '^(SINFO|SQUEUE|SCANCEL)_\w+') SLURM_CLUSTERS	# they could hide nodes
nodes=$(timeout 30 scontrol show hostnames "$SLURM_JOB_NODELIST") || die 'scontrol failed; resubmit'
facts=$(echo "$nodes" | job/environment "$0") || die 'job/environment failed; see above'
this_job="($SLURM_JOB_ID|${SLURM_ARRAY_JOB_ID-}_${SLURM_ARRAY_TASK_ID-})[.]"	# not another task's
unset $(env | grep -oE '^(SLURM|SRUN)_\w+' |	# they could change a launch
	grep -vE '^SRUN_OPTIONS$|^SLURM_(CLUSTER_NAME$|WORKING_CLUSTER|JOB|CONF|JWT|SACK|PMI|MPI)')
eval "$(printf '%s\n' "$facts" | grep -xE '(NODES_FOUND|INTERFACES|CORES)=[0-9]*')"
PPN=${PPN:-$INTERFACES}
SWEEP=$(printf '%s\n' ${SWEEP:-$SLURM_JOB_NUM_NODES} | sort -nru | paste -s -d ' ' -)
if [ "$RUNS" -gt 1000 ] || [ $((RUNS * $(echo "$SWEEP" | wc -w))) -gt 6000 ]; then
	die "RUNS=$RUNS is too large; at most 1000 launches of each size, and 6000 in all"
elif [ -z "$PPN" ]; then
	die 'no network interface was found on the first node; set PPN'
elif [ "${SWEEP%% *}" -gt "$SLURM_JOB_NUM_NODES" ]; then
	die "SWEEP asks for ${SWEEP%% *} nodes, but the job has $SLURM_JOB_NUM_NODES; request more"
fi
trap 'trap "" TERM; ending=yes; test -z "$child" || { kill $child; wait $child; } 2>/dev/null' TERM
(trap '' TERM; mkdir "$result" "$result/output" && cp build.txt changes.diff "$result") ||
	die "cannot write $PWD/$result; if the disk is full, make room"
printf '%s\n' "RUNS=$RUNS" "SWEEP=$SWEEP" "PPN=$PPN" "TIMEOUT=$TIMEOUT" \
	"SYSTEM_NODES=${SYSTEM_NODES:-$NODES_FOUND}" "SRUN_OPTIONS=$SRUN_OPTIONS" "$facts" \
	>"$result/environment.txt"
cores=$((CORES < PPN ? 1 : CORES / PPN))
for size in $SWEEP; do
	failures=0 run=0
	while [ $((run += 1)) -le "$RUNS" ]; do
		step=ziatest-$size-$run output=$result/output/$size-$run.txt
		list=$result/nodes-$size-$run.txt
		if [ -z "$ending" ] && [ "$failures" -ge 2 ]; then
			outcome='not launched: two launches of this size failed in a row'
		elif [ -z "$ending" ] && find_nodes "$size" "$list" && [ -z "$ending" ] &&
			[ "$found" -lt "$size" ]; then
			echo "$nodes" | grep -vxFf "$list" >"$result/lost"
			outcome="not launched: only $found of the $SLURM_JOB_NUM_NODES nodes \
respond, not $(timeout 5 scontrol show hostlist "$PWD/$result/lost" 2>/dev/null | grep . ||
	paste -s -d ' ' "$result/lost")"
		elif [ -z "$ending" ]; then
			launch
			failures=$((launch_status ? failures + 1 : 0))
		else
			outcome='not launched: the job is ending'
		fi
		test -e "$output" || echo "$outcome" >"$output"	# there was no launch
		echo "launch $run of $RUNS on $size nodes: $outcome"
	done
done
if [ -z "$ending" ]; then
	find_nodes "$SLURM_JOB_NUM_NODES" "$result/nodes"
	await timeout --kill-after=10 60 sh -c "srun $SRUN_OPTIONS --overlap --ntasks-per-node=1 \
		--nodelist=$result/nodes --nodes=$found job/environment --node" >"$result/hardware"
	job/environment --after <"$result/hardware" >>"$result/environment.txt"
fi
(trap '' TERM && cd "$result" && rm -f steps lost nodes hardware &&	# scancel signals them all
	find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS)
test -n "$ending" || await timeout --kill-after=10 60 job/summarize --pictures "$result" "$result" \
	>"$result/summary.txt"
trap '' TERM
if [ -n "$ending" ] || [ ! -s "$result/summary.txt" ]; then
	rm -f "$result/summary.txt" "$result"/*.svg
fi
tar -czf "$result.part" "$result"
if [ $? -gt 1 ] || ! mv "$result.part" "$result.tar.gz"; then	# 1: a file changed
	die "cannot write $PWD/$result.tar.gz; what it would contain is in $result"
fi
cat "$result/summary.txt" 2>/dev/null ||
	echo "For a summary, run job/summarize $result.tar.gz; it needs python3 (3.6 or later)"
echo "The archive is $PWD/$result.tar.gz, SHA-256 $(sha256sum <"$result.tar.gz" | cut -c -64)"
test ! -e "$result/summary.txt" || exit "$status"
test -z "$(grep -rLx 'status 0' "$result/output")"
