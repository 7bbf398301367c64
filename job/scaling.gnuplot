# scaling.gnuplot - scaling.svg: the time over the nodes, and what the median run of each size took
#
# Reads title, clock (a remark, or empty); runs: nodes, 0 for a first launch, ms; sizes: of the
# median runs nodes, ms, and the steps of the critical path in ms.

set terminal svg size 1000,480 font 'Helvetica,13' background 'white' noenhanced
set datafile separator '\t'
steps = 'daemon spawn exec init fence exchange'
colours = '#332288 #88ccee #0072b2 #e69f00 #882255 #44aa99'
first(launch) = launch == 0 ? 1 : NaN
later(launch) = launch == 0 ? NaN : 1

set multiplot title system('cat title')
set xlabel 'nodes'
set bmargin 4
set tmargin 6
set key at graph 0.5, graph 1.16 center horizontal Left reverse samplen 1.5

set size 0.5, 1
set origin 0, 0
set ylabel 'ms'
set logscale xy
set grid ytics lc rgb '#dddddd'
set autoscale yfix
stats 'sizes' using 1 nooutput
set xrange [STATS_min / 1.2:STATS_max * 1.2]
set offsets 0, 0, graph 0.05, graph 0.05
set xtics nomirror
set ytics nomirror ()
do for [i = -3:7] {
	set ytics add (10.0**i, 2 * 10.0**i, 3 * 10.0**i, 5 * 10.0**i, 7 * 10.0**i)
}
plot 'sizes' using 1:2:xtic(1) with lines lw 2 lc rgb '#888888' title 'median', \
	'runs' using 1:($3 * first($2)) with points pt 3 ps 1.2 lc rgb 'black' \
		title 'first launch', \
	'runs' using 1:($3 * later($2)) with points pt 7 ps 0.5 lc rgb '#0072b2' \
		title 'later launches'

set origin 0.5, 0
unset logscale
set ytics autofreq
set xlabel sprintf('nodes; the critical path of the median run%s', system('cat clock'))
set offsets 0, 0, graph 0.05, 0
set xrange [*:*]
set yrange [0:*]
set style data histograms
set style histogram rowstacked
set style fill solid 1 border rgb '#666666'
set boxwidth 0.7
plot for [k = 1:6] 'sizes' using (column(k + 2)):xtic(1) lc rgb word(colours, k) \
	title word(steps, k)
