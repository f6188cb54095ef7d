#include <stdint.h>

#include "common/ordered_loop.h"
#include "analysis/heap.h"
#include "analysis/trace.h"

/*
 * How long streams and devices were busy: the unions of their operations' times. Operations come nearly in order, but
 * those of a device are of several streams and processes; so what a stream did without a gap is one piece, and the
 * pieces of all are put in order.
 */

struct piece {
    int64_t start, end;
    uint32_t stream, device; /* indices */
};

static int by_start(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

void trace_busy_init(struct trace *trace)
{
    sorter_init(&trace->pieces, trace->room, sizeof(struct piece), by_start);
}

static int end_piece(struct trace *trace, struct trace_stream *stream)
{
    struct piece piece = {
        .start = stream->piece_start,
        .end = stream->piece_end,
        .stream = (uint32_t)(stream - trace->streams.items),
        .device = stream->device,
    };
    return sorter_add(&trace->pieces, &piece);
}

int trace_busy_add(struct trace *trace, struct trace_stream *stream, int64_t start, int64_t end)
{
    if (stream->has_piece && start >= stream->piece_start && start <= stream->piece_end) {
        stream->piece_end = end > stream->piece_end ? end : stream->piece_end;
        return 0;
    }
    if (stream->has_piece && end_piece(trace, stream) < 0)
        return -1;
    stream->has_piece = true;
    stream->piece_start = start;
    stream->piece_end = end;
    return 0;
}

/* Adds what of START to END is after *UNTIL; pieces come by their start. */
static void add_busy(int64_t *total, int64_t *until, int64_t start, int64_t end)
{
    int64_t from = start > *until ? start : *until;
    if (end <= from)
        return;
    *total += end - from;
    *until = end;
}

int trace_busy_finish(struct trace *trace)
{
    struct sorter_walk walk;
    const struct piece *piece;
    for (size_t i = 0; i < trace->streams.count; i++) {
        struct trace_stream *stream = &trace->streams.items[i];
        stream->until = INT64_MIN;
        if (stream->has_piece && end_piece(trace, stream) < 0)
            return -1;
    }
    for (size_t i = 0; i < trace->devices.count; i++)
        trace->devices.items[i].until = INT64_MIN;
    if (sorter_ready(&trace->pieces) < 0)
        return -1;
    sorter_walk_begin(&walk, &trace->pieces);
    while ((piece = sorter_next(&walk))) {
        struct trace_stream *stream = &trace->streams.items[piece->stream];
        struct trace_device *device = &trace->devices.items[piece->device];
        add_busy(&stream->busy_total, &stream->until, piece->start, piece->end);
        add_busy(&device->busy_total, &device->until, piece->start, piece->end);
    }
    return sorter_walk_end(&walk);
}

static int make(void *context, size_t number, unsigned slot, unsigned worker)
{
    const struct job *job = &((const struct job *)context)[number];
    (void)slot, (void)worker;
    return job->run(job->context) < 0 ? -1 : 0;
}

static int take(void *context, size_t number, unsigned slot)
{
    (void)context, (void)number, (void)slot;
    return 0;
}

int jobs_run(const struct job *jobs, size_t count, unsigned workers)
{
    struct ordered_loop pieces = {.count = count, .make = make, .take = take, .context = (void *)(uintptr_t)jobs};
    pieces.workers = workers < count ? workers : (unsigned)count;
    return ordered_loop_run(&pieces);
}

/* What is to be done with a trace after its last event. */

static int ready_calls(void *context)
{
    return sorter_ready(&((struct trace *)context)->calls.sorter);
}

static int ready_gpu_ops(void *context)
{
    return sorter_ready(&((struct trace *)context)->gpu_ops.sorter);
}

static int finish_ranges(void *context)
{
    struct trace *trace = context;
    return trace->ranges.wanted ? ranges_finish(&trace->ranges, trace->end) : 0;
}

void trace_sum_times(struct trace *trace)
{
    struct trace_times all = trace->times;
    if (trace->gpu_op_times.any)
        trace_times_widen(&all, trace->gpu_op_times.first, trace->gpu_op_times.last);
    trace->start = all.first;
    trace->end = all.last;
    trace->any = all.any;
}

static void count_gpu_ops(struct trace *trace)
{
    for (size_t i = 0; i < trace->streams.count; i++)
        for (unsigned category = 0; category <= CATEGORY_GPU_GRAPH; category++)
            trace->counts[category] += trace->streams.items[i].gpu_ops[category];
}

int trace_finish(struct trace *trace, unsigned workers)
{
    const struct job jobs[] = {{finish_ranges, trace}, {ready_calls, trace}, {ready_gpu_ops, trace}};
    trace_sum_times(trace);
    count_gpu_ops(trace);
    for (size_t i = 0; i < trace->processes.count; i++)
        trace->host_processes += trace->processes.items[i].host;
    trace->compiling_total = busy_total(&trace->compiling);
    int status = jobs_run(jobs, sizeof(jobs) / sizeof(*jobs), workers);
    if (status < 0 || !trace->launched_ops.wanted || trace->ranges.count == 0)
        return status;
    status = launched_ops_gather(&trace->launched_ops, &trace->gpu_ops, &trace->calls);
    return status ? status : autograd_attribute(&trace->autograd, &trace->ranges, &trace->launched_ops);
}

static int finish_busy(void *context)
{
    return trace_busy_finish(context);
}

static int finish_heap(void *context)
{
    struct trace *trace = context;
    return trace->heap ? heap_finish(trace->heap) : 0;
}

size_t trace_last_jobs(struct trace *trace, struct job jobs[TRACE_LAST_JOBS])
{
    jobs[0] = (struct job){finish_busy, trace};
    jobs[1] = (struct job){finish_heap, trace};
    return TRACE_LAST_JOBS;
}
