/*
 * Which function a graph's kernel nodes launch, told when nodes are made, copied and changed. Records of a graph's
 * kernels have the correlation id of the graph's launch, and the number of a node: of that which was copied when the
 * graph was instantiated, or put into another as a child.
 *
 * CUPTI tells of nodes in resource callbacks, which come at no launch of a graph. A node that is made by a captured
 * launch launches what that call does, so launches have callbacks while any stream is captured (captures.h).
 */
#ifndef GPUTRACE_AGENT_CUPTI_GRAPH_NODES_H
#define GPUTRACE_AGENT_CUPTI_GRAPH_NODES_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct cupti;
struct open_call;

/* Of CUPTI are asked the numbers of nodes. */
void graph_nodes_init(const struct cupti *cupti);

/* A launch begins on this thread, of FUNCTION, called NAME (may be NULL). */
void graph_nodes_launch_begins(const void *function, const char *name);

/* CUPTI told that a node of TYPE is about to be made, in the call OPEN of this thread (NULL: in none that has a
 * callback). When a conditional node was made CUPTI 13.0 calls it a kernel: its type is known here alone. */
void graph_node_starts(CUgraphNodeType type, const struct open_call *open);

/* CUPTI told that a node was made, or that it is a copy of ORIGINAL from now on, in the call OPEN of this thread (NULL:
 * in none that has a callback). */
void graph_node_made(CUgraphNode node, CUgraphNodeType type, const struct open_call *open);
void graph_node_copied(CUgraphNode node, CUgraphNode original, const struct open_call *open);

/* Whether CUPTI told of a conditional node that was made in the call CORRELATION of this thread. */
bool graph_nodes_made_conditional(uint32_t correlation);

/* The call CORRELATION had NODE launch FUNCTION (a CUfunction or CUkernel). */
void graph_node_launches(CUgraphNode node, const void *function, uint32_t correlation);
/* The same of that copy of a node of which CUPTI told in the call. */
void graph_node_copy_launches(const void *function, uint32_t correlation);

/* In a forked child. */
void graph_nodes_leave(void);

#endif
