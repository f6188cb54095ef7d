#include "tool/report/calls.h"

#include <stdlib.h>

void calls_release(struct calls *calls)
{
    array_release(&calls->items);
}

static int compare(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->end < b->end) - (a->end > b->end);
}

int calls_add(struct calls *calls, const struct call *call)
{
    struct call *added = array_push(&calls->items);
    if (!added)
        return -1;
    *added = *call;
    return 0;
}

void calls_sort(struct calls *calls)
{
    size_t in_order = 1;
    while (in_order < calls->items.count &&
           compare(&calls->items.items[in_order - 1], &calls->items.items[in_order]) <= 0)
        in_order++;
    if (in_order < calls->items.count)
        qsort(calls->items.items, calls->items.count, sizeof(struct call), compare);
}

bool calls_is_outermost(const struct calls *calls, size_t index)
{
    const struct call *call = &calls->items.items[index], *before = call - 1;
    return index == 0 || before->correlation != call->correlation || before->process != call->process;
}

static size_t lower_bound(const struct calls *calls, int64_t correlation)
{
    size_t low = 0, high = calls->items.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (calls->items.items[middle].correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct call *calls_find(const struct calls *calls, int64_t correlation, int64_t time)
{
    const struct call *found = NULL;
    for (size_t i = lower_bound(calls, correlation); i < calls->items.count; i++) {
        const struct call *call = &calls->items.items[i];
        if (call->correlation != correlation)
            break;
        if (!found || (calls_is_outermost(calls, i) && call->start <= time &&
                       (call->start > found->start || found->start > time)))
            found = call;
    }
    return found;
}
