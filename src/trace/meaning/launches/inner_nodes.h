/*
 * Nodes of graphs within an executable graph: of child graphs and of the bodies of conditional nodes.
 *
 * When a graph is instantiated, CUPTI reports the copies of its nodes and of those of the graphs in it. But in records
 * the inner nodes have other numbers, which no callback reports: they count on behind the executable graph's own nodes,
 * those of the first graph in it, then those of the next (CUPTI 13.0; seen on an H200 for bodies of conditional nodes).
 *
 * So the numbers are worked out here. Where child graphs are numbered otherwise they would be wrong, therefore what is
 * recorded is compared with what the nodes launch: one kernel of another name, and nothing is known of the inner nodes
 * of that executable graph. Nor is it after an update from another graph, of which the outer nodes alone are known.
 *
 *     index … inner_nodes_make, look at all GPU operations, find …
 */
#ifndef GPUTRACE_TRACE_MEANING_LAUNCHES_INNER_NODES_H
#define GPUTRACE_TRACE_MEANING_LAUNCHES_INNER_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "trace/meaning/launches/graphs.h"

struct inner_nodes {
    FILE_VECTOR(struct inner_node {
        uint64_t node;     /* as records have it */
        uint64_t reported; /* as callbacks have it */
        uint32_t graph;    /* index in `graphs` */
    })
    items; /* by node */
    ARRAY(struct inner_graph {
        uint32_t updated; /* the first call that made the executable graph's nodes copies of another graph's; 0: none */
        bool refuted;     /* a record contradicts the numbers */
    })
    graphs;
};

/* Once NODES are ordered. Returns 0, or -1 after error(). */
int inner_nodes_make(struct inner_nodes *inner, const struct graph_nodes *nodes);

/* NODE, in a graph that is launched by the call CORRELATION, as callbacks have it; 0: it is not an inner one, or not
 * known. Any number of threads may ask. */
uint64_t inner_nodes_find(const struct inner_nodes *inner, uint64_t node, uint32_t correlation);

/* A record contradicts what NODE is taken to be. Any number of threads may say so. */
void inner_nodes_refute(const struct inner_nodes *inner, uint64_t node);

#endif
