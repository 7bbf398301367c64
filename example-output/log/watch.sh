#!/bin/sh
#SBATCH --exclusive --no-requeue --time=00:10:00
# Makes five launches into one log, and writes what they have changed to verdict.txt. A launch that
# fails adds its date and its status to failed.txt.
failed=0 status=0
for _ in 1 2 3 4 5; do
	ziatest -q -t 60 --where 1.5 --csv log.csv srun -N "$SLURM_JOB_NUM_NODES" \
		--ntasks-per-node 2 -- ziaprobe </dev/null || {
		status=$? failed=$((failed + 1))
		echo "$(date -u +%FT%TZ) $status" >>failed.txt
	}
done
{
	test "$failed" -eq 0 || echo "$failed of 5 launches have failed; see below"
	env -u PYTHONHOME -u PYTHONPATH ziatest-summarize --pictures . log.csv || status=1
} >verdict.txt 2>&1
exit $status
