/*
 * The filter passes on the events of a trace that struct filter_options selects. It stands between the reader and the
 * dispatcher, so no section knows of it.
 *
 * A filter by time, range, step, rank, process or thread needs a first reading of the trace, the scan,
 * which finds where the trace begins, when the ranges were, and which calls began in them. Memory grows with the number
 * of selected ranges, and by a bit or two for each correlation id.
 *
 *   slices       that overlap the time from --from to --to are cut to it
 *   host events  count if they begin within a range or step, on any thread
 *   GPU events   count if the call that launched them counts; if the trace lacks the call, if they begin in a window
 *   counters     get an event with their current value at the start of each window
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
#include "analysis/base/options.h"
#include "analysis/engine/trace.h"

/* A counter's last value before a window. */
struct filter_counter {
    struct event_fields event;
    bool held;
    int64_t valued; /* the start of the last window with a value of its own at that time; FIELD_ABSENT: none has one */
};

struct filter {
    struct selection selection;
    struct trace *trace; /* of the report; its strings have the events' texts */
    int (*receive)(void *context, const struct event_fields *event);
    void *context;

    /* Set by filter_scan_apply() */
    bool cuts, nothing;     /* nothing: no event counts */
    bool any;               /* an event counted, so far */
    int64_t from, to;       /* `cuts`: slices are cut to this time */
    struct windows windows; /* times of the selected range or step */
    struct windows times;   /* the parts of `windows` between `from` and `to`; none: all time */

    /* Changed by each event */
    size_t rows;      /* rows of GPUs of the trace that the selection has already */
    struct map open;  /* how many ranges of each id began, were passed on and did not end yet */
    struct map early; /* ranges that began before `from`: id -> struct event_fields *, owned here */
    struct dense_map counter_ids;
    ARRAY(struct filter_counter) counters;
};

/* OPTIONS and TRACE outlive it. RECEIVE is called with each event that counts. Returns 0, or -1 after error(). */
int filter_init(struct filter *filter, const struct filter_options *options, struct trace *trace,
                int (*receive)(void *context, const struct event_fields *event), void *context);
void filter_release(struct filter *filter);

/* Whether the trace must be read once before its events can be filtered. */
bool filter_reads_twice(const struct filter_options *options);

/* Passes EVENT on if it counts. FULL_NAME: of a kernel, before it was shortened. Returns 0, or -1 after error(). */
int filter_event(struct filter *filter, struct event_fields *event, uint32_t full_name);
/* After the last event of the trace PATH: passes on the counters and ranges that were held back. Returns 0, or -1 after
 * error(), which is also the result if the only trace lacks the GPU, stream, process, thread or kernel. */
int filter_finish(struct filter *filter, const char *path);

/* --- the scan, the first reading of a trace, finds the windows of a range or step, and the calls that are selected --- */

/* Sets what FIRST must collect during the scan. */
void filter_scan_want(const struct filter_options *options, struct trace *first);

/* Adds the times of the range or step in OPTIONS to WINDOWS, in order. FIRST is the scanned trace PATH. Returns 0, -1
 * after error(), or the result of filter_missing() if the trace has no such range or step. */
int filter_scan_windows(const struct filter_options *options, const struct trace *first, const char *path,
                        struct filter_missed *missed, struct windows *windows);

/* Sets up the filter by FIRST, the scanned trace PATH, after trace_finish(), and sets the window of the report's trace.
 * Returns 0, or -1 after error(), which is also the result if nothing of the only trace is selected. */
int filter_scan_apply(struct filter *filter, const struct trace *first, const char *path);

#endif
