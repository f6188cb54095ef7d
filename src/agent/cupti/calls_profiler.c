/* The program says between which calls it wants to be profiled. */
#include "agent/cupti/driver_calls.h"

static void tell_start(const struct driver_return *returned)
{
    registry_profiler_publish(&(struct gputrace_profiler){.call = returned->call, .start = 1});
}

static void tell_stop(const struct driver_return *returned)
{
    registry_profiler_publish(&(struct gputrace_profiler){.call = returned->call, .start = 0});
}

static const struct driver_call rows[] = {
    DRIVER_CALL(cuProfilerStart, REGISTRY_BIT(profiler), tell_start, NULL),
    DRIVER_CALL(cuProfilerStop, REGISTRY_BIT(profiler), tell_stop, NULL),
};

const struct driver_calls profiler_calls = DRIVER_CALLS(rows);
