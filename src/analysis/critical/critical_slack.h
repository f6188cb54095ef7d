/*
 * Slack: by how much an operation or a call may end later before the run does.
 */
#ifndef GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_SLACK_H
#define GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_SLACK_H

struct critical_end;
struct critical_graph;

/* Sets the slack of all operations and calls; ns. END is the end of the path. Returns 0, or -1: no memory. */
int critical_slack(struct critical_graph *graph, const struct critical_end *end);

#endif
