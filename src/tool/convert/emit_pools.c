/*
 * What the stream-ordered pools of each device hold, and how much of it is in use, as counters.
 */
#include "tool/convert/conversion.h"

static void emit_counter(struct conversion *conversion, uint32_t pid, uint64_t time, const char *name, uint64_t bytes)
{
    struct counter counter = {.name = kept_name(conversion, name), .pid = pid, .time = time, .bytes = bytes};
    conversion->writer.format->counter(&conversion->writer, &counter);
}

int emit_pools(struct conversion *conversion, struct process *process)
{
    for (size_t i = 0; i < process->pools.steps.count; i++) {
        uint64_t time = process->pools.steps.items[i].time;
        struct pool_level *level = pools_apply(&process->pools, i);
        uint32_t pid;
        if (!level || process_gpu_pid(conversion, process, level->device, &pid) != 0)
            return -1;
        if (!windows_hold(&process->windows, time))
            continue;
        if (level->reserved_changed)
            emit_counter(conversion, pid, time, "Pool reserved", level->reserved);
        if (level->used_changed)
            emit_counter(conversion, pid, time, "Pool used", level->used);
        level->reserved_changed = level->used_changed = false;
    }
    return 0;
}
