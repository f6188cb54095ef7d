/* The runtime API: streams and events. */
#include "cudart/runtime.h"

#undef cudaStreamGetCaptureInfo

RUNTIME_API(cudaStreamCreate, v3020)
{
    NEED_CONTEXT();
    return DRIVER(cuStreamCreate(p->pStream, CU_STREAM_DEFAULT));
}

RUNTIME_FORWARD(cudaStreamCreateWithFlags, v5000, cuStreamCreate)
RUNTIME_FORWARD(cudaStreamCreateWithPriority, v5050, cuStreamCreateWithPriority)
RUNTIME_FORWARD_PLAIN(cudaStreamDestroy, v5050, cuStreamDestroy_v2)
RUNTIME_STREAM_FORWARD(cudaStreamSynchronize, v3020, v7000, cuStreamSynchronize)
RUNTIME_STREAM_FORWARD(cudaStreamQuery, v3020, v7000, cuStreamQuery)
RUNTIME_STREAM_FORWARD(cudaStreamWaitEvent, v3020, v7000, cuStreamWaitEvent)

RUNTIME_STREAM_API(cudaStreamAddCallback, v5000, v7000)
{
    NEED_CONTEXT();
    return DRIVER(
        PICK(cuStreamAddCallback)(p->stream, (CUstreamCallback)(void *)(uintptr_t)p->callback, p->userData, p->flags));
}

RUNTIME_STREAM_FORWARD(cudaStreamGetPriority, v5050, v7000, cuStreamGetPriority)
RUNTIME_STREAM_FORWARD(cudaStreamGetFlags, v5050, v7000, cuStreamGetFlags)
RUNTIME_STREAM_FORWARD(cudaStreamGetId, v12000, v12000, cuStreamGetId)
RUNTIME_STREAM_FORWARD(cudaStreamGetDevice, v12080, v12080, cuStreamGetDevice)

/* ---- capturing ---- */

RUNTIME_STREAM_API(cudaStreamBeginCapture, v10000, v10000)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamBeginCapture_v2)(p->stream, (CUstreamCaptureMode)p->mode));
}

RUNTIME_STREAM_API(cudaStreamBeginCaptureToGraph, v12030, v12030)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamBeginCaptureToGraph)(p->stream, p->graph, p->dependencies,
                                                    (const CUgraphEdgeData *)(const void *)p->dependencyData,
                                                    p->numDependencies, (CUstreamCaptureMode)p->mode));
}

RUNTIME_STREAM_FORWARD(cudaStreamEndCapture, v10000, v10000, cuStreamEndCapture)

RUNTIME_STREAM_API(cudaStreamIsCapturing, v10000, v10000)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamIsCapturing)(p->stream, (CUstreamCaptureStatus *)p->pCaptureStatus));
}

RUNTIME_STREAM_API(cudaStreamGetCaptureInfo, v12030, v12030)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamGetCaptureInfo_v3)(
        p->stream, (CUstreamCaptureStatus *)p->captureStatus_out, (cuuint64_t *)p->id_out, p->graph_out,
        p->dependencies_out, (const CUgraphEdgeData **)(void *)p->edgeData_out, p->numDependencies_out));
}

RUNTIME_STREAM_API(cudaStreamUpdateCaptureDependencies, v12030, v12030)
{
    NEED_CONTEXT();
    return DRIVER(PICK(cuStreamUpdateCaptureDependencies_v2)(p->stream, p->dependencies,
                                                             (const CUgraphEdgeData *)(const void *)p->dependencyData,
                                                             p->numDependencies, p->flags));
}

RUNTIME_API(cudaThreadExchangeStreamCaptureMode, v10010)
{
    return DRIVER(cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)p->mode));
}

/* ---- events ---- */

RUNTIME_API(cudaEventCreate, v3020)
{
    NEED_CONTEXT();
    return DRIVER(cuEventCreate(p->event, CU_EVENT_DEFAULT));
}

RUNTIME_FORWARD(cudaEventCreateWithFlags, v3020, cuEventCreate)
RUNTIME_FORWARD_PLAIN(cudaEventDestroy, v3020, cuEventDestroy_v2)
RUNTIME_STREAM_FORWARD(cudaEventRecord, v3020, v7000, cuEventRecord)
RUNTIME_STREAM_FORWARD(cudaEventRecordWithFlags, v11010, v11010, cuEventRecordWithFlags)
RUNTIME_FORWARD_PLAIN(cudaEventQuery, v3020, cuEventQuery)
RUNTIME_FORWARD_PLAIN(cudaEventSynchronize, v3020, cuEventSynchronize)
RUNTIME_FORWARD_PLAIN(cudaEventElapsedTime, v12080, cuEventElapsedTime_v2)
