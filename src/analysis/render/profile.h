/*
 * Collects the data of a page's charts that no table has: what GPUs and streams did over time, and the operations and
 * calls around each finding. Memory does not grow with the trace.
 */
#ifndef GPUTRACE_ANALYSIS_RENDER_PROFILE_H
#define GPUTRACE_ANALYSIS_RENDER_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "analysis/engine/findings.h"
#include "analysis/gpu/temporal.h"

#define PROFILE_BUCKETS 400 /* largest number of stretches into which the trace's time is divided */
#define PROFILE_GPUS 16     /* limit of GPUs, the first that are used */
#define PROFILE_STREAMS 16  /* limit of streams, those that are busy longest */
#define PROFILE_ROWS 5      /* limit of streams around one finding */
#define PROFILE_OPS 200     /* limit of operations or calls in a row of a window */

/* Uses of a GPU or stream. The time of each includes the uses before it. */
enum profile_use {
    PROFILE_COMPUTING,     /* kernels and graphs */
    PROFILE_COMMUNICATING, /* kernels of communication */
    PROFILE_BUSY,          /* copies and sets */
    PROFILE_USES
};

/* A GPU or a stream. */
struct profile_line {
    uint32_t index; /* in trace.devices or trace.streams */
    struct busy_sum sums[PROFILE_USES];
    int64_t busy[PROFILE_USES][PROFILE_BUCKETS]; /* by bucket, ns */
};

/* An operation, or several neighbouring ones that are too short to be drawn separately. */
struct profile_op {
    int64_t start, end; /* ns, cut at the window */
    uint32_t name;      /* name of the longest operation, in trace.strings */
    uint32_t count;
    int64_t longest; /* ns */
    uint8_t use;     /* enum profile_use of the longest operation */
};

struct profile_row {
    uint32_t index; /* in trace.streams, or trace.threads */
    ARRAY(struct profile_op) ops;
};

/* The time around a finding. */
struct profile_window {
    bool any;          /* the finding has a place, so that the rest is set */
    int64_t from, to;  /* ns */
    int64_t at, until; /* begin and end of the finding; equal if it has no length */
    int64_t device;    /* index in trace.devices; FIELD_ABSENT: all GPUs */
    int64_t stream;    /* index in trace.streams, whose row comes first; FIELD_ABSENT: none */
    uint32_t thread;   /* index in trace.threads; LAUNCHED_NO_THREAD: none */
    struct profile_row rows[PROFILE_ROWS];
    size_t row_count;
    struct profile_row calls; /* calls of `thread` */
};

struct profile {
    const struct trace *trace;
    int64_t width; /* length of a bucket, ns */
    size_t buckets;
    ARRAY(struct profile_line) gpus, streams;
    struct profile_window windows[FINDING_MOST]; /* one for each finding, in the order of findings */
    size_t window_count;
    struct temporal_names names;
};

/* Fills PROFILE from the timeline and the calls of TRACE. Call it after all tables were filled. PLACE is the place of
 * the only window; NULL: there is a window for each finding, in the order of their rows. Returns 0, or -1: no memory,
 * or after error(). The caller releases PROFILE in both cases. */
int profile_gather(struct profile *profile, const struct trace *trace, const struct finding_place *place);
void profile_release(struct profile *profile);

#endif
