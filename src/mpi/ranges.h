/*
 * NVTX ranges of MPI's calls: domain "MPI", the function as message, and a payload with what is known of the call.
 */
#ifndef GPUTRACE_MPI_RANGES_H
#define GPUTRACE_MPI_RANGES_H

#include <stdbool.h>
#include <stdint.h>

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
