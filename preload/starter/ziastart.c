/*
 * ziastart - starts a program in each task of a launch, so that libziaprobe.so measures it
 *
 *	ziastart SEC USEC N [OPTION...] -- PROGRAM [ARGUMENT...]
 *
 * ziatest puts it between the launcher and the program, because only a process of the task itself
 * sees what the launcher, its plugins and a task prolog have set there. It adds libziaprobe.so,
 * which is next to it, to LD_PRELOAD, passes the arguments before the -- on in ZIAPROBE, and
 * becomes PROGRAM.
 *
 * It is linked statically if possible: it then starts faster, needs nothing of the container in
 * which it runs, and does not itself load what is in LD_PRELOAD.
 *
 * On the clock: all of it.
 *
 * Exit status: 2 for a usage error; 126 if PROGRAM cannot be started; 127 if it, or the library,
 * cannot be found.
 */
#include "../../observe/observe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>

static const char *start = ""; /* SEC,USEC,N,OPTION,... */

/* Prints the error "WHAT WHICH: WHY", and waits a second, because the launcher may end all tasks if
 * one ends. Of the tasks of a launch on this node, only the first to bind an abstract Unix socket,
 * which lasts as long as its process, prints. Returns whether this one has. */
static bool report(const char *what, const char *which, const char *why)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int file = socket(AF_UNIX, SOCK_STREAM, 0);
	struct utsname node;
	bool prints;

	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "ziastart.%s", start);
	prints = bind(file, (struct sockaddr *)&name, sizeof name) == 0 || errno != EADDRINUSE;
	uname(&node);
	if (prints)
		print_error("%s %s: %s (on %s)\n", what, which, why, node.nodename);
	sleep(1);
	return prints;
}

/* Returns a new string, formatted as by printf. */
static char *__attribute__((format(printf, 1, 2))) text(const char *format, ...)
{
	char *result;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&result, format, args);
	va_end(args);
	if (length >= 0)
		return result;
	report("cannot start", "the program", "out of memory");
	exit(126);
}

/* Exits because this node cannot see the library, and ends the job: the ranks of other nodes would
 * wait for those of this one. Unlike mpirun, srun and MPICH's hydra let them wait. */
static void __attribute__((noreturn)) fail_without_library(const char *path)
{
	const char *task = getenv("SLURM_TASK_PID"), *node = getenv("SLURM_NODEID");

	if (!report("cannot read", path,
		    "make its directory visible to all nodes, and in containers"))
		exit(127);
	if (task && atoi(task) == getpid()) {
		usleep(node ? 10000 * (unsigned)atoi(node) : 0); /* one scancel is enough */
		execl("/bin/sh", "sh", "-c", "scancel $SLURM_JOB_ID.$SLURM_STEP_ID; exit 127",
		      NULL);
	}
	if (getenv("PMI_FD"))
		dprintf(atoi(getenv("PMI_FD")), "cmd=abort exitcode=127\n");
	exit(127);
}

/* Returns the path of libziaprobe.so: next to this executable or, if the launcher has copied this
 * executable alone, where ziatest has found it. If SPEAKS is set, warns that PROGRAM was not
 * copied. */
static const char *find_library(const char *program, bool speaks)
{
	const char *original = getenv("OMPI_ZIATEST_LIBRARY"), *self, *beside;

	self = realpath("/proc/self/exe", NULL);
	beside = self ? text("%.*s/libziaprobe.so", (int)(strrchr(self, '/') - self), self) : "";
	if (access(beside, R_OK) == 0)
		return beside;
	if (!original || access(original, R_OK) != 0)
		fail_without_library(original ? original : beside);
	if (speaks)
		print_warning("the launcher has copied ziastart to the nodes instead of %s; start "
			      "without --bcast, SLURM_BCAST and the like, with PALS_TRANSFER=0 if "
			      "mpiexec is that of PALS, and copy the program with sbcast\n",
			      program);
	return original;
}

/* Returns the path of the program NAME. srun and Open MPI look in PATH and then, unlike exec, in
 * this directory. If there is none, returns the path in this directory. */
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

/* Returns whether PATH is an executable of this machine's class, and not a script. Sets *IS_STATIC
 * to whether it names no loader, which would load the library. */
static bool is_elf(const char *path, bool *is_static)
{
	struct {
		ElfW(Ehdr) head;
		ElfW(Phdr) segment[64]; /* which follow the head in all executables of Linux */
	} file = {.head = {.e_phnum = 0}};
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = read(descriptor, &file, sizeof file);

	close(descriptor);
	*is_static = size == sizeof file && file.head.e_phoff == sizeof file.head &&
		     file.head.e_phnum <= 64;
	for (int i = 0; *is_static && i < file.head.e_phnum; i++)
		*is_static = file.segment[i].p_type != PT_INTERP;
	return memcmp(file.head.e_ident, ELFMAG, SELFMAG) == 0;
}

int main(int argc, char **argv)
{
	const char *path, *library, *present = getenv("LD_PRELOAD");
	char **program = argv + 1;
	bool is_static, speaks = launched_world().rank <= 0; /* or if ranks are not known */
	int error;

	for (; *program && strcmp(*program, "--") != 0; program++)
		start = text("%s%s%s", start, *start ? "," : "", *program);
	if (argc < 6 || program < argv + 4 || !*program || !*++program) {
		fputs("usage: ziastart SEC USEC N [OPTION...] -- PROGRAM [ARGUMENT...]\n", stderr);
		return 2;
	}
	library = find_library(*program, speaks);
	/* The library of AddressSanitizer must come first. */
	setenv("LD_PRELOAD",
	       text("%s%s%s", present ? present : "", present && *present ? ":" : "", library), 1);
	setenv("ZIAPROBE", start, 1);
	setenv("ZIASTART", describe_process(), 1);
	path = find(*program);
	if (speaks && is_elf(path, &is_static) && is_static)
		print_warning("%s is linked statically, so it cannot be measured, only what it "
			      "starts\n",
			      *program);
	execv(path, program);
	error = errno;
	if (error == ENOEXEC && !is_elf(path, &is_static))
		execvp(path, program); /* lets sh run a script without #!, as hydra does */
	if (error == ENOENT && access(path, F_OK) != 0) {
		report("cannot find the program", *program,
		       path == *program ? "there is no such file"
					: "it is neither in PATH nor in the working directory");
		return 127;
	}
	report("cannot start", path,
	       error == ENOENT ? "the interpreter in its first line, or its loader, does not exist"
			       : strerror(error));
	return 126;
}
