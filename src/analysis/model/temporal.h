/*
 * What each GPU did over time: how long each combination of computation, communication, copies and sets ran. The state
 * of section_temporal begins with a struct temporal.
 */
#ifndef GPUTRACE_ANALYSIS_MODEL_TEMPORAL_H
#define GPUTRACE_ANALYSIS_MODEL_TEMPORAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"

struct trace;

/* Kinds of operations, as bits. */
enum {
    TEMPORAL_COMPUTE = 1,       /* kernels and whole graphs, but for: */
    TEMPORAL_COMMUNICATION = 2, /* kernels of communication (timeline.h) */
    TEMPORAL_COPY = 4,
    TEMPORAL_SET = 8,
    TEMPORAL_ALL = 15,
};

struct temporal_device {
    bool used;
    int64_t first, last;             /* ns: start of the first, end of the last operation */
    int64_t times[TEMPORAL_ALL + 1]; /* ns in which just these kinds ran; [0] is 0 */
};

/* All zero is empty. */
struct temporal {
    ARRAY(struct temporal_device) devices; /* by index in trace.devices */
};

/* After trace_finish(): 0, or -1: no memory, or after error(). TRACE has timeline. */
int temporal_gather(struct temporal *temporal, const struct trace *trace);

/* ns in which at least one of KINDS ran; nothing but KINDS; at least one of KINDS and at least one of OTHERS. */
int64_t temporal_any(const struct temporal_device *device, unsigned kinds);
int64_t temporal_alone(const struct temporal_device *device, unsigned kinds);
int64_t temporal_both(const struct temporal_device *device, unsigned kinds, unsigned others);

#endif
