
#include <stddef.h>

#include "agent/spool/spool_place.h"
#include "tests/agent/cupti/fake_cupti.h"

struct fake_asked fake_asked;
CUptiResult fake_subscription = CUPTI_SUCCESS;
uint32_t fake_correlation;
CUcontext fake_context = FAKE_CONTEXT;
const char *fake_symbol;

static CUpti_CallbackFunc subscriber;
static bool on[CUPTI_CB_DOMAIN_SIZE][1024];
static uint32_t last_correlation;

static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *user)
{
    (void)user;
    *handle = (CUpti_SubscriberHandle)0x5;
    subscriber = callback;
    return fake_subscription;
}

static CUptiResult enable(uint32_t enabled, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                          CUpti_CallbackId cbid)
{
    if (handle != (CUpti_SubscriberHandle)0x5)
        return CUPTI_ERROR_INVALID_PARAMETER;
    on[domain][cbid] = enabled != 0;
    __atomic_add_fetch(&fake_asked.switches, 1, __ATOMIC_RELAXED);
    return CUPTI_SUCCESS;
}

static CUptiResult result_string(CUptiResult result, const char **words)
{
    *words = result == CUPTI_ERROR_NOT_INITIALIZED ? "not initialised" : "another result";
    return CUPTI_SUCCESS;
}

static CUptiResult context_id(CUcontext context, uint32_t *id)
{
    fake_asked.contexts++;
    *id = (uint32_t)(uintptr_t)context & 0xff;
    return CUPTI_SUCCESS;
}

static CUptiResult device_id(CUcontext context, uint32_t *id)
{
    (void)context;
    *id = FAKE_DEVICE;
    return CUPTI_SUCCESS;
}

static CUptiResult stream_id(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)
{
    (void)context;
    fake_asked.streams++;
    *id = stream ? (uint32_t)(uintptr_t)stream & 0xff : 7u + per_thread;
    return CUPTI_SUCCESS;
}

static CUptiResult next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    (void)buffer, (void)valid, (void)record;
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
}

static CUptiResult node_id(CUgraphNode node, uint64_t *id)
{
    *id = (uint64_t)(uintptr_t)node & 0xffff;
    return CUPTI_SUCCESS;
}

static CUptiResult exec_id(CUgraphExec exec, uint32_t *id)
{
    *id = (uint32_t)((uintptr_t)exec & 0xffff);
    return CUPTI_SUCCESS;
}

const struct cupti fake_cupti = {
    .cuptiSubscribe = subscribe,
    .cuptiEnableCallback = enable,
    .cuptiGetResultString = result_string,
    .cuptiGetContextId = context_id,
    .cuptiGetDeviceId = device_id,
    .cuptiGetStreamIdEx = stream_id,
    .cuptiActivityGetNextRecord = next_record,
    .cuptiGetGraphNodeId = node_id,
    .cuptiGetGraphExecId = exec_id,
    .version = 130001,
};

bool fake_is_on(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    return on[domain][cbid];
}

unsigned fake_count_on(CUpti_CallbackDomain domain)
{
    unsigned count = 0;
    for (CUpti_CallbackId cbid = 0; cbid < sizeof(on[0]) / sizeof(on[0][0]); cbid++)
        count += on[domain][cbid];
    return count;
}

static void publish(CUpti_CallbackId cbid, CUpti_ApiCallbackSite site, const void *params, CUresult *result)
{
    uint64_t correlation_data = 0;
    CUpti_CallbackData data = {
        .callbackSite = site,
        .functionParams = params,
        .functionReturnValue = result,
        .symbolName = fake_symbol,
        .context = fake_context,
        .contextUid = (uint32_t)(uintptr_t)fake_context,
        .correlationData = &correlation_data,
        .correlationId = fake_correlation ? fake_correlation : last_correlation,
    };
    if (on[CUPTI_CB_DOMAIN_DRIVER_API][cbid])
        subscriber(NULL, CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
}

void fake_enter(CUpti_CallbackId cbid, const void *params)
{
    last_correlation++;
    publish(cbid, CUPTI_API_ENTER, params, NULL);
}

void fake_exit(CUpti_CallbackId cbid, const void *params, CUresult result)
{
    publish(cbid, CUPTI_API_EXIT, params, &result);
}

void fake_call(CUpti_CallbackId cbid, const void *params, CUresult result)
{
    fake_enter(cbid, params);
    fake_exit(cbid, params, result);
}

void fake_resource(CUpti_CallbackIdResource cbid, CUcontext context, CUstream stream, void *descriptor)
{
    CUpti_ResourceData data = {.context = context, .resourceHandle.stream = stream, .resourceDescriptor = descriptor};
    if (on[CUPTI_CB_DOMAIN_RESOURCE][cbid])
        subscriber(NULL, CUPTI_CB_DOMAIN_RESOURCE, (CUpti_CallbackId)cbid, &data);
}
