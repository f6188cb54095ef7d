/* A program that calls an extension of MPI's, which -DEXTENSION makes, and MPI by the names of its profiling interface.
 */
#include <mpi.h>

int MPIX_Send_later(void);
int MPIX_Query_support(void);

#ifdef EXTENSION
int MPIX_Send_later(void)
{
    return 0;
}

int MPIX_Query_support(void)
{
    return 0;
}
#else
int main(int argc, char **argv)
{
    int one = 1, sum;
    MPI_Init(&argc, &argv);
    PMPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_local(&one, &sum, 1, MPI_INT, MPI_SUM);
    MPI_Finalize();
    return MPIX_Send_later() + MPIX_Query_support();
}
#endif
