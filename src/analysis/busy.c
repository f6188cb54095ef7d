#include "analysis/busy.h"

int busy_add(struct busy *busy, int64_t start, int64_t end)
{
    if (busy->intervals.count > 0) {
        struct busy_interval *last = &busy->intervals.items[busy->intervals.count - 1];
        if (start >= last->start && start <= last->end) {
            last->end = end > last->end ? end : last->end;
            return 0;
        }
        busy->disordered |= start < last->start;
    }
    struct busy_interval *added = array_push(&busy->intervals);
    if (!added)
        return -1;
    *added = (struct busy_interval){start, end};
    return 0;
}

static int compare_starts(const void *left, const void *right)
{
    const struct busy_interval *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

/* Sorts the intervals and joins those that touch. */
static void put_in_order(struct busy *busy)
{
    struct busy_interval *items = busy->intervals.items;
    size_t kept = 0;
    qsort(items, busy->intervals.count, sizeof(*items), compare_starts);
    for (size_t i = 1; i < busy->intervals.count; i++) {
        if (items[i].start > items[kept].end)
            items[++kept] = items[i];
        else if (items[i].end > items[kept].end)
            items[kept].end = items[i].end;
    }
    busy->intervals.count = kept + 1;
    busy->disordered = false;
}

int64_t busy_total(struct busy *busy)
{
    int64_t total = 0;
    if (busy->disordered)
        put_in_order(busy);
    for (size_t i = 0; i < busy->intervals.count; i++)
        total += busy->intervals.items[i].end - busy->intervals.items[i].start;
    return total;
}

void busy_release(struct busy *busy)
{
    array_release(&busy->intervals);
}
