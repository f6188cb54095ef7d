/* Two ranks that call what MPI 4 has: counts of 64 bits, partitions, persistent collectives, sessions. */
#include <mpi.h>
#include <string.h>

#define PARTITIONS 4

static int rank, other;

static void calls(MPI_Comm comm)
{
    int out[8] = {1, 2, 3, 4, 5, 6, 7, 8}, in[8] = {0}, arrived = 0;
    MPI_Count counts[2] = {1, 2};
    MPI_Aint places[2] = {0, 1};
    MPI_Request request;
    MPI_Allreduce_c(out, in, 2, MPI_INT, MPI_SUM, comm);
    MPI_Allgatherv_c(out, rank + 1, MPI_INT, in, counts, places, MPI_INT, comm);
    if (rank == 0)
        MPI_Send_c(out, 3, MPI_INT, 1, 5, comm);
    else
        MPI_Recv_c(in, 3, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);
    MPI_Isendrecv(out, 1, MPI_INT, other, 6, in, 1, MPI_INT, other, 6, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Bcast_init(out, 5, MPI_INT, 1, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    if (rank == 0)
        MPI_Psend_init(out, PARTITIONS, 2, MPI_INT, 1, 7, comm, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(in, PARTITIONS, 2, MPI_INT, 0, 7, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    if (rank == 0) {
        MPI_Pready(0, request);
        MPI_Pready_range(1, 2, request);
        MPI_Pready_list(1, (int[]){3}, request);
    } else
        MPI_Parrived(request, 0, &arrived);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm = MPI_COMM_WORLD;
    int sessions = argc > 1 && strcmp(argv[1], "sessions") == 0;
    if (sessions) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
        MPI_Comm_create_from_group(group, "calls", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    } else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    other = 1 - rank;
    calls(comm);
    if (sessions) {
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
    } else
        MPI_Finalize();
    return 0;
}
