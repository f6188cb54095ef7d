/*
 * One collective operation, send or receive of one rank: analysis/comm/collectives.h makes them.
 */
#ifndef GPUTRACE_ANALYSIS_COMM_COLLECTIVE_H
#define GPUTRACE_ANALYSIS_COMM_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/event_fields.h"

#define COLLECTIVE_NO_INDEX UINT32_MAX

/* Times are ns. Numbers that are not known are FIELD_ABSENT, texts EVENT_NO_TEXT, indices COLLECTIVE_NO_INDEX. */
struct collective {
    /* These identify the operation, and are equal on all ranks of a job, except for numbers of texts. */
    uint32_t communicator, group_ranks; /* texts */
    int32_t source, target;             /* of a send and its receive: ranks in the group; else -1 */
    int64_t sequence;                   /* from 0 */
    /* From 0: of those with this sequence number. Where only kernels are known: stands for the kind of the operation,
     * and for how many operations of each kind the rank has. */
    uint32_t part;
    /* Who took part. */
    uint32_t process;   /* index in trace.processes */
    event_id pid;       /* its id; of the GPU's row if no process is known */
    int64_t rank;       /* in the job */
    int64_t group_rank; /* in the group */
    /* What it did. */
    uint8_t kind;       /* enum collective_kind */
    uint8_t on_host;    /* 1: of MPI: the call communicates, without a kernel */
    uint8_t in_flight;  /* 1: its kernel had not finished when the process ended */
    uint8_t joint;      /* 1: another operation has the same kernel: its time is counted there */
    uint32_t name;      /* its name in the trace */
    uint32_t dtype;     /* text */
    int64_t group_size; /* ranks */
    int64_t peer;       /* the root, or the other rank of a send or receive */
    int64_t bytes;      /* as nccl-tests counts them: collective_elements() */
    /* If the kernel does other, joint operations, too: the bytes of all of them, and the bytes that cross the bus.
     * FIELD_ABSENT: the kernel does this operation only, or some bytes are not known. */
    int64_t kernel_bytes, kernel_bus_bytes;
    /* When. */
    int64_t called, returned; /* of the call; returned: FIELD_ABSENT, too, when it had not returned at the end */
    int64_t start, duration;  /* of the kernel; FIELD_ABSENT: none finished */
    int64_t exposed;          /* ns of the kernel in which no computing kernel ran on its GPU; needs trace.timeline */
    int64_t group_call;       /* equal for all operations of one kernel; FIELD_ABSENT: the kernel does only this one */
    uint32_t thread;          /* index in trace.threads: the call's */
    uint32_t device, stream;  /* indices in trace.devices and trace.streams: the kernel's */
};

/* Its texts and its times, for those who translate them. */
#define COLLECTIVE_TEXTS(c) {&(c)->communicator, &(c)->group_ranks, &(c)->name, &(c)->dtype}
#define COLLECTIVE_TIMES(c) {&(c)->called, &(c)->returned, &(c)->start}

/* Whether both operations are done by the same ranks: those of a communicator, or a sender and a receiver. */
static inline bool collective_same_group(const struct collective *a, const struct collective *b)
{
    return a->communicator == b->communicator && a->group_ranks == b->group_ranks && a->source == b->source &&
           a->target == b->target;
}

/* The longer of two words that begin alike comes first.
 *   constant       word */
#define COLLECTIVE_KINDS(X)           \
    X(ALLREDUCE, "allreduce")         \
    X(ALLGATHER, "allgather")         \
    X(REDUCESCATTER, "reducescatter") \
    X(ALLTOALL, "alltoall")           \
    X(BROADCAST, "broadcast")         \
    X(REDUCE, "reduce")               \
    X(GATHER, "gather")               \
    X(SCATTER, "scatter")             \
    X(SENDRECV, "sendrecv")           \
    X(SEND, "send")                   \
    X(RECV, "recv")                   \
    X(BARRIER, "barrier")

enum collective_kind {
    COLLECTIVE_OTHER,
#define KIND(constant, word) COLLECTIVE_##constant,
    COLLECTIVE_KINDS(KIND)
#undef KIND
        COLLECTIVE_KIND_COUNT
};

/* "allreduce"; "" of COLLECTIVE_OTHER. */
extern const char *const collective_words[COLLECTIVE_KIND_COUNT];

/* The letters and digits of an operation's name in lower case, without whose it is: "ncclAllReduce" is "allreduce". They
 * are in WORD, the first COLLECTIVE_WORD - 1 of them. */
#define COLLECTIVE_WORD 32
const char *collective_plain_name(const char *name, char word[COLLECTIVE_WORD]);

/* The kind of an operation by its name: "ncclAllReduce", "_allgather_base", "MPI_Isend". */
enum collective_kind collective_kind_of(const char *name);

/* The kind of what a kernel of this name does: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)". */
enum collective_kind collective_kind_of_kernel(const char *name);

/* Whether two ranks alone take part, in different roles. */
static inline bool collective_is_pairwise(enum collective_kind kind)
{
    return kind == COLLECTIVE_SEND || kind == COLLECTIVE_RECV;
}

/* Whether each rank needs data, or a signal, of all others: none finishes it before all have entered it. */
static inline bool collective_waits_for_all(enum collective_kind kind)
{
    return kind == COLLECTIVE_ALLREDUCE || kind == COLLECTIVE_ALLGATHER || kind == COLLECTIVE_REDUCESCATTER ||
           kind == COLLECTIVE_ALLTOALL || kind == COLLECTIVE_BARRIER;
}

/* Bytes of an element of this type: "Float", "c10::BFloat16", "ncclFloat16". 0: the type is not known. */
int64_t collective_type_bytes(const char *type);

/* The size of an operation in elements, as nccl-tests has it: of those that gather or scatter, that of the buffer with
 * the data of all ranks. Counts below 0 are not known, and neither is the result then. */
int64_t collective_elements(enum collective_kind kind, int64_t in, int64_t out, int64_t group_size);

/* Bus bandwidth is algorithm bandwidth times this. 0: an operation without a bandwidth, or the size is not known. */
double collective_bus_factor(enum collective_kind kind, int64_t group_size);

#endif
