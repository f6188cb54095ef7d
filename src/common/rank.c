#include "common/rank.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

static const struct {
    const char *rank, *world_size, *local;
} variables[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

/* The number in VARIABLE, or -1. */
static int64_t number(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    if (!text || !*text)
        return -1;
    int saved = errno;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    int failure = errno;
    errno = saved;
    return failure || *end || value < 0 || value >= INT32_MAX ? -1 : value;
}

void rank_read(struct rank *rank)
{
    *rank = (struct rank){-1, -1, -1};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]) && rank->rank < 0; i++) {
        rank->rank = number(variables[i].rank);
        if (rank->rank < 0)
            continue;
        rank->world_size = number(variables[i].world_size);
        rank->local = number(variables[i].local);
    }
}
