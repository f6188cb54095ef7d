/*
 * What ranges of one name started on each stream: the spans from the first to the last work of a range, how much of
 * them the stream was busy with work of the range, and how many works and kernels these were. Inner ranges count in
 * their outer ones too. A trace without ranges of the host has its own rows of spans on the GPU, and these count.
 */
#include "tool/report/range_walk.h"
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

/* What the ranges of a row have in common. */
struct kind {
    uint64_t name, domain, started;
};

/* A work as part of a range, which has its number. */
struct part {
    int64_t start, duration;
    uint32_t range, kind;
    uint32_t stream; /* index in trace.streams */
    bool kernel;
};

struct gpu {
    struct groups kinds;
    struct sorter parts; /* by range, then stream, then start */
    struct groups groups;
    ARRAY(struct gpu_group) rows;
    /* Of the trace's own rows */
    struct groups own_groups;
    ARRAY(struct gpu_group) own_rows;
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

/* --- the parts of ranges --- */

static int by_range_and_stream(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->range != b->range)
        return a->range < b->range ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

static int add_part(struct gpu *gpu, const struct range *range, const struct called_work *work)
{
    struct kind kind = {range->name, range->domain, range->started};
    struct part part = {.start = work->start,
                        .duration = work->duration,
                        .range = range->number,
                        .kind = groups_number(&gpu->kinds, &kind, sizeof(kind)),
                        .stream = work->stream,
                        .kernel = work->kernel};
    return part.kind == GROUPS_NO_MEMORY ? -1 : sorter_add(&gpu->parts, &part);
}

static int add_parts(void *state, struct range_walk *ranges, const struct called_work *work)
{
    struct gpu *gpu = state;
    while (range_walk_open(ranges, work->thread, work->called))
        ;
    size_t place = ranges->open.count;
    for (; (place = range_walk_around(ranges, work->thread, work->called, place)) > 0; place--)
        if (add_part(gpu, &ranges->open.items[place - 1].range, work) < 0)
            return -1;
    return 0;
}

/* --- spans: what of one range is on one stream --- */

struct span {
    uint32_t range, kind, stream;
    int64_t start, end;
    int64_t busy;
    int64_t works, kernels; /* 0: there is no span yet */
};

static int end_span(struct gpu *gpu, const struct trace *trace, const struct span *span)
{
    if (span->works == 0)
        return 0;
    const struct kind *kind = groups_key(&gpu->kinds, span->kind);
    const struct trace_stream_id *stream = trace_stream_id(trace, span->stream);
    struct gpu_key key = {.name = kind->name,
                          .domain = kind->domain,
                          .started = kind->started,
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

static void widen(struct span *span, const struct part *part)
{
    int64_t end = part->start + part->duration, from = part->start > span->end ? part->start : span->end;
    if (end > from) {
        span->busy += end - from;
        span->end = end;
    }
    span->works++;
    span->kernels += part->kernel;
}

static int join_parts(struct gpu *gpu, const struct trace *trace)
{
    struct span span = {0};
    struct sorter_walk walk;
    const struct part *part;
    int status = 0;
    sorter_walk_begin(&walk, &gpu->parts);
    while (status == 0 && (part = sorter_next(&walk))) {
        if (span.works == 0 || part->range != span.range || part->stream != span.stream) {
            status = end_span(gpu, trace, &span);
            span = (struct span){.range = part->range,
                                 .kind = part->kind,
                                 .stream = part->stream,
                                 .start = part->start,
                                 .end = part->start};
        }
        widen(&span, part);
    }
    if (status == 0)
        status = end_span(gpu, trace, &span);
    int walked = sorter_walk_end(&walk);
    return status ? status : walked;
}

static int gather(void *state, const struct trace *trace)
{
    struct gpu *gpu = state;
    if (trace->ranges.count == 0)
        return 0;
    sorter_init(&gpu->parts, trace->room, sizeof(struct part), by_range_and_stream);
    int status = range_walk_works(&trace->ranges, false, &trace->called_works, add_parts, gpu);
    if (status == 0)
        status = sorter_ready(&gpu->parts);
    if (status == 0)
        status = join_parts(gpu, trace);
    sorter_release(&gpu->parts);
    return status;
}

/* --- rows --- */

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
        row[COLUMN_KERNELS] = trace_count_cell(trace, TRACE_KERNEL, group->kernels);
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
    for (size_t i = 0; i < gpu->rows.count; i++)
        if (put_row(trace, table, groups_key(&gpu->groups, i), &gpu->rows.items[i]) < 0)
            return -1;
    for (size_t i = 0; i < gpu->own_rows.count && trace->ranges.count == 0; i++)
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
    groups_release(&gpu->groups);
    groups_release(&gpu->own_groups);
    groups_release(&gpu->kinds);
    sorter_release(&gpu->parts);
}

const struct section section_nvtx_gpu = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_NVTX, TRACE_GPU_WORK, TRACE_API},
    .sort = "total",
    .categories = EVENT_BIT(EVENT_GPU_RANGE),
    .state_size = sizeof(struct gpu),
    .ranges = true,
    .called_works = true,
    .event = event,
    .gather = gather,
    .finish = finish,
    .release = release,
};
