/*
 * From the call to the operation: how long the API call took, how long the operation waited from the end of the call to
 * its start (0 when it started before the call returned), and how long it ran. Call and operation are joined by
 * correlation id; every node of a graph is joined with the launch of the graph.
 */
#include "analysis/section.h"

struct latency_row {
    struct series api, queue, gpu;
    int64_t unmatched;
};

static const struct column columns[] = {
    COLUMN_COUNT("calls", "Calls", COLUMN_SUM, latency_row, gpu),
    {"api_avg", "API avg", TYPE_NS, 0, fill_average, FROM_ITEM(latency_row, api)},
    {"api_med", "API med", TYPE_NS, 0, fill_median, FROM_ITEM(latency_row, api)},
    {"api_max", "API max", TYPE_NS, 0, fill_max, FROM_ITEM(latency_row, api)},
    {"queue_avg", "Queue avg", TYPE_NS, 0, fill_average, FROM_ITEM(latency_row, queue)},
    {"queue_med", "Queue med", TYPE_NS, 0, fill_median, FROM_ITEM(latency_row, queue)},
    {"queue_max", "Queue max", TYPE_NS, 0, fill_max, FROM_ITEM(latency_row, queue)},
    {"gpu_avg", "GPU avg", TYPE_NS, 0, fill_average, FROM_ITEM(latency_row, gpu)},
    {"gpu_med", "GPU med", TYPE_NS, 0, fill_median, FROM_ITEM(latency_row, gpu)},
    {"gpu_max", "GPU max", TYPE_NS, 0, fill_max, FROM_ITEM(latency_row, gpu)},
    {"unmatched", "No call", TYPE_COUNT, COLUMN_OPTIONAL | COLUMN_SUM, fill_some, FROM_ITEM(latency_row, unmatched)},
    COLUMN_NAME,
};

static struct latency_row *row_of(void *rows, uint32_t name)
{
    const struct name_key key = {name};
    return tally_item((struct tally *)rows, &key, struct latency_row);
}

/* Rows stand in the order in which their first operation came. */
static int event(void *state, const struct trace *trace, const struct trace_event *event)
{
    (void)trace;
    return row_of(state, event->name) ? 0 : -1;
}

static int join(void *state, const struct trace *trace, const struct gpu_op *op, const struct call *call)
{
    struct latency_row *row = row_of(state, op->name);
    (void)trace;
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

const struct section section_latency = {
    SECTION_COLUMNS(columns), SECTION_TALLY(struct latency_row, 3), .sources = {TRACE_GPU_WORK, TRACE_API},
    .sort = "queue_avg",      .categories = EVENT_GPU_WORK,         .event = event,
    .gpu_op = join,
};
