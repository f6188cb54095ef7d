/*
 * The section queue shows for each stream how many operations were launched and had not finished. Its part idle-streams
 * divides the time between the operations of a stream by cause, as HTA's idle time breakdown does.
 */
#include "analysis/base/cost_sum.h"
#include "analysis/engine/section.h"

#define QUEUE_LIMIT 1024 /* a launch blocks if so many operations are queued in its stream */
/* HTA's "consecutive kernel delay" is 30 by default, in the unit of times in a trace, microseconds. */
#define KERNEL_WAIT_NS 30000

struct stream_row {
    /* These fields are about the operations whose API calls are known. */
    int64_t launched, depth, most, most_at;
    int64_t queued;      /* ns: the sum of the operations' times in the queue */
    int64_t at_limit;    /* ns at QUEUE_LIMIT or above */
    int64_t from, time;  /* ns: the first launch; the last change of `depth` */
    ARRAY(int64_t) ends; /* of the operations in the queue: a heap with the earliest first */
    /* These fields are about all operations of the stream. */
    int64_t operations, end;
    int64_t host_wait, kernel_wait, other; /* ns */
};

struct queues {
    ARRAY(struct stream_row) rows; /* by index in trace.streams */
};

static void change(struct stream_row *row, int64_t time, int by)
{
    if (row->depth >= QUEUE_LIMIT)
        sum_add(&row->at_limit, time - row->time);
    row->depth += by;
    row->time = time;
}

/* Removes the operations that end by TIME from the queue. */
static void finish_until(struct stream_row *row, int64_t time)
{
    while (row->ends.count > 0 && row->ends.items[0] <= time) {
        change(row, row->ends.items[0] > row->time ? row->ends.items[0] : row->time, -1);
        size_t count = --row->ends.count, at = 0;
        int64_t last = row->ends.items[count];
        for (size_t child; (child = 2 * at + 1) < count; at = child) {
            if (child + 1 < count && row->ends.items[child + 1] < row->ends.items[child])
                child++;
            if (row->ends.items[child] >= last)
                break;
            row->ends.items[at] = row->ends.items[child];
        }
        row->ends.items[at] = last;
    }
}

/* Adds an operation; operations come by their start. If several threads launch into one stream, a launch may be before
 * the last change of the queue: it then counts from that change on. */
static int queue_op(struct stream_row *row, const struct timeline_op *op)
{
    int64_t called = op->called < op->start ? op->called : op->start;
    sum_add(&row->queued, op->end - called);
    if (row->launched++ == 0)
        row->time = row->from = called;
    row->from = called < row->from ? called : row->from;
    called = called < row->time ? row->time : called;
    finish_until(row, called);
    change(row, called, 1);
    if (row->depth > row->most) {
        row->most = row->depth;
        row->most_at = called;
    }
    if (!array_push(&row->ends))
        return -1;
    size_t at = row->ends.count - 1;
    for (; at > 0 && row->ends.items[(at - 1) / 2] > op->end; at = (at - 1) / 2)
        row->ends.items[at] = row->ends.items[(at - 1) / 2];
    row->ends.items[at] = op->end;
    return 0;
}

static int add_op(struct stream_row *row, const struct timeline_op *op)
{
    int64_t idle = op->start - row->end;
    if (row->operations++ > 0 && idle > 0) {
        if (op->called != FIELD_ABSENT && op->called > row->end)
            sum_add(&row->host_wait, idle);
        else
            sum_add(idle < KERNEL_WAIT_NS ? &row->kernel_wait : &row->other, idle);
    }
    row->end = row->operations == 1 || op->end > row->end ? op->end : row->end;
    return op->called == FIELD_ABSENT ? 0 : queue_op(row, op);
}

static int gather(void *context, const struct trace *trace)
{
    struct queues *queues = context;
    const struct timeline_op *op;
    while (queues->rows.count < trace->streams.count)
        if (!array_push(&queues->rows))
            return -1;
    int status = SORTER_EACH(&trace->timeline, op, add_op(&queues->rows.items[op->stream], op));
    for (size_t i = 0; i < queues->rows.count; i++)
        finish_until(&queues->rows.items[i], INT64_MAX);
    return status;
}

static void release(void *context)
{
    struct queues *queues = context;
    for (size_t i = 0; i < queues->rows.count; i++)
        array_release(&queues->rows.items[i].ends);
    array_release(&queues->rows);
}

/* --- the tables --- */

struct line {
    struct stream_row stream;
    int64_t gpu, number; /* of the stream */
    struct cell mean, limit_share, idle, host_share, kernel_share, other_share;
};

static const struct column queue_columns[] = {
    {"max", "Max", TYPE_COUNT, 0, fill_number, FROM_ITEM(line, stream.most)},
    {"at", "At", TYPE_NS, COLUMN_APART, fill_time, FROM_ITEM(line, stream.most_at)},
    {"mean", "Mean", TYPE_MEAN, 0, fill_cell, FROM_ITEM(line, mean)},
    {"at_limit", "At 1024", TYPE_NS, 0, fill_number, FROM_ITEM(line, stream.at_limit)},
    {"limit_share", "Share", TYPE_PERCENT, 0, fill_cell, FROM_ITEM(line, limit_share)},
    {"launched", "Launched", TYPE_COUNT, 0, fill_number, FROM_ITEM(line, stream.launched)},
    {"gpu", "GPU", TYPE_NUMBER, 0, fill_number, FROM_ITEM(line, gpu)},
    {"stream", "Stream", TYPE_NUMBER, 0, fill_number, FROM_ITEM(line, number)},
};

static const struct column idle_columns[] = {
    {"idle", "Idle", TYPE_NS, COLUMN_SUM, fill_cell, FROM_ITEM(line, idle)},
    {"host_wait", "Host wait", TYPE_NS, COLUMN_SUM, fill_number, FROM_ITEM(line, stream.host_wait)},
    {"kernel_wait", "Kernel wait", TYPE_NS, COLUMN_SUM, fill_number, FROM_ITEM(line, stream.kernel_wait)},
    {"other", "Other", TYPE_NS, COLUMN_SUM, fill_number, FROM_ITEM(line, stream.other)},
    {"host_wait_share", "Host wait", TYPE_PERCENT, 0, fill_cell, FROM_ITEM(line, host_share)},
    {"kernel_wait_share", "Kernel wait", TYPE_PERCENT, 0, fill_cell, FROM_ITEM(line, kernel_share)},
    {"other_share", "Other", TYPE_PERCENT, 0, fill_cell, FROM_ITEM(line, other_share)},
    {"gpu", "GPU", TYPE_NUMBER, 0, fill_number, FROM_ITEM(line, gpu)},
    {"stream", "Stream", TYPE_NUMBER, 0, fill_number, FROM_ITEM(line, number)},
};

/* Returns PART as a share of WHOLE, or an empty cell if WHOLE is 0. */
static struct cell part_cell(int64_t part, int64_t whole)
{
    return whole > 0 ? cell_share(part, whole) : (struct cell){0};
}

/* Fills both tables. The section queue is the one with a state; it has rows only for streams with known calls. */
static void finish(struct report_row *row)
{
    const struct queues *queues = section_state(row->trace, REPORT_QUEUE);
    for (size_t i = 0; i < queues->rows.count; i++) {
        const struct stream_row *stream = &queues->rows.items[i];
        const struct trace_stream_id *id = trace_stream_id(row->trace, i);
        int64_t span = stream->time - stream->from, idle = stream->host_wait + stream->kernel_wait + stream->other;
        const struct line line = {
            .stream = *stream,
            .gpu = id->device,
            .number = id->stream,
            .mean = span > 0 ? cell_real((double)stream->queued / (double)span) : (struct cell){0},
            .limit_share = cell_share(stream->at_limit, span),
            .idle = cell_integer(idle),
            .host_share = part_cell(stream->host_wait, idle),
            .kernel_share = part_cell(stream->kernel_wait, idle),
            .other_share = part_cell(stream->other, idle),
        };
        if ((row->state ? stream->launched : stream->operations) > 0)
            section_row(row, NULL, &line);
    }
}

const struct section section_queue = {
    SECTION_COLUMNS(queue_columns),
    .state_size = sizeof(struct queues),
    .sources = {TRACE_GPU_WORK, TRACE_API},
    .parts = TRACE_GPU_WORK | TRACE_API,
    .sort = "max",
    .indexes = {.timeline = true},
    .gather = gather,
    .finish = finish,
    .release = release,
};

const struct section section_idle_streams = {
    SECTION_COLUMNS(idle_columns),       .sources = {TRACE_GPU_WORK},
    .parts = TRACE_GPU_WORK | TRACE_API, .sort = "idle",
    .needs = REPORT_BIT(REPORT_QUEUE),   .finish = finish,
};
