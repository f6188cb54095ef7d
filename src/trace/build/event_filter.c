/*
 * Which of CUPTI's records the trace shows.
 *
 * What plugins do in their callbacks is not the program's. Where it is done outside of CUPTI's callbacks (NVTX) it has
 * correlation ids of its own; inside of them it has the id of the program's call around it, and lies within it in time.
 * Events with times of the host are filtered by these. GPU operations have none: it is taken for the program's when the
 * program's call of its id is one that starts such work.
 */
#include "trace/build/event_filter.h"

#include "common/api_classes.h"
#include "common/settings.h"
#include "trace/build/device_ranges.h"
#include "trace/build/launches.h"
#include "trace/build/plugins.h"
#include "trace/build/process.h"
#include "trace/build/event_passes.h"

bool call_is_plugins(const struct process *process, const struct event *api)
{
    return plugin_intervals_any(process->plugin_intervals) &&
           plugin_intervals_hold(process->plugin_intervals, api->thread, api->start, api->end);
}

static bool is_plugins(const struct process *process, const struct event *event)
{
    const struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
    switch (cupti_passes[event->type].cause) {
    case ON_THREAD: return call_is_plugins(process, event);
    case WITHIN_CALL:
        return launch && launch->suppressed &&
               (launch->from == LAUNCH_UNKNOWN ||
                plugin_intervals_hold(process->plugin_intervals, launch->thread, event->start, event->end));
    case STARTED_BY_CALL: return launch && launch_is_suppressed(launch, event->type);
    default: return false;
    }
}

/* Calls that are not the program's: of plugins, and of the library where device ranges start and end. */
bool has_suppressed_calls(const struct process *process)
{
    return plugin_intervals_any(process->plugin_intervals) || process->device_ranges->any;
}

/* CUPTI records some calls that nobody asked for: an old one switches all calls or none, and of launches the agent
 * keeps the records on. */
static bool is_unwanted_call(const struct process *process, const struct event *event)
{
    if (event->type != EVENT_API)
        return false;
    bool runtime = event->api.domain == EVENT_API_RUNTIME;
    if (!process_was_to_record(process, runtime ? TRACE_RUNTIME : TRACE_DRIVER))
        return true;
    uint64_t bits = process->file.header.trace_bits; /* 0: not known */
    enum api_class class = runtime ? api_runtime_class(event->api.cbid) : api_driver_class(event->api.cbid);
    if (class == API_STATUS && !process->agent_waits)
        return false; /* where CUPTI recorded waits they say which of these were none */
    return bits != 0 && !api_class_recorded(class, bits);
}

bool event_is_shown(struct process *process, const struct event *event)
{
    if (is_unwanted_call(process, event))
        return false;
    if (event->type == EVENT_SYNC && (process->agent_waits || !process_was_to_record(process, TRACE_SYNC)))
        return false; /* CUPTI had to be asked, for the sake of events */
    if (has_suppressed_calls(process) && is_plugins(process, event))
        return false;
    if (!process->capture_intervals->limited)
        return true;
    if (!event_is_gpu_work(event->type) && event->type != EVENT_CUDA_EVENT)
        return event->type == EVENT_DEVICE || event->type == EVENT_CONTEXT ||
               capture_intervals_hold(process->capture_intervals, event->start);
    const struct launch *launch = launches_get(process->launches, event->correlation);
    bool calls_recorded = process->file.header.trace_bits & (TRACE_RUNTIME | TRACE_DRIVER);
    if (calls_recorded)
        return launch && launch->from != LAUNCH_UNKNOWN;
    return capture_intervals_hold(process->capture_intervals, event->start);
}
