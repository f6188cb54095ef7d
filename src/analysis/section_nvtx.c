/*
 * NVTX ranges (and PyTorch's record_function) by name: their time on the host, and how long GPUs were busy with what
 * was launched in them. Ranges nest, so there are no sums. Where a trace has a range on the GPU alone, as a row of its
 * own, that span is shown.
 */
#include "analysis/range_rows.h"
#include "analysis/section.h"
#include "analysis/series.h"

#define COLUMNS(X)                                                          \
    X(TOTAL, "total", "Total", NS, COLUMN_APART)                            \
    X(GPU_BUSY, "gpu_busy", "GPU busy", NS, COLUMN_OPTIONAL | COLUMN_APART) \
    X(GPU_SPAN, "gpu_span", "GPU span", NS, COLUMN_OPTIONAL | COLUMN_APART) \
    X(COUNT, "count", "Count", COUNT, 0)                                    \
    SUMMARY_COLUMNS(X, NS)                                                  \
    X(GPU_COUNT, "gpu_count", "GPU spans", COUNT, COLUMN_OPTIONAL)          \
    X(OPEN, "open", "Not ended", COUNT, COLUMN_OPTIONAL)                    \
    X(KIND, "kind", "Kind", TEXT, 0)                                        \
    X(DOMAIN, "domain", "Domain", TEXT, COLUMN_OPTIONAL)                    \
    X(NAME, "name", "Name", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

struct range_key {
    uint64_t name, domain;
};

struct range_group {
    struct series nested, async, gpu; /* push and pop; start and end */
    int64_t marks;
    int64_t open;        /* starts whose end has not come */
    int64_t nested_open; /* pushes without a pop */
    bool other;          /* one is of another category: what was launched in it is not known */
};

struct open_range {
    int64_t start;
    uint32_t group;
    uint32_t next; /* index + 1: the start before, of the same id; of a free entry, the next free one */
};

/* Ranges that GPU busy time is added up for. */
struct busy_key {
    uint64_t name, domain, kind;
};
enum { NESTED, STARTED, OUTSIDE }; /* kinds: push and pop; start and end; in no range */

struct nvtx {
    const struct trace *trace; /* while operations are gathered */
    struct groups busy_rows;   /* struct busy_key */
    struct range_busy busy;
    struct groups groups;
    ARRAY(struct range_group) ranges;
    struct map open_by_id; /* category and id -> index + 1 in open of the last start */
    ARRAY(struct open_range) open;
    uint32_t free; /* index + 1 of the first free entry of open */
};

/* Chrome's asynchronous events are of one range when category and id are equal. */
static uint64_t async_key(const struct event_fields *event)
{
    return event->id ^ (uint64_t)event->category << 56;
}

static int start_range(struct nvtx *nvtx, const struct event_fields *event, uint32_t group)
{
    uint64_t *innermost = map_put(&nvtx->open_by_id, async_key(event), NULL);
    struct open_range *open = NULL;
    if (innermost && nvtx->free) {
        open = &nvtx->open.items[nvtx->free - 1];
        nvtx->free = open->next;
    } else if (innermost) {
        open = array_push(&nvtx->open);
    }
    if (!open)
        return -1;
    *open = (struct open_range){.start = event->start, .group = group, .next = (uint32_t)*innermost};
    *innermost = (uint64_t)(open - nvtx->open.items) + 1;
    nvtx->ranges.items[group].open++;
    return 0;
}

static int end_range(struct nvtx *nvtx, const struct event_fields *event)
{
    uint64_t *innermost = map_get(&nvtx->open_by_id, async_key(event));
    if (!innermost)
        return 0;
    uint32_t index = (uint32_t)*innermost;
    struct open_range *open = &nvtx->open.items[index - 1];
    struct range_group *range = &nvtx->ranges.items[open->group];
    if (open->next)
        *innermost = open->next;
    else
        map_remove(&nvtx->open_by_id, async_key(event));
    open->next = nvtx->free;
    nvtx->free = index;
    range->open--;
    return series_add(&range->async, event->start > open->start ? event->start - open->start : 0);
}

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    (void)trace;
    struct nvtx *nvtx = state;
    if (event->phase == 'e')
        return event->id != EVENT_NO_ID ? end_range(nvtx, event) : 0;
    if (event->name == EVENT_NO_TEXT || (category_in(event->category, CATEGORIES_OTHER) && event->phase != 'b'))
        return 0;
    struct range_key key = {event->name, event->domain};
    struct range_group *range = groups_item(&nvtx->groups, &key, &nvtx->ranges);
    if (!range)
        return -1;
    switch (event->phase) {
    case 'X':
        range->nested_open += event->open_at_end == 1 && event->category == CATEGORY_USER_ANNOTATION;
        return series_add(event->category == CATEGORY_GPU_USER_ANNOTATION ? &range->gpu : &range->nested,
                          event->duration);
    case 'b':
        range->other |= category_in(event->category, CATEGORIES_OTHER);
        return event->id != EVENT_NO_ID ? start_range(nvtx, event, (uint32_t)(range - nvtx->ranges.items)) : 0;
    case 'i':
    case 'I': range->marks++; return 0;
    default: return 0;
    }
}

/* --- GPU busy time --- */

static uint32_t busy_row(struct nvtx *nvtx, const struct busy_key *key)
{
    return groups_number(&nvtx->busy_rows, key, sizeof(*key));
}

static uint32_t row_of(void *state, struct range_walk *walk)
{
    const struct range *range = &walk->open.items[walk->open.count - 1].range;
    struct busy_key key = {range->name, range->domain, range->started ? STARTED : NESTED};
    return busy_row(state, &key);
}

static uint32_t gpu_of(void *state, const struct launched_op *op)
{
    const struct nvtx *nvtx = state;
    return nvtx->trace->streams.items[op->stream].device;
}

static const struct busy_key outside = {EVENT_NO_TEXT, EVENT_NO_TEXT, OUTSIDE};

static int gather(void *state, const struct trace *trace)
{
    struct nvtx *nvtx = state;
    if (trace->ranges.count == 0)
        return 0;
    nvtx->trace = trace;
    if (busy_row(nvtx, &outside) != RANGE_ROW_OUTSIDE)
        return -1;
    const struct range_rows rows = {.ranges = &trace->ranges,
                                    .gpu_ops = &trace->launched_ops,
                                    .room = trace->room,
                                    .limit = RANGE_ROWS_LIMIT,
                                    .context = nvtx,
                                    .row = row_of,
                                    .gpu = gpu_of};
    return range_rows_gather(&rows, &nvtx->busy);
}

/* Empty where the trace has no GPU operation. */
static struct cell busy_cell(struct nvtx *nvtx, const struct busy_key *key)
{
    if (nvtx->busy.totals.count == 0)
        return (struct cell){0};
    return range_rows_cell(&nvtx->busy, busy_row(nvtx, key));
}

/* --- rows --- */

struct row_facts {
    const char *kind;
    struct series *host; /* NULL: takes no time */
    int64_t count, open;
    struct cell busy;
    const struct series *span; /* NULL: not of this row */
};

static int write_row(const struct trace *trace, struct table *table, const struct range_key *key,
                     const struct row_facts *facts)
{
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    row[COLUMN_COUNT] = cell_integer(facts->count);
    if (facts->host) {
        struct summary summary = series_summary(facts->host);
        row[COLUMN_TOTAL] = cell_integer(summary.total);
        table_write_summary(&row[COLUMN_AVG], &summary);
    }
    row[COLUMN_GPU_BUSY] = facts->busy;
    if (facts->span) {
        row[COLUMN_GPU_SPAN] = cell_integer(facts->span->total);
        row[COLUMN_GPU_COUNT] = cell_integer(facts->span->count);
    }
    if (facts->open)
        row[COLUMN_OPEN] = cell_integer(facts->open);
    row[COLUMN_KIND] = table_text(table, facts->kind);
    row[COLUMN_DOMAIN] = trace_text_cell(trace, table, (uint32_t)key->domain);
    row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)key->name);
    return 0;
}

/* A row for each kind of range of that name. */
static int write_rows(struct nvtx *nvtx, const struct trace *trace, struct table *table, const struct range_key *key,
                      struct range_group *range)
{
    bool async = range->async.count || range->open, on_host = range->nested.count || async;
    const struct busy_key nested = {key->name, key->domain, NESTED}, started = {key->name, key->domain, STARTED};
    const struct row_facts rows[] = {
        {.kind = "range",
         .host = &range->nested,
         .count = range->nested.count,
         .open = range->nested_open,
         .busy = busy_cell(nvtx, &nested)},
        {.kind = "start/end",
         .host = &range->async,
         .count = range->async.count,
         .open = range->open,
         .busy = range->other ? (struct cell){0} : busy_cell(nvtx, &started)},
        {.kind = "mark", .count = range->marks},
        {.kind = "range", .span = &range->gpu},
    };
    const bool wanted[] = {range->nested.count > 0, async, range->marks > 0, range->gpu.count > 0 && !on_host};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (wanted[i] && write_row(trace, table, key, &rows[i]) < 0)
            return -1;
    return 0;
}

static int write_outside(struct nvtx *nvtx, struct table *table)
{
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    row[COLUMN_GPU_BUSY] = busy_cell(nvtx, &outside);
    row[COLUMN_KIND] = table_text(table, "outside");
    row[COLUMN_NAME] = table_text(table, RANGE_OUTSIDE);
    return 0;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct nvtx *nvtx = state;
    for (size_t i = 0; i < nvtx->ranges.count; i++)
        if (write_rows(nvtx, trace, table, groups_key(&nvtx->groups, i), &nvtx->ranges.items[i]) < 0)
            return -1;
    return range_busy_total(&nvtx->busy, busy_row(nvtx, &outside)) ? write_outside(nvtx, table) : 0;
}

static void release(void *state)
{
    struct nvtx *nvtx = state;
    for (size_t i = 0; i < nvtx->ranges.count; i++) {
        series_release(&nvtx->ranges.items[i].nested);
        series_release(&nvtx->ranges.items[i].async);
        series_release(&nvtx->ranges.items[i].gpu);
    }
    array_release(&nvtx->ranges);
    array_release(&nvtx->open);
    map_release(&nvtx->open_by_id);
    groups_release(&nvtx->busy_rows);
    range_busy_release(&nvtx->busy);
    groups_release(&nvtx->groups);
}

const struct section section_nvtx = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_NVTX},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .sort = "total",
    .categories =
        CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_GPU_USER_ANNOTATION) | CATEGORIES_OTHER,
    .state_size = sizeof(struct nvtx),
    .ranges = true,
    .launched_ops = true,
    .event = event,
    .gather = gather,
    .finish = finish,
    .release = release,
};
