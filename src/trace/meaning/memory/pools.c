/*
 * Memory pools: collects the levels that the agent recorded, sorts them by time, and writes the sum of a device's pools
 * as counters; the peaks of each pool go to the metadata.
 */
#include "trace/meaning/memory/pools.h"

#include "common/json_out.h"
#include "common/log.h"
#include "trace/meaning/base/times.h"
#include "trace/meaning/base/process.h"

static struct pool_peak *peak_of(struct pools *pools, uint64_t pool, uint32_t device)
{
    uint64_t *index = map_put(&pools->peak_of, pool, NULL);
    if (index && *index != 0 && pools->peaks.items[*index - 1].device == device)
        return &pools->peaks.items[*index - 1];
    struct pool_peak *peak = index ? array_push(&pools->peaks) : NULL;
    if (!peak)
        return NULL;
    *index = pools->peaks.count;
    *peak = (struct pool_peak){.pool = pool, .device = device};
    return peak;
}

ORDER_BY(by_time, struct pool_step, time, order)

static struct pool_level *level_of(struct pools *pools, uint32_t device)
{
    for (size_t i = 0; i < pools->levels.count; i++)
        if (pools->levels.items[i].device == device)
            return &pools->levels.items[i];
    struct pool_level *level = array_push(&pools->levels);
    if (level) /* the first level is written even if it is 0, to show that there are pools */
        *level = (struct pool_level){.device = device, .reserved_changed = true, .used_changed = true};
    return level;
}

/* Applies step INDEX; steps must be applied in order. Returns the level of its device, or NULL after error(). */
static struct pool_level *pools_apply(struct pools *pools, size_t index)
{
    const struct pool_step *step = &pools->steps.items[index];
    struct pool_level *level = level_of(pools, step->device);
    uint64_t *latest = level ? map_put(&pools->latest, step->pool, NULL) : NULL;
    if (!latest) {
        error_no_memory("memory pools");
        return NULL;
    }
    struct pool_level old = *level;
    if (*latest != 0) { /* a handle that is used again may be of another device */
        const struct pool_step *before = &pools->steps.items[*latest - 1];
        struct pool_level *of_before = level_of(pools, before->device);
        of_before->reserved -= before->reserved;
        of_before->used -= before->used;
    }
    *latest = index + 1;
    level = level_of(pools, step->device);
    level->reserved += step->reserved;
    level->used += step->used;
    level->reserved_changed |= level->reserved != old.reserved;
    level->used_changed |= level->used != old.used;
    return level;
}

static void emit_counter(struct piece_writer *out, uint32_t pid, uint64_t time, const char *name, uint64_t bytes)
{
    struct counter counter = {.name = name_plain(name), .pid = pid, .time = time, .bytes = bytes};
    out->sink.format->counter(&out->sink, &counter);
}

int write_pools(struct piece_writer *out, struct process *process)
{
    if (file_vector_sort(&process->pools->steps, by_time) != 0)
        return error_no_memory("memory pools");
    for (size_t i = 0; i < process->pools->steps.count; i++) {
        uint64_t time = process->pools->steps.items[i].time;
        struct pool_level *level = pools_apply(process->pools, i);
        uint32_t pid;
        if (!level || process_gpu_pid(process, level->device, &pid) != 0)
            return -1;
        if (!capture_intervals_hold(process->capture_intervals, time))
            continue;
        if (level->reserved_changed)
            emit_counter(out, pid, time, "Pool reserved", level->reserved);
        if (level->used_changed)
            emit_counter(out, pid, time, "Pool used", level->used);
        level->reserved_changed = level->used_changed = false;
        piece_writer_passed(out, process);
    }
    return 0;
}

void put_pools(const struct pools *pools, struct json_out *json)
{
    if (pools->peaks.count == 0)
        return;
    json_key_array(json, "pools");
    for (size_t i = 0; i < pools->peaks.count; i++) {
        const struct pool_peak *peak = &pools->peaks.items[i];
        json_begin_object(json);
        json_put_hex(json, "pool", peak->pool);
        json_put_u64(json, "device", peak->device);
        json_put_u64(json, "reserved_peak", peak->reserved);
        json_put_u64(json, "used_peak", peak->used);
        json_end(json);
    }
    json_end(json);
}

/* The agent's own thread reads the levels of pools: it gets no row in the trace. */
int index_pool(struct process *process, const struct event *event)
{
    uint32_t pid;
    if (!process_index_span(process, event))
        return 0;
    process->cuda = true;
    if (process_gpu_pid(process, event->device, &pid) != 0)
        return -1;
    /* Adds the level of an EVENT_POOL to the steps and peaks. */
    struct pools *pools = process->pools;
    const struct spool_pool_level *level = event->record;
    struct pool_step *step = file_vector_push(&pools->steps);
    struct pool_peak *peak = peak_of(pools, level->pool, event->device);
    if (!step || !peak)
        return error_no_memory("memory pools");
    peak->reserved = level->reserved_high > peak->reserved ? level->reserved_high : peak->reserved;
    peak->used = level->used_high > peak->used ? level->used_high : peak->used;
    *step = (struct pool_step){.time = event->start,
                               .pool = level->pool,
                               .reserved = level->reserved,
                               .used = level->used,
                               .device = event->device,
                               .order = (uint32_t)pools->steps.count};
    return 0;
}
