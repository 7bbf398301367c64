#!/bin/sh
# The reports: the output of -vv and the files of --csv and --ranks have fixed rows, columns and
# names, and agree to the microsecond.
. "$(dirname "$0")/lib.sh"
needs_cluster
nodes=4
leaks=ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=1	# searching for them takes longer than the launch

csv_header=started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,daemon_ms,\
spawn_ms,exec_ms,setup_ms,init_ms,fence_ms,exchange_ms,clock_ms,cpu_ms,cpu_wait_ms,blocked_ms,\
faults,outlier,outlier_rank,outlier_host,outlier_ms,outlier_kind,outlier_nodes,mpi_init_max_ms,\
offset_ms,offset_host,reference_host,offset_bound_ms,program,executable_bytes,mpi,\
daemon,fence_interface
ranks_header=rank,node,host,daemon_ms,spawn_ms,exec_ms,setup_ms,init_ms,fence_ms,wait_ms,\
exchange_ms,mpi_init_ms,completed_ms,cpu_ms,cpu_wait_ms,blocked_ms,faults,clock_offset_ms,started
started='20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{6}Z'
ms='-?[0-9]+\.[0-9]{3}'
rank='[0-7] on n[1-4]'
partner='with [2367] on n[24]'
work="$ms,$ms,$ms,[0-9]+"	# cpu_ms to faults
outlier="(,,,,,|[a-z]+,[0-7],n[1-4],$ms,(cpu|cpu_wait|blocked)?,[1-4])"
error='ziaprobe: error:'
others='( and 1 more rank there| and [1-7] more ranks?, on [2-4] of 4 nodes [(]n\[[-1-4,]+\][)])?'
limited='their parent, is also limited to 1'
share='( [(]2 ranks share 1 CPU[)])?'	# if this machine has only one
next='(next: add --where [0-9]+[.][0-9] to see the calls that n[1-4] is in\|)?'
kind="(, mostly (on the CPU|waiting for a CPU$share|blocked))?"

# phase NAME REST: a row of the path
phase() {
	printf '%s' "\\|$1( +[0-9]+\\.[0-9]{3}){2} {40}$rank${2-}"
}

# own NAME: a row of the path that shows what the process did
own() {
	printf '%s' "\\|$1( +[0-9]+\\.[0-9]{3}){5} +[0-9]+  $rank"
}

# row NAME REST: a row of the table
row() {
	printf '%s' "\\|$1( +[0-9]+\\.[0-9]{3}){3}  $rank${2-}"
}

# listing SIZE PARTNER CLOCK: what -vv prints, with the size of the job, the partner of the slowest
# rank's exchange, and the line on clocks
listing() {
	printf '%s' "[0-9]+\\.[0-9]{3} m?s, $1\\|" \
		"outlier: (none$share|[a-z]+ of rank $rank( $partner)?$others( $partner)?, " \
		"[0-9]+\\.[0-9]{3} m?s above the median$kind)\\|$next" \
		'\|critical path  +m?s    median       cpu  cpu_wait   blocked  faults  rank' \
		"$(phase daemon ', slurmstepd')$(phase spawn)$(own exec)$phases$init" \
		"$(phase exchange "$2")\\|" \
		'\|m?s +min    median       max  slowest rank' \
		"$(row daemon)$(row spawn)$(row exec)$(row init)$fence$(row wait)" \
		"$(row exchange "$2")$(row mpi_init)$(row completed)" \
		"$(row cpu)$(row cpu_wait)$(row blocked)\\|faults( +[0-9]+){3}  $rank" \
		"\\|fences: $fences$3\\|executable: ziaprobe, $bytes bytes\\|MPI: $version.*"
}
# The nodes share one clock, so tests/cluster sets ZIATEST_SYNC to 0.
clock="\\|clock offset: $ms m?s \\(\\+/- [0-9]+\\.[0-9]{3} m?s\\), n[1-4] against n[1-4], "
clock="${clock}the median; no corrected time, because no rank ran on the launch node; the launch \
node's clock is synchronised to within 0(\\.000)? u?s"

# add_cases: adds those that do not depend on the MPI library
add_cases() {
	# Simulates a kernel that does not record how long a process waits for a CPU: the file
	# $SCHEDSTAT is opened instead of /proc/thread-self/schedstat.
	cat >"$dir/schedstat.c" <<-'END'
		#include <fcntl.h>
		#include <stdarg.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		int open(const char *name, int flags, ...)
		{
			va_list rest;
			int mode;
			va_start(rest, flags);
			mode = flags & O_CREAT ? va_arg(rest, int) : 0;
			va_end(rest);
			if (strcmp(name, "/proc/thread-self/schedstat") == 0)
				name = getenv("SCHEDSTAT");
			return syscall(SYS_openat, AT_FDCWD, name, flags, mode);
		}
	END
	# Rank $RANK reads 512 pages of the file "cold" before main. If the file is not in the page
	# cache, each page causes a major fault.
	cat >"$dir/cold.c" <<-'END'
		#include <fcntl.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		__attribute__((constructor)) static void read_pages(void)
		{
			int file = open("cold", O_RDONLY), sum = 0;
			volatile char *page;
			if (strcmp(getenv("SLURM_PROCID"), getenv("RANK")) != 0)
				return;
			page = mmap(NULL, 512 * 4096, PROT_READ, MAP_PRIVATE, file, 0);
			madvise((void *)page, 512 * 4096, MADV_RANDOM);
			for (int i = 0; i < 512; i++)
				sum += page[i * 4096];
			if (sum != 0)
				abort();
		}
	END
	for library in schedstat cold; do
		cc -shared -fPIC -o "$dir/$library.so" "$dir/$library.c" || exit 1
	done
	# preload LIBRARY COMMAND...
	cat >"$dir/preload" <<-'END'
		#!/bin/sh
		export LD_PRELOAD="${0%/*}/$1.so:${LD_PRELOAD-}"
		shift
		exec "$@"
	END
	# Odd host names, with a comma and bytes that are not ASCII
	cat >"$dir/rename" <<-'END'
		#!/bin/sh
		exec unshare --uts sh -c 'printf "n,\303\251" >/proc/sys/kernel/hostname
			exec "$@"' sh "$@"
	END
	chmod +x "$dir/rename" "$dir/preload"
	expect one 0 ": >csv; printf '%s\n' $ranks_header 0 1 2 3 >ranks
		$leaks ../ziatest -vv $files 'srun -N 1 -n 2 --ntasks-per-node'" \
		"$result" "$one_node"
	expect named 0 "../ziatest -vv $files '$srun {} ../rename'" "$result"
	expect by-hand 0 "../ziatest -vv $files '$srun'" "$result"
	"mpicc.$mpi" -DPAD=4096 -o "$dir/by-hand/ziaprobe" ziaprobe.c observe/*.c explain/*.c
	for file in hidden zeros; do
		expect schedstat-$file 0 "echo 0 0 0 >zeros
			SCHEDSTAT=\$PWD/$file \
			../ziatest -vv $files '$srun {} ../preload schedstat'" "$result"
	done

	expect schedstat-timeout 124 \
		"SCHEDSTAT=hidden ../preload schedstat ../ziaprobe 1 2 1 -t 9" \
		"$error timeout of 9 s: a rank .*on login has spent [0-9]+ ms in MPI_Init: \
cpu [0-9]+ ms"

	cold=
	if [ "$(stat -f -c %T "$dir")" = tmpfs ]; then
		skip "$mpi: cold pages" "$dir is in memory; set TMPDIR to a directory on a disk"
	else
		draw_number 8
		cold=$((drawn - 1))
		expect cold 0 "exec 3>&2 2>/dev/null
			dd if=/dev/zero of=cold bs=4096 count=512 conv=fsync
			dd if=cold iflag=nocache count=0
			exec 2>&3
			RANK=$cold ../ziatest -vv $files '$srun {} ../preload cold'" "$result"
	fi
}

# judge_cases: judges their reports
judge_cases() {
	like "$mpi: the listing of a build by hand, without fences" \
		"$(sed -n '/^init/,/^exchange/p; /^fences/p' by-hand/out)" \
		"$(phase init | cut -c 3-)$(phase exchange ", $partner")$(
			row init)$(row wait)$(row exchange ", $partner")\|fences: none"
	like "$mpi: its outlier, which can only be an exchange" \
		"$(sed -n 's/^outlier: //p' by-hand/out; sed 1d by-hand/csv | cut -d , -f 21-26)" \
		"unknown, because no fences were seen$share\\|,,,,,|exchange of .*\\|exchange,.*"
	like "$mpi: the listing of one node" "$(sed -n '/^[0-9.]* m*s, /,/^MPI:/p' one/out)" \
		"$(listing '1 node x 2 = 2 ranks' '' '')"

	for file in hidden zeros; do
		like "$mpi: the path if schedstat is $file" \
			"$(sed -n '/^critical/,/^$/s/^exec/&/p' schedstat-$file/out)" \
			"exec( +[0-9.]+){2} +[0-9]+\\.[0-9]{3} {20}[ 0-9]{8}  $rank"
		like "$mpi: the outlier if schedstat is $file" \
			"$(sed -n 's/^outlier: //p' schedstat-$file/out)" \
			"none$share|.* above the median"
		like "$mpi: the row if schedstat is $file" \
			"$(sed 1d schedstat-$file/csv | cut -d , -f 17-20)" \
			'[0-9]+\.[0-9]{3},,,[0-9]+'
	done

	# If memory is short, other ranks may have some faults, too.
	if [ -n "$cold" ]; then
		is "$mpi: only the rank that reads cold pages has 512 faults" \
			"$(awk -F , 'NR > 1 && $17 >= 512 { print $1 }' cold/ranks)" "$cold"
	fi

	is "$mpi: the daemon if no fences are seen" \
		"$(awk -F , 'NR == 2 { print $(NF - 1) "," $NF }' by-hand/csv)" slurmstepd,
	ok "$mpi: a header in an empty file" [ "$(sed 1q one/csv)" = "$csv_header" ]
	is "$mpi: odd host names" "$(sed -n 's/^exchange .*with . on //p' named/out | uniq)
$(sed 1d named/csv | cut -d , -f 8,29,30)
$(sed 1d named/ranks | cut -d , -f 3 | uniq)" 'n,??
n???,n???,n???
n???'
	is "$mpi, one: the old rows of --ranks are gone" \
		"$(cut -d , -f 1 one/ranks | paste -s -d ' ' -)" 'rank 0 1'
	for case in one by-hand schedstat-hidden schedstat-zeros; do
		figures_agree "$case"
	done
}

for mpi in mpich openmpi; do
	has_mpi $mpi || continue
	quick_build $mpi
	bytes=$(wc -c <"$dir/ziaprobe")
	srun='srun --nodes 4 --ntasks 8 --ntasks-per-node'
	case $mpi in
	openmpi)
		mpirun='mpirun.openmpi --host n1:2,n2:2,n3:2,n4:2 -npernode'
		daemon='(orted|prted)'
		version='Open MPI v[0-9.]+[^|,]*,'
		fences='[24], PMIx' ;;
	mpich)
		mpirun='mpiexec.hydra -hosts n1,n2,n3,n4 -n 8 -ppn'
		daemon=hydra_pmi_proxy
		version='MPICH Version: *[0-9]'
		fences='[1-3], PMI' ;;
	esac
	fence=$(row fence) init=$(own init)
	phases="($(own init)($(phase fence ", last in: $rank"))?)*"
	files='--csv csv --ranks ranks 2'

	expect plain 0 "../ziatest --csv csv 2 '$srun'; $leaks ../ziatest -vv $files '$srun'" \
		"$result" "$result"
	expect quoted 0 \
		"../ziatest --csv \"a \\\"b's\\\" \\\$x\" --ranks ' r' 2 '$mpirun'" "$result"

	if [ $mpi = openmpi ]; then	# mpirun itself starts the ranks of its own node
		expect itself 0 \
			"../ziatest $files 'mpirun.openmpi --oversubscribe -npernode'" \
			"$result" "$one_node"
	fi

	if [ $mpi = "$first_mpi" ]; then
		add_cases
	fi
	run_cases 3

	cd "$dir" || exit 1
	like "$mpi: the listing" "$(sed -n '/^[0-9.]* m*s, /,/^MPI:/p' plain/out)" \
		"$(listing '4 nodes x 2 = 8 ranks' ", $partner" "$clock")"
	responder="[0-9],[24],n[24](,$ms){3},(,$ms){3},,$ms,,$work,0\\.000,$started"
	originator="[0-9],[13],n[13](,$ms){3},(,$ms){6},$work,0\\.000,$started"
	like "$mpi: a row for every rank" "$(cat plain/ranks)" \
		"$ranks_header((\|$originator){2}(\|$responder){2}){2}"
	is "$mpi: the rows are in the order of the ranks" \
		"$(cut -d , -f 1-3 plain/ranks | paste -s -d ' ' -)" \
		'rank,node,host 0,1,n1 1,1,n1 2,2,n2 3,2,n2 4,3,n3 5,3,n3 6,4,n4 7,4,n4'
	row="$started,4,2,8,$ms,,[0145],n[13](,$ms){3},(,$ms){4},$work,$outlier"
	row="$row(,$ms){2},n[1-4],n[1-4],$ms,ziaprobe,$bytes,${version%,}[^|,]*,slurmstepd,"
	row="$row${fences#*, }"
	like "$mpi: a row for every result, after one header" "$(cat plain/csv)" \
		"$csv_header(\|$row){2}"
	like "$mpi: the daemon of another launcher" \
		"$(awk -F , 'NR == 2 { print $(NF - 1) "," $NF }' quoted/"a \"b's\" \$x")" \
		"$daemon,${fences#*, }"
	if [ $mpi = openmpi ]; then
		# The mpirun of Open MPI 5 becomes prterun.
		like 'ranks that mpirun started itself' \
			"$(awk -F , 'NR == 2 { print $(NF - 1) }' itself/csv)" 'mpirun|prterun'
	fi
	stamp_us=$(sed -n '4,$s/.*ziaprobe [0-9]* \([0-9]*\) 2 .*/\1/p' plain/out)
	like "$mpi: started is the stamp" "$(sed -n 3p plain/csv)" \
		".*T.*:.*:.*\.$(printf %06d "$stamp_us")Z,.*"
	is "$mpi: odd file names" \
		"$(wc -l <quoted/' r') $(wc -l <quoted/"a \"b's\" \$x")" '9 2'
	figures_agree plain
	if [ $mpi = "$first_mpi" ]; then
		judge_cases
	fi
	cd "$top" || exit 1
done

# shared LAUNCH-LINE EXPECTED: succeeds if the outlier's line has EXPECTED. Another phase may be the
# outlier, so callers poll.
shared() {
	timeout 60 ./ziatest -v 2 "$1" >"$tmp/shared" 2>&1
	grep -q -E "^outlier: .*[(]2 ranks share 1 CPU; $2[)]" "$tmp/shared"
}
cpu=$(taskset -pc $$ | sed "s/.*: *//; s/[-,].*//")
# The ranks may use one CPU. The daemon that started them may use only that CPU, or all CPUs.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for mpi in mpich openmpi; do
	has_mpi $mpi || continue
	cd "$tmp/$mpi" || exit 1
	case $mpi in
	openmpi) launcher='mpirun.openmpi --bind-to none -n' daemon='(mpirun.openmpi|prterun)' ;;
	mpich) launcher='mpiexec.hydra -n' daemon=hydra_pmi_proxy ;;
	esac
	if [ "$(nproc)" -lt 2 ]; then
		skip "$mpi: the CPUs of the daemon" 'this machine has only one CPU'
		continue
	fi
	ok "$mpi: the daemon is bound, and so are the ranks" poll 100 \
		shared "taskset -c $cpu $launcher" "$daemon, $limited"
	ok "$mpi: only the ranks are bound" poll 100 \
		shared "$launcher {} taskset -c $cpu" "$daemon, their parent, may use $(nproc)"
	cd "$top" || exit 1
done
finish
