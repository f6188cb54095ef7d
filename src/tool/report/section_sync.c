/*
 * Who waited for what. Two views of the same time: CUPTI's records of synchronisation, which know streams and events,
 * and the API calls that do not return before the GPU has done something, which know the thread. So there are no sums.
 */
#include <inttypes.h>
#include <string.h>

#include "tool/report/section.h"
#include "tool/report/series.h"

#define COLUMNS(X)                               \
    X(TOTAL, "total", "Total", NS, COLUMN_APART) \
    X(COUNT, "count", "Count", COUNT, 0)         \
    SUMMARY_COLUMNS(X, NS)                       \
    X(KIND, "kind", "Kind", TEXT, 0)             \
    X(WAITER, "waiter", "Who waited", TEXT, 0)   \
    X(TARGET, "target", "For what", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

/* What a wait is, as far as rows tell waits apart. */
struct wait_key {
    uint64_t name; /* the record's kind, or the API call's name */
    int64_t is_call;
    int64_t thread; /* index; EVENT_NONE: a stream waited, or not known */
    int64_t device, waiting_stream;
    int64_t stream, cuda_event; /* waited for; EVENT_NONE: neither is known */
};

struct sync_record {
    int64_t correlation, start, duration;
    struct wait_key key;
};

struct sync {
    ARRAY(struct sync_record) records;
    struct series_by waits;
};

/* CUPTI's "none" comes as -1, or as that in 32 bits. */
static int64_t known(int64_t number)
{
    return number >= 0 && number < UINT32_MAX ? number : EVENT_NONE;
}

static int event(void *state, const struct trace *trace, const struct trace_event *event)
{
    struct sync *sync = state;
    struct sync_record *record = array_push(&sync->records);
    if (!record)
        return -1;
    const char *kind = interned(&trace->strings, event->name);
    bool stream_waits = strcmp(kind, "Stream Wait Event") == 0;
    int64_t stream = known(event->wait_on_stream);
    *record =
        (struct sync_record){.correlation = event->correlation, .start = event->start, .duration = event->duration};
    record->key = (struct wait_key){
        .name = event->name,
        .thread = EVENT_NONE,
        .device = trace_event_device(event),
        .waiting_stream = stream_waits ? known(event->stream) : EVENT_NONE,
        .stream = strcmp(kind, "Stream Sync") == 0 ? known(event->stream) : stream,
        .cuda_event = stream == EVENT_NONE ? known(event->wait_on_event) : EVENT_NONE, /* many: told by its stream */
    };
    return 0;
}

static int add_record(struct sync *sync, const struct trace *trace, struct sync_record *record)
{
    const struct call *call = calls_find(&trace->calls, record->correlation, record->start);
    if (call && record->key.waiting_stream == EVENT_NONE)
        record->key.thread = call->thread;
    return series_by_add(&sync->waits, &record->key, sizeof(record->key), record->duration);
}

/* Calls that return only when work of the GPU is done. */
static bool is_blocking(const char *name)
{
    static const char *const names[] = {
        "cudaDeviceSynchronize", "cudaThreadSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize",
        "cuCtxSynchronize",      "cuStreamSynchronize",   "cuEventSynchronize",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0) /* of any version: _v2, _ptsz */
            return true;
    bool copy =
        strncmp(name, "cudaMemcpy", strlen("cudaMemcpy")) == 0 || strncmp(name, "cuMemcpy", strlen("cuMemcpy")) == 0;
    return copy && !strstr(name, "Async");
}

static int add_calls(struct sync *sync, const struct trace *trace)
{
    for (size_t i = 0; i < trace->calls.items.count; i++) {
        const struct call *call = &trace->calls.items.items[i];
        if (!calls_is_outermost(&trace->calls, i) || !is_blocking(interned(&trace->strings, call->name)))
            continue;
        struct wait_key key = {.name = call->name,
                               .is_call = true,
                               .thread = call->thread,
                               .device = EVENT_NONE,
                               .waiting_stream = EVENT_NONE,
                               .stream = EVENT_NONE,
                               .cuda_event = EVENT_NONE};
        if (series_by_add(&sync->waits, &key, sizeof(key), call->end - call->start) < 0)
            return -1;
    }
    return 0;
}

static struct cell waiter_cell(const struct trace *trace, struct table *table, const struct wait_key *key)
{
    if (key->thread != EVENT_NONE)
        return trace_thread_cell(trace, table, (uint32_t)key->thread);
    if (key->waiting_stream != EVENT_NONE)
        return table_format(table, "GPU %" PRId64 " stream %" PRId64, key->device, key->waiting_stream);
    return table_text(table, "a thread");
}

static struct cell target_cell(struct table *table, const struct wait_key *key, const char *name)
{
    const char *what = strstr(name, "Event") ? "event on " : "";
    if (key->is_call)
        return (struct cell){0};
    if (key->stream != EVENT_NONE)
        return table_format(table, "%sGPU %" PRId64 " stream %" PRId64, what, key->device, key->stream);
    if (key->cuda_event != EVENT_NONE)
        return table_format(table, "GPU %" PRId64 " event %" PRId64, key->device, key->cuda_event);
    return table_format(table, "%sGPU %" PRId64, what, key->device);
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct sync *sync = state;
    for (size_t i = 0; i < sync->records.count; i++)
        if (add_record(sync, trace, &sync->records.items[i]) < 0)
            return -1;
    if (add_calls(sync, trace) < 0)
        return -1;
    for (size_t i = 0; i < sync->waits.items.count; i++) {
        const struct wait_key *key = groups_key(&sync->waits.groups, i);
        struct summary summary = series_summary(&sync->waits.items.items[i]);
        struct cell *row = table_row(table);
        if (!row)
            return -1;
        row[COLUMN_TOTAL] = cell_integer(summary.total);
        row[COLUMN_COUNT] = cell_integer(summary.count);
        table_put_summary(&row[COLUMN_AVG], &summary);
        row[COLUMN_KIND] = trace_text_cell(trace, table, (uint32_t)key->name);
        row[COLUMN_WAITER] = waiter_cell(trace, table, key);
        row[COLUMN_TARGET] = target_cell(table, key, interned(&trace->strings, (uint32_t)key->name));
    }
    return 0;
}

static void release(void *state)
{
    struct sync *sync = state;
    array_release(&sync->records);
    series_by_release(&sync->waits);
}

const struct section section_sync = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sort = "total",
    .categories = EVENT_BIT(EVENT_SYNC),
    .state_size = sizeof(struct sync),
    .event = event,
    .finish = finish,
    .release = release,
};
