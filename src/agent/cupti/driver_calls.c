/*
 * Keeps CUPTI's callbacks equal to what subscribers of the registry want: at each change, the wanted state of each
 * driver function and each resource is compared with its present state, and only differences are switched. The second
 * part finds the launches that load their kernel's code.
 */
#include "agent/cupti/driver_calls.h"

#include <pthread.h>
#include <string.h>

#include "agent/cupti/cupti_library.h"
#include "common/clock.h"
#include "common/map.h"

/* --- the functions --- */

static const struct driver_calls *const groups[] = {
    &code_calls, &copy_calls, &graph_calls, &memory_calls, &stream_calls,
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

/* The callbacks of the RESOURCE domain. CUPTI_CBID_RESOURCE_MODULE_PROFILED must never be among them, because it comes
 * at every launch. */
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

/* The kinds that each need serves: a need is dropped when none of its kinds is wanted. */
static const struct {
    enum callback_need need;
    uint64_t kinds;
} needs[] = {
    {CALLBACKS_LAZY_LOADING, PHASE_KINDS},
    {CALLBACKS_FIRST_LAUNCHES, REGISTRY_BIT(launch_name)},
    {CALLBACKS_CAPTURES | CALLBACKS_GRAPH_LAUNCHES, REGISTRY_BIT(graph_node)},
};

static struct {
    pthread_mutex_t lock; /* guards all members; `wanted` is also read without it */
    const struct cupti *cupti;
    CUpti_SubscriberHandle subscriber;
    uint64_t wanted;
    uint32_t needs; /* a set of enum callback_need */
    bool calls_on[CUPTI_DRIVER_TRACE_CBID_SIZE];
    bool resources_on[CUPTI_CBID_RESOURCE_SIZE];
} switches = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Switches one callback. A cbid that an older CUPTI does not know fails once and is not tried again. The caller holds
 * the lock. */
static void turn(bool *is_on, bool on, CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (*is_on == on)
        return;
    *is_on = on;
    switches.cupti->cuptiEnableCallback(on, switches.subscriber, domain, cbid);
}

/* Switches all callbacks to the wanted state. The caller holds the lock. */
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
    cupti_ids_forget_streams(); /* while there was no subscriber, CUPTI may not have reported destroyed streams */
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

/* CUPTI is asked without the lock, for which its callbacks may wait. */
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

static __thread struct {
    bool begun;
    uint32_t correlation;
} watch;

void event_watch_begin(void)
{
    watch.begun = true;
    watch.correlation = 0;
}

uint32_t event_watch_end(void)
{
    watch.begun = false;
    return watch.correlation;
}

bool event_watch_claims(uint32_t correlation)
{
    if (watch.begun)
        watch.correlation = correlation;
    return watch.begun;
}

/* --- the first launch of a kernel that is loaded lazily --- */

static struct {
    pthread_mutex_t lock; /* guards all members; armed, round and deadline are also read without it */
    unsigned armed;       /* number of threads with a kernel to load, or loading */
    unsigned loading;
    unsigned round; /* increases when all threads' kernels are forgotten */
    uint64_t deadline;
} lazy = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
    pthread_mutex_t lock;
    struct map functions; /* set of hashes of a kernel and a context */
} asked = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
    CUkernel kernel; /* the kernel that this thread looked up; valid only in `round` */
    uint32_t correlation;
    unsigned round;
    bool loading;
} lazy_here;

static void set(unsigned *counter, unsigned value)
{
    __atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

static bool is_armed(void)
{
    return lazy_here.kernel && lazy_here.round == __atomic_load_n(&lazy.round, __ATOMIC_RELAXED);
}

void lazy_loading_arm(CUkernel kernel, uint32_t correlation)
{
    lazy_loading_ends(); /* ends a launch whose return was not seen */
    pthread_mutex_lock(&lazy.lock);
    if (!is_armed())
        set(&lazy.armed, lazy.armed + 1);
    lazy_here.kernel = kernel;
    lazy_here.correlation = correlation;
    lazy_here.round = lazy.round;
    __atomic_store_n(&lazy.deadline, clock_monotonic() + LAZY_LOADING_NS, __ATOMIC_RELAXED);
    callback_switches_need(CALLBACKS_LAZY_LOADING, true);
    pthread_mutex_unlock(&lazy.lock);
}

/* Ends one thread's waiting for a launch. The caller holds the lock. */
static void one_less(void)
{
    set(&lazy.armed, lazy.armed - 1);
    if (lazy.armed == 0)
        callback_switches_need(CALLBACKS_LAZY_LOADING, false);
}

/* Forgets the kernels of all threads. The caller holds the lock. */
static void cancel_all(void)
{
    set(&lazy.round, lazy.round + 1);
    set(&lazy.armed, 0);
    lazy.loading = 0;
    callback_switches_need(CALLBACKS_LAZY_LOADING, false);
}

bool lazy_loading_is_first(CUkernel kernel, CUcontext context)
{
    const void *both[] = {kernel, context};
    bool first = true;
    pthread_mutex_lock(&asked.lock);
    map_put(&asked.functions, hash_bytes(both, sizeof(both)), &first);
    pthread_mutex_unlock(&asked.lock);
    return first;
}

void lazy_loading_unloaded(void)
{
    pthread_mutex_lock(&asked.lock);
    map_release(&asked.functions);
    pthread_mutex_unlock(&asked.lock);
}

void lazy_loading_loaded(CUkernel kernel)
{
    if (!is_armed() || lazy_here.kernel != kernel)
        return;
    pthread_mutex_lock(&lazy.lock);
    if (is_armed())
        one_less();
    lazy_here.kernel = NULL;
    pthread_mutex_unlock(&lazy.lock);
}

bool lazy_loading_begins(CUfunction launched, uint32_t correlation)
{
    if (__atomic_load_n(&lazy.armed, __ATOMIC_RELAXED) == 0)
        return false;
    if (is_armed() &&
        ((const void *)launched == (const void *)lazy_here.kernel || correlation == lazy_here.correlation)) {
        pthread_mutex_lock(&lazy.lock);
        lazy_here.loading = is_armed();
        lazy_here.kernel = NULL;
        lazy.loading += lazy_here.loading;
        pthread_mutex_unlock(&lazy.lock);
        return lazy_here.loading;
    }
    if (clock_monotonic() <= __atomic_load_n(&lazy.deadline, __ATOMIC_RELAXED))
        return false;
    /* Switches callbacks off, which threads that ended or launched nothing would keep on for ever. Not while a launch
     * is loading, because its return needs the callback. */
    pthread_mutex_lock(&lazy.lock);
    if (lazy.armed > 0 && lazy.loading == 0 && clock_monotonic() > lazy.deadline)
        cancel_all();
    pthread_mutex_unlock(&lazy.lock);
    return false;
}

void lazy_loading_ends(void)
{
    if (!lazy_here.loading)
        return;
    pthread_mutex_lock(&lazy.lock);
    lazy_here.loading = false;
    if (lazy_here.round == lazy.round) {
        lazy.loading--;
        one_less();
    }
    pthread_mutex_unlock(&lazy.lock);
}

void lazy_loading_cancel(void)
{
    pthread_mutex_lock(&lazy.lock);
    cancel_all();
    pthread_mutex_unlock(&lazy.lock);
}

void lazy_loading_atfork_child(void)
{
    pthread_mutex_init(&lazy.lock, NULL);
    lazy.armed = lazy.loading = 0;
    lazy_here.kernel = NULL;
    lazy_here.loading = false;
    pthread_mutex_init(&asked.lock, NULL);
    asked.functions = (struct map){0}; /* a copy of the parent's map, not freed because malloc may be locked */
}
