/*
 * Launches of graphs that have conditional nodes, and which of them GPU work in the body of such a node belongs to.
 *
 * CUPTI's records of that work have the number of the executable graph and no correlation id (13.0; seen on an H200).
 * Launches of one executable graph come one after another on the GPU, in the order of their calls. Between two of them
 * it is known when the graph's own works, which do have the launch's correlation id, began and ended. So work of a body
 * belongs
 *
 *   - to the last launch whose own works had begun;
 *   - of a node that is known to come before the graph's own works, to the last launch whose predecessor's own works
 *     had ended;
 *   - where the graph has no own works, to the last launch that was called by then. That is a guess when the program
 *     called the next launch before the GPU was done with the one before.
 *
 *     see … order, look … finish, find …
 */
#ifndef GPUTRACE_TRACE_BUILD_CONDITIONAL_LAUNCHES_H
#define GPUTRACE_TRACE_BUILD_CONDITIONAL_LAUNCHES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/big_array.h"
#include "common/map.h"
#include "trace/spool/event_record.h"

struct conditional_launch {
    uint64_t called;      /* when the call began, ns */
    uint64_t first, last; /* start of the first and end of the last own work; UINT64_MAX and 0: there is none */
    /* Work of a body belongs to this launch or a later one, if it starts then or later: usually, and of a node that
     * comes before the own works. */
    uint64_t since, early_since;
    uint32_t graph, correlation;
};

struct conditional_launches {
    BIG_ARRAY(struct conditional_launch) items; /* by graph, then by correlation id */
    struct map bodies;                          /* nodes -> the earliest start of their work */
    pthread_mutex_t lock;                       /* while works are looked at */
    bool finished;
};

void conditional_launches_init(struct conditional_launches *launches, const char *directory);
void conditional_launches_release(struct conditional_launches *launches);

/* EVENT_GRAPH_LAUNCH. Gives 0, or -1 after error(). */
int conditional_launches_see(struct conditional_launches *launches, const struct event *event);

/* Once all were seen. Gives 0, or -1 after error(). */
int conditional_launches_order(struct conditional_launches *launches);

/* GPU work, of a graph or not. Several threads may look at once. Gives 0, or -1 after error(). */
int conditional_launches_look(struct conditional_launches *launches, const struct event *event);

/* Once all was looked at. */
void conditional_launches_finish(struct conditional_launches *launches);

/* The correlation id of the launch that GPU work without one belongs to; 0: of none, or it is not finished. Several
 * threads may ask. */
uint32_t conditional_launches_find(const struct conditional_launches *launches, const struct event *event);

#endif
