# figures.awk - checks that the reports of one run agree
#
#	awk -F , -f figures.awk OUT RANKS CSV
#
# OUT is the output of ziaprobe -v or -vv, RANKS the file of --ranks, and CSV that of --csv, with one
# row.
# All times are compared in whole microseconds or, if OUT is in seconds, in whole milliseconds.
# Prints a line for each disagreement.

# Returns TEXT, which has three decimals, without its point: ms as us. What is empty stays empty.
function us(text) {
	sub(/\./, "", text)
	return text == "" ? "" : text + 0
}

# Returns US as OUT has it, without its point.
function shown(us) {
	if (us == "" || unit == "ms,")
		return us
	return int(us / 1000 + (us < 0 ? -.5 : .5))
}

# The same for "MIN MEDIAN MAX RANK"
function all_shown(text, word) {
	if (text == "")
		return ""
	split(text, word, " ")
	return shown(word[1]) " " shown(word[2]) " " shown(word[3]) " " word[4]
}

# Expects the sum of PHASES numbers, which may have been rounded.
function expect_sum(what, sum, expected) {
	if (unit == "s," && sum != "" && expected != "" && sum - expected <= phases &&
		expected - sum <= phases)
		return
	expect(what, sum, expected)
}

function expect(what, got, expected) {
	if (got "" != expected "")
		print what ": " got ", not " expected
}

# Returns the value of RANK in COLUMN, in us, or 0 if the cell is empty.
function value(rank, column) {
	return us(cell[rank, column]) + 0
}

# Returns when RANK received its reply, by the reference clock.
function replied(rank) {
	return value(rank, "completed") - value(rank, "clock_offset")
}

# RANK must have a value in COLUMN if APPLIES is 1, and an empty cell if it is 0.
function expect_cell(rank, column, applies) {
	expect("rank " rank " has " column, cell[rank, column] != "", applies)
}

# Returns "MIN MEDIAN MAX RANK" for COLUMN over all ranks. RANK is the first one that has MAX.
function summary(column, rank, i, n, sorted, slowest) {
	for (rank = 0; rank < size; rank++) {
		if (cell[rank, column] == "")
			continue
		if (n == 0 || value(rank, column) > value(slowest, column))
			slowest = rank
		for (i = ++n; i > 1 && sorted[i - 1] > value(rank, column); i--)
			sorted[i] = sorted[i - 1]
		sorted[i] = value(rank, column)
	}
	return n ? sorted[1] " " sorted[int((n + 1) / 2)] " " sorted[n] " " slowest : ""
}

FNR == 1 {
	file++
}
file == 1 {
	count = split($0, word, " ")
}
/^[0-9.]+ m?s, / {
	time = us(word[1])
	unit = word[2]
}
/^(critical path|m?s) / {
	part = word[1] == "critical" ? "critical" : "table"
	next
}
!NF {
	part = ""
}
/^outlier: .* of rank / {
	outlier = word[2]
	outlier_rank = word[5]
	if (/, mostly on the CPU$/)
		kind = "cpu"
	if (/, mostly waiting for a CPU( [(].*[)])?$/)
		kind = "cpu_wait"
	if (/, mostly blocked$/)
		kind = "blocked"
	outlier_nodes = 1
	if (match($0, /, on [0-9]+ of [0-9]+ nodes [(]/)) {
		split(substr($0, RSTART), word, " ")
		outlier_nodes = word[3]
	}
	sub(/ m?s above the median.*/, "")
	sub(/.* /, "")
	excess = us($0)
}
/^fences: / {
	part = ""
	fences = word[2] != "none"
	fence_interface = word[3]
}
/^MPI: / {
	mpi = substr($1, 6)
}
/^clock offset: / {
	sub(/,$/, "", word[8])
	sub(/,$/, "", word[10])
	clocks = us(word[3]) " " us(word[6]) " " word[8] " " word[10]
}
/^clock offset: .*; corrected time / {
	sub(/.*corrected time /, "")
	corrected = $0
	sub(/ .*/, "", corrected)
}
part == "critical" {
	phase[++phases] = word[1]
	us_of[phases] = us(word[2])
	first = word[1] == "clock" ? 3 : 4 # which has no median
	median[phases] = first > 3 ? us(word[3]) : ""
	for (at = first; word[at + 1] != "on"; at++)
		;
	rank_of[phases] = word[at]
	works[phases] = at - first # the number of cells: cpu to faults, cpu and faults, or none
	if (at > first) {
		work[phases, "cpu"] = word[first]
		work[phases, "cpu_wait"] = at > first + 2 ? word[first + 1] : ""
		work[phases, "blocked"] = at > first + 2 ? word[first + 2] : ""
		work[phases, "faults"] = word[at - 1]
	}
	path = path " " word[1]
	total += us(word[2])
	sum[word[1]] += us(word[2])
}
part == "table" {
	rows = rows " " word[1]
	table[word[1]] = count > 1 ? us(word[2]) " " us(word[3]) " " us(word[4]) " " word[5] : ""
}
file > 1 && FNR == 1 {
	for (i = 1; i <= NF; i++) {
		name[i] = $i
		if ($i == "daemon")
			name[i] = "daemon_name" # daemon is daemon_ms
		else if ($i != "outlier_ms") # there is also a column outlier
			sub(/_ms$/, "", name[i])
	}
	next
}
file == 2 {
	size++
	for (i = 1; i <= NF; i++)
		cell[$1, name[i]] = $i
}
file == 3 {
	for (i = 1; i <= NF; i++)
		csv[name[i]] = $i
}

END {
	n = csv["ppn"]
	schedstat = csv["cpu_wait"] != "" # otherwise, of these three only cpu is known
	split("cpu cpu_wait blocked faults", work_name, " ")
	split("exec init wait mpi_init cpu", always, " ")

	# The path
	expect("the path", total, time)
	sub(/ exec setup /, " exec ", path)
	if (path !~ /^( daemon)?( spawn)? exec( init( fence)?)* init( exchange)+( clock)?$/)
		print "not a path:" path
	for (i = 1; i <= phases; i++) {
		has_work = phase[i] ~ /^(exec|setup)$/ || (phase[i] == "init" && fences)
		what = phase[i] " of rank " rank_of[i] " on the path"
		if (phase[i] != "clock" && \
			us_of[i] > shown(value(rank_of[i], phase[i])) + (unit == "s,"))
			print what ": longer than the rank's total"
		expect(what " has work", works[i], has_work ? (schedstat ? 4 : 2) : 0)
		if (phase[i] ~ /^(daemon|spawn|exec|setup|exchange)$/) { # one for each rank
			split(summary(phase[i]), word, " ")
			expect("the median of " phase[i], median[i], shown(word[2]))
		}
		for (j = 1; j <= 4; j++)
			if (work[i, work_name[j]] != "")
				sum[work_name[j]] += us(work[i, work_name[j]])
	}

	# The outlier
	expect("outlier", csv["outlier"], outlier)
	expect("outlier_rank", csv["outlier_rank"], outlier_rank)
	expect("outlier_host", csv["outlier_host"], cell[outlier_rank, "host"])
	expect("outlier_ms", shown(us(csv["outlier_ms"])), excess)
	expect("outlier_kind", csv["outlier_kind"], kind)
	expect("outlier_nodes", csv["outlier_nodes"], outlier_nodes)
	has_kind = schedstat && (outlier ~ /^(exec|setup)$/ || (outlier == "init" && fences))
	expect("the outlier, " outlier ", has a kind", kind != "", has_kind)
	if (!fences && outlier != "" && outlier != "exchange")
		print "without fences, the outlier is " outlier

	# The row
	expect("time_ms", shown(us(csv["time"])), time)
	split(summary("completed"), word, " ")
	expect("max completed_ms", shown(word[3]), time)
	expect("slowest_rank", csv["slowest_rank"], word[4])
	expect("slowest_host", csv["slowest_host"], cell[word[4], "host"])
	split("daemon spawn exec setup init fence exchange clock", word, " ")
	sum["clock"] += 0
	if (fences)
		sum["fence"] += 0
	for (i = 1; i <= 8; i++)
		expect_sum("the path's " word[i], sum[word[i]], shown(us(csv[word[i]])))
	for (i = 1; i <= 4; i++)
		expect_sum("the path's " work_name[i], sum[work_name[i]],
			work_name[i] == "faults" ? csv["faults"] : shown(us(csv[work_name[i]])))
	split(summary("mpi_init"), word, " ")
	expect("mpi_init_max_ms", us(csv["mpi_init_max"]), word[3])
	if (size > n) {
		expect("corrected_ms", shown(us(csv["corrected"])), us(corrected))
		bound = us(csv["offset_bound"])
		if (unit == "s,")
			bound = int((bound + 999) / 1000)
		expect("the clocks", clocks, shown(us(csv["offset"])) " " bound " " \
			csv["offset_host"] " " csv["reference_host"])
	}
	latest = replied(0)
	for (r = 0; r < size; r++)
		if (cell[r, "completed"] != "" && replied(r) > latest)
			latest = replied(r)
	if (csv["corrected"] != "")
		expect("the corrected time", us(csv["corrected"]), latest)
	expect("mpi", csv["mpi"], mpi)
	expect("fence_interface", csv["fence_interface"], fence_interface)

	# The table of -vv
	count = split("daemon spawn exec setup init fence wait exchange mpi_init completed" \
		" cpu cpu_wait blocked faults", word, " ")
	for (i = 1; i <= count; i++) {
		if (rows != "")
			expect("the table's " word[i], table[word[i]],
				word[i] == "faults" ? summary(word[i]) : all_shown(summary(word[i])))
		if (summary(word[i]) != "")
			names = names " " word[i]
	}
	if (rows != "")
		expect("the table's rows", rows, names)

	# The ranks
	for (r = 0; r < size; r++) {
		originator = int(r / n) % 2 == 0
		for (i = 1; i <= 5; i++)
			expect_cell(r, always[i], 1)
		expect_cell(r, "setup", csv["program"] != "ziaprobe")
		expect_cell(r, "fence", fences)
		expect_cell(r, "exchange", originator)
		expect_cell(r, "completed", originator)
		expect_cell(r, "cpu_wait", schedstat)
		expect_cell(r, "blocked", schedstat)
		if (!fences)
			expect("init of rank " r, value(r, "init"), value(r, "mpi_init"))
		if (schedstat)
			expect("cpu to blocked of rank " r, value(r, "cpu") + \
				value(r, "cpu_wait") + value(r, "blocked"), \
				value(r, "exec") + value(r, "setup") + \
				(fences ? value(r, "init") : 0))
		end = value(r, "daemon") + value(r, "spawn") + value(r, "exec") + \
			value(r, "setup") + value(r, "init") + value(r, "fence") + \
			value(r, "wait") + value(r, "exchange")
		if (originator)
			expect("phases and wait of rank " r, end, replied(r))
		expect("clock_offset_ms of rank " r, cell[r, "clock_offset"], \
			cell[int(r / n) * n, "clock_offset"])
	}
}
