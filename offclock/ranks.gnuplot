# ranks.gnuplot - ranks.svg: a timeline of the ranks of one run
#
#	gnuplot -c ranks.gnuplot TITLE NODES PPN STEP	reads ranks.csv of the current directory

set terminal svg size 900,700 font 'Helvetica,14' background 'white' noenhanced
ranks = ARG2 * ARG3
step = int(ARG4)	# ranks that a bar stands for
every_name = (ARG2 + 31) / 32 * ARG3 / step	# some 32 nodes are named
every_name = every_name < 1 ? 1 : int(every_name)
half = step * (ranks > 64 ? 0.5 : 0.4)
middle = (step - 1) / 2.0

set title 'Ziatest on '.ARG1
set xlabel 'ms since the start'
set xrange [0:*]
set yrange [1.01 * ranks - 0.5:-0.01 * ranks - 0.5]
set xtics nomirror
set ytics nomirror scale 0
set grid xtics lc rgb '#dddddd'
set key outside top center horizontal
set style fill solid noborder
set datafile separator ','
set datafile columnheaders

# x, y, from and to in x, from and to in y
plot 'ranks.csv' using (0):1:(0):3:($1 + middle - half):($1 + middle + half) \
		with boxxyerror lc rgb '#0072b2' title 'launch', \
	'' using (0):1:3:4:($1 + middle - half):($1 + middle + half) \
		with boxxyerror lc rgb '#e69f00' title 'init', \
	'' using (0):1:5:6:($1 + middle - half):($1 + middle + half) \
		with boxxyerror lc rgb '#009e73' title 'wireup', \
	'' every every_name using (0):1:ytic(2) with dots lc rgb 'white' notitle
