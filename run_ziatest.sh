#!/bin/sh
#SBATCH --job-name=ziatest
#SBATCH --nodes=2
#SBATCH --exclusive
#SBATCH --time=00:10:00
#SBATCH --output=ziatest-%j.out

# Ziatest as a Slurm batch job, on all nodes of its allocation:
#
#	sbatch --nodes=256 run_ziatest.sh
#	NICS=4 sbatch --nodes=256 run_ziatest.sh
#
# Edit the values below for your system, or set them in the environment.
# sbatch takes options before the script's name: --partition, --account, ...

NICS=${NICS:-1}		# network interfaces of a node; one process is started for each
STRIDE=${STRIDE:-}	# cores from one process to the next; empty: the node's, divided evenly
SRUN_OPTIONS=${SRUN_OPTIONS:-"--distribution=block:block"}	# and what your system needs

if [ -z "${SLURM_JOB_ID-}" ]; then
	echo "$0: error: not inside a Slurm job; submit it: sbatch --nodes=N $0" >&2
	exit 2
fi
case $NICS/${STRIDE:-1} in
0*|*/0*|*[!0-9/]*)
	echo "run_ziatest.sh: error: NICS='$NICS' and STRIDE='$STRIDE' must be numbers from 1 up" >&2
	exit 2 ;;
esac

# Slurm runs a copy of this script from its own directory; the programs are beside
# the original, which the job's record names.
script=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Command=\([^ ]*\).*/\1/p')
for dir in "$(dirname "$script")" "$SLURM_SUBMIT_DIR"; do
	[ -x "$dir/ziatest" ] && [ -x "$dir/ziaprobe" ] && break
	dir=
done
if [ -z "$dir" ]; then
	echo "run_ziatest.sh: error: no ziatest and ziaprobe in '$(dirname "$script")' or '$SLURM_SUBMIT_DIR'; run make there" >&2
	exit 2
fi
cd "$dir" || exit 2

if [ -z "$STRIDE" ]; then
	threads=$(lscpu | sed -n 's/^Thread(s) per core: *//p')
	STRIDE=$((SLURM_CPUS_ON_NODE / ${threads:-1} / NICS))
	[ "$STRIDE" -ge 1 ] || STRIDE=1
fi
tasks=$((SLURM_JOB_NUM_NODES * NICS))

exec ./ziatest "$NICS" \
	"srun $SRUN_OPTIONS --ntasks $tasks --cpus-per-task $STRIDE --ntasks-per-node "
