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

#endif
