/*
 * The third walk: see conversion.h. Slices that may enclose others come first.
 */
#include "tool/convert/conversion.h"
#include "tool/convert/nvtx_extensions.h"

#include "wire/spool.h"

static int emit_cupti(struct conversion *conversion, struct process *process, const struct event *event)
{
    switch (event->type) {
    case EVENT_KERNEL:
    case EVENT_MEMCPY:
    case EVENT_MEMSET:
    case EVENT_GRAPH: return emit_gpu_work(conversion, process, event);
    case EVENT_API: return emit_api(conversion, process, event);
    case EVENT_SYNC: return emit_sync(conversion, process, event);
    case EVENT_CUDA_EVENT: return emit_cuda_event(conversion, process, event);
    case EVENT_OVERHEAD: return emit_overhead(conversion, process, event);
    default: return 0;
    }
}

static int emit_own(struct conversion *conversion, struct process *process, const struct event *event)
{
    if (event->type == EVENT_CAPTURE)
        return emit_capture(conversion, process, event);
    if (event->type == EVENT_PLUGIN_EVENT)
        return emit_plugin_event(conversion, process, event);
    if (event->type == EVENT_NVTX && event->nvtx.what == SPOOL_NVTX_MARK && process_knows_time(process, event->start))
        return emit_nvtx_mark(conversion, process, event);
    return 0;
}

/* Compilation comes before calls as well: of several events of the host with one correlation id HTA takes the last in
 * the file for the launch. */
int emit_process(struct conversion *conversion, struct process *process)
{
    if (emit_rows(conversion, process) != 0 || emit_nvtx_ranges(conversion, process) != 0 ||
        emit_nvtx_syncs(conversion, process) != 0 || emit_projections(conversion, process) != 0 ||
        emit_deferred(conversion, process) != 0 || emit_compilation(conversion, process) != 0 ||
        emit_plugin_slices(conversion, process) != 0 ||
        process_walk_cupti(conversion, process, emit_cupti, NULL) != 0 ||
        process_walk_own(conversion, process, emit_own, NULL) != 0)
        return -1;
    if (emit_nvtx_counters(conversion, process) != 0 || emit_nvtx_memory(conversion, process) != 0)
        return -1;
    return emit_memory(conversion, process) != 0 ? -1 : emit_pools(conversion, process);
}
