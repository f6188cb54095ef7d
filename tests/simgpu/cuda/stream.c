/* The driver API: streams. */
#include "core/stream.h"
#include "core/api.h"
#include "core/callbacks.h"
#include "core/capture.h"
#include "core/clock.h"
#include "core/event.h"
#include "core/pool.h"
#include "core/records.h"
#include "cuda/need.h"

/* Declares STREAM as what HANDLE means. */
#define NEED_STREAM(stream, handle)                       \
    CUstream stream = stream_resolve(handle, per_thread); \
    NEED(stream, CUDA_ERROR_INVALID_CONTEXT)

DRIVER_API(cuStreamCreate)
{
    NEED_VALUE(p->phStream);
    NEED_CONTEXT(context);
    NEED_VALUE(!(p->Flags & ~(unsigned)CU_STREAM_NON_BLOCKING));
    *p->phStream = stream_create(context, p->Flags, 0);
    return CUDA_SUCCESS;
}

DRIVER_API(cuStreamCreateWithPriority)
{
    NEED_VALUE(p->phStream);
    NEED_CONTEXT(context);
    NEED_VALUE(!(p->flags & ~(unsigned)CU_STREAM_NON_BLOCKING));
    *p->phStream = stream_create(context, p->flags, p->priority);
    return CUDA_SUCCESS;
}

DRIVER_API(cuStreamDestroy_v2)
{
    NEED_HANDLE(p->hStream && p->hStream != CU_STREAM_LEGACY && p->hStream != CU_STREAM_PER_THREAD);
    stream_destroy(p->hStream);
    return CUDA_SUCCESS;
}

DRIVER_STREAM_API(cuStreamSynchronize)
{
    NEED_STREAM(stream, p->hStream);
    NEED(capture_refuse(stream) == CUDA_SUCCESS, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    uint64_t start = clock_now();
    stream_wait(stream);
    pool_settle(stream->context->device);
    records_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, start, stream->context, stream,
                            NULL, CUDA_SUCCESS);
    const CUpti_SynchronizeData data = {.context = stream->context, .stream = stream};
    callbacks_call(CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, &data);
    return CUDA_SUCCESS;
}

DRIVER_STREAM_API(cuStreamQuery)
{
    NEED_STREAM(stream, p->hStream);
    NEED(capture_refuse(stream) == CUDA_SUCCESS, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    uint64_t start = clock_now();
    CUresult result = stream_idle(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    records_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, start, stream->context, stream,
                            NULL, result);
    return result;
}

DRIVER_STREAM_API(cuStreamWaitEvent)
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

DRIVER_STREAM_API(cuLaunchHostFunc)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->fn);
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {.function = p->fn, .data = p->userData}};
    return stream_submit(stream, &op, false);
}

DRIVER_STREAM_API(cuStreamAddCallback)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->callback);
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_HOST,
                          .host = {.callback = p->callback, .stream = p->hStream, .data = p->userData}};
    return stream_submit(stream, &op, false);
}

/* ---- what a stream is ---- */

DRIVER_STREAM_ANSWER(cuStreamGetCtx, NEED_STREAM(stream, p->hStream), pctx, stream->context)

/* ---- capturing ---- */

DRIVER_STREAM_API(cuStreamBeginCapture_v2)
{
    NEED_STREAM(stream, p->hStream);
    NEED(stream != stream->context->null_stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return capture_begin(stream, NULL, p->mode);
}

DRIVER_STREAM_API(cuStreamBeginCaptureToGraph)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->hGraph);
    NEED(stream != stream->context->null_stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUresult result = capture_begin(stream, p->hGraph, p->mode);
    for (size_t i = 0; result == CUDA_SUCCESS && i < p->numDependencies; i++)
        list_add(&stream->captured, p->dependencies[i]);
    return result;
}

DRIVER_STREAM_API(cuStreamEndCapture)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->phGraph);
    return capture_end(stream, p->phGraph);
}

/* The null stream cannot be asked about while a stream is captured that it would have to wait for. */
#define NEED_ASKABLE(stream)                                                                  \
    NEED(stream != stream->context->null_stream || !capture_blocks_implicit(stream->context), \
         CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)

static CUstreamCaptureStatus capture_status(CUstream stream)
{
    if (!stream->capture)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream->capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

DRIVER_STREAM_API(cuStreamIsCapturing)
{
    NEED_STREAM(stream, p->hStream);
    NEED_VALUE(p->captureStatus);
    NEED_ASKABLE(stream);
    *p->captureStatus = capture_status(stream);
    return CUDA_SUCCESS;
}

static CUresult capture_info(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                             const CUgraphNode **dependencies, size_t *count)
{
    NEED_VALUE(status);
    NEED_ASKABLE(stream);
    *status = capture_status(stream);
    if (!stream->capture)
        return CUDA_SUCCESS;
    if (id)
        *id = stream->capture->id;
    if (graph)
        *graph = stream->capture->graph;
    if (dependencies)
        *dependencies = (const CUgraphNode *)stream->captured.items;
    if (count)
        *count = stream->captured.count;
    return CUDA_SUCCESS;
}

DRIVER_STREAM_API(cuStreamGetCaptureInfo_v2)
{
    NEED_STREAM(stream, p->hStream);
    return capture_info(stream, p->captureStatus_out, p->id_out, p->graph_out, p->dependencies_out,
                        p->numDependencies_out);
}

DRIVER_STREAM_API(cuStreamGetCaptureInfo_v3)
{
    NEED_STREAM(stream, p->hStream);
    if (p->edgeData_out)
        *p->edgeData_out = NULL;
    return capture_info(stream, p->captureStatus_out, p->id_out, p->graph_out, p->dependencies_out,
                        p->numDependencies_out);
}

DRIVER_ANSWER(cuThreadExchangeStreamCaptureMode, NEED_NOTHING, mode, capture_exchange_mode(*p->mode))

/* ---- values in memory ---- */

static CUresult memory_value(CUstream stream, CUdeviceptr address, uint64_t value, unsigned bytes, unsigned flags,
                             bool write)
{
    NEED(stream, CUDA_ERROR_INVALID_CONTEXT);
    NEED_VALUE(address && address % bytes == 0);
    const struct op op = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                          .value = {.address = (void *)(uintptr_t)address,
                                    .value = value,
                                    .bytes = bytes,
                                    .flags = flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH,
                                    .write = write}};
    NEED_VALUE(write || op.value.flags <= CU_STREAM_WAIT_VALUE_NOR);
    return stream_submit(stream, &op, false);
}

#define VALUE_CALLS(bits)                                                                                         \
    DRIVER_STREAM_API(cuStreamWaitValue##bits##_v2)                                                               \
    {                                                                                                             \
        return memory_value(stream_resolve(p->stream, per_thread), p->addr, p->value, bits / 8, p->flags, false); \
    }                                                                                                             \
    DRIVER_STREAM_API(cuStreamWriteValue##bits##_v2)                                                              \
    {                                                                                                             \
        return memory_value(stream_resolve(p->stream, per_thread), p->addr, p->value, bits / 8, 0, true);         \
    }

VALUE_CALLS(32)
VALUE_CALLS(64)

static CUresult memory_operation(CUstream stream, const CUstreamBatchMemOpParams *one)
{
    const struct CUstreamMemOpWaitValueParams_st *wait = &one->waitValue;
    const struct CUstreamMemOpWriteValueParams_st *write = &one->writeValue;
    switch ((int)one->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32: return memory_value(stream, wait->address, wait->value, 4, wait->flags, false);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return memory_value(stream, wait->address, wait->value64, 8, wait->flags, false);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32: return memory_value(stream, write->address, write->value, 4, 0, true);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return memory_value(stream, write->address, write->value64, 8, 0, true);
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_SUCCESS; /* all is in order here */
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

DRIVER_STREAM_API(cuStreamBatchMemOp_v2)
{
    NEED_VALUE(p->paramArray && p->count && p->count <= 256 && !p->flags);
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; i < p->count && result == CUDA_SUCCESS; i++)
        result = memory_operation(stream_resolve(p->stream, per_thread), &p->paramArray[i]);
    return result;
}
