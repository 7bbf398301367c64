#!/bin/sh
# run_ziatest.sh as a job of a real Slurm: what it leaves, whatever the settings, the nodes and the
# launches are like, and which node it finds late
. "$(dirname "$0")/lib.sh"
needs_cluster
for tool in gnuplot mpicc.openmpi git; do
	has $tool || skip_all "no $tool; tests/setup installs it"
done

dir="$tmp/the clone"
mkdir "$dir" "$tmp/jobs"
cp -r Makefile ziatest.c ziaprobe.c run_ziatest.sh offclock "$dir"
cd "$dir" || exit 1
git init -q
git add .
git -c user.name=test -c user.email=test@localhost commit -q -m test
echo '/* a change */' >>ziatest.c
make -s MPICC=mpicc.openmpi || exit 1
cp -r "$dir" "$tmp/outside"
rm -rf "$tmp/outside/.git"
make -s -C "$tmp/outside" MPICC=mpicc.openmpi PAD=4096 -B || exit 1
mpicc.openmpi -shared -fPIC -o "$tmp/shim.so" "$top/tests/shim.c"
cat >"$tmp/prolog" <<'END'
#!/bin/sh
[ "$(hostname)" != n3 ] || sleep 1
END
chmod +x "$tmp/prolog"

# Every case in a directory of its own; NODES of the eight nodes, the last drained, the one before in
# another partition.
export dir tmp SLURM_TOKEN=hidden TIMEOUT=60
# Open MPI over UCX does not die in MPI_Init, as it now and then does over its own TCP.
export OMPI_MCA_pml=ucx OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any UCX_TLS=tcp,self,sm
export injected="--export=ALL,LD_PRELOAD=$tmp/shim.so"
cat >"$tmp/jobs/submit" <<'END'
sbatch -Q --wait --output=log "$@" "$dir/run_ziatest.sh"
END
cat >"$tmp/jobs/all" <<'END'
scontrol create partitionname=viz nodes=n5
scontrol update partitionname=all nodes=n1,n2,n3,n4,n6,n7,n8
scontrol update nodename=n6 state=drain reason=test
(mkdir stuck; cd stuck; export SHIM='n8 Init kill -STOP $(ps -o ppid= -p $PPID)' SRUN_OPTIONS=$injected
	TIMEOUT=5 RUNS=2 PPN=1 sh ../submit --nodes=2 --nodelist=n7,n8; echo $? >../stuck.status) &
while read -r name command; do
	mkdir $name
	(cd $name; eval "$command" </dev/null; echo $? >../$name.status)
	timeout 20 sh -c 'until [ -z "$(squeue --noheader --nodelist=n1,n2,n3,n4)" ]; do sleep 0.1; done'
done <cases
wait
END
cat >"$tmp/jobs/cases" <<'END'
good    SLURM_DISTRIBUTION=cyclic SLURM_LABELIO=1 SLURM_MPI_TYPE=none SRUN_OPTIONS=--mpi=pmix LC_ALL=de_DE.UTF-8 RUNS=2 SWEEP='4 2' PPN=2 NICS=2 COMPUTE_NODES=4 sh ../submit --nodes=4
few     RUNS=1 NICS=3 PPN=2 sh ../submit --nodes=4
none    RUNS=2 SRUN_OPTIONS=--no-such-option sh ../submit --nodes=1
plain   for tool in sinfo git gnuplot; do ssh n1 mount --bind /dev/null $(command -v $tool); done; RUNS=1 sh ../submit --nodes=1 --nodelist=n1; status=$?; for tool in sinfo git gnuplot; do ssh n1 umount $(command -v $tool); done; [ $status -eq 0 ]
salloc  ln -s "$dir" there; export RUNS=1 PPN=2 COMPUTE_NODES=2; salloc -Q --exclusive --nodes=2 sh -c "SLURM_JOB_CPUS_PER_NODE='16,6(x3)' there/run_ziatest.sh" >log 2>&1
nics    ssh n1 mount -t tmpfs tmpfs /sys/class; for card in mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_bond_0; do ssh n1 mkdir -p /sys/class/infiniband/$card/device /sys/class/infiniband/$card/ports/1; ssh n1 "echo 4: ACTIVE >/sys/class/infiniband/$card/ports/1/state; echo 400 Gb/sec >/sys/class/infiniband/$card/ports/1/rate"; done; ssh n1 "echo 1: DOWN >/sys/class/infiniband/mlx5_2/ports/1/state; mkdir /sys/class/infiniband/mlx5_3/device/physfn"; RUNS=1 COMPUTE_NODES=1 sh ../submit --nodes=1 --nodelist=n1; status=$?; ssh n1 umount /sys/class; [ $status -eq 0 ]
clean   RUNS=1 sh ../submit --nodes=2 --export=OMPI_MCA_pml,OMPI_MCA_pml_ucx_tls,OMPI_MCA_pml_ucx_devices,UCX_TLS
outside RUNS=1 dir=$tmp/outside; sh ../submit --nodes=1
wrong   RUNS=2x sh ../submit --nodes=1
cancel  export SHIM="0 Init touch $PWD/begun; sleep 600" SRUN_OPTIONS=$injected; id=$(sbatch --parsable --nodes=1 --output=log "$dir/run_ziatest.sh"); until [ -e begun ]; do sleep 0.1; done; scancel $id
launch  RUNS=2 SRUN_OPTIONS=--task-prolog=$tmp/prolog PPN=2 sh ../submit --nodes=4
init    export SHIM='n3 Init sleep 1' SRUN_OPTIONS=$injected; RUNS=2 PPN=2 sh ../submit --nodes=4
send    export SHIM='n3 Send sleep 1' SRUN_OPTIONS=$injected; RUNS=2 PPN=2 sh ../submit --nodes=4
END
cd "$tmp/jobs" || exit 1
timeout 300 "$top/tests/cluster" 8 sh all

# job CASE WHAT STATUS LOG LEFT: the job's status, its output, and the archives and marks it leaves
job() {
	is "$2: the status" "$(cat "$1.status")" "$3"
	like "$2: the output" "$(cat "$1/log")" "$4"
	is "$2: what is left" "$(cd "$1" && find . -name '*.tar.gz' -o -name INCOMPLETE |
		sed 's/ziatest-[0-9]*/ziatest-ID/' | paste -s -d ' ' -)" "$5"
}

# rules CASE WHAT PATTERN: the summary's verdicts
rules() {
	like "$2: the verdicts" "$(grep -E '^(PASS|FAIL|CHANGED|UNKNOWN) ' "$1"/ziatest-*/summary.txt)" "$3"
}

runs='(run [0-9]/[0-9] on [0-9] nodes: status 0; Time test [^|]*\|)'
nodes='PASS     compute nodes: [^|]*'
interfaces='UNKNOWN  ranks per node: 1; [^|]*'
valid='PASS     valid runs: [^|]*\|PASS     executable: 104[0-9]{6} bytes; the rule is 104857600'
source='CHANGED  source: ziatest\.c differs from commit [0-9a-f]+, see changes\.diff'

job good 'a sweep' 0 "RUNS=2\|SWEEP=2 4\|.*SRUN_OPTIONS=--mpi=pmix\|\|$runs{4}Ziatest: .*\|Hand in .*" \
	./ziatest-ID.tar.gz
rules good 'a sweep' "PASS     compute nodes: 4 of 4, 100.0 %; the rule is 99 % \(set by hand; found: 8\)\|PASS     ranks per node: 2, with 2 network interfaces \(set by hand; found: none\)\|PASS     valid runs: 4 of 4\|PASS     executable: .*\|$source"
is 'a sweep: the archive' "$(tar -tzf good/ziatest-*.tar.gz | sed 's/^ziatest-[0-9]*//; /\/$/d' | sort | paste -s -d ' ' -)" \
	'/build.txt /changes.diff /environment.txt /output/2-1.txt /output/2-2.txt /output/4-1.txt /output/4-2.txt /ranks-2-1.csv /ranks-2-2.csv /ranks-4-1.csv /ranks-4-2.csv /ranks.svg /results.csv /scaling.svg /summary.txt'
is 'a sweep: no secret is shown' "$(grep -r hidden good/ziatest-*/)" ''
ok 'a sweep: a variable of MPI is shown' grep -qx OMPI_MCA_pml=ucx good/ziatest-*/environment.txt
like 'a sweep: where the executable lay' "$(grep ^PROBE good/ziatest-*/environment.txt)" \
	"PROBE=$dir/ziaprobe on [0-9]*[a-z][a-z0-9.]*, .*"

rules few 'too few nodes and ranks' 'FAIL     compute nodes: 4 of 8, 50.0 %; the rule is 99 %; the others: .*1 in partition viz, 1 drained.*\|FAIL     ranks per node: 2, with 3 network interfaces .*'
job none 'no run that succeeds' 1 ".*\|(run ./2 on 1 nodes: status 255; [^|]*--no-such-option[^|]*\|){2}Ziatest: .*\|Time: none, no run is valid\|\|FAIL     valid runs: 0 of 2\|CHANGED [^|]*\|\|Problems\|.*" \
	./ziatest-ID-FAIL.tar.gz
job plain 'neither sinfo nor git nor gnuplot' 0 '.*summarize: no gnuplot here, so no pictures\|.*' \
	./ziatest-ID.tar.gz
rules plain 'neither sinfo nor git nor gnuplot' "UNKNOWN  compute nodes: 1; .*COMPUTE_NODES\|$interfaces\|$valid\|$source"
job salloc 'salloc, nodes of 16 and 6 cores' 0 ".*\|STRIDE=3\|.*\|$runs.*" ./ziatest-ID.tar.gz
rules nics 'of five InfiniBand devices one is down, one virtual, one a bond' \
	"$nodes\|PASS     ranks per node: 2, with 2 network interfaces\|$valid\|$source"
job clean 'sbatch --export' 1 "RUNS=3\|.*\|$runs{3}.*" ./ziatest-ID-FAIL.tar.gz
like 'sbatch --export: the processes have the environment of the job' \
	"$(cut -d , -f 6 clean/ziatest-*/results.csv)" 'corrected_ms(\|[0-9.]+){3}'
like 'built outside git' "$(tail -n 40 outside/log | grep source:)" 'UNKNOWN  source: built outside git'
like 'built without a pad' "$(grep executable: outside/log)" 'FAIL     executable: [0-9]* bytes; .*'
job wrong 'a setting that is no number' 1 'run_ziatest.sh: error: RUNS .* must be a number .*' ''
job cancel 'a job that is cancelled' 0 '.*' ./ziatest-ID/INCOMPLETE
job stuck 'a stopped slurmstepd' 1 ".*\|run 1/2 on 2 nodes: status 1; [^|]*\|Ziatest: .*FAIL     valid runs: 0 of 2.*1 run left no output.*" \
	./ziatest-ID-FAIL.tar.gz
like 'a stopped slurmstepd: the log says so' "$(cat stuck/log)" \
	'.*error: step [0-9.]* does not end; nothing more is launched.*'

# late CASE WHAT COLUMN: n3 leads the list of the nodes that stand out, with COLUMN
late() {
	is "late in $2" "$(sed '1,/^node /d' "$1"/ziatest-*/summary.txt |
		awk 'NR == 1 { print $1; for (i = 2; i <= 4; i++) if ($i > 500) print i }' | paste -s -d ' ' -)" \
		"n3 $3"
}
late launch launch 2
late init MPI_Init 3
late send 'the exchange' 4
finish
