/*
 * Walks over the records of waits, or over the API calls, beside the queries, which come in the same order.
 */
#include "analysis/idle/idle_waits.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/engine/trace.h"
#include "analysis/engine/trace_known.h"

struct record {
    struct trace_stream_id stream;
    int64_t time; /* of the call */
    int64_t waits_on;
};

static int stream_order(const struct trace_stream_id *a, const struct trace_stream_id *b)
{
    return ORDER(a->process, b->process) ?: ORDER(a->device, b->device) ?: ORDER(a->context, b->context) ?: ORDER(a->stream, b->stream);
}

static int by_stream_and_time(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    return stream_order(&a->stream, &b->stream) ?: ORDER(a->time, b->time) ?: ORDER(a->waits_on, b->waits_on);
}

void idle_waits_init(struct idle_waits *waits, struct sorter_space *space)
{
    *waits = (struct idle_waits){.time = FIELD_ABSENT};
    sorter_init(&waits->records, space, sizeof(struct record), by_stream_and_time);
}

void idle_waits_release(struct idle_waits *waits)
{
    sorter_release(&waits->records);
    free(waits->ranks);
}

int idle_waits_event(struct idle_waits *waits, const struct trace *trace, const struct event_fields *event)
{
    if (event->name == EVENT_NO_TEXT || strcmp(interned(&trace->strings, event->name), "Stream Wait Event") != 0)
        return 0;
    const struct record record = {
        {event->process, trace_event_device(event), event_gpu(event)->context, event_gpu(event)->stream},
        event->start,
        event_wait(event)->stream};
    return sorter_add(&waits->records, &record);
}

/* --- the streams, in the order of the records --- */

static int by_id(const void *left, const void *right, void *context)
{
    const uint32_t *a = left, *b = right;
    return stream_order(trace_stream_id(context, *a), trace_stream_id(context, *b));
}

static int rank_streams(struct idle_waits *waits)
{
    size_t count = waits->trace->streams.count;
    uint32_t *order = calloc(count + 1, sizeof(*order));
    free(waits->ranks);
    waits->ranks = calloc(count + 1, sizeof(*waits->ranks));
    bool made = order && waits->ranks;
    for (size_t i = 0; made && i < count; i++)
        order[i] = (uint32_t)i;
    if (made)
        qsort_r(order, count, sizeof(*order), by_id, (void *)(uintptr_t)waits->trace);
    for (size_t i = 0; made && i < count; i++)
        waits->ranks[order[i]] = (uint32_t)i;
    free(order);
    return made ? 0 : -1;
}

/* --- records --- */

static void read_record(struct idle_waits *waits)
{
    const struct record *record = waits->next;
    const struct trace_stream_id last = record ? record->stream : (struct trace_stream_id){0};
    bool any = record;
    waits->next = record = sorter_next(&waits->walk);
    if (record && (!any || stream_order(&record->stream, &last) != 0)) {
        /* EVENT_NO_TEXT: nothing ran on the stream. */
        uint32_t stream = dense_map_lookup(&waits->trace->stream_ids, &record->stream, sizeof(record->stream));
        waits->next_key = stream == DENSE_MAP_NONE ? EVENT_NO_TEXT : waits->ranks[stream];
    }
}

static bool is_passed(const struct idle_waits *waits, const struct idle_launch *launch)
{
    const struct record *record = waits->next;
    return waits->next_key == EVENT_NO_TEXT || waits->next_key < launch->key ||
           (waits->next_key == launch->key && record->time <= launch->called);
}

static const struct idle_wait *find_record(struct idle_waits *waits, const struct idle_launch *launch)
{
    if (waits->key != launch->key)
        waits->time = FIELD_ABSENT;
    waits->key = launch->key;
    for (; waits->next && is_passed(waits, launch); read_record(waits)) {
        const struct record *record = waits->next;
        if (waits->next_key != launch->key)
            continue;
        waits->time = record->time;
        waits->found.stream = record->waits_on;
    }
    return waits->time != FIELD_ABSENT && waits->time > launch->called_before ? &waits->found : NULL;
}

/* --- calls --- */

static void read_launch(struct idle_waits *waits)
{
    const struct host_call *call;
    while ((waits->next = call = host_calls_next(&waits->calls))) {
        enum call_kind kind = (enum call_kind)call->kind;
        bool called = waits->called && waits->next_key == call->thread;
        waits->next_key = call->thread;
        waits->called = kind == CALL_WAIT_EVENT || (called && !call_kind_launches(kind));
        if (called && call_kind_launches(kind))
            return;
    }
}

static const struct idle_wait *find_launch(struct idle_waits *waits, const struct idle_launch *launch)
{
    const struct host_call *call;
    for (; (call = waits->next); read_launch(waits))
        if (waits->next_key > launch->key || (waits->next_key == launch->key && call->start >= launch->called))
            break;
    waits->found.stream = FIELD_ABSENT;
    bool found = call && waits->next_key == launch->key && call->start == launch->called;
    return found && launch->called_before != launch->called ? &waits->found
                                                            : NULL; /* only the first operation of a graph waits */
}

/* --- */

int idle_waits_begin(struct idle_waits *waits, const struct trace *trace)
{
    const struct call_kinds *kinds = &trace->call_kinds;
    waits->trace = trace;
    waits->of = waits->records.count > 0 ? IDLE_WAITS_RECORDS : IDLE_WAITS_NONE;
    for (size_t i = 0; waits->of == IDLE_WAITS_NONE && i < kinds->items.count; i++)
        waits->of = kinds->items.items[i] == CALL_WAIT_EVENT + 1 ? IDLE_WAITS_CALLS : IDLE_WAITS_NONE;
    int status = sorter_ready(&waits->records);
    if (status == 0 && waits->of == IDLE_WAITS_RECORDS)
        status = rank_streams(waits);
    if (status < 0)
        return status;
    sorter_walk_begin(&waits->walk, &waits->records);
    host_calls_walk_begin(&waits->calls, &trace->host_calls);
    if (waits->of == IDLE_WAITS_RECORDS)
        read_record(waits);
    else if (waits->of == IDLE_WAITS_CALLS)
        read_launch(waits);
    return 0;
}

const struct idle_wait *idle_waits_find(struct idle_waits *waits, const struct idle_launch *launch)
{
    return waits->of == IDLE_WAITS_RECORDS ? find_record(waits, launch) : find_launch(waits, launch);
}

int idle_waits_end(struct idle_waits *waits)
{
    int walked = sorter_walk_end(&waits->walk), called = host_calls_walk_end(&waits->calls);
    return walked ? walked : called;
}
