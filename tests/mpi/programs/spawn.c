/* A rank that spawns two others: they add up a number in their own world, and all wait for each other. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Comm parent, between;
    int one = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    MPI_Barrier(MPI_COMM_WORLD);
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
        MPI_Barrier(between);
        MPI_Comm_disconnect(&between);
    } else {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(parent);
        MPI_Comm_disconnect(&parent);
    }
    MPI_Finalize();
    return 0;
}
