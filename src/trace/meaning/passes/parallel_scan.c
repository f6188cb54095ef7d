/*
 * Threads scan parts of the spool in any order; the calling thread joins what each found, in the order of the parts.
 * Also decides which records the trace shows at all, and holds the tables of record_kinds.h and event_record.h as arrays by event type.
 */
#include "trace/meaning/passes/parallel_scan.h"

#include "common/cupti.h"
#include "common/log.h"
#include "common/threads.h"
#include "trace/meaning/gpu/device_ranges.h"
#include "trace/meaning/launches/launches.h"

#define no_index NULL
#define no_resolve NULL
#define no_write NULL
#define ALSO(...)

const struct event_passes cupti_passes[EVENT_TYPE_COUNT] = {
#define ROW(number, kind, groups, on, sizes, event, decode, type, last, index, resolve, write, cause) \
    [EVENT_##event] = {index, resolve, write, cause},
    CUPTI_KINDS(ROW, ALSO)
#undef ROW
};

const struct event_passes agent_passes[EVENT_TYPE_COUNT] = {
#define ROW(record, event, decode, index, resolve, write) [EVENT_##event] = {index, resolve, write, NO_CALL},
    AGENT_RECORDS(ROW, ALSO)
#undef ROW
};

/*
 * Which of CUPTI's records the trace shows.
 *
 * What plugins do in their callbacks is not the program's. CUDA calls outside of CUPTI's callbacks (from NVTX's) have
 * correlation ids of their own. Calls within CUPTI's callbacks have the id of the program's call around them, and lie
 * within it in time. So their times distinguish events of the host. A GPU operation counts as the program's
 * if the program's call with its id is one that starts such work.
 */

bool call_is_plugins(const struct process *process, const struct event *api)
{
    return plugin_intervals_any(process->plugin_intervals) &&
           plugin_intervals_hold(process->plugin_intervals, api->thread, api->start, api->end);
}

static bool is_plugins(const struct process *process, const struct event *event)
{
    const struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
    switch (cupti_passes[event->type].cause) {
    case ON_THREAD: return call_is_plugins(process, event);
    case WITHIN_CALL:
        return launch && launch->suppressed &&
               (launch->from == LAUNCH_UNKNOWN ||
                plugin_intervals_hold(process->plugin_intervals, launch->thread, event->start, event->end));
    case STARTED_BY_CALL: return launch && launch_is_suppressed(launch, event->type);
    default: return false;
    }
}

bool has_suppressed_calls(const struct process *process)
{
    return plugin_intervals_any(process->plugin_intervals) || process->device_ranges->any;
}

/* Whether CUPTI recorded a call that the user did not ask for: old versions switch all calls or none, and the agent
 * keeps launches switched on. */
static bool is_unwanted_call(const struct process *process, const struct event *event)
{
    if (event->type != EVENT_API)
        return false;
    bool runtime = event->api.domain == EVENT_API_RUNTIME;
    if (!process_was_to_record(process, runtime ? TRACE_RUNTIME : TRACE_DRIVER))
        return true;
    uint64_t bits = process->file.header.trace_bits; /* 0: unknown */
    enum api_class class = runtime ? api_runtime_class(event->api.cbid) : api_driver_class(event->api.cbid);
    if (class == API_STATUS && !process->agent_waits)
        return false; /* these calls tell which of the waits that CUPTI recorded were mere queries */
    return bits != 0 && !api_class_recorded(class, bits);
}

bool event_is_shown(const struct process *process, const struct event *event)
{
    if (is_unwanted_call(process, event))
        return false;
    if (event->type == EVENT_SYNC && (process->agent_waits || !process_was_to_record(process, TRACE_SYNC)))
        return false; /* CUPTI recorded waits only because CUDA events need them */
    if (has_suppressed_calls(process) && is_plugins(process, event))
        return false;
    if (!process->capture_intervals->limited)
        return true;
    if (!event_is_gpu_work(event->type) && event->type != EVENT_CUDA_EVENT)
        return event->type == EVENT_DEVICE || event->type == EVENT_CONTEXT ||
               capture_intervals_hold(process->capture_intervals, event->start);
    const struct launch *launch = launches_get(process->launches, event->correlation);
    bool calls_recorded = process->file.header.trace_bits & (TRACE_RUNTIME | TRACE_DRIVER);
    if (calls_recorded)
        return launch && launch->from != LAUNCH_UNKNOWN;
    return capture_intervals_hold(process->capture_intervals, event->start);
}

/* --- walks over the records --- */

#define WORKERS_MOST 16 /* more would wait for the thread that joins */
#define PARTS_LEAST 4   /* fewer parts are not worth the start of a thread */
/* Bytes of parts, as in the spool or unpacked, that may be scanned at once or wait to be joined. */
#define HELD_BYTES ((size_t)64 << 20)

/* An event that was deferred: where its record lies, its times on the axis of all processes, and the correlation id of
 * its launch. */
struct deferred_event {
    const void *record;
    uint32_t kind, bytes;
    uint64_t start, end;
    uint32_t correlation;
    bool in_flight;
};

struct part_found {
    struct spool_scratch scratch;
    void *noted;
    ARRAY(struct deferred_event) deferred;
    uint64_t undecoded;
};

struct scanning {
    struct process *process;
    const struct scan *scan;
    struct part_found *slots;
    unsigned slot_count;
    uint64_t undecoded, walked;
};

static const struct spool_part *part_of(const struct scanning *scanning, size_t number)
{
    const struct spool_part *part = &scanning->process->file.parts.items[number];
    return part->type == SPOOL_CUPTI ? part : NULL;
}

static int scan_part(void *context, size_t number, unsigned slot, unsigned worker)
{
    struct scanning *scanning = context;
    const struct spool_part *part = part_of(scanning, number);
    struct part_found *found = &scanning->slots[slot];
    struct part_walk walk;
    struct event event;
    int result = 0;
    (void)worker;
    if (!part)
        return 0;
    part_walk_begin(&walk, scanning->process, part, spool_part_data(part, &found->scratch), scanning->scan->all);
    while (result >= 0 && part_walk_next(&walk, &event)) {
        result = scanning->scan->scan(scanning->process, found->noted, &event);
        if (result == SCAN_DEFER) {
            const struct deferred_event deferred = {.record = walk.cupti.record,
                                                    .kind = walk.cupti.kind,
                                                    .bytes = walk.cupti.bytes,
                                                    .start = event.start,
                                                    .end = event.end,
                                                    .correlation = event.correlation,
                                                    .in_flight = walk.cupti.in_flight};
            result = ADD(array_push, &found->deferred, deferred) ? 0 : error_no_memory("reading");
        }
    }
    found->undecoded = part_walk_end(&walk);
    return result;
}

static int join_part(void *context, size_t number, unsigned slot)
{
    struct scanning *scanning = context;
    const struct spool_part *part = part_of(scanning, number);
    struct part_found *found = &scanning->slots[slot];
    int result = 0;
    if (!part)
        return 0;
    scanning->process->part = (uint32_t)number;
    if (scanning->scan->join)
        result = scanning->scan->join(scanning->process, found->noted);
    for (size_t i = 0; i < found->deferred.count && result == 0; i++) {
        const struct deferred_event *deferred = &found->deferred.items[i];
        const struct cupti_walk walk = {.record = deferred->record,
                                        .kind = deferred->kind,
                                        .bytes = deferred->bytes,
                                        .in_flight = deferred->in_flight};
        struct event event;
        cupti_decode(&event, &walk);
        event.start = deferred->start;
        event.end = deferred->end;
        event.correlation = deferred->correlation;
        result = scanning->scan->visit(scanning->process, &event);
    }
    found->deferred.count = 0;
    scanning->undecoded += found->undecoded;
    process_walked(scanning->process, part, &scanning->walked);
    return result;
}

static size_t held_size(void *context, size_t number)
{
    const struct spool_part *part = part_of(context, number);
    return part ? part->size : 0;
}

int parallel_scan(struct process *process, const struct scan *scan, uint64_t *undecoded)
{
    struct scanning scanning = {.process = process, .scan = scan};
    size_t parts = process->file.parts.count;
    unsigned workers =
        parts < PARTS_LEAST ? 1 : ordered_loop_workers(process->conversion->options->workers, WORKERS_MOST);
    scanning.slot_count = ordered_loop_slots(workers);
    scanning.slots = calloc(scanning.slot_count, sizeof(*scanning.slots));
    int result = scanning.slots ? 0 : error_no_memory("reading");
    for (unsigned i = 0; i < scanning.slot_count && scan->found_size > 0 && result == 0; i++) {
        scanning.slots[i].noted = calloc(1, scan->found_size);
        result = scanning.slots[i].noted ? 0 : error_no_memory("reading");
    }
    result = result
                 ?: ordered_loop_run(&(struct ordered_loop){.count = parts,
                                                            .workers = workers,
                                                            .make = scan_part,
                                                            .take = join_part,
                                                            .size = held_size,
                                                            .most = HELD_BYTES,
                                                            .context = &scanning});
    for (unsigned i = 0; scanning.slots && i < scanning.slot_count; i++) {
        struct part_found *found = &scanning.slots[i];
        if (found->noted && scanning.scan->release)
            scanning.scan->release(found->noted);
        free(found->noted);
        array_release(&found->deferred);
        spool_scratch_release(&found->scratch);
    }
    free(scanning.slots);
    if (undecoded)
        *undecoded += scanning.undecoded;
    return result;
}

void part_walk_begin(struct part_walk *walk, struct process *process, const struct spool_part *part,
                     const uint8_t *data, bool all)
{
    walk->process = process;
    walk->part = part;
    walk->all = all;
    walk->unreadable = 0;
    clock_walk_begin(&walk->clocks, process, part);
    if (part->type == SPOOL_CUPTI)
        cupti_walk_begin(&walk->cupti, part, data, process->record_bytes);
    else
        agent_walk_begin(&walk->own, part);
}

static bool next_cupti(struct part_walk *walk, struct event *event)
{
    while (cupti_walk_next(&walk->cupti)) {
        if (!cupti_kind_decoded(walk->cupti.kind))
            continue;
        cupti_decode(event, &walk->cupti);
        clock_walk_set(&walk->clocks, event);
        if (event->correlation == 0)
            event->correlation = conditional_launches_find(walk->process->conditional, event);
        if (event->type == EVENT_TYPE_NONE)
            walk->unreadable++;
        else if (walk->all || event_is_shown(walk->process, event))
            return true;
    }
    return false;
}

bool part_walk_next(struct part_walk *walk, struct event *event)
{
    if (walk->part->type == SPOOL_CUPTI)
        return next_cupti(walk, event);
    if (!agent_walk_next(&walk->own))
        return false;
    agent_decode(event, &walk->own, walk->part->thread);
    clock_walk_set(&walk->clocks, event);
    return true;
}

uint64_t part_walk_end(const struct part_walk *walk)
{
    spool_part_evict(walk->part);
    return walk->unreadable + (walk->part->type == SPOOL_CUPTI ? walk->cupti.damaged : walk->own.damaged);
}
