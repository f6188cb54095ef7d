/*
 * NVTX's deferred events: at their own times, on the rows of where they come from.
 */
#include "trace/build/conversion.h"
#include "trace/build/emitter.h"
#include "trace/build/nvtx_extensions.h"
#include "trace/build/payload_facts.h"

static void describe(struct args *args, const struct process *process, const struct nvtx_deferred_event *event,
                     const struct payload_facts *facts)
{
    const struct spool_nvtx_deferred *record = event->record;
    struct nvtx_text domain = nvtx_domain_name(&process->nvtx, record->domain);
    struct nvtx_text category = nvtx_category_name(&process->nvtx, record->domain, facts->category);
    if (domain.text)
        args_text(args, ARG_DOMAIN, domain.text, domain.length);
    if (facts->has_category && category.text)
        args_text(args, ARG_CATEGORY, category.text, category.length);
    else if (facts->has_category)
        args_u64(args, ARG_CATEGORY, facts->category);
    if (facts->has_color)
        args_add(args, ARG_COLOR, ARG_TYPE_COLOR)->u64 = facts->color;
    add_payload_args(
        args, process, ARG_PAYLOAD,
        &(struct arg_json){
            .number = record->number, .domain = record->domain, .stride = record->stride, .index = event->index});
}

static struct track *track_of(struct process *process, const struct nvtx_deferred_event *event)
{
    return event->row ? tracks_get(&process->tracks, TRACK_DEFERRED, 0, 0, event->row)
                      : tracks_get(&process->tracks, TRACK_THREAD, 0, 0, event->thread);
}

static void emit_started(struct emitter *emitter, const struct nvtx_deferred_event *event, struct slice *slice,
                         uint64_t id)
{
    struct async_slice started = {.category = slice->category,
                                  .name = slice->name,
                                  .begin = slice->row,
                                  .end_row = slice->row,
                                  .start = event->start,
                                  .end = event->end,
                                  .id = id,
                                  .args = slice->args};
    emitter->writer.format->async(&emitter->writer, &started);
}

static void emit_event(struct emitter *emitter, struct process *process, const struct nvtx_deferred_event *event,
                       const struct payload_facts *facts, uint64_t *last_async)
{
    static const char none[] = "(no message)";
    struct track *track = track_of(process, event);
    struct args args = {0};
    if (!track)
        return;
    describe(&args, process, event, facts);
    struct slice slice = {.category = CATEGORY_USER_ANNOTATION,
                          .name = facts->message.length ? name_passing(facts->message.text, facts->message.length)
                                                        : name_passing(none, sizeof(none) - 1),
                          .row = {track->pid, track->tids[0]},
                          .start = event->start,
                          .end = event->end,
                          .args = &args};
    if (event->kind == NVTX_DEFERRED_MARK) {
        emitter->writer.format->instant(&emitter->writer, &slice);
    } else if (event->kind == NVTX_DEFERRED_STARTED) {
        emit_started(emitter, event, &slice, ++*last_async);
    } else {
        slice.row = track_row(track, event->start, event->end);
        emitter->writer.format->slice(&emitter->writer, &slice);
    }
}

int emit_deferred(struct emitter *emitter, struct process *process)
{
    const struct nvtx_deferred *deferred = &process->extensions.deferred;
    struct payload_sources sources = process_payload_sources(process);
    struct payload_view view;
    struct payload_facts facts;
    uint64_t last_async = process->async_before + process->nvtx.started.count + process->nvtx.syncs.holds.count;
    for (size_t i = 0; i < deferred->events.count; i++) {
        const struct nvtx_deferred_event *event = &deferred->events.items[i];
        payload_view_open(&view, &sources, event->record->domain, event->record->number);
        if (payload_facts_read(&facts, &view, event->record->stride, event->index))
            emit_event(emitter, process, event, &facts, &last_async);
        emitter_passed(emitter, process);
    }
    return 0;
}
