# nodes.awk - the nodes that stand out in a Ziatest job; a part of summary.awk
#
# A node counts with its slowest rank, an exchange with its originator. In a run a node stands out
# in a phase if it lies above the upper quartile of the others by more than 1.5 times the distance
# of their quartiles. Its excess is what it then lies above the upper quartile, else 0. Shown is the
# median over the runs of the largest size, from a tenth of the time on.

FILENAME ~ /^ranks/ && FNR > 1 && (id in number) && part[1] == largest {
	node = $column["host"]
	if (node != host[hosts])
		host[++hosts] = node
	raise("launch", $column["launch_ms"])
	# All leave MPI_Init together, so that setup tells who was late, unless one is late after
	# its setup and leaves later: the sum shows both.
	raise("init", $column["setup_ms"] + $column["launch_ms"] + $column["init_ms"])
	if ($column["wireup_ms"] != "")
		raise("exchange", $column["wireup_ms"])
}

function raise(phase, x) {
	if (!((phase, node) in slow) || x + 0 > slow[phase, node])
		slow[phase, node] = x + 0
}

function compare(phase,    i, n, low, high, x) {
	for (i = 1; i <= hosts; i++)
		if ((phase, host[i]) in slow)
			s[++n] = slow[phase, host[i]]
	sort(s, n)
	low = s[int((n + 2) / 4)]
	high = s[int(3 * n / 4)]	# both of the n - 1 others
	for (i = 1; i <= hosts; i++) {
		x = slow[phase, host[i]] - high
		if (n == 1 || x <= 1.5 * (high - low))
			continue
		excess[phase, host[i], evaluated] = x
		partner[host[i]] = host[i % hosts + 1]
		if (x > highest) {
			highest = x
			worst_node = host[i]
		}
	}
}

function finish_nodes() {	# at the end of a run's ranks
	if (!hosts)
		return
	evaluated++
	highest = 0
	compare("launch")
	compare("init")
	compare("exchange")
	worst_in[worst_node] += highest > 0
	hosts = 0
	split("", slow)
}

function usual(phase, node,    k) {	# the median over all runs, of an even number the lower
	for (k = 1; k <= evaluated; k++)
		s[k] = excess[phase, node, k] + 0
	sort(s, evaluated)
	return s[int((evaluated + 1) / 2)]
}

function standing_out(    least, node, launch, init, exchange, most, note, found, sorted) {
	print "\nNodes that stand out, by what they take longer than the others (ms, median of " \
		evaluated + 0 " runs on " largest " nodes)\n"
	if (evaluated < 2 || largest < 3) {
		print "not known: it takes two runs on three nodes to tell a slow node from chance"
		return
	}
	least = typical("time", largest) / 10
	sorted = "sort -k 1,1nr -k 2 | head -n 5 | cut -f 2-"
	for (node in partner) {
		launch = usual("launch", node)
		init = usual("init", node)
		exchange = usual("exchange", node)
		most = launch > init ? launch : init
		most = exchange > most ? exchange : most
		if (most < least)
			continue
		if (!found++)
			printf("%-20s %12s %12s %12s  %s\n", "node", "launch", "init", "exchange",
				"worst in")
		fflush()	# before what sort prints
		note = most == exchange ? ", or its partner " partner[node] : ""
		printf("%.3f\t%-20s %12.3f %12.3f %12.3f  %d of %d%s\n", most, node, launch, init,
			exchange, worst_in[node], evaluated, note) | sorted
	}
	if (!found)
		print "none"
	close(sorted)
}
