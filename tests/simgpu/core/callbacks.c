#include "core/callbacks.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <pthread.h>

static struct {
    pthread_mutex_t lock; /* of subscribing; telling takes none */
    char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];
    _Atomic(CUpti_CallbackFunc) function;
    _Atomic(void *) userdata;
    atomic_bool enabled[CUPTI_CB_DOMAIN_SIZE][CALLBACKS_CBIDS];
} callbacks = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool inside;

bool callbacks_subscribe(CUpti_CallbackFunc function, void *userdata, const char *name, char *old_name, size_t old_size)
{
    pthread_mutex_lock(&callbacks.lock);
    bool taken = callbacks_subscribed();
    if (taken && old_name && old_size) {
        snprintf(old_name, old_size, "%s", callbacks.name);
    } else if (!taken) {
        snprintf(callbacks.name, sizeof(callbacks.name), "CUPTI for %s", name ? name : "unnamed");
        atomic_store(&callbacks.userdata, userdata);
        atomic_store(&callbacks.function, function);
    }
    pthread_mutex_unlock(&callbacks.lock);
    return !taken;
}

bool callbacks_unsubscribe(void)
{
    pthread_mutex_lock(&callbacks.lock);
    bool was = callbacks_subscribed();
    for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; domain++)
        callbacks_enable_domain(false, (CUpti_CallbackDomain)domain);
    atomic_store(&callbacks.function, NULL);
    pthread_mutex_unlock(&callbacks.lock);
    return was;
}

bool callbacks_subscribed(void)
{
    return atomic_load(&callbacks.function) != NULL;
}

bool callbacks_enable(bool enable, CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE || cbid >= CALLBACKS_CBIDS)
        return false;
    atomic_store(&callbacks.enabled[domain][cbid], enable);
    return true;
}

bool callbacks_enable_domain(bool enable, CUpti_CallbackDomain domain)
{
    for (CUpti_CallbackId cbid = 0; cbid < CALLBACKS_CBIDS; cbid++)
        if (!callbacks_enable(enable, domain, cbid))
            return false;
    return true;
}

bool callbacks_enabled(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    return atomic_load_explicit(&callbacks.enabled[domain][cbid], memory_order_relaxed);
}

bool callbacks_wanted(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    return !inside && callbacks_enabled(domain, cbid);
}

bool callbacks_inside(void)
{
    return inside;
}

void callbacks_call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    if (!callbacks_wanted(domain, cbid))
        return;
    CUpti_CallbackFunc function = atomic_load(&callbacks.function);
    if (!function)
        return;
    inside = true;
    function(atomic_load(&callbacks.userdata), domain, cbid, data);
    inside = false;
}

void callbacks_resource(CUpti_CallbackIdResource cbid, CUcontext context, CUstream stream, void *descriptor)
{
    const CUpti_ResourceData data = {
        .context = context, .resourceHandle.stream = stream, .resourceDescriptor = descriptor};
    callbacks_call(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}
