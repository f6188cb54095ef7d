/*
 * Two ranks that use windows, files, matched messages, persistent requests and MPI_PROC_NULL, with each MPI. Compiled
 * by the tests. The argument is a file that is written.
 */
#include <mpi.h>
#include <stdio.h>

static int rank, other;

static void messages(void)
{
    int out[4] = {rank, 1, 2, 3}, in[4] = {0}, found = 0;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    if (rank == 0) {
        for (int tag = 5; tag < 9; tag++)
            MPI_Send(out, 4, MPI_INT, 1, tag, MPI_COMM_WORLD);
    } else {
        MPI_Mprobe(0, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(in, 4, MPI_INT, &message, &status);
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        MPI_Imrecv(in, 4, MPI_INT, &message, &request);
        MPI_Wait(&request, &status);
        while (!found)
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message, &status);
        MPI_Mrecv(in, 4, MPI_INT, &message, MPI_STATUS_IGNORE);
        MPI_Recv(in, 4, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Send(out, 4, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
    MPI_Recv(in, 4, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(in, 4, MPI_INT, &message, &status);
    MPI_Sendrecv(out, 4, MPI_INT, rank == 0 ? 1 : MPI_PROC_NULL, 6, in, 4, MPI_INT, rank == 1 ? 0 : MPI_PROC_NULL, 6,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send_init(out, 3, MPI_INT, other, 7, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Recv(in, 3, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static void windows(void)
{
    int *window, one = 1, old = 0, compared = 0;
    MPI_Win win;
    MPI_Request request;
    MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&one, 1, MPI_INT, other, 0, 1, MPI_INT, win);
    MPI_Get(&old, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_lock_all(0, win);
    MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 1, MPI_SUM, win);
    MPI_Win_flush_local(0, win);
    MPI_Get_accumulate(&one, 1, MPI_INT, &old, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush_local_all(win);
    MPI_Compare_and_swap(&one, &compared, &old, MPI_INT, 0, 1, win);
    MPI_Win_flush(0, win);
    MPI_Rput(&one, 1, MPI_INT, other, 2, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_sync(win);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void files(const char *name)
{
    char text[6] = "abcde";
    MPI_File file;
    MPI_Request request;
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL);
    MPI_File_write_at(file, 5 * rank, text, 5, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at_all(file, 5 * other, text, 4, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_read_at_all_begin(file, 0, text, 3, MPI_CHAR);
    MPI_File_read_at_all_end(file, text, MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, 0, text, 2, MPI_CHAR, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    MPI_Comm dup;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    messages();
    windows();
    files(argv[1]);
    MPI_Comm_idup(MPI_COMM_WORLD, &dup, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(dup);
    MPI_Finalize();
    return 0;
}
