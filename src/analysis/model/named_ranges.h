/*
 * The ranges of one name: for --range.
 */
#ifndef GPUTRACE_ANALYSIS_MODEL_NAMED_RANGES_H
#define GPUTRACE_ANALYSIS_MODEL_NAMED_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/model/ranges.h"

struct trace;

struct named_range {
    struct range range;
    int64_t number; /* counted from 1 on each thread */
};

/* Calls EACH for all ranges called NAME (LENGTH bytes) of any domain, inner ones included, by thread and then by time,
 * until it returns non-zero. Needs trace.ranges after trace_finish(). Returns what EACH returned, else 0, or -1: no
 * memory, or after error(). */
int ranges_each_named(const struct trace *trace, const char *name, size_t length,
                      int (*each)(void *context, const struct named_range *range), void *context);

#endif
