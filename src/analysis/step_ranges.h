/*
 * The steps of a program: the range that its outermost repetition is in. That is torch.profiler's ProfilerStep#N where
 * a trace has them. Else it is, of the ranges that repeat on a thread and are in no other range that does, the one with
 * the most time.
 *
 * All functions need trace.ranges after trace_finish(): a section that uses them has `.ranges = true`.
 */
#ifndef GPUTRACE_ANALYSIS_STEP_RANGES_H
#define GPUTRACE_ANALYSIS_STEP_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/ranges.h"

struct trace;

#define STEP_RANGES_PROFILER "ProfilerStep#" /* and a number */

struct step_ranges {
    bool any;              /* something repeats */
    bool numbered;         /* the names are STEP_RANGES_PROFILER with the step's number; else all have … */
    uint32_t name, domain; /* … these, texts of trace.strings */
};

/* One occurrence. */
struct step_range {
    struct range range;
    int64_t number; /* the profiler's; else counted from 1 on each thread */
};

/* Finds which range is the step. Returns 0, or -1: no memory, or after error(). */
int step_ranges_find(struct step_ranges *steps, const struct trace *trace);

/* Calls EACH for all steps, by thread and then by time, until it returns non-zero. A step within a step of the same
 * name is not one. Returns what EACH returned, else 0, or -1: no memory, or after error(). */
int step_ranges_each(const struct step_ranges *steps, const struct trace *trace,
                     int (*each)(void *context, const struct step_range *step), void *context);

/* The same for ranges called NAME (LENGTH bytes) of any domain: counted from 1 on each thread, inner ones included. */
int step_ranges_each_named(const struct trace *trace, const char *name, size_t length,
                           int (*each)(void *context, const struct step_range *step), void *context);

#endif
