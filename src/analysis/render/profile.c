/*
 * One walk over the timeline adds busy time to the buckets of GPUs and streams, and operations to the windows around
 * findings. A walk over the calls adds calls to the windows of their threads.
 */
#include "analysis/render/profile.h"

#include <stdlib.h>

#include "common/array.h"
#include "analysis/engine/section.h"

/* Margins on both sides of a finding: a quarter of its length, but at least MARGIN_NS. */
#define MARGIN_NS INT64_C(250000)
#define MARGIN_PART 4
/* A launch is left out if it is farther away than LAUNCH_LENGTHS lengths of the window. */
#define LAUNCH_LENGTHS 3
/* Operations shorter than 1/180 of the window are joined if the gap between them is shorter than 1/400. */
#define SHORT_PART 180
#define GAP_PART 400

/* --- use over time --- */

static void add_to_line(const struct profile *profile, struct profile_line *line, const struct timeline_op *op,
                        enum profile_use use)
{
    for (unsigned i = use; i < PROFILE_USES; i++) {
        struct busy_sum *sum = &line->sums[i];
        int64_t grown = busy_sum_add(sum, op->start, op->end);
        int64_t from = sum->until - grown, at = from - profile->trace->start;
        for (size_t k = (size_t)(at / profile->width); grown > 0 && k < profile->buckets && from < sum->until; k++) {
            int64_t left = profile->width - at % profile->width; /* rest of the bucket */
            int64_t part = sum->until - from < left ? sum->until - from : left;
            line->busy[i][k] += part;
            from += part;
            at += part;
        }
    }
}

static struct profile_line *find_line(struct profile_line *lines, size_t count, uint32_t index)
{
    size_t at = COUNT_BEFORE(count, i, lines[i].index < index);
    return at < count && lines[at].index == index ? &lines[at] : NULL;
}

ORDER_BY(compare_lines, struct profile_line, index)

/* Adds a line for a stream. If there are too many lines, the new line replaces that of the stream with the least busy
 * time. */
static int add_stream(struct profile *profile, uint32_t index)
{
    struct profile_line *least = profile->streams.items;
    if (profile->streams.count < PROFILE_STREAMS) {
        struct profile_line *line = array_push(&profile->streams);
        if (line)
            line->index = index;
        return line ? 0 : -1;
    }
    const struct trace_stream *streams = profile->trace->streams.items;
    for (size_t i = 1; i < profile->streams.count; i++)
        if (streams[profile->streams.items[i].index].busy.total < streams[least->index].busy.total)
            least = &profile->streams.items[i];
    if (streams[least->index].busy.total < streams[index].busy.total)
        least->index = index;
    return 0;
}

static int choose_lines(struct profile *profile)
{
    const struct trace *trace = profile->trace;
    int64_t span = trace_span(trace);
    profile->width = span / PROFILE_BUCKETS + (span % PROFILE_BUCKETS > 0);
    profile->width = profile->width > 0 ? profile->width : 1;
    profile->buckets = (size_t)(span / profile->width + (span % profile->width > 0));
    for (uint32_t i = 0; i < trace->devices.count && profile->gpus.count < PROFILE_GPUS; i++) {
        struct profile_line *line = trace->devices.items[i].used ? array_push(&profile->gpus) : NULL;
        if (!line && trace->devices.items[i].used)
            return -1;
        if (line)
            line->index = i;
    }
    for (uint32_t i = 0; i < trace->streams.count; i++)
        if (trace->streams.items[i].busy.total > 0 && add_stream(profile, i) < 0)
            return -1;
    if (profile->streams.count > 1)
        qsort(profile->streams.items, profile->streams.count, sizeof(struct profile_line), compare_lines);
    return 0;
}

/* --- windows --- */

static void place_window(struct profile_window *window, const struct trace *trace, const struct finding_place *place)
{
    *window = (struct profile_window){.device = place->device, .stream = place->stream, .thread = place->thread};
    if (place->time == FIELD_ABSENT)
        return;
    window->any = true;
    window->at = place->time;
    window->until = place->until == FIELD_ABSENT || place->until < place->time ? place->time : place->until;
    int64_t margin = (window->until - window->at) / MARGIN_PART;
    margin = margin < MARGIN_NS ? MARGIN_NS : margin;
    window->from = window->at - trace->start < margin ? trace->start : window->at - margin;
    window->to = trace->end - window->until < margin ? trace->end : window->until + margin;
    int64_t launch = place->called == FIELD_ABSENT ? window->from : place->called;
    if (launch < window->from && (window->from - launch) / LAUNCH_LENGTHS < window->to - window->from)
        window->from = launch;
}

/* Adds OP to ROW. Joins it with the last operation if both are too short to be drawn separately, or if ROW is full. */
static int add_op(const struct profile_window *window, struct profile_row *row, const struct profile_op *op)
{
    struct profile_op *last = row->ops.count > 0 ? &row->ops.items[row->ops.count - 1] : NULL;
    int64_t length = window->to - window->from;
    int64_t start = op->start < window->from ? window->from : op->start;
    int64_t end = op->end > window->to ? window->to : op->end;
    bool is_short = last && end - start < length / SHORT_PART && last->longest < length / SHORT_PART &&
                    start - last->end < length / GAP_PART;
    if (is_short || row->ops.count == PROFILE_OPS) {
        last->end = end > last->end ? end : last->end;
        last->count++;
        if (op->longest <= last->longest)
            return 0;
        last->longest = op->longest;
        last->name = op->name;
        last->use = op->use;
        return 0;
    }
    last = array_push(&row->ops);
    if (!last)
        return -1;
    *last = *op;
    last->start = start;
    last->end = end;
    return 0;
}

/* Returns the row of STREAM in the window, or NULL if all rows are used. The finding's own stream always has a row. */
static struct profile_row *window_row(struct profile_window *window, uint32_t stream)
{
    if (window->row_count == 0 && window->stream != FIELD_ABSENT)
        window->rows[window->row_count++].index = (uint32_t)window->stream;
    for (size_t i = 0; i < window->row_count; i++)
        if (window->rows[i].index == stream)
            return &window->rows[i];
    if (window->row_count == PROFILE_ROWS)
        return NULL;
    window->rows[window->row_count].index = stream;
    return &window->rows[window->row_count++];
}

/* --- walks --- */

static int walk_ops(struct profile *profile)
{
    struct sorter_walk walk;
    const struct timeline_op *op;
    int status = 0;
    sorter_walk_begin(&walk, &profile->trace->timeline);
    while (status == 0 && (op = sorter_next(&walk))) {
        unsigned kind = temporal_kind(&profile->names, profile->trace, op);
        enum profile_use use = kind & (TEMPORAL_COPY | TEMPORAL_SET) ? PROFILE_BUSY
                               : kind == TEMPORAL_COMMUNICATION      ? PROFILE_COMMUNICATING
                                                                     : PROFILE_COMPUTING;
        struct profile_line *gpu = find_line(profile->gpus.items, profile->gpus.count, op->device);
        struct profile_line *stream = find_line(profile->streams.items, profile->streams.count, op->stream);
        if (gpu)
            add_to_line(profile, gpu, op, use);
        if (stream)
            add_to_line(profile, stream, op, use);
        const struct profile_op one = {op->start, op->end, op->name, 1, op->end - op->start, (uint8_t)use};
        for (size_t i = 0; i < profile->window_count && status == 0; i++) {
            struct profile_window *window = &profile->windows[i];
            bool within = window->any && op->end >= window->from && op->start <= window->to &&
                          (window->device == FIELD_ABSENT || window->device == op->device);
            struct profile_row *row = within ? window_row(window, op->stream) : NULL;
            status = row ? add_op(window, row, &one) : 0;
        }
    }
    return sorter_walk_end(&walk) ?: status;
}

int profile_gather(struct profile *profile, const struct trace *trace, const struct finding_place *place)
{
    const struct findings *findings = place ? NULL : section_state(trace, REPORT_FINDINGS);
    *profile = (struct profile){.trace = trace, .window_count = place ? 1 : 0};
    if (place)
        place_window(&profile->windows[0], trace, place);
    for (size_t i = 0; findings && i < findings->items.count && i < FINDING_MOST; i++)
        place_window(&profile->windows[profile->window_count++], trace, &findings->items.items[i].place);
    if (choose_lines(profile) < 0 || walk_ops(profile) < 0)
        return -1;
    struct host_calls_walk walk;
    const struct host_call *call;
    int status = 0;
    if (profile->window_count == 0)
        return 0;
    host_calls_walk_begin(&walk, &profile->trace->host_calls);
    while (status == 0 && (call = host_calls_next(&walk))) {
        const struct profile_op one = {call->start, call->end, call->name, 1, call->end - call->start, 0};
        for (size_t i = 0; i < profile->window_count && status == 0; i++) {
            struct profile_window *window = &profile->windows[i];
            if (window->any && window->thread == call->thread && call->end >= window->from && call->start <= window->to)
                status = add_op(window, &window->calls, &one);
        }
    }
    return host_calls_walk_end(&walk) ?: status;
}

void profile_release(struct profile *profile)
{
    for (size_t i = 0; i < profile->window_count; i++) {
        for (size_t k = 0; k < profile->windows[i].row_count; k++)
            array_release(&profile->windows[i].rows[k].ops);
        array_release(&profile->windows[i].calls.ops);
    }
    array_release(&profile->names.communication);
    array_release(&profile->gpus);
    array_release(&profile->streams);
}
