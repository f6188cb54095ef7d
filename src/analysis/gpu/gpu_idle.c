/* Merges the operations of each GPU into busy times. A walk goes through the busy times of all GPUs of a process at
 * once. */
#include "analysis/gpu/gpu_idle.h"

#include "common/memory.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/trace.h"

void gpu_idle_release(struct gpu_idle *idle)
{
    file_vector_release(&idle->busy);
    array_release(&idle->devices);
    free(idle->used);
    free(idle->launches);
}

static int add_op(struct gpu_idle *idle, const struct trace *trace, const struct timeline_op *op)
{
    struct gpu_busy_list *device = array_at(&idle->devices, op->device);
    if (!device)
        return -1;
    if (op->thread != LAUNCHED_NO_THREAD) {
        idle->used[trace->threads.items[op->thread].process * idle->device_count + op->device] = true;
        idle->launches[op->thread] = true;
    }
    struct gpu_busy_time *last = device->count > 0 ? &idle->busy.items[idle->busy.count - 1] : NULL;
    if (last && op->start <= last->end) {
        last->end = op->end > last->end ? op->end : last->end;
        return 0;
    }
    if (!ADD(file_vector_push, &idle->busy, (struct gpu_busy_time){op->start, op->end}))
        return -1;
    if (device->count++ == 0)
        device->first = idle->busy.count - 1;
    return 0;
}

int gpu_idle_gather(struct gpu_idle *idle, const struct trace *trace)
{
    const struct timeline_op *op;
    idle->busy.memory.directory = temporary_directory();
    idle->device_count = trace->devices.count;
    idle->used = calloc(trace->processes.count * trace->devices.count + 1, sizeof(*idle->used));
    idle->launches = calloc(trace->threads.count + 1, sizeof(*idle->launches));
    if (!idle->used || !idle->launches)
        return -1;
    return SORTER_EACH(&trace->timeline, op, add_op(idle, trace, op));
}

/* --- walks --- */

int gpu_idle_walk_begin(struct gpu_idle_walk *walk, const struct gpu_idle *idle, uint32_t process)
{
    const bool *used = idle->used + process * idle->device_count;
    bool any = false;
    walk->idle = idle;
    walk->devices.count = 0;
    for (size_t i = 0; i < idle->devices.count; i++)
        any |= used[i];
    for (size_t i = 0; i < idle->devices.count; i++) {
        const struct gpu_busy_list *device = &idle->devices.items[i];
        if ((!used[i] && any) || device->count == 0)
            continue;
        const struct gpu_busy_time *busy = walk->idle->busy.items + device->first;
        if (!ADD(array_push, &walk->devices, (struct gpu_busy_list){device->first, device->count, device->first}))
            return -1;
        bool first = walk->devices.count == 1;
        walk->from = first || busy[0].start < walk->from ? busy[0].start : walk->from;
        walk->to = first || busy[device->count - 1].end > walk->to ? busy[device->count - 1].end : walk->to;
    }
    return 0;
}

/* Sets IDLE to whether all GPUs of the walk are idle at TIME. Returns a time up to which that does not change. */
static int64_t until(struct gpu_idle_walk *walk, int64_t time, bool *idle)
{
    int64_t busy_until = INT64_MIN, idle_until = INT64_MAX;
    for (size_t i = 0; i < walk->devices.count; i++) {
        struct gpu_busy_list *device = &walk->devices.items[i];
        const struct gpu_busy_time *busy = walk->idle->busy.items + device->next;
        size_t left = device->first + device->count - device->next;
        /* The first busy time that has not ended by TIME is usually `next` or the one after it. */
        size_t ended = COUNT_BEFORE_NEAR(0, left, k, busy[k].end <= time);
        device->next += ended;
        if (ended < left && busy[ended].start <= time)
            busy_until = busy[ended].end > busy_until ? busy[ended].end : busy_until;
        else if (ended < left && busy[ended].start < idle_until)
            idle_until = busy[ended].start;
    }
    *idle = busy_until == INT64_MIN;
    return *idle ? idle_until : busy_until;
}

bool gpu_idle_at(struct gpu_idle_walk *walk, int64_t time)
{
    bool idle = false;
    if (walk->devices.count > 0 && time >= walk->from && time < walk->to)
        until(walk, time, &idle);
    return idle;
}

int64_t gpu_idle_within(struct gpu_idle_walk *walk, int64_t start, int64_t end)
{
    int64_t total = 0;
    if (walk->devices.count == 0)
        return 0;
    start = start > walk->from ? start : walk->from;
    end = end < walk->to ? end : walk->to;
    for (int64_t time = start, next; time < end; time = next) {
        bool idle;
        next = until(walk, time, &idle);
        next = next < end ? next : end;
        sum_add(&total, idle ? next - time : 0);
    }
    return total;
}
