/*
 * The filter passes on the events of a trace that struct filter_options selects. It is between the reader and the
 * dispatcher, so sections do not depend on it.
 *
 * A filter by time, range, step, rank, process or thread needs a first reading of the trace, the scan. It finds the
 * start of the trace, the times of the ranges, and the calls that began in them. Memory grows with the number of
 * selected ranges, and by a bit or two for each correlation id.
 *
 *   slices       that overlap the time from --from to --to are cut to it
 *   host events  are passed on if they begin within a range or step, on any thread
 *   GPU events   are passed on if the call that launched them is; if that is not known, if they begin in a window
 *   counters     get an event with their current value at the start of each window
 *   allocations  outside of the windows get the phase HEAP_OUTSIDE, so that heap.h knows what is allocated
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
    int64_t valued; /* the last start of a window at which the trace has a value; FIELD_ABSENT: none */
};

struct filter {
    struct selection selection;
    struct trace *trace; /* of the report; its strings have the texts of events */
    int (*receive)(void *context, const struct event_fields *event);
    void *context;

    /* Set by filter_scan_apply() */
    bool cuts, nothing;     /* nothing: no event is selected */
    bool any;               /* an event was selected so far */
    int64_t from, to;       /* if `cuts`: slices are cut to this time */
    struct windows windows; /* times of the selected ranges or steps */
    struct windows times;   /* the parts of `windows` from `from` to `to`; empty: all time */

    /* Changed by each event */
    size_t rows;      /* number of trace->gpu_rows that were added to the selection */
    struct map open;  /* key of a range -> number of its begins that were passed on and have no end yet */
    struct map early; /* key of a range that began before `from` -> struct event_fields *, owned here */
    struct dense_map counter_ids;
    ARRAY(struct filter_counter) counters;
};

/* OPTIONS and TRACE must outlive FILTER. RECEIVE is called with each selected event. Returns 0, or -1 after error(). */
int filter_init(struct filter *filter, const struct filter_options *options, struct trace *trace,
                int (*receive)(void *context, const struct event_fields *event), void *context);
void filter_release(struct filter *filter);

/* Whether the trace must be read once before its events can be filtered. */
bool filter_reads_twice(const struct filter_options *options);

/* Passes EVENT on if it is selected. FULL_NAME is the name of a kernel before it was shortened. Returns 0, or -1 after
 * error(). */
int filter_event(struct filter *filter, struct event_fields *event, uint32_t full_name);
/* Passes on the counters and ranges that were held back, after the last event of the trace PATH. Returns 0, or -1 after
 * error(), also if the only trace lacks the selected GPU, stream, process, thread or kernel. */
int filter_finish(struct filter *filter, const char *path);

/* --- the scan, the first reading of a trace, finds the windows of ranges or steps, and the selected calls --- */

/* Sets first->wanted to what the scan needs. */
void filter_scan_want(const struct filter_options *options, struct trace *first);

/* Adds the times of the range or step in OPTIONS to WINDOWS, and sorts them. FIRST is the scanned trace PATH. Returns
 * 0, -1 after error(), or the result of filter_missing() if the trace has no such range or step. */
int filter_scan_windows(const struct filter_options *options, const struct trace *first, const char *path,
                        struct filter_missed *missed, struct windows *windows);

/* Sets up the filter, and the window of the report's trace, from FIRST, the scanned trace PATH after trace_finish().
 * Returns 0, or -1 after error(), also if nothing of the only trace is selected. */
int filter_scan_apply(struct filter *filter, const struct trace *first, const char *path);

#endif
