#!/bin/sh
# Both programs as built by make, on 1 to 4 virtual nodes, with srun, mpirun and mpiexec, and with
# Open MPI and MPICH
. "$(dirname "$0")/lib.sh"
needs_cluster

# case NAME COMMAND...: runs COMMAND in a cluster, and saves its output and status. Outside a job,
# srun would queue, and say so, if a node were still busy with an earlier case.
cat >"$tmp/case" <<'END'
name=$1
shift
tries=0
until [ -n "${SLURM_JOB_ID-}" ] || ! sinfo --noheader --Node | grep -qvw idle ||
	[ $((tries += 1)) -gt 150 ]; do
	sleep 0.2
done
"$@" >"$name.out" 2>"$name.err"
echo $? >"$name.status"
END

# result_of NODES N DIR NAME LINE [ARGUMENTS]: checks what the case NAME left in DIR. ARGUMENTS of
# ziaprobe follow the stamp; they are N if they are not given.
result_of() {
	# Open MPI's mpirun occasionally warns about a race in its own use of ssh.
	sed -i '/plm:[rs]sh: Warning: setpgid/d' "$3/$4.err"
	more=
	if [ "$1" -le 1 ]; then
		more="\|$one_node"
	fi
	like "$4: the command line and the result, nothing else" \
		"$(cat "$3/$4.out")/$(cat "$3/$4.err")" "/$5 $stamp ${6-$2}\|$result$more"
	is "$4: status 0" "$(cat "$3/$4.status")" 0
	slowest=$(sed -n 's/^Slowest rank: //p' "$3/$4.err")
	ok "$4: the slowest rank is an originator" \
		[ "$((${slowest:--1} / $2 % 2)) $((${slowest:--1} < $1 * $2))" = '0 1' ]
}

for mpi in openmpi mpich; do
	has_mpi $mpi || continue
	dir=$tmp/$mpi
	mkdir "$dir" "$dir/elsewhere"
	cp -r Makefile ziatest.c ziaprobe.c prepare observe explain preload job "$dir"
	make -s -C "$dir" MPICC=mpicc.$mpi || exit 1
	cd "$dir" || exit 1
	type=$(pmi $mpi)
	export SLURM_MPI_TYPE="$type"
	launch="srun --mpi=$type --ntasks-per-node {} --ntasks"
	# Finally, installed as Spack does, and called from another directory through PATH
	cluster 4 sh -c "
		for nodes in 1 2 4; do
			sh '$tmp/case' $mpi-srun-\$nodes ./ziatest 4 \"$launch \$((4 * nodes))\"
		done
		sh '$tmp/case' $mpi-words ./ziatest -q \
			srun --mpi=$type -N 4 --ntasks-per-node 2 -- ziaprobe
		cd elsewhere
		PATH='$dir':\$PATH sh '$tmp/case' $mpi-installed \
			ziatest 2 'srun --ntasks 4 --ntasks-per-node '"
	for nodes in 1 2 4; do
		result_of $nodes 4 . "$mpi-srun-$nodes" \
			"srun --mpi=$type --ntasks-per-node 4 --ntasks $((4 * nodes)) ./ziaprobe"
	done
	result_of 4 2 . $mpi-words \
		"srun --mpi=$type -N 4 --ntasks-per-node 2 ./ziaprobe" 0
	result_of 2 2 elsewhere $mpi-installed \
		"srun --ntasks 4 --ntasks-per-node  2 $dir/ziaprobe"
	if [ $mpi = mpich ]; then
		cluster 3 sh "$tmp/case" hosts-mpiexec \
			./ziatest 2 'mpiexec.hydra -hosts n1,n2,n3 -n 6 -ppn'
		result_of 3 2 . hosts-mpiexec 'mpiexec.hydra -hosts n1,n2,n3 -n 6 -ppn 2 ./ziaprobe'
		cluster 3 sh "$tmp/case" words-mpiexec ./ziatest -q \
			mpiexec.hydra -hosts n1,n2,n3 -n 6 -ppn 2 -- ./ziaprobe
		result_of 3 2 . words-mpiexec \
			'mpiexec.hydra -hosts n1,n2,n3 -n 6 -ppn 2 ./ziaprobe' 0
	fi
	cd "$top" || exit 1
done

if [ -d "$tmp/openmpi" ]; then
	cd "$tmp/openmpi" || exit 1
	# The work after the result needs only a few file descriptors.
	printf '#!/bin/sh\nulimit -Sn 30\nexec "$@"\n' >few
	chmod +x few
	printf 'n%d slots=4\n' 1 2 3 >hosts
	cat >several <<-'END'
		salloc -Q --nodes 3 --ntasks-per-node 2 sh "$1" salloc-mpirun ./ziatest 2
		salloc -Q --nodes 4 --ntasks-per-node 2 sh "$1" chance-mpirun \
			./ziatest -q mpirun -np 4 --map-by ppr:2:node -- ziaprobe
		sh "$1" words-mpirun ./ziatest -q \
			mpirun --hostfile hosts --map-by ppr:2:node -- ziaprobe
		sh "$1" hostfile-mpirun ./ziatest 2 'mpirun --hostfile hosts -npernode'
		sh "$1" without-option-mpirun \
			./ziatest 4 'N={} mpirun --bind-to none --hostfile hosts'
		sh "$1" few-descriptors \
			./ziatest 8 'srun --mpi=pmix -N 4 -n 32 --ntasks-per-node {} ./few'
	END
	cluster 4 sh several "$tmp/case"
	result_of 3 2 . salloc-mpirun 'mpirun -npernode 2 ./ziaprobe'
	# The variables of its daemons, which are four tasks of Slurm, are those of some ranks, too.
	result_of 2 2 . chance-mpirun 'mpirun -np 4 --map-by ppr:2:node ./ziaprobe' 0
	result_of 3 2 . words-mpirun \
		'mpirun --hostfile hosts --map-by ppr:2:node ./ziaprobe' 0
	result_of 3 2 . hostfile-mpirun 'mpirun --hostfile hosts -npernode 2 ./ziaprobe'
	result_of 3 4 . without-option-mpirun \
		'N=4 mpirun --bind-to none --hostfile hosts ./ziaprobe'
	result_of 4 8 . few-descriptors \
		'srun --mpi=pmix -N 4 -n 32 --ntasks-per-node 8 ./few ./ziaprobe'

	# Slurm's PMIx plugin gives up before ziatest does, and names the node it waited for.
	late=$(($$ % 4))
	cat >late <<-'END'
		#!/bin/sh
		if [ "$SLURM_NODEID" = "$LATE" ]; then
			sleep 9
		fi
		shift
		exec "$@"
	END
	chmod +x late
	export LATE=$late SLURM_PMIX_FENCE=ring SLURM_PMIX_TIMEOUT=3
	cluster 4 sh "$tmp/case" gives-up ./ziatest 1 'srun --mpi=pmix -N 4 -n 4 ./late'
	cluster 4 sh "$tmp/case" times-out ./ziatest -t 7 1 'srun --mpi=pmix -N 4 -n 4 ./late'
	unset LATE SLURM_PMIX_FENCE SLURM_PMIX_TIMEOUT
	gave_up="Slurm's PMIx plugin gave up on a fence that n$((late + 1)) had not reached"
	is "node $late is late: Slurm says so" \
		"$("$top/tools/summarize" gives-up.err | head -n 1)" "$gave_up"
	is "node $late is late: with the lines of -t, the silent node is excluded" \
		"$("$top/tools/summarize" times-out.err | sed -n '1p; /launch with -t/p; $p')" \
		"$gave_up
--exclude=n$((late + 1))"
fi
finish
