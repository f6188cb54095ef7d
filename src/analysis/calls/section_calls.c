/* Sections of API calls: runtime and driver calls by name with their errors; failed calls; and waits. */
#include <inttypes.h>
#include <string.h>

#include "common/array.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace_known.h"
#include "analysis/engine/errors.h"

struct api_row {
    TALLY_SERIES(times);
    struct errors failures;
};

static int api_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    const struct name_key key = {event->name};
    struct api_row *row = tally_item(state, &key, struct api_row);
    if (!row)
        return -1;
    if (errors_is_failure(&trace->strings, event))
        errors_add(&row->failures, event);
    return series_add(&row->times, event->duration);
}

static const struct column api_columns[] = {
    COLUMN_SHARE(api_row, times),
    COLUMN_TOTAL(COLUMN_SUM, api_row, times),
    COLUMN_COUNT("calls", "Calls", COLUMN_SUM, api_row, times),
    COLUMNS_SUMMARY("", TYPE_NS, api_row, times),
    {"failures", "Failures", TYPE_COUNT, COLUMN_SUM | COLUMN_BAD, fill_number, FROM_ITEM(api_row, failures.count)},
    {"errors", "Errors", TYPE_TEXT, COLUMN_OPTIONAL | COLUMN_BAD, fill_errors, FROM_ITEM(api_row, failures)},
    COLUMN_NAME,
};

const struct section section_api = {
    SECTION_COLUMNS(api_columns),
    SECTION_TALLY(struct api_row),
    .sources = {TRACE_API},
    .comparable =
        {.noun = "call", .keys = {"name"}, .total = "total", .count = "calls", .each = "med", .floor = FLOOR_HOST},
    .sort = "total",
    .categories = CATEGORIES_API,
    .event = api_event,
};

/*
 * Failed calls by function and error: their number, and when the first and the last of them began. The first error of
 * all is usually the cause of the later ones.
 */

static FILL(failure, error_cell(row->table, ROW_KEY(failure_key)->of_runtime, ROW_KEY(failure_key)->code))

    static const struct column error_columns[] = {
        {"count", "Count", TYPE_COUNT, COLUMN_SUM, fill_number, FROM_ITEM(failure, count)},
        {"first", "First at", TYPE_NS, COLUMN_MOMENT, fill_time, FROM_ITEM(failure, first)},
        {"last", "Last at", TYPE_NS, COLUMN_MOMENT, fill_time, FROM_ITEM(failure, last)},
        {"code", "Code", TYPE_NUMBER, COLUMN_MACHINE, fill_number, FROM_KEY(failure_key, code)},
        {"error", "Error", TYPE_TEXT, COLUMN_BAD, .fill = fill_failure},
        {"name", "Name", TYPE_TEXT, 0, fill_name, FROM_KEY(failure_key, name)},
};

static void finish_errors(struct report_row *row)
{
    section_array(row, &row->trace->failures.keys, &row->trace->failures.items);
}

const struct section section_errors = {
    SECTION_COLUMNS(error_columns),
    .sources = {TRACE_API},
    .comparable = {.noun = "error", .keys = {"name", "error"}, .count = "count", .floor = FLOOR_HOST},
    .sort = "count",
    .finish = finish_errors,
};

/*
 * The section sync lists who waited for what. The API call that waited has the thread; CUPTI's record of the wait has
 * streams and events. A wait may have one of them or both, which are joined by correlation id. If a stream waits for an
 * event, CUPTI records how long the call took that made the stream wait; how long the stream waited is not recorded.
 * Threads and streams wait at the same time, so there are no sums.
 */

/* The key of a row of waits. */
struct wait_key {
    uint64_t name;        /* of the API call; if it is not known or a stream waits, the record's kind */
    int64_t stream_waits; /* 1: a stream waited; 0: a thread */
    int64_t thread;       /* index; FIELD_ABSENT: a stream waited, or it is not known */
    int64_t device;       /* FIELD_ABSENT: without a record, the target is not known */
    int64_t waiting_stream;
    int64_t stream, cuda_event; /* the target of the wait; FIELD_ABSENT: not known */
};

struct sync_record {
    int64_t correlation, start, duration;
    event_id row; /* of the GPU */
    struct wait_key key;
};

struct wait {
    TALLY_SERIES(times); /* empty if a stream waits */
    int64_t count;
};

struct sync {
    struct tally waits; /* struct wait by struct wait_key */
    const struct trace *trace;
    struct sorter records;
    struct call_kinds kinds;
};

ORDER_BY(by_correlation, struct sync_record, correlation, start, duration)

static void init(void *state, const struct trace *trace)
{
    struct sync *sync = state;
    sync->trace = trace;
    sorter_init(&sync->records, trace->space, sizeof(struct sync_record), by_correlation);
}

/* Returns FIELD_ABSENT for CUPTI's "none", which is -1 in 64 or 32 bits. */
static int64_t known(int64_t number)
{
    return number >= 0 && number < UINT32_MAX ? number : FIELD_ABSENT;
}

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct sync *sync = state;
    const char *kind = interned(&trace->strings, event->name);
    bool stream_waits = strcmp(kind, "Stream Wait Event") == 0;
    int64_t stream = known(event_wait(event)->stream);
    struct sync_record record = {
        .correlation = event->correlation, .start = event->start, .duration = event->duration, .row = event->process};
    record.key = (struct wait_key){
        .name = event->name,
        .stream_waits = stream_waits,
        .thread = FIELD_ABSENT,
        .device = trace_event_device(event),
        .waiting_stream = stream_waits ? known(event_gpu(event)->stream) : FIELD_ABSENT,
        .stream = strcmp(kind, "Stream Sync") == 0 ? known(event_gpu(event)->stream) : stream,
        .cuda_event = stream == FIELD_ABSENT ? known(event_wait(event)->event)
                                             : FIELD_ABSENT, /* events of one stream share a row */
    };
    return sorter_add(&sync->records, &record);
}

static int add_wait(struct sync *sync, const struct wait_key *key, int64_t duration)
{
    struct wait *wait = tally_item(&sync->waits, key, struct wait);
    if (!wait)
        return -1;
    wait->count++;
    return key->stream_waits ? 0 : series_add(&wait->times, duration);
}

/* Adds a call without a record of CUPTI if calls of its kind wait. */
static int add_call(void *context, const struct call *call)
{
    struct sync *sync = context;
    const struct wait_key key = {.name = call->name,
                                 .thread = call->thread,
                                 .device = FIELD_ABSENT,
                                 .waiting_stream = FIELD_ABSENT,
                                 .stream = FIELD_ABSENT,
                                 .cuda_event = FIELD_ABSENT};
    enum call_kind kind = call_kinds_find(&sync->kinds, &sync->trace->strings, call->name);
    return call_kind_waits(kind) ? add_wait(sync, &key, call->end - call->start) : 0;
}

/* Adds a record with its call. A call that blocks counts as one wait of the call's length, however many records it
 * has. */
static int add_record(struct sync *sync, struct calls_join *join, const struct sync_record *record)
{
    struct wait_key key = record->key;
    const struct call *call =
        calls_join_find(join, record->correlation, record->start, trace_gpu_row_owner(sync->trace, record->row));
    if (!call || key.stream_waits)
        return add_wait(sync, &key, record->duration);
    enum call_kind kind = call_kinds_find(&sync->kinds, &sync->trace->strings, call->name);
    bool blocks = call_kind_waits(kind); /* CUPTI records waits for cudaEventQuery(), which does not wait */
    if (kind == CALL_QUERY || (blocks && join->again))
        return 0;
    key.name = call->name;
    key.thread = call->thread;
    return add_wait(sync, &key, blocks ? call->end - call->start : record->duration);
}

static int gather(void *state, const struct trace *trace)
{
    struct sync *sync = state;
    struct calls_join join;
    const struct sync_record *record;
    int status = sorter_ready(&sync->records);
    if (status < 0)
        return status;
    calls_join_begin(&join, &trace->calls);
    join.missed = add_call;
    join.context = sync;
    status = SORTER_EACH(&sync->records, record, add_record(sync, &join, record));
    if (status == 0)
        calls_join_miss_rest(&join);
    int joined = calls_join_end(&join);
    return status ?: joined;
}

static struct cell fill_waiter(struct report_row *row, const struct column *column)
{
    const struct wait_key *key = row->key;
    if (key->thread != FIELD_ABSENT)
        return trace_thread_cell(row->trace, row->table, (uint32_t)key->thread);
    if (key->waiting_stream != FIELD_ABSENT)
        return trace_stream_cell(row->table, key->device, key->waiting_stream);
    return table_text(row->table, "a thread");
}

static struct cell fill_target(struct report_row *row, const struct column *column)
{
    const struct wait_key *key = row->key;
    const char *what = strstr(interned(&row->trace->strings, (uint32_t)key->name), "Event") ? "event on " : "";
    if (key->device == FIELD_ABSENT)
        return (struct cell){0};
    if (key->stream != FIELD_ABSENT)
        return table_format(row->table, "%sGPU %" PRId64 " stream %" PRId64, what, key->device, key->stream);
    if (key->cuda_event != FIELD_ABSENT)
        return table_format(row->table, "GPU %" PRId64 " event %" PRId64, key->device, key->cuda_event);
    return table_format(row->table, "%sGPU %" PRId64, what, key->device);
}

static const struct column columns[] = {
    COLUMN_TOTAL(0, wait, times),
    {"count", "Count", TYPE_COUNT, 0, fill_number, FROM_ITEM(wait, count)},
    COLUMNS_SUMMARY("", TYPE_NS, wait, times),
    {"kind", "Kind", TYPE_TEXT, 0, fill_name, FROM_KEY(wait_key, name)},
    {"waiter", "Who waited", TYPE_TEXT, 0, .fill = fill_waiter, .importance = 88},
    {"target", "For what", TYPE_TEXT, 0, .fill = fill_target},
};

static void release(void *state)
{
    struct sync *sync = state;
    sorter_release(&sync->records);
    array_release(&sync->kinds.items);
}

const struct section section_sync = {
    SECTION_COLUMNS(columns),
    .state_size = sizeof(struct sync),
    SECTION_STATE_TALLY(struct wait),
    .sources = {TRACE_SYNC | TRACE_API},
    .comparable =
        {.noun = "wait", .keys = {"kind"}, .total = "total", .count = "count", .each = "med", .floor = FLOOR_HOST},
    .sort = "total",
    .categories = CATEGORY_BIT(CATEGORY_CUDA_SYNC),
    .indexes = {.calls = true},
    .init = init,
    .event = event,
    .gather = gather,
    .release = release,
};
