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

/* CUPTI is asked for the numbers of nodes and graphs. */
void graphs_init(const struct cupti *cupti);

/* In a forked child: CUPTI is not asked. */
void graphs_atfork_child(void);

/*
 * Which streams are being captured into graphs. A call on such a stream does nothing now; it adds to the graph.
 *
 * A stream can also join a capture by waiting for one of its events, so the driver is asked; but only while a capture
 * is going on. Captures are counted: the functions that begin and end them have callbacks whenever one of
 * CAPTURES_KINDS is wanted. During a capture launches have callbacks if nodes of graphs are wanted.
 */

/* The kinds that need to know about captures. */
#define CAPTURES_KINDS (REGISTRY_BIT(event_record) | REGISTRY_BIT(event_wait) | REGISTRY_BIT(graph_node))

/* Count a capture that began, and one that has ended. */
void captures_begin(void);
void captures_end(void);

/* Returns the thread that began the only open capture if it is not this one: this one may work for it, as PyTorch's
 * threads of the backward pass do. Returns 0 if no or several captures are open, or this thread began it. */
uint32_t captures_other_thread(void);

/* Whether any goes on. */
extern unsigned captures_going_on;
static inline bool captures_go_on(void)
{
    return __atomic_load_n(&captures_going_on, __ATOMIC_RELAXED) != 0;
}

/* Whether STREAM, as driver_call_stream() returns it, of a call that was done, is captured, while any goes on. */
bool captures_ask(CUstream stream);

/* No subscriber needs captures any more, and their ends may not be seen. */
void captures_forget(void);

/*
 * Which function a graph's kernel nodes launch, published when nodes are made, copied and changed. Nodes of copies and
 * sets are published too, without a function: on which thread and when a node was made says what it belongs to. Records
 * of a graph's kernels have the correlation id of the graph's launch, and the number of a node: of that which was copied
 * when the graph was instantiated, or put into another as a child.
 *
 * CUPTI reports nodes in resource callbacks, which come at no launch of a graph. A node that is made by a captured
 * launch launches what that call does, so launches have callbacks while any stream is captured.
 */

/* CUPTI reported that a node of TYPE is about to be made, in the call OPEN of this thread (NULL: in none that has a
 * callback). When a conditional node was made CUPTI 13.0 calls it a kernel: its type is known here alone. */
void graph_node_starts(CUgraphNodeType type, const struct open_call *open);

/* CUPTI reported that a node was made, or that it is a copy of ORIGINAL from now on, in the call OPEN of this thread
 * (NULL: in none that has a callback). */
void graph_node_made(CUgraphNode node, CUgraphNodeType type, const struct open_call *open);
void graph_node_copied(CUgraphNode node, CUgraphNode original, const struct open_call *open);

/* The call CORRELATION (0: not known) had NODE, which it MADE or not, launch FUNCTION (a CUfunction or CUkernel; NULL:
 * none is known). */
void graph_node_launches(CUgraphNode node, bool made, const void *function, uint32_t correlation);

/*
 * The first launches of executable graphs. When one has returned, CUPTI's records of its kernels are there, and the
 * names that they point to are read at once: also of kernels whose nodes were not reported, as those of
 * graphs within graphs, which get numbers of their own when they are instantiated.
 *
 * Launches of graphs have a callback only while some executable graph was made or changed and not launched since, or
 * until GRAPH_LAUNCHES_BUDGET launches of others went by; and from when one is made that has conditional nodes.
 * Records of what their bodies do lack the correlation id, so each of its launches is published, unless suspended.
 */

#define GRAPH_LAUNCHES_BUDGET 4096u

/* EXEC was changed (NULL: none): what it launches next may have new names. */
void graph_launches_expect(CUgraphExec exec);

/* The launch CORRELATION (0: it failed) of EXEC, which began at START, has returned: whether names are to be read. */
bool graph_launches_returned(CUgraphExec exec, uint32_t correlation, uint64_t start);

/* While SUSPENDED, when CUPTI records no GPU work, launches of graphs with conditional nodes are not published. */
void graph_launches_suspend(bool suspended);

/* No subscriber wants the names any more. */
void graph_launches_forget(void);

#endif
