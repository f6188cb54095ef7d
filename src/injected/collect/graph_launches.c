#include "injected/collect/graph_launches.h"

#include <pthread.h>
#include <stdint.h>

#include "base/map.h"
#include "injected/collect/callback_switches.h"
#include "injected/registry/registry.h"

static struct {
    pthread_mutex_t lock;
    struct map expected; /* executable graphs */
    unsigned patience;   /* launches of others that are still heard */
} graphs = {.lock = PTHREAD_MUTEX_INITIALIZER};

void graph_launches_expect(CUgraphExec exec)
{
    if (!exec || !registry_graph_node_wanted())
        return;
    pthread_mutex_lock(&graphs.lock);
    if (map_put(&graphs.expected, (uint64_t)(uintptr_t)exec, NULL) && graphs.expected.count == 1)
        callback_switches_graph_launches(true);
    graphs.patience = GRAPH_LAUNCHES_PATIENCE;
    pthread_mutex_unlock(&graphs.lock);
}

/* Under the lock. */
static void give_up(void)
{
    map_release(&graphs.expected);
    callback_switches_graph_launches(false);
}

bool graph_launches_returned(CUgraphExec exec)
{
    pthread_mutex_lock(&graphs.lock);
    bool expected = map_remove(&graphs.expected, (uint64_t)(uintptr_t)exec);
    if (expected)
        graphs.patience = GRAPH_LAUNCHES_PATIENCE;
    if (graphs.expected.count == 0 || (!expected && --graphs.patience == 0))
        give_up();
    pthread_mutex_unlock(&graphs.lock);
    return expected;
}

void graph_launches_forget(void)
{
    pthread_mutex_lock(&graphs.lock);
    give_up();
    pthread_mutex_unlock(&graphs.lock);
}

void graph_launches_leave(void)
{
    pthread_mutex_init(&graphs.lock, NULL);
    graphs.expected = (struct map){0}; /* the parent's memory is a copy here: leave it, malloc may be locked */
}
