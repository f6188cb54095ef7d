/*
 * Rules about the slices of a row, the flows between rows, asynchronous ranges, and the names of rows.
 *
 * One walk over all slices, sorted by row and start, keeps the stack of those that are open. It finds slices that
 * overlap without nesting, and binds every end of a flow to the slice that Perfetto would bind it to: the innermost
 * one open at its time.
 */
#include "check_trace/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* By row, then start, then what encloses before what is enclosed. */
static int by_row(const void *a, const void *b)
{
    const struct slice *left = a, *right = b;
    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static int end_by_row(const void *a, const void *b)
{
    const struct end *left = a, *right = b;
    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static int end_by_key(const void *a, const void *b)
{
    const struct end *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    if (left->phase != right->phase)
        return left->phase > right->phase ? -1 : 1; /* s before f */
    return left->number < right->number ? -1 : left->number > right->number;
}

struct stack {
    uint32_t *open; /* indexes of slices, outermost first */
    size_t count, capacity;
};

static const char *name_of(const struct trace *trace, const struct slice *slice)
{
    return names_get(&trace->texts, slice->name);
}

/* Takes the slice onto the stack, and what has ended by its start off it. */
static void open_slice(struct trace *trace, struct stack *stack, uint32_t index)
{
    const struct slice *slice = &trace->slices[index];
    while (stack->count && trace->slices[stack->open[stack->count - 1]].end <= slice->start)
        stack->count--;
    if (stack->count && !trace->kineto) {
        const struct slice *around = &trace->slices[stack->open[stack->count - 1]];
        if (around->end < slice->end)
            problem(trace, slice->number, "nesting",
                    "'%s' begins inside '%s' (event %" PRIu32 ") and ends %" PRId64 " ns after it, on one row",
                    name_of(trace, slice), name_of(trace, around), around->number, slice->end - around->end);
    }
    stack->open = grow(stack->open, stack->count, &stack->capacity, sizeof(*stack->open));
    stack->open[stack->count++] = index;
}

/* A flow between operators lies where its operator begins. */
static void bind_to_operator(struct trace *trace, const struct stack *stack, struct end *end)
{
    const struct slice *slice = stack->count ? &trace->slices[stack->open[stack->count - 1]] : NULL;
    if (slice && slice->category == CATEGORY_OPERATOR && slice->start == end->time)
        end->slice = stack->open[stack->count - 1];
    else
        problem(trace, end->number, "flows", "no operator of its row begins at the end of the flow");
}

/*
 * Binds a flow's end to the innermost open slice that fits: API calls for its start, work for its end. A slice that
 * only touches its time is passed over for one around it, as slices that follow one another do touch.
 */
static void bind(struct trace *trace, const struct stack *stack, struct end *end)
{
    if (end->autograd) {
        bind_to_operator(trace, stack, end);
        return;
    }
    for (size_t i = stack->count; i-- > 0;) {
        const struct slice *slice = &trace->slices[stack->open[i]];
        enum category category = (enum category)slice->category;
        if (slice->end < end->time)
            continue;
        if (end->phase == 's' ? category_is_api(category) : category_is_work(category)) {
            end->slice = stack->open[i];
            return;
        }
        if (slice->start < end->time && end->time < slice->end) {
            problem(trace, end->number, "flows", "the flow's %s falls on '%s' (event %" PRIu32 "), which is no %s",
                    end->phase == 's' ? "start" : "end", name_of(trace, slice), slice->number,
                    end->phase == 's' ? "API call" : "work of the GPU");
            end->slice = stack->open[i];
            return;
        }
    }
    problem(trace, end->number, "flows", "no slice of its row is open at the flow's %s",
            end->phase == 's' ? "start" : "end");
}

static void walk(struct trace *trace)
{
    struct stack stack = {0};
    size_t at = 0;
    for (size_t i = 0; i <= trace->slices_count; i++) {
        const struct slice *slice = i < trace->slices_count ? &trace->slices[i] : NULL;
        /* Ends of flows before this slice, or on a row that is done. */
        for (; at < trace->flows_count; at++) {
            struct end *end = &trace->flows[at];
            if (slice && (end->row > slice->row || (end->row == slice->row && end->time >= slice->start)))
                break;
            if (stack.count && trace->slices[stack.open[0]].row != end->row)
                stack.count = 0;
            bind(trace, &stack, end);
        }
        if (!slice)
            break;
        if (stack.count && trace->slices[stack.open[0]].row != slice->row)
            stack.count = 0;
        open_slice(trace, &stack, (uint32_t)i);
    }
    free(stack.open);
}

/* What a flow leads from and to; NUMBER is the event of its end. */
static void check_connection(struct trace *trace, uint32_t number, const struct slice *call, struct slice *work)
{
    if (work->has_flow)
        problem(trace, number, "flows", "a second flow to '%s' (event %" PRIu32 ")", name_of(trace, work),
                work->number);
    work->has_flow = true;
    if (call->correlation != work->correlation || call->correlation == TRACE_NOTHING)
        problem(trace, number, "flows",
                "from '%s' (event %" PRIu32 ") to '%s' (event %" PRIu32 "), which have not the same correlation",
                name_of(trace, call), call->number, name_of(trace, work), work->number);
    if (work->start < call->start)
        problem(trace, work->number, "causality", "'%s' starts %" PRId64 " ns before its call '%s' (event %" PRIu32 ")",
                name_of(trace, work), call->start - work->start, name_of(trace, call), call->number);
}

/* A start and an end that belong together: both are bound. */
static void check_flow(struct trace *trace, const struct end *start, const struct end *end)
{
    if (end->time < start->time)
        problem(trace, end->number, "flows", "the flow ends %" PRId64 " ns before its start, event %" PRIu32,
                start->time - end->time, start->number);
    if (start->slice != TRACE_NOTHING && end->slice != TRACE_NOTHING && !start->autograd)
        check_connection(trace, end->number, &trace->slices[start->slice], &trace->slices[end->slice]);
}

static void check_pairs(struct trace *trace)
{
    if (trace->flows_count)
        qsort(trace->flows, trace->flows_count, sizeof(*trace->flows), end_by_key);
    for (size_t i = 0; i < trace->flows_count;) {
        const struct end *first = &trace->flows[i];
        size_t next = i + 1;
        while (next < trace->flows_count && trace->flows[next].key == first->key)
            next++;
        if (next - i == 2 && first->phase == 's' && trace->flows[i + 1].phase == 'f')
            check_flow(trace, first, &trace->flows[i + 1]);
        else
            problem(trace, first->number, "flows", "'%s' has not one start and one end, but %zu of either",
                    names_get(&trace->texts, first->key), next - i);
        i = next;
    }
}

static int by_correlation(const void *a, const void *b)
{
    const struct slice *left = *(const struct slice *const *)a, *right = *(const struct slice *const *)b;
    if (left->correlation != right->correlation)
        return left->correlation < right->correlation ? -1 : 1;
    return left->start < right->start ? -1 : left->start > right->start;
}

/* Pids that made API calls. Correlation ids are a process's own, so with several of them only flows show it. */
static bool one_process(const struct trace *trace)
{
    struct row first = {0, 0}, row;
    for (uint32_t i = 0; i < trace->api_rows.count; i++) {
        uint32_t number;
        memcpy(&number, names_get(&trace->api_rows, i), sizeof(number));
        memcpy(&row, names_get(&trace->rows, number), sizeof(row));
        if (i > 0 && row.pid != first.pid)
            return false;
        first = row;
    }
    return true;
}

/* No work starts before the first call of its correlation id. */
static void check_causality(struct trace *trace)
{
    const struct slice **order = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < trace->slices_count; i++) {
        const struct slice *slice = &trace->slices[i];
        enum category category = (enum category)slice->category;
        if (slice->correlation == TRACE_NOTHING || (!category_is_api(category) && !category_is_work(category)))
            continue;
        order = grow(order, count, &capacity, sizeof(*order));
        order[count++] = slice;
    }
    if (count > 1)
        qsort(order, count, sizeof(*order), by_correlation);
    for (size_t i = 0; i < count;) {
        size_t next = i;
        const struct slice *call = NULL;
        while (next < count && order[next]->correlation == order[i]->correlation) {
            if (!call && category_is_api((enum category)order[next]->category))
                call = order[next];
            next++;
        }
        /* Sorted by start: what stands before the first call starts before it. */
        for (; i < next; i++)
            if (call && order[i]->start < call->start && category_is_work((enum category)order[i]->category))
                problem(trace, order[i]->number, "causality", "'%s' starts before its call '%s' (event %" PRIu32 ")",
                        name_of(trace, order[i]), name_of(trace, call), call->number);
    }
    free(order);
}

/* ---- asynchronous ranges, and the names of what is used ---- */

static int by_key(const void *a, const void *b)
{
    const struct end *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->phase < right->phase ? -1 : left->phase > right->phase; /* b before e */
}

/* A range has one begin and one end of its own category, id and name; ends may lie on other rows. */
static void check_ranges(struct trace *trace)
{
    if (trace->ranges_count > 1)
        qsort(trace->ranges, trace->ranges_count, sizeof(*trace->ranges), by_key);
    for (size_t i = 0; i < trace->ranges_count;) {
        const struct end *begin = &trace->ranges[i];
        size_t next = i + 1;
        while (next < trace->ranges_count && trace->ranges[next].key == begin->key)
            next++;
        if (next - i != 2 || begin->phase != 'b' || trace->ranges[i + 1].phase != 'e')
            problem(trace, begin->number, "ranges", "'%s' has not one begin and one end, but %zu of either",
                    names_get(&trace->texts, begin->key), next - i);
        else if (trace->ranges[i + 1].time < begin->time)
            problem(trace, begin->number, "ranges", "'%s' ends before it begins", names_get(&trace->texts, begin->key));
        i = next;
    }
}

/* Every pid and every row has a name, or readers show a bare number. */
static void check_names(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->used_pids.count; i++) {
        int64_t pid;
        memcpy(&pid, names_get(&trace->used_pids, i), sizeof(pid));
        if (names_find(&trace->named_pids, &pid, sizeof(pid)) == NAMES_NONE)
            problem(trace, 0, "names", "pid %" PRId64 " has no process_name", pid);
    }
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        struct row row;
        memcpy(&row, names_get(&trace->rows, i), sizeof(row));
        if (names_find(&trace->named_rows, &row, sizeof(row)) == NAMES_NONE)
            problem(trace, 0, "names", "pid %" PRId64 " tid %" PRId64 " has no thread_name", row.pid, row.tid);
    }
}

void trace_rows(struct trace *trace)
{
    if (trace->slices_count > 1)
        qsort(trace->slices, trace->slices_count, sizeof(*trace->slices), by_row);
    if (trace->flows_count > 1)
        qsort(trace->flows, trace->flows_count, sizeof(*trace->flows), end_by_row);
    walk(trace);
    check_pairs(trace);
    if (one_process(trace))
        check_causality(trace);
    for (size_t i = 0; trace->strict && !trace->kineto && i < trace->slices_count; i++)
        if (category_is_work((enum category)trace->slices[i].category) && !trace->slices[i].has_flow)
            problem(trace, trace->slices[i].number, "flows", "no flow leads to '%s'",
                    name_of(trace, &trace->slices[i]));
    if (trace->kineto)
        return;
    check_ranges(trace);
    check_names(trace);
}
