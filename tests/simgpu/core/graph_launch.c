/*
 * Launching a graph. Its nodes, and those of the graphs in it, become steps in an order in which each comes after what
 * it depends on; then records are begun without the lock, and then all work is made with it, at once.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/api.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/context.h"
#include "core/event.h"
#include "core/graph.h"
#include "core/records.h"
#include "core/sim.h"
#include "core/stream.h"
#include "core/work.h"

struct step {
    struct op op;
    uint64_t node_id;
    CUgraph body;       /* of a conditional node, in which this is; NULL: in none */
    unsigned branch;    /* 0: it runs on the launch's stream, else on one of the executable graph's */
    bool goes_on;       /* a step after this one is on the same branch */
    unsigned branches;  /* of the first step: how many there are beside it */
    struct list before; /* struct step */
    struct activity_slot slot;
    struct work *work;
};

static struct step *step_add(struct list *steps, const struct op *op, uint64_t node_id)
{
    struct step *step = calloc(1, sizeof(*step));
    if (!step)
        abort();
    step->op = *op;
    step->node_id = node_id;
    list_add(steps, step);
    return step;
}

static struct step *steps_of_graph(struct list *steps, CUgraph graph, struct step *begin);

static struct step *steps_of_body(struct list *steps, CUgraph body, struct step *begin)
{
    size_t first = steps->count;
    struct step *end = steps_of_graph(steps, body, begin);
    for (size_t i = first; i < steps->count; i++) {
        struct step *step = steps->items[i];
        step->body = step->body ? step->body : body;
    }
    return end;
}

/* A loop runs as often as its condition says. */
static struct step *steps_of_condition(struct list *steps, const struct op_conditional *node, struct step *step)
{
    unsigned is_loop = node->type == CU_GRAPH_COND_TYPE_WHILE;
    unsigned body = is_loop ? 0 : node->type == CU_GRAPH_COND_TYPE_SWITCH ? node->value : node->value == 0;
    for (unsigned i = 0; i < (is_loop ? node->value : 1) && body < node->size; i++)
        step = steps_of_body(steps, node->bodies[body], step);
    return step;
}

/* A step goes on with the first branch that ends in a step before it; else it begins a new one. */
static void take_branch(const struct list *steps, struct step *step)
{
    for (size_t i = 0; i < step->before.count; i++) {
        struct step *before = step->before.items[i];
        if (before->goes_on)
            continue;
        before->goes_on = true;
        step->branch = before->branch;
        return;
    }
    step->branch = ++((struct step *)steps->items[0])->branches;
}

static size_t node_index(CUgraphNode node)
{
    size_t i = 0;
    while (node->graph->nodes.items[i] != node)
        i++;
    return i;
}

/* The step with which NODE ends. Makes it, after those of the nodes before, when LAST does not have it yet. */
static struct step *steps_of_node(struct list *steps, CUgraphNode node, struct step *begin, struct step **last)
{
    static const struct op nothing = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    struct step **place = &last[node_index(node)];
    if (*place)
        return *place;
    struct list before = {0};
    for (size_t i = 0; i < node->before.count; i++)
        list_add(&before, steps_of_node(steps, node->before.items[i], begin, last));
    if (!before.count)
        list_add(&before, begin);
    bool inert = node->disabled || node->op.type == CU_GRAPH_NODE_TYPE_GRAPH ||
                 node->op.type == CU_GRAPH_NODE_TYPE_CONDITIONAL || node->op.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
                 node->op.type == CU_GRAPH_NODE_TYPE_MEM_FREE;
    struct step *step = step_add(steps, inert ? &nothing : &node->op, node->record_id ? node->record_id : node->id);
    step->before = before;
    take_branch(steps, step);
    if (node->op.type == CU_GRAPH_NODE_TYPE_GRAPH && !node->disabled)
        step = steps_of_graph(steps, node->op.graph, step);
    if (node->op.type == CU_GRAPH_NODE_TYPE_CONDITIONAL && !node->disabled)
        step = steps_of_condition(steps, &node->op.conditional, step);
    return *place = step;
}

static struct step *steps_of_graph(struct list *steps, CUgraph graph, struct step *begin)
{
    static const struct op nothing = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    struct step **last = calloc(graph->nodes.count + 1, sizeof(struct step *));
    if (!last)
        abort();
    for (size_t i = 0; i < graph->nodes.count; i++)
        steps_of_node(steps, graph->nodes.items[i], begin, last);
    struct step *end = step_add(steps, &nothing, 0);
    end->branch = begin->branch;
    list_add(&end->before, begin);
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (!((CUgraphNode)graph->nodes.items[i])->after.count)
            list_add(&end->before, last[i]);
    free(last);
    return end;
}

/* Records of what a conditional node's body does lack the launch's correlation id, and are of a stream of the body's.
 */
static struct record_origin origin_in_body(const struct step *step, struct record_origin origin)
{
    if (!step->body->stream_id)
        step->body->stream_id = stream_take_id();
    origin.correlation = 0;
    origin.stream_id = step->body->stream_id;
    return origin;
}

/* As on an H200: each has a stream of its own, whose number is taken when it is used first. */
static uint32_t stream_of_branch(CUgraphExec exec, unsigned branch)
{
    while (exec->streams.count < branch)
        list_add(&exec->streams, (void *)(uintptr_t)stream_take_id());
    return branch ? (uint32_t)(uintptr_t)exec->streams.items[branch - 1] : 0;
}

static void steps_begin_records(struct list *steps, CUgraphExec exec, CUstream stream)
{
    struct record_origin origin = {.stream = stream, .correlation = api_correlation(), .graph_id = exec->graph->id};
    if (records_graphs_whole(stream->context)) {
        ((struct step *)steps->items[steps->count - 1])->slot = records_begin_graph(&origin);
        return;
    }
    for (size_t i = 0; i < steps->count; i++) {
        struct step *step = steps->items[i];
        origin.graph_node_id = step->node_id;
        origin.stream_id = step->body ? 0 : stream_of_branch(exec, step->branch);
        const struct record_origin its = step->body ? origin_in_body(step, origin) : origin;
        step->slot = records_begin(&step->op, &its);
    }
}

static void step_start(struct step *step, uint64_t earliest, struct work *span, atomic_bool *lost)
{
    struct work *item = step->work;
    if (step->op.type != CU_GRAPH_NODE_TYPE_EMPTY) {
        item->earliest = earliest;
        item->span = span;
    }
    item->slot = step->slot;
    item->lost = lost;
    records_fail(item);
    for (size_t i = 0; i < step->before.count; i++)
        work_depend(item, ((struct step *)step->before.items[i])->work);
    if (step->op.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
        work_depend(item, step->op.event->work);
    if (step->op.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        work_replace(&step->op.event->work, item);
}

static void steps_start(struct list *steps, CUgraphExec exec, CUstream stream)
{
    sim_lock();
    uint64_t earliest = clock_now() + config()->launch_ns;
    for (size_t i = 0; i < steps->count; i++) {
        struct step *step = steps->items[i];
        step->work = work_new(&step->op);
    }
    struct step *first = steps->items[0], *last = steps->items[steps->count - 1];
    stream_append(stream, first->work);
    for (size_t i = 0; i < steps->count; i++)
        step_start(steps->items[i], earliest, last->work, &stream->context->lost);
    work_replace(&stream->tail, last->work);
    graph_exec_note(exec, last->work);
    for (size_t i = 0; i < steps->count; i++)
        work_start(((struct step *)steps->items[i])->work);
    for (size_t i = 0; i < steps->count; i++)
        work_drop(((struct step *)steps->items[i])->work);
    sim_unlock();
}

CUresult graph_launch(CUgraphExec exec, CUstream stream)
{
    static const struct op nothing = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    static atomic_uint_least64_t launches;
    uint64_t number = atomic_fetch_add(&launches, 1) + 1;
    struct list steps = {0};
    struct step *begin = step_add(&steps, &nothing, 0);
    steps_of_graph(&steps, exec->graph, begin);
    steps_begin_records(&steps, exec, stream);
    steps_start(&steps, exec, stream);
    for (size_t i = 0; i < steps.count; i++) {
        list_release(&((struct step *)steps.items[i])->before);
        free(steps.items[i]);
    }
    list_release(&steps);
    if (number == config()->kill_graph_launched)
        raise(SIGKILL);
    return CUDA_SUCCESS;
}
