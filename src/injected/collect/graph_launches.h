/*
 * The first launches of executable graphs. When one has returned, CUPTI's records of its kernels are there, and the
 * names that they point to are read at once: also of kernels whose nodes nobody told of (graph_nodes.h), as those of
 * graphs within graphs, which get numbers of their own when they are instantiated.
 *
 * Launches of graphs have a callback only while some executable graph was made or changed and not launched since; or
 * until GRAPH_LAUNCHES_PATIENCE launches of others went by.
 */
#ifndef GPUTRACE_INJECTED_COLLECT_GRAPH_LAUNCHES_H
#define GPUTRACE_INJECTED_COLLECT_GRAPH_LAUNCHES_H

#include <cuda.h>
#include <stdbool.h>

#define GRAPH_LAUNCHES_PATIENCE 4096u

/* EXEC was made or changed (NULL: none): what it launches next may have names that nobody has seen. */
void graph_launches_expect(CUgraphExec exec);

/* A launch of EXEC has returned: whether names are to be read. */
bool graph_launches_returned(CUgraphExec exec);

/* Nobody wants the names any more. */
void graph_launches_forget(void);

/* In a forked child. */
void graph_launches_leave(void);

#endif
