/*
 * What threads of the traced process did: API calls and the tails of flows, overhead.
 */
#include <stdio.h>

#include "trace/meaning/base/event_functions.h"
#include "trace/meaning/base/piece_writer.h"
#include "trace/meaning/base/stack_tree.h"
#include "trace/meaning/base/stacks.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/torch/torch_launches.h"
#include "trace/spool/cuda_names.h"

#define NAME_SPACE 32 /* for a name that is put together */

static struct name api_call_name(const struct event *event, char space[NAME_SPACE])
{
    const char *name = api_name(event->api.domain, event->api.cbid);
    if (name)
        return name_plain(name);
    const char *domain = event->api.domain == EVENT_API_RUNTIME ? "runtime" : "driver";
    int made =
        snprintf(space, NAME_SPACE, "%s call %u", domain, event->api.cbid); /* of a newer CUDA than the headers */
    return name_plain_n(space, (size_t)made);
}

static void write_flow_starts(struct piece_writer *out, struct process *process, const struct event *event,
                              struct row row)
{
    const struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
    if (!launch || launch->gpu_ops == 0 || !launch_is_call(launch, event))
        return;
    struct flow flow = {.row = row, .time = event->start};
    for (uint32_t i = 0; i < launch->gpu_ops; i++) {
        flow.id = launch_flow(process->launches, launch, event->correlation, i);
        if (flow.id != 0)
            out->sink.format->flow(&out->sink, &flow);
    }
}

int resolve_api(struct process *process, const struct event *event)
{
    struct track *thread = tracks_look(&process->tracks, &process->tracks.recent, TRACK_THREAD, 0, 0, event->thread);
    return lanes_collect(&thread->lanes, event->start, event->end);
}

int write_api(struct piece_writer *out, struct process *process, const struct event *event)
{
    struct track *thread = piece_writer_track(out, process, TRACK_THREAD, 0, 0, event->thread);
    if (!thread || !process_knows_span(process, event))
        return 0;
    bool runtime = event->api.domain == EVENT_API_RUNTIME;
    int64_t returned = event->api.result;
    struct args args;
    char space[NAME_SPACE];
    args.count = 0;
    args_u64(&args, ARG_CBID, event->api.cbid);
    args_u64(&args, ARG_CORRELATION, process_correlation(process, event->correlation));
    if (returned != 0)
        args_error(&args, ARG_RETURN_VALUE, returned,
                   runtime ? runtime_error_name(returned) : driver_error_name(returned));
    if (process->stacks->calls.count > 0)
        args_stack(&args, process, call_stack(process, event->correlation));
    add_operator_around(out, &args, process, event->correlation, event->thread, event->start);
    struct row row = track_row(thread, event->start, event->end);
    write_compiled_operator(out, process, event, row);
    if (row.tid != event->thread) /* a further row of the thread */
        args_u64(&args, ARG_THREAD, event->thread);
    piece_writer_slice(out, runtime ? CATEGORY_CUDA_RUNTIME : CATEGORY_CUDA_DRIVER, api_call_name(event, space), row,
                       event->start, event->end, &args);
    write_flow_starts(out, process, event, row);
    return 0;
}

int index_overhead(struct process *process, const struct event *event)
{
    if (!process_index_span(process, event))
        return 0;
    struct track *track = process_thread(process, TRACK_OVERHEAD, event->thread);
    return track ? lanes_collect(&track->lanes, event->start, event->end) : -1;
}

int write_overhead(struct piece_writer *out, struct process *process, const struct event *event)
{
    struct track *track = piece_writer_track(out, process, TRACK_OVERHEAD, 0, 0, event->thread);
    if (!track || !process_knows_span(process, event))
        return 0;
    struct args args = {0};
    if (event->correlation != 0)
        args_u64(&args, ARG_CORRELATION, process_correlation(process, event->correlation));
    struct row row = track_row(track, event->start, event->end);
    piece_writer_slice(out, CATEGORY_OVERHEAD, name_plain(event->overhead.name), row, event->start, event->end, &args);
    return 0;
}
