/*
 * The GPU work of a trace, each with the API call that started it: joined by correlation id at the end, as calls may
 * come after their work. Every node of a graph is joined with the launch of the graph.
 */
#ifndef GPUTRACE_ANALYSIS_WORKS_H
#define GPUTRACE_ANALYSIS_WORKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/calls.h"
#include "analysis/sorter.h"

struct trace_event;

struct work {
    int64_t start, duration;
    uint32_t correlation; /* where is_correlated */
    uint32_t name;        /* of trace.strings */
    uint32_t stream;      /* index in trace.streams */
    uint32_t order;       /* in the file */
    bool is_correlated;
    bool kernel; /* or a whole graph; else a copy or set */
};

struct works {
    bool wanted; /* a section looks at them */
    struct sorter sorter;
};

void works_init(struct works *works, struct sorter_room *room);
void works_release(struct works *works);

/* Gives 0, or -1: no memory. */
int works_add(struct works *works, const struct trace_event *event, uint32_t stream);

/* After the last works_add(): 0, or -1: no memory. */
int works_ready(struct works *works);

/* After that and calls_ready(): calls EACH for all works with the call that started it (NULL: none is known), by
 * correlation id, until it gives non-zero. Gives that, or 0, or -1: no memory, or after error(). Several may go on at a
 * time, in one thread or several. */
int works_each(const struct works *works, const struct calls *calls,
               int (*each)(void *context, const struct work *work, const struct call *call), void *context);

#endif
