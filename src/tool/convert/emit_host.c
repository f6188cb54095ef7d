/*
 * What threads of the traced process did: API calls and the tails of arrows, overhead, capture switched on and off.
 */
#include <stdio.h>
#include <string.h>

#include "tool/convert/conversion.h"

static struct name api_call_name(struct conversion *conversion, const struct event *event)
{
    uint32_t uncached = 0;
    uint32_t *cached =
        event->api.cbid < API_CBID_LIMIT ? &conversion->caches.api[event->api.domain][event->api.cbid] : &uncached;
    if (*cached == 0) {
        char text[64];
        const char *name = api_name(event->api.domain, event->api.cbid);
        if (!name) { /* of a CUDA newer than the headers this was built with */
            snprintf(text, sizeof(text), "%s call %u", event->api.domain == EVENT_API_RUNTIME ? "runtime" : "driver",
                     event->api.cbid);
            name = text;
        }
        uint32_t number = names_put(&conversion->names, name, strlen(name));
        if (number == NAMES_NO_MEMORY)
            return name_passing("", 0);
        *cached = number + 1;
    }
    return *names_get(&conversion->names, *cached - 1);
}

static void emit_arrow_tails(struct conversion *conversion, struct process *process, const struct event *event,
                             struct row row)
{
    struct launch *launch = event->correlation ? launches_get(&process->launches, event->correlation) : NULL;
    if (!launch || launch->departed || !launch_is_call(launch, event))
        return;
    launch->departed = true;
    struct arrow arrow = {.row = row, .time = event->start};
    for (uint32_t i = 0; i < launch->works; i++) {
        arrow.id = launch_arrow(&process->launches, launch, event->correlation, i);
        if (arrow.id != 0)
            conversion->writer.format->arrow_start(&conversion->writer, &arrow);
    }
}

int emit_api(struct conversion *conversion, struct process *process, const struct event *event)
{
    struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, event->thread);
    if (!thread || !process_knows_span(process, event))
        return 0;
    struct args args = {0};
    args_u64(&args, ARG_CBID, event->api.cbid);
    args_u64(&args, ARG_CORRELATION, process_correlation(process, event->correlation));
    if (event->api.result != 0)
        args_u64(&args, ARG_RETURN_VALUE, event->api.result);
    struct row row = track_row(thread, event->start, event->end);
    if (row.tid != event->thread) /* a further row of the thread */
        args_u64(&args, ARG_THREAD, event->thread);
    struct slice slice = {.category =
                              event->api.domain == EVENT_API_RUNTIME ? CATEGORY_CUDA_RUNTIME : CATEGORY_CUDA_DRIVER,
                          .name = api_call_name(conversion, event),
                          .row = row,
                          .start = event->start,
                          .end = event->end,
                          .args = &args};
    conversion->writer.format->slice(&conversion->writer, &slice);
    emit_arrow_tails(conversion, process, event, slice.row);
    return 0;
}

int emit_overhead(struct conversion *conversion, struct process *process, const struct event *event)
{
    struct track *track = tracks_get(&process->tracks, TRACK_OVERHEAD, 0, 0, event->thread);
    if (!track || !process_knows_span(process, event))
        return 0;
    struct args args = {0};
    if (event->correlation != 0)
        args_u64(&args, ARG_CORRELATION, process_correlation(process, event->correlation));
    struct slice slice = {.category = CATEGORY_OVERHEAD,
                          .name = kept_name(conversion, event->overhead.name),
                          .row = track_row(track, event->start, event->end),
                          .start = event->start,
                          .end = event->end,
                          .args = &args};
    conversion->writer.format->slice(&conversion->writer, &slice);
    return 0;
}

int emit_capture(struct conversion *conversion, struct process *process, const struct event *event)
{
    const struct track *thread = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, event->thread);
    if (!process->cuda && !process->nvtx_seen)
        return 0; /* nothing was recorded: the trace has no events */
    if (!thread || !process_knows_time(process, event->start))
        return 0;
    struct args args = {0};
    args_text(&args, ARG_REASON, event->text, event->text_length);
    struct slice slice = {.category = CATEGORY_CAPTURE,
                          .name = kept_name(conversion, event->capture.on ? "Recording on" : "Recording off"),
                          .row = {thread->pid, thread->tids[0]},
                          .start = event->start,
                          .args = &args};
    conversion->writer.format->instant(&conversion->writer, &slice);
    return 0;
}
