/*
 * Lists the intervals of the path and their rows by kind and name, and divides host time outside CUDA by the innermost
 * range or operator.
 */
#include "analysis/critical/critical_path.h"

#include "common/array.h"
#include "common/map.h"
#include "analysis/engine/ranges.h"
#include "analysis/engine/trace.h"

const struct critical_kind_words critical_kind_words[CRITICAL_KIND_COUNT] = {
#define KIND(constant, word, text) {word, text},
    CRITICAL_KINDS(KIND)
#undef KIND
};

void critical_path_release(struct critical_path *path)
{
    file_vector_release(&path->intervals);
    file_vector_release(&path->outside);
    for (size_t i = 0; i < path->rows.count; i++)
        series_release(&path->rows.items[i].slack);
    array_release(&path->rows);
    dense_map_release(&path->keys);
}

struct critical_row *critical_path_row(struct critical_path *path, enum critical_kind kind, uint32_t name)
{
    const struct critical_key key = {kind, name};
    return dense_map_item(&path->keys, &key, &path->rows);
}

int critical_path_add(struct critical_path *path, const struct critical_interval *interval)
{
    if (!ADD(file_vector_push, &path->intervals, *interval))
        return -1;
    if (path->intervals.count % CRITICAL_EVICTED_AFTER == 0)
        file_vector_evict(&path->intervals);
    return 0;
}

#define evict_at(array, index)                 \
    if ((index) % CRITICAL_EVICTED_AFTER == 0) \
    file_vector_evict(array)

int critical_path_each(const struct critical_path *path,
                       int (*each)(void *context, const struct critical_interval *interval), void *context)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < path->intervals.count; i++) {
        evict_at(&path->intervals, i);
        if (path->intervals.items[i].kind != CRITICAL_OUTSIDE)
            status = each(context, &path->intervals.items[i]);
    }
    for (size_t i = 0; status == 0 && i < path->outside.count; i++) {
        evict_at(&path->outside, i);
        status = each(context, &path->outside.items[i]);
    }
    return status;
}

/* --- host time outside CUDA, by the innermost operator or range --- */

/* Divides the intervals of one thread, in the order of time. */
struct divider {
    struct critical_path *path;
    struct range_walk ranges, operators;
    uint32_t thread;
    int64_t time, until; /* of the interval that is being made */
};

static void limit(struct divider *divider, int64_t time)
{
    if (time > divider->time && time < divider->until)
        divider->until = time;
}

/* The name of the innermost range of WALK; EVENT_NO_TEXT: there is none. The interval ends where it changes. */
static uint32_t find_name(struct divider *divider, struct range_walk *walk)
{
    while (range_walk_open(walk, divider->thread, divider->time))
        ;
    if (walk->next && walk->next->thread == divider->thread)
        limit(divider, walk->next->start);
    const struct range_open *found = range_walk_innermost(walk, divider->thread, divider->time + 1);
    if (!found)
        return EVENT_NO_TEXT;
    limit(divider, found->range.end);
    return found->range.name;
}

static int split(struct divider *divider, const struct critical_interval *interval)
{
    for (divider->time = interval->start; divider->time < interval->end; divider->time = divider->until) {
        divider->until = interval->end;
        uint32_t range = find_name(divider, &divider->ranges), operation = find_name(divider, &divider->operators);
        const struct critical_interval one = {divider->time, divider->until,
                                              operation != EVENT_NO_TEXT ? operation : range, interval->thread,
                                              interval->kind};
        if (!ADD(file_vector_push, &divider->path->outside, one))
            return -1;
        if (divider->path->outside.count % CRITICAL_EVICTED_AFTER == 0) {
            file_vector_evict(&divider->path->outside);
            file_vector_evict(&divider->path->intervals);
        }
    }
    return 0;
}

ORDER_BY(by_thread, struct critical_interval, thread, start, end)

int critical_path_divide(struct critical_path *path, const struct trace *trace)
{
    struct divider divider = {.path = path};
    struct sorter of_threads;
    struct sorter_walk walk;
    const struct critical_interval *interval;
    sorter_init(&of_threads, trace->space, sizeof(*interval), by_thread);
    /* Intervals of known threads are sorted by thread. */
    int status = 0;
    for (size_t i = 0; status == 0 && i < path->intervals.count; i++) {
        const struct critical_interval one = path->intervals.items[i];
        if (i % CRITICAL_EVICTED_AFTER == 0)
            file_vector_evict(&path->intervals);
        if (one.kind == CRITICAL_OUTSIDE && one.thread != EVENT_NO_TEXT)
            status = sorter_add(&of_threads, &one);
        else if (one.kind == CRITICAL_OUTSIDE)
            status = ADD(file_vector_push, &path->outside, one) ? 0 : -1;
    }
    status = status ? status : sorter_ready(&of_threads);
    range_walk_begin(&divider.ranges, &trace->ranges, false);
    range_walk_begin(&divider.operators, &trace->operators, false);
    sorter_walk_begin(&walk, &of_threads);
    while (status == 0 && (interval = sorter_next(&walk))) {
        divider.thread = interval->thread;
        status = split(&divider, interval);
    }
    int walked = sorter_walk_end(&walk);
    int ranges = range_walk_end(&divider.ranges), operators = range_walk_end(&divider.operators);
    sorter_release(&of_threads);
    return status ? status : walked ? walked : ranges ? ranges : operators;
}
