/*
 * How much memory was in use over time, for the charts of a page: section_memory.c records it for REPORT_HTML alone.
 */
#ifndef GPUTRACE_ANALYSIS_MEMORY_SECTION_MEMORY_H
#define GPUTRACE_ANALYSIS_MEMORY_SECTION_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct levels;
struct trace;

#define MEMORY_LEVELS 24 /* of the memories that occur first */

/* Returns the levels of memory NUMBER, from 0 on, of a trace that is finished, or NULL if it does not exist. Appends
 * which memory it is ("Device, GPU 0") to NAME, and sets *PEAK. */
const struct levels *memory_levels(const struct trace *trace, size_t number, struct buffer *name, int64_t *peak);

#endif
