/*
 * CUDA graphs: which functions their nodes launch, and which launch an operation in a conditional node belongs to.
 */
#ifndef GPUTRACE_TRACE_MEANING_LAUNCHES_GRAPHS_H
#define GPUTRACE_TRACE_MEANING_LAUNCHES_GRAPHS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "common/map.h"
#include "trace/spool/event_record.h"

/*
 * Which functions the nodes of graphs launch, and when and on which thread nodes were made, as far as the process
 * recorded: the numbers of nodes stand in the records of GPU operations, and nodes are copies of others.
 */

struct graph_nodes {
    FILE_VECTOR(struct graph_node_change {
        uint64_t node;
        uint64_t original; /* 0: none, but it launches … */
        uint64_t function;
        uint64_t time;
        uint32_t thread;
        uint32_t capturer; /* another thread that began the capture; 0: none is known */
        uint32_t correlation;
        uint32_t made; /* once ordered: index of the last change that made the node a copy, else of its first */
    })
    changes; /* ordered: by node, then as they came to be */
};

/* The number of the executable graph that a GPU operation is of; 0: of none. */
uint32_t gpu_op_graph(const struct event *event);
/* The number of the graph's node that it is of; 0: of none, or it is not known. */
uint64_t gpu_op_node(const struct event *event);

/* EVENT_GRAPH_NODE. Returns 0, or -1 after error(). */
int graph_nodes_index(struct graph_nodes *nodes, const struct event *event);

/* Once all were seen, before any is looked for. Returns 0, or -1 after error(). */
int graph_nodes_order(struct graph_nodes *nodes);

/* What NODE launches in a graph that is launched by the call CORRELATION: the function's handle, *TIME is when that was
 * recorded. 0: it is not known. */
uint64_t graph_nodes_find(const struct graph_nodes *nodes, uint64_t node, uint32_t correlation, uint64_t *time);

/* The index of the last change of NODE in a graph that is launched by the call CORRELATION; SIZE_MAX: there is none. */
size_t graph_nodes_change(const struct graph_nodes *nodes, uint64_t node, uint32_t correlation);

/* The change that made what the node of CHANGE (an index) is, directly or through others, a copy of; NULL: it is not
 * known, as when CHANGE is SIZE_MAX. */
const struct graph_node_change *graph_nodes_origin(const struct graph_nodes *nodes, size_t change);

/*
 * Launches of graphs that have conditional nodes, and which of them GPU work in the body of such a node belongs to.
 *
 * CUPTI's records of that work have the number of the executable graph and no correlation id (13.0; seen on an H200).
 * Launches of one executable graph come one after another on the GPU, in the order of their calls. Between two of them
 * it is known when the graph's own GPU operations, which do have the launch's correlation id, began and ended. So work
 * of a body belongs
 *
 *   - to the last launch whose own GPU operations had begun;
 *   - of a node that is known to come before the graph's own GPU operations, to the last launch whose predecessor's
 *     own GPU operations had ended;
 *   - where the graph has no own GPU operations, to the last launch that was called by then. That is a guess when the
 *     program called the next launch before the GPU was done with the one before.
 *
 *     see … order, look … finish, find …
 */

struct conditional_launch {
    uint64_t called;      /* when the call began, ns */
    uint64_t first, last; /* start of the first and end of the last own work; UINT64_MAX and 0: there is none */
    /* Work of a body belongs to this launch or a later one, if it starts then or later: usually, and of a node that
     * comes before the own GPU operations. */
    uint64_t since, early_since;
    uint32_t graph, correlation;
};

struct conditional_launches {
    FILE_VECTOR(struct conditional_launch) items; /* by graph, then by correlation id */
    struct map bodies;                            /* nodes -> the earliest start of their work */
    pthread_mutex_t lock;                         /* while GPU operations are looked at */
    bool finished;
};

void conditional_launches_init(struct conditional_launches *launches);

/* EVENT_GRAPH_LAUNCH. Returns 0, or -1 after error(). */
int conditional_launches_index(struct conditional_launches *launches, const struct event *event);

/* Once all were seen. Returns 0, or -1 after error(). */
int conditional_launches_order(struct conditional_launches *launches);

/* GPU work, of a graph or not. Several threads may look at once. Returns 0, or -1 after error(). */
int conditional_launches_look(struct conditional_launches *launches, const struct event *event);

/* Once all was looked at. */
void conditional_launches_finish(struct conditional_launches *launches);

/* The correlation id of the launch that GPU work without one belongs to; 0: of none, or it is not finished. Several
 * threads may ask. */
uint32_t conditional_launches_find(const struct conditional_launches *launches, const struct event *event);

#endif
