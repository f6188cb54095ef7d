/*
 * One walk backward in time over the starts of operations and the starts and ends of calls: each limits the slack of
 * what it waited for to its own slack, plus the time that lies between the two if the other did not decide it.
 */
#include "analysis/critical/critical_slack.h"

#include "common/array.h"
#include "analysis/base/cost_sum.h"
#include "analysis/critical/critical_walk.h"
#include "analysis/engine/timeline.h"
#include "analysis/engine/trace.h"

/* The moments of the walk. At one time they come in this order. */
enum moment { CALL_ENDS, OP_STARTS, CALL_STARTS };

struct cursor {
    size_t first, left; /* operations of a device, or calls of a thread: the walk has passed all but LEFT */
    enum moment next;
    int64_t late; /* of a thread: by how much what follows on it may be delayed */
};

struct sweep {
    struct critical_graph *graph;
    struct critical_heap heap;    /* of cursors, by the time of their next moment, the latest first */
    ARRAY(struct cursor) cursors; /* of devices, then of threads */
    size_t device_count;
};

static void lower(int64_t *slack, int64_t value)
{
    *slack = value < *slack ? value : *slack;
}

/* Adds the next moment of a cursor to the heap. Its times fall, and moments of one time come in their order. */
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

/* Limits the slack of FROM, which OP waited for: to the slack of OP, plus the time between them if FROM did not decide
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

static void start_op(struct sweep *sweep, uint32_t number)
{
    struct critical_graph *graph = sweep->graph;
    const struct critical_op *op = &graph->ops.items[number];
    if (op->decider != CRITICAL_NONE)
        limit_slack(graph, op, op->decider);
    if (op->previous != CRITICAL_NONE && op->previous != op->decider &&
        !(op->graph && graph->ops.items[op->previous].end > op->start))
        limit_slack(graph, op, op->previous);
    for (uint32_t i = op->edges; i != CRITICAL_NONE; i = graph->edges.items[i].next)
        limit_slack(graph, op, graph->edges.items[i].from);
    if (op->call == CRITICAL_NONE)
        return;
    int64_t ready = op->called + graph->latency, left = op->start - ready;
    lower(&graph->calls.items[op->call].slack, op->slack + (op->decider == CRITICAL_NONE || left < 0 ? 0 : left));
}

/* Limits the slack of the last operation of each stream of the device that CALL waited for. */
static void limit_slack_of_device(struct critical_graph *graph, const struct critical_call *call, int64_t late)
{
    int64_t end = critical_waited_until(graph, call);
    const struct critical_stream *waited = &graph->streams.items[graph->ops.items[call->waited].stream];
    for (uint32_t i = 0; i < graph->streams.count; i++) {
        const struct critical_stream *stream = &graph->streams.items[i];
        uint32_t last = stream->ops.count > 0 && stream->device == waited->device && stream->process == waited->process
                            ? critical_launched_by(graph, i, call->start)
                            : CRITICAL_NONE;
        if (last == CRITICAL_NONE)
            continue;
        int64_t left = end - graph->ops.items[last].end;
        lower(&graph->ops.items[last].slack, late + (left > 0 ? left : 0));
    }
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
    if (call->all)
        limit_slack_of_device(graph, call, cursor->late);
    sum_add(&cursor->late, until - call->start);
}

static int step(struct sweep *sweep)
{
    struct critical_graph *graph = sweep->graph;
    uint32_t number = critical_heap_pop(&sweep->heap).value;
    struct cursor *cursor = &sweep->cursors.items[number];
    size_t last = cursor->first + cursor->left - 1;
    if (cursor->next == OP_STARTS) {
        start_op(sweep, (uint32_t)last);
        cursor->left--;
    } else if (cursor->next == CALL_ENDS) {
        int64_t launched = graph->calls.items[last].slack;
        end_call(sweep, cursor, &graph->calls.items[last]);
        lower(&graph->calls.items[last].slack, launched);
        cursor->next = CALL_STARTS;
    } else {
        lower(&cursor->late, graph->calls.items[last].slack);
        cursor->next = CALL_ENDS;
        cursor->left--;
    }
    return push(sweep, number);
}

/* Sets the slack of all as if nothing waited for them: until the end of the run. */
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
        status = step(&sweep);
        critical_graph_evict(graph, steps);
    }
    array_release(&sweep.cursors);
    array_release(&sweep.heap.items);
    return status;
}
