/*
 * The number of a process in a job of many, as those who start such jobs tell it: torchrun, Open MPI, MPICH and Intel
 * MPI, Slurm.
 */
#ifndef GPUTRACE_COMMON_RANK_H
#define GPUTRACE_COMMON_RANK_H

#include <stdint.h>

/* Each is -1 when it is not known. */
struct rank {
    int64_t rank;
    int64_t world_size;
    int64_t local; /* among the processes on this host */
};

/* Reads the environment of this process. */
void rank_read(struct rank *rank);

#endif
