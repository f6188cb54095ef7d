/*
 * Graphs: ops with an order between them. A graph that is instantiated is a copy with ids of its own; launching it
 * makes one piece of work of each node, and one more that ends with the last.
 */
#ifndef SIMGPU_CORE_GRAPH_H
#define SIMGPU_CORE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#include "core/list.h"
#include "core/op.h"

struct work;

struct CUgraphNode_st {
    CUgraph graph;
    uint64_t id;        /* as CUPTI counts them: the graph's id in the upper half */
    uint64_t record_id; /* of a node in a graph within an executable graph: what records have instead; else 0 */
    struct op op;
    struct list before, after; /* what it depends on, what depends on it: CUgraphNode */
    bool disabled;
    CUgraphNode original; /* in the graph that this one is a copy of */
};

struct CUgraph_st {
    uint32_t id;
    uint32_t nodes_made;
    uint32_t stream_id; /* of the body of an executable graph's conditional node: where its work runs; 0: nowhere yet */
    struct list nodes;
    struct list objects; /* CUuserObject: what it holds, one for each reference */
};

struct CUgraphExec_st {
    CUgraph graph;
    uint64_t flags;
    struct list launches; /* struct work: the last of each launch that may still go on, when it holds objects */
    struct list streams;  /* numbers of the streams that all branches but the first run on, as pointers */
};

CUgraph graph_create(void);
void graph_destroy(CUgraph graph);
CUgraph graph_clone(CUgraph graph);
/* A node with OP after COUNT nodes. */
CUgraphNode graph_add(CUgraph graph, const struct op *op, const CUgraphNode *before, size_t count);
void graph_connect(CUgraphNode from, CUgraphNode to);
/* The node of GRAPH that is a copy of ORIGINAL, or NULL. */
CUgraphNode graph_find_copy(CUgraph graph, CUgraphNode original);

CUgraphExec graph_instantiate(CUgraph graph, uint64_t flags);
void graph_exec_destroy(CUgraphExec exec);
/* Tells that NODE of its graph has another op now. */
void graph_exec_notify_set(CUgraphExec exec, CUgraphNode node);
/* Takes over the ops of GRAPH, which has to have the same shape. False when it has not. */
bool graph_exec_update(CUgraphExec exec, CUgraph graph);
CUresult graph_launch(CUgraphExec exec, CUstream stream);
/* A launch ends with LAST. With the lock held. */
void graph_exec_note(CUgraphExec exec, struct work *last);

#endif
