#include "hazards_order.h"

#include <stdlib.h>
#include <string.h>

void clock_release(struct clock *clock)
{
    free(clock->at);
    *clock = (struct clock){0};
}

static bool reach(struct clock *clock, uint32_t count)
{
    if (count <= clock->count)
        return true;
    uint32_t capacity = (count + 7) / 8 * 8;
    uint64_t *at = realloc(clock->at, capacity * sizeof(*at));
    if (!at)
        return false;
    memset(at + clock->count, 0, (capacity - clock->count) * sizeof(*at));
    clock->at = at;
    clock->count = capacity;
    return true;
}

bool clock_raise(struct clock *clock, uint32_t stream, uint64_t time)
{
    if (clock_get(clock, stream) >= time)
        return true;
    if (!reach(clock, stream + 1))
        return false;
    clock->at[stream] = time;
    return true;
}

bool clock_join(struct clock *to, const struct clock *from)
{
    if (!reach(to, from->count))
        return false;
    for (uint32_t i = 0; i < from->count; i++)
        if (to->at[i] < from->at[i])
            to->at[i] = from->at[i];
    return true;
}

bool clock_copy(struct clock *to, const struct clock *from)
{
    if (!reach(to, from->count))
        return false;
    if (from->count)
        memcpy(to->at, from->at, from->count * sizeof(*to->at));
    if (to->count > from->count)
        memset(to->at + from->count, 0, (to->count - from->count) * sizeof(*to->at));
    return true;
}

bool clock_covers(const struct clock *whole, const struct clock *part)
{
    for (uint32_t i = 0; i < part->count; i++)
        if (part->at[i] > clock_get(whole, i))
            return false;
    return true;
}

#define LEGACY ((struct CUstream_st *)1)
#define PER_THREAD ((struct CUstream_st *)2)
#define NON_BLOCKING 1u /* CU_STREAM_NON_BLOCKING */

/* --- streams come and go --- */

static struct order_stream key_of(const struct gputrace_call *call, struct CUstream_st *stream)
{
    struct order_stream key = {.live = true, .blocking = true, .handle = stream, .device = GPUTRACE_NO_DEVICE};
    key.stream_id = GPUTRACE_NO_STREAM;
    if (stream == NULL || stream == LEGACY)
        key.sort = ORDER_LEGACY;
    else if (stream == PER_THREAD)
        key.sort = ORDER_PER_THREAD;
    if (key.sort == ORDER_CREATED)
        return key; /* whose context is not the call's for certain */
    key.context = call->context;
    key.device = call->device;
    key.thread = key.sort == ORDER_PER_THREAD ? call->thread : 0;
    return key;
}

static bool is_same(const struct order_stream *a, const struct order_stream *b)
{
    if (!a->live || a->sort != b->sort)
        return false;
    return a->sort == ORDER_CREATED ? a->handle == b->handle : a->context == b->context && a->thread == b->thread;
}

/* A number that can be given again: what it stood for is gone and done. When there is none, that of the stream that was
 * not used for longest, and the host is taken to know how far that has come. */
static uint32_t reusable(struct order *order)
{
    uint32_t oldest = 0;
    for (uint32_t i = 0; i < order->count; i++) {
        const struct order_stream *stream = &order->streams[i];
        if (!stream->live && clock_covers(&order->host, &stream->seen) && clock_covers(&order->done, &stream->gates))
            return i;
        if (stream->used < order->streams[oldest].used)
            oldest = i;
    }
    if (order->count < ORDER_STREAMS_MAX)
        return order->count++;
    order_join(order, &order->host, &order->streams[oldest].seen);
    return oldest;
}

/* The time of a number goes on when the number is given again: what came before it is then taken to be ordered. */
static uint32_t stream_make(struct order *order, const struct order_stream *key)
{
    uint32_t number = reusable(order);
    struct order_stream *stream = &order->streams[number];
    uint64_t time = clock_get(&stream->seen, number);
    clock_release(&stream->seen);
    clock_release(&stream->gates);
    *stream = *key;
    stream->used = order->puts;
    order->broken |= !clock_raise(&stream->seen, number, time);
    order->streams_made++;
    return number;
}

static void note_context(struct order *order, struct CUctx_st *context)
{
    if (!context || context == order->context)
        return;
    order->contexts |= order->context != NULL;
    order->context = context;
}

uint32_t order_stream_of(struct order *order, const struct gputrace_call *call, struct CUstream_st *stream)
{
    struct order_stream key = key_of(call, stream);
    note_context(order, call->context);
    for (uint32_t i = 0; i < order->count; i++)
        if (is_same(&order->streams[i], &key))
            return i;
    return stream_make(order, &key);
}

void order_stream_created(struct order *order, const struct gputrace_stream_creation *what)
{
    struct order_stream key = key_of(&what->call, what->stream);
    key.context = what->call.context;
    key.device = what->call.device;
    key.stream_id = what->stream_id;
    key.blocking = !(what->flags & NON_BLOCKING);
    note_context(order, key.context);
    for (uint32_t i = 0; i < order->count; i++)
        if (is_same(&order->streams[i], &key))
            order->streams[i].live = false; /* its end was missed */
    stream_make(order, &key);
}

void order_stream_deleted(struct order *order, const struct gputrace_stream_deletion *what)
{
    struct order_stream key = key_of(&what->call, what->stream);
    for (uint32_t i = 0; i < order->count; i++)
        if (key.sort == ORDER_CREATED && is_same(&order->streams[i], &key))
            order->streams[i].live = false;
}

void order_context_deleted(struct order *order, const struct gputrace_call *call)
{
    order_host_may_know_device(order, call->device);
    for (uint32_t i = 0; i < order->count; i++)
        if (order->streams[i].context == call->context)
            order->streams[i].live = false;
}

/* --- putting work into streams --- */

static bool meet(const struct order_stream *legacy, const struct order_stream *stream)
{
    bool together = !legacy->context || !stream->context || legacy->context == stream->context;
    return legacy->sort == ORDER_LEGACY && stream->sort != ORDER_LEGACY && stream->blocking && together &&
           legacy->live && !legacy->capture && !stream->capture;
}

void order_settle(struct order *order, uint32_t number, bool gates)
{
    struct order_stream *stream = &order->streams[number];
    order_join(order, &stream->seen, &order->host);
    for (uint32_t i = 0; i < order->count; i++) {
        struct order_stream *other = &order->streams[i];
        if (!meet(stream, other) && !meet(other, stream))
            continue;
        order_join(order, &stream->seen, &other->seen);
        if (gates)
            order_join(order, &stream->gates, &other->gates);
    }
}

static uint64_t step(struct order *order, uint32_t number)
{
    struct order_stream *stream = &order->streams[number];
    uint64_t time = clock_get(&stream->seen, number) + 1;
    stream->used = ++order->puts;
    order->broken |= !clock_raise(&stream->seen, number, time);
    return time;
}

uint64_t order_put(struct order *order, uint32_t number)
{
    struct order_stream *stream = &order->streams[number];
    if (stream->capture)
        return 0;
    order_settle(order, number, true);
    return step(order, number);
}

bool order_judges(const struct order *order, uint32_t number)
{
    const struct order_stream *stream = &order->streams[number];
    return !order->broken && !stream->capture && clock_covers(&order->done, &stream->gates);
}

void order_gate(struct order *order, uint32_t number)
{
    struct order_stream *stream = &order->streams[number];
    if (stream->capture)
        return;
    uint64_t time = order_put(order, number);
    order_join(order, &order->host, &stream->seen);
    order->broken |= !clock_raise(&stream->gates, number, time);
}

/* Graphs may record events and wait for some, which is not seen. So from the first one on the host is taken to know of
 * every event as it is recorded. */
void order_graph_launched(struct order *order, uint32_t number)
{
    struct order_stream *stream = &order->streams[number];
    if (stream->capture)
        return;
    for (uint32_t i = 0; order->graphs == 0 && i < order->event_count; i++)
        order_join(order, &order->host, &order->events[i].seen);
    order->graphs++;
    order_gate(order, number);
    order_join(order, &order->graph_gates, &stream->gates);
}

/* --- the host learns --- */

void order_host_may_know(struct order *order, uint32_t number)
{
    order_settle(order, number, false);
    order_join(order, &order->host, &order->streams[number].seen);
}

void order_host_waited(struct order *order, uint32_t number)
{
    order_join(order, &order->done, &order->streams[number].gates);
    order_host_may_know(order, number);
}

static void host_learns_device(struct order *order, uint32_t device, bool waited)
{
    for (uint32_t i = 0; i < order->count; i++) {
        const struct order_stream *stream = &order->streams[i];
        bool unknown = device == GPUTRACE_NO_DEVICE || stream->device == GPUTRACE_NO_DEVICE;
        if (!unknown && stream->device != device)
            continue;
        order_join(order, &order->host, &stream->seen);
        if (waited && stream->device == device)
            order_join(order, &order->done, &stream->gates);
    }
}

void order_host_may_know_device(struct order *order, uint32_t device)
{
    host_learns_device(order, device, false);
}

void order_host_waited_device(struct order *order, uint32_t device)
{
    host_learns_device(order, device, true);
}
