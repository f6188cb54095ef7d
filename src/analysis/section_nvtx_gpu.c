/*
 * What ranges of one name launched on each stream: how long the stream was busy with it, the spans from the first to
 * the last GPU operation of a range, and how many operations and kernels these were. What inner ranges launched counts
 * in their outer ones too. A trace without ranges of the host has its own rows of spans on the GPU, and these count.
 */
#include "common/extents.h"
#include "analysis/range_rows.h"
#include "analysis/section.h"
#include "analysis/series.h"

#define COLUMNS(X)                                                             \
    X(GPU_BUSY, "gpu_busy", "GPU busy", NS, COLUMN_APART | COLUMN_OPTIONAL)    \
    X(GPU_SPAN, "gpu_span", "GPU span", NS, COLUMN_APART)                      \
    X(COUNT, "count", "Spans", COUNT, 0)                                       \
    X(OPERATIONS, "gpu_ops", "GPU ops", COUNT, COLUMN_OPTIONAL)                \
    X(KERNELS, "kernels", "Kernels", COUNT, COLUMN_OPTIONAL)                   \
    X(AVG, "avg", "Avg span", NS, 0)                                           \
    X(MED, "med", "Med span", NS, 0)                                           \
    X(MIN, "min", "Min span", NS, 0)                                           \
    X(MAX, "max", "Max span", NS, 0)                                           \
    X(STDDEV, "stddev", "StdDev span", NS, 0)                                  \
    X(DEVICE, "device", "GPU", NUMBER, 0)                                      \
    X(CONTEXT, "context", "Context", NUMBER, COLUMN_OPTIONAL | COLUMN_MACHINE) \
    X(STREAM, "stream", "Stream", NUMBER, COLUMN_OPTIONAL)                     \
    X(KIND, "kind", "Kind", TEXT, 0)                                           \
    X(DOMAIN, "domain", "Domain", TEXT, COLUMN_OPTIONAL)                       \
    X(NAME, "name", "Name", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

/* What the ranges of a row have in common. */
struct kind {
    uint64_t name, domain, form;
};
enum { NESTED, STARTED, OUTSIDE }; /* forms: push and pop; start and end; in no range */

struct gpu_key {
    struct kind kind;
    int64_t device, context, stream;
};

struct gpu_group {
    struct series spans;
    int64_t operations, kernels;
    uint32_t kind, place; /* of the busy time */
};

/* Streams of several processes that have the same numbers are one. */
struct place {
    int64_t device, context, stream;
};

/* The part of a range that is on one stream. A range that was started on one thread and ended on another has a part
 * for each. */
struct part {
    int64_t start, end;
    uint32_t range; /* its number */
    uint32_t kind;
    uint32_t stream; /* index in trace.streams */
    uint32_t operations, kernels;
};

#define NO_RANGE UINT32_MAX /* instead of a range's number */

struct gpu {
    const struct trace *trace; /* while operations are gathered */
    struct groups kinds, places;
    struct extents extents;                /* operations and ranges by thread, while they are gathered */
    FILE_VECTOR(uint32_t) kinds_of_ranges; /* by the ranges' numbers */
    struct sorter parts;                   /* by range, then stream */
    struct groups groups;
    ARRAY(struct gpu_group) rows;
    struct range_busy busy; /* by kind and place */
    /* Of the trace's own rows */
    struct groups own_groups;
    ARRAY(struct gpu_group) own_rows;
};

/* A span of the GPU's own row, in a trace that has no ranges of the host. */
static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    (void)trace;
    struct gpu *gpu = state;
    if (event->phase != 'X' || event->name == EVENT_NO_TEXT)
        return 0;
    bool plain = !event_id_is_text(event->thread) && event_id_value(event->thread) < TRACE_EXTRA_TID;
    struct gpu_key key = {.kind = {event->name, event->domain, NESTED},
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

static uint32_t row_of(void *state, struct range_walk *walk)
{
    struct gpu *gpu = state;
    const struct range *range = &walk->open.items[walk->open.count - 1].range;
    const struct kind key = {range->name, range->domain, range->started ? STARTED : NESTED};
    uint32_t kind = groups_number(&gpu->kinds, &key, sizeof(key));
    while (gpu->kinds_of_ranges.count <= range->number)
        if (!file_vector_push(&gpu->kinds_of_ranges))
            return RANGE_ROW_NONE;
    gpu->kinds_of_ranges.items[range->number] = kind;
    if (extents_span(&gpu->extents, range->thread, range->start, range->end, range->number) < 0)
        return RANGE_ROW_NONE;
    return kind;
}

static uint32_t gpu_of(void *state, const struct launched_op *op)
{
    struct gpu *gpu = state;
    const struct trace_stream_id *stream = trace_stream_id(gpu->trace, op->stream);
    const struct place place = {stream->device, stream->context, stream->stream};
    return groups_number(&gpu->places, &place, sizeof(place));
}

static int add_operation(void *state, const struct launched_op *op, bool outside)
{
    struct gpu *gpu = state;
    const struct extent extent = {op->start, op->start + op->duration, 1, op->kernel};
    const struct extents_point point = {.at = op->called, .line = op->thread, .track = op->stream, .extent = extent};
    const struct part part = {.start = extent.start,
                              .end = extent.end,
                              .range = NO_RANGE,
                              .kind = RANGE_ROW_OUTSIDE,
                              .stream = op->stream,
                              .operations = 1,
                              .kernels = op->kernel};
    return outside ? sorter_add(&gpu->parts, &part) : extents_add(&gpu->extents, &point);
}

static int add_part(void *state, uint32_t range, uint32_t stream, const struct extent *extent)
{
    struct gpu *gpu = state;
    const struct part part = {.start = extent->start,
                              .end = extent->end,
                              .range = range,
                              .kind = gpu->kinds_of_ranges.items[range],
                              .stream = stream,
                              .operations = extent->count,
                              .kernels = extent->marked};
    return sorter_add(&gpu->parts, &part);
}

/* --- spans: what of one range is on one stream --- */

struct span {
    uint32_t range, stream;
    uint32_t row;
    int64_t start, end;
    bool any;
};

static int end_span(struct gpu *gpu, const struct span *span)
{
    if (!span->any || span->range == NO_RANGE)
        return 0;
    return series_add(&gpu->rows.items[span->row].spans, span->end - span->start);
}

static int begin_span(struct gpu *gpu, const struct trace *trace, const struct part *part, struct span *span)
{
    const struct trace_stream_id *stream = trace_stream_id(trace, part->stream);
    struct gpu_key key = {.kind = *(const struct kind *)groups_key(&gpu->kinds, part->kind),
                          .device = stream->device,
                          .context = stream->context,
                          .stream = stream->stream};
    struct gpu_group *group = groups_item(&gpu->groups, &key, &gpu->rows);
    if (!group)
        return -1;
    const struct place place = {stream->device, stream->context, stream->stream};
    group->kind = part->kind;
    group->place = groups_number(&gpu->places, &place, sizeof(place));
    *span = (struct span){.range = part->range,
                          .stream = part->stream,
                          .row = (uint32_t)(group - gpu->rows.items),
                          .start = part->start,
                          .end = part->start,
                          .any = true};
    return 0;
}

static void widen(struct gpu *gpu, struct span *span, const struct part *part)
{
    struct gpu_group *group = &gpu->rows.items[span->row];
    span->end = part->end > span->end ? part->end : span->end;
    group->operations += part->operations;
    group->kernels += part->kernels;
}

static int join_part(struct gpu *gpu, const struct trace *trace, const struct part *part, struct span *span)
{
    bool another = !span->any || part->range != span->range || part->stream != span->stream;
    if (another && (end_span(gpu, span) < 0 || begin_span(gpu, trace, part, span) < 0))
        return -1;
    widen(gpu, span, part);
    return 0;
}

static int join_parts(struct gpu *gpu, const struct trace *trace)
{
    struct span span = {0};
    struct sorter_walk walk;
    const struct part *part;
    int status = 0;
    sorter_walk_begin(&walk, &gpu->parts);
    while (status == 0 && (part = sorter_next(&walk)))
        status = join_part(gpu, trace, part, &span);
    if (status == 0)
        status = end_span(gpu, &span);
    int walked = sorter_walk_end(&walk);
    return status ? status : walked;
}

static int gather_parts(struct gpu *gpu, const struct trace *trace)
{
    static const struct kind outside = {EVENT_NO_TEXT, EVENT_NO_TEXT, OUTSIDE};
    const struct range_rows rows = {.ranges = &trace->ranges,
                                    .gpu_ops = &trace->launched_ops,
                                    .room = trace->room,
                                    .limit = RANGE_ROWS_LIMIT,
                                    .context = gpu,
                                    .row = row_of,
                                    .gpu = gpu_of,
                                    .operation = add_operation};
    if (groups_number(&gpu->kinds, &outside, sizeof(outside)) != RANGE_ROW_OUTSIDE)
        return -1;
    int status = range_rows_gather(&rows, &gpu->busy);
    return status ? status : extents_each(&gpu->extents, add_part, gpu);
}

static int gather(void *state, const struct trace *trace)
{
    struct gpu *gpu = state;
    if (trace->ranges.count == 0)
        return 0;
    gpu->trace = trace;
    sorter_init(&gpu->parts, trace->room, sizeof(struct part), by_range_and_stream);
    extents_init(&gpu->extents, sorter_directory());
    gpu->kinds_of_ranges.memory.directory = sorter_directory();
    int status = gather_parts(gpu, trace);
    extents_release(&gpu->extents);
    file_vector_release(&gpu->kinds_of_ranges);
    if (status == 0)
        status = sorter_ready(&gpu->parts);
    if (status == 0)
        status = join_parts(gpu, trace);
    sorter_release(&gpu->parts);
    return status;
}

/* --- rows --- */

static int write_row(const struct trace *trace, struct table *table, const struct gpu_key *key, struct gpu_group *group,
                     struct cell busy)
{
    static const char *const forms[] = {[NESTED] = "range", [STARTED] = "start/end", [OUTSIDE] = "outside"};
    struct summary summary = series_summary(&group->spans);
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    row[COLUMN_GPU_BUSY] = busy;
    if (summary.count) {
        row[COLUMN_GPU_SPAN] = cell_integer(summary.total);
        row[COLUMN_COUNT] = cell_integer(summary.count);
    }
    if (group->operations) {
        row[COLUMN_OPERATIONS] = cell_integer(group->operations);
        row[COLUMN_KERNELS] = trace_count_cell(trace, TRACE_KERNEL, group->kernels);
    }
    table_write_summary(&row[COLUMN_AVG], &summary);
    row[COLUMN_DEVICE] = trace_number_cell(key->device);
    row[COLUMN_CONTEXT] = trace_number_cell(key->context);
    row[COLUMN_STREAM] = trace_number_cell(key->stream);
    row[COLUMN_KIND] = table_text(table, forms[key->kind.form]);
    row[COLUMN_DOMAIN] = trace_text_cell(trace, table, (uint32_t)key->kind.domain);
    if (key->kind.form == OUTSIDE)
        row[COLUMN_NAME] = table_text(table, RANGE_OUTSIDE);
    else
        row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)key->kind.name);
    return 0;
}

static struct cell busy_cell(struct gpu *gpu, const struct gpu_group *group)
{
    bool known = range_busy_total(&gpu->busy, group->kind) != RANGE_BUSY_UNKNOWN;
    return known ? cell_integer(range_busy_on(&gpu->busy, group->kind, group->place)) : (struct cell){0};
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct gpu *gpu = state;
    const struct cell unknown = {0};
    for (size_t i = 0; i < gpu->rows.count; i++)
        if (write_row(trace, table, groups_key(&gpu->groups, i), &gpu->rows.items[i],
                      busy_cell(gpu, &gpu->rows.items[i])) < 0)
            return -1;
    for (size_t i = 0; i < gpu->own_rows.count && trace->ranges.count == 0; i++)
        if (write_row(trace, table, groups_key(&gpu->own_groups, i), &gpu->own_rows.items[i], unknown) < 0)
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
    groups_release(&gpu->places);
    sorter_release(&gpu->parts);
    range_busy_release(&gpu->busy);
}

const struct section section_nvtx_gpu = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_NVTX, TRACE_GPU_WORK, TRACE_API},
    .sort = "gpu_busy",
    .categories = CATEGORY_BIT(CATEGORY_GPU_USER_ANNOTATION),
    .state_size = sizeof(struct gpu),
    .ranges = true,
    .launched_ops = true,
    .event = event,
    .gather = gather,
    .finish = finish,
    .release = release,
};
