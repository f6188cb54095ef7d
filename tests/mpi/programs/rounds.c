/*
 * rounds COUNT: so many barriers and all-reduces, each of which the two ranks enter at different times in turn. Each
 * rank writes how long it saw each take, in microseconds, to "rank.RANK.seen".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, count = argc > 1 ? atoi(argv[1]) : 10;
    double out = 1, in = 0;
    char name[32];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof(name), "rank.%d.seen", rank);
    FILE *seen = fopen(name, "w");
    for (int i = 0; i < count; i++) {
        if (rank == i % 2)
            usleep(3000);
        double begun = MPI_Wtime();
        MPI_Barrier(MPI_COMM_WORLD);
        double between = MPI_Wtime();
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (seen)
            fprintf(seen, "%f\n%f\n", (between - begun) * 1e6, (MPI_Wtime() - between) * 1e6);
    }
    if (seen)
        fclose(seen);
    MPI_Finalize();
    return in == 2 ? 0 : 1;
}
