/*
 * What ranges of one name started on each stream: the spans from the first to the last work of a range, how much of
 * them the stream was busy with work of the range, and how many works and kernels these were. Inner ranges count in
 * their outer ones too. A trace without ranges of the host has its own rows of spans on the GPU, and these count.
 */
#include "tool/report/section.h"
#include "tool/report/series.h"

#define COLUMNS(X)                                                             \
    X(TOTAL, "total", "Total", NS, COLUMN_APART)                               \
    X(BUSY, "busy", "Busy", NS, COLUMN_APART | COLUMN_OPTIONAL)                \
    X(COUNT, "count", "Spans", COUNT, 0)                                       \
    X(WORKS, "works", "Works", COUNT, COLUMN_OPTIONAL)                         \
    X(KERNELS, "kernels", "Kernels", COUNT, COLUMN_OPTIONAL)                   \
    SUMMARY_COLUMNS(X, NS)                                                     \
    X(DEVICE, "device", "GPU", NUMBER, 0)                                      \
    X(CONTEXT, "context", "Context", NUMBER, COLUMN_OPTIONAL | COLUMN_MACHINE) \
    X(STREAM, "stream", "Stream", NUMBER, COLUMN_OPTIONAL)                     \
    X(KIND, "kind", "Kind", TEXT, 0)                                           \
    X(DOMAIN, "domain", "Domain", TEXT, COLUMN_OPTIONAL)                       \
    X(NAME, "name", "Name", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

struct gpu_key {
    uint64_t name, domain, started;
    int64_t device, context, stream;
};

struct gpu_group {
    struct series spans;
    int64_t busy, works, kernels;
};

/* One range on one stream. */
struct span {
    int64_t start, end;
    int64_t busy;
    int64_t busy_until; /* works come by their start */
    int64_t works, kernels;
};

struct gpu {
    struct groups span_ids; /* struct span_id */
    ARRAY(struct span) spans;
    struct groups groups;
    ARRAY(struct gpu_group) rows;
    /* Of the trace's own rows */
    struct groups own_groups;
    ARRAY(struct gpu_group) own_rows;
};

struct span_id {
    uint64_t range, stream;
};

/* A row of the GPU in a trace that has no more than it. */
static int event(void *state, const struct trace *trace, const struct trace_event *event)
{
    (void)trace;
    struct gpu *gpu = state;
    if (event->phase != 'X' || event->name == EVENT_NO_TEXT)
        return 0;
    bool plain = !event_id_is_text(event->thread) && event_id_value(event->thread) < TRACE_EXTRA_TID;
    struct gpu_key key = {.name = event->name,
                          .domain = event->domain,
                          .device = trace_event_device(event),
                          .context = event->context,
                          .stream = plain ? event_id_value(event->thread) : EVENT_NONE};
    struct gpu_group *group = groups_item(&gpu->own_groups, &key, &gpu->own_rows);
    return group ? series_add(&group->spans, event->duration) : -1;
}

struct joining {
    struct gpu *gpu;
    const struct work *work;
};

static int join(void *context, uint32_t range)
{
    const struct joining *joining = context;
    const struct work *work = joining->work;
    struct span_id id = {range, work->stream};
    int64_t end = work->start + work->duration;
    size_t before = joining->gpu->spans.count;
    struct span *span = groups_item(&joining->gpu->span_ids, &id, &joining->gpu->spans);
    if (!span)
        return -1;
    if (joining->gpu->spans.count > before)
        *span = (struct span){.start = work->start, .end = end, .busy_until = work->start};
    int64_t from = work->start > span->busy_until ? work->start : span->busy_until;
    if (end > from) {
        span->busy += end - from;
        span->busy_until = end;
    }
    span->end = end > span->end ? end : span->end;
    span->works++;
    span->kernels += work->kernel;
    return 0;
}

static int add_span(struct gpu *gpu, const struct trace *trace, size_t index)
{
    const struct span_id *id = groups_key(&gpu->span_ids, index);
    const struct range *range = &trace->ranges.items.items[id->range];
    const struct trace_stream_id *stream = trace_stream_id(trace, id->stream);
    const struct span *span = &gpu->spans.items[index];
    struct gpu_key key = {.name = range->name,
                          .domain = range->domain,
                          .started = range->started,
                          .device = stream->device,
                          .context = stream->context,
                          .stream = stream->stream};
    struct gpu_group *group = groups_item(&gpu->groups, &key, &gpu->rows);
    if (!group)
        return -1;
    group->busy += span->busy;
    group->works += span->works;
    group->kernels += span->kernels;
    return series_add(&group->spans, span->end - span->start);
}

static int work(void *state, const struct trace *trace, const struct work *work, const struct call *call)
{
    struct joining joining = {state, work};
    return call ? ranges_around(&trace->ranges, call, join, &joining) : 0;
}

static int put_row(const struct trace *trace, struct table *table, const struct gpu_key *key, struct gpu_group *group)
{
    struct summary summary = series_summary(&group->spans);
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    row[COLUMN_TOTAL] = cell_integer(summary.total);
    row[COLUMN_COUNT] = cell_integer(summary.count);
    if (group->works) {
        row[COLUMN_BUSY] = cell_integer(group->busy);
        row[COLUMN_WORKS] = cell_integer(group->works);
        row[COLUMN_KERNELS] = cell_integer(group->kernels);
    }
    table_put_summary(&row[COLUMN_AVG], &summary);
    row[COLUMN_DEVICE] = trace_number_cell(key->device);
    row[COLUMN_CONTEXT] = trace_number_cell(key->context);
    row[COLUMN_STREAM] = trace_number_cell(key->stream);
    row[COLUMN_KIND] = table_text(table, key->started ? "start/end" : "range");
    row[COLUMN_DOMAIN] = trace_text_cell(trace, table, (uint32_t)key->domain);
    row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)key->name);
    return 0;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct gpu *gpu = state;
    for (size_t i = 0; i < gpu->spans.count; i++)
        if (add_span(gpu, trace, i) < 0)
            return -1;
    for (size_t i = 0; i < gpu->rows.count; i++)
        if (put_row(trace, table, groups_key(&gpu->groups, i), &gpu->rows.items[i]) < 0)
            return -1;
    for (size_t i = 0; i < gpu->own_rows.count && trace->ranges.items.count == 0; i++)
        if (put_row(trace, table, groups_key(&gpu->own_groups, i), &gpu->own_rows.items[i]) < 0)
            return -1;
    return 0;
}

static void release(void *state)
{
    struct gpu *gpu = state;
    for (size_t i = 0; i < gpu->rows.count; i++)
        series_release(&gpu->rows.items[i].spans);
    for (size_t i = 0; i < gpu->own_rows.count; i++)
        series_release(&gpu->own_rows.items[i].spans);
    array_release(&gpu->rows);
    array_release(&gpu->own_rows);
    array_release(&gpu->spans);
    groups_release(&gpu->groups);
    groups_release(&gpu->own_groups);
    groups_release(&gpu->span_ids);
}

const struct section section_nvtx_gpu = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sort = "total",
    .categories = EVENT_BIT(EVENT_GPU_RANGE),
    .state_size = sizeof(struct gpu),
    .ranges = true,
    .event = event,
    .work = work,
    .finish = finish,
    .release = release,
};
