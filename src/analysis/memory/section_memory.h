/* How much memory was in use over time, for the charts of a page. It is recorded for REPORT_HTML alone. */
#ifndef GPUTRACE_ANALYSIS_MEMORY_SECTION_MEMORY_H
#define GPUTRACE_ANALYSIS_MEMORY_SECTION_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct trace;

/* A value that changes over time, in bounded memory: time is divided into LEVELS_MOST buckets at most, whose width
 * doubles when the times no longer fit. */
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

#define MEMORY_LEVELS 24 /* of the memories that occur first */

/* Returns the levels of memory NUMBER, from 0 on, of a trace that is finished, or NULL if it does not exist. Appends
 * which memory it is ("Device, GPU 0") to NAME, and sets *PEAK. */
const struct levels *memory_levels(const struct trace *trace, size_t number, struct buffer *name, int64_t *peak);

#endif
