#include "agent/cupti/graph_launches.h"

#include <pthread.h>

#include "common/map.h"
#include "agent/cupti/callback_switches.h"
#include "agent/cupti/cupti_library.h"
#include "agent/dispatch/registry.h"

static struct {
    pthread_mutex_t lock;
    const struct cupti *cupti;
    struct map expected;    /* executable graphs */
    struct map conditional; /* executable graphs with conditional nodes -> their numbers */
    unsigned patience;      /* launches of others that are still heard */
    bool suspended;         /* nothing is recorded: launches of conditional graphs are not published */
} graphs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t key_of(CUgraphExec exec)
{
    return (uint64_t)(uintptr_t)exec;
}

void graph_launches_init(const struct cupti *cupti)
{
    __atomic_store_n(&graphs.cupti, cupti, __ATOMIC_RELEASE);
}

/* Under the lock. */
static void expect(CUgraphExec exec)
{
    if (map_put(&graphs.expected, key_of(exec), NULL))
        callback_switches_graph_launches(true);
    graphs.patience = GRAPH_LAUNCHES_PATIENCE;
}

void graph_launches_expect(CUgraphExec exec)
{
    if (!exec || !registry_graph_node_wanted())
        return;
    pthread_mutex_lock(&graphs.lock);
    expect(exec);
    pthread_mutex_unlock(&graphs.lock);
}

/* The number that records of the graph's works have; 0: it is not known. Without the lock. */
static uint32_t number_of(CUgraphExec exec)
{
    const struct cupti *cupti = __atomic_load_n(&graphs.cupti, __ATOMIC_ACQUIRE);
    uint32_t number = 0;
    bool known = cupti && cupti->cuptiGetGraphExecId && cupti->cuptiGetGraphExecId(exec, &number) == CUPTI_SUCCESS;
    return known ? number : 0;
}

void graph_launches_instantiated(CUgraphExec exec, bool conditional)
{
    if (!exec || !registry_graph_node_wanted())
        return;
    uint32_t number = conditional ? number_of(exec) : 0;
    pthread_mutex_lock(&graphs.lock);
    uint64_t *place = number != 0 ? map_put(&graphs.conditional, key_of(exec), NULL) : NULL;
    if (place)
        *place = number;
    else
        map_remove(&graphs.conditional, key_of(exec)); /* another one had the handle */
    expect(exec);
    pthread_mutex_unlock(&graphs.lock);
}

/* Under the lock. */
static bool conditional_are_heard(void)
{
    return graphs.conditional.count > 0 && !graphs.suspended;
}

/* Nothing more is expected. Under the lock. */
static void give_up(void)
{
    map_release(&graphs.expected);
    callback_switches_graph_launches(conditional_are_heard());
}

/* Whether EXEC was expected. Under the lock. */
static bool take(CUgraphExec exec)
{
    bool expected = map_remove(&graphs.expected, key_of(exec)), any = graphs.expected.count > 0;
    if (expected)
        graphs.patience = GRAPH_LAUNCHES_PATIENCE;
    if (any ? !expected && --graphs.patience == 0 : expected || !conditional_are_heard())
        give_up();
    return expected;
}

bool graph_launches_returned(CUgraphExec exec, uint32_t correlation, uint64_t start)
{
    pthread_mutex_lock(&graphs.lock);
    bool expected = take(exec);
    const uint64_t *number = correlation != 0 && !graphs.suspended ? map_get(&graphs.conditional, key_of(exec)) : NULL;
    uint32_t graph = number ? (uint32_t)*number : 0;
    pthread_mutex_unlock(&graphs.lock);
    if (graph != 0)
        registry_conditional_launch_publish(
            &(struct gputrace_conditional_launch){.start = start, .correlation = correlation, .graph = graph});
    return expected;
}

void graph_launches_suspend(bool suspended)
{
    pthread_mutex_lock(&graphs.lock);
    graphs.suspended = suspended;
    callback_switches_graph_launches(graphs.expected.count > 0 || conditional_are_heard());
    pthread_mutex_unlock(&graphs.lock);
}

void graph_launches_forget(void)
{
    pthread_mutex_lock(&graphs.lock);
    map_release(&graphs.conditional);
    give_up();
    pthread_mutex_unlock(&graphs.lock);
}

void graph_launches_leave(void)
{
    pthread_mutex_init(&graphs.lock, NULL);
    graphs.cupti = NULL;
    graphs.suspended = false;
    graphs.expected = graphs.conditional = (struct map){0}; /* copies of the parent's: leave it, malloc may be locked */
}
