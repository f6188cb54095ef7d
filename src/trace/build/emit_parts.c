/*
 * The third walk over records as they lie in the spool: CUPTI's, and those of the library's that are events by
 * themselves.
 */
#include "trace/build/emitter.h"
#include "trace/build/walks.h"

static int emit_cupti(struct emitter *emitter, struct process *process, const struct event *event)
{
    switch (event->type) {
    case EVENT_KERNEL:
    case EVENT_MEMCPY:
    case EVENT_MEMSET:
    case EVENT_GRAPH: return emit_gpu_work(emitter, process, event);
    case EVENT_API: return emit_api(emitter, process, event);
    case EVENT_SYNC: return emit_sync(emitter, process, event);
    case EVENT_CUDA_EVENT: return emit_cuda_event(emitter, process, event);
    case EVENT_OVERHEAD: return emit_overhead(emitter, process, event);
    default: return 0;
    }
}

static int emit_own(struct emitter *emitter, struct process *process, const struct event *event)
{
    if (event->type == EVENT_CAPTURE)
        return emit_capture(emitter, process, event);
    if (event->type == EVENT_PLUGIN_EVENT)
        return emit_plugin_event(emitter, process, event);
    if (event->type == EVENT_SYNC && process_shows_own_wait(process, event))
        return emit_sync(emitter, process, event);
    if (event->type == EVENT_NVTX && event->nvtx.what == SPOOL_NVTX_MARK && process_knows_time(process, event->start))
        return emit_nvtx_mark(emitter, process, event);
    return 0;
}

static int emit_parts(struct emitter *emitter, struct process *process, size_t first, size_t end, uint16_t type,
                      int (*emit)(struct emitter *, struct process *, const struct event *))
{
    int result = 0;
    for (size_t i = first; i < end && result == 0; i++) {
        const struct spool_part *part = &process->file.parts.items[i];
        struct part_walk walk;
        struct event event;
        if (part->type != type)
            continue;
        emitter_enter_part(emitter, (uint32_t)i);
        part_walk_begin(&walk, process, part, spool_part_data(part, &emitter->scratch), false);
        while (result == 0 && part_walk_next(&walk, &event))
            result = emit(emitter, process, &event);
        part_walk_end(&walk);
    }
    return result;
}

int emit_cupti_parts(struct emitter *emitter, struct process *process, size_t first, size_t end)
{
    return emit_parts(emitter, process, first, end, SPOOL_CUPTI, emit_cupti);
}

int emit_own_parts(struct emitter *emitter, struct process *process, size_t first, size_t end)
{
    return emit_parts(emitter, process, first, end, SPOOL_RECORDS, emit_own);
}
