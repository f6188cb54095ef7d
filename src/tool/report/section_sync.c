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
    struct sorter records;
    struct series_by waits;
    ARRAY(char) blocking; /* of each name: 'y', 'n', or 0 when it was not asked */
};

static int by_correlation(const void *left, const void *right)
{
    const struct sync_record *a = left, *b = right;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->duration > b->duration) - (a->duration < b->duration);
}

/* CUPTI's "none" comes as -1, or as that in 32 bits. */
static int64_t known(int64_t number)
{
    return number >= 0 && number < UINT32_MAX ? number : EVENT_NONE;
}

static int event(void *state, const struct trace *trace, const struct trace_event *event)
{
    struct sync *sync = state;
    if (sync->records.record_bytes == 0)
        sorter_init(&sync->records, trace->room, sizeof(struct sync_record), by_correlation);
    const char *kind = interned(&trace->strings, event->name);
    bool stream_waits = strcmp(kind, "Stream Wait Event") == 0;
    int64_t stream = known(event->wait_on_stream);
    struct sync_record record = {.correlation = event->correlation, .start = event->start, .duration = event->duration};
    record.key = (struct wait_key){
        .name = event->name,
        .thread = EVENT_NONE,
        .device = trace_event_device(event),
        .waiting_stream = stream_waits ? known(event->stream) : EVENT_NONE,
        .stream = strcmp(kind, "Stream Sync") == 0 ? known(event->stream) : stream,
        .cuda_event = stream == EVENT_NONE ? known(event->wait_on_event) : EVENT_NONE, /* many: told by its stream */
    };
    return sorter_add(&sync->records, &record);
}

static int add_records(struct sync *sync, const struct trace *trace)
{
    struct calls_join join;
    struct sorter_walk walk;
    const struct sync_record *record;
    int status = sorter_ready(&sync->records);
    if (status < 0)
        return status;
    calls_join_begin(&join, &trace->calls);
    sorter_walk_begin(&walk, &sync->records);
    while (status == 0 && (record = sorter_next(&walk))) {
        struct wait_key key = record->key;
        const struct call *call = calls_join_find(&join, record->correlation, record->start);
        if (call && key.waiting_stream == EVENT_NONE)
            key.thread = call->thread;
        status = series_by_add(&sync->waits, &key, sizeof(key), record->duration);
    }
    int walked = sorter_walk_end(&walk), joined = calls_join_end(&join);
    return status ? status : walked ? walked : joined;
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

/* Whether calls of this name are; -1: no memory. */
static int is_blocking_name(struct sync *sync, const struct trace *trace, uint32_t name)
{
    while (sync->blocking.count <= name)
        if (!array_push(&sync->blocking))
            return -1;
    char *known = &sync->blocking.items[name];
    if (!*known)
        *known = is_blocking(interned(&trace->strings, name)) ? 'y' : 'n';
    return *known == 'y';
}

static int add_call(struct sync *sync, const struct call *call)
{
    struct wait_key key = {.name = call->name,
                           .is_call = true,
                           .thread = call->thread,
                           .device = EVENT_NONE,
                           .waiting_stream = EVENT_NONE,
                           .stream = EVENT_NONE,
                           .cuda_event = EVENT_NONE};
    return series_by_add(&sync->waits, &key, sizeof(key), call->end - call->start);
}

static int add_calls(struct sync *sync, const struct trace *trace)
{
    struct calls_walk walk;
    const struct call *call;
    int status = 0;
    calls_walk_begin(&walk, &trace->calls);
    while (status == 0 && (call = calls_next(&walk)))
        if ((status = is_blocking_name(sync, trace, call->name)) > 0)
            status = add_call(sync, call);
    int walked = calls_walk_end(&walk);
    return status ? status : walked;
}

static int gather(void *state, const struct trace *trace)
{
    struct sync *sync = state;
    if (sync->records.count > 0 && add_records(sync, trace) < 0)
        return -1;
    return add_calls(sync, trace);
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
    if (sync->records.record_bytes > 0)
        sorter_release(&sync->records);
    series_by_release(&sync->waits);
    array_release(&sync->blocking);
}

const struct section section_sync = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_SYNC | TRACE_API},
    .sort = "total",
    .categories = EVENT_BIT(EVENT_SYNC),
    .state_size = sizeof(struct sync),
    .calls = true,
    .event = event,
    .gather = gather,
    .finish = finish,
    .release = release,
};
