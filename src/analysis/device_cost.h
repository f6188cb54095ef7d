/*
 * Costs that come device after device, as operations do. Devices work at the same time, so a rule's cost is that of the
 * device with the largest sum.
 */
#ifndef GPUTRACE_ANALYSIS_DEVICE_COST_H
#define GPUTRACE_ANALYSIS_DEVICE_COST_H

#include <stdint.h>

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
    cost->sum += ns;
}

static inline int64_t device_cost_largest(const struct device_cost *cost)
{
    return cost->sum > cost->most ? cost->sum : cost->most;
}

#endif
