#!/bin/sh
#SBATCH --exclusive --time=00:10:00
# Makes five launches into one log, and prints what they have changed. A launch that fails adds its
# date and its status to failed.txt.
launch="srun --ntasks 8 --ntasks-per-node"
status=0
for _ in 1 2 3 4 5; do
	./ziatest -t 60 --where 1.5 --csv log.csv 2 "$launch" </dev/null || {
		status=$?
		echo "$(date -u +%FT%TZ) $status" >>failed.txt
	}
done
job/summarize --pictures . log.csv || status=1
exit $status
