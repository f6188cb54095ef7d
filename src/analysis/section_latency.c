/*
 * From the call to the operation: how long the API call took, how long the operation waited from the end of the call to
 * its start (0 when it started before the call returned), and how long it ran. Call and operation are joined by
 * correlation id; every node of a graph is joined with the launch of the graph.
 */
#include "analysis/section.h"
#include "analysis/series.h"

#define COLUMNS(X)                                                            \
    X(CALLS, "calls", "Calls", COUNT, COLUMN_SUM)                             \
    X(API_AVG, "api_avg", "API avg", NS, 0)                                   \
    X(API_MED, "api_med", "API med", NS, 0)                                   \
    X(API_MAX, "api_max", "API max", NS, 0)                                   \
    X(QUEUE_AVG, "queue_avg", "Queue avg", NS, 0)                             \
    X(QUEUE_MED, "queue_med", "Queue med", NS, 0)                             \
    X(QUEUE_MAX, "queue_max", "Queue max", NS, 0)                             \
    X(GPU_AVG, "gpu_avg", "GPU avg", NS, 0)                                   \
    X(GPU_MED, "gpu_med", "GPU med", NS, 0)                                   \
    X(GPU_MAX, "gpu_max", "GPU max", NS, 0)                                   \
    X(UNMATCHED, "unmatched", "No call", COUNT, COLUMN_OPTIONAL | COLUMN_SUM) \
    X(NAME, "name", "Name", TEXT, 0)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

struct latency_row {
    struct series api, queue, gpu;
    int64_t unmatched;
};

struct latency {
    struct groups groups; /* of names */
    ARRAY(struct latency_row) rows;
};

/* Rows stand in the order in which their first operation came. */
static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    (void)trace;
    struct latency *latency = state;
    uint64_t key = event->name;
    return groups_item(&latency->groups, &key, &latency->rows) ? 0 : -1;
}

static int join(void *state, const struct trace *trace, const struct gpu_op *op, const struct call *call)
{
    (void)trace;
    struct latency *latency = state;
    uint64_t key = op->name;
    struct latency_row *row = groups_item(&latency->groups, &key, &latency->rows);
    if (!row)
        return -1;
    if (!call) {
        row->unmatched++;
        return 0;
    }
    int64_t queue = op->start > call->end ? op->start - call->end : 0;
    if (series_add(&row->api, call->end - call->start) < 0 || series_add(&row->queue, queue) < 0)
        return -1;
    return series_add(&row->gpu, op->duration);
}

/* Average, median and maximum into three cells. */
static void write_three(struct cell *cells, struct series *series)
{
    struct summary summary = series_summary(series);
    if (summary.count == 0)
        return;
    cells[0] = cell_real(summary.average);
    cells[1] = cell_real(summary.median);
    cells[2] = cell_integer(summary.max);
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct latency *latency = state;
    for (size_t i = 0; i < latency->rows.count; i++) {
        struct latency_row *found = &latency->rows.items[i];
        const uint64_t *name = groups_key(&latency->groups, i);
        struct cell *row = table_row(table);
        if (!row)
            return -1;
        row[COLUMN_CALLS] = cell_integer(found->gpu.count);
        write_three(&row[COLUMN_API_AVG], &found->api);
        write_three(&row[COLUMN_QUEUE_AVG], &found->queue);
        write_three(&row[COLUMN_GPU_AVG], &found->gpu);
        if (found->unmatched)
            row[COLUMN_UNMATCHED] = cell_integer(found->unmatched);
        row[COLUMN_NAME] = trace_text_cell(trace, table, (uint32_t)*name);
    }
    return 0;
}

static void release(void *state)
{
    struct latency *latency = state;
    for (size_t i = 0; i < latency->rows.count; i++) {
        series_release(&latency->rows.items[i].api);
        series_release(&latency->rows.items[i].queue);
        series_release(&latency->rows.items[i].gpu);
    }
    array_release(&latency->rows);
    groups_release(&latency->groups);
}

const struct section section_latency = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .sources = {TRACE_GPU_WORK, TRACE_API},
    .sort = "queue_avg",
    .categories = CATEGORIES_GPU_OPS,
    .state_size = sizeof(struct latency),
    .event = event,
    .gpu_op = join,
    .finish = finish,
    .release = release,
};
