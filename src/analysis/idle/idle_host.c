/*
 * For each launching thread, walks over time, and over its calls, phases, ranges and operators. Each step adds the time
 * up to the next change of what the thread does to all open gaps.
 *
 * Gaps beyond the first 16 share sums, so that the cost of a step does not depend on the number of GPUs that wait for
 * the thread.
 */
#include "analysis/idle/idle_host.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/base/cost_sum.h"
#include "common/array.h"
#include "common/map.h"
#include "analysis/names/name_facts.h"
#include "analysis/engine/trace.h"
#include "analysis/host/host_activity.h"

ORDER_BY(by_thread_and_time, struct idle_host_gap, thread, start, what.device)

ORDER_WITH(by_thread_and_start, struct idle_host_phase, ORDER(a->thread, b->thread) ?: ORDER(a->start, b->start)
           ?: ORDER(b->end, a->end) ?: ORDER(a->name, b->name))

void idle_host_init(struct idle_host *host, struct sorter_space *space)
{
    sorter_init(&host->gaps, space, sizeof(struct idle_host_gap), by_thread_and_time);
    sorter_init(&host->phases, space, sizeof(struct idle_host_phase), by_thread_and_start);
}

void idle_host_release(struct idle_host *host)
{
    sorter_release(&host->gaps);
    sorter_release(&host->phases);
}

/* A gap around the time of the walk. Each GPU has at most one. */
struct open_gap {
    struct idle_host_gap gap;
    struct idle_gap *largest;
};

/* What the thread does at a time. The fields are those of struct idle_what. */
struct doing {
    uint64_t cause, call, range, operation, activity; /* cause: enum idle_cause */
    uint64_t compiling;                               /* 1: a phase is open */
};

/* The first GAPS_ALONE open gaps are updated one by one. Until their operations are launched, all other gaps share a
 * sum for each struct doing, so that the cost of a step does not grow with the number of GPUs that wait for the
 * thread. */
#define GAPS_ALONE 16u
#define SUMS_LEAST 64u

struct shared_gap {
    struct idle_host_gap gap;
    uint32_t known;   /* the number of sums at the time at which the gap joined */
    int64_t before[]; /* their values at that time */
};

struct shared_gaps {
    ARRAY(struct shared_gap *) items; /* by launch of their operations, the earliest last */
    struct dense_map doings;          /* struct doing */
    ARRAY(int64_t) sums;              /* ns, by number of the doing */
};

struct host_walk {
    struct idle *idle;
    const struct trace *trace;
    struct shared_gaps shared;
    struct sorter_walk gaps, phases;
    struct host_calls_walk calls;
    struct open_range {
        struct range_walk walk;
        uint32_t thread, name; /* name of the innermost range; EVENT_NO_TEXT: none */
        int64_t until;         /* the name holds up to this time */
        bool any;
    } range, operation;
    const struct idle_host_gap *next;
    const struct idle_host_phase *phase; /* the first phase that has not ended by TIME */
    const struct host_call *call;        /* the first call that has not ended by TIME */
    ARRAY(struct open_gap) open;
    uint32_t thread;
    int64_t time;
    int64_t until; /* what the thread does at `time` does not change before this */
};

static enum idle_cause cause_of_call(enum call_kind kind)
{
    switch (kind) {
    case CALL_SYNC_DEVICE:
    case CALL_SYNC_STREAM:
    case CALL_SYNC_EVENT: return IDLE_SYNC;
    case CALL_COPY: return IDLE_COPY;
    case CALL_MODULE: return IDLE_COMPILATION;
    case CALL_ALLOCATE:
    case CALL_FREE:
    case CALL_ALLOCATE_ASYNC:
    case CALL_FREE_ASYNC: return IDLE_ALLOCATION;
    case CALL_ALLOCATE_HOST:
    case CALL_FREE_HOST: return IDLE_PINNING;
    case CALL_GRAPH: return IDLE_GRAPH;
    case CALL_CONTEXT: return IDLE_CONTEXT;
    default: return IDLE_CALL;
    }
}

static void limit(struct host_walk *walk, int64_t time)
{
    if (time > walk->time && time < walk->until)
        walk->until = time;
}

/* Returns the name of the innermost range around walk->time, or EVENT_NO_TEXT. */
static uint32_t find_range(struct host_walk *walk, struct open_range *open)
{
    if (!open->any || open->thread != walk->thread || open->until <= walk->time) {
        open->any = true;
        open->thread = walk->thread;
        open->until = INT64_MAX;
        open->name = range_walk_name(&open->walk, walk->thread, walk->time, &open->until);
    }
    limit(walk, open->until);
    return open->name;
}

/* Returns what the thread does at walk->time. LATE: an open gap's operation is not launched yet; else only phases
 * count. */
static struct doing find_doing(struct host_walk *walk, bool late)
{
    struct doing doing = {IDLE_OUTSIDE, EVENT_NO_TEXT, EVENT_NO_TEXT, EVENT_NO_TEXT, EVENT_NO_TEXT, 0};
    /* Skip phases and calls that have ended or are of earlier threads. */
    while (walk->phase && (walk->phase->thread < walk->thread ||
                           (walk->phase->thread == walk->thread && walk->phase->end <= walk->time)))
        walk->phase = sorter_next(&walk->phases);
    while (walk->call &&
           (walk->call->thread < walk->thread || (walk->call->thread == walk->thread && walk->call->end <= walk->time)))
        walk->call = host_calls_next(&walk->calls);
    if (late && walk->call && walk->call->thread == walk->thread) {
        bool inside = walk->call->start <= walk->time;
        limit(walk, inside ? walk->call->end : walk->call->start);
        if (inside) {
            doing.cause = cause_of_call((enum call_kind)walk->call->kind);
            doing.call = walk->call->name;
        }
    }
    if (walk->phase && walk->phase->thread == walk->thread) {
        bool inside = walk->phase->start <= walk->time;
        limit(walk, inside ? walk->phase->end : walk->phase->start);
        if (inside) {
            doing.cause = walk->phase->cause;
            doing.call = doing.call == EVENT_NO_TEXT ? walk->phase->name : doing.call;
            doing.compiling = 1;
        }
    }
    if (late && doing.cause == IDLE_OUTSIDE) {
        doing.range = find_range(walk, &walk->range);
        doing.operation = find_range(walk, &walk->operation);
        doing.cause =
            name_is_compiling(trace_text(walk->trace, (uint32_t)doing.range)) ? IDLE_COMPILATION : IDLE_OUTSIDE;
    }
    return doing;
}

/* Returns the key of an interval of GAP before its launch. In brief gaps, time outside CUDA counts as launching, except
 * waits for the DataLoader. */
static struct idle_what what_before(const struct host_walk *walk, const struct idle_host_gap *gap,
                                    const struct doing *doing)
{
    struct idle_what what = gap->what;
    bool edge = what.cause == IDLE_BEFORE || what.cause == IDLE_AFTER;
    bool brief = gap->end - gap->start <= IDLE_BRIEF && (doing->cause == IDLE_OUTSIDE || doing->cause == IDLE_CALL);
    what.cause = edge ? what.cause : (uint32_t)doing->cause;
    what.call = (uint32_t)doing->call;
    what.range = (uint32_t)doing->range;
    what.operation = (uint32_t)doing->operation;
    what.activity = (uint32_t)doing->activity;
    what.stream = EVENT_NO_TEXT;
    if (!edge && brief && !idle_is_loading(walk->trace, &what))
        what.cause = IDLE_LAUNCH;
    return what;
}

/* --- gaps that share sums --- */

/* Adds the growth of all sums since the gap joined to the gap. Returns 0, or -1: no memory. */
static int add_shared(struct host_walk *walk, struct shared_gap *one)
{
    const struct shared_gaps *shared = &walk->shared;
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < shared->sums.count; i++) {
        int64_t ns = shared->sums.items[i] - (i < one->known ? one->before[i] : 0);
        const struct idle_what what = what_before(walk, &one->gap, dense_map_row(&shared->doings, i));
        status = idle_add(walk->idle, &what, one->gap.start, one->gap.start, ns, NULL);
    }
    one->known = 0;
    return status;
}

static int share(struct shared_gaps *shared, const struct idle_host_gap *gap)
{
    size_t bytes = shared->sums.count * sizeof(int64_t), count = shared->items.count;
    struct shared_gap *one = malloc(sizeof(*one) + bytes);
    if (!one || !array_push(&shared->items)) {
        free(one);
        return -1;
    }
    one->gap = *gap;
    one->known = (uint32_t)shared->sums.count;
    if (bytes > 0)
        memcpy(one->before, shared->sums.items, bytes);
    struct shared_gap **items = shared->items.items;
    size_t at = COUNT_BEFORE(count, i, items[i]->gap.called > gap->called);
    memmove(items + at + 1, items + at, (count - at) * sizeof(*items));
    items[at] = one;
    return 0;
}

static void clear_sums(struct shared_gaps *shared)
{
    dense_map_release(&shared->doings);
    shared->sums.count = 0;
}

/* Adds the current interval to the sum of DOING. Before there would be more sums than gaps, the gaps are updated and
 * the sums cleared. Returns 0, or -1: no memory. */
static int add_to_sums(struct host_walk *walk, const struct doing *doing)
{
    struct shared_gaps *shared = &walk->shared;
    struct doing key = *doing;
    int status = 0;
    key.compiling = 0;
    if (shared->sums.count >= SUMS_LEAST && shared->sums.count >= shared->items.count &&
        dense_map_lookup(&shared->doings, &key, sizeof(key)) == DENSE_MAP_NONE) {
        for (size_t i = 0; status == 0 && i < shared->items.count; i++)
            status = add_shared(walk, shared->items.items[i]);
        clear_sums(shared);
    }
    int64_t *sum = status == 0 ? dense_map_item(&shared->doings, &key, &shared->sums) : NULL;
    if (sum)
        *sum += walk->until - walk->time;
    return sum ? 0 : -1;
}

/* Returns the sharing gap whose operation is launched first, or NULL. */
static struct shared_gap *next_shared(const struct host_walk *walk)
{
    size_t count = walk->shared.items.count;
    return count > 0 ? walk->shared.items.items[count - 1] : NULL;
}

/* --- the walk --- */

/* Opens the thread's gaps that begin by walk->time. Returns 0, or -1: no memory. */
static int open_gaps(struct host_walk *walk)
{
    int status = 0;
    for (; status == 0 && walk->next && walk->next->thread == walk->thread && walk->next->start <= walk->time;
         walk->next = sorter_next(&walk->gaps)) {
        const struct idle_host_gap *gap = walk->next;
        struct idle_gap *largest = idle_find(walk->idle, gap->what.device, gap->start, gap->end);
        bool alone = largest || walk->idle->has_intervals || gap->called <= walk->time || walk->open.count < GAPS_ALONE;
        if (!alone)
            status = share(&walk->shared, gap);
        else
            status = ADD(array_push, &walk->open, (struct open_gap){*gap, largest}) ? 0 : -1;
    }
    return status;
}

/* Ends the sharing of gaps whose operations are launched by walk->time. Returns 0, or -1: no memory. */
static int end_shared(struct host_walk *walk)
{
    struct shared_gap *one;
    int status = 0;
    while (status == 0 && (one = next_shared(walk)) && one->gap.called <= walk->time) {
        status = add_shared(walk, one);
        if (status == 0 && one->gap.called < one->gap.end)
            status = ADD(array_push, &walk->open, (struct open_gap){one->gap, NULL}) ? 0 : -1;
        walk->shared.items.count--;
        free(one);
    }
    if (walk->shared.items.count == 0 && walk->shared.sums.count > 0)
        clear_sums(&walk->shared);
    return status;
}

static int add_interval(struct host_walk *walk, struct open_gap *open, const struct doing *doing)
{
    const struct idle_host_gap *gap = &open->gap;
    struct idle_what what = gap->what;
    bool late = walk->time < gap->called;
    int64_t until = walk->until;
    if (late || (walk->time < gap->held && doing->compiling)) {
        struct doing launching = *doing;
        launching.call = what.call;
        launching.activity = EVENT_NO_TEXT;
        what = what_before(walk, gap, late ? doing : &launching);
    } else if (walk->time < gap->held) {
        what.cause = gap->launch;
        what.stream = EVENT_NO_TEXT;
    } else {
        what.call = EVENT_NO_TEXT;
        until = gap->end;
    }
    return idle_add(walk->idle, &what, gap->start, walk->time, until - walk->time, open->largest);
}

/* Removes gaps that have ended. If a gap's operation is held from now on, the rest of the gap is added at once, because
 * its thread no longer matters. */
static int close_gaps(struct host_walk *walk)
{
    size_t kept = 0;
    int status = 0;
    for (size_t i = 0; i < walk->open.count && status == 0; i++) {
        struct open_gap open = walk->open.items[i];
        if (walk->time < open.gap.held)
            walk->open.items[kept++] = open;
        else if (walk->time < open.gap.end)
            status = add_interval(walk, &open, NULL);
    }
    walk->open.count = kept;
    return status;
}

/* Walks to the next time at which the open gaps, or what the thread does, change. Returns 0, or -1: no memory. */
static int step(struct host_walk *walk)
{
    if (walk->open.count == 0 && !next_shared(walk)) {
        walk->thread = walk->next->thread;
        walk->time = walk->next->start;
    }
    if (open_gaps(walk) < 0 || close_gaps(walk) < 0)
        return -1;
    if (walk->open.count == 0 && !next_shared(walk))
        return 0;
    const struct shared_gap *shared = next_shared(walk);
    bool late = shared; /* the operation of an open gap is not launched yet */
    walk->until = INT64_MAX;
    if (walk->next && walk->next->thread == walk->thread)
        limit(walk, walk->next->start);
    if (shared)
        limit(walk, shared->gap.called);
    for (size_t i = 0; i < walk->open.count; i++) {
        const struct idle_host_gap *gap = &walk->open.items[i].gap;
        limit(walk, gap->called);
        limit(walk, gap->held);
        late |= walk->time < gap->called;
    }
    struct doing doing = find_doing(walk, late);
    struct host_activities *host = &walk->idle->host;
    if (late && host->trace && doing.cause == IDLE_OUTSIDE) {
        struct host_moment moment;
        if (host_activities_at(host, walk->thread, walk->time, &moment) < 0)
            return -1;
        limit(walk, moment.until);
        doing.activity = moment.activity;
        if (host_activities_weigh(host, &moment, walk->until - walk->time) < 0)
            return -1;
    }
    for (size_t i = 0; i < walk->open.count; i++)
        if (add_interval(walk, &walk->open.items[i], &doing) < 0)
            return -1;
    if (next_shared(walk) && add_to_sums(walk, &doing) < 0)
        return -1;
    walk->time = walk->until;
    return end_shared(walk) ?: close_gaps(walk);
}

/* Sets gap->activity to the activity that took most of the gap, if the host was mostly outside calls. Returns 0, or -1:
 * no memory. */
static int name_gap(struct idle *idle, struct idle_gap *gap)
{
    unsigned cause = idle_main_cause(gap)->what.cause;
    struct host_moment moment = {.until = gap->start};
    ARRAY(int64_t) sums = {0};
    int status = 0;
    if (gap->thread == LAUNCHED_NO_THREAD || (cause != IDLE_OUTSIDE && cause != IDLE_BEFORE && cause != IDLE_AFTER))
        return 0;
    for (int64_t time = gap->start; status == 0 && time < gap->end; time = moment.until) {
        status = host_activities_at(&idle->host, gap->thread, time, &moment);
        moment.until = moment.until < gap->end ? moment.until : gap->end;
        if (status < 0 || moment.activity == EVENT_NO_TEXT)
            continue;
        int64_t *sum = array_at(&sums, moment.activity);
        status = sum ? 0 : -1;
        if (sum)
            sum_add(sum, moment.until - time);
    }
    int64_t most = 0;
    for (uint32_t i = 0; i < sums.count; i++)
        if (sums.items[i] > most) {
            most = sums.items[i];
            gap->activity = i;
        }
    array_release(&sums);
    return status;
}

int idle_host_finish(struct idle_host *host, struct idle *idle, const struct trace *trace)
{
    struct host_walk walk = {.idle = idle, .trace = trace};
    int status = sorter_ready(&host->gaps);
    if (status == 0)
        status = sorter_ready(&host->phases);
    if (status == 0 && host_times_known(trace))
        status = host_activities_init(&idle->host, trace);
    if (status < 0)
        return status;
    sorter_walk_begin(&walk.gaps, &host->gaps);
    sorter_walk_begin(&walk.phases, &host->phases);
    host_calls_walk_begin(&walk.calls, &trace->host_calls);
    range_walk_begin(&walk.range.walk, &trace->ranges, false);
    range_walk_begin(&walk.operation.walk, &trace->operators, false);
    walk.next = sorter_next(&walk.gaps);
    walk.phase = sorter_next(&walk.phases);
    walk.call = host_calls_next(&walk.calls);
    while (status == 0 && (walk.next || walk.open.count > 0 || next_shared(&walk)))
        status = step(&walk);
    array_release(&walk.open);
    for (size_t i = 0; i < walk.shared.items.count; i++)
        free(walk.shared.items.items[i]);
    array_release(&walk.shared.items);
    dense_map_release(&walk.shared.doings);
    array_release(&walk.shared.sums);
    const int ends[] = {sorter_walk_end(&walk.gaps), sorter_walk_end(&walk.phases), host_calls_walk_end(&walk.calls),
                        range_walk_end(&walk.range.walk), range_walk_end(&walk.operation.walk)};
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        status = status ? status : ends[i];
    for (size_t i = 0; idle->host.trace && status == 0 && i < idle->largest_count; i++)
        status = name_gap(idle, &idle->largest[i]);
    if (idle->host.trace)
        host_samples_evict(&trace->samples);
    return status;
}
