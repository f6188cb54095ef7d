/*
 * NVTX's deferred events: at times of their own, on the rows of the scopes they come from.
 */
#include "trace/meaning/nvtx/nvtx_deferred.h"

#include "common/buffer.h"
#include "common/log.h"
#include "trace/meaning/base/piece_writer.h"
#include "trace/meaning/nvtx/nvtx_clocks.h"
#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/nvtx_describe.h"
#include "trace/meaning/nvtx/nvtx_names.h"
#include "trace/meaning/nvtx/payload_view.h"

#define EVICT_ITEMS ((size_t)1 << 14) /* records are walked over before indexes give their pages back */

static int no_memory(void)
{
    return error_no_memory("deferred events");
}

/* --- resolve pass --- */

static bool time_of(const struct process *process, uint32_t domain, const struct payload_facts *facts,
                    const struct payload_time *said, uint64_t *time)
{
    const struct nvtx_clocks *clocks = &process->nvtx->clocks;
    uint64_t clock = said->clock ? said->clock : nvtx_clocks_of_scope(clocks, domain, facts->scope);
    return said->known && nvtx_clocks_convert(clocks, domain, clock, said->ticks, time) &&
           process_knows_time(process, *time);
}

/* False: its time is not known. */
static bool place_event(struct nvtx_deferred_event *event, const struct process *process,
                        const struct payload_facts *facts)
{
    uint32_t domain = event->record->domain;
    bool is_mark = facts->role == PAYLOAD_SCHEMA_MARK || (facts->role == 0 && !facts->end.known);
    if (is_mark) {
        event->kind = NVTX_DEFERRED_MARK;
        if (!time_of(process, domain, facts, facts->mark.known ? &facts->mark : &facts->begin, &event->start))
            return false;
        event->end = event->start;
        return true;
    }
    event->kind = facts->role == PAYLOAD_SCHEMA_STARTEND ? NVTX_DEFERRED_STARTED : NVTX_DEFERRED_NESTED;
    return time_of(process, domain, facts, &facts->begin, &event->start) &&
           time_of(process, domain, facts, &facts->end, &event->end) && event->end >= event->start;
}

/* Index + 1 of the row of a scope, made when it is new; 0 after error(). */
static uint32_t row_number(struct nvtx_deferred *deferred, uint32_t domain, uint64_t scope)
{
    struct nvtx_deferred_row *row = PUT_ITEM(&deferred->rows, &deferred->row_of, payload_key(domain, scope));
    if (!row) {
        no_memory();
        return 0;
    }
    *row = (struct nvtx_deferred_row){.scope = scope, .domain = domain};
    return (uint32_t)(row - deferred->rows.items) + 1;
}

static int add_event(struct process *process, struct nvtx_deferred_event made, const struct payload_facts *facts)
{
    struct nvtx_deferred *deferred = &process->nvtx->deferred;
    struct track *track = NULL;
    if (!place_event(&made, process, facts)) {
        process->losses.unplaced++;
        return 0;
    }
    if (!capture_intervals_hold(process->capture_intervals, made.start))
        return 0;
    uint64_t scope =
        facts->scope_rank <= PAYLOAD_SCOPE_BY_BATCH && made.record->scope ? made.record->scope : facts->scope;
    /* Events of the thread that runs are on its row; all others have rows of their own. */
    if (scope == NVTX_SCOPES_THREAD || scope == NVTX_SCOPES_INNERMOST)
        track = process_thread(process, TRACK_THREAD, made.thread);
    else if ((made.row = row_number(deferred, made.record->domain, scope)) != 0)
        track = process_thread(process, TRACK_DEFERRED, made.row);
    if (!track || !ADD(file_vector_push, &deferred->events, made))
        return no_memory();
    widen_process_time(process, made.start, made.end);
    deferred->started += made.kind == NVTX_DEFERRED_STARTED;
    if (made.kind != NVTX_DEFERRED_NESTED)
        return 0;
    if (made.row == 0)
        lanes_must_collect(&track->lanes);
    return lanes_collect(&track->lanes, made.start, made.end);
}

static int outer_first(const void *a, const void *b)
{
    const struct nvtx_deferred_event *left = a, *right = b;
    return ORDER(left->start, right->start) ?: ORDER(right->end, left->end) ?: ORDER(left->record, right->record) ?: ORDER(left->index, right->index);
}

int resolve_deferred(struct process *process)
{
    struct nvtx_deferred *deferred = &process->nvtx->deferred;
    struct payload_view view;
    struct payload_facts facts;
    int result = 0;
    for (size_t i = 0; i < deferred->submissions.count && result == 0; i++) {
        struct nvtx_deferred_event event = {.record = deferred->submissions.items[i].record,
                                            .thread = deferred->submissions.items[i].thread};
        payload_view_open(&view, process->nvtx, event.record->domain, event.record->number);
        for (; result == 0 && payload_facts_read(&facts, &view, event.record->stride, event.index); event.index++)
            result = add_event(process, event, &facts);
        if (i % EVICT_ITEMS == 0)
            process_evict(process);
    }
    if (result == 0 && file_vector_sort(&deferred->events, outer_first) != 0)
        result = no_memory();
    return result;
}

/* --- write pass --- */

char *deferred_row_name(const struct process *process, uint32_t number)
{
    const struct nvtx_deferred_row *row = &process->nvtx->deferred.rows.items[number - 1];
    struct nvtx_text domain = nvtx_domain_name(process->nvtx, row->domain);
    struct buffer name;
    buffer_init_memory(&name);
    buffer_text(&name, "NVTX");
    if (domain.text)
        buffer_format(&name, " %.*s", (int)domain.length, domain.text);
    buffer_text(&name, row->scope == NVTX_SCOPES_NONE ? " deferred" : ": ");
    nvtx_scopes_put(&process->nvtx->scopes, &name, row->domain, row->scope);
    buffer_char(&name, '\0');
    if (buffer_finish(&name) != 0) {
        error_no_memory("names of rows");
        buffer_release(&name);
        return NULL;
    }
    return name.data; /* the caller's */
}

static void write_event(struct piece_writer *out, struct process *process, const struct nvtx_deferred_event *event,
                        const struct payload_facts *facts, uint64_t *last_async)
{
    const struct spool_nvtx_deferred *record = event->record;
    struct track *track = event->row ? tracks_get(&process->tracks, TRACK_DEFERRED, 0, 0, event->row)
                                     : tracks_get(&process->tracks, TRACK_THREAD, 0, 0, event->thread);
    struct args args = {0};
    if (!track)
        return;
    describe_nvtx_domain(&args, process->nvtx, record->domain);
    if (facts->has_category)
        describe_nvtx_category(&args, process->nvtx, record->domain, facts->category, true);
    if (facts->has_color)
        args_add(&args, ARG_COLOR, ARG_TYPE_COLOR)->u64 = facts->color;
    describe_nvtx_payload(
        &args, process->nvtx, ARG_PAYLOAD,
        &(struct arg_json){
            .number = record->number, .domain = record->domain, .stride = record->stride, .index = event->index});
    struct slice slice = {.category = CATEGORY_USER_ANNOTATION,
                          .name = nvtx_message_name(facts->message),
                          .row = {track->pid, track->tids[0]},
                          .start = event->start,
                          .end = event->end,
                          .args = &args};
    if (event->kind == NVTX_DEFERRED_MARK) {
        out->sink.format->instant(&out->sink, &slice);
    } else if (event->kind == NVTX_DEFERRED_STARTED) {
        out->sink.format->async(&out->sink, &(struct async_slice){.category = slice.category,
                                                                  .name = slice.name,
                                                                  .begin = slice.row,
                                                                  .end_row = slice.row,
                                                                  .start = event->start,
                                                                  .end = event->end,
                                                                  .id = ++*last_async,
                                                                  .args = &args});
    } else {
        slice.row = track_row(track, event->start, event->end);
        out->sink.format->slice(&out->sink, &slice);
    }
}

int write_deferred(struct piece_writer *out, struct process *process)
{
    const struct nvtx *nvtx = process->nvtx;
    struct payload_view view;
    struct payload_facts facts;
    uint64_t last_async = process->async_before + nvtx->started.count + nvtx->syncs.holds.count;
    for (size_t i = 0; i < nvtx->deferred.events.count; i++) {
        const struct nvtx_deferred_event *event = &nvtx->deferred.events.items[i];
        payload_view_open(&view, nvtx, event->record->domain, event->record->number);
        if (payload_facts_read(&facts, &view, event->record->stride, event->index))
            write_event(out, process, event, &facts, &last_async);
        piece_writer_passed(out, process);
    }
    return 0;
}
