/* CUPTI's callback API. */
#include <stdio.h>
#include <string.h>

#include "core/callbacks.h"
#include "core/config.h"
#include "cupti/names.h"
#include "cupti/need.h"

static char subscriber; /* its address is the handle of the only one there can be */

static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function, void *userdata,
                             const char *name, char *old_name, size_t old_size)
{
    NEED_PARAMETER(handle);
    if (config()->cupti_taken) {
        if (old_name && old_size)
            snprintf(old_name, old_size, "%s", "CUPTI for another tool");
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    if (!callbacks_subscribe(function, userdata, name, old_name, old_size))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    *handle = (CUpti_SubscriberHandle)(void *)&subscriber;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                                                 void *userdata)
{
    return subscribe(handle, callback, userdata, NULL, NULL, 0);
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                                                    void *userdata, CUpti_SubscriberParams *params)
{
    NEED_PARAMETER(params && params->structSize);
    return subscribe(handle, callback, userdata, params->subscriberName, params->oldSubscriberName,
                     params->oldSubscriberSize);
}

static bool is_subscriber(CUpti_SubscriberHandle handle)
{
    return (void *)handle == &subscriber && callbacks_subscribed();
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    NEED_PARAMETER(is_subscriber(handle));
    return callbacks_unsubscribe() ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                                      CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    NEED_PARAMETER(is_subscriber(handle));
    NEED_PARAMETER(names_callback(domain, cbid) || domain >= CUPTI_CB_DOMAIN_RESOURCE);
    return callbacks_enable(enable, domain, cbid) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
                                                    CUpti_CallbackDomain domain)
{
    NEED_PARAMETER(is_subscriber(handle));
    return callbacks_enable_domain(enable, domain) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
    NEED_PARAMETER(is_subscriber(handle));
    for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
        callbacks_enable_domain(enable, (CUpti_CallbackDomain)domain);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle handle,
                                                        CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    NEED_PARAMETER(enable && is_subscriber(handle));
    NEED_PARAMETER(domain > 0 && domain < CUPTI_CB_DOMAIN_SIZE && cbid < CALLBACKS_CBIDS);
    *enable = callbacks_enabled(domain, cbid);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiSupportedDomains(size_t *count, CUpti_DomainTable *table)
{
    static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
                                             CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_SYNCHRONIZE};
    NEED_PARAMETER(count && table);
    *count = sizeof(domains) / sizeof(domains[0]);
    *table = domains;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    NEED_PARAMETER(name);
    *name = names_callback(domain, cbid);
    return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
    NEED_PARAMETER(text);
    *text = names_result(result);
    return *text ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetErrorMessage(CUptiResult result, const char **text)
{
    NEED_PARAMETER(text);
    *text = names_result_message(result);
    return *text ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUPTI_EXPORT CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
    NEED_PARAMETER(version);
    *version = (uint32_t)config()->cupti_version;
    return CUPTI_SUCCESS;
}
