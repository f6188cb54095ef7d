/*
 * Four ranks that call MPI in many ways, and print what came of it: the same with and without gputrace. Compiled by the
 * tests, with each MPI.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 4

static int rank;
static long sum; /* of all that was received */

static void take(const int *values, int count)
{
    for (int i = 0; i < count; i++)
        sum = sum * 31 + values[i];
}

static void point_to_point(void)
{
    int out[100], in[100], right = (rank + 1) % RANKS, left = (rank + RANKS - 1) % RANKS;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int i = 0; i < 100; i++)
        out[i] = rank * 1000 + i;
    MPI_Irecv(in, 100, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 100, MPI_INT, right, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    take(in, 100);
    MPI_Sendrecv(out, 10, MPI_INT, right, 8, in, 20, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    take(in, 10);
    MPI_Sendrecv_replace(out, 3, MPI_INT, right, 9, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    take(out, 3);
    if (rank == 0)
        MPI_Send(out, 5, MPI_DOUBLE, 3, 11, MPI_COMM_WORLD);
    if (rank == 3)
        MPI_Recv(in, 5, MPI_DOUBLE, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void collectives(MPI_Comm comm)
{
    int size, own, out[64], in[64], counts[8], places[8];
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &own);
    for (int i = 0; i < 64; i++)
        out[i] = rank + i;
    for (int i = 0; i < size; i++)
        counts[i] = i + 1, places[i] = i * (i + 1) / 2;
    memset(in, 0, sizeof(in));
    MPI_Barrier(comm);
    MPI_Bcast(out, 6, MPI_INT, 1, comm);
    take(out, 6);
    MPI_Allreduce(out, in, 3, MPI_INT, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, in, 4, MPI_INT, MPI_SUM, comm);
    take(in, 4);
    MPI_Reduce(out, in, 2, MPI_INT, MPI_MAX, 0, comm);
    MPI_Gather(own == 0 ? MPI_IN_PLACE : out, 2, own == 0 ? MPI_DATATYPE_NULL : MPI_INT, in, 2, MPI_INT, 0, comm);
    MPI_Gatherv(out, own + 1, MPI_INT, in, counts, places, MPI_INT, 0, comm);
    take(in, 4);
    MPI_Scatter(out, 2, MPI_INT, own == 0 ? MPI_IN_PLACE : in, 2, MPI_INT, 0, comm);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, comm);
    take(in, 2 * size);
    MPI_Allgatherv(out, own + 1, MPI_INT, in, counts, places, MPI_INT, comm);
    MPI_Alltoall(out, 3, MPI_INT, in, 3, MPI_INT, comm);
    take(in, 3 * size);
    for (int i = 0; i < size; i++)
        counts[i] = 2, places[i] = 2 * i;
    MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm);
    MPI_Reduce_scatter_block(out, in, 3, MPI_INT, MPI_SUM, comm);
    MPI_Scan(out, in, 4, MPI_INT, MPI_SUM, comm);
    take(in, 4);
    MPI_Request request;
    MPI_Iallreduce(out, in, 5, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    take(in, 5);
}

static void communicators(void)
{
    MPI_Comm dup, half, again, cart, group_comm, between, merged;
    MPI_Group world, part;
    int zero = 0, side[1] = {RANKS}, periods[1] = {1}, members[3] = {3, 1, 0}, one = rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(dup, rank % 2, -rank, &half);
    collectives(half);
    if (rank % 2)
        MPI_Comm_dup(half, &again);
    else
        MPI_Comm_split(half, 0, rank, &again);
    MPI_Allreduce(MPI_IN_PLACE, &zero, 1, MPI_INT, MPI_SUM, again);
    MPI_Comm_free(&again);
    MPI_Comm_dup(half, &again); /* it may get the handle of the other one */
    MPI_Bcast(&one, 1, MPI_INT, 0, again);
    MPI_Cart_create(MPI_COMM_WORLD, 1, side, periods, 0, &cart);
    MPI_Barrier(cart);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 3, members, &part);
    for (int i = 0; i < 2 && rank != 2; i++) {
        MPI_Comm_create_group(MPI_COMM_WORLD, part, 5, &group_comm);
        MPI_Bcast(&one, 1, MPI_INT, 0, group_comm);
        MPI_Comm_free(&group_comm);
    }
    MPI_Intercomm_create(half, 0, dup, rank % 2 ? 2 : 3, 12, &between);
    MPI_Barrier(between);
    MPI_Bcast(&one, 1, MPI_INT, rank % 2 ? 0 : rank == 2 ? MPI_ROOT : MPI_PROC_NULL, between);
    MPI_Intercomm_merge(between, rank % 2, &merged);
    MPI_Allgather(&rank, 1, MPI_INT, (int[RANKS]){0}, 1, MPI_INT, merged);
    take(&one, 1);
    MPI_Comm none;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &none);
    if (none != MPI_COMM_NULL)
        MPI_Barrier(none);
    MPI_Barrier(MPI_COMM_SELF);
}

static void errors(void)
{
    int value = 0, kind;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int result = MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    MPI_Error_class(result, &kind);
    printf("rank %d: %s\n", rank, kind == MPI_ERR_RANK ? "no such rank" : "another error");
    result = MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD);
    MPI_Error_class(result, &kind);
    printf("rank %d: %s\n", rank, kind == MPI_ERR_TYPE ? "no such type" : "another error");
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    point_to_point();
    collectives(MPI_COMM_WORLD);
    communicators();
    errors();
    printf("rank %d: %ld\n", rank, sum);
    MPI_Finalize();
    return 0;
}
