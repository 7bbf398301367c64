# ranks.gnuplot - ranks.svg: a timeline of the ranks of one run. Reads title, and the ranks file
# that shown names.

set terminal svg size 900,560 font 'Helvetica,14' background 'white' noenhanced butt
set datafile separator ','
file = system('cat shown')
stats file skip 1 using 1 nooutput
ranks = STATS_records
bar = ranks > 400 ? 2 : 500.0 / ranks	# pixels

set title system('cat title')
set xlabel file
set ylabel 'ms since the start'
set xrange [-0.7:ranks - 0.3]
set yrange [0:*]
set xtics nomirror scale 0 rotate by 90 right
set ytics nomirror
set key outside right center reverse Left samplen 2

# Each is drawn from the start up, the later ones over the earlier.
ms(name) = strlen(strcol(name)) ? real(strcol(name)) : 0
entered(x) = ms('daemon_ms') + ms('spawn_ms') + ms('load_ms')
replied(x) = column('completed_ms') - column('clock_offset_ms') + 0 * column('wireup_ms')
plot file using 1:(replied(0)) with impulses lw bar lc rgb '#009e73' notitle, \
	file using 1:(replied(0) - column('wireup_ms')) \
		with impulses lw bar lc rgb 'white' notitle, \
	file using 1:(entered(0) + ms('init_ms')) \
		with impulses lw bar lc rgb '#e69f00' notitle, \
	file using 1:(entered(0)) with impulses lw bar lc rgb '#0072b2' notitle, \
	file skip 1 every (ranks + 31) / 32 using 1:(0):xtic(strcol(3)[1:20]) \
		with dots lc rgb 'white' notitle, \
	NaN with lines lw 14 lc rgb '#009e73' title 'wireup', \
	NaN with lines lw 14 lc rgb '#e69f00' title 'init', \
	NaN with lines lw 14 lc rgb '#0072b2' title 'launch'
