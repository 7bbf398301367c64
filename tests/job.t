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
	mpicc.openmpi -shared -fPIC -o "$tmp/shim.so" "$top/tests/helpers/shim.c"
	printf '#!/bin/sh\n[ "$(hostname)" != n3 ] || sleep 3\n' >"$tmp/late"
	chmod +x "$tmp/late"
	cat >"$tmp/srun" <<-'END'
		#!/bin/sh
		# Refuses the inventory
		case $* in
		*--node) exit 1 ;;
		esac
		exec "$REAL_SRUN" "$@"
	END
	chmod +x "$tmp/srun"
	JOB_TEST=$tmp timeout 1500 "$top/tests/cluster" 8 sh "$top/tests/job.t"
	exit
fi

cd "$JOB_TEST" || exit 1
export TIMEOUT=60 SLURM_TOKEN=secret-word UCX_AUTH_TOKEN=secret-word UCX_TLS=tcp
injected="--export=ALL,LD_PRELOAD=$JOB_TEST/shim.so"
scontrol create partitionname=viz nodes=n5
scontrol update partitionname=all nodes=n1,n2,n3,n4,n6,n7,n8
scontrol update nodename=n6 state=drain reason=test

# job CASE COMMAND: COMMAND, with variables before it, on the script in a copy of $clone. Leaves the
# status in $status, what was printed in $log, the names left in $left, the verdicts in $verdicts.
clone='a clone'
sbatch='sbatch --quiet --wait --output=log'
salloc='salloc --quiet --exclusive'
job() {
	cp -al "$clone" "$1"
	(cd "$1" && eval "env $2 ./run_ziatest.sh" >>log 2>&1 </dev/null)
	status=$?
	look "$1"
	poll 20 nodes_are_free || diag "$(squeue)"
}

look() {	# CASE
	log=$(cat "$1/log")
	left=$(cd "$1" && find . -name '*.tar.gz' -o -name INCOMPLETE | sed 's/-[0-9]\+/-ID/' |
		sort | paste -s -d ' ' -)
	verdicts=$(grep -hsE '^(PASS|FAIL|STATED|CHANGED|UNKNOWN) ' "$1"/ziatest-*/summary.txt)
}

# stops CASE COMMAND ERROR: the job stops before its first launch, and says why; --check says the
# same, ends with the same status and leaves nothing
cat >"$JOB_TEST/both" <<'END'
#!/bin/sh
"$@" --check
echo "status $?; left: $(ls -d ziatest-* 2>/dev/null)"
"$@"
END
chmod +x both
stops() {
	job "$1" "$2 $JOB_TEST/both"
	error="(.*\|)?run_ziatest.sh: error: $3"
	like "$1: the check and the job say why" "$log" \
		"$error\|.*\|status 1; left: \|$error(\|.*)?"
	is "$1: nothing to hand in" "$left $status" './ziatest-virtual-ID/INCOMPLETE 1'
	is "$1: nothing was launched" "$(find "$1"/ziatest-*/output -type f)" ''
	like "$1: the summary of what is left" "$("$top/job/summarize" "$1"/ziatest-*/)" \
		'.*\|FAIL     valid runs: 0 of [0-9]+; This job did not come to its end.*'
}

nodes_are_free() {
	[ -z "$(squeue --noheader --nodelist=n1,n2,n3,n4)" ]
}

good='./ziatest-virtual-ID.tar.gz 0'
failed='./ziatest-virtual-ID-FAIL.tar.gz 1'
launched='(run [0-9]/[0-9] on [0-9] nodes: status 0; Time test [^|]*\|)'
agree='evidence: the files agree with each other'
rest="PASS     valid runs: [^|]*\|PASS     $agree\|PASS     executable: [^|]*"
source='CHANGED  source: differs from commit [0-9a-f]+, see changes\.diff: ziatest\.c\|'
source="$source(PASS    |UNKNOWN ) clocks: [^|]*"
by_hand='\(set by hand; found: none\)'

# Beside the others: on a node a slurmstepd that stops, so that the step stays
stop='n8 Init kill -STOP $(ps -o ppid= -p $PPID)'
(
	job stuck "SHIM='$stop' SRUN_OPTIONS=$injected TIMEOUT=5 RUNS=2 PPN=1 \
		$sbatch --nodes=2 --nodelist=n7,n8"
	echo "$status" >stuck/status
) &

# Which nodes are named after a timeout, from outputs made here
eval "$(sed -n '/^\(first\|silent\)_nodes() {/,/^}/p' "$top/run_ziatest.sh")"
export SLURM_JOB_NODELIST='n[1-200]'
names() {	# NODES LINE...: what silent_nodes prints for an output of the LINEs
	of=$1
	shift
	printf '%s\n' "$@" >names
	silent_nodes "$of" names
}
on='ziaprobe: error: timeout of 5 s: rank 4 on'
spent='has spent 4 s in MPI_Init: cpu 0.1 s, cpu_wait 0.0 s, blocked 3.9 s'
starting='ziaprobe: error: timeout of 5 s: a rank on'
is 'no response: a rank without its number, a host name with dots, after other text' "$(names 5 \
	"$on n1 $spent" "$starting n3.example.org $spent" "warning$on n5 $spent")" \
	'no response from: n2 n4'
is 'no response: 100 nodes' "$(names 101 "$on n1 $spent")" \
	"no response from: $(seq -s ' ' -f n%g 2 101)"
is 'no response: 123 nodes' "$(names 124 "$on n1 $spent")" \
	"no response from: $(seq -s ' ' -f n%g 2 101) and 23 more"
is 'no response: every node reports' "$(names 2 "$on n2 $spent" "$on n1 $spent")" ''
is 'no response: no name is a node of the launch' "$(names 2 "$on n3 $spent" "$on m1 $spent")" ''
is 'no response: no timeout' "$(names 2 'srun: error: n1: task 0: Exited with exit code 1')" ''
is 'no response: a time' "$(names 2 "$on n1 $spent" \
	'Time test was completed in   601.52 millisecs')" ''
SLURM_JOB_NODELIST=n1.example.org,n2.example.org
is 'no response: node names with dots' "$(names 2 "$on n2 $spent")" \
	'no response from: n1.example.org'
unset SLURM_JOB_NODELIST

# A sweep, with an environment that would spoil it
job sweep "SLURM_DISTRIBUTION=cyclic SLURM_LABELIO=1 SLURM_MPI_TYPE=none LC_ALL=de_DE.UTF-8 \
	SLURM_BCAST=$PWD/sweep/copy SRUN_OPTIONS=--mpi=pmix RUNS=2 SWEEP='2 4' PPN=2 NICS=2 \
	COMPUTE_NODES=4 $sbatch --nodes=4"
is 'a sweep: the archive and the status' "$left $status" "$good"
like 'a sweep: the log has the settings, the runs, the summary' "$log" \
	"RUNS=2\|SWEEP=4 2\|.*SRUN_OPTIONS=--mpi=pmix\|\|$launched{4}Ziatest: .*\|Hand in [^|]*"
like 'a sweep: the verdicts' "$verdicts" \
	"STATED   compute nodes: 4 of 4, 100.0 %; the rule is 99 % \(set by hand; found: 8\)\|\
STATED   ranks per node: 2, with 2 network interfaces $by_hand\|$rest\|$source"
is 'a sweep: what is in the archive' "$(tar -tzf sweep/ziatest-*.tar.gz |
	sed 's/^ziatest-virtual-[0-9]*.//; /\/$\|^$/d' | sort | paste -s -d ' ' -)" \
	"build.txt changes.diff environment.txt$(printf ' output/%s.txt' 2-1 2-2 4-1 4-2)\
$(printf ' ranks-%s.csv' 2-1 2-2 4-1 4-2) ranks.svg results.csv scaling.svg summary.txt"
like 'a sweep: on the first nodes' "$(grep -ho -e '--nodelist=[^ ]*' sweep/ziatest-*/output/*)" \
	"--nodelist='n\[1-2]'\|--nodelist='n\[1-2]'"
is 'a sweep: no secret is shown' "$(grep -r secret-word sweep/ziatest-*/)" ''
is 'a sweep: what changes a launch is shown' "$(grep -E '^(UCX_TLS|SLURM_BCAST|SRUN)=' \
	sweep/ziatest-*/environment.txt)" "SLURM_BCAST=$PWD/sweep/copy
UCX_TLS=tcp
SRUN=$(command -v srun)"
like 'a sweep: where the executable lay' "$(grep ^PROBE sweep/ziatest-*/environment.txt)" \
	'PROBE=/.*/sweep/ziaprobe on [0-9]*[a-z][a-z0-9.]*, .*'

# Rules broken, launches that fail
job few "RUNS=1 NICS=3 PPN=2 $salloc --nodes=4"
is 'too few nodes and ranks: the archive and the status' "$left $status" "$failed"
like 'too few nodes and ranks: the verdicts' "$verdicts" \
	"FAIL     compute nodes: 4 of 8, 50.0 %; the rule is 99 %; the others: [^|]*\|\
FAIL     ranks per node: 2, with 3 network interfaces $by_hand\|$rest\|$source"
others=$(sed -n 's/^NODES_ELSEWHERE=//p' few/ziatest-*/environment.txt)
for place in '1 in partition viz' '1 drained'; do
	ok "too few nodes: $place" matches "$others" "(^|, )$place(,|\$)"
done
job none "RUNS=2 NICS=1 SRUN_OPTIONS=--no-such-option $salloc --nodes=1"
is 'no run that succeeds: the archive and the status' "$left $status" "$failed"
like 'no run that succeeds: the log' "$log" ".*\|(run ./2 on 1 nodes: status 255; [^|]*\|){2}\
Ziatest: [^|]*\|Time: none, no run on 1 nodes is valid\|.*\|FAIL     valid runs: 0 of 2\|\
PASS     $agree\|.*\|\|Problems\|.*"
job misplaced "RUNS=1 PPN=2 PLACEMENT=--distribution=cyclic $salloc --nodes=2"
is 'a launch that is misplaced: the archive and the status' "$left $status" "$failed"
like 'a launch that is misplaced: the log' "$log" ".*\|run 1/1 on 2 nodes: status 1; ziaprobe: \
error: wrong placement: ranks 0 and 1 [^|]*\|Ziatest: .*\|FAIL     valid runs: 0 of 1\|\
PASS     $agree\|.*"
is 'a launch that is misplaced: neither a result nor a row' "$(
	find misplaced/ziatest-*/ -name '*.csv'; grep ^Time misplaced/ziatest-*/output/*)" ''
job wrong "SWEEP='2 3a' $sbatch --nodes=1"
like 'a setting that is no number' "$log/$left $status" \
	"run_ziatest.sh: error: '3a': RUNS SWEEP .* are 1 to 999999/ 1"
# shellcheck disable=SC2089,SC2090 # a shell reads it
export SHIM="0 Init touch '$PWD/begun'; sleep 600"
(poll 60 test -e begun; scancel --name=ziatest --nodelist=n1) &
job cancel "NICS=1 SRUN_OPTIONS=$injected $sbatch --nodes=1 --nodelist=n1"
is 'a job that is cancelled' "$left" ./ziatest-virtual-ID/INCOMPLETE

# Systems that lack something
hidden=$(which gnuplot sinfo git | paste -s -d ' ' -)
# shellcheck disable=SC2086 # several
ssh n1 "for tool in" $hidden "; do mount --bind /dev/null \$tool; done"
job plain "RUNS=1 NICS=1 $sbatch --nodes=1 --nodelist=n1"
# shellcheck disable=SC2086
ssh n1 umount $hidden
is 'no sinfo, git, gnuplot: the archive and the status' "$left $status" "$good"
like 'no sinfo, git, gnuplot: the verdicts' "$verdicts" \
	"UNKNOWN  compute nodes: 1; set COMPUTE_NODES [^|]*\|\
STATED   ranks per node: 1, with 1 network interface $by_hand\|$rest\|$source"
like 'no sinfo, git, gnuplot: the log' "$log" '.*\|summarize: no gnuplot here, so no pictures\|.*'
mkdir bin
printf '#!/bin/sh\nexit 127\n' >bin/python3
chmod +x bin/python3
job no-python "PATH=$PWD/bin:$PATH RUNS=1 NICS=1 $salloc --nodes=1"
is 'no python3: the archive and the status' "$left $status" "$good"
like 'no python3: the log' "$log" ".*\|run_ziatest.sh: no python3 .*, so no summary\|Hand in .*"
job no-python-failed "PATH=$PWD/bin:$PATH RUNS=1 NICS=1 SRUN_OPTIONS=--no-such-option \
	$salloc --nodes=1"
is 'no python3, a run that fails: the archive and the status' "$left $status" "$failed"
mkdir killer
cat >killer/python3 <<'END'
#!/bin/sh
case $1 in
-c) exit 0 ;;
esac
scancel "$SLURM_JOB_ID"
sleep 60
END
chmod +x killer/python3
job killed "PATH=$PWD/killer:$PATH RUNS=1 NICS=1 $sbatch --nodes=1"
is 'a job that is cancelled while it makes the summary' "$left" ./ziatest-virtual-ID/INCOMPLETE
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
	"STATED   comp[^|]*\|PASS     ranks per node: 2, with 2 network interfaces\|$rest\|$source"
# A slow card for storage, with its own network device; fast ones, one with two ports
ssh n1 'mount -t tmpfs tmpfs /sys/class
	mkdir -p /sys/class/infiniband/mlx5_0/ports/1 /sys/class/net
	functions=/sys/class/pci0000:00
	echo 4: ACTIVE >/sys/class/infiniband/mlx5_0/ports/1/state
	echo "25 Gb/sec (1X EDR)" >/sys/class/infiniband/mlx5_0/ports/1/rate
	cd /sys/class/net
	for device in eth0,0,25000,up hsn0,1,200000,up hsn1,2,200000,up hsn2,3,200000,up \
		hsn3,4,200000,up hsn3b,4,200000,up hsn4,5,200000,down eth1,6,-1,up; do
		IFS=, read -r name function speed state <<-END
			$device
		END
		mkdir $name
		mkdir -p $functions/0000:0$function:00.0
		ln -s $functions/0000:0$function:00.0 $name/device
		echo $speed >$name/speed
		echo $state >$name/operstate
	done
	ln -s $functions/0000:00:00.0 /sys/class/infiniband/mlx5_0/device'
job fast "RUNS=1 COMPUTE_NODES=1 $sbatch --nodes=1 --nodelist=n1"
ssh n1 umount /sys/class
like 'a slow RoCE card, four fast devices, one down, one of unknown rate' "$verdicts" \
	"STATED   comp[^|]*\|PASS     ranks per node: 4, with 4 network interfaces\|$rest\|$source"
# By hand in salloc, beside a step of the user's
mkdir by-hand
cat >by-hand.sh <<'END'
srun --overlap --ntasks=1 --nodes=1 --job-name=monitor sleep 600 &
tries=0
until squeue --steps --noheader --format=%j | grep -qx monitor || [ $((tries += 1)) -gt 300 ]; do
	sleep 0.2
done
SLURM_JOB_CPUS_PER_NODE='16,6(x3)' "$@"
status=$?
squeue --steps --noheader --format=%j | grep -x monitor
kill $!	# not scancel: salloc can hang where its job is cancelled below it
wait
exit $status
END
job salloc "RUNS=2 PPN=2 SRUN_OPTIONS=--overlap COMPUTE_NODES=2 SLURM_STEP_ID=7 salloc --quiet \
	--exclusive --nodes=2 sh ../by-hand.sh"
is 'salloc: the archive' "$left" "${good% *}"
like 'salloc, nodes of 16 and 6 cores: and a step of the user survives' "$log" \
	".*\|STRIDE=3\|.*\|$launched{2}.*\|Hand in [^|]*\|monitor.*"
like 'salloc: the verdicts' "$verdicts" ".*\|PASS     $agree\|.*"
job clean "$sbatch --nodes=2 --export=NONE --array=1-2"
is 'an array, sbatch --export=NONE: both tasks stop without a number of processes' "$left" \
	'./ziatest-virtual-ID/INCOMPLETE ./ziatest-virtual-ID/INCOMPLETE'
job array "RUNS=3 NICS=1 COMPUTE_NODES=2 $sbatch --nodes=2 --array=1-2"
is 'an array: two archives' "$left $status" "${good% *} $good"
is 'an array: all runs of both tasks' "$(cat array/ziatest-*/output/* | grep -cx 'status 0')" 6
job environment "RUNS=1 NICS=1 SLURM_EXPORT_ENV=NONE SRUN_EXPORT_ENV=NONE $sbatch --nodes=2"
like 'the processes have the environment of the job' \
	"$(cut -d , -f 6 environment/ziatest-*/results.csv)" 'corrected_ms\|[0-9.]+'

# What would cost the whole machine its time, before it does
job check "NICS=1 CHECK=1 SWEEP='1 2' $sbatch --nodes=2 --time=60"
is 'a check leaves nothing' "$(ls -d check/ziatest-* 2>/dev/null)$left $status" ' 0'
like 'a check shows settings, launches and times' "$log" "RUNS=4\|SWEEP=2 1\|.*\|\|4 times: \
./ziatest ... 1 \"srun --job-name=ziatest-[0-9-]* .* --nodes=2 [^|]*\"\|4 times: .* --nodes=1 [^|]*\
\|8 launches need at most 1280 s; left: [0-9]+"
job crowded "CHECK=1 PPN=17 STRIDE=1 SWEEP='$(printf '\t1\n1 ')' $salloc --nodes=1"
like 'a check of too many processes for a node: a warning' "$log/$status" \
	'.*warning: 17 processes x 1 cores a node, the job has 16 CPUs: .*\|SWEEP=1\|.*/0'
run sh -c 'cd check && ./run_ziatest.sh --check'
like 'a check outside a job' "$err/$status" 'run_ziatest.sh: error: not inside a Slurm job.*/1'
run sh -c 'cd check && ./run_ziatest.sh --chek'
like 'an option that does not exist' "$err/$status" 'run_ziatest.sh: error: usage: .*/1'
stops above "NICS=1 SWEEP='2 3' $salloc --nodes=2" 'SWEEP has 3 nodes, the job 2: [^|]*'
stops no-interface "$salloc --nodes=1" 'no network interface was found [^|]*: set NICS or PPN'
stops short "NICS=1 $salloc --nodes=1 --time=1" '[0-9]* s left, too few for a launch; [^|]*'
stops step "NICS=1 $salloc --nodes=1 srun --ntasks=1" \
	'inside step 0: start it with sbatch or in salloc, [^|]*'
stops hetjob "NICS=1 $salloc --nodes=1 : --nodes=1" 'a heterogeneous job: [^|]*'
stops refused "NICS=1 $salloc --nodes=1 env REAL_SRUN=$(command -v srun) PATH=$JOB_TEST:$PATH" \
	'srun for the inventory failed: [^|]*'
clone=relinked
cp -r 'outside git' relinked
strip relinked/ziaprobe
stops stripped "NICS=1 $salloc --nodes=1" \
	'ziaprobe has [0-9]* bytes, not those in build.txt: run make again'
clone='a clone'
# shellcheck disable=SC2016,SC2090 # a shell reads it
export SHIM='0 Init scontrol update jobid=$SLURM_JOB_ID timelimit=1'
job over "NICS=1 SRUN_OPTIONS=$injected $salloc --nodes=1 --time=60"
is 'a job whose time runs short: the archive and the status' "$left $status" "$failed"
like 'a job whose time runs short: the verdicts' "$verdicts" ".*\|FAIL     valid runs: 1 of 4; \
no more launches: only [0-9]* s of the job's time are left\|PASS     $agree\|.*"
mkdir full
# shellcheck disable=SC2029 # here
ssh n1 "cd '$PWD' && mount -t tmpfs -o size=2m tmpfs full && cp -r 'outside git'/. full &&
	dd if=/dev/zero of=full/rest bs=4k status=none; truncate --size=-40k full/rest"
job whole "RUNS=1 NICS=1 $sbatch --nodes=1 --nodelist=n1 --chdir='$PWD/full' \
	--output='$PWD/whole/log'"
# shellcheck disable=SC2029 # here
is 'a full disk: INCOMPLETE and no archive' \
	"$(ssh n1 "cd '$PWD/full'; ls ziatest-*/INCOMPLETE *.gz" 2>/dev/null |
		sed 's/[0-9]\+/ID/') $status" 'ziatest-virtual-ID/INCOMPLETE 1'
like 'a full disk: the log' "$(cat whole/log)" '.*error: cannot write .*: is the disk full\?.*'
# shellcheck disable=SC2029 # here
ssh n1 umount "$PWD/full"
clone='outside git'
job outside "RUNS=1 NICS=1 $salloc --nodes=1"
like 'built outside git, without a pad' "$verdicts" ".*PASS     $agree\|\
FAIL     executable: [0-9]* bytes; [^|]*\|UNKNOWN  source: built outside git\|.*"
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
job exec "RUNS=2 PPN=2 SRUN_OPTIONS=--task-prolog=$JOB_TEST/late $salloc --nodes=4"
late exec exec 3
job init "SHIM='n3 Pmix sleep 3' SRUN_OPTIONS=$injected RUNS=2 PPN=2 $salloc --nodes=4"
late init MPI_Init 4
job send "SHIM='n3 Send sleep 3' SRUN_OPTIONS=$injected RUNS=2 PPN=2 $salloc --nodes=4"
late send 'the exchange' 5

# A node that never reaches main cannot report the timeout; one that hangs in MPI_Init does. If
# Slurm's SIGTERM ends the sleep first, the shell kills the process, which would go on to main.
hangs() {	# CASE CALL SWEEP: in CALL, a random one of the job's first SWEEP nodes
	draw_number "$3"
	job "$1" "SHIM='n$drawn $2 trap : TERM; sleep 600; kill -KILL \$PPID' TIMEOUT=10 RUNS=1 \
		PPN=2 SRUN_OPTIONS=$injected SWEEP=$3 $salloc --nodes=4"
	line="run 1/1 on $3 nodes: status [1-9][0-9]*; ziaprobe: error: timeout of [^|]*"
	output=$(tail -n 2 "$1"/ziatest-*/output/*)
}
hangs silent Exec 3
like 'one of 3 nodes does not respond: the log names it' "$log" \
	".*\|$line\|no response from: n$drawn\|Ziatest: .*"
like 'one of 3 nodes does not respond: its output names it' "$output" \
	"no response from: n$drawn\|status [1-9][0-9]*"
hangs heard Start 4
like 'every node reports the timeout' "$log" ".*\|$line\|Ziatest: .*"
is 'every node reports the timeout: none is named' "$(grep -rF 'no response' heard/log \
	heard/ziatest-*/output)" ''

wait
look stuck
is 'a stopped slurmstepd: the archive and the status' "$left $(cat stuck/status)" "$failed"
like 'a stopped slurmstepd: the log' "$log" '.*error: step [0-9.]* does not end; no more .*'
like 'a stopped slurmstepd: the verdicts' "$verdicts" \
	".*\|FAIL     valid runs: 0 of 2; no more launches: step [0-9.]* does not end\|\
PASS     $agree\|.*"
finish
