/*
 * The items in order of their start are read as a balanced tree: the middle one is its root, and what lies before and
 * after are its branches. Each knows the latest end of its part, so that a part that is over is passed by as a whole.
 */
#include "base/intervals.h"

#define REST_ITEMS ((size_t)1 << 18) /* are gone through before pages are given back */

void intervals_release(struct intervals *intervals)
{
    big_array_release(&intervals->items);
}

int intervals_add(struct intervals *intervals, int64_t start, int64_t end, uint32_t what)
{
    struct interval *added = big_array_push(&intervals->items);
    if (!added)
        return -1;
    *added = (struct interval){.start = start, .end = end, .what = what};
    return 0;
}

static int outer_first(const void *a, const void *b)
{
    const struct interval *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    return left->what < right->what ? -1 : left->what > right->what;
}

static int64_t latest_of(const struct intervals *intervals, size_t first, size_t count)
{
    if (count == 0)
        return INT64_MIN;
    struct interval *items = intervals->items.items + first;
    size_t middle = count / 2;
    int64_t before = latest_of(intervals, first, middle);
    int64_t after = latest_of(intervals, first + middle + 1, count - middle - 1);
    int64_t latest = before > after ? before : after;
    if (count > REST_ITEMS)
        big_array_rest(&intervals->items);
    return items[middle].latest = latest > items[middle].end ? latest : items[middle].end;
}

int intervals_ready(struct intervals *intervals)
{
    if (big_array_sort(&intervals->items, outer_first) != 0)
        return -1;
    latest_of(intervals, 0, intervals->items.count);
    return 0;
}

static int each_of(const struct interval *items, size_t count, int64_t point, int (*each)(void *context, uint32_t what),
                   void *context)
{
    size_t middle = count / 2;
    if (count == 0 || items[middle].latest < point)
        return 0;
    int result = each_of(items, middle, point, each, context);
    if (result != 0 || items[middle].start > point)
        return result;
    if (items[middle].end >= point)
        result = each(context, items[middle].what);
    return result != 0 ? result : each_of(items + middle + 1, count - middle - 1, point, each, context);
}

int intervals_each(const struct intervals *intervals, int64_t point, int (*each)(void *context, uint32_t what),
                   void *context)
{
    return each_of(intervals->items.items, intervals->items.count, point, each, context);
}
