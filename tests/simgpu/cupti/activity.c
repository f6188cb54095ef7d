/* CUPTI's activity API. */
#include <string.h>
#include <unistd.h>

#include "core/activity.h"
#include "core/api.h"
#include "core/callbacks.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/context.h"
#include "core/driver.h"
#include "core/records.h"
#include "cupti/need.h"

/* ---- kinds ---- */

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
    NEED(kind != CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER || driver_started(), CUPTI_ERROR_NOT_READY);
    NEED(activity_enable(kind, 0, true), CUPTI_ERROR_INVALID_KIND);
    records_enabled(kind);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
    return cuptiActivityEnable(kind);
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
    return activity_enable(kind, 0, false) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
    NEED(context, CUPTI_ERROR_INVALID_CONTEXT);
    return activity_enable(kind, context->id, true) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
    NEED(context, CUPTI_ERROR_INVALID_CONTEXT);
    return activity_enable(kind, context->id, false) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
    NEED_PARAMETER(cbid < CALLBACKS_CBIDS);
    api_record(CUPTI_CB_DOMAIN_DRIVER_API, cbid, enable);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
    NEED_PARAMETER(cbid < CALLBACKS_CBIDS);
    api_record(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, enable);
    return CUPTI_SUCCESS;
}

/* ---- buffers ---- */

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                                 CUpti_BuffersCallbackCompleteFunc complete)
{
    NEED_PARAMETER(request && complete);
    activity_register(request, complete);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
    while (driver_forked())
        pause(); /* as the real one: its threads are not in this process */
    uint64_t start = clock_now();
    activity_flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    records_overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, start);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityFlush(CUcontext context, uint32_t stream, uint32_t flag)
{
    (void)context, (void)stream;
    return cuptiActivityFlushAll(flag);
}

/* Full buffers are handed over as soon as they are complete, with or without a period. */
CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t milliseconds)
{
    (void)milliseconds;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    NEED_PARAMETER(buffer && record);
    return activity_next(buffer, valid, record) ? CUPTI_SUCCESS : CUPTI_ERROR_MAX_LIMIT_REACHED;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    NEED_PARAMETER(dropped);
    *dropped = activity_dropped();
    return CUPTI_SUCCESS;
}

/* ---- attributes. Those of device buffers are kept and change nothing. ---- */

enum { ATTRIBUTES = CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS + 1 };

static size_t attribute_size(CUpti_ActivityAttribute attribute)
{
    switch ((int)attribute) {
    case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
    case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
    case CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED: return sizeof(uint8_t);
    default: return sizeof(size_t);
    }
}

static size_t attributes[ATTRIBUTES] = {
    [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = 3200000, [CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250};

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size,
                                                            void *value)
{
    NEED_PARAMETER(size && value && (unsigned)attribute < ATTRIBUTES);
    NEED(*size >= attribute_size(attribute), CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
    if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
        activity_set_per_thread(*(const uint8_t *)value);
    else if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
        activity_set_zeroed(*(const uint8_t *)value);
    else
        memcpy(&attributes[attribute], value, attribute_size(attribute));
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t *size,
                                                            void *value)
{
    NEED_PARAMETER(size && value && (unsigned)attribute < ATTRIBUTES);
    NEED(*size >= attribute_size(attribute), CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
    if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
        *(uint8_t *)value = activity_per_thread();
    else if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
        *(uint8_t *)value = activity_zeroed();
    else
        memcpy(value, &attributes[attribute], attribute_size(attribute));
    *size = attribute_size(attribute);
    return CUPTI_SUCCESS;
}

/* ---- switches ---- */

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
    records_set_event_timestamps(enable);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
    records_set_all_sync(enable);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
    records_set_latency_timestamps(enable);
    return CUPTI_SUCCESS;
}

/* Of these the records hold nothing here, with or without. */
CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableLaunchAttributes(uint8_t enable)
{
    (void)enable;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAllocationSource(uint8_t enable)
{
    (void)enable;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableDeviceGraph(uint8_t enable)
{
    (void)enable;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableHWTrace(uint8_t enable)
{
    return enable ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    NEED_PARAMETER(type < CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE);
    api_set_thread_id_type(type);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
    NEED_PARAMETER(type);
    *type = api_thread_id_type();
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI
cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *configs, uint32_t count)
{
    NEED_PARAMETER(configs && count > 0);
    return config()->no_unified_memory ? CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED : CUPTI_SUCCESS;
}

/* ---- external correlation, and the end ---- */

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                                         uint64_t id)
{
    NEED_PARAMETER(kind > 0 && kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE);
    api_push_external(kind, id);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                                        uint64_t *last)
{
    NEED_PARAMETER(kind > 0 && kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE);
    return api_pop_external(kind, last) ? CUPTI_SUCCESS : CUPTI_ERROR_QUEUE_EMPTY;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiFinalize(void)
{
    callbacks_unsubscribe();
    for (int kind = 1; kind < CUPTI_ACTIVITY_KIND_COUNT; kind++)
        activity_enable((CUpti_ActivityKind)kind, 0, false);
    for (CUpti_CallbackId cbid = 0; cbid < CALLBACKS_CBIDS; cbid++) {
        api_record(CUPTI_CB_DOMAIN_DRIVER_API, cbid, false);
        api_record(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, false);
    }
    return CUPTI_SUCCESS;
}
