/*
 * The figures of `gputrace run --live`: how busy each GPU was, in slots of a millisecond, and how much memory is
 * allocated. They come from chunks as these are drained.
 */
#include "launch/drain.h"

#include "common/clock.h"
#include "trace/spool/cupti.h"
#include "trace/spool/agent_records.h"
#include "common/spool_records.h"

/* --- how busy GPUs are --- */

static uint32_t *slot_of(struct live_gpu *gpu, uint64_t millisecond)
{
    return &gpu->slots[millisecond % LIVE_SLOTS];
}

static void add_work(struct live *live, const struct event *event)
{
    if (event->device >= LIVE_GPUS_MAX || event->start == 0 || event->end <= event->start)
        return;
    struct live_gpu *gpu = &live->gpus[event->device];
    uint64_t first = event->start / NS_PER_MS, last = (event->end - 1) / NS_PER_MS;
    if (!gpu->seen || last > gpu->latest) { /* slots between these hold what was a round of the ring ago */
        uint64_t old = last - gpu->latest > LIVE_SLOTS ? last - LIVE_SLOTS + 1 : gpu->latest + 1;
        for (; old <= last; old++)
            *slot_of(gpu, old) = 0;
        gpu->latest = last;
    }
    gpu->seen = true;
    if (last - first >= LIVE_SLOTS)
        first = last - LIVE_SLOTS + 1;
    for (uint64_t at = first; at <= last; at++) {
        uint64_t from = at * NS_PER_MS, to = from + NS_PER_MS;
        from = event->start > from ? event->start : from;
        to = event->end < to ? event->end : to;
        if (gpu->latest - at < LIVE_SLOTS && *slot_of(gpu, at) < NS_PER_MS)
            *slot_of(gpu, at) += (uint32_t)(to - from);
    }
}

double live_busy(const struct live *live, uint32_t number, uint64_t from, uint64_t to)
{
    const struct live_gpu *gpu = &live->gpus[number];
    uint64_t busy = 0, first = from / NS_PER_MS, end = to / NS_PER_MS;
    if (!gpu->seen)
        return -1;
    for (uint64_t at = first; at < end; at++) {
        bool known = at <= gpu->latest && gpu->latest - at < LIVE_SLOTS;
        uint32_t ns = known ? gpu->slots[at % LIVE_SLOTS] : 0;
        busy += ns < NS_PER_MS ? ns : NS_PER_MS;
    }
    return end > first ? (double)busy / (double)((end - first) * NS_PER_MS) : 0;
}

size_t live_add_cupti(struct live *live, const struct spool_part *part, const uint16_t record_bytes[SPOOL_CUPTI_KINDS])
{
    struct cupti_walk walk;
    struct event event;
    size_t seen = 0;
    cupti_walk_begin(&walk, part, part->data, record_bytes);
    while (cupti_walk_next(&walk) && (part->state == SPOOL_DONE || !walk.in_flight)) {
        seen = (size_t)(walk.at - part->data);
        if (!cupti_kind_decoded(walk.kind))
            continue;
        cupti_decode(&event, &walk);
        live->events += event.type != EVENT_TYPE_NONE;
        if (event_is_gpu_work(event.type))
            add_work(live, &event);
    }
    live->recorded += seen;
    return seen;
}

/* --- memory in use --- */

/* Releases that are read before their allocation, which comes a round or two later. Those of host memory, whose
 * allocations do not count, stay here. When there are this many, all are dropped. */
#define RELEASED_MOST ((size_t)1 << 16)

static void allocate(struct live *live, struct live_process *process, const struct event *event)
{
    const uint64_t *released = map_get(&process->released, event->memory.address);
    if (released && *released >= event->start) {
        map_remove(&process->released, event->memory.address);
        return;
    }
    if (released)
        map_remove(&process->released, event->memory.address);
    uint64_t *bytes = map_put(&process->allocated, event->memory.address, NULL);
    if (!bytes)
        return;
    live->memory += event->memory.size - *bytes; /* of one whose release was not recorded */
    *bytes = event->memory.size;
}

static void release_memory(struct live *live, struct live_process *process, const struct event *event)
{
    const uint64_t *bytes = map_get(&process->allocated, event->memory.address);
    if (bytes) {
        live->memory -= *bytes;
        map_remove(&process->allocated, event->memory.address);
        return;
    }
    if (map_count(&process->released) >= RELEASED_MOST)
        map_release(&process->released);
    map_set(&process->released, event->memory.address, event->start);
}

void live_add_agent(struct live *live, struct live_process *process, const struct spool_part *part)
{
    struct agent_walk walk;
    struct event event;
    agent_walk_begin(&walk, part);
    while (agent_walk_next(&walk)) {
        agent_decode(&event, &walk, part->thread);
        live->events += event.type == EVENT_NVTX || event.type == EVENT_MEMORY || event.type == EVENT_NVTX_EXTENSION;
        if (event.type != EVENT_MEMORY || event.memory.result != 0)
            continue;
        if (event.memory.operation == SPOOL_MEMORY_RELEASE)
            release_memory(live, process, &event);
        else if (event.memory.operation == SPOOL_MEMORY_ALLOCATE && event.device != EVENT_NO_DEVICE)
            allocate(live, process, &event);
    }
    live->recorded += part->size;
}

static int add_bytes(void *context, uint64_t address, uint64_t *bytes)
{
    uint64_t *sum = context;
    (void)address;
    *sum += *bytes;
    return 0;
}

void live_process_release(struct live_process *process, struct live *live)
{
    uint64_t held = 0;
    map_each(&process->allocated, add_bytes, &held);
    if (live)
        live->memory -= held;
    map_release(&process->allocated);
    map_release(&process->released);
}
