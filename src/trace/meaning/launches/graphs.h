/*
 * CUDA graphs: the functions that their nodes launch, the launch of an operation in a conditional node, the numbers of
 * nodes of graphs within graphs, and the streams that exist for one graph alone.
 */
#ifndef GPUTRACE_TRACE_MEANING_LAUNCHES_GRAPHS_H
#define GPUTRACE_TRACE_MEANING_LAUNCHES_GRAPHS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/spool/event_record.h"

struct process;

/*
 * The functions that nodes of graphs launch, and when and on which thread nodes were made, if the process recorded it.
 * Records of GPU operations have the numbers of nodes; most of these nodes are copies of others.
 */

struct graph_nodes {
    FILE_VECTOR(struct graph_node_change {
        uint64_t node;
        uint64_t original; /* the node that this one is a copy of; 0: none, the node launches FUNCTION itself */
        uint64_t function;
        uint64_t time;
        uint32_t thread;
        uint32_t capturer; /* the thread that began the capture, if it is another one; else 0 */
        uint32_t correlation;
        uint32_t
            made; /* set by graph_nodes_order(): the last change that made the node a copy, else its first change */
    })
    changes; /* sorted by node, then by time */
};

/* Returns the number of the graph's node that launched the operation, or 0 if no graph did. */
uint64_t gpu_op_node(const struct event *event);

/* Adds an EVENT_GRAPH_NODE. Returns 0, or -1 after error(). */
int graph_nodes_index(struct graph_nodes *nodes, const struct event *event);

/* Sorts the changes, after the last one and before any search. Returns 0, or -1 after error(). */
int graph_nodes_order(struct graph_nodes *nodes);

/* Returns the handle of the function that NODE launches in a graph launched by the call CORRELATION, and sets *TIME to
 * when that was recorded. Returns 0 if it was not recorded. */
uint64_t graph_nodes_find(const struct graph_nodes *nodes, uint64_t node, uint32_t correlation, uint64_t *time);

/* Returns the index of the last change of NODE before a launch by the call CORRELATION, or SIZE_MAX if it has none. */
size_t graph_nodes_change(const struct graph_nodes *nodes, uint64_t node, uint32_t correlation);

/* Follows copies from the node of CHANGE (an index) to the node that the program made; returns the change that made
 * that one. Returns NULL if it was not recorded, or if CHANGE is SIZE_MAX. */
const struct graph_node_change *graph_nodes_origin(const struct graph_nodes *nodes, size_t change);

/*
 * Launches of graphs with conditional nodes: which launch GPU work in the body of such a node belongs to.
 *
 * CUPTI's records of that work have the number of the executable graph and no correlation id (13.0; seen on an H200).
 * Launches of one executable graph follow one another on the GPU in the order of their calls. The graph's own GPU
 * operations, outside of bodies, have the launch's correlation id, so it is known when they began and ended. Work of a
 * body belongs
 *
 *   - to the last launch whose own GPU operations had begun;
 *   - if its node is known to run before the graph's own GPU operations, to the last launch whose predecessor's own GPU
 *     operations had ended;
 *   - if the graph has no own GPU operations, to the last launch that was called by then. That is a guess when the
 *     program called the next launch before the GPU was done with the one before.
 *
 * Call _index for all launches, _order, _scan for all GPU work, _finish; then _find.
 */

struct conditional_launch {
    uint64_t called;      /* when the call began, ns */
    uint64_t first, last; /* start of the first and end of the last own operation; UINT64_MAX and 0: there is none */
    /* Work of a body that starts at SINCE or later belongs to this launch or a later one. EARLY_SINCE is used instead
     * for a node that runs before the graph's own operations. */
    uint64_t since, early_since;
    uint32_t graph, correlation;
};

struct conditional_launches {
    FILE_VECTOR(struct conditional_launch) items; /* sorted by graph, then by correlation id */
    struct map bodies;                            /* node in a body -> the earliest start of its work */
    pthread_mutex_t lock;                         /* for conditional_launches_scan() */
    bool finished;
};

void conditional_launches_init(struct conditional_launches *launches, const char *directory);

/* Adds an EVENT_GRAPH_LAUNCH. Returns 0, or -1 after error(). */
int conditional_launches_index(struct conditional_launches *launches, const struct event *event);

/* Sorts the launches, after the last one. Returns 0, or -1 after error(). */
int conditional_launches_order(struct conditional_launches *launches);

/* Scans GPU work, of a graph or not. Several threads may call it at once. Returns 0, or -1 after error(). */
int conditional_launches_scan(struct conditional_launches *launches, const struct event *event);

/* Computes the times since when work belongs to each launch, after the last scan. */
void conditional_launches_finish(struct conditional_launches *launches);

/* Returns the correlation id of the launch that GPU work without one belongs to. Returns 0 if it belongs to none, or
 * before _finish. Several threads may call it. */
uint32_t conditional_launches_find(const struct conditional_launches *launches, const struct event *event);

/*
 * Nodes of graphs within an executable graph: of child graphs and of the bodies of conditional nodes.
 *
 * When a graph is instantiated, CUPTI reports the copies of its nodes and of those of the graphs in it. But in records
 * the inner nodes have other numbers, which no callback reports: they follow the executable graph's own nodes, first
 * those of the first graph in it, then those of the next (CUPTI 13.0; seen on an H200 for bodies of conditional nodes).
 *
 * So the numbers are computed here. They would be wrong if child graphs were numbered otherwise. Therefore records are
 * compared with what the nodes launch: if one kernel has another name, the inner nodes of that executable graph become
 * unknown. They are unknown as well after an update from another graph, which reports the outer nodes alone.
 *
 * Call inner_nodes_make(), then inner_nodes_refute() for all contradictions in GPU operations; then inner_nodes_find().
 */

struct inner_nodes {
    FILE_VECTOR(struct inner_node {
        uint64_t node;     /* the number in records */
        uint64_t reported; /* the number in callbacks */
        uint32_t graph;    /* index in `graphs` */
    })
    items; /* sorted by node */
    ARRAY(struct inner_graph {
        uint32_t updated; /* the first call that made the executable graph's nodes copies of another graph's; 0: none */
        bool refuted;     /* a record contradicts the numbers */
    })
    graphs;
};

/* Computes the numbers from NODES, which must be ordered. Returns 0, or -1 after error(). */
int inner_nodes_make(struct inner_nodes *inner, const struct graph_nodes *nodes);

/* Returns the callbacks' number of inner node NODE in a graph that is launched by the call CORRELATION. Returns 0 if
 * NODE is not an inner node, or is unknown. Several threads may call it. */
uint64_t inner_nodes_find(const struct inner_nodes *inner, uint64_t node, uint32_t correlation);

/* Notes that a record contradicts the number computed for NODE. Several threads may call it. */
void inner_nodes_refute(const struct inner_nodes *inner, uint64_t node);

/*
 * Streams that CUDA makes for the branches of a graph, and for the bodies of its conditional nodes.
 *
 * CUPTI's records of a replay have the stream of the launch for one branch. Every other branch and body has a stream of
 * its own, which each executable graph makes anew and nothing else uses (seen with CUDA 13.0 on an H200). So a program
 * with many graphs has hundreds of such streams, of which few are ever busy at once. They get no rows: their slices
 * are on rows of the launch's stream, as many rows as overlaps need. The argument "stream" stays CUPTI's number.
 *
 * Call _made, _index and _join for all streams and operations, then _fold once.
 */

struct graph_streams {
    struct map pairs; /* keys: graph and index of a stream's track, for all streams that graphs ran on */
    struct map made;  /* keys: numbers of streams that the program made */
};

void graph_streams_release(struct graph_streams *streams);

/* Adds a GPU operation on the stream of TRACK, which belongs to the part that FOUND is of: each thread scans a part
 * with structs of its own. Returns 0, or -1 after error(). */
int graph_streams_index(struct graph_streams *found, struct track *track, const struct event *event);

/* Adds FOUND and TRACKS of one part to the process. Returns 0, or -1 after error(). */
int graph_streams_join(struct process *process, struct graph_streams *found, const struct tracks *tracks);

/* After the last part: shows streams of branches on rows of their launch's stream. Returns 0, or -1 after error(). */
int graph_streams_fold(struct process *process);

#endif
