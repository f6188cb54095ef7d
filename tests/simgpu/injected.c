/* A tool as small as can be, for the tests of how tools are loaded: it counts itself and the calls that it gets
 * callbacks for.
 */
#include <cupti.h>

#include <stdatomic.h>

__attribute__((visibility("default"))) atomic_int injected_times, injected_calls, injected_status;
__attribute__((visibility("default"))) int InitializeInjection(void);

static void on_callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
    (void)userdata, (void)domain, (void)cbid;
    if (((const CUpti_CallbackData *)data)->callbackSite == CUPTI_API_ENTER)
        atomic_fetch_add(&injected_calls, 1);
}

int InitializeInjection(void)
{
    CUpti_SubscriberHandle subscriber;
    int count = 0;
    atomic_fetch_add(&injected_times, 1);
    CUptiResult result = cuptiSubscribe(&subscriber, on_callback, NULL);
    if (result == CUPTI_SUCCESS)
        result = cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
    /* The driver can be called from here. */
    atomic_store(&injected_status, result != CUPTI_SUCCESS || cuDeviceGetCount(&count) != CUDA_SUCCESS || count < 1);
    return 1;
}
