/*
 * The functions of MPI that are wrapped, and which of their arguments say what. MPI_Test, MPI_Iprobe and others that
 * only ask are not: programs call them in loops.
 *
 *     X(number of arguments, name without "MPI_", what is known of the arguments: numbers from 1 on)
 */
#ifndef GPUTRACE_MPI_FUNCTIONS_H
#define GPUTRACE_MPI_FUNCTIONS_H

#include <stdint.h>

enum counting {
    COUNT_ONE = 0, /* `count` elements of `type` */
    COUNT_SUM,     /* `count` is an array with an element for each rank: their sum */
    COUNT_OWN,     /* the same: that of this rank */
};

/* Positions of arguments; 0: there is none. */
struct arguments {
    uint8_t communicator, count, type, peer, tag, source, root, requests;
    uint8_t counting;                    /* enum counting */
    uint8_t place;                       /* a buffer: if it is MPI_IN_PLACE … */
    uint8_t other_count, other_type;     /* … these count instead of `count` and `type` */
    uint8_t collective;                  /* 1: all ranks of the communicator call it, in one order */
    uint8_t creates, frees, group_alone; /* a communicator; 1: only ranks of the group call it */
};

#define PEER(count_at, type_at, peer_at, tag_at, communicator_at) \
    .count = count_at, .type = type_at, .peer = peer_at, .tag = tag_at, .communicator = communicator_at
#define SHARES(count_at, type_at, communicator_at) \
    .count = count_at, .type = type_at, .communicator = communicator_at, .collective = 1
#define IN_PLACE(place_at, count_at, type_at) .place = place_at, .other_count = count_at, .other_type = type_at
#define ALL(communicator_at) .communicator = communicator_at, .collective = 1
#define NOTHING .communicator = 0
#define MAKES(communicator_at, new_at) .communicator = communicator_at, .creates = new_at

#define MPI_FUNCTIONS(X)                                                         \
    X(2, Init, NOTHING)                                                          \
    X(4, Init_thread, NOTHING)                                                   \
    X(0, Finalize, NOTHING)                                                      \
    /* point to point */                                                         \
    X(6, Send, PEER(2, 3, 4, 5, 6))                                              \
    X(6, Bsend, PEER(2, 3, 4, 5, 6))                                             \
    X(6, Ssend, PEER(2, 3, 4, 5, 6))                                             \
    X(6, Rsend, PEER(2, 3, 4, 5, 6))                                             \
    X(7, Recv, PEER(2, 3, 4, 5, 6))                                              \
    X(7, Isend, PEER(2, 3, 4, 5, 6))                                             \
    X(7, Ibsend, PEER(2, 3, 4, 5, 6))                                            \
    X(7, Issend, PEER(2, 3, 4, 5, 6))                                            \
    X(7, Irsend, PEER(2, 3, 4, 5, 6))                                            \
    X(7, Irecv, PEER(2, 3, 4, 5, 6))                                             \
    X(12, Sendrecv, PEER(2, 3, 4, 5, 11), .source = 9)                           \
    X(9, Sendrecv_replace, PEER(2, 3, 4, 5, 8), .source = 6)                     \
    X(4, Probe, .peer = 1, .tag = 2, .communicator = 3)                          \
    X(5, Mprobe, .peer = 1, .tag = 2, .communicator = 3)                         \
    X(5, Mrecv, .count = 2, .type = 3)                                           \
    X(5, Imrecv, .count = 2, .type = 3)                                          \
    X(1, Start, NOTHING)                                                         \
    X(2, Startall, .requests = 1)                                                \
    X(2, Wait, NOTHING)                                                          \
    X(3, Waitall, .requests = 1)                                                 \
    X(4, Waitany, .requests = 1)                                                 \
    X(5, Waitsome, .requests = 1)                                                \
    /* collectives */                                                            \
    X(1, Barrier, ALL(1))                                                        \
    X(2, Ibarrier, ALL(1))                                                       \
    X(5, Bcast, SHARES(2, 3, 5), .root = 4)                                      \
    X(6, Ibcast, SHARES(2, 3, 5), .root = 4)                                     \
    X(8, Gather, SHARES(2, 3, 8), .root = 7, IN_PLACE(1, 5, 6))                  \
    X(9, Igather, SHARES(2, 3, 8), .root = 7, IN_PLACE(1, 5, 6))                 \
    X(9, Gatherv, SHARES(2, 3, 9), .root = 8, IN_PLACE(1, 0, 0))                 \
    X(10, Igatherv, SHARES(2, 3, 9), .root = 8, IN_PLACE(1, 0, 0))               \
    X(8, Scatter, SHARES(5, 6, 8), .root = 7, IN_PLACE(4, 2, 3))                 \
    X(9, Iscatter, SHARES(5, 6, 8), .root = 7, IN_PLACE(4, 2, 3))                \
    X(9, Scatterv, SHARES(6, 7, 9), .root = 8, IN_PLACE(5, 0, 0))                \
    X(10, Iscatterv, SHARES(6, 7, 9), .root = 8, IN_PLACE(5, 0, 0))              \
    X(7, Allgather, SHARES(2, 3, 7), IN_PLACE(1, 5, 6))                          \
    X(8, Iallgather, SHARES(2, 3, 7), IN_PLACE(1, 5, 6))                         \
    X(8, Allgatherv, SHARES(2, 3, 8), IN_PLACE(1, 0, 0))                         \
    X(9, Iallgatherv, SHARES(2, 3, 8), IN_PLACE(1, 0, 0))                        \
    X(7, Alltoall, SHARES(2, 3, 7), IN_PLACE(1, 5, 6))                           \
    X(8, Ialltoall, SHARES(2, 3, 7), IN_PLACE(1, 5, 6))                          \
    X(9, Alltoallv, SHARES(2, 4, 9), .counting = COUNT_SUM, IN_PLACE(1, 6, 8))   \
    X(10, Ialltoallv, SHARES(2, 4, 9), .counting = COUNT_SUM, IN_PLACE(1, 6, 8)) \
    X(9, Alltoallw, ALL(9))                                                      \
    X(10, Ialltoallw, ALL(9))                                                    \
    X(7, Reduce, SHARES(3, 4, 7), .root = 6)                                     \
    X(8, Ireduce, SHARES(3, 4, 7), .root = 6)                                    \
    X(6, Allreduce, SHARES(3, 4, 6))                                             \
    X(7, Iallreduce, SHARES(3, 4, 6))                                            \
    X(6, Reduce_scatter, SHARES(3, 4, 6), .counting = COUNT_OWN)                 \
    X(7, Ireduce_scatter, SHARES(3, 4, 6), .counting = COUNT_OWN)                \
    X(6, Reduce_scatter_block, SHARES(3, 4, 6))                                  \
    X(7, Ireduce_scatter_block, SHARES(3, 4, 6))                                 \
    X(6, Scan, SHARES(3, 4, 6))                                                  \
    X(7, Iscan, SHARES(3, 4, 6))                                                 \
    X(6, Exscan, SHARES(3, 4, 6))                                                \
    X(7, Iexscan, SHARES(3, 4, 6))                                               \
    X(7, Neighbor_allgather, SHARES(2, 3, 7))                                    \
    X(8, Ineighbor_allgather, SHARES(2, 3, 7))                                   \
    X(8, Neighbor_allgatherv, SHARES(2, 3, 8))                                   \
    X(9, Ineighbor_allgatherv, SHARES(2, 3, 8))                                  \
    X(7, Neighbor_alltoall, SHARES(2, 3, 7))                                     \
    X(8, Ineighbor_alltoall, SHARES(2, 3, 7))                                    \
    X(9, Neighbor_alltoallv, ALL(9))                                             \
    X(10, Ineighbor_alltoallv, ALL(9))                                           \
    X(9, Neighbor_alltoallw, ALL(9))                                             \
    X(10, Ineighbor_alltoallw, ALL(9))                                           \
    /* communicators */                                                          \
    X(2, Comm_dup, MAKES(1, 2))                                                  \
    X(3, Comm_dup_with_info, MAKES(1, 3))                                        \
    X(3, Comm_create, MAKES(1, 3))                                               \
    X(4, Comm_create_group, MAKES(1, 4), .group_alone = 1)                       \
    X(4, Comm_split, MAKES(1, 4))                                                \
    X(5, Comm_split_type, MAKES(1, 5))                                           \
    X(6, Cart_create, MAKES(1, 6))                                               \
    X(3, Cart_sub, MAKES(1, 3))                                                  \
    X(6, Graph_create, MAKES(1, 6))                                              \
    X(9, Dist_graph_create, MAKES(1, 9))                                         \
    X(10, Dist_graph_create_adjacent, MAKES(1, 10))                              \
    X(6, Intercomm_create, MAKES(1, 6), .group_alone = 1)                        \
    X(3, Intercomm_merge, MAKES(1, 3))                                           \
    X(1, Comm_free, .frees = 1)                                                  \
    X(1, Comm_disconnect, .frees = 1)                                            \
    /* one-sided */                                                              \
    X(8, Put, .count = 2, .type = 3, .peer = 4)                                  \
    X(8, Get, .count = 2, .type = 3, .peer = 4)                                  \
    X(9, Accumulate, .count = 2, .type = 3, .peer = 4)                           \
    X(2, Win_fence, NOTHING)                                                     \
    X(4, Win_lock, .peer = 2)                                                    \
    X(2, Win_unlock, .peer = 1)                                                  \
    X(2, Win_lock_all, NOTHING)                                                  \
    X(1, Win_unlock_all, NOTHING)                                                \
    X(2, Win_flush, .peer = 1)                                                   \
    X(1, Win_flush_all, NOTHING)                                                 \
    X(3, Win_post, NOTHING)                                                      \
    X(3, Win_start, NOTHING)                                                     \
    X(1, Win_complete, NOTHING)                                                  \
    X(1, Win_wait, NOTHING)                                                      \
    X(6, Win_create, .communicator = 5)                                          \
    X(6, Win_allocate, .communicator = 4)                                        \
    X(1, Win_free, NOTHING)

enum function {
#define FUNCTION(count, name, ...) FUNCTION_##name,
    MPI_FUNCTIONS(FUNCTION)
#undef FUNCTION
        FUNCTION_COUNT
};

#endif
