/* Kernel nodes that programs add to graphs themselves and change, and calls that copy nodes: graph_nodes.h. */
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/graph_launches.h"
#include "agent/cupti/graph_nodes.h"

/* Only the newer struct, which begins like the older, has room for a CUkernel. */
static const void *function_of_older(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    return params ? params->func : NULL;
}

static const void *function_of_newer(const CUDA_KERNEL_NODE_PARAMS *params)
{
    return !params ? NULL : params->func ? (const void *)params->func : (const void *)params->kern;
}

/* NULL: it is no kernel. */
static const void *function_of_any(const CUgraphNodeParams *params)
{
    if (!params || params->type != CU_GRAPH_NODE_TYPE_KERNEL)
        return NULL;
    return params->kernel.func ? (const void *)params->kernel.func : (const void *)params->kernel.kern;
}

/* A call that was done had something launch FUNCTION: TOLD tells it. */
#define TELL(name, function, told)                                \
    static void tell_##name(const struct driver_return *returned) \
    {                                                             \
        const name##_params *p = returned->params;                \
        uint32_t correlation = returned->call.correlation;        \
        const void *launched = function;                          \
        if (driver_call_done(returned) && launched)               \
            told;                                                 \
    }
#define NEW_NODE graph_node_launches(*p->phGraphNode, launched, correlation)
#define NODE graph_node_launches(p->hNode, launched, correlation)
#define COPY graph_node_copy_launches(launched, correlation), graph_launches_expect(p->hGraphExec)

TELL(cuGraphAddKernelNode, function_of_older(p->nodeParams), NEW_NODE)
TELL(cuGraphAddKernelNode_v2, function_of_newer(p->nodeParams), NEW_NODE)
TELL(cuGraphAddNode, function_of_any(p->nodeParams), NEW_NODE)
TELL(cuGraphAddNode_v2, function_of_any(p->nodeParams), NEW_NODE)
TELL(cuGraphKernelNodeSetParams, function_of_older(p->nodeParams), NODE)
TELL(cuGraphKernelNodeSetParams_v2, function_of_newer(p->nodeParams), NODE)
TELL(cuGraphNodeSetParams, function_of_any(p->nodeParams), NODE)
TELL(cuGraphExecKernelNodeSetParams, function_of_older(p->nodeParams), COPY)
TELL(cuGraphExecKernelNodeSetParams_v2, function_of_newer(p->nodeParams), COPY)
TELL(cuGraphExecNodeSetParams, function_of_any(p->nodeParams), COPY)

/* Much of an executable graph may be other than it was. */
#define TELL_CHANGE(name)                                                                 \
    static void tell_##name(const struct driver_return *returned)                         \
    {                                                                                     \
        if (driver_call_done(returned))                                                   \
            graph_launches_expect(((const name##_params *)returned->params)->hGraphExec); \
    }
TELL_CHANGE(cuGraphExecUpdate)
TELL_CHANGE(cuGraphExecUpdate_v2)
TELL_CHANGE(cuGraphExecChildGraphNodeSetParams)

#define NODES REGISTRY_BIT(graph_node)
#define ROW(function) \
    DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, false, NODES, tell_##function, NULL)
/* CUPTI tells what is copied within. */
#define COPIES(function) DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, false, NODES, NULL, NULL)

static const struct driver_call rows[] = {
    ROW(cuGraphAddKernelNode),     ROW(cuGraphAddKernelNode_v2),        ROW(cuGraphAddNode),
    ROW(cuGraphAddNode_v2),        ROW(cuGraphKernelNodeSetParams),     ROW(cuGraphKernelNodeSetParams_v2),
    ROW(cuGraphNodeSetParams),     ROW(cuGraphExecKernelNodeSetParams), ROW(cuGraphExecKernelNodeSetParams_v2),
    ROW(cuGraphExecNodeSetParams), COPIES(cuGraphAddChildGraphNode),    COPIES(cuGraphClone),
    ROW(cuGraphExecUpdate),        ROW(cuGraphExecUpdate_v2),           ROW(cuGraphExecChildGraphNodeSetParams),
};

const struct driver_calls graph_node_calls = DRIVER_CALLS(rows);
