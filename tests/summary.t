#!/bin/sh
# job/summarize, on the archive that helpers/archive.py creates and on altered copies of it: the
# text, the verdicts, careless mistakes, honest failures, hostile files, several jobs, and the
# pictures
. "$(dirname "$0")/lib.sh"
summarize=$top/job/summarize
has python3 || skip_all 'no python3; tests/setup installs it'
# python3 may be a wrapper, such as pyenv's, which takes longer than what it starts.
PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
cd "$tmp" || exit 1

job() {	# DIRECTORY [NAME=VALUE...]
	python3 "$top/tests/helpers/archive.py" "$@" || exit 1
}

# says WHAT STATUS PATTERN COMMAND [OPTION...]: checks what summarize prints about the job after
# COMMAND has altered it
says() {
	rm -rf it
	cp -r job it
	(cd it && eval "$4")
	what=$1 expected=$2 pattern=$3
	shift 4
	run timeout 60 "$summarize" "$@" it
	is "$what: the status" "$status" "$expected"
	like "$what" "$err$out" ".*$pattern.*"
}

# contradicts WHAT PATTERN COMMAND
contradicts() {
	says "$1" 1 "FAIL        consistency: [^|]*\|.*\|Problems\|(.*\|)?$2" "$3"
}

# honest WHAT STATUS PATTERN COMMAND: checks that no contradiction is found
honest() {
	says "$1" "$2" "PASS        consistency: no contradictions found\|.*$3" "$4"
}

set_to() {	# NAME VALUE
	sed -i "s|^$1=.*|$1=$2|" environment.txt
}

# fails NODES-RUN STATUS LINE...: replaces the files of a launch with those of a failed one; the
# command line that ziatest printed stays
fails() {
	file=output/$1.txt
	started=$(head -n 1 "$file")
	row=$(grep -n "$(date -u -d "@$(echo "$started" | sed 's/.*ziaprobe \([0-9]*\) .*/\1/')" \
		+%FT%T)" results.csv)
	sed -i "${row%%:*}d" results.csv
	rm "ranks-$1.csv"
	code=$2
	shift 2
	printf '%s\n' "$started" "$@" "status $code" >"$file"
}

cell() {	# LINE COLUMN VALUE: of results.csv
	awk -F , -v OFS=, -v line="$1" -v column="$2" -v value="$3" \
		'NR == line { $column = value } 1' results.csv >x
	mv x results.csv
}

job job
tar -czf job.tgz job
run python3 -c "
import ast, glob, sys
for name in ['$summarize'] + glob.glob('$top/job/*.py'):
	sys.version_info < (3, 8) or ast.parse(open(name).read(), feature_version=(3, 6))"
is 'the programs are valid in Python 3.6' "$err$status" 0

cat >expected <<END
Ziatest: job 7 on virtual, 2026-11-21T09:33:54Z, Open MPI v4.1.4
8 nodes x 2 = 16 ranks: 601.0 ms, the first launch (43 % init, 33 % spawn, 13 % exchange, 11 % \
other)
Later launches: 602.5 ms, the median of 2 (602.0 to 603.0)
PASS

PASS        compute nodes: 8 of 8, 100.0 % (UK-NSS requires 99 %, NERSC-10 99.5 %)
PASS        ranks per node: 2 for 2 network interfaces
PASS        launches: 3 of 3 valid on 8 nodes; 6 of 6 in all
PASS        consistency: no contradictions found
PASS        executable: 104913536 bytes (at least 104857600 required)
PASS        clocks: started on a node of the job; node clocks within 0.067 ms

To review
executable: /x/ziaprobe on ext4, /dev/vda

ms       launch                             time  daemon  spawn  exec   init  fence  exchange  \
clock   cpu  cpu_wait  blocked
8 nodes  first                             601.0    10.0  200.0  20.0  261.0   30.0      80.0    \
0.0  80.0       5.0    196.0
8 nodes  the middle of 2 (602.0 to 603.0)  602.0    10.0  200.0  20.0  262.0   30.0      80.0    \
0.0  80.0       5.0    197.0
4 nodes  first                             401.0    10.0  100.0  20.0  181.0   30.0      60.0    \
0.0  80.0       5.0    116.0
4 nodes  the middle of 2 (402.0 to 403.0)  402.0    10.0  100.0  20.0  182.0   30.0      60.0    \
0.0  80.0       5.0    117.0

Slow nodes, ms above the median of all nodes: none
END
for locale in C C.UTF-8; do
	run env LC_ALL=$locale LANGUAGE=de "$summarize" job
	is "the whole summary, in the locale $locale" "$out$err" "$(cat expected)"
done
ln -s "$summarize" link
run env -u PYTHONDONTWRITEBYTECODE ./link job.tgz
is 'an archive, by a link to summarize' "$out$err/$status" "$(cat expected)/0"
cp job.tgz './-odd name'
(cd job && tar -czf ../within.tgz .)
run sh -c '"$1" -- "-odd name"; "$1" within.tgz; cat job.tgz | "$1" /dev/stdin' sh "$summarize"
is 'an archive under another name, one packed from within; a pipe is an error' "$out/$err/$status" \
	"$(cat expected expected)/summarize: error: /dev/stdin: not a regular file/2"
is 'no compiled modules are left' "$(find "$top/job" -name '*pyc*')" ''

# Verdicts
says 'too few nodes' 1 \
	'\|FAIL: compute nodes\|.*FAIL        compute nodes: 8 of 9, 88.8 % \(UK-NSS requires' \
	'set_to SYSTEM_NODES 9; set_to NODES_FOUND 9'
says 'nodes that Slurm does not confirm' 0 "UNVERIFIED  compute nodes: 8 of 8, 100.0 % \(UK-NSS \
requires 99 %, NERSC-10 99.5 %\) \(set by the bidder; 20 detected\)" 'set_to NODES_FOUND 20'
says 'an unknown number of nodes' 0 \
	'UNVERIFIED: compute nodes\|.*UNVERIFIED  compute nodes: 8 of - ' \
	'set_to SYSTEM_NODES ""; set_to NODES_FOUND ""'
says 'too few ranks' 1 'FAIL        ranks per node: 2 for 4 network interfaces' \
	'set_to NICS 4; set_to NICS_FOUND 4'
says 'interfaces that were not detected' 0 "UNVERIFIED  ranks per node: 2 for 1 network interface \
\(set by the bidder; none detected\)\|" 'set_to NICS 1; set_to NICS_FOUND ""'
says 'no interface known' 0 'UNVERIFIED  ranks per node: 2 for - network interfaces' \
	'set_to NICS ""; set_to NICS_FOUND ""'
says 'two verdicts that are UNVERIFIED' 0 '\|UNVERIFIED: compute nodes, ranks per node\|' \
	'set_to NICS_FOUND ""; set_to NODES_FOUND 20'
says 'a small executable' 1 'FAIL        executable: 45680 bytes \(at least 104857600 required\)' \
	'sed -i "s/104913536/45680/" output/* results.csv build.txt'
says 'a launch from outside the job' 0 "UNVERIFIED  clocks: not started on a node of the job; node \
clocks within 0.067 ms\|" 'cell 3 6 ""'
says 'clocks that disagree' 0 "UNVERIFIED  clocks: started on a node of the job; node clocks \
within 6.030 ms\|" 'cell 2 27 -6.030'
says 'clocks that disagree by less than 1 % of the time' 0 \
	'PASS        clocks: [^|]* node clocks within 6.000 ms\|' 'cell 2 27 6.000'
says 'clocks that disagree by no more than the bound' 0 \
	'PASS        clocks: [^|]* node clocks within 7.000 ms\|' \
	'cell 2 27 -7.000; cell 2 30 7.000'
says 'unknown clock offsets' 0 'UNVERIFIED  clocks: [^|]* node clocks within - ms\|' \
	'cell 4 27 ""'

# The source
mkdir -p clone/probe
cp "$top"/Makefile "$top"/*.c clone
cp "$top"/probe/*.[ch] clone/probe
for command in init 'add .' 'commit -m test'; do
	# shellcheck disable=SC2086 # words
	git -C clone -c user.name=test -c user.email=test@localhost $command >git.log 2>&1
done
commit=$(git -C clone rev-parse --short HEAD)
says 'sources as in the clone' 0 "\|PASS        source: same as commit $commit of clone\|" \
	'sed -i "s/^commit: .*/commit: UNKNOWN/" build.txt' --source clone
changed='sed -i "s/^[0-9a-f]*  ziatest.c/$(echo | sha256sum | cut -c 1-64)  ziatest.c/" build.txt'
says 'a change that is shown' 0 "MODIFIED: source\|.*MODIFIED    source: differs from commit \
$commit: ziatest.c \(shown in changes.diff\)\|.*To review\|[^|]*\|changes.diff: ziatest.c\|" \
	"$changed; echo 'diff --git a/ziatest.c b/ziatest.c' >changes.diff" --source clone
says 'a change that is not shown' 0 "MODIFIED    source: [^|]*: probe/run.h, ziatest.c \(not shown \
in changes.diff: probe/run.h, ziatest.c\)" "$changed; sed -i '/run.h/d' build.txt" --source clone
says 'a git clone that does not exist' 2 'summarize: error: it: --source: fatal: [^|]*nowhere.*' \
	true --source nowhere

# To review, in its order
reviewed() {	# WHAT PATTERN COMMAND: the rest of the list, after the file system
	says "$1" 0 "To review\|executable: [^|]*\|$2\|ms " "$3"
}
add() {	# NAME=VALUE...: to the recorded facts
	for fact; do
		sed -i "s|^SRUN=|$fact\n&|" environment.txt
	done
}
warm() {	# FILE NODE...: no faults on their ranks
	file=$1
	shift
	for node; do
		sed -i "s/^\([0-9]*,$node,.*\),3,\([^,]*\)$/\1,0,\2/" "$file"
	done
}
says 'a warm start' 0 \
	'To review\|warm start: 2 of 8 nodes read no page of a file in the first launch\|exec' \
	'warm ranks-8-1.csv 3 5; sed -i "s/^\(2,2,.*\),3,/\1,0,/" ranks-8-1.csv'
reviewed 'a warm later launch' '' 'warm ranks-8-2.csv 3 5'
says 'a figure that is not the first launch' 1 "To review\|warm start: 3 of 8 nodes read no page \
of a file in launch 2 on 8 nodes, after 1 other\|" 'fails 8-1 1; warm ranks-8-2.csv 1 2 3'
reviewed 'launches with --overlap' \
	'srun --overlap: launch 2 on 8 nodes\|srun --overlap: launch 1 on 4 nodes\|' \
	'sed -i "1s/^srun/& --overlap/" output/8-2.txt output/4-1.txt'
reviewed 'nodes' 'nodes not used: 3 idle, 1 down\|network interfaces that are down: 2\|' \
	'set_to NODES_UNUSED "3 idle, 1 down"; set_to NICS_DOWN 2'
reviewed 'settings' "setting: PPN=2 \(default: 1\)\|setting: NICS=1 \(found: none\)\|setting: \
SYSTEM_NODES=8 \(found: 9\)\|setting: CORES_PER_RANK=4 \(default: 8\)\|setting: PLACEMENT=-m x \
\(default: [^|]*\)\|setting: SRUN_OPTIONS=--bcast \(default: none\)\|" \
	'set_to NICS 1; set_to NICS_FOUND ""; set_to NODES_FOUND 9; set_to CORES_PER_RANK 4
	set_to PLACEMENT "-m x"; set_to SRUN_OPTIONS --bcast'
reviewed 'more processes than cores' '' 'set_to CORES 1; set_to CORES_PER_RANK 1'
reviewed 'options of the job' "option of the job: ReqNodeList=n1\|option of the job: \
ExcNodeList=n4\|option of the job: Features=a\|option of the job: Switches=1\|variable: \
SLURM_MPI_TYPE=pmi2\|" 'set_to ReqNodeList n1; set_to ExcNodeList n4; set_to Features a
	add Reservation= Switches=1 SLURM_MPI_TYPE=pmi2 SLURM_CONF=y SLURM_MPI_TYPES=z'
reviewed 'lines of the batch script' "batch script: it lacks 2 lines of run_ziatest.sh\|batch \
script: module load warm\|batch script: RUNS=3\|batch script: export LC_ALL=x\|" \
	'sed -i "s/^\t#SBATCH --nodes.*/\t#SBATCH --nodes=8/
		s/^\tRUNS=.*/\tmodule load warm\n\tRUNS=3/
		s/^\texport LC_ALL=C/\texport LC_ALL=x/
		s/^\t# ---- Edit no further.*/\t# mine\n&/" environment.txt'
reviewed 'a line of the batch script twice' 'batch script: \. job/prepare.sh\|' \
	'sed -i "s/^\t\. job.prepare.sh/&\n&/" environment.txt'
reviewed 'variables, after the files' "changes.diff: built outside git\|unset before the launches: \
SLURM_HINT=x\|unset before the launches: SLURM_X=\|variable: LD_PRELOAD=/x.so\|variable: \
OMPI_MCA_plm_slurm_args_x=y\|" 'echo UNKNOWN >changes.diff; set_to UNSET "SLURM_HINT SLURM_X"
	add SLURM_HINT=x LD_PRELOAD=/x.so PRTE_MCA_plm_slurm_args=y OMPI_MCA_plm_slurm_args_x=y'
reviewed "other MPI libraries, without Slurm's own variables" "variable: HYDRA_DEBUG=1\|variable: \
MV2_SHOW_ENV_INFO=2\|variable: PMI_MMAP_SYNC_WAIT_TIME=3\|" \
	'add HYDRA_BOOTSTRAP=slurm HYDRA_DEBUG=1 HYDRA_LAUNCHER_EXTRA_ARGS=--external-launcher \
		I_MPI_HYDRA_BOOTSTRAP=slurm MV2_SHOW_ENV_INFO=2 PMI_MMAP_SYNC_WAIT_TIME=3 \
		I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=--external-launcher'
reviewed 'at most five of each kind' "setting: SRUN[^|]*\|(variable: UCX_[0-9]+=x\|){5}\.\.\. and \
20 more\|" 'set_to SRUN_OPTIONS -v
	for i in $(seq 25); do add UCX_$i=x; done'

# Carelessness
contradicts 'a lost output' \
	'launch 2 on 8 nodes: there is no output, but SWEEP is "8 4", RUNS is 3\|' \
	'rm output/8-2.txt'
like 'a lost output: its row and its ranks file' "$out" ".*\|launch 2 on 8 nodes: \
there is a ranks file, but the output is missing\|results.csv: no output matches the launch on \
8 nodes that started at [^|]*:07.000042Z.*"
contradicts 'a lost row' "launch 1 on 4 nodes: its status is 0, but results.csv has no row for \
its start at 2026-11-21T09:34:27.000042Z" 'sed -i 5d results.csv'
contradicts 'a lost ranks file' "launch 1 on 4 nodes: its status is 0, but there is no \
ranks file" 'rm ranks-4-1.csv'
contradicts 'a truncated output' \
	'launch 3 on 8 nodes: its output ends in "[^|]*", not in "status S"' \
	'head -c 165 output/8-3.txt >x; mv x output/8-3.txt'
contradicts 'an output that lacks its last character' \
	'launch 3 on 8 nodes: its output ends in "st' \
	'head -c -1 output/8-3.txt >x; mv x output/8-3.txt'
contradicts 'a truncated row' \
	'launch 3 on 4 nodes: its status is 0, but results.csv has no row for' \
	'head -c -5 results.csv >x; mv x results.csv'
contradicts 'a truncated ranks file' "launch 1 on 4 nodes: 7 ranks before a damaged line in its \
ranks file, 8 ranks according to the settings" 'head -c -5 ranks-4-1.csv >x; mv x ranks-4-1.csv'
contradicts 'the header of results.csv is lost' 'results.csv: a row is damaged\|\|' \
	'sed -i 1d results.csv'
contradicts 'the header of a ranks file is lost' "launch 1 on 4 nodes: 0 ranks before a damaged \
line in its ranks file, 8 ranks according to the settings" 'sed -i 1d ranks-4-1.csv'
contradicts 'a rank that is lost' "launch 1 on 4 nodes: 1 ranks before a damaged line in its \
ranks file, 8 ranks according to the settings" 'sed -i 3d ranks-4-1.csv'
contradicts 'two ranks files in one' \
	'launch 1 on 4 nodes: 8 ranks before a damaged line in its ranks file, 8 ranks ' \
	'sed 1d ranks-4-2.csv >>ranks-4-1.csv'
swap() {	# FILE FILE
	mv "$1" x
	mv "$2" "$1"
	mv x "$2"
}
contradicts 'outputs that are mixed up' "launch 2 on 8 nodes: it started at [^|]*:57.000042Z, \
before the start of launch 1 on 8 nodes, [^|]*:07.000042Z" 'swap output/8-1.txt output/8-2.txt'
contradicts 'ranks files that are mixed up' "launch 1 on 8 nodes: the last rank completed at \
602.000 ms in its ranks file, 601.000 in its row" 'swap ranks-8-1.csv ranks-8-2.csv'
contradicts 'all of a launch left over from another job' "launch 1 on 8 nodes: it started at 2026-\
11-20T[^|]*Z, before DATE, 2026-11-21T09:33:54" \
	'sed -i "s/ 1795253637 / 1795167237 /" output/8-1.txt
	sed -i "s/11-21T09:33:57/11-20T09:33:57/" results.csv'
contradicts 'a row left over' \
	'results.csv: no output matches the launch on 8 nodes that started at 2025' \
	'sed -i "2{p; s/^2026/2025/}" results.csv'
contradicts 'an output left over' "launch 4 on 8 nodes: there is an output, but SWEEP is \"8 4\", \
RUNS is 3" 'cp output/8-3.txt output/8-4.txt'
contradicts 'a ranks file left over' "launch 1 on 5 nodes: there is a ranks file, but \
the output is missing" 'cp ranks-4-3.csv ranks-5-1.csv'
contradicts 'a program of another size' "launch 2 on 4 nodes: the executable has 104913537 bytes \
in its row, 104913536 in build.txt" 'cell 6 32 104913537'
contradicts 'another program' 'ziatest: SHA-256 [0-9a-f]{64} after the last launch, 0{64} in' \
	'sed -i "s/^.*  ziatest$/$(printf %064d 0)  ziatest/" build.txt'
contradicts 'a lost build.txt' 'build.txt is missing or empty\|\|ms ' \
	'rm build.txt'
contradicts 'a lost line of build.txt' \
	'ziaprobe: SHA-256 [0-9a-f]{64} after the last launch, missing in' \
	'sed -i "/  ziaprobe$/d" build.txt'
contradicts 'the same start twice' \
	'launch 2 on 4 nodes: it started at [^|]*, and so did launch 1 on 4 ' \
	'cp output/4-1.txt output/4-2.txt'
contradicts 'the same row twice' \
	'launch 1 on 8 nodes: results.csv has two rows for its start at 2026-11' \
	'sed -i 2p results.csv'
contradicts 'another number of processes' "launch 1 on 8 nodes: 8 nodes x 2 = 16 ranks in its row, \
8 nodes x 4 = 32 ranks according to the settings" 'set_to PPN 4'
contradicts 'another number of nodes' 'launch 2 on 8 nodes: 9 nodes x 2 = 16 ranks in its row, 8 ' \
	'cell 3 2 9; sed -i "s/ 8 nodes/ 9 nodes/" output/8-2.txt'
contradicts 'a time changed in its row' "launch 1 on 8 nodes: \"Time test was \
completed in   601.00 millisecs, 601.000 ms, [^|]*\" in its output, \"Time [^|]* 501.000 " \
	'cell 2 5 501.000'
contradicts 'a step that is too long' "launch 1 on 8 nodes: in its row, the steps add up to \
1000000000400.000 ms, not to 601.000\|" 'cell 2 10 999999999999.000'
like 'a step that is too long: the launch is not valid' "$out" \
	'[^|]*\|[^|]* launch 2, no valid first .*'
contradicts 'a negative step' \
	'launch 1 on 8 nodes: in its row, spawn_ms is -200.000, and must not be negative\|' \
	'cell 2 10 -200.000; cell 2 12 661.000'
contradicts 'a step of a rank that is too long' "launch 1 on 8 nodes: in its ranks file, rank 4: \
the steps add up to 699.000 ms, not to 599.000\|" 'sed -i "s/^4,3,n3,10/4,3,n3,110/" ranks-8-1.csv'
contradicts 'negative work of a rank' \
	'launch 1 on 8 nodes: in its ranks file, rank 2: cpu_ms is -80.000, and must not be' \
	'sed -i "/^2,2,/s/,80.000,5/,-80.000,5/" ranks-8-1.csv'
contradicts 'a time changed in output and row' "launch 1 on 8 nodes: the last rank completed at \
601.000 ms in its ranks file, 501.000 in its row" \
	'cell 2 5 501.000; sed -i "s/601.00/501.00/" output/8-1.txt'

# Honest jobs
honest 'failed launches of another size' 0 "Problems\|launch 1 on 4 nodes: status 1\|    srun: \
error: it\|launch 2 on 4 nodes: status 137\|launch 3 on 4 nodes: not launched: two failed\|\|" \
	'fails 4-1 1 "srun: error: it"; fails 4-2 137; fails 4-3 0
	echo "not launched: two failed" >output/4-3.txt'
like 'failed launches of another size do not count' "$out" \
	'.*\|PASS\|\|.*PASS        launches: 3 of 3 valid on 8 nodes; 3 of 6 in all\|.*'
like 'unknown times are shown as -' "$out" \
	'.*\|4 nodes  first( +-){11}\|4 nodes  later( +-){11}\|.*'
honest 'a hang' 1 "Problems\|launch 2 on 8 nodes: status 124; no response from: n3 n7\|    \
ziaprobe: error: timeout of 5 s: rank 2 on n2 has waited\|    ziaprobe: error: [^|]*: rank 4" \
	"fails 8-2 124 \"ziaprobe: error: timeout of 5 s: rank 2 on n2 has waited\" \
		\"ziaprobe: error: timeout of 5 s: rank 4\" \"no response from: n3 n7\""
like 'a hang: the verdict' "$out" '.*\|FAIL: launches\|.*FAIL        launches: 2 of 3 valid on 8.*'
honest 'three lines of an output, the cause first, none twice' 1 "launch 1 on 8 nodes: status 1\|\
    slurmstepd: error: execve\(\): no\|    ziaprobe: error: a\|    ziaprobe: error: b\|\|" \
	"fails 8-1 1 \"Error 1\" \"ziaprobe: error: a\" \"ziaprobe: error: a\" \
		\"ziaprobe: error: b\" \
		\"slurmstepd: error: execve(): no\""
like 'no valid first launch: line 2' "$out" "[^|]*\|8 nodes x 2 = 16 ranks: 602.0 ms, launch 2, no \
valid first launch \([^|]*\|Later launches: 602.5 ms, the median of 2 \([^|]*\|FAIL: launches.*"
lost='fails 8-1 143; fails 8-2 1; fails 8-3 1'
honest 'no valid launch of the larger size' 1 'launch 1 on 8 nodes: status 143\|' "$lost"
like 'no valid launch of the larger size: the figure' "$out" "[^|]*\|4 nodes x 2 = 8 ranks: 401.0 \
ms, the first launch of this size, after 3 others \([^|]*\|8 nodes: 0 of 3 launches valid\|Later .*"
smaller='set_to SYSTEM_NODES 4; set_to NODES_FOUND 4'
honest 'a failed launch of a size that is not needed for 99 %' 0 \
	'launch 2 on 8 nodes: status 143\|' "fails 8-2 143; fails 8-3 1; $smaller"
like 'a failed launch of a size that is not needed for 99 %: the figure' "$out" "[^|]*\|4 \
nodes x 2 = 8 ranks: 401.0 ms, the first launch of this size, after 3 others [^|]*\|8 nodes: 1 of \
3 launches valid\|Later[^|]*\|PASS\|.*PASS        launches: 3 of 3 valid on 4 nodes; 4 of 6 in \
all\|.*"
says 'no launch of the larger size was made' 0 '\|8 nodes: 0 of 3 launches valid\|' \
	"fails 8-1 0; fails 8-2 0; fails 8-3 0; $smaller
	for run in 1 2 3; do echo 'not launched: x' >output/8-\$run.txt; done"
like 'no launch of the larger size was made: line 2' "$out" \
	'[^|]*\|4 nodes [^|]*, the first launch \(.*'
honest 'a failed launch of each size' 1 'launch 2 on 4 nodes: status 1\|' \
	"fails 8-2 143; fails 4-2 1; $smaller"
like 'a failed launch of each size: the figure' "$out" \
	'[^|]*\|8 nodes x 2 = 16 ranks: 601.0 ms, the first [^|]*\|Later[^|]*\|FAIL: launches\|.*'
honest 'no valid launch' 1 'Problems\|launch 1 on 8 nodes: status 1\|' \
	'for launch in 8-1 8-2 8-3 4-1 4-2 4-3; do fails $launch 1; done; rm results.csv'
like 'no valid launch: line 2' "$out" "[^|]*Z, -\|no valid launch\|FAIL: compute nodes, launches\|\
\|FAIL        compute nodes: - of 8 .*launches: 0 of 3 valid on 8 nodes; 0 of 6 in all\|.*\
UNVERIFIED  executable: - bytes [^|]*\|UNVERIFIED  clocks: no valid launch\|.*"
cut='rm output/4-[23].txt ranks-4-[123].csv; sed -i 5,7d results.csv
	sed -i "/^[0-9a-f]\{64\}/d" environment.txt; sed -i 3,\$d output/4-1.txt'
honest 'a job that was cut off' 0 'Problems\|launch 1 on 4 nodes: cut off\|\|' "$cut"
like 'a job that was cut off: line 1' "$out" '[^|]*, Open MPI v4.1.4, INCOMPLETE\|.*'
honest 'a job that was cut off before its first launch' 1 'Slow nodes[^|]*: none' \
	'rm output/* ranks* results.csv; sed -i "/^[0-9a-f]\{64\}/d" environment.txt'
says 'a job that was cut off, an output that is lost' 1 'launch 2 on 8 nodes: there is no output' \
	"$cut; rm output/8-2.txt"
honest 'an error after the result' 1 \
	'Problems\|launch 3 on 8 nodes: status 0\|    ziaprobe: error: x' \
	'sed -i "s/^status/ziaprobe: error: x\n&/" output/8-3.txt'
honest 'an error that names a cause, status 0' 1 'Problems\|launch 3 on 8 nodes: status 0\|' \
	'sed -i "s/^status/foo ziatest: error: not found\n&/" output/8-3.txt'
honest 'a failure after the result' 1 'Problems\|launch 3 on 8 nodes: status 1\|\|' \
	'sed -i "s/^status 0/status 1/" output/8-3.txt'
waited="launch 1 on 8 nodes: status 0; the step had to wait: another step of the job, or a node \
that was not up, held its nodes\|"
busy='srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)'
slow='srun: Job 7 step creation temporarily disabled, retrying (Socket timed out)'
created='srun: Step created for StepId=7.1'
says 'a launch that waited for its nodes' 1 "FAIL        launches: 2 of 3 .*Problems\|$waited" \
	"sed -i '2i $created' output/8-1.txt"
honest 'a launch that waited for its nodes, and for slurmctld' 1 "Problems\|$waited" \
	"sed -i '2i $slow\n$busy\n$created' output/8-1.txt"
says 'a launch that waited for slurmctld only' 0 'PASS        launches: 3 of 3' \
	"sed -i '2i $slow\n$created' output/8-1.txt"
honest 'a clock step that is negative, and almost 0' 0 '8 nodes  first +601.0 [^|]* 80.0 +0.0  ' \
	'cell 2 14 80.010; cell 2 15 -0.010'
honest 'text before the result' 0 Slow 'sed -i "s/^Time/loaded foo Time/" output/8-1.txt'
honest 'warnings' 0 'Warnings\|launch 1 on 8 nodes: ziaprobe: warning: w\|\|' \
	'sed -i "2s/^/ziaprobe: warning: w\n/" output/8-1.txt'
honest 'an outlier' 0 Slow \
	'cell 2 20 init; cell 2 21 0; cell 2 22 n1; cell 2 23 99.000; cell 2 24 cpu_wait'
honest 'no daemon step' 0 '8 nodes  first +601.0 +- +210.0 ' \
	'cell 2 9 ""; cell 2 10 210.000; sed -i "s/,10.000,200/,,210/" ranks-8-1.csv'
rm -rf job
job job MPI='MPICH 4.0.2' FENCES= HOST='n?' RUNS=1
honest 'MPICH, hosts with ?, one launch' 0 \
	'\|8 nodes  first +601.0 +10.0 +200.0 +20.0 +291.0 +- +80' \
	true
like 'one launch: there is no line 3' "$out" '[^|]*MPICH[^|]*\|8 nodes x 2 [^|]*\|PASS\|.*'
rm -rf job
job job PPN=1 SWEEP=1
says 'one node' 0 'valid on 1 node; .*\|1 node  first' true
like 'one node: line 2' "$out" '[^|]*\|1 node x 1 = 1 rank: 251.0 ms, .*'
rm -rf job
job job PPN=1 SWEEP='16 8' RUNS=4
honest 'a time above one second' 0 '16 nodes  first +1001.0 .*: none' true

# Slow nodes
slow() {	# WHAT PATTERN LATE: on 16 nodes
	rm -rf job
	job job PPN=1 SWEEP='16 8' RUNS=4 LATE="$3"
	says "$1" 0 "Slow nodes, ms above the median of all nodes$2" true
}
heading='\|node +daemon \+ spawn +exec +init +exchange +mostly'
slow 'a late daemon' "$heading\|n3 +900.0 +0.0 +0.0 +-?[0-9.]+ +-" 3:daemon:900
slow 'late in MPI_Init, blocked' "$heading\|n4 +0.0 +0.0 +900.0 +- +blocked" 4:init:900
slow 'late in exec, blocked' "$heading\|n4 +0.0 +900.0 +0.0 +- +blocked" 4:exec:900
slow 'late in the exchange' "$heading\|n3 with n4 +0.0 +0.0 +0.0 +9[0-9]+.[0-9] +-" 4:exchange:900
slow 'late by less than a tenth of the time' ': none' 3:init:90
slow 'late in one launch of four' ': none' 3:init:900:2
slow 'the worst five first' "$heading\|n16 [^|]*\|n15 [^|]*\|n14 [^|]*\|n13 [^|]*\|n12 [^|]*" \
	"$(seq 11 16 | sed 's/.*/&:daemon:&00/')"
rm -rf job
job job PPN=1 SWEEP='16 8' RUNS=4 LATE=4:init:900
says 'late in MPI_Init, waiting for a CPU' 0 "$heading\|n4 [^|]* waiting for a CPU" "awk -F , '
	BEGIN { OFS = FS }
	\$3 == \"n4\" { \$15 = \$16; \$16 = \"5.000\" }
	{ print >FILENAME \".new\" }' ranks-16-*
	for file in ranks-16-*.csv; do mv \$file.new \$file; done"
rm -rf job
job job MPI=MPICH FENCES= PPN=1 SWEEP='16 8' RUNS=4 LATE=4:exec:900
says 'no fences' 0 "$heading\|n4 +0.0 +900.0 +0.0 +- +-" true

# Hostile files
rm -rf job
job job
refused() {	# WHAT PATTERN COMMAND
	says "$1" 2 "$2" "$3"
	is "$1: no summary" "$out" ''
}
refused 'no job' 'summarize: error: it: not a Ziatest job: ' 'rm environment.txt'
other_version='is of another version of Ziatest; use its job/summarize'
refused 'a results.csv of another version' "summarize: error: it: results.csv $other_version" \
	'sed -i 1s/,outlier_kind// results.csv'
refused 'a ranks file of another version' "summarize: error: it: ranks-4-2.csv $other_version" \
	'sed -i 1s/completed_ms,repeat_ms/repeat_ms,completed_ms/ ranks-4-2.csv'
refused 'too many launches' 'it: RUNS and SWEEP ask for more than 10000 launches' 'set_to RUNS 6000'
refused 'a program as a setting' 'not a Ziatest job' "set_to RUNS '\$(touch $tmp/pwned)'"
refused 'a FIFO' 'results.csv is not a regular file' 'rm results.csv; mkfifo results.csv'
refused 'a link' 'output/8-1.txt is not a regular file' 'ln -sf /dev/zero output/8-1.txt'
refused 'a link to a directory' 'output is not a regular file' 'mv output x; ln -s x output'
refused 'a directory' 'build.txt is not a regular file' 'rm build.txt; mkdir build.txt'
refused 'more than 1 GiB' 'more than 1 GiB' 'truncate -s 1100M ranks-4-1.csv'
refused '30,000 files' 'more than 20000 files' 'seq -f output/5-%05g.txt 30000 | xargs touch'
packed() {	# WHAT PATTERN TAR-OPTION...: of an archive
	what=$1 pattern=$2
	shift 2
	tar -cf bad.tgz -I 'gzip -1' "$@" 2>tar.log
	run timeout 60 "$summarize" bad.tgz
	like "packed: $what" "$err$out/$status" "summarize: error: bad.tgz: $pattern/2"
}
packed '30,000 files' 'more than 20000 files' it
rm -rf it
cp -r job it
ln -sf /etc/passwd it/results.csv
packed 'a link' 'it/results.csv is not a regular file' it
rm it/results.csv
mkfifo it/results.csv
packed 'a FIFO' 'it/results.csv is not a regular file' it
packed 'an absolute path' '/it/[^|]* is not in the directory of the job' -P \
	--transform='s|^job|/it|' job
packed 'a path that contains ..' 'job/../environment.txt is not in [^|]*' -P \
	--transform='s|job/env|job/../env|' job
packed 'a name that contains newlines' 'job/\?PASS\?/environment.txt is not in [^|]*' \
	--transform='s,job/env,job/\nPASS\n/env,' job/build.txt job/environment.txt
packed 'two jobs' 'it/[^|]* is not in the directory of the job' job it/output
packed 'a file twice' 'job/results.csv is a duplicate' --hard-dereference job job/results.csv
truncate -s 1100M it/core
packed '1.1 GB that are not needed' 'more than 1 GiB' it/core job
head -c 2000 job.tgz >cut.tgz
head -c 100000 /dev/urandom >noise
for file in cut.tgz noise; do
	run timeout 60 "$summarize" $file
	like "$file" "$err$out/$status" "summarize: error: $file: [^|]*/2"
done
says 'a line of 200 MB' 1 \
	'results.csv: a row is damaged' 'head -c 200000000 /dev/zero >>results.csv'
says 'escape codes and a program' 0 'Ziatest: job 7 on \?\[31m\?\$\(touch .*/pwned\)' \
	'set_to SLURM_CLUSTER_NAME "$(printf "\033[31m\233")\$(touch $tmp/pwned)"'
ok 'nothing was executed' [ ! -e pwned ]
run "$summarize" nowhere
is 'a job that does not exist' "$err/$status" \
	'summarize: error: nowhere: No such file or directory/2'
run "$summarize" --source
like 'bad arguments' "$err/$status" 'usage: .*/2'

# Several jobs
tar -czf job.tgz job
job other SLURM_CLUSTER_NAME=hare START=1795300000 MPI='MPICH 4.0.2' FENCES= SWEEP=4 \
	SYSTEM_NODES=8
run "$summarize" job.tgz other
like 'several jobs' "$out/$err$status" "job +system +date +MPI +nodes +ppn +first +warm +later +\
valid +verdict +to review\|job.tgz +virtual +2026-11-21T09:33:54Z +Open MPI v4.1.4 +8 of 8 +2 +\
601.0 +0 of 8 +602.5 \(602.0 to 603.0\) +6 of 6 +PASS +0\|other +hare +2026-11-21T22:26:37Z +\
MPICH 4.0.2 +4 of 8 +2 +401.0 +0 of 4 +402.5 \(402.0 to 403.0\) +3 of 3 +FAIL: compute nodes +0\|\
\|4 nodes x 2, ms +launch +time .*\|job.tgz +first +401.0 +10.0 +100.0 +20.0 +181.0 +30.0 +60.0 \
[^|]*\|other +first +401.0 +10.0 +100.0 +20.0 +- +- +60.0 +0.0 +8.0 [^|]*\|job.tgz +middle +402.0 \
[^|]*\|other +middle +402.0 +10.0 +100.0 +20.0 +- +- [^|]*\|init and fence are not compared, \
[^|]*other/1"
job doubtful START=1795426437
(
	cd doubtful || exit
	set_to NICS_FOUND 1
	set_to SYSTEM_NODES 9
	warm ranks-8-1.csv 1 2
	add UCX_TLS=x
	eval "$changed"
	sed -i '/^[0-9a-f]\{64\}/d' environment.txt
)
run "$summarize" --source clone job doubtful
like 'a doubtful job' "$out$err" ".*\|doubtful [^|]* 2 of 8 [^|]* FAIL: compute nodes; \
MODIFIED: source; UNVERIFIED: ranks per node; INCOMPLETE +4\|\|.*"
job same START=1795426437
sed -i "s/^[0-9a-f]*  probe.clocks.c/$(echo | sha256sum | cut -c 1-64)  probe\/clocks.c/" \
	same/build.txt
run "$summarize" job same
like 'equal programs from different sources' "$out" \
	'.*\|job and same have the same ziaprobe, but their sources differ: probe/clocks.c\|\|.*'
cp -r job copy
sed -i 's/^SLURM_JOB_ID=.*/SLURM_JOB_ID=8/' copy/environment.txt
cp -r copy "$(printf 'a\nb')"
run "$summarize" job "$(printf 'a\nb')"
like 'a job whose name contains a newline' "$out" '.*\|a\?b +virtual .*'
run "$summarize" job copy nowhere
like 'two jobs that contain the same launch, and a missing job' "$out/$err/$status" ".*\|job \
and copy contain the same launch, which started at 2026-11-21T09:33:57.000042Z\|.*/summarize: \
error: nowhere: .*/2"

# Pictures
texts() {	# FILE: the texts of a picture, which is parsed
	python3 -c "
import sys, xml.etree.ElementTree
for text in xml.etree.ElementTree.parse(sys.argv[1]).iter('{http://www.w3.org/2000/svg}text'):
	print(text.text)" "$1"
}
rm -rf it
job it SLURM_CLUSTER_NAME='<a&b>' HOST="$(printf %060d 0)" PPN=1 SWEEP='16 8' RUNS=2
run "$summarize" --pictures pictures it
is 'pictures: nothing on stderr' "$err" ''
like 'scaling.svg' "$(texts pictures/scaling.svg)" "<a&b>, job 7, Open MPI v4.1.4: critical path \
of each size\|daemon\|spawn\|exec\|init\|fence\|exchange\|clock\|0 ms\|200\|400\|600\|800\|1000\|\
16 nodes x 1, first launch\|1001.0\|16 nodes x 1, middle launch\|1002.0\|8 nodes x 1, first \
launch\|601.0\|8 nodes x 1, middle launch\|602.0"
like 'ranks.svg' "$(texts pictures/ranks.svg)" "<a&b>, job 7, Open MPI v4.1.4: most time of \
their own, launch 1 on 16 nodes x 1, 1001.0 ms\|.*\|wait\|exchange\|.*\|0{20}\.\.\.0{20}2\|\
1001.0\|0{20}\.\.\.0{20}4\|1000.0\|.*\|median: 0*\.\.\.0*[0-9]+\|881.0\|least: 0*\.\.\.0*[0-9]+\|\
881.0"
is 'ranks.svg: ten nodes, the median and the one with the least' \
	"$(texts pictures/ranks.svg | grep -c '00\.\.\.00')" 12
first() {	# NODES WHAT LATE LABEL: of the first bar
	rm -rf it
	job it PPN=1 SWEEP="$1" RUNS=1 LATE="$3"
	run "$summarize" --pictures pictures it
	is "ranks.svg, $1 nodes, late $2: the first bar" \
		"$(texts pictures/ranks.svg | grep -A 1000 ' ms$' | grep -m 1 n1)" "$4"
}
for step in daemon exec init; do
	first 26 "$step of an originator" 13:$step:900 'outlier: n13 with n14'
	first 26 "$step of a responder" 14:$step:900 'outlier: n14'
done
first 26 'exchange of an originator' 13:exchange:900 'outlier: n13 with n14'
first 26 'exchange of a responder' 14:exchange:900 'outlier: n13 with n14'
first 2000 'daemon of an originator' 1235:daemon:30000 'outlier: n1235 with n1236'
first 2000 'init of a responder' 1234:init:30000 'outlier: n1234'
is 'ranks.svg: no other bar is the outlier' "$(grep -c outlier pictures/ranks.svg)" 1
echo mine >mine
ln -sf ../mine pictures/ranks.svg
run "$summarize" --pictures pictures it
is 'a picture replaces a link, but not the file behind it' "$(cat mine)" mine
run "$summarize" --pictures "mine/$(printf '\303\251')" it
like 'pictures that cannot be written' "$err/$status" \
	"summarize: error: \[Errno [0-9]+\] [^|]*: 'mine/\?+'/2"
says 'a picture of a damaged ranks file' 1 '0 ranks before a damaged line in its ranks file' \
	'echo >ranks-8-1.csv' --pictures damaged
is 'a picture of a damaged ranks file: no bars' \
	"$(texts damaged/ranks.svg | grep -c 00...00)" 0
says 'pictures without a valid launch' 1 'no valid launch' \
	'sed -i "s/^status 0/status 1/" output/*' --pictures nothing
ok 'pictures without a valid launch: there are none' [ ! -e nothing ]
finish
