/*
 * What the host did outside of CUDA while the critical path led through it: the innermost operator or range.
 */
#ifndef GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_RANGES_H
#define GPUTRACE_ANALYSIS_CRITICAL_CRITICAL_RANGES_H

#include "analysis/critical/critical_path.h"

struct trace;

/* Fills path->outside from path->parts, with trace.ranges and trace.operators. Returns 0, or -1: no memory, or after
 * error(). */
int critical_ranges_find(struct critical_path *path, const struct trace *trace);

#endif
