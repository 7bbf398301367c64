/* libziaprobe.so calls the PMPI functions, so that a profiler in the user's program neither counts
 * the messages of the measurement nor is called while its own MPI_Init is still running. */
#define MPI_Abort PMPI_Abort
#define MPI_Comm_rank PMPI_Comm_rank
#define MPI_Comm_size PMPI_Comm_size
#define MPI_Gather PMPI_Gather
#define MPI_Get_library_version PMPI_Get_library_version
#define MPI_Get_processor_name PMPI_Get_processor_name
#define MPI_Ibarrier PMPI_Ibarrier
#define MPI_Ibcast PMPI_Ibcast
#define MPI_Recv PMPI_Recv
#define MPI_Send PMPI_Send
#define MPI_Sendrecv PMPI_Sendrecv
#define MPI_Test PMPI_Test
