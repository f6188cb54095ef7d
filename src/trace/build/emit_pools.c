/*
 * What the stream-ordered pools of each device hold, and how much of it is in use, as counters.
 */
#include "trace/build/conversion.h"
#include "trace/build/emitter.h"

static void emit_counter(struct emitter *emitter, uint32_t pid, uint64_t time, const char *name, uint64_t bytes)
{
    struct counter counter = {.name = name_plain(name), .pid = pid, .time = time, .bytes = bytes};
    emitter->writer.format->counter(&emitter->writer, &counter);
}

int emit_pools(struct emitter *emitter, struct process *process)
{
    for (size_t i = 0; i < process->pools.steps.count; i++) {
        uint64_t time = process->pools.steps.items[i].time;
        struct pool_level *level = pools_apply(&process->pools, i);
        uint32_t pid;
        if (!level || process_gpu_pid(emitter->conversion, process, level->device, &pid) != 0)
            return -1;
        if (!windows_hold(&process->windows, time))
            continue;
        if (level->reserved_changed)
            emit_counter(emitter, pid, time, "Pool reserved", level->reserved);
        if (level->used_changed)
            emit_counter(emitter, pid, time, "Pool used", level->used);
        level->reserved_changed = level->used_changed = false;
        emitter_passed(emitter, process);
    }
    return 0;
}
