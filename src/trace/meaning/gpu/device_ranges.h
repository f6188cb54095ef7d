/*
 * Device ranges: from a marker in a stream to another one. The library wrote down what they are called and which
 * correlation ids their two markers have; CUPTI's records of CUDA events with these ids tell stream and time, and the
 * GPU work around them tells the time that is meant (stream_markers.h).
 *
 * They are shown on the stream of their start. One that was not ended is shown up to the end of recording; one of which
 * a time is missing is not shown, and counted.
 */
#ifndef GPUTRACE_TRACE_MEANING_GPU_DEVICE_RANGES_H
#define GPUTRACE_TRACE_MEANING_GPU_DEVICE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "trace/meaning/base/capture_intervals.h"
#include "trace/meaning/gpu/stream_markers.h"
#include "trace/spool/event_record.h"

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

/* An EVENT_DEVICE_RANGE: its marker is added to `markers`, which has its own steps (stream_markers.h). Returns 0, or -1
 * after error(). */
int device_ranges_index(struct device_ranges *ranges, const struct event *event);

/* Once they are settled, before the edges are asked for. What is open ends with the capture interval it started in, or
 * at TIME. Returns 0, or -1 after error(). */
int device_ranges_close(struct device_ranges *ranges, const struct capture_intervals *capture_intervals, uint64_t time);

/* Whether a range of its stream starts or ends within this GPU work: then they do not nest. */
bool device_ranges_cut(struct device_ranges *ranges, const struct event *work);

struct process;

/* device_ranges.c. An EVENT_DEVICE_RANGE, and CUPTI's record of a CUDA event; then, once all were seen, their times. */
int index_device_range(struct process *process, const struct event *event);
int index_stream_marker(struct process *process, const struct event *event);
void index_device_times(struct process *process);
/* Their rows, before GPU work is matched with them. Returns 0, or -1 after error(). */
int resolve_device_ranges(struct process *process);
void resolve_device_gpu_op(struct process *process, const struct event *event);

#endif
