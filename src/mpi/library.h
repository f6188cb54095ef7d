/*
 * The program's MPI library: found when the program calls the first function, and asked about its objects. Handles are
 * pointers in Open MPI and 32-bit numbers in MPICH and MPIs with its ABI (Intel MPI, MVAPICH2); here they are
 * `uint64_t`, with the unused high bits of a register cleared.
 */
#ifndef GPUTRACE_MPI_LIBRARY_H
#define GPUTRACE_MPI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Constants of MPI that differ between libraries. */
struct mpi_constants {
    bool pointers; /* handles are pointers; those of files are in every library */
    uint64_t world, self, no_communicator, no_type;
    int any_source, no_peer; /* MPI_ANY_SOURCE, MPI_PROC_NULL */
    int undefined;           /* MPI_UNDEFINED */
};

/* Returns the constants, or NULL if the library lacks a function that is needed here. CALLER is an address in the code
 * that calls MPI. */
const struct mpi_constants *mpi_constants(const void *caller);

/* Whether MPI or a session is initialised, so that MPI functions may be called. */
bool mpi_is_running(void);

/* Notes that MPI_Init has returned, or that MPI_Finalize is called. */
void mpi_set_running(bool running);
/* Notes that MPI_Session_init has returned SESSION (BEGUN), or that MPI_Session_finalize is called with it. */
void mpi_set_session(uint64_t session, bool begun);

/* Returns the function NAME ("MPI_Send") that the program would call without this library, or NULL if there is none. */
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

/* Return the handle in an argument, and handle number INDEX in the array at PLACE. */
uint64_t mpi_handle(const struct mpi_constants *constants, enum mpi_handles handles, long argument);
uint64_t mpi_handle_at(const struct mpi_constants *constants, enum mpi_handles handles, const void *place, int index);

/* Returns the handle for Fortran's number of it. */
uint64_t mpi_handle_of_fortran(const struct mpi_constants *constants, enum mpi_handles handles, int number);
/* Reads source and tag from a status. Returns false if the program did not pass one. */
bool mpi_read_status(const struct mpi_constants *constants, const int *status, int *source, int *tag);

/* Returns the intercommunicator with the processes that spawned this process's world, or 0 if nobody did or it was
 * disconnected. */
uint64_t mpi_parent(const struct mpi_constants *constants);

/* Whether ADDRESS is Fortran's MPI_IN_PLACE. */
bool mpi_is_fortrans_place(const void *address);

/* Returns the size of a type, or -1 if unknown. The library finds it without communication. */
int64_t mpi_type_bytes(const struct mpi_constants *constants, uint64_t type);

struct mpi_members {
    int count, remote_count; /* ranks; ranks on the other side of an intercommunicator, else 0 */
    int rank, world_rank;    /* of this process; -1: unknown */
    int first;               /* world rank of rank 0, the lower one of two sides; -1: unknown */
    uint64_t hash;           /* of the world ranks of all members, on both sides */
    bool known;              /* all members are in the world */
};
/* Finds the members without communication. Returns 0, or -1 if nothing is known. */
int mpi_members(const struct mpi_constants *constants, uint64_t communicator, struct mpi_members *members);

/*
 * NVTX ranges for MPI's calls: domain "MPI", the function as message, and a payload with the facts of the call.
 */

/* The members of struct range_facts that are known. */
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
    const void *name; /* the communicator's name, by range_text() */
    int32_t ranks, rank;
    uint64_t sequence;
    uint64_t bytes;                  /* data of one rank's share */
    uint64_t sent, received;         /* all bytes */
    int32_t peer, tag, source, root; /* ranks of the communicator, or RANGE_ANY_PEER, RANGE_NO_PEER; the tag */
    uint32_t requests;
    int32_t code;   /* exit code that MPI_Abort passes to the job's launcher */
    unsigned known; /* bits of enum range_members */
};

/* Whether ranges are recorded. Starts NVTX at the first call. */
bool ranges_wanted(void);

/* Registers a text for names and messages. NVTX keeps the text for good, so each costs a little memory. Requires
 * ranges_wanted(). */
const void *range_text(const char *text);

void range_push(const void *function, const struct range_facts *facts);
void range_pop(void);

/* Reports that the functions NAMES are not recorded. The tool makes a note of it (trace/meaning). */
void range_unrecorded(const char *names);

#endif
