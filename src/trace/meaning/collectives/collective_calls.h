/*
 * The facts that one NVTX range of communication has. Payloads are read by the names of their schemas' entries, which
 * differ between versions: collective_calls.c has the table of domains.
 */
#ifndef GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVE_CALLS_H
#define GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/nvtx/payload_schemas.h"

struct nvtx;
struct nvtx_range;

/* The domains whose calls are read. */
enum collective_domain { COLLECTIVE_NCCL, COLLECTIVE_MPI, COLLECTIVE_DOMAINS };

/* Returns the domain of this name, or COLLECTIVE_DOMAINS for any other name. */
enum collective_domain collective_domain_named(struct nvtx_text name);

/* Which of NCCL's kernels a call launches: the word for the function in their names. */
enum collective_kernels {
    COLLECTIVE_NO_KERNEL, /* none, or unknown */
    COLLECTIVE_KERNEL_ALL_REDUCE,
    COLLECTIVE_KERNEL_BROADCAST,
    COLLECTIVE_KERNEL_REDUCE,
    COLLECTIVE_KERNEL_ALL_GATHER,
    COLLECTIVE_KERNEL_REDUCE_SCATTER,
    COLLECTIVE_KERNEL_SEND_RECV,
    COLLECTIVE_KERNELS
};

/* How much a buffer holds: one rank's share, the shares of all ranks, or only what the payload says. */
enum collective_shares { COLLECTIVE_ONE_SHARE, COLLECTIVE_ALL_SHARES, COLLECTIVE_SHARES_SAID };

/* What a function does. Payloads have the bytes of one rank's share: of what the rank contributes, or, for a
 * reduce-scatter and a scatter, of what it receives; for MPI_Alltoallv, of all shares. If the shares of ranks differ,
 * payloads may also have the bytes of a buffer. */
struct collective_function {
    const char *call; /* the function in lower case, without "nccl" or "mpi_" */
    const char *name; /* of the operation, as Kineto writes it */
    enum collective_kernels kernel;
    enum collective_shares in, out; /* what the buffers hold that it reads and writes */
    enum { COLLECTIVE_OF_ALL, COLLECTIVE_SENDS, COLLECTIVE_RECEIVES, COLLECTIVE_EXCHANGES } pairs;
};

/* NCCL's types. */
struct collective_type {
    const char *nccl, *kernel; /* NCCL's name; the word in kernels' names, NULL: kernels do not tell the sign */
    const char *name;          /* PyTorch's name */
    int64_t bytes;
};
#define COLLECTIVE_TYPES 12
extern const struct collective_type collective_types[COLLECTIVE_TYPES];
/* Returns index + 1 of the type that the name of a kernel contains, or 0. */
unsigned collective_type_of_kernel(const char *name, size_t length);

/* Returns NULL if the call is not communication. */
const struct collective_function *collective_function_of(enum collective_domain domain, const char *text,
                                                         size_t length);
/* Returns what the kernel of this name does. */
enum collective_kernels collective_kernel_named(const char *name, size_t length);

/* Numbers of a payload; COLLECTIVE_NOT_SAID for those that it lacks. */
#define COLLECTIVE_NOT_SAID INT64_MIN
#define COLLECTIVE_NO_RANK (-2) /* as a peer: MPI_PROC_NULL */
struct collective_facts {
    bool has_communicator;
    uint64_t communicator;
    union {
        struct {
            int64_t bytes, peer, root, ranks, rank, device;
            int64_t sequence;               /* of a collective operation on its communicator */
            int64_t sent, received, source; /* bytes of buffers; the rank that sends to this one in an exchange */
        };
        int64_t numbers[10]; /* these ten, in the order of enum member in collective_calls.c */
    };
    struct nvtx_text reduction;
};

/* Reads the payloads of the begin and the end of a range in the domain KIND. */
void collective_facts_read(struct collective_facts *facts, enum collective_domain kind, const struct nvtx *nvtx,
                           const struct nvtx_range *range);

/* Whether a call starts or ends a group of calls. */
enum collective_group { COLLECTIVE_NO_GROUP, COLLECTIVE_GROUP_STARTS, COLLECTIVE_GROUP_ENDS };
enum collective_group collective_group_of(enum collective_domain domain, const char *text, size_t length);

#endif
