/*
 * Use of memory as a trace tells of it, by where it tells: counters of what is in use, instants of allocations and
 * releases, and PyTorch's own.
 */
#ifndef GPUTRACE_ANALYSIS_MEMORY_USES_H
#define GPUTRACE_ANALYSIS_MEMORY_USES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "analysis/groups.h"
#include "analysis/trace.h"

enum memory_source { MEMORY_COUNTER, MEMORY_INSTANT, MEMORY_PYTORCH, MEMORY_PYTORCH_RESERVED };

struct memory_key {
    int64_t source;   /* enum memory_source */
    uint64_t text;    /* the counter's name, or the instant's kind; of PyTorch its device type */
    int64_t device;   /* EVENT_NONE: the host's, or not told */
    event_id process; /* whose it is; of a GPU's counter, the GPU's row */
};

struct memory_use {
    bool counted;          /* peak and end are known */
    bool stepped;          /* allocations and releases are */
    bool shown;            /* with another one, as one row */
    int64_t peak, peak_at; /* bytes, ns */
    int64_t end, end_at;
    int64_t allocations, releases, failures;
    int64_t doubles; /* releases of what was released before */
    int64_t unknown; /* releases of what was not allocated, as far as is known */
};

/* All zero: none. */
struct memory_uses {
    struct groups groups;
    ARRAY(struct memory_use) items; /* by their number in `groups`, whose keys are struct memory_key */
};

void memory_uses_release(struct memory_uses *uses);

/* Takes an event into account, or passes over what does not tell of memory. Gives 0, or -1: no memory. */
int memory_uses_event(struct memory_uses *uses, const struct trace *trace, const struct trace_event *event);

/* The kind of memory that a counter called NAME tells of; NULL: it is another one. */
const char *memory_counted_kind(const char *name);

#endif
