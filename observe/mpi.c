/*
 * mpi.c - the MPI functions of ziaprobe.c that are observed, as a tool on MPI's profiling interface
 *
 * Each notifies the observer (observer.c), and calls the library's PMPI function of the same name.
 *
 * On the clock: all, except MPI_Gather and MPI_Finalize.
 */
#include "observe.h"

#include <mpi.h>

/* Calls from other objects must not come here, although mpi.h may declare these functions as
 * visible to them. */
__asm__(".hidden MPI_Send, MPI_Recv, MPI_Sendrecv, MPI_Gather");

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	note_message(IN_SEND, to);
	return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	     MPI_Status *status)
{
	note_message(IN_RECV, from);
	return PMPI_Recv(data, count, type, from, tag, comm, status);
}

int MPI_Sendrecv(const void *sent, int sent_count, MPI_Datatype sent_type, int to, int sent_tag,
		 void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
		 MPI_Status *status)
{
	note_message(IN_SENDRECV, from);
	return PMPI_Sendrecv(sent, sent_count, sent_type, to, sent_tag, data, count, type, from,
			     tag, comm, status);
}

int MPI_Gather(const void *sent, int sent_count, MPI_Datatype sent_type, void *data, int count,
	       MPI_Datatype type, int root, MPI_Comm comm)
{
	const int64_t *replied = sent;
	int result;

	begin_gather();
	result = PMPI_Gather(sent, sent_count, sent_type, data, count, type, root, comm);
	if (result != MPI_SUCCESS)
		return result;
	return end_gather(*replied, data) ? MPI_SUCCESS : MPI_ERR_OTHER;
}

#ifndef WITHOUT_MAIN /* libziaprobe.so has its own MPI_Init, and the program ends MPI */
__asm__(".hidden MPI_Init, MPI_Finalize");

/* Ends ziaprobe with STATUS. */
static void leave(int status)
{
	PMPI_Finalize();
	stop_if_timed_out();
	exit(status);
}

int MPI_Init(int *argc, char ***argv)
{
	bool prints;
	int result;

	begin_init(argc, *argv, CALLER);
	result = PMPI_Init(argc, argv);
	end_init();
	if (result != MPI_SUCCESS)
		return result;
	if (!has_right_world(&prints)) {
		/* The ranks that do not print wait, because some launchers end the job as soon as
		 * one process has ended. */
		if (!prints)
			sleep_second();
		leave(prints ? 1 : 0);
	}
	if (!learn_ppn(*argv))
		leave(2);
	return result;
}

int MPI_Finalize(void)
{
	bool written = write_reports();
	int result = PMPI_Finalize();

	stop_if_timed_out();
	return written ? result : MPI_ERR_OTHER;
}
#endif
