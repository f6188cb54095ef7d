/*
 * The first walk (conversion.h): its order, and what both the library and CUPTI record.
 */
#include "trace/build/survey.h"
#include "trace/build/nvtx_extensions.h"
#include "trace/build/walks.h"

#include "common/log.h"

void see_time(struct process *process, uint64_t start, uint64_t end)
{
    if (process->first_time == 0 || start < process->first_time)
        process->first_time = start;
    if (end > process->last_time)
        process->last_time = end;
}

/* What goes when the process ends was still there. */
static int see_context_end(struct process *process, const struct event *event)
{
    uint64_t finished = process->file.header.finished;
    if (finished != 0 && event->start >= finished)
        return 0;
    if (!process_thread(process, TRACK_THREAD, event->thread))
        return -1;
    return memory_collect(&process->memory, event);
}

int see_context(struct process *process, const struct event *event)
{
    uint64_t *device = map_put(&process->device_of_context, event->context, NULL);
    if (!device)
        return error_no_memory("contexts");
    if (event->device != EVENT_NO_DEVICE)
        *device = (uint64_t)event->device + 1;
    if (event->object.handle != 0) {
        uint64_t *context = map_put(&process->context_of_handle, event->object.handle, NULL);
        if (!context)
            return error_no_memory("contexts");
        *context = event->context;
    }
    return event->object.destroyed ? see_context_end(process, event) : 0;
}

int see_sync(struct process *process, const struct event *event)
{
    if (!process_knows_span(process, event)) {
        process->losses.undecoded++;
        return 0;
    }
    see_time(process, event->start, event->end);
    return tracks_put(&process->waits, TRACK_SYNC, event->device, event->context, event->stream, NULL) ? 0 : -1;
}

/* Rows of waits, once it is known which device a context is of. */
static int place_waits(struct conversion *conversion, struct process *process)
{
    for (size_t i = 0; i < process->waits.items.count; i++) {
        const struct track *wait = process->waits.items.items[i];
        uint32_t device = process_device(process, wait->device, wait->context);
        if (!process_stream(conversion, process, TRACK_SYNC, device, wait->context, wait->number))
            return -1;
    }
    tracks_release(&process->waits);
    process->waits = (struct tracks){0};
    return 0;
}

static int see_late(struct conversion *conversion, struct process *process, const struct event *event)
{
    (void)conversion;
    return event->type == EVENT_NVTX_NAME ? see_nvtx_name(process, event) : 0;
}

static void spread_ranges(void *context, uint32_t thread)
{
    struct process *process = context;
    struct track *track = tracks_get(&process->tracks, TRACK_THREAD, 0, 0, thread);
    if (track)
        lanes_must_collect(&track->lanes);
}

int survey_process(struct conversion *conversion, struct process *process)
{
    uint64_t *undecoded = &process->losses.undecoded;
    if (find_windows(conversion, process) != 0 || device_ranges_order(&process->device_ranges) != 0 ||
        process_walk_own(conversion, process, see_own, undecoded) != 0 ||
        process_walk_own(conversion, process, see_late, NULL) != 0 || order_kernel_names(process) != 0 ||
        survey_cupti(conversion, process, undecoded) != 0 || place_waits(conversion, process) != 0)
        return -1;
    close_kernel_names(process);
    if (close_nvtx_extensions(process) != 0)
        return -1;
    see_device_times(process);
    uint64_t finished = process->file.header.finished;
    if (process->last_time != 0 && process_knows_time(process, finished) && finished > process->last_time)
        process->last_time = finished;
    if (nvtx_close(&process->nvtx, &process->windows, process->last_time) != 0)
        return -1;
    process->losses.unmatched_ranges = process->nvtx.unmatched;
    if (nvtx_check_nesting(&process->nvtx, spread_ranges, process) != 0)
        return -1;
    if (device_ranges_close(&process->device_ranges, &process->windows, process->last_time) != 0)
        return -1;
    process->losses.untimed_ranges = process->device_ranges.untimed;
    return 0;
}
