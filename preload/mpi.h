/*
 * mpi.h - MPI as the user's program sees it
 *
 * The sources of libziaprobe.so are compiled with this header instead of an MPI library's, so
 * libziaprobe.so is not tied to any MPI. Functions and constants are variables here, which
 * find_mpi() sets when the program starts MPI. The three binary interfaces of MPI differ only in
 * the constants: handles are pointers or positive ints, and both are passed in one register.
 */
#ifndef MPI_H
#define MPI_H

typedef struct handle *MPI_Comm, *MPI_Datatype, *MPI_Request;
typedef struct status MPI_Status; /* never looked at */

extern MPI_Comm MPI_COMM_WORLD;
extern MPI_Datatype MPI_BYTE, MPI_INT64_T;
extern MPI_Status *MPI_STATUS_IGNORE;

enum {
	MPI_SUCCESS = 0,
	MPI_ERR_OTHER = 16, /* stands for any error */
	MPI_MAX_PROCESSOR_NAME = 256, /* the largest of the three */
};

/* The functions, without their prefix. observe/mpi.c and preload/mpi.c define the MPI functions
 * that ziaprobe.c calls; the others are only declared. The PMPI functions are variables that point
 * to the library's. */
/* clang-format off */
#define MPI_FUNCTIONS(function) \
	function(Abort, (MPI_Comm comm, int code)) \
	function(Comm_rank, (MPI_Comm comm, int *rank)) \
	function(Comm_size, (MPI_Comm comm, int *size)) \
	function(Finalize, (void)) \
	function(Gather, (const void *sent, int sent_count, MPI_Datatype sent_type, \
			  void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)) \
	function(Get_library_version, (char *text, int *length)) \
	function(Get_processor_name, (char *text, int *length)) \
	function(Initialized, (int *is_started)) \
	function(Ibarrier, (MPI_Comm comm, MPI_Request *request)) \
	function(Ibcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm, \
			  MPI_Request *request)) \
	function(Recv, (void *data, int count, MPI_Datatype type, int from, int tag, \
			MPI_Comm comm, MPI_Status *status)) \
	function(Send, (const void *data, int count, MPI_Datatype type, int to, int tag, \
			MPI_Comm comm)) \
	function(Sendrecv, (const void *sent, int sent_count, MPI_Datatype sent_type, int to, \
			    int sent_tag, void *data, int count, MPI_Datatype type, int from, \
			    int tag, MPI_Comm comm, MPI_Status *status)) \
	function(Test, (MPI_Request *request, int *complete, MPI_Status *status))
#define MPI_DECLARE(name, parameters) \
	extern int (*PMPI_##name) parameters; \
	int MPI_##name parameters;
/* clang-format on */
MPI_FUNCTIONS(MPI_DECLARE)

/* Sets these variables, given INIT, the function with which the program starts MPI. Returns NULL
 * or, if that is not possible, the reason, in a static buffer. PMPI_Comm_rank is NULL if no
 * MPI library has been loaded yet. */
const char *find_mpi(void (*init)(void));

#endif
