/*
 * What threads of the traced process did: API calls and the tails of arrows, overhead, capture switched on and off.
 */
#include <stdio.h>

#include "trace/build/conversion.h"
#include "trace/build/emitter.h"
#include "trace/spool/error_names.h"

#define NAME_ROOM 32 /* for a name that is put together */

static struct name api_call_name(const struct event *event, char room[NAME_ROOM])
{
    const char *name = api_name(event->api.domain, event->api.cbid);
    if (name)
        return name_plain(name);
    const char *domain = event->api.domain == EVENT_API_RUNTIME ? "runtime" : "driver";
    int made = snprintf(room, NAME_ROOM, "%s call %u", domain, event->api.cbid); /* of a newer CUDA than the headers */
    return name_plain_n(room, (size_t)made);
}

static const char *api_error_name(const struct event *event)
{
    if (event->api.domain == EVENT_API_RUNTIME)
        return runtime_error_name(event->api.result);
    return driver_error_name(event->api.result);
}

static void emit_arrow_tails(struct emitter *emitter, struct process *process, const struct event *event,
                             struct row row)
{
    const struct launch *launch = event->correlation ? launches_get(&process->launches, event->correlation) : NULL;
    if (!launch || launch->works == 0 || !launch_is_call(launch, event))
        return;
    struct arrow arrow = {.row = row, .time = event->start};
    for (uint32_t i = 0; i < launch->works; i++) {
        arrow.id = launch_arrow(&process->launches, launch, event->correlation, i);
        if (arrow.id != 0)
            emitter->writer.format->arrow_start(&emitter->writer, &arrow);
    }
}

int emit_api(struct emitter *emitter, struct process *process, const struct event *event)
{
    struct track *thread = emitter_track(emitter, process, TRACK_THREAD, 0, 0, event->thread);
    if (!thread || !process_knows_span(process, event))
        return 0;
    struct args args;
    char room[NAME_ROOM];
    args.count = 0;
    args_u64(&args, ARG_CBID, event->api.cbid);
    args_u64(&args, ARG_CORRELATION, process_correlation(process, event->correlation));
    if (event->api.result != 0)
        args_error(&args, ARG_RETURN_VALUE, event->api.result, api_error_name(event));
    struct row row = track_row(thread, event->start, event->end);
    if (row.tid != event->thread) /* a further row of the thread */
        args_u64(&args, ARG_THREAD, event->thread);
    struct slice slice = {.category =
                              event->api.domain == EVENT_API_RUNTIME ? CATEGORY_CUDA_RUNTIME : CATEGORY_CUDA_DRIVER,
                          .name = api_call_name(event, room),
                          .row = row,
                          .start = event->start,
                          .end = event->end,
                          .args = &args};
    emitter->writer.format->slice(&emitter->writer, &slice);
    emit_arrow_tails(emitter, process, event, slice.row);
    return 0;
}

int emit_overhead(struct emitter *emitter, struct process *process, const struct event *event)
{
    struct track *track = emitter_track(emitter, process, TRACK_OVERHEAD, 0, 0, event->thread);
    if (!track || !process_knows_span(process, event))
        return 0;
    struct args args = {0};
    if (event->correlation != 0)
        args_u64(&args, ARG_CORRELATION, process_correlation(process, event->correlation));
    struct slice slice = {.category = CATEGORY_OVERHEAD,
                          .name = name_plain(event->overhead.name),
                          .row = track_row(track, event->start, event->end),
                          .start = event->start,
                          .end = event->end,
                          .args = &args};
    emitter->writer.format->slice(&emitter->writer, &slice);
    return 0;
}

int emit_capture(struct emitter *emitter, struct process *process, const struct event *event)
{
    const struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, event->thread);
    if (!process->cuda && !process->nvtx_seen)
        return 0; /* nothing was recorded: the trace has no events */
    if (!thread || !process_knows_time(process, event->start))
        return 0;
    struct args args = {0};
    args_text(&args, ARG_REASON, event->text, event->text_length);
    struct slice slice = {.category = CATEGORY_CAPTURE,
                          .name = name_plain(event->capture.on ? "Recording on" : "Recording off"),
                          .row = {thread->pid, thread->tids[0]},
                          .start = event->start,
                          .args = &args};
    emitter->writer.format->instant(&emitter->writer, &slice);
    return 0;
}
