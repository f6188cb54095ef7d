/*
 * Communicators by numbers and names that are the same on all of their ranks, without asking other ranks:
 *
 *   - MPI_COMM_WORLD is "world", MPI_COMM_SELF of rank 3 "self 3". In processes that others spawned they are the world
 *     "of" a name that the launcher gave to these processes: "world of prterun-7@2", with "parent of prterun-7@2".
 *   - All ranks of a communicator make others of it in one order. So the third one that is made of it is the third on
 *     all ranks: "world/3". If it has fewer ranks, several are made at once; the world's rank of its rank 0 follows:
 *     "world/3.4".
 *   - MPI_Comm_create_group and MPI_Intercomm_create are called by the members of the new communicator alone: it is
 *     known by its members, and by how often these made one: "group 5c3f….1".
 *   - Those of which this library did not see how they were made (by PMPI_Comm_dup, MPI_Comm_join) have a number that
 *     no other rank has: "rank 3: 7f00…". The two sides of MPI_Comm_spawn and MPI_Comm_connect have a number each.
 *
 * The number is a hash of the name. Handles that are freed and used again get the name of the new communicator.
 */
#ifndef GPUTRACE_MPI_COMMUNICATORS_H
#define GPUTRACE_MPI_COMMUNICATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi/library.h"

#define COMMUNICATOR_NAME_BYTES 64

struct communicator {
    uint64_t id;
    int ranks, rank;
    bool inter;
    uint64_t operations; /* collective ones so far */
    uint64_t made;       /* communicators that were made of it */
    char name[COMMUNICATOR_NAME_BYTES];
    const void *text; /* the name, by range_text() */
};

/* Writes what is known of the communicator HANDLE. COLLECTIVE: another such operation is counted; `operations` is its
 * number, from 0. False: nothing is known. */
bool communicator_find(const struct mpi_constants *constants, uint64_t handle, bool collective,
                       struct communicator *found);

/* Must be called before a call of all ranks of PARENT that makes a communicator of it. Returns how many such calls
 * there were, with this one. */
uint64_t communicator_making(const struct mpi_constants *constants, uint64_t parent);
/* Must be called after it: MADE is the new communicator, or the null handle. NUMBER is what communicator_making()
 * returned; GROUP_ALONE: only the members called. */
void communicator_made(const struct mpi_constants *constants, uint64_t parent, uint64_t number, bool group_alone,
                       uint64_t made);

/* Does that after MPI_Comm_idup, whose communicator MPI may not be asked about before the request is complete. */
void communicator_duplicated(uint64_t parent, uint64_t number, uint64_t made);

void communicator_freed(uint64_t handle);

#endif
