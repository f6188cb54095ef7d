/* Events, captures and the end of the order; the streams are in hazards_order.c. */
#include "hazards_order.h"

#define INTERPROCESS 4u /* CU_EVENT_INTERPROCESS */

void order_release(struct order *order)
{
    for (uint32_t i = 0; i < order->count; i++) {
        clock_release(&order->streams[i].seen);
        clock_release(&order->streams[i].gates);
    }
    for (uint32_t i = 0; i < order->event_count; i++) {
        clock_release(&order->events[i].seen);
        clock_release(&order->events[i].gates);
    }
    clock_release(&order->host);
    clock_release(&order->done);
    clock_release(&order->graph_gates);
    address_map_release(&order->event_of);
    free(order->events);
    *order = (struct order){0};
}

/* --- captures --- */

void order_capture_started(struct order *order, uint32_t number)
{
    order->streams[number].capture = ++order->captures;
}

void order_capture_ended(struct order *order, uint32_t number)
{
    uint32_t capture = order->streams[number].capture;
    if (!capture)
        return;
    for (uint32_t i = 0; i < order->count; i++)
        if (order->streams[i].capture == capture)
            order->streams[i].capture = 0;
}

static bool is_open(const struct order *order, uint32_t capture)
{
    for (uint32_t i = 0; i < order->count; i++)
        if (order->streams[i].live && order->streams[i].capture == capture)
            return true;
    return false;
}

/* --- events --- */

static uint64_t key_of(const struct CUevent_st *handle)
{
    return (uint64_t)(uintptr_t)handle;
}

struct order_event *order_event_of(struct order *order, struct CUevent_st *handle)
{
    const uint64_t *place = address_map_find(&order->event_of, key_of(handle));
    return place ? &order->events[*place - 1] : NULL;
}

/* Space for one more, plus one; 0: no memory. */
static uint32_t event_capacity(struct order *order)
{
    if (order->event_free) {
        uint32_t place = order->event_free;
        order->event_free = order->events[place - 1].next_free;
        return place;
    }
    if (order->event_count == order->event_capacity) {
        uint32_t capacity = order->event_capacity ? 2 * order->event_capacity : 64;
        struct order_event *events = realloc(order->events, capacity * sizeof(*events));
        if (!events)
            return 0;
        order->events = events;
        order->event_capacity = capacity;
    }
    return ++order->event_count;
}

/* The event of that handle, new where it was never seen; NULL: no memory. */
static struct order_event *event_need(struct order *order, struct CUevent_st *handle)
{
    struct order_event *event = order_event_of(order, handle);
    uint32_t place = event || !handle ? 0 : event_capacity(order);
    if (event)
        return event;
    if (!place || !address_map_put(&order->event_of, key_of(handle), place)) {
        order->broken = true;
        return NULL;
    }
    event = &order->events[place - 1];
    *event = (struct order_event){.handle = handle};
    return event;
}

void order_event_created(struct order *order, const struct gputrace_event_creation *what)
{
    order_event_deleted(order, order_event_of(order, what->event)); /* its end was not reported yet, or was missed */
    struct order_event *event = event_need(order, what->event);
    if (!event)
        return;
    event->created = true;
    event->created_end = what->call.end;
    event->shared = what->flags & INTERPROCESS;
}

/* Another thread may have been given the handle again before this plugin learns that this one has destroyed it. */
struct order_event *order_event_deletable(struct order *order, const struct gputrace_event_deletion *what)
{
    struct order_event *event = order_event_of(order, what->event);
    return event && what->call.start < event->created_end ? NULL : event;
}

void order_event_deleted(struct order *order, struct order_event *event)
{
    if (!event)
        return;
    address_map_remove(&order->event_of, key_of(event->handle));
    clock_release(&event->seen);
    clock_release(&event->gates);
    *event = (struct order_event){.next_free = order->event_free};
    order->event_free = (uint32_t)(event - order->events) + 1;
}

/* Somebody whom we do not see may record it, or learn from it. */
static bool is_strange(const struct order_event *event)
{
    return !event->created || event->shared;
}

void order_event_recorded(struct order *order, struct CUevent_st *handle, uint32_t number)
{
    struct order_stream *stream = &order->streams[number];
    struct order_event *event = event_need(order, handle);
    if (!event)
        return;
    event->capture = stream->capture;
    event->captured |= stream->capture != 0;
    if (stream->capture)
        return;
    order_settle(order, number, true);
    event->recorded = true;
    if (!clock_copy(&event->seen, &stream->seen) || !clock_copy(&event->gates, &stream->gates))
        order->broken = true;
    if (order->graphs || is_strange(event))
        order_join(order, &order->host, &event->seen);
}

void order_event_recorded_device(struct order *order, struct CUevent_st *handle, uint32_t device)
{
    struct order_event *event = event_need(order, handle);
    if (!event)
        return;
    order_host_may_know_device(order, device);
    event->capture = 0;
    event->recorded = true;
    order_join(order, &event->seen, &order->host);
    for (uint32_t i = 0; i < order->count; i++)
        order_join(order, &event->gates, &order->streams[i].gates);
}

bool order_event_waited(struct order *order, struct CUevent_st *handle, uint32_t number)
{
    struct order_stream *stream = &order->streams[number];
    const struct order_event *event = order_event_of(order, handle);
    if (event && event->capture && !stream->capture && is_open(order, event->capture))
        stream->capture = event->capture;
    if (stream->capture)
        return true;
    if (!event || is_strange(event) || event->capture)
        order_gate(order, number);
    if (!event)
        return true;
    order_join(order, &stream->seen, &event->seen);
    order_join(order, &stream->gates, &event->gates);
    if (order->graphs)
        order_join(order, &stream->gates, &order->graph_gates);
    return event->recorded || event->captured || is_strange(event) || order->graphs;
}

void order_event_waited_device(struct order *order, struct CUevent_st *handle)
{
    for (uint32_t i = 0; i < order->count; i++)
        if (order->streams[i].live)
            order_event_waited(order, handle, i);
    const struct order_event *event = order_event_of(order, handle);
    if (event)
        order_join(order, &order->host, &event->seen);
}

void order_event_synchronized(struct order *order, struct CUevent_st *handle)
{
    const struct order_event *event = order_event_of(order, handle);
    if (!event) {
        order_host_may_know_device(order, GPUTRACE_NO_DEVICE);
        return;
    }
    order_join(order, &order->host, &event->seen);
    order_join(order, &order->done, &event->gates);
}

bool order_event_is_void(const struct order *order, const struct order_event *event)
{
    return event->waited && !event->recorded && !event->captured && !is_strange(event) && order->graphs == 0;
}
