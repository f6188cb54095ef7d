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
    bool pointers; /* handles are; those of files are in any library */
    uint64_t world, self, no_communicator, no_type;
    int any_source, no_peer; /* MPI_ANY_SOURCE, MPI_PROC_NULL */
    int undefined;           /* MPI_UNDEFINED */
};

/* Returns NULL if the library lacks what this one asks it. CALLER is an address in the code that calls MPI. */
const struct mpi_constants *mpi_constants(const void *caller);

/* Whether MPI is initialised, or a session is, and it may be asked. */
bool mpi_is_running(void);

/* MPI_Init has returned; MPI_Finalize is called. */
void mpi_begun(void);
void mpi_ends(void);
/* MPI_Session_init has returned; MPI_Session_finalize is called. */
void mpi_session_begun(uint64_t session);
void mpi_session_ends(uint64_t session);

/* The function NAME ("MPI_Send") that the program would call without this library, NULL: there is none. */
void *mpi_find(const char *name, const void *caller);

enum mpi_handles {
    MPI_COMMUNICATORS,
    MPI_TYPES,
    MPI_REQUESTS,
    MPI_MESSAGES,
    MPI_WINDOWS,
    MPI_SESSIONS,
    MPI_FILES,
    MPI_HANDLES
};

/* What an argument says that is a handle; and what the handle number INDEX is of those that lie at PLACE. */
uint64_t mpi_handle(const struct mpi_constants *constants, enum mpi_handles handles, long argument);
uint64_t mpi_handle_at(const struct mpi_constants *constants, enum mpi_handles handles, const void *place, int index);

/* What a number of Fortran's is that means a handle. */
uint64_t mpi_handle_of_fortran(const struct mpi_constants *constants, enum mpi_handles handles, int number);
/* What a status says. Returns false if the program did not pass one. */
bool mpi_read_status(const struct mpi_constants *constants, const int *status, int *source, int *tag);

/* The communicator with those that spawned this process and the others of its world; 0: nobody did, or none is left. */
uint64_t mpi_parent(const struct mpi_constants *constants);

/* Whether Fortran's MPI_IN_PLACE is there. */
bool mpi_is_fortrans_place(const void *address);

/* Facts that a library gives without talking to other ranks. -1: they are not known. */
int64_t mpi_type_bytes(const struct mpi_constants *constants, uint64_t type);

struct mpi_members {
    int count, remote_count; /* ranks; of the other side of an intercommunicator; 0: it is none */
    int rank, world_rank;    /* of this process; -1: not known */
    int first;               /* the world's rank of its rank 0, of two sides the lower; -1: not known */
    uint64_t hash;           /* of the world's ranks of all members, on both sides */
    bool known;              /* all of them are in the world */
};
/* Returns 0, or -1: nothing is known. */
int mpi_members(const struct mpi_constants *constants, uint64_t communicator, struct mpi_members *members);

#endif
