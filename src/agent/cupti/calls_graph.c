/* Graphs: captured, instantiated, launched. A capture is a phase of compilation that lasts from one call to another. */
#include "agent/cupti/captures.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/graph_launches.h"
#include "agent/cupti/graph_nodes.h"
#include "agent/dispatch/phases.h"

/* What a capture is known by while it goes on: its stream or, of the thread's own default stream, the thread. */
static const struct CUstream_st *captured(CUstream stream)
{
    static __thread char own_stream;
    return stream == CU_STREAM_PER_THREAD ? (const void *)&own_stream : stream;
}

static void tell_start(const struct driver_return *returned, CUstream given, CUstreamCaptureMode mode)
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

static void tell_plain_start(const struct driver_return *returned)
{
    const cuStreamBeginCapture_params *p = returned->params;
    tell_start(returned, p->hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static void tell_start_with_mode(const struct driver_return *returned)
{
    const cuStreamBeginCapture_v2_params *p = returned->params;
    tell_start(returned, p->hStream, p->mode);
}

static void tell_start_to_graph(const struct driver_return *returned)
{
    const cuStreamBeginCaptureToGraph_params *p = returned->params;
    tell_start(returned, p->hStream, p->mode);
}

/* A capture that was broken ends with an error. One that another thread or stream must end goes on, and where none was
 * none ends. */
static bool has_ended(int32_t result)
{
    return result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD && result != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED &&
           result != CUDA_ERROR_ILLEGAL_STATE;
}

static void tell_end(const struct driver_return *returned)
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

static void tell_instantiation(const struct driver_return *returned, CUgraph graph, CUgraphExec *out, uint64_t flags)
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

static void tell_plain_instantiation(const struct driver_return *returned)
{
    const cuGraphInstantiate_v2_params *p = returned->params;
    tell_instantiation(returned, p->hGraph, p->phGraphExec, 0);
}

static void tell_instantiation_with_flags(const struct driver_return *returned)
{
    const cuGraphInstantiateWithFlags_params *p = returned->params;
    tell_instantiation(returned, p->hGraph, p->phGraphExec, p->flags);
}

static void tell_instantiation_with_params(const struct driver_return *returned)
{
    const cuGraphInstantiateWithParams_params *p = returned->params;
    tell_instantiation(returned, p->hGraph, p->phGraphExec, p->instantiateParams ? p->instantiateParams->flags : 0);
}

static void tell_launch(const struct driver_return *returned)
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

/* Captures are counted (captures.h): who hears of their begin hears of their end. Nodes are made and copied by
 * captures and instantiations: graph_nodes.h. */
#define CAPTURE (REGISTRY_BIT(graph_capture_start) | REGISTRY_BIT(graph_capture_end) | PHASE_KINDS | CAPTURES_KINDS)
#define INSTANTIATION (REGISTRY_BIT(graph_instantiation) | PHASE_KINDS | REGISTRY_BIT(graph_node))

static const struct driver_call rows[] = {
    DRIVER_CALL_PTSZ(cuStreamBeginCapture, CAPTURE, tell_plain_start, NULL),
    DRIVER_CALL_PTSZ(cuStreamBeginCapture_v2, CAPTURE, tell_start_with_mode, NULL),
    DRIVER_CALL_PTSZ(cuStreamBeginCaptureToGraph, CAPTURE, tell_start_to_graph, NULL),
    DRIVER_CALL_PTSZ(cuStreamEndCapture, CAPTURE, tell_end, NULL),
    DRIVER_CALL(cuGraphInstantiate, INSTANTIATION, tell_plain_instantiation, instantiates),
    DRIVER_CALL(cuGraphInstantiate_v2, INSTANTIATION, tell_plain_instantiation, instantiates),
    DRIVER_CALL(cuGraphInstantiateWithFlags, INSTANTIATION, tell_instantiation_with_flags, instantiates),
    DRIVER_CALL_PTSZ(cuGraphInstantiateWithParams, INSTANTIATION, tell_instantiation_with_params, instantiates),
    DRIVER_CALL_PTSZ(cuGraphLaunch, REGISTRY_BIT(graph_launch), tell_launch, NULL),
};

const struct driver_calls graph_calls = DRIVER_CALLS(rows);
