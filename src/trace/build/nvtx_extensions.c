#include "trace/build/nvtx_extensions.h"

#include <string.h>

#include "common/log.h"
#include "common/buffer.h"
#include "trace/build/nvtx_clocks.h"
#include "trace/build/nvtx_counters.h"
#include "trace/build/nvtx_deferred.h"
#include "trace/build/nvtx_write.h"
#include "trace/build/payload_values.h"
#include "trace/build/process.h"
#include "trace/build/nvtx_memory.h"

#define EVICT_ITEMS ((size_t)1 << 14) /* records are walked over before indexes give their pages back */

/* --- index --- */

int index_nvtx_extension(struct process *process, const struct event *event)
{
    const struct spool_record *record = event->record;
    process->nvtx_seen = process->nvtx_wanted = true;
    if (!process_knows_time(process, event->start)) {
        process->losses.undecoded++;
        return 0;
    }
    bool has_row = record->type == SPOOL_RECORD_NVTX_MEMORY || record->type == SPOOL_RECORD_NVTX_DEFERRED;
    if (has_row && !process_thread(process, TRACK_THREAD, event->thread))
        return -1;
    if (record->type == SPOOL_RECORD_NVTX_MEMORY)
        widen_process_time(process, event->start, event->start);
    return payload_schemas_index(process->payload_schemas, event) |
           payload_copies_index(process->payload_copies, event) | nvtx_scopes_index(process->nvtx_scopes, event) |
           nvtx_clocks_index(process->nvtx_clocks, event) | nvtx_counters_index(process->nvtx_counters, event) |
           nvtx_deferred_index(process->nvtx_deferred, event) | nvtx_heaps_index(process->nvtx_heaps, event);
}

int index_nvtx_extensions_end(struct process *process)
{
    process->losses.cut_texts += process->payload_copies->lost;
    return nvtx_heaps_sort(process->nvtx_heaps) | payload_schemas_close(process->payload_schemas) |
           nvtx_clocks_close(process->nvtx_clocks) | nvtx_counters_close(process->nvtx_counters) |
           payload_copies_close(process->payload_copies);
}

/* --- deferred events --- */

static bool time_of(const struct process *process, uint32_t domain, const struct payload_facts *facts,
                    const struct payload_moment *moment, uint64_t *time)
{
    const struct nvtx_clocks *clocks = process->nvtx_clocks;
    uint64_t clock = moment->clock ? moment->clock : nvtx_clocks_of_scope(clocks, domain, facts->scope);
    return moment->told && nvtx_clocks_convert(clocks, domain, clock, moment->ticks, time) &&
           process_knows_time(process, *time);
}

/* False: it has no time that can be told. */
static bool place_event(struct nvtx_deferred_event *event, const struct process *process,
                        const struct payload_facts *facts)
{
    uint32_t domain = event->record->domain;
    bool is_mark = facts->role == PAYLOAD_SCHEMA_MARK || (facts->role == 0 && !facts->end.told);
    if (is_mark) {
        const struct payload_moment *moment = facts->mark.told ? &facts->mark : &facts->begin;
        event->kind = NVTX_DEFERRED_MARK;
        if (!time_of(process, domain, facts, moment, &event->start))
            return false;
        event->end = event->start;
        return true;
    }
    event->kind = facts->role == PAYLOAD_SCHEMA_STARTEND ? NVTX_DEFERRED_STARTED : NVTX_DEFERRED_NESTED;
    return time_of(process, domain, facts, &facts->begin, &event->start) &&
           time_of(process, domain, facts, &facts->end, &event->end) && event->end >= event->start;
}

/* What comes from the thread that runs is on its row; all else has rows of its own. */
static struct track *row_of(struct process *process, struct nvtx_deferred_event *event, uint64_t scope)
{
    if (scope == NVTX_SCOPES_THREAD || scope == NVTX_SCOPES_INNERMOST)
        return process_thread(process, TRACK_THREAD, event->thread);
    event->row = nvtx_deferred_row(process->nvtx_deferred, event->record->domain, scope);
    return event->row ? process_thread(process, TRACK_DEFERRED, event->row) : NULL;
}

static int add_event(struct process *process, struct nvtx_deferred_event made, const struct payload_facts *facts)
{
    if (!place_event(&made, process, facts)) {
        process->losses.unplaced++;
        return 0;
    }
    if (!capture_intervals_hold(process->capture_intervals, made.start))
        return 0;
    uint64_t scope =
        facts->scope_rank <= PAYLOAD_SCOPE_BY_BATCH && made.record->scope ? made.record->scope : facts->scope;
    struct track *track = row_of(process, &made, scope);
    struct nvtx_deferred_event *event = track ? file_vector_push(&process->nvtx_deferred->events) : NULL;
    if (!event)
        return error_no_memory("deferred events");
    *event = made;
    widen_process_time(process, made.start, made.end);
    if (made.kind != NVTX_DEFERRED_NESTED)
        return 0;
    if (made.row == 0)
        lanes_must_collect(&track->lanes);
    return lanes_collect(&track->lanes, made.start, made.end);
}

int resolve_deferred(struct process *process)
{
    struct nvtx_deferred *deferred = process->nvtx_deferred;
    struct payload_sources sources = process_payload_sources(process);
    struct payload_view view;
    struct payload_facts facts;
    int result = 0;
    for (size_t i = 0; i < deferred->submissions.count && result == 0; i++) {
        const struct nvtx_submission *submission = &deferred->submissions.items[i];
        const struct spool_nvtx_deferred *record = submission->record;
        payload_view_open(&view, &sources, record->domain, record->number);
        for (uint32_t n = 0; result == 0 && payload_facts_read(&facts, &view, record->stride, n); n++)
            result = add_event(process,
                               (struct nvtx_deferred_event){.record = record, .index = n, .thread = submission->thread},
                               &facts);
        if (i % EVICT_ITEMS == 0)
            process_evict(process);
    }
    return result == 0 ? nvtx_deferred_sort(deferred) : -1;
}

char *deferred_row_name(const struct process *process, uint32_t number)
{
    const struct nvtx_deferred_row *row = &process->nvtx_deferred->rows.items[number - 1];
    struct nvtx_text domain = nvtx_domain_name(process->nvtx, row->domain);
    struct buffer name;
    buffer_init_memory(&name);
    buffer_text(&name, "NVTX");
    if (domain.text)
        buffer_format(&name, " %.*s", (int)domain.length, domain.text);
    buffer_text(&name, row->scope == NVTX_SCOPES_NONE ? " deferred" : ": ");
    nvtx_scopes_put(process->nvtx_scopes, &name, row->domain, row->scope);
    buffer_char(&name, '\0');
    if (buffer_finish(&name) != 0) {
        error_no_memory("names of rows");
        buffer_release(&name);
        return NULL;
    }
    return name.data; /* the caller's */
}

/* --- counters --- */

/* The clock of a counter's samples. */
static uint64_t clock_of(const struct process *process, const struct nvtx_counter *counter)
{
    if (counter && counter->semantics && counter->semantics->meanings & SPOOL_NVTX_TIME_MEANT)
        return counter->semantics->time_domain;
    return counter ? nvtx_clocks_of_scope(process->nvtx_clocks, counter->record->domain, counter->record->scope)
                   : NVTX_CLOCKS_OURS;
}

/* The time that stands in a sample itself; false: none does. */
static bool time_inside(const struct process *process, const struct nvtx_counter *counter, const uint8_t *bytes,
                        uint64_t size, uint64_t clock, uint64_t *time)
{
    uint32_t domain = counter->record->domain;
    const struct payload_described *schema =
        payload_schemas_find(process->payload_schemas, domain, counter->record->schema);
    struct payload_sources sources = process_payload_sources(process);
    struct payload_view view;
    struct payload_cursor cursor;
    struct payload_field field;
    struct payload_number number;
    if (!schema)
        return false;
    payload_view_open(&view, &sources, domain, 0);
    payload_begin(&cursor, &view.reader, &schema->layout, bytes, size, 0);
    while (payload_next(&cursor, &field)) {
        const struct spool_nvtx_semantics *semantics = schema->words[field.index].semantics;
        if (!(field.entry->flags & PAYLOAD_FLAG_TIMESTAMP) || field.pointer || field.nested ||
            field.form != PAYLOAD_ONE || !payload_number(&number, field.entry->type, bytes + field.at))
            continue;
        if (semantics && semantics->meanings & SPOOL_NVTX_TIME_MEANT)
            clock = semantics->time_domain;
        return nvtx_clocks_convert(process->nvtx_clocks, domain, clock, number.i64, time);
    }
    return false;
}

static int put_sample(struct process *process, const struct spool_nvtx_sample *record, uint32_t index, uint64_t time)
{
    if (!capture_intervals_hold(process->capture_intervals, time))
        return 0;
    widen_process_time(process, time, time);
    return nvtx_counters_put(process->nvtx_counters, record, index, time);
}

/* The time of sample INDEX of a batch. */
static bool batch_time(const struct process *process, const struct nvtx_counter *counter,
                       const struct spool_nvtx_sample *record, uint32_t index, uint64_t *time)
{
    const char *text = record->text;
    uint64_t clock = clock_of(process, counter), times = (uint64_t)record->count * sizeof(int64_t);
    int64_t ticks;
    if (record->head.flags == SPOOL_NVTX_SAMPLE_EVERY) {
        ticks = (int64_t)((uint64_t)record->first + (uint64_t)record->interval * index);
    } else if (index < record->count) {
        memcpy(&ticks, text + index * sizeof(ticks), sizeof(ticks));
    } else {
        return time_inside(process, counter, (const uint8_t *)text + times + index * record->stride, record->stride,
                           clock, time);
    }
    return nvtx_clocks_convert(process->nvtx_clocks, record->domain, clock, ticks, time);
}

static int resolve_batch(struct process *process, const struct nvtx_counter *counter,
                         const struct spool_nvtx_sample *record)
{
    uint64_t times = (uint64_t)record->count * sizeof(int64_t);
    uint64_t count = record->stride && times <= record->length ? (record->length - times) / record->stride : 0;
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        uint64_t time;
        if (batch_time(process, counter, record, i, &time) && process_knows_time(process, time))
            result = put_sample(process, record, i, time);
        else
            process->losses.unplaced++;
    }
    return result;
}

int resolve_counters(struct process *process)
{
    struct nvtx_counters *counters = process->nvtx_counters;
    int result = 0;
    for (size_t i = 0; i < counters->samplings.count && result == 0; i++) {
        const struct spool_nvtx_sample *record = counters->samplings.items[i].record;
        const struct nvtx_counter *counter = nvtx_counters_find(counters, record->domain, record->counter);
        bool batch = record->head.flags == SPOOL_NVTX_SAMPLE_BATCH || record->head.flags == SPOOL_NVTX_SAMPLE_EVERY;
        if (!counter)
            process->losses.undecoded++;
        else if (batch)
            result = resolve_batch(process, counter, record);
        else
            result = put_sample(process, record, 0, record->head.time);
        if (i % EVICT_ITEMS == 0)
            process_evict(process);
    }
    return result == 0 ? nvtx_counters_sort(counters) : -1;
}
