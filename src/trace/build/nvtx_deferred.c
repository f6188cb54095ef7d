#include "trace/build/nvtx_deferred.h"

#include "common/log.h"
#include "trace/build/nvtx_write.h"
#include "trace/build/piece_writer.h"

void nvtx_deferred_release(struct nvtx_deferred *deferred)
{
    file_vector_release(&deferred->submissions);
    file_vector_release(&deferred->events);
    array_release(&deferred->rows);
    map_release(&deferred->row_of);
}

int nvtx_deferred_index(struct nvtx_deferred *deferred, const struct event *event)
{
    const struct spool_nvtx_deferred *record = event->record;
    if (record->head.type != SPOOL_RECORD_NVTX_DEFERRED)
        return 0;
    struct nvtx_submission *submission = file_vector_push(&deferred->submissions);
    if (!submission)
        return error_no_memory("deferred events");
    *submission = (struct nvtx_submission){.record = record, .thread = event->thread};
    return 0;
}

uint32_t nvtx_deferred_row(struct nvtx_deferred *deferred, uint32_t domain, uint64_t scope)
{
    uint64_t *index = map_put(&deferred->row_of, payload_key(domain, scope), NULL);
    if (index && *index)
        return (uint32_t)*index;
    struct nvtx_deferred_row *row = index ? array_push(&deferred->rows) : NULL;
    if (!row) {
        error_no_memory("deferred events");
        return 0;
    }
    *row = (struct nvtx_deferred_row){.scope = scope, .domain = domain};
    *index = deferred->rows.count;
    return (uint32_t)*index;
}

static int outer_first(const void *a, const void *b)
{
    const struct nvtx_deferred_event *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    if (left->record != right->record)
        return left->record < right->record ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

int nvtx_deferred_sort(struct nvtx_deferred *deferred)
{
    return file_vector_sort(&deferred->events, outer_first) == 0 ? 0 : error_no_memory("deferred events");
}

size_t nvtx_deferred_started(const struct nvtx_deferred *deferred)
{
    size_t started = 0;
    for (size_t i = 0; i < deferred->events.count; i++)
        started += deferred->events.items[i].kind == NVTX_DEFERRED_STARTED;
    return started;
}

/*
 * NVTX's deferred events: at their own times, on the rows of where they come from.
 */

static void describe(struct args *args, const struct process *process, const struct nvtx_deferred_event *event,
                     const struct payload_facts *facts)
{
    const struct spool_nvtx_deferred *record = event->record;
    struct nvtx_text domain = nvtx_domain_name(process->nvtx, record->domain);
    struct nvtx_text category = nvtx_category_name(process->nvtx, record->domain, facts->category);
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

static void write_started(struct piece_writer *out, const struct nvtx_deferred_event *event, struct slice *slice,
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
    out->sink.format->async(&out->sink, &started);
}

static void emit_event(struct piece_writer *out, struct process *process, const struct nvtx_deferred_event *event,
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
        out->sink.format->instant(&out->sink, &slice);
    } else if (event->kind == NVTX_DEFERRED_STARTED) {
        write_started(out, event, &slice, ++*last_async);
    } else {
        slice.row = track_row(track, event->start, event->end);
        out->sink.format->slice(&out->sink, &slice);
    }
}

int write_deferred(struct piece_writer *out, struct process *process)
{
    const struct nvtx_deferred *deferred = process->nvtx_deferred;
    struct payload_sources sources = process_payload_sources(process);
    struct payload_view view;
    struct payload_facts facts;
    uint64_t last_async = process->async_before + process->nvtx->started.count + process->nvtx->syncs.holds.count;
    for (size_t i = 0; i < deferred->events.count; i++) {
        const struct nvtx_deferred_event *event = &deferred->events.items[i];
        payload_view_open(&view, &sources, event->record->domain, event->record->number);
        if (payload_facts_read(&facts, &view, event->record->stride, event->index))
            emit_event(out, process, event, &facts, &last_async);
        piece_writer_passed(out, process);
    }
    return 0;
}
