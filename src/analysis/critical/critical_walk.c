/*
 * Walks backward from what ended last: from an operation to what decided its start, from a call to what it waited for,
 * else along the thread.
 */
#include "analysis/critical/critical_walk.h"

#include "trace/event.h"
#include "analysis/engine/timeline.h"
#include "analysis/engine/trace.h"

struct walk {
    struct critical_graph *graph;
    struct critical_path *path;
    int64_t time;    /* all after it is done */
    uint32_t op;     /* the operation that the walk is at; CRITICAL_NONE: it is on the thread */
    uint32_t thread; /* EVENT_NO_TEXT: all before TIME is unknown */
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

/* Adds the interval from START to where the walk is, and moves the walk to START. */
static int add(struct walk *walk, enum critical_kind kind, int64_t start, uint32_t name)
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
    if (add(walk, critical_kind_of_op(op), op->start, op->name) < 0)
        return -1;
    if (op->decider == CRITICAL_NONE) {
        /* From the start of OP to the start of its call. A call may seem to begin after its operation. */
        struct critical_graph *graph = walk->graph;
        walk->op = CRITICAL_NONE;
        walk->thread = op->thread == LAUNCHED_NO_THREAD ? EVENT_NO_TEXT : op->thread;
        if (walk->thread == EVENT_NO_TEXT)
            return 0;
        struct critical_call *call = &graph->calls.items[op->call];
        if (add(walk, op->held ? CRITICAL_HELD : CRITICAL_LAUNCH, call->end, call->name) < 0)
            return -1;
        if (call->start < walk->time)
            call->on_path = true;
        return add(walk, CRITICAL_CALL, call->start, call->name);
    }
    walk->op = op->decider;
    return add(walk, op->held ? CRITICAL_HELD : CRITICAL_BETWEEN, walk->graph->ops.items[op->decider].end, op->name);
}

/* Finds another thread that launched into the stream of NEXT after the call LAST of this thread (CRITICAL_NONE: at any
 * time): this thread waited for it outside CUDA. Returns the last operation that it launched, or CRITICAL_NONE. */
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

/* Steps back from a time at which the thread is between calls, or in a call that had begun. */
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
        if (add(walk, CRITICAL_OUTSIDE, critical_returned(graph, &graph->ops.items[other]), EVENT_NO_TEXT) < 0)
            return -1;
        walk->thread = graph->ops.items[other].thread;
        return 0;
    }
    if (number == CRITICAL_NONE)
        return add(walk, CRITICAL_OUTSIDE, graph->trace->start, EVENT_NO_TEXT);
    struct critical_call *call = &graph->calls.items[number];
    if (add(walk, CRITICAL_OUTSIDE, call->end, EVENT_NO_TEXT) < 0)
        return -1;
    call->on_path = true;
    if (critical_waited_until(graph, call) > call->start && graph->ops.items[call->waited].start < walk->time) {
        walk->op = call->waited;
        return add(walk, CRITICAL_RETURN, graph->ops.items[call->waited].end, call->name);
    }
    return add(walk, CRITICAL_CALL, call->start, call->name);
}

int critical_walk(struct critical_graph *graph, struct critical_end end, struct critical_path *path)
{
    const struct trace *trace = graph->trace;
    struct walk walk = {.graph = graph, .path = path, .time = trace->end, .op = end.op, .thread = end.thread};
    int status = 0;
    if (end.op != CRITICAL_NONE)
        walk.thread = graph->ops.items[end.op].thread;
    if (end.op != CRITICAL_NONE)
        status = add(&walk, CRITICAL_OUTSIDE, end.time, EVENT_NO_TEXT);
    for (size_t steps = 1; status == 0 && walk.time > trace->start; steps++) {
        critical_graph_evict(graph, steps);
        if (walk.op != CRITICAL_NONE)
            status = step_from_op(&walk);
        else if (walk.thread != EVENT_NO_TEXT)
            status = step_from_thread(&walk);
        else
            status = add(&walk, CRITICAL_UNKNOWN, trace->start, EVENT_NO_TEXT);
    }
    return status;
}
