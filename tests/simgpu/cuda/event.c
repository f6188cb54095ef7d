/* The driver API: events. */
#include "core/event.h"
#include "core/api.h"
#include "core/clock.h"
#include "core/records.h"
#include "core/stream.h"
#include "cuda/need.h"

#undef cuEventElapsedTime /* both versions are here */

DRIVER_API(cuEventCreate, (CUevent * phEvent, unsigned Flags), phEvent, Flags)
{
    NEED_VALUE(p->phEvent);
    NEED_CONTEXT(context);
    *p->phEvent = event_create(context, p->Flags);
    return CUDA_SUCCESS;
}

DRIVER_API(cuEventDestroy_v2, (CUevent hEvent), hEvent)
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

DRIVER_STREAM_API(cuEventRecord, (CUevent hEvent, CUstream hStream), hEvent, hStream)
{
    return record(p->hEvent, stream_resolve(p->hStream, per_thread));
}

DRIVER_STREAM_API(cuEventRecordWithFlags, (CUevent hEvent, CUstream hStream, unsigned flags), hEvent, hStream, flags)
{
    return record(p->hEvent, stream_resolve(p->hStream, per_thread));
}

DRIVER_API(cuEventQuery, (CUevent hEvent), hEvent)
{
    NEED_HANDLE(p->hEvent);
    uint64_t start = clock_now();
    CUresult result = event_complete(p->hEvent) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    records_synchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, start, p->hEvent->context, NULL,
                            p->hEvent, result);
    return result;
}

DRIVER_API(cuEventSynchronize, (CUevent hEvent), hEvent)
{
    NEED_HANDLE(p->hEvent);
    NEED(!p->hEvent->capture, CUDA_ERROR_CAPTURED_EVENT);
    uint64_t start = clock_now();
    event_synchronize(p->hEvent);
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

DRIVER_API(cuEventElapsedTime, (float *pMilliseconds, CUevent hStart, CUevent hEnd), pMilliseconds, hStart, hEnd)
{
    return elapsed(p->pMilliseconds, p->hStart, p->hEnd);
}

DRIVER_API(cuEventElapsedTime_v2, (float *pMilliseconds, CUevent hStart, CUevent hEnd), pMilliseconds, hStart, hEnd)
{
    return elapsed(p->pMilliseconds, p->hStart, p->hEnd);
}
