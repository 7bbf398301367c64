#!/bin/sh
# tests/cluster itself: the status and the output of the command, as root and as an ordinary user;
# signals; error messages; and the README's example of a slow node
. "$(dirname "$0")/lib.sh"
needs_cluster

echo input | tests/cluster 3 sh -c 'cat; srun hostname; ssh n2 hostname; echo err >&2; exit 7' \
	>"$tmp/out" 2>&1
is "the command's status, input, output and errors, ssh to a node, and no output of the daemons" \
	"$? $(paste -s -d ' ' "$tmp/out")" '7 input n1 n2 err'
run env SLURM_JOB_ID=7 SLURM_NTASKS=9 SLURM_MPI_TYPE=none SLURM_PMIX_FENCE=mixed \
	tests/cluster 1 sh -c 'echo "$SLURM_MPI_TYPE $SLURM_PMIX_FENCE"; srun hostname'
is "inside a job of the host's Slurm: only the MPI type and the fence are inherited" "$out" \
	"$(printf 'none mixed\nn1')"

# After a signal, no process of the cluster is left, and hence no namespace. A mark in their
# environment identifies the processes.
none_left() {
	! grep -qasF "MARK=$tmp" /proc/[0-9]*/environ
}
for signal in INT KILL; do
	# Without job control, a background job ignores SIGINT.
	MARK=$tmp env --default-signal=INT tests/cluster 2 \
		sh -c "srun -N 2 sleep 1000 & touch $tmp/$signal; sleep 1000" &
	poll 60 test -e "$tmp/$signal"
	kill -$signal $!
	wait $! 2>/dev/null
	is "SIG$signal: the status is that of the signal" "$(kill -l $?)" $signal
	ok "SIG$signal: no process is left" poll 20 none_left
done

name='as an ordinary user'
if [ "$(id -u)" -eq 0 ]; then
	# A copy of tests/cluster changes files instead of kernel settings. Two nodes raise the
	# limits above 3.
	sed "s|=/proc/sys|=$tmp/sys|; s|=/run/ziatest|=$tmp/ziatest|" tests/cluster >"$tmp/copy"
	limits=$tmp/sys/net/ipv4/neigh/default
	mkdir -p "$tmp/sys/kernel" "$limits"
	echo 1 >"$tmp/sys/kernel/sched_autogroup_enabled"
	for number in 1 2 3; do
		echo $number >"$limits/gc_thresh$number"
	done
	settings() {
		cat "$tmp/sys/kernel/sched_autogroup_enabled" "$limits"/* | paste -s -d ' ' -
	}
	sh "$tmp/copy" 2 sh -c "touch '$tmp/up'; until [ -e '$tmp/enough' ]; do sleep 0.1; done" &
	poll 60 test -e "$tmp/up"
	sh "$tmp/copy" 1 true
	is 'kernel settings while a cluster runs' "$(settings)" '0 8 8 8'
	touch "$tmp/enough"
	wait $!
	is 'kernel settings are restored when the last cluster ends' "$(settings)" '1 1 2 3'

	# Root becomes a user that exists only in the /etc of a mount namespace.
	cp tests/cluster "$tmp/for-user"
	cp -a /etc "$tmp"
	echo 'tester:x:65001:65001::/:/bin/sh' >>"$tmp/etc/passwd"
	echo 'tester:100000:65536' | tee -a "$tmp/etc/subuid" >>"$tmp/etc/subgid"
	run unshare --mount sh -c "mount --bind $tmp/etc /etc && cd / && exec setpriv \
--reuid 65001 --regid 65001 --clear-groups $tmp/for-user 3 srun -N 3 -n 3 hostname"
	is "$name" "$(sort "$tmp/out" | paste -s -d ' ' -)$err$status" 'n1 n2 n30'
	run setpriv --reuid 65000 --regid 65000 --clear-groups "$tmp/for-user" 1 true
	like 'a user without subordinate ids: an error with the remedy' "$err/$status" \
		'tests/cluster: no entry for 65000 in /etc/subuid: [^|]*usermod[^|]*/125'
else
	skip "$name" 'only root can become another user'
fi

mkdir "$tmp/none"
for tool in sh id env setpriv unshare ip munged srun; do
	ln -s "$(PATH=$PATH:/usr/sbin command -v $tool)" "$tmp/none/$tool"
done
sed "s|^PATH=.*|PATH=$tmp/none|" tests/cluster >"$tmp/poor"
run sh "$tmp/poor" 1 true
like 'a missing package: one line that names it' "$out/$err/$status" \
	'/tests/cluster: slurmctld not found: install it [^|]*apt-get install slurm-wlm\)/125'

if has_mpi openmpi; then
	quick_build openmpi
	ln -s "$top/tests" "$dir"
	cd "$dir" || exit 1
	run tests/demos/slow 5
	like 'make slow: the outlier' "$(printf '%s\n' "$err" | grep ^outlier)" \
		'outlier: init of rank [0-9]+ on n3 and 3 more ranks there, .*, mostly blocked'
fi
finish
