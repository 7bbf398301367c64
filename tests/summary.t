#!/bin/sh
# job/summarize, on the archive that helpers/archive.py creates and on altered copies of it: the
# text, problems, points to review, honest failures, files that were changed, slow nodes, hostile
# files, several jobs, a file of ranks, and the pictures
. "$(dirname "$0")/lib.sh"
summarize=$top/job/summarize
has python3 || skip_all 'no python3; tests/setup installs it'
# python3 may be a wrapper, such as pyenv's, which takes longer than what it starts.
PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
cd "$tmp" || exit 1

job() {	# DIRECTORY [NAME=VALUE...]
	rm -rf "$1"
	python3 "$top/tests/helpers/archive.py" "$@" || exit 1
}

# Writes SHA256SUMS as the job does.
sums() {
	find . -type f ! -name SHA256SUMS ! -name summary.txt ! -name '*.svg' -printf '%P\n' |
		LC_ALL=C sort | xargs sha256sum >../sums
	mv ../sums SHA256SUMS
}

# edited WHAT STATUS PATTERN COMMAND [OPTION...]: checks what summarize prints about the job after
# COMMAND has altered it
edited() {
	rm -rf it
	cp -r job it
	(cd it && eval "$4")
	what=$1 expected=$2 pattern=$3
	shift 4
	run timeout 60 "$summarize" "$@" it
	is "$what: the status" "$status" "$expected"
	like "$what" "$err$out" ".*$pattern.*"
}

# says WHAT STATUS PATTERN COMMAND [OPTION...]: the same, as if the job had written all files
says() {
	written=$4
	says_what=$1 says_status=$2 says_pattern=$3
	shift 4
	edited "$says_what" "$says_status" "$says_pattern" "$written; sums" "$@"
}

# honest WHAT STATUS PATTERN COMMAND: the same; no file may differ
honest() {
	says "$@"
	is "$1: no file differs" \
		"$(echo "$out" | grep -cE 'SHA256SUMS|changed after|is missing|is not from')" 0
}

# reviewed WHAT PATTERN COMMAND: checks the whole list of points to review
reviewed() {
	says "$1" 0 "No problems[^T]*[^|]*\|.*\|\|To review\|$2ms " "$3"
}

add() {	# NAME=VALUE...: to the recorded facts, in place of others
	for fact; do
		sed -i "/^${fact%%=*}=/d; s|^SRUN=|$fact\n&|" environment.txt
	done
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

not_launched() {	# NODES-RUN REASON
	fails "$1" 0
	echo "not launched: $2" >"output/$1.txt"
}

# stops: as if the job had ended after its launches, without the checksums
stops() {
	sed -i '/^[0-9a-f]\{64\}/d; /^[0-9]* nodes: /d' environment.txt
}

cell() {	# LINE COLUMN VALUE: of results.csv
	awk -F , -v OFS=, -v line="$1" -v column="$2" -v value="$3" \
		'NR == line { $column = value } 1' results.csv >x
	mv x results.csv
}

warm() {	# FILE NODE...: no faults on their ranks
	file=$1
	shift
	for node; do
		sed -i "s/^\([0-9]*,$node,.*\),3,\([^,]*\)$/\1,0,\2/" "$file"
	done
}

texts() {	# FILE: the texts of a picture, which is parsed
	python3 -c "
import sys, xml.etree.ElementTree
for text in xml.etree.ElementTree.parse(sys.argv[1]).iter('{http://www.w3.org/2000/svg}text'):
	print(text.text)" "$1"
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
Later launches: 602.0, 603.0 ms
No problems; no points to review

compute nodes    8 of 8, 100.0 % (UK-NNSS requires 99 %, NERSC-10 99.5 %)
ranks per node   2; network interfaces per node: 2
nodes            cores 64, threads 2, memory 251 GiB, AMD EPYC 7763, 5.14.21; Slurm 22.05.8
executable       104913536 bytes (at least 104857600 required), on ext4, /dev/vda
build            commit abc1234, sources unchanged
launches         6 of 6 valid
clocks           started on a node of the job; node clocks within 0.067 ms

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

from 4 to 8 nodes, the middle launch takes 1.5 times as long: spawn +100.0 ms, init +80.0 ms

Slow nodes: none
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
	"$(cat expected expected)/summarize: error: /dev/stdin: not a Ziatest job: no \
environment.txt with RUNS, SWEEP and PPN/2"
is 'no compiled modules are left' "$(find "$top/job" -name '*pyc*')" ''

# Problems, and facts
says 'too few nodes' 1 "\|1 problem; no points to review\|\|compute nodes    8 of 9, 88.8 % .*\|\|\
Problems\|compute nodes: 8 of 9, fewer than 99 %\|\|ms" 'add SYSTEM_NODES=9 NODES_FOUND=9'
says 'too few ranks on one node' 1 "network interfaces per node: 2 or 4\|nodes            cores \
64, .*Problems\|ranks per node: 2 for 4 network interfaces on 1 node \(n7\)\|" \
	'sed -i "s/^8 nodes: .*/&\n1 node: interfaces 4, rate 1, down 0, cores 8 (n7)/" \
		environment.txt'
says 'too few ranks on the first node of a job that stopped' 1 "interfaces per node: 4\|\
nodes            -; Slurm 22.05.8.*Problems\|ranks per node: 2 for 4 network interfaces on the \
first node\|" 'stops; add INTERFACES=4'
says 'a small executable' 1 'Problems\|executable: 45680 bytes, fewer than 104857600\|\|ms' \
	'sed -i "s/104913536/45680/" results.csv'
says 'a small executable in a launch that is not valid' 0 'No problems; 1 point' \
	'cell 7 33 45680; sed -i "s/^status 0/status 1/" output/4-3.txt'
says 'more than eight later launches' 0 \
	'Later launches: 9, the median 606.0 ms \(602.0 to 610.0\)\|' \
	"rm -r *; python3 $top/tests/helpers/archive.py x RUNS=10 SWEEP=8; mv x/* ."
says 'later launches in the order in which they ran' 0 'Later launches: 602.0, 500.0 ms' \
	'cell 4 5 500.000'
says 'facts that are missing' 0 "Ziatest: job unknown on unknown, unknown, Open MPI \
v4.1.4\|.*\|compute nodes    8 of - \(.*\|nodes            -; Slurm -\|executable       104913536 \
bytes \(at least 104857600 required\), on -\|build            commit -, sources changed\|" \
	'printf "%s\n" "RUNS=3" "SWEEP=4 8 4" "PPN=2" >environment.txt; rm build.txt changes.diff'

# To review, in its order
reviewed 'all kinds of points' "launch 2 on 8 nodes: not launched: x\|launch 3 on 4 \
nodes: the clock of n2 is off by -6.030 ms\|launches not started on a node of the job: 1\|warm \
start: 2 of 8 nodes read nothing from disk in the first launch\|nodes of more than one kind: 1 \
node: interfaces 0, rate 1, down 3, cores 8 \(n7\)\|network interfaces that are down: 3 on 1 node \
\(n7\)\|no network interface found on 1 node \(n7\)\|setting: SYSTEM_NODES=8 \(found: \
9\)\|setting: PPN=2 \(network interfaces: [^|]*1\)\|setting: SRUN_OPTIONS=--bcast\|nodes outside \
the job: 3 idle, 1 down\|option of the job: ReqNodeList=n1\|launch 2 on 4 nodes: Slurm did not say \
whether the step has ended\|launch 3 on 4 nodes: the step has not ended\|batch script: module load \
x\|changes.diff: ziatest.c\|variable: FI_TLS=x\|\|" '
	not_launched 8-2 x
	cell 6 28 -6.030; cell 5 6 ""; warm ranks-8-1.csv 3 5
	sed -i "s/^2,2,\(.*\),3,/2,2,\1,0,/" ranks-8-1.csv
	sed -i "s/^\(8 nodes: interfaces\) 2\(.*\)/\1 1\2\n1 node: interfaces 0, rate 1, down 3, \
cores 8 (n7)/" environment.txt
	add NODES_FOUND=9 SRUN_OPTIONS=--bcast \
	"NODES_UNUSED=3 idle, 1 down" ReqNodeList=n1 FI_TLS=x
	sed -i "s/^status/the step has not ended\n&/" output/4-3.txt
	sed -i "s/^status/Slurm did not say whether the step has ended\n&/" output/4-2.txt
	sed -i "s/^\t# ---- Edit no.*/\tmodule load x\n&/" environment.txt
	echo "diff --git a/ziatest.c b/ziatest.c" >changes.diff'
reviewed 'at most five of each kind' "(launch [123] on 4 nodes: [^|]*\|){3}option [^|]*\|option \
[^|]*\|option [^|]*\|option [^|]*\|(variable: UCX_[0-9]+=x\|){5}\.\.\. and 20 more\|\|" \
	'for run in 1 2 3; do not_launched 4-$run x; done
	add ReqNodeList=n1 ExcNodeList=n4 Features=a Reservation= Switches=1
	for i in $(seq 25); do add UCX_$i=x; done'
like 'at most five of each kind: all count' "$out" '.*\|No problems; 32 points to review\|.*'
reviewed 'an unknown number of nodes' "SYSTEM_NODES is not known: sinfo did not answer\|\|" \
	'add SYSTEM_NODES= NODES_FOUND='
reviewed 'lines of the batch script' "batch script: module load warm\|batch script: PPN=1; true\|\
batch script: PPN=\"[$]\(x\)\"\|batch script: PPN=1\|batch script: it lacks 2 lines of [^|]*\|\|" \
	'sed -i "s/^\t#SBATCH --nodes.*/\t#SBATCH --nodes=8/
		/^\tulimit \|^\texport /d
		s/^\tRUNS=.*/\tmodule load warm\n\tRUNS=3\t# launches/
		s/^\tSWEEP=\t.*/&\n\tSRUN_OPTIONS=\"--mpi=pmix -v\"\n\tPPN=1; true\n\tPPN=\"\$(x)\"/
		s/^\t# ---- Edit no further.*/\t# mine\n&\n\t# ---- Edit it\n\tPPN=1\n&/" \
		environment.txt'
reviewed 'a line of job/launches' "batch script: .srun --distribution=[^|]*\|batch script: it \
lacks 1 line of run_ziatest.sh or job/launches\|\|" \
	'sed -i "s/^\(\t.*srun \)--hint=nomultithread /\1/" environment.txt'
reviewed "variables, without Slurm's own" "changes.diff: built outside git\|variable: LD_PRELOAD=\
/x.so\|variable: OMPI_MCA_plm_slurm_args_x=y\|variable: HYDRA_DEBUG=1\|variable: \
MV2_X=2\|variable: SLURM_MPI_TYPE=pmi2\|\|" 'echo UNKNOWN >changes.diff
	add LD_PRELOAD=/x.so PRTE_MCA_plm_slurm_args=y OMPI_MCA_plm_slurm_args_x=y \
		HYDRA_BOOTSTRAP=slurm \
		HYDRA_LAUNCHER_EXTRA_ARGS=x I_MPI_HYDRA_BOOTSTRAP=slurm HYDRA_DEBUG=1 MV2_X=2 \
		I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=x SLURM_MPI_TYPE=pmi2 SLURM_CONF=y MYMPI_X=1'
for clock in 'cell 2 28 6.000' 'cell 2 28 -7.000; cell 2 31 7.000'; do
	says "a clock that is off by little: $clock" 0 '\|No problems; no points to review\|' \
	"$clock"
done
says 'an unknown clock' 0 \
	'clocks           started on a node of the job; node clocks within - ms\|' \
	'cell 4 28 ""'

# Honest jobs: which launch the figure is, problems, points to review
honest 'the first launch failed' 1 "\|8 nodes x 2 = 16 ranks: 602.0 ms, launch 2; launch 1 is not \
valid \([^|]*\|Later launches: 603.0 ms\|1 problem; no points to review\|.*Problems\|launch 1 on 8 \
nodes: status 1\|    slurmstepd: error: execve\(\): no\|    ziaprobe: error: a\|    ziaprobe: \
error: b\|\|ms .*\|8 nodes  first( +-){11}\|8 nodes  the middle of 2 \(602.0 to 603.0\)  602.0" \
	"fails 8-1 1 \"Error 1\" \"ziaprobe: error: a\" \"ziaprobe: error: a\" \
		\"ziaprobe: error: b\" \"slurmstepd: error: execve(): no\""
honest 'two launches failed' 1 ', launch 3; launches 1 to 2 are not valid \([^L]*\|2 problems; ' \
	'fails 8-1 1; fails 8-2 1'
lost='fails 8-1 143; fails 8-2 1; not_launched 8-3 "two launches of this size failed in a row"'
honest 'no launch of the larger size is valid' 1 "4 nodes x 2 = 8 ranks: 401.0 ms, the first \
launch of this size, after 2 others \([^|]*\|.*Problems\|compute nodes: 4 of 8, fewer than 99 \
%\|launch 1 on 8 nodes: status 143\|launch 2 on 8 nodes: status 1\|launch 3 on 8 nodes: not \
launched: two launches of this size failed in a row\|\|" "$lost"
honest 'nor is the first of the smaller size' 1 \
	', launch 2 of this size, after 2 others; launch 1 is not valid \(' "$lost; fails 4-1 1"
honest 'all launches of the larger size failed before ziatest printed anything' 1 \
	', the first launch of this size, after 3 others \(' 'for run in 1 2 3; do
		fails 8-$run 1
		printf "ziatest: error: x\nstatus 1\n" >output/8-$run.txt
	done'
honest 'no valid launch' 1 "[^|]*Z, -\|no valid launch\|7 problems; [^|]*\|\|compute nodes    - of \
8 \(.*\|executable       - bytes .*\|launches         0 of 6 valid\|\|Problems\|no \
figure: no launch is valid\|launch 1 on 8 nodes: status 1\|" \
	'for launch in 8-1 8-2 8-3 4-1 4-2 4-3; do fails $launch 1; done; rm results.csv'
cut='rm output/4-[23].txt ranks-4-[123].csv; sed -i 5,7d results.csv
	sed -i 3,\$d output/4-1.txt; stops'
honest 'a job that was cancelled' 0 "No problems; 3 points .*To review\|launch 1 on 4 nodes: no \
status\|launch 2 on 4 nodes: no output\|launch 3 on 4 nodes: no output\|\|" "$cut"
honest 'a job that was cancelled before its first launch' 1 'no figure' 'rm output/* r*; stops'
edited 'a job that was killed' 1 "1 problem; 3 points .*Problems\|there is no SHA256SUMS: the job \
was killed, or files were lost\|\|" "$cut; rm SHA256SUMS"
honest 'a node that died before the output was on the disk' 0 'launch 3 on 4 nodes: no status' \
	': >output/4-3.txt; stops'
honest 'a launch that failed and cut its row' 0 'launch 3 on 4 nodes: status 1' \
	'truncate -s -9 results.csv; sed -i "s/^status 0/status 1/" output/4-3.txt'
honest 'errors after a result' 0 "review\|launch 2 on 8 nodes: status 0\|    foo ziatest: error: \
y\|launch 3 on 8 nodes: status 0\|    ziaprobe: error: x" \
	'sed -i "s/^status/foo ziatest: error: y\n&/" output/8-2.txt
	sed -i "s/^status/ziaprobe: error: x\n&/" output/8-3.txt'
honest 'a clock phase that is negative, and almost 0' 0 '8 nodes  first +601.0 [^|]* 80.0 +0.0  ' \
	'cell 2 15 80.010; cell 2 16 -0.010'
honest 'text before the result' 0 'No problems; no' \
	'sed -i "s/^Time/loaded foo Time/" output/8-1.txt'
honest 'warnings' 0 'no points .*Warnings\|launch 1 on 8 nodes: ziaprobe: warning: w\|\|' \
	'sed -i "2s/^/ziaprobe: warning: w\n/" output/8-1.txt'
honest 'no daemon phase' 0 '8 nodes  first +601.0 +- +210.0 ' \
	'cell 2 9 ""; cell 2 10 210.000; sed -i "s/,10.000,200/,,210/" ranks-8-1.csv'
timeouts() {	# NODE...: the lines of these nodes after a timeout, of which two run together
	for node; do
		echo "ziaprobe: error: timeout of 5 s: rank 2 on $node has waited"
	done | sed 'N;s/\n//'
}
silent() {	# WHAT PATTERN NODE...: after a timeout of launch 2, in which these nodes spoke
	what=$1 pattern=$2
	shift 2
	timeouts "$@" >said
	honest "$what" 0 "To review\|launch 2 on 8 nodes: status 124$pattern" \
		'fails 8-2 124 "$(cat ../said)"; sed -i "s/$/.x.org/" nodes-8-2.txt'
}
silent 'two nodes are silent' \
	'; no response from: n3.x.org n7.x.org\|    ziaprobe: error: timeout' n1 n2 n4 n5 n6 n8
honest 'the calls of a hung rank' 0 \
	'status 124[^|]*\|    [a-z: ]*rank 5 on n3 is in recv [^|]*\|    ziaprobe: error: timeout' \
	'fails 8-2 124 "$(timeouts n3 n4)
ziaprobe: error: rank 5 on n3 is in recv [libc.so.6] < MPI_Init"'
silent 'one node speaks' \
	'; response from n1.x.org only: the others are silent, or its clock is ahead\|' n1
silent 'all nodes speak' '\|' n1 n2 n3 n4 n5 n6 n7 n8
silent 'none of the nodes speaks' '\|' m1
honest 'nodes that are silent after a result' 0 'launch 2 on 8 nodes: status 124\|' \
	'sed -i "s/^status 0/$(timeouts n1 n2 | head -n 1)\nstatus 124/" output/8-2.txt'
job job MPI='MPICH 4.0.2' FENCES= HOST='n?' RUNS=1
honest 'MPICH, hosts with ?, one launch' 0 "[^|]*MPICH 4.0.2\|8 nodes x 2 [^|]*\|No problems; \
[^|]*\|.*\|8 nodes  first +601.0 +10.0 +200.0 +20.0 +291.0 +- +80[^|]*\|8 nodes  later( +-){11}\|" \
	true
job job PPN=1 SWEEP='99 1' RUNS=3 SYSTEM_NODES=100
honest 'exactly 99 % of the nodes; more than 20 silent nodes; a time above one second' 0 \
	'no response from:( n[0-9]+){20} and 77 more\|.*99 nodes  first +5151.0 .*: none' \
	'fails 99-2 124 "$(timeouts n1 n2)"'

# Slow nodes
slow() {	# WHAT PATTERN LATE: on 16 nodes
	job job PPN=1 SWEEP='16 8' RUNS=4 LATE="$3"
	says "$1" 0 "\|Slow nodes: $2" true
}
heading='; ms above the median of all nodes\|node +daemon \+ spawn +exec +init +exchange'
slow 'a late daemon' "1 of 16, n3$heading\|n3 +900.0 +0.0 +0.0 +-?[0-9.]+\$" 3:daemon:900
slow 'late in MPI_Init' "1 of 16, n4$heading\|n4 +0.0 +0.0 +900.0 +-\$" 4:init:900
slow 'late in the exchange' \
	"2 of 16, n\[3-4\]$heading\|n3 with n4 +0.0 +0.0 +0.0 +9[0-9]+.[0-9]\$" 4:exchange:900
slow 'late by less than a tenth of the time' 'none$' 3:init:90
slow 'late in one launch of four' 'none$' 3:init:900:2
slow 'the worst five first' "6 of 16, n\[11-16\]$heading\|n16 [^|]*\|n15 [^|]*\|n14 [^|]*\|\
n13 [^|]*\|n12 [^|]*\$" "$(seq 11 16 | sed 's/.*/&:daemon:&00/')"

# folded WHAT NAMES: these nodes are slow, from the lines of the file slow
folded() {
	{
		head -n 1 job/ranks-8-1.csv
		awk -v OFS=, '
		{ late[NR] = $1 }
		END {
			for (i = 1; i <= 2 * NR + 1; i++)
				print i - 1, i, (i > NR ? "other" i : late[i]), 1, 1, 1, "",
					(i > NR ? 100 : 1000), 1, 1, "", 1, 1200, 1, 1, 1, 0, 0
		}' slow
	} >folded.csv
	run "$summarize" folded.csv
	is "$1" "$(echo "$out" | sed -n 's/^Slow nodes: //p')$err" \
		"$2; ms above the median of all nodes"
}
seq -f x1002c3s%gb0 0 15 >slow
folded 'names that differ in one number' '16 of 33, x1002c3s[0-15]b0'
printf '%s\n' n10 n9 n12 >slow
folded 'numbers are sorted by value' '3 of 7, n[9-10,12]'
printf '%s\n' nid010 nid009 nid099 nid100 nid1000 nid1001 nid7 >slow
folded 'leading zeros are kept' '7 of 15, nid[7,009-010,099-100,1000-1001]'
printf '%s\n' x1c3s0b0 x1c3s1b0 x1c5s0b0 x1c5s1b0 x1c5s1b1 >slow
folded 'names that differ in another number, too, are not folded' \
	'5 of 11, x1c3s0b0,x1c3s1b0,x1c5s0b0,x1c5s1b[0-1]'
printf '%s\n' login gpu7 a1.x2.org a2.x2.org "$(printf %040d 0)1" >slow
folded 'names of several shapes, and a long number' \
	"5 of 11, $(printf %040d 0)1,a[1-2].x2.org,gpu7,login"
for rack in 3 5; do
	seq -f "r${rack}s%g" 0 127 | sed 's/.*/&n0\n&n1\n&n2/'
done >slow
folded 'names that would be too long are folded further' '768 of 1537, r[3,5]s[0-127]n[0-2]'
for i in $(seq 1000); do
	echo "n$((3 * i))"
done >slow
folded 'too many names' "1000 of 2001, n[$(seq -s , 3 3 699),...]"
job job

# Growth
says 'growth: the phases that have grown most' 0 \
	'\|from 4 to 8 nodes, the middle launch takes 1.5 times as long: exchange \+520.0 ms, ' \
	'cell 3 15 580.000'
says 'growth: no phase' 0 \
	'\|from 4 to 8 nodes, the middle launch takes 1.5 times as long: no phase has grown\|' \
	'cell 3 10 90.000; cell 3 13 182.040; cell 3 15 ""'
honest 'growth: a size without a middle launch' 0 '117.0\|\|Slow' 'fails 8-2 1; fails 8-3 1'

# One file of ranks
job job PPN=2 SWEEP=16 RUNS=1 LATE='3:daemon:900 4:exchange:200'
run "$summarize" job/ranks-16-1.csv
like 'a file of ranks' "$out/$err$status" "ranks-16-1.csv: 16 nodes, 32 ranks, the last at 2099.0 \
ms\|\|Slow nodes: 1 of 16, n3$heading\|n3 +900.0 +0.0 +0.0 +[0-9.]+/0"
sed 's/^\([45],3,.*,20.000\),,/\1,5000.000,/' job/ranks-16-1.csv >'own program.csv'
run "$summarize" --pictures own 'own program.csv'
like "a program's file of ranks" "$out/$err$status" ".*\|node +daemon \+ spawn +exec +setup +init +\
exchange\|n3 +900.0 +0.0 +0.0 +0.0 +[0-9.]+/0"
is "a program's file of ranks: only the slow node stands out" \
	"$(texts own/ranks.svg | grep slow) $(grep -c 'font-weight="bold"' own/ranks.svg)" \
	'slow: n3 with n4 1'
like "a program's file of ranks: the picture" "$(texts own/ranks.svg)" "own program.csv: 16 nodes, \
2099.0 ms, the nodes with the most time of their own\|daemon\|spawn\|exec\|setup\|init\|.*"
sed '8s/,3,.*/,3/' job/ranks-16-1.csv >few.csv
run "$summarize" few.csv
is 'a file of ranks that is damaged' "$out$err/$status" \
	'summarize: error: few.csv: line 8 is not a whole row; launch again/2'
printf rank,node, >few.csv
run "$summarize" few.csv
is 'a file of ranks that is cut' "$out$err/$status" \
	'summarize: error: few.csv: line 1 is not a whole row; launch again/2'
for nodes in 0 2; do
	head -n $((1 + 2 * nodes)) job/ranks-16-1.csv >few.csv
	run "$summarize" --pictures few few.csv
	like "a file of ranks with $nodes nodes" "$out/$err$status" \
		"few.csv: $nodes nodes, $((2 * nodes)) ranks, the last [^|]*\|\|Slow nodes: none/0"
done
sed 's/$/\r/' job/ranks-16-1.csv >few.csv
run "$summarize" few.csv
is 'a file of ranks with line ends of Windows' "$out$err/$status" \
	'summarize: error: few.csv: few.csv has Windows line endings; convert it with dos2unix/2'
job job

# Files that were changed after the job
careless() {	# WHAT PATTERN COMMAND
	edited "$1" 1 "problems?; .*Problems\|(.*\|)?$2\|" "$3"
}
changed() {	# WHAT FILE COMMAND
	careless "$1" "$2 was changed after the job" "$3"
}
careless 'the slow first launch is deleted, and the others are renumbered' \
	'environment.txt was changed after the job\|nodes-4-3.txt is missing' '
	for file in nodes- ranks- output/; do
		for launch in "$file"[0-9]*-2.*; do
			mv "$launch" "${launch%-2.*}-1.${launch##*.}"
			mv "${launch%-2.*}-3.${launch##*.}" "$launch"
		done
	done
	sed -i "2d; 5d" results.csv
	add RUNS=2'
like 'the slow first launch is deleted: the other files' "$out" \
	".*\|output/4-1.txt was changed [^|]*\|output/4-2.txt was changed [^|]*\|output/4-3.txt is \
missing\|.*\|ranks-8-3.csv is missing\|results.csv was changed after the job\|\|.*"
changed 'all faults are 9' ranks-8-1.csv 'sed -i "s/,3,\([^,]*\)$/,9,\1/" ranks-8-1.csv'
changed 'an option in an output' output/8-2.txt 'sed -i "1s/srun/& --bcast/" output/8-2.txt'
changed '100 ms from init to spawn' results.csv 'cell 2 10 300.000; cell 2 13 161.000'
changed "another job's id" environment.txt 'add SLURM_JOB_ID=8'
changed 'another line of SBATCH' environment.txt \
	'sed -i "s/^\t#SBATCH.*/& --bcast/" environment.txt'
changed 'another SYSTEM_NODES' environment.txt 'add SYSTEM_NODES=8 NODES_FOUND=8 CORES=64'
changed 'no variable' environment.txt 'sed -i /^OMPI_MCA/d environment.txt'
changed 'better hardware' environment.txt 'sed -i "s/EPYC 7763/EPYC 9755/" environment.txt'
changed 'another commit' build.txt 'sed -i s/abc1234/abc1235/ build.txt'
changed 'no changes of the sources' changes.diff 'echo >changes.diff'
changed 'a failure that succeeds' output/4-2.txt 'sed -i "s/^Slowest.*/&\nx/" output/4-2.txt'
changed 'an output that lacks its last character' output/8-3.txt 'truncate -s -1 output/8-3.txt'
changed 'a truncated row' results.csv 'truncate -s -5 results.csv'
changed 'a row that is lost' results.csv 'sed -i 3d results.csv'
changed "another job's row" results.csv 'sed -i "2{p; s/^2026/2025/}" results.csv'
changed 'a time that was rounded' results.csv 'cell 3 5 600.000'
changed 'a file of ranks that is cut' ranks-4-1.csv 'truncate -s -5 ranks-4-1.csv'
changed 'files of ranks that are mixed up' ranks-8-1.csv \
	'mv ranks-8-1.csv x; mv ranks-8-2.csv ranks-8-1.csv; mv x ranks-8-2.csv'
changed 'nodes without their domain' nodes-4-1.txt 'sed -i s/n/m/ nodes-4-1.txt'
changed 'an editor that has added a line' build.txt 'echo >>build.txt'
says 'phases that do not add up to the time' 0 \
	'ms, the first launch [(]- % spawn, - % init, - % exchange, - % other[)]\|.*' \
	'cell 2 10 237752760904'
says 'an infinite phase' 0 'ms, the first launch [(]- % [^)]*, - % other[)]\|.*' 'cell 2 13 inf'
says 'a phase of more than the time, as the clock phase is negative' 0 \
	'ms, the first launch [(]160 % init, 33 % spawn, 13 % exchange, -106 % other[)]\|.*' \
	'cell 2 13 961.000; cell 2 16 -700.000'
careless 'a lost output' 'output/8-2.txt is missing' 'rm output/8-2.txt'
careless 'no outputs' 'output/4-1.txt is missing\|.*output/8-3.txt is missing' 'rm -r output'
careless 'a lost file of ranks' 'ranks-4-1.csv is missing' 'rm ranks-4-1.csv'
careless "another job's output" 'output/8-4.txt is not from this job' \
	'cp output/8-3.txt output/8-4.txt'
careless "another job's file of ranks" 'ranks-5-1.csv is not from this job' \
	'cp ranks-4-3.csv ranks-5-1.csv'
careless 'no list' 'there is no SHA256SUMS: the job was killed, or files were lost' 'rm SHA256SUMS'
careless 'an empty list' 'there is no SHA256SUMS: the job was killed, or files were lost' \
	': >SHA256SUMS'
careless 'a list that is cut' 'results.csv is not from this job' 'sed -i "\$d" SHA256SUMS'
for round in 1 2 3 4 5; do
	draw_number "$(wc -l <job/SHA256SUMS)"
	file=$(sed -n "${drawn}s/^[^ ]*  //p" job/SHA256SUMS)
	draw_number 3
	case $drawn$file in
	?environment.txt | ?changes.diff | 1*) edit='echo >>' ;;	# needed, or empty
	2* | ?*.csv) edit='truncate -s -1 ' ;;	# the header is needed
	3*) edit='sed -i "1s/^/x/" ' ;;
	esac
	changed "round $round: $edit$file" "$file" "$edit$file"
done
says 'a program that was rebuilt' 1 'Problems\|ziaprobe was rebuilt while the job ran or waited\|' \
	'sed -i "s/^.*  ziaprobe$/$(printf %064d 0)  ziaprobe/" build.txt'
edited "a bidder's letter, the summary, the pictures, and a link to itself" 0 'No problems' \
	'touch letter.pdf summary.txt scaling.svg ranks.svg output/x.txt; ln -s loop loop
	ln -s "$(printf "%0300d" 0)" letter'
edited "a bidder's file that was there when the job ended, and is not handed in" 0 'No problems' \
	'echo "$(printf %064d 0)  notes.txt" >>SHA256SUMS'
ok 'sha256sum agrees with the list' sh -c 'cd job && sha256sum --quiet -c SHA256SUMS'

# Hostile files
refused() {	# WHAT PATTERN COMMAND
	says "$1" 2 "$2" "$3"
	is "$1: no summary" "$out" ''
}
refused 'no job' 'summarize: error: it: not a Ziatest job: ' 'rm environment.txt'
other_version='is of another version of Ziatest; use its job/summarize'
refused 'a results.csv of another version' "summarize: error: it: results.csv $other_version" \
	'sed -i 1s/,outlier_kind// results.csv'
refused 'a ranks file of another version' "summarize: error: it: ranks-4-2.csv $other_version" \
	'sed -i 1s/mpi_init_ms,completed_ms/completed_ms,mpi_init_ms/ ranks-4-2.csv'
for file in results.csv ranks-4-2.csv; do
	refused "line ends of Windows in $file" \
		"summarize: error: it: $file has Windows line endings; convert it with dos2unix" \
		"sed -i 's/\$/\r/' $file"
done
refused 'too many launches' 'it: RUNS and SWEEP ask for more than 6000 launches' 'add RUNS=3001'
refused 'too many nodes' 'it: ranks-4-1.csv has more than 100000 nodes' \
	'for i in $(seq 100001); do echo "$i,$i,n$i,,1.0,,,,,,,,,,,,0,"; done >>ranks-4-1.csv'
refused 'a program as a setting' 'not a Ziatest job' "add RUNS='\$(touch $tmp/pwned)'"
refused 'a link' 'output/8-1.txt is not a regular file' 'ln -sf /dev/zero output/8-1.txt'
refused 'a link to a directory' 'it: output is not a directory' 'mv output x; ln -s x output'
refused 'more than 1 GiB' 'more than 1 GiB' 'truncate -s 1100M ranks-4-1.csv'
packed() {	# WHAT PATTERN TAR-OPTION...: of an archive
	what=$1 pattern=$2
	shift 2
	tar -cf bad.tgz -I 'gzip -1' "$@" 2>tar.log
	run timeout 60 "$summarize" bad.tgz
	like "packed: $what" "$err$out/$status" "summarize: error: bad.tgz: $pattern/2"
}
for jobs in 'job/results.csv job' 'job job/results.csv'; do
	# shellcheck disable=SC2086 # two words
	run "$summarize" $jobs
	like "results.csv in $jobs" "$err/$status" \
		'summarize: error: job/results.csv: launches that are not a job; they .*/2'
done
rm -rf it
cp -r job it
ln -sf /etc/passwd it/results.csv
packed 'a link' 'it/results.csv is not a regular file' it
packed 'a link whose path contains newlines' 'it/\?PASS\?/results.csv is not a regular file' \
	--transform='s,it/res,it/\nPASS\n/res,' it
packed 'two jobs' 'it/output/[^|]* is a duplicate' job it/output
packed 'a file twice' 'job/results.csv is a duplicate' --hard-dereference job job/results.csv
truncate -s 1100M it/core
packed '1.1 GB that are not needed' 'more than 1 GiB, up to it/core' it/core job
tar -czf job.tgz job
head -c 2000 job.tgz >cut.tgz
head -c 100000 /dev/urandom >noise
for file in cut.tgz noise; do
	run timeout 60 "$summarize" $file
	like "$file" "$err$out/$status" "summarize: error: $file: [^|]*/2"
done
says 'a line of 200 MB' 0 'No problems' 'head -c 200000000 /dev/zero >>results.csv'
says 'lines of 100 kB, each of which would take minutes if its length counted twice' 0 \
	'No problems; 1 point to review\|.*\|batch script: Task launch ' '
	for word in "Task launch " "ziaprobe 1 " "timeout of 1 s: rank 1 on " 1 1. " (" a=; do
		yes "$word" | head -c 100000 | tr -d "\n"
		echo
	done >../long
	sed -i "1r ../long" output/4-1.txt
	cat ../long >>results.csv
	cat ../long >>ranks-4-1.csv
	sed "s/^/8 nodes: interfaces 2, down 1/" ../long >>environment.txt
	sed "s/^/\t/; 1q" ../long >>environment.txt'
says 'a long reason for which a launch was not made' 0 \
	'launch 3 on 8 nodes: not launched: only 3 of the 8 nodes respond, not node1 node2 ' '
	{
		printf "not launched: only 3 of the 8 nodes respond, not"
		seq -f " node%.0f" 3000 | tr -d "\n"
		echo
	} >output/8-3.txt'
run sh -c 'ulimit -d 400000; "$1" job' sh "$summarize"
is 'a limit on memory below that of summarize' "$err/$status" /0
says '20,000 empty lines in the batch script' 0 'No problems; no points' \
	'yes "	" | head -n 20000 >>environment.txt'
says 'a million lines that look like errors' 0 'No problems' \
	'seq -f "%.0f error" 1000000 >../errors; sed -i "1r ../errors" output/4-1.txt'
says 'escape codes and a program' 0 'Ziatest: job 7 on \?\[31m\?\$\(touch .*/pwned\)' \
	'add SLURM_CLUSTER_NAME="$(printf "\033[31m\233")\$(touch $tmp/pwned)"'
ok 'nothing was executed' [ ! -e pwned ]
run "$summarize" nowhere
is 'a job that does not exist' "$err/$status" \
	'summarize: error: nowhere: No such file or directory/2'
run "$summarize"
like 'bad arguments' "$err/$status" 'usage: .*/2'

run sh -c '"$1" job >&-' sh "$summarize"
like 'a closed stdout' "$err/$status" 'summarize: error: [^|]*: Bad file descriptor/2'
run sh -c '"$1" job >/dev/full' sh "$summarize"
like 'a full disk' "$err/$status" 'summarize: error: [^|]*: No space left on device/2'
run "$summarize" --pictures '' job
like 'pictures in no directory' "$err/$status" 'usage: .*--pictures takes a directory/2'

# A log, the file of --csv of many launches
# log_of NAME KIND...: writes a log. A KIND is COUNT,MS,PHASE: COUNT launches, of which PHASE takes
# MS longer than 100 ms, and HOST, if set, is the outlier's. A night has PER_NIGHT launches, or 5.
log_header='started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,daemon_ms,'\
'spawn_ms,exec_ms,setup_ms,init_ms,fence_ms,exchange_ms,clock_ms,cpu_ms,cpu_wait_ms,blocked_ms,'\
'faults,outlier,outlier_rank,outlier_host,outlier_ms,outlier_kind,outlier_nodes,'\
'mpi_init_max_ms,offset_ms,offset_host,reference_host,offset_bound_ms,program,executable_bytes,'\
'mpi,daemon,fence_interface'
log_of() {
	file=$1
	shift
	{
		echo "$log_header"
		printf '%s\n' "$@" | awk -F , -v program="${PROGRAM-ziaprobe}" \
			-v year="${YEAR-2026}" -v faults="${FAULTS-0}" \
			-v daemon="${DAEMON-slurmstepd}" \
			-v interface="${INTERFACE-PMIx}" -v per_night="${PER_NIGHT-5}" '{
			for (i = 0; i < $1; i++) {
				late["exec"] = late["init"] = 0
				late[$3] = $2
				night = int(count / per_night)
				more = ++count % 7
				printf "%d-%02d-%02dT03:00:%02d.000000Z,4,2,8,%.3f,,1,n1,", year,
					1 + night / 28, 1 + night % 28, count % per_night,
					500 + $2 + more
				printf "10.000,20.000,%.3f,,%.3f,20.000,50.000,0.000,1.000,1.000,",
					100 + late["exec"], 300 + late["init"] + more
				printf "1.000,%s,%s,,%s,,,%s,1.000,,,,,%s,1,M,%s,%s\n",
					faults, $4 ? "init" : "", $4, $4 ? 1 : "", program,
					daemon, interface
			}
		}'
	} >"$file"
}
# logged NAME STATUS PATTERN: what the log says, after its first line
logged() {
	run "$summarize" log.csv
	like "a log: $1" "$out/$err$status" "log.csv: [0-9]+ launch[^|]*\|$3/$2"
}
warm='\|ziaprobe, 4 nodes x 2, slurmstepd, PMIx, warm: [0-9]+ launches, the last [-0-9T:]+Z\|'
medians='the last 5  [0-9.]+ ms \([0-9.]+ to [0-9.]+\)\|before      503.0 ms \(500.0 to 506.0\)\|'
any='[^|]*\|[^|]*\|'	# the same for any figures
log_of log.csv 60,0,init
logged 'no change' 0 "$warm${medians}no change"
log_of slower.csv 55,0,init 5,100,init
cp slower.csv log.csv
logged 'slower' 1 "$warm${medians}slower: 5 of the last 5 took longer than 95 % of those before: \
init \+99.0 ms"
sed -i '2,56s/,50.000,0.000,/,,0.000,/' log.csv
logged 'a phase that was not known before' 1 "$warm${medians}slower: [^|]*: init \+99.0 ms"
log_of log.csv 57,0,init 3,100,exec
logged 'three of five' 1 "$warm${medians}slower: 3 of the last 5 [^|]*: exec \+100.0 ms"
log_of log.csv 58,0,init 2,100,exec
logged 'two of five' 0 "$warm${medians}no change"
log_of log.csv 55,0,init 5,15,init
logged 'less than 5 %' 0 "$warm${medians}no change"
log_of log.csv 55,0,init 5,-100,init
logged 'faster' 0 "$warm${medians}faster: 5 of the last 5 took less time than 95 % of those \
before: init -101.0 ms"

# The nights: the earlier ones are 0, 40 or 80 ms slower, so their spread is 1.4826 x 40 ms.
unlike='5,0,init 5,40,init 5,80,init 5,0,init 5,40,init 5,80,init 5,40,init'
nightly() {	# NAME STATUS VERDICT KIND...
	nightly_name=$1 nightly_status=$2 verdict=$3
	shift 3
	log_of log.csv "$@"
	logged "$nightly_name" "$nightly_status" "$warm$any$verdict"
}
# shellcheck disable=SC2086 # words
{
	nightly 'a night within the spread of the earlier ones' 0 'no change' $unlike 5,190,init
	nightly 'a night beyond it' 1 'slower: 5 .*' $unlike 5,225,init
	nightly 'a second such night' 1 'slower: 5 .*' $unlike 5,150,init 5,170,init
	nightly 'a second such night, the first of which was faster' 0 'no change' \
		$unlike 5,-90,init 5,170,init
	nightly 'fewer than five earlier nights' 0 'no change' 20,0,init 5,200,init
	nightly 'a second night, after four earlier ones' 1 'slower: 5 .*' 20,0,init 5,200,init \
		5,300,init
	PER_NIGHT=1 nightly 'a launch a night' 1 'slower: 3 .*' 57,0,init 3,100,init
}
too_few="${warm}all 2[0-9]      503.0 ms \(500.0 to 506.0\)\|too few launches to compare: at \
least 20 before the last 5, on three nights or more"
log_of log.csv 24,0,init
logged 'too few' 0 "$too_few"
log_of log.csv 25,0,init
logged 'just enough' 0 "$warm${medians}no change"
PER_NIGHT=10 log_of log.csv 25,0,init
logged 'too few nights' 0 "$too_few"
PER_NIGHT=7 log_of log.csv 25,0,init
logged 'just enough nights' 0 "$warm${medians}no change"

# A node may explain a change, but is not a change itself.
log_of log.csv 55,0,init 2,0,init 3,0,init,n2
logged 'an outlier' 0 "$warm${medians}no change\|n2 was the outlier of 3 of the last 5, and of 0 \
of the 55 before"
log_of log.csv 49,0,init 6,0,init,n2 2,0,init 3,0,init,n2
logged 'an old outlier' 0 "$warm${medians}no change"
log_of log.csv 55,0,init 5,100,init,n2
logged 'an outlier that explains' 1 "$warm${medians}slower: [^|]*\|n2 was the outlier of 5 of .*"

# Kinds: the one that was launched last comes first. Only a kind of the last night can be an alarm.
YEAR=2025 PROGRAM=solver log_of other.csv 60,0,init
cp slower.csv log.csv
sed 1d other.csv >>log.csv
logged 'another program was launched last' 0 "line 62: [^|]*\|\|solver, 4 [^|]*: 60 launches, \
[^|]*\|${any}no change\|$warm${medians}slower: .*"
for kind in PROGRAM=solver DAEMON=mpirun DAEMON= INTERFACE=PMI2 INTERFACE= FAULTS=7; do
	(
		export "${kind?}"
		log_of other.csv 2,900,init
	)
	cp slower.csv log.csv
	sed 1d other.csv | sed 's/2026-01-01/2026-01-12/' >>log.csv
	case $kind in
	PROGRAM=*) title='solver, 4 nodes x 2, slurmstepd, PMIx, warm' ;;
	DAEMON=m*) title='ziaprobe, 4 nodes x 2, mpirun, PMIx, warm' ;;
	DAEMON=) title='ziaprobe, 4 nodes x 2, PMIx, warm' ;;
	INTERFACE=P*) title='ziaprobe, 4 nodes x 2, slurmstepd, PMI2, warm' ;;
	INTERFACE=) title='ziaprobe, 4 nodes x 2, slurmstepd, warm' ;;
	FAULTS=*) title='ziaprobe, 4 nodes x 2, slurmstepd, PMIx, cold' ;;
	esac
	logged "a kind of its own, in the same night: $kind" 1 "\|$title: 2 launches, [^|]*\|all \
2       1401.5 ms \(1401.0 to 1402.0\)\|too few [^|]*\|$warm${medians}slower: .*"
done

# Launches are in the order of the file, and a repeated row counts once.
log_of log.csv 60,0,init
YEAR=2037 log_of ahead.csv 5,0,init
sed -i '$r ahead.csv' log.csv
sed 1d slower.csv | sed '1,55d; s/2026-01-12/2026-01-13/' >>log.csv
logged 'a clock that was ahead' 1 "line 68: the start goes back from 2037-01-01T03:00:00Z to \
2026-01-13T03:00:01Z\|$warm${medians}slower: 5 .*"
{
	echo "$log_header"
	sed 1d slower.csv | sort -r
} >log.csv
logged 'rows in the wrong order' 0 "line 7: the start goes back from 2026-01-12T03:00:00Z to \
2026-01-11T03:00:04Z; also at lines 12, 17, [^|]*, 57\|${warm}${any}no change"
log_of log.csv 60,0,init
sed -i '30s/T03:00:/T02:01:/' log.csv
logged 'a start that goes back by less than an hour' 0 "$warm${medians}no change"
cp slower.csv log.csv
sed -n '7,46p' slower.csv >>log.csv
logged 'rows that are repeated' 1 "$warm${medians}slower: 5 .*"

# damaged NAME STATUS LINES COMMAND: damages a log; in the last night, that is an alarm
damaged() {
	log_of log.csv 60,0,init
	eval "$4"
	are='rows are damaged and were left out: lines'
	case $3 in
	*[!0-9]*) ;;
	*) are='row is damaged and was left out: line' ;;
	esac
	logged "damage: $1" "$2" "[0-9]+ $are $3\|$warm.*no change"
}
damaged 'a row that is cut off' 1 61 "sed -i '\$s/,PMIx\$//' log.csv"
damaged 'the last newline' 1 61 'truncate -s -1 log.csv'
damaged 'the first row of the last night' 1 57 "sed -i '57s/,/;/' log.csv"
damaged 'the last row but one of the night before' 0 55 "sed -i '55s/,/;/' log.csv"
damaged 'no number of nodes' 0 30 "sed -i '30s/,4,2,/,x,2,/' log.csv"
damaged 'no date' 0 30 "sed -i '30s/^2026-/2026/' log.csv"
damaged 'a month that does not exist' 0 30 "sed -i '30s/^2026-../2026-13/' log.csv"
damaged 'no time' 0 30 "sed -i '30s/,50[0-9][^,]*/,/' log.csv"
damaged 'a time that is no number' 0 30 "sed -i '30s/,100.000/,1x0.000/' log.csv"
damaged 'bytes that are not printable' 0 30 "sed -i '30s/slurmstepd/slurm\\x00\\x00epd/' log.csv"
damaged 'a hole' 0 30 \
	'{ head -c 30000 /dev/zero; echo; } >hole; sed -i "29r hole" log.csv'
damaged 'a hole within a row' 0 30 "head -n 29 log.csv >cut; head -c 20000 /dev/zero >>cut
	sed 1,29d log.csv >>cut; mv cut log.csv"
damaged 'two rows in one line' 0 30 "sed -i '30{ N; s/\\n//; }' log.csv"
damaged 'a comment, an empty line and a header that is cut off' 0 '5, 30, 35' \
	"sed -i '5s/^/# /; 30s/.*//; 35s/.*/started,nodes,pp/' log.csv"
damaged 'more than ten rows' 0 '3, 6, 9, 12, 15, 18, 21, 24, 27, 30 and 2 more' \
	"sed -i '3~3{ 38,\$!s/,/;/; }' log.csv"
log_of log.csv 60,0,init
sed -i "30s/^/$log_header\n/; 40,\$s/\$/\r/" log.csv
logged 'a second header, and Windows line endings from some row on' 0 "$warm${medians}no change"
sed -i "30s/,setup_ms//" log.csv
run "$summarize" log.csv
is 'a log: a header of another version further down' "$out/$err/$status" '/summarize: error: '\
'log.csv: line 30 is a header of another version of Ziatest; split the file there/2'
{
	echo "$log_header"
	yes '# nothing' | head -n 3
} >log.csv
run "$summarize" log.csv
is 'a log of damaged rows only' "$out/$err/$status" 'log.csv: 0 launches
3 rows are damaged and were left out: lines 2, 3, 4//1'
echo "$log_header" >log.csv
run "$summarize" log.csv
is 'a log without launches' "$out/$err$status" 'log.csv: 0 launches/0'
other() {	# NAME BEGINS: how log.csv, which Ziatest did not write, begins
	run "$summarize" log.csv
	is "neither an archive nor a log: $1" "$out/$err/$status" \
		"/summarize: error: log.csv: neither an archive nor a file of --csv or --ranks: \
it $2/2"
}
echo "$log_header" | tr , ';' >log.csv
other 'semicolons' 'begins with "started;nodes"'
printf '\357\273\277%s\n' "$log_header" >log.csv
other 'a byte order mark' 'begins with "???started,no"'
printf 'a\nb\n' >log.csv
other 'a short line' 'begins with "a"'
: >log.csv
other 'an empty file' 'is empty'

# The picture: the middle launch of each night
log_of log.csv 60,0,init
for time in inf 1e308 "$(printf '9%.0s' $(seq 400))"; do
	sed "50,\$s/,20.000,1[^,]*,/,$time,$time,/" log.csv >huge.csv
	run "$summarize" --pictures huge huge.csv
	is "a log: phases of $(echo "$time" | cut -c 1-9) ms are left out of the picture" \
		"$err$status $(texts huge/history.svg | tail -n 1)" '0 382.0'
	rm -r huge
done
log_of log.csv 170,0,init 6,100,init 44,0,init
long=$(printf '&%.0s' $(seq 240)).csv
cp log.csv "$long"
run "$summarize" --pictures named "$long"
is 'a log: a long name leaves the picture well-formed' \
	"$(texts named/history.svg | grep -c '2026-')" 40
run "$summarize" --pictures history log.csv
like 'a log: the picture has a bar for each night' "$(texts history/history.svg)" \
	"log.csv: ziaprobe, 4 nodes x 2, slurmstepd, PMIx, warm, the last 40 nights\|.*\|\
2026-02-07, 5\|60[0-9].0\|2026-02-08, 5\|50[0-9].0\|.*\|2026-02-16, 5\|50[0-9].0"
log_of log.csv 1,20,init 1,10,init 1,0,init 1,30,init
run "$summarize" --pictures history log.csv
like 'a log: the middle of four launches is the faster one' "$(texts history/history.svg)" \
	".*, the last 1 night\|.*\|2026-01-01, 4\|512.0"
is 'a log: the last night stands out' \
	"$(grep -c 'font-weight="bold">.*2026-01-01, 4' history/history.svg)" 1

# Several jobs
job other SLURM_CLUSTER_NAME=hare START=1795300000 MPI='MPICH 4.0.2' FENCES= SWEEP=4 \
	SYSTEM_NODES=8 UCX_TLS=x
run "$summarize" job.tgz other
like 'several jobs' "$out/$err$status" "job +system +date +MPI +nodes +ppn +figure +warm +later +\
valid +problems +to review\|job.tgz +virtual-7 +2026-11-21T09:33:54Z +Open MPI v4.1.4 +8 of 8 +2 +\
601.0 +0 of 8 +602.5 \(602.0 to 603.0\) +6 of 6 +0 +0\|other +hare-7 +2026-11-21T22:26:37Z +MPICH \
4.0.2 +4 of 8 +2 +401.0 +0 of 4 +402.5 \(402.0 to 403.0\) +3 of 3 +1 +1\|\|4 nodes x 2, ms +launch \
+time .*\|job.tgz +first +401.0 +10.0 +100.0 +20.0 +181.0 +30.0 +60.0 [^|]*\|other +first +401.0 \
+10.0 +100.0 +20.0 +211.0 +- +60.0 +0.0 +8.0 [^|]*\|job.tgz +middle +402.0 [^|]*\|other +middle \
+402.0 +10.0 +100.0 [^|]*/1"
(cd other && fails 4-1 1 && fails 4-2 1 && warm ranks-4-3.csv 1 2 && sums)
run "$summarize" job other
like 'a figure that is launch 3' "$out" ".*\|other [^|]* 403.0 +2 of 4 +- +1 of 3 +3 \
+2\|\|.*\|other +first( +-){11}\|.*\|other +middle +403.0 .*"
cp -r job "$(printf 'a\nb')"
run "$summarize" job "$(printf 'a\nb')" nowhere
like 'two jobs with the same launches, one of an odd name, and a missing job' "$out/$err/$status" \
"job .*\|a\?b +virtual-7 .*\|job and a\?b share the start 2026-11-21T09:33:57.000042Z: they are \
the same launches\|.*/summarize: error: nowhere: .*/2"

job third SLURM_JOB_ID=8 START=1795300000 SWEEP=5
run "$summarize" job third
like 'two jobs that cannot be compared' "$out/$err$status" "job .*\|third +virtual-8 .*\|no size \
in common; ask for the same SWEEP/0"

# Pictures
rm -rf it
job it SLURM_CLUSTER_NAME='<a&b>' HOST="$(printf %060d 0)" PPN=1 SWEEP='16 8' RUNS=2
run "$summarize" --pictures pictures it
is 'pictures: nothing on stderr' "$err" ''
like 'scaling.svg' "$(texts pictures/scaling.svg)" "job 7 on <a&b>, Open MPI v4.1.4: the \
critical path of each size\|daemon\|spawn\|exec\|init\|fence\|exchange\|clock\|0 \
ms\|200\|400\|600\|800\|1000\|16 nodes x 1, first launch\|1001.0\|16 nodes x 1, middle \
launch\|1002.0\|8 nodes x 1, first launch\|601.0\|8 nodes x 1, middle launch\|602.0"
like 'ranks.svg' "$(texts pictures/ranks.svg)" "job 7 on <a&b>, Open MPI v4.1.4: launch 1 \
on 16 nodes x 1, 1001.0 ms, the nodes with the most time of their \
own\|daemon\|spawn\|exec\|init\|fence\|wait\|exchange\|.*\
\|0{20}\.\.\.0{20}2\|1001.0\|0{20}\.\.\.0{20}4\|1000.0\|.*\|median: \
0*\.\.\.0*[0-9]+\|881.0\|.*\|least: 0*\.\.\.0*[0-9]+\|881.0"
is 'ranks.svg: ten nodes, among them the median, and the one with the least' \
	"$(texts pictures/ranks.svg | grep -c '00\.\.\.00')" 11
first() {	# NODES WHAT LATE LABEL: of the first bar
	rm -rf it
	job it PPN=1 SWEEP="$1" RUNS=1 LATE="$3"
	run "$summarize" --pictures pictures it
	is "ranks.svg, $1 nodes, late $2: the first bar" \
		"$(texts pictures/ranks.svg | grep -A 1000 ' ms$' | grep -m 1 n1)" "$4"
}
first 26 'exchange of a responder' 14:exchange:900 'outlier: n13 with n14'
first 26 'daemon of an originator' 13:daemon:900 'outlier: n13 with n14'
first 26 'init of a responder' 14:init:900 'outlier: n14'
is 'ranks.svg, 26 nodes: ten nodes, the median and the one with the least' \
	"$(texts pictures/ranks.svg | grep -cE '(^|: )n[0-9]')" 12
is 'ranks.svg: no other bar is the outlier' "$(grep -c outlier pictures/ranks.svg)" 1
says 'a late rank, not the first of its node' 0 '' \
	'sed -i "s/^\(3,2,n2,.*\),261.000,/\1,961.000,/" ranks-8-1.csv' --pictures late
is 'ranks.svg, a late rank, not the first of its node: the first bar' \
	"$(texts late/ranks.svg | grep -A 1000 ' ms$' | grep -m 1 '^n')" n2
# cells FILE: the cells of a picture of all nodes, each a title and a shade
cells() {
	python3 -c "
import sys, xml.etree.ElementTree
svg = '{http://www.w3.org/2000/svg}'
for cell in xml.etree.ElementTree.parse(sys.argv[1]).iter(svg + 'rect'):
	if cell.find(svg + 'title') is not None:
		print(cell.find(svg + 'title').text, cell.get('fill'))" "$1"
}
# nodes_picture WHAT TEXTS CELLS [SETTING...]: of a job
nodes_picture() {
	what=$1 pattern=$2 expected=$3
	shift 3
	rm -rf it pictures
	job it PPN=1 "$@"
	run "$summarize" --pictures pictures it
	like "nodes.svg, $what: the texts" "$(texts pictures/nodes.svg)$err" \
		"job 7 on virtual, Open MPI v4.1.4: $pattern"
	is "nodes.svg, $what: the cells" "$(cells pictures/nodes.svg)" "$(echo "$expected" |
		tr '|' '\n')"
}
nodes_picture 'the order, and five shades' "12 nodes x 1, the median of 4 launches, the middle \
later one 1703.0 ms\|Each cell is a node. The darker it is, the more time the node took than the \
median node, not counting waits.\|Slow nodes: 3 of 12, n\[7,9-10\]\|\
below 85.2 ms\|85.2 to 170.3\|170.3 to \
340.6\|340.6 to 681.2\|681.2 and more\|n1" "n1: 1.0 ms #ececec|n2: 0.0 ms #ececec|n3: 0.0 ms \
#ececec|n4: 0.0 ms #ececec|n5: -1.0 ms #ececec|n6: 0.0 ms #ececec|n7: 338.0 ms #e59a2f|n8: 100.0 \
ms #d0d0d0|n9: 897.0 ms #2a0a2e|n10: 400.0 ms #a8321f|n11: -4.0 ms #ececec|n12: 0.0 ms #ececec" \
	SWEEP=12 RUNS=4 \
	LATE='7:init:340 8:exec:100 9:exec:400 9:init:500 10:daemon:400 3:init:900:2'
nodes_picture 'one launch' \
	"3 nodes x 1, launch 1, 751.0 ms\|Each [^|]*\|Slow nodes: 1 of 3, n3\|.*" \
	'n1: 0.0 ms #ececec|n2: 0.0 ms #ececec|n3: 399.0 ms #2a0a2e' \
	SWEEP=3 RUNS=1 LATE=3:init:400
nodes_picture 'two nodes, of which either may be the slow one' \
	"2 nodes x 1, [^|]*\|Each [^|]*\|Slow nodes: unknown, with fewer than three nodes\|.*" \
	'n1: 0.0 ms #ececec|n2: 0.0 ms #ececec' SWEEP=2 RUNS=1
says 'a node that was in one launch of three only' 0 '' 'sed -i /,n7,/d ranks-8-[12].csv' \
	--pictures few
is 'nodes.svg: its excess is not known' "$(cells few/nodes.svg | grep n7)" 'n7: not known white'
is "nodes.svg, of a program's file of ranks: setup is part of a node's time" \
	"$(cells own/nodes.svg | sed -n 's/^n3: \(.\).* /\1 s /p')" '6 s #2a0a2e'
{	# 8193 nodes: the second of a cell is late
	head -n 1 folded.csv
	seq 8193 | awk -v OFS=, '{
		print $1 - 1, $1, "n" $1, 1, 1, 1, "", ($1 == 8192 ? 900 : 100), 1, 1, "", 1, 1000,
			1, 1, 1, 0, 0 }'
} >many.csv
run "$summarize" --pictures many many.csv
is 'nodes.svg of 8193 nodes: the cells' "$(cells many/nodes.svg | sed -n '1p; $=; 4096,$p')" \
	'n1 to n2: 0.0 ms #ececec
n8191 to n8192: 800.0 ms #2a0a2e
4097
n8193: 0.0 ms #ececec'
like 'nodes.svg of 8193 nodes: the texts' "$(texts many/nodes.svg | paste -s -d ' ' -)" "many.csv: \
8193 nodes, 1000.0 ms Each cell is 2 neighbouring nodes. The darker it is, the more time its \
slowest node took than the median node, not counting waits. Slow nodes: 1 of 8193, n8192 .* \
n1 n129 .* n8065 n8193"
head -n 100 many.csv | sed 's/,n\([0-9]*\),/,gpu-node\1.hpc.university.org,/' >domain.csv
run "$summarize" --pictures domain domain.csv
is 'nodes.svg: the labels of names with a long domain' \
	"$(texts domain/nodes.svg | tail -n 2 | paste -s -d ' ' -)" 'gpu-node1 gpu-node65'
is 'nodes.svg: each shade is darker than the one before, in grey, too' "$(sed -n \
	's/.*y="82" .*fill="#\(..\)\(..\)\(..\)".*/0x\1 0x\2 0x\3/p' many/nodes.svg |
	while read -r red green blue; do
		echo $(((30 * red + 59 * green + 11 * blue) / 100))
	done | sort -c -n -r 2>&1)" ''
echo mine >mine
ln -sf ../mine pictures/ranks.svg
run "$summarize" --pictures pictures it
is 'a picture replaces a link, but not the file behind it' "$(cat mine)" mine
run sh -c 'ulimit -f 1; "$1" --pictures large job | head -n 1' sh "$summarize"
like 'a picture for which there is no space' "$err" \
	'summarize: error: the output: (File too large|No space left on device)'
run "$summarize" --pictures "mine/$(printf '\303\251')" it
like 'pictures that cannot be written' "$err/$status" \
	'summarize: error: mine/\?+: Not a directory/2'
says 'a picture of an empty ranks file' 0 '\|Slow nodes: none' \
	': >ranks-8-1.csv' --pictures damaged
ok 'a picture of an empty ranks file: there is none' [ ! -e damaged/ranks.svg ]
says 'pictures without a valid launch' 1 'no valid launch' \
	'sed -i "s/^status 0/status 1/" output/*' --pictures nothing
ok 'pictures without a valid launch: there are none' [ ! -e nothing ]
finish
