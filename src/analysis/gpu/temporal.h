/*
 * Computes how long each combination of computation, communication, copies and sets ran on each GPU. The state of
 * section_temporal (section_overlap.c) begins with a struct temporal.
 */
#ifndef GPUTRACE_ANALYSIS_GPU_TEMPORAL_H
#define GPUTRACE_ANALYSIS_GPU_TEMPORAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"

struct trace;

/* Kinds of operations, as bits. */
enum {
    TEMPORAL_COMPUTE = 1,       /* kernels and whole graphs that do not communicate */
    TEMPORAL_COMMUNICATION = 2, /* kernels that communicate (names/name_facts.h) */
    TEMPORAL_COPY = 4,
    TEMPORAL_SET = 8,
    TEMPORAL_ALL = 15,
};

struct temporal_device {
    bool used;
    int64_t first, last;             /* ns: start of the first, end of the last operation */
    int64_t times[TEMPORAL_ALL + 1]; /* ns in which exactly these kinds ran; [0] is 0 */
};

/* A cache of whether kernels communicate, by name. All zero is empty. */
struct temporal_names {
    ARRAY(char) communication; /* by the number of the name: 0: not known yet; 1: no; 2: yes */
};

/* Whether kernels of this name, a text of TRACE, communicate: 1 or 0; -1: no memory. */
int temporal_communicates(struct temporal_names *names, const struct trace *trace, uint32_t name);

struct timeline_op;
/* Returns the bit of the kind of OP, or 0 without memory. */
unsigned temporal_kind(struct temporal_names *names, const struct trace *trace, const struct timeline_op *op);

#define TEMPORAL_KINDS 4

/* A walk over the operations of a GPU, or of one process on a GPU. */
struct temporal_lane {
    struct temporal_device *to; /* where the times are added */
    int64_t time;
    int64_t until[TEMPORAL_KINDS]; /* by kind: when its operations so far end */
};

/* Begins LANE with its first operation OP, which the caller then also adds. Times are added to TO. */
void temporal_lane_begin(struct temporal_lane *lane, struct temporal_device *to, const struct timeline_op *op);
/* Adds an operation of KIND (temporal_kind()). Operations are added in the order of their starts. */
void temporal_lane_add(struct temporal_lane *lane, unsigned kind, const struct timeline_op *op);
/* Adds the time up to the end of the last operation. */
void temporal_lane_end(struct temporal_lane *lane);

/* All zero is empty. */
struct temporal {
    ARRAY(struct temporal_device) devices; /* by index in trace.devices */
};

/* Adds the operations of the trace from FROM to TO (ns), after trace_finish(). Returns 0, or -1: no memory, or after
 * error(). */
int temporal_gather(struct temporal *temporal, const struct trace *trace, int64_t from, int64_t to);

/* Returns the ns in which at least one of KINDS ran. */
int64_t temporal_any(const struct temporal_device *device, unsigned kinds);
/* Returns the ns in which only operations of KINDS ran. */
int64_t temporal_alone(const struct temporal_device *device, unsigned kinds);
/* Returns the ns in which at least one of KINDS and at least one of OTHERS ran. */
int64_t temporal_both(const struct temporal_device *device, unsigned kinds, unsigned others);

#endif
