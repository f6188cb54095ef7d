/*
 * A value that changes over time, such as memory in use, in bounded memory: time is divided into LEVELS_MOST buckets at
 * most, whose width doubles when the times no longer fit.
 */
#ifndef GPUTRACE_ANALYSIS_BASE_LEVELS_H
#define GPUTRACE_ANALYSIS_BASE_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEVELS_MOST 512

/* The bucket of number N is from N * width on, and in `buckets` at N modulo LEVELS_MOST. All zero is empty. */
struct levels {
    int64_t width;       /* ns, a power of 2; 0: no values yet */
    int64_t first, last; /* numbers of the first and the last bucket */
    struct level {
        bool any;          /* the value was set in this bucket */
        int64_t most;      /* the greatest that it was set to */
        int64_t end, time; /* what it was set to last, and when */
    } buckets[LEVELS_MOST];
};

/* The value is VALUE from TIME (ns) on. Times come in any order. */
void levels_set(struct levels *levels, int64_t time, int64_t value);

/* The bucket of NUMBER, from first to last. */
static inline const struct level *levels_at(const struct levels *levels, int64_t number)
{
    return &levels->buckets[(uint64_t)number % LEVELS_MOST];
}

struct buffer;
struct trace;

/*
 * section_memory.c: the levels of each memory, which are kept for REPORT_HTML alone.
 */
#define MEMORY_LEVELS 24 /* of the memories that occur first */

/* The levels of memory NUMBER, from 0 on, of a trace that is finished; appends what memory it is, "Device, GPU 0", to
 * NAME, and sets *PEAK. NULL: the trace does not have that memory. */
const struct levels *memory_levels(const struct trace *trace, size_t number, struct buffer *name, int64_t *peak);

#endif
