/* The runtime API: streams and events. */
#include "cudart/runtime.h"

#undef cudaStreamGetCaptureInfo

RUNTIME_API(cudaStreamCreate, v3020, (cudaStream_t * pStream), pStream)
{
    NEED_CONTEXT();
    return DRIVER(cuStreamCreate(p->pStream, CU_STREAM_DEFAULT));
}

RUNTIME_API(cudaStreamCreateWithFlags, v5000, (cudaStream_t * pStream, unsigned flags), pStream, flags)
{
    NEED_CONTEXT();
    return DRIVER(cuStreamCreate(p->pStream, p->flags));
}

RUNTIME_API(cudaStreamCreateWithPriority, v5050, (cudaStream_t * pStream, unsigned flags, int priority), pStream, flags,
            priority)
{
    NEED_CONTEXT();
    return DRIVER(cuStreamCreateWithPriority(p->pStream, p->flags, p->priority));
}

RUNTIME_API(cudaStreamDestroy, v5050, (cudaStream_t stream), stream)
{
    return DRIVER(cuStreamDestroy_v2(p->stream));
}

RUNTIME_STREAM_API(cudaStreamSynchronize, v3020, v7000, (cudaStream_t stream), stream)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamSynchronize)(p->stream));
}

RUNTIME_STREAM_API(cudaStreamQuery, v3020, v7000, (cudaStream_t stream), stream)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamQuery)(p->stream));
}

RUNTIME_STREAM_API(cudaStreamWaitEvent, v3020, v7000, (cudaStream_t stream, cudaEvent_t event, unsigned flags), stream,
                   event, flags)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamWaitEvent)(p->stream, p->event, p->flags));
}

RUNTIME_STREAM_API(cudaStreamAddCallback, v5000, v7000,
                   (cudaStream_t stream, cudaStreamCallback_t callback, void *userData, unsigned flags), stream,
                   callback, userData, flags)
{
    NEED_CONTEXT();
    return DRIVER(
        PICK(cuStreamAddCallback)(p->stream, (CUstreamCallback)(void *)(uintptr_t)p->callback, p->userData, p->flags));
}

RUNTIME_STREAM_API(cudaStreamGetPriority, v5050, v7000, (cudaStream_t hStream, int *priority), hStream, priority)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamGetPriority)(p->hStream, p->priority));
}

RUNTIME_STREAM_API(cudaStreamGetFlags, v5050, v7000, (cudaStream_t hStream, unsigned *flags), hStream, flags)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamGetFlags)(p->hStream, p->flags));
}

RUNTIME_STREAM_API(cudaStreamGetId, v12000, v12000, (cudaStream_t hStream, unsigned long long *streamId), hStream,
                   streamId)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamGetId)(p->hStream, p->streamId));
}

RUNTIME_STREAM_API(cudaStreamGetDevice, v12080, v12080, (cudaStream_t hStream, int *device), hStream, device)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamGetDevice)(p->hStream, p->device));
}

/* ---- capturing ---- */

RUNTIME_STREAM_API(cudaStreamBeginCapture, v10000, v10000, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
                   stream, mode)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamBeginCapture_v2)(p->stream, (CUstreamCaptureMode)p->mode));
}

RUNTIME_STREAM_API(cudaStreamBeginCaptureToGraph, v12030, v12030,
                   (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                    const cudaGraphEdgeData *dependencyData, size_t numDependencies, enum cudaStreamCaptureMode mode),
                   stream, graph, dependencies, dependencyData, numDependencies, mode)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamBeginCaptureToGraph)(p->stream, p->graph, p->dependencies,
                                                    (const CUgraphEdgeData *)(const void *)p->dependencyData,
                                                    p->numDependencies, (CUstreamCaptureMode)p->mode));
}

RUNTIME_STREAM_API(cudaStreamEndCapture, v10000, v10000, (cudaStream_t stream, cudaGraph_t *pGraph), stream, pGraph)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamEndCapture)(p->stream, p->pGraph));
}

RUNTIME_STREAM_API(cudaStreamIsCapturing, v10000, v10000,
                   (cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus), stream, pCaptureStatus)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamIsCapturing)(p->stream, (CUstreamCaptureStatus *)p->pCaptureStatus));
}

RUNTIME_STREAM_API(cudaStreamGetCaptureInfo, v12030, v12030,
                   (cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out, unsigned long long *id_out,
                    cudaGraph_t *graph_out, const cudaGraphNode_t **dependencies_out,
                    const cudaGraphEdgeData **edgeData_out, size_t *numDependencies_out),
                   stream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamGetCaptureInfo_v3)(
        p->stream, (CUstreamCaptureStatus *)p->captureStatus_out, (cuuint64_t *)p->id_out, p->graph_out,
        p->dependencies_out, (const CUgraphEdgeData **)(void *)p->edgeData_out, p->numDependencies_out));
}

RUNTIME_STREAM_API(cudaStreamUpdateCaptureDependencies, v12030, v12030,
                   (cudaStream_t stream, cudaGraphNode_t *dependencies, const cudaGraphEdgeData *dependencyData,
                    size_t numDependencies, unsigned flags),
                   stream, dependencies, dependencyData, numDependencies, flags)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamUpdateCaptureDependencies_v2)(p->stream, p->dependencies,
                                                             (const CUgraphEdgeData *)(const void *)p->dependencyData,
                                                             p->numDependencies, p->flags));
}

RUNTIME_API(cudaThreadExchangeStreamCaptureMode, v10010, (enum cudaStreamCaptureMode * mode), mode)
{
    return DRIVER(cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)p->mode));
}

/* ---- events ---- */

RUNTIME_API(cudaEventCreate, v3020, (cudaEvent_t * event), event)
{
    NEED_CONTEXT();
    return DRIVER(cuEventCreate(p->event, CU_EVENT_DEFAULT));
}

RUNTIME_API(cudaEventCreateWithFlags, v3020, (cudaEvent_t * event, unsigned flags), event, flags)
{
    NEED_CONTEXT();
    return DRIVER(cuEventCreate(p->event, p->flags));
}

RUNTIME_API(cudaEventDestroy, v3020, (cudaEvent_t event), event)
{
    return DRIVER(cuEventDestroy_v2(p->event));
}

RUNTIME_STREAM_API(cudaEventRecord, v3020, v7000, (cudaEvent_t event, cudaStream_t stream), event, stream)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuEventRecord)(p->event, p->stream));
}

RUNTIME_STREAM_API(cudaEventRecordWithFlags, v11010, v11010, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
                   event, stream, flags)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuEventRecordWithFlags)(p->event, p->stream, p->flags));
}

RUNTIME_API(cudaEventQuery, v3020, (cudaEvent_t event), event)
{
    return DRIVER(cuEventQuery(p->event));
}

RUNTIME_API(cudaEventSynchronize, v3020, (cudaEvent_t event), event)
{
    return DRIVER(cuEventSynchronize(p->event));
}

RUNTIME_API(cudaEventElapsedTime, v12080, (float *ms, cudaEvent_t start, cudaEvent_t end), ms, start, end)
{
    return DRIVER(cuEventElapsedTime_v2(p->ms, p->start, p->end));
}
