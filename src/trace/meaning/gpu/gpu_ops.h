/*
 * Operations of GPUs (kernels, copies, sets, graph launches) as slices with their names and arguments; and
 * synchronisation: records of CUDA events, and which record a wait waited for.
 */
#ifndef GPUTRACE_TRACE_MEANING_GPU_GPU_OPS_H
#define GPUTRACE_TRACE_MEANING_GPU_GPU_OPS_H

#include <stdint.h>

#include "trace/spool/event_record.h"

/*
 * How full a kernel can make a GPU, by the rules of CUDA's occupancy calculator.
 */

struct occupancy {
    double blocks_per_multiprocessor; /* if the whole grid is spread evenly */
    double warps_per_multiprocessor;
    int percent; /* of the warps that a multiprocessor can hold, until blocks run out */
};

/* The occupancy of an EVENT_KERNEL. All 0 if DEVICE is NULL. */
struct occupancy occupancy_of(const struct device *device, const struct event *kernel);

/* Returns how many blocks of this size one multiprocessor can hold at once. */
uint32_t occupancy_blocks(const struct device *device, uint32_t threads, uint32_t registers, uint32_t shared);

struct cuda_event_record {
    uint64_t event; /* CUPTI's number of the event in EVENT_CONTEXT, or, if that is 0, the event's handle */
    uint64_t sync_id;
    uint32_t event_context, correlation, stream;
};

struct cuda_events {
    FILE_VECTOR(struct cuda_event_record) items; /* cuda_events_sort() sorts by event and correlation */
};

/* _index adds an EVENT_CUDA_EVENT; _sort follows the last. Return 0, or -1 after error(). */
int cuda_events_index(struct cuda_events *events, const struct event *event);
int cuda_events_sort(struct cuda_events *events);

/* Returns the record that an EVENT_SYNC waited for: the one with its sync id, or the last before it. Returns NULL if
 * the event has no record. */
const struct cuda_event_record *cuda_events_find(const struct cuda_events *events, const struct event *sync);

#endif
