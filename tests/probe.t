#!/bin/sh
# ziaprobe called directly, as ReFrame tests do: the result's format, wrong arguments
# said once, and that no number is printed as if it were the one specified
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=2
error='ziaprobe: error:'
part='(for|in its own part of)'

# Two nodes, with two processes each and with four
export four='-N 2 -n 4 --ntasks-per-node' eight='-N 2 -n 8 --ntasks-per-node'

# places FIRST SECOND KIND HOST HOST N: the error of misplaced ranks, and its remedies
places() {
	printf '%s' "$error ranks $1 and $2 must be on $3 but are on $4 and $5; .* N = $6 " \
		".*--distribution=block .*ppr:$6:node"
}

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	quick_build $mpi
	for host in 'contain c$SLURM_PROCID' 'clone clone'; do
		printf '#!/bin/sh\nexec unshare --uts sh -c "hostname %s; exec $*"\n' "${host#* }" \
			>"$dir/${host% *}"
		chmod +x "$dir/${host% *}"
	done
	# As date +'%s %6N' prints it, 65 seconds ago for example.
	cat >"$dir/at" <<-'END'
		#!/bin/sh
		exec date -d "$*" +'%s %6N'
	END
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
	chmod +x "$dir/at" "$dir/lasting"

	# What is measured, and when
	expect 65s 0 'srun -n 1 ../ziaprobe $(../at 65 seconds ago) 1' \
		'Time test was completed in   1:[0-5][0-9] min:sec' 'Slowest rank: 0' "$one_node"
	expect timely 0 'srun $four 2 ../ziaprobe $(../at now) 2 --timeout 99' "$result"
	expect posix 0 'POSIXLY_CORRECT=1 ../ziatest -t 99 2 "srun $four"' "$result"
	expect over 124 'srun -K0 $four 2 ../ziaprobe $(../at 1 hour ago) 2 -t 9' \
		"$error timeout of 9 s: rank [01] on n1 has waited 0 s $part MPI_Init" \
		"$error timeout of 9 s: rank [23] on n2 has waited 0 s $part MPI_Init"
	# Who gives up leaves the others a second to say why, before the launcher ends all
	expect patient 124 '../lasting ../ziaprobe $(../at 1 hour ago) 1 -t 9' \
		"$error timeout of 9 s: .* has waited 0 s $part MPI_Init"
	expect mismatch 1 'FLUX_JOB_SIZE=2 FLUX_TASK_RANK=1 ../lasting ../ziaprobe 1 2 1'
	expect soon "$fails" 'srun $four 2 ../ziaprobe $(../at 100 seconds) 2' \
		"$error rank 0 on n1 began at least [0-9]{1,2}\.[0-9]{6} s before the start; .*"
	expect own "$fails" \
		'srun $four 2 sh -c "[ \$SLURM_PROCID = 0 ] || sleep .1
			exec ../ziaprobe \$(../at now) 2"' \
		"$error ranks 0 and [1-3] were told different starts; .*"

	# Wrong arguments: said once
	expect none 2 'srun $four 2 ../ziaprobe' \
		"$error SEC, USEC and N are needed, .*" 'usage: LAUNCHER ziaprobe SEC USEC N .*'
	expect unknown 2 'srun $four 2 ../ziaprobe 1 2 2 --unknown' \
		"$error unknown option, .*'--unknown'" 'usage: .*'
	expect world 2 'srun -N 2 -n 5 ../ziaprobe 1 2 2' "$error 5 processes .*N = 2.*"

	# Ranks placed otherwise than specified
	expect cyclic "$fails" '../ziatest 4 "srun --distribution=cyclic $eight"' \
		"$result" "$(places 0 1 'one node' n1 n2 4)"
	expect planes 0 '../ziatest 4 "srun --distribution=plane=4 $eight"' "$result"
	expect wide "$fails" 'srun $four 2 ../ziaprobe $(../at now) 4' \
		"$result" "$(places 0 2 'one node' n1 n2 4)"
	expect packed "$fails" 'srun $eight 4 ../ziaprobe $(../at now) 2' \
		"$result" "$(places 0 2 'different nodes' n1 n1 2)"
	expect one 0 '../ziatest 2 "srun -N 1 -n 2 --ntasks-per-node"' "$result" "$one_node"

	# Names that are not the nodes', and a variable that another launcher has left
	expect contained 0 'srun $four 2 ../contain ../ziaprobe $(../at now) 2' "$result"
	expect cloned 0 'srun -N 2 -n 2 ../clone ../ziaprobe $(../at now) 1' "$result"
	expect kernel 0 'srun -N 1 -n 2 ../contain ../ziaprobe $(../at now) 1' \
		"$result" 'ziaprobe: warning: ranks 0 and 1 are on one kernel, as c0 and c1: .*'
	expect stale 0 'OMPI_COMM_WORLD_SIZE=64 srun $four 2 ../ziaprobe $(../at now) 2' "$result"

	# Each MPI's executable under the launchers of both
	mismatch="$error the launcher started 4 processes but MPI sees 1: .*"
	openmpi='../ziatest 2 "mpirun.openmpi --oversubscribe -n 4 --host n1:2,n2:2 -npernode"'
	hydra='../ziatest 2 "mpiexec.hydra -hosts n1,n2 -n 4 -ppn"'
	pmix='../ziatest 2 "srun --mpi=pmix $four"'
	pmi2='../ziatest 2 "srun --mpi=pmi2 $four"'
	none='../ziatest 2 "srun --mpi=none $four"'
	case $mpi in
	openmpi)
		expect openmpi 0 "$openmpi" "$result"
		expect hydra "$fails" "$hydra" "$mismatch"
		expect pmi2 "$fails" "$pmi2" "?$mismatch"	# 4.1 itself refuses
		expect single 0 "srun --mpi=pmix -n 2 sh -c '[ \$SLURM_PROCID = 0 ] ||
			exec mpirun.openmpi -n 1 ../ziaprobe \$(../at now) 1'" \
			"$result" "$one_node"
		# A host file that mpirun does not read
		expect hostfile "$fails" 'printf "n1\nn2\n" >hosts; OMPI_MCA_hostfile=hosts \
			mpirun.openmpi --oversubscribe -n 4 ../ziaprobe $(../at now) 2' \
			"$result" "$(places 0 2 'different nodes' login login 2)" ;;
	mpich)
		expect openmpi "$fails" "$openmpi" "$mismatch"
		expect hydra 0 "$hydra" "$result"
		expect pmix "$fails" "$pmix" "$mismatch"
		expect none-pmi "$fails" "$none" "$mismatch"
		# Where no number of processes is known, rank 0 cannot know
		expect unsized "$fails" 'mpirun.openmpi --host n1:2,n2:2 \
			env -u OMPI_COMM_WORLD_SIZE ../ziaprobe $(../at now) 1' \
			"?$result" "?$one_node" \
			"${mismatch%4 proc*}several processes .*" \
			"?$result" "?$one_node"
		# As after srun --pty
		expect pty 0 'SLURM_STEP_NUM_TASKS=32 SLURM_PROCID=0 \
			mpiexec.hydra -hosts n1,n2 -n 2 ../ziaprobe $(../at now) 1' "$result" ;;
	esac
	run_cases 2
done
finish
