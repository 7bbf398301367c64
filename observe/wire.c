/*
 * wire.c - the fences of MPI libraries that have a PMI client built in, such as MPICH's
 *
 * The client writes commands to a descriptor, PMI's wire, and reads the answers. So read and write
 * are intercepted: a fence begins when its command is written, and ends when the answer is read.
 *
 * On the clock: what fence.c does for each fence, and an fstat for each command. Each read and
 * write of another descriptor costs a comparison.
 */
#include "observe.h"

#include <stdatomic.h>

/* PMI's wire: the first descriptor to which "cmd=init" is written */
enum { NOT_YET = -1, FORGOTTEN = -2 };
static atomic_int wire = NOT_YET;

/* Called when MPI_Init has returned. No descriptor is PMI's wire any more, because its number may
 * soon be that of another file. */
void forget_wire(void)
{
	wire = FORGOTTEN;
}

/* The answers to commands that asked for the key PMI_process_mapping, such as
 * "cmd=get_result rc=0 msg=success value=(vector,(0,4,2))". The value has at most 1,024 bytes. */
static char mapping[2000];

/* Returns how many nodes the mapping has, in which each (FIRST,NODES,RANKS) stands for NODES nodes
 * from number FIRST on. Returns NOBODY_TOLD if the launcher was not asked or has none, and NOT_TOLD
 * if the end of the mapping is missing. Async-signal-safe. */
int wire_nodes(void)
{
	const char *at = strstr(mapping, "(vector,");
	int nodes = NOBODY_TOLD;

	if (!at)
		return NOBODY_TOLD;
	if (!strstr(at, "))"))
		return NOT_TOLD;
	for (at++; (at = strchr(at, '(')); at++) {
		char *end;
		unsigned long first = strtoul(at + 1, &end, 10);

		if (*end == ',')
			nodes = MAX(nodes, (int)(first + strtoul(end + 1, NULL, 10)));
	}
	return nodes;
}

#ifdef INTERPOSE
#include <sys/stat.h>
#include <sys/syscall.h>

static const char init_command[] = "cmd=init";

static ssize_t (*library_read)(int file, void *data, size_t size);
static ssize_t (*library_read_chk)(int file, void *data, size_t size, size_t room);
static ssize_t (*library_write)(int file, const void *data, size_t size);

/* Looks these up before main, so that no look-up happens in a signal handler. Until then, the raw
 * system calls take their place. */
__attribute__((constructor)) static void find_read_and_write(void)
{
	library_read = (__typeof__(library_read))next_function("read");
	library_read_chk = (__typeof__(library_read_chk))next_function("__read_chk");
	library_write = (__typeof__(library_write))next_function("write");
}

static atomic_int wire_fence = -1; /* the fence whose answer has not been read yet */

static struct stat wire_file;

/* Returns whether FILE is PMI's wire, and not another file that has been given its number since. */
static bool is_wire(int file)
{
	struct stat other;

	return file >= 0 && file == wire && fstat(file, &other) == 0 &&
	       other.st_dev == wire_file.st_dev && other.st_ino == wire_file.st_ino;
}

/* Returns whether TEXT is among the SIZE bytes at DATA. */
static bool contains(const void *data, size_t size, const char *text)
{
	return memmem(data, size, text, strlen(text)) != NULL;
}

static bool asks_for_mapping; /* whether the last command did */

/* Appends the SIZE bytes at DATA to the mapping. */
static void add_to_mapping(const void *data, size_t size)
{
	size_t length = strlen(mapping);

	memcpy(mapping + length, data, MIN(size, sizeof mapping - 1 - length));
}

/* If the SIZE bytes at DATA are a command that begins a fence of all ranks, returns its interface;
 * otherwise returns NULL. */
static const char *fence_command(const void *data, size_t size)
{
	if (contains(data, size, "cmd=kvs-fence"))
		return "PMI2";
	if (!contains(data, size, "cmd=barrier_in"))
		return NULL;
	if (contains(data, size, "group=") && !contains(data, size, "group=WORLD"))
		return NULL;
	return "PMI";
}

/* Ends the fence whose answer has not been read yet, if there is one. */
static void end_wire_fence(void)
{
	end_fence(atomic_exchange(&wire_fence, -1));
}

/* Notes the SIZE bytes at DATA, which are about to be sent on the wire. Returns the fence that they
 * begin, or -1. */
static int note_command(const void *data, size_t size)
{
	const char *interface = fence_command(data, size);

	if (contains(data, size, "cmd=")) { /* Otherwise, it is the rest of a command. */
		end_wire_fence(); /* The answer, if one was due, has come unseen. */
		asks_for_mapping = false;
	}
	asks_for_mapping |= contains(data, size, "PMI_process_mapping");
	if (!interface)
		return -1;
	wire_fence = enter_fence(interface, true);
	return wire_fence;
}

/* Like the C library's write, this is async-signal-safe. It leaves errno as that write set it. */
EXPORTED ssize_t write(int file, const void *data, size_t size)
{
	int fence = is_wire(file) ? note_command(data, size) : -1, expected = NOT_YET;
	ssize_t result;

	if (library_write)
		result = library_write(file, data, size);
	else
		result = syscall(SYS_write, file, data, size);
	if (fence >= 0 && result <= 0) {
		wire_fence = -1;
		cancel_fence(fence);
	}
	/* Of another file, only now is it certain that DATA can be read. */
	if (wire == NOT_YET && result >= (ssize_t)strlen(init_command) &&
	    memcmp(data, init_command, strlen(init_command)) == 0 && fstat(file, &wire_file) == 0)
		atomic_compare_exchange_strong(&wire, &expected, file); /* unless it is FORGOTTEN */
	return result;
}

EXPORTED ssize_t read(int file, void *data, size_t size)
{
	ssize_t result;

	if (library_read)
		result = library_read(file, data, size);
	else
		result = syscall(SYS_read, file, data, size);
	if (file == wire && result > 0) {
		end_wire_fence();
		if (asks_for_mapping)
			add_to_mapping(data, (size_t)result);
	}
	return result;
}

/* A library that was compiled with _FORTIFY_SOURCE calls this instead of read, if the compiler
 * could not tell whether SIZE bytes fit into DATA, which has ROOM bytes. */
EXPORTED ssize_t __read_chk(int file, void *data, size_t size, size_t room)
{
	if (size > room && library_read_chk)
		return library_read_chk(file, data, size,
					room); /* which prints an error, and aborts */
	if (size > room)
		abort();
	return read(file, data, size);
}
#endif
