#include "trace/build/cuda_events.h"

#include "common/log.h"

void cuda_events_release(struct cuda_events *events)
{
    big_array_release(&events->items);
}

int cuda_events_see(struct cuda_events *events, const struct event *event)
{
    struct cuda_event_record *record = big_array_push(&events->items);
    if (!record)
        return error_no_memory("CUDA events");
    *record = (struct cuda_event_record){.event_context = event->cuda_event.event_context,
                                         .event = event->cuda_event.event,
                                         .correlation = event->correlation,
                                         .stream = event->stream,
                                         .sync_id = event->cuda_event.sync_id};
    return 0;
}

static int order(const void *a, const void *b)
{
    const struct cuda_event_record *left = a, *right = b;
    if (left->event != right->event)
        return left->event < right->event ? -1 : 1;
    if (left->event_context != right->event_context)
        return left->event_context < right->event_context ? -1 : 1;
    return left->correlation < right->correlation ? -1 : left->correlation > right->correlation;
}

int cuda_events_sort(struct cuda_events *events)
{
    return big_array_sort(&events->items, order) == 0 ? 0 : error_no_memory("CUDA events");
}

/* How many records come before WANTED. */
static size_t before(const struct cuda_events *events, const struct cuda_event_record *wanted)
{
    size_t low = 0, high = events->items.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order(&events->items.items[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct cuda_event_record *cuda_events_find(const struct cuda_events *events, const struct event *sync)
{
    struct cuda_event_record wanted = {
        .event_context = sync->sync.event_context, .event = sync->sync.event, .correlation = sync->correlation};
    const struct cuda_event_record *last = NULL;
    for (size_t i = before(events, &wanted); i > 0; i--) {
        const struct cuda_event_record *record = &events->items.items[i - 1];
        if (record->event != wanted.event || record->event_context != wanted.event_context)
            break;
        if (!last)
            last = record;
        if (sync->sync.sync_id == 0 || record->sync_id == sync->sync.sync_id)
            return record;
    }
    return last;
}
