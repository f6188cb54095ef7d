/*
 * Finds steps by ranges: those of one thread and depth whose names are equal up to a number.
 */
#ifndef GPUTRACE_ANALYSIS_STEPS_STEPS_RANGES_H
#define GPUTRACE_ANALYSIS_STEPS_STEPS_RANGES_H

struct steps;
struct trace;

/* Adds the processes that have such steps. Returns 0, or -1: no memory, or after error(). */
int steps_find_ranges(struct steps *steps, const struct trace *trace);

#endif
