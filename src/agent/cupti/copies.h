/*
 * What the readers of copies share.
 */
#ifndef GPUTRACE_AGENT_CUPTI_COPIES_H
#define GPUTRACE_AGENT_CUPTI_COPIES_H

#include "agent/cupti/driver_calls.h"

/* One copy of a call, in the default stream; its places and extent are still to be filled in. */
static inline struct gputrace_memcpy copy_begin(const struct driver_return *returned)
{
    return (struct gputrace_memcpy){
        .call = returned->call,
        .per_thread = returned->row->per_thread,
        .count = 1,
        .target_side = '?',
        .source_side = '?',
    };
}

/* WIDTH in bytes. */
static inline void copy_set_extent(struct gputrace_memcpy *copy, uint64_t width, uint64_t height, uint64_t depth)
{
    copy->width = width;
    copy->height = height;
    copy->depth = depth;
    copy->bytes = width * height * depth;
}

static inline void copy_set_stream(struct gputrace_memcpy *copy, const struct driver_return *returned, CUstream stream)
{
    copy->stream = driver_call_stream(returned, stream);
    copy->stream_given = 1;
}

#endif
