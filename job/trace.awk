# trace.awk - print which calls took the most time, from the output of strace -ttt -T -y
#
#	awk -v title=TITLE -v status=EXIT_STATUS -v ended=END_TIME -f trace.awk ziaprobe-trace.14

# Returns the row that counts the call NAME(ARGUMENTS) = RESULT. It names the directory of the path
# or, if WHOLE is set, the path itself.
function group_of(call, whole,   name, bare, about) {
	name = substr(call, 1, index(call, "(") - 1)
	call = substr(call, length(name) + 2)
	if (match(call, /.*\) += /)) {
		if (substr(call, RLENGTH + 1) ~ /^-1 ENOENT /)
			return name ", not found"
		call = substr(call, 1, RLENGTH)
	}
	bare = call
	gsub(/"([^"\\]|\\.)*"/, "", bare)
	if (match(bare, /[0-9D]<[^>]*>/))	# 3<file>, or AT_FDCWD<directory>
		about = substr(bare, RSTART + 2, RLENGTH - 3)
	if (name ~ /(at2?|statx)$/)
		sub(/^[A-Z_0-9]+(<[^>]*>)?, /, "", call)
	if (match(call, /^"([^"\\]|\\.)+"/) && name !~ /^(getrandom|memfd_create)$/) {
		call = substr(call, 2, RLENGTH - 2)
		sub(/^(\.\/+)+/, "", call)
		about = call ~ /^\// ? call : (about == "" ? "." : about) "/" call
		if (!whole && about !~ /^\/(sys|proc|dev)\//)
			about = match(about, /.\/[^\/]*$/) ? substr(about, 1, RSTART) : "/"
	} else if (about !~ /^\//)
		sub(/:.*/, "", about)	# socket:[4711]
	return about == "" ? name : name " " about
}

# Prints the ROWS groups of lines FROM to TO - 1 with the most time, if all take LEAST ms in total
function print_table(from, to, part, rows, least,   i, calls, all, sum, count, longest) {
	for (i = from; i < to; i++)
		if (group[i] != "") {
			calls++
			all += took[i]
			sum[group[i] by[i]] += took[i]
			count[group[i] by[i]]++
		}
	if (all < least)
		return
	printf("%s, %s: %d calls took %.1f of %.1f ms\n", title, part, calls, all,
		1000 * (time[to] - time[from]))
	printf("%10s %7s  %s\n", "ms", "calls", "call")
	for (; rows > 0 && calls > 0; rows--) {
		longest = ""
		for (i in sum)
			if (longest == "" || sum[i] > sum[longest])
				longest = i
		printf("%10.1f %7d  %s\n", sum[longest], count[longest], longest)
		calls -= count[longest]
		delete sum[longest]
	}
}

# A call without a result lasts until the next line.
function begin_line(at) {
	if (unfinished)
		took[n] += 1000 * (at - time[n])
	time[++n] = at
}

# Libraries call ziaprobe only for fences, but a program calls MPI_Init of libziaprobe.so.
/^ > .*\(/ && is_call {	# a frame of the stack: FILE(FUNCTION+0x12) [0x345]
	sub(/^ > ([^(]*\/)?/, "")
	sub(/(\+0x[0-9a-f]+)?\) \[.*/, ")")
	sub(/\(\)$/, "")
	if (/^(lib)?ziaprobe/)
		in_fence = !/\(P?MPI_Init/
	else if (!/^(ld|ld64|libc|libdl|libpthread|librt)[-.]/) {
		if (by[n] == "")
			by[n] = " by " $0
		if (in_fence && reading == n)
			reading = earlier
	}
}
$1 !~ /^[0-9]+\.[0-9]+$/ { next }
{
	begin_line($1)
	is_call = $2 ~ /^[a-z0-9_]+\(/
	unfinished = is_call && (!match($0, /<[0-9.]+>$/) || / = \? [^"]*$/)
	in_fence = 0
}
is_call {
	took[n] = unfinished ? 0 : 1000 * substr($0, RSTART + 1, RLENGTH - 2)
	text = substr($0, length($1) + 2)
	if (text ~ /^restart_syscall\(/ && interrupted)
		text = interrupted_text
	group[n] = group_of(text)
}
# The kernel restarts a call that a signal has interrupted, unless rt_sigreturn returns EINTR.
is_call && !alarm {	# calls of the timeout handler do not count
	if (group[n] == group[interrupted]) {
		took[n] += took[interrupted]
		by[n] = by[interrupted]
		group[interrupted] = ""
	}
	if (unfinished) {
		interrupted = n
		interrupted_text = text
	} else if (text ~ /^rt_sigreturn\(.* EINTR /)
		interrupted = 0
	last = n
	stuck = unfinished && text !~ /^exit/ ? text : ""
}
# Main begins with the first reading after schedstat was last opened; libziaprobe.so also opens it
# when the program's libraries are loaded. MPI_Init ends at the last reading before /proc/self/stat
# is opened. Later, a fence in MPI_Finalize may read as well.
$2 ~ /^open/ && /"\/proc\/thread-self\/schedstat"/ { main = 0 }
$2 ~ /^pread64\((-1|[0-9]+<\/proc\/[0-9]+\/task\/[0-9]+\/schedstat>),$/ {
	if (!main)
		main = n
	earlier = reading
	reading = n
}
$2 ~ /^open/ && /"\/proc\/self\/stat"/ { returned = reading }
# The timeout of ziaprobe sends SIGRTMAX - 1.
$2 == "---" && $3 == "SIGRT_31" && main && !alarm { alarm = n }
$2 == "+++" { ending = ($3 == "killed" ? "death by " : "exit with ") $5 }
END {
	if (!n) {
		print "job/trace: error: no calls found (is -f or -c in TRACE_OPTIONS?)"
		exit
	}
	begin_line(unfinished ? ended : time[n])
	if (stuck) {
		group[last] = group_of(stuck, "whole")
		by[last] = by[last] ", did not return"
	}
	if (!main)
		print_table(1, n, "as a whole", 12)
	else if (ending == "exit with 0")
		print_table(main, returned ? returned : reading,
			"from main to the end of MPI_Init", 12)
	else if (alarm || status == 124)
		print_table(main, alarm ? alarm : n, "from main to the timeout", 12)
	else
		print_table(main, n, "from main to its " (ending ? ending : "end"), 12)
	if (main)
		print_table(1, main, "before main", 6, 10)
}
