# nodes.awk - the nodes that stand out in a Ziatest job; a part of summary.awk
#
# A node counts with its slowest rank, an exchange with its originator. In a run a node's excess in
# a phase is what it lies above the upper quartile of the others. Shown is the median over the runs
# of the largest size, of the worst five, from a tenth of the time on; of launch and load, which
# come in ticks of 10 ms, also 20 ms.

BEGIN { phases = split("launch load setup wireup", phase_names, " ") }

FILENAME ~ /^ranks/ && FNR > 1 && (id in number) && part[1] == largest {
	node = $column["host"]
	if (node != host[hosts])
		host[++hosts] = node
	raise("launch", node, $column["daemon_ms"] + $column["spawn_ms"])
	raise("load", node, $column["load_ms"])
	raise("setup", node, $column["setup_ms"])
	raise("wireup", node, $column["wireup_ms"])
}

function raise(phase, node, x) {
	if (x != "" && (!((phase, node) in slow) || x + 0 > slow[phase, node]))
		slow[phase, node] = x + 0
}

# Leaves the excess of each node in a phase of this run.
function compare(phase,    i, n, x) {
	for (i = 1; i <= hosts; i++)
		if ((phase, host[i]) in slow)
			s[++n] = slow[phase, host[i]]
	sort(s, n)
	for (i = 1; i <= hosts; i++) {
		# Of all n, but where the node lies above it, that of the n - 1 others too
		x = slow[phase, host[i]] - s[int(3 * n / 4)]
		if (n > 1 && x > 0)
			excess[phase, host[i], evaluated] = x
	}
}

function finish_nodes(    k) {	# at the end of a run's ranks
	if (!hosts)
		return
	evaluated++
	for (k = 1; k <= phases; k++)
		compare(phase_names[k])
	for (k = 1; k <= hosts; k++)
		partner[host[k]] = host[k % hosts + 1]	# right for originators: they have wireup
	hosts = 0
	split("", slow)
}

function usual(phase, node,    k) {	# the median over all runs, of an even number the lower
	for (k = 1; k <= evaluated; k++)
		s[k] = excess[phase, node, k] + 0
	sort(s, evaluated)
	return s[int((evaluated + 1) / 2)]
}

function standing_out(    least, node, k, x, most, in_phase, line, found, worst_five) {
	print "\nNodes that stand out, by what they take longer than the others (ms, median of " \
		evaluated + 0 " runs on " largest " nodes)\n"
	if (evaluated < 2 || largest < 3) {
		print "not known: it takes two runs on three nodes to tell a slow node from chance"
		return
	}
	least = typical("time", largest) / 10
	worst_five = "sort -k 1,1nr -k 2 | head -n 5 | cut -f 2-"
	for (node in partner) {
		most = 0
		line = sprintf("%-20s", node)
		for (k = 1; k <= phases; k++) {
			x = usual(phase_names[k], node)
			line = line sprintf(" %12.3f", x)
			if (x > most && x >= least && (k > 2 || x >= 20)) {
				most = x
				in_phase = phase_names[k]
			}
		}
		if (!most)
			continue
		if (!found++)
			printf("%-20s %12s %12s %12s %12s\n", "node", "launch", "load", "setup",
				"wireup")
		fflush()	# before what sort prints
		if (in_phase == "wireup")
			line = line "  or its partner " partner[node]
		printf("%.3f\t%s\n", most, line) | worst_five
	}
	if (!found)
		print "none"
	close(worst_five)
}
