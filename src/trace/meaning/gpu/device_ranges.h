/*
 * Device ranges: from one marker in a stream to another. The agent recorded their names and the correlation ids of
 * their two markers; CUPTI's records of CUDA events with these ids have stream and time, and the GPU work around the
 * markers says which time is meant.
 *
 * A range is shown on the stream of its start. A range that was not ended is shown up to the end of recording; a range
 * that lacks a time is not shown, and counted.
 */
#ifndef GPUTRACE_TRACE_MEANING_GPU_DEVICE_RANGES_H
#define GPUTRACE_TRACE_MEANING_GPU_DEVICE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/meaning/base/times.h"

/*
 * Markers in streams: the GPU reaches one when the operations before it are done. Each is a CUDA event of the agent's,
 * which costs GPU time: it is done 0.8 to 4 us after the operation (on an H200 1.3 at the median), and a second one
 * 1.3 us after the first. That time is the tracer's and not the program's. So a marker soon after the end of its
 * stream's last operation is moved to that end, and a marker soon after another, with no operation in between, is moved
 * to the other one. A later marker keeps the GPU's time: the program put it there later, or the stream waited.
 *
 * Add all markers, list them, and mark them with the GPU's times; then order them, and index all operations of the
 * process in any order; then settle them. Markers may need more memory than there is: stream_markers_evict().
 */

/* "Soon", ns: two or three events in a row, of which each takes 0.8 to 4 us. */
#define STREAM_MARKER_SOON 8000

struct stream_marker {
    /* The caller's: which range the marker is of. */
    const void *record;
    uint64_t range;
    uint32_t thread;
    bool ends; /* the marker ends the range; if not, it starts it */

    uint32_t correlation; /* of the CUDA event; 0: unknown */
    uint32_t device, context, stream;
    uint64_t called; /* when the program called, ns */
    uint64_t marked; /* when the GPU was done with the event, ns; 0: unknown */
    uint64_t time;   /* the time that is shown, ns; equals `marked` until the marker is settled */

    /* Work of the stream before the marker; until it is settled, only that after the marker before it. */
    uint64_t work_started; /* the last start, ns; 0: there is no work */
    uint64_t work_ended;   /* the last end at or before the marker, ns */
};

/* A struct of zeros is empty; items.memory.directory may be set. */
struct stream_markers {
    FILE_VECTOR(struct stream_marker) items;
    size_t marked;        /* how many are marked; stream_markers_order() puts these first, by place and time */
    uint64_t first, last; /* the times of all that are marked, after they are settled; 0: none is marked */
};

/* Sorts the markers, after the last one is added to `items`; their members from `marked` on are 0. Returns 0, or -1
 * after error(). */
int stream_markers_list(struct stream_markers *markers);

/* Marks the marker that EVENT, an EVENT_CUDA_EVENT with a time, is of; does nothing if it is not a marker's. */
void stream_markers_mark(struct stream_markers *markers, const struct event *event);

/* Orders the markers after the last one is marked. Returns 0, or -1 after error(). */
int stream_markers_order(struct stream_markers *markers);

void stream_markers_find_work(struct stream_markers *markers, const struct event *work);

/* Indexes GPU work with a known time, after the markers are ordered. */
static inline void stream_markers_index_work(struct stream_markers *markers, const struct event *work)
{
    if (markers->marked > 0)
        stream_markers_find_work(markers, work);
}

/* Sets the markers' times, which stay in order within a stream. ALL_WORK: all GPU work was indexed; without it, work
 * may lie between markers, so a marker is moved only to the work just before it. */
void stream_markers_settle(struct stream_markers *markers, bool all_work);

/* Lets the kernel take the pages of the markers back. */
static inline void stream_markers_evict(const struct stream_markers *markers)
{
    file_vector_evict(&markers->items);
}

struct device_range {
    const void *record;  /* the agent's record of the start */
    uint64_t number;     /* within the process */
    uint64_t start, end; /* ns */
    uint64_t marked;     /* when the GPU was done with the event of the start, ns */
    uint32_t thread;     /* which started the range */
    uint32_t device, context, stream;
    uint32_t end_stream;
    bool open_at_end;
};

/* A time at which a device range starts or ends on a stream's row. */
struct device_edge {
    uint32_t device, context, stream;
    uint64_t time;
};

struct device_ranges {
    bool any;                               /* the process has device ranges */
    struct stream_markers markers;          /* all starts and ends; device_ranges_close() releases them */
    FILE_VECTOR(struct device_range) items; /* set by device_ranges_close(): ranges to show, enclosing ones first */
    FILE_VECTOR(struct device_edge) edges;  /* set by device_ranges_close(), sorted */
    uint64_t untimed;                       /* how many ranges lack a time */
};

/* Adds the marker of an EVENT_DEVICE_RANGE to `markers`. Returns 0, or -1 after error(). */
int device_ranges_index(struct device_ranges *ranges, const struct event *event);

/* Makes ranges of the settled markers. A range without an end ends with the capture interval it started in, or at TIME.
 * Returns 0, or -1 after error(). */
int device_ranges_close(struct device_ranges *ranges, const struct capture_intervals *capture_intervals, uint64_t time);

/* Whether a range of the work's stream starts or ends within the work: then the two do not nest. */
bool device_ranges_cut(struct device_ranges *ranges, const struct event *work);

/* For the passes: index an EVENT_DEVICE_RANGE, and CUPTI's record of a CUDA event; then compute the times of all. */
int index_device_range(struct process *process, const struct event *event);
int index_stream_marker(struct process *process, const struct event *event);
void index_device_times(struct process *process);
/* Creates the rows of device ranges, before GPU work is compared with them. Returns 0, or -1 after error(). */
int resolve_device_ranges(struct process *process);
void resolve_device_gpu_op(struct process *process, const struct event *event);

#endif
