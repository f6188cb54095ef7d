#include "trace/build/nvtx_deferred.h"

#include "common/log.h"
#include "trace/build/payload_schemas.h"

void nvtx_deferred_release(struct nvtx_deferred *deferred)
{
    big_array_release(&deferred->submissions);
    big_array_release(&deferred->events);
    array_release(&deferred->rows);
    map_release(&deferred->row_of);
}

int nvtx_deferred_see(struct nvtx_deferred *deferred, const struct event *event)
{
    const struct spool_nvtx_deferred *record = event->record;
    if (record->head.type != SPOOL_RECORD_NVTX_DEFERRED)
        return 0;
    struct nvtx_submission *submission = big_array_push(&deferred->submissions);
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
    return big_array_sort(&deferred->events, outer_first) == 0 ? 0 : error_no_memory("deferred events");
}

size_t nvtx_deferred_started(const struct nvtx_deferred *deferred)
{
    size_t started = 0;
    for (size_t i = 0; i < deferred->events.count; i++)
        started += deferred->events.items[i].kind == NVTX_DEFERRED_STARTED;
    return started;
}
