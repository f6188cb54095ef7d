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

/* MPI_Init has returned, or MPI_Finalize is called. */
void mpi_set_running(bool running);
/* MPI_Session_init has returned SESSION (BEGUN), or MPI_Session_finalize is called with it. */
void mpi_set_session(uint64_t session, bool begun);

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

/*
 * NVTX ranges of MPI's calls: domain "MPI", the function as message, and a payload with what is known of the call.
 */

/* Which members of struct range_facts are known. */
enum range_members {
    RANGE_COMMUNICATOR = 1 << 0, /* communicator, name, ranks, rank */
    RANGE_SEQUENCE = 1 << 1,
    RANGE_BYTES = 1 << 2,
    RANGE_PEER = 1 << 3,
    RANGE_TAG = 1 << 4,
    RANGE_SOURCE = 1 << 5,
    RANGE_ROOT = 1 << 6,
    RANGE_REQUESTS = 1 << 7,
    RANGE_SENT = 1 << 8,
    RANGE_RECEIVED = 1 << 9,
    RANGE_CODE = 1 << 10,
    RANGE_MEMBERS = 1 << 11
};

#define RANGE_ANY_PEER (-1) /* MPI_ANY_SOURCE */
#define RANGE_NO_PEER (-2)  /* MPI_PROC_NULL */

struct range_facts {
    uint64_t communicator;
    const void *name; /* of it, by range_text() */
    int32_t ranks, rank;
    uint64_t sequence;
    uint64_t bytes;                  /* a rank's share */
    uint64_t sent, received;         /* bytes, all */
    int32_t peer, tag, source, root; /* ranks of the communicator, or one of these */
    uint32_t requests;
    int32_t code;   /* that MPI_Abort gives to the job's launcher */
    unsigned known; /* bits of enum range_members */
};

/* Whether anybody records ranges; starts NVTX at the first call. */
bool ranges_wanted(void);

/* A text for names and messages, which NVTX keeps: each costs a little memory for good. Call it if ranges_wanted(). */
const void *range_text(const char *text);

void range_push(const void *function, const struct range_facts *facts);
void range_pop(void);

/* Says that the functions NAMES are not recorded. The tool makes a note of it (trace/meaning). */
void range_unrecorded(const char *names);

#endif
