#include "agent/cupti/callback_switches.h"

#include <pthread.h>
#include <string.h>

#include "agent/cupti/cupti_ids.h"
#include "agent/cupti/cupti_library.h"
#include "agent/cupti/driver_calls.h"
#include "agent/dispatch/phases.h"

/* Of the RESOURCE domain. CUPTI_CBID_RESOURCE_MODULE_PROFILED comes at every launch: it may never be here. */
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

static struct {
    pthread_mutex_t lock; /* of all but reading `wanted` */
    const struct cupti *cupti;
    CUpti_SubscriberHandle subscriber;
    uint64_t wanted;
    bool launches;
    bool new_functions;
    bool captures;
    bool graph_launches;
    bool event_records;
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

static bool is_launch(const struct driver_call *call)
{
    return (call->kinds & REGISTRY_BIT(kernel_launch)) != 0;
}

static bool launches_are_heard(void)
{
    return switches.launches || switches.new_functions || switches.captures;
}

static bool is_wanted(const struct driver_call *call)
{
    bool may_load = launches_are_heard() && is_launch(call) && call->trigger;
    bool graphs = switches.graph_launches && (call->kinds & REGISTRY_BIT(graph_launch));
    bool watched = switches.event_records && call->cbid == CUPTI_DRIVER_TRACE_CBID_cuEventRecord;
    return (call->kinds & switches.wanted) != 0 || may_load || graphs || watched;
}

/* Brings what serves one of CHANGED kinds to what it should be. */
static void apply(uint64_t changed)
{
    if (!switches.cupti)
        return;
    for (CUpti_CallbackId cbid = 0; cbid < CUPTI_DRIVER_TRACE_CBID_SIZE; cbid++) {
        const struct driver_call *call = driver_call_find(cbid);
        if (call && (call->kinds & changed))
            turn(&switches.calls_on[cbid], is_wanted(call), CUPTI_CB_DOMAIN_DRIVER_API, cbid);
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
    apply(~UINT64_C(0));
    pthread_mutex_unlock(&switches.lock);
}

void callback_switches_follow(uint64_t wanted)
{
    pthread_mutex_lock(&switches.lock);
    uint64_t changed = switches.wanted ^ wanted;
    __atomic_store_n(&switches.wanted, wanted, __ATOMIC_RELAXED);
    bool before = launches_are_heard();
    switches.launches &= (wanted & PHASE_KINDS) != 0;
    switches.new_functions &= (wanted & REGISTRY_BIT(launch_name)) != 0;
    switches.captures &= (wanted & REGISTRY_BIT(graph_node)) != 0;
    if (switches.graph_launches)
        changed |= REGISTRY_BIT(graph_launch);
    switches.graph_launches &= (wanted & REGISTRY_BIT(graph_node)) != 0;
    if (before)
        changed |= REGISTRY_BIT(kernel_launch);
    apply(changed);
    cupti_ids_forget_streams(); /* without a subscriber CUPTI may not have reported destroyed streams */
    pthread_mutex_unlock(&switches.lock);
}

uint64_t callback_switches_wanted(void)
{
    return __atomic_load_n(&switches.wanted, __ATOMIC_RELAXED);
}

/* On as long as one of KINDS is wanted. */
static void turn_launches(bool *user, bool on, uint64_t kinds)
{
    pthread_mutex_lock(&switches.lock);
    bool before = launches_are_heard();
    *user = on && (switches.wanted & kinds) != 0;
    if (launches_are_heard() != before)
        apply(REGISTRY_BIT(kernel_launch));
    pthread_mutex_unlock(&switches.lock);
}

void callback_switches_launches(bool on)
{
    turn_launches(&switches.launches, on, PHASE_KINDS);
}

void callback_switches_new_functions(bool on)
{
    turn_launches(&switches.new_functions, on, REGISTRY_BIT(launch_name));
}

void callback_switches_captures(bool on)
{
    turn_launches(&switches.captures, on, REGISTRY_BIT(graph_node));
}

void callback_switches_graph_launches(bool on)
{
    pthread_mutex_lock(&switches.lock);
    bool before = switches.graph_launches;
    switches.graph_launches = on && (switches.wanted & REGISTRY_BIT(graph_node)) != 0;
    if (switches.graph_launches != before)
        apply(REGISTRY_BIT(graph_launch));
    pthread_mutex_unlock(&switches.lock);
}

/* cuEventRecord gets a callback, whether or not a subscriber is registered for it: callback_switches.h. From now on. */
static void callback_switches_event_records(void)
{
    pthread_mutex_lock(&switches.lock);
    bool before = switches.event_records;
    switches.event_records = true;
    if (!before)
        apply(REGISTRY_BIT(event_record));
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
    switches.launches = switches.new_functions = switches.captures = switches.graph_launches = false;
    switches.event_records = false;
    callback_switches_follow(0);
}

/* --- the correlation id of one cuEventRecord --- */

bool event_watch_used;

static __thread struct {
    bool begun;
    uint32_t correlation;
} watch;

void event_watch_switch_on(void)
{
    callback_switches_event_records();
}

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
