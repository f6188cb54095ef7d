#include "trace/build/nvtx_counters.h"

#include <stdlib.h>

#include "common/log.h"

void nvtx_counters_release(struct nvtx_counters *counters)
{
    array_release(&counters->items);
    array_release(&counters->semantics);
    big_array_release(&counters->samplings);
    big_array_release(&counters->samples);
    map_release(&counters->by_id);
}

static int see_counter(struct nvtx_counters *counters, const struct event *event)
{
    const struct spool_nvtx_counter *record = event->record;
    struct nvtx_counter *counter = array_push(&counters->items);
    if (!counter)
        return error_no_memory("counters");
    counter->record = record;
    payload_split_text(event->text, event->text_length, record->name_length, &counter->name, &counter->description);
    return 0;
}

static int see_semantics(struct nvtx_counters *counters, const struct event *event)
{
    const struct spool_nvtx_semantics **semantics = array_push(&counters->semantics);
    if (!semantics)
        return error_no_memory("counters");
    *semantics = event->record;
    return 0;
}

static int see_sample(struct nvtx_counters *counters, const struct event *event)
{
    struct nvtx_sampling *sampling = big_array_push(&counters->samplings);
    if (!sampling)
        return error_no_memory("counters");
    *sampling = (struct nvtx_sampling){.record = event->record, .thread = event->thread};
    return 0;
}

int nvtx_counters_see(struct nvtx_counters *counters, const struct event *event)
{
    const struct spool_record *head = event->record;
    switch (head->type) {
    case SPOOL_RECORD_NVTX_COUNTER: return see_counter(counters, event);
    case SPOOL_RECORD_NVTX_SEMANTICS: return head->flags == 1 ? see_semantics(counters, event) : 0;
    case SPOOL_RECORD_NVTX_SAMPLE: return see_sample(counters, event);
    default: return 0;
    }
}

static int by_number(const void *a, const void *b)
{
    const struct nvtx_counter *left = a, *right = b;
    return left->record->number < right->record->number ? -1 : left->record->number > right->record->number;
}

static struct nvtx_counter *find_number(struct nvtx_counters *counters, uint32_t number)
{
    size_t low = 0, high = counters->items.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (counters->items.items[middle].record->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < counters->items.count && counters->items.items[low].record->number == number;
    return found ? &counters->items.items[low] : NULL;
}

int nvtx_counters_close(struct nvtx_counters *counters)
{
    if (counters->items.count > 1)
        qsort(counters->items.items, counters->items.count, sizeof(*counters->items.items), by_number);
    for (size_t i = 0; i < counters->semantics.count; i++) {
        struct nvtx_counter *counter = find_number(counters, counters->semantics.items[i]->of);
        if (counter)
            counter->semantics = counters->semantics.items[i];
    }
    for (size_t i = 0; i < counters->items.count; i++) {
        const struct spool_nvtx_counter *record = counters->items.items[i].record;
        uint64_t *index = map_put(&counters->by_id, payload_key(record->domain, record->id), NULL);
        if (!index)
            return error_no_memory("counters");
        *index = i + 1;
    }
    return 0;
}

struct nvtx_counter *nvtx_counters_find(const struct nvtx_counters *counters, uint32_t domain, uint64_t id)
{
    const uint64_t *index = map_get(&counters->by_id, payload_key(domain, id));
    struct nvtx_counter *found = index && *index ? &counters->items.items[*index - 1] : NULL;
    return found && found->record->id == id && found->record->domain == domain ? found : NULL;
}

int nvtx_counters_put(struct nvtx_counters *counters, const struct spool_nvtx_sample *record, uint32_t index,
                      uint64_t time)
{
    struct nvtx_sample *sample = big_array_push(&counters->samples);
    if (!sample)
        return error_no_memory("counters");
    *sample = (struct nvtx_sample){
        .record = record, .time = time, .index = index, .order = (uint32_t)counters->samples.count};
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct nvtx_sample *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

int nvtx_counters_sort(struct nvtx_counters *counters)
{
    return big_array_sort(&counters->samples, by_time) == 0 ? 0 : error_no_memory("counters");
}
