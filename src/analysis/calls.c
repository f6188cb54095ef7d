#include "analysis/calls.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
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
    sorter_init(&calls->sorter, room, sizeof(struct call), compare);
}

void calls_release(struct calls *calls)
{
    sorter_release(&calls->sorter);
}

int calls_add(struct calls *calls, const struct call *call)
{
    return sorter_add(&calls->sorter, call);
}

int calls_ready(struct calls *calls)
{
    return sorter_ready(&calls->sorter);
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

int calls_walk_end(struct calls_walk *walk)
{
    return sorter_walk_end(&walk->walk);
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

static void gather(struct calls_join *join, int64_t correlation)
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
        gather(join, correlation);
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
    int status = calls_walk_end(&join->walk);
    array_release(&join->same);
    return join->no_memory ? -1 : status;
}
