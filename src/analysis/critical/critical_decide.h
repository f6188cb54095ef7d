/*
 * Finds what decided when each operation started and when each call returned.
 */
#ifndef GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_DECIDE_H
#define GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_DECIDE_H

struct critical_graph;
struct critical_syncs;

/* Sets `decider`, `held`, `edges` of all operations and `waited`, `all` of all calls. Returns 0, or -1: no memory. */
int critical_graph_decide(struct critical_graph *graph, const struct critical_syncs *syncs);

#endif
