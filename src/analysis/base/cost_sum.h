/*
 * Sums that stay at the largest (or smallest) number instead of overflowing, as times and sizes of a trace may be
 * anything; and costs that come device after device, as operations do. Devices work at the same time, so a rule's cost
 * is that of the device with the largest sum.
 */
#ifndef GPUTRACE_ANALYSIS_BASE_COST_SUM_H
#define GPUTRACE_ANALYSIS_BASE_COST_SUM_H

#include <stdint.h>

static inline int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : -INT64_MAX) : sum;
}

static inline void sum_add(int64_t *sum, int64_t more)
{
    *sum = sum_of(*sum, more);
}

/* VALUE as a whole number: the largest, if it is larger; 0, if it is not a number. */
static inline int64_t whole_of(double value)
{
    return value >= 9.2e18 ? INT64_MAX : value <= -9.2e18 ? -INT64_MAX : value == value ? (int64_t)value : 0;
}

/* All zero is none. */
struct device_cost {
    int64_t sum, most; /* ns: of this device so far; the largest of those before */
    uint32_t device;
};

static inline void device_cost_add(struct device_cost *cost, uint32_t device, int64_t ns)
{
    if (device != cost->device) {
        cost->most = cost->sum > cost->most ? cost->sum : cost->most;
        cost->sum = 0;
        cost->device = device;
    }
    cost->sum = sum_of(cost->sum, ns);
}

static inline int64_t device_cost_largest(const struct device_cost *cost)
{
    return cost->sum > cost->most ? cost->sum : cost->most;
}

#endif
