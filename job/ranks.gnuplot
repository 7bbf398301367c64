# ranks.gnuplot - ranks.svg: a timeline of the ranks of one run, or of two, one below the other
#
# summarize sets panels, 1 or 2, and bars, how many each has. Reads for each panel N title-N;
# bars-N: number, label, and where daemon, spawn, exec, init, fence, wait and exchange end, in ms;
# path-N: the critical path, ms and bar.

plot_height = bars * 14 > 560 ? 560 : bars * 14 < 160 ? 160 : bars * 14	# pixels
panel_height = plot_height + 100
height = panels * panel_height
set terminal svg size 1000,height font 'Helvetica,13' background 'white' noenhanced
set datafile separator '\t'

# Each differs from its neighbours in brightness too.
names = 'daemon spawn exec init fence wait exchange'
colours = '#332288 #88ccee #0072b2 #e69f00 #882255 #eeeeee #44aa99'
half = bars > 200 ? 0.5 : 0.4
begin(k) = k == 1 ? 0 : column(k + 1)

set multiplot
set lmargin at screen 0.12
set rmargin at screen 0.83
set xlabel 'ms since the start' offset 0, 0.4
set xrange [0:*] noextend
set yrange [bars - 0.5:-0.5]
set xtics out nomirror
set ytics out nomirror scale 0
set key outside right top Left reverse samplen 1.5
do for [i = 1:panels] {
	top = 1 - (panel_height * (i - 1) + 40.0) / height
	set tmargin at screen top
	set bmargin at screen top - plot_height / (1.0 * height)
	set title system(sprintf('cat title-%d', i))
	file = sprintf('bars-%d', i)
	path = sprintf('path-%d', i)
	plot for [k = 1:7] file using (column(k + 2)):1:(begin(k)):(column(k + 2)): \
			($1 - half):($1 + half) with boxxyerror fillstyle solid 1 noborder \
			lc rgb word(colours, k) title word(names, k), \
		file every (bars + 39) / 40 using (0):1:ytic(2) with dots lc rgb 'white' notitle, \
		path using 1:2 with lines lw 5 lc rgb 'white' notitle, \
		path using 1:2 with lines lw 2 lc rgb 'black' title 'critical path'
}
