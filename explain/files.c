/*
 * files.c - the files that --csv and --ranks write
 */
#include "analysis.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

enum { HEADER_SIZE = 1000 }; /* more than the header of either file has */

/* Of the columns, --csv has those of the critical path, and --ranks has those of a rank. */
static const enum column path_columns[] = {
	DAEMON, SPAWN, EXEC,     SETUP,   INIT,   FENCE,   EXCHANGE,
	CLOCK,  CPU,   CPU_WAIT, BLOCKED, FAULTS, COLUMNS, /* the end */
};
static const enum column rank_columns[] = {
	DAEMON,     SPAWN,     EXEC, SETUP,    INIT,    FENCE,  WAIT,    EXCHANGE,
	WHOLE_INIT, COMPLETED, CPU,  CPU_WAIT, BLOCKED, FAULTS, COLUMNS, /* the end */
};

/* Returns the header of a file, in a static buffer: FIRST, the names of COLUMNS, and LAST. */
static const char *make_header(const char *first, const enum column *column, const char *last)
{
	static char header[HEADER_SIZE];
	char *end = stpcpy(header, first);

	for (; *column < COLUMNS; column++)
		end += sprintf(end, *column == FAULTS ? ",%s" : ",%s_ms", column_names[*column]);
	sprintf(end, ",%s\n", last);
	return header;
}

/* Prints that it was not possible to do WHAT with the file NAME, because of errno. */
static void print_failure(const char *what, const char *name)
{
	print_error("cannot %s '%.500s': %s; choose a file that can be read and written on the "
		    "node of rank 0\n",
		    what, name, strerror(errno));
}

/* Opens NAME, the file of OPTION, for adding rows below HEADER. A regular file that is not empty
 * must begin with HEADER, so that no other file is overwritten or appended to; its rows are removed
 * unless KEEP is set. Other kinds of files count as empty: reading a pipe, for example, would
 * block. On failure, prints an error and returns NULL. */
static FILE *open_file(const char *option, const char *name, const char *header, bool keep)
{
	char line[HEADER_SIZE];
	struct stat before;
	bool is_regular = stat(name, &before) != 0 || S_ISREG(before.st_mode);
	FILE *file = fopen(name, is_regular ? "a+" : "w");
	bool has_header = file && is_regular && fgets(line, sizeof line, file);

	if (has_header && strcmp(line, header) != 0) {
		print_error("'%.500s' begins with another header: it was written by another "
			    "version, or not by %s; choose a new file\n",
			    name, option);
		fclose(file);
		return NULL;
	}
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
		/* Rows are appended, but the header is not: if several runs find an empty file,
		 * each writes it to the same place. Not every file system has locks. */
		fcntl(fileno(file), F_SETFL, 0);
		fputs(header, file);
		fflush(file);
		fcntl(fileno(file), F_SETFL, O_APPEND);
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

/* Writes the next cell of a row: TEXT up to the first END in it, or all of it if there is none.
 * Commas are replaced. */
static void write_part(FILE *file, const char *text, char end)
{
	fputc(',', file);
	for (; *text && *text != end; text++)
		fputc(*text == ',' ? '?' : *text, file);
}

static void write_text(FILE *file, const char *text)
{
	write_part(file, text, '\0');
}

static void write_value(FILE *file, enum column column, int64_t value)
{
	fputc(',', file);
	print_value(file, 0, column, value);
}

static void write_ms(FILE *file, int64_t us)
{
	fputc(',', file);
	print_ms(file, 0, us);
}

static void write_outlier(FILE *file, const struct run *run, const struct outlier *outlier)
{
	const struct phase *phase = outlier->phase;

	if (!phase) {
		fputs(",,,,,,", file);
		return;
	}
	write_text(file, column_names[phase->column]);
	fprintf(file, ",%d", phase->end.rank);
	write_text(file, run->records[phase->end.rank].host);
	write_ms(file, outlier->excess);
	write_text(file, outlier->kind < COLUMNS ? column_names[outlier->kind] : "");
	fprintf(file, ",%d", outlier->nodes);
}

/* Appends the result's row to the file of --csv. Returns the exit status. */
int append_row(const struct run *run, const struct path *path, const struct outlier *outlier)
{
	const char *header = make_header(
		"started,nodes,ppn,ranks,time_ms,corrected_ms,slowest_rank,slowest_host",
		path_columns,
		"outlier,outlier_rank,outlier_host,outlier_ms,outlier_kind,outlier_nodes,"
		"mpi_init_max_ms,offset_ms,offset_host,reference_host,offset_bound_ms,program,"
		"executable_bytes,mpi,daemon,fence_interface");
	FILE *file = open_file("--csv", run->csv, header, true);
	time_t seconds = (time_t)(run->start / 1000000);
	char started[32];

	if (!file)
		return 1;
	strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
	fprintf(file, "%s.%06dZ,%d,%d,%d", started, (int)(run->start % 1000000), run->size / run->n,
		run->n, run->size);
	write_ms(file, run->time);
	write_ms(file, run->corrected);
	fprintf(file, ",%d", run->slowest);
	write_text(file, run->records[run->slowest].host);
	for (const enum column *column = path_columns; *column < COLUMNS; column++)
		write_value(file, *column, sum_path(run, path, *column));
	write_outlier(file, run, outlier);
	write_ms(file, summarise(run, NULL, WHOLE_INIT).max);
	write_ms(file, run->offsets[run->worst_clock].value);
	write_text(file, run->records[run->worst_clock * run->n].host);
	write_text(file, run->records[run->reference_clock * run->n].host);
	write_ms(file, run->offsets[run->worst_clock].bound);
	write_text(file, run->program);
	fprintf(file, ",%lld", (long long)run->program_bytes);
	write_part(file, run->mpi, ',');
	write_part(file, run->records[0].parent, '.'); /* Debian has mpirun.openmpi */
	write_text(file, run->fence_interface ? run->fence_interface : "");
	fputc('\n', file);
	return close_file(file, run->csv);
}

/* Writes a row for each rank to the file of --ranks, replacing its old rows. Returns the exit
 * status. */
int write_ranks(const struct run *run)
{
	const char *header = make_header("rank,node,host", rank_columns, "clock_offset_ms");
	FILE *file = open_file("--ranks", run->ranks, header, false);

	if (!file)
		return 1;
	for (int rank = 0; rank < run->size; rank++) {
		fprintf(file, "%d,%d", rank, rank / run->n + 1);
		write_text(file, run->records[rank].host);
		for (const enum column *column = rank_columns; *column < COLUMNS; column++)
			write_value(file, *column, run->values[rank].in[*column]);
		write_ms(file, correction(run, rank));
		fputc('\n', file);
	}
	return close_file(file, run->ranks);
}
