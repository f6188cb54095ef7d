/*
 * Which events of a trace a report is about, by struct filter_options. It stands between the reader and the dispatcher,
 * so no section knows of it.
 *
 * What a time, a range, a step, a rank, a process or a thread selects is known after the trace was read once
 * (filter_reads_twice(), filter_learn()): where the trace begins, when the ranges were, and which calls began in them.
 * Memory grows with the number of ranges that are selected, and with a bit or two for each correlation id.
 *
 *   cut          a slice that overlaps the time from --from to --to is cut to it
 *   host events  count if they begin within a range or step, on any thread
 *   GPU events   count if the call that launched them did; where the trace does not have the call, by their own time
 *   counters     their value at the start of a window is repeated there
 *   allocations  outside of the windows get the phase HEAP_OUTSIDE, so that what is allocated stays known (heap.h)
 */
#ifndef GPUTRACE_ANALYSIS_SELECTION_FILTER_H
#define GPUTRACE_ANALYSIS_SELECTION_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/event_fields.h"
#include "trace/selection.h"
#include "common/dense_map.h"
#include "analysis/base/options.h"
#include "analysis/engine/trace.h"

/* A counter's last value before a window. */
struct filter_counter {
    struct event_fields event;
    bool held;
    int64_t given; /* the start of the last window that has a value of its own there; FIELD_ABSENT: none has */
};

struct filter {
    struct selection selection;
    struct trace *trace; /* of the report; the events' texts are its strings */
    int (*give)(void *context, const struct event_fields *event);
    void *context;

    /* After filter_learn() */
    bool cuts, nothing;     /* nothing: no event counts */
    int64_t from, to;       /* where it cuts */
    struct windows windows; /* of the range or step */
    struct windows times;   /* of these what lies between from and to; none: all time */

    /* While events go by */
    size_t rows;         /* rows of GPUs that the selection has of the trace at hand */
    ARRAY(char) kernels; /* by the full name's number: 0 not asked yet, 1 matches, 2 does not */
    struct map open;     /* ranges that were begun and given, by id: how many */
    struct map early;    /* those that began before `from`: id -> struct event_fields *, owned here */
    struct dense_map counter_ids;
    ARRAY(struct filter_counter) counters;
};

/* OPTIONS and TRACE outlive the filter. GIVE gets the events that count. Returns 0, or -1 after error(). */
int filter_init(struct filter *filter, const struct filter_options *options, struct trace *trace,
                int (*give)(void *context, const struct event_fields *event), void *context);
void filter_release(struct filter *filter);

/* Whether the trace must be read once before its events can be filtered. */
bool filter_reads_twice(const struct filter_options *options);

/* What the first reading must collect. */
void filter_want(const struct filter_options *options, struct trace *first);

/* Adds to WINDOWS, and puts in order, the times of the range or step that OPTIONS name in the trace PATH, of which
 * FIRST has what filter_want() asks for. Returns 0, -1 after error(), or what filter_missing() does after it says what
 * there is. */
int filter_windows(const struct filter_options *options, const struct trace *first, const char *path,
                   struct filter_missed *missed, struct windows *windows);

/* Takes what it needs of FIRST, the trace PATH read once, after trace_finish(). Sets the window of the report's trace.
 * Returns 0, or -1 after error(), as where nothing of the only trace is selected. */
int filter_learn(struct filter *filter, const struct trace *first, const char *path);

/* Gives EVENT if it counts. FULL_NAME: of a kernel, before names were shortened. Returns 0, or -1 after error(). */
int filter_event(struct filter *filter, struct event_fields *event, uint32_t full_name);
/* After the last event of the trace PATH: gives what was held back. Returns 0, or -1 after error(): also where the
 * only trace has no such GPU, stream, process, thread or kernel. */
int filter_finish(struct filter *filter, const char *path);

#endif
