/*
 * The GPU work of a trace by the thread and the time of the call that started it: what belongs to a range, whose call
 * began in it on a thread of the range.
 */
#ifndef GPUTRACE_ANALYSIS_CALLED_WORKS_H
#define GPUTRACE_ANALYSIS_CALLED_WORKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/calls.h"
#include "analysis/works.h"

#define CALLED_NO_THREAD UINT32_MAX

struct called_work {
    int64_t called;          /* when the call began */
    int64_t start, duration; /* of the work, as are: */
    uint32_t name;           /* of trace.strings */
    uint32_t stream;         /* index in trace.streams */
    uint32_t thread;         /* index in trace.threads; CALLED_NO_THREAD: no call is known. They come last. */
    bool kernel;             /* or a whole graph; else a copy or set */
};

struct called_works {
    bool wanted; /* a section looks at them */
    struct sorter sorter;
};

/* By thread, then call: for sorters of records that begin with a struct called_work. */
int called_works_order(const void *left, const void *right);

void called_works_init(struct called_works *called, struct sorter_room *room);
void called_works_release(struct called_works *called);

/* After calls_ready() and works_ready(): 0, or -1: no memory, or after error(). */
int called_works_gather(struct called_works *called, const struct works *works, const struct calls *calls);

#endif
