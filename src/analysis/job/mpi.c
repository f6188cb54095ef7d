/*
 * Loads the MPI library of the launcher; its handles are those of Open MPI's or MPICH's ABI.
 */
#include "analysis/job/mpi.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/log.h"

/* mpi.h of MPICH, whose ABI Intel MPI and others share. */
#define MPICH_COMM_WORLD 0x44000000
#define MPICH_BYTE 0x4c00010d
#define MPICH_STATUS_IGNORE 1

#define TAG 583
#define MESSAGE ((uint64_t)16 << 20) /* bytes sent at once */

/* The library of the launcher comes first: two MPIs do not know each other. */
static void *open_library(void)
{
    static const char *const open_mpi[] = {"libmpi.so.40", "libmpi.so.80", "libmpi.so", "libmpich.so.12", NULL};
    static const char *const mpich[] = {"libmpich.so.12", "libmpi.so.12", "libmpich.so", "libmpi.so.40", NULL};
    bool hydra = getenv("PMI_RANK") && !getenv("OMPI_COMM_WORLD_RANK");
    for (const char *const *name = hydra ? mpich : open_mpi; *name; name++) {
        void *library = dlopen(*name, RTLD_NOW | RTLD_GLOBAL);
        if (library)
            return library;
    }
    return NULL;
}

int mpi_begin(struct mpi *mpi)
{
    /* MPI_Init() sets some of them. */
    bool has_launcher = getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE") || getenv("PMIX_RANK");
    *mpi = (struct mpi){.library = open_library(), .size = 1};
    if (!mpi->library)
        return error("--mpi: there is no MPI here: neither libmpi.so.40 (Open MPI) nor libmpich.so.12 (MPICH) can be "
                     "loaded");
    int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(mpi->library, "MPI_Init");
    int (*rank)(uintptr_t, int *) = (int (*)(uintptr_t, int *))dlsym(mpi->library, "MPI_Comm_rank");
    int (*size)(uintptr_t, int *) = (int (*)(uintptr_t, int *))dlsym(mpi->library, "MPI_Comm_size");
    *(void **)&mpi->send = dlsym(mpi->library, "MPI_Send");
    *(void **)&mpi->receive = dlsym(mpi->library, "MPI_Recv");
    *(void **)&mpi->finalize = dlsym(mpi->library, "MPI_Finalize");
    void *world = dlsym(mpi->library, "ompi_mpi_comm_world");
    mpi->world = world ? (uintptr_t)world : MPICH_COMM_WORLD;
    mpi->byte = world ? (uintptr_t)dlsym(mpi->library, "ompi_mpi_byte") : MPICH_BYTE;
    mpi->no_status = world ? 0 : MPICH_STATUS_IGNORE;
    if (!init || !rank || !size || !mpi->send || !mpi->receive || !mpi->finalize || !mpi->byte)
        return error("--mpi: the MPI library here has no MPI_Init, MPI_Send or MPI_Recv");
    if (init(NULL, NULL) != 0 || rank(mpi->world, &mpi->rank) != 0 || size(mpi->world, &mpi->size) != 0)
        return error("--mpi: MPI_Init failed");
    /* Without a PMI that both know, srun starts tasks each of which MPI takes for a program of its own. */
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    if (mpi->size > 1 || has_launcher || !tasks || atoi(tasks) <= 1)
        return 0;
    return error("--mpi: srun started %s tasks, and MPI knows of one: use srun --mpi=pmix for Open MPI, or --mpi=pmi2 "
                 "for MPICH",
                 tasks);
}

void mpi_end(struct mpi *mpi)
{
    mpi->finalize();
}

void mpi_send(const struct mpi *mpi, int to, const void *bytes, uint64_t size)
{
    for (uint64_t at = 0; at < size; at += MESSAGE) {
        uint64_t length = size - at < MESSAGE ? size - at : MESSAGE;
        mpi->send((const char *)bytes + at, (int)length, mpi->byte, to, TAG, mpi->world);
    }
}

void mpi_receive(const struct mpi *mpi, int from, void *bytes, uint64_t size)
{
    for (uint64_t at = 0; at < size; at += MESSAGE) {
        uint64_t length = size - at < MESSAGE ? size - at : MESSAGE;
        mpi->receive((char *)bytes + at, (int)length, mpi->byte, from, TAG, mpi->world, mpi->no_status);
    }
}

void mpi_send_sized(const struct mpi *mpi, int to, const void *bytes, uint64_t size)
{
    mpi_send(mpi, to, &size, sizeof(size));
    mpi_send(mpi, to, bytes, size);
}

int mpi_receive_sized(const struct mpi *mpi, int from, struct buffer *buffer)
{
    uint64_t size = 0;
    mpi_receive(mpi, from, &size, sizeof(size));
    char *space = buffer_reserve(buffer, size + 1);
    if (!space)
        return error_no_memory("a message");
    mpi_receive(mpi, from, space, size);
    buffer_advance(buffer, size);
    return 0;
}
