/*
 * Turns the spans of rows into queries, or into rows that are measured from one to the next, and answers them by GPU.
 */
#include "analysis/ranges/range_depth.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/array.h"
#include "common/text.h"

#define NO_THREAD UINT32_MAX
#define STEPS 4u /* steps of this file are shorter: STEPS of them count as one step of the limit */

void range_depth_init(struct range_depth *depth, const char *directory)
{
    *depth = (struct range_depth){0};
    depth->spans.memory.directory = depth->operations.memory.directory = directory;
    depth->queries.memory.directory = depth->others.memory.directory = directory;
}

void range_depth_release(struct range_depth *depth)
{
    file_vector_release(&depth->spans);
    file_vector_release(&depth->operations);
    file_vector_release(&depth->queries);
    file_vector_release(&depth->others);
}

int range_depth_span(struct range_depth *depth, uint32_t row, const struct range *range)
{
    return ADD(file_vector_push, &depth->spans, (struct range_depth_span){range->start, range->end, row, range->thread})
               ? 0
               : -1;
}

/* --- operations, by thread and call --- */

/* The index of the first operation that THREAD did not call before TIME. */
static size_t find(const struct range_depth *depth, uint32_t thread, int64_t time)
{
    const struct cover_operation *operations = depth->operations.items;
    return COUNT_BEFORE(depth->operations.count, i,
                        (ORDER(operations[i].thread, thread) ?: ORDER(operations[i].called, time)) < 0);
}

static size_t end_of(const struct range_depth *depth, uint32_t thread, int64_t last)
{
    return last == INT64_MAX ? find(depth, thread + 1, INT64_MIN) : find(depth, thread, last + 1);
}

/* --- spans become queries or other rows --- */

ORDER_BY(by_row, struct range_depth_span, row, thread, first)

static int ask(struct range_depth *depth, const struct range_depth_span *span, uint32_t other)
{
    return ADD(file_vector_push, &depth->queries,
               (struct cover_query){
                   .first = span->first, .last = span->last, .row = span->row, .thread = span->thread, .other = other})
               ? 0
               : -1;
}

static int add_other(struct range_depth *depth, size_t first, size_t count)
{
    struct range_depth_row *other = file_vector_push(&depth->others);
    if (!other)
        return -1;
    *other = (struct range_depth_row){
        .first = first, .count = count, .earliest = INT64_MAX, .row = depth->spans.items[first].row};
    for (size_t i = first; i < first + count; i++)
        if (depth->spans.items[i].first < other->earliest)
            other->earliest = depth->spans.items[i].first;
    return 0;
}

static int divide_rows(struct range_depth *depth)
{
    const struct range_depth_span *spans = depth->spans.items;
    for (size_t i = 0, end; i < depth->spans.count; i = end) {
        for (end = i + 1; end < depth->spans.count && spans[end].row == spans[i].row;)
            end++;
        bool same = end - i == 2 && spans[i].thread != spans[i + 1].thread && spans[i].first == spans[i + 1].first &&
                    spans[i].last == spans[i + 1].last;
        int status = end - i == 1 ? ask(depth, &spans[i], NO_THREAD)
                     : same       ? ask(depth, &spans[i], spans[i + 1].thread)
                                  : add_other(depth, i, end - i);
        if (status < 0)
            return -1;
    }
    return 0;
}

/* --- queries, grouped by their threads --- */

ORDER_BY(by_threads, struct cover_query, thread, other, last)

ORDER_BY(by_gpu, struct cover_operation, gpu, called, start)

/* Adds the answers for each GPU of the operations in SORTED, which are sorted by GPU. */
static int answer_group(struct range_busy *busy, const struct cover_operation *sorted, size_t count,
                        struct cover_query *queries, size_t query_count)
{
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && sorted[end].gpu == sorted[i].gpu;)
            end++;
        if (cover_answer(&sorted[i], end - i, queries, query_count) < 0)
            return -1;
        for (size_t k = 0; k < query_count; k++)
            if (queries[k].length > 0 && range_busy_put(busy, queries[k].row, sorted[i].gpu, queries[k].length) < 0)
                return -1;
    }
    return 0;
}

/* Copies the operations from FIRST to END and from OTHER to OTHER_END, sorted by GPU. The caller frees them. Returns
 * NULL without memory. */
static struct cover_operation *copy_by_gpu(const struct range_depth *depth, size_t first, size_t end, size_t other,
                                           size_t other_end)
{
    size_t count = end - first, more = other_end - other;
    struct cover_operation *copy = malloc((count + more + 1) * sizeof(*copy));
    if (!copy)
        return NULL;
    memcpy(copy, depth->operations.items + first, count * sizeof(*copy));
    memcpy(copy + count, depth->operations.items + other, more * sizeof(*copy));
    qsort(copy, count + more, sizeof(*copy), by_gpu);
    return copy;
}

static int leave_out(struct range_busy *busy, uint32_t row, uint64_t *left_out)
{
    ++*left_out;
    return range_busy_put(busy, row, 0, RANGE_BUSY_UNKNOWN);
}

static int answer_threads(struct range_depth *depth, struct range_busy *busy, struct cover_query *queries, size_t count,
                          uint64_t *left_out)
{
    uint32_t thread = queries->thread, other = queries->other;
    size_t first = find(depth, thread, INT64_MIN), end = end_of(depth, thread, INT64_MAX);
    size_t other_first = other == NO_THREAD ? 0 : find(depth, other, INT64_MIN);
    size_t other_end = other == NO_THREAD ? 0 : end_of(depth, other, INT64_MAX);
    size_t wanted = end - first + other_end - other_first;
    int status = 0;
    if (other != NO_THREAD && wanted > depth->steps) {
        for (size_t i = 0; i < count && status == 0; i++)
            status = leave_out(busy, queries[i].row, left_out);
        return status;
    }
    depth->steps -= other == NO_THREAD ? 0 : wanted;
    struct cover_operation *sorted = copy_by_gpu(depth, first, end, other_first, other_end);
    status = sorted ? answer_group(busy, sorted, wanted, queries, count) : -1;
    free(sorted);
    return status;
}

static int answer_questions(struct range_depth *depth, struct range_busy *busy, uint64_t *left_out)
{
    struct cover_query *queries = depth->queries.items;
    if (file_vector_sort(&depth->queries, by_threads) < 0)
        return -1;
    for (size_t i = 0, end; i < depth->queries.count; i = end) {
        for (end = i + 1; end < depth->queries.count && queries[end].thread == queries[i].thread &&
                          queries[end].other == queries[i].other;)
            end++;
        if (answer_threads(depth, busy, &queries[i], end - i, left_out) < 0)
            return -1;
    }
    return 0;
}

/* --- other rows: from one to the next, the operations are added and removed that only one of the two has --- */

struct change {
    struct range_depth *depth;
    ARRAY(struct coverage) coverages; /* by GPU */
    const struct range_depth_row *from;
};

ORDER_BY(earliest_first, struct range_depth_row, earliest, row)

static int begin_changes(struct change *change)
{
    size_t count = change->depth->operations.count;
    struct cover_operation *sorted = copy_by_gpu(change->depth, 0, count, 0, 0);
    int status = sorted ? 0 : -1;
    for (size_t i = 0, end; i < count && status == 0; i = end) {
        for (end = i + 1; end < count && sorted[end].gpu == sorted[i].gpu;)
            end++;
        struct coverage *coverage = array_at(&change->coverages, sorted[i].gpu);
        status = coverage ? coverage_init(coverage, &sorted[i], end - i) : -1;
    }
    free(sorted);
    return status;
}

/* The index of the operation at which the spans of a row begin (NUMBER even) or end (odd); SIZE_MAX after the last
 * span. */
static size_t border(const struct range_depth *depth, const struct range_depth_row *row, size_t number)
{
    if (!row || number >= 2 * row->count)
        return SIZE_MAX;
    const struct range_depth_span *span = &depth->spans.items[row->first + number / 2];
    return number % 2 ? end_of(depth, span->thread, span->last) : find(depth, span->thread, span->first);
}

/* Returns how many operations only one of the two rows has. WANTED: adds or removes them. */
static uint64_t go_to(struct change *change, const struct range_depth_row *to, bool wanted)
{
    const struct range_depth *depth = change->depth;
    size_t old = 0, new = 0, at = 0, next_old = border(depth, change->from, 0), next_new = border(depth, to, 0);
    uint64_t count = 0;
    while (next_old != SIZE_MAX || next_new != SIZE_MAX) {
        size_t next = next_old < next_new ? next_old : next_new;
        bool differs = (old ^ new) & 1;
        count += differs ? next - at : 0;
        for (; differs && wanted && at < next; at++) {
            const struct cover_operation *operation = &depth->operations.items[at];
            coverage_change(&change->coverages.items[operation->gpu], operation, new & 1 ? 1 : -1);
        }
        at = next;
        if (next_old == next)
            next_old = border(depth, change->from, ++old);
        else
            next_new = border(depth, to, ++new);
    }
    return count;
}

static int measure_other(struct change *change, struct range_busy *busy, const struct range_depth_row *other,
                         uint64_t *left_out)
{
    uint64_t steps = go_to(change, other, false) + change->coverages.count;
    if (steps > change->depth->steps)
        return leave_out(busy, other->row, left_out);
    change->depth->steps -= steps;
    go_to(change, other, true);
    change->from = other;
    for (size_t i = 0; i < change->coverages.count; i++) {
        int64_t length = coverage_length(&change->coverages.items[i]);
        if (length > 0 && range_busy_put(busy, other->row, (uint32_t)i, length) < 0)
            return -1;
    }
    return 0;
}

static int measure_others(struct range_depth *depth, struct range_busy *busy, uint64_t *left_out)
{
    struct change change = {.depth = depth};
    if (depth->others.count == 0)
        return 0;
    int status = file_vector_sort(&depth->others, earliest_first);
    status = status ?: begin_changes(&change);
    for (size_t i = 0; i < depth->others.count && status == 0; i++)
        status = measure_other(&change, busy, &depth->others.items[i], left_out);
    for (size_t i = 0; i < change.coverages.count; i++)
        coverage_release(&change.coverages.items[i]);
    array_release(&change.coverages);
    return status;
}

/* --- */

int range_depth_measure(struct range_depth *depth, const struct range_rows_limit *limit, struct range_busy *busy)
{
    uint64_t left_out = 0;
    /* Drops the spans in which nothing was launched. */
    size_t kept = 0;
    for (size_t i = 0; i < depth->spans.count; i++) {
        const struct range_depth_span *span = &depth->spans.items[i];
        if (end_of(depth, span->thread, span->last) > find(depth, span->thread, span->first))
            depth->spans.items[kept++] = *span;
    }
    depth->spans.count = kept;
    int status = file_vector_sort(&depth->spans, by_row);
    depth->steps = STEPS * (limit->all + limit->each * (uint64_t)(depth->operations.count + depth->spans.count));
    status = status ?: divide_rows(depth);
    status = status ?: answer_questions(depth, busy, &left_out);
    status = status ?: measure_others(depth, busy, &left_out);
    if (left_out > 0)
        warning("the GPU busy time of %s of NVTX ranges is left out: too many ranges are open at once",
                text_count(left_out, "row").text);
    return status;
}
