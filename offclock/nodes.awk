# nodes.awk - the nodes that stand out in a Ziatest job; a part of summary.awk
#
# Of a node counts its slowest rank. In a run it stands out in a phase if it lies above the upper
# quartile by more than 1.5 times the distance of the quartiles, and then by what it lies above
# the median, those of all nodes but the slowest. Shown is the median over the runs of the largest
# size, from a tenth of the time on. An exchange is counted for its originator; either of the two
# partners may be the cause.

$1 == "ranks" && $2 != ranks {
	finish_output()
	finish_ranks()
	ranks = $2
	header()
	blocks = 0
	block = ""
	split("", most)
	split("", over)
	next
}

$1 == "ranks" && (ranks in number) && ranks + 0 == largest {
	split($NF, field, ",")
	if (value("node") != block)
		host[++blocks] = value("host")
	block = value("node")
	raise("launch", value("launch_ms"))
	raise("setup", value("setup_ms"))
	raise("init", value("init_ms"))
	raise("ready", value("launch_ms") + value("init_ms"))
	raise("exchange", value("wireup_ms"))
	raise("repeat", value("repeat_ms"))
}

function raise(phase, x) {
	if (x != "" && (!((phase, blocks) in most) || x > most[phase, blocks]))
		most[phase, blocks] = x + 0
}

# What each node took longer than the others in a phase of this run
function compare(phase,    b, n, middle, low, high, x) {
	for (b = 1; b <= blocks; b++)
		if ((phase, b) in most)
			s[++n] = most[phase, b]
	median(s, n)
	n--
	low = s[int((n + 3) / 4)]
	high = s[int((3 * n + 3) / 4)]
	middle = median(s, n)
	for (b = 1; b <= blocks; b++) {
		x = most[phase, b]
		if (n > 0 && x > high + 1.5 * (high - low))
			over[phase, b] = x - middle
		if (n == 0 && phase == "exchange")	# one pair: compared with its repeated exchange
			over[phase, b] = x - most["repeat", b]
	}
}

function note(name, phase, x) {
	if (x <= 0)
		return
	if (!(name in worst_in))
		names[++named] = name
	worst_in[name] += 0
	excess[name, phase, evaluated] = x
	if (x > top) {
		top = x
		top_name = name
	}
}

function finish_ranks(    b, init) {
	if (!blocks)
		return
	evaluated++
	compare("launch")
	compare("setup")
	compare("init")
	compare("ready")
	compare("exchange")
	top = 0
	for (b = 1; b <= blocks; b++) {
		# Who waits in MPI_Init for a late one takes longer there, but is not late to leave.
		init = over["init", b] < over["ready", b] ? over["init", b] : over["ready", b]
		note(host[b], "launch", over["launch", b])
		note(host[b], "init", over["setup", b] > init ? over["setup", b] : init)
		note(host[b], "exchange", over["exchange", b])
		partner[host[b]] = host[b % blocks + 1]
	}
	if (top)
		worst_in[top_name]++
	blocks = 0
}

# The median over all runs; nothing for those in which the node did not stand out
function usual(name, phase,    k) {
	for (k = 1; k <= evaluated; k++)
		s[k] = (name, phase, k) in excess ? excess[name, phase, k] : 0
	return median(s, evaluated)
}

function standing_out(    i, j, best, launch, init, exchange, line, most_of) {
	print "\nNodes that stand out, by what they take longer than the others (ms, median of " \
		plural(evaluated, "run") " on " largest " nodes)\n"
	if (evaluated < 2) {
		print "not known: one run's slowest node may be chance"
		return
	}
	for (i = 1; i <= named; i++) {
		launch = usual(names[i], "launch")
		init = usual(names[i], "init")
		exchange = usual(names[i], "exchange")
		most_of[i] = launch > init ? launch : init
		line[i] = sprintf("%-20s %12.3f %12.3f %12.3f %9d", names[i], launch, init, exchange,
			worst_in[names[i]])
		if (exchange > most_of[i]) {
			most_of[i] = exchange
			line[i] = line[i] "  or its partner " partner[names[i]]
		}
	}
	for (j = 1; j <= 5; j++) {
		best = 0
		for (i = 1; i <= named; i++)
			if (most_of[i] > most_of[best])
				best = i
		if (!best || most_of[best] < typical(time, largest) / 10)
			break
		if (j == 1)
			printf("%-20s %12s %12s %12s %9s\n", "node", "launch", "init", "exchange", "worst in")
		print line[best]
		most_of[best] = 0
	}
	if (j == 1)
		print "none"
}
