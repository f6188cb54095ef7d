/*
 * Finds the collective operations, sends and receives of a trace. Joins the call on the host with the kernel that it
 * launched, and lists the ranks of an operation one after another. Our traces and torch.profiler's describe operations
 * in the arguments of NVTX ranges or operators and of kernels (trace/event.h).
 *
 * A call and a kernel are one operation if they are of the same process, communicator, kind and sequence number. Where
 * events have no sequence number, the operations of a communicator are counted by time; sends and receives are counted
 * for each peer. If a number comes again, as in a replayed graph, the operations differ in `part`. If one kernel does
 * several calls of a group, all of them have its times.
 *
 * If a trace has no such arguments, the names of kernels tell which communicate. These kernels are operations without a
 * communicator. The n-th kernel of a rank and the n-th of another rank are one operation if both ranks have as many
 * kernels of each kind and the two kernels are of one kind.
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
    struct sorter found; /* calls and kernels (struct found) in the trace's order */
    uint64_t found_count, named_count;
    struct temporal_names names;
    struct sorter all; /* struct collective, set by collectives_gather(): by operation, then rank */
};

/* SPACE must outlive COLLECTIVES, which must not be moved. */
void collectives_init(struct collectives *collectives, struct sorter_space *space);
void collectives_release(struct collectives *collectives);

/* Categories of events that collectives_event() reads. */
#define COLLECTIVE_CATEGORIES                                                                                        \
    (CATEGORY_BIT(CATEGORY_KERNEL) | CATEGORY_BIT(CATEGORY_GPU_IN_FLIGHT) | CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | \
     CATEGORY_BIT(CATEGORY_CPU_OP))

/* Searches a list "[0, 4, 8]" for the place *PLACE or the number *NUMBER, and stops at the first of them. One of them
 * may be FIELD_ABSENT. Sets both and returns true if the search succeeds. */
bool collective_find_in_list(const char *list, int64_t *place, int64_t *number);

/* Reads an event of any category. Of TRACE, only the texts need to be complete. Returns 0, or -1: no memory. */
int collectives_event(struct collectives *collectives, const struct trace *trace, const struct event_fields *event);

/* Fills `all`. Call it after the last event and trace_finish(). Returns 0, or -1: no memory, or after error(). */
int collectives_gather(struct collectives *collectives, const struct trace *trace);

/* Returns 0 if LEFT and RIGHT belong to one operation, below 0 if LEFT comes first. Both belong to one trace. */
int collective_compare_operation(const struct collective *left, const struct collective *right);

/* Compares struct collective by operation, then rank: the order of collectives.all. */
int collectives_order(const void *left, const void *right);

/* A walk over operations. Several may go on at a time. */
struct collectives_walk {
    struct sorter_walk walk;
    ARRAY(struct collective) ranks;
    struct collective next; /* the first rank of the following operation */
    bool any, no_memory;    /* any: `next` is set */
};

/* Begins a walk over OPERATIONS: collectives.all, or another sorter in the order of collectives_order(). */
void collectives_walk_begin(struct collectives_walk *walk, const struct sorter *operations);
/* Sets *RANKS to the ranks of the next operation, sorted by rank and valid until the next call. Returns how many; 0
 * after the last operation, or without memory. */
size_t collectives_next(struct collectives_walk *walk, const struct collective **ranks);
/* Ends the walk. Returns 0, or -1: no memory, or after warning(). */
int collectives_walk_end(struct collectives_walk *walk);

#endif
