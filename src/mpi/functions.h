/*
 * The functions of MPI that are wrapped, and which of their arguments say what. MPI_Test, MPI_Iprobe and others that
 * only ask are not: programs call them in loops.
 *
 *     X(number of arguments, name without "MPI_", the same in Fortran, what is known of the arguments: numbers from 1
 * on)
 *
 * Fortran's subroutines have the same arguments, each by its address, and one more for the error; but MPI_Init and
 * MPI_Init_thread lack the first two.
 */
#ifndef GPUTRACE_MPI_FUNCTIONS_H
#define GPUTRACE_MPI_FUNCTIONS_H

#include <stdint.h>

/* Elements of a buffer. Positions of arguments; 0: there is none. */
struct amount {
    uint8_t count, type;
    enum {
        COUNT_ONE = 0, /* `count` elements of `type` */
        COUNT_SUM,     /* `count` is an array with an element for each rank: their sum */
        COUNT_OWN,     /* the same: that of this rank */
        COUNT_TYPES,   /* the same, and `type` is an array of types: their sum */
    } counting;
};

struct arguments {
    uint8_t communicator, peer, tag, source, root, requests;
    struct amount share;                 /* what goes to one other rank, or comes from it */
    struct amount sent, received;        /* all of it, where that is not the share, or that of each rank */
    uint8_t place;                       /* a buffer: if it is MPI_IN_PLACE … */
    struct amount other;                 /* … this is the share */
    uint8_t at_root;                     /* 1: `sent` and `received` mean something on the root alone */
    uint8_t collective;                  /* 1: all ranks of the communicator call it, in one order */
    uint8_t creates, frees, group_alone; /* a communicator; 1: only ranks of the group call it */
};

#define PEER(count_at, type_at, peer_at, tag_at, communicator_at) \
    .share = {count_at, type_at, COUNT_ONE}, .peer = peer_at, .tag = tag_at, .communicator = communicator_at
#define SHARES(count_at, type_at, communicator_at) SHARES_OF(ONE, count_at, type_at, communicator_at)
#define SHARES_OF(how, count_at, type_at, communicator_at) \
    .share = {count_at, type_at, COUNT_##how}, .communicator = communicator_at, .collective = 1
#define IN_PLACE(place_at, count_at, type_at) IN_PLACE_OF(ONE, place_at, count_at, type_at)
#define IN_PLACE_OF(how, place_at, count_at, type_at) .place = place_at, .other = {count_at, type_at, COUNT_##how}
#define SENT(how, count_at, type_at) .sent = {count_at, type_at, COUNT_##how}
#define RECEIVED(how, count_at, type_at) .received = {count_at, type_at, COUNT_##how}
#define ALL(communicator_at) .communicator = communicator_at, .collective = 1
#define NOTHING .communicator = 0
#define MAKES(communicator_at, new_at) .communicator = communicator_at, .creates = new_at

#define MPI_FUNCTIONS(X)                                                                                              \
    X(2, Init, init, NOTHING)                                                                                         \
    X(4, Init_thread, init_thread, NOTHING)                                                                           \
    X(0, Finalize, finalize, NOTHING)                                                                                 \
    /* point to point */                                                                                              \
    X(6, Send, send, PEER(2, 3, 4, 5, 6))                                                                             \
    X(6, Bsend, bsend, PEER(2, 3, 4, 5, 6))                                                                           \
    X(6, Ssend, ssend, PEER(2, 3, 4, 5, 6))                                                                           \
    X(6, Rsend, rsend, PEER(2, 3, 4, 5, 6))                                                                           \
    X(7, Recv, recv, PEER(2, 3, 4, 5, 6))                                                                             \
    X(7, Isend, isend, PEER(2, 3, 4, 5, 6))                                                                           \
    X(7, Ibsend, ibsend, PEER(2, 3, 4, 5, 6))                                                                         \
    X(7, Issend, issend, PEER(2, 3, 4, 5, 6))                                                                         \
    X(7, Irsend, irsend, PEER(2, 3, 4, 5, 6))                                                                         \
    X(7, Irecv, irecv, PEER(2, 3, 4, 5, 6))                                                                           \
    X(12, Sendrecv, sendrecv, PEER(2, 3, 4, 5, 11), .source = 9, RECEIVED(ONE, 7, 8))                                 \
    X(9, Sendrecv_replace, sendrecv_replace, PEER(2, 3, 4, 5, 8), .source = 6, RECEIVED(ONE, 2, 3))                   \
    X(4, Probe, probe, .peer = 1, .tag = 2, .communicator = 3)                                                        \
    X(5, Mprobe, mprobe, .peer = 1, .tag = 2, .communicator = 3)                                                      \
    X(5, Mrecv, mrecv, .share = {2, 3, COUNT_ONE})                                                                    \
    X(5, Imrecv, imrecv, .share = {2, 3, COUNT_ONE})                                                                  \
    X(1, Start, start, NOTHING)                                                                                       \
    X(2, Startall, startall, .requests = 1)                                                                           \
    X(2, Wait, wait, NOTHING)                                                                                         \
    X(3, Waitall, waitall, .requests = 1)                                                                             \
    X(4, Waitany, waitany, .requests = 1)                                                                             \
    X(5, Waitsome, waitsome, .requests = 1)                                                                           \
    /* collectives */                                                                                                 \
    X(1, Barrier, barrier, ALL(1))                                                                                    \
    X(2, Ibarrier, ibarrier, ALL(1))                                                                                  \
    X(5, Bcast, bcast, SHARES(2, 3, 5), .root = 4)                                                                    \
    X(6, Ibcast, ibcast, SHARES(2, 3, 5), .root = 4)                                                                  \
    X(8, Gather, gather, SHARES(2, 3, 8), .root = 7, IN_PLACE(1, 5, 6))                                               \
    X(9, Igather, igather, SHARES(2, 3, 8), .root = 7, IN_PLACE(1, 5, 6))                                             \
    X(9, Gatherv, gatherv, SHARES(2, 3, 9), .root = 8, IN_PLACE_OF(OWN, 1, 5, 7), RECEIVED(SUM, 5, 7), .at_root = 1)  \
    X(10, Igatherv, igatherv, SHARES(2, 3, 9), .root = 8, IN_PLACE_OF(OWN, 1, 5, 7), RECEIVED(SUM, 5, 7),             \
      .at_root = 1)                                                                                                   \
    X(8, Scatter, scatter, SHARES(5, 6, 8), .root = 7, IN_PLACE(4, 2, 3))                                             \
    X(9, Iscatter, iscatter, SHARES(5, 6, 8), .root = 7, IN_PLACE(4, 2, 3))                                           \
    X(9, Scatterv, scatterv, SHARES(6, 7, 9), .root = 8, IN_PLACE_OF(OWN, 5, 2, 4), SENT(SUM, 2, 4), .at_root = 1)    \
    X(10, Iscatterv, iscatterv, SHARES(6, 7, 9), .root = 8, IN_PLACE_OF(OWN, 5, 2, 4), SENT(SUM, 2, 4), .at_root = 1) \
    X(7, Allgather, allgather, SHARES(2, 3, 7), IN_PLACE(1, 5, 6))                                                    \
    X(8, Iallgather, iallgather, SHARES(2, 3, 7), IN_PLACE(1, 5, 6))                                                  \
    X(8, Allgatherv, allgatherv, SHARES(2, 3, 8), IN_PLACE_OF(OWN, 1, 5, 7), RECEIVED(SUM, 5, 7))                     \
    X(9, Iallgatherv, iallgatherv, SHARES(2, 3, 8), IN_PLACE_OF(OWN, 1, 5, 7), RECEIVED(SUM, 5, 7))                   \
    X(7, Alltoall, alltoall, SHARES(2, 3, 7), IN_PLACE(1, 5, 6))                                                      \
    X(8, Ialltoall, ialltoall, SHARES(2, 3, 7), IN_PLACE(1, 5, 6))                                                    \
    X(9, Alltoallv, alltoallv, SHARES_OF(SUM, 2, 4, 9), IN_PLACE_OF(SUM, 1, 6, 8), RECEIVED(SUM, 6, 8))               \
    X(10, Ialltoallv, ialltoallv, SHARES_OF(SUM, 2, 4, 9), IN_PLACE_OF(SUM, 1, 6, 8), RECEIVED(SUM, 6, 8))            \
    X(9, Alltoallw, alltoallw, SHARES_OF(TYPES, 2, 4, 9), IN_PLACE_OF(TYPES, 1, 6, 8), RECEIVED(TYPES, 6, 8))         \
    X(10, Ialltoallw, ialltoallw, SHARES_OF(TYPES, 2, 4, 9), IN_PLACE_OF(TYPES, 1, 6, 8), RECEIVED(TYPES, 6, 8))      \
    X(7, Reduce, reduce, SHARES(3, 4, 7), .root = 6)                                                                  \
    X(8, Ireduce, ireduce, SHARES(3, 4, 7), .root = 6)                                                                \
    X(6, Allreduce, allreduce, SHARES(3, 4, 6))                                                                       \
    X(7, Iallreduce, iallreduce, SHARES(3, 4, 6))                                                                     \
    X(6, Reduce_scatter, reduce_scatter, SHARES_OF(OWN, 3, 4, 6), SENT(SUM, 3, 4))                                    \
    X(7, Ireduce_scatter, ireduce_scatter, SHARES_OF(OWN, 3, 4, 6), SENT(SUM, 3, 4))                                  \
    X(6, Reduce_scatter_block, reduce_scatter_block, SHARES(3, 4, 6))                                                 \
    X(7, Ireduce_scatter_block, ireduce_scatter_block, SHARES(3, 4, 6))                                               \
    X(6, Scan, scan, SHARES(3, 4, 6))                                                                                 \
    X(7, Iscan, iscan, SHARES(3, 4, 6))                                                                               \
    X(6, Exscan, exscan, SHARES(3, 4, 6))                                                                             \
    X(7, Iexscan, iexscan, SHARES(3, 4, 6))                                                                           \
    X(7, Neighbor_allgather, neighbor_allgather, SHARES(2, 3, 7))                                                     \
    X(8, Ineighbor_allgather, ineighbor_allgather, SHARES(2, 3, 7))                                                   \
    X(8, Neighbor_allgatherv, neighbor_allgatherv, SHARES(2, 3, 8))                                                   \
    X(9, Ineighbor_allgatherv, ineighbor_allgatherv, SHARES(2, 3, 8))                                                 \
    X(7, Neighbor_alltoall, neighbor_alltoall, SHARES(2, 3, 7))                                                       \
    X(8, Ineighbor_alltoall, ineighbor_alltoall, SHARES(2, 3, 7))                                                     \
    X(9, Neighbor_alltoallv, neighbor_alltoallv, ALL(9))                                                              \
    X(10, Ineighbor_alltoallv, ineighbor_alltoallv, ALL(9))                                                           \
    X(9, Neighbor_alltoallw, neighbor_alltoallw, ALL(9))                                                              \
    X(10, Ineighbor_alltoallw, ineighbor_alltoallw, ALL(9))                                                           \
    /* communicators */                                                                                               \
    X(2, Comm_dup, comm_dup, MAKES(1, 2))                                                                             \
    X(3, Comm_dup_with_info, comm_dup_with_info, MAKES(1, 3))                                                         \
    X(3, Comm_create, comm_create, MAKES(1, 3))                                                                       \
    X(4, Comm_create_group, comm_create_group, MAKES(1, 4), .group_alone = 1)                                         \
    X(4, Comm_split, comm_split, MAKES(1, 4))                                                                         \
    X(5, Comm_split_type, comm_split_type, MAKES(1, 5))                                                               \
    X(6, Cart_create, cart_create, MAKES(1, 6))                                                                       \
    X(3, Cart_sub, cart_sub, MAKES(1, 3))                                                                             \
    X(6, Graph_create, graph_create, MAKES(1, 6))                                                                     \
    X(9, Dist_graph_create, dist_graph_create, MAKES(1, 9))                                                           \
    X(10, Dist_graph_create_adjacent, dist_graph_create_adjacent, MAKES(1, 10))                                       \
    X(6, Intercomm_create, intercomm_create, MAKES(1, 6), .group_alone = 1)                                           \
    X(3, Intercomm_merge, intercomm_merge, MAKES(1, 3))                                                               \
    X(1, Comm_free, comm_free, .frees = 1)                                                                            \
    X(1, Comm_disconnect, comm_disconnect, .frees = 1)                                                                \
    /* one-sided */                                                                                                   \
    X(8, Put, put, .share = {2, 3, COUNT_ONE}, .peer = 4)                                                             \
    X(8, Get, get, .share = {2, 3, COUNT_ONE}, .peer = 4)                                                             \
    X(9, Accumulate, accumulate, .share = {2, 3, COUNT_ONE}, .peer = 4)                                               \
    X(2, Win_fence, win_fence, NOTHING)                                                                               \
    X(4, Win_lock, win_lock, .peer = 2)                                                                               \
    X(2, Win_unlock, win_unlock, .peer = 1)                                                                           \
    X(2, Win_lock_all, win_lock_all, NOTHING)                                                                         \
    X(1, Win_unlock_all, win_unlock_all, NOTHING)                                                                     \
    X(2, Win_flush, win_flush, .peer = 1)                                                                             \
    X(1, Win_flush_all, win_flush_all, NOTHING)                                                                       \
    X(3, Win_post, win_post, NOTHING)                                                                                 \
    X(3, Win_start, win_start, NOTHING)                                                                               \
    X(1, Win_complete, win_complete, NOTHING)                                                                         \
    X(1, Win_wait, win_wait, NOTHING)                                                                                 \
    X(6, Win_create, win_create, .communicator = 5)                                                                   \
    X(6, Win_allocate, win_allocate, .communicator = 4)                                                               \
    X(1, Win_free, win_free, NOTHING)

enum function {
#define FUNCTION(count, name, fortran, ...) FUNCTION_##name,
    MPI_FUNCTIONS(FUNCTION)
#undef FUNCTION
        FUNCTION_COUNT
};

#endif
