/*
 * Collects the times, steps, idle time and operations of each rank, and words for what its host mostly did.
 */
#include "analysis/ranks/ranks_of_trace.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/array.h"
#include "common/map.h"
#include "common/sorter.h"
#include "analysis/base/cost_sum.h"
#include "analysis/steps/steps.h"
#include "analysis/idle/idle.h"
#include "analysis/summary/section_findings.h"
#include "analysis/ranks/ranks.h"
#include "analysis/engine/trace.h"
#include "analysis/engine/trace_known.h"

static uint32_t intern_text(struct ranks *ranks, const char *text)
{
    return intern(&ranks->texts, text, strlen(text));
}

static int add_rank(struct ranks *ranks, const struct trace *trace, const struct rank_time *times)
{
    const struct trace_rank *known = &trace->ranks.items[times->known];
    const struct temporal_device *gpu = &times->gpu;
    struct rank *rank = array_push(&ranks->items);
    const char *host = trace_text(trace, known->host != EVENT_NO_TEXT ? known->host : trace->host);
    if (!rank)
        return -1;
    *rank = (struct rank){.rank = known->rank,
                          .host = *host ? intern_text(ranks, host) : EVENT_NO_TEXT,
                          .start = gpu->used ? gpu->first : FIELD_ABSENT,
                          .end = gpu->used ? gpu->last : FIELD_ABSENT,
                          .compute = temporal_any(gpu, TEMPORAL_COMPUTE),
                          .communication = temporal_any(gpu, TEMPORAL_COMMUNICATION),
                          .copies = temporal_any(gpu, TEMPORAL_COPY),
                          .worst_at = FIELD_ABSENT,
                          .device = FIELD_ABSENT,
                          .between = EVENT_NO_TEXT,
                          .shares = times->shares};
    rank->exposed = rank->communication - temporal_both(gpu, TEMPORAL_COMMUNICATION, TEMPORAL_COMPUTE);
    rank->idle = gpu->used ? gpu->last - gpu->first - temporal_any(gpu, TEMPORAL_ALL) : 0;
    for (unsigned i = 0; i < IDLE_CAUSE_COUNT; i++)
        rank->mostly[i] = EVENT_NO_TEXT;
    return *host && rank->host == INTERN_NO_MEMORY ? -1 : 0;
}

/* --- idle time --- */

static uint32_t rank_of_device(const struct rank_times *times, size_t device)
{
    return device < times->of_device.count ? times->of_device.items[device] : RANK_NONE;
}

/* Sums what the host did while a rank's GPUs were idle. Rows with equal words count together. */
struct doings {
    struct interner words;
    struct map totals; /* cause << 32 | words -> ns */
    struct longest {
        uint64_t total;
        uint32_t words; /* EVENT_NO_TEXT: unknown */
    } most[IDLE_CAUSE_COUNT];
};

/* Adds a row under words for what the host did: "sleep() in load (a.py:9)", or the range, or the call. */
static int add_doing(struct doings *doings, const struct trace *trace, const struct idle *idle,
                     const struct idle_row *row)
{
    const struct idle_what *what = &row->what;
    struct longest *most = &doings->most[what->cause];
    struct buffer text;
    uint32_t words = EVENT_NO_TEXT, name = what->call != EVENT_NO_TEXT    ? what->call
                                           : what->range != EVENT_NO_TEXT ? what->range
                                                                          : what->operation;
    bool active = what->activity != EVENT_NO_TEXT;
    buffer_init_memory(&text);
    if (active)
        host_activity_write(&text, &idle->host, what->activity);
    if (active && what->range != EVENT_NO_TEXT)
        buffer_format(&text, " in range %s", trace_text(trace, what->range));
    if (!active && name != EVENT_NO_TEXT)
        buffer_text(&text, trace_text(trace, name));
    if (active || name != EVENT_NO_TEXT)
        words = text.failure ? INTERN_NO_MEMORY : intern(&doings->words, text.data ? text.data : "", text.length);
    bool memory = words != INTERN_NO_MEMORY || (!active && name == EVENT_NO_TEXT);
    buffer_release(&text);
    uint64_t *total = memory ? map_put(&doings->totals, (uint64_t)what->cause << 32 | words, NULL) : NULL;
    if (!total)
        return -1;
    *total += (uint64_t)row->sum.total;
    if (*total > most->total)
        *most = (struct longest){*total, words};
    return 0;
}

static int add_idle_rows(struct ranks *ranks, const struct trace *trace, const struct idle *idle,
                         const struct rank_times *times)
{
    /* By rank: index + 1 of its first device. By device: index + 1 of the next device of its rank. 0: none. */
    uint32_t *first = calloc(ranks->items.count + 1, sizeof(*first));
    uint32_t *next = calloc(idle->devices.count + 1, sizeof(*next));
    int status = first && next ? 0 : -1;
    for (size_t i = idle->devices.count; status == 0 && i-- > 0;) {
        size_t rank = rank_of_device(times, (uint32_t)i);
        if (rank >= ranks->items.count)
            continue;
        next[i] = first[rank];
        first[rank] = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < ranks->items.count && status == 0; i++) {
        struct rank *rank = &ranks->items.items[i];
        struct doings doings = {0};
        for (uint32_t device = first[i]; device && status == 0; device = next[device - 1]) {
            const struct idle_rows *rows = idle->host.trace ? &idle->active : &idle->rows;
            for (const struct idle_row *row = idle_first_row(rows, device - 1); row && status == 0;
                 row = idle_next_row(rows, row)) {
                if (!idle_is_loading(trace, &row->what))
                    status = add_doing(&doings, trace, idle, row);
                else if (rank_is_host_cause(row->what.cause))
                    sum_add(&rank->loading, row->sum.total);
            }
        }
        for (unsigned cause = 0; cause < IDLE_CAUSE_COUNT && status == 0; cause++) {
            const struct longest *most = &doings.most[cause];
            if (most->total == 0 || most->words == EVENT_NO_TEXT)
                continue;
            rank->mostly[cause] = intern_text(ranks, interned(&doings.words, most->words));
            status = rank->mostly[cause] == INTERN_NO_MEMORY ? -1 : 0;
        }
        map_release(&doings.totals);
        interner_release(&doings.words);
    }
    free(first);
    free(next);
    return status;
}

/* Adds idle time to the steps. Takes idle time before the first step out of the causes of the rank, because ranks do
 * not wait for one another in the steps for this reason. */
static int add_idle_intervals(struct ranks *ranks, const struct idle *idle, const struct rank_times *times)
{
    struct sorter_walk walk;
    const struct idle_interval *interval;
    uint32_t last = RANK_NONE;
    int64_t begin = INT64_MIN;
    if (!idle->has_intervals)
        return 0;
    sorter_walk_begin(&walk, &idle->intervals);
    while ((interval = sorter_next(&walk))) {
        uint32_t rank = rank_of_device(times, interval->device);
        if (rank == RANK_NONE)
            continue;
        begin = rank == last ? begin : rank_steps_begin(&ranks->steps, rank);
        last = rank;
        int64_t before =
            interval->start + interval->length < begin ? interval->length : difference_of(begin, interval->start);
        if (interval->start < begin)
            sum_add(&ranks->items.items[rank].causes[interval->cause], -before);
        rank_steps_add_idle(&ranks->steps, rank, interval);
    }
    return sorter_walk_end(&walk);
}

static int add_idle(struct ranks *ranks, const struct trace *trace, const struct idle *idle,
                    const struct rank_times *times)
{
    for (size_t i = 0; idle && i < times->of_device.count; i++) {
        struct rank *rank =
            times->of_device.items[i] == RANK_NONE ? NULL : &ranks->items.items[times->of_device.items[i]];
        if (!rank)
            continue;
        rank->device = rank->device == FIELD_ABSENT ? trace_device_id(trace, i) : rank->device;
        for (unsigned cause = 0; i < idle->devices.count && cause < IDLE_CAUSE_COUNT; cause++)
            sum_add(&rank->causes[cause], idle->devices.items[i].causes[cause].total);
    }
    return idle ? add_idle_rows(ranks, trace, idle, times) ?: add_idle_intervals(ranks, idle, times) : 0;
}

/* --- operations --- */

static int add_operations(struct ranks *ranks, const struct collectives *collectives, const struct rank_times *times)
{
    ARRAY(uint32_t) index = {0};
    struct collectives_walk walk;
    const struct collective *operation;
    int status = 0;
    collectives_walk_begin(&walk, &collectives->all);
    for (size_t count; status == 0 && (count = collectives_next(&walk, &operation)) > 0;) {
        status = array_at(&index, count - 1) ? 0 : -1;
        for (size_t i = 0; i < count && status == 0; i++)
            index.items[i] = operation[i].process < times->of_process.count
                                 ? times->of_process.items[operation[i].process]
                                 : RANK_NONE;
        status = status ?: ranks_add_operation(ranks, operation, index.items, count);
    }
    int walked = collectives_walk_end(&walk);
    array_release(&index);
    return status ? status : walked;
}

int ranks_of_trace(struct ranks *ranks, const struct trace *trace)
{
    const struct rank_times *times = section_state(trace, REPORT_RANKS);
    const struct collectives *collectives = section_state(trace, REPORT_COMM);
    const struct steps *steps = section_state(trace, REPORT_STEPS);
    int status = 0;
    ranks->trace = trace;
    for (size_t i = 0; i < times->items.count && status == 0; i++)
        status = add_rank(ranks, trace, &times->items.items[i]);
    for (size_t i = 0; i < times->kernels.count && status == 0; i++) {
        const struct rank_kernel_key *key = dense_map_row(&times->kernel_keys, i);
        const struct rank_kernel *kernel = &times->kernels.items[i];
        uint32_t text = intern_text(ranks, trace_text(trace, trace_shown(trace, (uint32_t)key->name)));
        const struct rank_name name = {(uint32_t)key->rank, text, kernel->total, kernel->count, kernel->copy};
        status = text != INTERN_NO_MEMORY && ADD(array_push, &ranks->names, name) ? 0 : -1;
    }
    if (status < 0 || times->items.count == 0)
        return status;
    for (size_t i = 0; steps && i < steps->processes.count; i++) {
        const struct steps_process *process = &steps->processes.items[i];
        uint32_t index =
            process->process < times->of_process.count ? times->of_process.items[process->process] : RANK_NONE;
        if (index == RANK_NONE)
            continue;
        struct rank *rank = &ranks->items.items[index];
        for (size_t k = 0; k < process->items.count; k++)
            sum_add(&rank->step_total, process->items.items[k].end - process->items.items[k].start);
        rank->steps += (int64_t)process->items.count;
    }
    /* Steps are added rank by rank, because ranks.steps is sorted by rank. */
    for (uint32_t rank = 0; steps && rank < ranks->items.count; rank++)
        for (size_t i = 0; i < steps->processes.count && status == 0; i++) {
            uint32_t process = steps->processes.items[i].process;
            if (process < times->of_process.count && times->of_process.items[process] == rank)
                status = rank_steps_add(&ranks->steps, rank, &steps->processes.items[i]);
        }
    status = status ?: add_idle(ranks, trace, section_state(trace, REPORT_IDLE), times);
    return status ?: add_operations(ranks, collectives, times);
}

/* --- what the host does outside CUDA --- */

static bool is_outside(const struct idle_gap *gap, const struct trace *trace, const struct rank *rank)
{
    const struct idle_what *what = &idle_main_cause(gap)->what;
    return trace_device_id(trace, gap->device) == rank->device && what->cause == IDLE_OUTSIDE &&
           gap->before.name != EVENT_NO_TEXT && gap->after.name != EVENT_NO_TEXT && !idle_is_loading(trace, what);
}

/* Returns a gap between the two operations whose gaps take most time together, of the largest gaps in which the host of
 * RANK was outside CUDA. Returns NULL if there are none. */
static const struct idle_gap *usual_gap(const struct idle *idle, const struct trace *trace, const struct rank *rank)
{
    const struct idle_gap *found = NULL;
    int64_t most = 0;
    for (size_t i = 0; i < idle->largest_count; i++) {
        const struct idle_gap *one = &idle->largest[i];
        int64_t total = 0;
        for (size_t k = 0; k < idle->largest_count && is_outside(one, trace, rank); k++) {
            const struct idle_gap *other = &idle->largest[k];
            bool same = other->before.name == one->before.name && other->after.name == one->after.name;
            sum_add(&total, same && is_outside(other, trace, rank) ? other->end - other->start : 0);
        }
        found = total > most ? one : found;
        most = total > most ? total : most;
    }
    return found;
}

int ranks_describe_gaps(struct ranks *ranks, const struct trace *trace)
{
    const struct findings *findings = findings_of(trace); /* only gaps in the steps count */
    const struct idle *idle = findings ? findings->idle : NULL;
    for (size_t i = 0; i < ranks->items.count && idle && !idle->host.trace; i++) {
        struct rank *rank = &ranks->items.items[i];
        const struct idle_gap *gap = usual_gap(idle, trace, rank);
        const struct host_between between = gap ? host_between(trace, gap) : (struct host_between){.text = ""};
        if (!*between.text)
            continue;
        rank->between = intern(&ranks->texts, between.text, strlen(between.text));
        if (rank->between == INTERN_NO_MEMORY)
            return -1;
    }
    return 0;
}

/* --- times of GPUs --- */

void rank_times_release(void *state)
{
    struct rank_times *times = state;
    array_release(&times->items);
    array_release(&times->of_process);
    array_release(&times->of_device);
    dense_map_release(&times->kernel_keys);
    array_release(&times->kernels);
}

/* --- processes --- */

/* Returns the index of the item for the trace's rank KNOWN, which is created if it is new. Returns RANK_NONE without
 * memory. */
static uint32_t find_item(struct rank_times *times, uint32_t known)
{
    for (uint32_t i = 0; i < times->items.count; i++)
        if (times->items.items[i].known == known)
            return i;
    bool added = ADD(array_push, &times->items, (struct rank_time){.known = known});
    return added ? (uint32_t)times->items.count - 1 : RANK_NONE;
}

/* Finds or creates the item of each process that is a rank. */
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
    /* A filter may leave no event of a rank, which still belongs to the job. */
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

static void end_lanes(struct walk *walk)
{
    for (size_t i = 0; i < walk->times->items.count; i++)
        temporal_lane_end(&walk->times->items.items[i].lane);
}

/* Assigns DEVICE to the rank of its first operation, or to no rank once another rank uses it, too. */
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
        const uint32_t users[] = {times->of_device.items[device], rank};
        for (unsigned i = 0; i < 2; i++)
            if (users[i] != RANK_NONE)
                times->items.items[users[i]].shares = true;
        times->of_device.items[device] = RANK_NONE;
    }
    walk->any = true;
    walk->device = device;
    return 0;
}

static int add_op(struct walk *walk, const struct timeline_op *op)
{
    struct rank_times *times = walk->times;
    uint32_t rank = times->items.count == 1 ? 0 : RANK_NONE, process = walk->trace->stream_owners.items[op->stream];
    if (process == CALLS_ANY_PROCESS && op->thread != LAUNCHED_NO_THREAD)
        process = walk->trace->threads.items[op->thread].process; /* the process that launched the operation */
    if (process != CALLS_ANY_PROCESS)
        rank = times->of_process.items[process];
    unsigned kind = temporal_kind(&walk->names, walk->trace, op);
    if (kind == 0 || own_device(walk, op->device, rank) < 0)
        return -1;
    if (rank == RANK_NONE)
        return 0;
    struct rank_time *one = &times->items.items[rank];
    if (!one->lane.to)
        temporal_lane_begin(&one->lane, &one->gpu, op);
    temporal_lane_add(&one->lane, kind, op);
    bool named = kind & (TEMPORAL_COMPUTE | TEMPORAL_COPY) && op->name != EVENT_NO_TEXT;
    if (!named)
        return 0;
    const struct rank_kernel_key key = {rank, op->name};
    struct rank_kernel *kernel = dense_map_item(&times->kernel_keys, &key, &times->kernels);
    if (!kernel)
        return -1;
    sum_add(&kernel->total, op->end - op->start);
    kernel->count++;
    kernel->copy = kind == TEMPORAL_COPY;
    return 0;
}

int rank_times_gather(void *state, const struct trace *trace)
{
    struct rank_times *times = state;
    struct walk walk = {.times = times, .trace = trace};
    const struct timeline_op *op;
    int status = trace->ranks.count ? find_processes(times, trace) : 0;
    if (status == 0 && times->items.count > 0)
        status = SORTER_EACH(&trace->timeline, op, add_op(&walk, op));
    end_lanes(&walk);
    array_release(&walk.names.communication);
    return status;
}
