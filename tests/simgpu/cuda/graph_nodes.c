/* The driver API: the nodes of graphs. */
#include "core/api.h"
#include "core/copy.h"
#include "core/function.h"
#include "core/graph.h"
#include "core/memory.h"
#include "cuda/graph_params.h"
#include "cuda/need.h"

static CUresult add(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count, struct op op)
{
    NEED_VALUE(out && graph && (before || !count));
    *out = graph_add(graph, &op, before, count);
    return CUDA_SUCCESS;
}

/* Puts OP into NODE, which has to be of its kind. */
static CUresult replace(CUgraphNode node, struct op op)
{
    NEED_VALUE(node && node->op.type == op.type);
    node->op = op;
    return CUDA_SUCCESS;
}

/* Puts OP into the copy of NODE in EXEC. */
static CUresult replace_in(CUgraphExec exec, CUgraphNode node, struct op op)
{
    NEED_VALUE(exec && node);
    CUgraphNode copy = graph_find_copy(exec->graph, node);
    CUresult result = replace(copy, op);
    if (result == CUDA_SUCCESS)
        graph_exec_tell_set(exec, copy);
    return result;
}

#define NEED_NODE(node, kind) NEED_VALUE((node) && (node)->op.type == CU_GRAPH_NODE_TYPE_##kind)

/* ---- kernels ---- */

DRIVER_API(cuGraphAddKernelNode_v2)
{
    NEED_VALUE(p->nodeParams && (p->nodeParams->func || p->nodeParams->kern));
    NEED_CONTEXT(context);
    function_load(function_of(p->nodeParams->func ? p->nodeParams->func : (CUfunction)(void *)p->nodeParams->kern),
                  context);
    return add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies, graph_op_kernel(p->nodeParams));
}

DRIVER_API(cuGraphKernelNodeGetParams_v2)
{
    NEED_NODE(p->hNode, KERNEL);
    *p->nodeParams = graph_params_kernel(&p->hNode->op);
    return CUDA_SUCCESS;
}

DRIVER_API(cuGraphKernelNodeSetParams_v2)
{
    NEED_VALUE(p->nodeParams);
    return replace(p->hNode, graph_op_kernel(p->nodeParams));
}

DRIVER_API(cuGraphExecKernelNodeSetParams_v2)
{
    NEED_VALUE(p->nodeParams);
    return replace_in(p->hGraphExec, p->hNode, graph_op_kernel(p->nodeParams));
}

/* ---- copies ---- */

DRIVER_API(cuGraphAddMemcpyNode)
{
    NEED_VALUE(p->copyParams);
    return add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies, graph_op_copy(p->copyParams));
}

DRIVER_API(cuGraphMemcpyNodeGetParams)
{
    NEED_NODE(p->hNode, MEMCPY);
    *p->nodeParams = copy_describe(&p->hNode->op.copy);
    return CUDA_SUCCESS;
}

DRIVER_API(cuGraphMemcpyNodeSetParams)
{
    NEED_VALUE(p->nodeParams);
    return replace(p->hNode, graph_op_copy(p->nodeParams));
}

DRIVER_API(cuGraphExecMemcpyNodeSetParams)
{
    NEED_VALUE(p->copyParams);
    return replace_in(p->hGraphExec, p->hNode, graph_op_copy(p->copyParams));
}

/* ---- sets ---- */

DRIVER_API(cuGraphAddMemsetNode)
{
    NEED_VALUE(p->memsetParams);
    return add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies, graph_op_set(p->memsetParams));
}

DRIVER_API(cuGraphMemsetNodeGetParams)
{
    NEED_NODE(p->hNode, MEMSET);
    *p->nodeParams = graph_params_set(&p->hNode->op);
    return CUDA_SUCCESS;
}

DRIVER_API(cuGraphMemsetNodeSetParams)
{
    NEED_VALUE(p->nodeParams);
    return replace(p->hNode, graph_op_set(p->nodeParams));
}

DRIVER_API(cuGraphExecMemsetNodeSetParams)
{
    NEED_VALUE(p->memsetParams);
    return replace_in(p->hGraphExec, p->hNode, graph_op_set(p->memsetParams));
}

/* ---- functions of the host ---- */

DRIVER_API(cuGraphAddHostNode)
{
    NEED_VALUE(p->nodeParams && p->nodeParams->fn);
    return add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies, graph_op_host(p->nodeParams));
}

DRIVER_API(cuGraphHostNodeGetParams)
{
    NEED_NODE(p->hNode, HOST);
    *p->nodeParams = graph_params_host(&p->hNode->op);
    return CUDA_SUCCESS;
}

DRIVER_API(cuGraphHostNodeSetParams)
{
    NEED_VALUE(p->nodeParams);
    return replace(p->hNode, graph_op_host(p->nodeParams));
}

DRIVER_API(cuGraphExecHostNodeSetParams)
{
    NEED_VALUE(p->nodeParams);
    return replace_in(p->hGraphExec, p->hNode, graph_op_host(p->nodeParams));
}

/* ---- graphs in graphs, nothing, events, memory ---- */

DRIVER_API(cuGraphAddChildGraphNode)
{
    NEED_VALUE(p->childGraph);
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = graph_clone(p->childGraph)};
    return add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies, op);
}

DRIVER_API(cuGraphChildGraphNodeGetGraph)
{
    NEED_NODE(p->hNode, GRAPH);
    *p->phGraph = p->hNode->op.graph;
    return CUDA_SUCCESS;
}

DRIVER_API(cuGraphAddEmptyNode)
{
    return add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies,
               (struct op){.type = CU_GRAPH_NODE_TYPE_EMPTY});
}

#define EVENT_NODE(verb, kind)                                                                                         \
    DRIVER_API(cuGraphAddEvent##verb##Node)                                                                            \
    {                                                                                                                  \
        NEED_VALUE(p->event);                                                                                          \
        return add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies,                                     \
                   (struct op){.type = CU_GRAPH_NODE_TYPE_##kind, .event = p->event});                                 \
    }                                                                                                                  \
    DRIVER_API(cuGraphEvent##verb##NodeGetEvent)                                                                       \
    {                                                                                                                  \
        NEED_NODE(p->hNode, kind);                                                                                     \
        *p->event_out = p->hNode->op.event;                                                                            \
        return CUDA_SUCCESS;                                                                                           \
    }                                                                                                                  \
    DRIVER_API(cuGraphEvent##verb##NodeSetEvent)                                                                       \
    {                                                                                                                  \
        NEED_VALUE(p->event);                                                                                          \
        return replace(p->hNode, (struct op){.type = CU_GRAPH_NODE_TYPE_##kind, .event = p->event});                   \
    }                                                                                                                  \
    DRIVER_API(cuGraphExecEvent##verb##NodeSetEvent)                                                                   \
    {                                                                                                                  \
        NEED_VALUE(p->event);                                                                                          \
        return replace_in(p->hGraphExec, p->hNode, (struct op){.type = CU_GRAPH_NODE_TYPE_##kind, .event = p->event}); \
    }

EVENT_NODE(Record, EVENT_RECORD)
EVENT_NODE(Wait, WAIT_EVENT)

DRIVER_API(cuGraphAddMemAllocNode)
{
    NEED_VALUE(p->nodeParams && p->nodeParams->bytesize);
    NEED_CONTEXT(context);
    void *address = NULL;
    CUresult result = memory_allocate(context, MEMORY_ASYNC, p->nodeParams->bytesize, 0, NULL, &address);
    NEED(result == CUDA_SUCCESS, result);
    p->nodeParams->dptr = (uintptr_t)address;
    return add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies,
               (struct op){.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .memory = p->nodeParams->dptr});
}

DRIVER_API(cuGraphAddMemFreeNode)
{
    NEED_VALUE(p->dptr);
    return add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies,
               (struct op){.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .memory = p->dptr});
}

/* ---- of any kind ---- */

DRIVER_API(cuGraphAddNode_v2)
{
    struct op op;
    NEED_VALUE(p->nodeParams);
    NEED(graph_op(p->nodeParams, &op), CUDA_ERROR_NOT_SUPPORTED);
    CUresult result = add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies, op);
    if (result == CUDA_SUCCESS && op.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        p->nodeParams->conditional.phGraph_out = (*p->phGraphNode)->op.conditional.bodies;
    return result;
}

DRIVER_API(cuGraphConditionalHandleCreate)
{
    NEED_VALUE(p->pHandle_out && p->hGraph);
    *p->pHandle_out = graph_condition(p->flags & CU_GRAPH_COND_ASSIGN_DEFAULT ? p->defaultLaunchValue : 0);
    return CUDA_SUCCESS;
}

DRIVER_API(cuGraphNodeSetParams)
{
    struct op op;
    NEED_VALUE(p->nodeParams);
    NEED(graph_op(p->nodeParams, &op), CUDA_ERROR_NOT_SUPPORTED);
    return replace(p->hNode, op);
}

DRIVER_API(cuGraphExecNodeSetParams)
{
    struct op op;
    NEED_VALUE(p->nodeParams);
    NEED(graph_op(p->nodeParams, &op), CUDA_ERROR_NOT_SUPPORTED);
    return replace_in(p->hGraphExec, p->hNode, op);
}
