#!/bin/sh
#SBATCH --job-name=ziatest --output=ziatest-%j.out --nodes=2 --exclusive --time=00:55:00
#SBATCH --no-requeue --no-kill --signal=B:TERM@120
# shellcheck disable=SC2046,SC2086,SC2094,SC2153,SC3045
# Launches Ziatest on the nodes of a Slurm job, and packs an archive to hand in. Submit it from the
# directory in which you ran make:
#	sbatch --nodes=256 --time=02:00:00 run_ziatest.sh SWEEP="2 16 128 256" TIMEOUT=120
# For the administrator: it writes ziatest-CLUSTER-JOBID/, an archive of it (.part until complete),
# and its log. job/launches starts the steps. Two to three minutes before the time limit, or after
# scancel, this script ends it and all that it has started, packs what there is, and exits.

die() {	# MESSAGE
	sleep 1	# SIGTERM may have ended a tool first, and then ends the job now
	printf 'run_ziatest.sh: error: %s\n' "$1" >&2
	exit 1
}

# Ends what is left of job/launches and its process group, which are $!. Before setsid, there is no
# such group, and a shell that has just been forked may lose a signal. Meanwhile, none is heard.
end_launches() {
	trap '' TERM
	for signal in TERM TERM TERM TERM TERM TERM TERM TERM TERM TERM KILL; do
		kill -s $signal -- "-$!" || kill -s $signal "$!" || break
		sleep 0.5
	done 2>/dev/null
	test -n "$(ls "$result/output" 2>/dev/null)" ||
		die 'the job was ended before its first launch; nothing was measured'
}

# Ends the summary, which may take more time than is left. The archive is packed without it.
end_summary() {
	ending='the job is ending'
	test -z "$summarizer" || kill "$summarizer" 2>/dev/null
}
result=ziatest-${SLURM_CLUSTER_NAME:-unknown}-${SLURM_JOB_ID-} summarizer='' ending=''
trap end_launches TERM

# ---- Edit from here to the next line of dashes; NAME=VALUE arguments take precedence ----
# . /etc/profile.d/modules.sh	# if sh has no module command
# module load ...	# what ziaprobe was built with
RUNS=4	# launches of each size, at most 1000; at most 6000 in all
SWEEP=	# sizes in nodes, in quotes: "2 4 8"; if empty, the whole job
PPN=	# processes per node; if empty, one for each network interface of the first node
TIMEOUT=240	# seconds for a launch
SYSTEM_NODES=	# compute nodes of the whole system; if empty, all that sinfo shows
SRUN_OPTIONS=	# further options of srun, such as --mpi=pmix; job/launches shows their place
# ---- Edit no further ----
export LC_ALL=C
ulimit -c 0	# otherwise all ranks would dump core if an MPI library crashes
number='[1-9][0-9]{0,5}'
valid="(RUNS|TIMEOUT)=$number|(PPN|SYSTEM_NODES)=($number)?|SWEEP=( *$number( +$number)* *)?"
for setting in "RUNS=$RUNS" "SWEEP=$SWEEP" "PPN=$PPN" "TIMEOUT=$TIMEOUT" \
	"SYSTEM_NODES=$SYSTEM_NODES" "$@"; do
	if ! printf %s "$setting" | tr '\n' '\t' | grep -qxE "$valid|SRUN_OPTIONS=[ -~]*"; then
		die "'$setting' is not valid; sbatch options go first; numbers must be 1 to 999999"
	fi
	eval "${setting%%=*}=\${setting#*=}"
done
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
eval "$(printf '%s\n' "$facts" | grep -xE '(NODES_FOUND|INTERFACES|CORES)=[0-9]*')"
SWEEP=$(printf '%s\n' ${SWEEP:-$SLURM_JOB_NUM_NODES} | sort -nru | paste -s -d ' ' -)
if [ "$RUNS" -gt 1000 ] || [ $((RUNS * $(echo "$SWEEP" | wc -w))) -gt 6000 ]; then
	die "RUNS=$RUNS is too large; at most 1000 launches of each size, and 6000 in all"
elif [ -z "${PPN:=$INTERFACES}" ]; then
	die 'no network interface was found on the first node; set PPN'
elif [ "${SWEEP%% *}" -gt "$SLURM_JOB_NUM_NODES" ]; then
	die "SWEEP asks for ${SWEEP%% *} nodes, but the job has $SLURM_JOB_NUM_NODES; request more"
elif ! mkdir "$result" "$result/output" || ! cp build.txt changes.diff "$result" ||
	! printf '%s\n' "RUNS=$RUNS" "SWEEP=$SWEEP" "PPN=$PPN" "TIMEOUT=$TIMEOUT" \
		"SYSTEM_NODES=${SYSTEM_NODES:-$NODES_FOUND}" "SRUN_OPTIONS=$SRUN_OPTIONS" \
		"$facts" >"$result/environment.txt"; then
	die "cannot write $PWD/$result; if the disk is full, make room"
fi
launches=$(for size in $SWEEP; do seq -f "$size-%g" "$RUNS"; done)
echo "$nodes" | setsid job/launches "$result" "$RUNS" "$PPN" "$TIMEOUT" \
	$((CORES < PPN ? 1 : CORES / PPN)) "$SRUN_OPTIONS" $launches &
wait $! || ending='the job is ending'
end_launches
for launch in $launches; do
	if [ ! -e "$result/output/$launch.txt" ]; then
		echo "not launched: $ending" >"$result/output/$launch.txt"
		echo "launch ${launch#*-} of $RUNS on ${launch%-*} nodes: not launched: $ending"
	fi
done
grep -arLE '^(status|not launched)' "$result/output" | sed 's/$/ is not complete/'
trap end_summary TERM
(trap '' TERM && cd "$result" && rm -f nodes lost &&
	find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS)
unset PYTHONHOME PYTHONPATH
if [ -z "$ending" ]; then
	bytes=$(du -sb "$result" | cut -f 1) began=$(date +%s)
	limit=$((60 + ${bytes:-0} / 1000000))	# seconds; a tenth of that is usually enough
	timeout -s KILL "$limit" tools/summarize --pictures "$result" "$result" \
		>"$result/summary.txt" &
	summarizer=$!
	test -z "$ending" || end_summary
	wait "$summarizer"
	status=$? took=$(($(date +%s) - began))
fi
trap '' TERM
test -s "$result/summary.txt" || rm -f "$result/summary.txt"
if [ -e "$result/summary.txt" ]; then
	why=''
elif [ -n "$ending" ]; then
	why=$ending
elif [ "$status" -eq 137 ]; then
	why="it was killed after $took s: it reached its limit of $limit s, or memory ran out"
elif ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 6))'; then
	why='this node has no Python 3.6 or later'
else
	why='tools/summarize failed; its error message is above'
fi
tar -czf "$result.part" "$result"
if [ $? -gt 1 ] || ! mv "$result.part" "$result.tar.gz"; then	# 1: a file changed
	die "cannot write $PWD/$result.tar.gz; what it would contain is in $result"
fi
if [ -z "$why" ]; then
	cat "$result/summary.txt"
else
	printf '%s\n' "There is no summary: $why" \
		"To make one, run tools/summarize $result.tar.gz, if necessary on another computer"
fi
echo "The archive is $PWD/$result.tar.gz, SHA-256 $(sha256sum <"$result.tar.gz" | cut -c -64)"
test -n "$why" || exit "$status"
test -z "$(grep -rLx 'status 0' "$result/output")"
