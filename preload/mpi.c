/*
 * mpi.c - finds the MPI of the user's program
 *
 * The functions are taken from the library that the program's call reaches. If that is a profiler,
 * they are taken from a library that it depends on, or from any that is loaded. The binary
 * interface is recognised as follows: a library with the standard one (MPI 5.0, chapter 21) is
 * named libmpi_abi, Open MPI defines an object for each constant, and MPICH and its derivatives are
 * named in their version. The handles of any other MPI are not known here, and wrong ones would
 * crash the user's program. A profiler may have replaced some of the functions, but is unlikely to
 * have replaced all.
 *
 * On the clock: find_mpi(), about 115 us, or 40 us once the loader has bound what it calls.
 */
#define _GNU_SOURCE /* dladdr */

#include "mpi.h"

#include "../observe/observe.h"

#include <dlfcn.h>

MPI_Comm MPI_COMM_WORLD;
MPI_Datatype MPI_BYTE, MPI_INT64_T;
MPI_Status *MPI_STATUS_IGNORE;

#define MPI_DEFINE(name, parameters) int(*PMPI_##name) parameters;
MPI_FUNCTIONS(MPI_DEFINE)

/* The MPI functions of ziaprobe.c that observe/mpi.c does not define */
int MPI_Abort(MPI_Comm comm, int code)
{
	return PMPI_Abort(comm, code);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
	return PMPI_Comm_rank(comm, rank);
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
	return PMPI_Comm_size(comm, size);
}

static const struct {
	void *variable;
	const char *name;
} functions[] = {
#define MPI_ENTRY(name, parameters) {&PMPI_##name, "PMPI_" #name},
	MPI_FUNCTIONS(MPI_ENTRY)};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* Looks up the functions, first in the library of INIT, the function with which the program starts
 * MPI. Returns the name of the first one that is missing, or NULL. */
static const char *find_functions(void (*init)(void))
{
	const char *missing = NULL;
	Dl_info called = {.dli_fname = ""};

	dladdr(*(void **)&init, &called);
	for (int i = FUNCTIONS - 1; i >= 0; i--) {
		void *found = find_in_file(called.dli_fname, functions[i].name);
		function *other = found ? NULL : find_anywhere(functions[i].name);

		*(void **)functions[i].variable = found ? found : *(void **)&other;
		if (!found && !other)
			missing = functions[i].name;
	}
	return missing;
}

/* Takes PMPI_Initialized from the library of PMPI_Comm_rank: a stub may define it, too. */
static void use_same_library(void)
{
	Dl_info library;
	void *found = NULL;

	if (dladdr(*(void **)&PMPI_Comm_rank, &library))
		found = find_in_file(library.dli_fname, "PMPI_Initialized");
	if (found)
		*(void **)&PMPI_Initialized = found;
}

/* The values that a binary interface gives to MPI's constants */
struct constants {
	MPI_Comm world;
	MPI_Datatype byte, int64;
	MPI_Status *ignore;
};
static const struct constants standard = {(void *)0x101, (void *)0x247, (void *)0x258, (void *)0},
			      mpich = {(void *)0x44000000, (void *)0x4c00010d, (void *)0x4c00083a,
				       (void *)1};

/* Returns whether PATH is that of a library with MPI's standard binary interface. */
static bool is_standard_library(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && strncmp(name, "/libmpi_abi", strlen("/libmpi_abi")) == 0;
}

/* Returns whether VERSION, the first line of a library's version, is that of MPICH or of a library
 * with the same binary interface. */
static bool is_mpich(const char *version)
{
	static const char *const names[] = {"MPICH", "MVAPICH", "Intel(R) MPI", "ParaStation MPI"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strstr(version, names[i]))
			return true;
	return false;
}

/* Returns Open MPI's object NAME, which LIBRARY or one that it depends on defines. Searches all
 * objects first, because the program may have a copy (a copy relocation). */
static void *object(const char *name, const char *library)
{
	void *copy = dlsym(RTLD_DEFAULT, name);

	return copy ? copy : find_in_file(library, name);
}

/* Stores the constants of the library, or libraries, to which the functions belong. Returns false
 * if their binary interface is not known. */
static bool find_constants(struct constants *constants)
{
	const char *open_mpi = NULL; /* the path of its library, if there is one */
	const void *searched = NULL; /* the library that was searched last */
	bool is_standard = false;
	Dl_info library;

	for (int i = 0; i < FUNCTIONS; i++) {
		if (!dladdr(*(void **)functions[i].variable, &library) ||
		    library.dli_fbase == searched) /* true of most */
			continue;
		searched = library.dli_fbase;
		is_standard |= is_standard_library(library.dli_fname);
		if (find_in_file(library.dli_fname, "ompi_mpi_comm_world"))
			open_mpi = library.dli_fname;
	}
	if (is_standard)
		*constants = standard;
	else if (open_mpi)
		*constants = (struct constants){object("ompi_mpi_comm_world", open_mpi),
						object("ompi_mpi_byte", open_mpi),
						object("ompi_mpi_int64_t", open_mpi), NULL};
	else if (is_mpich(mpi_version()))
		*constants = mpich;
	else
		return false;
	return true;
}

const char *find_mpi(void (*init)(void))
{
	static char reason[400];
	const char *missing = find_functions(init);
	struct constants constants;
	Dl_info called = {.dli_fname = ""};

	if (!PMPI_Comm_rank) {
		dladdr(*(void **)&init, &called);
		snprintf(reason, sizeof reason,
			 "%s calls the MPI_Init of %.200s, a stub for serial builds (no loaded "
			 "library has PMPI_Comm_rank); measure a build with MPI",
			 program_name(), called.dli_fname);
		return reason;
	}
	use_same_library();
	if (missing) {
		snprintf(reason, sizeof reason,
			 "the MPI library of %s has no %s; MPI 3 or later is needed",
			 program_name(), missing);
		return reason;
	}
	if (!find_constants(&constants)) {
		snprintf(reason, sizeof reason,
			 "Ziatest does not know the MPI library of %s, \"%.100s\"; measure a "
			 "ziaprobe that is built with it instead",
			 program_name(), mpi_version());
		return reason;
	}
	MPI_COMM_WORLD = constants.world;
	MPI_BYTE = constants.byte;
	MPI_INT64_T = constants.int64;
	MPI_STATUS_IGNORE = constants.ignore;
	return NULL;
}
