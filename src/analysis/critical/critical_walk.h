/*
 * The walk backward from the end of the run, from each operation or call to what decided it: see critical_path.h.
 */
#ifndef GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_WALK_H
#define GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_WALK_H

#include <stdint.h>

#include "analysis/critical/critical_graph.h"
#include "analysis/critical/critical_path.h"

/* The end of the path: the operation or call that ended last. */
struct critical_end {
    uint32_t op;     /* CRITICAL_NONE: a thread was last */
    uint32_t thread; /* EVENT_NO_TEXT: neither */
    int64_t time;
};

struct critical_end critical_find_end(const struct critical_graph *graph);

/* Adds the intervals of the path to PATH, and marks operations and calls that are on it. Returns 0, or -1: no memory.
 */
int critical_walk(struct critical_graph *graph, struct critical_end end, struct critical_path *path);

/* Returns CRITICAL_KERNEL, CRITICAL_COPY or CRITICAL_SET. */
enum critical_kind critical_kind_of_op(const struct critical_op *op);

#endif
