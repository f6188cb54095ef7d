/*
 * Keeps CUPTI's callbacks equal to what subscribers of the registry want: whenever that changes, each function of the
 * driver and each resource is compared with its wish, and only the differences are switched.
 */
#include "agent/cupti/callback_switches.h"

#include <pthread.h>
#include <string.h>

#include "agent/cupti/cupti_ids.h"
#include "agent/cupti/cupti_library.h"
#include "agent/cupti/driver_calls.h"
#include "agent/dispatch/phases.h"

/* --- the functions --- */

static const struct driver_calls *const groups[] = {
    &code_calls, &copy_calls, &graph_calls, &launch_calls, &memory_calls, &sync_calls,
};

#define GROUPS (sizeof(groups) / sizeof(groups[0]))

const struct driver_call *driver_calls_by_cbid[CUPTI_DRIVER_TRACE_CBID_SIZE];

void driver_calls_init(void)
{
    for (size_t group = 0; group < GROUPS; group++)
        for (size_t i = 0; i < groups[group]->count; i++)
            driver_calls_by_cbid[groups[group]->rows[i].cbid] = &groups[group]->rows[i];
}

/* --- switches --- */

/* The callbacks of the RESOURCE domain. CUPTI_CBID_RESOURCE_MODULE_PROFILED comes at every launch: it may never be
 * here.
 */
static const struct {
    CUpti_CallbackId cbid;
    uint64_t kinds;
} resources[] = {
    {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, REGISTRY_BIT(context_creation)},
    {CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
     REGISTRY_BIT(context_deletion) | REGISTRY_BIT(launch_name) | PHASE_KINDS},
    {CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, REGISTRY_BIT(stream_deletion) | PHASE_KINDS | CUPTI_IDS_KINDS},
    {CUPTI_CBID_RESOURCE_MODULE_LOADED, REGISTRY_BIT(code_load)},
    {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, REGISTRY_BIT(graph_node)},
    {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, REGISTRY_BIT(graph_node)},
    {CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, REGISTRY_BIT(graph_node)},
    {CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, REGISTRY_BIT(graph_node)},
};

/* A need is forgotten when no kind is wanted that it is there for. */
static const struct {
    enum callback_need need;
    uint64_t kinds;
} needs[] = {
    {CALLBACKS_LAZY_LOADING, PHASE_KINDS},
    {CALLBACKS_FIRST_LAUNCHES, REGISTRY_BIT(launch_name)},
    {CALLBACKS_CAPTURES | CALLBACKS_GRAPH_LAUNCHES, REGISTRY_BIT(graph_node)},
};

static struct {
    pthread_mutex_t lock; /* of all but reading `wanted` */
    const struct cupti *cupti;
    CUpti_SubscriberHandle subscriber;
    uint64_t wanted;
    uint32_t needs; /* a set of enum callback_need */
    bool calls_on[CUPTI_DRIVER_TRACE_CBID_SIZE];
    bool resources_on[CUPTI_CBID_RESOURCE_SIZE];
} switches = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock. A cbid that CUPTI does not know, because it is older than we, is not asked for again. */
static void turn(bool *is_on, bool on, CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (*is_on == on)
        return;
    *is_on = on;
    switches.cupti->cuptiEnableCallback(on, switches.subscriber, domain, cbid);
}

/* Brings all to what it should be. */
static void apply(void)
{
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (!(needs[i].kinds & switches.wanted))
            switches.needs &= ~(uint32_t)needs[i].need;
    if (!switches.cupti)
        return;
    for (size_t group = 0; group < GROUPS; group++)
        for (const struct driver_call *call = groups[group]->rows, *end = call + groups[group]->count; call < end;
             call++) {
            bool on = (call->kinds & switches.wanted) || (call->needs & switches.needs);
            turn(&switches.calls_on[call->cbid], on, CUPTI_CB_DOMAIN_DRIVER_API, call->cbid);
        }
    for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
        turn(&switches.resources_on[resources[i].cbid], (resources[i].kinds & switches.wanted) != 0,
             CUPTI_CB_DOMAIN_RESOURCE, resources[i].cbid);
}

void callback_switches_init(const struct cupti *cupti, CUpti_SubscriberHandle subscriber)
{
    pthread_mutex_lock(&switches.lock);
    switches.cupti = cupti;
    switches.subscriber = subscriber;
    memset(switches.calls_on, 0, sizeof(switches.calls_on));
    memset(switches.resources_on, 0, sizeof(switches.resources_on));
    apply();
    pthread_mutex_unlock(&switches.lock);
}

void callback_switches_follow(uint64_t wanted)
{
    pthread_mutex_lock(&switches.lock);
    __atomic_store_n(&switches.wanted, wanted, __ATOMIC_RELAXED);
    apply();
    cupti_ids_forget_streams(); /* without a subscriber CUPTI may not have reported destroyed streams */
    pthread_mutex_unlock(&switches.lock);
}

uint64_t callback_switches_wanted(void)
{
    return __atomic_load_n(&switches.wanted, __ATOMIC_RELAXED);
}

void callback_switches_need(enum callback_need need, bool on)
{
    pthread_mutex_lock(&switches.lock);
    uint32_t before = switches.needs;
    switches.needs = on ? before | (uint32_t)need : before & ~(uint32_t)need;
    if (switches.needs != before)
        apply();
    pthread_mutex_unlock(&switches.lock);
}

/* CUPTI is asked without the lock, which its callbacks may wait for. */
bool callback_switches_lost(void)
{
    pthread_mutex_lock(&switches.lock);
    const struct cupti *cupti = switches.cupti;
    CUpti_SubscriberHandle subscriber = switches.subscriber;
    pthread_mutex_unlock(&switches.lock);
    uint32_t on;
    if (!cupti || !cupti->cuptiGetCallbackState ||
        cupti->cuptiGetCallbackState(&on, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED) ==
            CUPTI_SUCCESS)
        return false;
    pthread_mutex_lock(&switches.lock);
    switches.cupti = NULL;
    pthread_mutex_unlock(&switches.lock);
    return true;
}

void callback_switches_atfork_child(void)
{
    pthread_mutex_init(&switches.lock, NULL);
    switches.cupti = NULL;
    switches.needs = 0;
    callback_switches_follow(0);
}

/* --- the correlation id of one cuEventRecord --- */

bool event_watch_used;

static __thread struct {
    bool begun;
    uint32_t correlation;
} watch;

void event_watch_begin(void)
{
    __atomic_store_n(&event_watch_used, true, __ATOMIC_RELAXED);
    watch.begun = true;
    watch.correlation = 0;
}

uint32_t event_watch_end(void)
{
    watch.begun = false;
    return watch.correlation;
}

bool event_watch_looks(uint32_t correlation)
{
    if (watch.begun)
        watch.correlation = correlation;
    return watch.begun;
}
