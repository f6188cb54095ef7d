/*
 * NVTX's counters: what was registered, and samples in the order of their times.
 */
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "trace/build/nvtx.h"
#include "trace/build/process.h"

#define EVICT_ITEMS ((size_t)1 << 14) /* records are walked over before indexes give their pages back */

static int no_memory(void)
{
    return error_no_memory("counters");
}

/* --- index pass --- */

int nvtx_counters_index(struct nvtx_counters *counters, const struct event *event)
{
    const struct spool_nvtx_counter *record = event->record;
    if (record->head.type == SPOOL_RECORD_NVTX_COUNTER) {
        struct nvtx_counter *counter = array_push(&counters->items);
        if (!counter)
            return no_memory();
        counter->record = record;
        payload_split_text(event->text, event->text_length, record->name_length, &counter->name, &counter->description);
    } else if (record->head.type == SPOOL_RECORD_NVTX_SEMANTICS) {
        const struct spool_nvtx_semantics **semantics = array_push(&counters->semantics);
        if (!semantics)
            return no_memory();
        *semantics = event->record;
    } else {
        const struct spool_nvtx_sample **sampling = file_vector_push(&counters->samplings);
        if (!sampling)
            return no_memory();
        *sampling = event->record;
    }
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct nvtx_counter *left = a, *right = b;
    return ORDER(left->record->number, right->record->number);
}

int nvtx_counters_close(struct nvtx_counters *counters)
{
    if (counters->items.count > 1)
        qsort(counters->items.items, counters->items.count, sizeof(*counters->items.items), by_number);
    for (size_t i = 0; i < counters->semantics.count; i++) {
        uint32_t number = counters->semantics.items[i]->of;
        size_t at = COUNT_BEFORE(counters->items.count, k, counters->items.items[k].record->number < number);
        if (at < counters->items.count && counters->items.items[at].record->number == number)
            counters->items.items[at].semantics = counters->semantics.items[i];
    }
    for (size_t i = 0; i < counters->items.count; i++) {
        const struct spool_nvtx_counter *record = counters->items.items[i].record;
        uint64_t *index = map_put(&counters->by_id, payload_key(record->domain, record->id), NULL);
        if (!index)
            return no_memory();
        *index = i + 1;
    }
    return 0;
}

struct nvtx_counter *nvtx_counters_find(const struct nvtx_counters *counters, uint32_t domain, uint64_t id)
{
    struct nvtx_counter *found = FIND_ITEM(&counters->items, &counters->by_id, payload_key(domain, id));
    return found && found->record->id == id && found->record->domain == domain ? found : NULL;
}

/* --- resolve pass: times of samples --- */

/* The clock of a counter's samples. */
static uint64_t clock_of(const struct process *process, const struct nvtx_counter *counter)
{
    if (counter->semantics && counter->semantics->meanings & SPOOL_NVTX_TIME_MEANT)
        return counter->semantics->time_domain;
    return nvtx_clocks_of_scope(&process->nvtx->clocks, counter->record->domain, counter->record->scope);
}

/* The time that is in a sample itself; false: there is none. */
static bool time_inside(const struct process *process, const struct nvtx_counter *counter, const uint8_t *bytes,
                        uint64_t size, uint64_t clock, uint64_t *time)
{
    uint32_t domain = counter->record->domain;
    const struct payload_described *schema =
        payload_schemas_find(&process->nvtx->schemas, domain, counter->record->schema);
    struct payload_view view;
    struct payload_cursor cursor;
    struct payload_field field;
    struct payload_number number;
    if (!schema)
        return false;
    payload_view_open(&view, process->nvtx, domain, 0);
    payload_begin(&cursor, &view.reader, &schema->layout, bytes, size, 0);
    while (payload_next(&cursor, &field)) {
        const struct spool_nvtx_semantics *semantics = schema->words[field.index].semantics;
        if (!(field.entry->flags & PAYLOAD_FLAG_TIMESTAMP) || field.pointer || field.nested ||
            field.form != PAYLOAD_ONE || !payload_number(&number, field.entry->type, bytes + field.at))
            continue;
        if (semantics && semantics->meanings & SPOOL_NVTX_TIME_MEANT)
            clock = semantics->time_domain;
        return nvtx_clocks_convert(&process->nvtx->clocks, domain, clock, number.i64, time);
    }
    return false;
}

static int add_sample(struct process *process, const struct spool_nvtx_sample *record, uint32_t index, uint64_t time)
{
    if (!capture_intervals_hold(process->capture_intervals, time))
        return 0;
    widen_process_time(process, time, time);
    struct nvtx_counters *counters = &process->nvtx->counters;
    struct nvtx_sample *sample = file_vector_push(&counters->samples);
    if (!sample)
        return no_memory();
    *sample = (struct nvtx_sample){
        .record = record, .time = time, .index = index, .order = (uint32_t)counters->samples.count};
    return 0;
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
    return nvtx_clocks_convert(&process->nvtx->clocks, record->domain, clock, ticks, time);
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
            result = add_sample(process, record, i, time);
        else
            process->losses.unplaced++;
    }
    return result;
}

static int by_time(const void *a, const void *b)
{
    const struct nvtx_sample *left = a, *right = b;
    return ORDER(left->time, right->time) ?: ORDER(left->order, right->order);
}

int resolve_counters(struct process *process)
{
    struct nvtx_counters *counters = &process->nvtx->counters;
    int result = 0;
    for (size_t i = 0; i < counters->samplings.count && result == 0; i++) {
        const struct spool_nvtx_sample *record = counters->samplings.items[i];
        const struct nvtx_counter *counter = nvtx_counters_find(counters, record->domain, record->counter);
        bool batch = record->head.flags == SPOOL_NVTX_SAMPLE_BATCH || record->head.flags == SPOOL_NVTX_SAMPLE_EVERY;
        if (!counter)
            process->losses.undecoded++;
        else if (batch)
            result = resolve_batch(process, counter, record);
        else
            result = add_sample(process, record, 0, record->head.time);
        if (i % EVICT_ITEMS == 0)
            process_evict(process);
    }
    if (result == 0 && file_vector_sort(&counters->samples, by_time) != 0)
        result = no_memory();
    return result;
}
