/* The runtime API: streams and events. */
#include "cudart/runtime.h"

#undef cudaStreamGetCaptureInfo

RUNTIME_CALL(cudaStreamCreate, v3020, cuStreamCreate, p->pStream, CU_STREAM_DEFAULT)
RUNTIME_FORWARD(cudaStreamCreateWithFlags, v5000, cuStreamCreate)
RUNTIME_FORWARD(cudaStreamCreateWithPriority, v5050, cuStreamCreateWithPriority)
RUNTIME_FORWARD_PLAIN(cudaStreamDestroy, v5050, cuStreamDestroy_v2)
RUNTIME_STREAM_FORWARD(cudaStreamSynchronize, v3020, v7000, cuStreamSynchronize)
RUNTIME_STREAM_FORWARD(cudaStreamQuery, v3020, v7000, cuStreamQuery)
RUNTIME_STREAM_FORWARD(cudaStreamWaitEvent, v3020, v7000, cuStreamWaitEvent)
RUNTIME_STREAM_CALL(cudaStreamAddCallback, v5000, v7000, cuStreamAddCallback, p->stream,
                    (CUstreamCallback)(void *)(uintptr_t)p->callback, p->userData, p->flags)

/* ---- capturing ---- */

RUNTIME_STREAM_CALL(cudaStreamBeginCapture, v10000, v10000, cuStreamBeginCapture_v2, p->stream,
                    (CUstreamCaptureMode)p->mode)
RUNTIME_STREAM_CALL(cudaStreamBeginCaptureToGraph, v12030, v12030, cuStreamBeginCaptureToGraph, p->stream, p->graph,
                    p->dependencies, (const CUgraphEdgeData *)(const void *)p->dependencyData, p->numDependencies,
                    (CUstreamCaptureMode)p->mode)
RUNTIME_STREAM_FORWARD(cudaStreamEndCapture, v10000, v10000, cuStreamEndCapture)
RUNTIME_STREAM_CALL(cudaStreamIsCapturing, v10000, v10000, cuStreamIsCapturing, p->stream,
                    (CUstreamCaptureStatus *)p->pCaptureStatus)
RUNTIME_STREAM_CALL(cudaStreamGetCaptureInfo, v12030, v12030, cuStreamGetCaptureInfo_v3, p->stream,
                    (CUstreamCaptureStatus *)p->captureStatus_out, (cuuint64_t *)p->id_out, p->graph_out,
                    p->dependencies_out, (const CUgraphEdgeData **)(void *)p->edgeData_out, p->numDependencies_out)

/* ---- events ---- */

RUNTIME_CALL(cudaEventCreate, v3020, cuEventCreate, p->event, CU_EVENT_DEFAULT)
RUNTIME_FORWARD(cudaEventCreateWithFlags, v3020, cuEventCreate)
RUNTIME_FORWARD_PLAIN(cudaEventDestroy, v3020, cuEventDestroy_v2)
RUNTIME_STREAM_FORWARD(cudaEventRecord, v3020, v7000, cuEventRecord)
RUNTIME_STREAM_FORWARD(cudaEventRecordWithFlags, v11010, v11010, cuEventRecordWithFlags)
RUNTIME_FORWARD_PLAIN(cudaEventQuery, v3020, cuEventQuery)
RUNTIME_FORWARD_PLAIN(cudaEventSynchronize, v3020, cuEventSynchronize)
RUNTIME_FORWARD_PLAIN(cudaEventElapsedTime, v12080, cuEventElapsedTime_v2)
