/*
 * The first launches of executable graphs. When one has returned, CUPTI's records of its kernels are there, and the
 * names that they point to are read at once: also of kernels whose nodes nobody told of (graph_nodes.h), as those of
 * graphs within graphs, which get numbers of their own when they are instantiated.
 *
 * Launches of graphs have a callback only while some executable graph was made or changed and not launched since, or
 * until GRAPH_LAUNCHES_PATIENCE launches of others went by; and from when one is made that has conditional nodes.
 * Records of what their bodies do lack the correlation id, so each of its launches is published, unless suspended.
 */
#ifndef GPUTRACE_AGENT_CUPTI_GRAPH_LAUNCHES_H
#define GPUTRACE_AGENT_CUPTI_GRAPH_LAUNCHES_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct cupti;

#define GRAPH_LAUNCHES_PATIENCE 4096u

void graph_launches_init(const struct cupti *cupti);

/* EXEC was made, CONDITIONAL: of nodes some of which are. */
void graph_launches_instantiated(CUgraphExec exec, bool conditional);

/* EXEC was changed (NULL: none): what it launches next may have names that nobody has seen. */
void graph_launches_expect(CUgraphExec exec);

/* The launch CORRELATION (0: it failed) of EXEC, which began at START, has returned: whether names are to be read. */
bool graph_launches_returned(CUgraphExec exec, uint32_t correlation, uint64_t start);

/* While SUSPENDED, when CUPTI records no GPU work, launches of graphs with conditional nodes are not published. */
void graph_launches_suspend(bool suspended);

/* Nobody wants the names any more. */
void graph_launches_forget(void);

/* In a forked child. */
void graph_launches_leave(void);

#endif
