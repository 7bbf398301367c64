#!/bin/sh
# run_ziatest.sh through sbatch on a real cluster: what it leaves to hand in, which rules it
# finds broken, and what --summarize finds altered
. "$(dirname "$0")/lib.sh"
needs_cluster
for tool in gnuplot mpicc.mpich git; do
	has $tool || skip_all "no $tool; tests/setup installs it"
done

dir="$tmp/the clone"
mkdir "$dir"
cp Makefile ziatest.c ziaprobe.c run_ziatest.sh "$dir"
mpicc.mpich -shared -fPIC -o "$dir/shim.so" tests/shim.c
cp -r "$dir" "$tmp/modified"
cp -r "$dir" "$tmp/rebuilt"
cp -r "$dir" "$tmp/outside"
for clone in "$dir" "$tmp/modified" "$tmp/rebuilt"; do
	(cd "$clone" && git init -q && git add Makefile ./*.c run_ziatest.sh &&
		git -c user.name=test -c user.email=test@localhost commit -q -m test) || exit 1
done
echo '/* a change */' >>"$tmp/rebuilt/ziaprobe.c"
make -s -C "$dir" MPICC=mpicc.mpich || exit 1
for clone in "$tmp/modified" "$tmp/rebuilt" "$tmp/outside"; do
	make -s -C "$clone" MPICC=mpicc.mpich PAD=4096 || exit 1
done
echo '/* a change */' >>"$tmp/modified/ziatest.c"

export dir tmp SLURM_MPI_TYPE=pmi2 SLURM_TOKEN=hidden1 OMPI_MCA_pml=ob1 UCX_PASSWORD=hidden2
cat >"$tmp/submit" <<'END'
# NODES ARGUMENT...: submits from the directory of the case and waits
nodes=$1
shift
sbatch -Q --wait --nodes "$nodes" -o log "$@" "$dir/run_ziatest.sh"
END
cat >"$tmp/skew" <<END
#!/bin/sh
[ "\$(hostname)" = n2 ] || echo "export LD_PRELOAD=$(echo /usr/lib/*/faketime/libfaketime.so.1)"
END
chmod +x "$tmp/skew"
mkdir "$tmp/work"
cases "$tmp/work" 6 <<'END'
limit    mkdir limit; cd limit; export SHIM='0 Init sleep 600' SRUN_OPTIONS="--export=ALL,LD_PRELOAD=$tmp/rebuilt/shim.so"; sbatch -Q --nodes 1 --time 1 -o log "$dir/run_ziatest.sh"
share    mkdir share; cd share; RUNS=1 sh ../../submit 4
sweep    mkdir sweep; cd sweep; RUNS=2 SWEEP='1 2 3 5' PPN=2 COMPUTE_NODES=5 sh ../../submit 5
whole    mkdir whole; cd whole; COMPUTE_NODES=2 sh ../../submit 2
failing  mkdir failing; cd failing; export SHIM="0 Send [ -e $PWD/once ] || { touch $PWD/once; kill -KILL \$PPID; }" SRUN_OPTIONS="--export=ALL,LD_PRELOAD=$tmp/rebuilt/shim.so" COMPUTE_NODES=2; sh ../../submit 2
nics     mkdir nics; cd nics; ssh n2 mount -t tmpfs tmpfs /sys/class; ssh n2 mkdir -p /sys/class/infiniband/mlx5_0 /sys/class/infiniband/mlx5_1; RUNS=1 COMPUTE_NODES=2 sh ../../submit 2 --nodelist n2,n3; status=$?; ssh n2 umount /sys/class; exit $status
few      mkdir few; cd few; RUNS=1 NICS=4 PPN=2 COMPUTE_NODES=1 sh ../../submit 1
readonly mkdir readonly; cd readonly; ssh n2 mount -t tmpfs -o ro tmpfs "$PWD"; sbatch -Q --wait --nodes 1 --nodelist n2 -o ../../readonly.log "$dir/run_ziatest.sh"; status=$?; ssh n2 umount -l "$PWD"; exit $status
full     mkdir full; cd full; ssh n2 mount -t tmpfs -o size=64k tmpfs "$PWD"; sbatch -Q --wait --nodes 1 --nodelist n2 -o ../../full.log "$dir/run_ziatest.sh"; status=$?; ssh n2 umount -l "$PWD"; exit $status
plotless mkdir plotless; cd plotless; ssh n2 mount --bind /dev/null "$(command -v gnuplot)"; RUNS=1 COMPUTE_NODES=1 sh ../../submit 1 --nodelist n2; status=$?; ssh n2 umount "$(command -v gnuplot)"; exit $status
again    mkdir again; cd again; id=$(RUNS=1 COMPUTE_NODES=1 sbatch --hold --parsable --nodes 1 -o log "$dir/run_ziatest.sh"); mkdir ziatest-$id; echo old | tee ziatest-$id/summary.txt >ziatest-$id-again.tar.gz; scontrol release $id; until [ -e ziatest-$id-again-again.tar.gz ]; do sleep .1; done
cancel   mkdir cancel; cd cancel; export SHIM="0 Init touch $PWD/begun; sleep 600" SRUN_OPTIONS="--export=ALL,LD_PRELOAD=$tmp/rebuilt/shim.so"; id=$(sbatch --parsable --nodes 1 -o log "$dir/run_ziatest.sh"); until [ -e begun ]; do sleep .1; done; scancel $id; until [ -z "$(squeue -h -j $id)" ]; do sleep .1; done
modified mkdir modified; cd modified; dir=$tmp/modified RUNS=1 COMPUTE_NODES=1 sh ../../submit 1
rebuilt  mkdir rebuilt; cd rebuilt; dir=$tmp/rebuilt RUNS=1 COMPUTE_NODES=1 sh ../../submit 1
outside  mkdir outside; cd outside; dir=$tmp/outside RUNS=1 COMPUTE_NODES=1 sh ../../submit 1
none     mkdir none; cd none; RUNS=2 SRUN_OPTIONS=--no-such-option COMPUTE_NODES=1 sh ../../submit 1
share2   mkdir share2; cd share2; SHARE=99,5 sh ../../submit 1
skewed   mkdir skewed; cd skewed; export FAKETIME=+20 DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1 RUNS=1 COMPUTE_NODES=2 SRUN_OPTIONS="--task-prolog=$tmp/skew"; sh ../../submit 2 --nodelist n2,n3
runs     mkdir runs; cd runs; RUNS=0 sh ../../submit 1
toomany  mkdir toomany; cd toomany; SWEEP='1 3' sh ../../submit 2
ended    until [ "$(squeue -h)" = "" ]; do sleep .2; done
END
cd "$tmp/work" || exit 1

# job CASE WHAT LOG STATUS: the pattern of the job's output, and sbatch's status
job() {
	like "$2: the job's output" "$(cat "$1/log" "../$1.log" 2>/dev/null)" "$3"
	is "$2: the status" "$(cat "$1.status")" "$4"
}

# left CASE WHAT GLOB...: the archives and marks of incompleteness that CASE has left
left() {
	is "$2: what is left" "$(cd "$1" && find . -name '*.tar.gz*' -o -name INCOMPLETE | sed 's|^\./||; s/ziatest-[0-9]*/ziatest-ID/' | sort | paste -s -d ' ' -)" "$3"
}

# summary CASE WHAT PATTERN: of its lines PASS and FAIL
summary() {
	like "$2: the rules" "$(cat "$1"/ziatest-*/summary.txt | grep -E '^(PASS|FAIL)')" "$3"
}

progress='run [0-9]/[0-9] on [0-9] nodes: [0-9]+\.[0-9]{2} ms, slowest n[0-9]'
share='PASS  compute nodes: [^|]*'
ranks='PASS  ranks per node: [^|]*'
valid='PASS  valid runs: [^|]*\|PASS  executable: [^|]*'
source='PASS  source: unmodified; commit: [0-9a-f]{40}'

job sweep 'a sweep' "($progress\|){8}Ziatest: job [0-9]+ on virtual, .*\|Hand in .*/ziatest-[0-9]+\.tar\.gz" 0
summary sweep 'a sweep' "PASS  compute nodes: 5 of 5, 100.000 %; the rule is 99 % \(set by hand; found: 6\)\|PASS  ranks per node: 2, with 1 network interfaces\|PASS  valid runs: 8 of 8\|PASS  executable: 1048[0-9]{5} bytes; the rule is 104857600\|$source"
left sweep 'a sweep' 'ziatest-ID.tar.gz'
like 'a sweep: the table' "$(sed '1,/^Without/d' sweep/ziatest-*/summary.txt)" \
	'\| +nodes .*(\| +[1235]( +[0-9]+\.[0-9]{3}){6}){4}'
(cd sweep && mkdir unpacked && tar -C unpacked -xzf ziatest-*.tar.gz && mv unpacked/ziatest-* unpacked/it)
is 'a sweep: the archive' "$(cd sweep/unpacked/it && find . -type f | sed 's|^\./||' | sort | paste -s -d ' ' -)" \
	"SHA256SUMS build.txt changes.diff environment.txt $(for n in 1 2 3 5; do for r in 1 2; do for s in err out status; do printf 'output/%s-%s.%s ' $n $r $s; done; done; done)$(for n in 1 2 3 5; do for r in 1 2; do printf 'ranks-%s-%s.csv ' $n $r; done; done)ranks.svg results.csv scaling.svg source/Makefile source/run_ziatest.sh source/ziaprobe.c source/ziatest.c summary.txt"
ok 'a sweep: the checksums' sh -c 'cd sweep/unpacked/it && sha256sum --quiet -c SHA256SUMS'
ok 'the script as run' cmp sweep/unpacked/it/source/run_ziatest.sh "$dir/run_ziatest.sh"
is 'no secret is shown' "$(grep -rl 'hidden[12]' sweep/unpacked/it)" ''
ok 'a variable of MPI is shown' grep -qx OMPI_MCA_pml=ob1 sweep/unpacked/it/environment.txt
like 'the runs of a sweep' "$(cut -d , -f 2-4 sweep/unpacked/it/results.csv)" \
	'nodes,ppn,ranks\|1,2,2\|1,2,2\|2,2,4\|2,2,4\|3,2,6\|3,2,6\|5,2,10\|5,2,10'

job whole 'the whole allocation' "($progress\|){3}Ziatest: .*\|Hand in .*" 0
like 'the whole allocation: the cold run is kept apart' "$(grep -E '^ +2 ' whole/ziatest-*/summary.txt)" \
	' +2   cold .*\| +2      2 .*\| +2      3 .*\| +2 .*'
ok 'the median of two is their mean' awk '$1 == 2 && $2 > 1 && $2 < 4 { sum += $3 } $1 == 2 && $2 > 9 { off = $3 - sum / 2 } END { exit !(off * off < 1e-5) }' whole/ziatest-*/summary.txt
job share 'a share of the nodes' '.*FAIL  compute nodes: 4 of 6, 66.667 %; the rule is 99 %\|.*' 1
left share 'a share of the nodes' 'ziatest-ID-FAIL.tar.gz'
summary nics 'InfiniBand' "$share\|PASS  ranks per node: 2, with 2 network interfaces\|$valid\|$source"
summary few 'ranks for half of the interfaces' "$share\|FAIL  ranks per node: 2, with 4 network interfaces \(set by hand; found: 1\)\|$valid\|$source"
job failing 'a run that fails' 'run 1/3 on 2 nodes: FAILED, status [0-9]+: [^|]*\|run 2/3 on 2 nodes: [0-9.]* ms, [^|]*\|run 3/3 on 2 nodes: [0-9.]* ms.*' 1
summary failing 'a run that fails' "$share\|$ranks\|FAIL  valid runs: 2 of 3\|PASS  executable: [^|]*\|$source"
left failing 'a run that fails' 'ziatest-ID/INCOMPLETE'
job none 'no run that succeeds' "(run ./2 on 1 nodes: FAILED, status [0-9]+: /?[^|]*srun: [^|]*\|){2}Ziatest: [^|]*\|Time: none, no run is valid.*FAIL  valid runs: 0 of 2.*" 1
left none 'no run that succeeds' 'ziatest-ID/INCOMPLETE'
for case in limit cancel; do
	left $case "ended by Slurm ($case)" 'ziatest-ID/INCOMPLETE'
	like "ended by Slurm ($case): says so" "$(cat $case/ziatest-*/INCOMPLETE)" 'begun, and not ended(\|ended by SIGTERM.*)?'
done
job readonly 'a directory that cannot be written' 'run_ziatest.sh: error: cannot make the directory of the results: .*Read-only.*' 1
job full 'a directory that is full' '.*run_ziatest.sh: error: cannot write .*' 1
job plotless 'no gnuplot' ".*No gnuplot here: 'run_ziatest.sh --summarize DIR' where there is one draws the pictures\.\|Hand in .*" 0
like 'an older result is left alone' "$(cat again/ziatest-*[0-9]/summary.txt again/*[0-9]-again.tar.gz)" 'old\|old'
job modified 'modified after the build' '.*FAIL  source: ziatest.c is modified, ziatest.c is not that of the build; .*' 1
like 'modified after the build: the difference' "$(grep '^[-+]' modified/ziatest-*/changes.diff)" '--- a/ziatest.c\|\+\+\+ b/ziatest.c\|\+/\* a change \*/'
job rebuilt 'modified and built' '.*FAIL  source: ziaprobe.c is modified; .*' 1
like 'an executable without a pad' "$(grep '^FAIL  exec' outside/ziatest-*/summary.txt)" 'FAIL  executable: [0-9]* bytes; the rule is 104857600'
job outside 'built outside git' '.*FAIL  source: built outside git; commit: none, .*' 1
job share2 'a share that is no number' "run_ziatest.sh: error: SHARE must be a percentage, as 99 or 99.5, not '99,5'" 2
summary skewed 'clocks that disagree' "$share\|$ranks\|$valid\|$source"
like 'clocks that disagree: the summary says so' "$(sed -n '/^Warnings/,/^$/p' skewed/ziatest-*/summary.txt)" \
	'Warnings\|run 1 on 2 nodes: ziaprobe: warning: the clock of n3 is .*'
job runs 'RUNS=0' "run_ziatest.sh: error: RUNS must be a number from 1 up, not '0'" 2
job toomany 'more nodes than there are' 'run_ziatest.sh: error: SWEEP has 3 nodes, the allocation 2' 2

# An evaluator's look at it, on the directory and on altered copies
again() {	# WHAT PATTERN STATUS COMMAND: --summarize after COMMAND, in it
	rm -rf it
	cp -r sweep/unpacked/it it
	(cd it && sh -c "$4")
	run "$dir/run_ziatest.sh" --summarize it
	like "--summarize: $1" "$(echo "$out" | sed '/^Problems/,/^$/!d'; echo "$err")" "$2"
	is "--summarize: $1: the status" "$status" "$3"
}
again 'nothing altered' '' 0 true
again 'the pictures are drawn' '' 0 'rm *.svg'
ok 'the pictures are there' test -s it/ranks.svg -a -s it/scaling.svg
again 'a second time' '' 0 '"$dir/run_ziatest.sh" --summarize . >/dev/null'
again 'a time in results.csv' 'Problems\|results.csv: FAILED\|run 2 on 5 nodes: results.csv says 1\.5 ms, .*' 1 \
	"awk -F , -v OFS=, 'NR == 9 { \$5 = 1.5 } 1' results.csv >x && mv x results.csv"
again 'a time in results.csv, with its checksum' 'Problems\|run 2 on 5 nodes: results.csv says 1\.5 ms, .*' 1 \
	"awk -F , -v OFS=, 'NR == 9 { \$5 = 1.5 } 1' results.csv >x && mv x results.csv; sha256sum \$(cut -d ' ' -f 3 SHA256SUMS) >x; mv x SHA256SUMS"
again 'a time in an output' 'Problems\|output/3-1.err: FAILED\|run 1 on 3 nodes: results.csv says .*' 1 \
	"sed -i 's/completed in .*/completed in     1.00 millisecs/' output/3-1.err"
again 'a row' 'Problems\|results.csv: FAILED\|run 1 on 1 nodes: no row in results.csv.*' 1 'sed -i 2d results.csv'
again 'the ranks' 'Problems\|ranks-2-1.csv: FAILED\|run 1 on 2 nodes: results.csv says .*' 1 \
	"sed -i '\$d; s/^0,/9,/' ranks-2-1.csv; awk -F , -v OFS=, 'NR > 1 && \$8 { \$8 = 1 } 1' ranks-2-1.csv >x; mv x ranks-2-1.csv"
again 'the source' 'Problems\|source/ziaprobe.c: FAILED.*' 1 'echo >>source/ziaprobe.c'
again 'a missing file' 'Problems\|output/2-1.out is missing\|.*' 1 'rm output/2-1.out'
again 'a file too many' 'Problems\|x does not belong here\|.*' 1 'echo >x'
again 'a file too many, and its checksum' 'Problems\|SHA256SUMS does not list .*x does not belong here.*' 1 'echo >x; sha256sum x >>SHA256SUMS'
again 'a checksum that is none' 'Problems\|.*improperly formatted.*' 1 'sed -i "s/^.\{64\}  results/zz  results/" SHA256SUMS'
again 'a symbolic link' 'Problems\|output/1-1.err is no regular file.*' 1 'cp output/1-1.err ..; ln -sf ../../1-1.err output/1-1.err'
again 'an error in an output' 'Problems\|.*run 1 on 1 nodes: not valid ziaprobe: error: x.*' 1 'echo "ziaprobe: error: x" >>output/1-1.err'
again 'the checksums of a program' 'Problems\|build.txt: FAILED\|environment.txt: FAILED\|.*' 1 'sed -i "/  ziatest$/d" build.txt environment.txt'
ok 'and the source is not taken for that of the build' matches "$out" 'FAIL  source: build.txt has not the five checksums'
again 'a setting that is a program' "run_ziatest.sh: error: SHARE must be .*" 2 'sed -i "s/^SHARE=.*/SHARE=system(\"touch pwned\")/" environment.txt'
again 'the phases in results.csv' 'Problems\|.*run 2 on 5 nodes: results.csv and the listing in the output differ.*' 1 \
	"awk -F , -v OFS=, 'NR == 9 { \$9 = 1.5 } 1' results.csv >x && mv x results.csv"
again 'the summary' 'run_ziatest.sh: error: summary.txt was not what the other files say; it is replaced' 1 'sed -i "s/^FAIL/PASS/; s/^Time:.*/Time: 1 ms/" summary.txt'
again 'no such directory' "run_ziatest.sh: error: 'it' is no directory of a Ziatest job, .*" 1 'rm environment.txt'

# A beginner's calls
cd "$dir" || exit 1
run env -u SLURM_JOB_ID ./run_ziatest.sh
like 'outside a job' "$out/$err/$status" \
	'/run_ziatest.sh: error: not inside a Slurm job; submit it: sbatch [^|]*/2'
run ./run_ziatest.sh --help
like 'an unknown option' "$out/$err/$status" "/run_ziatest.sh: error: no option is '--help'; usage: [^|]*/2"
finish
