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
#ifndef GPUTRACE_TRACE_MEANING_GPU_STREAM_MARKERS_H
#define GPUTRACE_TRACE_MEANING_GPU_STREAM_MARKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "trace/spool/event_record.h"

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
static inline void stream_markers_see(struct stream_markers *markers, const struct event *work)
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

#endif
