/*
 * Which functions the nodes of graphs launch, as far as the process told: the numbers of nodes stand in the
 * records of kernels, and nodes are copies of others.
 */
#ifndef GPUTRACE_TRACE_BUILD_GRAPH_NODES_H
#define GPUTRACE_TRACE_BUILD_GRAPH_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/big_array.h"
#include "trace/spool/event_record.h"

struct graph_nodes {
    BIG_ARRAY(struct graph_node_change {
        uint64_t node;
        uint64_t original; /* 0: none, but it launches … */
        uint64_t function;
        uint64_t time;
        uint32_t correlation;
    })
    changes; /* ordered: by node, then as they came to be */
};

void graph_nodes_release(struct graph_nodes *nodes);

/* EVENT_GRAPH_NODE. Gives 0, or -1 after error(). */
int graph_nodes_see(struct graph_nodes *nodes, const struct event *event);

/* Once all were seen, before any is looked for. Gives 0, or -1 after error(). */
int graph_nodes_order(struct graph_nodes *nodes);

/* What NODE launches in a graph that is launched by the call CORRELATION: the function's handle, *TIME is when that was
 * told. 0: it is not known. */
uint64_t graph_nodes_find(const struct graph_nodes *nodes, uint64_t node, uint32_t correlation, uint64_t *time);

#endif
