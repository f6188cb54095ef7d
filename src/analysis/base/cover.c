/*
 * A segment tree over the times at which operations start and end records the last operation that covers each interval;
 * a Fenwick tree by the operations' numbers sums how long each of them is the last one.
 *
 * `struct coverage` is another segment tree, which counts how many operations cover each node.
 */
#include "analysis/base/cover.h"

#include "common/array.h"
#include "analysis/base/cost_sum.h"

#include <stdbool.h>
#include <stdlib.h>

#define MIXED UINT32_MAX /* instead of an operation: the children of the node differ */

struct cover {
    int64_t *times; /* at which operations start and end, each once, by time */
    size_t count;
    uint32_t *last; /* segment tree over the intervals between times: the last operation that covers a node; 0: none */
    int64_t *sums;  /* Fenwick tree by the operations' numbers, from 1 on: how long each is the last one */
    size_t operations;
    int64_t total;
};

static void add(struct cover *cover, uint32_t number, int64_t length)
{
    if (number == 0)
        return;
    sum_add(&cover->total, length);
    for (size_t i = number; i <= cover->operations; i += i & -i)
        cover->sums[i] += length;
}

/* Returns how long the operations up to NUMBER are the last ones. */
static int64_t sum(const struct cover *cover, size_t number)
{
    int64_t all = 0;
    for (size_t i = number; i > 0; i -= i & -i)
        all += cover->sums[i];
    return all;
}

/* A node of the tree, and the intervals below it, END not counted. */
struct tree_node {
    size_t number, first, end;
};

/* Operation NUMBER covers the intervals from FIRST to END. A MIXED node is entered once for each operation that ended
 * in it, so an operation takes an amortised O(log operations). */
static void put(struct cover *cover, struct tree_node node, size_t first, size_t end, uint32_t number)
{
    uint32_t *last = cover->last;
    if (node.end <= first || end <= node.first)
        return;
    bool whole = first <= node.first && node.end <= end;
    if (whole && last[node.number] != MIXED) {
        int64_t length = cover->times[node.end] - cover->times[node.first];
        add(cover, last[node.number], -length);
        add(cover, number, length);
        last[node.number] = number;
        return;
    }
    size_t middle = node.first + (node.end - node.first) / 2;
    if (last[node.number] != MIXED)
        last[2 * node.number] = last[2 * node.number + 1] = last[node.number];
    put(cover, (struct tree_node){2 * node.number, node.first, middle}, first, end, number);
    put(cover, (struct tree_node){2 * node.number + 1, middle, node.end}, first, end, number);
    last[node.number] = last[2 * node.number] == last[2 * node.number + 1] ? last[2 * node.number] : MIXED;
}

static int by_time(const void *a, const void *b)
{
    return ORDER(*(const int64_t *)a, *(const int64_t *)b);
}

/* Returns the times at which OPERATIONS start and end, each once, in order, for the caller to free(), and their
 * number in COUNT; NULL: no memory. */
static int64_t *make_times(const struct cover_operation *operations, size_t operation_count, size_t *count)
{
    int64_t *times = malloc(2 * operation_count * sizeof(*times));
    *count = 0;
    if (!times)
        return NULL;
    for (size_t i = 0; i < operation_count; i++) {
        times[2 * i] = operations[i].start;
        times[2 * i + 1] = operations[i].end;
    }
    qsort(times, 2 * operation_count, sizeof(*times), by_time);
    for (size_t i = 0; i < 2 * operation_count; i++)
        if (i == 0 || times[i] != times[*count - 1])
            times[(*count)++] = times[i];
    return times;
}

/* The place of TIME, which is among them. */
static size_t find_time(const int64_t *times, size_t count, int64_t time)
{
    const int64_t *found = bsearch(&time, times, count, sizeof(time), by_time);
    return (size_t)(found - times);
}

static int make(struct cover *cover, const struct cover_operation *operations, size_t count)
{
    *cover = (struct cover){.operations = count,
                            .last = calloc(8 * count, sizeof(*cover->last)),
                            .sums = calloc(count + 1, sizeof(*cover->sums))};
    cover->times = make_times(operations, count, &cover->count);
    return cover->times && cover->last && cover->sums ? 0 : -1;
}

int cover_answer(const struct cover_operation *operations, size_t count, struct cover_query *queries,
                 size_t query_count)
{
    for (size_t i = 0; i < query_count; i++)
        queries[i].length = 0;
    if (count == 0)
        return 0;
    struct cover cover = {0};
    int status = count < MIXED ? make(&cover, operations, count) : -1;
    if (status == 0) {
        const struct tree_node all = {.number = 1, .first = 0, .end = cover.count - 1};
        size_t done = 0;
        for (size_t i = 0; i < query_count; i++) {
            for (; done < cover.operations && operations[done].called <= queries[i].last; done++)
                if (operations[done].end > operations[done].start)
                    put(&cover, all, find_time(cover.times, cover.count, operations[done].start),
                        find_time(cover.times, cover.count, operations[done].end), (uint32_t)done + 1);
            size_t before = COUNT_BEFORE(done, k, operations[k].called < queries[i].first);
            queries[i].length = cover.total - sum(&cover, before);
        }
    }
    free(cover.times);
    free(cover.last);
    free(cover.sums);
    return status;
}

int coverage_init(struct coverage *coverage, const struct cover_operation *operations, size_t count)
{
    *coverage = (struct coverage){.nodes = calloc(8 * count, sizeof(*coverage->nodes))};
    coverage->times = make_times(operations, count, &coverage->count);
    return coverage->times && coverage->nodes ? 0 : -1;
}

void coverage_release(struct coverage *coverage)
{
    free(coverage->times);
    free(coverage->nodes);
    *coverage = (struct coverage){0};
}

/* Changes the intervals from FIRST to END; NODE is over those from FROM to TO. */
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
        change(coverage, 1, 0, coverage->count - 1, find_time(coverage->times, coverage->count, operation->start),
               find_time(coverage->times, coverage->count, operation->end), by);
}
