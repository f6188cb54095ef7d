/*
 * Synchronisation: records of CUDA events, and which of them a wait waited for.
 */
#ifndef GPUTRACE_TRACE_MEANING_GPU_CUDA_EVENTS_H
#define GPUTRACE_TRACE_MEANING_GPU_CUDA_EVENTS_H

#include <stdint.h>

#include "common/file_vector.h"
#include "trace/spool/event_record.h"

/*
 * Which record of a CUDA event a synchronisation waited for.
 */

struct cuda_event_record {
    uint64_t event; /* a number of EVENT_CONTEXT, or, of 0, a handle */
    uint64_t sync_id;
    uint32_t event_context, correlation, stream;
};

struct cuda_events {
    FILE_VECTOR(struct cuda_event_record) items; /* after cuda_events_sort(): by event and correlation */
};

/* An EVENT_CUDA_EVENT; and after the last. Return 0, or -1 after error(). */
int cuda_events_index(struct cuda_events *events, const struct event *event);
int cuda_events_sort(struct cuda_events *events);

/* The record that an EVENT_SYNC waited for: the one with its sync id, else the last before it. NULL: not known. */
const struct cuda_event_record *cuda_events_find(const struct cuda_events *events, const struct event *sync);

#endif
