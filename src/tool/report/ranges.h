/*
 * Ranges of the program (NVTX, PyTorch's record_function) and the GPU work that was started in them: what the sections
 * nvtx-tree, nvtx-gpu and nvtx-kernels have in common. Gathered only where one of them is wanted.
 *
 * Ranges on a thread that nest make a forest; one that overlaps another without nesting is no part of it, but of what
 * is around both. Ranges of the same names all the way up are one node. Work belongs to the ranges in which its call
 * began, on the thread that called; of ranges that were started and ended, on the thread that did either.
 */
#ifndef GPUTRACE_TOOL_REPORT_RANGES_H
#define GPUTRACE_TOOL_REPORT_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/intervals.h"
#include "base/map.h"
#include "tool/report/calls.h"
#include "tool/report/event.h"
#include "tool/report/groups.h"

struct range {
    int64_t start, end;
    uint32_t name, domain;       /* EVENT_NO_TEXT: none */
    uint32_t thread, end_thread; /* indices in trace.threads */
    bool started;                /* and ended, else it nests */
    uint32_t
        next; /* while it is open: index + 1 of the one started before with the same id; then its place in the file */
    /* of those that nest, after ranges_finish() */
    uint32_t node;
    int64_t self; /* of its time what is in none of its inner ranges */
};

struct range_node {
    uint32_t parent; /* index + 1; 0: outermost */
    uint32_t depth;  /* 0: outermost */
    uint32_t name, domain;
};

struct ranges {
    bool wanted;
    ARRAY(struct range) items;
    struct map open_by_id; /* id -> index + 1 of the last start */
    struct groups node_ids;
    ARRAY(struct range_node) nodes;
    ARRAY(struct intervals) by_thread; /* of each of trace.threads */
};

void ranges_release(struct ranges *ranges);

/* Each gives 0, or -1: no memory. THREAD is an index of the trace. Of an 'X', a 'b', an 'e' of ranges: */
int ranges_add(struct ranges *ranges, const struct trace_event *event, uint32_t thread);
/* After the last; what is open ends at END. */
int ranges_finish(struct ranges *ranges, int64_t end);

/* Calls EACH for all ranges that are around CALL, the outer ones first, until it gives non-zero; gives that, else 0. */
int ranges_around(const struct ranges *ranges, const struct call *call, int (*each)(void *context, uint32_t range),
                  void *context);

/* The index + 1 of the node of the innermost range that nests around CALL; 0: none. */
uint32_t ranges_node_of(const struct ranges *ranges, const struct call *call);

struct cell;
struct table;
struct trace;
/* "outer/inner": the names on the way to a node (index + 1, 0: none), of many the innermost. */
struct cell ranges_path_cell(const struct trace *trace, struct table *table, uint32_t node);

#endif
