/*
 * What one NVTX range of communication says. Payloads are read by the names of the entries of their schemas, which
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

/* The domains whose calls are known. */
enum collective_domain { COLLECTIVE_NCCL, COLLECTIVE_MPI, COLLECTIVE_DOMAINS };

/* The domain of this name; COLLECTIVE_DOMAINS: it is another one. */
enum collective_domain collective_domain_named(struct nvtx_text name);

/* Which of NCCL's kernels do it: a word of their names. */
enum collective_kernels {
    COLLECTIVE_NO_KERNEL, /* none, or it is not known */
    COLLECTIVE_KERNEL_ALL_REDUCE,
    COLLECTIVE_KERNEL_BROADCAST,
    COLLECTIVE_KERNEL_REDUCE,
    COLLECTIVE_KERNEL_ALL_GATHER,
    COLLECTIVE_KERNEL_REDUCE_SCATTER,
    COLLECTIVE_KERNEL_SEND_RECV,
    COLLECTIVE_KERNELS
};

/* One rank's share; the shares of all; or what the payload says alone. */
enum collective_shares { COLLECTIVE_ONE_SHARE, COLLECTIVE_ALL_SHARES, COLLECTIVE_SHARES_SAID };

/* What a function does. Payloads have the bytes of one rank's share: of what it gives, of a reduce-scatter and a
 * scatter of what it gets; of MPI_Alltoallv all of them. Where ranks have shares of different sizes they may have the
 * bytes of a buffer. */
struct collective_function {
    const char *call; /* the function in lower case, without "nccl" or "mpi_" */
    const char *name; /* of the operation, as Kineto has it */
    enum collective_kernels kernel;
    enum collective_shares in, out; /* what the buffers have that it reads and writes */
    enum { COLLECTIVE_OF_ALL, COLLECTIVE_SENDS, COLLECTIVE_RECEIVES, COLLECTIVE_EXCHANGES } pairs;
};

/* NCCL's types. */
struct collective_type {
    const char *nccl, *kernel; /* in NCCL's words; in names of kernels, NULL: these leave the sign open */
    const char *name;          /* as PyTorch has it */
    int64_t bytes;
};
#define COLLECTIVE_TYPES 12
extern const struct collective_type collective_types[COLLECTIVE_TYPES];
/* The type that the name of a kernel says: its index + 1; 0: it says none. */
unsigned collective_type_of_kernel(const char *name, size_t length);

/* NULL: the call is not communication. */
const struct collective_function *collective_function_of(enum collective_domain domain, const char *text,
                                                         size_t length);
/* What the kernel of this name does. */
enum collective_kernels collective_kernel_named(const char *name, size_t length);

/* Numbers of a payload. Those that it does not have are COLLECTIVE_NOT_SAID. */
#define COLLECTIVE_NOT_SAID INT64_MIN
#define COLLECTIVE_NO_RANK (-2) /* a peer: MPI_PROC_NULL */
struct collective_facts {
    bool has_communicator;
    uint64_t communicator;
    union {
        struct {
            int64_t bytes, peer, root, ranks, rank, device;
            int64_t sequence;               /* of the operation on its communicator; of collective operations */
            int64_t sent, received, source; /* bytes of buffers; the rank of an exchange that sends to this one */
        };
        int64_t numbers[10]; /* the same, in the order of enum member in collective_calls.c */
    };
    struct nvtx_text reduction;
};

/* Reads the payloads of a range of the NVTX domain number DOMAIN, of its begin and its end. */
void collective_facts_read(struct collective_facts *facts, enum collective_domain kind, const struct nvtx *nvtx,
                           const struct nvtx_range *range);

/* Groups of calls. */
enum collective_group { COLLECTIVE_NO_GROUP, COLLECTIVE_GROUP_STARTS, COLLECTIVE_GROUP_ENDS };
enum collective_group collective_group_of(enum collective_domain domain, const char *text, size_t length);

#endif
