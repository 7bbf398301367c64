# summary.awk - the summary of a Ziatest job; summarize runs it, together with nodes.awk
#
# Reads build.txt, changes.diff, environment.txt and results.csv, then output/NODES-RUN.txt and
# ranks-NODES-RUN.csv, both by size and run. Prints the summary, or with table=1 a row (table=2: and
# the heading). Of each size the first launch is one figure, the median of the later ones another.

BEGIN {
	FS = ","
	worst = "PASS"
}

{ sub(/\r$/, "") }	# a file that has been on a Windows machine

FNR == 1 {
	finish_nodes()
	id = FILENAME	# becomes NODES-RUN
	gsub(/^[a-z]*.|\..*/, "", id)
	split(id, part, "-")
	who = "run " part[2] " on " part[1] " nodes: "
	stamp = said = error = ""
	for (i = 1; i <= NF; i++)
		column[$i] = i
}

FILENAME == "build.txt" && sub(/^commit: /, "") { commit = $0 }

FILENAME == "changes.diff" && /^diff / && sub(/.* "?b\//, "") {
	differ++
	if (/^Makefile$|\.[ch]"?$/)
		changed = changed (changed ? ", " : "") $0
}

FILENAME == "environment.txt" && (at = index($0, "=")) && !(substr($0, 1, at - 1) in env) {
	env[substr($0, 1, at - 1)] = substr($0, at + 1)
}

FILENAME == "results.csv" && FNR > 1 {
	rows++
	stamp = substr($column["started"], 12, 15)	# the time of day
	row[stamp] = $0
	for (name in column)
		value[stamp, name] = $column[name]
}

FILENAME ~ /^output/ {
	if (match($0, /ziaprobe.? [0-9]+ [0-9]+ [0-9]+ --verbose/)) {
		split(substr($0, RSTART), word, " ")
		stamp = sprintf("%02d:%02d:%02d.%06d", word[2] / 3600 % 24, word[2] / 60 % 60,
			word[2] % 60, word[3])
	}
	if (/^Time test was completed in |^Slowest rank: |^[0-9.]+ ms, /)
		said = said $0 "; "
	if (/error:/ && !error)
		error = $0 "; "
	if (/^ziaprobe: warning: / && ++warned)
		warnings = warnings "\n" who $0
	if (sub(/^executable: /, ""))
		bytes = $0 + 0
	if (sub(/^MPI: /, "") && gsub(/[ \t]+/, " "))
		mpi = $1
	if (/^status [0-9]+$/)
		finish_run()
}

# A time in ms, rounded half up to microseconds, as the probe prints it
function rounded(ms) {
	return sprintf("%.3f", int(ms * 1000 + 0.5001) / 1000)
}

# A run counts if the settings ask for it, its status is 0, and its row is valid, of no other run,
# and has the three lines that it printed.
function finish_run(    ms, time, asked, line) {
	asked = part[2] <= env["RUNS"] + 0 && index(" " env["SWEEP"] " ", " " part[1] " ")
	line = stamp in row ? row[stamp] : "none"	# by the first output that is of this run
	matched += line != "none"
	delete row[stamp]
	ms = value[stamp, "time_ms"]
	time = sprintf("%8.2f millisecs", ms)
	if (ms >= 1000)
		time = sprintf("%3d:%02d min:sec", ms / 60000, ms / 1000 % 60)
	time = "Time test was completed in " time "; Slowest rank: " value[stamp, "slowest_rank"] \
		sprintf("; %s ms, %d nodes x %d = %d ranks; ", rounded(ms), part[1],
			value[stamp, "ppn"], value[stamp, "ranks"])
	if ($0 != "status 0" || said != time || value[stamp, "valid"] != 1 ||
	    value[stamp, "nodes"] != part[1] || line == "none" || !asked) {
		sub(/^status 0/, asked ? "output and row disagree" : "not in SWEEP and RUNS")
		problems = problems "\n" who $0 "; " said error "row: " line
		return
	}
	number[id] = ++runs
	key[runs] = stamp
	nodes[runs] = part[1] + 0
	run[runs] = part[2] + 0
	ppn = value[stamp, "ppn"] + 0
	if (nodes[runs] > largest)
		size[++sizes] = largest = nodes[runs]
	if (runs == 1 || bytes < executable)
		executable = bytes
}

# Of run k, in ms: its time, or one of three parts of its critical path
function figure(name, k,    x) {
	x = key[k]
	if (name == "time")
		return value[x, "time_ms"] + 0
	if (name == "launch")
		return value[x, "daemon_ms"] + value[x, "spawn_ms"] + value[x, "load_ms"]
	if (name == "init")
		return value[x, "setup_ms"] + value[x, "fence_ms"]
	return value[x, "wireup_ms"] + 0
}

function sort(s, n,    gap, i, j, x) {	# s[1..n], a shell sort
	for (gap = int(n / 2); gap > 0; gap = gap == 2 ? 1 : int(gap / 2.2))
		for (i = gap + 1; i <= n; i++) {
			x = s[i]
			for (j = i - gap; j > 0 && s[j] > x; j -= gap)
				s[j + gap] = s[j]
			s[j + gap] = x
		}
}

# The median of a figure over the later runs on n nodes, or that of the first if there are no
# others. Leaves them in s[], sorted, and in later how many they are.
function typical(name, n,    k) {
	later = 0
	for (k = 1; k <= runs; k++)
		if (nodes[k] == n && run[k] > 1)
			s[++later] = figure(name, k)
	sort(s, later)
	return later ? (s[int((later + 1) / 2)] + s[int((later + 2) / 2)]) / 2 : \
		figure(name, number[n "-1"])
}

# The time on n nodes, as text; - where there is none. Leaves in shown the time for the picture: the
# median, of an even number the lower.
function results(n) {
	first = middle = range = "-"
	if (number[n "-1"])
		first = sprintf("%.3f", figure("time", number[n "-1"]))
	shown = typical("time", n)
	if (later) {
		middle = sprintf("%.3f", shown)
		range = sprintf("%.3f to %.3f", s[1], s[later])
		shown = s[int((later + 1) / 2)]
	}
}

function verdict(outcome, text,    order) {
	order = "PASS CHANGED UNKNOWN FAIL"
	if (index(order, outcome) > index(order, worst))
		worst = outcome
	verdicts = verdicts sprintf("%-8s %s\n", outcome, text)
	return outcome
}

function by_hand(name, found) {
	if (env[name] != env[found])
		return " (set by hand; found: " (env[found] ? env[found] : "none") ")"
}

function judge_nodes(    of, others, nics, text) {
	of = env["COMPUTE_NODES"] + 0
	others = env["NODES_ELSEWHERE"]
	text = "compute nodes: " largest
	if (of)
		text = text sprintf(" of %d, %.1f %%; the rule is 99 %%", of,
			int(1000 * largest / of) / 10) by_hand("COMPUTE_NODES", "NODES_FOUND")
	if (!of)
		verdict("UNKNOWN", text "; set COMPUTE_NODES to say of how many")
	else if (100 * largest >= 99 * of)
		verdict("PASS", text)
	else
		verdict("FAIL", text (others ? "; the others: " others : ""))

	nics = env["NICS"] + 0
	text = "ranks per node: " ppn
	if (nics)
		verdict(ppn >= nics ? "PASS" : "FAIL", text ", with " nics " network interface" \
			(nics == 1 ? "" : "s") by_hand("NICS", "NICS_FOUND"))
	else
		verdict("UNKNOWN", text "; no network interface was found: set NICS")
}

function judge_source() {
	if (commit == "" || commit == "UNKNOWN")
		return verdict("UNKNOWN", "source: built outside git")
	if (sub(/-dirty$/, "", commit) && !differ)
		return verdict("UNKNOWN", "source: differs from commit " commit \
			", changes.diff says not how")
	if (changed)
		return verdict("CHANGED", "source: " changed (changed ~ /,/ ? " differ" : \
			" differs") " from commit " commit ", see changes.diff")
	return verdict("PASS", "source: as in commit " commit \
		(differ ? ", but for files that are not compiled, see changes.diff" : ""))
}

function headline(    text) {
	if (!runs)
		return "none, no run is valid"
	text = first == "-" ? "no valid first launch" : first " ms at the first launch"
	if (later)
		text = text "; then " middle " ms"
	if (later > 1)
		text = text ", the median of " later " (" range ")"
	return text sprintf("; %d nodes x %d = %d ranks", largest, ppn, largest * ppn)
}

function tables(    k, i, line) {
	printf("\n%8s %6s %12s %12s %12s %12s  %s\n", "nodes", "run", "time (ms)", "launch", "init",
		"wireup", "slowest on")
	for (k = 1; k <= runs; k++) {
		line = sprintf("%12.3f %12.3f %12.3f %12.3f  %s", figure("time", k),
			figure("launch", k), figure("init", k), figure("wireup", k),
			value[key[k], "slowest_host"])
		printf("%8d %6s %s\n", nodes[k], run[k] == 1 ? "first" : run[k], line)
		if (nodes[k] == largest && figure("time", k) == shown)
			print "ranks-" largest "-" run[k] ".csv" >"shown"
	}
	print "\nThe first launch of each size; then the later ones, of the parts the medians:\n"
	printf("%8s %12s %12s %24s %12s %12s %12s\n", "nodes", "first (ms)", "median", "min to max",
		"launch", "init", "wireup")
	for (i = 1; i <= sizes; i++) {
		results(size[i])
		line = sprintf("%12.3f %12.3f %12.3f", typical("launch", size[i]),
			typical("init", size[i]), typical("wireup", size[i]))
		printf("%8d %12s %12s %24s %s\n", size[i], first, middle, range, line)
		gsub(/ +/, ",", line)
		print size[i] "," typical("time", size[i]) line >"sizes.csv"
	}
}

function print_row(    format) {
	format = "%-20s %13s %3s %4s %-16s %11s %11s %24s %6s %8s %-8s %s\n"
	if (table == 2)
		printf(format, "system, job", "nodes", "ppn", "NICs", "MPI", "first (ms)", "median",
			"min to max", "failed", "warnings", "source", "verdict")
	printf(format, env["SLURM_CLUSTER_NAME"] " " env["SLURM_JOB_ID"],
		(runs ? largest : "-") " of " env["COMPUTE_NODES"], ppn, env["NICS"], mpi, first,
		middle, range, expected - runs, warned + 0, source, worst)
}

END {
	finish_nodes()
	expected = env["RUNS"] * split(env["SWEEP"], word, " ")
	if (matched < rows)
		problems = problems "\nresults.csv: rows without a complete output: " rows - matched
	results(largest)
	if (runs)
		judge_nodes()
	verdict(problems || !runs || runs != expected ? "FAIL" : "PASS", "valid runs: " runs + 0 \
		" of " expected)
	if (runs)
		verdict(executable >= 104857600 ? "PASS" : "FAIL", "executable: " executable \
			" bytes; the rule is 104857600")
	source = judge_source()
	if (table) {
		print_row()
		exit worst == "FAIL"
	}
	job = "job " env["SLURM_JOB_ID"] " on " env["SLURM_CLUSTER_NAME"]
	print "Ziatest: " job ", " env["DATE"] (mpi ? ", " mpi : "")
	printf("Time: %s\n\n%s", headline(), verdicts)
	if (problems)
		print "\nProblems" problems
	if (warnings)
		print "\nWarnings" warnings
	if (runs) {
		print "Ziatest, " job ", " mpi ", " largest " nodes x " ppn >"title"
		tables()
		standing_out()
	}
	exit worst == "FAIL"
}
