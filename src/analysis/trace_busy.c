/*
 * How long streams and devices were busy: the unions of their works' times. Works come nearly in order, but those of a
 * device are of several streams and processes; so what a stream did without a gap is one piece, and the pieces of all
 * are put in order.
 */
#include "analysis/trace.h"

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
static void add(int64_t *total, int64_t *until, int64_t start, int64_t end)
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
        add(&stream->busy_total, &stream->until, piece->start, piece->end);
        add(&device->busy_total, &device->until, piece->start, piece->end);
    }
    return sorter_walk_end(&walk);
}
