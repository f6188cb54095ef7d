/*
 * NVTX ranges (and PyTorch's record_function) by name: their time on the host, and the time on the GPU that was
 * projected on them, from the first to the last work launched inside. Ranges nest, so there are no sums.
 */
#include "tool/report/section.h"
#include "tool/report/series.h"

#define COLUMNS(X)                                                             \
    X(TOTAL, "total", "Total", NS, COLUMN_APART)                               \
    X(COUNT, "count", "Count", COUNT, 0)                                       \
    SUMMARY_COLUMNS(X, NS)                                                     \
    X(GPU_TOTAL, "gpu_total", "GPU total", NS, COLUMN_OPTIONAL | COLUMN_APART) \
    X(GPU_COUNT, "gpu_count", "GPU spans", COUNT, COLUMN_OPTIONAL)             \
    X(OPEN, "open", "Not ended", COUNT, COLUMN_OPTIONAL)                       \
    X(KIND, "kind", "Kind", TEXT, 0)                                           \
    X(DOMAIN, "domain", "Domain", TEXT, COLUMN_OPTIONAL)                       \
    X(NAME, "name", "Name", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

struct range_key {
    uint64_t name, domain;
};

struct range_group {
    struct series nested, async, gpu; /* push and pop; start and end */
    int64_t marks;
    int64_t open; /* starts whose end has not come */
};

struct open_range {
    int64_t start;
    uint32_t group;
    uint32_t next; /* index + 1: the start before, of the same id; of a free entry, the next free one */
};

struct nvtx {
    struct groups groups;
    ARRAY(struct range_group) ranges;
    struct map open_by_id; /* category and id -> index + 1 in open of the last start */
    ARRAY(struct open_range) open;
    uint32_t free; /* index + 1 of the first free entry of open */
};

/* Chrome's asynchronous events are of one range when category and id are equal. */
static uint64_t async_key(const struct trace_event *event)
{
    return event->id ^ (uint64_t)event->category << 56;
}

static int start_range(struct nvtx *nvtx, const struct trace_event *event, uint32_t group)
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

static int end_range(struct nvtx *nvtx, const struct trace_event *event)
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

static int event(void *state, const struct trace *trace, const struct trace_event *event)
{
    (void)trace;
    struct nvtx *nvtx = state;
    if (event->phase == 'e')
        return event->id != EVENT_NO_ID ? end_range(nvtx, event) : 0;
    if (event->name == EVENT_NO_TEXT || (event->category == EVENT_OTHER && event->phase != 'b'))
        return 0;
    struct range_key key = {event->name, event->domain};
    struct range_group *range = groups_item(&nvtx->groups, &key, &nvtx->ranges);
    if (!range)
        return -1;
    switch (event->phase) {
    case 'X':
        range->open += event->open_at_end == 1 && event->category == EVENT_RANGE;
        return series_add(event->category == EVENT_GPU_RANGE ? &range->gpu : &range->nested, event->duration);
    case 'b': return event->id != EVENT_NO_ID ? start_range(nvtx, event, (uint32_t)(range - nvtx->ranges.items)) : 0;
    case 'i':
    case 'I': range->marks++; return 0;
    default: return 0;
    }
}

struct row_facts {
    const char *kind;
    struct series *host; /* NULL: takes no time */
    struct series *gpu;  /* NULL: not of this row */
    int64_t count, open;
};

static int put_row(const struct trace *trace, struct table *table, const struct range_key *key,
                   const struct row_facts *facts)
{
    struct cell *row = table_row(table);
    if (!row)
        return -1;
    row[COLUMN_COUNT] = cell_integer(facts->count);
    if (facts->host) {
        struct summary summary = series_summary(facts->host);
        row[COLUMN_TOTAL] = cell_integer(summary.total);
        table_put_summary(&row[COLUMN_AVG], &summary);
    }
    if (facts->gpu && facts->gpu->count) {
        row[COLUMN_GPU_TOTAL] = cell_integer(facts->gpu->total);
        row[COLUMN_GPU_COUNT] = cell_integer((int64_t)facts->gpu->count);
    }
    if (facts->open)
        row[COLUMN_OPEN] = cell_integer(facts->open);
    row[COLUMN_KIND] = table_text(table, facts->kind);
    row[COLUMN_DOMAIN] = trace_text_cell(trace, table, (uint32_t)key->domain);
    row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)key->name);
    return 0;
}

/* A row for each kind of range of that name; the GPU's time goes to the first. */
static int put_rows(const struct trace *trace, struct table *table, const struct range_key *key,
                    struct range_group *range)
{
    bool async = range->async.count || range->open;
    bool nested = range->nested.count || (range->gpu.count && !async);
    struct row_facts rows[] = {
        {"range", &range->nested, &range->gpu, (int64_t)range->nested.count, 0},
        {"start/end", &range->async, nested ? NULL : &range->gpu, (int64_t)range->async.count, range->open},
        {"mark", NULL, NULL, range->marks, 0},
    };
    bool wanted[] = {nested, async, range->marks > 0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (wanted[i] && put_row(trace, table, key, &rows[i]) < 0)
            return -1;
    return 0;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct nvtx *nvtx = state;
    for (size_t i = 0; i < nvtx->ranges.count; i++)
        if (put_rows(trace, table, groups_key(&nvtx->groups, i), &nvtx->ranges.items[i]) < 0)
            return -1;
    return 0;
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
    groups_release(&nvtx->groups);
}

const struct section section_nvtx = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_NVTX},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .sort = "total",
    .categories = EVENT_BIT(EVENT_RANGE) | EVENT_BIT(EVENT_GPU_RANGE) | EVENT_BIT(EVENT_OTHER),
    .state_size = sizeof(struct nvtx),
    .event = event,
    .finish = finish,
    .release = release,
};
