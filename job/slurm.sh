# shellcheck shell=sh disable=SC2034,SC2154 # the variables are those of run_ziatest.sh
# slurm.sh - what run_ziatest.sh asks Slurm about its job and its steps
#
# Slurm may be too busy to answer. A question then ends after 5 seconds, and changes nothing.

ask() {	# COMMAND...
	timeout --kill-after=1 5 "$@" 2>/dev/null
}

now() {
	date +%s
}

words() {	# <LINES: in one line, separated by blanks
	paste -s -d ' ' -
}

# Leaves in $step_wait how many seconds the job waits for a step to end. Slurm takes a node that
# does not respond from the job only after SlurmdTimeout, and checks only once in every third of
# that. The rest, a third and a minute, is a margin.
find_step_wait() {
	node_timeout=$(ask scontrol show config | sed -n 's/^SlurmdTimeout *= *\([0-9]*\).*/\1/p')
	node_timeout=${node_timeout:-300}
	step_wait=$((node_timeout * 5 / 3 + 60))
}

# Stops here if the job was cancelled, or ended by Slurm. Otherwise leaves the time at which it ends
# in $job_end, which is empty if there is no limit, and the nodes that it has in $nodes_left. Fails
# if there is no answer.
check_job() {
	if ! answer=$(ask squeue --noheader --jobs="$SLURM_JOB_ID" --format='%A|%T|%L|%N'); then
		return 1
	fi
	answer=$(echo "$answer" | grep "^$SLURM_JOB_ID|" | grep -v '|COMPLETING|')
	if [ -z "$answer" ]; then
		die 'the job was cancelled, or ended by Slurm; submit it again'
	fi
	time_left=$(echo "$answer" | cut -d '|' -f 3)
	case $time_left in
	*[0-9]:[0-9]*)
		job_end=$(($(now) + $(seconds "$time_left"))) ;;
	UNLIMITED)
		job_end= ;;
	esac
	if names=$(ask scontrol show hostnames "${answer##*|}"); then
		nodes_left=$names
	fi
}

seconds() {	# [[DAYS-]HOURS:]MINUTES:SECONDS
	echo "$1" | awk -F '[-:]' '{
		split("1 60 3600 86400", unit, " ")
		for (i = 1; i <= NF; i++)
			seconds += unit[i] * $(NF + 1 - i)
		print seconds
	}'
}

# Leaves in $left the seconds that the job has left, and in $limit those that the next launch may
# take: TIMEOUT, or what is left minus a reserve for the archive if that is less. Without a limit of
# the job, $left is empty. Fails if the time is too short: a launch that would get less than
# TIMEOUT needs 30 seconds, because one that is cut off early looks like a failure.
find_limit() {
	left=
	limit=$TIMEOUT
	if [ -z "$job_end" ]; then
		return
	fi
	left=$((job_end - $(now)))
	reserve=$((left < 600 ? left / 2 : 300))
	if [ $((left - reserve)) -lt "$TIMEOUT" ]; then
		limit=$((left - reserve))
		[ "$limit" -ge 30 ]
	fi
}

lost_nodes() {	# NODES: those that the job no longer has
	{
		echo "$nodes_left" | sed 's/$/ left/'
		echo "$1"
	} | awk '$2 == "left" { left[$1] = 1; next } !($1 in left)' | words
}

# The ids of the job's own steps, except those in $dead_steps. Fails if there is no answer.
own_steps() {
	if ! listed=$(ask squeue --noheader --steps --jobs="$SLURM_JOB_ID" --format='%i %j'); then
		return 1
	fi
	echo "$listed" | awk -v name="$step_name" -v dead=" $dead_steps " '
		$2 == name && !index(dead, " " $1 " ") { print $1 }' | words
}

# Cancels what is left of the last launch's step, which had $step_nodes, and waits for it to end.
# Otherwise the next launch would queue behind it, on the clock. If the step may still be running
# after that, leaves the reason in $stopped.
end_step() {
	steps=
	begin=$(now)
	next_cancel=$begin
	while :; do
		if answer=$(own_steps); then
			steps=$answer
			if [ -z "$steps" ]; then
				return
			fi
			if [ "$(now)" -ge "$next_cancel" ]; then
				next_cancel=$(($(now) + 60))
				# shellcheck disable=SC2086 # one argument a step
				ask scancel $steps
			fi
		fi
		waited=$(($(now) - begin))
		if [ -n "$steps" ] && [ "$waited" -ge 60 ] && check_job; then
			lost=$(lost_nodes "$step_nodes")
			if [ -n "$lost" ]; then
				# Slurm has killed such a step on its other nodes too. Before 23.11,
				# it may list the step until the job ends, and keep its CPUs from
				# other steps, unless they overlap.
				dead_steps="$dead_steps $steps"
				echo "step $steps is still listed, but has lost $lost;" \
					'further launches have --overlap'
				return
			fi
		fi
		if ! may_wait "$waited"; then
			break
		fi
		sleep $((waited < 10 ? 1 : 10))
	done
	stopped='squeue is not responding, so a step may still be running'
	if [ -n "$steps" ]; then
		stopped="step $steps has not ended"
		down=$(down_nodes)
		stopped="$stopped${down:+; down or not responding: $down}"
	fi
}

# If srun could not start processes on a node, the launch fails within seconds, and so would the
# next ones. Waits until the job has lost that node, if it has crashed: then sinfo shows it as not
# responding within a third of SlurmdTimeout.
wait_for_crash() {	# OUTPUT: that of the launch
	unreached=$(grep -o 'failed on node [^ :]*' "$1" | sed 's/.* //' | sort -u)
	begin=$(now)
	while [ -n "$unreached" ]; do
		if check_job && [ -n "$(lost_nodes "$unreached")" ]; then
			return
		fi
		waited=$(($(now) - begin))
		if [ "$waited" -ge $((node_timeout / 3 + 30)) ] && [ -z "$(down_nodes)" ]; then
			return
		elif ! may_wait "$waited"; then
			return
		fi
		sleep 10
	done
}

may_wait() {	# SECONDS: succeeds if the job has waited that long, and may wait longer
	if [ -n "$job_end" ] && [ $((job_end - $(now))) -le 120 ]; then
		return 1
	fi
	[ "$1" -lt "$step_wait" ]
}

down_nodes() {	# those of $step_nodes; sinfo marks a node that does not respond with a *
	names=$(echo "$step_nodes" | paste -s -d , -)
	ask sinfo --all --noheader --Node --nodes="$names" --format='%N %T' |
		awk '$2 ~ /^down|\*/ && !seen[$1]++ { print $1 }' | words
}
