#include "analysis/gpu_ops.h"

#include <stdlib.h>

#include "trace/event_fields.h"

static int by_correlation_and_process(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

void calls_init(struct calls *calls, struct sorter_room *room)
{
    calls->wanted = false;
    sorter_init(&calls->sorter, room, sizeof(struct call), by_correlation_and_process);
}

/* --- */

void calls_walk_begin(struct calls_walk *walk, const struct calls *calls)
{
    walk->any = false;
    sorter_walk_begin(&walk->walk, &calls->sorter);
}

const struct call *calls_next(struct calls_walk *walk)
{
    const struct call *call;
    while ((call = sorter_next(&walk->walk))) {
        if (walk->any && call->correlation == walk->correlation && call->process == walk->process)
            continue;
        walk->any = true;
        walk->correlation = call->correlation;
        walk->process = call->process;
        return call;
    }
    return NULL;
}

/* --- */

void calls_join_begin(struct calls_join *join, const struct calls *calls)
{
    *join = (struct calls_join){.correlation = -1};
    calls_walk_begin(&join->walk, calls);
    join->next = calls_next(&join->walk);
}

static void miss(struct calls_join *join, const struct call *call)
{
    if (join->missed && join->missed(join->context, call) < 0)
        join->no_memory = true;
}

static void end_same(struct calls_join *join)
{
    for (size_t i = 0; i < join->same.count; i++)
        if (!join->same.items[i].found)
            miss(join, &join->same.items[i].call);
    join->same.count = 0;
}

static void collect_same(struct calls_join *join, int64_t correlation)
{
    end_same(join);
    join->correlation = correlation;
    for (; join->next && join->next->correlation < correlation; join->next = calls_next(&join->walk))
        miss(join, join->next);
    for (; join->next && join->next->correlation == correlation; join->next = calls_next(&join->walk)) {
        struct calls_join_call *added = array_push(&join->same);
        join->no_memory |= !added;
        if (added)
            added->call = *join->next;
    }
}

const struct call *calls_join_find(struct calls_join *join, int64_t correlation, int64_t time)
{
    if (correlation < 0)
        return NULL;
    if (correlation != join->correlation)
        collect_same(join, correlation);
    if (join->same.count == 0)
        return NULL;
    struct calls_join_call *found = &join->same.items[0];
    for (size_t i = 1; i < join->same.count; i++) {
        const struct call *call = &join->same.items[i].call;
        if (call->start <= time && (call->start > found->call.start || found->call.start > time))
            found = &join->same.items[i];
    }
    join->again = found->found;
    found->found = true;
    return &found->call;
}

void calls_join_miss_rest(struct calls_join *join)
{
    end_same(join);
    for (; join->next; join->next = calls_next(&join->walk))
        miss(join, join->next);
}

int calls_join_end(struct calls_join *join)
{
    int status = sorter_walk_end(&join->walk.walk);
    array_release(&join->same);
    return join->no_memory ? -1 : status;
}

static int by_correlation(const void *left, const void *right)
{
    const struct gpu_op *a = left, *b = right;
    if (a->is_correlated != b->is_correlated)
        return a->is_correlated ? 1 : -1;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

void gpu_ops_init(struct gpu_ops *gpu_ops, struct sorter_room *room)
{
    gpu_ops->wanted = false;
    sorter_init(&gpu_ops->sorter, room, sizeof(struct gpu_op), by_correlation);
}

int gpu_ops_add(struct gpu_ops *gpu_ops, const struct event_fields *event, uint32_t stream)
{
    struct gpu_op op = {
        .start = event->start,
        .duration = event->duration,
        .name = event->name,
        .stream = stream,
        .order = (uint32_t)gpu_ops->sorter.count,
        .is_correlated = event->correlation >= 0 && event->correlation <= UINT32_MAX,
        .kernel = event->category == CATEGORY_KERNEL || event->category == CATEGORY_GPU_GRAPH,
    };
    if (op.is_correlated)
        op.correlation = (uint32_t)event->correlation;
    return sorter_add(&gpu_ops->sorter, &op);
}

int gpu_ops_each(const struct gpu_ops *gpu_ops, const struct calls *calls,
                 int (*each)(void *context, const struct gpu_op *op, const struct call *call), void *context)
{
    struct calls_join found;
    struct sorter_walk walk;
    const struct gpu_op *op;
    int status = 0;
    calls_join_begin(&found, calls);
    sorter_walk_begin(&walk, &gpu_ops->sorter);
    while (status == 0 && (op = sorter_next(&walk))) {
        int64_t correlation = op->is_correlated ? (int64_t)op->correlation : -1;
        status = each(context, op, calls_join_find(&found, correlation, op->start));
    }
    int walked = sorter_walk_end(&walk), joined = calls_join_end(&found);
    return status ? status : walked ? walked : joined;
}

int launched_ops_order(const void *left, const void *right)
{
    const struct launched_op *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->called != b->called)
        return a->called < b->called ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

void launched_ops_init(struct launched_ops *launched, struct sorter_room *room)
{
    launched->wanted = false;
    sorter_init(&launched->sorter, room, sizeof(struct launched_op), launched_ops_order);
}

static int add_called(void *context, const struct gpu_op *op, const struct call *call)
{
    struct launched_ops *launched = context;
    struct launched_op one = {.called = call ? call->start : 0,
                              .start = op->start,
                              .duration = op->duration,
                              .name = op->name,
                              .stream = op->stream,
                              .thread = call ? call->thread : LAUNCHED_NO_THREAD,
                              .kernel = op->kernel};
    return sorter_add(&launched->sorter, &one);
}

int launched_ops_gather(struct launched_ops *launched, const struct gpu_ops *gpu_ops, const struct calls *calls)
{
    int status = gpu_ops_each(gpu_ops, calls, add_called, launched);
    return status ? status : sorter_ready(&launched->sorter);
}
