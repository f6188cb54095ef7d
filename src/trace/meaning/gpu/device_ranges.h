/*
 * Device ranges: from a marker in a stream to another one. The library wrote down what they are called and which
 * correlation ids their two markers have; CUPTI's records of CUDA events with these ids tell stream and time, and the
 * GPU work around them tells the time that is meant.
 *
 * They are shown on the stream of their start. One that was not ended is shown up to the end of recording; one of which
 * a time is missing is not shown, and counted.
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
 * Markers are added, listed, and given the GPU's times, in any order. Then they are sorted, and get all operations of
 * the process, in any order. Then they are settled. They may need more memory than there is: stream_markers_evict().
 */

/* What is still soon, ns: two or three events in a row, of which each takes 0.8 to 4 us. */
#define STREAM_MARKER_SOON 8000

struct stream_marker {
    /* Whose it is; the caller's. */
    const void *record;
    uint64_t range;
    uint32_t thread;
    bool ends; /* the range, else it starts it */

    uint32_t correlation; /* of its event; 0: none */
    uint32_t device, context, stream;
    uint64_t called; /* by the program, ns */
    uint64_t marked; /* when the GPU was done with the event, ns; 0: not known */
    uint64_t time;   /* as it is shown, ns; as marked until it is settled */

    /* The work seen between the marker before it in its stream and it. */
    uint64_t work_started; /* the last start of work before it, ns; 0: there is none */
    uint64_t work_ended;   /* the last end at or before it */
};

struct stream_markers {
    FILE_VECTOR(struct stream_marker) items;
    size_t marked;        /* of them, which are the first, in order of place and time; once they are in order */
    uint64_t first, last; /* time of all that were marked, once they are settled; 0: none was */
};

/* All zero is empty: `struct stream_markers m = {0}`; items.memory.directory may be set. */
void stream_markers_release(struct stream_markers *markers);

/* Adds MOMENT, whose `marked` and what follows are 0; and after the last. Return 0, or -1 after error(). */
int stream_markers_add(struct stream_markers *markers, const struct stream_marker *marker);
int stream_markers_list(struct stream_markers *markers);

/* An EVENT_CUDA_EVENT with a time; nothing is done when it is of no marker. */
void stream_markers_mark(struct stream_markers *markers, const struct event *event);

/* After the last. Returns 0, or -1 after error(). */
int stream_markers_order(struct stream_markers *markers);

void stream_markers_find_work(struct stream_markers *markers, const struct event *work);

/* GPU work of a known time, once they are in order. */
static inline void stream_markers_index_work(struct stream_markers *markers, const struct event *work)
{
    if (markers->marked > 0)
        stream_markers_find_work(markers, work);
}

/* Sets their times; in a stream they stay in order. ALL_WORK: there was no other; without it, nothing is known of what
 * lies between markers, and only those that come soon after work are moved. */
void stream_markers_settle(struct stream_markers *markers, bool all_work);

/* What is known need not stay in memory for now. */
static inline void stream_markers_evict(const struct stream_markers *markers)
{
    file_vector_evict(&markers->items);
}

struct device_range {
    const void *record;  /* of the start */
    uint64_t number;     /* within the process */
    uint64_t start, end; /* ns */
    uint64_t marked;     /* when the GPU was done with the event of its start, ns */
    uint32_t thread;     /* that started it */
    uint32_t device, context, stream;
    uint32_t end_stream;
    bool open_at_end;
};

/* A time at which something starts or ends on a stream's row. */
struct device_edge {
    uint32_t device, context, stream;
    uint64_t time;
};

struct device_ranges {
    bool any;                               /* some were seen */
    struct stream_markers markers;          /* all starts and ends; until they are closed */
    FILE_VECTOR(struct device_range) items; /* once closed: those to be shown, what encloses before the rest */
    FILE_VECTOR(struct device_edge) edges;  /* in order; once they are closed */
    uint64_t untimed;                       /* not to be shown */
};

/* An EVENT_DEVICE_RANGE: its marker is added to `markers`, which has its own steps. Returns 0, or -1
 * after error(). */
int device_ranges_index(struct device_ranges *ranges, const struct event *event);

/* Once they are settled, before the edges are asked for. What is open ends with the capture interval it started in, or
 * at TIME. Returns 0, or -1 after error(). */
int device_ranges_close(struct device_ranges *ranges, const struct capture_intervals *capture_intervals, uint64_t time);

/* Whether a range of its stream starts or ends within this GPU work: then they do not nest. */
bool device_ranges_cut(struct device_ranges *ranges, const struct event *work);

/* device_ranges.c. An EVENT_DEVICE_RANGE, and CUPTI's record of a CUDA event; then, once all were seen, their times. */
int index_device_range(struct process *process, const struct event *event);
int index_stream_marker(struct process *process, const struct event *event);
void index_device_times(struct process *process);
/* Their rows, before GPU work is matched with them. Returns 0, or -1 after error(). */
int resolve_device_ranges(struct process *process);
void resolve_device_gpu_op(struct process *process, const struct event *event);

#endif
