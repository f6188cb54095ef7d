/* Unified (managed) memory: writes the migrations, page faults and other events that CUPTI recorded, on a row of the
 * GPU. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "trace/meaning/base/process.h"

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
