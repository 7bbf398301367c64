#!/bin/sh
# tests/cluster itself: the status and the output of the command, as root and as an ordinary user;
# signals; error messages; and the README's example of a slow node
. "$(dirname "$0")/lib.sh"
needs_cluster

hosts=$(printf 'n1\nn2\nn3')

run tests/cluster 3 srun -N 3 -n 3 hostname
is "the command's output, from three nodes" "$(sort "$tmp/out")" "$hosts"
is 'the daemons print nothing on stderr' "$err" ''
is 'status 0' "$status" 0
echo input | tests/cluster 2 sh -c 'cat; ssh n2 hostname; echo err >&2; exit 7' \
	>"$tmp/out" 2>"$tmp/err"
is "the command's status, input, output and errors, and ssh to a node" \
	"$? $(cat "$tmp/out" "$tmp/err" | paste -s -d ' ' -)" '7 input n2 err'
run env SLURM_JOB_ID=7 SLURM_NTASKS=9 SLURM_MPI_TYPE=none SLURM_PMIX_FENCE=mixed \
	tests/cluster 1 sh -c 'echo "$SLURM_MPI_TYPE $SLURM_PMIX_FENCE"; srun hostname'
is "inside a job of the host's Slurm: only the MPI type and the fence are inherited" "$out" \
	"$(printf 'none mixed\nn1')"

# Interrupted: none of its processes is left, and hence no namespace; no mount is left either. The
# processes are recognised by a mark in their environment.
left() {
	grep -lasF "MARK=$tmp" /proc/[0-9]*/environ
}
none_left() {
	[ -z "$(left)" ]
}
for signal in INT KILL; do
	# Without job control, a background job ignores SIGINT.
	MARK=$tmp env --default-signal=INT tests/cluster 2 \
		sh -c "srun -N 2 sleep 1000 & touch $tmp/$signal; sleep 1000" &
	pid=$!
	ok "SIG$signal: the cluster was up" poll 60 test -e "$tmp/$signal"
	ok "SIG$signal: its processes are found" test -n "$(left)"
	kill -$signal $pid
	wait $pid 2>/dev/null
	is "SIG$signal: the status is that of the signal" "$(kill -l $?)" $signal
	ok "SIG$signal: no process is left" poll 20 none_left || diag "$(left)"
done
is 'no mount is left' "$(mount | grep /run/cluster)" ''

# Kernel settings, in a copy for which they are files: two nodes raise the limits above 3.
if [ "$(id -u)" -eq 0 ]; then
	sed "s|=/proc/sys|=$tmp/sys|; s|=/run/ziatest|=$tmp/ziatest|" tests/cluster >"$tmp/copy"
	limits=$tmp/sys/net/ipv4/neigh/default
	mkdir -p "$tmp/sys/kernel" "$limits"
	echo 1 | tee "$tmp/sys/kernel/sched_autogroup_enabled" >"$limits/gc_thresh1"
	echo 2 >"$limits/gc_thresh2"
	echo 3 >"$limits/gc_thresh3"
	settings() {
		cat "$tmp/sys/kernel/sched_autogroup_enabled" "$limits"/* | paste -s -d ' ' -
	}
	sh "$tmp/copy" 2 sh -c "touch '$tmp/up'; until [ -e '$tmp/enough' ]; do sleep 0.1; done" &
	poll 60 test -e "$tmp/up"
	sh "$tmp/copy" 1 true
	is 'kernel settings while a cluster runs' "$(settings)" '0 8 8 8'
	touch "$tmp/enough"
	wait $!
	is 'they are restored when the last one ends' "$(settings)" '1 1 2 3'
fi

# As an ordinary user: root becomes a user that exists only in the /etc of a mount namespace.
name='as an ordinary user'
if [ "$(id -u)" -eq 0 ]; then
	cp tests/cluster "$tmp/for-user"
	cp -a /etc "$tmp"
	echo 'tester:x:65001:65001::/:/bin/sh' >>"$tmp/etc/passwd"
	echo 'tester:100000:65536' | tee -a "$tmp/etc/subuid" >>"$tmp/etc/subgid"
	as_user() {
		unshare --mount sh -c 'mount --bind "$0/etc" /etc && cd / && exec "$@"' "$tmp" \
			setpriv --reuid 65001 --regid 65001 --clear-groups "$@"
	}
	run as_user "$tmp/for-user" 3 srun -N 3 -n 3 hostname
	is "$name" "$(sort "$tmp/out")$err$status" "${hosts}0"
	run setpriv --reuid 65000 --regid 65000 --clear-groups "$tmp/for-user" 1 true
	like 'a user without subordinate ids: an error with the remedy' "$err/$status" \
		'tests/cluster: no entry for 65000 in /etc/subuid: [^|]*usermod[^|]*/125'
else
	skip "$name" 'only root can become another user'
fi

# Error messages.
mkdir "$tmp/none"
for tool in sh id env setpriv unshare ip munged srun; do
	ln -s "$(PATH=$PATH:/usr/sbin command -v $tool)" "$tmp/none/$tool"
done
run sh -c "sed 's|^PATH=.*|PATH=$tmp/none|' tests/cluster >$tmp/poor; sh $tmp/poor 1 true"
like 'a missing package: one line that names it' "$out/$err/$status" \
	'/tests/cluster: slurmctld not found: install it [^|]*apt-get install slurm-wlm\)/125'
for args in 4 'x true' '0 true'; do
	# shellcheck disable=SC2086 # one or two
	run tests/cluster $args
	like "arguments '$args': an error" "$out/$err/$status" '/tests/cluster: usage: [^|]*/125'
done

# The README's example
if has_mpi openmpi; then
	quick_build openmpi
	ln -s "$top/tests" "$dir"
	cd "$dir" || exit 1
	run tests/demos/slow 5
	like 'make slow: the outlier' "$(printf '%s\n' "$err" | grep ^outlier)" \
		'outlier: init of rank [0-9]+ on n3 and 3 more ranks there, .*, mostly blocked'
fi
finish
