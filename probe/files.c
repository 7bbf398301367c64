/*
 * files.c - the files that --csv and --ranks write
 *
 * Off the clock, on rank 0.
 */
#include "run.h"

#include <errno.h>
#include <sys/stat.h>

static const char csv_header[] =
	"started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host,daemon_ms,spawn_ms,"
	"exec_ms,init_ms,fence_ms,exchange_ms,clock_ms,cpu_ms,cpu_wait_ms,blocked_ms,faults,"
	"mpi_init_max_ms,repeat_max_ms,offset_max_ms,offset_host,median_host,offset_bound_ms,"
	"executable_bytes,mpi\n";

/* Writes VALUE as a cell of COLUMN. The cell is empty if VALUE is UNKNOWN. */
static void write_cell(FILE *file, enum column column, int64_t value)
{
	fprintf(file, ",%s", format_value(column, value));
}

/* Writes a cell with the time US in ms, or an empty cell if it is UNKNOWN. */
static void write_ms(FILE *file, int64_t us)
{
	write_cell(file, COMPLETED, us); /* any column of times would do */
}

/* Writes a cell with TEXT, replacing commas with '?'. */
static void write_text(FILE *file, const char *text)
{
	fputc(',', file);
	for (; *text; text++)
		fputc(*text == ',' ? '?' : *text, file);
}

/* Closes FILE, which is NULL if NAME could not be opened, and reports any error. Returns the exit
 * status. */
static int close_file(FILE *file, const char *name)
{
	int failed = !file || ferror(file);

	if (file && fclose(file) != 0)
		failed = 1;
	if (failed)
		report("error",
		       "cannot write '%.500s': %s; choose a file that is writable on the node "
		       "of rank 0",
		       name, strerror(errno));
	return failed;
}

/* Writes the header if FILE, called NAME, is empty; a terminal and a pipe count as empty. Returns 0
 * if FILE begins with another header or cannot be read. */
static int ensure_header(FILE *file, const char *name)
{
	char line[sizeof csv_header] = "";
	struct stat before = {.st_size = 0};
	FILE *reader; /* FILE is open only for writing, so that fopen waits for a pipe's reader */
	int same;

	fstat(fileno(file), &before);
	if (before.st_size == 0) {
		fputs(csv_header, file);
		return 1;
	}
	reader = fopen(name, "r");
	if (!reader)
		return 0;
	same = fgets(line, sizeof line, reader) && strcmp(line, csv_header) == 0;
	if (same && fseek(reader, -1, SEEK_END) == 0 && fgetc(reader) != '\n')
		fputc('\n', file); /* a full disk may have truncated the last row */
	fclose(reader);
	return same;
}

/* Writes a cell with the sum of COLUMN over the steps of PATH. If no step has a value in COLUMN,
 * the cell is empty, or 0 if COLUMN is CLOCK. */
static void write_sum(FILE *file, const struct run *run, const struct path *path,
		      enum column column)
{
	int64_t sum = column == CLOCK ? 0 : UNKNOWN;

	for (const struct step *step = path->step + path->first; step < path->step + STEPS;
	     step++) {
		int64_t value = UNKNOWN;

		if (column == step->column)
			value = step->us;
		else if (column >= CPU)
			value = step_value(run, step->end.rank, step->end.mark, step->us, column);
		if (value != UNKNOWN)
			sum = MAX(sum, 0) + value; /* UNKNOWN counts as 0 */
	}
	write_cell(file, column, sum);
}

/* Returns the maximum of COLUMN over all ranks, or UNKNOWN if no rank has a value in it. */
static int64_t find_max(const struct run *run, enum column column)
{
	int64_t max = UNKNOWN; /* which is less than any value */

	for (int rank = 0; rank < run->size; rank++)
		max = MAX(max, column_value(run, rank, column));
	return max;
}

/* Appends the result's row to the file NAME. Returns the exit status. */
int append_row(const struct run *run, const struct path *path, const char *name)
{
	const struct record *records = run->records;
	char version[MPI_MAX_LIBRARY_VERSION_STRING], started[32];
	time_t seconds = (time_t)(run->start / 1000000);
	FILE *file;

	errno = 0;
	file = fopen(name, "a");
	if (!file)
		return close_file(file, name);
	if (!ensure_header(file, name)) {
		report("error",
		       "cannot append to '%.500s': its CSV header does not match; choose a new "
		       "file",
		       name);
		fclose(file);
		return 1;
	}
	strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
	fprintf(file, "%s.%06dZ,%d,%d,%d", started, (int)(run->start % 1000000), run->size / run->n,
		run->n, run->size);
	write_ms(file, run->time);
	write_ms(file, run->launch_clock_known ? corrected_time(run) : UNKNOWN);
	fprintf(file, ",%d", run->slowest);
	write_text(file, records[run->slowest].host);
	for (enum column column = DAEMON; column <= FAULTS; column++)
		write_sum(file, run, path, column);
	write_ms(file, find_max(run, WHOLE_INIT));
	write_ms(file, find_max(run, REPEAT));
	write_ms(file, run->worst.offset);
	write_text(file, records[run->worst_block * run->n].host);
	write_text(file, records[run->median_block * run->n].host);
	write_ms(file, run->worst.bound);
	fprintf(file, ",%lld", (long long)executable_size());
	read_mpi_version(version);
	version[strcspn(version, ",")] = '\0';
	write_text(file, version);
	fputc('\n', file);
	return close_file(file, name);
}

/* Writes a row for each rank to the file NAME. Returns the exit status. */
int write_ranks(const struct run *run, const char *name)
{
	static const enum column columns[] = {DAEMON, SPAWN,    EXEC,       INIT,   FENCE,
					      WAIT,   EXCHANGE, WHOLE_INIT, REPEAT, COMPLETED,
					      CPU,    CPU_WAIT, BLOCKED,    FAULTS, COLUMNS};
	FILE *file;

	errno = 0;
	file = fopen(name, "w");
	if (!file)
		return close_file(file, name);
	fputs("rank,node,host", file);
	for (const enum column *column = columns; *column != COLUMNS; column++)
		fprintf(file, ",%s%s", column_names[*column], *column == FAULTS ? "" : "_ms");
	fputs(",clock_offset_ms\n", file);
	for (int rank = 0; rank < run->size; rank++) {
		fprintf(file, "%d,%d", rank, rank / run->n + 1);
		write_text(file, run->records[rank].host);
		for (const enum column *column = columns; *column != COLUMNS; column++)
			write_cell(file, *column, column_value(run, rank, *column));
		write_ms(file, clock_offset(run, rank));
		fputc('\n', file);
	}
	return close_file(file, name);
}
