/*
 * Reads CUPTI's records of synchronisation. Two joins by correlation id find the call that recorded the event of a wait
 * and the call that waited.
 */
#include "analysis/critical/critical_sync.h"
#include "analysis/engine/trace_known.h"

#include <string.h>

#include "common/memory.h"
#include "common/array.h"
#include "common/map.h"

enum sync_kind { SYNC_STREAM_WAITS, SYNC_OF_EVENT, SYNC_OF_STREAM, SYNC_OF_DEVICE };

struct sync_record {
    int64_t correlation, time;
    int64_t recorded; /* correlation id of the call that recorded the event; FIELD_ABSENT: not known */
    int64_t marked;   /* when that call began */
    int64_t on;       /* number of the stream that was waited for */
    struct trace_stream_id stream;
    enum sync_kind kind;
};

ORDER_BY(by_recorded, struct sync_record, recorded, time, correlation)
ORDER_BY(by_correlation, struct sync_record, correlation, time, recorded)
ORDER_BY(by_stream_and_time, struct critical_wait, stream, time, on, marked)
ORDER_BY(by_thread_and_time, struct critical_sync, thread, time, on, marked)

void critical_syncs_init(struct critical_syncs *syncs, struct sorter_space *space)
{
    sorter_init(&syncs->marked, space, sizeof(struct sync_record), by_recorded);
    sorter_init(&syncs->records, space, sizeof(struct sync_record), by_correlation);
}

void critical_syncs_release(struct critical_syncs *syncs)
{
    sorter_release(&syncs->marked);
    sorter_release(&syncs->records);
    file_vector_release(&syncs->waits);
    file_vector_release(&syncs->calls);
}

/* Returns FIELD_ABSENT for CUPTI's "none": -1, that in 32 bits, or 0 for a correlation id. */
static int64_t known(int64_t number, int64_t least)
{
    return number >= least && number < UINT32_MAX ? number : FIELD_ABSENT;
}

static enum sync_kind kind_of(const char *name)
{
    if (strcmp(name, "Stream Wait Event") == 0)
        return SYNC_STREAM_WAITS;
    if (strcmp(name, "Event Sync") == 0)
        return SYNC_OF_EVENT;
    return strcmp(name, "Stream Sync") == 0 ? SYNC_OF_STREAM : SYNC_OF_DEVICE;
}

int critical_syncs_event(struct critical_syncs *syncs, const struct trace *trace, const struct event_fields *event)
{
    if (event->phase != 'X' || event->name == EVENT_NO_TEXT)
        return 0;
    struct sync_record record = {
        .correlation = event->correlation,
        .time = event->start,
        .recorded = known(event_wait(event)->correlation, 1),
        .marked = FIELD_ABSENT,
        .on = known(event_wait(event)->stream, 0),
        .stream = {event->process, trace_event_device(event), event_gpu(event)->context, event_gpu(event)->stream},
        .kind = kind_of(interned(&trace->strings, event->name)),
    };
    if (record.kind == SYNC_OF_STREAM)
        record.on = event_gpu(event)->stream;
    return sorter_add(record.recorded == FIELD_ABSENT ? &syncs->records : &syncs->marked, &record);
}

/* --- */

/* The stream of number NUMBER: of the same context as ID if there is one, else of the same process. */
static uint32_t find_stream(const struct trace *trace, const struct trace_stream_id *id, int64_t number)
{
    uint32_t found = EVENT_NO_TEXT;
    for (size_t i = 0; number != FIELD_ABSENT && i < trace->streams.count; i++) {
        const struct trace_stream_id *one = trace_stream_id(trace, i);
        if (one->stream != number)
            continue;
        if (one->process == id->process && one->device == id->device && one->context == id->context)
            return (uint32_t)i;
        found = found == EVENT_NO_TEXT ? (uint32_t)i : found;
    }
    return found;
}

static int add_wait(struct critical_syncs *syncs, const struct trace *trace, const struct sync_record *record,
                    const struct call *call)
{
    const struct critical_wait wait = {
        .time = call ? call->start : record->time,
        .marked = record->marked,
        .stream = find_stream(trace, &record->stream, record->stream.stream),
        .on = find_stream(trace, &record->stream, record->on),
    };
    bool known = wait.stream != EVENT_NO_TEXT && wait.on != EVENT_NO_TEXT;
    return !known || ADD(file_vector_push, &syncs->waits, wait) ? 0 : -1;
}

static int add_call(struct critical_syncs *syncs, const struct trace *trace, const struct sync_record *record,
                    const struct call *call)
{
    const uint32_t on = find_stream(trace, &record->stream, record->on);
    if (record->kind == SYNC_OF_EVENT && on == EVENT_NO_TEXT)
        return 0;
    const struct critical_sync sync = {
        .time = call->start,
        .marked = record->marked,
        .thread = call->thread,
        .on = on,
        .device = record->stream.device,
        .nothing = record->kind == SYNC_OF_STREAM && on == EVENT_NO_TEXT,
    };
    return ADD(file_vector_push, &syncs->calls, sync) ? 0 : -1;
}

/* Finds when the calls began that recorded the events. */
static int find_marks(struct critical_syncs *syncs, const struct trace *trace)
{
    struct calls_join join;
    struct sorter_walk walk;
    const struct sync_record *next;
    int status = sorter_ready(&syncs->marked);
    if (status < 0)
        return status;
    calls_join_begin(&join, &trace->calls);
    sorter_walk_begin(&walk, &syncs->marked);
    while (status == 0 && (next = sorter_next(&walk))) {
        struct sync_record record = *next;
        const struct call *call = calls_join_find(&join, record.recorded, record.time);
        record.marked = call ? call->start : FIELD_ABSENT;
        status = sorter_add(&syncs->records, &record);
    }
    int walked = sorter_walk_end(&walk), joined = calls_join_end(&join);
    return status ? status : walked ? walked : joined;
}

static int find_calls(struct critical_syncs *syncs, const struct trace *trace)
{
    struct calls_join join;
    struct sorter_walk walk;
    const struct sync_record *record;
    int status = sorter_ready(&syncs->records);
    if (status < 0)
        return status;
    calls_join_begin(&join, &trace->calls);
    sorter_walk_begin(&walk, &syncs->records);
    while (status == 0 && (record = sorter_next(&walk))) {
        const struct call *call = calls_join_find(&join, record->correlation, record->time);
        if (record->kind == SYNC_STREAM_WAITS)
            status = add_wait(syncs, trace, record, call);
        else if (call)
            status = add_call(syncs, trace, record, call);
    }
    int walked = sorter_walk_end(&walk), joined = calls_join_end(&join);
    return status ? status : walked ? walked : joined;
}

int critical_syncs_finish(struct critical_syncs *syncs, const struct trace *trace)
{
    syncs->waits.memory.directory = syncs->calls.memory.directory = temporary_directory();
    if (syncs->marked.count == 0 && syncs->records.count == 0)
        return 0;
    int status = find_marks(syncs, trace);
    status = status ? status : find_calls(syncs, trace);
    if (status < 0)
        return status;
    if (file_vector_sort(&syncs->waits, by_stream_and_time) < 0)
        return -1;
    return file_vector_sort(&syncs->calls, by_thread_and_time);
}
