/*
 * Three ranks whose shares differ: rank R has R + 1 elements. Compiled by the tests, with each MPI.
 */
#include <mpi.h>

#define RANKS 3

int main(int argc, char **argv)
{
    int rank, out[16] = {0}, in[16], counts[RANKS], places[RANKS], ones[RANKS], bytes[RANKS];
    MPI_Datatype ints[RANKS], doubles[RANKS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < RANKS; i++) {
        counts[i] = i + 1, places[i] = i * (i + 1) / 2;
        ones[i] = 1, bytes[i] = 8 * i;
        ints[i] = i == rank ? MPI_DOUBLE : MPI_INT;
        doubles[i] = i == rank ? MPI_DOUBLE : MPI_INT;
    }
    MPI_Sendrecv(out, 1, MPI_DOUBLE, (rank + 1) % RANKS, 0, in, 3, MPI_INT, (rank + 2) % RANKS, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Gatherv(rank == 1 ? MPI_IN_PLACE : out, rank + 1, MPI_INT, in, counts, places, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Scatterv(out, counts, places, MPI_INT, rank == 1 ? MPI_IN_PLACE : in, rank + 1, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Allgatherv(out, rank + 1, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoallw(out, ones, bytes, ints, in, ones, bytes, doubles, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
