/* A library that is linked with MPI; the program that loads it is not. */
#include <mpi.h>
#include <stdio.h>

int module_run(void);
int module_run(void)
{
    int rank, one = 1, sum = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d: %d\n", rank, sum);
    return MPI_Finalize();
}
