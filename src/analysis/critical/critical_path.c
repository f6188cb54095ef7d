/* Walks the path backward, computes the slack of all operations and calls, and divides host time by the innermost range
 * or operator. */
#include "analysis/critical/critical_path.h"

#include "analysis/engine/ranges.h"
#include "analysis/engine/trace.h"
#include "trace/event.h"
#include "analysis/engine/timeline.h"
#include "analysis/base/cost_sum.h"

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

/* Divides intervals by thread and time. */
struct divider {
    struct critical_path *path;
    struct range_walk ranges, operators;
};

static int split(struct divider *divider, const struct critical_interval *interval)
{
    for (int64_t time = interval->start, until; time < interval->end; time = until) {
        until = interval->end;
        uint32_t range = range_walk_name(&divider->ranges, interval->thread, time, &until);
        uint32_t operation = range_walk_name(&divider->operators, interval->thread, time, &until);
        const struct critical_interval one = {time, until, operation != EVENT_NO_TEXT ? operation : range,
                                              interval->thread, interval->kind};
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
    const struct critical_interval *interval;
    sorter_init(&of_threads, trace->space, sizeof(*interval), by_thread);
    /* Intervals of known threads are sorted by thread, those of unknown threads cannot be divided. */
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
    status = status ?: SORTER_EACH(&of_threads, interval, split(&divider, interval));
    int ranges = range_walk_end(&divider.ranges), operators = range_walk_end(&divider.operators);
    sorter_release(&of_threads);
    return status ?: ranges ?: operators;
}

/* --- the walk backward from the operation or call that ended last: from an operation to what decided its start, from a
 * call to the operation that it waited for, else along the thread --- */

struct walk {
    struct critical_graph *graph;
    struct critical_path *path;
    int64_t time;    /* the path after this time is complete */
    uint32_t op;     /* the current operation; CRITICAL_NONE: the walk is on the thread */
    uint32_t thread; /* EVENT_NO_TEXT: nothing before `time` is known */
};

struct critical_end critical_find_end(const struct critical_graph *graph)
{
    struct critical_end end = {CRITICAL_NONE, EVENT_NO_TEXT, INT64_MIN};
    for (uint32_t i = 0; i < graph->ops.count; i++) {
        critical_graph_evict(graph, i);
        if (graph->ops.items[i].end > end.time)
            end = (struct critical_end){i, EVENT_NO_TEXT, graph->ops.items[i].end};
    }
    for (uint32_t i = 0; i < graph->threads.count; i++) {
        const struct critical_thread *thread = &graph->threads.items[i];
        if (thread->count == 0)
            continue;
        int64_t last = graph->calls.items[thread->first + thread->count - 1].end;
        if (last >= end.time)
            end = (struct critical_end){CRITICAL_NONE, i, last};
    }
    return end;
}

/* Adds the interval from START to walk->time, and moves the walk to START. */
static int add_interval(struct walk *walk, enum critical_kind kind, int64_t start, uint32_t name)
{
    int64_t first = walk->graph->trace->start;
    start = start > first ? start : first;
    if (start >= walk->time)
        return 0;
    bool host = kind == CRITICAL_OUTSIDE || kind == CRITICAL_CALL;
    const struct critical_interval interval = {start, walk->time, name, host ? walk->thread : EVENT_NO_TEXT,
                                               (uint8_t)kind};
    walk->time = start;
    return critical_path_add(walk->path, &interval);
}

enum critical_kind critical_kind_of_op(const struct critical_op *op)
{
    return op->category == CATEGORY_GPU_MEMCPY   ? CRITICAL_COPY
           : op->category == CATEGORY_GPU_MEMSET ? CRITICAL_SET
                                                 : CRITICAL_KERNEL;
}

static int step_from_op(struct walk *walk)
{
    struct critical_op *op = &walk->graph->ops.items[walk->op];
    op->on_path = true;
    if (add_interval(walk, critical_kind_of_op(op), op->start, op->name) < 0)
        return -1;
    if (op->decider == CRITICAL_NONE) {
        /* Walk from the start of OP to the start of its call. By different clocks, a call may begin after its
         * operation. */
        struct critical_graph *graph = walk->graph;
        walk->op = CRITICAL_NONE;
        walk->thread = op->thread == LAUNCHED_NO_THREAD ? EVENT_NO_TEXT : op->thread;
        if (walk->thread == EVENT_NO_TEXT)
            return 0;
        struct critical_call *call = &graph->calls.items[op->call];
        if (add_interval(walk, op->held ? CRITICAL_HELD : CRITICAL_LAUNCH, call->end, call->name) < 0)
            return -1;
        if (call->start < walk->time)
            call->on_path = true;
        return add_interval(walk, CRITICAL_CALL, call->start, call->name);
    }
    walk->op = op->decider;
    return add_interval(walk, op->held ? CRITICAL_HELD : CRITICAL_BETWEEN, walk->graph->ops.items[op->decider].end,
                        op->name);
}

/* Finds another thread that launched into the stream of NEXT after the call LAST of this thread (CRITICAL_NONE: at any
 * time). It is assumed that this thread waited outside CUDA for the other one. Returns the last operation that the
 * other thread launched, or CRITICAL_NONE. */
static uint32_t find_other_thread(const struct walk *walk, uint32_t last, const struct critical_call *next)
{
    const struct critical_graph *graph = walk->graph;
    if (next->op == CRITICAL_NONE || graph->ops.items[next->op].previous == CRITICAL_NONE)
        return CRITICAL_NONE;
    uint32_t previous = graph->ops.items[next->op].previous;
    const struct critical_op *op = &graph->ops.items[previous];
    if (op->thread == walk->thread || op->thread == LAUNCHED_NO_THREAD || op->called >= walk->time ||
        critical_returned(graph, op) > walk->time ||
        (last != CRITICAL_NONE && op->called < graph->calls.items[last].end))
        return CRITICAL_NONE;
    return previous;
}

/* Steps back from walk->time, at which the thread is between calls, or in a call. */
static int step_from_thread(struct walk *walk)
{
    struct critical_graph *graph = walk->graph;
    uint32_t number = critical_call_before(graph, walk->thread, walk->time);
    size_t after = number == CRITICAL_NONE ? graph->threads.items[walk->thread].first : (size_t)number + 1;
    const struct critical_thread *thread = &graph->threads.items[walk->thread];
    uint32_t other = CRITICAL_NONE;
    if (after < thread->first + thread->count && graph->calls.items[after].start == walk->time)
        other = find_other_thread(walk, number, &graph->calls.items[after]);
    if (other != CRITICAL_NONE) {
        if (add_interval(walk, CRITICAL_OUTSIDE, critical_returned(graph, &graph->ops.items[other]), EVENT_NO_TEXT) < 0)
            return -1;
        walk->thread = graph->ops.items[other].thread;
        return 0;
    }
    if (number == CRITICAL_NONE)
        return add_interval(walk, CRITICAL_OUTSIDE, graph->trace->start, EVENT_NO_TEXT);
    struct critical_call *call = &graph->calls.items[number];
    if (add_interval(walk, CRITICAL_OUTSIDE, call->end, EVENT_NO_TEXT) < 0)
        return -1;
    call->on_path = true;
    if (critical_waited_until(graph, call) > call->start && graph->ops.items[call->waited].start < walk->time) {
        walk->op = call->waited;
        return add_interval(walk, CRITICAL_RETURN, graph->ops.items[call->waited].end, call->name);
    }
    return add_interval(walk, CRITICAL_CALL, call->start, call->name);
}

int critical_walk(struct critical_graph *graph, struct critical_end end, struct critical_path *path)
{
    const struct trace *trace = graph->trace;
    struct walk walk = {.graph = graph, .path = path, .time = trace->end, .op = end.op, .thread = end.thread};
    int status = 0;
    if (end.op != CRITICAL_NONE)
        walk.thread = graph->ops.items[end.op].thread;
    if (end.op != CRITICAL_NONE)
        status = add_interval(&walk, CRITICAL_OUTSIDE, end.time, EVENT_NO_TEXT);
    for (size_t steps = 1; status == 0 && walk.time > trace->start; steps++) {
        critical_graph_evict(graph, steps);
        if (walk.op != CRITICAL_NONE)
            status = step_from_op(&walk);
        else if (walk.thread != EVENT_NO_TEXT)
            status = step_from_thread(&walk);
        else
            status = add_interval(&walk, CRITICAL_UNKNOWN, trace->start, EVENT_NO_TEXT);
    }
    return status;
}

/* --- slack: one walk backward in time over the starts of operations and the starts and ends of calls. Each limits the
 * slack of what it waited for to its own slack, plus the time between the two if the awaited one did not decide it
 * --- */

/* The moments of the walk, in their order at one time. */
enum moment { CALL_ENDS, OP_STARTS, CALL_STARTS };

struct cursor {
    size_t first, left; /* operations of a device, or calls of a thread, of which `left` remain */
    enum moment next;
    int64_t late; /* of a thread: ns by which its later work may be delayed */
};

struct sweep {
    struct critical_graph *graph;
    struct critical_heap heap;    /* numbers of cursors, the one with the latest next moment first */
    ARRAY(struct cursor) cursors; /* of devices, then of threads */
    size_t device_count;
};

static void lower(int64_t *slack, int64_t value)
{
    *slack = value < *slack ? value : *slack;
}

/* Adds the next moment of a cursor to the heap, which sorts by falling time, then by enum moment. */
static int push(struct sweep *sweep, uint32_t number)
{
    const struct cursor *cursor = &sweep->cursors.items[number];
    if (cursor->left == 0)
        return 0;
    size_t last = cursor->first + cursor->left - 1;
    int64_t time = cursor->next == OP_STARTS   ? sweep->graph->ops.items[last].start
                   : cursor->next == CALL_ENDS ? sweep->graph->calls.items[last].end
                                               : sweep->graph->calls.items[last].start;
    return critical_heap_push(&sweep->heap, (struct critical_heap_item){~time, cursor->next, number});
}

/* --- */

/* Limits the slack of FROM, which OP waited for, to that of OP, plus the time between them if FROM did not decide
 * OP. */
static void limit_slack(struct critical_graph *graph, const struct critical_op *op, uint32_t from)
{
    struct critical_op *before = &graph->ops.items[from];
    bool decided = op->decider == from;
    int64_t usual = 0, ready = op->start;
    if (op->decider != CRITICAL_NONE)
        usual = op->start - graph->ops.items[op->decider].end;
    ready -= usual > 0 && usual < CRITICAL_HELD_AFTER ? usual : 0;
    int64_t left = decided || ready < before->end ? 0 : ready - before->end;
    lower(&before->slack, op->slack + left);
}

static void end_call(struct sweep *sweep, struct cursor *cursor, struct critical_call *call)
{
    struct critical_graph *graph = sweep->graph;
    call->slack = cursor->late;
    if (call->waited == CRITICAL_NONE)
        return;
    struct critical_op *op = &graph->ops.items[call->waited];
    int64_t until = critical_waited_until(graph, call);
    lower(&op->slack, cursor->late + (op->end < until ? until - op->end : 0));
    /* The call may have waited for the last operation of each stream of the device. */
    const struct critical_stream *waited = &graph->streams.items[op->stream];
    for (uint32_t i = 0; call->all && i < graph->streams.count; i++) {
        const struct critical_stream *stream = &graph->streams.items[i];
        uint32_t last = stream->ops.count > 0 && stream->device == waited->device && stream->process == waited->process
                            ? critical_launched_by(graph, i, call->start)
                            : CRITICAL_NONE;
        if (last == CRITICAL_NONE)
            continue;
        int64_t left = until - graph->ops.items[last].end;
        lower(&graph->ops.items[last].slack, cursor->late + (left > 0 ? left : 0));
    }
    sum_add(&cursor->late, until - call->start);
}

/* Initialises all slack, as if nothing waited for an operation or call, and adds the cursors. Returns 0, or -1: no
 * memory. */
static int begin(struct sweep *sweep, const struct critical_end *end)
{
    struct critical_graph *graph = sweep->graph;
    for (size_t i = 0; i < graph->ops.count; i++) {
        critical_graph_evict(graph, i);
        graph->ops.items[i].slack = end->time - graph->ops.items[i].end;
    }
    for (size_t i = 0; i < graph->calls.count; i++) {
        critical_graph_evict(graph, i);
        graph->calls.items[i].slack = INT64_MAX / 2;
    }
    for (size_t i = 0; i < graph->devices.count; i++) {
        const struct critical_device *device = &graph->devices.items[i];
        if (!ADD(array_push, &sweep->cursors, (struct cursor){device->first, device->count, OP_STARTS, 0}))
            return -1;
    }
    for (size_t i = 0; i < graph->threads.count; i++) {
        const struct critical_thread *thread = &graph->threads.items[i];
        int64_t last = thread->count > 0 ? graph->calls.items[thread->first + thread->count - 1].end : 0;
        if (!ADD(array_push, &sweep->cursors,
                 (struct cursor){thread->first, thread->count, CALL_ENDS, end->time - last}))
            return -1;
    }
    for (uint32_t i = 0; i < sweep->cursors.count; i++)
        if (push(sweep, i) < 0)
            return -1;
    return 0;
}

int critical_slack(struct critical_graph *graph, const struct critical_end *end)
{
    struct sweep sweep = {.graph = graph, .device_count = graph->devices.count};
    int status = begin(&sweep, end);
    for (size_t steps = 1; status == 0 && sweep.heap.items.count > 0; steps++) {
        uint32_t number = critical_heap_pop(&sweep.heap).value;
        struct cursor *cursor = &sweep.cursors.items[number];
        size_t last = cursor->first + cursor->left - 1;
        if (cursor->next == OP_STARTS) {
            const struct critical_op *op = &graph->ops.items[last];
            if (op->decider != CRITICAL_NONE)
                limit_slack(graph, op, op->decider);
            if (op->previous != CRITICAL_NONE && op->previous != op->decider &&
                !(op->graph && graph->ops.items[op->previous].end > op->start))
                limit_slack(graph, op, op->previous);
            for (uint32_t i = op->edges; i != CRITICAL_NONE; i = graph->edges.items[i].next)
                limit_slack(graph, op, graph->edges.items[i].from);
            int64_t left = op->start - op->called - graph->latency;
            if (op->call != CRITICAL_NONE)
                lower(&graph->calls.items[op->call].slack,
                      op->slack + (op->decider == CRITICAL_NONE || left < 0 ? 0 : left));
            cursor->left--;
        } else if (cursor->next == CALL_ENDS) {
            int64_t launched = graph->calls.items[last].slack;
            end_call(&sweep, cursor, &graph->calls.items[last]);
            lower(&graph->calls.items[last].slack, launched);
            cursor->next = CALL_STARTS;
        } else {
            lower(&cursor->late, graph->calls.items[last].slack);
            cursor->next = CALL_ENDS;
            cursor->left--;
        }
        status = push(&sweep, number);
        critical_graph_evict(graph, steps);
    }
    array_release(&sweep.cursors);
    array_release(&sweep.heap.items);
    return status;
}
