/* The driver API: events. */
#include "core/event.h"
#include "core/api.h"
#include "core/capture.h"
#include "core/clock.h"
#include "core/pool.h"
#include "core/records.h"
#include "core/stream.h"
#include "cuda/need.h"

/* Asking whether EVENT is done is not permitted when it was last recorded in a capture, and breaks that. */
#define NEED_UNCAPTURED(event) NEED(capture_refuse_event(event) == CUDA_SUCCESS, CUDA_ERROR_CAPTURED_EVENT)

enum { EVENT_FLAGS = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS };

#undef cuEventElapsedTime /* both versions are here */

DRIVER_API(cuEventCreate)
{
    NEED_VALUE(p->phEvent && !(p->Flags & ~(unsigned)EVENT_FLAGS));
    NEED_CONTEXT(context);
    *p->phEvent = event_create(context, p->Flags);
    return CUDA_SUCCESS;
}

DRIVER_API(cuEventDestroy_v2)
{
    NEED_HANDLE(p->hEvent);
    event_destroy(p->hEvent);
    return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream stream)
{
    NEED(stream, CUDA_ERROR_INVALID_CONTEXT);
    NEED_HANDLE(event && event->context == stream->context);
    return event_record(event, stream);
}

DRIVER_STREAM_API(cuEventRecord)
{
    return record(p->hEvent, stream_resolve(p->hStream, per_thread));
}

DRIVER_STREAM_API(cuEventRecordWithFlags)
{
    return record(p->hEvent, stream_resolve(p->hStream, per_thread));
}

DRIVER_API(cuCtxRecordEvent)
{
    NEED(p->hCtx, CUDA_ERROR_INVALID_CONTEXT);
    NEED_HANDLE(p->hEvent && p->hEvent->context == p->hCtx);
    return event_record_context(p->hEvent, p->hCtx);
}

DRIVER_API(cuCtxWaitEvent)
{
    NEED(p->hCtx, CUDA_ERROR_INVALID_CONTEXT);
    NEED_HANDLE(p->hEvent);
    return event_wait_context(p->hEvent, p->hCtx);
}

DRIVER_API(cuEventQuery)
{
    NEED_HANDLE(p->hEvent);
    NEED_UNCAPTURED(p->hEvent);
    uint64_t start = clock_now();
    CUresult result = event_complete(p->hEvent) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    records_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, start, p->hEvent->context, NULL,
                            p->hEvent, result);
    return result;
}

DRIVER_API(cuEventSynchronize)
{
    NEED_HANDLE(p->hEvent);
    NEED_UNCAPTURED(p->hEvent);
    uint64_t start = clock_now();
    event_synchronize(p->hEvent);
    pool_settle(p->hEvent->context->device);
    records_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, start, p->hEvent->context, NULL,
                            p->hEvent, CUDA_SUCCESS);
    return CUDA_SUCCESS;
}

static CUresult elapsed(float *milliseconds, CUevent first, CUevent second)
{
    NEED_VALUE(milliseconds);
    NEED_HANDLE(first && second);
    return event_elapsed(first, second, milliseconds);
}

DRIVER_API(cuEventElapsedTime)
{
    return elapsed(p->pMilliseconds, p->hStart, p->hEnd);
}

DRIVER_API(cuEventElapsedTime_v2)
{
    return elapsed(p->pMilliseconds, p->hStart, p->hEnd);
}
