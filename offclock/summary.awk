# summary.awk - the summary of a Ziatest job; summarize runs it, together with nodes.awk
#
# Reads lines "environment|build|diff|row TEXT" and "output|ranks NODES-RUN TEXT", in this order,
# runs sorted by size. Prints the summary or, with table=1, a row; what the pictures need goes to
# shown and sizes in the current directory. Of each size the first launch is one figure, the
# median of the later ones another.

BEGIN { worst = "PASS" }

function median(s, n,    gap, i, j, x) {	# of s[1..n], which it sorts: a shell sort
	for (gap = int(n / 2); gap > 0; gap = gap == 2 ? 1 : int(gap / 2.2))
		for (i = gap + 1; i <= n; i++) {
			x = s[i]
			for (j = i - gap; j > 0 && s[j] > x; j -= gap)
				s[j + gap] = s[j]
			s[j + gap] = x
		}
	return (s[int((n + 1) / 2)] + s[int((n + 2) / 2)]) / 2
}

function header(    i) {
	split("", column)
	for (i = split($NF, field, ","); i > 0; i--)
		column[field[i]] = i
}

function value(name) {	# of the row in field[]; empty where there is no such column
	return name in column ? field[column[name]] : ""
}

$1 == "environment" {
	at = index($0, "=")
	if (at && !(substr($0, 13, at - 13) in env))
		env[substr($0, 13, at - 13)] = substr($0, at + 1)
}
length($2) == 64 && $3 ~ /^zia(test|probe)$/ { sum[$1, $3] = $2 }
$1 == "build" && $2 == "commit:" { commit = $3 }
$1 == "diff" && $2 == "diff" && $NF ~ /^b\/(Makefile|[^\/]*\.c|offclock\/[^\/]*\.[ch])$/ {
	changed = changed (changed ? ", " : "") substr($NF, 3)
}
$1 == "row" && ++rows == 1 { header() }
$1 == "row" && rows > 1 {
	split($NF, field, ",")
	row[substr(value("started"), 12, 15)] = $NF
}

# The runs, each output against its row

$1 == "output" && $2 != file {
	finish_output()
	file = $2
	who = "run " substr(file, index(file, "-") + 1) " on " file + 0 " nodes:"
	line = 0
}
$1 == "output" {
	text = substr($0, length(file) + 9)
	if (++line == 2)
		second = text
	if (match(text, /ziaprobe.? [0-9]+ [0-9]+ [0-9]+ --verbose/)) {
		split(substr(text, RSTART), word, " ")
		stamp = sprintf("%02d:%02d:%02d.%06d", word[2] / 3600 % 24, word[2] / 60 % 60,
			word[2] % 60, word[3])
	}
	if (text ~ /^Time test was completed in |^Slowest rank: /)
		said = said text "; "
	if (text ~ /error:/ && !error)
		error = text
	if (text ~ /^ziaprobe: warning: /)
		warning[++warnings] = who " " text
	if (text ~ /^executable: /)
		bytes = $4 + 0
	if (text ~ /^MPI: /)
		mpi = text
	if (text ~ /^status /)
		code = $4
}

function finish_output(    t, result) {
	if (!file)
		return
	launched++
	split(row[stamp], field, ",")
	matched += row[stamp] != ""
	t = value("time_ms") + 0
	result = sprintf("%8.2f millisecs", t)
	if (t >= 1000)
		result = sprintf("%3d:%02d min:sec", t / 60000, t / 1000 % 60)
	result = "Time test was completed in " result "; Slowest rank: " value("slowest_rank") "; "
	if (code != "0")
		problem[++problems] = who " status " (code == "" ? "unknown" : code) ", " \
			(error ? error : second)
	else if (said != result || value("nodes") != file + 0)
		problem[++problems] = who " printed " said "but its row is "  row[stamp]
	else if (value("valid") != 1)
		problem[++problems] = who " not valid, " (error ? error : row[stamp])
	else
		accept()
	file = code = stamp = said = error = second = bytes = ""
}

function accept() {
	number[file] = ++runs
	nodes[runs] = value("nodes") + 0
	run[runs] = substr(file, index(file, "-") + 1)
	ppn = value("ppn") + 0
	time[runs] = value("time_ms") + 0
	launch[runs] = value("launch_max_ms") + 0
	init[runs] = value("init_max_ms") + 0
	wireup[runs] = value("wireup_max_ms") + 0
	slowest[runs] = value("slowest_host")
	if (nodes[runs] > largest)
		size[++sizes] = largest = nodes[runs]
	if (runs == 1 || bytes < executable)
		executable = bytes
}

# The median of FIGURE over the later runs on N nodes, or that of the first if there are no others.
# Leaves them in s[], and in later how many they are.
function typical(figure, n,    k) {
	later = 0
	for (k = 1; k <= runs; k++)
		if (nodes[k] == n && run[k] > 1)
			s[++later] = figure[k]
	return later ? median(s, later) : figure[number[n "-1"]]
}

# The verdicts

function plural(n, word) {
	return n " " word (n == 1 ? "" : "s")
}

function verdict(outcome, text) {
	verdicts = verdicts sprintf("%-8s %s\n", outcome, text)
	if (index("PASS CHANGED UNKNOWN FAIL", outcome) > index("PASS CHANGED UNKNOWN FAIL", worst))
		worst = outcome
	return outcome
}

function by_hand(name, found) {
	if (env[name] == env[found])
		return ""
	return " (set by hand; found: " (env[found] ? env[found] : "none") ")"
}

function judge_size(    of, nics, text) {
	of = env["COMPUTE_NODES"] + 0
	nics = env["NICS"] + 0
	text = "compute nodes: " largest
	if (of)
		text = text sprintf(" of %d, %.1f %%; the rule is 99 %%", of, int(1000 * largest / of) / 10) \
			by_hand("COMPUTE_NODES", "NODES_FOUND")
	if (!of)
		verdict("UNKNOWN", text "; sinfo did not tell of how many: set COMPUTE_NODES")
	else if (100 * largest >= 99 * of)
		verdict("PASS", text)
	else
		verdict("FAIL", text (env["NODES_ELSEWHERE"] ? "; the others: " : "") env["NODES_ELSEWHERE"])
	if (nics)
		verdict(ppn >= nics ? "PASS" : "FAIL", "ranks per node: " ppn ", with " \
			plural(nics, "network interface") by_hand("NICS", "NICS_FOUND"))
	else
		verdict("UNKNOWN", "ranks per node: " ppn "; no network interface was found: set NICS")
}

function judge_source(    clean) {
	clean = commit
	sub(/-dirty$/, "", clean)
	if (commit == "" || commit == "UNKNOWN")
		return verdict("UNKNOWN", "source: built outside git")
	if (sum["build", "ziatest"] != sum["environment", "ziatest"] ||
	    sum["build", "ziaprobe"] != sum["environment", "ziaprobe"])
		return verdict("UNKNOWN", "source: the programs as run are not those of build.txt")
	if (changed)
		return verdict("CHANGED", "source: " changed (changed ~ /,/ ? " differ" : " differs") \
			" from commit " clean ", see changes.diff")
	return verdict("PASS", "source: as in commit " clean)
}

# The report

function list(title, lines, n,    i) {
	if (n)
		print "\n" title
	for (i = 1; i <= n; i++)
		print substr(lines[i], 1, 300)
}

function tables(    k, i, first) {
	printf("\n%8s %6s %12s %12s %12s %12s  %s\n", "nodes", "run", "time (ms)", "launch", "init",
		"wireup", "slowest on")
	for (k = 1; k <= runs; k++)
		printf("%8d %6s %12.3f %12.3f %12.3f %12.3f  %s\n", nodes[k], run[k] == 1 ? "first" : run[k],
			time[k], launch[k], init[k], wireup[k], slowest[k])
	print "\nThe first launch of each size; then the later ones, of the phases the medians:\n"
	printf("%8s %12s %12s %12s %12s %12s %12s %12s\n", "nodes", "first (ms)", "median", "min", "max",
		"launch", "init", "wireup")
	for (i = 1; i <= sizes; i++) {
		first = size[i] "-1" in number ? sprintf("%.3f", time[number[size[i] "-1"]]) : "-"
		phases = sprintf(" %12.3f %12.3f %12.3f", typical(launch, size[i]), typical(init, size[i]),
			typical(wireup, size[i]))
		figure = typical(time, size[i])
		printf("%8d %12s", size[i], first)
		if (later)
			printf(" %12.3f %12.3f %12.3f%s", figure, s[1], s[later], phases)
		print ""
		gsub(/ +/, ",", phases)
		print size[i] "," figure phases >"sizes"
	}
	# For ranks.svg, the run whose time is the median, of an even number the lower
	for (k = 1; k <= runs; k++)
		if (nodes[k] == largest && (!later || run[k] > 1 && time[k] == s[int((later + 1) / 2)]))
			printf("%d %d %d %.3f\n", largest, run[k], ppn, time[k]) >"shown"
}

# Of the largest size: the first launch, the median of the later ones, and their range; - is none
function results(    middle) {
	first_ms = median_ms = range_ms = "-"
	if (largest "-1" in number)
		first_ms = sprintf("%.3f", time[number[largest "-1"]])
	middle = typical(time, largest)
	if (later) {
		median_ms = sprintf("%.3f", middle)
		range_ms = sprintf("%.3f to %.3f", s[1], s[later])
	}
}

function headline() {
	if (!runs)
		return "none, no run is valid"
	return (first_ms == "-" ? "no valid first launch" : first_ms " ms at the first launch") \
		(later ? "; then " median_ms " ms" : "") \
		(later > 1 ? ", the median of " later " (" range_ms ")" : "") \
		sprintf("; %d nodes x %d = %d ranks", largest, ppn, largest * ppn)
}

function print_row(    format) {
	format = "%-20s %13s %3s %4s %-16s %11s %11s %24s %6s %8s %-8s %s\n"
	if (table == 2)
		printf(format, "system, job", "nodes", "ppn", "NICs", "MPI", "first (ms)", "median",
			"min to max", "failed", "warnings", "source", "verdict")
	printf(format, env["SLURM_CLUSTER_NAME"] " " env["SLURM_JOB_ID"],
		largest + 0 " of " env["COMPUTE_NODES"], ppn, env["NICS"], mpi, first_ms, median_ms, range_ms,
		expected - runs, warnings + 0, source, worst)
}

END {
	finish_output()
	finish_ranks()
	if (env["RUNS"] !~ /^[1-9][0-9]*$/ || length(env["RUNS"]) > 6) {
		print "summarize: error: environment.txt: RUNS is no number from 1 to 999999" >"/dev/stderr"
		exit 2
	}
	sub(/^MPI: (MPI VERSION *: *)?/, "", mpi)
	sub(/( *,| \().*/, "", mpi)
	sub(/ Version: */, " ", mpi)
	expected = env["RUNS"] * split(env["SWEEP"], word, " ")
	if (runs)
		judge_size()
	verdict(runs == expected ? "PASS" : "FAIL", "valid runs: " runs + 0 " of " expected)
	if (runs)
		verdict(executable >= 104857600 ? "PASS" : "FAIL", "executable: " executable \
			" bytes; the rule is 104857600")
	source = judge_source()
	if (launched < expected)
		problem[++problems] = plural(expected - launched, "run") " left no output"
	if (matched < rows - 1)
		problem[++problems] = "results.csv has " plural(rows - 1 - matched, "row") " too many"
	if (problems)
		worst = "FAIL"
	results()
	if (table) {
		print_row()
	} else {
		print "Ziatest: job " env["SLURM_JOB_ID"] " on " env["SLURM_CLUSTER_NAME"] ", " env["DATE"] \
			(mpi ? ", " mpi : "")
		printf("Time: %s\n\n%s", headline(), verdicts)
		list("Problems", problem, problems)
		list("Warnings", warning, warnings)
	}
	if (runs && !table) {
		tables()
		standing_out()
		print env["SLURM_CLUSTER_NAME"] ", job " env["SLURM_JOB_ID"] ", " mpi >"title"
	}
	exit worst == "FAIL"
}
