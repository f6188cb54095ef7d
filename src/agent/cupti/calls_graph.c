#include "agent/cupti/graphs.h"
#include "agent/cupti/driver_calls.h"
#include "agent/dispatch/phases.h"

/* Graphs: captured, instantiated, launched. A capture is a phase of compilation that lasts from one call to another. */

/* What a capture is known by while it goes on: its stream or, of the thread's own default stream, the thread. */
static const struct CUstream_st *captured(CUstream stream)
{
    static __thread char own_stream;
    return stream == CU_STREAM_PER_THREAD ? (const void *)&own_stream : stream;
}

static void publish_start(const struct driver_return *returned, CUstream given, CUstreamCaptureMode mode)
{
    CUstream stream = driver_call_stream(returned, given);
    bool bound = mode != CU_STREAM_CAPTURE_MODE_RELAXED; /* another thread may end a relaxed one */
    if (driver_call_done(returned)) {
        captures_begin();
        phase_capture_begins(captured(stream), bound, &returned->call);
    }
    registry_graph_capture_start_publish(
        &(struct gputrace_graph_capture_start){.call = returned->call, .stream = stream, .mode = (uint32_t)mode});
}

#define PUBLISH_START(function, mode)                                    \
    static void publish_##function(const struct driver_return *returned) \
    {                                                                    \
        const function##_params *p = returned->params;                   \
        publish_start(returned, p->hStream, mode);                       \
    }
PUBLISH_START(cuStreamBeginCapture, CU_STREAM_CAPTURE_MODE_GLOBAL)
PUBLISH_START(cuStreamBeginCapture_v2, p->mode)
PUBLISH_START(cuStreamBeginCaptureToGraph, p->mode)

/* A capture that was broken ends with an error. One that another thread or stream must end goes on, and where none was
 * none ends. */
static bool has_ended(int32_t result)
{
    return result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD && result != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED &&
           result != CUDA_ERROR_ILLEGAL_STATE;
}

static void publish_end(const struct driver_return *returned)
{
    const cuStreamEndCapture_params *p = returned->params;
    CUstream stream = driver_call_stream(returned, p->hStream);
    if (has_ended(returned->call.result)) {
        captures_end();
        phase_capture_ends(captured(stream), &returned->call);
    }
    registry_graph_capture_end_publish(&(struct gputrace_graph_capture_end){
        .call = returned->call,
        .stream = stream,
        .graph = driver_call_done(returned) && p->phGraph ? *p->phGraph : NULL,
    });
}

static void publish_instantiation(const struct driver_return *returned, CUgraph graph, CUgraphExec *out, uint64_t flags)
{
    if (driver_call_done(returned))
        graph_launches_instantiated(*out, graph_nodes_made_conditional(returned->call.correlation));
    registry_graph_instantiation_publish(&(struct gputrace_graph_instantiation){
        .call = returned->call,
        .graph = graph,
        .exec = driver_call_done(returned) ? *out : NULL,
        .flags = flags,
    });
}

#define PUBLISH_INSTANTIATION(function, flags)                             \
    static void publish_##function(const struct driver_return *returned)   \
    {                                                                      \
        const function##_params *p = returned->params;                     \
        publish_instantiation(returned, p->hGraph, p->phGraphExec, flags); \
    }
PUBLISH_INSTANTIATION(cuGraphInstantiate_v2, 0)
PUBLISH_INSTANTIATION(cuGraphInstantiateWithFlags, p->flags)
PUBLISH_INSTANTIATION(cuGraphInstantiateWithParams, p->instantiateParams ? p->instantiateParams->flags : 0)

DRIVER_CALL_PUBLISHES(cuGraphLaunch, graph_launch, .exec = p->hGraph,
                      .stream = driver_call_stream(returned, p->hStream))

/* --- kernel nodes that programs add to graphs themselves and change, and calls that copy nodes: graphs.h --- */

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

/* A call that was done had something launch FUNCTION: ACTION publishes that. */
#define PUBLISH(name, function, action)                              \
    static void publish_##name(const struct driver_return *returned) \
    {                                                                \
        const name##_params *p = returned->params;                   \
        uint32_t correlation = returned->call.correlation;           \
        const void *launched = function;                             \
        if (driver_call_done(returned) && launched)                  \
            action;                                                  \
    }
#define NEW_NODE graph_node_launches(*p->phGraphNode, launched, correlation)
#define NODE graph_node_launches(p->hNode, launched, correlation)
#define COPY graph_node_copy_launches(launched, correlation), graph_launches_expect(p->hGraphExec)

PUBLISH(cuGraphAddKernelNode, function_of_older(p->nodeParams), NEW_NODE)
PUBLISH(cuGraphAddKernelNode_v2, function_of_newer(p->nodeParams), NEW_NODE)
PUBLISH(cuGraphAddNode, function_of_any(p->nodeParams), NEW_NODE)
PUBLISH(cuGraphAddNode_v2, function_of_any(p->nodeParams), NEW_NODE)
PUBLISH(cuGraphKernelNodeSetParams, function_of_older(p->nodeParams), NODE)
PUBLISH(cuGraphKernelNodeSetParams_v2, function_of_newer(p->nodeParams), NODE)
PUBLISH(cuGraphNodeSetParams, function_of_any(p->nodeParams), NODE)
PUBLISH(cuGraphExecKernelNodeSetParams, function_of_older(p->nodeParams), COPY)
PUBLISH(cuGraphExecKernelNodeSetParams_v2, function_of_newer(p->nodeParams), COPY)
PUBLISH(cuGraphExecNodeSetParams, function_of_any(p->nodeParams), COPY)

/* Much of an executable graph may be other than it was. */
#define PUBLISH_CHANGE(name)                                                              \
    static void publish_##name(const struct driver_return *returned)                      \
    {                                                                                     \
        if (driver_call_done(returned))                                                   \
            graph_launches_expect(((const name##_params *)returned->params)->hGraphExec); \
    }
PUBLISH_CHANGE(cuGraphExecUpdate)
PUBLISH_CHANGE(cuGraphExecUpdate_v2)
PUBLISH_CHANGE(cuGraphExecChildGraphNodeSetParams)

/* --- rows --- */

/* Captures are counted (graphs.h): a kind that needs their begin needs their end. Nodes are made and copied by
 * captures and instantiations: graphs.h. */
#define CAPTURE (REGISTRY_BIT(graph_capture_start) | REGISTRY_BIT(graph_capture_end) | PHASE_KINDS | CAPTURES_KINDS)
#define INSTANTIATION (REGISTRY_BIT(graph_instantiation) | PHASE_KINDS | REGISTRY_BIT(graph_node))
#define INSTANTIATES .phase = GPUTRACE_TRIGGER_GRAPH_INSTANTIATION
#define NODES REGISTRY_BIT(graph_node)

static const struct driver_call rows[] = {
    DRIVER_CALL_PTSZ(cuStreamBeginCapture, CAPTURE, publish_cuStreamBeginCapture),
    DRIVER_CALL_PTSZ(cuStreamBeginCapture_v2, CAPTURE, publish_cuStreamBeginCapture_v2),
    DRIVER_CALL_PTSZ(cuStreamBeginCaptureToGraph, CAPTURE, publish_cuStreamBeginCaptureToGraph),
    DRIVER_CALL_PTSZ(cuStreamEndCapture, CAPTURE, publish_end),
    DRIVER_CALL(cuGraphInstantiate, INSTANTIATION, publish_cuGraphInstantiate_v2, INSTANTIATES),
    DRIVER_CALL(cuGraphInstantiate_v2, INSTANTIATION, publish_cuGraphInstantiate_v2, INSTANTIATES),
    DRIVER_CALL(cuGraphInstantiateWithFlags, INSTANTIATION, publish_cuGraphInstantiateWithFlags, INSTANTIATES),
    DRIVER_CALL_PTSZ(cuGraphInstantiateWithParams, INSTANTIATION, publish_cuGraphInstantiateWithParams, INSTANTIATES),
    DRIVER_CALL_PTSZ(cuGraphLaunch, REGISTRY_BIT(graph_launch), publish_cuGraphLaunch,
                     .needs = CALLBACKS_GRAPH_LAUNCHES),
    DRIVER_CALL(cuGraphAddKernelNode, NODES, publish_cuGraphAddKernelNode),
    DRIVER_CALL(cuGraphAddKernelNode_v2, NODES, publish_cuGraphAddKernelNode_v2),
    DRIVER_CALL(cuGraphAddNode, NODES, publish_cuGraphAddNode),
    DRIVER_CALL(cuGraphAddNode_v2, NODES, publish_cuGraphAddNode_v2),
    DRIVER_CALL(cuGraphKernelNodeSetParams, NODES, publish_cuGraphKernelNodeSetParams),
    DRIVER_CALL(cuGraphKernelNodeSetParams_v2, NODES, publish_cuGraphKernelNodeSetParams_v2),
    DRIVER_CALL(cuGraphNodeSetParams, NODES, publish_cuGraphNodeSetParams),
    DRIVER_CALL(cuGraphExecKernelNodeSetParams, NODES, publish_cuGraphExecKernelNodeSetParams),
    DRIVER_CALL(cuGraphExecKernelNodeSetParams_v2, NODES, publish_cuGraphExecKernelNodeSetParams_v2),
    DRIVER_CALL(cuGraphExecNodeSetParams, NODES, publish_cuGraphExecNodeSetParams),
    DRIVER_CALL(cuGraphExecUpdate, NODES, publish_cuGraphExecUpdate),
    DRIVER_CALL(cuGraphExecUpdate_v2, NODES, publish_cuGraphExecUpdate_v2),
    DRIVER_CALL(cuGraphExecChildGraphNodeSetParams, NODES, publish_cuGraphExecChildGraphNodeSetParams),
    /* CUPTI reports what is copied within. */
    DRIVER_CALL(cuGraphAddChildGraphNode, NODES, NULL),
    DRIVER_CALL(cuGraphClone, NODES, NULL),
};

const struct driver_calls graph_calls = DRIVER_CALLS(rows);
