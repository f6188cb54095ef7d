/* Sums and differences that saturate instead of overflowing, as the times and sizes in a trace may be any numbers. */
#ifndef GPUTRACE_ANALYSIS_BASE_COST_SUM_H
#define GPUTRACE_ANALYSIS_BASE_COST_SUM_H

#include <stdint.h>

static inline int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : -INT64_MAX) : sum;
}

static inline int64_t difference_of(int64_t a, int64_t b)
{
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference) ? (b < 0 ? INT64_MAX : -INT64_MAX) : difference;
}

static inline void sum_add(int64_t *sum, int64_t more)
{
    *sum = sum_of(*sum, more);
}

/* Converts VALUE to an integer. Values out of range saturate; NaN becomes 0. */
static inline int64_t whole_of(double value)
{
    return value >= 9.2e18 ? INT64_MAX : value <= -9.2e18 ? -INT64_MAX : value == value ? (int64_t)value : 0;
}

#endif
