/*
 * Who waited for what. A wait is an API call that does not return before the GPU has done something, and knows the
 * thread, or CUPTI's record of it, which knows streams and events, or both: these are joined by correlation id. Of the
 * wait of a stream for an event, CUPTI records how long the call took that put it into the stream; how long the stream
 * waited nothing tells. Waits of several threads and streams go on at once, so there are no sums.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/section.h"
#include "analysis/series.h"

#define COLUMNS(X)                               \
    X(TOTAL, "total", "Total", NS, COLUMN_APART) \
    X(COUNT, "count", "Count", COUNT, 0)         \
    SUMMARY_COLUMNS(X, NS)                       \
    X(KIND, "kind", "Kind", TEXT, 0)             \
    X(WAITER, "waiter", "Who waited", TEXT, 0)   \
    X(TARGET, "target", "For what", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

/* What distinguishes the rows of waits. */
struct wait_key {
    uint64_t name;        /* the API call's, or, where it is not known or a stream waits, the record's kind */
    int64_t stream_waits; /* 1: the stream, not the thread that called */
    int64_t thread;       /* index; EVENT_NONE: a stream waited, or not known */
    int64_t device;       /* EVENT_NONE: there is no record, and what was waited for is not known */
    int64_t waiting_stream;
    int64_t stream, cuda_event; /* waited for; EVENT_NONE: neither is known */
};

struct sync_record {
    int64_t correlation, start, duration;
    struct wait_key key;
};

struct sync {
    const struct trace *trace; /* after the last event */
    struct sorter records;
    struct series_by waits;
    ARRAY(char) waiting; /* of each name: enum waiting */
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

static int event(void *state, const struct trace *trace, const struct event_fields *event)
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
        .stream_waits = stream_waits,
        .thread = EVENT_NONE,
        .device = trace_event_device(event),
        .waiting_stream = stream_waits ? known(event->stream) : EVENT_NONE,
        .stream = strcmp(kind, "Stream Sync") == 0 ? known(event->stream) : stream,
        .cuda_event = stream == EVENT_NONE ? known(event->wait_on_event) : EVENT_NONE, /* many: told by its stream */
    };
    return sorter_add(&sync->records, &record);
}

enum waiting { NOT_ASKED, NONE, IN_PART, BLOCKING };

/* Whether calls of this name wait: BLOCKING ones return only when the GPU has done something, IN_PART ones wait where a
 * record says so. */
static enum waiting waiting_of(const char *name)
{
    static const char *const names[] = {
        "cudaDeviceSynchronize", "cudaThreadSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize",
        "cuCtxSynchronize",      "cuStreamSynchronize",   "cuEventSynchronize",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0) /* of any version: _v2, _ptsz */
            return BLOCKING;
    bool copy =
        strncmp(name, "cudaMemcpy", strlen("cudaMemcpy")) == 0 || strncmp(name, "cuMemcpy", strlen("cuMemcpy")) == 0;
    if (copy && !strstr(name, "Async"))
        return BLOCKING;
    return strstr(name, "Query") ? NONE : IN_PART; /* CUPTI has a record of cudaEventQuery as if it waited */
}

/* An enum waiting; -1: no memory. */
static int find_waiting(struct sync *sync, uint32_t name)
{
    while (sync->waiting.count <= name)
        if (!array_push(&sync->waiting))
            return -1;
    char *known = &sync->waiting.items[name];
    if (*known == NOT_ASKED)
        *known = (char)waiting_of(interned(&sync->trace->strings, name));
    return *known;
}

static int add_wait(struct sync *sync, const struct wait_key *key, int64_t duration)
{
    return series_by_add(&sync->waits, key, sizeof(*key), duration);
}

/* A call that CUPTI has no record for. */
static int add_call(void *context, const struct call *call)
{
    struct sync *sync = context;
    const struct wait_key key = {.name = call->name,
                                 .thread = call->thread,
                                 .device = EVENT_NONE,
                                 .waiting_stream = EVENT_NONE,
                                 .stream = EVENT_NONE,
                                 .cuda_event = EVENT_NONE};
    int waiting = find_waiting(sync, call->name);
    if (waiting != BLOCKING)
        return waiting < 0 ? -1 : 0;
    return add_wait(sync, &key, call->end - call->start);
}

/* A call that blocks waits once, and as long as it takes, whatever is recorded within. */
static int add_record(struct sync *sync, struct calls_join *join, const struct sync_record *record)
{
    struct wait_key key = record->key;
    const struct call *call = calls_join_find(join, record->correlation, record->start);
    if (!call || key.stream_waits)
        return add_wait(sync, &key, record->duration);
    int waiting = find_waiting(sync, call->name);
    if (waiting < 0 || waiting == NONE || (waiting == BLOCKING && join->again))
        return waiting < 0 ? -1 : 0;
    key.name = call->name;
    key.thread = call->thread;
    return add_wait(sync, &key, waiting == BLOCKING ? call->end - call->start : record->duration);
}

static int gather(void *state, const struct trace *trace)
{
    struct sync *sync = state;
    struct calls_join join;
    struct sorter_walk walk;
    const struct sync_record *record;
    sync->trace = trace;
    if (sync->records.record_bytes == 0)
        sorter_init(&sync->records, trace->room, sizeof(struct sync_record), by_correlation);
    int status = sorter_ready(&sync->records);
    if (status < 0)
        return status;
    calls_join_begin(&join, &trace->calls);
    join.missed = add_call;
    join.context = sync;
    sorter_walk_begin(&walk, &sync->records);
    while (status == 0 && (record = sorter_next(&walk)))
        status = add_record(sync, &join, record);
    if (status == 0)
        calls_join_miss_rest(&join);
    int walked = sorter_walk_end(&walk), joined = calls_join_end(&join);
    return status ? status : walked ? walked : joined;
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
    if (key->device == EVENT_NONE)
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
        row[COLUMN_COUNT] = cell_integer(summary.count);
        if (!key->stream_waits) {
            row[COLUMN_TOTAL] = cell_integer(summary.total);
            table_write_summary(&row[COLUMN_AVG], &summary);
        }
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
    array_release(&sync->waiting);
}

const struct section section_sync = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_SYNC | TRACE_API},
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_CUDA_SYNC),
    .state_size = sizeof(struct sync),
    .calls = true,
    .event = event,
    .gather = gather,
    .finish = finish,
    .release = release,
};
