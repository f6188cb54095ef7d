/* How much memory was in use over time, for the charts of a page. It is recorded only for REPORT_HTML. */
#ifndef GPUTRACE_ANALYSIS_MEMORY_SECTION_MEMORY_H
#define GPUTRACE_ANALYSIS_MEMORY_SECTION_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct trace;

/* The most buckets into which time is divided, so that a value over time takes bounded memory. The width of buckets
 * doubles when the times no longer fit. */
#define LEVELS_MOST 512

/* A value over time. Bucket number N begins at N * width, and is in `buckets` at N modulo LEVELS_MOST. All zero is
 * empty. */
struct levels {
    int64_t width;       /* ns, a power of 2; 0: no values yet */
    int64_t first, last; /* numbers of the first and the last bucket */
    struct level {
        bool any;          /* the value was set in this bucket */
        int64_t most;      /* the greatest value in this bucket */
        int64_t end, time; /* the last value, and when it was set, ns */
    } buckets[LEVELS_MOST];
};

/* Sets the value to VALUE from TIME (ns) on. Calls may come in any order of time. */
void levels_set(struct levels *levels, int64_t time, int64_t value);

/* Returns the bucket of NUMBER, which is from `first` to `last`. */
static inline const struct level *levels_at(const struct levels *levels, int64_t number)
{
    return &levels->buckets[(uint64_t)number % LEVELS_MOST];
}

#define MEMORY_LEVELS 24 /* the number of memories, in order of occurrence, of which levels are recorded */

/* Returns the levels of memory NUMBER (from 0 on) of a finished trace, or NULL if there is none. Appends the name of
 * the memory ("Device, GPU 0") to NAME, and sets *PEAK to its peak in bytes. */
const struct levels *memory_levels(const struct trace *trace, size_t number, struct buffer *name, int64_t *peak);

#endif
