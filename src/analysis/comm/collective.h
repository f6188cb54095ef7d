/*
 * A collective operation, send or receive of one rank, as analysis/comm/collectives.h finds it, and what it has in
 * common with the other operations of its kernel.
 */
#ifndef GPUTRACE_ANALYSIS_COMM_COLLECTIVE_H
#define GPUTRACE_ANALYSIS_COMM_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/sorter.h"
#include "trace/event_fields.h"

struct trace;

#define COLLECTIVE_NO_INDEX UINT32_MAX

/* Times are ns. Numbers that are not known are FIELD_ABSENT, texts EVENT_NO_TEXT, indices COLLECTIVE_NO_INDEX. */
struct collective {
    /* These fields identify the operation. They are equal on all ranks of a job, except for numbers of texts. */
    uint32_t communicator, group_ranks; /* texts */
    int32_t source, target;             /* sender and receiver (ranks in the group); -1 for other operations */
    int64_t sequence;                   /* sequence number, from 0 */
    /* Number of the operation among those with this sequence number, from 0. If only kernels are known: a hash of the
     * kind of the operation and of how many operations of each kind the rank has. */
    uint32_t part;
    /* Who took part. */
    uint32_t process;   /* index in trace.processes */
    event_id pid;       /* id of the process; of the GPU's row if no process is known */
    int64_t rank;       /* rank in the job */
    int64_t group_rank; /* rank in the group */
    /* What the rank did. */
    uint8_t kind;       /* enum collective_kind */
    uint8_t on_host;    /* 1: an MPI call, which communicates without a kernel */
    uint8_t in_flight;  /* 1: its kernel had not finished when the process ended */
    uint8_t joint;      /* 1: its kernel also does another operation, where its time is counted */
    uint32_t name;      /* name in the trace */
    uint32_t dtype;     /* element type */
    int64_t group_size; /* number of ranks */
    int64_t peer;       /* the root, or the other rank of a send or receive */
    int64_t bytes;      /* size as nccl-tests counts it: collective_elements() */
    /* If the kernel also does other operations (joint): the bytes of all of them, and the bytes that cross the bus.
     * FIELD_ABSENT: the kernel does only this operation, or some bytes are unknown. */
    int64_t kernel_bytes, kernel_bus_bytes;
    /* The times of the operation. */
    int64_t called, returned; /* of the call; returned: FIELD_ABSENT also if it had not returned at the end */
    int64_t start, duration;  /* of the kernel; FIELD_ABSENT: no kernel finished */
    int64_t exposed;          /* ns of the kernel in which no computing kernel ran on its GPU; needs trace.timeline */
    int64_t group_call;       /* equal for all operations of one kernel; FIELD_ABSENT: the kernel does only this one */
    uint32_t thread;          /* index in trace.threads of the call's thread */
    uint32_t device, stream;  /* indices in trace.devices and trace.streams of the kernel */
};

/* The fields that are texts and times, for code that renumbers texts or corrects clocks. */
#define COLLECTIVE_TEXTS(c) {&(c)->communicator, &(c)->group_ranks, &(c)->name, &(c)->dtype}
#define COLLECTIVE_TIMES(c) {&(c)->called, &(c)->returned, &(c)->start}

/* Returns whether both operations are done by the same ranks: those of a communicator, or a sender and a receiver. */
static inline bool collective_same_group(const struct collective *a, const struct collective *b)
{
    return a->communicator == b->communicator && a->group_ranks == b->group_ranks && a->source == b->source &&
           a->target == b->target;
}

/* Of two words that begin alike, the longer one comes first, because words are compared as prefixes.
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

/* "allreduce"; "" for COLLECTIVE_OTHER. */
extern const char *const collective_words[COLLECTIVE_KIND_COUNT];

/* Returns the letters and digits of an operation's name in lower case, without the prefix of its library:
 * "ncclAllReduce" becomes "allreduce". The result lies in WORD and is cut after COLLECTIVE_WORD - 1 characters. */
#define COLLECTIVE_WORD 32
const char *collective_plain_name(const char *name, char word[COLLECTIVE_WORD]);

/* Returns the kind of an operation by its name: "ncclAllReduce", "_allgather_base", "MPI_Isend". */
enum collective_kind collective_kind_of(const char *name);

/* Returns the kind of the operation that a kernel of this name does: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)". */
enum collective_kind collective_kind_of_kernel(const char *name);

/* Returns whether only two ranks take part, in different roles. */
static inline bool collective_is_pairwise(enum collective_kind kind)
{
    return kind == COLLECTIVE_SEND || kind == COLLECTIVE_RECV;
}

/* Returns whether each rank needs data or a signal from all others, so that no rank finishes before all have
 * entered. */
static inline bool collective_waits_for_all(enum collective_kind kind)
{
    return kind == COLLECTIVE_ALLREDUCE || kind == COLLECTIVE_ALLGATHER || kind == COLLECTIVE_REDUCESCATTER ||
           kind == COLLECTIVE_ALLTOALL || kind == COLLECTIVE_BARRIER;
}

/* Returns the bytes of an element of this type: "Float", "c10::BFloat16", "ncclFloat16". Returns 0 if the type is
 * unknown. */
int64_t collective_type_bytes(const char *type);

/* Returns the size of an operation in elements, as nccl-tests counts it: operations that gather or scatter have the
 * size of the buffer with the data of all ranks. IN and OUT are below 0 if unknown; the result is below 0 if it is
 * unknown. */
int64_t collective_elements(enum collective_kind kind, int64_t in, int64_t out, int64_t group_size);

/* Returns the quotient of bus bandwidth and algorithm bandwidth. Returns 0 for an operation without a bandwidth, or if
 * the group's size is unknown. */
double collective_bus_factor(enum collective_kind kind, int64_t group_size);

/*
 * Groups of calls (ncclGroupStart, ncclGroupEnd) that one kernel does. The trace joins the kernel with the first call
 * only; collective_groups_join() joins it with the other calls. A kernel of a replayed graph stands for all captured
 * calls.
 */

/* Copies to CALL the fields of its KERNEL that CALL lacks. */
void collective_add_kernel(struct collective *call, const struct collective *kernel);

/* Compares struct collective in the order of GROUPED, a sorter of the operations with a group_call: calls of a group
 * come before its further kernels. */
int collective_groups_order(const void *left, const void *right);

/* Receives an operation. Returns 0, or -1 to stop. */
typedef int collective_receiver(void *context, const struct collective *one);

/* Calls RECEIVE for all operations of GROUPED, each with its kernel. Needs memory for the calls of one group. Returns
 * 0, or -1: no memory, RECEIVE stopped, or after error(). */
int collective_groups_join(struct sorter *grouped, collective_receiver *receive, void *context);

/* Sets `exposed` of COUNT operations from trace.timeline. Returns 0, or -1: no memory, or after error(). */
int collectives_expose(struct collective *items, size_t count, const struct trace *trace);

#endif
