/*
 * Follows CUDA graphs: which streams are being captured, which function each kernel node launches, and which launch of
 * an executable graph is its first.
 */
#ifndef GPUTRACE_AGENT_CUPTI_GRAPHS_H
#define GPUTRACE_AGENT_CUPTI_GRAPHS_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/dispatch/registry.h"

struct cupti;
struct open_call;

/* Starts asking CUPTI for the numbers of nodes and graphs. */
void graphs_init(const struct cupti *cupti);

/* In a forked child: forgets graphs and captures, and stops asking CUPTI. */
void graphs_atfork_child(void);

/*
 * Streams that are being captured into graphs. A call on such a stream does no work now but adds to the graph.
 *
 * A stream can also join a capture by waiting for an event of it, so the driver is asked about each stream, but only
 * while a capture goes on. Captures are counted: the functions that begin and end them have callbacks whenever one of
 * CAPTURES_KINDS is wanted. During a capture launches have callbacks if graph nodes are wanted.
 */

/* The kinds that need to know about captures. */
#define CAPTURES_KINDS (REGISTRY_BIT(event_record) | REGISTRY_BIT(event_wait) | REGISTRY_BIT(graph_node))

/* Count a capture that began, and one that ended. */
void captures_begin(void);
void captures_end(void);

/* Number of open captures. */
extern unsigned captures_going_on;
static inline bool captures_go_on(void)
{
    return __atomic_load_n(&captures_going_on, __ATOMIC_RELAXED) != 0;
}

/* Whether STREAM, a result of driver_call_stream() for a call that succeeded, is being captured. Called only while a
 * capture goes on. */
bool captures_ask(CUstream stream);

/* Resets the count, because no subscriber needs captures any more and their ends may not be seen. */
void captures_forget(void);

/*
 * The functions that kernel nodes launch, published when nodes are created, copied and changed. Nodes for memcpy and
 * memset are published, too, without a function: thread and time of their creation show what they belong to. CUPTI's
 * records of a graph's kernels have the correlation id of the graph's launch, and the number of a node: of the copy
 * that was made when the graph was instantiated or added to another as a child.
 *
 * CUPTI reports nodes in resource callbacks, which never come at a graph's launch. A node that a captured launch
 * creates launches the function of that call, so launches have callbacks while any stream is captured.
 */

/* Handles CUPTI's report that a node of TYPE is about to be created, in the call OPEN of this thread (NULL: not in a
 * call with a callback). Conditional nodes are only recognised here: once one is created, CUPTI 13.0 reports it as a
 * kernel. */
void graph_node_starts(CUgraphNodeType type, const struct open_call *open);

/* Handle CUPTI's reports that NODE was created, or is a copy of ORIGINAL from now on, in the call OPEN of this thread
 * (NULL: not in a call with a callback). */
void graph_node_made(CUgraphNode node, CUgraphNodeType type, const struct open_call *open);
void graph_node_copied(CUgraphNode node, CUgraphNode original, const struct open_call *open);

/* Publishes that NODE launches FUNCTION (a CUfunction or CUkernel; NULL: unknown) since the call CORRELATION (0:
 * unknown), which created the node if MADE. */
void graph_node_launches(CUgraphNode node, bool made, const void *function, uint32_t correlation);

/*
 * The first launches of executable graphs. When such a launch has returned, CUPTI's records of its kernels exist, and
 * the names that they point to are read at once. This covers kernels whose nodes were not reported, such as those of
 * graphs within graphs, which get new numbers at instantiation.
 *
 * Launches of graphs have a callback only while some executable graph was created or changed and not launched since,
 * and for at most GRAPH_LAUNCHES_BUDGET launches of other graphs. Once a graph with conditional nodes is instantiated,
 * they have a callback unless suspended: records of work in conditional bodies lack the correlation id, so each of its
 * launches is published.
 */

#define GRAPH_LAUNCHES_BUDGET 4096u

/* Expects a launch of EXEC (NULL is ignored), which was changed and may launch kernels with new names. */
void graph_launches_expect(CUgraphExec exec);

/* Handles the return of a launch of EXEC, which began at START with the id CORRELATION (0: it failed). Returns whether
 * names must be read. */
bool graph_launches_returned(CUgraphExec exec, uint32_t correlation, uint64_t start);

/* Sets whether launches of graphs with conditional nodes are not published, because CUPTI records no GPU work. */
void graph_launches_suspend(bool suspended);

/* Forgets all graphs, because no subscriber wants their names any more. */
void graph_launches_forget(void);

#endif
