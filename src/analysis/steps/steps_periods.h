/*
 * Finds steps by the sequence of GPU operations that a thread launches: the longest periods that repeat regularly.
 */
#ifndef GPUTRACE_ANALYSIS_STEPS_STEPS_PERIODS_H
#define GPUTRACE_ANALYSIS_STEPS_STEPS_PERIODS_H

struct sorter;
struct steps;
struct trace;

/* Adds periods of processes that have no steps yet. LAUNCHED is sorted by thread and call. Returns 0, or -1: no memory,
 * or after error(). */
int steps_find_periods(struct steps *steps, const struct trace *trace, const struct sorter *launched);

#endif
