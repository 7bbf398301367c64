# shellcheck shell=sh disable=SC2034,SC2154 # the variables are those of run_ziatest.sh
# prepare.sh - what run_ziatest.sh does before the first launch
#
# Reads the arguments, stops the job if it cannot run, takes the inventory, and fills in the
# settings that are empty. With --check, prints what the job would do, and exits. Writes no file.

number='[1-9][0-9]{0,5}'
settings='RUNS SWEEP NICS PPN CORES_PER_RANK TIMEOUT SYSTEM_NODES PLACEMENT SRUN_OPTIONS'

fact() {	# NAME: its value in the inventory
	printf '%s\n' "$facts" | sed -n "s/^$1=//p"
}

set_one() {	# NAME=VALUE: sets NAME, with a single blank for each run of white space
	value=$(printf '%s\n' "${1#*=}" | tr -s '[:space:]' ' ' | sed 's/^ //; s/ $//')
	use='a whole number'
	name=${1%%=*}
	case $1 in
	RUNS=*|TIMEOUT=*) allowed=$number ;;
	NICS=*|PPN=*|CORES_PER_RANK=*|SYSTEM_NODES=*) allowed="($number)?" ;;
	SWEEP=*) allowed="($number( $number)*)?" use='whole numbers' ;;
	PLACEMENT=*|SRUN_OPTIONS=*) allowed='.*' ;;
	*) die "unknown argument '$1'; use --check, or NAME=VALUE with one of $settings" ;;
	esac
	if ! printf '%s\n' "$value" | grep -qxE "$allowed"; then
		die "$name='$value' is not valid; use $use from 1 to 999999"
	fi
	eval "$name=\$value"
}

# Variables that the user has set for squeue, scancel or sinfo could hide the job, its steps or its
# nodes.
# shellcheck disable=SC2046 # names
unset $(env | grep -oE '^(SQUEUE|SCANCEL|SINFO)_[A-Z0-9_]+')

check=
job_nodes=${SLURM_JOB_NUM_NODES-}
job_cpus=${SLURM_JOB_CPUS_PER_NODE-}	# such as 128(x3),64
other_job=	# with --check=NODES, the answer is for another job
for argument; do
	case $argument in
	--check)
		check=yes ;;
	--check=*)
		check=yes
		other_job=yes
		job_nodes=${argument#*=}
		job_cpus=${job_cpus%%,*}	# assuming nodes like this job's first
		case $job_nodes in
		''|0*|*[!0-9]*|???????*)
			die "$argument is not valid; use a whole number from 1 to 999999" ;;
		esac ;;
	*)
		set_one "$argument" ;;
	esac
done
for name in $settings; do	# also those from the environment and from the edited block
	eval "set_one \"$name=\$$name\""
done

if [ -z "${SLURM_JOB_ID-}" ]; then
	die 'this is not a Slurm job; submit the script with sbatch, or run it under salloc'
elif [ -n "${SLURM_HET_SIZE-${SLURM_PACK_SIZE-}}" ]; then
	die 'this is a heterogeneous job; submit one that has a single component'
elif ask squeue --noheader --steps --jobs="$SLURM_JOB_ID" --format=%i |
	sed 's/.*\.//' | grep -qxF "${SLURM_STEP_ID:-none}"; then
	die "this is step $SLURM_STEP_ID of a job; run the script with sbatch, or without srun"
elif [ ! -x ziatest ] || [ ! -x ziaprobe ] || [ ! -f build.txt ] || [ ! -f changes.diff ]; then
	die "there is no build in $PWD; run make there"
fi
for program in ziatest ziaprobe; do
	if ! grep -qx "size: $(stat -Lc %s $program) $program" build.txt; then
		die "the size of $program does not match build.txt; run make again"
	fi
done
result=ziatest-${SLURM_CLUSTER_NAME:-unknown}-$SLURM_JOB_ID
for file in "$result" "$result.tar.gz" "$result-FAIL.tar.gz"; do
	if [ -e "$file" ]; then
		die "$PWD/$file already exists; move it out of the way"
	fi
done
if [ ! -w . ]; then
	die "cannot write to $PWD; make the directory writable"
fi

facts=$(step_name=$step_name inherited=$inherited job/inventory "$0") ||
	die 'srun failed during the inventory; try "srun --nodes=1 hostname" in a job like this'
# shellcheck disable=SC2086 # names
unset $inherited
all_nodes=$(ask scontrol show hostnames "$SLURM_JOB_NODELIST") ||
	die 'scontrol failed; try "scontrol show hostnames" in a job like this'
nodes_left=$all_nodes
NICS=${NICS:-$(fact NICS_FOUND)}
PPN=${PPN:-$NICS}
SYSTEM_NODES=${SYSTEM_NODES:-$(fact NODES_FOUND)}
SWEEP=$(echo "${SWEEP:-$job_nodes}" | tr ' ' '\n' | sort -nru | words)
# The smallest node's CPUs
cpus=$(echo "$job_cpus" | tr , '\n' | sort -n | sed 's/(.*//; q')
threads=$(fact THREADS)
cores=$((cpus / ${threads:-1}))
if [ -z "$PPN" ]; then
	die 'no network interface was found on the first node; set NICS or PPN'
elif [ "$PPN" -gt "$cpus" ]; then
	die "PPN is $PPN, but a node has fewer CPUs ($cpus); use --exclusive or a lower PPN"
elif [ "${SWEEP%% *}" -gt "$job_nodes" ]; then
	die "SWEEP asks for ${SWEEP%% *} nodes, but the job has $job_nodes; request more"
fi
find_step_wait
if [ -z "$other_job" ]; then
	deadline=$(($(now) + 60))
	until check_job; do
		if [ "$(now)" -ge "$deadline" ]; then
			die 'squeue has not responded for 60 s; submit the job again later'
		fi
		sleep 1
	done
fi
if ! find_limit; then
	die "only $left s of the job's time are left, too little for a launch; use a longer --time"
fi
if [ -z "$check" ]; then
	step_nodes=$(first_nodes 1)
	end_step	# of the inventory
	if [ -n "$stopped" ]; then
		die "after the inventory, $stopped; submit the job again"
	fi
fi
CORES_PER_RANK=${CORES_PER_RANK:-$((cores < PPN ? 1 : cores / PPN))}
if [ $((PPN * CORES_PER_RANK)) -gt "$cores" ]; then
	echo "run_ziatest.sh: warning: PPN $PPN x CORES_PER_RANK $CORES_PER_RANK is more than the" \
		"$cores cores of a node; reduce one of them" >&2
fi
resolved=$(for name in $settings; do
	eval "printf '%s=%s\n' $name \"\$$name\""
done)
facts="CORES=$cores
$facts"
printf '%s\n\n' "$resolved"
if [ -n "$check" ]; then
	launches=0
	for size in $SWEEP; do
		srun=$(launcher "$size")
		if [ -n "$other_job" ]; then
			srun=$(echo "$srun" | sed "s/--nodelist='[^']*'/--nodelist=.../")
		fi
		printf '%s launches: ./ziatest -v -t %s --csv ... --ranks ... %s "%s"\n' \
			"$RUNS" "$TIMEOUT" "$PPN" "$srun"
		launches=$((launches + RUNS))
	done
	# After TIMEOUT, it may take 30 s until a launch is terminated, 10 s until it is killed, and
	# 60 s until its step has ended.
	# One may have to wait for a crashed node. The last 300 s are reserved for the archive.
	most=$((launches * (TIMEOUT + 100) + step_wait + 300))
	time="$launches launches and the archive take up to $most s"
	if [ -z "$other_job" ]; then
		time="$time; time left: ${left:-no known limit}${left:+ s}"
	fi
	echo "$time"
	if [ -n "$left" ] && [ "$most" -gt "$left" ]; then
		echo 'run_ziatest.sh: warning: the launches may not fit in the time left;' \
			'use a longer --time' >&2
	fi
	exit 0
fi
