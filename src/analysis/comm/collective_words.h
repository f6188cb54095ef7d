/*
 * Names of collective operations and of data types, as NCCL, MPI and PyTorch have them, and what nccl-tests says about
 * the operations: how many bytes one is about, and how its bus bandwidth follows from its algorithm bandwidth.
 */
#ifndef GPUTRACE_ANALYSIS_COMM_COLLECTIVE_WORDS_H
#define GPUTRACE_ANALYSIS_COMM_COLLECTIVE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

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
