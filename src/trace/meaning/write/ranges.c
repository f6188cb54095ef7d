/*
 * Ranges and marks in the trace: those of NVTX and PyTorch's operators on their threads, their projections and device
 * ranges on the GPU's streams.
 */
#include "trace/meaning/write/ranges.h"

#include "common/lookup.h"
#include "trace/meaning/base/piece_writer.h"
#include "trace/meaning/collectives/collectives_write.h"
#include "trace/meaning/collectives/communication.h"
#include "trace/meaning/gpu/device_ranges.h"
#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/nvtx_describe.h"
#include "trace/meaning/nvtx/nvtx_names.h"
#include "trace/meaning/torch/operators.h"
#include "trace/spool/agent_records.h"

/* In order of push: what encloses comes first. */
int write_nvtx_ranges(struct piece_writer *out, struct process *process, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct nvtx_range *range = &process->nvtx->ranges.items[i];
        struct track *thread = piece_writer_track(out, process, TRACK_THREAD, 0, 0, range->thread);
        struct collective_args collective;
        struct args args;
        if (!thread)
            continue;
        bool is_nvtx = range->kind == NVTX_RANGE;
        struct name name = is_nvtx ? describe_nvtx_range(&args, process->nvtx, range, true)
                                   : describe_operator(&args, process, (uint32_t)i, true);
        struct row row = track_row(thread, range->start, range->end);
        if (row.tid != range->thread) /* a further row of the thread */
            args_u64(&args, ARG_THREAD, range->thread);
        if (is_nvtx && process->collectives->calls.count > 0)
            collectives_describe_range(&args, process, (uint32_t)i, &collective);
        piece_writer_slice(out, range->kind == NVTX_OPERATOR ? CATEGORY_CPU_OP : CATEGORY_USER_ANNOTATION, name, row,
                           range->start, range->end, &args);
        if (range->kind == NVTX_OPERATOR)
            write_operator_flow(out, process, (uint32_t)i, row);
    }
    return 0;
}

int write_nvtx_started(struct piece_writer *out, struct process *process, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct nvtx_range *range = &process->nvtx->started.items[i];
        struct args args;
        struct async_slice slice = {.category = CATEGORY_USER_ANNOTATION,
                                    .name = describe_nvtx_range(&args, process->nvtx, range, true),
                                    .begin = nvtx_thread_row(process, range->thread),
                                    .end_row = nvtx_thread_row(process, range->end_thread),
                                    .start = range->start,
                                    .end = range->end,
                                    .id = process->async_before + i + 1,
                                    .args = &args};
        out->sink.format->async(&out->sink, &slice);
    }
    return 0;
}

static void write_projection(struct piece_writer *out, struct process *process, const struct projection *projection)
{
    const struct nvtx_range *range = nvtx_range(process->nvtx, projection->range);
    const struct track *stream = process->tracks.items.items[projection->track];
    struct track *track =
        piece_writer_track(out, process, TRACK_ANNOTATION, stream->device, stream->context, stream->number);
    struct args args;
    if (!track)
        return;
    struct name name = range->kind == NVTX_RANGE ? describe_nvtx_range(&args, process->nvtx, range, false)
                                                 : describe_operator(&args, process, projection->range, false);
    struct row row = track_row(track, projection->start, projection->end);
    args_u64(&args, ARG_THREAD, range->thread);
    piece_writer_slice(out, CATEGORY_GPU_USER_ANNOTATION, name, row, projection->start, projection->end, &args);
}

int write_nvtx_mark(struct piece_writer *out, struct process *process, const struct event *event)
{
    struct args args;
    args.count = 0;
    describe_nvtx_event(&args, process->nvtx, event);
    struct slice slice = {.category = CATEGORY_USER_ANNOTATION,
                          .name = nvtx_message_name(nvtx_message(process->nvtx, event)),
                          .row = nvtx_thread_row(process, event->thread),
                          .start = event->start,
                          .args = &args};
    out->sink.format->instant(&out->sink, &slice);
    return 0;
}

static void write_device_range(struct piece_writer *out, struct process *process, const struct device_range *range)
{
    struct track *track =
        piece_writer_track(out, process, TRACK_ANNOTATION, range->device, range->context, range->stream);
    struct args args = {0};
    if (!track)
        return;
    const struct event event = agent_read(range->record, range->thread);
    args_u64(&args, ARG_RANGE, range->number);
    args_u64(&args, ARG_THREAD, range->thread);
    if (range->end_stream != range->stream)
        args_u64(&args, ARG_END_STREAM, range->end_stream);
    if (range->open_at_end)
        args_add(&args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    args_words(&args, ARG_FROM, "gputrace_device_range");
    struct name name = nvtx_message_name(nvtx_text_of(event.text, event.text_length));
    struct row row = track_row(track, range->start, range->end);
    piece_writer_slice(out, CATEGORY_GPU_USER_ANNOTATION, name, row, range->start, range->end, &args);
}

/* --- ranges of both sorts on the GPU: by their start, then longer ones first, then those of the device --- */

static bool device_range_is_first(const struct device_range *range, const struct projection *projection)
{
    return range->start < projection->start || (range->start == projection->start && range->end >= projection->end);
}

/* How many device ranges are among the first NUMBER of all. */
static size_t device_ranges_among(const struct process *process, size_t number)
{
    size_t projections = process->nvtx->projections.items.count, ranges = process->device_ranges->items.count;
    size_t low = number > projections ? number - projections : 0, high = number < ranges ? number : ranges;
    /* I device ranges and NUMBER - I projections, of which the last comes after them? */
    return COUNT_BEFORE_BETWEEN(low, high, i,
                                device_range_is_first(&process->device_ranges->items.items[i],
                                                      &process->nvtx->projections.items.items[number - i - 1]));
}

size_t gpu_range_count(const struct process *process)
{
    return process->nvtx->projections.items.count + process->device_ranges->items.count;
}

int write_gpu_ranges(struct piece_writer *out, struct process *process, size_t first, size_t end)
{
    const struct projection *projections = process->nvtx->projections.items.items;
    const struct device_range *ranges = process->device_ranges->items.items;
    size_t range = device_ranges_among(process, first);
    for (size_t i = first; i < end; i++) {
        size_t projection = i - range;
        bool of_device = range < process->device_ranges->items.count &&
                         (projection == process->nvtx->projections.items.count ||
                          device_range_is_first(&ranges[range], &projections[projection]));
        if (of_device)
            write_device_range(out, process, &ranges[range++]);
        else
            write_projection(out, process, &projections[projection]);
    }
    return 0;
}
