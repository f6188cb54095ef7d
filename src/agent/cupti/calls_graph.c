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

static void publish_plain_start(const struct driver_return *returned)
{
    const cuStreamBeginCapture_params *p = returned->params;
    publish_start(returned, p->hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static void publish_start_with_mode(const struct driver_return *returned)
{
    const cuStreamBeginCapture_v2_params *p = returned->params;
    publish_start(returned, p->hStream, p->mode);
}

static void publish_start_to_graph(const struct driver_return *returned)
{
    const cuStreamBeginCaptureToGraph_params *p = returned->params;
    publish_start(returned, p->hStream, p->mode);
}

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

static void publish_plain_instantiation(const struct driver_return *returned)
{
    const cuGraphInstantiate_v2_params *p = returned->params;
    publish_instantiation(returned, p->hGraph, p->phGraphExec, 0);
}

static void publish_instantiation_with_flags(const struct driver_return *returned)
{
    const cuGraphInstantiateWithFlags_params *p = returned->params;
    publish_instantiation(returned, p->hGraph, p->phGraphExec, p->flags);
}

static void publish_instantiation_with_params(const struct driver_return *returned)
{
    const cuGraphInstantiateWithParams_params *p = returned->params;
    publish_instantiation(returned, p->hGraph, p->phGraphExec, p->instantiateParams ? p->instantiateParams->flags : 0);
}

static void publish_launch(const struct driver_return *returned)
{
    const cuGraphLaunch_params *p = returned->params;
    registry_graph_launch_publish(&(struct gputrace_graph_launch){
        .call = returned->call, .exec = p->hGraph, .stream = driver_call_stream(returned, p->hStream)});
}

static uint32_t instantiates(const void *params, CUcontext context, uint32_t correlation)
{
    (void)context;
    (void)params, (void)correlation;
    return GPUTRACE_TRIGGER_GRAPH_INSTANTIATION;
}

/* Captures are counted (graphs.h): a kind that needs their begin needs their end. Nodes are made and copied by
 * captures and instantiations: graphs.h. */
#define CAPTURE (REGISTRY_BIT(graph_capture_start) | REGISTRY_BIT(graph_capture_end) | PHASE_KINDS | CAPTURES_KINDS)
#define INSTANTIATION (REGISTRY_BIT(graph_instantiation) | PHASE_KINDS | REGISTRY_BIT(graph_node))

static const struct driver_call graph_rows[] = {
    DRIVER_CALL_PTSZ(cuStreamBeginCapture, CAPTURE, publish_plain_start, NULL),
    DRIVER_CALL_PTSZ(cuStreamBeginCapture_v2, CAPTURE, publish_start_with_mode, NULL),
    DRIVER_CALL_PTSZ(cuStreamBeginCaptureToGraph, CAPTURE, publish_start_to_graph, NULL),
    DRIVER_CALL_PTSZ(cuStreamEndCapture, CAPTURE, publish_end, NULL),
    DRIVER_CALL(cuGraphInstantiate, INSTANTIATION, publish_plain_instantiation, instantiates),
    DRIVER_CALL(cuGraphInstantiate_v2, INSTANTIATION, publish_plain_instantiation, instantiates),
    DRIVER_CALL(cuGraphInstantiateWithFlags, INSTANTIATION, publish_instantiation_with_flags, instantiates),
    DRIVER_CALL_PTSZ(cuGraphInstantiateWithParams, INSTANTIATION, publish_instantiation_with_params, instantiates),
    DRIVER_CALL_PTSZ(cuGraphLaunch, REGISTRY_BIT(graph_launch), publish_launch, NULL),
};

const struct driver_calls graph_calls = DRIVER_CALLS(graph_rows);

/* --- calls graph nodes --- */

/* Kernel nodes that programs add to graphs themselves and change, and calls that copy nodes: graphs.h. */

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

#define NODES REGISTRY_BIT(graph_node)
#define ROW(function) \
    DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, false, NODES, publish_##function, NULL)
/* CUPTI reports what is copied within. */
#define COPIES(function) DRIVER_CALL_ROW(CUPTI_DRIVER_TRACE_CBID_##function, #function, false, NODES, NULL, NULL)

static const struct driver_call graph_node_rows[] = {
    ROW(cuGraphAddKernelNode),     ROW(cuGraphAddKernelNode_v2),        ROW(cuGraphAddNode),
    ROW(cuGraphAddNode_v2),        ROW(cuGraphKernelNodeSetParams),     ROW(cuGraphKernelNodeSetParams_v2),
    ROW(cuGraphNodeSetParams),     ROW(cuGraphExecKernelNodeSetParams), ROW(cuGraphExecKernelNodeSetParams_v2),
    ROW(cuGraphExecNodeSetParams), COPIES(cuGraphAddChildGraphNode),    COPIES(cuGraphClone),
    ROW(cuGraphExecUpdate),        ROW(cuGraphExecUpdate_v2),           ROW(cuGraphExecChildGraphNodeSetParams),
};

const struct driver_calls graph_node_calls = DRIVER_CALLS(graph_node_rows);
