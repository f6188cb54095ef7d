#include "core/api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/activity.h"
#include "core/callbacks.h"
#include "core/clock.h"
#include "core/context.h"

enum { EXTERNAL_DEPTH = 64 };

static struct {
    atomic_uint correlation;
    atomic_bool recorded[3][CALLBACKS_CBIDS]; /* by domain: driver 1, runtime 2 */
    atomic_bool known[3][CALLBACKS_CBIDS];    /* was enabled when the first context was made … */
    atomic_bool context_made;                 /* … which it was */
    atomic_int thread_id_type;
} api;

static _Thread_local struct {
    struct api_call *innermost;
    unsigned hidden;
    uint64_t external[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE][EXTERNAL_DEPTH];
    unsigned external_depth[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE];
} thread;

uint32_t api_new_correlation(void)
{
    return atomic_fetch_add(&api.correlation, 1) + 1;
}

bool api_watched(void)
{
    return activity_wanted(CUPTI_ACTIVITY_KIND_DRIVER, 0) || activity_wanted(CUPTI_ACTIVITY_KIND_OVERHEAD, 0) ||
           (thread.innermost && thread.innermost->domain == CUPTI_CB_DOMAIN_DRIVER_API && thread.innermost->notified);
}

uint32_t api_correlation(void)
{
    return thread.innermost ? thread.innermost->correlation : api_new_correlation();
}

void api_hide(void)
{
    thread.hidden++;
}

void api_show(void)
{
    thread.hidden--;
}

void api_record(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool enable)
{
    if (cbid >= CALLBACKS_CBIDS)
        return;
    bool effective = !atomic_load(&api.context_made) || atomic_load(&api.known[domain][cbid]);
    atomic_store(&api.recorded[domain][cbid], enable && effective);
}

void api_first_context(void)
{
    if (atomic_exchange(&api.context_made, true))
        return;
    for (int domain = 0; domain < 3; domain++)
        for (CUpti_CallbackId cbid = 0; cbid < CALLBACKS_CBIDS; cbid++)
            atomic_store(&api.known[domain][cbid], atomic_load(&api.recorded[domain][cbid]));
}

void api_set_thread_id_type(CUpti_ActivityThreadIdType type)
{
    atomic_store(&api.thread_id_type, (int)type);
}

CUpti_ActivityThreadIdType api_thread_id_type(void)
{
    return (CUpti_ActivityThreadIdType)atomic_load(&api.thread_id_type);
}

uint32_t api_thread_id(void)
{
    if (api_thread_id_type() == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
        return (uint32_t)gettid();
    return (uint32_t)(uintptr_t)pthread_self();
}

static CUpti_ActivityKind api_kind(const struct api_call *call)
{
    return call->domain == CUPTI_CB_DOMAIN_DRIVER_API ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
}

static void api_call_back(struct api_call *call, CUpti_ApiCallbackSite site, const void *result)
{
    CUcontext context = context_current();
    const CUpti_CallbackData data = {
        .callbackSite = site,
        .functionName = call->name,
        .functionParams = call->params,
        .functionReturnValue = (void *)(uintptr_t)result,
        .symbolName = call->symbol,
        .context = context,
        .contextUid = context ? context->id : 0,
        .correlationData = &call->correlation_data,
        .correlationId = call->correlation,
    };
    callbacks_call(call->domain, call->cbid, &data);
}

void api_enter(struct api_call *call)
{
    call->outer = thread.innermost;
    call->correlation = call->outer ? call->outer->correlation : api_new_correlation();
    thread.innermost = call;
    if (thread.hidden)
        return;
    /* Ids enabled one by one are of calls that the program or the tool makes itself; the whole kind is of all calls. */
    call->in_callback = callbacks_inside();
    bool own = !call->outer || (call->in_callback && !call->outer->in_callback);
    call->recorded =
        activity_wanted(api_kind(call), 0) || (own && atomic_load(&api.recorded[call->domain][call->cbid]));
    call->start = call->recorded ? clock_now() : 0;
    call->notified = callbacks_wanted(call->domain, call->cbid);
    if (call->notified)
        api_call_back(call, CUPTI_API_ENTER, NULL);
}

static void api_write_external(const struct api_call *call)
{
    if (call->outer || !activity_wanted(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0))
        return;
    for (unsigned kind = 1; kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE; kind++) {
        unsigned depth = thread.external_depth[kind];
        if (!depth)
            continue;
        const CUpti_ActivityExternalCorrelation record = {
            .kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
            .externalKind = (CUpti_ExternalCorrelationKind)kind,
            .externalId = thread.external[kind][depth - 1],
            .correlationId = call->correlation,
        };
        activity_write(&record);
    }
}

static void api_write(const struct api_call *call, int result)
{
    const CUpti_ActivityAPI record = {
        .kind = api_kind(call),
        .cbid = call->cbid,
        .start = call->start,
        .end = clock_now(),
        .processId = (uint32_t)getpid(),
        .threadId = api_thread_id(),
        .correlationId = call->correlation,
        .returnValue = (uint32_t)result,
    };
    api_write_external(call);
    activity_write(&record);
}

void api_leave(struct api_call *call, const void *result)
{
    if (call->notified)
        api_call_back(call, CUPTI_API_EXIT, result);
    if (call->recorded)
        api_write(call, *(const int *)result);
    thread.innermost = call->outer;
}

void api_push_external(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    if (thread.external_depth[kind] < EXTERNAL_DEPTH)
        thread.external[kind][thread.external_depth[kind]++] = id;
}

bool api_pop_external(CUpti_ExternalCorrelationKind kind, uint64_t *id)
{
    if (!thread.external_depth[kind])
        return false;
    uint64_t last = thread.external[kind][--thread.external_depth[kind]];
    if (id)
        *id = last;
    return true;
}
