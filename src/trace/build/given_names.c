/*
 * Names that the program, or the system, has given to threads, devices, contexts and streams.
 */
#include "trace/build/survey.h"

#include "common/log.h"

static int put_name(struct process *process, struct map *map, uint64_t object, const struct event *event,
                    bool by_program)
{
    uint64_t *index = map_put(map, object, NULL);
    if (!index)
        return error_no_memory("names");
    if (*index != 0 && process->names.items[*index - 1].by_program && !by_program)
        return 0; /* the program's own word counts more */
    if (*index == 0 && !array_push(&process->names))
        return error_no_memory("names");
    if (*index == 0)
        *index = process->names.count;
    process->names.items[*index - 1] = (struct given_name){
        .object = object, .by_program = by_program, .text = event->text, .length = event->text_length};
    return 0;
}

int see_thread_name(struct process *process, const struct event *event)
{
    return put_name(process, &process->name_of_thread, event->thread, event, event->thread_name.by_program);
}

static int see_context_name(struct process *process, const struct event *event)
{
    const uint64_t *context = map_get(&process->context_of_handle, event->nvtx_name.object);
    return context ? put_name(process, &process->name_of_context, *context, event, true) : 0;
}

int see_nvtx_name(struct process *process, const struct event *event)
{
    if (event->nvtx_name.what == SPOOL_NVTX_DEVICE)
        return put_name(process, &process->name_of_device, event->nvtx_name.object, event, true);
    if (event->nvtx_name.what == SPOOL_NVTX_CONTEXT)
        return see_context_name(process, event);
    if (event->nvtx_name.what != SPOOL_NVTX_STREAM)
        return nvtx_see(&process->nvtx, &process->windows, event);
    uint64_t stream = event->stream;
    if (stream == EVENT_NO_STREAM) {
        const uint64_t *known = map_get(&process->stream_of_handle, event->nvtx_name.object);
        if (!known)
            return 0;
        stream = *known - 1;
    }
    return put_name(process, &process->name_of_stream, stream, event, true);
}
