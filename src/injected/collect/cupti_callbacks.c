#include "injected/collect/cupti_callbacks.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "injected/collect/cupti_library.h"
#include "injected/collect/memory_calls.h"
#include "injected/registry/registry.h"

static struct {
    const struct cupti *cupti;
    CUpti_SubscriberHandle subscriber;
} callbacks;

static uint32_t context_id(CUcontext context)
{
    uint32_t id = 0;
    callbacks.cupti->cuptiGetContextId(context, &id);
    return id;
}

static uint32_t device_id(CUcontext context)
{
    uint32_t id = SPOOL_NO_DEVICE;
    callbacks.cupti->cuptiGetDeviceId(context, &id);
    return id;
}

static uint32_t stream_id(CUcontext context, CUstream stream, bool per_thread)
{
    uint32_t id = SPOOL_NO_STREAM;
    if (callbacks.cupti->cuptiGetStreamIdEx(context, stream, per_thread, &id) != CUPTI_SUCCESS)
        return SPOOL_NO_STREAM;
    return id;
}

uint32_t cupti_stream_id(uint64_t context, uint64_t stream)
{
    if (!callbacks.cupti)
        return SPOOL_NO_STREAM;
    return stream_id((CUcontext)(uintptr_t)context, (CUstream)(uintptr_t)stream, false);
}

static bool is_host_memory(enum spool_memory_kind kind)
{
    return kind == SPOOL_MEMORY_PINNED || kind == SPOOL_MEMORY_REGISTERED;
}

static bool has_per_thread_default_stream(CUpti_CallbackId cbid)
{
    return cbid == CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz ||
           cbid == CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz ||
           cbid == CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz;
}

static void memory_call_returned(const struct memory_call *call, const CUpti_CallbackData *data)
{
    struct memory_event event = {
        .time = clock_now(),
        .device = is_host_memory(call->kind) || !data->context ? SPOOL_NO_DEVICE : device_id(data->context),
        .context = data->context ? context_id(data->context) : 0,
        .stream = SPOOL_NO_STREAM,
        .correlation = data->correlationId,
        .result = data->functionReturnValue ? (int32_t) * (const CUresult *)data->functionReturnValue : 0,
        .operation = call->operation,
        .kind = call->kind,
    };
    CUstream none = (CUstream)(uintptr_t)-1, stream = none;
    call->read(data->functionParams, &event, &stream);
    if (stream != none && data->context)
        event.stream = stream_id(data->context, stream, has_per_thread_default_stream(call->cbid));
    bool nothing_freed = call->operation == SPOOL_MEMORY_RELEASE && event.address == 0;
    if (!nothing_freed) /* freeing NULL is allowed and does nothing */
        registry_memory_publish(&event);
}

static void driver_call(CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    bool returned = data->callbackSite == CUPTI_API_EXIT;
    if (cbid == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart && returned)
        registry_profiler_publish(&(struct profiler_event){.start = true});
    if (cbid == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop && !returned)
        registry_profiler_publish(&(struct profiler_event){.start = false});
    const struct memory_call *call = returned ? memory_call_find(cbid) : NULL;
    if (call)
        memory_call_returned(call, data);
}

static void context_changed(const CUpti_ResourceData *data, bool destroyed)
{
    struct context_event event = {
        .time = clock_now(),
        .handle = (uint64_t)(uintptr_t)data->context,
        .context = context_id(data->context),
        .device = device_id(data->context),
        .destroyed = destroyed,
    };
    registry_context_publish(&event);
}

static void stream_changed(const CUpti_ResourceData *data, bool destroyed)
{
    struct stream_event event = {
        .time = clock_now(),
        .handle = (uint64_t)(uintptr_t)data->resourceHandle.stream,
        .context = context_id(data->context),
        .stream = stream_id(data->context, data->resourceHandle.stream, false),
        .destroyed = destroyed,
    };
    registry_stream_publish(&event);
}

static void resource_changed(CUpti_CallbackId cbid, const CUpti_ResourceData *data)
{
    switch (cbid) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED: context_changed(data, false); break;
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING: context_changed(data, true); break;
    case CUPTI_CBID_RESOURCE_STREAM_CREATED: stream_changed(data, false); break;
    case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING: stream_changed(data, true); break;
    default: break;
    }
}

static void CUPTIAPI called_back(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    int saved = errno;
    (void)user;
    if (data && domain == CUPTI_CB_DOMAIN_DRIVER_API)
        driver_call(cbid, data);
    else if (data && domain == CUPTI_CB_DOMAIN_RESOURCE)
        resource_changed(cbid, data);
    errno = saved;
}

static void enable(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    callbacks.cupti->cuptiEnableCallback(1, callbacks.subscriber, domain, cbid);
}

static void enable_wanted(void)
{
    if (registry_memory_wanted())
        for (size_t i = 0; i < memory_call_count; i++)
            enable(CUPTI_CB_DOMAIN_DRIVER_API, memory_calls[i].cbid);
    if (registry_profiler_wanted()) {
        enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
        enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
    }
    if (registry_context_wanted()) {
        enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
        enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
    }
    if (registry_stream_wanted()) {
        enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_CREATED);
        enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
    }
}

int cupti_callbacks_init(const struct cupti *cupti, char *why, size_t size)
{
    CUptiResult result = cupti->cuptiSubscribe(&callbacks.subscriber, called_back, NULL);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        snprintf(why, size, "another profiler in this process has taken CUPTI; only one can use it");
        return -1;
    }
    if (result != CUPTI_SUCCESS) {
        snprintf(why, size, "CUPTI cannot be subscribed to: %s", cupti_words(cupti, result));
        return -1;
    }
    callbacks.cupti = cupti;
    enable_wanted();
    return 0;
}
