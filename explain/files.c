/*
 * files.c - the files that --csv and --ranks write
 *
 * A row is a list of named cells. The header of a new file is their names; in a file that another
 * version has begun, the row has the cells that its header names.
 */
#include "analysis.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>

/* The limits on the characters of a header and on the cells of a row, which neither file reaches */
enum { HEADER_SIZE = 1000, CELLS = 40 };

struct row {
	int count;
	struct cell {
		char name[30], text[300];
	} cell[CELLS];
};

/* Appends to ROW the cell NAME with the text that printf would print. Replaces the characters in it
 * that separate or quote cells or rows. */
__attribute__((format(printf, 3, 4))) static void add_cell(struct row *row, const char *name,
							   const char *format, ...)
{
	struct cell *cell = row->cell + row->count++;
	va_list values;

	if (row->count > CELLS)
		abort();
	snprintf(cell->name, sizeof cell->name, "%s", name);
	va_start(values, format);
	vsnprintf(cell->text, sizeof cell->text, format, values);
	va_end(values);
	for (char *c = cell->text; *c; c++)
		if (*c == ',' || *c == '"' || *c == '\n' || *c == '\r')
			*c = '?';
}

/* Appends to ROW the cell NAME with NUMBER; the cell is empty if that is UNKNOWN. */
static void add_number(struct row *row, const char *name, int64_t number)
{
	if (number == UNKNOWN)
		add_cell(row, name, "%s", "");
	else
		add_cell(row, name, "%lld", (long long)number);
}

/* Appends to ROW the cell NAME with US in ms; it is empty if US is UNKNOWN. */
static void add_ms(struct row *row, const char *name, int64_t us)
{
	if (us == UNKNOWN)
		add_cell(row, name, "%s", "");
	else
		add_cell(row, name, "%.3f", (double)us / 1000);
}

/* Appends to ROW the cell of COLUMN, whose value is VALUE. */
static void add_value(struct row *row, enum column column, int64_t value)
{
	char name[30];

	if (column == FAULTS) {
		add_number(row, "faults", value);
		return;
	}
	snprintf(name, sizeof name, "%s_ms", column_names[column]);
	add_ms(row, name, value);
}

/* Returns TEXT up to the first END in it, in a static buffer. */
static const char *part(const char *text, char end)
{
	static char copy[300];

	snprintf(copy, sizeof copy, "%s", text);
	*strchrnul(copy, end) = '\0';
	return copy;
}

/* Prints that it was not possible to do WHAT with the file NAME, because of errno. */
static void print_failure(const char *what, const char *name)
{
	print_error("cannot %s '%.500s': %s; choose a file that can be read and written on the "
		    "node of rank 0\n",
		    what, name, strerror(errno));
}

/* Returns the cell of ROW whose name is the first LENGTH characters of NAME, or NULL. */
static const struct cell *find_cell(const struct row *row, const char *name, size_t length)
{
	for (const struct cell *cell = row->cell; cell < row->cell + row->count; cell++)
		if (strlen(cell->name) == length && strncmp(cell->name, name, length) == 0)
			return cell;
	return NULL;
}

/* Prints ROW to FILE: the cells that HEADER names or, if FILE is NULL, nothing. Returns whether
 * HEADER, a line, is the header of a file of such rows: it begins with the name of ROW's first
 * cell, and ROW has a cell for each of its names. */
static bool print_row(FILE *file, const struct row *row, const char *header)
{
	const char *name = header;

	for (;;) {
		size_t length = strcspn(name, ",\n");
		const struct cell *cell = find_cell(row, name, length);

		if (!cell || (name == header) != (cell == row->cell) || !name[length])
			return false;
		if (file)
			fprintf(file, "%s%c", cell->text, name[length]);
		if (name[length] == '\n')
			return true;
		name += length + 1;
	}
}

/* Writes into HEADER the names of the cells of ROW. */
static void make_header(char *header, const struct row *row)
{
	char *end = header;

	for (int i = 0; i < row->count; i++)
		end += sprintf(end, "%s%s", i ? "," : "", row->cell[i].name);
	strcpy(end, "\n");
}

/* Returns whether rows like ROW may be written to NAME, the file of OPTION. A regular file that is
 * not empty must begin with a header that names only columns of this version, so that no other file
 * is overwritten or appended to. One of these columns must be a time, because somebody may have
 * written a list that begins with "rank,host". If NAME does not begin so, prints an error. A file
 * that cannot be read is reported when it is written. */
static bool is_ours(const char *option, const char *name, const struct row *row)
{
	struct stat status;
	char header[HEADER_SIZE];
	bool is_regular = stat(name, &status) == 0 && S_ISREG(status.st_mode);
	FILE *file = is_regular ? fopen(name, "r") : NULL;
	bool has_header = file && fgets(header, sizeof header, file);
	bool ours = !has_header || (print_row(NULL, row, header) && strstr(header, "_ms"));

	if (file)
		fclose(file);
	if (!ours)
		print_error("'%.500s' does not begin with a %s header: it was written by another "
			    "program or by a newer version of Ziatest; choose a new file and "
			    "launch again\n",
			    name, option);
	return ours;
}

/* Opens NAME, the file of OPTION, for appending rows like ROW. With KEEP, its rows are kept, and
 * HEADER becomes its header; otherwise they are removed. Files that are not regular count as empty:
 * reading a pipe, for example, would block. On failure, prints an error and returns NULL; the file
 * may have become another one after are_files_ours(), for example that of --csv. */
static FILE *open_file(const char *option, const char *name, const struct row *row, bool keep,
		       char *header)
{
	struct stat before;
	bool is_regular = stat(name, &before) != 0 || S_ISREG(before.st_mode);
	FILE *file;
	bool has_header;

	if (!is_ours(option, name, row))
		return NULL;
	file = fopen(name, is_regular ? "a+" : "w");
	has_header = file && is_regular && fgets(header, HEADER_SIZE, file);
	if (has_header && !keep) {
		file = freopen(name, "w", file);
		has_header = false;
	}
	if (!file || ferror(file)) {
		print_failure(file ? "read" : "open", name);
		if (file)
			fclose(file);
		return NULL;
	}
	if (!has_header) {
		make_header(header, row);
		/* Rows are appended, but the header is not: if several runs find an empty file,
		 * each writes it to the same place. Not every file system has locks. */
		fcntl(fileno(file), F_SETFL, 0);
		fputs(header, file);
		fflush(file);
		fcntl(fileno(file), F_SETFL, O_APPEND);
	} else if (fseek(file, -1, SEEK_END) == 0 && fgetc(file) != '\n') {
		fseek(file, 0, SEEK_END);
		fputc('\n', file); /* after a row that was cut off */
	}
	fseek(file, 0, SEEK_END); /* required between reading and writing */
	return file;
}

/* Closes FILE, called NAME, and prints an error if it could not be written. Returns the exit
 * status. */
static int close_file(FILE *file, const char *name)
{
	int failed = ferror(file);

	errno = EIO; /* if the reason of an earlier failure is not known any more */
	if (fclose(file) != 0 || failed) {
		print_failure("write", name);
		return 1;
	}
	return 0;
}

/* Appends to ROW the start of RUN, by which rows of both files belong together. */
static void add_start(struct row *row, const struct run *run)
{
	time_t seconds = (time_t)(run->start / 1000000);
	char started[32];

	strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
	add_cell(row, "started", "%s.%06dZ", started, (int)(run->start % 1000000));
}

/* Fills ROW with the result. */
static void describe_result(struct row *row, const struct run *run, const struct path *path,
			    const struct outlier *outlier)
{
	static const enum column columns[] = {DAEMON,   SPAWN, EXEC, SETUP,    INIT,    FENCE,
					      EXCHANGE, CLOCK, CPU,  CPU_WAIT, BLOCKED, FAULTS};
	const struct phase *late = outlier->phase;
	int rank = late ? late->end.rank : 0;
	bool has_kind = late && outlier->kind < COLUMNS;

	add_start(row, run);
	add_number(row, "nodes", run->size / run->n);
	add_number(row, "ppn", run->n);
	add_number(row, "ranks", run->size);
	add_ms(row, "time_ms", run->time);
	add_ms(row, "corrected_ms", run->corrected);
	add_number(row, "slowest_rank", run->slowest);
	add_cell(row, "slowest_host", "%s", run->records[run->slowest].host);
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		add_value(row, columns[i], sum_path(run, path, columns[i]));
	add_cell(row, "outlier", "%s", late ? column_names[late->column] : "");
	add_number(row, "outlier_rank", late ? rank : UNKNOWN);
	add_cell(row, "outlier_host", "%s", late ? run->records[rank].host : "");
	add_ms(row, "outlier_ms", late ? outlier->excess : UNKNOWN);
	add_cell(row, "outlier_kind", "%s", has_kind ? column_names[outlier->kind] : "");
	add_number(row, "outlier_nodes", late ? outlier->nodes : UNKNOWN);
	add_ms(row, "mpi_init_max_ms", summarise(run, NULL, WHOLE_INIT).max);
	add_ms(row, "offset_ms", run->offsets[run->worst_clock].value);
	add_cell(row, "offset_host", "%s", run->records[run->worst_clock * run->n].host);
	add_cell(row, "reference_host", "%s", run->records[run->reference_clock * run->n].host);
	add_ms(row, "offset_bound_ms", run->offsets[run->worst_clock].bound);
	add_cell(row, "program", "%s", run->program);
	add_number(row, "executable_bytes", run->program_bytes);
	add_cell(row, "mpi", "%s", part(run->mpi, ','));
	add_cell(row, "daemon", "%s", part(run->records[0].parent, '.')); /* mpirun.openmpi */
	add_cell(row, "fence_interface", "%s", run->fence_interface ? run->fence_interface : "");
}

/* Fills ROW with the values of RANK. */
static void describe_rank(struct row *row, const struct run *run, int rank)
{
	static const enum column columns[] = {DAEMON, SPAWN,    EXEC,     SETUP,      INIT,
					      FENCE,  WAIT,     EXCHANGE, WHOLE_INIT, COMPLETED,
					      CPU,    CPU_WAIT, BLOCKED,  FAULTS};

	row->count = 0;
	add_number(row, "rank", rank);
	add_number(row, "node", rank / run->n + 1);
	add_cell(row, "host", "%s", run->records[rank].host);
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		add_value(row, columns[i], run->values[rank].in[columns[i]]);
	add_ms(row, "clock_offset_ms", correction(run, rank));
	add_start(row, run);
}

/* Returns whether the files of --csv and --ranks may be written. If not, prints an error. */
bool are_files_ours(const struct run *run, const struct path *path, const struct outlier *outlier)
{
	struct row row = {.count = 0};
	bool ours;

	describe_result(&row, run, path, outlier);
	ours = !run->csv || is_ours("--csv", run->csv, &row);
	describe_rank(&row, run, 0);
	return (!run->ranks || is_ours("--ranks", run->ranks, &row)) && ours;
}

/* Appends the result's row to the file of --csv. Returns the exit status. */
int append_row(const struct run *run, const struct path *path, const struct outlier *outlier)
{
	struct row row = {.count = 0};
	char header[HEADER_SIZE];
	FILE *file;

	describe_result(&row, run, path, outlier);
	file = open_file("--csv", run->csv, &row, true, header);
	if (!file)
		return 1;
	print_row(file, &row, header);
	return close_file(file, run->csv);
}

/* Writes a row for each rank to the file of --ranks, replacing its old rows. Returns the exit
 * status. */
int write_ranks(const struct run *run)
{
	struct row row;
	char header[HEADER_SIZE];
	FILE *file;

	describe_rank(&row, run, 0);
	file = open_file("--ranks", run->ranks, &row, false, header);
	if (!file)
		return 1;
	for (int rank = 0; rank < run->size; rank++) {
		describe_rank(&row, run, rank);
		print_row(file, &row, header);
	}
	return close_file(file, run->ranks);
}
