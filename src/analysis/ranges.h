/*
 * Ranges of the program (NVTX, PyTorch's record_function): what the sections about them have in common. Gathered only
 * where one of them is wanted; there may be any number, so they are sorted in bounded memory, and looked at in walks
 * (range_walk.h).
 */
#ifndef GPUTRACE_ANALYSIS_RANGES_H
#define GPUTRACE_ANALYSIS_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/trace_event.h"
#include "analysis/sorter.h"

/* One that was started and ended stands there twice when that was done on two threads. */
struct range {
    int64_t start, end;
    uint32_t name, domain; /* EVENT_NO_TEXT: none */
    uint32_t thread;       /* index in trace.threads */
    uint32_t number;       /* by its place in the file */
    bool started;          /* and ended, else it nests */
};

struct ranges {
    bool wanted;
    uint32_t count;
    struct sorter sorter; /* by thread, then start; outer ones come before what is in them */
    /* Those that were started, and not ended so far */
    ARRAY(struct range_start) starts;
    uint32_t unused;       /* index + 1 of the first that is none any more */
    struct map last_by_id; /* id -> index + 1 of the last */
};

struct range_start {
    struct range range; /* with EVENT_NONE as its end; another: it is none any more */
    uint32_t next;      /* index + 1 of the one that was started before with the same id; else of the next unused */
};

void ranges_init(struct ranges *ranges, struct sorter_room *room);
void ranges_release(struct ranges *ranges);

/* Each gives 0, or -1: no memory. THREAD is an index of the trace. Of an 'X', a 'b', an 'e' of ranges: */
int ranges_add(struct ranges *ranges, const struct trace_event *event, uint32_t thread);
/* After the last; what is open ends at END. */
int ranges_finish(struct ranges *ranges, int64_t end);

#endif
