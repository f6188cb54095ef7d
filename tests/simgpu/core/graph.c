#include "core/graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/callbacks.h"
#include "core/config.h"
#include "core/context.h"
#include "core/memory.h"
#include "core/sim.h"
#include "core/user_object.h"
#include "core/work.h"

static atomic_uint graphs_made;

static void graph_notify(CUpti_CallbackIdResource cbid, CUpti_GraphData *data)
{
    callbacks_resource(cbid, context_current(), NULL, data);
}

static CUgraph graph_new(void)
{
    CUgraph graph = calloc(1, sizeof(*graph));
    if (!graph)
        abort();
    graph->id = atomic_fetch_add(&graphs_made, 1) + 1;
    return graph;
}

CUgraph graph_create(void)
{
    CUgraph graph = graph_new();
    graph_notify(CUPTI_CBID_RESOURCE_GRAPH_CREATED, &(CUpti_GraphData){.graph = graph});
    return graph;
}

static void graph_make_bodies(struct op_conditional *conditional);

static CUgraphNode graph_new_node(CUgraph graph, const struct op *op)
{
    CUgraphNode node = calloc(1, sizeof(*node));
    if (!node)
        abort();
    node->graph = graph;
    node->op = *op;
    node->id = (uint64_t)graph->id << 32 | ++graph->nodes_made;
    list_add(&graph->nodes, node);
    return node;
}

static void notify_starting(CUgraph graph, CUgraphNode node)
{
    graph_notify(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING,
                 &(CUpti_GraphData){.graph = graph, .node = node, .nodeType = node->op.type});
}

/* As the real CUPTI (13.0): a conditional node has its type when it starts, and is a kernel (0) when it was made. */
static void notify_created(CUgraph graph, CUgraphNode node)
{
    bool conditional = node->op.type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
    CUgraphNodeType type = conditional ? CU_GRAPH_NODE_TYPE_KERNEL : node->op.type;
    graph_notify(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                 &(CUpti_GraphData){.graph = graph, .node = node, .nodeType = type});
}

CUgraphNode graph_add(CUgraph graph, const struct op *op, const CUgraphNode *before, size_t count)
{
    sim_lock();
    CUgraphNode node = graph_new_node(graph, op);
    sim_unlock();
    for (size_t i = 0; i < count; i++)
        graph_connect(before[i], node);
    notify_starting(graph, node);
    if (op->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        graph_make_bodies(&node->op.conditional);
    notify_created(graph, node);
    return node;
}

void graph_connect(CUgraphNode from, CUgraphNode to)
{
    sim_lock();
    list_add_once(&from->after, to);
    list_add_once(&to->before, from);
    sim_unlock();
}

/* Instead of those of another node, or none: new ones. */
static void graph_make_bodies(struct op_conditional *conditional)
{
    CUgraph *originals = conditional->bodies;
    conditional->bodies = calloc(conditional->size, sizeof(CUgraph));
    if (!conditional->bodies)
        abort();
    for (unsigned i = 0; i < conditional->size; i++)
        conditional->bodies[i] = originals ? graph_clone(originals[i]) : graph_create();
}

static void graph_free_node(CUgraphNode node)
{
    bool conditional = node->op.type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
    for (unsigned i = 0; conditional && i < node->op.conditional.size; i++)
        graph_destroy(node->op.conditional.bodies[i]);
    if (conditional)
        free(node->op.conditional.bodies);
    if (node->op.type == CU_GRAPH_NODE_TYPE_GRAPH)
        graph_destroy(node->op.graph);
    if (node->op.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && !node->original)
        memory_release((void *)(uintptr_t)node->op.memory, 1u << MEMORY_ASYNC);
    list_release(&node->before);
    list_release(&node->after);
    free(node);
}

void graph_destroy(CUgraph graph)
{
    graph_notify(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, &(CUpti_GraphData){.graph = graph});
    for (size_t i = 0; i < graph->nodes.count; i++)
        graph_free_node(graph->nodes.items[i]);
    list_release(&graph->nodes);
    user_objects_release(&graph->objects, NULL);
    free(graph);
}

CUgraphNode graph_find_copy(CUgraph graph, CUgraphNode original)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        CUgraphNode node = graph->nodes.items[i];
        if (node->original == original)
            return node;
    }
    return NULL;
}

CUgraph graph_clone(CUgraph graph)
{
    CUgraph copy = graph_new();
    user_objects_retain(&copy->objects, &graph->objects);
    graph_notify(CUPTI_CBID_RESOURCE_GRAPH_CLONED, &(CUpti_GraphData){.graph = copy, .originalGraph = graph});
    for (size_t i = 0; i < graph->nodes.count; i++) {
        CUgraphNode original = graph->nodes.items[i];
        CUgraphNode node = graph_new_node(copy, &original->op);
        node->original = original;
        node->disabled = original->disabled;
        notify_starting(copy, node);
        if (node->op.type == CU_GRAPH_NODE_TYPE_GRAPH)
            node->op.graph = graph_clone(original->op.graph);
        if (node->op.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            graph_make_bodies(&node->op.conditional);
        notify_created(copy, node);
        graph_notify(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, &(CUpti_GraphData){.graph = copy,
                                                                              .originalGraph = graph,
                                                                              .node = node,
                                                                              .originalNode = original,
                                                                              .nodeType = node->op.type});
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        CUgraphNode original = graph->nodes.items[i];
        for (size_t j = 0; j < original->before.count; j++)
            graph_connect(graph_find_copy(copy, original->before.items[j]), copy->nodes.items[i]);
    }
    return copy;
}

/* Graphs within GRAPH, in the order in which they were made. */
static void list_inner(struct list *inner, CUgraph graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct op *op = &((CUgraphNode)graph->nodes.items[i])->op;
        bool is_child = op->type == CU_GRAPH_NODE_TYPE_GRAPH;
        unsigned count = is_child ? 1 : op->type == CU_GRAPH_NODE_TYPE_CONDITIONAL ? op->conditional.size : 0;
        for (unsigned j = 0; j < count; j++) {
            CUgraph within = is_child ? op->graph : op->conditional.bodies[j];
            list_add(inner, within);
            list_inner(inner, within);
        }
    }
}

/* As on an H200, where bodies of conditional nodes were seen: records count nodes of graphs within on behind those of
 * the executable graph itself. No callback reports these numbers. */
static void number_inner_nodes(CUgraph graph)
{
    struct list inner = {0};
    list_inner(&inner, graph);
    uint32_t first = graph->nodes_made + 1, count = 0;
    for (size_t i = 0; i < inner.count; i++)
        count += (uint32_t)((CUgraph)inner.items[i])->nodes.count;
    graph->nodes_made += count;
    for (size_t i = 0, number = 0; i < inner.count; i++) {
        const struct list *nodes = &((CUgraph)inner.items[i])->nodes;
        for (size_t j = 0; j < nodes->count; j++, number++) {
            uint32_t at = config()->other_numbers ? count - 1 - (uint32_t)number : (uint32_t)number;
            ((CUgraphNode)nodes->items[j])->record_id = (uint64_t)graph->id << 32 | (first + at);
        }
    }
    list_release(&inner);
}

/* As on an H200: one more node for each conditional node and each of its bodies, which are not copies of any. */
static void notify_internal_nodes(CUgraph graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct op *op = &((CUgraphNode)graph->nodes.items[i])->op;
        unsigned count = op->type == CU_GRAPH_NODE_TYPE_CONDITIONAL ? op->conditional.size + 1 : 0;
        for (unsigned j = 0; j < count; j++) {
            struct CUgraphNode_st node = {.graph = graph, .id = (uint64_t)graph->id << 32 | ++graph->nodes_made};
            notify_starting(graph, &node);
            notify_created(graph, &node);
        }
    }
}

CUgraphExec graph_instantiate(CUgraph graph, uint64_t flags)
{
    CUgraphExec exec = calloc(1, sizeof(*exec));
    if (!exec)
        abort();
    exec->graph = graph_clone(graph);
    exec->flags = flags;
    graph_notify(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, &(CUpti_GraphData){.graph = graph, .graphExec = exec});
    number_inner_nodes(exec->graph);
    notify_internal_nodes(exec->graph);
    graph_notify(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, &(CUpti_GraphData){.graph = graph, .graphExec = exec});
    return exec;
}

/* Those launches that are done need nothing any more. With the lock held. */
static void graph_exec_tidy(CUgraphExec exec)
{
    size_t kept = 0;
    for (size_t i = 0; i < exec->launches.count; i++) {
        struct work *last = exec->launches.items[i];
        if (last->done)
            work_drop(last);
        else
            exec->launches.items[kept++] = last;
    }
    exec->launches.count = kept;
}

void graph_exec_note(CUgraphExec exec, struct work *last)
{
    graph_exec_tidy(exec);
    if (exec->graph->objects.count)
        list_add(&exec->launches, work_hold(last));
}

/* Lets go of what its graph holds, when the launches so far are done. */
static void graph_exec_release_objects(CUgraphExec exec)
{
    user_objects_release(&exec->graph->objects, &exec->launches);
    sim_lock();
    for (size_t i = 0; i < exec->launches.count; i++)
        work_drop(exec->launches.items[i]);
    sim_unlock();
    list_release(&exec->launches);
}

void graph_exec_destroy(CUgraphExec exec)
{
    graph_notify(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
                 &(CUpti_GraphData){.graph = exec->graph, .graphExec = exec});
    graph_exec_release_objects(exec);
    graph_destroy(exec->graph);
    list_release(&exec->streams);
    free(exec);
}

void graph_exec_notify_set(CUgraphExec exec, CUgraphNode node)
{
    graph_notify(CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, &(CUpti_GraphData){.originalGraph = node->original->graph,
                                                                               .node = node,
                                                                               .originalNode = node->original,
                                                                               .graphExec = exec});
}

bool graph_exec_update(CUgraphExec exec, CUgraph graph)
{
    if (exec->graph->nodes.count != graph->nodes.count)
        return false;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        CUgraphNode old = exec->graph->nodes.items[i], now = graph->nodes.items[i];
        if (old->op.type != now->op.type || old->before.count != now->before.count)
            return false;
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        CUgraphNode old = exec->graph->nodes.items[i], now = graph->nodes.items[i];
        bool other = memcmp(&old->op, &now->op, sizeof(old->op)) != 0;
        if (old->op.type != CU_GRAPH_NODE_TYPE_GRAPH && old->op.type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
            old->op = now->op;
        old->original = now;
        if (other) {
            graph_notify(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED,
                         &(CUpti_GraphData){.node = now, .originalNode = old, .graphExec = exec});
            graph_exec_notify_set(exec, old);
        }
    }
    graph_exec_release_objects(exec);
    user_objects_retain(&exec->graph->objects, &graph->objects);
    return true;
}
