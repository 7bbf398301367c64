# scaling.gnuplot - scaling.svg: the time over the nodes, both logarithmic. Reads title,
# results.csv, and sizes.csv: nodes, the medians of time, launch, init, wireup.

set terminal svg size 900,560 font 'Helvetica,14' background 'white' noenhanced
set datafile separator ','
set title system('cat title')
set xlabel 'nodes'
set ylabel 'ms'
set logscale xy
set grid ytics lc rgb '#dddddd'
set key outside right center reverse Left samplen 2
set autoscale yfix
set offsets 0, 0, graph 0.05, graph 0.05
set ytics ()
do for [i = -3:7] {
	set ytics add (10.0**i, 2 * 10.0**i, 5 * 10.0**i)
}
stats 'sizes.csv' using 1 nooutput
set xrange [STATS_min / 1.1:STATS_max * 1.1]
set style data linespoints
plot 'sizes.csv' using 1:2:xtic(1) lw 3 pt 1 ps 1.5 lc rgb '#222222' title 'time, median', \
	'results.csv' using 'nodes':'time_ms' with points pt 7 ps 0.5 lc rgb '#222222' \
		title 'every run', \
	'sizes.csv' using 1:3 lw 1.5 pt 7 ps 0.5 lc rgb '#0072b2' title 'launch', \
	'sizes.csv' using 1:4 lw 1.5 pt 7 ps 0.5 lc rgb '#e69f00' title 'init', \
	'sizes.csv' using 1:5 lw 1.5 pt 7 ps 0.5 lc rgb '#009e73' title 'wireup'
