#include "analysis/coverage.h"

#include <stdlib.h>

int coverage_init(struct coverage *coverage, const struct cover_operation *operations, size_t count)
{
    *coverage = (struct coverage){.nodes = calloc(8 * count, sizeof(*coverage->nodes))};
    coverage->times = cover_moments(operations, count, &coverage->count);
    return coverage->times && coverage->nodes ? 0 : -1;
}

void coverage_release(struct coverage *coverage)
{
    free(coverage->times);
    free(coverage->nodes);
    *coverage = (struct coverage){0};
}

static size_t find_time(const struct coverage *coverage, int64_t time)
{
    return cover_moment(coverage->times, coverage->count, time);
}

/* Of the pieces from FROM to TO, which NODE is over, those from FIRST to END. */
static void change(struct coverage *coverage, size_t node, size_t from, size_t to, size_t first, size_t end, int by)
{
    struct coverage_node *nodes = coverage->nodes, *one = &nodes[node];
    if (to <= first || end <= from)
        return;
    if (first <= from && to <= end) {
        one->whole += (uint32_t)by;
    } else {
        size_t middle = from + (to - from) / 2;
        change(coverage, 2 * node, from, middle, first, end, by);
        change(coverage, 2 * node + 1, middle, to, first, end, by);
    }
    if (one->whole)
        one->length = coverage->times[to] - coverage->times[from];
    else
        one->length = to - from > 1 ? nodes[2 * node].length + nodes[2 * node + 1].length : 0;
}

void coverage_change(struct coverage *coverage, const struct cover_operation *operation, int by)
{
    if (operation->end > operation->start)
        change(coverage, 1, 0, coverage->count - 1, find_time(coverage, operation->start),
               find_time(coverage, operation->end), by);
}
