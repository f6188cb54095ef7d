/*
 * The first walk, over the library's own records: rows of threads, allocations, NVTX, waits, and what the library has
 * told about the program, its plugins and itself.
 */
#include "trace/build/nvtx_extensions.h"
#include "trace/build/survey.h"

#include "common/log.h"

static int see_stream(struct process *process, const struct event *event)
{
    uint64_t *stream = map_put(&process->stream_of_handle, event->object.handle, NULL);
    if (!stream)
        return error_no_memory("streams");
    *stream = (uint64_t)event->stream + 1;
    return 0;
}

static int see_memory(struct conversion *conversion, struct process *process, const struct event *event)
{
    uint32_t pid;
    process->cuda = true;
    if (event->device != EVENT_NO_DEVICE && process_gpu_pid(conversion, process, event->device, &pid) != 0)
        return -1;
    if (!process_thread(process, TRACK_THREAD, event->thread))
        return -1;
    if (windows_hold(&process->windows, event->start) && stacks_want(&process->stacks, event->memory.stack) != 0)
        return -1;
    return memory_collect(&process->memory, event);
}

/* It is told by the library's own thread, which is none of the program's. */
static int see_pool(struct conversion *conversion, struct process *process, const struct event *event)
{
    uint32_t pid;
    process->cuda = true;
    if (process_gpu_pid(conversion, process, event->device, &pid) != 0)
        return -1;
    return pools_collect(&process->pools, event);
}

static int see_nvtx(struct process *process, const struct event *event)
{
    process->nvtx_seen = true;
    process->nvtx_wanted |= event->nvtx.what != SPOOL_NVTX_END; /* nvtxRangeEnd() is of no domain */
    struct track *thread = process_thread(process, TRACK_THREAD, event->thread);
    if (!thread)
        return -1;
    /* Ranges that end with a window may cut a call. */
    if (event->nvtx.what == SPOOL_NVTX_ACQUIRE || (event->nvtx.what == SPOOL_NVTX_PUSH && process->windows.limited))
        lanes_must_collect(&thread->lanes);
    return nvtx_see(&process->nvtx, &process->windows, event);
}

/* Records that stand at a point of the time line. */
static int see_timed(struct conversion *conversion, struct process *process, const struct event *event)
{
    if (!process_knows_time(process, event->start)) {
        process->losses.undecoded++;
        return 0;
    }
    see_time(process, event->start, event->start);
    switch (event->type) {
    case EVENT_MEMORY: return see_memory(conversion, process, event);
    case EVENT_POOL: return see_pool(conversion, process, event);
    case EVENT_NVTX: return see_nvtx(process, event);
    case EVENT_PHASE: return see_phase(process, event);
    default: return process_thread(process, TRACK_THREAD, event->thread) ? 0 : -1;
    }
}

static int see_own_sync(struct process *process, const struct event *event)
{
    process->cuda = true;
    return process_shows_own_wait(process, event) ? see_sync(process, event) : 0;
}

int see_own(struct conversion *conversion, struct process *process, const struct event *event)
{
    switch (event->type) {
    case EVENT_POINTER_NAME: return see_pointer_name(conversion, process, event);
    case EVENT_LAUNCH_NAME: return see_launch_name(conversion, process, event);
    case EVENT_FUNCTION_NAME: return see_function_name(conversion, process, event);
    case EVENT_GRAPH_NODE: return see_graph_node(process, event);
    case EVENT_GRAPH_LAUNCH: return conditional_launches_see(&process->conditional, event);
    case EVENT_THREAD_NAME: return see_thread_name(process, event);
    case EVENT_CONTEXT: process->cuda = true; return see_context(process, event);
    case EVENT_STREAM: process->cuda = true; return see_stream(process, event);
    case EVENT_NVTX_NAME: return 0; /* once all streams are known: see_late() */
    case EVENT_NVTX:
    case EVENT_MEMORY:
    case EVENT_POOL:
    case EVENT_PHASE:
    case EVENT_CAPTURE: return see_timed(conversion, process, event);
    case EVENT_SYNC: return see_own_sync(process, event);
    case EVENT_SEEN: return see_seen(conversion, event);
    case EVENT_CUDA_EVENT: return cuda_events_see(&process->cuda_events, event);
    case EVENT_PLUGIN_EVENT: return see_plugin_event(process, event);
    case EVENT_PLUGIN:
    case EVENT_PLUGIN_TIME:
    case EVENT_PLUGIN_LINE: return plugins_see(&process->plugins, event);
    case EVENT_STACK:
    case EVENT_MAPPING: return stacks_see(&process->stacks, event);
    case EVENT_DEVICE_RANGE:
    case EVENT_PLUGIN_WINDOW: return 0; /* before: find_windows() */
    case EVENT_NVTX_EXTENSION: return see_nvtx_extension(process, event);
    case EVENT_DEATH:
    case EVENT_OPEN_CALL: return see_last_word(process, event);
    default: return nvtx_see(&process->nvtx, &process->windows, event);
    }
}
