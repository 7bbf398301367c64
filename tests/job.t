#!/bin/sh
# run_ziatest.sh as a job of a real Slurm: what it leaves, whatever the settings, the nodes and the
# launches are like, and which node it finds late
. "$(dirname "$0")/lib.sh"

# Outside the cluster: built in a clone, changed; then this file again, on eight nodes.
if [ -z "${JOB_TEST-}" ]; then
	needs_cluster
	for tool in gnuplot mpicc.openmpi git; do
		has $tool || skip_all "no $tool; tests/setup installs it"
	done
	mkdir "$tmp/a clone"
	cp -r Makefile ziatest.c ziaprobe.c run_ziatest.sh probe job "$tmp/a clone"
	cd "$tmp/a clone" || exit 1
	git init -q
	git add .
	git -c user.name=test -c user.email=test@localhost commit -q -m test
	echo '/* a change */' >>ziatest.c
	make -s MPICC=mpicc.openmpi || exit 1
	cp -r "$PWD" "$tmp/outside git"
	rm -rf "$tmp/outside git/.git"
	make -s -B -C "$tmp/outside git" MPICC=mpicc.openmpi PAD=4096 || exit 1
	mpicc.openmpi -shared -fPIC -o "$tmp/shim.so" "$top/tests/shim.c"
	printf '#!/bin/sh\n[ "$(hostname)" != n3 ] || sleep 3\n' >"$tmp/late"
	chmod +x "$tmp/late"
	JOB_TEST=$tmp timeout 400 "$top/tests/cluster" 8 sh "$top/tests/job.t"
	exit
fi

cd "$JOB_TEST" || exit 1
export TIMEOUT=60 SLURM_TOKEN=secret-word
injected="--export=ALL,LD_PRELOAD=$JOB_TEST/shim.so"
scontrol create partitionname=viz nodes=n5
scontrol update partitionname=all nodes=n1,n2,n3,n4,n6,n7,n8
scontrol update nodename=n6 state=drain reason=test

# job CASE COMMAND: COMMAND, with variables before it, on the script in a copy of $clone. Leaves the
# status in $status, what was printed in $log, the names left in $left, the verdicts in $verdicts.
clone='a clone'
sbatch='sbatch --quiet --wait --output=log'
job() {
	cp -al "$clone" "$1"
	(cd "$1" && eval "env $2 ./run_ziatest.sh" >>log 2>&1 </dev/null)
	status=$?
	look "$1"
	poll 20 nodes_are_free || diag "$(squeue)"
}

look() {	# CASE
	log=$(cat "$1/log")
	left=$(cd "$1" && find . -name '*.tar.gz' -o -name INCOMPLETE | sed 's/-[0-9]\+/-ID/')
	verdicts=$(grep -hsE '^(PASS|FAIL|CHANGED|UNKNOWN) ' "$1"/ziatest-*/summary.txt)
}

nodes_are_free() {
	[ -z "$(squeue --noheader --nodelist=n1,n2,n3,n4)" ]
}

good='./ziatest-ID.tar.gz 0'
failed='./ziatest-ID-FAIL.tar.gz 1'
launched='(run [0-9]/[0-9] on [0-9] nodes: status 0; Time test [^|]*\|)'
rest='PASS     valid runs: [^|]*\|PASS     executable: [^|]*'
source='CHANGED  source: ziatest\.c differs from commit [0-9a-f]+, see changes\.diff'
one_rank='UNKNOWN  ranks per node: 1; no network interface was found: set NICS'

# Beside the others: on a node a slurmstepd that stops, so that the step stays
stop='n8 Init kill -STOP $(ps -o ppid= -p $PPID)'
(
	job stuck "SHIM='$stop' SRUN_OPTIONS=$injected TIMEOUT=5 RUNS=2 PPN=1 \
		$sbatch --nodes=2 --nodelist=n7,n8"
	echo "$status" >stuck/status
) &

# A sweep, with an environment that would spoil it
job sweep "SLURM_DISTRIBUTION=cyclic SLURM_LABELIO=1 SLURM_MPI_TYPE=none LC_ALL=de_DE.UTF-8 \
	SRUN_OPTIONS=--mpi=pmix RUNS=2 SWEEP='4 2' PPN=2 NICS=2 COMPUTE_NODES=4 $sbatch --nodes=4"
is 'a sweep: the archive and the status' "$left $status" "$good"
like 'a sweep: the log has the settings, the runs, the summary' "$log" \
	"RUNS=2\|SWEEP=2 4\|.*SRUN_OPTIONS=--mpi=pmix\|\|$launched{4}Ziatest: .*\|Hand in [^|]*"
like 'a sweep: the verdicts' "$verdicts" \
	"PASS     compute nodes: 4 of 4, 100.0 %; the rule is 99 % \(set by hand; found: 8\)\|\
PASS     ranks per node: 2, with 2 network interfaces \(set by hand; found: none\)\|$rest\|$source"
is 'a sweep: what is in the archive' "$(tar -tzf sweep/ziatest-*.tar.gz |
	sed 's/^ziatest-[0-9]*.//; /\/$\|^$/d' | sort | paste -s -d ' ' -)" \
	"build.txt changes.diff environment.txt$(printf ' output/%s.txt' 2-1 2-2 4-1 4-2)\
$(printf ' ranks-%s.csv' 2-1 2-2 4-1 4-2) ranks.svg results.csv scaling.svg summary.txt"
like 'a sweep: on the first nodes' "$(grep -ho -e '--nodelist=[^ ]*' sweep/ziatest-*/output/*)" \
	"--nodelist='n\[1-2]'\|--nodelist='n\[1-2]'"
is 'a sweep: no secret is shown' "$(grep -r secret-word sweep/ziatest-*/)" ''
like 'a sweep: where the executable lay' "$(grep ^PROBE sweep/ziatest-*/environment.txt)" \
	'PROBE=/.*/sweep/ziaprobe on [0-9]*[a-z][a-z0-9.]*, .*'

# Rules broken, launches that fail
job few "RUNS=1 NICS=3 PPN=2 $sbatch --nodes=4"
is 'too few nodes and ranks: the archive and the status' "$left $status" "$failed"
like 'too few nodes and ranks: the verdicts' "$verdicts" \
	"FAIL     compute nodes: 4 of 8, 50.0 %; the rule is 99 %; the others: [^|]*\|\
FAIL     ranks per node: 2, with 3 network interfaces [^|]*\|$rest\|$source"
others=$(sed -n 's/^NODES_ELSEWHERE=//p' few/ziatest-*/environment.txt)
for place in '1 in partition viz' '1 drained'; do
	ok "too few nodes: $place" matches "$others" "(^|, )$place(,|\$)"
done
job none "RUNS=2 SRUN_OPTIONS=--no-such-option $sbatch --nodes=1"
is 'no run that succeeds: the archive and the status' "$left $status" "$failed"
like 'no run that succeeds: the log' "$log" ".*\|(run ./2 on 1 nodes: status 255; [^|]*\|){2}\
Ziatest: [^|]*\|Time: none, no run is valid\|\|FAIL     valid runs: 0 of 2\|$source\|\|Problems\|.*"
job wrong "SWEEP='2 3a' $sbatch --nodes=1"
like 'a setting that is no number' "$log/$left $status" \
	"run_ziatest.sh: error: '3a': RUNS SWEEP .* are 1 to 999999/ 1"
export SHIM="0 Init touch '$PWD/begun'; sleep 600"
(poll 60 test -e begun; scancel --name=ziatest --nodelist=n1) &
job cancel "SRUN_OPTIONS=$injected $sbatch --nodes=1 --nodelist=n1"
is 'a job that is cancelled' "$left" ./ziatest-ID/INCOMPLETE

# Systems that lack something
hidden=$(which gnuplot sinfo git | paste -s -d ' ' -)
# shellcheck disable=SC2086 # several
ssh n1 "for tool in" $hidden "; do mount --bind /dev/null \$tool; done"
job plain "RUNS=1 $sbatch --nodes=1 --nodelist=n1"
# shellcheck disable=SC2086
ssh n1 umount $hidden
is 'no sinfo, git, gnuplot: the archive and the status' "$left $status" "$good"
like 'no sinfo, git, gnuplot: the verdicts' "$verdicts" \
	"UNKNOWN  compute nodes: 1; set COMPUTE_NODES [^|]*\|$one_rank\|$rest\|$source"
like 'no sinfo, git, gnuplot: the log' "$log" '.*\|summarize: no gnuplot here, so no pictures\|.*'
ssh n1 'mount -t tmpfs tmpfs /sys/class
	mkdir /sys/class/infiniband
	cd /sys/class/infiniband
	for card in mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_bond_0; do
		mkdir -p $card/device $card/ports/1
		echo 4: ACTIVE >$card/ports/1/state
		echo 400 Gb/sec >$card/ports/1/rate
	done
	echo 1: DOWN >mlx5_2/ports/1/state
	mkdir mlx5_3/device/physfn'
job nics "RUNS=1 COMPUTE_NODES=1 $sbatch --nodes=1 --nodelist=n1"
ssh n1 umount /sys/class
like 'five InfiniBand devices, one down, one virtual, one a bond' "$verdicts" \
	"PASS     comp[^|]*\|PASS     ranks per node: 2, with 2 network interfaces\|$rest\|$source"
job salloc "RUNS=1 PPN=2 COMPUTE_NODES=2 salloc --quiet --exclusive --nodes=2 \
	env SLURM_JOB_CPUS_PER_NODE='16,6(x3)'"
is 'salloc: the archive and the status' "$left $status" "$good"
like 'salloc, nodes of 16 and 6 cores' "$log" ".*\|STRIDE=3\|.*\|$launched.*"
job clean "RUNS=1 $sbatch --nodes=2 --export=NONE"
like 'sbatch --export=NONE: the log has the settings in force' "$log" "RUNS=3\|.*\|$launched{3}.*"
like 'sbatch --export=NONE: the processes have the environment of the job' \
	"$(cut -d , -f 6 clean/ziatest-*/results.csv)" 'corrected_ms(\|[0-9.]+){3}'
clone='outside git'
job outside "RUNS=1 $sbatch --nodes=1"
like 'built outside git, without a pad' "$verdicts" \
	'.*FAIL     executable: [0-9]* bytes; [^|]*\|UNKNOWN  source: built outside git'
clone='a clone'

# One node is late.
late() {	# CASE WHAT COLUMN: n3 alone has more than a second of the three in that column
	is "late in $2" "$(sed '1,/^node /d' "$1"/ziatest-*/summary.txt | awk '
		NR == 1 {
			printf "%s", $1
			for (i = 2; i <= 5; i++)
				if ($i > 1000)
					printf " %d", i
		}')" "n3 $3"
}
job load "RUNS=2 PPN=2 SRUN_OPTIONS=--task-prolog=$JOB_TEST/late $sbatch --nodes=4"
late load load 3
job setup "SHIM='n3 Setup sleep 3' SRUN_OPTIONS=$injected RUNS=2 PPN=2 $sbatch --nodes=4"
late setup MPI_Init 4
job send "SHIM='n3 Send sleep 3' SRUN_OPTIONS=$injected RUNS=2 PPN=2 $sbatch --nodes=4"
late send 'the exchange' 5

wait
look stuck
is 'a stopped slurmstepd: the archive and the status' "$left $(cat stuck/status)" "$failed"
like 'a stopped slurmstepd: the log' "$log" '.*error: step [0-9.]* does not end; no more .*'
like 'a stopped slurmstepd: the verdicts' "$verdicts" 'FAIL     valid runs: 0 of 2\|.*'
finish
