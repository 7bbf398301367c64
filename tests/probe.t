#!/bin/sh
# ziaprobe called directly, as ReFrame tests do: the format of the result, errors that are printed
# once, no result for a launch that is not as specified, and the files of --csv and --ranks
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=2
error='ziaprobe: error:'

# Two nodes, with two processes each and with four
export four='-N 2 -n 4 --ntasks-per-node' eight='-N 2 -n 8 --ntasks-per-node'

# misplaced FIRST SECOND KIND HOST HOST N: prints a pattern for the error about wrong placement,
# with its remedies
misplaced() {
	printf '%s' "$error wrong placement: ranks $1 and $2 must be on $3, but their hosts are " \
		"$4 and $5; .* N = $6 .*--ntasks-per-node=$6 --dist.* --map-by ppr:$6:node"
}

mismatch="$error the launcher started several processes, but each is alone .*"
cleaned="$error rank and size are not known to MPI: .*"

# add_cases: adds those that do not depend on the MPI library
add_cases() {
	for host in 'contain c$SLURM_PROCID' 'clone clone'; do
		printf '#!/bin/sh\nexec unshare --uts sh -c "hostname %s; exec $*"\n' "${host#* }" \
			>"$dir/${host% *}"
	done
	cat >"$dir/lasting" <<-'END'
		#!/bin/sh
		# lasting COMMAND...: runs COMMAND; status 99 if that took less than a second
		begun=$(date +%s%3N)
		"$@"
		status=$?
		if [ $(($(date +%s%3N) - begun)) -lt 1000 ]; then
			exit 99
		fi
		exit $status
	END
	cat >"$dir/set.c" <<-'END'
		/* An MPI library that sets a launcher's variable */
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <mpi.h>
		#include <stdlib.h>
		int PMPI_Init(int *argc, char ***argv)
		{
			int (*own)(int *, char ***);

			*(void **)&own = dlsym(RTLD_NEXT, "PMPI_Init");
			setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
			return own(argc, argv);
		}
	END
	"mpicc.$mpi" -shared -fPIC -o "$dir/set.so" "$dir/set.c"
	# What is measured, and when
	expect 65s 0 'srun -n 1 ../ziaprobe $(../at 65 seconds ago) 1' \
		'Time test was completed in   1:[0-5][0-9] min:sec' 'Slowest rank: 0' "$one_node"
	expect no-timer 0 'srun -n 1 prlimit --sigpending=0 ../ziaprobe $(../at now) 1 -t 99' \
		'ziaprobe: warning: cannot set the timeout; .*' "$result" "$one_node"
	expect over 124 'srun -K0 $four 2 ../ziaprobe $(../at 1 hour ago) 2 -t 9' \
		"$error timeout of 9 s: rank [01] .*on n1 has spent [0-9]+ ms in MPI_Init: .*" \
		"$error timeout of 9 s: rank [23] .*on n2 has spent [0-9]+ ms in MPI_Init: .*"
	# A rank that times out gives the others a second to print their lines before its launcher
	# sees it fail and ends the job. The rank of a process without a launcher is unknown.
	expect patient 124 '../lasting ../ziaprobe $(../at 1 hour ago) 1 -t 9' \
		"$error timeout of 9 s: a rank .*on login has spent [0-9]+ ms in MPI_Init: .*"

	# Wrong arguments: one error per job
	expect none 2 'srun $four 2 ../ziaprobe' \
		"$error expected exactly three arguments before the options: SEC, USEC and N; \
ziatest appends ziaprobe itself, so do not name it in the launcher" \
		'usage: LAUNCHER ziaprobe SEC USEC N'
	expect unknown 2 'srun $four 2 ../ziaprobe 1 2 2 --unknown' \
		"$error unknown option, .*'--unknown'; .*" 'usage: .*'
	expect wrong 0 'while read -r arguments; do
			../ziaprobe $arguments
			if [ $? != 2 ]; then
				exit 1
			fi
		done <<-END
			now 2 1
			1 1000000 1
			1 2 x
			1 2 1 3
			1 2 1 -t 0
			1 2 1 --csv
		END' \
		"$error SEC, .* must be .*" 'usage: .*' "$error USEC, .* must be .*" 'usage: .*' \
		"$error N, .* must be .*" 'usage: .*' \
		"$error expected exactly three arguments .*" 'usage: .*' \
		"$error .* wrong or missing value: '-t'; .*" 'usage: .*' \
		"$error .* wrong or missing value: '--csv'; .*" 'usage: .*'

	# Ranks whose placement is not as specified
	expect planes 0 '../ziatest 4 "srun --distribution=plane=4 $eight"' "$result"
	expect wide "$fails" 'srun $four 2 ../ziaprobe $(../at now) 4' \
		"$(misplaced 0 2 'the same node' n1 n2 4)"
	expect packed "$fails" \
		'srun $eight 4 ../ziaprobe $(../at now) 2 -v --csv csv --ranks ranks' \
		"$(misplaced 0 2 'different nodes' n1 n1 2)"

	# Host names that are not the nodes'
	expect contained 0 'srun $four 2 ../contain ../ziaprobe $(../at now) 2' "$result"
	expect cloned 0 'srun -N 2 -n 2 ../clone ../ziaprobe $(../at now) 1' "$result"
	expect kernel 0 'srun -N 1 -n 2 ../contain ../ziaprobe $(../at now) 1' \
		"$result" 'ziaprobe: warning: ranks 0 and 1 run on .* kernel .*, c0 and c1, .*'

	# In a world of one, the process to which its launcher has given rank 0 of several reports a
	# mismatch. The others wait for it and exit with 0, so that srun does not end all processes
	# before the report. No launcher's daemon can be seen, so the first launcher wins.
	alone='../lasting ../ziaprobe 1 2 1'
	expect stale 0 'OMPI_COMM_WORLD_SIZE=64 srun $four 2 ../ziaprobe $(../at now) 2' "$result"
	expect flux0 1 "FLUX_JOB_SIZE=4 FLUX_TASK_RANK=0 ${alone#* }" "$mismatch"
	expect flux1 0 "FLUX_JOB_SIZE=4 FLUX_TASK_RANK=1 $alone"
	# Without a size, rank 1 reports it; rank 0 cannot know that there are others.
	expect pmix0 0 "PMIX_RANK=0 ../ziaprobe \$(../at now) 1" "$result" "$one_node"
	expect pmix1 1 "PMIX_RANK=1 ${alone#* }" "$mismatch"
	expect pmix2 0 "PMIX_RANK=2 $alone"
	expect flux-slurm 0 "FLUX_JOB_SIZE=4 FLUX_TASK_RANK=1 SLURM_STEP_NUM_TASKS=1 \
		SLURM_PROCID=0 $alone"
	expect open-flux 0 "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 FLUX_JOB_SIZE=4 \
		FLUX_TASK_RANK=0 ../ziaprobe \$(../at now) 1" "$result" "$one_node"
	expect set-by-mpi 1 "FLUX_JOB_SIZE=4 FLUX_TASK_RANK=0 LD_PRELOAD=$dir/set.so ${alone#* }" \
		"$mismatch"

	expect clean-1 "$fails" '../ziatest 1 "srun -N 2 -n 2 --ntasks-per-node={} ../cleaner"' \
		"$cleaned" "$cleaned"
	expect clean-2 "$fails" '../ziatest 2 "srun $four={} ../cleaner"' "$cleaned" "$cleaned"
	expect clean-by-hand 0 "srun -n 1 sh -c 'sleep 1
		../cleaner ../ziaprobe \$(../at now) 1'" "$result" "$one_node" \
		'ziaprobe: warning: ziaprobe cannot tell which clock gave the start .*'
	# One process that a launcher has told something is the only one.
	for told in SLURM_JOB_ID=1 PMIX_RANK=0; do
		expect told-$told 0 "../ziatest 1 'srun -N 1 -n 1 --ntasks-per-node={} \
			../cleaner env $told'" "$result" "$one_node" \
			'ziaprobe: warning: ziaprobe cannot tell which clock gave the start .*'
	done

	# Files. If one cannot be written, an error follows the result, and the other is still
	# written. If another program wrote either of them, there is no result. A pipe is not read.
	# Root could read and write any file if it were not for the missing capabilities.
	remedy='; choose a file that can be read and written on the node of rank 0'
	full="cannot write '/dev/full': No space left on device$remedy"
	expect csv-pipe 0 '../ziaprobe $(../at now) 1 --csv /dev/stdout | cat >csv' "$result" \
		"$one_node"
	expect csv-full 1 '../ziaprobe $(../at now) 1 --csv /dev/full --ranks ranks' \
		"$result" "$one_node" "$error $full"
	expect ranks-full 1 '../ziaprobe $(../at now) 1 --ranks /dev/full --csv csv' \
		"$result" "$one_node" "$error $full"
	expect nowhere "$fails" 'srun $four 2 ../ziaprobe $(../at now) 2 --csv no/where' "$result" \
		"$error cannot open 'no/where': No such file or directory$remedy"
	expect closed 1 '../ziaprobe $(../at now) 1 --csv csv 2>&- >&- <&-; status=$?
		grep -c ^2 csv >&2; exit $status' \
		'?ziaprobe: .*'
	expect protected 1 ': >csv; : >ranks; chmod 222 csv; chmod 444 ranks
		setpriv --bounding-set=-dac_override,-dac_read_search \
			../ziaprobe $(../at now) 1 --csv csv --ranks ranks
		status=$?
		[ ! -s csv ] && [ ! -s ranks ] && exit $status' "$result" "$one_node" \
		"$error cannot open 'csv': Permission denied$remedy" \
		"$error cannot open 'ranks': Permission denied$remedy"
	expect other 1 "echo rank,host >csv; cp csv ranks
		../ziaprobe \$(../at now) 1 --csv csv --ranks ranks
		status=\$?
		[ \"\$(cat csv ranks)\" = 'rank,host
rank,host' ] && exit \$status" \
		"$error 'csv' does not begin with a --csv header: it was written by another \
program or by a newer version of Ziatest; choose a new file and launch again" \
		"$error 'ranks' does not begin with a --ranks header: .*"
	expect other-ranks 1 "echo rank,x >ranks
		../ziaprobe \$(../at now) 1 --csv csv --ranks ranks
		status=\$?
		[ ! -e csv ] && exit \$status" \
		"$error 'ranks' does not begin with a --ranks header: .*"
	expect same 1 '../ziaprobe $(../at now) 1 --csv csv --ranks csv' "$result" "$one_node" \
		"$error 'csv' does not begin with a --ranks header: .*"
	# Files that another version has begun: its rows are kept, or replaced
	expect older 0 "printf 'started,ppn,time_ms,nodes,mpi\n2026,2,1.000,1,old\n' >csv
		echo rank,host,daemon_ms >ranks
		echo old >>ranks
		printf cut >>csv
		../ziaprobe \$(../at now) 1 --csv csv --ranks ranks" "$result" "$one_node"
}

# judge_cases: judges their files
judge_cases() {
	is "$mpi, packed: neither a row nor a ranks file" "$(cd "$dir/packed" && ls)" \
		"$(cd "$dir/wide" && ls)"
	for case in same csv-pipe ranks-full; do
		is "$mpi, $case: a header, a row, and no other line" "$(awk -F , '
			NF != 36 || (NR == 1) != /^started,/
			END { print NR }' "$dir/$case/csv")" 2
	done
	is "$mpi, csv-full: the other file is written" \
		"$(cut -d , -f 1 "$dir/csv-full/ranks" | paste -s -d ' ' -)" 'rank 0'
	like "$mpi, older: a row in the columns of the header" \
		"$(sed 1d "$dir/older/csv" | tr '\n' '|')" \
		'2026,2,1\.000,1,old\|cut\|20[^,]*Z,1,[0-9]+\.[0-9]{3},1,[^,]+\|'
	is "$mpi, older: the ranks are replaced" \
		"$(sed 's/\(,[^,]*\),.*/\1/' "$dir/older/ranks" | paste -s -d ' ' -)" \
		'rank,node 0,1'
}

for mpi in mpich openmpi; do
	has_mpi $mpi || continue
	quick_build $mpi
	# SEC and USEC, for example of 65 seconds ago
	printf '#!/bin/sh\nexec date -d "$*" +"%%s %%6N"\n' >"$dir/at"
	# The environment is cleaned on the way: one process per node reports it. A call by hand in
	# a shell is no launch.
	# Each process has a directory of its own, because two singletons of Open MPI that create
	# their session directory at the same moment fail.
	printf '#!/bin/sh\nexec env -i PATH="$PATH" HOME="$HOME" TMPDIR="$(mktemp -d)" %s "$@"\n' \
		'ASAN_OPTIONS="$ASAN_OPTIONS"' >"$dir/cleaner"
	case $mpi in
	openmpi) mpirun='mpirun.openmpi --host n1:2,n2:2 -npernode' ;;
	mpich) mpirun='mpiexec.hydra -hosts n1,n2 -n 4 -ppn' ;;
	esac
	expect clean-mpirun "$fails" "../ziatest 2 '$mpirun {} ../cleaner'" "$cleaned" "$cleaned"

	# Executables built with each MPI, under the launchers of both
	openmpi='../ziatest 2 "mpirun.openmpi --oversubscribe -n 4 --host n1:2,n2:2 -npernode"'
	hydra='../ziatest 2 "mpiexec.hydra -hosts n1,n2 -n 4 -ppn"'
	pmix='../ziatest 2 "srun --mpi=pmix $four"'
	pmi2='../ziatest 2 "srun --mpi=pmi2 $four"'
	none='../ziatest 2 "srun --mpi=none $four"'
	case $mpi in
	openmpi)
		expect hydra "$fails" "$hydra" "$mismatch"
		expect pmi2 "$fails" "$pmi2" "?$mismatch"	# 4.1 itself refuses
		expect single 0 "srun --mpi=pmix -n 2 sh -c '[ \$SLURM_PROCID = 0 ] ||
			exec mpirun.openmpi -n 1 ../ziaprobe \$(../at now) 1'" \
			"$result" "$one_node"
		# Within srun --pty, by a launcher of which only the daemon is known
		expect pty 0 "SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 mpirun.openmpi --oversubscribe \
			-n 2 env -u OMPI_COMM_WORLD_SIZE -u OMPI_COMM_WORLD_RANK \
			../ziaprobe \$(../at now) 2" "$result" "$one_node"
		# A host file that mpirun does not read
		expect hostfile "$fails" 'printf "n1\nn2\n" >hosts; OMPI_MCA_hostfile=hosts \
			mpirun.openmpi --oversubscribe -n 4 ../ziaprobe $(../at now) 2' \
			"$(misplaced 0 2 'different nodes' login login 2)" ;;
	mpich)
		refused=
		if is_mpich_5; then
			refused='?'	# MPICH 5 itself refuses to run under PMIx
		fi
		expect openmpi "$fails" "$openmpi" "$refused$mismatch"
		if printf '%s\n' "$types" | grep -qw pmix; then
			expect pmix "$fails" "$pmix" "$refused$mismatch"
		fi
		expect none-pmi "$fails" "$none" "$mismatch"
		# Within srun --pty
		expect pty 0 'SLURM_STEP_NUM_TASKS=32 SLURM_PROCID=0 \
			mpiexec.hydra -hosts n1 -n 1 ../ziaprobe $(../at now) 1' \
			"$result" "$one_node" ;;
	esac

	if [ $mpi = "$first_mpi" ]; then
		add_cases
	fi
	chmod +x "$dir"/*
	run_cases 3
	if [ $mpi = "$first_mpi" ]; then
		judge_cases
	fi
done
finish
