/*
 * Assigns processes and GPUs to ranks, and walks over the timeline with a lane for each rank.
 */
#include "analysis/ranks/rank_times.h"

#include "common/array.h"
#include "common/map.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/trace.h"
#include "analysis/engine/trace_known.h"

void rank_times_release(struct rank_times *times)
{
    array_release(&times->items);
    array_release(&times->of_process);
    array_release(&times->of_device);
    dense_map_release(&times->kernel_keys);
    array_release(&times->kernels);
}

/* --- processes --- */

/* The index of the item of rank KNOWN, made if it is new. Returns RANK_NONE without memory. */
static uint32_t find_item(struct rank_times *times, uint32_t known)
{
    for (uint32_t i = 0; i < times->items.count; i++)
        if (times->items.items[i].known == known)
            return i;
    bool added = ADD(array_push, &times->items, (struct rank_time){.known = known});
    return added ? (uint32_t)times->items.count - 1 : RANK_NONE;
}

/* Finds or makes the item of each process that is a rank. */
static int find_processes(struct rank_times *times, const struct trace *trace)
{
    for (size_t i = 0; i < trace->processes.count; i++) {
        const event_id *id = dense_map_row(&trace->process_ids, i);
        const struct trace_rank *rank = trace_rank_of(trace, *id);
        bool of_trace = rank && rank->process == EVENT_NO_ID && !trace->processes.items[i].host;
        bool is_rank = rank && !of_trace; /* rows of GPUs have no threads */
        uint32_t item = is_rank ? find_item(times, (uint32_t)(rank - trace->ranks.items)) : RANK_NONE;
        if ((is_rank && item == RANK_NONE) || !ADD(array_push, &times->of_process, item))
            return -1;
    }
    /* A filter may leave nothing of a rank, which is one of its job even so. */
    for (uint32_t i = 0; i < trace->ranks.count && filter_wanted(&trace->options->filter); i++)
        if ((trace->ranks.items[i].process != EVENT_NO_ID || trace->ranks.count == 1) &&
            find_item(times, i) == RANK_NONE)
            return -1;
    return 0;
}

/* --- operations --- */

struct walk {
    struct rank_times *times;
    const struct trace *trace;
    struct temporal_names names;
    uint32_t device;
    bool any;
};

/* The rank whose process launched OP, or RANK_NONE. */
static uint32_t rank_of_op(const struct walk *walk, const struct timeline_op *op)
{
    const struct rank_times *times = walk->times;
    uint32_t process = walk->trace->stream_owners.items[op->stream];
    if (process == CALLS_ANY_PROCESS && op->thread != LAUNCHED_NO_THREAD)
        process = walk->trace->threads.items[op->thread].process;
    if (process != CALLS_ANY_PROCESS)
        return times->of_process.items[process];
    return times->items.count == 1 ? 0 : RANK_NONE;
}

static void end_lanes(struct walk *walk)
{
    for (size_t i = 0; i < walk->times->items.count; i++)
        temporal_lane_end(&walk->times->items.items[i].lane);
}

static void mark_shared(struct rank_times *times, uint32_t rank)
{
    if (rank != RANK_NONE)
        times->items.items[rank].shares = true;
}

/* Assigns DEVICE to the rank of its first operation. If another rank uses it, too, it belongs to no rank. */
static int own_device(struct walk *walk, uint32_t device, uint32_t rank)
{
    struct rank_times *times = walk->times;
    bool first = !walk->any || walk->device != device;
    while (times->of_device.count <= device)
        if (!ADD(array_push, &times->of_device, RANK_NONE))
            return -1;
    if (first) {
        end_lanes(walk);
        times->of_device.items[device] = rank;
    } else if (times->of_device.items[device] != rank) {
        mark_shared(times, times->of_device.items[device]);
        mark_shared(times, rank);
        times->of_device.items[device] = RANK_NONE;
    }
    walk->any = true;
    walk->device = device;
    return 0;
}

static int add_kernel(struct rank_times *times, uint32_t rank, const struct timeline_op *op, bool copy)
{
    const struct rank_kernel_key key = {rank, op->name};
    struct rank_kernel *kernel = dense_map_item(&times->kernel_keys, &key, &times->kernels);
    if (!kernel)
        return -1;
    sum_add(&kernel->total, op->end - op->start);
    kernel->count++;
    kernel->copy = copy;
    return 0;
}

static int add_op(struct walk *walk, const struct timeline_op *op)
{
    uint32_t rank = rank_of_op(walk, op);
    unsigned kind = temporal_kind(&walk->names, walk->trace, op);
    if (kind == 0 || own_device(walk, op->device, rank) < 0)
        return -1;
    if (rank == RANK_NONE)
        return 0;
    struct rank_time *one = &walk->times->items.items[rank];
    if (!one->lane.to)
        temporal_lane_begin(&one->lane, &one->gpu, op);
    temporal_lane_add(&one->lane, kind, op);
    bool named = kind & (TEMPORAL_COMPUTE | TEMPORAL_COPY) && op->name != EVENT_NO_TEXT;
    return named ? add_kernel(walk->times, rank, op, kind == TEMPORAL_COPY) : 0;
}

int rank_times_gather(struct rank_times *times, const struct trace *trace)
{
    struct walk walk = {.times = times, .trace = trace};
    const struct timeline_op *op;
    int status = trace->ranks.count ? find_processes(times, trace) : 0;
    if (status == 0 && times->items.count > 0)
        status = SORTER_EACH(&trace->timeline, op, add_op(&walk, op));
    end_lanes(&walk);
    array_release(&walk.names.communication);
    return status;
}
