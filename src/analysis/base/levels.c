/*
 * Sets values in a ring of buckets. When a time does not fit, the width doubles and pairs of buckets are merged.
 */
#include "analysis/base/levels.h"

static int64_t bucket_of(int64_t time, int64_t width)
{
    int64_t number = time / width;
    return number - (time % width < 0);
}

static void merge(struct level *to, const struct level *from)
{
    if (!from->any)
        return;
    if (!to->any) {
        *to = *from;
        return;
    }
    to->most = from->most > to->most ? from->most : to->most;
    if (from->time >= to->time) {
        to->end = from->end;
        to->time = from->time;
    }
}

static void double_width(struct levels *levels)
{
    struct levels wider = {.width = levels->width * 2};
    wider.first = bucket_of(levels->first, 2);
    wider.last = bucket_of(levels->last, 2);
    for (int64_t number = levels->first; number <= levels->last; number++)
        merge(&wider.buckets[(uint64_t)bucket_of(number, 2) % LEVELS_MOST], levels_at(levels, number));
    *levels = wider;
}

void levels_set(struct levels *levels, int64_t time, int64_t value)
{
    const struct level new = {.any = true, .most = value, .end = value, .time = time};
    int64_t number;
    if (levels->width == 0) {
        levels->width = 1024;
        levels->first = levels->last = bucket_of(time, levels->width);
    }
    for (;; double_width(levels)) {
        number = bucket_of(time, levels->width);
        int64_t first = number < levels->first ? number : levels->first;
        int64_t last = number > levels->last ? number : levels->last;
        if (last - first >= LEVELS_MOST)
            continue;
        levels->first = first;
        levels->last = last;
        break;
    }
    merge(&levels->buckets[(uint64_t)number % LEVELS_MOST], &new);
}
