/* CUPTI's ids of contexts, streams and graphs, and its clock. */
#include "core/clock.h"
#include "core/context.h"
#include "core/graph.h"
#include "core/stream.h"
#include "cupti/need.h"

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *timestamp)
{
    NEED_PARAMETER(timestamp);
    *timestamp = clock_now();
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t *id)
{
    NEED_PARAMETER(id);
    NEED(context, CUPTI_ERROR_INVALID_CONTEXT);
    *id = context->id;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
    NEED_PARAMETER(id);
    CUcontext of = context ? context : context_current();
    NEED(of, CUPTI_ERROR_INVALID_CONTEXT);
    *id = (uint32_t)of->device->ordinal;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
                                                     uint32_t *id)
{
    NEED_PARAMETER(id);
    CUcontext of = context ? context : context_current();
    NEED(of, CUPTI_ERROR_INVALID_CONTEXT);
    bool null = !stream && !per_thread;
    CUstream resolved = null ? of->null_stream : stream_resolve(stream, per_thread);
    NEED(resolved, CUPTI_ERROR_INVALID_CONTEXT);
    *id = resolved->id;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *id)
{
    return cuptiGetStreamIdEx(context, stream, 0, id);
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
    NEED_PARAMETER(graph && id);
    *id = graph->id;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
    NEED_PARAMETER(exec && id);
    *id = exec->graph->id;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
    NEED_PARAMETER(node && id);
    *id = node->id;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiDeviceSupported(CUdevice device, int *support)
{
    NEED_PARAMETER(support);
    NEED(device_get(device), CUPTI_ERROR_INVALID_DEVICE);
    *support = 1;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetLastError(void)
{
    return CUPTI_SUCCESS;
}
