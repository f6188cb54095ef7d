/*
 * rounds COUNT: so many barriers and all-reduces, each of which the two ranks enter at different times in turn.
 */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, count = argc > 1 ? atoi(argv[1]) : 10;
    double out = 1, in = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < count; i++) {
        if (rank == i % 2)
            usleep(3000);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return in == 2 ? 0 : 1;
}
