/*
 * files.c - the files that --csv and --ranks write
 *
 * Off the clock, on rank 0.
 */
#include "run.h"

#include <errno.h>
#include <sys/stat.h>

/* A row that is being written to FILE or, while that is NULL, the header. The same calls add the
 * columns of both. */
struct row {
	FILE *file;
	char header[800];
	int columns; /* how many have been added */
};

/* Prints that WHAT ("read" or "write") has failed for the file NAME because of errno. */
static void print_failure(const char *what, const char *name)
{
	print_error("cannot %s '%.500s': %s; choose a file that can be read and written on the "
		    "node of rank 0",
		    what, name, strerror(errno));
}

/* Returns whether the first line of FILE is HEADER. If so, stores its last character in *LAST. */
static int has_header(FILE *file, const char *header, int *last)
{
	for (; *header; header++)
		if (fgetc(file) != (unsigned char)*header)
			return 0;
	if (fgetc(file) != '\n')
		return 0;
	if (fseek(file, -1, SEEK_END) == 0)
		*last = fgetc(file);
	return 1;
}

/* Opens NAME, the file of OPTION, with MODE "a" or "w", and writes HEADER unless it is there
 * already. A regular file that is not empty must begin with the line HEADER, so that no other file
 * is overwritten or appended to. If it does not, or cannot be opened, prints an error and returns
 * NULL. */
static FILE *open_file(const char *option, const char *name, const char *mode, const char *header)
{
	struct stat before;
	FILE *file;
	int same, last = EOF; /* the last character of what is kept */

	/* Other kinds of files count as empty. Reading a pipe, for example, would block. */
	if (stat(name, &before) == 0 && S_ISREG(before.st_mode) && before.st_size > 0) {
		file = fopen(name, "r");
		if (!file) {
			print_failure("read", name);
			return NULL;
		}
		same = has_header(file, header, &last);
		fclose(file);
		if (!same) {
			print_error("'%.500s' begins with another header: it was written by "
				    "another version, or not by %s; choose a new file",
				    name, option);
			return NULL;
		}
	}
	file = fopen(name, mode);
	if (!file) {
		print_failure("write", name);
		return NULL;
	}
	if (last == EOF || *mode == 'w')
		fprintf(file, "%s\n", header);
	else if (last != '\n')
		fputc('\n', file); /* a full disk may have truncated the last row */
	return file;
}

/* Closes FILE, called NAME, and prints an error if it could not be written. Returns the exit
 * status. */
static int close_file(FILE *file, const char *name)
{
	int failed = ferror(file);

	if (fclose(file) != 0 || failed) {
		print_failure("write", name);
		return 1;
	}
	return 0;
}

/* Adds a column to ROW: TEXT, in which commas are replaced or, to a header, NAME with SUFFIX. */
static void add_text(struct row *row, const char *name, const char *suffix, const char *text)
{
	const char *comma = row->columns++ > 0 ? "," : "";
	size_t used = strlen(row->header);

	if (!row->file) {
		snprintf(row->header + used, sizeof row->header - used, "%s%s%s", comma, name,
			 suffix);
		return;
	}
	fputs(comma, row->file);
	for (; *text; text++)
		fputc(*text == ',' ? '?' : *text, row->file);
}

static void add_number(struct row *row, const char *name, int64_t number)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", (long long)number);
	add_text(row, name, "", text);
}

/* Adds VALUE, in the unit of COLUMN, under NAME. The cell is empty if VALUE is UNKNOWN. */
static void add_value(struct row *row, const char *name, enum column column, int64_t value)
{
	add_text(row, name, headings[column].unit == MS ? "_ms" : "", format_value(column, value));
}

static void add_ms(struct row *row, const char *name, int64_t us)
{
	add_value(row, name, COMPLETED, us); /* any column of times would do */
}

static void add_outlier(struct row *row, const struct run *run, const struct outlier *outlier)
{
	const struct step *step = outlier->step;
	int rank = step ? step->end.rank : -1;
	char number[16] = "";

	if (step)
		snprintf(number, sizeof number, "%d", rank);
	add_text(row, "outlier", "", step ? headings[step->column].name : "");
	add_text(row, "outlier_rank", "", number);
	add_text(row, "outlier_host", "", step ? run->records[rank].host : "");
	add_ms(row, "outlier", step ? outlier->excess : UNKNOWN);
	add_text(row, "outlier_kind", "",
		 outlier->kind < COLUMNS ? headings[outlier->kind].name : "");
}

/* Adds the columns of --csv to ROW. */
static void add_result(struct row *row, const struct run *run, const struct path *path,
		       const struct outlier *outlier)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING], date[32], started[48];
	time_t seconds = (time_t)(run->start / 1000000);

	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
	snprintf(started, sizeof started, "%s.%06dZ", date, (int)(run->start % 1000000));
	add_text(row, "started", "", started);
	add_number(row, "nodes", run->size / run->n);
	add_number(row, "ppn", run->n);
	add_number(row, "ranks", run->size);
	add_ms(row, "time", run->time);
	add_ms(row, "corrected", run->launch_clock_known ? corrected_time(run) : UNKNOWN);
	add_number(row, "slowest_rank", run->slowest);
	add_text(row, "slowest_host", "", run->records[run->slowest].host);
	for (enum column column = 0; column < COLUMNS; column++)
		if (headings[column].where & PATH)
			add_value(row, headings[column].name, column, sum_path(run, path, column));
	add_outlier(row, run, outlier);
	add_ms(row, "mpi_init_max", summarise(run, ALL_STEPS, WHOLE_INIT).max);
	add_ms(row, "repeat_max", summarise(run, ALL_STEPS, REPEAT).max);
	add_ms(row, "offset", run->offsets[run->worst].value);
	add_text(row, "offset_host", "", run->records[run->worst * run->n].host);
	add_text(row, "median_host", "", run->records[run->reference * run->n].host);
	add_ms(row, "offset_bound", run->offsets[run->worst].bound);
	add_number(row, "executable_bytes", executable_size());
	read_mpi_version(version);
	version[strcspn(version, ",")] = '\0';
	add_text(row, "mpi", "", version);
}

/* Adds the columns of --ranks to ROW, for RANK. */
static void add_rank(struct row *row, const struct run *run, int rank)
{
	add_number(row, "rank", rank);
	add_number(row, "node", rank / run->n + 1);
	add_text(row, "host", "", run->records[rank].host);
	for (enum column column = 0; column < COLUMNS; column++)
		if (headings[column].where & RANK)
			add_value(row, headings[column].name, column,
				  column_value(run, rank, column));
	add_ms(row, "clock_offset", correction(run, rank));
}

/* Appends the result's row to the file NAME. Returns the exit status. */
int append_row(const struct run *run, const struct path *path, const struct outlier *outlier,
	       const char *name)
{
	struct row row = {NULL, "", 0};

	add_result(&row, run, path, outlier);
	row.file = open_file("--csv", name, "a", row.header);
	if (!row.file)
		return 1;
	row.columns = 0;
	add_result(&row, run, path, outlier);
	fputc('\n', row.file);
	return close_file(row.file, name);
}

/* Writes a row for each rank to the file NAME. Returns the exit status. */
int write_ranks(const struct run *run, const char *name)
{
	struct row row = {NULL, "", 0};

	add_rank(&row, run, 0);
	row.file = open_file("--ranks", name, "w", row.header);
	if (!row.file)
		return 1;
	for (int rank = 0; rank < run->size; rank++) {
		row.columns = 0;
		add_rank(&row, run, rank);
		fputc('\n', row.file);
	}
	return close_file(row.file, name);
}
