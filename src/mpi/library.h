/*
 * The MPI library of the program: found when the program calls the first function, and asked for what it knows of its
 * own objects. Handles are pointers in Open MPI and numbers of 32 bits in MPICH and what has its ABI (Intel MPI,
 * MVAPICH2); here they are `uint64_t`, without what a register holds above a number.
 */
#ifndef GPUTRACE_MPI_LIBRARY_H
#define GPUTRACE_MPI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values of MPI's that differ between libraries. */
struct mpi_constants {
    bool pointers; /* handles are */
    uint64_t world, self, no_communicator, no_type;
    int any_source, no_peer; /* MPI_ANY_SOURCE, MPI_PROC_NULL */
    int undefined;           /* MPI_UNDEFINED */
};

/* NULL: MPI is not initialised, or is finalised. CALLER is an address in the code that calls MPI. */
const struct mpi_constants *mpi_constants(const void *caller);

/* MPI_Init has returned; MPI_Finalize is called. */
void mpi_begun(void);
void mpi_ends(void);

/* The function NAME ("MPI_Send") that the program would call without this library, NULL: there is none. */
void *mpi_find(const char *name, const void *caller);

/* What an argument says that is a handle; and what a handle is that lies at PLACE. */
uint64_t mpi_handle(const struct mpi_constants *constants, long argument);
uint64_t mpi_handle_at(const struct mpi_constants *constants, const void *place);

/* Bytes of a handle in an array. */
size_t mpi_handle_size(const struct mpi_constants *constants);

/* What a number of Fortran's is that means a handle. */
enum mpi_handles { MPI_COMMUNICATORS, MPI_TYPES };
uint64_t mpi_handle_of_fortran(const struct mpi_constants *constants, enum mpi_handles handles, int number);
/* Whether Fortran's MPI_IN_PLACE is there. */
bool mpi_is_fortrans_place(const void *address);

/* Facts that a library gives without talking to other ranks. -1: they are not known. */
int64_t mpi_type_bytes(const struct mpi_constants *constants, uint64_t type);

struct mpi_members {
    int count, remote_count; /* ranks; of the other side of an intercommunicator; 0: it is none */
    int rank;                /* of this process */
    int first;               /* the world's rank of its rank 0, of two sides the lower; -1: not known */
    uint64_t hash;           /* of the world's ranks of all members, on both sides */
    bool known;              /* all of them are in the world */
};
/* Returns 0, or -1: nothing is known. */
int mpi_members(const struct mpi_constants *constants, uint64_t communicator, struct mpi_members *members);

#endif
