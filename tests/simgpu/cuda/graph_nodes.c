/* The driver API: the nodes of graphs. */
#include "core/api.h"
#include "core/copy.h"
#include "core/function.h"
#include "core/graph.h"
#include "core/memory.h"
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
        graph_exec_notify_set(exec, copy);
    return result;
}

#define NEED_NODE(node, kind) NEED_VALUE((node) && (node)->op.type == CU_GRAPH_NODE_TYPE_##kind)

/* ---- operations from and to the structs of parameters ---- */

static struct op graph_op_kernel(const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUfunction function = params->func ? params->func : (CUfunction)(void *)params->kern;
    return (struct op){.type = CU_GRAPH_NODE_TYPE_KERNEL,
                       .kernel = {.function = function_of(function),
                                  .grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
                                  .block = {params->blockDimX, params->blockDimY, params->blockDimZ},
                                  .shared = params->sharedMemBytes,
                                  .arguments = params->kernelParams,
                                  .extra = params->extra}};
}

static CUDA_KERNEL_NODE_PARAMS graph_params_kernel(const struct op *op)
{
    const struct op_kernel *kernel = &op->kernel;
    return (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)(uintptr_t)kernel->function,
                                     .gridDimX = kernel->grid[0],
                                     .gridDimY = kernel->grid[1],
                                     .gridDimZ = kernel->grid[2],
                                     .blockDimX = kernel->block[0],
                                     .blockDimY = kernel->block[1],
                                     .blockDimZ = kernel->block[2],
                                     .sharedMemBytes = kernel->shared,
                                     .kernelParams = kernel->arguments,
                                     .extra = kernel->extra};
}

static struct op graph_op_copy(const CUDA_MEMCPY3D *params)
{
    struct op op = {.type = CU_GRAPH_NODE_TYPE_MEMCPY, .copy = copy_box(params)};
    op.copy.async = true;
    return op;
}

static CUDA_MEMCPY3D graph_params_copy(const struct op *op)
{
    return copy_describe(&op->copy);
}

static struct op graph_op_set(const CUDA_MEMSET_NODE_PARAMS *params)
{
    struct op op = {.type = CU_GRAPH_NODE_TYPE_MEMSET,
                    .set = {.to = memory_place((const void *)(uintptr_t)params->dst),
                            .width = params->width,
                            .height = params->height,
                            .element = params->elementSize,
                            .value = params->value,
                            .async = true}};
    op.set.to.pitch = params->pitch;
    return op;
}

static CUDA_MEMSET_NODE_PARAMS graph_params_set(const struct op *op)
{
    return (CUDA_MEMSET_NODE_PARAMS){.dst = (uintptr_t)op->set.to.address,
                                     .pitch = op->set.to.pitch,
                                     .value = op->set.value,
                                     .elementSize = op->set.element,
                                     .width = op->set.width,
                                     .height = op->set.height};
}

static struct op graph_op_host(const CUDA_HOST_NODE_PARAMS *params)
{
    return (struct op){.type = CU_GRAPH_NODE_TYPE_HOST, .host = {.function = params->fn, .data = params->userData}};
}

static CUDA_HOST_NODE_PARAMS graph_params_host(const struct op *op)
{
    return (CUDA_HOST_NODE_PARAMS){.fn = op->host.function, .userData = op->host.data};
}

static struct op graph_op_any_set(const CUDA_MEMSET_NODE_PARAMS_v2 *set)
{
    const CUDA_MEMSET_NODE_PARAMS params = {.dst = set->dst,
                                            .pitch = set->pitch,
                                            .value = set->value,
                                            .elementSize = set->elementSize,
                                            .width = set->width,
                                            .height = set->height};
    return graph_op_set(&params);
}

/* A handle is what its condition is at each launch; the upper half only tells it from 0. */
static CUgraphConditionalHandle graph_condition(unsigned value)
{
    return (CUgraphConditionalHandle)1 << 32 | value;
}

static unsigned graph_condition_value(CUgraphConditionalHandle handle)
{
    return (unsigned)handle;
}

/* Of the kinds that cuGraphAddNode takes in one struct. False for those that are not simulated. */
static bool graph_op(const CUgraphNodeParams *params, struct op *op)
{
    *op = (struct op){.type = params->type};
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        const CUDA_KERNEL_NODE_PARAMS_v3 *k = &params->kernel;
        const CUDA_KERNEL_NODE_PARAMS kernel = {k->func,         k->gridDimX,  k->gridDimY,  k->gridDimZ,
                                                k->blockDimX,    k->blockDimY, k->blockDimZ, k->sharedMemBytes,
                                                k->kernelParams, k->extra,     k->kern,      k->ctx};
        *op = graph_op_kernel(&kernel);
        return true;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: *op = graph_op_copy(&params->memcpy.copyParams); return true;
    case CU_GRAPH_NODE_TYPE_MEMSET: *op = graph_op_any_set(&params->memset); return true;
    case CU_GRAPH_NODE_TYPE_HOST:
        op->host = (struct op_host){.function = params->host.fn, .data = params->host.userData};
        return true;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        op->conditional = (struct op_conditional){.type = params->conditional.type,
                                                  .value = graph_condition_value(params->conditional.handle),
                                                  .size = params->conditional.size};
        return params->conditional.size > 0;
    case CU_GRAPH_NODE_TYPE_GRAPH: op->graph = graph_clone(params->graph.graph); return true;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: op->event = params->eventRecord.event; return true;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: op->event = params->eventWait.event; return true;
    case CU_GRAPH_NODE_TYPE_MEM_FREE: op->memory = params->free.dptr; return true;
    case CU_GRAPH_NODE_TYPE_EMPTY: return true;
    default: return false;
    }
}

/* ---- kernels, copies, sets, functions of the host ---- */

/* A kind of node with a struct of parameters. ADDED, CHANGED: the names of the struct when a node is added, and when it
 * is changed in an executable graph. NEED: what else adding it asks for. */
#define PARAMS_NODE(kind, version, type, added, changed, need, op_of, params_of)                     \
    DRIVER_API(cuGraphAdd##kind##Node##version)                                                      \
    {                                                                                                \
        NEED_VALUE(p->added);                                                                        \
        need;                                                                                        \
        return add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies, op_of(p->added)); \
    }                                                                                                \
    DRIVER_API(cuGraph##kind##NodeGetParams##version)                                                \
    {                                                                                                \
        NEED_NODE(p->hNode, type);                                                                   \
        *p->nodeParams = params_of(&p->hNode->op);                                                   \
        return CUDA_SUCCESS;                                                                         \
    }                                                                                                \
    DRIVER_API(cuGraph##kind##NodeSetParams##version)                                                \
    {                                                                                                \
        NEED_VALUE(p->nodeParams);                                                                   \
        return replace(p->hNode, op_of(p->nodeParams));                                              \
    }                                                                                                \
    DRIVER_API(cuGraphExec##kind##NodeSetParams##version)                                            \
    {                                                                                                \
        NEED_VALUE(p->changed);                                                                      \
        return replace_in(p->hGraphExec, p->hNode, op_of(p->changed));                               \
    }

#define LOAD_KERNEL()                                                                                               \
    NEED_VALUE(p->nodeParams->func || p->nodeParams->kern);                                                         \
    NEED_CONTEXT(context);                                                                                          \
    function_load(function_of(p->nodeParams->func ? p->nodeParams->func : (CUfunction)(void *)p->nodeParams->kern), \
                  context)

PARAMS_NODE(Kernel, _v2, KERNEL, nodeParams, nodeParams, LOAD_KERNEL(), graph_op_kernel, graph_params_kernel)
PARAMS_NODE(Memcpy, , MEMCPY, copyParams, copyParams, (void)0, graph_op_copy, graph_params_copy)
PARAMS_NODE(Memset, , MEMSET, memsetParams, memsetParams, (void)0, graph_op_set, graph_params_set)
PARAMS_NODE(Host, , HOST, nodeParams, nodeParams, NEED_VALUE(p->nodeParams->fn), graph_op_host, graph_params_host)

/* ---- graphs in graphs, nothing, events, memory ---- */

DRIVER_API(cuGraphAddChildGraphNode)
{
    NEED_VALUE(p->childGraph);
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = graph_clone(p->childGraph)};
    return add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies, op);
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

DRIVER_ANSWER(cuGraphConditionalHandleCreate, NEED_VALUE(p->hGraph), pHandle_out,
              graph_condition(p->flags &CU_GRAPH_COND_ASSIGN_DEFAULT ? p->defaultLaunchValue : 0))
