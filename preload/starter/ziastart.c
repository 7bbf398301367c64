/*
 * ziastart - starts a program in each task of a launch, so that libziaprobe.so measures it
 *
 *	ziastart SEC USEC N [OPTION...] -- PROGRAM [ARGUMENT...]
 *	ziastart --launchers		prints launchers' commands and variables, for tools/check
 *
 * ziatest puts ziastart between the launcher and the program, because only a process of the task
 * sees the LD_PRELOAD that the launcher, its plugins and a task prolog have set. ziastart appends
 * libziaprobe.so to it, passes on the arguments before the -- in ZIAPROBE, and becomes PROGRAM. It
 * is linked statically if possible: it then starts faster, needs nothing from the container in
 * which it runs, and does not load the libraries in LD_PRELOAD itself.
 *
 * On the clock: all of it, except --launchers. Messages begin with "ziaprobe", like those of the
 * library. Exit status: 2 after a usage error; 126 if PROGRAM cannot be started; 127 if it cannot
 * be found, or if the library cannot be read.
 */
#include "../../observe/observe.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/utsname.h>

static const char *arguments = ""; /* of ziaprobe: SEC,USEC,N,OPTION,... */

/* Prints the error "WHAT WHICH: WHY" once per launch and node. Then waits a second, because the
 * launcher may end all tasks as soon as one has ended. Returns whether this task printed it. */
static bool report(const char *what, const char *which, const char *why)
{
	bool prints = claim("start", 0, hash(arguments, strlen(arguments)));
	struct utsname node;

	uname(&node);
	if (prints)
		print_error("%s %s: %s (on %s)\n", what, which, why, node.nodename);
	sleep_second();
	return prints;
}

/* Returns a new string, formatted as by printf. */
static char *__attribute__((format(printf, 1, 2))) text(const char *format, ...)
{
	char *result;
	va_list args;

	va_start(args, format);
	if (vasprintf(&result, format, args) < 0) {
		report("cannot start", "the program", "out of memory");
		exit(126);
	}
	va_end(args);
	return result;
}

/* Prints an error because the library at PATH cannot be read, and exits. Also ends the launch if
 * srun or MPICH's hydra started it: unlike mpirun, they would let the ranks on other nodes wait
 * forever for those on this one. Does not end the step in which ziatest itself runs, such as a
 * shell. */
static void __attribute__((noreturn)) fail_without_library(const char *path)
{
	const char *step = getenv("SLURM_STEP_ID"), *outer = getenv("OMPI_ZIATEST_STEP");
	const char *node = getenv("SLURM_NODEID");

	access(path, R_OK); /* sets errno */
	if (!report("cannot read", path,
		    text("%s; make its directory visible on all nodes, and inside containers",
			 strerror(errno))) ||
	    getenv("OMPI_COMM_WORLD_SIZE"))
		exit(127);
	if (step && outer && strcmp(step, outer) != 0) {
		/* The nodes take turns, because one scancel is enough. */
		usleep(node ? 10000 * (unsigned)atoi(node) : 0);
		execl("/bin/sh", "sh", "-c", "scancel $SLURM_JOB_ID.$SLURM_STEP_ID; exit 127",
		      NULL);
	}
	if (getenv("PMI_FD"))
		dprintf(atoi(getenv("PMI_FD")), "cmd=abort exitcode=127\n");
	exit(127);
}

/* Returns the path of libziaprobe.so, which ziatest has passed on. The library is next to this
 * executable, unless the launcher has copied the executable: in that case, prints a warning, if
 * WARNS is set, that PROGRAM was not copied. */
static const char *find_library(const char *program, bool warns)
{
	const char *original = getenv("OMPI_ZIATEST_LIBRARY"), *self, *beside, *library;
	struct stat one, other;

	self = realpath("/proc/self/exe", NULL);
	beside = self ? text("%.*s/libziaprobe.so", (int)(strrchr(self, '/') - self), self) : "";
	library = original && access(original, R_OK) == 0 ? original : beside;
	if (access(library, R_OK) != 0)
		fail_without_library(original ? original : beside);
	if (warns && self && stat(library, &one) == 0 &&
	    (stat(beside, &other) != 0 || one.st_ino != other.st_ino))
		print_warning("the launcher has copied ziastart to the nodes instead of %s; copy "
			      "the program with sbcast before ziatest, and launch without --bcast "
			      "and SLURM_BCAST; with the mpiexec of PALS, set PALS_TRANSFER=0 "
			      "instead\n",
			      program);
	return library;
}

/* Returns the path of the program NAME. Looks for it in PATH and then in the working directory, as
 * srun and Open MPI do, but execvp does not. If it is in neither, returns the latter path. */
static const char *find(const char *name)
{
	const char *path = getenv("PATH");
	char *rest = text("%s", path ? path : "/usr/bin:/bin"), *found;
	struct stat file;

	if (strchr(name, '/'))
		return name;
	for (char *dir; (dir = strsep(&rest, ":"));) {
		found = text("%s/%s", *dir ? dir : ".", name);
		if (stat(found, &file) == 0 && S_ISREG(file.st_mode) && access(found, X_OK) == 0)
			return found;
	}
	return text("./%s", name);
}

/* Returns whether PATH is an ELF file. Sets *IS_STATIC to whether it certainly names no loader, so
 * that nothing would load the library. */
static bool is_elf(const char *path, bool *is_static)
{
	struct {
		ElfW(Ehdr) head;
		ElfW(Phdr) segment[64]; /* right after the head in all executables of Linux */
	} file = {.head = {.e_phnum = 0}};
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = read(descriptor, &file, sizeof file);

	close(descriptor);
	*is_static = size == sizeof file && file.head.e_phoff == sizeof file.head;
	for (int i = 0; *is_static && i < MIN(file.head.e_phnum, 64); i++)
		*is_static = file.segment[i].p_type != PT_INTERP;
	return memcmp(file.head.e_ident, ELFMAG, SELFMAG) == 0;
}

/* Prints lines for a script. "command NAME" is a command of a launcher. "daemon NAME RANK SIZE" is
 * a daemon that starts ranks, with the variables that hold the rank and the number of ranks. "rank
 * LOCAL RANK SIZE" is the variable that holds the rank within the node, with the same two
 * variables. */
static void print_launchers(void)
{
	for (const struct launcher *each = launchers; each < launchers + LAUNCHERS; each++) {
		for (const char *const *name = each->commands; *name; name++)
			printf("command %s\n", *name);
		for (const char *const *name = each->daemons; *name; name++)
			printf("daemon %s %s %s\n", *name, each->rank, each->size);
		for (const char *const *name = each->local_rank; *name; name++)
			printf("rank %s %s %s\n", *name, each->rank, each->size);
	}
}

int main(int argc, char **argv)
{
	const char *path, *why, *library, *present = getenv("LD_PRELOAD");
	char **program = argv + 1;
	int rank = launched_world().rank;
	bool is_static, warns = rank <= 0; /* also if it is unknown */

	if (argc == 2 && strcmp(argv[1], "--launchers") == 0) {
		print_launchers();
		return 0;
	}
	for (; *program && strcmp(*program, "--") != 0; program++)
		arguments = text("%s%s%s", arguments, *arguments ? "," : "", *program);
	if (argc < 6 || program < argv + 4 || !*program || !*++program) {
		fputs("usage: ziastart SEC USEC N [OPTION...] -- PROGRAM [ARGUMENT...]\n", stderr);
		return 2;
	}
	/* Ours comes last, because AddressSanitizer's must come first. */
	library = find_library(*program, warns);
	if (present && *present)
		library = text("%s:%s", present, library);
	setenv("LD_PRELOAD", library, 1);
	setenv("ZIAPROBE", arguments, 1);
	setenv("ZIASTART", text("%srank=%d;", describe_task(), rank), 1);
	path = find(*program);
	if (warns && is_elf(path, &is_static) && is_static)
		print_warning("%s is linked statically, so only programs that it starts can be "
			      "measured; link it dynamically, or measure ziaprobe instead\n",
			      *program);
	execv(path, program);
	if (errno == ENOEXEC && !is_elf(path, &is_static))
		execvp(path, program); /* runs a script without #! in sh, as hydra does */
	why = strerror(errno);
	if (errno == ENOENT && access(path, F_OK) != 0) {
		if (path != *program)
			why = "it is neither in PATH nor in the working directory";
		report("cannot find the program", *program, why);
		return 127;
	}
	if (errno == ENOENT)
		why = "the interpreter in its first line, or its loader, does not exist";
	report("cannot start", path, why);
	return 126;
}
