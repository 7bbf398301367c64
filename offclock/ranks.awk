# ranks.awk - what ranks.gnuplot draws, from a file of ranks: for every STEP ranks the first one's
# host, and of all of them the latest to enter main, to leave MPI_Init and to have the reply

function flush() {
	if (count)
		print first, host, launch, ready, begun, replied
	count = launch = ready = 0
	begun = replied = ""
}

BEGIN {
	FS = OFS = ","
	print "rank", "host", "launch", "ready", "begun", "replied"
}

NR == 1 {
	for (i = 1; i <= NF; i++)
		column[$i] = i
	next
}

{
	if ((NR - 2) % step == 0)
		flush()
	if (!count++) {
		first = NR - 2
		host = $column["host"]
	}
	x = $column["launch_ms"]
	if (x > launch)
		launch = x
	x += $column["init_ms"]
	if (x > ready)
		ready = x
	x = $column["completed_ms"] - $column["clock_offset_ms"]
	if ($column["wireup_ms"] != "" && x > replied) {
		replied = x
		begun = x - $column["wireup_ms"]
	}
}

END { flush() }
