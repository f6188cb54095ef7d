/*
 * What gputrace needs of MPI: who one is, and bytes from one process to another. The library is that of the launcher
 * (mpirun, srun) that started the processes, and is found when it is wanted: Open MPI, and MPICH with all that have its
 * ABI. Errors of MPI end all processes, as is its default.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_MPI_H
#define GPUTRACE_ANALYSIS_JOB_MPI_H

#include <stdint.h>

#include "common/buffer.h"

struct mpi {
    void *library;
    int rank, size;
    /* Handles: an address of Open MPI's, a number of MPICH's. Both are passed in a register of their own. */
    uintptr_t world, byte, no_status;
    int (*send)(const void *bytes, int count, uintptr_t type, int to, int tag, uintptr_t world);
    int (*receive)(void *bytes, int count, uintptr_t type, int from, int tag, uintptr_t world, uintptr_t status);
    int (*finalize)(void);
};

/* Returns 0, or -1 after error(). */
int mpi_begin(struct mpi *mpi);
/* All processes call it. */
void mpi_end(struct mpi *mpi);

/* Sends SIZE bytes, of any number, to a process that calls mpi_receive() for them. */
void mpi_send(const struct mpi *mpi, int to, const void *bytes, uint64_t size);
void mpi_receive(const struct mpi *mpi, int from, void *bytes, uint64_t size);

/* Sends or receives bytes whose number the receiver does not know. BUFFER is in memory. Returns 0, or -1 after error().
 */
void mpi_send_sized(const struct mpi *mpi, int to, const void *bytes, uint64_t size);
int mpi_receive_sized(const struct mpi *mpi, int from, struct buffer *buffer);

#endif
