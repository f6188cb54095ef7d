/*
 * NVTX: ranges on their threads and on the GPU's streams, started ranges, marks.
 */
#include <string.h>

#include "trace/build/conversion.h"
#include "trace/build/emitter.h"
#include "trace/build/nvtx_extensions.h"
#include "trace/spool/own.h"
#include "trace/spool/records.h"

static void add_payload(struct args *args, const struct event *event)
{
    uint64_t bits = event->nvtx.payload;
    uint32_t low = (uint32_t)bits;
    double real;
    float single;
    switch (event->nvtx.payload_type) { /* nvtxPayloadType_t */
    case 1: args_u64(args, ARG_PAYLOAD, bits); break;
    case 2: args_i64(args, ARG_PAYLOAD, (int64_t)bits); break;
    case 3:
        memcpy(&real, &bits, sizeof(real));
        args_real(args, ARG_PAYLOAD, ARG_TYPE_REAL, real);
        break;
    case 4: args_u64(args, ARG_PAYLOAD, low); break;
    case 5: args_i64(args, ARG_PAYLOAD, (int32_t)low); break;
    case 6:
        memcpy(&single, &low, sizeof(single));
        args_real(args, ARG_PAYLOAD, ARG_TYPE_REAL, (double)single);
        break;
    default: break;
    }
}

static void describe(struct args *args, const struct process *process, const struct event *event)
{
    struct nvtx_text domain = nvtx_domain_name(&process->nvtx, event->nvtx.domain);
    struct nvtx_text category = nvtx_category_name(&process->nvtx, event->nvtx.domain, event->nvtx.category);
    if (domain.text)
        args_text(args, ARG_DOMAIN, domain.text, domain.length);
    else if (event->nvtx.domain != 0)
        args_u64(args, ARG_DOMAIN, event->nvtx.domain);
    if (category.text)
        args_text(args, ARG_CATEGORY, category.text, category.length);
    else if (event->nvtx.category != 0)
        args_u64(args, ARG_CATEGORY, event->nvtx.category);
    if (event->nvtx.color_type == 1)
        args_add(args, ARG_COLOR, ARG_TYPE_COLOR)->u64 = event->nvtx.color;
    add_payload(args, event);
    describe_payload(args, process, event);
}

static struct name message(const struct process *process, const struct event *event)
{
    static const char none[] = "(no message)";
    struct nvtx_text text = nvtx_message(&process->nvtx, event);
    return text.length ? name_passing(text.text, text.length) : name_passing(none, sizeof(none) - 1);
}

static void read_again(struct event *event, const void *record, uint32_t thread)
{
    struct own_walk walk;
    own_walk_at(&walk, record);
    own_decode(event, &walk, thread);
}

static void emit_range(struct emitter *emitter, struct process *process, const struct nvtx_range *range)
{
    struct track *thread = emitter_track(emitter, process, TRACK_THREAD, 0, 0, range->thread);
    struct event event;
    struct args args;
    if (!thread)
        return;
    args.count = 0;
    read_again(&event, range->record, range->thread);
    merge_range_end(&event, range);
    describe(&args, process, &event);
    describe_range_end(&args, process, range);
    if (range->open_at_end)
        args_add(&args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    struct row row = track_row(thread, range->start, range->end);
    if (row.tid != range->thread) /* a further row of the thread */
        args_u64(&args, ARG_THREAD, range->thread);
    struct slice slice = {.category = CATEGORY_USER_ANNOTATION,
                          .name = message(process, &event),
                          .row = row,
                          .start = range->start,
                          .end = range->end,
                          .args = &args};
    emitter->writer.format->slice(&emitter->writer, &slice);
}

static struct row thread_row(struct process *process, uint32_t thread)
{
    const struct track *track = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, thread);
    return track ? (struct row){track->pid, track->tids[0]} : (struct row){process->pid, process->pid};
}

static void emit_started(struct emitter *emitter, struct process *process, const struct nvtx_range *range, uint64_t id)
{
    struct event event;
    struct args args;
    args.count = 0;
    read_again(&event, range->record, range->thread);
    merge_range_end(&event, range);
    describe(&args, process, &event);
    describe_range_end(&args, process, range);
    if (range->open_at_end)
        args_add(&args, ARG_OPEN_AT_END, ARG_TYPE_TRUE);
    struct async_slice slice = {.category = CATEGORY_USER_ANNOTATION,
                                .name = message(process, &event),
                                .begin = thread_row(process, range->thread),
                                .end_row = thread_row(process, range->end_thread),
                                .start = range->start,
                                .end = range->end,
                                .id = id,
                                .args = &args};
    emitter->writer.format->async(&emitter->writer, &slice);
}

/* In order of push: what encloses comes first. */
int emit_nvtx_ranges(struct emitter *emitter, struct process *process, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        emit_range(emitter, process, &process->nvtx.ranges.items[i]);
    return 0;
}

int emit_nvtx_started(struct emitter *emitter, struct process *process, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        emit_started(emitter, process, &process->nvtx.started.items[i], process->async_before + i + 1);
    return 0;
}

void emit_projection(struct emitter *emitter, struct process *process, const struct projection *projection)
{
    const struct nvtx_range *range = nvtx_range(&process->nvtx, projection->range);
    const struct track *stream = process->tracks.items.items[projection->track];
    struct track *track =
        emitter_track(emitter, process, TRACK_ANNOTATION, stream->device, stream->context, stream->number);
    struct event event;
    struct args args;
    if (!track)
        return;
    args.count = 0;
    read_again(&event, range->record, range->thread);
    merge_range_end(&event, range);
    describe(&args, process, &event);
    args_u64(&args, ARG_THREAD, range->thread);
    struct slice slice = {.category = CATEGORY_GPU_USER_ANNOTATION,
                          .name = message(process, &event),
                          .row = track_row(track, projection->start, projection->end),
                          .start = projection->start,
                          .end = projection->end,
                          .args = &args};
    emitter->writer.format->slice(&emitter->writer, &slice);
}

int emit_nvtx_mark(struct emitter *emitter, struct process *process, const struct event *event)
{
    struct args args;
    args.count = 0;
    describe(&args, process, event);
    struct slice slice = {.category = CATEGORY_USER_ANNOTATION,
                          .name = message(process, event),
                          .row = thread_row(process, event->thread),
                          .start = event->start,
                          .args = &args};
    emitter->writer.format->instant(&emitter->writer, &slice);
    return 0;
}
