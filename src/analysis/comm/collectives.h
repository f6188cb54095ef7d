/*
 * The collective operations of a trace, and sends and receives: the call on the host joined with the kernel that it
 * launched, and the same operation of several ranks side by side. Our traces and torch.profiler's have them as
 * arguments of NVTX ranges or operators and of kernels (trace/event.h).
 *
 * A call and a kernel are one operation if they are of the same process, communicator, kind and sequence number. Where
 * events have no sequence number, the operations of a communicator are counted by time; sends and receives are counted
 * for each peer. A number that comes again, as in a replayed graph, has another `part`. Where one kernel does
 * several calls of a group all of them have its times.
 *
 * A trace in which nothing says what was called has kernels whose names tell that they communicate. They are operations
 * without a communicator: the n-th of one rank is the n-th of another one if both ranks have as many of each kind and
 * the two are of one kind.
 *
 *     collectives_init(); collectives_event() for each event; after trace_finish(): collectives_gather(); then
 *     collectives_walk_begin(&walk, &collectives.all);
 *     while ((count = collectives_next(&walk, &ranks))) …ranks[0] to ranks[count - 1] are one operation…
 *     status = collectives_walk_end(&walk);
 *
 * The state of section_comm begins with a struct collectives: see section_state().
 */
#ifndef GPUTRACE_ANALYSIS_COMM_COLLECTIVES_H
#define GPUTRACE_ANALYSIS_COMM_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/sorter.h"
#include "trace/event_fields.h"
#include "analysis/comm/collective.h"
#include "analysis/gpu/temporal.h"

struct trace;

struct collectives {
    struct sorter found; /* calls and kernels as they come */
    uint64_t found_count, named_count;
    struct temporal_names names;
    struct sorter all; /* struct collective, after collectives_gather(): by operation, then rank */
};

/* SPACE outlives COLLECTIVES, which stay where they are. */
void collectives_init(struct collectives *collectives, struct sorter_space *space);
void collectives_release(struct collectives *collectives);

/* Categories of events that collectives_event() looks at. */
#define COLLECTIVE_CATEGORIES                                                                                        \
    (CATEGORY_BIT(CATEGORY_KERNEL) | CATEGORY_BIT(CATEGORY_GPU_IN_FLIGHT) | CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | \
     CATEGORY_BIT(CATEGORY_CPU_OP))

/* Goes through a list "[0, 4, 8]" up to the place *PLACE or the number *NUMBER, whichever comes first (FIELD_ABSENT:
 * any place, any number). Sets both and returns true if one was found. */
bool collective_find_in_list(const char *list, int64_t *place, int64_t *number);

/* Reads an event of any category. Only the texts of TRACE are complete yet. Returns 0, or -1: no memory. */
int collectives_event(struct collectives *collectives, const struct trace *trace, const struct event_fields *event);

/* After the last event and trace_finish(). Returns 0, or -1: no memory, or after error(). */
int collectives_gather(struct collectives *collectives, const struct trace *trace);

/* Returns 0 if LEFT and RIGHT are of the same operation, below 0 if LEFT comes first. Both are of the same trace. */
int collective_compare_operation(const struct collective *left, const struct collective *right);

/* The order of collectives.all: by operation, then rank. For sorters of struct collective. */
int collectives_order(const void *left, const void *right);

/* A walk over operations. Several may go on at a time. */
struct collectives_walk {
    struct sorter_walk walk;
    ARRAY(struct collective) ranks;
    struct collective next; /* of the operation after */
    bool any, no_memory;    /* any: there is a next */
};

/* OPERATIONS: collectives.all, or another sorter in the order of collectives_order(). */
void collectives_walk_begin(struct collectives_walk *walk, const struct sorter *operations);
/* Sets *RANKS to all that took part in the next operation, by rank; valid until the next call. Returns how many, 0:
 * after the last, or without memory. */
size_t collectives_next(struct collectives_walk *walk, const struct collective **ranks);
/* Returns 0, or -1: no memory, or after warning(). */
int collectives_walk_end(struct collectives_walk *walk);

#endif
