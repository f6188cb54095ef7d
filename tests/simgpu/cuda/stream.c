/* The driver API: streams. */
#include "core/stream.h"
#include "core/api.h"
#include "core/callbacks.h"
#include "core/clock.h"
#include "core/event.h"
#include "core/graph.h"
#include "core/records.h"
#include "cuda/need.h"

/* Declares STREAM as what HANDLE means. */
#define NEED_STREAM(stream, handle)                       \
    CUstream stream = stream_resolve(handle, per_thread); \
    NEED(stream, CUDA_ERROR_INVALID_CONTEXT)

DRIVER_API(cuStreamCreate, (CUstream * phStream, unsigned Flags), phStream, Flags)
{
    NEED_VALUE(p->phStream);
    NEED_CONTEXT(context);
    *p->phStream = stream_create(context, p->Flags, 0);
    return CUDA_SUCCESS;
}

DRIVER_API(cuStreamCreateWithPriority, (CUstream * phStream, unsigned flags, int priority), phStream, flags, priority)
{
    NEED_VALUE(p->phStream);
    NEED_CONTEXT(context);
    *p->phStream = stream_create(context, p->flags, p->priority);
    return CUDA_SUCCESS;
}

DRIVER_API(cuStreamDestroy_v2, (CUstream hStream), hStream)
{
    NEED_HANDLE(p->hStream && p->hStream != CU_STREAM_LEGACY && p->hStream != CU_STREAM_PER_THREAD);
    stream_destroy(p->hStream);
    return CUDA_SUCCESS;
}

DRIVER_STREAM_API(cuStreamSynchronize, (CUstream hStream), hStream)
{
    NEED_STREAM(stream, p->hStream);
    NEED(!stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    uint64_t start = clock_now();
    stream_wait(stream);
    records_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, start, stream->context, stream,
                            NULL, CUDA_SUCCESS);
    const CUpti_SynchronizeData data = {.context = stream->context, .stream = stream};
    callbacks_tell(CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, &data);
    return CUDA_SUCCESS;
}

DRIVER_STREAM_API(cuStreamQuery, (CUstream hStream), hStream)
{
    NEED_STREAM(stream, p->hStream);
    NEED(!stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    uint64_t start = clock_now();
    CUresult result = stream_idle(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    records_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, start, stream->context, stream,
                            NULL, result);
    return result;
}

DRIVER_STREAM_API(cuStreamWaitEvent, (CUstream hStream, CUevent hEvent, unsigned Flags), hStream, hEvent, Flags)
{
    NEED_STREAM(stream, p->hStream);
    NEED_HANDLE(p->hEvent);
    uint64_t start = clock_now();
    CUresult result = event_wait(p->hEvent, stream);
    if (!stream->capture)
        records_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, start, stream->context, stream,
                                p->hEvent, CUDA_SUCCESS);
    return result;
}

DRIVER_STREAM_API(cuLaunchHostFunc, (CUstream hStream, CUhostFn fn, void *userData), hStream, fn, userData)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->fn);
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {.function = p->fn, .data = p->userData}};
    return stream_submit(stream, &op, false);
}

DRIVER_STREAM_API(cuStreamAddCallback, (CUstream hStream, CUstreamCallback callback, void *userData, unsigned flags),
                  hStream, callback, userData, flags)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->callback);
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_HOST,
                          .host = {.callback = p->callback, .stream = p->hStream, .data = p->userData}};
    return stream_submit(stream, &op, false);
}

/* ---- what a stream is ---- */

DRIVER_STREAM_API(cuStreamGetPriority, (CUstream hStream, int *priority), hStream, priority)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->priority);
    *p->priority = stream->priority;
    return CUDA_SUCCESS;
}

DRIVER_STREAM_API(cuStreamGetFlags, (CUstream hStream, unsigned *flags), hStream, flags)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->flags);
    *p->flags = stream->flags;
    return CUDA_SUCCESS;
}

DRIVER_STREAM_API(cuStreamGetId, (CUstream hStream, unsigned long long *streamId), hStream, streamId)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->streamId);
    *p->streamId = stream->id;
    return CUDA_SUCCESS;
}

DRIVER_STREAM_API(cuStreamGetCtx, (CUstream hStream, CUcontext *pctx), hStream, pctx)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->pctx);
    *p->pctx = stream->context;
    return CUDA_SUCCESS;
}

DRIVER_STREAM_API(cuStreamGetDevice, (CUstream hStream, CUdevice *device), hStream, device)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->device);
    *p->device = stream->context->device->ordinal;
    return CUDA_SUCCESS;
}

/* ---- capturing ---- */

DRIVER_STREAM_API(cuStreamBeginCapture_v2, (CUstream hStream, CUstreamCaptureMode mode), hStream, mode)
{
    NEED_STREAM(stream, p->hStream);
    NEED(stream != stream->context->null_stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return graph_capture_begin(stream, NULL, p->mode);
}

DRIVER_STREAM_API(cuStreamBeginCaptureToGraph,
                  (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
                   const CUgraphEdgeData *dependencyData, size_t numDependencies, CUstreamCaptureMode mode),
                  hStream, hGraph, dependencies, dependencyData, numDependencies, mode)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->hGraph);
    CUresult result = graph_capture_begin(stream, p->hGraph, p->mode);
    for (size_t i = 0; result == CUDA_SUCCESS && i < p->numDependencies; i++)
        list_add(&stream->capture_nodes, p->dependencies[i]);
    return result;
}

DRIVER_STREAM_API(cuStreamEndCapture, (CUstream hStream, CUgraph *phGraph), hStream, phGraph)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->phGraph);
    return graph_capture_end(stream, p->phGraph);
}

DRIVER_STREAM_API(cuStreamIsCapturing, (CUstream hStream, CUstreamCaptureStatus *captureStatus), hStream, captureStatus)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->captureStatus);
    *p->captureStatus = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

DRIVER_STREAM_API(cuStreamGetCaptureInfo_v3,
                  (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out,
                   const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out,
                   size_t *numDependencies_out),
                  hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->captureStatus_out);
    *p->captureStatus_out = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    if (!stream->capture)
        return CUDA_SUCCESS;
    if (p->id_out)
        *p->id_out = stream->capture_id;
    if (p->graph_out)
        *p->graph_out = stream->capture;
    if (p->dependencies_out)
        *p->dependencies_out = (const CUgraphNode *)stream->capture_nodes.items;
    if (p->edgeData_out)
        *p->edgeData_out = NULL;
    if (p->numDependencies_out)
        *p->numDependencies_out = stream->capture_nodes.count;
    return CUDA_SUCCESS;
}

DRIVER_STREAM_API(cuStreamUpdateCaptureDependencies_v2,
                  (CUstream hStream, CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
                   size_t numDependencies, unsigned flags),
                  hStream, dependencies, dependencyData, numDependencies, flags)
{
    NEED_STREAM(stream, p->hStream);
    NEED(stream->capture, CUDA_ERROR_ILLEGAL_STATE);
    if (p->flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        stream->capture_nodes.count = 0;
    for (size_t i = 0; i < p->numDependencies; i++)
        list_add_once(&stream->capture_nodes, p->dependencies[i]);
    return CUDA_SUCCESS;
}

DRIVER_API(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), mode)
{
    static _Thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
    NEED_VALUE(p->mode);
    CUstreamCaptureMode before = current;
    current = *p->mode;
    *p->mode = before;
    return CUDA_SUCCESS;
}
