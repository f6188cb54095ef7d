/* A tool that is preloaded: it counts two functions, and calls others of MPI to do its work. */
#include <mpi.h>
#include <stdio.h>

static int barriers, broadcasts;

int MPI_Barrier(MPI_Comm comm)
{
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    barriers++;
    return PMPI_Barrier(comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    broadcasts++;
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d: %d barriers, %d broadcast\n", rank, barriers, broadcasts);
    return PMPI_Finalize();
}
