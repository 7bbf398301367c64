#!/bin/sh
# What observe/ gives to the reports: what each rank did, where, and which launcher started it.
# (explain.t and scale.t test the reports themselves.)
. "$(dirname "$0")/lib.sh"
needs_cluster
small_cluster
leaks=ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=1	# searching for them takes longer
ms='-?[0-9]+\.[0-9]{3}'
started='20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{6}Z'
work="$ms,$ms,$ms,[0-9]+"	# cpu_ms to faults
cpu=$(taskset -pc $$ | sed "s/.*: *//; s/[-,].*//")	# one that this test may use

# column FILE NAME: prints the cells of a column
column() {
	awk -F , -v name="$2" "$columns"' { print $column[name] }' "$1" | paste -s -d , -
}

# shared LAUNCH-LINE EXPECTED: succeeds if the outlier's line says that 2 ranks share a CPU, and
# EXPECTED of the daemon that started them. Another phase may be the outlier, so callers poll.
shared() {
	timeout 60 ./ziatest -v 2 "$1" >shared 2>&1
	grep -q -E "^outlier: .*[(]2 ranks share 1 CPU; $itself([.]openmpi)?, $2[)]" shared
}

for mpi in mpich openmpi; do
	has_mpi $mpi || continue
	quick_build $mpi
	files='--csv csv --ranks ranks 2'
	case $mpi in
	openmpi)
		nodes=3 launcher=$(mpirun_on 3 2) daemon='(orted|prted)' itself='(mpirun|prterun)'
		alone='mpirun.openmpi --bind-to none -n' ;;
	mpich)
		nodes=0 launcher=$hydra daemon=hydra_pmi_proxy itself=hydra_pmi_proxy
		alone='mpiexec.hydra -n' ;;
	esac
	expect plain 0 "../ziatest --csv csv 2 '$launcher'
		$leaks ../ziatest -vv $files '$launcher'" \
		"$result" "?$same_kernel" "$result" "?$same_kernel"
	case $mpi in
	openmpi)
		# mpirun itself starts the ranks of its own node.
		expect itself 0 "../ziatest $files 'mpirun.openmpi --oversubscribe -npernode'" \
			"$result" "$one_node"
		;;
	mpich)
		expect itself 0 ": >csv; ../ziatest -vv $files '$alone'" "$result" "$one_node"
		# A name with a comma and bytes that are not ASCII
		expect named 0 "printf 'n,\\303\\251' >name
			unshare $as_root --uts sh -c 'cat name >/proc/sys/kernel/hostname
			../ziatest -vv $files \"$alone\"'" "$result" "$one_node"
		expect by-hand 0 "../ziatest -vv $files '$hydra'" "$result" "$same_kernel"
		"mpicc.$mpi" -DPAD=4096 -o "$dir/by-hand/ziaprobe" ziaprobe.c observe/*.c \
			explain/*.c
		for library in SCHEDSTAT COLD; do
			cc -shared -fPIC -D$library -o "$dir/$library.so" tests/helpers/fakes.c ||
				exit 1
		done
		for file in hidden zeros; do
			expect schedstat-$file 0 "echo 0 0 0 >zeros; SCHEDSTAT=\$PWD/$file \
				../ziatest -vv $files '$alone {} env LD_PRELOAD=../SCHEDSTAT.so'" \
				"$result" "$one_node"
		done
		draw_number 2
		expect cold 0 "dd if=/dev/zero of=cold bs=4096 count=512 conv=fsync 2>dd
			dd if=cold iflag=nocache count=0 2>dd; RANK=$((drawn - 1)) \
			../ziatest -vv $files '$alone {} env LD_PRELOAD=../COLD.so'" \
			"$result" "$one_node"
		;;
	esac
	run_cases 3

	cd "$dir" || exit 1
	rank="[0-9],[13],n[13](,$ms){3},(,$ms){6},$work,$ms,$started|"
	rank="(${rank}[0-9],2,n2(,$ms){3},(,$ms){3},,$ms,,$work,$ms,$started)"
	like "$mpi: a row for every rank" "$(cat plain/ranks)" "rank,node,host,.*(\\|$rank){6}"
	is "$mpi: the rows are in the order of the ranks" "$(column plain/ranks rank) $(
		column plain/ranks host)" '0,1,2,3,4,5 n1,n1,n2,n2,n3,n3'
	is "$mpi: a row for every result, after one header" "$(grep -c '^started,' plain/csv) $(
		column plain/csv nodes) $(column plain/csv ranks)" '1 3,3 6,6'
	like "$mpi: the daemon and its fences" \
		"$(column plain/csv daemon) $(column plain/csv fence_interface)" \
		"$daemon,$daemon (PMIx,PMIx|PMI,PMI)"
	like "$mpi: the daemon of the launcher's own node" "$(column itself/csv daemon)" "$itself"
	stamp=$(sed -n '/--verbose/s/.*ziaprobe [0-9]* \([0-9]*\) 2 .*/\1/p' plain/out)
	like "$mpi: started is the stamp" "$(column plain/csv started)" \
		".*,.*T.*:.*:.*\.$(printf %06d "$stamp")Z"
	if [ $mpi = mpich ]; then
		unknown='unknown, because no fences were seen.*'
		like 'a build by hand, without fences' \
			"$(sed -n '/^outlier/p; /^fences/p' by-hand/out)" \
			"outlier: ($unknown|exchange of .*)\\|fences: none"
		for file in hidden zeros; do
			like "no time of waiting for a CPU if schedstat is $file" \
				"$(column schedstat-$file/csv cpu_ms) $(
				column schedstat-$file/csv cpu_wait_ms) $(
				column schedstat-$file/csv blocked_ms)" '[0-9]+\.[0-9]{3}  '
		done
		if [ "$(stat -f -c %T "$dir")" = tmpfs ]; then
			skip 'cold pages' "$dir is in memory; set TMPDIR to a directory on a disk"
		else	# If memory is short, other ranks may have some faults, too.
			is 'only the rank that reads cold pages has 512 faults' \
				"$(awk -F , "$columns"' $column["faults"] >= 512 { print $1 }' \
					cold/ranks)" $((drawn - 1))
		fi
		is 'a header in an empty file' "$(head -c 8 itself/csv)" started,
		is 'odd host names' "$(column named/csv slowest_host) $(column named/ranks host)" \
			'n??? n???,n???'
	fi
	# The ranks may use one CPU. The daemon that started them may use only that CPU, or all.
	if [ "$(nproc)" -lt 2 ]; then
		skip "$mpi: the CPUs of the daemon" 'this machine has only one CPU'
	else
		ok "$mpi: the daemon is bound, and so are the ranks" poll 100 \
			shared "taskset -c $cpu $alone" 'their parent, may use no more'
		ok "$mpi: only the ranks are bound" poll 100 \
			shared "$alone {} taskset -c $cpu" "their parent, may use $(nproc)"
	fi
	cd "$top" || exit 1
done
finish
