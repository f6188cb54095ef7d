/*
 * Memory that the driver places. Pools: collects the levels that the agent recorded, sorts them by time, and writes the
 * sum of a device's pools as counters; the peaks of each pool go to the metadata. Managed memory: writes what CUPTI
 * recorded on a row of the GPU.
 */
#include "trace/meaning/memory/pools.h"

#include <inttypes.h>
#include <stdio.h>

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

/* Names as in Nsight Systems; and words for `flags`, from 1, in the order of CUPTI's enumerations. */
#define CAUSES {"user", "coherence", "prefetch", "eviction", "access counters"}
#define ACCESSES {"read", "write", "atomic", "prefetch"}
#define WORDS_MOST 5
static const struct {
    const char *name;
    enum arg_key value_key, words_key;
    const char *words[WORDS_MOST];
} kinds[EVENT_UNIFIED_COUNT] = {
    [EVENT_UNIFIED_UNKNOWN] = {"Unified Memory Counter", ARG_VALUE, ARG_REASON, {NULL}},
    [EVENT_UNIFIED_HTOD] = {"Unified Memory memcpy HtoD", ARG_BYTES, ARG_REASON, CAUSES},
    [EVENT_UNIFIED_DTOH] = {"Unified Memory memcpy DtoH", ARG_BYTES, ARG_REASON, CAUSES},
    [EVENT_UNIFIED_DTOD] = {"Unified Memory memcpy DtoD", ARG_BYTES, ARG_REASON, CAUSES},
    [EVENT_UNIFIED_CPU_FAULT] = {"CPU Page Fault", ARG_PROGRAM_COUNTER, ARG_ACCESS, ACCESSES},
    [EVENT_UNIFIED_GPU_FAULT] = {"GPU Page Fault", ARG_FAULT_GROUPS, ARG_ACCESS, ACCESSES},
    [EVENT_UNIFIED_THRASHING] = {"Thrashing", ARG_BYTES, ARG_REASON, {"in CPU"}},
    [EVENT_UNIFIED_THROTTLING] = {"Throttling", ARG_VALUE, ARG_REASON, {"in CPU"}},
    [EVENT_UNIFIED_REMOTE_MAP] = {"Remote Map",
                                  ARG_BYTES,
                                  ARG_REASON,
                                  {"coherence", "thrashing", "policy", "out of memory", "eviction"}},
};

static bool is_slice(const struct event *event)
{
    return event->end > event->start;
}

int index_unified_memory(struct process *process, const struct event *event)
{
    if (!process_index_span(process, event))
        return 0;
    uint32_t device = process_device(process, event->device, 0);
    return process_stream(process, TRACK_UNIFIED_MEMORY, device, 0, 0) ? 0 : -1;
}

static struct track *track_of(const struct process *process, const struct event *event)
{
    uint32_t device = process_device(process, event->device, 0);
    return process_knows_span(process, event) ? tracks_get(&process->tracks, TRACK_UNIFIED_MEMORY, device, 0, 0) : NULL;
}

int resolve_unified_memory(struct process *process, const struct event *event)
{
    struct track *track = is_slice(event) ? track_of(process, event) : NULL;
    return track ? lanes_collect(&track->lanes, event->start, event->end) : 0;
}

#define HEX_SPACE 20
static void add_hex(struct args *args, enum arg_key key, char space[HEX_SPACE], uint64_t value)
{
    int length = snprintf(space, HEX_SPACE, "0x%" PRIx64, value);
    args_text(args, key, space, (size_t)length);
}

int write_unified_memory(struct piece_writer *out, struct process *process, const struct event *event)
{
    struct track *track = track_of(process, event);
    if (!track)
        return 0;
    enum event_unified_memory what = event->unified_memory.what;
    uint32_t flags = event->unified_memory.flags;
    const char *words = flags > 0 && flags <= WORDS_MOST ? kinds[what].words[flags - 1] : NULL;
    char address[HEX_SPACE], counter[HEX_SPACE];
    struct args args = {0};
    if (kinds[what].value_key == ARG_PROGRAM_COUNTER)
        add_hex(&args, ARG_PROGRAM_COUNTER, counter, event->unified_memory.value);
    else
        args_u64(&args, kinds[what].value_key, event->unified_memory.value);
    add_hex(&args, ARG_ADDRESS, address, event->unified_memory.address);
    if (event->unified_memory.source != EVENT_NO_DEVICE)
        args_u64(&args, ARG_FROM_DEVICE, event->unified_memory.source);
    if (event->unified_memory.target != EVENT_NO_DEVICE)
        args_u64(&args, ARG_TO_DEVICE, event->unified_memory.target);
    args_u64(&args, ARG_PROCESS, event->unified_memory.process);
    if (words)
        args_text(&args, kinds[what].words_key, words, strlen(words));
    struct name name = name_plain(kinds[what].name);
    if (is_slice(event))
        piece_writer_slice(out, CATEGORY_UNIFIED_MEMORY, name, track_row(track, event->start, event->end), event->start,
                           event->end, &args);
    else
        piece_writer_instant(out, CATEGORY_UNIFIED_MEMORY, name, track, event->start, &args);
    return 0;
}
