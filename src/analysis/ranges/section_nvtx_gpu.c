/*
 * The section nvtx-gpu shows what ranges of one name launched on each stream: how long the stream was busy with it, the
 * spans from the first to the last GPU operation of a range, and the numbers of operations and kernels. Operations of
 * inner ranges also count for their outer ranges. Operations of graphs have rows of their own, by the ranges in which
 * they were captured. If a trace has no ranges of the host, the spans on its GPU rows are shown instead.
 */
#include "common/extents.h"
#include "common/array.h"
#include "common/map.h"
#include "analysis/engine/trace_known.h"
#include "analysis/ranges/range_rows.h"
#include "analysis/engine/section.h"

/* A stream. Streams of several processes with equal numbers share a place. */
struct place {
    int64_t device, context, stream;
};

static struct place place_of(const struct trace *trace, uint32_t stream)
{
    const struct trace_stream_id *id = trace_stream_id(trace, stream);
    return (struct place){id->device, id->context, id->stream};
}

/* The key begins with a struct range_kind for RANGE_KIND_COLUMNS. */
struct gpu_key {
    struct range_kind kind;
    struct place place;
};

struct gpu_group {
    TALLY_SERIES(spans);
    int64_t operations, kernels;
    uint32_t kind, place; /* numbers in gpu.kinds and gpu.places */
};

/* The operations that one range launched on one stream. A range that was started on one thread and ended on another has
 * a span for each thread. */
struct stream_span {
    int64_t start, end;
    uint32_t range; /* number of the range; NO_RANGE: outside of ranges */
    uint32_t kind;
    uint32_t stream; /* index in trace.streams */
    uint32_t operations, kernels;
};

#define NO_RANGE UINT32_MAX /* see struct stream_span */

struct gpu {
    struct tally rows;         /* struct gpu_group by struct gpu_key */
    const struct trace *trace; /* while operations are gathered */
    struct dense_map kinds, places;
    struct extents extents;                /* operations and ranges by thread, while they are gathered */
    FILE_VECTOR(uint32_t) kinds_of_ranges; /* by number of the range */
    struct sorter spans;                   /* by range, then stream */
    struct range_busy busy;                /* by kind and place */
};

/* Reads a span on a GPU row, which counts if the trace has no ranges of the host. */
static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct gpu *gpu = state;
    if (event->phase != 'X' || event->name == EVENT_NO_TEXT)
        return 0;
    bool plain = !event_id_is_text(event->thread) && !trace_in_extra_row(event);
    struct gpu_key key = {.kind = {event->name, event_range(event)->domain, RANGE_NESTED},
                          .place = {trace_event_device(event), event_gpu(event)->context,
                                    plain ? event_id_value(event->thread) : FIELD_ABSENT}};
    struct gpu_group *group = tally_item(&gpu->rows, &key, struct gpu_group);
    return group ? series_add(&group->spans, event->duration) : -1;
}

/* --- the spans of ranges --- */

ORDER_BY(by_range_and_stream, struct stream_span, range, stream, start)

static uint32_t row_of(void *state, struct range_walk *walk)
{
    struct gpu *gpu = state;
    const struct range *range = &walk->open.items[walk->open.count - 1].range;
    const struct range_kind key = range_kind_of(range);
    uint32_t kind = dense_map_number(&gpu->kinds, &key, sizeof(key));
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
    const struct place place = place_of(gpu->trace, op->stream);
    return dense_map_number(&gpu->places, &place, sizeof(place));
}

static uint32_t captured_row(void *state, uint32_t name)
{
    struct gpu *gpu = state;
    const struct range_kind kind = RANGE_KIND_CAPTURED(name);
    return dense_map_number(&gpu->kinds, &kind, sizeof(kind));
}

static int add_operation(void *state, const struct launched_op *op, bool outside)
{
    struct gpu *gpu = state;
    /* Add the operation to the rows of the ranges in which it was captured. These rows have no spans, because a range
     * was captured once, but its operations run at each launch. */
    const struct captured *captured = &gpu->trace->captured;
    const struct captured_path *path = op->captured ? captured_path(captured, op->captured) : NULL;
    for (uint32_t i = 0; path && i < path->count; i++) {
        uint32_t name = captured->names.items[path->first + i];
        struct gpu_key key = {.kind = RANGE_KIND_CAPTURED(name), .place = place_of(gpu->trace, op->stream)};
        struct gpu_group *group = tally_item(&gpu->rows, &key, struct gpu_group);
        if (!group)
            return -1;
        group->kind = captured_row(gpu, name);
        group->place = dense_map_number(&gpu->places, &key.place, sizeof(key.place));
        group->operations++;
        group->kernels += op->kernel;
    }
    const struct extent extent = {op->start, op->start + op->duration, 1, op->kernel};
    const struct extents_point point = {.at = op->called, .line = op->thread, .track = op->stream, .extent = extent};
    const struct stream_span one = {.start = extent.start,
                                    .end = extent.end,
                                    .range = NO_RANGE,
                                    .kind = RANGE_ROW_OUTSIDE,
                                    .stream = op->stream,
                                    .operations = 1,
                                    .kernels = op->kernel};
    return outside ? sorter_add(&gpu->spans, &one) : extents_add(&gpu->extents, &point);
}

static int add_stream_span(void *state, uint32_t range, uint32_t stream, const struct extent *extent)
{
    struct gpu *gpu = state;
    const struct stream_span one = {.start = extent->start,
                                    .end = extent->end,
                                    .range = range,
                                    .kind = gpu->kinds_of_ranges.items[range],
                                    .stream = stream,
                                    .operations = extent->count,
                                    .kernels = extent->marked};
    return sorter_add(&gpu->spans, &one);
}

/* --- spans of a range on a stream --- */

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
    return series_add(&TALLY_AT(&gpu->rows, struct gpu_group, span->row)->spans, span->end - span->start);
}

static int join_span(struct gpu *gpu, const struct trace *trace, const struct stream_span *one, struct span *span)
{
    bool another = !span->any || one->range != span->range || one->stream != span->stream;
    if (another) {
        if (end_span(gpu, span) < 0)
            return -1;
        struct gpu_key key = {.kind = *(const struct range_kind *)dense_map_row(&gpu->kinds, one->kind),
                              .place = place_of(trace, one->stream)};
        struct gpu_group *group = tally_item(&gpu->rows, &key, struct gpu_group);
        if (!group)
            return -1;
        group->kind = one->kind;
        group->place = dense_map_number(&gpu->places, &key.place, sizeof(key.place));
        *span = (struct span){.range = one->range,
                              .stream = one->stream,
                              .row = (uint32_t)(group - TALLY_AT(&gpu->rows, struct gpu_group, 0)),
                              .start = one->start,
                              .end = one->start,
                              .any = true};
    }
    struct gpu_group *group = TALLY_AT(&gpu->rows, struct gpu_group, span->row);
    span->end = one->end > span->end ? one->end : span->end;
    group->operations += one->operations;
    group->kernels += one->kernels;
    return 0;
}

static int gather(void *state, const struct trace *trace)
{
    struct gpu *gpu = state;
    if (!trace_has_ranges(trace))
        return 0;
    tally_release(&gpu->rows, sizeof(struct gpu_group), TALLY_SERIES_COUNT(struct gpu_group)); /* the trace's own */
    gpu->trace = trace;
    sorter_init(&gpu->spans, trace->space, sizeof(struct stream_span), by_range_and_stream);
    extents_init(&gpu->extents, temporary_directory());
    gpu->kinds_of_ranges.memory.directory = temporary_directory();
    const struct range_kind outside = RANGE_KIND_OUTSIDE;
    const struct range_rows rows = {.trace = trace,
                                    .limit = RANGE_ROWS_LIMIT,
                                    .context = gpu,
                                    .row = row_of,
                                    .gpu = gpu_of,
                                    .captured = captured_row,
                                    .operation = add_operation};
    bool known = dense_map_number(&gpu->kinds, &outside, sizeof(outside)) == RANGE_ROW_OUTSIDE;
    int status =
        (known ? range_rows_gather(&rows, &gpu->busy) : -1) ?: extents_each(&gpu->extents, add_stream_span, gpu);
    extents_release(&gpu->extents);
    file_vector_release(&gpu->kinds_of_ranges);
    status = status ?: sorter_ready(&gpu->spans);
    if (status == 0) {
        struct span span = {0};
        const struct stream_span *one;
        status = SORTER_EACH(&gpu->spans, one, join_span(gpu, trace, one, &span)) ?: end_span(gpu, &span);
    }
    sorter_release(&gpu->spans);
    return status;
}

/* --- rows --- */

/* Shows the busy time. It is not known for spans of GPU rows; then the cell is empty. */
static struct cell fill_busy(struct report_row *row, const struct column *column)
{
    struct gpu *gpu = row->state;
    const struct gpu_group *group = row->item;
    bool known = trace_has_ranges(row->trace) && range_busy_total(&gpu->busy, group->kind) != RANGE_BUSY_UNKNOWN;
    return known ? cell_integer(range_busy_on(&gpu->busy, group->kind, group->place)) : (struct cell){0};
}

static struct cell fill_kernels(struct report_row *row, const struct column *column)
{
    const struct gpu_group *group = row->item;
    bool is_unrecorded = row->trace->unrecorded & TRACE_KERNEL;
    if (!group->operations)
        return (struct cell){0};
    return is_unrecorded ? (struct cell){.kind = CELL_UNRECORDED} : fill_number(row, column);
}

static const struct column columns[] = {
    {"gpu_busy", "GPU busy", TYPE_NS, COLUMN_APART | COLUMN_OPTIONAL, .fill = fill_busy},
    {"gpu_span", "GPU span", TYPE_NS, COLUMN_APART, fill_total, FROM_ITEM(gpu_group, spans)},
    {"count", "Spans", TYPE_COUNT, 0, fill_some, FROM_ITEM(gpu_group, spans.count)},
    {"gpu_ops", "GPU ops", TYPE_COUNT, COLUMN_OPTIONAL, fill_some, FROM_ITEM(gpu_group, operations)},
    {"kernels", "Kernels", TYPE_COUNT, COLUMN_OPTIONAL, fill_kernels, FROM_ITEM(gpu_group, kernels)},
    COLUMNS_SUMMARY(" span", TYPE_NS, gpu_group, spans),
    {"device", "GPU", TYPE_NUMBER, 0, fill_number, FROM_KEY(gpu_key, place.device)},
    {"context", "Context", TYPE_NUMBER, COLUMN_OPTIONAL | COLUMN_MACHINE, fill_number,
     FROM_KEY(gpu_key, place.context)},
    {"stream", "Stream", TYPE_NUMBER, COLUMN_OPTIONAL, fill_number, FROM_KEY(gpu_key, place.stream)},
    RANGE_KIND_COLUMNS,
};

static void release(void *state)
{
    struct gpu *gpu = state;
    dense_map_release(&gpu->kinds);
    dense_map_release(&gpu->places);
    sorter_release(&gpu->spans);
    range_busy_release(&gpu->busy);
}

const struct section section_nvtx_gpu = {
    SECTION_COLUMNS(columns),
    .state_size = sizeof(struct gpu),
    SECTION_STATE_TALLY(struct gpu_group),
    .sources = {TRACE_NVTX, TRACE_GPU_WORK, TRACE_API},
    .sort = "gpu_busy",
    .categories = CATEGORY_BIT(CATEGORY_GPU_USER_ANNOTATION),
    .indexes = {.ranges = true, .launched_ops = true},
    .event = event,
    .gather = gather,
    .release = release,
};
