/*
 * The section nvtx shows NVTX ranges (and PyTorch's record_function) by name: their time on the host, and how long GPUs
 * were busy with the operations launched in them. Graph nodes that were captured in a range have a row of their own.
 * Ranges nest, so there are no sums. If a trace has a range only on the row of a GPU, its span there is shown.
 */
#include "analysis/ranges/range_rows.h"
#include "analysis/engine/section.h"

struct range_key {
    uint64_t name, domain;
};

struct range_group {
    TALLY_SERIES(nested, async, gpu); /* times of: push and pop; start and end; spans on a GPU */
    int64_t marks;
    int64_t open;        /* starts without an end so far */
    int64_t nested_open; /* pushes without a pop */
    bool other;          /* a range is of another category, for which launches are not known */
};

struct nvtx {
    struct tally ranges;        /* struct range_group by struct range_key */
    struct dense_map busy_rows; /* struct range_kind */
    struct range_busy busy;
    struct range_starts open; /* by category and id; `number` is that of the range_group */
};

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct nvtx *nvtx = state;
    if (event->phase == 'e') {
        if (event->id == EVENT_NO_ID)
            return 0;
        struct range open;
        if (!range_starts_pop(&nvtx->open, range_key(event), event->name, &open))
            return 0;
        struct range_group *range = TALLY_AT(&nvtx->ranges, struct range_group, open.number);
        range->open--;
        return series_add(&range->async, event->start > open.start ? event->start - open.start : 0);
    }
    if (event->name == EVENT_NO_TEXT || (category_in(event->category, CATEGORIES_OTHER) && event->phase != 'b'))
        return 0;
    struct range_key key = {event->name, event_range(event)->domain};
    struct range_group *range = tally_item(&nvtx->ranges, &key, struct range_group);
    if (!range)
        return -1;
    switch (event->phase) {
    case 'X':
        range->nested_open += event_range(event)->open_at_end == 1 && event->category == CATEGORY_USER_ANNOTATION;
        return series_add(event->category == CATEGORY_GPU_USER_ANNOTATION ? &range->gpu : &range->nested,
                          event->duration);
    case 'b':
        range->other |= category_in(event->category, CATEGORIES_OTHER);
        if (event->id == EVENT_NO_ID)
            return 0;
        struct range *open = range_starts_push(&nvtx->open, range_key(event));
        if (!open)
            return -1;
        open->start = event->start;
        open->number = (uint32_t)(range - TALLY_AT(&nvtx->ranges, struct range_group, 0));
        open->name = event->name;
        range->open++;
        return 0;
    case 'i':
    case 'I': range->marks++; return 0;
    default: return 0;
    }
}

/* --- GPU busy time --- */

static uint32_t busy_row(struct nvtx *nvtx, const struct range_kind *kind)
{
    return dense_map_number(&nvtx->busy_rows, kind, sizeof(*kind));
}

static uint32_t row_of(void *state, struct range_walk *walk)
{
    const struct range_kind kind = range_kind_of(&walk->open.items[walk->open.count - 1].range);
    return busy_row(state, &kind);
}

static uint32_t captured_row(void *state, uint32_t name)
{
    const struct range_kind kind = RANGE_KIND_CAPTURED(name);
    return busy_row(state, &kind);
}

static int gather(void *state, const struct trace *trace)
{
    struct nvtx *nvtx = state;
    const struct range_rows rows = {
        .trace = trace, .limit = RANGE_ROWS_LIMIT, .context = nvtx, .row = row_of, .captured = captured_row};
    return busy_row(nvtx, &RANGE_KIND_OUTSIDE) == RANGE_ROW_OUTSIDE ? range_rows_gather(&rows, &nvtx->busy) : -1;
}

/* Returns the busy time of a row. The cell is empty if the trace has no GPU operation. */
static struct cell busy_cell(struct nvtx *nvtx, const struct range_kind *kind)
{
    if (nvtx->busy.totals.count == 0)
        return (struct cell){0};
    return range_rows_cell(&nvtx->busy, busy_row(nvtx, kind));
}

/* --- rows --- */

/* A row: the ranges of one name and form. */
struct range_row {
    struct series host; /* of the range_group; empty for marks and operations */
    struct cell total, count, busy, span, spans;
    int64_t open;
};

static const struct column columns[] = {
    {"total", "Total", TYPE_NS, COLUMN_APART, fill_cell, FROM_ITEM(range_row, total)},
    {"gpu_busy", "GPU busy", TYPE_NS, COLUMN_OPTIONAL | COLUMN_APART, fill_cell, FROM_ITEM(range_row, busy)},
    {"gpu_span", "GPU span", TYPE_NS, COLUMN_OPTIONAL | COLUMN_APART, fill_cell, FROM_ITEM(range_row, span)},
    {"count", "Count", TYPE_COUNT, 0, fill_cell, FROM_ITEM(range_row, count)},
    COLUMNS_SUMMARY("", TYPE_NS, range_row, host),
    {"gpu_count", "GPU spans", TYPE_COUNT, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(range_row, spans)},
    {"open", "Not ended", TYPE_COUNT, COLUMN_OPTIONAL, fill_some, FROM_ITEM(range_row, open)},
    RANGE_KIND_COLUMNS,
};

static struct range_row timed_row(const struct series *times, int64_t open, struct cell busy)
{
    return (struct range_row){.host = *times,
                              .total = cell_integer(times->total),
                              .count = cell_integer(times->count),
                              .open = open,
                              .busy = busy};
}

static void finish(struct report_row *row)
{
    struct nvtx *nvtx = row->state;
    for (uint32_t i = 0; i < nvtx->ranges.count; i++) {
        /* Add a row for each form of the ranges of a name. */
        const struct range_key *key = dense_map_row(&nvtx->ranges.keys, i);
        const struct range_group *range = TALLY_AT(&nvtx->ranges, struct range_group, i);
        const struct range_kind kinds[] = {{key->name, key->domain, RANGE_NESTED},
                                           {key->name, key->domain, RANGE_STARTED},
                                           {key->name, key->domain, RANGE_MARK},
                                           {key->name, key->domain, RANGE_NESTED}};
        struct cell busy = busy_cell(nvtx, &kinds[0]), async_busy = busy_cell(nvtx, &kinds[1]);
        const struct range_row rows[] = {
            timed_row(&range->nested, range->nested_open, busy),
            timed_row(&range->async, range->open, range->other ? (struct cell){0} : async_busy),
            {.count = cell_integer(range->marks)},
            {.count = cell_integer(0), .span = cell_integer(range->gpu.total), .spans = cell_integer(range->gpu.count)},
        };
        bool async = range->async.count || range->open, on_host = range->nested.count || async;
        const bool wanted[] = {range->nested.count > 0, async, range->marks > 0, range->gpu.count > 0 && !on_host};
        for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
            if (wanted[k])
                section_row(row, &kinds[k], &rows[k]);
    }
    /* Add the rows of operations that were captured in ranges of one name. */
    for (uint32_t i = 0; i < nvtx->busy_rows.count; i++) {
        const struct range_kind kind = *(const struct range_kind *)dense_map_row(&nvtx->busy_rows, i);
        const struct range_row captured = {.busy = range_rows_cell(&nvtx->busy, i)};
        if (kind.form == RANGE_CAPTURED)
            section_row(row, &kind, &captured);
    }
    const struct range_kind outside = RANGE_KIND_OUTSIDE;
    const struct range_row operations = {.busy = busy_cell(nvtx, &outside)};
    if (range_busy_total(&nvtx->busy, RANGE_ROW_OUTSIDE))
        section_row(row, &outside, &operations);
}

static void release(void *state)
{
    struct nvtx *nvtx = state;
    range_starts_release(&nvtx->open);
    dense_map_release(&nvtx->busy_rows);
    range_busy_release(&nvtx->busy);
}

const struct section section_nvtx = {
    SECTION_COLUMNS(columns),
    .state_size = sizeof(struct nvtx),
    SECTION_STATE_TALLY(struct range_group),
    .sources = {TRACE_NVTX},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .comparable = {.noun = "range",
                   .keys = {"domain", "name"},
                   .total = "total",
                   .count = "count",
                   .each = "med",
                   .floor = FLOOR_HOST},
    .sort = "total",
    .categories =
        CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_GPU_USER_ANNOTATION) | CATEGORIES_OTHER,
    .indexes = {.ranges = true, .launched_ops = true},
    .event = event,
    .gather = gather,
    .finish = finish,
    .release = release,
};
