#include "agent/cupti/graphs.h"

#include <pthread.h>
#include <stddef.h>

#include "agent/cupti/callback_switches.h"
#include "agent/cupti/cupti_library.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/kernel_names.h"
#include "agent/dispatch/registry.h"
#include "common/map.h"

/* The first CUPTI of which all that is relied on here was measured. */
#define NODES_SINCE 130000u

static const struct cupti *cupti_in_use;

static __thread uint32_t conditional_in; /* the last call in which a conditional node was made */

static __thread struct {
    uint64_t node; /* the last of which CUPTI reported that it is a copy, in the call `correlation` */
    uint32_t correlation;
} copied;

void graph_nodes_init(const struct cupti *cupti)
{
    __atomic_store_n(&cupti_in_use, cupti, __ATOMIC_RELEASE);
}

/* 0: not known. An older CUPTI does not report all changes, so that what is known of a node could be wrong. */
static uint64_t node_number(CUgraphNode node)
{
    const struct cupti *cupti = __atomic_load_n(&cupti_in_use, __ATOMIC_ACQUIRE);
    uint64_t id = 0;
    if (!cupti || cupti->version < NODES_SINCE)
        return 0;
    bool known = node && cupti->cuptiGetGraphNodeId && cupti->cuptiGetGraphNodeId(node, &id) == CUPTI_SUCCESS;
    return known ? id : 0;
}

/* CUDA's runtime may launch a kernel by another handle than the one it got. */
void graph_nodes_launch_begins(const void *function, const char *name)
{
    if (captures_go_on())
        function_name_publish(function, name);
}

static void publish(uint64_t node, const void *function, uint64_t original, uint32_t correlation)
{
    if (node != 0)
        registry_graph_node_publish(&(struct gputrace_graph_node){
            .node = node, .function = function, .original = original, .correlation = correlation});
}

void graph_node_starts(CUgraphNodeType type, const struct open_call *open)
{
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL && open)
        conditional_in = open->correlation;
}

/* Nodes that the program adds itself are published by their calls, where the function is. */
void graph_node_made(CUgraphNode node, CUgraphNodeType type, const struct open_call *open)
{
    if (type != CU_GRAPH_NODE_TYPE_KERNEL || !open || !open->row->launched)
        return;
    graph_node_launches(node, open->row->launched(open->params), open->correlation);
    first_launches_captured();
}

void graph_node_copied(CUgraphNode node, CUgraphNode original, const struct open_call *open)
{
    uint64_t of = node_number(original);
    if (of == 0)
        return;
    copied.node = node_number(node);
    copied.correlation = open ? open->correlation : 0;
    publish(copied.node, NULL, of, copied.correlation);
}

bool graph_nodes_made_conditional(uint32_t correlation)
{
    return correlation != 0 && conditional_in == correlation;
}

void graph_node_launches(CUgraphNode node, const void *function, uint32_t correlation)
{
    publish(node_number(node), function, 0, correlation);
}

void graph_node_copy_launches(const void *function, uint32_t correlation)
{
    if (copied.node != 0 && copied.correlation == correlation)
        publish(copied.node, function, 0, correlation);
}

void graph_nodes_atfork_child(void)
{
    graph_nodes_init(NULL);
    conditional_in = copied.correlation = 0; /* the child's calls have ids of their own */
}

/* --- first launches of graphs --- */

static struct {
    pthread_mutex_t lock;
    const struct cupti *cupti;
    struct map expected;    /* executable graphs */
    struct map conditional; /* executable graphs with conditional nodes -> their numbers */
    unsigned budget;        /* launches of others that still have callbacks */
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
        callback_switches_need(CALLBACKS_GRAPH_LAUNCHES, true);
    graphs.budget = GRAPH_LAUNCHES_BUDGET;
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
static uint32_t graph_number(CUgraphExec exec)
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
    uint32_t number = conditional ? graph_number(exec) : 0;
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
    callback_switches_need(CALLBACKS_GRAPH_LAUNCHES, conditional_are_heard());
}

/* Whether EXEC was expected. Under the lock. */
static bool take(CUgraphExec exec)
{
    bool expected = map_remove(&graphs.expected, key_of(exec)), any = graphs.expected.count > 0;
    if (expected)
        graphs.budget = GRAPH_LAUNCHES_BUDGET;
    if (any ? !expected && --graphs.budget == 0 : expected || !conditional_are_heard())
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
    callback_switches_need(CALLBACKS_GRAPH_LAUNCHES, graphs.expected.count > 0 || conditional_are_heard());
    pthread_mutex_unlock(&graphs.lock);
}

void graph_launches_forget(void)
{
    pthread_mutex_lock(&graphs.lock);
    map_release(&graphs.conditional);
    give_up();
    pthread_mutex_unlock(&graphs.lock);
}

void graph_launches_atfork_child(void)
{
    pthread_mutex_init(&graphs.lock, NULL);
    graphs.cupti = NULL;
    graphs.suspended = false;
    graphs.expected = graphs.conditional = (struct map){0}; /* copies of the parent's: leave it, malloc may be locked */
}

/* --- captures --- */

static struct {
    CUresult (*cuStreamIsCapturing)(CUstream stream, CUstreamCaptureStatus *status); /* NULL: was not found */
} driver;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* so that launches are switched in the order of counts */
unsigned captures_going_on;                              /* read without it */

void captures_init(void)
{
    static const char *const name = "cuStreamIsCapturing";
    if (!driver.cuStreamIsCapturing && !driver_library_find(&driver, &name, 1))
        driver.cuStreamIsCapturing = NULL;
}

/* Under the lock. */
static void set_going_on(unsigned count)
{
    __atomic_store_n(&captures_going_on, count, __ATOMIC_RELAXED);
    callback_switches_need(CALLBACKS_CAPTURES, count > 0);
}

void captures_begin(void)
{
    pthread_mutex_lock(&lock);
    set_going_on(captures_going_on + 1);
    pthread_mutex_unlock(&lock);
}

/* Does nothing for a capture whose begin was not seen. */
void captures_end(void)
{
    pthread_mutex_lock(&lock);
    if (captures_going_on > 0)
        set_going_on(captures_going_on - 1);
    pthread_mutex_unlock(&lock);
}

void captures_forget(void)
{
    pthread_mutex_lock(&lock);
    set_going_on(0);
    pthread_mutex_unlock(&lock);
}

/* The legacy default stream is refused while others are captured: it is not. */
bool captures_ask(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return driver.cuStreamIsCapturing && driver.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void captures_atfork_child(void)
{
    pthread_mutex_init(&lock, NULL);
    captures_going_on = 0;
}

void captures_replace_driver(CUresult (*is_capturing)(CUstream stream, CUstreamCaptureStatus *status))
{
    driver.cuStreamIsCapturing = is_capturing;
}
