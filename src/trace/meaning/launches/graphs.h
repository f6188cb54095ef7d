/*
 * CUDA graphs: which functions their nodes launch, which launch an operation in a conditional node belongs to, what
 * numbers nodes of graphs within graphs have, and which streams exist for one graph alone.
 */
#ifndef GPUTRACE_TRACE_MEANING_LAUNCHES_GRAPHS_H
#define GPUTRACE_TRACE_MEANING_LAUNCHES_GRAPHS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/spool/event_record.h"

struct process;

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

void conditional_launches_init(struct conditional_launches *launches, const char *directory);

/* EVENT_GRAPH_LAUNCH. Returns 0, or -1 after error(). */
int conditional_launches_index(struct conditional_launches *launches, const struct event *event);

/* Once all were seen. Returns 0, or -1 after error(). */
int conditional_launches_order(struct conditional_launches *launches);

/* GPU work, of a graph or not. Several threads may look at once. Returns 0, or -1 after error(). */
int conditional_launches_scan(struct conditional_launches *launches, const struct event *event);

/* Once all was looked at. */
void conditional_launches_finish(struct conditional_launches *launches);

/* The correlation id of the launch that GPU work without one belongs to; 0: of none, or it is not finished. Several
 * threads may ask. */
uint32_t conditional_launches_find(const struct conditional_launches *launches, const struct event *event);

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

/*
 * Streams that CUDA makes for the branches of a graph, and for the bodies of its conditional nodes.
 *
 * CUPTI's records of a replay have the stream of the launch for one branch; every other branch and body has a stream of
 * its own, which each executable graph has anew, and which nothing else uses (seen with CUDA 13.0 on an H200). So a
 * program with many graphs has hundreds of such streams, of which few are ever busy at once. They get no rows: their
 * slices stand on rows of the launch's stream, on as many as overlap. The argument "stream" stays CUPTI's number.
 *
 *     made …, see …, take …, then fold once
 */

struct graph_streams {
    struct map pairs; /* graph and index of a stream's track, for all streams that graphs ran on */
    struct map made;  /* numbers of streams that the program made */
};

void graph_streams_release(struct graph_streams *streams);

/* The program made a stream of this number. Returns 0, or -1 after error(). */
int graph_streams_made(struct graph_streams *streams, uint32_t number);

/* A GPU operation on the stream of TRACK, one of FOUND's tracks: several threads see one part of the spool each, in
 * structs of their own. Return 0, or -1 after error(). */
int graph_streams_index(struct graph_streams *found, struct track *track, const struct event *event);

/* What was seen of a part, TRACKS, is what the process has. */
int graph_streams_join(struct process *process, struct graph_streams *found, const struct tracks *tracks);

/* After the last. Takes their rows from streams of branches. */
int graph_streams_fold(struct process *process);

#endif
