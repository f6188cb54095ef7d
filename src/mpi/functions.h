/*
 * The functions of MPI that are wrapped: those that move data, wait for other ranks, or create objects for such calls.
 * MPI_Test, MPI_Iprobe and others that only query are not wrapped, because programs call them in loops. A row describes
 * the arguments:
 *
 *      X(number of arguments, name without "MPI_", name in Fortran, members of struct arguments)
 *
 * Arguments are numbered from 1.
 *
 * Fortran's subroutines have the same arguments, each by its address, and one more for the error; but MPI_Init and
 * MPI_Init_thread lack the first two. Rows of T have texts among their arguments, whose lengths Fortran passes after
 * the error. Rows of C are functions of C alone: Fortran's subroutines with counts of 64 bits call those.
 *
 * A library of MPI may lack some functions: the real function is looked up only when the program calls it.
 */
#ifndef GPUTRACE_MPI_FUNCTIONS_H
#define GPUTRACE_MPI_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi/library.h"

/* Positions of the arguments for the elements of a buffer; 0 if there is none. */
struct amount {
    uint8_t count, type;
    enum {
        COUNT_ONE = 0, /* `count` elements of `type` */
        COUNT_SINGLE,  /* one element of `type`; `count` is the position of `type`, too */
        COUNT_SUM,     /* `count` is an array with a number for each rank, and the amount is their sum */
        COUNT_OWN,     /* `count` is an array with a number for each rank, of which this rank's counts */
        COUNT_TYPES,   /* as COUNT_SUM, and `type` is an array of types for the ranks */
    } counting;
};

struct arguments {
    uint8_t communicator, peer, tag, source, root, requests, code;
    struct amount share;                 /* data that goes to one other rank, or comes from it */
    struct amount sent, received;        /* all data, if not the share or one share for each rank */
    uint8_t partitions;                  /* number of shares */
    uint8_t large;                       /* 1: counts have 64 bits */
    uint8_t place;                       /* position of a buffer: if it is MPI_IN_PLACE, `other` is the share */
    struct amount other;                 /* the share with MPI_IN_PLACE */
    uint8_t at_root;                     /* 1: `sent` and `received` are only valid on the root */
    uint8_t collective;                  /* 1: all ranks of the communicator call it, in the same order */
    uint8_t creates, frees, group_alone; /* positions of a communicator; 1: only ranks of the group call it */
    uint8_t duplicate;                   /* 1: the new communicator is not ready yet; its ranks are the old one's */
    enum mpi_handles kind;               /* kind of the objects below */
    uint8_t object, keeps;               /* positions: facts kept for `object` apply; facts are kept for `keeps` */
    uint8_t by_address;                  /* 1: the argument `object` is the address of the handle */
    uint8_t starts;                      /* 1: the object's kept bytes are what moves now */
    uint8_t status, flag;                /* positions: source and tag of the kept facts; whether there is an object */
    uint8_t quiet;                       /* 1: programs call it in loops, so it makes no range */
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

#define KEEPS(kind_of, at) .kind = kind_of, .keeps = at
#define ON(kind_of, at) .kind = kind_of, .object = at
#define AT(kind_of, at) .kind = kind_of, .object = at, .by_address = 1
#define WINDOW(at) ON(MPI_WINDOWS, at)
#define ONE_SIDED(count_at, type_at, peer_at, window_at) \
    .share = {count_at, type_at, COUNT_ONE}, .peer = peer_at, WINDOW(window_at)
#define ELEMENT(type_at, peer_at, window_at) \
    .share = {type_at, type_at, COUNT_SINGLE}, .peer = peer_at, WINDOW(window_at)
#define MATCHES(message_at, status_at) \
    .peer = 1, .tag = 2, .communicator = 3, KEEPS(MPI_MESSAGES, message_at), .status = status_at
#define MATCHED .share = {2, 3, COUNT_ONE}, AT(MPI_MESSAGES, 4)
#define ON_FILE(count_at) .share = {count_at, count_at + 1, COUNT_ONE}, ON(MPI_FILES, 1)

/* Rows for a function and its version with 64-bit counts. */
#define SIZES(X, C, count, name, fortran, ...) \
    X(count, name, fortran, __VA_ARGS__)       \
    C(count, name##_c, fortran##_c, .large = 1, __VA_ARGS__)

/* Rows for a collective function, its nonblocking version, and its persistent version, which makes a request, each with
 * both sizes of counts. */
#define COLLECTIVE(X, C, count, name, fortran, ...)                 \
    SIZES(X, C, count, name, fortran, __VA_ARGS__)                  \
    SIZES(X, C, MORE_1(count), I##fortran, i##fortran, __VA_ARGS__) \
    SIZES(X, C, MORE_2(count), name##_init, fortran##_init, __VA_ARGS__, KEEPS(MPI_REQUESTS, MORE_2(count)))

/* Rows for the functions of a file; READ is read or write. */
#define FILE_FUNCTIONS(X, C, read)                                                       \
    SIZES(X, C, 5, File_##read, file_##read, ON_FILE(3))                                 \
    SIZES(X, C, 5, File_##read##_all, file_##read##_all, ON_FILE(3))                     \
    SIZES(X, C, 5, File_##read##_shared, file_##read##_shared, ON_FILE(3))               \
    SIZES(X, C, 5, File_##read##_ordered, file_##read##_ordered, ON_FILE(3))             \
    SIZES(X, C, 6, File_##read##_at, file_##read##_at, ON_FILE(4))                       \
    SIZES(X, C, 6, File_##read##_at_all, file_##read##_at_all, ON_FILE(4))               \
    SIZES(X, C, 5, File_i##read, file_i##read, ON_FILE(3))                               \
    SIZES(X, C, 5, File_i##read##_all, file_i##read##_all, ON_FILE(3))                   \
    SIZES(X, C, 5, File_i##read##_shared, file_i##read##_shared, ON_FILE(3))             \
    SIZES(X, C, 6, File_i##read##_at, file_i##read##_at, ON_FILE(4))                     \
    SIZES(X, C, 6, File_i##read##_at_all, file_i##read##_at_all, ON_FILE(4))             \
    SIZES(X, C, 4, File_##read##_all_begin, file_##read##_all_begin, ON_FILE(3))         \
    SIZES(X, C, 4, File_##read##_ordered_begin, file_##read##_ordered_begin, ON_FILE(3)) \
    SIZES(X, C, 5, File_##read##_at_all_begin, file_##read##_at_all_begin, ON_FILE(4))   \
    X(3, File_##read##_all_end, file_##read##_all_end, ON(MPI_FILES, 1))                 \
    X(3, File_##read##_ordered_end, file_##read##_ordered_end, ON(MPI_FILES, 1))         \
    X(3, File_##read##_at_all_end, file_##read##_at_all_end, ON(MPI_FILES, 1))

/* Turn a count into the token of the next number, or of the one after, for pasting. */
#define MORE_1(count) JOIN(AFTER_, count)
#define MORE_2(count) JOIN(AFTER_, MORE_1(count))
#define JOIN(a, b) JOIN_NOW(a, b)
#define JOIN_NOW(a, b) a##b
#define AFTER_0 1
#define AFTER_1 2
#define AFTER_2 3
#define AFTER_3 4
#define AFTER_4 5
#define AFTER_5 6
#define AFTER_6 7
#define AFTER_7 8
#define AFTER_8 9
#define AFTER_9 10
#define AFTER_10 11
#define AFTER_11 12
#define AFTER_12 13
#define AFTER_13 14

#define MPI_FUNCTIONS(X, C, T)                                                                                         \
    X(2, Init, init, NOTHING)                                                                                          \
    X(4, Init_thread, init_thread, NOTHING)                                                                            \
    X(0, Finalize, finalize, NOTHING)                                                                                  \
    X(3, Session_init, session_init, NOTHING)                                                                          \
    X(1, Session_finalize, session_finalize, NOTHING)                                                                  \
    X(2, Abort, abort, .communicator = 1, .code = 2)                                                                   \
    /* point to point */                                                                                               \
    SIZES(X, C, 6, Send, send, PEER(2, 3, 4, 5, 6))                                                                    \
    SIZES(X, C, 6, Bsend, bsend, PEER(2, 3, 4, 5, 6))                                                                  \
    SIZES(X, C, 6, Ssend, ssend, PEER(2, 3, 4, 5, 6))                                                                  \
    SIZES(X, C, 6, Rsend, rsend, PEER(2, 3, 4, 5, 6))                                                                  \
    SIZES(X, C, 7, Recv, recv, PEER(2, 3, 4, 5, 6))                                                                    \
    SIZES(X, C, 7, Isend, isend, PEER(2, 3, 4, 5, 6))                                                                  \
    SIZES(X, C, 7, Ibsend, ibsend, PEER(2, 3, 4, 5, 6))                                                                \
    SIZES(X, C, 7, Issend, issend, PEER(2, 3, 4, 5, 6))                                                                \
    SIZES(X, C, 7, Irsend, irsend, PEER(2, 3, 4, 5, 6))                                                                \
    SIZES(X, C, 7, Irecv, irecv, PEER(2, 3, 4, 5, 6))                                                                  \
    SIZES(X, C, 7, Send_init, send_init, PEER(2, 3, 4, 5, 6), KEEPS(MPI_REQUESTS, 7))                                  \
    SIZES(X, C, 7, Bsend_init, bsend_init, PEER(2, 3, 4, 5, 6), KEEPS(MPI_REQUESTS, 7))                                \
    SIZES(X, C, 7, Ssend_init, ssend_init, PEER(2, 3, 4, 5, 6), KEEPS(MPI_REQUESTS, 7))                                \
    SIZES(X, C, 7, Rsend_init, rsend_init, PEER(2, 3, 4, 5, 6), KEEPS(MPI_REQUESTS, 7))                                \
    SIZES(X, C, 7, Recv_init, recv_init, PEER(2, 3, 4, 5, 6), KEEPS(MPI_REQUESTS, 7))                                  \
    SIZES(X, C, 12, Sendrecv, sendrecv, PEER(2, 3, 4, 5, 11), .source = 9, RECEIVED(ONE, 7, 8))                        \
    SIZES(X, C, 12, Isendrecv, isendrecv, PEER(2, 3, 4, 5, 11), .source = 9, RECEIVED(ONE, 7, 8))                      \
    SIZES(X, C, 9, Sendrecv_replace, sendrecv_replace, PEER(2, 3, 4, 5, 8), .source = 6, RECEIVED(ONE, 2, 3))          \
    SIZES(X, C, 9, Isendrecv_replace, isendrecv_replace, PEER(2, 3, 4, 5, 8), .source = 6, RECEIVED(ONE, 2, 3))        \
    X(4, Probe, probe, .peer = 1, .tag = 2, .communicator = 3)                                                         \
    X(5, Mprobe, mprobe, MATCHES(4, 5))                                                                                \
    X(6, Improbe, improbe, MATCHES(5, 6), .flag = 4, .quiet = 1)                                                       \
    SIZES(X, C, 5, Mrecv, mrecv, MATCHED)                                                                              \
    SIZES(X, C, 5, Imrecv, imrecv, MATCHED)                                                                            \
    X(9, Psend_init, psend_init, PEER(3, 4, 5, 6, 7), .partitions = 2, .large = 1, KEEPS(MPI_REQUESTS, 9))             \
    X(9, Precv_init, precv_init, PEER(3, 4, 5, 6, 7), .partitions = 2, .large = 1, KEEPS(MPI_REQUESTS, 9))             \
    X(2, Pready, pready, ON(MPI_REQUESTS, 2))                                                                          \
    X(3, Pready_range, pready_range, ON(MPI_REQUESTS, 3))                                                              \
    X(3, Pready_list, pready_list, ON(MPI_REQUESTS, 3))                                                                \
    X(3, Parrived, parrived, ON(MPI_REQUESTS, 1))                                                                      \
    X(1, Start, start, AT(MPI_REQUESTS, 1), .starts = 1)                                                               \
    X(2, Startall, startall, .requests = 1)                                                                            \
    X(2, Wait, wait, NOTHING)                                                                                          \
    X(3, Waitall, waitall, .requests = 1)                                                                              \
    X(4, Waitany, waitany, .requests = 1)                                                                              \
    X(5, Waitsome, waitsome, .requests = 1)                                                                            \
    /* collectives */                                                                                                  \
    X(1, Barrier, barrier, ALL(1))                                                                                     \
    X(2, Ibarrier, ibarrier, ALL(1))                                                                                   \
    X(3, Barrier_init, barrier_init, ALL(1), KEEPS(MPI_REQUESTS, 3))                                                   \
    COLLECTIVE(X, C, 5, Bcast, bcast, SHARES(2, 3, 5), .root = 4)                                                      \
    COLLECTIVE(X, C, 8, Gather, gather, SHARES(2, 3, 8), .root = 7, IN_PLACE(1, 5, 6))                                 \
    COLLECTIVE(X, C, 9, Gatherv, gatherv, SHARES(2, 3, 9), .root = 8, IN_PLACE_OF(OWN, 1, 5, 7), RECEIVED(SUM, 5, 7),  \
               .at_root = 1)                                                                                           \
    COLLECTIVE(X, C, 8, Scatter, scatter, SHARES(5, 6, 8), .root = 7, IN_PLACE(4, 2, 3))                               \
    COLLECTIVE(X, C, 9, Scatterv, scatterv, SHARES(6, 7, 9), .root = 8, IN_PLACE_OF(OWN, 5, 2, 4), SENT(SUM, 2, 4),    \
               .at_root = 1)                                                                                           \
    COLLECTIVE(X, C, 7, Allgather, allgather, SHARES(2, 3, 7), IN_PLACE(1, 5, 6))                                      \
    COLLECTIVE(X, C, 8, Allgatherv, allgatherv, SHARES(2, 3, 8), IN_PLACE_OF(OWN, 1, 5, 7), RECEIVED(SUM, 5, 7))       \
    COLLECTIVE(X, C, 7, Alltoall, alltoall, SHARES(2, 3, 7), IN_PLACE(1, 5, 6))                                        \
    COLLECTIVE(X, C, 9, Alltoallv, alltoallv, SHARES_OF(SUM, 2, 4, 9), IN_PLACE_OF(SUM, 1, 6, 8), RECEIVED(SUM, 6, 8)) \
    COLLECTIVE(X, C, 9, Alltoallw, alltoallw, SHARES_OF(TYPES, 2, 4, 9), IN_PLACE_OF(TYPES, 1, 6, 8),                  \
               RECEIVED(TYPES, 6, 8))                                                                                  \
    COLLECTIVE(X, C, 7, Reduce, reduce, SHARES(3, 4, 7), .root = 6)                                                    \
    COLLECTIVE(X, C, 6, Allreduce, allreduce, SHARES(3, 4, 6))                                                         \
    COLLECTIVE(X, C, 6, Reduce_scatter, reduce_scatter, SHARES_OF(OWN, 3, 4, 6), SENT(SUM, 3, 4))                      \
    COLLECTIVE(X, C, 6, Reduce_scatter_block, reduce_scatter_block, SHARES(3, 4, 6))                                   \
    COLLECTIVE(X, C, 6, Scan, scan, SHARES(3, 4, 6))                                                                   \
    COLLECTIVE(X, C, 6, Exscan, exscan, SHARES(3, 4, 6))                                                               \
    COLLECTIVE(X, C, 7, Neighbor_allgather, neighbor_allgather, SHARES(2, 3, 7))                                       \
    COLLECTIVE(X, C, 8, Neighbor_allgatherv, neighbor_allgatherv, SHARES(2, 3, 8))                                     \
    COLLECTIVE(X, C, 7, Neighbor_alltoall, neighbor_alltoall, SHARES(2, 3, 7))                                         \
    COLLECTIVE(X, C, 9, Neighbor_alltoallv, neighbor_alltoallv, ALL(9))                                                \
    COLLECTIVE(X, C, 9, Neighbor_alltoallw, neighbor_alltoallw, ALL(9))                                                \
    /* communicators */                                                                                                \
    X(2, Comm_dup, comm_dup, MAKES(1, 2))                                                                              \
    X(3, Comm_dup_with_info, comm_dup_with_info, MAKES(1, 3))                                                          \
    X(3, Comm_idup, comm_idup, MAKES(1, 2), .duplicate = 1)                                                            \
    X(4, Comm_idup_with_info, comm_idup_with_info, MAKES(1, 3), .duplicate = 1)                                        \
    X(3, Comm_create, comm_create, MAKES(1, 3))                                                                        \
    X(4, Comm_create_group, comm_create_group, MAKES(1, 4), .group_alone = 1)                                          \
    X(4, Comm_split, comm_split, MAKES(1, 4))                                                                          \
    X(5, Comm_split_type, comm_split_type, MAKES(1, 5))                                                                \
    X(6, Cart_create, cart_create, MAKES(1, 6))                                                                        \
    X(3, Cart_sub, cart_sub, MAKES(1, 3))                                                                              \
    X(6, Graph_create, graph_create, MAKES(1, 6))                                                                      \
    X(9, Dist_graph_create, dist_graph_create, MAKES(1, 9))                                                            \
    X(10, Dist_graph_create_adjacent, dist_graph_create_adjacent, MAKES(1, 10))                                        \
    X(6, Intercomm_create, intercomm_create, MAKES(1, 6), .group_alone = 1)                                            \
    X(3, Intercomm_merge, intercomm_merge, MAKES(1, 3))                                                                \
    X(1, Comm_free, comm_free, .frees = 1)                                                                             \
    X(1, Comm_disconnect, comm_disconnect, .frees = 1)                                                                 \
    T(5, Comm_create_from_group, comm_create_from_group, .creates = 5, .group_alone = 1)                               \
    T(8, Intercomm_create_from_groups, intercomm_create_from_groups, .creates = 8, .group_alone = 1)                   \
    T(8, Comm_spawn, comm_spawn, MAKES(6, 7))                                                                          \
    T(9, Comm_spawn_multiple, comm_spawn_multiple, MAKES(7, 8))                                                        \
    T(5, Comm_accept, comm_accept, MAKES(4, 5))                                                                        \
    T(5, Comm_connect, comm_connect, MAKES(4, 5))                                                                      \
    X(2, Comm_join, comm_join, NOTHING)                                                                                \
    /* one-sided */                                                                                                    \
    SIZES(X, C, 8, Put, put, ONE_SIDED(2, 3, 4, 8))                                                                    \
    SIZES(X, C, 8, Get, get, ONE_SIDED(2, 3, 4, 8))                                                                    \
    SIZES(X, C, 9, Accumulate, accumulate, ONE_SIDED(2, 3, 4, 9))                                                      \
    SIZES(X, C, 12, Get_accumulate, get_accumulate, ONE_SIDED(2, 3, 7, 12), RECEIVED(ONE, 5, 6))                       \
    SIZES(X, C, 9, Rput, rput, ONE_SIDED(2, 3, 4, 8))                                                                  \
    SIZES(X, C, 9, Rget, rget, ONE_SIDED(2, 3, 4, 8))                                                                  \
    SIZES(X, C, 10, Raccumulate, raccumulate, ONE_SIDED(2, 3, 4, 9))                                                   \
    SIZES(X, C, 13, Rget_accumulate, rget_accumulate, ONE_SIDED(2, 3, 7, 12), RECEIVED(ONE, 5, 6))                     \
    X(7, Fetch_and_op, fetch_and_op, ELEMENT(3, 4, 7))                                                                 \
    X(7, Compare_and_swap, compare_and_swap, ELEMENT(4, 5, 7))                                                         \
    X(2, Win_fence, win_fence, WINDOW(2))                                                                              \
    X(4, Win_lock, win_lock, .peer = 2, WINDOW(4))                                                                     \
    X(2, Win_unlock, win_unlock, .peer = 1, WINDOW(2))                                                                 \
    X(2, Win_lock_all, win_lock_all, WINDOW(2))                                                                        \
    X(1, Win_unlock_all, win_unlock_all, WINDOW(1))                                                                    \
    X(2, Win_flush, win_flush, .peer = 1, WINDOW(2))                                                                   \
    X(1, Win_flush_all, win_flush_all, WINDOW(1))                                                                      \
    X(2, Win_flush_local, win_flush_local, .peer = 1, WINDOW(2))                                                       \
    X(1, Win_flush_local_all, win_flush_local_all, WINDOW(1))                                                          \
    X(3, Win_post, win_post, WINDOW(3))                                                                                \
    X(3, Win_start, win_start, WINDOW(3))                                                                              \
    X(1, Win_complete, win_complete, WINDOW(1))                                                                        \
    X(1, Win_wait, win_wait, WINDOW(1))                                                                                \
    X(2, Win_test, win_test, WINDOW(1))                                                                                \
    X(1, Win_sync, win_sync, WINDOW(1))                                                                                \
    SIZES(X, C, 6, Win_create, win_create, .communicator = 5, KEEPS(MPI_WINDOWS, 6))                                   \
    SIZES(X, C, 6, Win_allocate, win_allocate, .communicator = 4, KEEPS(MPI_WINDOWS, 6))                               \
    SIZES(X, C, 6, Win_allocate_shared, win_allocate_shared, .communicator = 4, KEEPS(MPI_WINDOWS, 6))                 \
    X(3, Win_create_dynamic, win_create_dynamic, .communicator = 2, KEEPS(MPI_WINDOWS, 3))                             \
    X(1, Win_free, win_free, AT(MPI_WINDOWS, 1))                                                                       \
    /* files */                                                                                                        \
    T(5, File_open, file_open, .communicator = 1, KEEPS(MPI_FILES, 5))                                                 \
    X(1, File_close, file_close, AT(MPI_FILES, 1))                                                                     \
    X(1, File_sync, file_sync, ON(MPI_FILES, 1))                                                                       \
    T(6, File_set_view, file_set_view, ON(MPI_FILES, 1))                                                               \
    X(2, File_set_size, file_set_size, ON(MPI_FILES, 1))                                                               \
    X(2, File_preallocate, file_preallocate, ON(MPI_FILES, 1))                                                         \
    FILE_FUNCTIONS(X, C, read)                                                                                         \
    FILE_FUNCTIONS(X, C, write)

enum function {
#define FUNCTION(count, name, fortran, ...) FUNCTION_##name,
    MPI_FUNCTIONS(FUNCTION, FUNCTION, FUNCTION)
#undef FUNCTION
        FUNCTION_COUNT
};

/* The language binding by which a program calls MPI. */
enum language { LANGUAGE_C, LANGUAGE_FORTRAN, LANGUAGE_FORTRAN_2008, LANGUAGES };

/* A call of one of the functions while it runs: its arguments, and what it creates. */
struct call {
    enum function function;
    const struct arguments *at; /* row of the function */
    enum language language;
    const long *arguments;
    const struct mpi_constants *constants; /* NULL if no MPI function may be called */
    uint64_t handle;                       /* of the call's communicator; 0: none */
    uint64_t made;                         /* number of communicators made of it so far, including this call */
    uint64_t freed;
    const void *caller;
    struct range_facts facts;
    bool outer; /* not within another call */
};

/* Fills in the facts, from the arguments and from facts kept by earlier calls. Called before the call, if MPI functions
 * may be called. */
void call_read_facts(struct call *call);

/* Keeps the facts of objects that the call created. Called after it has succeeded. */
void call_keep_made(struct call *call);

/* Returns handle number INDEX in the array that the argument at POSITION points to. */
uint64_t call_handle_at(const struct call *call, unsigned position, int index, enum mpi_handles handles);

#endif
